"""kind: mixture_of_experts
name: Mixture
style: tokens sorted by expert, a list of modules"""
import torch
from torch import nn


class Mixture(nn.Module):
    def __init__(self, dim, hidden, num_experts, top_k):
        super().__init__()
        self.top_k = top_k
        self.router = nn.Linear(dim, num_experts, bias=False)
        self.experts = nn.ModuleList(
            nn.Sequential(nn.Linear(dim, hidden), nn.GELU(), nn.Linear(hidden, dim)) for _ in range(num_experts)
        )

    def forward(self, x):
        flat = x.reshape(-1, x.shape[-1])
        weight, index = self.router(flat).softmax(-1).topk(self.top_k)
        weight = weight / weight.sum(-1, keepdim=True)
        out = torch.zeros_like(flat)
        for slot in range(self.top_k):
            for e, expert in enumerate(self.experts):
                rows = index[:, slot] == e
                if rows.any():
                    out[rows] = out[rows] + weight[rows, slot, None] * expert(flat[rows])
        return out.view_as(x)
