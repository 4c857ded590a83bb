"""Positions that are added to the scores: a bias for each distance."""

import math

import torch
from torch import nn

from transformer_edu.attention import MultiHeadAttention
from transformer_edu.support.arguments import check_sizes
from transformer_edu.support.cache import KeysValues
from transformer_edu.support.shapes import Float, Int, Mask, Tensor


class RelativePositions(nn.Module):
    """A learned number for each distance between two tokens and each head, added to their score.

    Near distances have one each, further ones share one with ever more neighbours, in steps of equal ratio
    (Raffel et al., 2020, section 2.1).

    Args:
        num_buckets: numbers for each head. max_distance: from here on all distances share one.
        both_sides: keys may stand behind the query as well, and have half of the numbers.
    """

    def __init__(self, num_buckets: int, max_distance: int, num_heads: int, both_sides: bool) -> None:
        super().__init__()
        check_sizes(num_buckets=num_buckets, max_distance=max_distance, num_heads=num_heads)
        self.max_distance = max_distance
        self.both_sides = both_sides
        self.bias = nn.Embedding(num_buckets, num_heads)

    def forward(self, q_len: int, k_len: int, offset: int = 0) -> Float[Tensor, "1 heads q_len k_len"]:
        """The bias of queries offset .. offset + q_len - 1 and keys 0 .. k_len - 1."""
        device = self.bias.weight.device
        queries = torch.arange(offset, offset + q_len, device=device)[:, None]
        buckets = self.bucket(queries - torch.arange(k_len, device=device))
        return self.bias(buckets).permute(2, 0, 1)[None]

    def bucket(self, back: Int[Tensor, "q_len k_len"]) -> Int[Tensor, "q_len k_len"]:
        """Which number a distance has; `back` says by how much the key stands in front of the query."""
        count = self.bias.num_embeddings // (2 if self.both_sides else 1)
        far = back.abs() if self.both_sides else back.clamp(min=0)
        exact = count // 2
        ratio = torch.log(far.clamp(min=1) / exact) / math.log(self.max_distance / exact)
        shared = (exact + (ratio * (count - exact)).long()).clamp(max=count - 1)
        bucket = torch.where(far < exact, far, shared)
        return bucket + count * (back < 0) if self.both_sides else bucket


class BiasedAttention(MultiHeadAttention):
    """Attention without biases in its matrices, whose scores get a bias for each distance, if it is given one.

    Args:
        d_model, num_heads, dropout: those of `MultiHeadAttention`.
        positions: a `RelativePositions` or `LinearBiases`; several attentions may share one.
    """

    def __init__(self, d_model: int, num_heads: int, dropout: float = 0.0, positions: nn.Module | None = None) -> None:
        super().__init__(d_model, num_heads, dropout, bias=False)
        self.positions = positions

    def forward(self, query: Tensor, key: Tensor, value: Tensor, mask: Mask | None = None) -> Tensor:
        """Attend from `query` to `key` and `value`, which are one here."""
        return self.attend(query, self.keys_values(key), mask)

    def attend(
        self,
        query: Float[Tensor, "batch q_len d_model"],
        keys_values: KeysValues,
        mask: Mask | None = None,
        score_bias: Float[Tensor, "..."] | None = None,
        offset: int = 0,
    ) -> Float[Tensor, "batch q_len d_model"]:
        """Attend from `query`, whose first row stands at position `offset`, to what `keys_values` gave."""
        if self.positions is not None:
            score_bias = self.positions(query.shape[1], keys_values[0].shape[2], offset)
        return super().attend(query, keys_values, mask, score_bias, offset)
