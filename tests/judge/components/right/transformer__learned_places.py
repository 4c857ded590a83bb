"""kind: transformer
name: Translator
style: learned places, one table for both sides, bias-free pre-norm body, a projection tied to the target"""

import torch
from torch import nn
from torch.nn import functional as F


class Attend(nn.Module):
    def __init__(self, n_embd, n_head):
        super().__init__()
        self.n_head = n_head
        self.c_q = nn.Linear(n_embd, n_embd, bias=False)
        self.c_kv = nn.Linear(n_embd, 2 * n_embd, bias=False)
        self.c_proj = nn.Linear(n_embd, n_embd, bias=False)

    def forward(self, x, context, allowed):
        B, T, C = x.shape
        heads = lambda t: t.view(B, -1, self.n_head, C // self.n_head).transpose(1, 2)  # noqa: E731
        k, v = self.c_kv(context).chunk(2, dim=-1)
        y = F.scaled_dot_product_attention(heads(self.c_q(x)), heads(k), heads(v), attn_mask=allowed)
        return self.c_proj(y.transpose(1, 2).reshape(B, T, C))


class Block(nn.Module):
    def __init__(self, n_embd, n_head, d_ff, reads_memory):
        super().__init__()
        self.ln_1, self.attn = nn.LayerNorm(n_embd), Attend(n_embd, n_head)
        if reads_memory:
            self.ln_x, self.cross = nn.LayerNorm(n_embd), Attend(n_embd, n_head)
        self.ln_2 = nn.LayerNorm(n_embd)
        self.mlp = nn.Sequential(nn.Linear(n_embd, d_ff, bias=False), nn.GELU(), nn.Linear(d_ff, n_embd, bias=False))

    def forward(self, x, allowed, memory=None, readable=None):
        h = self.ln_1(x)
        x = x + self.attn(h, h, allowed)
        if memory is not None:
            x = x + self.cross(self.ln_x(x), memory, readable)
        return x + self.mlp(self.ln_2(x))


class Translator(nn.Module):
    def __init__(self, src_vocab, tgt_vocab, n_embd, n_head, d_ff, n_layer, block_size, pad_id=0):
        super().__init__()
        self.pad_id = pad_id
        self.wte_src, self.wte_tgt = nn.Embedding(src_vocab, n_embd), nn.Embedding(tgt_vocab, n_embd)
        self.wpe = nn.Embedding(block_size, n_embd)
        self.encoder = nn.ModuleList(Block(n_embd, n_head, d_ff, False) for _ in range(n_layer))
        self.decoder = nn.ModuleList(Block(n_embd, n_head, d_ff, True) for _ in range(n_layer))
        self.ln_src, self.ln_tgt = nn.LayerNorm(n_embd), nn.LayerNorm(n_embd)
        self.lm_head = nn.Linear(n_embd, tgt_vocab, bias=False)
        self.lm_head.weight = self.wte_tgt.weight

    def forward(self, src, tgt):
        real = (src != self.pad_id)[:, None, None, :]
        x = self.wte_src(src) + self.wpe(torch.arange(src.shape[1], device=src.device))
        for block in self.encoder:
            x = block(x, real)
        memory = self.ln_src(x)
        T = tgt.shape[1]
        past = torch.ones(T, T, dtype=torch.bool, device=tgt.device).tril()
        y = self.wte_tgt(tgt) + self.wpe(torch.arange(T, device=tgt.device))
        for block in self.decoder:
            y = block(y, past, memory, real)
        return self.lm_head(self.ln_tgt(y))
