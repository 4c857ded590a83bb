"""What several of the models are put together of."""

from typing import Any

from transformer_edu.attention import MultiHeadAttention
from transformer_edu.decoding.writer import MemoryWriter
from transformer_edu.encoder import EncoderLayer
from transformer_edu.feedforward import PositionwiseFeedForward
from transformer_edu.normalization import LayerNorm
from transformer_edu.residual import ResidualConnection
from transformer_edu.support.cache import DecoderCache
from transformer_edu.support.shapes import Float, Int, Tensor
from transformer_edu.support.tied import Tied


def build_layer(config: Any, pre: bool) -> EncoderLayer:
    """The paper's encoder layer of a configuration's sizes, activation and eps; `pre`: norms in front of parts."""
    c = config
    attention = MultiHeadAttention(c.d_model, c.num_heads, c.dropout)
    feed_forward = PositionwiseFeedForward(c.d_model, c.d_ff, activation=c.activation)
    return EncoderLayer(attention, feed_forward, ResidualConnection(LayerNorm(c.d_model, c.eps), c.dropout, pre))


class EncoderDecoder(Tied):
    """A model of two halves, whose own are `encode`, `decode` and `project`, as `Transformer` has them."""

    config: Any
    encode: Any
    decode: Any
    project: Any

    def forward(
        self, source: Int[Tensor, "batch source_seq"], target: Int[Tensor, "batch seq"]
    ) -> Float[Tensor, "batch seq vocab"]:
        """Source ids (batch, source_seq) and target ids so far (batch, seq) -> logits for each next token."""
        return self.project(self.decode(target, self.encode(source), source))

    def start_cache(self) -> DecoderCache:
        """An empty cache for decoding a batch step by step."""
        return DecoderCache(self.config.num_layers)

    def start(self, source: Int[Tensor, "batch source_seq"]) -> MemoryWriter:
        """Read the source; what comes back writes its answers (see `transformer_edu.decoding`)."""
        return MemoryWriter(self, source)
