"""How our training step grows with the length of the text, and how much of the machine it uses.

Time and peak memory against length for both attention paths (written out, and fused), the share of the measured
float32 matrix-product peak, bfloat16 beside float32, and on a GPU the same with and without `torch.compile`.
"""

import argparse
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from functools import partial
from typing import Any

import torch
import torch.nn.functional as F
from shared.batches import random_batch
from shared.contenders import PAD, Shape, build
from shared.measure import (
    alternate,
    fitted_exponent,
    growth_bytes,
    in_new_process,
    matrix_product_peaks,
    ratios,
)
from shared.report import arguments, save, table
from torch import Tensor, nn
from torch.utils.flop_counter import FlopCounterMode

from transformer_edu import record_attention
from transformer_edu.fast.process import product_precision

PATHS = ("written out", "fused")
Precision = Callable[[], AbstractContextManager[object]]


@dataclass(frozen=True)
class Case:
    """One sentence of growing length, and one batch as training sees it. No dropout: the fused kernel has none here."""

    shape: Shape
    lengths: tuple[int, ...] = (128, 256, 512, 1024, 2048)
    sentences: int = 32
    longest: int = 32
    product: int = 2048
    rounds: int = 5


FULL = Case(Shape(256, 3, dropout=0.0))
QUICK = Case(Shape(32, 1, vocab_size=50, dropout=0.0, max_len=64), (8, 16), 3, 6, product=64, rounds=1)


class Trainee:
    """Our model and one batch."""

    def __init__(self, shape: Shape, sentences: int, longest: int, device: str = "cpu") -> None:
        self.model: nn.Module = build("ours", shape).to(device).train()
        self.batch = random_batch(sentences, longest, shape.vocab_size).to(device)

    def forward(self) -> Tensor:
        """The loss."""
        logits = self.model(self.batch.source, self.batch.target_in)
        return F.cross_entropy(logits.flatten(0, 1).float(), self.batch.target_out.flatten(), ignore_index=PAD)

    def __call__(self, precision: Precision = nullcontext) -> None:
        """One forward and backward pass."""
        self.model.zero_grad()
        with precision():
            loss = self.forward()
        loss.backward()


def along(path: str, trainee: Trainee) -> None:
    """One pass on one of the two attention paths: recording takes the written-out one."""
    with record_attention(trainee.model) if path == "written out" else nullcontext():
        trainee()


def measure_memory(path: str, shape: Shape, length: int) -> int:
    """Bytes by which one pass makes this process grow, the model's weights and gradients not counted."""
    trainee = Trainee(shape, 1, length)
    small = Trainee(shape, 1, 8)
    small.model = trainee.model
    along(path, small)
    return growth_bytes(partial(along, path, trainee))


def peak_memory(path: str, case: Case, length: int) -> int:
    """Bytes by which one pass makes a new process grow, weights and gradients not counted; in a trial, this process."""
    if case is QUICK:
        return measure_memory(path, case.shape, length)
    return int(in_new_process(__file__, "--memory", path, str(length)))


def against_length(case: Case) -> dict[str, Any]:
    """Seconds, peak bytes and the fitted exponents of both paths."""
    seconds: dict[str, list[float]] = {path: [] for path in PATHS}
    memory: dict[str, list[int]] = {path: [] for path in PATHS}
    for length in case.lengths:
        trainee = Trainee(case.shape, 1, length)
        median = alternate({path: partial(along, path, trainee) for path in PATHS}, case.rounds)
        for path in PATHS:
            seconds[path].append(median[path])
            memory[path].append(peak_memory(path, case, length))
    return {
        path: {
            "lengths": case.lengths,
            "seconds": seconds[path],
            "peak_memory_bytes": memory[path],
            "exponent_of_seconds": round(fitted_exponent(case.lengths, seconds[path]), 3),
        }
        for path in PATHS
    }


