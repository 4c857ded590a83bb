"""The other half, that reads: BERT (Devlin et al., 2019). Every word sees every word, and gaps are filled."""

from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import nn

from transformer_edu.embedding import ProjectionLayer
from transformer_edu.encoder import Encoder
from transformer_edu.masks import padding_mask
from transformer_edu.models.blocks import build_layer
from transformer_edu.normalization import LayerNorm
from transformer_edu.support.arguments import check_stack
from transformer_edu.support.shapes import Float, Int, Tensor, Vectors
from transformer_edu.support.tied import Tied
from transformer_edu.support.validation import check_ids


@dataclass(frozen=True)
class BERTConfig:
    """The numbers that define a BERT; the defaults are those of the base model.

    Args:
        vocab_size: tokens that it reads, and can put into a gap.
        d_model, num_heads, d_ff, num_layers, dropout: those of the paper's layers.
        max_len: longest text in tokens; rows of the table of positions.
        num_segments: kinds of text that an input may be put together of.
        activation: between the two matrices of the feed-forward part.
        eps: of the norms.
        pad_id: the id that fills short texts up.
    """

    vocab_size: int = 30522
    d_model: int = 768
    num_heads: int = 12
    d_ff: int = 3072
    num_layers: int = 12
    dropout: float = 0.1
    max_len: int = 512
    num_segments: int = 2
    activation: str = "gelu"
    eps: float = 1e-12
    pad_id: int = 0

    def __post_init__(self) -> None:
        check_stack(self)


class BERT(Tied):
    """Ids with gaps in, a score for every token at every place out: the paper's encoder, asked what is missing.

    Against the paper: learned positions, a vector for each segment, a norm right after the embeddings, GELU, and one
    more layer before the scores.
    """

    def __init__(self, config: BERTConfig) -> None:
        super().__init__()
        self.config = c = config
        self.embedding = nn.Embedding(c.vocab_size, c.d_model)
        self.position_embedding = nn.Embedding(c.max_len, c.d_model)
        self.segment_embedding = nn.Embedding(c.num_segments, c.d_model)
        self.embedding_norm = LayerNorm(c.d_model, c.eps)
        self.dropout = nn.Dropout(c.dropout)
        self.encoder = Encoder([build_layer(c, pre=False) for _ in range(c.num_layers)])
        self.transform = nn.Linear(c.d_model, c.d_model)
        self.transform_norm = LayerNorm(c.d_model, c.eps)
        self.projection = ProjectionLayer(c.d_model, c.vocab_size, bias=True)
        for embedding in (self.embedding, self.position_embedding, self.segment_embedding):
            nn.init.normal_(embedding.weight, std=0.02)
        self.tie()

    def tie(self) -> None:
        """Reading and writing share one table."""
        self.projection.linear.weight = self.embedding.weight

    def forward(
        self, ids: Int[Tensor, "batch seq"], segments: Int[Tensor, "batch seq"] | None = None
    ) -> Float[Tensor, "batch seq vocab"]:
        """Ids (batch, seq), and the segment of each (all 0 if None) -> logits of the token at each place."""
        x = self.encode(ids, segments)
        return self.projection(self.transform_norm(F.gelu(self.transform(x))))

    def encode(self, ids: Int[Tensor, "batch seq"], segments: Int[Tensor, "batch seq"] | None = None) -> Vectors:
        """Ids (batch, seq) -> vectors (batch, seq, d_model) that know both sides of their context."""
        check_ids("ids", ids, self.config.vocab_size)
        positions = torch.arange(ids.shape[1], device=ids.device)
        segments = torch.zeros_like(ids) if segments is None else segments
        x = self.embedding(ids) + self.position_embedding(positions) + self.segment_embedding(segments)
        return self.encoder(self.dropout(self.embedding_norm(x)), padding_mask(ids, self.config.pad_id))
