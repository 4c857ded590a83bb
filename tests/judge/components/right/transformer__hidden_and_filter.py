# kind: transformer
# name: Translator
import torch
from torch import nn


class Look(nn.Module):
    def __init__(self, sizes):
        super().__init__()
        self.heads = sizes.num_heads
        self.q, self.k, self.v, self.o = (nn.Linear(sizes.hidden_size, sizes.hidden_size, bias=False) for _ in range(4))

    def forward(self, x, memory, bias):
        q, k, v = (one.unflatten(-1, (self.heads, -1)).transpose(1, 2) for one in (self.q(x), self.k(memory), self.v(memory)))
        weights = (q @ k.mT * q.shape[-1] ** -0.5 + bias).softmax(-1)
        return self.o((weights @ v).transpose(1, 2).flatten(2))


class Layer(nn.Module):
    def __init__(self, sizes, looks):
        super().__init__()
        self.looks = nn.ModuleList(Look(sizes) for _ in range(looks))
        self.norms = nn.ModuleList(nn.LayerNorm(sizes.hidden_size, eps=1e-6) for _ in range(looks + 1))
        self.up, self.down = nn.Linear(sizes.hidden_size, sizes.filter_size), nn.Linear(sizes.filter_size, sizes.hidden_size)
        self.drop = nn.Dropout(sizes.layer_dropout)

    def forward(self, x, bias, memory=None, memory_bias=None):
        y = self.norms[0](x)
        x = x + self.drop(self.looks[0](y, y, bias))
        if memory is not None:
            x = x + self.drop(self.looks[1](self.norms[1](x), memory, memory_bias))
        return x + self.drop(self.down(torch.relu(self.up(self.norms[-1](x)))))


def placed(x):
    speeds = 10000.0 ** (-torch.arange(0, x.shape[2], 2, device=x.device) / x.shape[2])
    angles = torch.arange(x.shape[1], device=x.device)[:, None] * speeds
    return x + torch.stack([angles.sin(), angles.cos()], -1).flatten(1).to(x)


class Translator(nn.Module):
    def __init__(self, hparams):
        super().__init__()
        self.sizes = hparams
        words = hparams.source_vocab_size, hparams.target_vocab_size
        self.tables = nn.ModuleList(nn.Embedding(count, hparams.hidden_size) for count in words)
        self.encoder = nn.ModuleList(Layer(hparams, 1) for _ in range(hparams.num_hidden_layers))
        self.decoder = nn.ModuleList(Layer(hparams, 2) for _ in range(hparams.num_hidden_layers))
        self.ends = nn.ModuleList(nn.LayerNorm(hparams.hidden_size, eps=1e-6) for _ in range(2))
        self.scores = nn.Linear(hparams.hidden_size, hparams.target_vocab_size, bias=False)

    def forward(self, inputs, targets):
        x, y = (placed(table(ids) * self.sizes.hidden_size**0.5) for table, ids in zip(self.tables, (inputs, targets)))
        hidden = (inputs == self.sizes.pad_id)[:, None, None] * -1e9
        later = torch.full((targets.shape[1],) * 2, -1e9, device=y.device).triu(1).to(y)
        for layer in self.encoder:
            x = layer(x, hidden.to(x))
        x = self.ends[0](x)
        for layer in self.decoder:
            y = layer(y, later, x, hidden.to(x))
        return self.scores(self.ends[1](y))
