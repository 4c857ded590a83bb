"""The Transformer of "Attention Is All You Need" on one page.

It learns a little English and French, and translates.

    python one_page.py        # about half a minute on two CPU cores

It needs PyTorch and nothing else. Shapes: B sentences, n English tokens,
t French tokens, d = d_model, h heads.
"""

import math
import random
from itertools import product

import torch
import torch.nn.functional as F
from torch import nn

PAD, BOS, EOS = 0, 1, 2  # padding, begin of sentence, end of sentence


class InputEmbedding(nn.Module):
    """A row of numbers for each token (section 3.4)."""

    def __init__(self, vocab_size, d_model):
        super().__init__()
        self.lookup = nn.Embedding(vocab_size, d_model)
        nn.init.normal_(self.lookup.weight, std=d_model**-0.5)

    def forward(self, ids):
        # (B, n) -> (B, n, d)
        return self.lookup(ids) * math.sqrt(self.lookup.embedding_dim)


class PositionalEncoding(nn.Module):
    """Adds sines and cosines that say where a token stands (section 3.5)."""

    def __init__(self, d_model, max_len=5000, dropout=0.0):
        super().__init__()
        position = torch.arange(max_len, dtype=torch.float64)[:, None]
        two_i = torch.arange(0, d_model, 2, dtype=torch.float64)
        angle = position / 10000 ** (two_i / d_model)
        # sin, cos, sin, cos, ...
        table = torch.stack([angle.sin(), angle.cos()], dim=-1).flatten(1)
        self.register_buffer("table", table.float(), persistent=False)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x, offset=0):
        return self.dropout(x + self.table[offset : offset + x.shape[1]])


def attention(query, key, value, mask=None):
    """softmax(Q Kᵀ / √d_k) V (equation 1); mask False: nobody looks."""
    # (B, h, queries, keys)
    scores = query @ key.transpose(-2, -1) / math.sqrt(query.shape[-1])
    if mask is not None:
        scores = scores.masked_fill(~mask, -math.inf)
    # a query with nowhere to look gets nothing
    weights = torch.softmax(scores, dim=-1).nan_to_num(0.0)
    return weights @ value, weights


class MultiHeadAttention(nn.Module):
    """Several attentions side by side, of d / h numbers each (3.2.2)."""

    def __init__(self, d_model, num_heads):
        super().__init__()
        self.num_heads = num_heads
        self.query_projection = nn.Linear(d_model, d_model)
        self.key_projection = nn.Linear(d_model, d_model)
        self.value_projection = nn.Linear(d_model, d_model)
        self.output_projection = nn.Linear(d_model, d_model)

    def split(self, x):
        # (B, n, d) -> (B, h, n, d / h)
        return x.unflatten(-1, (self.num_heads, -1)).transpose(1, 2)

    def forward(self, query, key, value, mask=None):
        q = self.query_projection(query)
        k = self.key_projection(key)
        v = self.value_projection(value)
        q, k, v = self.split(q), self.split(k), self.split(v)
        heads, _ = attention(q, k, v, mask)
        # (B, queries, d)
        return self.output_projection(heads.transpose(1, 2).flatten(-2))


class PositionwiseFeedForward(nn.Module):
    """The same for every token: max(0, x W₁ + b₁) W₂ + b₂ (equation 2)."""

    def __init__(self, d_model, d_ff):
        super().__init__()
        self.expand = nn.Linear(d_model, d_ff)
        self.contract = nn.Linear(d_ff, d_model)

    def forward(self, x):
        return self.contract(torch.relu(self.expand(x)))


class LayerNorm(nn.Module):
    """Mean 0 and variance 1 for each token, then a scale and shift (3.1)."""

    def __init__(self, d_model):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(d_model))
        self.bias = nn.Parameter(torch.zeros(d_model))

    def forward(self, x):
        centred = x - x.mean(-1, keepdim=True)
        variance = centred.square().mean(-1, keepdim=True)
        return self.weight * centred / torch.sqrt(variance + 1e-5) + self.bias


