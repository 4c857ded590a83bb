"""Layer, batch and RMS norm on one small tensor: which numbers share a mean, and which outputs an edit moves."""

from collections.abc import Mapping, Sequence
from types import SimpleNamespace
from typing import Any, ClassVar

import torch
import torch.nn.functional as F
import traitlets
from torch import Tensor

from transformer_edu.book.figures.base import Figure
from transformer_edu.book.figures.inputs import (
    check_index,
    check_matrix,
    check_one_of,
    check_range,
    check_real,
    check_words,
)
from transformer_edu.data.examples import hand_example
from transformer_edu.support.validation import check_boolean, check_choice

MAX_SENTENCES, MAX_TOKENS, MAX_FEATURES = 4, 4, 6
MIN_TOKENS = 2  # batch norm in training needs two values
MAX_VALUE = 1000.0
# Chosen, not drawn: features and sentences differ in scale, so that it matters over which numbers a norm averages.
OTHERS: tuple[tuple[tuple[str, ...], tuple[tuple[int, ...], ...]], ...] = (
    (("a", "small", "dog"), ((8, 1, 0, 1), (4, 6, 0, 1), (9, 0, 3, 2))),
    (("it", "does", "not", "sleep"), ((0, 1, 0, 0), (1, 0, 1, 0), (0, 2, 1, 0), (2, 0, 0, 1))),
)
Number = int | float
Edit = Sequence[Number]


def example_sentences() -> list[dict[str, Any]]:
    """The hand example and two sentences of other scales."""
    hand = hand_example()
    first = {"tokens": hand.tokens, "x": hand.x}
    return check_sentences([first, *({"tokens": tokens, "x": x} for tokens, x in OTHERS)])


def check_sentences(given: Any) -> list[dict[str, Any]]:
    """Up to 4 sentences of 2 to 4 tokens, all with the same number of features, as plain lists."""
    if isinstance(given, str | Mapping) or not isinstance(given, Sequence):
        raise TypeError(f"sentences must be a list of dicts with 'tokens' and 'x', got {given!r}")
    if not 1 <= len(given) <= MAX_SENTENCES:
        raise ValueError(f"sentences must be 1 to {MAX_SENTENCES} of them, got {len(given)}")
    sentences = [_sentence(f"sentences[{index}]", sentence) for index, sentence in enumerate(given)]
    widths = {len(row) for sentence in sentences for row in sentence["x"]}
    if len(widths) != 1 or not 2 <= max(widths) <= MAX_FEATURES:
        raise ValueError(f"sentences must all have the same 2 to {MAX_FEATURES} features, got {sorted(widths)}")
    return sentences


def _sentence(name: str, given: Any) -> dict[str, Any]:
    if not isinstance(given, Mapping) or not {"tokens", "x"} <= given.keys():
        raise TypeError(f"{name} must be a dict with 'tokens' and 'x', got {given!r}")
    tokens = check_words(f"{name}['tokens']", given["tokens"], MIN_TOKENS, MAX_TOKENS)
    x = check_matrix(f"{name}['x']", given["x"], MAX_VALUE)
    if len(x) != len(tokens):
        raise ValueError(f"{name}['x'] must have a row for each of the {len(tokens)} tokens, got {len(x)}")
    return {"tokens": tokens, "x": x}


def check_edits(given: Any, sentences: list[dict[str, Any]]) -> list[list[Number]]:
    """Changed inputs: [sentence, position, feature, value]."""
    if isinstance(given, str) or not isinstance(given, Sequence):
        raise TypeError(f"edits must be a list of [sentence, position, feature, value], got {given!r}")
    edits: list[list[Number]] = []
    for index, edit in enumerate(given):
        name = f"edits[{index}]"
        if not isinstance(edit, Sequence) or isinstance(edit, str) or len(edit) != 4:
            raise TypeError(f"{name} must be [sentence, position, feature, value], got {edit!r}")
        sentence = check_index(f"{name}, its sentence,", edit[0], len(sentences))
        x = sentences[sentence]["x"]
        place = check_place(name, edit[:3], len(sentences), len(x), len(x[0]))
        edits.append([*place, check_real(f"{name}, its value,", edit[3], -MAX_VALUE, MAX_VALUE)])
    return edits


