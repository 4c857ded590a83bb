"""Copy what followed last time: attention alone, in one layer or two, on random letters with a repetition (chapter 18).

A sequence is random letters, and at random places a segment of random length from earlier on comes again. From its
second letter on a copy can be foreseen by whoever finds where the letters before stood last time.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch
import torch.nn.functional as F
from torch import nn

from transformer_edu.attention import MultiHeadAttention
from transformer_edu.embedding import ProjectionLayer
from transformer_edu.encoder import Encoder
from transformer_edu.inspect.head_effects import fix_head
from transformer_edu.masks import causal_mask
from transformer_edu.normalization import LayerNorm
from transformer_edu.parts import LearnedPositionalEncoding, RotaryPositions
from transformer_edu.residual import ResidualConnection
from transformer_edu.support.seeds import seeded
from transformer_edu.support.shapes import Float, Ids, Int, Mask, Tensor, Vectors
from transformer_edu.support.validation import check_choice, check_positive_integer

LETTERS = "abcdefghijklmnopqrstuvwxyz"
LENGTH = 32  # letters of a sequence
SHORTEST, LONGEST = 4, 16  # of a segment that comes again
BEGINS = 0.25  # outside a copy, how likely one begins
POSITIONS = ("rotary", "learned")
STEPS, WARMUP, LEARNING_RATE, BATCH_SIZE = 700, 50, 6e-3, 32
TEST_SIZE, TEST_SEED = 200, 1_000_000  # sequences on which every model is measured; none is trained on

Curve = list[dict[str, float]]


class AttentionLayer(nn.Module):
    """An encoder layer without its feed-forward half; `attention` is called with (query, key, value, mask)."""

    def __init__(self, attention: MultiHeadAttention) -> None:
        super().__init__()
        self.self_attention = attention
        self.self_attention_residual = ResidualConnection(LayerNorm(attention.d_model), pre=True)

    def forward(self, x: Vectors, mask: Mask | None = None) -> Vectors:
        """x (batch, seq, d_model) -> x + attention of norm(x), the same shape."""
        return self.self_attention_residual(x, lambda h: self.self_attention(h, h, h, mask))


class Copier(nn.Module):
    """Ids in, a score for every next letter out: attention and nothing else between embedding and projection.

    Args:
        num_layers, d_model, num_heads: of attention. Weights are drawn from torch's random state.
        positions: "rotary", inside each attention, or "learned", a row added to each letter's vector.
    """

    def __init__(self, num_layers: int = 2, d_model: int = 32, num_heads: int = 1, positions: str = "rotary") -> None:
        super().__init__()
        check_positive_integer("num_layers", num_layers)
        check_choice("positions", positions, POSITIONS)
        rotate = RotaryPositions(d_model // num_heads, LENGTH) if positions == "rotary" else None
        layers = [AttentionLayer(MultiHeadAttention(d_model, num_heads, rotate=rotate)) for _ in range(num_layers)]
        self.embedding = nn.Embedding(len(LETTERS), d_model)
        self.positions = LearnedPositionalEncoding(d_model, LENGTH) if positions == "learned" else nn.Identity()
        self.decoder = Encoder(layers, LayerNorm(d_model))
        self.projection = ProjectionLayer(d_model, len(LETTERS))

    def forward(self, ids: Ids) -> Float[Tensor, "batch seq vocab"]:
        """Ids (batch, seq) with seq up to LENGTH -> logits for each next letter."""
        x = self.positions(self.embedding(ids))
        return self.projection(self.decoder(x, causal_mask(ids.shape[1])))


def sequences(count: int, generator: torch.Generator) -> tuple[Ids, Ids]:
    """Random letters that repeat themselves: ids (count, LENGTH), and the place of each letter within a copy, from 1.

    Outside a copy the place is 0: each of the 26 letters is as likely, so that no loss is below ln 26 on average there,
    whatever was read. At 1 a copy begins unseen; from 2 on it can be foreseen.
    """
    check_positive_integer("count", count)

    def draw(low: int, high: int) -> Int[Tensor, "batch"]:
        return torch.randint(low, high + 1, (count,), generator=generator)

    ids, place = draw(0, len(LETTERS) - 1)[:, None].repeat(1, LENGTH), torch.zeros(count, LENGTH, dtype=torch.long)
    left, lag = torch.zeros(count, dtype=torch.long), torch.zeros(count, dtype=torch.long)
    for at in range(1, LENGTH):
        begins = (left == 0) & (torch.rand(count, generator=generator) < (BEGINS if at >= SHORTEST else 0))
        left = torch.where(begins, draw(SHORTEST, LONGEST), left)
        lag = torch.where(begins, draw(SHORTEST, max(at, SHORTEST)), lag)  # how far back its first letter stands
        copied = ids.gather(1, (at - lag)[:, None])[:, 0]
        ids[:, at] = torch.where(left > 0, copied, draw(0, len(LETTERS) - 1))
        place[:, at] = torch.where(begins, 0, place[:, at - 1]).add(1).where(left > 0, 0)
        left = (left - 1).clamp(min=0)
    return ids, place


def twice(count: int, size: int, generator: torch.Generator) -> Ids:
    """Rows of `size` different random letters, each row followed by itself: (count, 2 · size)."""
    rows = torch.rand(count, len(LETTERS), generator=generator).argsort(dim=1)[:, :size]
    return torch.cat([rows, rows], dim=1)


def next_losses(model: nn.Module, ids: Ids) -> Float[Tensor, "batch nexts"]:
    """−ln p of every letter after the first, given those before it (batch, seq - 1), in nats."""
    logits = model(ids[:, :-1])
    return F.cross_entropy(logits.transpose(1, 2), ids[:, 1:], reduction="none")


@torch.no_grad()
def losses(model: nn.Module, test: tuple[Ids, Ids] | None = None) -> dict[str, float]:
    """The mean loss in nats where the copy can be foreseen ("repeated") and where nothing can be ("fresh").

    `test`: what `sequences` gives; None: the same TEST_SIZE unseen sequences for every model.
    """
    ids, place = sequences(TEST_SIZE, torch.Generator().manual_seed(TEST_SEED)) if test is None else test
    found, place = next_losses(model, ids), place[:, 1:]
    return {"repeated": found[place > 1].mean().item(), "fresh": found[place == 0].mean().item()}


def train_copier(
    num_layers: int = 2,
    seed: int = 0,
    steps: int = STEPS,
    *,
    d_model: int = 32,
    num_heads: int = 1,
    positions: str = "rotary",
    every: int = 25,
) -> tuple[Copier, Curve]:
    """Train on the next letter at all places, with Adam; `seed` decides weights and sequences.

    Returns:
        The model, and each `every` steps, from 0, "step" and what `losses` gives.
    """
    check_positive_integer("steps", steps)
    with seeded(seed):
        model = Copier(num_layers, d_model, num_heads, positions)
    batches = sequences(steps * BATCH_SIZE, torch.Generator().manual_seed(seed))[0].split(BATCH_SIZE)
    optimizer = torch.optim.Adam(model.parameters(), betas=(0.9, 0.98))
    curve: Curve = [{"step": 0, **losses(model)}]
    for step, ids in enumerate(batches, start=1):
        optimizer.param_groups[0]["lr"] = LEARNING_RATE * min(1, step / WARMUP)
        loss = next_losses(model, ids).mean()
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        if step % every == 0:
            curve.append({"step": step, **losses(model)})
    return model, curve


def induction_scores(weights: Float[Tensor, "batch heads seq seq"], ids: Ids) -> Float[Tensor, "heads"]:
    """How much each head looks, from a letter that was there before, at the letter after its last occurrence.

    The mean weight over all such letters (Olsson et al., 2022, call this prefix matching); 0 .. 1.
    """
    at = torch.arange(ids.shape[1])
    same = (ids[:, :, None] == ids[:, None, :]) & causal_mask(len(at)).tril(-1)  # (batch, now, before)
    after = torch.where(same, at + 1, 0).amax(dim=-1)  # (batch, seq), 0 where there is none
    looked = weights.gather(-1, after[:, None, :, None].expand(*weights.shape[:3], 1))[..., 0]  # (batch, heads, seq)
    return looked.transpose(0, 1)[:, after > 0].mean(dim=-1)


@contextmanager
def without_head(model: Copier, layer: int, head: int) -> Iterator[Copier]:
    """One head puts out zeros while the `with` block runs; both count from 0."""
    part: Any = model.decoder.layers[layer].self_attention
    hook = fix_head(part, head, torch.zeros(()))
    try:
        yield model
    finally:
        hook.remove()
