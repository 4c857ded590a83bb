"""Who may look at whom: padding and causal masks at work on a batch of two, and what wrong masks leak or break."""

import math
import random
from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any, ClassVar

import torch
import traitlets

from transformer_edu.attention import scaled_dot_product_attention
from transformer_edu.book.figures.base import Figure
from transformer_edu.book.figures.fields import choice, field, index, made, switch
from transformer_edu.book.figures.inputs import check_index, check_words
from transformer_edu.masks import causal_mask
from transformer_edu.support.shapes import Tensor
from transformer_edu.support.validation import check_boolean

KINDS = {"encoder": "encoder self-attention", "decoder": "decoder self-attention", "cross": "cross-attention"}
LONGEST = 6
SOURCE = (("the", "black", "cat", "does", "not", "sleep"), ("the", "dog", "sees", "the", "small", "cat"))
TARGET = (("<bos>", "le", "chat", "noir", "ne", "dort"), ("<bos>", "le", "chien", "voit", "le", "petit"))
SEED = 6


def attention_of_scores(scores: Tensor, mask: Tensor) -> Tensor:
    """Weights (q_len, k_len) of `scaled_dot_product_attention` whose scaled scores are `scores`."""
    size = scores.shape[-1]
    identity = torch.eye(size, dtype=scores.dtype)
    weights: Any = scaled_dot_product_attention(scores * math.sqrt(size), identity, identity, mask)[1]
    return weights


def made_up_scores() -> dict[str, list[list[list[float]]]]:
    """For each kind and each of the two sentences 6 × 6 scores from -2 to 2 with one decimal, always the same."""
    draw = random.Random(SEED).random
    square = range(LONGEST)
    return {kind: [[[round(4 * draw() - 2, 1) for _ in square] for _ in square] for _ in range(2)] for kind in KINDS}


def check_sentences(name: str, given: Any) -> list[list[str]]:
    """Two sentences of six words."""
    if isinstance(given, str) or not isinstance(given, Sequence):
        raise TypeError(f"{name} must be two lists of {LONGEST} strings, got {given!r}")
    if len(given) != 2:
        raise ValueError(f"{name} must be two lists of {LONGEST} strings, got {len(given)}: {given!r}")
    return [check_words(f"{name}[{index}]", words, LONGEST, LONGEST) for index, words in enumerate(given)]


def check_lengths(name: str, given: Any) -> list[int]:
    """How many words of each of the two sentences are real."""
    if not isinstance(given, Sequence) or len(given) != 2:
        raise ValueError(f"{name} must be two whole numbers from 0 to {LONGEST}, got {given!r}")
    return [check_index(name, length, LONGEST + 1) for length in given]


def check_painted(name: str, given: Any, mistake: str) -> list[str]:
    """Six rows of six 0 and 1, or none; such a mask is used rightly."""
    if given and mistake != "none":
        raise ValueError(f"{name} must be empty where a mistake is shown, got mistake={mistake!r}")
    rows = check_words(name, given, LONGEST, LONGEST) if given else []
    if any(len(row) != LONGEST or set(row) - {"0", "1"} for row in rows):
        raise ValueError(f"{name} must be {LONGEST} strings of {LONGEST} signs 0 or 1, got {rows!r}")
    return rows


MISTAKES = {
    "none": "the masks as ticked",
    "flipped": "the causal mask the wrong way round",
    "after": "the mask applied after the softmax",
    "added": "a mask of 0 and 1 added to the scores",
    "queries": "the padding mask on the axis of the queries",
    "blind": "a query that may look at nothing, through a plain softmax",
}
PAD = "<pad>"


def _sentences(default: Any) -> Any:
    trait = traitlets.List(traitlets.List(traitlets.Unicode()))
    return field(trait, default, lambda name, given, so: check_sentences(name, given))


