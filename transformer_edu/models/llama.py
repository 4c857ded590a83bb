"""GPT as it is built today: Llama 3, and Qwen 3, Mistral, Gemma 3 and OLMo 2 as other settings of the same parts."""

from dataclasses import dataclass
from typing import Any

from torch import nn

from transformer_edu.attention import MultiHeadAttention
from transformer_edu.embedding import ProjectionLayer
from transformer_edu.encoder import Encoder, EncoderLayer
from transformer_edu.models.gpt import GPT
from transformer_edu.parts import GatedFeedForward, InnerNorms, NormedAttention, RMSNorm, RotaryPositions
from transformer_edu.parts.rotary import for_longer_texts
from transformer_edu.parts.window import WindowedAttention
from transformer_edu.support.arguments import check_stack
from transformer_edu.support.cache import DecoderCache
from transformer_edu.support.shapes import Ids, Vectors
from transformer_edu.support.tied import Tied
from transformer_edu.support.validation import check_choice, check_ids, check_positive_integer


@dataclass(frozen=True)
class LlamaConfig:
    """The numbers that define a Llama or one of its relatives; the defaults are Llama 3's with 8 billion parameters.

    Args:
        vocab_size, d_model, num_heads, num_kv_heads, d_head, d_ff, num_layers: sizes.
        max_len: longest text in tokens; rows of the table of turns.
        eps: of the norms. base: of the rotary positions.
        scaling, factor, trained: for longer texts than `trained` tokens: "", "linear", "yarn" or "llama3".
        norms: "before" each part; "after" it (OLMo 2); or "both" (Gemma 3).
        query_key_norm: "", over each "head" (Qwen 3, Gemma 3), or over "all" of them (OLMo 2).
        window, full_every: tokens that a layer sees, but for each `full_every`-th, which sees all; 0: all layers do.
        local_base: of the rotary positions in layers with a window.
        activation: of the gate. tied: reading and writing share a table. scaled: embeddings times √d_model.
        pad_id: the id that fills short texts up; None: no id does. dropout: of what each part adds.
    """

    vocab_size: int = 128256
    d_model: int = 4096
    num_heads: int = 32
    num_kv_heads: int = 8
    d_head: int = 128
    d_ff: int = 14336
    num_layers: int = 32
    max_len: int = 8192
    eps: float = 1e-5
    base: float = 500_000.0
    scaling: str = ""
    factor: float = 1.0
    trained: int = 8192
    norms: str = "before"
    query_key_norm: str = ""
    window: int = 0
    full_every: int = 0
    local_base: float = 10_000.0
    activation: str = "silu"
    tied: bool = False
    scaled: bool = False
    pad_id: int | None = None
    dropout: float = 0.0

    def __post_init__(self) -> None:
        check_stack(self)
        check_choice("scaling", self.scaling, ("", "linear", "yarn", "llama3"))
        check_choice("norms", self.norms, ("before", "after", "both"))
        check_choice("query_key_norm", self.query_key_norm, ("", "head", "all"))
        check_positive_integer("window", self.window, minimum=0)
        check_positive_integer("full_every", self.full_every, minimum=0)


class Llama(GPT):
    """Ids in, a score for every next token out.

    Against GPT-2: RMS norms, rotary positions, a gated feed-forward, keys and values that heads share, no biases.
    """

    config: LlamaConfig  # type: ignore[assignment]

    def __init__(self, config: LlamaConfig) -> None:
        Tied.__init__(self)
        self.config = c = config
        self.embedding = nn.Embedding(c.vocab_size, c.d_model)
        self.decoder = Encoder([self.build_layer(i) for i in range(c.num_layers)], RMSNorm(c.d_model, c.eps))
        self.projection = ProjectionLayer(c.d_model, c.vocab_size, bias=False)
        for weight in (self.embedding.weight, self.projection.linear.weight):
            nn.init.normal_(weight, std=0.02)
        self.tie()

    def tie(self) -> None:
        """Reading and writing share one table, if the configuration says so."""
        if self.config.tied:
            super().tie()

    def vectors(self, ids: Ids, cache: DecoderCache | None = None) -> Vectors:
        """All but the projection: (batch, seq, d_model). Positions are in the attention."""
        check_ids("ids", ids, self.config.vocab_size)
        offset = 0 if cache is None else cache.length
        so_far = ids if cache is None else cache.append(ids)
        x = self.embedding(ids)
        if self.config.scaled:
            x = x * self.config.d_model**0.5
        return self.decoder(x, self.mask(so_far, offset), cache)

    def build_layer(self, index: int) -> EncoderLayer:
        """Layer `index` of the stack, counted from 0."""
        c = self.config
        local = c.window > 0 and (c.full_every == 0 or (index + 1) % c.full_every > 0)
        turns = (c.local_base,) if local else (c.base, *for_longer_texts(c.scaling, c.factor, c.trained, c.base))
        more: dict[str, Any] = {"bias": False, "num_kv_heads": c.num_kv_heads, "d_head": c.d_head}
        more["rotate"] = RotaryPositions(c.d_head, c.max_len, "halves", *turns)
        more["function"] = WindowedAttention(c.window) if local else None
        if c.query_key_norm:
            for name, heads in (("query_norm", c.num_heads), ("key_norm", c.num_kv_heads)):
                more[name] = RMSNorm(c.d_head * (1 if c.query_key_norm == "head" else heads), c.eps)
        attention = (NormedAttention if c.query_key_norm else MultiHeadAttention)(c.d_model, c.num_heads, **more)
        before = RMSNorm(c.d_model, c.eps) if c.norms != "after" else None
        after = RMSNorm(c.d_model, c.eps) if c.norms != "before" else None
        gated = GatedFeedForward(c.d_model, c.d_ff, activation=c.activation)
        return EncoderLayer(attention, gated, InnerNorms(before, after, c.dropout))