def precisions(device: str) -> dict[str, Precision]:
    """Ways to compute, by name."""
    return {
        "float32": nullcontext,
        "float32, products in medium precision": partial(product_precision, "medium"),
        "bfloat16 autocast": partial(torch.autocast, device, torch.bfloat16),
    }


def in_each_precision(case: Case, device: str = "cpu", compiled: bool = False) -> dict[str, float]:
    """Median seconds of a pass over a training batch in each precision."""
    tasks = {}
    for name, precision in precisions(device).items():
        trainee = Trainee(case.shape, case.sentences, case.longest, device)
        if compiled:
            trainee.model = torch.compile(trainee.model)
        tasks[name] = partial(trainee, precision)
    return alternate(tasks, case.rounds, warm_up=2)


def operations(case: Case) -> int:
    """Floating-point operations of one pass, counted on tensors that have a shape and no numbers."""
    trainee = Trainee(case.shape, case.sentences, case.longest, "meta")
    with FlopCounterMode(display=False) as counter:
        along("written out", trainee)
    return counter.get_total_flops()


def share_of_peak(case: Case, seconds: float) -> dict[str, Any]:
    """What a training pass reaches of the rate of one large float32 product, taken the quickest way there is."""
    peaks, count = matrix_product_peaks(case.product), operations(case)
    return {
        "product_flops_per_second": peaks,
        "operations": count,
        "training_flops_per_second": count / seconds,
        "share": round(count / seconds / max(peaks.values()), 3),
    }


def on_gpu(case: Case) -> dict[str, Any]:
    """A GPU's name and its seconds for a batch, with and without `torch.compile`; nothing where there is none."""
    if not torch.cuda.is_available():
        return {}
    return {
        "name": torch.cuda.get_device_name(),
        "eager_seconds": in_each_precision(case, "cuda"),
        "compiled_seconds": in_each_precision(case, "cuda", compiled=True),
    }


def show(results: dict[str, Any]) -> None:
    """Tables of everything measured."""
    columns = ["", *map(str, results["against_length"]["fused"]["lengths"])]
    by_path = results["against_length"].items()
    rows = [[path, *entry["seconds"]] for path, entry in by_path]
    table("One sentence, forward+backward, seconds against tokens", columns, rows)
    rows = [[path, *(size / 1e6 for size in entry["peak_memory_bytes"])] for path, entry in by_path]
    table("The same, peak MB", columns, rows)
    for device in ("cpu", "gpu eager", "gpu compiled"):
        if device in results["precision_seconds"]:
            table(f"A training batch, seconds, {device}", ["", "s"], list(results["precision_seconds"][device].items()))
    peak = results["peak"]
    rows = [[name, rate / 1e9] for name, rate in peak["product_flops_per_second"].items()]
    rows += [["a training pass", peak["training_flops_per_second"] / 1e9]]
    table(f"float32, share of the quickest product: {peak['share']:.0%}", ["", "GFLOP/s"], rows)


def main() -> None:
    """Measure, show, save."""
    parser = arguments(__doc__)
    parser.add_argument("--memory", nargs=2, metavar=("PATH", "LENGTH"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    case = QUICK if options.quick else FULL
    if options.memory:
        print(measure_memory(options.memory[0], case.shape, int(options.memory[1])))
        return
    cpu, gpu = in_each_precision(case), on_gpu(case)
    precision = {"cpu": cpu}
    if gpu:
        precision |= {"gpu eager": gpu["eager_seconds"], "gpu compiled": gpu["compiled_seconds"]}
    results = {
        "shape": str(case.shape),
        "against_length": against_length(case),
        "precision_seconds": precision,
        "times_as_fast_as_float32": {name: round(1 / ratio, 3) for name, ratio in ratios(cpu, "float32").items()},
        "peak": share_of_peak(case, cpu["float32"]),
        "gpu": gpu.get("name"),
    }
    show(results)
    save("scaling", results, options)


if __name__ == "__main__":
    main()
