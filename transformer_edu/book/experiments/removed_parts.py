"""Parts taken out of a model: what stands in their place, and how it gets there."""

import math
from collections.abc import Callable
from typing import Any

from torch import nn

from transformer_edu.attention import MultiHeadAttention
from transformer_edu.positional import PositionalEncoding
from transformer_edu.residual import ResidualConnection
from transformer_edu.support.cache import HeadVectors
from transformer_edu.support.shapes import Tensor, Vectors
from transformer_edu.transformer import Transformer


class NoPositions(nn.Module):
    """Stands where the positional encoding stood: dropout, and no position."""

    def __init__(self, dropout: float) -> None:
        super().__init__()
        self.dropout = nn.Dropout(dropout)

    def forward(self, x: Vectors, offset: int = 0) -> Vectors:
        """x (batch, seq, d_model), unchanged but for the dropout."""
        return self.dropout(x)


class NoResidual(ResidualConnection):
    """The sub-layer and its norm, without the residual connection around them."""

    def forward(self, x: Vectors, sublayer: Callable[[Tensor], Tensor]) -> Vectors:
        """LayerNorm(Sublayer(x)) where it was LayerNorm(x + Sublayer(x))."""
        return self.norm(self.dropout(sublayer(x)))


class NoSublayer(nn.Module):
    """Stands where a sub-layer, its residual connection and its norm stood: lets everything through."""

    def forward(self, x: Vectors, sublayer: Callable[[Tensor], Tensor]) -> Vectors:
        """x itself."""
        return x


class UnscaledAttention(MultiHeadAttention):
    """Attention whose scores are not divided by √d_head."""

    def queries(self, x: Vectors, offset: int = 0) -> HeadVectors:
        """x W_Q in heads, with the division undone beforehand."""
        return super().queries(x, offset) * math.sqrt(self.d_head)


def take_out(model: nn.Module, kind: type[nn.Module], make: Callable[[Any], nn.Module]) -> None:
    """Replace every part of a class by what `make` makes of it; weights of the same name and shape are kept."""
    for parent in list(model.modules()):
        for name, part in list(parent.named_children()):
            if isinstance(part, kind):
                other = make(part)
                kept = {key: value for key, value in part.state_dict().items() if key in other.state_dict()}
                other.load_state_dict(kept, strict=False)
                setattr(parent, name, other)


def without_positions(model: Transformer) -> None:
    """Words without places."""
    take_out(model, PositionalEncoding, lambda _: NoPositions(model.config.dropout))


def without_residual(model: Transformer) -> None:
    """No residual connection around any sub-layer."""
    take_out(model, ResidualConnection, lambda part: NoResidual(part.norm, model.config.dropout))


def without_norm(model: Transformer) -> None:
    """x + Sublayer(x), and nothing else."""
    for part in model.modules():
        if isinstance(part, ResidualConnection):
            part.norm = nn.Identity()


def without_feed_forward(model: Transformer) -> None:
    """Layers of attention alone."""
    for layer in [*model.encoder.layers, *model.decoder.layers]:
        layer.feed_forward, layer.feed_forward_residual = nn.Identity(), NoSublayer()


def without_relu(model: Transformer) -> None:
    """Feed-forward parts that are one linear map."""
    for layer in [*model.encoder.layers, *model.decoder.layers]:
        layer.feed_forward.activation = nn.Identity()


def without_scaling(model: Transformer) -> None:
    """Scores as large as they come."""
    c = model.config
    take_out(model, MultiHeadAttention, lambda _: UnscaledAttention(c.d_model, c.num_heads, c.dropout))
