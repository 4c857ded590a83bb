"""kind: encoder_layer
name: EncoderLayer
style: JAX-flavoured: pure functions over an nn.ParameterDict, einsum everywhere, norm in ("post", "pre")"""
import torch
import torch.nn as nn


def dense(p, name, x):
    return torch.einsum("...i,io->...o", x, p[name + "_w"]) + p[name + "_b"]


def norm(p, name, x, eps=1e-5):
    x = x - x.mean(-1, keepdim=True)
    return x * torch.rsqrt((x * x).mean(-1, keepdim=True) + eps) * p[name + "_g"] + p[name + "_b"]


def self_attention(p, x, h, mask, drop):
    b, n, d = x.shape
    q, k, v = (dense(p, c, x).reshape(b, n, h, d // h) for c in ("q", "k", "v"))
    logits = torch.einsum("bihd,bjhd->bhij", q, k) / (d // h) ** 0.5
    if mask is not None:
        logits = torch.where(mask, logits, logits.new_tensor(-1e30))
    w = drop(torch.softmax(logits, -1))
    return dense(p, "o", torch.einsum("bhij,bjhd->bihd", w, v).reshape(b, n, d))


def feed_forward(p, x, drop):
    return dense(p, "ff2", drop(torch.maximum(dense(p, "ff1", x), x.new_zeros(()))))


class EncoderLayer(nn.Module):
    def __init__(self, d_model, num_heads, d_ff, dropout=0.0, norm="post"):
        super().__init__()
        self.h, self.kind = num_heads, norm
        self.drop = nn.Dropout(dropout)
        p = {}
        for n, i, o in [("q", d_model, d_model), ("k", d_model, d_model), ("v", d_model, d_model),
                        ("o", d_model, d_model), ("ff1", d_model, d_ff), ("ff2", d_ff, d_model)]:
            p[n + "_w"] = nn.Parameter(torch.randn(i, o) * (2.0 / (i + o)) ** 0.5)
            p[n + "_b"] = nn.Parameter(torch.zeros(o))
        for n in ("ln1", "ln2"):
            p[n + "_g"] = nn.Parameter(torch.ones(d_model))
            p[n + "_b"] = nn.Parameter(torch.zeros(d_model))
        self.p = nn.ParameterDict(p)

    def forward(self, x, mask=None):
        p, drop = self.p, self.drop
        if self.kind == "pre":
            x = x + drop(self_attention(p, norm(p, "ln1", x), self.h, mask, drop))
            return x + drop(feed_forward(p, norm(p, "ln2", x), drop))
        x = norm(p, "ln1", x + drop(self_attention(p, x, self.h, mask, drop)))
        return norm(p, "ln2", x + drop(feed_forward(p, x, drop)))
