"""kind: residual
name: AddNorm
style: the module IS an nn.LayerNorm, dropout as float"""
import torch
import torch.nn.functional as F


class AddNorm(torch.nn.LayerNorm):
    def __init__(self, d_model: int, dropout: float = 0.0):
        super().__init__(d_model)
        self.dropout = float(dropout)

    def forward(self, x, sublayer):
        y = sublayer(x)
        if self.dropout > 0:
            y = F.dropout(y, p=self.dropout, training=self.training)
        return super().forward(y + x)
