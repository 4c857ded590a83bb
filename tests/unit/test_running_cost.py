"""The running cost as a Python object: pairs as masks have them, operations as PyTorch counts them."""

import pytest
import torch
from torch.utils.flop_counter import FlopCounterMode

from transformer_edu.book.figures import RunningCost
from transformer_edu.book.figures.running_cost import MODELS, TASKS, fetched, models, operations, pairs
from transformer_edu.models import GPT, GPTConfig
from transformer_edu.parts import window_mask

EXAMPLE = {"model": "gemma", "machine": "core", "task": "read", "bits": 4, "tokens": 4096, "texts": 8}
BAD = [
    (ValueError, "model must be", {"model": "deepseek"}),
    (ValueError, "machine must be", {"machine": "laptop"}),
    (ValueError, "task must be", {"task": "train"}),
    (ValueError, "bits must be", {"bits": 2}),
    (ValueError, "tokens must be", {"tokens": 1000}),
    (ValueError, "texts must be", {"texts": 256}),
]
SAYS = [
    (
        {},
        "Llama 3, 8B (2024) with weights of 16 bits on H200 (data sheet): to write one token, for 1 × 8,192 tokens, "
        "17.1 GB are fetched in 3.56 ms, and 20 billion operations take 0.02 ms.",
    ),
    ({"task": "read"}, "148,666 billion operations take 150.32 ms."),
]
SCENES = {
    "writing waits for the memory, reading for the multiplications": [
        "Llama 3, 8B writes 280 tokens a second at most, waiting for memory",
        "20.3 billion operations, 1.2 for each byte … its multipliers could do the step in 1 % of the time",
        "in memory17.07 GB of 141 … fetching3.56 ms",
        "> radio read the text",
        "reads 54,000 tokens a second at most, waiting for multiplications",
        "multiplying150 ms was 20.5 µs",
        "its memory could do the step in 2 % of the time",
    ],
    "more texts, another model, more than there is room for": [
        "> slider texts at once = 4",
        "writes 2,300 tokens a second at most",
        "6.91 ms was 3.56 ms",
        "> combobox model = OLMo 2, 7B (2024); slider tokens = 17",
        "OLMo 2, 7B: more than this machine has room for",
    ],
    "questions are answered by looking": [
        "> radio 8",
        "530 tokens a second at most … Yes. Half the bits are half the bytes.",
        "> button Another question; radio 16; slider tokens = 17",
        "Yes. Weights are shared by all texts",
        "> button Another question; combobox on = one CPU core (measured); slider tokens = 10",
        "> slider texts at once = 4",
        "Yes. A few texts at once keep a core busy",
    ],
}


def numbers():
    """Pairs, operations and bytes of each model, reading and writing."""
    figure = RunningCost()
    rows = [
        [name, tokens, task, pairs(one, tokens, task), *operations(one, tokens, 4, task), *fetched(one, tokens, 4, 8)]
        for name, one in models().items()
        for tokens in (1024, 131_072)
        for task in TASKS
    ]
    return {"rows": rows, "models": figure.models, "machines": figure.machines}


@pytest.mark.parametrize("task", TASKS)
@pytest.mark.parametrize("tokens", [5, 12])
def test_pairs_are_those_of_the_masks(tokens, task):
    model = {"layers": 5, "near": 3, "window": 7}
    every, near = torch.ones(tokens, tokens).tril(), window_mask(tokens, 7)
    seen = slice(tokens - 1, None) if task == "write" else slice(None)
    assert pairs(model, tokens, task) == 2 * every[seen].sum() + 3 * near[seen].sum()


def test_operations_are_those_that_pytorch_counts():
    config = GPTConfig(vocab_size=50, d_model=32, num_heads=4, d_ff=64, num_layers=3, dropout=0.0)
    with torch.device("meta"):
        model, ids = GPT(config), torch.zeros(2, 24, dtype=torch.long)
    cache = model.start_cache()
    with torch.no_grad(), FlopCounterMode(display=False) as reading:
        model(ids, cache)
    with torch.no_grad(), FlopCounterMode(display=False) as writing:
        model(ids[:, :1], cache)
    multiplied = sum(w.numel() for name, w in model.named_parameters() if w.dim() > 1 and "positional" not in name)
    sizes = {"layers": 3, "near": 0, "window": 0, "heads": 4, "d_head": 8, "millions": multiplied / 1e6}
    assert writing.get_total_flops() == sum(operations(sizes, 25, 2, "write"))
    weights, seen = operations(sizes, 24, 2, "read")
    assert reading.get_total_flops() == weights + seen * 24 * 24 / (24 * 25 / 2)  # PyTorch counts hidden pairs, too


@pytest.mark.parametrize("name", MODELS)
def test_what_is_fetched_is_weights_and_cache(name):
    one = models()[name]
    weights, own = fetched(one, 1024, 4, 4)
    assert weights == one["millions"] * 1e6 / 2
    assert own == 4 * 1024 * one["layers"] * one["kept"] * 2
