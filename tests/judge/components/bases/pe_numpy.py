"""kind: positional_encoding
name: PosEnc
"""
import numpy as np
import torch
from torch import nn
import torch.nn.functional as F


def sinusoid_table(n_position, d_hid):
    def angles(pos):
        return [pos / np.power(10000, 2 * (j // 2) / d_hid) for j in range(d_hid)]

    table = np.array([angles(p) for p in range(n_position)])
    table[:, 0::2] = np.sin(table[:, 0::2])
    table[:, 1::2] = np.cos(table[:, 1::2])
    return torch.tensor(table, dtype=torch.float32)


class PosEnc(nn.Module):
    def __init__(self, d_model, max_len=5000, dropout=0.0):
        super().__init__()
        self.p = dropout
        self.register_buffer("pos_table", sinusoid_table(max_len, d_model))

    def forward(self, x):
        seq_len = x.shape[1]
        summed = x + self.pos_table[:seq_len]
        return F.dropout(summed, p=self.p, training=self.training)
