"""What each family learns of one text, and ViT of images, over five seeds (chapter 18)."""

from collections.abc import Sequence
from typing import Any

from transformer_edu.book.experiments import experiment
from transformer_edu.book.experiments.families import Trained, train_bert, train_gpt, train_t5, train_vit

SEEDS = (0, 1, 2, 3, 4)


def _row(seed: int, trained: Trained) -> dict[str, Any]:
    parameters = sum(parameter.numel() for parameter in trained.model.parameters())
    measured = {name: round(value, 4) for name, value in trained.measured.items()}
    return {"seed": seed, "parameters": parameters, "steps": len(trained.losses), **measured}


@experiment("families")
def record_families(seeds: Sequence[int] = SEEDS, **steps: Any) -> dict[str, Any]:
    """Each family, and ViT without its positions too, as the chapter trains them. About six minutes of one thread."""
    return {
        "gpt": [_row(seed, train_gpt(seed, **steps)) for seed in seeds],
        "bert": [_row(seed, train_bert(seed, **steps)) for seed in seeds],
        "t5": [_row(seed, train_t5(seed, **steps)) for seed in seeds],
        "vit": [_row(seed, train_vit(seed, **steps)) for seed in seeds],
        "bag_of_patches": [_row(seed, train_vit(seed, positions=False, **steps)) for seed in seeds],
    }
