"""The half that writes: it looks at what it has written so far, and at what the encoder has read."""

from collections.abc import Callable, Sequence
from typing import Any

from torch import nn

from transformer_edu.attention import MultiHeadAttention
from transformer_edu.feedforward import PositionwiseFeedForward
from transformer_edu.normalization import LayerNorm
from transformer_edu.residual import ResidualConnection
from transformer_edu.support.arguments import check_all_vectors, check_layers
from transformer_edu.support.cache import DecoderCache, LayerCache
from transformer_edu.support.shapes import Mask, Memory, Tensor, Vectors


class DecoderLayer(nn.Module):
    """Masked self-attention, cross-attention to the encoder's output, feed-forward (paper, section 3.1).

    Args:
        d_model, num_heads, d_ff, dropout: as in `MultiHeadAttention` and `PositionwiseFeedForward`.
        norm: "post" (the paper) or "pre".
        self_attention, cross_attention, feed_forward, make_norm: replace the default part with another module.
    """

    def __init__(
        self,
        d_model: int,
        num_heads: int,
        d_ff: int,
        dropout: float = 0.0,
        norm: str = "post",
        *,
        self_attention: nn.Module | None = None,
        cross_attention: nn.Module | None = None,
        feed_forward: nn.Module | None = None,
        make_norm: Callable[[int], nn.Module] = LayerNorm,
    ) -> None:
        super().__init__()
        self.d_model = d_model
        self.self_attention = (
            self_attention if self_attention is not None else MultiHeadAttention(d_model, num_heads, dropout)
        )
        self.cross_attention = (
            cross_attention if cross_attention is not None else MultiHeadAttention(d_model, num_heads, dropout)
        )
        self.feed_forward = (
            feed_forward if feed_forward is not None else PositionwiseFeedForward(d_model, d_ff, dropout)
        )
        self.self_attention_residual = ResidualConnection(d_model, dropout, norm, make_norm)
        self.cross_residual = ResidualConnection(d_model, dropout, norm, make_norm)
        self.feed_forward_residual = ResidualConnection(d_model, dropout, norm, make_norm)

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
        check_all_vectors(self.d_model, x=x, memory=memory)
        past = () if cache is None else (cache.self_attention,)
        x = self.self_attention_residual(x, lambda h: self.self_attention(h, h, h, target_mask, *past))
        x = self.cross_residual(x, lambda h: self.attend_to_memory(h, memory, memory_mask, cache))
        return self.feed_forward_residual(x, self.feed_forward)

    def attend_to_memory(self, h: Tensor, memory: Tensor, mask: Tensor | None, cache: LayerCache | None) -> Tensor:
        """Queries from the target; keys and values from the memory, computed once when there is a cache."""
        attention: Any = self.cross_attention  # a replacement that is to decode step by step has `attend_cached` too
        if cache is None:
            return attention(h, memory, memory, mask)
        if cache.cross_attention.key is None:
            return attention(h, memory, memory, mask, cache.cross_attention)
        return attention.attend_cached(h, cache.cross_attention, mask)


class Decoder(nn.Module):
    """Layers one after another, and a last norm when they are pre-norm; arguments as in `Encoder`."""

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
        """Shapes and masks as in `DecoderLayer.forward`."""
        for index, layer in enumerate(self.layers):
            x = layer(x, memory, target_mask, memory_mask, *(() if cache is None else (cache.layers[index],)))
        return self.final_norm(x)
