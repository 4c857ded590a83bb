"""The whole machine: two embeddings, an encoder, a decoder and a projection."""

from copy import deepcopy
from typing import Any

from transformer_edu.config import TransformerConfig, build_decoder_layer, build_encoder_layer
from transformer_edu.decoder import Decoder
from transformer_edu.decoding.writer import MemoryWriter
from transformer_edu.embedding import InputEmbedding, ProjectionLayer
from transformer_edu.encoder import Encoder
from transformer_edu.masks import causal_mask, padding_mask
from transformer_edu.normalization import LayerNorm
from transformer_edu.positional import PositionalEncoding
from transformer_edu.support.arguments import check_decoding, check_fields, check_is
from transformer_edu.support.cache import DecoderCache
from transformer_edu.support.initialization import initialize
from transformer_edu.support.shapes import Bool, Float, Int, Memory, Tensor, Vectors
from transformer_edu.support.tied import Tied
from transformer_edu.support.validation import check_ids

SourceIds = Int[Tensor, "batch source_seq"]
TargetIds = Int[Tensor, "batch seq"]


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
