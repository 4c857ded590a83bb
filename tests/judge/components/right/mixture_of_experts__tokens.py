"""kind: mixture_of_experts
name: Router
style: a loop over tokens"""
import torch
from torch import nn


class Router(nn.Module):
    def __init__(self, dim, ffn_dim, num_experts, top_k):
        super().__init__()
        self.top_k = top_k
        self.choose = nn.Linear(dim, num_experts, bias=False)
        self.gates = nn.ModuleList(nn.Linear(dim, ffn_dim, bias=False) for _ in range(num_experts))
        self.ups = nn.ModuleList(nn.Linear(dim, ffn_dim, bias=False) for _ in range(num_experts))
        self.downs = nn.ModuleList(nn.Linear(ffn_dim, dim, bias=False) for _ in range(num_experts))

    def forward(self, x):
        rows = []
        for token in x.flatten(0, 1):
            weights, chosen = self.choose(token).topk(self.top_k)
            parts = [
                w * self.downs[i](torch.nn.functional.silu(self.gates[i](token)) * self.ups[i](token))
                for w, i in zip(weights.softmax(0), chosen.tolist(), strict=True)
            ]
            rows.append(torch.stack(parts).sum(0))
        return torch.stack(rows).view_as(x)
