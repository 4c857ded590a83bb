"""Which weights are made smaller in each step: matrices, and neither biases nor gains."""

from typing import Any

from torch import nn


def decay_groups(model: nn.Module, weight_decay: float) -> list[dict[str, Any]]:
    """The two groups that `torch.optim.AdamW` takes: parameters of two and more dimensions decay, others do not."""
    return [
        {"params": [p for p in model.parameters() if p.dim() > 1], "weight_decay": weight_decay},
        {"params": [p for p in model.parameters() if p.dim() < 2], "weight_decay": 0.0},
    ]
