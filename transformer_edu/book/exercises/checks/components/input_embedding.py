"""Checks an embedding module, its table and its factor."""

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from transformer_edu.book.exercises.checks.engine import Component, Trial, Unfit, as_tensor
from transformer_edu.embedding import InputEmbedding


def check_input_embedding(cls: Callable[..., nn.Module], drawn: bool = True) -> None:
    """Check cls(vocab_size, d_model), a module whose forward(ids) turns (batch, seq) into (batch, seq, d_model).

    It looks up one row for each id in a trainable table, drawn with standard deviation 1/√d_model or by Xavier's rule
    (as build_transformer draws it), and multiplies it by √d_model (paper, section 3.4). `drawn=False` leaves out the
    one trial of how the table starts: for a part such as te.InputEmbedding, whose table the whole model draws.
    """
    component = COMPONENT if drawn else replace(COMPONENT, trials=COMPONENT.trials[:-1])
    component.check(cls=cls)


class ScaledEmbedding(InputEmbedding):
    """The package's module with its table drawn so that outputs have a standard deviation of 1."""

    def __init__(self, vocab_size: int, d_model: int) -> None:
        super().__init__(vocab_size, d_model)
        nn.init.normal_(self.lookup.weight, std=1 / math.sqrt(d_model))


def _build(cls: Any, vocab_size: int, d_model: int) -> tuple[nn.Module, nn.Parameter]:
    """The candidate's module and its table, (vocab_size, d_model) or transposed."""
    module = cls(vocab_size, d_model)
    if not isinstance(module, nn.Module):
        raise Unfit(f"makes a {type(module).__name__}, expected a torch.nn.Module")
    shapes = ((vocab_size, d_model), (d_model, vocab_size))
    tables = [parameter for parameter in module.parameters() if parameter.shape in shapes]
    if len(tables) != 1:
        found = f"{len(tables)} parameters of" if tables else "no parameter of"
        raise Unfit(f"holds {found} shape (vocab_size, d_model) = {shapes[0]}, expected one, the table")
    return module, tables[0]


def _rows(table: Tensor, like: Tensor) -> Tensor:
    """The table with one row for each word."""
    return table if table.shape == like.shape else table.T


def _with_table(cls: Any, table: Tensor) -> tuple[nn.Module, nn.Parameter]:
    module, parameter = _build(cls, *table.shape)
    with torch.no_grad():
        _rows(parameter, table).copy_(table)
    return module, parameter


def with_table(cls: Any, table: Tensor, ids: Tensor) -> Any:
    """What a class answers with this table, of which it is a function."""
    module, parameter = _build(cls, *table.shape)
    name = next(name for name, one in module.named_parameters() if one is parameter)
    given = table if parameter.shape == table.shape else table.T
    return torch.func.functional_call(module, {name: given}, (ids,))


def _look_up(cls: Any, given: dict[str, Any]) -> Tensor:
    return as_tensor(_with_table(cls, given["table"])[0](given["ids"]))


def _look_up_twice(cls: Any, given: dict[str, Any]) -> dict[str, Any]:
    module, parameter = _with_table(cls, given["table"])
    module(given["ids"])
    return {
        "output of the second call": as_tensor(module(given["ids"])),
        "table afterwards": as_tensor(_rows(parameter, given["table"])),
    }


def _gradient(cls: Any, given: dict[str, Any]) -> dict[str, Any]:
    """The gradient of the sum of all outputs."""
    module, parameter = _with_table(cls, given["table"])
    total = module(given["ids"]).sum()
    if total.requires_grad:
        total.backward()
    gradient = torch.zeros_like(parameter) if parameter.grad is None else parameter.grad.to_dense()
    return {"gradient of the table": as_tensor(_rows(gradient, given["table"]))}


def _trained(cls: Any, given: dict[str, Any]) -> dict[str, Any]:
    module, _ = _build(cls, **given)
    return {"numbers that training changes": sum(p.numel() for p in module.parameters() if p.requires_grad)}


