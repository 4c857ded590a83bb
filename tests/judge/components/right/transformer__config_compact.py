"""kind: transformer
name: Transformer
style: compact single file, takes (config), nanoGPT habits, fused attention, encode / decode / project"""
import math

import torch
import torch.nn as nn
import torch.nn.functional as F


class Attn(nn.Module):
    def __init__(self, cfg):
        super().__init__()
        d = cfg.d_model
        self.h, self.p = cfg.num_heads, cfg.dropout
        self.wq, self.wk, self.wv, self.wo = (nn.Linear(d, d) for _ in range(4))

    def forward(self, x, y, mask):
        q, k, v = (w(t).unflatten(-1, (self.h, -1)).transpose(1, 2) for w, t in ((self.wq, x), (self.wk, y), (self.wv, y)))
        o = F.scaled_dot_product_attention(q, k, v, attn_mask=mask, dropout_p=self.p if self.training else 0.0)
        return self.wo(o.transpose(1, 2).flatten(2))


class Mlp(nn.Module):
    def __init__(self, cfg):
        super().__init__()
        self.fc1 = nn.Linear(cfg.d_model, cfg.d_ff)
        self.fc2 = nn.Linear(cfg.d_ff, cfg.d_model)

    def forward(self, x):
        return self.fc2(F.relu(self.fc1(x)))


class EncBlock(nn.Module):
    def __init__(self, cfg):
        super().__init__()
        self.attn, self.mlp = Attn(cfg), Mlp(cfg)
        self.ln1, self.ln2 = nn.LayerNorm(cfg.d_model), nn.LayerNorm(cfg.d_model)
        self.drop = nn.Dropout(cfg.dropout)

    def forward(self, x, mask):
        x = self.ln1(x + self.drop(self.attn(x, x, mask)))
        return self.ln2(x + self.drop(self.mlp(x)))


class DecBlock(nn.Module):
    def __init__(self, cfg):
        super().__init__()
        self.attn, self.cross, self.mlp = Attn(cfg), Attn(cfg), Mlp(cfg)
        self.ln1, self.ln2, self.ln3 = (nn.LayerNorm(cfg.d_model) for _ in range(3))
        self.drop = nn.Dropout(cfg.dropout)

    def forward(self, x, mem, mask, mem_mask):
        x = self.ln1(x + self.drop(self.attn(x, x, mask)))
        x = self.ln2(x + self.drop(self.cross(x, mem, mem_mask)))
        return self.ln3(x + self.drop(self.mlp(x)))


class Transformer(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.config = config
        self.src_tok = nn.Embedding(config.source_vocab_size, config.d_model)
        self.tgt_tok = nn.Embedding(config.target_vocab_size, config.d_model)
        self.enc = nn.ModuleList([EncBlock(config) for _ in range(config.num_layers)])
        self.dec = nn.ModuleList([DecBlock(config) for _ in range(config.num_layers)])
        self.lm_head = nn.Linear(config.d_model, config.target_vocab_size, bias=False)
        self.drop = nn.Dropout(config.dropout)
        pos = torch.arange(config.max_len)[:, None].float()
        freq = torch.exp(torch.arange(0, config.d_model, 2).float() * (-math.log(10000.0) / config.d_model))
        self.register_buffer("pe", torch.stack([(pos * freq).sin(), (pos * freq).cos()], -1).flatten(1), persistent=False)

    def _embed(self, table, ids):
        return self.drop(table(ids) * math.sqrt(self.config.d_model) + self.pe[: ids.shape[1]])

    def _pad(self, ids):
        return (ids != self.config.pad_id)[:, None, None, :]

    def encode(self, source):
        x, mask = self._embed(self.src_tok, source), self._pad(source)
        for block in self.enc:
            x = block(x, mask)
        return x

    def decode(self, target, memory, source):
        n = target.shape[1]
        causal = torch.ones(n, n, dtype=torch.bool, device=target.device).tril()
        x, mask, mem_mask = self._embed(self.tgt_tok, target), causal & self._pad(target), self._pad(source)
        for block in self.dec:
            x = block(x, memory, mask, mem_mask)
        return x

    def project(self, x):
        return self.lm_head(x)

    def forward(self, source, target):
        return self.project(self.decode(target, self.encode(source), source))
