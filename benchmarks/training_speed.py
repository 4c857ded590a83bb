"""Seconds and memory of one training step: the book's model, torch.nn.Transformer's and Hugging Face's Marian.

Identical shapes, batches, float32, dropout, tying, loss and optimizer; `shared/contenders.py` says what differs.
The loss is the same number for all. The others get it from `torch.nn.functional.cross_entropy`; "ours" is what our
training command runs, projection and loss in one, and "ours, PyTorch's loss" stands beside it.

On AMD processors with AVX-512 our training command lets oneDNN compute products (`quick_products` in
transformer_edu/fast/process.py), by the setting "medium": one case has it, for everyone.
"""

import argparse
from dataclasses import dataclass
from functools import partial
from typing import Any

import torch
import torch.nn.functional as F
from shared.batches import Batch, random_batch
from shared.contenders import NAMES, PAD, Shape, build, trainable
from shared.measure import alternate, growth_bytes, in_new_process, ratios
from shared.report import arguments, save, table
from torch import Tensor, nn

from transformer_edu import fast
from transformer_edu.fast.process import product_precision
from transformer_edu.training.loss import SummedLoss

SMOOTHING = 0.1
TRAINEES = ("ours", *(name for name in NAMES if name != "ours"), "ours, PyTorch's loss")


@dataclass(frozen=True)
class Case:
    """One comparison: a shape, a batch, and how often to measure it."""

    shape: Shape
    sentences: int = 32
    longest: int = 32
    rounds: int = 11
    precision: str = "highest"  # of products of float32 matrices, PyTorch's default

    def batch(self) -> Batch:
        """The batch that all contenders get."""
        return random_batch(self.sentences, self.longest, self.shape.vocab_size)


CASES = {
    "d=256/3+3": Case(Shape(256, 3)),
    "d=512/6+6": Case(Shape(512, 6), rounds=5),
    "d=256/3+3, medium precision": Case(Shape(256, 3), precision="medium"),
}
QUICK = {"d=32/1+1": Case(Shape(32, 1, vocab_size=50, max_len=32), sentences=4, longest=8, rounds=1)}


class Trainee:
    """A contender with its optimizer, ready to be timed in two parts."""

    def __init__(self, name: str, case: Case) -> None:
        self.model: nn.Module = build(name.partition(",")[0], case.shape).train()
        self.batch = case.batch()
        self.summed_loss = fast.switch_on(SummedLoss(self.model, SMOOTHING)) if name == "ours" else None
        self.optimizer = torch.optim.Adam(self.model.parameters(), lr=1e-4, betas=(0.9, 0.98), eps=1e-9, fused=True)

    def forward_backward(self) -> None:
        """Loss and gradients."""
        self.optimizer.zero_grad()
        self.loss().backward()

    def loss(self) -> Tensor:
        """The mean over all target tokens that are not padding."""
        source, target_in, target_out = self.batch.source, self.batch.target_in, self.batch.target_out
        if self.summed_loss is not None:
            return self.summed_loss(source, target_in, target_out) / self.batch.tokens
        logits = self.model(source, target_in).flatten(0, 1)
        return F.cross_entropy(logits, target_out.flatten(), ignore_index=PAD, label_smoothing=SMOOTHING)

    def step(self) -> None:
        """The update of the weights."""
        self.optimizer.step()


def measure_speed(case: Case) -> dict[str, Any]:
    """Median seconds of both parts for each contender, target tokens a second, and how many times as fast we are."""
    trainees = {name: Trainee(name, case) for name in TRAINEES}
    tasks = {}
    for name, trainee in trainees.items():
        tasks[f"{name} forward+backward"] = trainee.forward_backward
        tasks[f"{name} optimizer"] = trainee.step
    with product_precision(case.precision):
        seconds = alternate(tasks, case.rounds, warm_up=2)
    forward_backward = {name: seconds[f"{name} forward+backward"] for name in TRAINEES}
    optimizer = {name: seconds[f"{name} optimizer"] for name in TRAINEES}
    whole = {name: forward_backward[name] + optimizer[name] for name in TRAINEES}
    tokens = case.batch().tokens
    return {
        "target_tokens": tokens,
        "product_precision": case.precision,
        "parameters": {name: trainable(trainee.model) for name, trainee in trainees.items()},
        "forward_backward_seconds": forward_backward,
        "optimizer_seconds": optimizer,
        "tokens_per_second": {name: round(tokens / whole[name]) for name in TRAINEES},
        "times_as_fast_forward_backward": ratios(forward_backward),
        "times_as_fast_optimizer": ratios(optimizer),
        "times_as_fast": ratios(whole),
    }


def measure_memory(name: str, case: Case, steps: int = 3) -> int:
    """Bytes by which building and training a contender makes this process grow."""

    def train(case: Case) -> None:
        trainee = Trainee(name, case)
        for _ in range(steps):
            trainee.forward_backward()
            trainee.step()

    train(QUICK["d=32/1+1"])  # what a library needs once, for itself
    return growth_bytes(partial(train, case))


def peak_memory(name: str, title: str, case: Case) -> int:
    """Bytes by which building and training a contender makes a new process grow; in a trial, this process."""
    return measure_memory(name, case) if title in QUICK else int(in_new_process(__file__, "--memory", name, title))


def show(title: str, results: dict[str, Any]) -> None:
    """One row for each contender."""
    rows = [
        [
            name,
            results["parameters"][name],
            1000 * results["forward_backward_seconds"][name],
            1000 * results["optimizer_seconds"][name],
            results["tokens_per_second"][name],
            results["peak_memory_bytes"][name] / 1e6,
            results["times_as_fast"].get(name, 1.0),
        ]
        for name in TRAINEES
    ]
    columns = ["", "parameters", "fwd+bwd ms", "optimizer ms", "tokens/s", "peak MB", "ours is x times as fast"]
    table(f"Training, {title}, {results['target_tokens']:,} target tokens a batch", columns, rows)


def main() -> None:
    """Measure every case; a process of its own for each measurement of memory."""
    parser = arguments(__doc__)
    parser.add_argument("--memory", nargs=2, metavar=("NAME", "CASE"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    cases = QUICK if options.quick else CASES
    if options.memory:
        name, title = options.memory
        print(measure_memory(name, CASES[title]))
        return
    results = {}
    for title, case in cases.items():
        memory = {name: peak_memory(name, title, case) for name in TRAINEES}
        results[title] = {**measure_speed(case), "peak_memory_bytes": memory}
        show(title, results[title])
    save("training_speed", {"dtype": "float32", "cases": results}, options)


if __name__ == "__main__":
    main()
