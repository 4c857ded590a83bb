"""kind: encoder_layer
name: EncoderLayer
style: course notebook, nn.MultiheadAttention sequence-first inside, leftover shape asserts, __main__ demo"""
import torch
import torch.nn as nn


class EncoderLayer(nn.Module):
    def __init__(self, d_model, num_heads, d_ff, dropout=0.0):
        super().__init__()
        self.mha = nn.MultiheadAttention(embed_dim=d_model, num_heads=num_heads, dropout=dropout)
        self.ffn = nn.Sequential(nn.Linear(d_model, d_ff), nn.ReLU(inplace=True), nn.Linear(d_ff, d_model))
        self.ln_attn = nn.LayerNorm(d_model)
        self.ln_ffn = nn.LayerNorm(d_model)
        self.drop_attn = nn.Dropout(dropout)
        self.drop_ffn = nn.Dropout(dropout)

    def forward(self, x, mask=None):
        b, n, d = x.shape
        xt = x.transpose(0, 1)                       # (n, b, d)
        m = None
        if mask is not None:
            h = self.mha.num_heads
            m = (mask.expand(b, h, n, n) == False).contiguous().view(b * h, n, n)  # noqa: E712
        attended, _ = self.mha(xt, xt, xt, attn_mask=m, need_weights=False)
        attended = attended.transpose(0, 1)
        assert attended.shape == x.shape
        out1 = self.ln_attn(x + self.drop_attn(attended))
        out2 = self.ln_ffn(out1 + self.drop_ffn(self.ffn(out1)))
        return out2


if __name__ == "__main__":
    layer = EncoderLayer(16, 4, 32)
    print(layer(torch.randn(2, 5, 16)).shape)
