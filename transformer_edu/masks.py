"""Who may look at whom. A mask is boolean and True means *may attend* (the convention of PyTorch's
`scaled_dot_product_attention`; the older `torch.nn.MultiheadAttention` uses the opposite)."""

import torch

from transformer_edu.support.arguments import check_padded_ids, check_sizes
from transformer_edu.support.shapes import Bool, Int, Tensor


def causal_mask(size: int, device: torch.device | str | None = None) -> Bool[Tensor, "{size} {size}"]:
    """Let position q attend to positions 0 .. q, never to a later one (paper, section 3.2.3).

    Returns a boolean tensor (size, size); row q is the query, column k the key.

    >>> causal_mask(3).int().tolist()
    [[1, 0, 0], [1, 1, 0], [1, 1, 1]]
    """
    check_sizes(size=size)
    return torch.ones(size, size, dtype=torch.bool, device=device).tril()


def padding_mask(ids: Int[Tensor, "batch seq"], pad_id: int) -> Bool[Tensor, "batch 1 1 seq"]:
    """Let every query attend to real tokens only, never to padding.

    Takes ids (batch, seq), returns (batch, 1, 1, seq): the two dimensions of size 1 are heads and queries.

    >>> padding_mask(torch.tensor([[5, 8, 0]]), pad_id=0).int().tolist()
    [[[[1, 1, 0]]]]
    """
    check_padded_ids(ids, pad_id)
    return (ids != pad_id)[:, None, None, :]
