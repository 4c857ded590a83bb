"""Checks a module that adds the sinusoidal table to embeddings; its known mistakes are in `encoding_mistakes`."""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn

from transformer_edu.checks.engine import Component, Trial, need_callable
from transformer_edu.checks.engine.compare import Unfit, as_tensor
from transformer_edu.checks.engine.side_effects import gradient_of
from transformer_edu.positional import PositionalEncoding


def check_positional_encoding(cls: Callable[..., nn.Module], with_offset: bool = True) -> None:
    """Check cls(d_model, max_len=..., dropout=...), whose forward(x, offset=0) adds the table's rows and drops out.

    x is (batch, seq, d_model). `with_offset=False` leaves out the one trial that needs forward's `offset`.
    """
    need_callable("cls", cls)
    (ENCODING if with_offset else WITHOUT_OFFSET).check(cls)


def _build(cls: Any, d_model: int = 4, max_len: int = 10, dropout: float = 0.0) -> nn.Module:
    module = cls(d_model, max_len=max_len, dropout=dropout)
    if not isinstance(module, nn.Module):
        raise Unfit(f"makes a {type(module).__name__}, expected a torch.nn.Module")
    return module


def _forward(cls: Any, given: dict[str, Any]) -> Any:
    return _build(cls)(*given.values())


def _add(cls: Any, given: dict[str, Any]) -> Tensor:
    return as_tensor(_forward(cls, given))


def _input_afterwards(cls: Any, given: dict[str, Any]) -> dict[str, Any]:
    _build(cls)(given["x"])
    return {"x after the call": given["x"]}


def _belongings(cls: Any, given: dict[str, Any]) -> dict[str, Any]:
    """Where the table lives: tensors in plain attributes stay behind when the module moves."""
    module = _build(cls, **given)
    plain = [name for part in module.modules() for name, kept in vars(part).items() if isinstance(kept, Tensor)]
    return {
        "a table in a plain attribute, which .to(device) leaves behind": bool(plain),
        "a parameter, which training would change": any(p.requires_grad for p in module.parameters()),
    }


def _dropout(cls: Any, given: dict[str, Any]) -> dict[str, Any]:
    """What dropout 0.5 does to 200 tokens in training, and in eval mode."""
    module, x = _build(cls, max_len=200, **given), torch.full((1, 200, 4), 100.0)
    share_zero = float((module.train()(x) == 0).float().mean())
    evaluated = module.eval()(x)
    return {
        "about half of the sums are zero in training": 0.35 < share_zero < 0.65,
        "two passes in training differ": not torch.equal(module.train()(x), module(x)),
        "two passes in eval mode differ": not torch.equal(evaluated, module.eval()(x)),
    }


X = torch.tensor([[[1.0, 1, 1, 1], [2, 2, 2, 2]]])  # one sentence of two tokens, d_model 4

TRIALS = [
    Trial("two tokens, d_model 4", {"x": X}, _add),
    Trial("two sentences of two tokens", {"x": torch.cat([X, -X])}, _add),
    Trial("x afterwards", {"x": X}, _input_afterwards),
    Trial("what the module holds", {"d_model": 4, "max_len": 10}, _belongings),
    Trial("dropout, two hundred tokens of 100", {"dropout": 0.5}, _dropout),
]
OFFSET = Trial("two tokens that stand at positions 3 and 4", {"x": X, "offset": 3}, _add)

GRADIENT = gradient_of("x", call=_forward)

ENCODING = Component("positional encoding", PositionalEncoding, [*TRIALS, OFFSET], gradient=GRADIENT)
WITHOUT_OFFSET = Component("positional encoding", PositionalEncoding, TRIALS, ENCODING.mistakes, GRADIENT)
