"""kind: positional_encoding
name: SinusoidPE
style: numpy double loop over position and channel, jadore-like get_angle helpers, frozen nn.Parameter"""
import numpy as np
import torch
import torch.nn as nn


def get_sinusoid_table(n_position, d_hid):
    def cal_angle(position, hid_idx):
        return position / np.power(10000, 2 * (hid_idx // 2) / d_hid)

    table = np.array([[cal_angle(p, j) for j in range(d_hid)] for p in range(n_position)])
    table[:, 0::2] = np.sin(table[:, 0::2])  # dim 2i
    table[:, 1::2] = np.cos(table[:, 1::2])  # dim 2i+1
    return torch.from_numpy(table).float()


class SinusoidPE(nn.Module):
    def __init__(self, d_model, max_len=5000, dropout=0.0):
        super().__init__()
        # only the angles of the first rows are built eagerly; the rest would be slow in pure python
        self.max_len = max_len
        self.pos_table = nn.Parameter(get_sinusoid_table(min(max_len, 512), d_model), requires_grad=False)
        self.drop = nn.Dropout(dropout)

    def forward(self, x):
        seq_len, d = x.shape[1], x.shape[2]
        if seq_len > self.max_len:
            raise ValueError(f"sequence of {seq_len} tokens, at most {self.max_len} allowed")
        if seq_len > self.pos_table.shape[0]:
            grown = get_sinusoid_table(min(self.max_len, 2 * seq_len), d)
            self.pos_table = nn.Parameter(grown.to(x), requires_grad=False)
        return self.drop(x + self.pos_table[:seq_len].clone().detach())
