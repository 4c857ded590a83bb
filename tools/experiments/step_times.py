"""How long does one training step take, against the length of the sequence? (chapter 2)"""

import time
from collections.abc import Sequence
from statistics import median
from typing import Any

import torch
import torch.nn.functional as F
from torch import nn

from transformer_edu.book.experiments import experiment
from transformer_edu.book.experiments.long_range import CONTENDERS, new_contender, sequences
from transformer_edu.support.threads import one_thread
from transformer_edu.support.validation import check_positive_integer

LENGTHS = (16, 32, 64, 128, 256, 512, 1024)  # tokens
BATCH_SIZE = 8


def step_seconds(model: nn.Module, length: int, batch_size: int = BATCH_SIZE, repeats: int = 7) -> float:
    """Median processor seconds of one forward and backward pass on one thread, after one pass to warm up.

    Processor time, not time on the wall: other programs on the machine count for less.

    Args:
        model: ids (batch, seq) -> logits (batch, vocab), such as a contender of `long_range`.
        length: tokens in a sequence, at least 2.
        batch_size: sequences in a batch.
        repeats: passes that are timed.
    """
    check_positive_integer("length", length, minimum=2)
    check_positive_integer("repeats", repeats)
    ids, answer = sequences(batch_size, length - 1, torch.Generator().manual_seed(0))
    taken = []
    with one_thread():
        for _ in range(repeats + 1):
            start = time.process_time()
            F.cross_entropy(model(ids), answer).backward()
            taken.append(time.process_time() - start)
    model.zero_grad()
    return median(taken[1:])


@experiment("step-times")
def record_step_times(lengths: Sequence[int] = LENGTHS) -> dict[str, Any]:
    """Milliseconds of one step for every contender at every length."""
    times = [
        {"model": name, "length": length, "milliseconds": round(1000 * step_seconds(new_contender(name), length), 3)}
        for name in CONTENDERS
        for length in lengths
    ]
    return {"batch_size": BATCH_SIZE, "times": times}
