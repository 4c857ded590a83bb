"""The Transformer of "Attention Is All You Need" on one page: it learns a little English and French, and translates.

    python one_page.py        # about half a minute on two CPU cores

It needs PyTorch and nothing else. Shapes: B sentences, n English tokens, t French tokens, d = d_model, h heads.
"""

import math
import random
from itertools import product

import torch
import torch.nn.functional as F
from torch import Tensor, nn

PAD, BOS, EOS = 0, 1, 2  # padding, begin of sentence, end of sentence


class InputEmbedding(nn.Module):
    """A row of numbers for each token (section 3.4)."""

    def __init__(self, vocab_size: int, d_model: int) -> None:
        super().__init__()
        self.lookup = nn.Embedding(vocab_size, d_model)
        nn.init.normal_(self.lookup.weight, std=d_model**-0.5)

    def forward(self, ids: Tensor) -> Tensor:
        return self.lookup(ids) * math.sqrt(self.lookup.embedding_dim)  # (B, n) -> (B, n, d)


class PositionalEncoding(nn.Module):
    """Adds sines and cosines that say where a token stands (section 3.5)."""

    def __init__(self, d_model: int, max_len: int = 5000, dropout: float = 0.0) -> None:
        super().__init__()
        position = torch.arange(max_len, dtype=torch.float64)[:, None]
        angle = position / 10000 ** (torch.arange(0, d_model, 2, dtype=torch.float64) / d_model)
        table = torch.stack([angle.sin(), angle.cos()], dim=-1).flatten(1)  # sin, cos, sin, cos, ...
        self.register_buffer("table", table.float(), persistent=False)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x: Tensor, offset: int = 0) -> Tensor:
        return self.dropout(x + self.table[offset : offset + x.shape[1]])


def attention(query: Tensor, key: Tensor, value: Tensor, mask=None) -> tuple[Tensor, Tensor]:
    """softmax(Q Kᵀ / √d_k) V (equation 1); where the mask is False, nobody looks."""
    scores = query @ key.transpose(-2, -1) / math.sqrt(query.shape[-1])  # (B, h, queries, keys)
    if mask is not None:
        scores = scores.masked_fill(~mask, -math.inf)
    weights = torch.softmax(scores, dim=-1).nan_to_num(0.0)  # a query with nowhere to look gets nothing
    return weights @ value, weights


class MultiHeadAttention(nn.Module):
    """Several attentions side by side, each in a slice of d / h numbers (section 3.2.2)."""

    def __init__(self, d_model: int, num_heads: int) -> None:
        super().__init__()
        self.num_heads = num_heads
        self.query_projection = nn.Linear(d_model, d_model)
        self.key_projection = nn.Linear(d_model, d_model)
        self.value_projection = nn.Linear(d_model, d_model)
        self.output_projection = nn.Linear(d_model, d_model)

    def split(self, x: Tensor) -> Tensor:
        return x.unflatten(-1, (self.num_heads, -1)).transpose(1, 2)  # (B, n, d) -> (B, h, n, d / h)

    def forward(self, query: Tensor, key: Tensor, value: Tensor, mask=None) -> Tensor:
        q, k, v = self.query_projection(query), self.key_projection(key), self.value_projection(value)
        heads, _ = attention(self.split(q), self.split(k), self.split(v), mask)
        return self.output_projection(heads.transpose(1, 2).flatten(-2))  # (B, queries, d)


class PositionwiseFeedForward(nn.Module):
    """Two layers, the same for every token: max(0, x W₁ + b₁) W₂ + b₂ (equation 2)."""

    def __init__(self, d_model: int, d_ff: int) -> None:
        super().__init__()
        self.expand = nn.Linear(d_model, d_ff)
        self.contract = nn.Linear(d_ff, d_model)

    def forward(self, x: Tensor) -> Tensor:
        return self.contract(torch.relu(self.expand(x)))


class LayerNorm(nn.Module):
    """Each token's numbers with mean 0 and variance 1, then a learned scale and shift (section 3.1)."""

    def __init__(self, d_model: int) -> None:
        super().__init__()
        self.weight, self.bias = nn.Parameter(torch.ones(d_model)), nn.Parameter(torch.zeros(d_model))

    def forward(self, x: Tensor) -> Tensor:
        centred = x - x.mean(-1, keepdim=True)
        variance = centred.square().mean(-1, keepdim=True)
        return self.weight * centred / torch.sqrt(variance + 1e-5) + self.bias


