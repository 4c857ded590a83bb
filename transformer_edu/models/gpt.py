"""One half, that writes: GPT-2 (Radford et al., 2019), a stack of self-attention with the causal mask."""

from dataclasses import dataclass

from torch import nn

from transformer_edu.decoding.writer import PromptWriter
from transformer_edu.embedding import ProjectionLayer
from transformer_edu.encoder import Encoder
from transformer_edu.masks import causal_mask, padding_mask
from transformer_edu.models.blocks import build_layer
from transformer_edu.normalization import LayerNorm
from transformer_edu.parts import LearnedPositionalEncoding
from transformer_edu.support.arguments import check_stack
from transformer_edu.support.cache import DecoderCache
from transformer_edu.support.shapes import Bool, Float, Ids, Int, Tensor, Vectors
from transformer_edu.support.tied import Tied
from transformer_edu.support.validation import check_ids


@dataclass(frozen=True)
class GPTConfig:
    """The numbers that define a GPT; the defaults are the smallest GPT-2's.

    Args:
        vocab_size: tokens that it reads and writes.
        d_model, num_heads, d_ff, num_layers, dropout: those of the paper's layers.
        max_len: longest text in tokens; rows of the table of positions.
        activation, eps: between the two matrices of the feed-forward part; of the norms.
        pad_id: the id that fills short texts up; None: no id does.
    """

    vocab_size: int = 50257
    d_model: int = 768
    num_heads: int = 12
    d_ff: int = 3072
    num_layers: int = 12
    dropout: float = 0.1
    max_len: int = 1024
    activation: str = "gelu_tanh"
    eps: float = 1e-5
    pad_id: int | None = None

    def __post_init__(self) -> None:
        check_stack(self)


class GPT(Tied):
    """Ids in, a score for every next token out: the decoder of the paper without the encoder it looked at.

    Against the paper: no cross-attention, pre-norm with a last norm, learned positions, GELU, embeddings that are not
    multiplied by √d_model, and one table for reading and writing.
    """

    def __init__(self, config: GPTConfig) -> None:
        super().__init__()
        self.config = c = config
        self.embedding = nn.Embedding(c.vocab_size, c.d_model)
        self.positional_encoding = LearnedPositionalEncoding(c.d_model, c.max_len, c.dropout)
        self.decoder = Encoder([build_layer(c, pre=True) for _ in range(c.num_layers)], LayerNorm(c.d_model, c.eps))
        self.projection = ProjectionLayer(c.d_model, c.vocab_size)
        nn.init.normal_(self.embedding.weight, std=0.02)
        self.tie()

    def tie(self) -> None:
        """Reading and writing share one table."""
        self.projection.linear.weight = self.embedding.weight

    def forward(
        self, ids: Int[Tensor, "batch seq"], cache: DecoderCache | None = None
    ) -> Float[Tensor, "batch seq vocab"]:
        """Ids (batch, seq) -> logits for each next token; with a `cache`, `ids` holds only those that are new."""
        return self.project(self.vectors(ids, cache))

    def vectors(self, ids: Ids, cache: DecoderCache | None = None) -> Vectors:
        """Ids (batch, seq) -> vectors (batch, seq, d_model) before the projection; with a `cache`, only new ids."""
        check_ids("ids", ids, self.config.vocab_size)
        offset = 0 if cache is None else cache.length
        so_far = ids if cache is None else cache.append(ids)
        x = self.positional_encoding(self.embedding(ids), self.positions(so_far, offset))
        return self.decoder(x, self.mask(so_far, offset), cache)

    def project(self, x: Vectors) -> Float[Tensor, "batch seq vocab"]:
        """Vectors (batch, seq, d_model) -> logits (batch, seq, vocab_size)."""
        return self.projection(x)

    def positions(self, ids: Ids, offset: int = 0) -> int | Int[Tensor, "batch new"]:
        """Where the tokens from `offset` on stand: from the first that is no padding, so it may be on the left."""
        if self.config.pad_id is None:
            return offset
        return ((ids != self.config.pad_id).cumsum(dim=1) - 1).clamp(min=0)[:, offset:]

    def mask(self, ids: Int[Tensor, "batch seq"], offset: int = 0) -> Bool[Tensor, "... q_len k_len"]:
        """No token sees a later one, nor padding; for the queries from position `offset` on."""
        causal = causal_mask(ids.shape[1], ids.device)[offset:]
        return causal if self.config.pad_id is None else causal & padding_mask(ids, self.config.pad_id)

    def start_cache(self) -> DecoderCache:
        """An empty cache for writing step by step."""
        return DecoderCache(self.config.num_layers)

    def start(self, source: Ids | None = None) -> PromptWriter:
        """Read a text, if there is one; what comes back goes on from it (see `transformer_edu.decoding`)."""
        return PromptWriter(self, source)


def build_gpt(config: GPTConfig) -> GPT:
    """A GPT that starts as GPT-2 did: N(0, 0.02²), less for what is added to the residual stream; biases zero.

    Each of the two matrices a layer that write into the stream is drawn 1/√(2 · layers) as large (Radford et al., 2019,
    section 2.3), so that the sum does not grow with depth.
    """
    model = GPT(config)
    for name, weight in model.named_parameters():
        if name.endswith("bias"):
            nn.init.zeros_(weight)
        elif weight.dim() > 1:
            writes = name.endswith(("output_projection.weight", "contract.weight"))
            nn.init.normal_(weight, std=0.02 / (2 * config.num_layers) ** 0.5 if writes else 0.02)
    return model
