"""Positions as a price: the further back a token stands, the lower its score."""

import torch
from torch import nn

from transformer_edu.attention import AttentionFunction, scaled_dot_product_attention
from transformer_edu.support.arguments import check_sizes
from transformer_edu.support.shapes import Float, Tensor


class LinearBiases(nn.Module):
    """ALiBi (Press et al., 2022): -m · distance is added to each score, with another slope m for each head.

    Nothing is learned. It stands where `RelativePositions` stands: `BiasedAttention(..., positions=LinearBiases(8))`.

    Args:
        num_heads: the slopes are 2^(-8/n), 2^(-16/n), … 2^(-8); n is the number of heads, or the next smaller power of
            two, with every second slope of twice as many for the heads that remain.
    """

    slopes: Tensor  # (heads)

    def __init__(self, num_heads: int) -> None:
        super().__init__()
        check_sizes(num_heads=num_heads)
        self.register_buffer("slopes", slopes_of(num_heads), persistent=False)

    def forward(self, q_len: int, k_len: int, offset: int = 0) -> Float[Tensor, "1 heads q_len k_len"]:
        """The bias of queries offset .. offset + q_len - 1 and keys 0 .. k_len - 1."""
        queries = torch.arange(offset, offset + q_len, device=self.slopes.device)[:, None]
        distance = (queries - torch.arange(k_len, device=self.slopes.device)).abs()
        return -self.slopes[None, :, None, None] * distance


class AlibiAttention(nn.Module):
    """An attention function with `LinearBiases`; its queries are the last of the keys' places.

    It stands where `scaled_dot_product_attention` stands: `MultiHeadAttention(..., function=AlibiAttention(heads))`.

    Args:
        num_heads: as of `LinearBiases`.
        function: what attends, if it is not that one.
    """

    def __init__(self, num_heads: int, function: AttentionFunction = scaled_dot_product_attention) -> None:
        super().__init__()
        self.positions, self.function = LinearBiases(num_heads), function

    def forward(
        self,
        query: Tensor,
        key: Tensor,
        value: Tensor,
        mask: Tensor | None = None,
        dropout_p: float = 0.0,
        need_weights: bool = True,
        score_bias: Tensor | None = None,
    ) -> tuple[Tensor, Tensor | None]:
        """The output (batch, heads, q_len, d_head) and the weights, as `scaled_dot_product_attention`."""
        q_len, k_len = query.shape[-2], key.shape[-2]
        bias = self.positions(q_len, k_len, k_len - q_len)
        bias = bias if score_bias is None else bias + score_bias
        return self.function(query, key, value, mask, dropout_p, need_weights, bias)


def slopes_of(num_heads: int) -> Float[Tensor, " heads"]:
    """A geometric sequence that begins with its own ratio."""
    power = 2 ** (num_heads.bit_length() - 1)
    even = 2.0 ** (-8.0 * torch.arange(1, power + 1) / power)
    between = 2.0 ** (-4.0 * torch.arange(1, 2 * power + 1, 2) / power)
    return torch.cat([even, between[: num_heads - power]])
