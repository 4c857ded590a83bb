"""The whole machine: two embeddings, an encoder, a decoder and a projection."""

from copy import deepcopy
from dataclasses import dataclass
from typing import Any

from transformer_edu.attention import MultiHeadAttention
from transformer_edu.decoder import Decoder, DecoderLayer
from transformer_edu.decoding.writer import MemoryWriter
from transformer_edu.embedding import InputEmbedding, ProjectionLayer
from transformer_edu.encoder import Encoder, EncoderLayer
from transformer_edu.feedforward import PositionwiseFeedForward
from transformer_edu.masks import causal_mask, padding_mask
from transformer_edu.normalization import LayerNorm
from transformer_edu.positional import PositionalEncoding
from transformer_edu.residual import ResidualConnection
from transformer_edu.support.arguments import check_config, check_decoding, check_fields, check_is, check_placement
from transformer_edu.support.cache import DecoderCache
from transformer_edu.support.initialization import initialize
from transformer_edu.support.shapes import Bool, Float, Int, Memory, Tensor, Vectors
from transformer_edu.support.tied import Tied
from transformer_edu.support.validation import check_ids

SourceIds = Int[Tensor, "batch source_seq"]
TargetIds = Int[Tensor, "batch seq"]


@dataclass(frozen=True)
class TransformerConfig:
    """The numbers that define a Transformer; the defaults are the paper's base model (table 3).

    Args:
        source_vocab_size, target_vocab_size: tokens of the two vocabularies.
        d_model: length of every token's vector; even, and divisible by num_heads.
        num_heads: heads of d_model / num_heads dimensions.
        d_ff: inner length of the feed-forward part, four times d_model in the paper.
        num_layers: layers of the encoder, and as many of the decoder.
        dropout: probability of dropping a number, below 1 (section 5.4).
        norm: where the norm stands, "post" (the paper's figure 1) or "pre".
        final_norm: whether each stack ends in a norm of its own; None: only with "pre", whose sum would otherwise
            leave the stack unnormalized.
        pad_id: the id that fills short sentences up, in both vocabularies.
        max_len: longest sentence in tokens; rows of the positional table.
        tie_embeddings: "none"; "target": the target's table is the projection's; "all": one for all three (the paper).
    """

    source_vocab_size: int
    target_vocab_size: int
    d_model: int = 512
    num_heads: int = 8
    d_ff: int = 2048
    num_layers: int = 6
    dropout: float = 0.1
    norm: str = "post"
    final_norm: bool | None = None
    pad_id: int = 0
    max_len: int = 5000
    tie_embeddings: str = "none"

    def __post_init__(self) -> None:
        check_config(self)

    @property
    def vocab_size(self) -> int:
        """Tokens that the model can write."""
        return self.target_vocab_size

    @property
    def has_final_norm(self) -> bool:
        """Whether each stack ends in a norm of its own."""
        return self.norm == "pre" if self.final_norm is None else self.final_norm


def build_encoder_layer(
    d_model: int, num_heads: int, d_ff: int, dropout: float = 0.0, norm: str = "post"
) -> EncoderLayer:
    """The paper's encoder layer of these sizes; `norm` is "post" (the paper) or "pre"."""
    attention = MultiHeadAttention(d_model, num_heads, dropout)
    return EncoderLayer(attention, PositionwiseFeedForward(d_model, d_ff, dropout), _residual(d_model, dropout, norm))


def build_decoder_layer(
    d_model: int, num_heads: int, d_ff: int, dropout: float = 0.0, norm: str = "post"
) -> DecoderLayer:
    """The paper's decoder layer of these sizes; `norm` is "post" (the paper) or "pre"."""
    own, cross = (MultiHeadAttention(d_model, num_heads, dropout) for _ in range(2))
    feed_forward = PositionwiseFeedForward(d_model, d_ff, dropout)
    return DecoderLayer(own, cross, feed_forward, _residual(d_model, dropout, norm))


def _residual(d_model: int, dropout: float, norm: str) -> ResidualConnection:
    check_placement(norm)
    return ResidualConnection(LayerNorm(d_model), dropout, pre=norm == "pre")