def _scales(cls: Any, given: dict[str, Any]) -> dict[str, Any]:
    """Of the table and of what comes out; None, which is not compared, where the table is drawn by Xavier's rule."""
    module, table = _build(cls, **given)
    drawn = float(table.detach().std())  # before the first call, which could change it
    output = float(as_tensor(module(torch.arange(given["vocab_size"])[None])).std())
    by_xavier = math.isclose(drawn, math.sqrt(2 / sum(table.shape)), rel_tol=SCALES)
    return {
        "standard deviation of the table": None if by_xavier else drawn,
        "standard deviation of the output": None if by_xavier else output,
    }


SCALES = 0.05  # how far a standard deviation may be off, of a table of this size
WIDE = torch.arange(18.0).view(3, 6) - 7  # √6, 6 / 2 and log₂ 6 are three numbers; of 4 they are one
TABLE = torch.tensor([[1.0, 2, 3, 4], [5, 6, 7, 8], [0, -1, 0, 1]])  # three words, d_model 4

COMPONENT = Component(
    "input embedding",
    chapter=3,
    reference=ScaledEmbedding,
    trials=[
        Trial(
            "the table is set to known numbers; words 2 and 0",
            {"table": TABLE, "ids": torch.tensor([[2, 0]])},
            _look_up,
        ),
        Trial(
            "two sentences of three words, d_model 6",
            {"table": WIDE, "ids": torch.tensor([[2, 0, 1], [1, 1, 2]])},
            _look_up,
        ),
        Trial("two calls", {"table": TABLE, "ids": torch.tensor([[2, 0]])}, _look_up_twice),
        Trial("what training sees of words 1 and 2", {"table": TABLE, "ids": torch.tensor([[1, 2]])}, _gradient),
        Trial("what can be trained", {"vocab_size": 3, "d_model": 4}, _trained),
        Trial("a large table, as it was drawn", {"vocab_size": 2000, "d_model": 64}, _scales, tolerance=SCALES),
    ],
)
mistake = COMPONENT.mistake


def variant(
    factor: Callable[[int, int], float] = lambda vocab_size, d_model: math.sqrt(d_model),
    std: Callable[[int, int], float] = lambda vocab_size, d_model: 1 / math.sqrt(d_model),
    change: Callable[[Any], object] = lambda module: None,
    **methods: Callable[..., Any],
) -> type[nn.Module]:
    """The right module with another factor, another scale of its table, a change to it, or other methods."""

    class Variant(ScaledEmbedding):
        def __init__(self, vocab_size: int, d_model: int) -> None:
            super().__init__(vocab_size, d_model)
            nn.init.normal_(self.lookup.weight, std=std(vocab_size, d_model))
            change(self)

        def rows(self, ids: Tensor) -> Tensor:
            return self.lookup(ids)

        def forward(self, ids: Tensor) -> Tensor:
            return self.rows(ids) * factor(self.vocab_size, self.d_model)

    return type("Variant", (Variant,), methods)


def _softmaxed_rows(module: Any, ids: Tensor) -> Tensor:
    return F.one_hot(ids, module.vocab_size).to(module.lookup.weight.dtype).softmax(-1) @ module.lookup.weight


def _scaling_the_table(module: Any, ids: Tensor) -> Tensor:
    module.lookup.weight.data.mul_(math.sqrt(module.d_model))
    return module.lookup(ids)


def _kept_in_an_attribute(module: Any) -> None:
    table = module.lookup.weight.detach()
    del module.lookup
    module.lookup = table.__getitem__