class ResidualConnection(nn.Module):
    """norm(x + sublayer(x)): a part adds to what it was given (3.1)."""

    def __init__(self, d_model, dropout=0.0):
        super().__init__()
        self.norm, self.dropout = LayerNorm(d_model), nn.Dropout(dropout)

    def forward(self, x, sublayer):
        return self.norm(x + self.dropout(sublayer(x)))


class EncoderLayer(nn.Module):
    """The English tokens look at each other; then each thinks for itself."""

    def __init__(self, d_model, num_heads, d_ff, dropout=0.0):
        super().__init__()
        self.self_attention = MultiHeadAttention(d_model, num_heads)
        self.feed_forward = PositionwiseFeedForward(d_model, d_ff)
        self.self_attention_residual = ResidualConnection(d_model, dropout)
        self.feed_forward_residual = ResidualConnection(d_model, dropout)

    def forward(self, x, mask=None):
        x = self.self_attention_residual(
            x, lambda h: self.self_attention(h, h, h, mask)
        )
        return self.feed_forward_residual(x, self.feed_forward)


class DecoderLayer(nn.Module):
    """French tokens look back, then at the English; then each thinks."""

    def __init__(self, d_model, num_heads, d_ff, dropout=0.0):
        super().__init__()
        self.self_attention = MultiHeadAttention(d_model, num_heads)
        self.cross_attention = MultiHeadAttention(d_model, num_heads)
        self.feed_forward = PositionwiseFeedForward(d_model, d_ff)
        self.self_attention_residual = ResidualConnection(d_model, dropout)
        self.cross_residual = ResidualConnection(d_model, dropout)
        self.feed_forward_residual = ResidualConnection(d_model, dropout)

    def forward(self, x, memory, target_mask=None, memory_mask=None):
        x = self.self_attention_residual(
            x, lambda h: self.self_attention(h, h, h, target_mask)
        )
        x = self.cross_residual(
            x, lambda h: self.cross_attention(h, memory, memory, memory_mask)
        )
        return self.feed_forward_residual(x, self.feed_forward)


class Transformer(nn.Module):
    """Figure 1: English and French so far -> logits for the next French."""

    def __init__(
        self, source_vocab, target_vocab, d_model, h, d_ff, layers, dropout=0.1
    ):
        super().__init__()
        self.source_embedding = InputEmbedding(source_vocab, d_model)
        self.target_embedding = InputEmbedding(target_vocab, d_model)
        self.positional_encoding = PositionalEncoding(
            d_model, dropout=dropout
        )
        sizes = d_model, h, d_ff, dropout
        encoder = (EncoderLayer(*sizes) for _ in range(layers))
        decoder = (DecoderLayer(*sizes) for _ in range(layers))
        self.encoder = nn.ModuleList(encoder)
        self.decoder = nn.ModuleList(decoder)
        self.projection = nn.Linear(d_model, target_vocab, bias=False)

    def visible(self, ids):
        return (ids != PAD)[:, None, None, :]  # (B, 1, 1, n): padding mask

    def encode(self, source):
        x = self.positional_encoding(self.source_embedding(source))
        for layer in self.encoder:
            x = layer(x, self.visible(source))
        return x  # the memory, (B, n, d)

    def decode(self, target, memory, source):
        t = target.shape[1]
        causal = torch.ones(t, t, device=target.device).tril().bool()
        x = self.positional_encoding(self.target_embedding(target))
        for layer in self.decoder:
            seen = causal & self.visible(target)  # (B, 1, t, t)
            x = layer(x, memory, seen, self.visible(source))
        return self.projection(x)  # (B, t, French vocabulary)

    def forward(self, source, target):
        return self.decode(target, self.encode(source), source)


@torch.no_grad()
def translate(model, source, max_len=20):
    """The likeliest next token, until every sentence has ended."""
    memory = model.encode(source)
    target = torch.full((len(source), 1), BOS, device=source.device)
    while not (ended := (target == EOS).any(dim=1)).all():
        if target.shape[1] == max_len:
            break
        logits = model.decode(target, memory, source)[:, -1]
        logits[:, [PAD, BOS]] = -math.inf  # neither is a word
        best = logits.argmax(dim=-1).masked_fill(ended, PAD)
        target = torch.cat([target, best[:, None]], dim=1)
    return target