class EncoderDecoder(Tied):
    """A model of two halves, called and searched: what is its own are `encode`, `decode` and `project`."""

    config: Any
    encode: Any
    decode: Any
    project: Any

    def forward(self, source: SourceIds, target: TargetIds) -> Float[Tensor, "batch seq vocab"]:
        """Source ids (batch, source_seq) and target ids so far (batch, seq) -> logits for each next token."""
        return self.project(self.vectors(source, target))

    def vectors(self, source: SourceIds, target: TargetIds) -> Vectors:
        """The same before the projection: (batch, seq, d_model)."""
        return self.decode(target, self.encode(source), source)

    def start_cache(self) -> DecoderCache:
        """An empty cache for decoding a batch step by step."""
        return DecoderCache(self.config.num_layers)

    def start(self, source: SourceIds) -> MemoryWriter:
        """Read the source; what comes back writes its answers (see `transformer_edu.decoding`)."""
        return MemoryWriter(self, source)


class Transformer(EncoderDecoder):
    """The encoder–decoder of "Attention Is All You Need" (figure 1). It makes its own masks from `config.pad_id`."""

    def __init__(self, config: TransformerConfig) -> None:
        super().__init__()
        check_is("config", config, TransformerConfig)
        self.config = c = config
        sizes = (c.d_model, c.num_heads, c.d_ff, c.dropout, c.norm)
        self.source_embedding = InputEmbedding(c.source_vocab_size, c.d_model)
        self.target_embedding = InputEmbedding(c.target_vocab_size, c.d_model)
        self.positional_encoding = PositionalEncoding(c.d_model, c.max_len, c.dropout)
        last = LayerNorm(c.d_model) if c.has_final_norm else None
        self.encoder = Encoder([build_encoder_layer(*sizes) for _ in range(c.num_layers)], deepcopy(last))
        self.decoder = Decoder([build_decoder_layer(*sizes) for _ in range(c.num_layers)], last)
        self.projection = ProjectionLayer(c.d_model, c.target_vocab_size)
        self.tie()

    def tie(self) -> None:
        """Let the tables that `config.tie_embeddings` names be one."""
        if self.config.tie_embeddings in ("target", "all"):
            self.projection.linear.weight = self.target_embedding.lookup.weight
        if self.config.tie_embeddings == "all":
            self.source_embedding.lookup.weight = self.target_embedding.lookup.weight

    def encode(self, source: SourceIds) -> Memory:
        """Read the source: ids (batch, source_seq) -> memory (batch, source_seq, d_model)."""
        check_ids("source", source, self.config.source_vocab_size)
        x = self.positional_encoding(self.source_embedding(source))
        return self.encoder(x, self.source_mask(source))

    def decode(
        self, target: TargetIds, memory: Memory, source: SourceIds, cache: DecoderCache | None = None
    ) -> Vectors:
        """Write with the memory in view: target ids (batch, seq) -> vectors (batch, seq, d_model).

        `source` tells which rows of the memory are padding. With a `cache` (see `start_cache`), `target` holds
        only the ids that are new since the last call.
        """
        check_decoding(target, memory, source, self.config)
        offset = 0 if cache is None else cache.length
        x = self.positional_encoding(self.target_embedding(target), offset)
        so_far = target if cache is None else cache.append(target)
        return self.decoder(x, memory, self.target_mask(so_far, offset), self.source_mask(source), cache)

    def source_mask(self, source: SourceIds) -> Bool[Tensor, "batch 1 1 source_seq"]:
        """Hide the source's padding."""
        return padding_mask(source, self.config.pad_id)

    def target_mask(self, target: TargetIds, offset: int = 0) -> Bool[Tensor, "batch 1 q_len k_len"]:
        """Causal and padding mask together, for the queries from position `offset` on."""
        causal = causal_mask(target.shape[1], target.device)[offset:]  # (q_len, k_len)
        return causal & padding_mask(target, self.config.pad_id)

    def project(self, x: Vectors) -> Float[Tensor, "batch seq vocab"]:
        """Vectors (batch, seq, d_model) -> logits (batch, seq, target_vocab_size)."""
        return self.projection(x)


def build_transformer(source_vocab_size: int, target_vocab_size: int, **config_fields: Any) -> Transformer:
    """A Transformer whose weights are drawn by `initialize`.

    Args:
        source_vocab_size, target_vocab_size: sizes of the two vocabularies.
        **config_fields: any other field of `TransformerConfig`.
    """
    check_fields(config_fields, TransformerConfig.__dataclass_fields__)
    model = Transformer(TransformerConfig(source_vocab_size, target_vocab_size, **config_fields))
    initialize(model)
    return model