mistake(
    "the factor √d_model is missing",
    symptom="words are √d_model times smaller than the paper has them, and drown beside their positions",
    why="the rows of the table are returned as they are.",
    hint="d_model is 4 here. By what should a row be multiplied?",
)(variant(factor=lambda vocab_size, d_model: 1.0))
mistake(
    "the table is nn.Embedding's own, drawn from N(0, 1), and the factor is missing",
    symptom="outputs have the right size, but a projection that shares the table gives logits √d_model times too large",
    why="nn.Embedding draws with standard deviation 1. Here the table should have 1/√d_model, and the factor mends it.",
    hint="Two things: which numbers should the table start from, and by what should a row be multiplied?",
)(variant(factor=lambda vocab_size, d_model: 1.0, std=lambda vocab_size, d_model: 1.0))
mistake(
    "the rows are divided by √d_model, not multiplied",
    symptom="words are d_model times smaller than they should be: positions are all that is left",
    why="√d_model divides the scores in attention; here it multiplies.",
    hint="The table's entries are small, about 1/√d_model. Which operation brings them to about 1?",
)(variant(factor=lambda vocab_size, d_model: 1 / math.sqrt(d_model)))
mistake(
    "the factor is d_model, not its root",
    symptom="words are √d_model times too large, and positions drown beside them",
    why="the root is missing.",
    hint="The table's entries are about 1/√d_model. Which factor brings them to about 1?",
)(variant(factor=lambda vocab_size, d_model: d_model))
mistake(
    "the factor is √vocab_size, not √d_model",
    symptom="the size of a word's vector depends on how many words there are",
    why="the wrong one of the two sizes stands under the root.",
    hint="Which size is the length of one word's vector?",
)(variant(factor=lambda vocab_size, d_model: math.sqrt(vocab_size)))
mistake(
    "ids are ignored: each position gets a row, whatever word stands there",
    symptom="a model that does not react to its input words",
    why="the table is read at 0, 1, 2, …, the positions, or cut with a slice.",
    hint="Word 2 stands first in the example. Which row of the table should come first?",
)(variant(rows=lambda self, ids: self.lookup(torch.arange(ids.shape[1]).expand_as(ids))))
mistake(
    "a softmax stands between the one-hot vectors and the table",
    symptom="every word's vector is a blend of all words",
    why="softmax of 0, 0, 1 is 0.21, 0.21, 0.58: each row of the table gets in.",
    hint="Which vector times the table gives exactly one of its rows?",
)(variant(rows=_softmaxed_rows))
mistake(
    "the table is not a parameter",
    symptom="the optimizer does not know of it: words keep the vectors that they were given by chance",
    why="a tensor in a plain attribute or a buffer is not among module.parameters().",
    hint="In what must a tensor be wrapped, so that an nn.Module trains it?",
)(variant(change=_kept_in_an_attribute))
mistake(
    "the table is frozen",
    symptom="words keep the vectors that they were given by chance",
    why="its requires_grad is off, as in nn.Embedding.from_pretrained unless freeze=False is given.",
    hint="What should the gradient reach?",
)(variant(change=lambda module: module.lookup.weight.requires_grad_(False)))
mistake(
    "the lookup is cut off from the gradient",
    symptom="words keep the vectors that they were given by chance, though the table is a parameter",
    why="`.data`, `.detach()` or `torch.no_grad()` reads the numbers without their history.",
    hint="How does the loss learn which row of the table an output came from?",
)(variant(rows=lambda self, ids: self.lookup.weight.detach()[ids]))
mistake(
    "the table itself is scaled, at every call",
    symptom="right the first time; then outputs grow by √d_model with each call until they overflow",
    why="`self.table *= ...` or `.data.mul_(...)` writes into the parameter.",
    hint="What does the second call find in the table?",
)(variant(forward=_scaling_the_table))
mistake(
    "the table is drawn from N(0, 1), nn.Embedding's default",
    symptom="words start √d_model times larger than their positions, which drown beside them",
    why="the factor √d_model makes the outputs' standard deviation √d_model instead of 1.",
    hint="Which function of torch.nn.init draws with a standard deviation that you choose?",
)(variant(std=lambda vocab_size, d_model: 1.0))
mistake(
    "the table is drawn with standard deviation 1/d_model, not 1/√d_model",
    symptom="words start √d_model times smaller than they should, and drown beside their positions",
    why="1/d_model is the variance; a standard deviation is its root.",
    hint="Which of the two does your call want, the variance or the standard deviation?",
)(variant(std=lambda vocab_size, d_model: 1 / d_model))
mistake(
    "the table is drawn uniformly between −1/√d_model and 1/√d_model",
    symptom="words start 1.7 times smaller than they should",
    why="1/√d_model is then the largest entry; the standard deviation is smaller by √3.",
    hint="What is the standard deviation of numbers drawn evenly between −a and a?",
)(variant(std=lambda vocab_size, d_model: 1 / math.sqrt(3 * d_model)))
