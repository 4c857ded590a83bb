"""The end of a language model's run: its weights, and how well they know the validation text, with an interval."""

import math
from typing import Any

import torch

from transformer_edu.language.model import nats_of
from transformer_edu.language.task import LanguageTask
from transformer_edu.runs.finish import finish
from transformer_edu.runs.trainer import Trainer

DRAWS = 2_000  # of the validation texts, with replacement (bootstrap)


def export(trainer: Trainer, task: LanguageTask, half: bool = False) -> dict[str, Any]:
    """Choose the weights, measure them, write the model; return its card (see `finish`)."""

    def facts() -> dict[str, Any]:
        sizes = [len(text.encode()) for text in task.valid]
        nats, tokens = nats_of(trainer.model, task.tokenizer, task.valid, task.settings)
        return {
            "training": {"texts": len(task.train)},
            "bits_per_byte": bits_with_interval(nats, torch.tensor(sizes, dtype=torch.float64)),
            "validation": {"texts": len(sizes), "bytes": sum(sizes), "tokens": sum(tokens)},
        }

    return finish(trainer, half, facts)


def bits_with_interval(nats: torch.Tensor, sizes: torch.Tensor) -> dict[str, Any]:
    """Bits per byte of texts with these nats and bytes, both (texts,); 95 % of draws of as many texts lie between."""
    chosen = torch.randint(len(nats), (DRAWS, len(nats)), generator=torch.Generator().manual_seed(0))
    drawn = nats[chosen].sum(dim=1) / sizes[chosen].sum(dim=1) / math.log(2)
    low, high = drawn.quantile(torch.tensor([0.025, 0.975], dtype=drawn.dtype)).tolist()
    whole = nats.sum().item() / sizes.sum().item() / math.log(2)
    return {"value": round(whole, 4), "interval": [round(low, 4), round(high, 4)]}