def train(model, pairs, steps=400, warmup=100, peak=2e-3):
    """Given the French so far, each place predicts the next word (5)."""
    optimizer = torch.optim.Adam(
        model.parameters(), betas=(0.9, 0.98), eps=1e-9
    )
    for step in range(1, steps + 1):
        rate = peak * min(step / warmup, (warmup / step) ** 0.5)
        optimizer.param_groups[0]["lr"] = rate
        source, target = batch(random.sample(pairs, 64))
        # it reads all but the last token, and is asked for all but the first
        logits = model(source, target[:, :-1]).flatten(0, 1)
        asked = target[:, 1:].flatten()
        loss = F.cross_entropy(
            logits, asked, ignore_index=PAD, label_smoothing=0.1
        )
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 100 == 0:
            print(f"step {step}  loss {loss.item():.3f}")


NOUNS = {"cat": ("chat", 0), "dog": ("chien", 0), "boat": ("bateau", 0)}
NOUNS |= {"cow": ("vache", 1), "hen": ("poule", 1)}
DETERMINERS = {"the": ("le", "la"), "a": ("un", "une"), "my": ("mon", "ma")}
SIZES = {"": ("", ""), "small": ("petit", "petite")}
SIZES |= {"big": ("grand", "grande")}
COLOURS = {"": ("", ""), "black": ("noir", "noire")}
COLOURS |= {"white": ("blanc", "blanche"), "green": ("vert", "verte")}
VERBS = {"sleep": "dort", "fall": "tombe", "dance": "danse", "sing": "chante"}
KEPT_BACK = {"small", "black", "cat"}, {"big", "white", "cow"}
KEPT_BACK += ({"small", "green", "boat"},)  # never in training


def grammar():
    """Every sentence of a small language: the colour moves, all agree."""
    pairs = []
    kinds = DETERMINERS, SIZES, COLOURS, NOUNS, VERBS, (False, True)
    for the, size, colour, noun, verb, no in product(*kinds):
        chat, gender = NOUNS[noun]
        english = f"{the} {size} {colour} {noun} "
        english += f"does not {verb}" if no else f"{verb}s"
        the, size = DETERMINERS[the][gender], SIZES[size][gender]
        french = f"{the} {size} {chat} {COLOURS[colour][gender]} "
        french += f"ne {VERBS[verb]} pas" if no else VERBS[verb]
        pairs.append((english.split(), french.split()))
    return pairs


PAIRS = grammar()
ENGLISH, FRENCH = (
    [*"_<>", *sorted({word for pair in PAIRS for word in pair[side]})]
    for side in (0, 1)
)


def batch(pairs):
    """Ids in rectangles, filled up; the French between BOS and EOS."""
    source = [list(map(ENGLISH.index, english)) for english, _ in pairs]
    target = [[BOS, *map(FRENCH.index, french), EOS] for _, french in pairs]
    pad = nn.utils.rnn.pad_sequence
    sides = [list(map(torch.tensor, side)) for side in (source, target)]
    return [pad(side, batch_first=True, padding_value=PAD) for side in sides]


def main():
    """Learn all but three combinations, then translate those with them."""
    torch.manual_seed(0)
    random.seed(0)
    unseen = [p for p in PAIRS if any(kept <= set(p[0]) for kept in KEPT_BACK)]
    sizes = {"d_model": 64, "h": 4, "d_ff": 128, "layers": 2}
    model = Transformer(len(ENGLISH), len(FRENCH), **sizes)
    train(model, [pair for pair in PAIRS if pair not in unseen])
    rows = translate(model.eval(), batch(unseen)[0]).tolist()
    written = [[FRENCH[i] for i in row[1:] if i > EOS] for row in rows]
    right = sum(ours == french for ours, (_, french) in zip(written, unseen))
    print(f"{right} of {len(unseen)} new combinations are right, word for word")
    for (english, _), french in random.sample(list(zip(unseen, written)), 3):
        print(f"{' '.join(english)}  ->  {' '.join(french)}")


if __name__ == "__main__":
    main()
