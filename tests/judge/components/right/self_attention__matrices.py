"""kind: self_attention
name: Heads
style: a matrix for each head"""
import torch
from torch import nn


class Heads(nn.Module):
    def __init__(self, width, n_heads):
        super().__init__()
        size = width // n_heads
        new = lambda: nn.ParameterList(nn.Parameter(0.1 * torch.randn(width, size)) for _ in range(n_heads))  # noqa: E731
        self.queries, self.keys, self.values = new(), new(), new()
        self.join = nn.Linear(width, width)

    def forward(self, x):
        found = []
        for a, b, c in zip(self.queries, self.keys, self.values, strict=True):
            looks = torch.softmax((x @ a) @ (x @ b).transpose(1, 2) / a.shape[1] ** 0.5, dim=2)
            found.append(looks @ (x @ c))
        return self.join(torch.cat(found, dim=2))
