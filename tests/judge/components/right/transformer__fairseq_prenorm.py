"""kind: transformer
name: TransformerModel
style: fairseq (time-first, encoder/decoder classes returning dicts, embed_scale, padding_idx, offset-free sinusoids), pre-norm with closing norms"""
import math

import torch
import torch.nn.functional as F
from torch import nn


def Linear(i, o, bias=True):
    m = nn.Linear(i, o, bias)
    nn.init.xavier_uniform_(m.weight)
    if bias:
        nn.init.constant_(m.bias, 0.0)
    return m


def Embedding(n, d, padding_idx):
    m = nn.Embedding(n, d, padding_idx=padding_idx)
    nn.init.normal_(m.weight, mean=0, std=d ** -0.5)
    nn.init.constant_(m.weight[padding_idx], 0)
    return m


def sinusoidal(n, d):
    emb = torch.arange(n, dtype=torch.float)[:, None] * torch.exp(
        torch.arange(d // 2, dtype=torch.float) * -(2 * math.log(10000) / d))[None]
    return torch.stack([emb.sin(), emb.cos()], dim=2).view(n, d)


class Attention(nn.Module):
    def __init__(self, dim, heads, dropout):
        super().__init__()
        self.heads, self.dropout, self.scaling = heads, dropout, (dim // heads) ** -0.5
        self.in_proj_weight = nn.Parameter(torch.empty(3 * dim, dim))
        self.in_proj_bias = nn.Parameter(torch.zeros(3 * dim))
        nn.init.xavier_uniform_(self.in_proj_weight)
        self.out_proj = Linear(dim, dim)

    def _in(self, x, i):
        d = x.size(-1)
        return F.linear(x, self.in_proj_weight[i * d:(i + 1) * d], self.in_proj_bias[i * d:(i + 1) * d])

    def forward(self, query, key, key_padding_mask, attn_mask=None):
        T, B, C = query.size()
        S = key.size(0)
        q = (self._in(query, 0) * self.scaling).view(T, B * self.heads, -1).transpose(0, 1)
        k = self._in(key, 1).view(S, B * self.heads, -1).transpose(0, 1)
        v = self._in(key, 2).view(S, B * self.heads, -1).transpose(0, 1)
        w = torch.bmm(q, k.transpose(1, 2))
        if attn_mask is not None:
            w = w + attn_mask.unsqueeze(0)
        w = w.view(B, self.heads, T, S).masked_fill(key_padding_mask[:, None, None, :], float("-inf"))
        w = F.dropout(F.softmax(w.view(B * self.heads, T, S), dim=-1), self.dropout, self.training)
        return self.out_proj(torch.bmm(w, v).transpose(0, 1).reshape(T, B, C))


class Layer(nn.Module):
    def __init__(self, args, cross):
        super().__init__()
        d = args["d_model"]
        self.self_attn = Attention(d, args["num_heads"], args["dropout"])
        self.self_attn_layer_norm = nn.LayerNorm(d)
        if cross:
            self.encoder_attn = Attention(d, args["num_heads"], args["dropout"])
            self.encoder_attn_layer_norm = nn.LayerNorm(d)
        self.fc1, self.fc2 = Linear(d, args["d_ff"]), Linear(args["d_ff"], d)
        self.final_layer_norm = nn.LayerNorm(d)
        self.p = args["dropout"]

    def _res(self, residual, x):
        return residual + F.dropout(x, self.p, self.training)

    def forward(self, x, self_pad, future=None, enc=None, enc_pad=None):
        y = self.self_attn_layer_norm(x)
        x = self._res(x, self.self_attn(y, y, self_pad, future))
        if enc is not None:
            x = self._res(x, self.encoder_attn(self.encoder_attn_layer_norm(x), enc, enc_pad))
        return self._res(x, self.fc2(F.relu(self.fc1(self.final_layer_norm(x)))))


class Coder(nn.Module):
    def __init__(self, args, vocab, cross):
        super().__init__()
        self.padding_idx, self.p = args["pad_id"], args["dropout"]
        self.embed_tokens = Embedding(vocab, args["d_model"], args["pad_id"])
        self.embed_scale = math.sqrt(args["d_model"])
        self.register_buffer("embed_positions", sinusoidal(args["max_len"], args["d_model"]))
        self.layers = nn.ModuleList([Layer(args, cross) for _ in range(args["num_layers"])])
        self.layer_norm = nn.LayerNorm(args["d_model"])

    def forward_embedding(self, tokens):
        x = self.embed_scale * self.embed_tokens(tokens) + self.embed_positions[: tokens.size(1)]
        return F.dropout(x, self.p, self.training).transpose(0, 1)      # B x T x C -> T x B x C


class Encoder(Coder):
    def __init__(self, args, vocab):
        super().__init__(args, vocab, cross=False)

    def forward(self, src_tokens):
        x, pad = self.forward_embedding(src_tokens), src_tokens.eq(self.padding_idx)
        for layer in self.layers:
            x = layer(x, pad)
        return {"encoder_out": self.layer_norm(x), "encoder_padding_mask": pad}


class Decoder(Coder):
    def __init__(self, args, vocab):
        super().__init__(args, vocab, cross=True)
        self.output_projection = Linear(args["d_model"], vocab, bias=False)

    def buffered_future_mask(self, n, like):
        return torch.triu(torch.full((n, n), float("-inf"), dtype=like.dtype, device=like.device), 1)

    def forward(self, prev_output_tokens, encoder_out):
        x = self.forward_embedding(prev_output_tokens)
        pad = prev_output_tokens.eq(self.padding_idx)
        future = self.buffered_future_mask(x.size(0), x)
        for layer in self.layers:
            x = layer(x, pad, future, encoder_out["encoder_out"], encoder_out["encoder_padding_mask"])
        return self.output_projection(self.layer_norm(x).transpose(0, 1))


class TransformerModel(nn.Module):
    def __init__(self, source_vocab_size, target_vocab_size, d_model=512, num_heads=8, d_ff=2048, num_layers=6,
                 dropout=0.1, pad_id=0, max_len=1024):
        super().__init__()
        args = dict(d_model=d_model, num_heads=num_heads, d_ff=d_ff, num_layers=num_layers, dropout=dropout,
                    pad_id=pad_id, max_len=max_len)
        self.encoder = Encoder(args, source_vocab_size)
        self.decoder = Decoder(args, target_vocab_size)

    def forward(self, src_tokens, prev_output_tokens):
        return self.decoder(prev_output_tokens, self.encoder(src_tokens))