class ResidualConnection(nn.Module):
    """norm(x + sublayer(x)): a part adds to what it was given (section 3.1)."""

    def __init__(self, d_model: int, dropout: float = 0.0) -> None:
        super().__init__()
        self.norm, self.dropout = LayerNorm(d_model), nn.Dropout(dropout)

    def forward(self, x: Tensor, sublayer) -> Tensor:
        return self.norm(x + self.dropout(sublayer(x)))


class EncoderLayer(nn.Module):
    """The English tokens look at each other; then each thinks for itself."""

    def __init__(self, d_model: int, num_heads: int, d_ff: int, dropout: float = 0.0) -> None:
        super().__init__()
        self.self_attention = MultiHeadAttention(d_model, num_heads)
        self.feed_forward = PositionwiseFeedForward(d_model, d_ff)
        self.self_attention_residual = ResidualConnection(d_model, dropout)
        self.feed_forward_residual = ResidualConnection(d_model, dropout)

    def forward(self, x: Tensor, mask=None) -> Tensor:
        x = self.self_attention_residual(x, lambda h: self.self_attention(h, h, h, mask))
        return self.feed_forward_residual(x, self.feed_forward)


class DecoderLayer(nn.Module):
    """The French tokens look at those before them, then at the English ones; then each thinks for itself."""

    def __init__(self, d_model: int, num_heads: int, d_ff: int, dropout: float = 0.0) -> None:
        super().__init__()
        self.self_attention = MultiHeadAttention(d_model, num_heads)
        self.cross_attention = MultiHeadAttention(d_model, num_heads)
        self.feed_forward = PositionwiseFeedForward(d_model, d_ff)
        self.self_attention_residual = ResidualConnection(d_model, dropout)
        self.cross_residual = ResidualConnection(d_model, dropout)
        self.feed_forward_residual = ResidualConnection(d_model, dropout)

    def forward(self, x: Tensor, memory: Tensor, target_mask=None, memory_mask=None) -> Tensor:
        x = self.self_attention_residual(x, lambda h: self.self_attention(h, h, h, target_mask))
        x = self.cross_residual(x, lambda h: self.cross_attention(h, memory, memory, memory_mask))
        return self.feed_forward_residual(x, self.feed_forward)


class Transformer(nn.Module):
    """Figure 1: English tokens and the French ones so far -> logits for the next French token at every place."""

    def __init__(self, source_vocab: int, target_vocab: int, d_model: int, h: int, d_ff: int, layers: int, dropout=0.1):
        super().__init__()
        self.source_embedding = InputEmbedding(source_vocab, d_model)
        self.target_embedding = InputEmbedding(target_vocab, d_model)
        self.positional_encoding = PositionalEncoding(d_model, dropout=dropout)
        self.encoder = nn.ModuleList(EncoderLayer(d_model, h, d_ff, dropout) for _ in range(layers))
        self.decoder = nn.ModuleList(DecoderLayer(d_model, h, d_ff, dropout) for _ in range(layers))
        self.projection = nn.Linear(d_model, target_vocab, bias=False)

    def visible(self, ids: Tensor) -> Tensor:
        return (ids != PAD)[:, None, None, :]  # the padding mask, (B, 1, 1, n)

    def encode(self, source: Tensor) -> Tensor:
        x = self.positional_encoding(self.source_embedding(source))
        for layer in self.encoder:
            x = layer(x, self.visible(source))
        return x  # the memory, (B, n, d)

    def decode(self, target: Tensor, memory: Tensor, source: Tensor) -> Tensor:
        causal = torch.ones(target.shape[1], target.shape[1], dtype=torch.bool).tril().to(target.device)
        x = self.positional_encoding(self.target_embedding(target))
        for layer in self.decoder:
            x = layer(x, memory, causal & self.visible(target), self.visible(source))
        return self.projection(x)  # (B, t, French vocabulary)

    def forward(self, source: Tensor, target: Tensor) -> Tensor:
        return self.decode(target, self.encode(source), source)


@torch.no_grad()
def translate(model: Transformer, source: Tensor, max_len: int = 20) -> Tensor:
    """The likeliest next token, again and again, until every sentence has ended."""
    memory = model.encode(source)
    target = torch.full((len(source), 1), BOS, device=source.device)
    while target.shape[1] < max_len and not (ended := (target == EOS).any(dim=1)).all():
        logits = model.decode(target, memory, source)[:, -1]
        logits[:, [PAD, BOS]] = -math.inf  # neither is a word
        best = logits.argmax(dim=-1).masked_fill(ended, PAD)
        target = torch.cat([target, best[:, None]], dim=1)
    return target


