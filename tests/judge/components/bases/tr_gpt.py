"""kind: transformer
name: EncDec
"""
import math
import torch
import torch.nn as nn
from torch.nn import functional as F


class Attn(nn.Module):
    def __init__(self, d, h, p):
        super().__init__()
        self.h, self.p = h, p
        self.q, self.kv, self.o = nn.Linear(d, d), nn.Linear(d, 2 * d), nn.Linear(d, d)

    def forward(self, x, y, mask):
        k, v = self.kv(y).chunk(2, -1)
        q, k, v = (t.unflatten(-1, (self.h, -1)).transpose(1, 2) for t in (self.q(x), k, v))
        p = self.p if self.training else 0.0
        z = F.scaled_dot_product_attention(q, k, v, attn_mask=mask, dropout_p=p)
        return self.o(z.transpose(1, 2).flatten(2))


class Layer(nn.Module):
    def __init__(self, d, h, ff, p, cross):
        super().__init__()
        self.attn = Attn(d, h, p)
        self.ln_1 = nn.LayerNorm(d)
        self.cross = Attn(d, h, p) if cross else None
        self.ln_x = nn.LayerNorm(d) if cross else None
        self.c_fc, self.c_proj = nn.Linear(d, ff), nn.Linear(ff, d)
        self.ln_2 = nn.LayerNorm(d)
        self.drop = nn.Dropout(p)

    def forward(self, x, mask, memory=None, memory_mask=None):
        x = self.ln_1(x + self.drop(self.attn(x, x, mask)))
        if self.cross is not None:
            x = self.ln_x(x + self.drop(self.cross(x, memory, memory_mask)))
        return self.ln_2(x + self.drop(self.c_proj(self.drop(F.relu(self.c_fc(x))))))


class EncDec(nn.Module):
    def __init__(self, source_vocab_size, target_vocab_size, d_model=512, num_heads=8, d_ff=2048,
                 num_layers=6, dropout=0.1, pad_id=0, max_len=5000):
        super().__init__()
        self.d, self.pad_id, self.max_len = d_model, pad_id, max_len
        self.wte_src = nn.Embedding(source_vocab_size, d_model)
        self.wte_tgt = nn.Embedding(target_vocab_size, d_model)
        self.drop = nn.Dropout(dropout)
        make = lambda cross: Layer(d_model, num_heads, d_ff, dropout, cross)
        self.enc = nn.ModuleList([make(False) for _ in range(num_layers)])
        self.dec = nn.ModuleList([make(True) for _ in range(num_layers)])
        self.lm_head = nn.Linear(d_model, target_vocab_size)

    def positions(self, n):
        t = torch.arange(n, dtype=torch.float32)[:, None]
        w = 10000.0 ** (-torch.arange(0, self.d, 2, dtype=torch.float32) / self.d)
        pe = torch.empty(n, self.d)
        pe[:, 0::2], pe[:, 1::2] = (t * w).sin(), (t * w).cos()
        return pe.to(self.lm_head.weight.dtype)

    def encode(self, src, src_mask):
        x = self.wte_src(src) * math.sqrt(self.d) + self.positions(src.size(1))
        x = self.drop(x)
        for block in self.enc:
            x = block(x, src_mask)
        return x

    def decode(self, tgt, memory, tgt_mask, src_mask):
        x = self.wte_tgt(tgt) * math.sqrt(self.d) + self.positions(tgt.size(1))
        x = self.drop(x)
        for block in self.dec:
            x = block(x, tgt_mask, memory, src_mask)
        return x

    def forward(self, source_ids, target_ids):
        src_mask = (source_ids != self.pad_id)[:, None, None, :]
        T = target_ids.size(1)
        i = torch.arange(T)
        causal = i[None, :] <= i[:, None]
        tgt_mask = causal & (target_ids != self.pad_id)[:, None, None, :]
        memory = self.encode(source_ids, src_mask)
        return self.lm_head(self.decode(target_ids, memory, tgt_mask, src_mask))
