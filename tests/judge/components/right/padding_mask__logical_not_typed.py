"""kind: padding_mask
name: get_attention_mask
style: typed, keyword-only extras, logical_not of eq and view with -1"""
import torch
from torch import LongTensor, Tensor


def get_attention_mask(ids: LongTensor, pad_id: int, *, dtype: torch.dtype = torch.bool) -> Tensor:
    """1 for real tokens, 0 for padding; singleton axes for heads and query positions."""
    is_pad = torch.eq(ids, pad_id)
    keep = torch.logical_not(is_pad).to(dtype)
    return keep.view(ids.size(0), 1, 1, -1)
