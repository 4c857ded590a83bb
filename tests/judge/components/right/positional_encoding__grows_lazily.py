"""kind: positional_encoding
name: PositionalEncoding
style: cos written as sin(x + pi/2) in float64 numpy; the table starts empty, is rebuilt when a longer input comes, and is not saved"""
import numpy as np
import torch
import torch.nn as nn


class PositionalEncoding(nn.Module):

    def __init__(self, d_hid, max_len=5000, dropout=0.0):
        super().__init__()
        self.d_hid = d_hid
        self.dropout = nn.Dropout(p=dropout)
        self.register_buffer('pos_table', torch.zeros(1, 0, d_hid), persistent=False)

    def _build(self, n_position):
        j = np.arange(self.d_hid)
        phase = (j % 2) * (np.pi / 2)
        angle = np.outer(np.arange(n_position), 10000.0 ** (-(j - j % 2) / self.d_hid))
        return torch.from_numpy(np.sin(angle + phase)).unsqueeze(0)

    def forward(self, x):
        if self.pos_table.size(1) < x.size(1):
            self.pos_table = self._build(x.size(1)).to(self.pos_table)
        return self.dropout(x + self.pos_table[:, :x.size(1)].to(x))
