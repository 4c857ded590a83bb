"""kind: residual
name: Residual
style: norm="post"/"pre" switch, fairseq-like maybe_layer_norm(before/after)"""
import torch
import torch.nn as nn


class Residual(nn.Module):
    def __init__(self, d_model, dropout=0.0, norm="post"):
        super().__init__()
        assert norm in ("pre", "post"), norm
        self.normalize_before = norm == "pre"
        self.dropout_module = nn.Dropout(dropout)
        self.layer_norm = nn.LayerNorm(d_model)

    def maybe_layer_norm(self, x, before=False, after=False):
        assert before ^ after
        if after ^ self.normalize_before:
            return self.layer_norm(x)
        return x

    def forward(self, x, sublayer):
        residual = x
        x = self.maybe_layer_norm(x, before=True)
        x = sublayer(x)
        x = self.dropout_module(x)
        x = residual + x
        x = self.maybe_layer_norm(x, after=True)
        return x
