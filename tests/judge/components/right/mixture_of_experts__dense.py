"""kind: mixture_of_experts
name: MoE
style: every expert for every token, weighted by a row of zeros and gates"""
import torch
from torch import nn


class MoE(nn.Module):
    def __init__(self, d_model, d_ff, n_experts, k):
        super().__init__()
        self.k = k
        self.gate = nn.Linear(d_model, n_experts)
        self.up = nn.Parameter(torch.randn(n_experts, d_model, d_ff) * 0.02)
        self.down = nn.Parameter(torch.randn(n_experts, d_ff, d_model) * 0.02)

    def forward(self, x):
        scores = self.gate(x)
        top = scores.topk(self.k, dim=-1)
        gates = torch.zeros_like(scores).scatter(-1, top.indices, top.values.softmax(dim=-1))
        hidden = torch.relu(torch.einsum("btd,edf->btef", x, self.up))
        return torch.einsum("btef,efd,bte->btd", hidden, self.down, gates)
