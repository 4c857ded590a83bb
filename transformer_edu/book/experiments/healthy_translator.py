"""A translator in one file that learns the grammar in a minute; `symptoms` breaks it, one line at a time (chapter 17).

Shapes: B sentences, n English tokens, t French tokens, d = d_model, h heads.
"""

import math
import random

import torch
import torch.nn.functional as F
from torch import Tensor, nn

PAD, BOS, EOS = 0, 1, 2  # padding, begin of sentence, end of sentence
STEPS, WARMUP, PEAK = 350, 50, 1.2e-2
Pairs = list[tuple[list[int], list[int]]]  # ids of an English and a French sentence


class PositionalEncoding(nn.Module):
    """Adds sines and cosines that say where a token stands."""

    table: Tensor  # (max_len, d)

    def __init__(self, d_model: int, max_len: int = 128, dropout: float = 0.0) -> None:
        super().__init__()
        position = torch.arange(max_len, dtype=torch.float64)[:, None]
        angle = position / 10000 ** (torch.arange(0, d_model, 2, dtype=torch.float64) / d_model)
        table = torch.stack([angle.sin(), angle.cos()], dim=-1).flatten(1)
        self.register_buffer("table", table.float(), persistent=False)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x: Tensor) -> Tensor:
        """(B, n, d) -> (B, n, d)."""
        return self.dropout(x + self.table[: x.shape[1]])


class MultiHeadAttention(nn.Module):
    """Several attentions side by side, each in a slice of d / h numbers."""

    def __init__(self, d_model: int, num_heads: int) -> None:
        super().__init__()
        self.num_heads = num_heads
        self.q, self.k, self.v, self.out = (nn.Linear(d_model, d_model) for _ in range(4))

    def split(self, x: Tensor) -> Tensor:
        """(B, n, d) -> (B, h, n, d / h)."""
        return x.unflatten(-1, (self.num_heads, -1)).transpose(1, 2)

    def forward(self, query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None = None) -> Tensor:
        """(B, queries, d), twice (B, keys, d), and who may look at whom -> (B, queries, d)."""
        q, k, v = self.split(self.q(query)), self.split(self.k(key)), self.split(self.v(value))
        scores = q @ k.transpose(-2, -1) / math.sqrt(q.shape[-1])  # (B, h, queries, keys)
        if mask is not None:
            scores = scores.masked_fill(~mask, -math.inf)
        weights = torch.softmax(scores, dim=-1)
        heads = weights @ v
        return self.out(heads.transpose(1, 2).flatten(-2))


class LayerNorm(nn.Module):
    """Each token's numbers with mean 0 and variance 1, then a learned scale and shift."""

    def __init__(self, d_model: int) -> None:
        super().__init__()
        self.weight, self.bias = nn.Parameter(torch.ones(d_model)), nn.Parameter(torch.zeros(d_model))

    def forward(self, x: Tensor) -> Tensor:
        """(B, n, d) -> (B, n, d)."""
        variance, mean = torch.var_mean(x, dim=-1, correction=0, keepdim=True)
        return self.weight * (x - mean) / torch.sqrt(variance + 1e-5) + self.bias


class Residual(nn.Module):
    """norm(x + sublayer(x))."""

    def __init__(self, d_model: int, dropout: float) -> None:
        super().__init__()
        self.norm, self.dropout = LayerNorm(d_model), dropout

    def forward(self, x: Tensor, y: Tensor) -> Tensor:
        """What came in and what the sub-layer made of it, (B, n, d) each -> (B, n, d)."""
        return self.norm(x + F.dropout(y, self.dropout, self.training))


class Layer(nn.Module):
    """A layer of the encoder, or with cross-attention one of the decoder."""

    def __init__(self, d_model: int, num_heads: int, d_ff: int, dropout: float, crosses: bool) -> None:
        super().__init__()
        self.attention = MultiHeadAttention(d_model, num_heads)
        self.cross = MultiHeadAttention(d_model, num_heads) if crosses else None
        self.feed_forward = nn.Sequential(nn.Linear(d_model, d_ff), nn.ReLU(), nn.Linear(d_ff, d_model))
        self.residuals = nn.ModuleList(Residual(d_model, dropout) for _ in range(3 if crosses else 2))

    def forward(self, x: Tensor, mask: Tensor, memory: Tensor | None = None, visible: Tensor | None = None) -> Tensor:
        """(B, n, d) -> (B, n, d); `memory` is what the encoder made, `visible` its padding mask."""
        x = self.residuals[0](x, self.attention(x, x, x, mask))
        if self.cross is not None:
            x = self.residuals[1](x, self.cross(x, memory, memory, visible))
        return self.residuals[-1](x, self.feed_forward(x))


