"""Translate a sentence of one's own, word by word, in the page: what comes next, why, and what else could have come."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from types import SimpleNamespace
from typing import Any, ClassVar

import torch
import traitlets
from torch import Tensor

from transformer_edu.book.engine.page_file import Vocabularies, read_page_file
from transformer_edu.book.engine.shipped import GRAMMAR, SHIPPED
from transformer_edu.book.figures.base import spoken
from transformer_edu.book.figures.inputs import check_index, check_sentence, check_text, check_words
from transformer_edu.book.figures.model_figure import ModelFigure, file_of
from transformer_edu.book.figures.sentence_data import MOST, kinds_of
from transformer_edu.data.tokenizer import Tokenizer
from transformer_edu.data.vocabulary import BOS_ID, EOS_ID, PAD_ID
from transformer_edu.decoding.beam import beam_search, length_normalizer
from transformer_edu.inspect.changes import Changes, changed
from transformer_edu.inspect.record import record_attention
from transformer_edu.pretrained.translator import TRANSLATOR
from transformer_edu.support.validation import check_choice
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
        vocabularies = self.vocabularies
        return vocabularies.id_to_token(index) if isinstance(vocabularies, Tokenizer) else vocabularies[0].word(index)

    def written(self, index: int) -> str:
        """A target token."""
        vocabularies = self.vocabularies
        return vocabularies.id_to_token(index) if isinstance(vocabularies, Tokenizer) else vocabularies[1].word(index)

    def decode(self, ids: Sequence[int]) -> str:
        """The text that was written."""
        vocabularies = self.vocabularies
        return vocabularies.decode(ids) if isinstance(vocabularies, Tokenizer) else vocabularies[1].decode(list(ids))


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
        name: value for part in parts_of(layers) if part["part"] in taken for name, value in part["changes"].items()
    }
    with changed(model, Changes(**changes)), record_attention(model) as maps:
        limit = min(source.shape[1] + EXTRA, model.config.max_len)
        if search == "beam":
            found = beam_search(model, source, BOS_ID, EOS_ID, limit, BEAM, PENALTY)[0]
            endings = [(list(hypothesis.ids), hypothesis.log_prob) for hypothesis in found]
        else:
            endings = [(_greedily(model, source, begun, limit), 0.0)]
        ids = endings[0][0]
        maps.clear()
        chances = _chances(model(source, torch.tensor([ids[:-1]]))[0])
        weights = maps[f"decoder.{layers - 1}.cross"][0].mean(dim=0).tolist()
    steps = [_step(languages, *step) for step in zip(ids[1:], chances, weights, strict=True)]
    if search == "greedy":
        endings = [(ids, sum(math.log(float(row[index])) for row, index in zip(chances, ids[1:], strict=True)))]
    return {
        "sentence": sentence,
        "taken": list(taken),
        "search": search,
        "begun": list(begun),
        "source": [languages.read(index) for index in source[0].tolist()],
        "steps": steps,
        "ends": [_ending(languages, *ending) for ending in endings],
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
            [token, languages.written(token), round(chance, DECIMALS)]
            for chance, token in zip(best.values.tolist(), best.indices.tolist(), strict=True)
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
    wanted = [answer for answer in answers if answer | asked == answer]
    first = wanted[0] if wanted else answered(languages, sentence, taken, search)
    return [first, *(answer for answer in answers if answer is not first)]


def least_sure(answer: dict[str, Any]) -> int:
    """The step at which the likeliest piece had the smallest probability."""
    steps = answer["steps"]
    return min(range(len(steps)), key=lambda i: float(steps[i]["best"][0][2]))


FOXES = "these foxes want a hat"  # who wants whom stands in the order alone
RAIN = "Ein Radfahrer fährt bei Regen durch die Stadt."  # which greedy search loses
TO_TRY = ["Zwei Hunde spielen im Schnee.", "Eine Frau liest ein Buch."]  # for who writes no German
NAMES = {GRAMMAR: ["English", "French"], TRANSLATOR: ["German", "English"], "": ["", ""]}


class SentenceTranslator(ModelFigure):
    """Every step of a translation, of any sentence, in the reader's browser: the likeliest next words, to go on from.

    Args:
        sentence: of at most 40 tokens, or, for a model of whole words, 12 words that it knows; None: the book's.
        taken: what the model has to do without, of "order", "forward" and "scale".
        search: "greedy", or "beam" for a beam of 5.
        step: the written token whose rivals are shown, counts from 0; None is the one of which it was least sure.
        shipped: "multi30k-de-en", German to English, 5.8 MB that a reader loads with a click; or "grammar", English to
            French, which comes when the figure is touched.
        model, vocabularies: a model of one's own with its tokenizer or its two vocabularies, in place of a shipped one.

    Raises:
        TypeError, ValueError: one of these is something else, or the sentence is empty, too long, or not in the
            model's words.
    """

    figure_name: ClassVar[str] = "sentence-translator"

    sentence = traitlets.Unicode().tag(sync=True)
    taken = traitlets.List(traitlets.Unicode()).tag(sync=True)
    search = traitlets.Unicode().tag(sync=True)
    begun = traitlets.List(traitlets.Int()).tag(sync=True)
    step = traitlets.Int().tag(sync=True)
    recorded = traitlets.List(traitlets.Dict()).tag(sync=True)
    line = traitlets.Dict().tag(sync=True)
    parts = traitlets.List(traitlets.Dict()).tag(sync=True)
    languages = traitlets.List(traitlets.Unicode()).tag(sync=True)

    def __init__(
        self,
        sentence: str | None = None,
        taken: Sequence[str] = (),
        search: str = "greedy",
        step: int | None = None,
        *,
        shipped: str = TRANSLATOR,
        model: Transformer | None = None,
        vocabularies: Vocabularies | None = None,
    ) -> None:
        check_choice("shipped", shipped, SHIPPED)
        for part in check_words("taken", taken, 0, len(PARTS)):
            check_choice("taken", part, tuple(PARTS))
        check_choice("search", search, SEARCHES)
        content, name = file_of(shipped, model, vocabularies)
        languages = languages_of(content)
        text, line = _line(languages, sentence)
        answers = opening_answers(content, text, tuple(taken), search)
        so = SimpleNamespace(
            content=content,
            name=name,
            sentence=text,
            taken=list(taken),
            search=search,
            step=least_sure(answers[0]) if step is None else check_index("step", step, len(answers[0]["steps"])),
            recorded=answers,
            line=line | ({"examples": TO_TRY} if name == TRANSLATOR else {}),
            parts=parts_of(languages.model.config.num_layers),
            languages=NAMES[name],
        )
        self._opened(so)

    def alt_text(self) -> str:
        """The sentence, its translation, and the rivals at the chosen step."""
        answer = self.recorded[0]
        step = answer["steps"][self.step]
        rivals = ", ".join(f"{spoken(token)} {chance:.2f}" for _, token, chance in step["best"])
        without = "".join(f" Without {PARTS[part]}." for part in self.taken)
        how = "greedy search" if self.search == "greedy" else "a beam of 5"
        return (
            f"A line to type a sentence in: {self.sentence[:120]}. Below it its tokens, and the translation by {how}: "
            f"{answer['ends'][0]['text'][:120]}.{without} At step {self.step + 1} it wrote {spoken(step['token'])}; "
            f"the likeliest there, to go on from: {rivals}. Shades show where it looked. Switches take parts away."
        )


def _line(languages: Languages, sentence: str | None) -> tuple[str, dict[str, object]]:
    """A sentence for this model, and what the page has to know of the line in which a reader types another."""
    width = languages.model.config.d_model
    if isinstance(languages.vocabularies, Tokenizer):
        text = check_text("sentence", RAIN if sentence is None else sentence, 1, 400).strip()
        if not 1 <= len(languages.encode(text)) <= MOST_TOKENS:
            count = len(languages.encode(text))
            raise ValueError(f"sentence must have 1 to {MOST_TOKENS} tokens, got {count}: {text!r}")
        return text, {"kinds": {}, "most": MOST_TOKENS, "width": width}
    text = FOXES if sentence is None else sentence
    plain = text.lower().strip().removesuffix(".") if isinstance(text, str) else text
    words = check_sentence("sentence", plain, languages.vocabularies[0], MOST)
    return " ".join(words), {"kinds": kinds_of(languages.vocabularies[0]), "most": MOST, "width": width}
