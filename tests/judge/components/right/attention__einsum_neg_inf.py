"""kind: attention
name: attend
style: einsum, torch.where with -inf, typed"""
from typing import Optional

import torch
from torch import Tensor


def attend(query: Tensor, key: Tensor, value: Tensor, mask: Optional[Tensor] = None) -> Tensor:
    logits = torch.einsum("bhid,bhjd->bhij", query, key) * query.shape[-1] ** -0.5
    if mask is not None:
        logits = torch.where(mask, logits, torch.full_like(logits, float("-inf")))
    return torch.einsum("bhij,bhjd->bhid", logits.softmax(-1), value)
