"""What a language model loses when its weights are rounded: by bits, and by how many share a step (chapter 20)."""

from copy import deepcopy
from dataclasses import replace
from pathlib import Path
from typing import Any

from torch import Tensor, nn

from transformer_edu import pretrained
from transformer_edu.book.experiments import experiment
from transformer_edu.language.task import read_texts

FOLDER = Path("tinystories")
GROUPS = {"matrix": None, "row": -1, "32 numbers": 32}


def rounded(weight: Tensor, bits: int, group: int) -> Tensor:
    """Each `group` of neighbours in whole steps, as large as makes its largest number 2^(bits - 1) - 1 of them."""
    rows = weight.reshape(-1, group)
    step = rows.abs().amax(dim=1, keepdim=True) / (2 ** (bits - 1) - 1)
    return ((rows / step).round() * step).reshape(weight.shape)


def with_rounded(model: nn.Module, bits: int, group: int | None) -> nn.Module:
    """A copy whose matrices are rounded; group -1: a row each, None: a matrix each. Vectors stay as they are."""
    copy = deepcopy(model)
    for weight in copy.parameters():
        if weight.dim() > 1:
            size = weight.numel() if group is None else weight.shape[1] if group < 0 else group
            weight.data = rounded(weight.data, bits, size)
    return copy


@experiment("rounding")
def record_rounding(
    folder: Path = FOLDER, bits: tuple[int, ...] = (8, 6, 5, 4, 3, 2), count: int = 400
) -> dict[str, Any]:
    """Bits per byte of the validation stories, by the shipped model with rounded weights. Reads `tinystories/`."""
    stories = pretrained.load_stories()
    texts = read_texts([str(folder / "valid.txt.gz")])[:count]
    whole = stories.model

    def score(model: Any) -> float:
        return round(replace(stories, model=model).bits_per_byte(texts), 4)

    return {
        "stories": len(texts),
        "float32": score(whole),
        "bfloat16": score(deepcopy(whole).bfloat16().float()),
        "rows": [
            {"bits": n, "group": name, "bits_per_byte": score(with_rounded(whole, n, group))}
            for n in bits
            for name, group in GROUPS.items()
        ],
    }
