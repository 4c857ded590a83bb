"""A trained model with its tokenizer: text in, text out."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from transformer_edu import fast
from transformer_edu.data.batching import pad_sequences
from transformer_edu.data.tokenizer import Tokenizer
from transformer_edu.decoding.beam import Hypothesis, beam_search, length_normalizer
from transformer_edu.decoding.greedy import greedy_search
from transformer_edu.inspect.record import record_attention
from transformer_edu.saving.card import check_length_penalty
from transformer_edu.saving.finished import load_finished
from transformer_edu.support.arguments import check_sentence
from transformer_edu.support.device import device_of
from transformer_edu.support.text import check_texts
from transformer_edu.support.validation import check_positive_integer
from transformer_edu.transformer import Transformer

BATCH_CELLS = 2_000  # source tokens, padding included, times the beam, that are translated together


@dataclass(frozen=True)
class Translation:
    """One answer: its text, its log-probability in nats, its score, and its ids with begin and end token."""

    text: str
    log_prob: float
    score: float
    ids: tuple[int, ...]


@dataclass(frozen=True)
class Translator:
    """A model in evaluation mode, the tokenizer it was trained with, and how it came about."""

    model: Transformer
    tokenizer: Tokenizer
    card: dict[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        sizes = self.model.config.source_vocab_size, self.model.config.target_vocab_size
        if sizes != (len(self.tokenizer),) * 2:
            raise ValueError(
                f"tokenizer must be that of the model, whose vocabularies have {sizes[0]} and {sizes[1]} tokens, "
                f"got {len(self.tokenizer)}"
            )

    @property
    def search(self) -> dict[str, Any]:
        """The beam size and length penalty that were best on validation; the paper's where nothing was chosen."""
        chosen = self.card.get("search", {})
        return {"beam_size": chosen.get("beam_size", 4), "length_penalty": chosen.get("length_penalty", 0.6)}

    def search_options(self, n_best: int = 1, **search: Any) -> dict[str, Any]:
        """All options of a search, those of `search` where none is given; an error for what this model cannot do."""
        options = {**self.search, "max_len": None, **search}
        if unknown := options.keys() - {"beam_size", "length_penalty", "max_len"}:
            raise TypeError(f"search must be beam_size, length_penalty or max_len, got {', '.join(sorted(unknown))}")
        check_length_penalty("length_penalty", options["length_penalty"])
        sizes = {"beam_size": (1, len(self.tokenizer), "the tokens of the vocabulary")}
        if options["max_len"] is not None:
            sizes["max_len"] = (2, self.model.config.max_len, "the positions of this model")
        for name, (least, most, reason) in sizes.items():
            check_positive_integer(name, options[name], minimum=least)
            if options[name] > most:
                raise ValueError(f"{name} must be at most {most}, {reason}, got {options[name]}")
        check_positive_integer("n_best", n_best)
        if n_best > options["beam_size"]:
            raise ValueError(f"n_best must be at most beam_size={options['beam_size']}, got {n_best}")
        return options

    def translate(self, text: str, **search: Any) -> str:
        """The best translation of one sentence; `search` as in `translate_all`."""
        check_sentence("text", text)
        return self.translate_all([text], **search)[0][0].text

    def translate_all(self, texts: Sequence[str], n_best: int = 1, **search: Any) -> list[list[Translation]]:
        """The `n_best` best translations of each text, best first.

        Args:
            texts: sentences, in any order and number; an empty one has the empty translation.
            n_best: at most the beam size.
            **search: beam_size, length_penalty, max_len; beam_size=1 searches greedily. Default: see `search`.
        """
        check_texts(texts)
        ids = self.tokenizer.encode_batch(texts)
        filled = [index for index, pieces in enumerate(ids) if pieces]
        found = self.translate_ids([ids[index] for index in filled], n_best, **search)
        answers = [[Translation("", 0.0, 0.0, ())] for _ in texts]
        for index, best in zip(filled, found, strict=True):
            answers[index] = [Translation(self.tokenizer.decode(h.ids), h.log_prob, h.score, h.ids) for h in best]
        return answers

    def translate_ids(self, sources: Sequence[Sequence[int]], n_best: int = 1, **search: Any) -> list[list[Hypothesis]]:
        """The best answers to sentences of ids, begin and end tokens left out. Those of like length go together."""
        options = self.search_options(n_best, **search)
        answers: list[list[Hypothesis]] = [[] for _ in sources]
        order = sorted(range(len(sources)), key=lambda index: len(sources[index]))
        while order:
            rows = max(1, BATCH_CELLS // max(1, len(sources[order[-1]]) * options["beam_size"]))
            batch, order = order[-rows:], order[:-rows]
            for index, best in zip(batch, self._search([sources[i] for i in batch], n_best, options), strict=True):
                answers[index] = _checked(best)
        return answers

    def _search(self, sources: list[Sequence[int]], n_best: int, options: dict[str, Any]) -> list[list[Hypothesis]]:
        device = device_of(self.model)
        for ids in sources:
            self._check_length(ids)
        source = pad_sequences(sources, self.model.config.pad_id).to(device)
        begin_end = self.tokenizer.bos_id, self.tokenizer.eos_id
        if options["beam_size"] == 1:
            rows = greedy_search(self.model, source, *begin_end, options["max_len"])
            return [[hypothesis] for hypothesis in self._scored(source, rows, options["length_penalty"])]
        return beam_search(self.model, source, *begin_end, n_best=n_best, **options)

    def check_text(self, text: str) -> None:
        """ValueError unless the model has positions for all tokens of a text."""
        check_texts([text])
        self._check_length(self.tokenizer.encode(text))

    def _check_length(self, ids: Sequence[int]) -> None:
        if len(ids) > self.model.config.max_len:
            raise ValueError(
                f"a sentence must have at most {self.model.config.max_len} tokens, the positions of this model, "
                f"got {len(ids)}: cut it into sentences"
            )

    @torch.no_grad()
    def _scored(self, source: Tensor, rows: Tensor, length_penalty: float) -> list[Hypothesis]:
        """Greedy answers with their log-probabilities, which one more pass over the whole answers gives."""
        log_probs = torch.log_softmax(self.model(source, rows)[:, :-1], dim=-1)  # (batch, seq - 1, vocab)
        found = log_probs.gather(-1, rows[:, 1:, None])[..., 0].masked_fill(rows[:, 1:] == self.tokenizer.pad_id, 0.0)
        answers = []
        for row, total in zip(rows.tolist(), found.sum(dim=1).tolist(), strict=True):
            ids = tuple(index for index in row if index != self.tokenizer.pad_id)
            answers.append(Hypothesis(ids, total, total / length_normalizer(len(ids) - 1, length_penalty)))
        return answers

    @torch.no_grad()
    def alignment(self, text: str, translation: Translation) -> list[tuple[str, str, float]]:
        """For each written token, the source token that it looks at most, and how much: (written, read, weight).

        The weights are the mean over the heads of the last layer's cross-attention: where the model looks, which is
        not always where a person would draw a line.
        """
        source, ids = self.tokenizer.encode(text), list(translation.ids)
        device = device_of(self.model)
        with record_attention(self.model) as maps:
            self.model(torch.tensor([source], device=device), torch.tensor([ids[:-1]], device=device))
        last = maps[f"decoder.{self.model.config.num_layers - 1}.cross"]  # (1, heads, q_len, k_len)
        weights, places = last.mean(dim=1)[0].max(dim=-1)
        written = [self.tokenizer.id_to_token(index) for index in ids[1:]]
        read = [self.tokenizer.id_to_token(source[place]) for place in places.tolist()]
        return list(zip(written, read, weights.tolist(), strict=True))


def load_translator(folder: str | Path, device: torch.device | str = "cpu") -> Translator:
    """What a run of `transformer-edu train` wrote to its folder (see `load_finished`)."""
    model, tokenizer, card = load_finished(folder, Transformer, device)
    return Translator(fast.switch_on(model), tokenizer, card)


def _checked(best: list[Hypothesis]) -> list[Hypothesis]:
    """The answers to one sentence, unless there are none or their probabilities are no numbers."""
    if not best or not all(math.isfinite(hypothesis.log_prob) for hypothesis in best):
        raise ValueError("the model must give each word a probability, but gave NaN or infinity for this sentence")
    return best
