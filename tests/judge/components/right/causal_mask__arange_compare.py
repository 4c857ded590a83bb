"""kind: causal_mask
name: make_causal_mask
style: broadcasted arange comparison, cached with lru_cache, typed"""
from __future__ import annotations

from functools import lru_cache

import torch


@lru_cache(maxsize=None)
def make_causal_mask(size: int) -> torch.BoolTensor:
    query_position = torch.arange(size)[:, None]
    key_position = torch.arange(size)[None, :]
    return key_position <= query_position
