"""Keys and values that are made of one short vector a token, which is all that a cache has to keep."""

import torch
from torch import nn

from transformer_edu.attention import Rotate, scaled_dot_product_attention
from transformer_edu.parts.rms_norm import RMSNorm
from transformer_edu.support.arguments import check_all_vectors, check_sizes
from transformer_edu.support.cache import KeysValues
from transformer_edu.support.shapes import Float, Mask, Tensor, Vectors
from transformer_edu.support.validation import check_vectors


class LatentAttention(nn.Module):
    """Multi-head latent attention (DeepSeek-V2, 2024, section 2.1).

    A token's latent is c = Norm(x W_DKV); keys are [c W_UK, k_R] and values c W_UV, in heads. Positions have a part
    of their own, k_R = turned(x W_KR), one for all heads: a turn between q and W_UK would keep the two from being
    multiplied into one, with which no key need be made. Here keys are made, which is easier to read.

    Args:
        d_model, num_heads: as of `MultiHeadAttention`.
        d_head: length of the part of a query and a key that is not turned.
        d_turned: length of the part that is.
        d_value: length of a head's values.
        rank: length of the latent.
        rotate: turns (batch, heads, seq, d_turned) by positions, as `RotaryPositions(d_turned)`.
        query_rank: length of a latent of the queries; None: they are made of x.
    """

    def __init__(
        self,
        d_model: int,
        num_heads: int,
        d_head: int,
        d_turned: int,
        d_value: int,
        rank: int,
        rotate: Rotate,
        query_rank: int | None = None,
    ) -> None:
        super().__init__()
        check_sizes(d_model=d_model, num_heads=num_heads, d_head=d_head, d_turned=d_turned, d_value=d_value, rank=rank)
        self.d_model, self.num_heads, self.rank, self.rotate = d_model, num_heads, rank, rotate
        self.d_head, self.d_turned = d_head, d_turned
        if query_rank is None:
            self.query_projection: nn.Module = nn.Linear(d_model, num_heads * (d_head + d_turned), bias=False)
        else:
            down = nn.Linear(d_model, query_rank, bias=False)
            up = nn.Linear(query_rank, num_heads * (d_head + d_turned), bias=False)
            self.query_projection = nn.Sequential(down, RMSNorm(query_rank, 1e-6), up)
        self.down = nn.Linear(d_model, rank + d_turned, bias=False)  # W_DKV and W_KR
        self.norm = RMSNorm(rank, 1e-6)
        self.up = nn.Linear(rank, num_heads * (d_head + d_value), bias=False)  # W_UK and W_UV
        self.output_projection = nn.Linear(num_heads * d_value, d_model, bias=False)

    def forward(self, query: Vectors, key: Vectors, value: Vectors, mask: Mask | None = None) -> Tensor:
        """Attend from `query` to `key` and `value`, which are one here."""
        check_all_vectors(self.d_model, query=query, key=key, value=value)
        return self.attend(query, self.keys_values(key), mask)

    def keys_values(self, x: Vectors, offset: int = 0) -> KeysValues:
        """What a cache keeps: latents (batch, 1, seq, rank), and the keys' turned part (batch, 1, seq, d_turned)."""
        check_vectors("x", x, self.d_model)
        latent, turned = self.down(x)[:, None].split([self.rank, self.d_turned], dim=-1)
        return self.norm(latent), self.rotate(turned, offset)

    def attend(
        self,
        query: Vectors,
        keys_values: KeysValues,
        mask: Mask | None = None,
        score_bias: Float[Tensor, "..."] | None = None,
        offset: int = 0,
    ) -> Vectors:
        """Attend from `query`, whose first row stands at position `offset`, to what `keys_values` gave."""
        latent, turned = keys_values
        k, v = self.in_heads(self.up(latent[:, 0])).split([self.d_head, self.value_size], dim=-1)
        k = torch.cat([k, turned.expand(-1, self.num_heads, -1, -1)], dim=-1)
        q, q_turned = self.in_heads(self.query_projection(query)).split([self.d_head, self.d_turned], dim=-1)
        q = torch.cat([q, self.rotate(q_turned, offset)], dim=-1)
        heads, _ = scaled_dot_product_attention(q, k, v, mask, 0.0, False, score_bias)
        return self.output_projection(heads.transpose(1, 2).flatten(-2))

    @property
    def value_size(self) -> int:
        """Length of a head's values."""
        return self.output_projection.in_features // self.num_heads

    def in_heads(self, x: Float[Tensor, "batch seq all"]) -> Float[Tensor, "batch heads seq each"]:
        """Cut into heads."""
        return x.unflatten(-1, (self.num_heads, -1)).transpose(1, 2)
