"""kind: transformer
name: Translation
style: a configuration class of its own, swish, sines in one half and cosines in the other, tied target (Marian)"""
import math

import torch
from torch import nn
from torch.nn import functional as F


class TranslationConfig:
    def __init__(self, vocab_size=100, decoder_vocab_size=100, d_model=512, encoder_layers=6, decoder_layers=6,
                 attention_heads=8, ffn_dim=2048, dropout=0.1, pad_token_id=0, scaled_embedding_as_in_the_paper=True):
        for name, value in locals().items():
            if name != "self":
                setattr(self, name, value)


class Attention(nn.Module):
    def __init__(self, config):
        super().__init__()
        d, self.heads = config.d_model, config.attention_heads
        self.q_proj, self.k_proj, self.v_proj, self.out_proj = (nn.Linear(d, d) for _ in range(4))

    def forward(self, x, other, bias):
        q, k, v = (
            part.unflatten(-1, (self.heads, -1)).transpose(1, 2)
            for part in (self.q_proj(x), self.k_proj(other), self.v_proj(other))
        )
        weights = (q @ k.mT * q.shape[-1] ** -0.5 + bias).softmax(-1)
        return self.out_proj((weights @ v).transpose(1, 2).flatten(2))


class Layer(nn.Module):
    def __init__(self, config, decoder):
        super().__init__()
        self.looks = nn.ModuleList(Attention(config) for _ in range(1 + decoder))
        self.norms = nn.ModuleList(nn.LayerNorm(config.d_model) for _ in range(2 + decoder))
        self.fc1, self.fc2 = nn.Linear(config.d_model, config.ffn_dim), nn.Linear(config.ffn_dim, config.d_model)
        self.drop = nn.Dropout(config.dropout)

    def forward(self, x, own, memory=None, padding=None):
        x = self.norms[0](x + self.drop(self.looks[0](x, x, own)))
        if memory is not None:
            x = self.norms[1](x + self.drop(self.looks[1](x, memory, padding)))
        return self.norms[-1](x + self.drop(self.fc2(F.silu(self.fc1(x)))))


class Translation(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.config = config
        self.source = nn.Embedding(config.vocab_size, config.d_model, padding_idx=config.pad_token_id)
        self.target = nn.Embedding(config.decoder_vocab_size, config.d_model, padding_idx=config.pad_token_id)
        self.encoder = nn.ModuleList(Layer(config, False) for _ in range(config.encoder_layers))
        self.decoder = nn.ModuleList(Layer(config, True) for _ in range(config.decoder_layers))
        self.scale = math.sqrt(config.d_model) if config.scaled_embedding_as_in_the_paper else 1.0

    def embed(self, table, ids):
        d = self.config.d_model
        angles = torch.arange(ids.shape[1])[:, None] / 10000 ** (torch.arange(0, d, 2) / d)
        return table(ids) * self.scale + torch.cat([angles.sin(), angles.cos()], -1).to(ids.device, table.weight.dtype)

    def forward(self, input_ids, decoder_input_ids):
        x, y = self.embed(self.source, input_ids), self.embed(self.target, decoder_input_ids)
        low = torch.finfo(x.dtype).min
        padding = torch.zeros_like(x[:, :, 0]).masked_fill(input_ids == self.config.pad_token_id, low)[:, None, None]
        later = torch.full((y.shape[1], y.shape[1]), low, dtype=y.dtype, device=y.device).triu(1)
        for layer in self.encoder:
            x = layer(x, padding)
        for layer in self.decoder:
            y = layer(y, later, x, padding)
        return y @ self.target.weight.T
