"""Who may look at whom: padding and causal masks at work on a batch of two, and what wrong masks leak or break."""

from collections.abc import Sequence
from typing import ClassVar

import torch
import traitlets

from transformer_edu.book.figures.base import Figure
from transformer_edu.book.figures.inputs import check_index
from transformer_edu.book.figures.mask_lab_data import (
    KINDS,
    LONGEST,
    SOURCE,
    TARGET,
    attention_of_scores,
    check_lengths,
    check_sentences,
    made_up_scores,
)
from transformer_edu.masks import causal_mask
from transformer_edu.support.validation import check_boolean, check_choice

MISTAKES = {
    "none": "the masks as ticked",
    "flipped": "the causal mask the wrong way round",
    "after": "the mask applied after the softmax",
    "added": "a mask of 0 and 1 added to the scores",
    "queries": "the padding mask on the axis of the queries",
    "blind": "a query that may look at nothing, through a plain softmax",
}
PAD = "<pad>"


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

    The scores are made up: from -2 to 2, drawn once with a fixed seed. Vaswani et al. 2017, section 3.2.3.
    """

    figure_name: ClassVar[str] = "mask-lab"

    kind = traitlets.Unicode().tag(sync=True)
    source = traitlets.List(traitlets.List(traitlets.Unicode())).tag(sync=True)
    target = traitlets.List(traitlets.List(traitlets.Unicode())).tag(sync=True)
    source_lengths = traitlets.List(traitlets.Int()).tag(sync=True)
    target_lengths = traitlets.List(traitlets.Int()).tag(sync=True)
    scores = traitlets.Dict().tag(sync=True)
    sentence = traitlets.Int().tag(sync=True)
    query = traitlets.Int().tag(sync=True)
    padding = traitlets.Bool().tag(sync=True)
    causal = traitlets.Bool().tag(sync=True)
    pad_first = traitlets.Bool().tag(sync=True)
    mistake = traitlets.Unicode().tag(sync=True)

    def __init__(
        self,
        kind: str = "decoder",
        *,
        source_lengths: Sequence[int] = (6, 4),
        target_lengths: Sequence[int] = (6, 4),
        sentence: int = 1,
        query: int = 2,
        padding: bool = True,
        causal: bool | None = None,
        pad_first: bool = False,
        mistake: str = "none",
        source: Sequence[Sequence[str]] = SOURCE,
        target: Sequence[Sequence[str]] = TARGET,
    ) -> None:
        check_choice("kind", kind, tuple(KINDS))
        check_choice("mistake", mistake, tuple(MISTAKES))
        causal = kind == "decoder" and mistake != "none" if causal is None else causal
        for name, value in (("padding", padding), ("causal", causal), ("pad_first", pad_first)):
            check_boolean(name, value)
        _check_fit(kind, padding, causal, mistake)
        super().__init__(
            kind=kind,
            source=check_sentences("source", source),
            target=check_sentences("target", target),
            source_lengths=check_lengths("source_lengths", source_lengths),
            target_lengths=check_lengths("target_lengths", target_lengths),
            scores=made_up_scores(),
            sentence=check_index("sentence", sentence, 2),
            query=check_index("query", query, LONGEST),
            padding=padding,
            causal=causal,
            pad_first=pad_first,
            mistake=mistake,
        )

    def alt_text(self) -> str:
        """Kind, masks, and where the chosen query looks, or which mistake is shown."""
        queries, keys = self._side(self.kind != "encoder"), self._side(self.kind == "decoder")
        at = min(self.query, len(queries) - 1)
        masks = [name for name, on in (("padding mask", self.padding), ("causal mask", self.causal)) if on]
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
        if self.padding:
            mask &= torch.tensor([key != PAD for key in keys])
        if self.causal:
            mask &= causal_mask(LONGEST)[query, : len(keys)]
        return attention_of_scores(scores[None], mask[None])[0].tolist()


def _check_fit(kind: str, padding: bool, causal: bool, mistake: str) -> None:
    if kind == "cross" and causal:
        raise ValueError("causal must be False in cross-attention, whose keys are a sentence that is there as a whole")
    if mistake == "flipped" and kind != "decoder":
        raise ValueError(
            f"mistake 'flipped' turns the decoder's causal mask round, so kind must be 'decoder', got {kind!r}"
        )
    if mistake != "none" and not (padding and causal == (kind == "decoder")):
        raise ValueError(
            f"mistake {mistake!r} goes with the masks that belong to {kind!r}: leave padding and causal at their "
            f"defaults, got padding={padding} and causal={causal}"
        )
