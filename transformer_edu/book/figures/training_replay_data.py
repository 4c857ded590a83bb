"""What a training replay shows: runs of one model, seen at the same moments."""

import base64
from collections.abc import Mapping
from typing import Any

import torch

from transformer_edu.book.figures.inputs import check_recording

KEYS = ("seed", "source_tokens", "target_tokens", "alignment", "vocabulary", "smoothing", "held_out_sentences", "every",
        "moments", "maps", "heads", "runs")  # fmt: skip
SCALE = 255  # the byte that stands for a weight of 1

Table = list[list[float]]


def check_replay(given: Any) -> dict[str, Any]:
    """A recording with all that the figure needs, or such a recording's data."""
    data = given.get("data", given) if isinstance(given, Mapping) else given
    return check_recording("replay", data, KEYS, "record_replay")


def weights_at(data: Mapping[str, Any], run: int, moment: int, layer: int, head: int) -> Table:
    """Cross-attention weights (target tokens, source tokens) of one head, to 1/255."""
    stored = base64.b64decode(data["runs"][run]["moments"][moment]["weights"])
    shape = (len(data["maps"]), data["heads"], len(data["target_tokens"]), len(data["source_tokens"]))
    weights = torch.frombuffer(bytearray(stored), dtype=torch.uint8).view(shape)[layer, head]
    table: Table = weights.double().div(SCALE).tolist()
    return table


def best_head(data: Mapping[str, Any], run: int, layer: int) -> int:
    """The head that at the end of a run looks most where the alignment of the two sentences points."""
    last = len(data["moments"]) - 1
    found = [weights_at(data, run, last, layer, head) for head in range(data["heads"])]
    return max(range(data["heads"]), key=lambda head: sum(found[head][j][i] for i, j in data["alignment"]))


def turning_point(data: Mapping[str, Any], run: int) -> int:
    """The last moment before the run first writes the right sentence; its last moment if it never does."""
    right = [moment["written"] == data["target_tokens"] for moment in data["runs"][run]["moments"]]
    return max(right.index(True) - 1, 0) if any(right) else len(right) - 1
