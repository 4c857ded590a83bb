"""What several of the models are put together of."""

from typing import Any

from transformer_edu.attention import MultiHeadAttention
from transformer_edu.encoder import EncoderLayer
from transformer_edu.feedforward import PositionwiseFeedForward
from transformer_edu.normalization import LayerNorm
from transformer_edu.residual import ResidualConnection


def build_layer(config: Any, pre: bool) -> EncoderLayer:
    """The paper's encoder layer of a configuration's sizes, activation and eps; `pre`: norms in front of parts."""
    c = config
    attention = MultiHeadAttention(c.d_model, c.num_heads, c.dropout)
    feed_forward = PositionwiseFeedForward(c.d_model, c.d_ff, activation=c.activation)
    return EncoderLayer(attention, feed_forward, ResidualConnection(LayerNorm(c.d_model, c.eps), c.dropout, pre))
