"""What reaches a token through attention: values weighed by their length, and weights followed through the layers."""

import torch
from jaxtyping import Float
from torch import Tensor

from transformer_edu.attention import MultiHeadAttention


@torch.no_grad()
def contributions(
    part: MultiHeadAttention, weights: Float[Tensor, "heads q_len k_len"], keys: Float[Tensor, "k_len d_model"]
) -> Float[Tensor, "heads q_len k_len"]:
    """‖α_ij · v_j W_O‖: how much of what a head writes comes from each key (Kobayashi et al., 2020), biases left out.

    Args:
        part: the attention that these weights are of. keys: what its keys and values were made from.
    """
    heads, d_head = part.num_heads, part.d_model // part.num_heads
    values = (keys @ part.value_projection.weight.T).view(-1, heads, d_head).transpose(0, 1)  # (heads, k_len, d_head)
    out = part.output_projection.weight.view(-1, heads, d_head)  # (d_model, heads, d_head)
    written = torch.einsum("hkd,mhd->hkm", values, out)  # what each value writes, (heads, k_len, d_model)
    return weights * written.norm(dim=-1)[:, None]


def rollout(maps: Float[Tensor, "layers heads seq seq"], residual: bool = True) -> Float[Tensor, "seq seq"]:
    """Attention followed through the layers (Abnar and Zuidema, 2020): the product of (A + I) / 2, A the heads' mean.

    Args:
        maps: self-attention of each layer, the first layer first. residual: whether a token also keeps itself.
    """
    identity = torch.eye(maps.shape[-1], device=maps.device)
    whole = identity
    for attention in maps.mean(dim=1):
        whole = ((attention + identity) / 2 if residual else attention) @ whole
    return whole
