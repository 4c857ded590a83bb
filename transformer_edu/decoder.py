"""The half that writes: it looks at what it has written so far, and at what the encoder has read."""

from collections.abc import Sequence
from copy import deepcopy

from torch import nn

from transformer_edu.residual import ResidualConnection
from transformer_edu.support.arguments import check_layers, check_parts
from transformer_edu.support.cache import DecoderCache, LayerCache, cross_attention, self_attention
from transformer_edu.support.shapes import Mask, Memory, Vectors
from transformer_edu.support.validation import check_vectors


class DecoderLayer(nn.Module):
    """Masked self-attention, cross-attention to the encoder's output, feed-forward (paper, section 3.1).

    Args:
        self_attention, cross_attention: `MultiHeadAttention`, or others called with (query, key, value, mask).
        feed_forward: a module (batch, seq, d_model) -> (batch, seq, d_model).
        residual: the connection around a sub-layer; each of the three gets a copy of its own.
    """

    def __init__(
        self,
        self_attention: nn.Module,
        cross_attention: nn.Module,
        feed_forward: nn.Module,
        residual: ResidualConnection,
    ) -> None:
        super().__init__()
        parts = {"self_attention": self_attention, "cross_attention": cross_attention, "feed_forward": feed_forward}
        check_parts(**parts, residual=residual)
        self.self_attention = self_attention
        self.cross_attention = cross_attention
        self.feed_forward = feed_forward
        self.self_attention_residual = deepcopy(residual)
        self.cross_residual = deepcopy(residual)
        self.feed_forward_residual = deepcopy(residual)

    def forward(
        self,
        x: Vectors,
        memory: Memory,
        target_mask: Mask | None = None,
        memory_mask: Mask | None = None,
        cache: LayerCache | None = None,
    ) -> Vectors:
        """x (batch, seq, d_model) and memory (batch, source_seq, d_model) -> (batch, seq, d_model).

        `target_mask` hides later target tokens and padding, `memory_mask` the source's padding.
        With a `cache`, x holds only the new positions.
        """
        check_vectors("memory", memory, x.shape[-1])
        past, kept = (None, None) if cache is None else (cache.self_attention, cache.cross_attention)
        x = self.self_attention_residual(x, lambda h: self_attention(self.self_attention, h, target_mask, past))
        x = self.cross_residual(x, lambda h: cross_attention(self.cross_attention, h, memory, memory_mask, kept))
        return self.feed_forward_residual(x, self.feed_forward)


class Decoder(nn.Module):
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

    def forward(
        self,
        x: Vectors,
        memory: Memory,
        target_mask: Mask | None = None,
        memory_mask: Mask | None = None,
        cache: DecoderCache | None = None,
    ) -> Vectors:
        """Vectors (batch, seq, d_model) -> (batch, seq, d_model); masks and `cache` are those of each layer."""
        for index, layer in enumerate(self.layers):
            inputs = (x, memory, target_mask, memory_mask)
            x = layer(*inputs) if cache is None else layer(*inputs, cache.layers[index])
        return self.final_norm(x)
