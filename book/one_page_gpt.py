"""A GPT on one page: what is left of one_page.py when it only writes.

    python one_page_gpt.py              # about a minute on two CPU cores
    python one_page_gpt.py my_text.txt  # your text in place of its stories

It needs PyTorch alone. A line that one_page.py does not have ends in #+ (up
to the stories). Shapes: B texts, n bytes, d = d_model, h heads.
"""

import math
import random
import sys  #+

import torch
import torch.nn.functional as F
from torch import nn

CONTEXT = 128  # bytes that it looks back on  #+


def attention(query, key, value, mask):  #+
    """softmax(Q Kᵀ / √d_k) V; mask False: nobody looks."""
    scores = query @ key.transpose(-2, -1) / math.sqrt(query.shape[-1])
    scores = scores.masked_fill(~mask, -math.inf)
    return torch.softmax(scores, dim=-1) @ value  #+


class MultiHeadAttention(nn.Module):
    """Several attentions side by side; with a cache, of the new bytes only."""

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

    def forward(self, x, mask, cache=None):  #+
        q = self.split(self.query_projection(x))  #+
        k = self.split(self.key_projection(x))  #+
        v = self.split(self.value_projection(x))  #+
        if cache:  # keys and values of the bytes before  #+
            k, v = (torch.cat(both, dim=2) for both in zip(cache, (k, v)))  #+
        if cache is not None:  #+
            cache[:] = k, v  #+
        heads = attention(q, k, v, mask)  #+
        # (B, queries, d)
        return self.output_projection(heads.transpose(1, 2).flatten(-2))


class PositionwiseFeedForward(nn.Module):
    """The same for every byte, with GELU for ReLU."""

    def __init__(self, d_model, d_ff):
        super().__init__()
        self.expand = nn.Linear(d_model, d_ff)
        self.contract = nn.Linear(d_ff, d_model)

    def forward(self, x):
        return self.contract(F.gelu(self.expand(x), approximate="tanh"))  #+


class LayerNorm(nn.Module):
    """Mean 0 and variance 1 for each byte, then a scale and shift."""

    def __init__(self, d_model):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(d_model))
        self.bias = nn.Parameter(torch.zeros(d_model))

    def forward(self, x):
        centred = x - x.mean(-1, keepdim=True)
        variance = centred.square().mean(-1, keepdim=True)
        return self.weight * centred / torch.sqrt(variance + 1e-5) + self.bias


class ResidualConnection(nn.Module):
    """x + sublayer(norm(x)): the norm has moved in front of the part."""

    def __init__(self, d_model, dropout=0.0):
        super().__init__()
        self.norm, self.dropout = LayerNorm(d_model), nn.Dropout(dropout)

    def forward(self, x, sublayer):
        return x + self.dropout(sublayer(self.norm(x)))  #+


class GPTBlock(nn.Module):  #+
    """The decoder layer without the half that looked at a source."""

    def __init__(self, d_model, num_heads, d_ff, dropout=0.0):
        super().__init__()
        self.self_attention = MultiHeadAttention(d_model, num_heads)
        self.feed_forward = PositionwiseFeedForward(d_model, d_ff)
        self.self_attention_residual = ResidualConnection(d_model, dropout)
        self.feed_forward_residual = ResidualConnection(d_model, dropout)

    def forward(self, x, mask, cache=None):  #+
        x = self.self_attention_residual(
            x, lambda h: self.self_attention(h, mask, cache)  #+
        )
        return self.feed_forward_residual(x, self.feed_forward)


