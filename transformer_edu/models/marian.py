"""Both halves, as translators are shipped today: Marian's (Junczys-Dowmunt et al., 2018), close to the paper's base."""

from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import nn

from transformer_edu.attention import MultiHeadAttention
from transformer_edu.decoder import Decoder, DecoderLayer
from transformer_edu.embedding import InputEmbedding, ProjectionLayer
from transformer_edu.encoder import Encoder, EncoderLayer
from transformer_edu.feedforward import PositionwiseFeedForward
from transformer_edu.masks import causal_mask, padding_mask
from transformer_edu.normalization import LayerNorm
from transformer_edu.positional import PositionalEncoding
from transformer_edu.residual import ResidualConnection
from transformer_edu.support.arguments import check_stack
from transformer_edu.support.cache import DecoderCache
from transformer_edu.support.shapes import Float, Int, Memory, Tensor, Vectors
from transformer_edu.support.validation import check_ids
from transformer_edu.transformer import EncoderDecoder


@dataclass(frozen=True)
class MarianConfig:
    """The numbers that define a Marian translator.

    Args:
        vocab_size: tokens of the vocabulary that both languages share.
        d_model, num_heads, d_ff, num_layers, dropout: those of the paper's layers.
        max_len: longest sentence in tokens.
        activation: between the two matrices of the feed-forward part.
        pad_id: the id that fills short sentences up, and that every answer begins with.
    """

    vocab_size: int = 58101
    d_model: int = 512
    num_heads: int = 8
    d_ff: int = 2048
    num_layers: int = 6
    dropout: float = 0.1
    max_len: int = 512
    activation: str = "silu"
    pad_id: int = 58100
    begins_with_padding: ClassVar[bool] = True

    def __post_init__(self) -> None:
        check_stack(self)


class Marian(EncoderDecoder):
    """The paper's translator. Against it: sines in the first half of a position's row and cosines in the second, SiLU
    in place of ReLU, and a bias for each word's score.
    """

    def __init__(self, config: MarianConfig) -> None:
        super().__init__()
        self.config = c = config
        self.embedding = InputEmbedding(c.vocab_size, c.d_model, c.pad_id)
        self.positional_encoding = HalvedPositions(c.d_model, c.max_len, c.dropout)
        layers = range(c.num_layers)
        self.encoder = Encoder([EncoderLayer(self._attention(), *self._rest()) for _ in layers])
        self.decoder = Decoder([DecoderLayer(self._attention(), self._attention(), *self._rest()) for _ in layers])
        self.projection = ProjectionLayer(c.d_model, c.vocab_size, bias=True)
        self.tie()

    def _attention(self) -> MultiHeadAttention:
        return MultiHeadAttention(self.config.d_model, self.config.num_heads, self.config.dropout)

    def _rest(self) -> tuple[nn.Module, ResidualConnection]:
        c = self.config
        feed_forward = PositionwiseFeedForward(c.d_model, c.d_ff, activation=c.activation)
        return feed_forward, ResidualConnection(LayerNorm(c.d_model), c.dropout)

    def tie(self) -> None:
        """Reading and writing share one table."""
        self.projection.linear.weight = self.embedding.lookup.weight

    def encode(self, source: Int[Tensor, "batch source_seq"]) -> Memory:
        """Read the source: ids (batch, source_seq) -> memory (batch, source_seq, d_model)."""
        x = self.positional_encoding(self.embedding(source))
        return self.encoder(x, padding_mask(source, self.config.pad_id))

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
        x = self.positional_encoding(self.embedding(target), offset)
        so_far = target if cache is None else cache.append(target)
        causal = causal_mask(so_far.shape[1], target.device)[offset:]  # an answer begins with pad_id: no other mask
        return self.decoder(x, memory, causal, padding_mask(source, self.config.pad_id), cache)

    def project(self, x: Vectors) -> Float[Tensor, "batch seq vocab"]:
        """Vectors (batch, seq, d_model) -> logits (batch, seq, vocab_size)."""
        return self.projection(x)


class HalvedPositions(PositionalEncoding):
    """The paper's positions with all sines in front of all cosines."""

    def forward(self, x: Float[Tensor, "batch seq d_model"], offset: int = 0) -> Float[Tensor, "batch seq d_model"]:
        """Add rows offset .. offset + seq - 1 of the table to x (batch, seq, d_model)."""
        rows = self.table[offset : offset + x.shape[1]]
        return self.dropout(x + torch.cat([rows[:, 0::2], rows[:, 1::2]], dim=1))
