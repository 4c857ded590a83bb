"""The half that reads: a stack of layers of self-attention and feed-forward."""

from collections.abc import Callable, Sequence

from torch import nn

from transformer_edu.attention import MultiHeadAttention
from transformer_edu.feedforward import PositionwiseFeedForward
from transformer_edu.normalization import LayerNorm
from transformer_edu.residual import ResidualConnection
from transformer_edu.support.arguments import check_layers
from transformer_edu.support.shapes import Mask, Vectors
from transformer_edu.support.validation import check_vectors


class EncoderLayer(nn.Module):
    """Self-attention, then feed-forward, each inside a residual connection (paper, section 3.1).

    Args:
        d_model, num_heads, d_ff, dropout: as in `MultiHeadAttention` and `PositionwiseFeedForward`.
        norm: "post" (the paper) or "pre".
        self_attention, feed_forward, make_norm: replace the default part with another module.
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
        feed_forward: nn.Module | None = None,
        make_norm: Callable[[int], nn.Module] = LayerNorm,
    ) -> None:
        super().__init__()
        self.d_model = d_model
        self.self_attention = (
            self_attention if self_attention is not None else MultiHeadAttention(d_model, num_heads, dropout)
        )
        self.feed_forward = (
            feed_forward if feed_forward is not None else PositionwiseFeedForward(d_model, d_ff, dropout)
        )
        self.self_attention_residual = ResidualConnection(d_model, dropout, norm, make_norm)
        self.feed_forward_residual = ResidualConnection(d_model, dropout, norm, make_norm)

    def forward(self, x: Vectors, mask: Mask | None = None) -> Vectors:
        """x (batch, seq, d_model) -> (batch, seq, d_model); `mask` hides padding."""
        check_vectors("x", x, self.d_model)
        x = self.self_attention_residual(x, lambda h: self.self_attention(h, h, h, mask))
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

    def forward(self, x: Vectors, mask: Mask | None = None) -> Vectors:
        """Vectors (batch, seq, d_model) -> vectors (batch, seq, d_model) that know their context."""
        for layer in self.layers:
            x = layer(x, mask)
        return self.final_norm(x)
