"""kind: residual
name: PreNorm
style: pre-norm (Annotated code / lucidrains), x + dropout(fn(norm(x)))"""
from torch import nn


class PreNorm(nn.Module):
    def __init__(self, dim, dropout=0.0, norm="pre"):
        super().__init__()
        if norm != "pre":
            raise ValueError("this block is pre-norm only")
        self.norm = nn.LayerNorm(dim)
        self.drop = nn.Dropout(dropout)

    def forward(self, x, fn, **kwargs):
        return self.drop(fn(self.norm(x), **kwargs)) + x