def padding_mask(ids: Tensor) -> Tensor:
    """Real tokens may be looked at: ids (B, n) -> (B, 1, 1, n)."""
    return (ids != PAD)[:, None, None, :]


def causal_mask(size: int) -> Tensor:
    """The past and the present may be looked at: (t, t)."""
    return torch.ones(size, size, dtype=torch.bool).tril()


class Translator(nn.Module):
    """English ids and the French ones so far -> logits for the next French token at every place."""

    def __init__(self, english: int, french: int, d_model: int = 32, num_heads: int = 4, dropout: float = 0.1) -> None:
        super().__init__()
        shape = (d_model, num_heads, 2 * d_model, dropout)
        self.english, self.french = nn.Embedding(english, d_model), nn.Embedding(french, d_model)
        self.positions = PositionalEncoding(d_model, dropout=dropout)
        self.encoder = nn.ModuleList(Layer(*shape, crosses=False) for _ in range(1))
        self.decoder = nn.ModuleList(Layer(*shape, crosses=True) for _ in range(2))
        self.projection = nn.Linear(d_model, french, bias=False)

    def encode(self, source: Tensor) -> Tensor:
        """(B, n) -> the memory, (B, n, d)."""
        x = self.positions(self.english(source))
        for layer in self.encoder:
            x = layer(x, padding_mask(source))
        return x

    def decode(self, target: Tensor, memory: Tensor, source: Tensor) -> Tensor:
        """French ids (B, t) -> logits (B, t, words)."""
        mask = causal_mask(target.shape[1]) & padding_mask(target)
        x = self.positions(self.french(target))
        for layer in self.decoder:
            x = layer(x, mask, memory, padding_mask(source))
        return self.projection(x)

    def forward(self, source: Tensor, target: Tensor) -> Tensor:
        """(B, n), (B, t) -> logits (B, t, words)."""
        return self.decode(target, self.encode(source), source)


def batch(pairs: Pairs) -> tuple[Tensor, Tensor]:
    """Rectangles of ids: English as it is, French between BOS and EOS, short sentences filled up."""
    source = [torch.tensor(english) for english, _ in pairs]
    target = [torch.tensor([BOS, *french, EOS]) for _, french in pairs]
    pad = nn.utils.rnn.pad_sequence
    return pad(source, batch_first=True, padding_value=PAD), pad(target, batch_first=True, padding_value=PAD)


def loss_of(model: nn.Module, source: Tensor, target: Tensor) -> Tensor:
    """The mean loss of a real token, in nats: each place is asked for the next one."""
    read, asked = target[:, :-1], target[:, 1:]
    logits = model(source, read)
    return F.cross_entropy(logits.flatten(0, 1), asked.flatten(), ignore_index=PAD)


def train(model: nn.Module, pairs: Pairs, steps: int = STEPS) -> list[float]:
    """The loss of each step."""
    optimizer = torch.optim.Adam(model.parameters(), betas=(0.9, 0.98), eps=1e-9)
    losses = []
    for step in range(1, steps + 1):
        optimizer.param_groups[0]["lr"] = PEAK * min(step / WARMUP, (WARMUP / step) ** 0.5)
        loss = loss_of(model, *batch(random.sample(pairs, 32)))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


@torch.no_grad()
def translate(model: nn.Module, source: Tensor, max_len: int = 20) -> Tensor:
    """The likeliest next token, again and again, until every sentence has ended: (B, n) -> (B, at most max_len)."""
    memory = model.encode(source)  # type: ignore[operator]
    target = torch.full((len(source), 1), BOS)
    while target.shape[1] < max_len and not (ended := (target == EOS).any(dim=1)).all():
        logits = model.decode(target, memory, source)[:, -1]  # type: ignore[operator]
        target = torch.cat([target, logits.argmax(dim=-1).masked_fill(ended, PAD)[:, None]], dim=1)
    return target


@torch.no_grad()
def evaluate(model: nn.Module, pairs: Pairs) -> tuple[float, Tensor]:
    """The loss on these pairs, and what the model writes for their English."""
    model.eval()
    source, target = batch(pairs)
    return loss_of(model, source, target).item(), translate(model, source)
