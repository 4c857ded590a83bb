"""Llama with latent attention and experts: DeepSeek-V3 (2024), without its groups of experts and its further tokens."""

from dataclasses import dataclass

from transformer_edu.encoder import EncoderLayer
from transformer_edu.models.llama import Llama, LlamaConfig
from transformer_edu.parts import Experts, GatedFeedForward, InnerNorms, LatentAttention, RMSNorm, RotaryPositions
from transformer_edu.support.validation import check_positive_integer


@dataclass(frozen=True)
class DeepSeekConfig(LlamaConfig):
    """The numbers that define such a model; the defaults are DeepSeek-V3's.

    Args:
        d_head, d_turned, d_value: of a head, the length of a query's part that is not turned and of that which is, and
            of its values.
        rank, query_rank: lengths of the latents of keys and values, and of queries; None: those have none.
        d_ff, dense_layers: inner length of the feed-forward part of the first layers, and how many they are.
        d_expert, num_experts, top_k: of the others, inner length of an expert, their number, and how many a token
            goes through, beside one that all do.
        expert_gain: by what a file's experts are multiplied when they are read; here it is in their weights.

    What else there is: see `LlamaConfig`.
    """

    vocab_size: int = 129280
    d_model: int = 7168
    num_heads: int = 128
    num_kv_heads: int = 128
    d_ff: int = 18432
    num_layers: int = 61
    max_len: int = 4096
    eps: float = 1e-6
    base: float = 10_000.0
    d_turned: int = 64
    d_value: int = 128
    rank: int = 512
    query_rank: int | None = 1536
    dense_layers: int = 3
    d_expert: int = 2048
    num_experts: int = 256
    top_k: int = 8
    expert_gain: float = 2.5

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ("d_turned", "d_value", "rank", "d_expert", "num_experts", "top_k"):
            check_positive_integer(name, getattr(self, name))
        check_positive_integer("dense_layers", self.dense_layers, minimum=0)


class DeepSeek(Llama):
    """Ids in, a score for every next token out; a cache keeps `rank` + `d_turned` numbers a token and layer."""

    config: DeepSeekConfig

    def build_layer(self, index: int) -> EncoderLayer:
        """Layer `index` of the stack, counted from 0."""
        c = self.config
        turns = RotaryPositions(c.d_turned, c.max_len, base=c.base)
        sizes = c.d_model, c.num_heads, c.d_head, c.d_turned, c.d_value, c.rank
        attention = LatentAttention(*sizes, turns, c.query_rank)
        residual = InnerNorms(RMSNorm(c.d_model, c.eps), None, c.dropout)
        if index < c.dense_layers:
            return EncoderLayer(attention, GatedFeedForward(c.d_model, c.d_ff), residual)
        several = [GatedFeedForward(c.d_model, c.d_expert) for _ in range(c.num_experts + 1)]
        return EncoderLayer(attention, Experts(c.d_model, several[1:], c.top_k, several[0], "sigmoid"), residual)