def train(model: Transformer, pairs: list, steps: int = 400, warmup: int = 100, peak: float = 2e-3) -> None:
    """Given the French words so far, each place predicts the next one (section 5)."""
    optimizer = torch.optim.Adam(model.parameters(), betas=(0.9, 0.98), eps=1e-9)
    for step in range(1, steps + 1):
        optimizer.param_groups[0]["lr"] = peak * min(step / warmup, (warmup / step) ** 0.5)
        source, target = batch(random.sample(pairs, 64))
        logits = model(source, target[:, :-1]).flatten(0, 1)  # it reads all but the last token ...
        asked = target[:, 1:].flatten()  # ... and is asked for all but the first
        loss = F.cross_entropy(logits, asked, ignore_index=PAD, label_smoothing=0.1)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 100 == 0:
            print(f"step {step}  loss {loss.item():.3f}")


NOUNS = {"cat": ("chat", 0), "dog": ("chien", 0), "boat": ("bateau", 0), "cow": ("vache", 1), "hen": ("poule", 1)}
DETERMINERS = {"the": ("le", "la"), "a": ("un", "une"), "my": ("mon", "ma")}
SIZES = {"": ("", ""), "small": ("petit", "petite"), "big": ("grand", "grande")}
COLOURS = {"": ("", ""), "black": ("noir", "noire"), "white": ("blanc", "blanche"), "green": ("vert", "verte")}
VERBS = {"sleep": "dort", "fall": "tombe", "dance": "danse", "sing": "chante"}
KEPT_BACK = ({"small", "black", "cat"}, {"big", "white", "cow"}, {"small", "green", "boat"})  # never in training


def grammar() -> list[tuple[list[str], list[str]]]:
    """Every sentence of a small language and its translation: the colour moves, and all agree with the noun."""
    pairs = []
    for the, size, colour, noun, verb, no in product(DETERMINERS, SIZES, COLOURS, NOUNS, VERBS, (False, True)):
        chat, gender = NOUNS[noun]
        english = f"{the} {size} {colour} {noun} " + (f"does not {verb}" if no else f"{verb}s")
        french = f"{DETERMINERS[the][gender]} {SIZES[size][gender]} {chat} {COLOURS[colour][gender]} "
        pairs.append((english.split(), (french + (f"ne {VERBS[verb]} pas" if no else VERBS[verb])).split()))
    return pairs


PAIRS = grammar()
ENGLISH, FRENCH = ([*"_<>", *sorted({word for pair in PAIRS for word in pair[side]})] for side in (0, 1))


def batch(pairs: list) -> tuple[Tensor, Tensor]:
    """Ids in rectangles: English as it is, French between BOS and EOS, short sentences filled up with padding."""
    source = [torch.tensor([ENGLISH.index(word) for word in english]) for english, _ in pairs]
    target = [torch.tensor([BOS, *map(FRENCH.index, french), EOS]) for _, french in pairs]
    pad = nn.utils.rnn.pad_sequence
    return pad(source, batch_first=True, padding_value=PAD), pad(target, batch_first=True, padding_value=PAD)


def main() -> None:
    """Learn the sentences without the three kept-back combinations, then translate those with them."""
    torch.manual_seed(0)
    random.seed(0)
    unseen = [pair for pair in PAIRS if any(words <= set(pair[0]) for words in KEPT_BACK)]
    model = Transformer(len(ENGLISH), len(FRENCH), d_model=64, h=4, d_ff=128, layers=2)
    train(model, [pair for pair in PAIRS if pair not in unseen])
    rows = translate(model.eval(), batch(unseen)[0]).tolist()
    written = [[FRENCH[i] for i in row[1:] if i not in (EOS, PAD)] for row in rows]
    right = sum(ours == french for ours, (_, french) in zip(written, unseen, strict=True))
    print(f"{right} of {len(unseen)} sentences with combinations that it has never seen are right, word for word")
    for (english, _), french in random.sample(list(zip(unseen, written, strict=True)), 3):
        print(f"{' '.join(english)}  ->  {' '.join(french)}")


if __name__ == "__main__":
    main()
