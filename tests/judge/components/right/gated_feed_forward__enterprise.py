"""kind: gated_feed_forward
name: GatedFeedForward
style: enterprise"""
from __future__ import annotations

import enum
from dataclasses import dataclass
from typing import Callable, Dict

import torch
from torch import nn
from torch.nn import functional as F


class GateKind(str, enum.Enum):
    SWIGLU = "swiglu"
    GEGLU = "geglu"


class GateActivationRegistry:
    """Maps a gate kind to the activation function that is applied to the gate branch."""

    _functions: Dict[GateKind, Callable[[torch.Tensor], torch.Tensor]] = {}

    @classmethod
    def register(cls, kind: GateKind):
        def wrap(function):
            cls._functions[kind] = function
            return function

        return wrap

    @classmethod
    def resolve(cls, kind: GateKind) -> Callable[[torch.Tensor], torch.Tensor]:
        try:
            return cls._functions[kind]
        except KeyError as error:
            raise ValueError(f"no activation registered for {kind!r}") from error


@GateActivationRegistry.register(GateKind.SWIGLU)
def _swish(x: torch.Tensor) -> torch.Tensor:
    return x * torch.sigmoid(x)


@GateActivationRegistry.register(GateKind.GEGLU)
def _gelu(x: torch.Tensor) -> torch.Tensor:
    return F.gelu(x)


@dataclass(frozen=True)
class GatedFeedForwardOptions:
    input_width: int
    hidden_width: int
    drop_rate: float = 0.0
    kind: GateKind = GateKind.GEGLU
    use_bias: bool = True


class GatedFeedForward(nn.Module):
    def __init__(self, d_model: int, d_ff: int, dropout: float = 0.0) -> None:
        super().__init__()
        self.options = GatedFeedForwardOptions(d_model, d_ff, dropout)
        self.fused_input = nn.Linear(d_model, 2 * d_ff, bias=self.options.use_bias)
        self.output = nn.Linear(d_ff, d_model, bias=self.options.use_bias)
        self.drop = nn.Dropout(self.options.drop_rate)
        self._activate = GateActivationRegistry.resolve(self.options.kind)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        value, gate = self.fused_input(x).split(self.options.hidden_width, dim=-1)
        return self.output(self.drop(value * self._activate(gate)))
