"""kind: feed_forward
name: MLP
style: GPT-2 checkpoints' (in, out) matrices as raw parameters, addmm on flattened tokens, clamp for ReLU"""
import torch
from torch import nn


class MLP(nn.Module):
    def __init__(self, nx, n_state, dropout=0.0):
        super().__init__()
        self.c_fc_w = nn.Parameter(torch.empty(nx, n_state).normal_(std=0.1))
        self.c_fc_b = nn.Parameter(torch.zeros(n_state))
        self.c_proj_w = nn.Parameter(torch.empty(n_state, nx).normal_(std=0.1))
        self.c_proj_b = nn.Parameter(torch.zeros(nx))
        self.p = dropout

    def forward(self, x):
        size_out = x.size()
        h = torch.addmm(self.c_fc_b, x.reshape(-1, x.size(-1)), self.c_fc_w).clamp(min=0)
        h = torch.dropout(h, self.p, self.training)
        return torch.addmm(self.c_proj_b, h, self.c_proj_w).view(size_out)