class MaskLab(Figure):
    """Attention weights of one sentence of a batch of two: with the right masks, and beside them with a wrong one.

    Without arguments the causal mask is forgotten.

    Args:
        kind: "encoder" (self-attention), "decoder" (self-attention) or "cross" (French queries, English keys).
        source_lengths, target_lengths: how many real tokens (0 to 6) the two English and French sentences have; the
            shorter is filled with <pad>.
        sentence: which of the two is shown (0 or 1). query: the position whose row is read out, from 0.
        padding, causal: which masks are in use; `causal` None is False, but True in a decoder that shows a mistake.
        pad_first: fill up in front instead of behind.
        mistake: "none", "flipped", "after", "added", "queries" or "blind" (see MISTAKES).
        source, target: the words, two lists of 6 for each language.
        painted: a mask of one's own in place of those, six texts of six signs, 1 where the row's query may look at
            the column's key and else 0; of shorter sentences the first count. Empty: none is painted.

    The scores are made up: from -2 to 2, drawn once with a fixed seed. Vaswani et al. 2017, section 3.2.3.
    """

    figure_name: ClassVar[str] = "mask-lab"

    kind = choice("decoder", KINDS)
    source_lengths = field(traitlets.List(traitlets.Int()), (6, 4), lambda name, n, so: check_lengths(name, n))
    target_lengths = field(traitlets.List(traitlets.Int()), (6, 4), lambda name, n, so: check_lengths(name, n))
    sentence = index(1, 2)
    query = index(2, LONGEST)
    pad_first = switch(False)
    mistake = choice("none", MISTAKES)
    padding = switch(True)
    causal = field(
        traitlets.Bool(), lambda so: so.kind == "decoder" and so.mistake != "none", lambda _, on, so: _check_fit(on, so)
    )
    source = _sentences(SOURCE)
    target = _sentences(TARGET)
    painted = field(
        traitlets.List(traitlets.Unicode()), (), lambda name, rows, so: check_painted(name, rows, so.mistake)
    )
    scores = made(traitlets.Dict(), lambda so: made_up_scores())

    def alt_text(self) -> str:
        """Kind, masks, and where the chosen query looks, or which mistake is shown."""
        queries, keys = self._side(self.kind != "encoder"), self._side(self.kind == "decoder")
        at = min(self.query, len(queries) - 1)
        ticked = [name for name, on in (("padding mask", self.padding), ("causal mask", self.causal)) if on]
        masks = ["a painted mask"] if self.painted else ticked
        start = (
            f"Mask lab, {KINDS[self.kind]}: the weights of sentence {self.sentence + 1}, {' '.join(queries)}, with the "
            f"right masks, and beside them with {' and '.join(masks) or 'no mask'}. "
        )
        if self.mistake != "none":
            return f"{start}The mistake shown: {MISTAKES[self.mistake]}."
        looks = ", ".join(f"{word} {weight:.2f}" for word, weight in zip(keys, self._row(at, keys), strict=True))
        return f"{start}Position {at + 1}, {queries[at]}, looks at {looks}."

    def _side(self, french: bool) -> list[str]:
        """The shown sentence in one language, filled up to the longer of the two."""
        words, lengths = (self.target, self.target_lengths) if french else (self.source, self.source_lengths)
        real, filler = lengths[self.sentence], [PAD] * (max(*lengths, 1) - lengths[self.sentence])
        own = words[self.sentence][:real]
        return [*filler, *own] if self.pad_first else [*own, *filler]

    def _row(self, query: int, keys: list[str]) -> list[float]:
        """The weights of one query under the ticked masks, by the book's own attention."""
        scores = torch.tensor(self.scores[self.kind][self.sentence], dtype=torch.float64)[query, : len(keys)]
        mask = torch.ones(len(keys), dtype=torch.bool)
        if self.painted:
            mask = torch.tensor([self.painted[query][at] == "1" for at in range(len(keys))])
        if self.padding and not self.painted:
            mask &= torch.tensor([key != PAD for key in keys])
        if self.causal and not self.painted:
            mask &= causal_mask(LONGEST)[query, : len(keys)]
        return attention_of_scores(scores[None], mask[None])[0].tolist()


def _check_fit(causal: Any, so: SimpleNamespace) -> bool:
    """Whether the causal mask is in use, which must fit the kind of attention and the mistake."""
    check_boolean("causal", causal)
    kind, mistake = so.kind, so.mistake
    if kind == "cross" and causal:
        raise ValueError("causal must be False in cross-attention, whose keys are a sentence that is there as a whole")
    if mistake == "flipped" and kind != "decoder":
        raise ValueError(
            f"mistake 'flipped' turns the decoder's causal mask round, so kind must be 'decoder', got {kind!r}"
        )
    if mistake != "none" and not (so.padding and causal == (kind == "decoder")):
        raise ValueError(
            f"mistake {mistake!r} goes with the masks that belong to {kind!r}: leave padding and causal at their "
            f"defaults, got padding={so.padding} and causal={causal}"
        )
    return bool(causal)
