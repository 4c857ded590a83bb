"""Checks an embedding module, its table and its factor; its known mistakes are in `input_embedding_mistakes`."""

import math
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn

from transformer_edu.checks.engine import Component, Trial, need_callable
from transformer_edu.checks.engine.compare import Unfit, as_tensor
from transformer_edu.embedding import InputEmbedding


def check_input_embedding(cls: Callable[..., nn.Module]) -> None:
    """Check cls(vocab_size, d_model), a module whose forward(ids) turns (batch, seq) into (batch, seq, d_model).

    It looks up one row for each id in a trainable table, drawn with standard deviation 1/√d_model, and multiplies
    it by √d_model (paper, section 3.4).
    """
    need_callable("cls", cls)
    INPUT_EMBEDDING.check(cls)


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
    module, table = _build(cls, **given)
    drawn = float(table.detach().std())  # before the first call, which could change it
    return {
        "standard deviation of the table": drawn,
        "standard deviation of the output": float(as_tensor(module(torch.arange(given["vocab_size"])[None])).std()),
    }


TABLE = torch.tensor([[1.0, 2, 3, 4], [5, 6, 7, 8], [0, -1, 0, 1]])  # three words, d_model 4

INPUT_EMBEDDING = Component(
    "input embedding",
    reference=ScaledEmbedding,
    trials=[
        Trial(
            "the table is set to known numbers; words 2 and 0",
            {"table": TABLE, "ids": torch.tensor([[2, 0]])},
            _look_up,
        ),
        Trial("two sentences of three words", {"table": TABLE, "ids": torch.tensor([[2, 0, 1], [1, 1, 2]])}, _look_up),
        Trial("two calls", {"table": TABLE, "ids": torch.tensor([[2, 0]])}, _look_up_twice),
        Trial("what training sees of words 1 and 2", {"table": TABLE, "ids": torch.tensor([[1, 2]])}, _gradient),
        Trial("what can be trained", {"vocab_size": 3, "d_model": 4}, _trained),
        Trial("a large table, as it was drawn", {"vocab_size": 2000, "d_model": 64}, _scales, tolerance=0.05),
    ],
)
