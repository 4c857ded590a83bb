"""Who may look at whom. A mask is boolean and True means *may attend* (the convention of PyTorch's
`scaled_dot_product_attention`; the older `torch.nn.MultiheadAttention` uses the opposite)."""

import torch

from transformer_edu.support.shapes import Bool, Int, Tensor
from transformer_edu.support.validation import INTEGER_DTYPES, check_positive_integer, check_tensor


def causal_mask(size: int, device: torch.device | str | None = None) -> Bool[Tensor, "{size} {size}"]:
    """Let position q attend to positions 0 .. q, never to a later one (paper, section 3.2.3).

    Returns a boolean tensor (size, size); row q is the query, column k the key.

    >>> causal_mask(3).int().tolist()
    [[1, 0, 0], [1, 1, 0], [1, 1, 1]]
    """
    check_positive_integer("size", size)
    return torch.ones(size, size, dtype=torch.bool, device=device).tril()


def padding_mask(ids: Int[Tensor, "batch seq"], pad_id: int) -> Bool[Tensor, "batch 1 1 seq"]:
    """Let every query attend to real tokens only, never to padding.

    Takes ids (batch, seq), returns (batch, 1, 1, seq): the two dimensions of size 1 are heads and queries.

    >>> padding_mask(torch.tensor([[5, 8, 0]]), pad_id=0).int().tolist()
    [[[[1, 1, 0]]]]
    """
    check_tensor("ids", ids)
    if ids.dtype not in INTEGER_DTYPES:
        raise TypeError(f"ids must hold token ids of dtype int64 or int32, got {ids.dtype}")
    if ids.dim() != 2:
        raise ValueError(f"ids must have shape (batch, seq), got {tuple(ids.shape)}")
    check_positive_integer("pad_id", pad_id, minimum=0)
    return (ids != pad_id)[:, None, None, :]
