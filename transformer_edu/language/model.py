"""A trained language model with its tokenizer: a beginning in, its continuation out; and how well it knows a text."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from transformer_edu import fast
from transformer_edu.data.batching import pad_sequences
from transformer_edu.data.tokenizer import Tokenizer
from transformer_edu.decoding.continuation import continue_text
from transformer_edu.decoding.sampling import sampling_probabilities
from transformer_edu.models.gpt import GPT
from transformer_edu.runs.settings import RunSettings
from transformer_edu.runs.steps import autocast
from transformer_edu.saving.finished import load_finished
from transformer_edu.support.device import device_of
from transformer_edu.support.modes import evaluation_mode
from transformer_edu.support.seeds import seeded
from transformer_edu.support.text import check_texts
from transformer_edu.support.validation import check_positive_integer

ROWS = 16  # pieces of text that are measured together


@dataclass(frozen=True)
class LanguageModel:
    """A GPT in evaluation mode, the tokenizer it was trained with, and how it came about."""

    model: GPT
    tokenizer: Tokenizer
    card: dict[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.model.config.vocab_size != len(self.tokenizer):
            raise ValueError(
                f"tokenizer must be that of the model, whose vocabulary has {self.model.config.vocab_size} tokens, "
                f"got {len(self.tokenizer)}"
            )

    def prompt(self, text: str) -> list[int]:
        """The ids of a beginning, after the begin token."""
        return [self.tokenizer.bos_id, *self.tokenizer.encode(text)]

    def write(self, text: str, steps: int = 60, seed: int = 0, **choice: Any) -> str:
        """Go on from a beginning; see `write_all`."""
        return self.write_all([text], steps, seed, **choice)[0]

    def write_all(self, texts: Sequence[str], steps: int = 60, seed: int = 0, **choice: Any) -> list[str]:
        """Each beginning with at most `steps` tokens more; a story that ends sooner is shorter.

        Args:
            texts: beginnings, of any lengths; "" lets the model begin.
            steps: tokens to write.
            seed: of the draws.
            **choice: temperature, top_k, top_p, min_p (see `sampling_probabilities`); none: the most probable token.
        """
        check_positive_integer("steps", steps)
        check_texts(texts)
        if not texts:
            return []
        rows = [self.prompt(text) for text in texts]
        length = max(map(len, rows))
        device, t = device_of(self.model), self.tokenizer
        prompt = torch.tensor([[t.pad_id] * (length - len(row)) + row for row in rows], device=device)

        def choose(logits: Tensor) -> Tensor:
            logits[:, [t.pad_id, t.bos_id]] = -torch.inf
            if not choice:
                return logits.argmax(dim=-1)
            return torch.multinomial(sampling_probabilities(logits, **choice), 1)[:, 0]

        with seeded(seed, device):
            written = continue_text(self.model, prompt, steps, t.eos_id, choose)
        return [t.decode([i for i in row if i not in (t.pad_id, t.bos_id)]) for row in written.tolist()]

    def nats(self, text: str) -> list[tuple[str, float]]:
        """Each token of a text, the end token last, and how surprising it was: -log p, in nats."""
        ids = [*self.tokenizer.encode(text), self.tokenizer.eos_id]
        losses = _losses(self.model, [[self.tokenizer.bos_id, *ids]])
        return list(zip(map(self.tokenizer.id_to_token, ids), losses[0].tolist(), strict=True))

    def bits_per_byte(self, texts: Sequence[str]) -> float:
        """-log2 of the probability of all texts, divided by their bytes: comparable whatever the tokenizer."""
        nats, _ = nats_of(self.model, self.tokenizer, texts)
        return nats.sum().item() / math.log(2) / sum(len(text.encode()) for text in texts)


def nats_of(
    model: Any,
    tokenizer: Tokenizer,
    texts: Sequence[str],
    settings: RunSettings | None = None,
    device: torch.device | None = None,
) -> tuple[Tensor, list[int]]:
    """For each text -log of its probability, in nats (texts,) in float64; and how many tokens that is.

    A text longer than the model's context is measured in pieces, each of which begins anew.
    """
    size, pieces, owners = model.config.max_len, [], []
    for index, ids in enumerate(tokenizer.encode_batch(texts)):
        row = [tokenizer.bos_id, *ids, tokenizer.eos_id]
        for start in range(0, len(row) - 1, size):
            pieces.append(row[start : start + size + 1])
            owners.append(index)
    order = sorted(range(len(pieces)), key=lambda index: len(pieces[index]))
    nats = torch.zeros(len(texts), dtype=torch.float64)
    for at in range(0, len(order), ROWS):
        chosen = order[at : at + ROWS]
        for index, losses in zip(chosen, _losses(model, [pieces[i] for i in chosen], settings, device), strict=True):
            nats[owners[index]] += losses.double().sum()
    counts = [0] * len(texts)
    for piece, owner in zip(pieces, owners, strict=True):
        counts[owner] += len(piece) - 1
    return nats, counts


@torch.no_grad()
def _losses(
    model: Any,
    rows: Sequence[Sequence[int]],
    settings: RunSettings | None = None,
    device: torch.device | None = None,
) -> list[Tensor]:
    """For each row of ids, -log p of each of them but the first."""
    device = device or device_of(model)
    ids = pad_sequences(rows, model.config.pad_id).to(device)
    with evaluation_mode(model), autocast(settings, device):
        logits = model(ids[:, :-1]).float()
    losses = F.cross_entropy(logits.transpose(1, 2), ids[:, 1:], reduction="none").cpu()
    return [one[: len(row) - 1] for one, row in zip(losses, rows, strict=True)]


def load_language_model(folder: str | Path, device: torch.device | str = "cpu") -> LanguageModel:
    """What a run of `transformer-edu train-lm` wrote to its folder (see `load_finished`)."""
    model, tokenizer, card = load_finished(folder, GPT, device)
    return LanguageModel(fast.switch_on(model), tokenizer, card)