def check_place(name: str, given: Any, rows: int, positions: int, features: int) -> list[int]:
    """[row, position, feature], each a whole number below its limit."""
    if not isinstance(given, Sequence) or isinstance(given, str) or len(given) != 3:
        raise TypeError(f"{name} must be three whole numbers [row, position, feature], got {given!r}")
    limits = zip(("row", "position", "feature"), given, (rows, positions, features), strict=True)
    return [check_index(f"{name}, its {what},", value, limit) for what, value, limit in limits]


NORMS = ("layer", "batch", "rms")
MODES = ("training", "evaluation")
BATCHES = (1, 10, 100)
MAX_POSITIONS = 5
EPS = 1e-5
MOMENTUM = 0.1
VISIBLE = 0.005  # a move that two decimals show
DEFAULT_EDIT = (1, 1, 1, 12.0)  # sentence 2, "small", second feature: 6 becomes 12


class NormCube(Figure):
    """A batch of one or two sentences (batch, position, feature) through a norm with γ = 1, β = 0 and ε = 1e-5.

    The outputs are compared with those of the first batch: the first two sentences, unedited, no padding added.

    Args:
        sentences: 1 to 4 dicts {"tokens": [...], "x": (positions, features)}; None is the hand example and two more.
        norm: "layer", "batch" (over batch · position, as `torch.nn.BatchNorm1d`) or "rms".
        other: which sentence is in the batch with the first, counts from 0; None is a batch of one.
        padding: positions of zeros added beyond the longer sentence; at most 5 positions in all.
        leave_out: batch norm leaves padding out of its statistics, and its outputs there are 0.
        mode: "training", or "evaluation": batch norm takes its running statistics, momentum 0.1.
        batches: how often batch norm saw the first batch before evaluation: 1, 10 or 100 times.
        edits: [sentence, position, feature, value] for every changed input, counts from 0; None is one example.
        selected: [row of the batch, position, feature], counts from 0; None is the last edit.

    Ba et al. 2016; Ioffe & Szegedy 2015; Zhang & Sennrich 2019.
    """

    figure_name: ClassVar[str] = "norm-cube"

    sentences = traitlets.List(traitlets.Dict()).tag(sync=True)
    norm = traitlets.Unicode().tag(sync=True)
    other = traitlets.Int(allow_none=True).tag(sync=True)
    padding = traitlets.Int().tag(sync=True)
    leave_out = traitlets.Bool().tag(sync=True)
    mode = traitlets.Unicode().tag(sync=True)
    batches = traitlets.Int().tag(sync=True)
    edits = traitlets.List(traitlets.List()).tag(sync=True)
    selected = traitlets.List(traitlets.Int()).tag(sync=True)

    def __init__(
        self,
        sentences: Sequence[Mapping[str, Any]] | None = None,
        *,
        norm: str = "batch",
        other: int | None = 1,
        padding: int = 0,
        leave_out: bool = False,
        mode: str = "training",
        batches: int = 1,
        edits: Sequence[Edit] | None = None,
        selected: Sequence[int] | None = None,
    ) -> None:
        own = example_sentences() if sentences is None else check_sentences(sentences)
        check_choice("norm", norm, NORMS)
        check_choice("mode", mode, MODES)
        check_one_of("batches", batches, BATCHES)
        check_choice("other", other, (None, *range(1, len(own))))
        check_boolean("leave_out", leave_out)
        longest = max(len(own[index]["tokens"]) for index in {0, other or 0})
        padding = check_range("padding", padding, 0, MAX_POSITIONS - longest)
        if edits is None:
            edits = [DEFAULT_EDIT] if sentences is None else []
        changes = check_edits(edits, own)
        if selected is None:
            selected = _first_place(changes, other)
        so = SimpleNamespace(
            sentences=own,
            norm=norm,
            other=other,
            padding=padding,
            leave_out=leave_out,
            mode=mode,
            batches=batches,
            edits=changes,
            selected=check_place(
                "selected", selected, 1 if other is None else 2, longest + padding, len(own[0]["x"][0])
            ),
        )
        self._opened(so)

    def alt_text(self) -> str:
        """The batch, the norm, and how many outputs are not what they were in the first batch."""
        words = [" ".join(sentence["tokens"]) for sentence in self._shown()]
        counts = {norm: self.moved(norm) for norm in NORMS}
        return (
            f"A batch of {' and '.join(f'“{text}”' for text in words)}, {len(self.sentences[0]['x'][0])} features for "
            f"each token, before and after {self.norm} norm ({self.mode}), as tables of bars. "
            f"{len(self.edits)} of the inputs changed. Outputs that moved: {counts['layer']} with layer norm, "
            f"{counts['batch']} with batch norm, {counts['rms']} with RMS norm."
        )

    def moved(self, norm: str) -> int:
        """How many outputs of this norm, at words that were in the first batch too, are not what they were."""
        check_choice("norm", norm, NORMS)
        first = self.sentences[:2]
        before = self._outputs(norm, *_padded(first, 0, []))
        after = self._outputs(norm, *_padded(self._shown(), self.padding, self.edits, self.other))
        count = 0
        for row in range(2 if self.other == 1 else 1):
            length = len(first[row]["tokens"])
            count += int(((after[row, :length] - before[row, :length]).abs() >= VISIBLE).sum())
        return count

    def _shown(self) -> list[dict[str, Any]]:
        """The sentences in the batch."""
        return [self.sentences[0]] if self.other is None else [self.sentences[0], self.sentences[self.other]]

    def _outputs(self, norm: str, x: Tensor, real: Tensor) -> Tensor:
        """x (batch, positions, features) normalized; real (batch, positions) is False at padding."""
        width = x.shape[-1:]
        if norm == "layer":
            return F.layer_norm(x, width, eps=EPS)
        if norm == "rms":
            return F.rms_norm(x, width, eps=EPS)
        counted = real if self.leave_out else torch.ones_like(real)
        evaluation = self.mode == "evaluation"
        mean, variance = self._running() if evaluation else (x[counted].mean(0), x[counted].var(0, correction=0))
        return (x - mean) / (variance + EPS).sqrt() * counted.unsqueeze(-1)

    def _running(self) -> tuple[Tensor, Tensor]:
        """Running mean and variance after the first batch was seen `batches` times."""
        x, real = _padded(self.sentences[:2], 0, [])
        rows = x[real] if self.leave_out else x.flatten(0, 1)
        mean, variance = rows.new_zeros(rows.shape[-1]), rows.new_ones(rows.shape[-1])
        for _ in range(self.batches):
            F.batch_norm(rows, mean, variance, training=True, momentum=MOMENTUM)  # changes both in place
        return mean, variance


def _first_place(edits: list[list[Number]], other: int | None) -> list[int]:
    """The last edited place that is in the batch, as [row of the batch, position, feature]."""
    rows = {0: 0} | ({} if other is None else {other: 1})
    places = [[rows[int(s)], int(p), int(f)] for s, p, f, _ in edits if s in rows]
    return places[-1] if places else [0, 0, 0]


def _padded(
    sentences: Sequence[Mapping[str, Any]], padding: int, edits: Sequence[Edit], other: int | None = 1
) -> tuple[Tensor, Tensor]:
    """The batch as (batch, positions, features) in float64, and where it is not padding (batch, positions)."""
    length = max(len(sentence["tokens"]) for sentence in sentences) + padding
    x = torch.zeros(len(sentences), length, len(sentences[0]["x"][0]), dtype=torch.float64)
    real = torch.zeros(len(sentences), length, dtype=torch.bool)
    for row, sentence in enumerate(sentences):
        x[row, : len(sentence["x"])] = torch.tensor(sentence["x"], dtype=torch.float64)
        real[row, : len(sentence["x"])] = True
    for s, p, f, value in edits:
        if s in (0, other):
            x[0 if s == 0 else 1, int(p), int(f)] = value
    return x, real
