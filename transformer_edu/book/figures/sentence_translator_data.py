"""What a sentence translator opens with: answers, step by step, each step with its five likeliest pieces."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import torch
from torch import Tensor

from transformer_edu.book.engine.page_file import Vocabularies, read_page_file
from transformer_edu.data.tokenizer import Tokenizer
from transformer_edu.data.vocabulary import BOS_ID, EOS_ID, PAD_ID
from transformer_edu.decoding.beam import beam_search, length_normalizer
from transformer_edu.inspect.changes import Changes, changed
from transformer_edu.inspect.record import record_attention
from transformer_edu.transformer import Transformer

MOST_TOKENS = 40  # of the sentence that is read
EXTRA = 12  # tokens that an answer may have more: enough for a translation, and for one to be seen going astray
BEST = 5  # next words that are told
BEAM = 5
PENALTY = 1.0  # chosen on the translator's validation set
SEARCHES = ("greedy", "beam")
DECIMALS = 4
PARTS = {"order": "word order", "forward": "feed-forward", "scale": "division by √d"}


@dataclass(frozen=True)
class Languages:
    """A model with what cuts texts into its tokens, and puts them together again."""

    model: Transformer
    vocabularies: Vocabularies

    def encode(self, text: str) -> list[int]:
        """Ids of a text to be read."""
        if isinstance(self.vocabularies, Tokenizer):
            return self.vocabularies.encode(text)
        return self.vocabularies[0].encode(text.split())

    def read(self, index: int) -> str:
        """A source token."""
        one = self.vocabularies
        return one.id_to_token(index) if isinstance(one, Tokenizer) else one[0].word(index)

    def written(self, index: int) -> str:
        """A target token."""
        one = self.vocabularies
        return one.id_to_token(index) if isinstance(one, Tokenizer) else one[1].word(index)

    def decode(self, ids: Sequence[int]) -> str:
        """The text that was written."""
        one = self.vocabularies
        return one.decode(ids) if isinstance(one, Tokenizer) else one[1].decode(list(ids))


def parts_of(layers: int) -> list[dict[str, Any]]:
    """What can be taken from a model with so many layers: `part`, its `name`, what the model computes without it."""
    changes: dict[str, dict[str, Any]] = {
        "order": {"source_positions": "off"},
        "forward": {"silent": [f"{side}.{i}.feed_forward" for side in ("encoder", "decoder") for i in range(layers)]},
        "scale": {"unscaled": True},
    }
    return [{"part": part, "name": name, "changes": changes[part]} for part, name in PARTS.items()]


@torch.no_grad()
def answered(
    languages: Languages, sentence: str, taken: Sequence[str] = (), search: str = "greedy", begun: Sequence[int] = ()
) -> dict[str, Any]:
    """A translation as the page computes it, of a sentence with at least one token.

    Args:
        languages, sentence: what is translated, by which model.
        taken: PARTS that it has to do without.
        search: one of SEARCHES.
        begun: ids with which a greedy answer has to begin.

    Returns:
        The request, `source` tokens, `steps` (of the best ending: token, id, its `chance`, the `best` next ones as
        [id, token, probability], `weights` on the source: the last layer's cross-attention, mean of its heads), and
        `ends`: text, probability and score of each ending that was found, best first.
    """
    model = languages.model
    source = torch.tensor([languages.encode(sentence)])
    layers = model.config.num_layers
    changes = {
        name: value for one in parts_of(layers) if one["part"] in taken for name, value in one["changes"].items()
    }
    with changed(model, Changes(**changes)), record_attention(model) as maps:
        limit = min(source.shape[1] + EXTRA, model.config.max_len)
        if search == "beam":
            found = beam_search(model, source, BOS_ID, EOS_ID, limit, BEAM, PENALTY)[0]
            endings = [(list(one.ids), one.log_prob) for one in found]
        else:
            endings = [(_greedily(model, source, begun, limit), 0.0)]
        ids = endings[0][0]
        maps.clear()
        chances = _chances(model(source, torch.tensor([ids[:-1]]))[0])
        weights = maps[f"decoder.{layers - 1}.cross"][0].mean(dim=0).tolist()
    steps = [_step(languages, *one) for one in zip(ids[1:], chances, weights, strict=True)]
    if search == "greedy":
        endings = [(ids, sum(math.log(float(row[index])) for row, index in zip(chances, ids[1:], strict=True)))]
    return {
        "sentence": sentence,
        "taken": list(taken),
        "search": search,
        "begun": list(begun),
        "source": [languages.read(index) for index in source[0].tolist()],
        "steps": steps,
        "ends": [_ending(languages, *one) for one in endings],
    }


def _greedily(model: Transformer, source: Tensor, begun: Sequence[int], limit: int) -> list[int]:
    newest = ids = [BOS_ID, *begun]
    writer = model.start(source)
    while len(ids) < limit and ids[-1] != EOS_ID:
        newest = [int(_chances(writer.next_logits(torch.tensor([newest])))[0].argmax())]
        ids = [*ids, *newest]
    return ids


def _chances(logits: Tensor) -> Tensor:
    """Probabilities (rows, vocab); the begin token and padding are no words."""
    logits = logits.clone()
    logits[:, [PAD_ID, BOS_ID]] = -torch.inf
    return logits.softmax(dim=-1)


def _step(languages: Languages, index: int, chances: Tensor, weights: list[float]) -> dict[str, Any]:
    best = chances.topk(min(BEST, len(chances)))
    return {
        "id": index,
        "token": languages.written(index),
        "chance": round(float(chances[index]), DECIMALS),
        "best": [
            [one, languages.written(one), round(chance, DECIMALS)]
            for chance, one in zip(best.values.tolist(), best.indices.tolist(), strict=True)
        ],
        "weights": [round(weight, DECIMALS) for weight in weights],
    }


def _ending(languages: Languages, ids: list[int], log_prob: float) -> dict[str, Any]:
    return {
        "text": languages.decode(ids),
        "whole": ids[-1] == EOS_ID,
        "chance": round(math.exp(log_prob), 6),
        "score": round(log_prob / length_normalizer(len(ids) - 1, PENALTY), DECIMALS),
    }


@lru_cache(maxsize=2)
def languages_of(content: bytes) -> Languages:
    """What a page computes with: the model of its file."""
    return Languages(*read_page_file(content))


@lru_cache(maxsize=4)
def opening_answers(content: bytes, sentence: str, taken: tuple[str, ...], search: str) -> list[dict[str, Any]]:
    """The answer that is asked for, first, and those that a question in the figure leads to.

    Greedy search, a beam, greedy search without each part; and greedy search that goes on from the second likeliest
    piece where it was least sure.
    """
    languages = languages_of(content)
    plain = answered(languages, sentence)
    place = least_sure(plain)
    other = [*(step["id"] for step in plain["steps"][:place]), plain["steps"][place]["best"][1][0]]
    answers = [
        plain,
        answered(languages, sentence, begun=other),
        answered(languages, sentence, search="beam"),
        *(answered(languages, sentence, [part]) for part in PARTS),
    ]
    asked = {"taken": list(taken), "search": search, "begun": []}
    wanted = [one for one in answers if one | asked == one]
    first = wanted[0] if wanted else answered(languages, sentence, taken, search)
    return [first, *(one for one in answers if one is not first)]


def least_sure(answer: dict[str, Any]) -> int:
    """The step at which the likeliest piece had the smallest probability."""
    steps = answer["steps"]
    return min(range(len(steps)), key=lambda i: float(steps[i]["best"][0][2]))