class GPT(nn.Module):  #+
    """Bytes so far (B, n) -> logits for each next byte (B, n, 256)."""

    def __init__(self, d_model=64, h=4, d_ff=256, layers=2, vocab=256):  #+
        super().__init__()
        self.embedding = nn.Embedding(vocab, d_model)  #+
        self.positions = nn.Embedding(CONTEXT, d_model)  #+
        blocks = (GPTBlock(d_model, h, d_ff) for _ in range(layers))  #+
        self.blocks = nn.ModuleList(blocks)  #+
        self.final_norm = LayerNorm(d_model)  #+
        self.projection = nn.Linear(d_model, vocab, bias=False)  #+
        for table in (self.embedding, self.positions):  #+
            nn.init.normal_(table.weight, std=0.02)  #+
        self.projection.weight = self.embedding.weight  # tied  #+

    def forward(self, ids, cache=None):  #+
        caches = [None] * len(self.blocks) if cache is None else cache  #+
        start = caches[0][0].shape[2] if caches[0] else 0  #+
        end = start + ids.shape[1]  #+
        causal = torch.ones(end, end, device=ids.device).tril().bool()  #+
        x = self.embedding(ids) + self.positions.weight[start:end]  #+
        for block, kept in zip(self.blocks, caches):  #+
            x = block(x, causal[start:], kept)  #+
        return self.projection(self.final_norm(x))  #+


@torch.no_grad()
def write(model, prompt, length=200, temperature=0.7, top_p=0.95):  #+
    """The prompt's last CONTEXT / 2 bytes in one pass, then byte by byte."""
    text, cache = list(prompt.encode() or b"\n"), None  #+
    for _ in range(length):  #+
        if cache is None or cache[0][0].shape[2] == CONTEXT:  # full: anew  #+
            cache, new = [[] for _ in model.blocks], text[-CONTEXT // 2 :]  #+
        logits = model(torch.tensor([new]), cache)[0, -1]  #+
        p, order = (logits / temperature).softmax(-1).sort(descending=True)  #+
        p[p.cumsum(-1) - p >= top_p] = 0.0  # the tail falls away  #+
        new = [int(order[torch.multinomial(p, 1)])]  #+
        text += new  #+
    return bytes(text).decode(errors="replace")  #+


def train(model, text, steps=700, warmup=50, peak=3e-3):  #+
    """A window is read, and the same one byte later is asked for."""
    optimizer = torch.optim.AdamW(model.parameters(), betas=(0.9, 0.95))  #+
    *seen, held = torch.tensor(list(text.encode())).chunk(10)  #+
    assert len(held) > CONTEXT, f"{len(text)} letters are too few"  #+
    for step in range(1, steps + 1):
        rate = peak * min(step / warmup, 1 - (step - warmup) / steps)  #+
        optimizer.param_groups[0]["lr"] = rate
        own = random.choice(seen) if step % 100 else held  #+
        starts = torch.randint(len(own) - CONTEXT, (24,))  #+
        rows = torch.stack([own[i : i + CONTEXT + 1] for i in starts])  #+
        logits = model(rows[:, :-1]).flatten(0, 1)  #+
        loss = F.cross_entropy(logits, rows[:, 1:].flatten())  #+
        if step % 100:  #+
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        else:  #+
            print(f"{step}: {loss / math.log(2):.3f} bits a byte, held out")  #+


NAMES = {"Ann": "she", "Tom": "he", "Mia": "she", "Ben": "he"}


def story():
    """One small story: who it is about and what was lost stay the same."""
    (one, she), (other, he) = random.sample(list(NAMES.items()), 2)
    thing = random.choice(["ball", "boat", "hat", "kite", "ring"])
    place = random.choice(["in the garden", "under the bed", "on the roof"])
    return (
        f"{one} had a {thing}. One day the {thing} was gone, and {she} was "
        f"sad. {other} came and {he} found the {thing} {place}. The end.\n"
    )


def main():
    """Learn a text, then go on from its first words."""
    torch.manual_seed(0)
    random.seed(0)
    text = "".join(story() for _ in range(3000))
    if sys.argv[1:]:
        with open(sys.argv[1], encoding="utf-8") as file:
            text = file.read()
    model = GPT()
    train(model, text)
    print(write(model.eval(), text[:8], length=400))


if __name__ == "__main__":
    main()
