"""Where one core's time goes: fetching weights against multiplying, attention in two ways, 16 bits, compiling.

Of each time the median over rounds in which all take turns: a machine that is busy is busy for all (chapter 20).
"""

import statistics
import time
from collections.abc import Callable, Hashable, Mapping, Sequence
from functools import partial
from typing import Any

import torch
import torch.nn.functional as F

from transformer_edu.attention import scaled_dot_product_attention
from transformer_edu.book.experiments import experiment
from transformer_edu.models import GPT, GPTConfig
from transformer_edu.models.gpt import build_gpt

SMALL = GPTConfig(vocab_size=2048, d_model=256, num_heads=4, d_ff=1024, num_layers=4, dropout=0.0, max_len=256)


def in_turns(tasks: Mapping[Hashable, Callable[[], Any]], rounds: int) -> dict[Any, float]:
    """Median seconds of each, after one round that only warms up."""
    taken: dict[Hashable, list[float]] = {name: [] for name in tasks}
    for at in range(rounds + 1):
        for name, task in tasks.items():
            began = time.perf_counter()
            task()
            if at:
                taken[name].append(time.perf_counter() - began)
    return {name: statistics.median(times) for name, times in taken.items()}


def one_step(model: GPT, ids: torch.Tensor, half: bool = False) -> None:
    """Forward and back, with `half` the products of 16-bit numbers."""
    with torch.autocast(ids.device.type, torch.bfloat16, enabled=half):
        logits = model(ids[:, :-1])
    F.cross_entropy(logits.float().flatten(0, 1), ids[:, 1:].flatten()).backward()


@torch.no_grad()
def attend(fused: bool, x: torch.Tensor) -> None:
    """Attention of x to itself under the causal mask: its table written out, or a block at a time."""
    if fused:
        F.scaled_dot_product_attention(x, x, x, is_causal=True)
    else:
        scaled_dot_product_attention(x, x, x, torch.ones(x.shape[-2], x.shape[-2], dtype=torch.bool).tril())


@torch.no_grad()
def multiply_twice(x: torch.Tensor, weights: torch.Tensor) -> None:
    """The two products of attention, and nothing between them."""
    x @ x.mT
    weights @ x


@experiment("running-costs")
def record_running_costs(
    width: int = 4096,
    rows: Sequence[int] = (1, 2, 4, 8, 16, 32, 64, 128, 256, 512),
    lengths: Sequence[int] = (256, 512, 1024, 2048, 4096),
    steps: Sequence[str] = ("float32", "bfloat16", "compiled"),
    rounds: int = 9,
) -> dict[str, Any]:
    """Seconds of matrix products, of attention and of training steps on one core. Three minutes; a C compiler.

    Returns:
        "width" of the square matrix (float32), the seconds in which its numbers are "summed", and "rows" that it is
        multiplied with, with their "seconds"; from these "fetched", bytes a second, and "multiplied", operations a
        second, the best of all; "attention" of eight heads of 64 by "length": "written" out, its "products" alone,
        and "fused"; "steps", seconds of a training step in each way.
    """
    torch.manual_seed(0)
    weight = torch.randn(width, width)
    tasks: dict[Hashable, Callable[[], Any]] = {n: partial(torch.mm, torch.randn(n, width), weight.T) for n in rows}
    products = in_turns(tasks | {"summed": weight.sum}, rounds)
    summed = products.pop("summed")
    attention = []
    for length in lengths:
        x = torch.randn(1, 8, length, 64)
        ways: dict[Hashable, Callable[[], Any]] = {
            "written": partial(attend, False, x),
            "products": partial(multiply_twice, x, torch.rand(1, 8, length, length)),
            "fused": partial(attend, True, x),
        }
        attention.append({"length": length} | in_turns(ways, rounds))
    ids = torch.randint(SMALL.vocab_size, (8, 129))
    trained: dict[Hashable, Callable[[], Any]] = {}
    for name in steps:
        model: Any = build_gpt(SMALL)
        model = torch.compile(model) if name == "compiled" else model
        trained[name] = partial(one_step, model, ids, name == "bfloat16")
    return {
        "width": width,
        "summed": summed,
        "rows": [{"rows": n, "seconds": seconds} for n, seconds in products.items()],
        "fetched": round(max(4 * width**2 / seconds for seconds in products.values())),
        "multiplied": round(max(2 * n * width**2 / seconds for n, seconds in products.items())),
        "attention": attention,
        "steps": [{"way": name, "seconds": seconds} for name, seconds in in_turns(trained, rounds).items()],
    }
