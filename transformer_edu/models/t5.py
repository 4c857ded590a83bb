"""Both halves, with positions as a bias of the scores: T5 (Raffel et al., 2020)."""

import math
from dataclasses import dataclass
from typing import ClassVar

from torch import nn

from transformer_edu.decoder import Decoder, DecoderLayer
from transformer_edu.embedding import ProjectionLayer
from transformer_edu.encoder import Encoder, EncoderLayer
from transformer_edu.feedforward import PositionwiseFeedForward
from transformer_edu.masks import causal_mask, padding_mask
from transformer_edu.parts import BiasedAttention, GatedFeedForward, RelativePositions, RMSNorm
from transformer_edu.residual import ResidualConnection
from transformer_edu.support.arguments import check_stack
from transformer_edu.support.cache import DecoderCache
from transformer_edu.support.shapes import Float, Int, Memory, Tensor, Vectors
from transformer_edu.support.validation import check_choice, check_ids
from transformer_edu.transformer import EncoderDecoder


@dataclass(frozen=True)
class T5Config:
    """The numbers that define a T5; the defaults are the small model's.

    Args:
        vocab_size: tokens that it reads and writes.
        d_model, num_heads, d_ff, num_layers, dropout: those of the paper's layers.
        feed_forward: "relu" (two matrices), "gated" (three, with GELU: version 1.1).
        tied: whether reading and writing share one table.
        divided: whether vectors are divided by √d_model before they are scored.
        num_buckets, max_distance: distances that have a bias of their own, and where all further ones share one.
        max_len, eps: longest answer in tokens (the model itself has no limit); of the norms.
        pad_id: the id that fills short texts up, and that every answer begins with.
    """

    vocab_size: int = 32128
    d_model: int = 512
    num_heads: int = 8
    d_ff: int = 2048
    num_layers: int = 6
    dropout: float = 0.1
    feed_forward: str = "relu"
    tied: bool = True
    divided: bool = True
    num_buckets: int = 32
    max_distance: int = 128
    max_len: int = 512
    eps: float = 1e-6
    pad_id: int = 0
    begins_with_padding: ClassVar[bool] = True

    def __post_init__(self) -> None:
        check_stack(self)
        check_choice("feed_forward", self.feed_forward, ("relu", "gated"))


class T5(EncoderDecoder):
    """Source and target ids in, a score for every next token out.

    Against the paper: a bias for each distance and head in place of positions, RMS norm in front of each part, no bias
    in any matrix, scores that are not divided by √d_head (its query matrices start smaller), and embeddings that are
    not multiplied by √d_model but divided by it where they write.
    """

    def __init__(self, config: T5Config) -> None:
        super().__init__()
        self.config = c = config
        self.embedding = nn.Embedding(c.vocab_size, c.d_model)
        self.dropout = nn.Dropout(c.dropout)
        read, write = (RelativePositions(c.num_buckets, c.max_distance, c.num_heads, both) for both in (True, False))
        layers = range(c.num_layers)
        encoder = [EncoderLayer(self._attention(read), *self._rest()) for _ in layers]
        decoder = [DecoderLayer(self._attention(write), self._attention(), *self._rest()) for _ in layers]
        self.encoder = Encoder(encoder, RMSNorm(c.d_model, c.eps))
        self.decoder = Decoder(decoder, RMSNorm(c.d_model, c.eps))
        self.projection = ProjectionLayer(c.d_model, c.vocab_size)
        self.tie()

    def _attention(self, positions: RelativePositions | None = None) -> BiasedAttention:
        return BiasedAttention(self.config.d_model, self.config.num_heads, self.config.dropout, positions)

    def _rest(self) -> tuple[nn.Module, ResidualConnection]:
        c = self.config
        if c.feed_forward == "gated":
            feed_forward: nn.Module = GatedFeedForward(c.d_model, c.d_ff, c.dropout, "gelu_tanh")
        else:
            feed_forward = PositionwiseFeedForward(c.d_model, c.d_ff, c.dropout, bias=False)
        return feed_forward, ResidualConnection(RMSNorm(c.d_model, c.eps), c.dropout, pre=True)

    def tie(self) -> None:
        """Reading and writing share one table, where the configuration says so."""
        if self.config.tied:
            self.projection.linear.weight = self.embedding.weight

    def encode(self, source: Int[Tensor, "batch source_seq"]) -> Memory:
        """Read the source: ids (batch, source_seq) -> memory (batch, source_seq, d_model)."""
        check_ids("source", source, self.config.vocab_size)
        x = self.encoder(self.dropout(self.embedding(source)), padding_mask(source, self.config.pad_id))
        return self.dropout(x)

    def decode(
        self,
        target: Int[Tensor, "batch seq"],
        memory: Memory,
        source: Int[Tensor, "batch source_seq"],
        cache: DecoderCache | None = None,
    ) -> Vectors:
        """Write with the memory in view: target ids (batch, seq) -> vectors (batch, seq, d_model)."""
        check_ids("target", target, self.config.vocab_size)
        offset = 0 if cache is None else cache.length
        so_far = target if cache is None else cache.append(target)
        causal = causal_mask(so_far.shape[1], target.device)[offset:]  # an answer begins with pad_id: no other mask
        x = self.dropout(self.embedding(target))
        return self.dropout(self.decoder(x, memory, causal, padding_mask(source, self.config.pad_id), cache))

    def project(self, x: Vectors) -> Float[Tensor, "batch seq vocab"]:
        """Vectors (batch, seq, d_model) -> logits (batch, seq, vocab_size)."""
        return self.projection(x / math.sqrt(self.config.d_model) if self.config.divided else x)
