"""kind: positional_encoding
name: SinusoidalPositionalEmbedding
style: Hugging Face-like, nn.Embedding subclass with frozen weights, position_ids buffer"""
import math
from typing import Optional

import torch
from torch import nn


class SinusoidalPositionalEmbedding(nn.Embedding):
    """This module produces sinusoidal positional embeddings of any length up to `max_len`."""

    def __init__(self, d_model: int, max_len: int = 5000, dropout: float = 0.0) -> None:
        super().__init__(max_len, d_model)
        self.weight = self._init_weight(self.weight)
        self.dropout = nn.Dropout(dropout)
        self.register_buffer("position_ids", torch.arange(max_len).expand((1, -1)), persistent=False)

    @staticmethod
    def _init_weight(out: nn.Parameter) -> nn.Parameter:
        n_pos, dim = out.shape
        rows = torch.arange(n_pos, dtype=torch.float64)[:, None]
        cols = torch.arange(dim, dtype=torch.int64)[None, :]
        angle = rows * torch.exp((cols // 2) * (-2.0 * math.log(10000.0) / dim))
        enc = torch.where(cols % 2 == 0, angle.sin(), angle.cos())
        out.requires_grad = False
        out.copy_(enc.to(out.dtype))
        out.detach_()
        return out

    def forward(self, hidden_states: torch.Tensor, position_ids: Optional[torch.LongTensor] = None) -> torch.Tensor:
        if position_ids is None:
            position_ids = self.position_ids[:, : hidden_states.size(1)]
        return self.dropout(hidden_states + super().forward(position_ids))
