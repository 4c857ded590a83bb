"""kind: input_embedding
name: TokenTable
style: raw nn.Parameter table, fancy indexing, type annotations, tensor-valued scale buffer"""
from __future__ import annotations

import torch
from torch import Tensor, nn


class TokenTable(nn.Module):
    scale: Tensor

    def __init__(self, vocab_size: int, d_model: int, padding_idx: int | None = None) -> None:
        super().__init__()
        table = torch.randn(vocab_size, d_model) * d_model ** -0.5
        if padding_idx is not None:
            table[padding_idx] = 0.0
        self.table = nn.Parameter(table)
        self.register_buffer("scale", torch.tensor(float(d_model)).sqrt(), persistent=False)

    def forward(self, ids: Tensor) -> Tensor:
        return self.table[ids] * self.scale
