"""Stories that somebody asked for: what chapter 21 teaches the shipped story model to answer, and how it is counted."""

import random
import re
from collections.abc import Sequence

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.nn.utils import parametrize

from transformer_edu.data.batching import pad_sequences
from transformer_edu.data.tokenizer import Tokenizer
from transformer_edu.language.model import LanguageModel

NOUNS = [
    *("apple", "ball", "bear", "bed", "bee", "bike", "bird", "boat", "book", "box", "bug", "cake", "car", "cat", "cow"),
    *("dog", "doll", "door", "duck", "fish", "flower", "frog", "garden", "hat", "horse", "house", "kite", "leaf"),
    *("mouse", "pig", "rabbit", "rain", "river", "rock", "star", "sun", "tree", "truck"),
]
STEPS = 64  # tokens of an answer at most
Example = tuple[list[str], str]  # the words that were asked for, and the story


def request(words: Sequence[str]) -> str:
    """The line that asks for a story with these words."""
    return (
        "Write a story with " + " and ".join(("an " if word[0] in "aeiou" else "a ") + word for word in words) + ".\n"
    )


def named(words: Sequence[str], story: str) -> float:
    """The share of the words that a story names."""
    return sum(times(word, story) > 0 for word in words) / len(words)


def times(word: str, story: str) -> int:
    """How many times a story says a word."""
    return len(re.findall(rf"\b{word}\b", story))


def draw_words(count: int, seed: int) -> list[list[str]]:
    """For `count` requests one word, for as many two."""
    chance = random.Random(seed)
    return [chance.sample(NOUNS, size) for size in (1, 2) for _ in range(count)]


def own_stories(model: LanguageModel, count: int, seed: int = 0) -> list[Example]:
    """Of `count` stories that the model tells unasked those that name a noun, cut after their last whole sentence."""
    chance, found = random.Random(seed), []
    for start in range(0, count, 256):
        for story in model.write_all([""] * min(256, count - start), STEPS, seed + start, temperature=0.9, top_p=0.9):
            ends = [end.end() for end in re.finditer(r'[.!?]"?(?=\s|$)', story) if end.end() > 60]
            text = story[: ends[-1]].replace("\n", " ") if ends else ""
            nouns = [noun for noun in NOUNS if named([noun], text)]
            if nouns:
                found.append((chance.sample(nouns, min(2, len(nouns))), text))
    return found


def write_answers(model: LanguageModel, asked: Sequence[Sequence[str]], seed: int) -> list[str]:
    """An answer, drawn, to each request."""
    lines = [request(words) for words in asked]
    written = model.write_all(lines, STEPS, seed, temperature=1.0)
    return [text[len(line) :] for line, text in zip(lines, written, strict=True)]


def as_rows(tokenizer: Tokenizer, examples: Sequence[Example]) -> tuple[Tensor, Tensor]:
    """Requests with their answers: ids (batch, seq), filled up on the right, and where each answer begins (batch,).

    An answer as long as can be is not at its end: only a shorter one gets the end token.
    """
    rows, starts = [], []
    for words, story in examples:
        asked, answer = [tokenizer.bos_id, *tokenizer.encode(request(words))], tokenizer.encode(story)[:STEPS]
        starts.append(len(asked))
        rows.append(asked + answer + [tokenizer.eos_id] * (len(answer) < STEPS))
    return pad_sequences(rows, tokenizer.pad_id), torch.tensor(starts)


def answer_log_probs(model: nn.Module, ids: Tensor, starts: Tensor, pad_id: int) -> tuple[Tensor, Tensor]:
    """log p of each token but the first (batch, seq − 1), zero outside of the answers; and which are counted."""
    log_p = -F.cross_entropy(model(ids[:, :-1]).mT, ids[:, 1:], reduction="none")
    places = torch.arange(1, ids.shape[1], device=ids.device)
    counted = (places >= starts[:, None]) & (ids[:, 1:] != pad_id)
    return log_p * counted, counted


class LowRank(nn.Module):
    """W + (α / rank) · B A, of which only A and B are learned; B starts at zero (Hu et al., 2022)."""

    def __init__(self, weight: Tensor, rank: int, alpha: float) -> None:
        super().__init__()
        self.a = nn.Parameter(torch.randn(rank, weight.shape[1], device=weight.device) / weight.shape[1] ** 0.5)
        self.b = nn.Parameter(torch.zeros(weight.shape[0], rank, device=weight.device))
        self.scale = alpha / rank

    def forward(self, weight: Tensor) -> Tensor:
        """The matrix that the model multiplies with."""
        return weight + self.scale * self.b @ self.a


def adapt(model: nn.Module, rank: int, alpha: float = 16.0) -> nn.Module:
    """Freeze a model, and give each of its linear layers but the last, which is its table, a low-rank change."""
    model.requires_grad_(False)
    for name, part in model.named_modules():
        if isinstance(part, nn.Linear) and not name.startswith("projection"):
            parametrize.register_parametrization(part, "weight", LowRank(part.weight, rank, alpha))
    return model


def tune(
    model: nn.Module, tokenizer: Tokenizer, examples: Sequence[Example], steps: int, rate: float, seed: int
) -> None:
    """Train on the answers of 16 examples a step; the rate falls to zero in a straight line."""
    chance, learned = random.Random(seed), [one for one in model.parameters() if one.requires_grad]
    optimizer = torch.optim.AdamW(learned, lr=rate, weight_decay=0.0)
    falling = torch.optim.lr_scheduler.LinearLR(optimizer, 1.0, 0.0, steps)
    for _ in range(steps):
        ids, starts = as_rows(tokenizer, chance.sample(list(examples), 16))
        log_p, counted = answer_log_probs(model, ids, starts, tokenizer.pad_id)
        take_step(optimizer, -log_p.sum() / counted.sum())
        falling.step()


def take_step(optimizer: torch.optim.Optimizer, loss: Tensor) -> None:
    """Go one step down the loss, with gradients of length one at most."""
    optimizer.zero_grad()
    loss.backward()
    nn.utils.clip_grad_norm_(optimizer.param_groups[0]["params"], 1.0)
    optimizer.step()
