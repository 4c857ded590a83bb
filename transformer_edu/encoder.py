"""The half that reads: a stack of layers of self-attention and feed-forward."""

from collections.abc import Sequence
from copy import deepcopy

from torch import nn

from transformer_edu.support.arguments import check_layers, check_parts
from transformer_edu.support.cache import DecoderCache, LayerCache, self_attention
from transformer_edu.support.shapes import Mask, Vectors


class EncoderLayer(nn.Module):
    """Self-attention, then feed-forward, each inside a residual connection (paper, section 3.1).

    Args:
        self_attention: `MultiHeadAttention`, or another module called with (query, key, value, mask).
        feed_forward: a module (batch, seq, d_model) -> (batch, seq, d_model).
        residual: the connection around a sub-layer, called with (x, sublayer), as `ResidualConnection`; each of the two
            gets a copy of its own.
    """

    def __init__(self, self_attention: nn.Module, feed_forward: nn.Module, residual: nn.Module) -> None:
        super().__init__()
        check_parts(self_attention=self_attention, feed_forward=feed_forward, residual=residual)
        self.self_attention = self_attention
        self.feed_forward = feed_forward
        self.self_attention_residual = deepcopy(residual)
        self.feed_forward_residual = deepcopy(residual)

    def forward(self, x: Vectors, mask: Mask | None = None, cache: LayerCache | None = None) -> Vectors:
        """x (batch, seq, d_model) -> (batch, seq, d_model); `mask` hides padding, or later tokens as well.

        With a `cache`, x holds only the new positions.
        """
        past = None if cache is None else cache.self_attention
        x = self.self_attention_residual(x, lambda h: self_attention(self.self_attention, h, mask, past))
        return self.feed_forward_residual(x, self.feed_forward)


class Encoder(nn.Module):
    """Layers one after another, and a last norm when they are pre-norm.

    Args:
        layers: the layers, each built on its own so that no two start with the same weights.
        final_norm: applied to the last layer's output; None for the paper's post-norm stack.
    """

    def __init__(self, layers: Sequence[nn.Module], final_norm: nn.Module | None = None) -> None:
        super().__init__()
        check_layers(layers)
        self.layers = nn.ModuleList(layers)
        self.final_norm = final_norm if final_norm is not None else nn.Identity()

    def forward(self, x: Vectors, mask: Mask | None = None, cache: DecoderCache | None = None) -> Vectors:
        """Vectors (batch, seq, d_model) -> vectors (batch, seq, d_model) that know their context.

        With a causal mask it is the stack of a model that only writes; with a `cache`, x holds only what is new.
        """
        for index, layer in enumerate(self.layers):
            x = layer(x, mask) if cache is None else layer(x, mask, cache.layers[index])
        return self.final_norm(x)
