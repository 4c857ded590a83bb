"""The block's years as a Python object: choices that the experiment has, and differences as torch finds them."""

import pytest
import torch

from transformer_edu.book import recordings
from transformer_edu.book.experiments import modern_block as mb
from transformer_edu.book.figures import BlockYears
from transformer_edu.book.figures.block_years import CHANGES, NAMES, ROWS, SIZES, cache, models

EXAMPLE = {"model": "gemma", "row": 4, "tokens": 4096, "texts": 8}
BAD = [
    (ValueError, "model must be", {"model": "bert"}),
    (ValueError, "row must be from 0 to 8, got 9", {"row": 9}),
    (ValueError, "tokens must be", {"tokens": 1000}),
    (ValueError, "texts must be", {"texts": 256}),
]
SAYS = [
    (
        {},
        "Llama 3, 8B (2024), in nine rows. Different: norm, place of the norm, positions, heads of keys, feed-forward, "
        "biases. The same: a token sees, norm of queries, keys, attention weights. Cache of 1 × 131,072 tokens: "
        "17.18 GB, with the paper's block 68.72 GB.",
    ),
    ({"model": "paper"}, "Different: none."),
]
SCENES = {
    "what a change was worth, in both directions": [
        "Llama 3, 8B: 6 of 9 rows changed, 25 % of the cache kept",
        "positions: Nothing is added to words: queries and keys are turned by their position.",
        "put into the paper’s block −0.146 ± 0.014, taken from today’s +0.122 ± 0.014.",
        "cache a token, bytes524,288 131,072",
        "> radio norm: layer norm in the paper",
        "put into the paper’s block +0.004 ± 0.017, taken from today’s −0.005 ± 0.004.",
        "> key ArrowUp",
        "biases: Linear maps only multiply, and nothing is added.",
        "> key ArrowUp; key ArrowUp",
        "attention weights: as in the paper, softmax.",
        "~ as in the paper",
    ],
    "another model, and what was there before": [
        {"row": 3},
        "two of four heads sharing: put into the paper’s block +0.026",
        "> combobox model = DeepSeek-V3 (2024)",
        "DeepSeek-V3: 7 of 9 rows changed, 4.0 % of the cache kept",
        "1,748,992 was 524,28870,272 was 131,072",
        "with a latent of 48 numbers: put into the paper’s block +0.032 ± 0.015, put into today’s +0.062 ± 0.011.",
        "> radio norm of queries, keys",
        "Not measured here.",
        "! was 131,072",
    ],
    "questions are answered by looking": [
        "> combobox model = OLMo 2, 7B (2024)",
        "all of the cache kept … Yes. Each head has its own keys",
        "> button Another question; combobox model = Mistral, 7B (2023)",
        "0.8 % of the cache kept … 0.54 GB … Yes. Windows in all layers",
        "> slider tokens = 12; slider texts = 3",
        "25 % of the cache kept … 4.29 GB",
        "> button Another question; radio biases",
        "Yes. Biases: five seeds cannot tell it from chance.",
    ],
    "the paper's own": [{"model": "paper"}, "The block that all others began from", "213 M"],
}


def numbers():
    """Models, rows; differences and their spreads by torch; caches in bytes."""
    variants = recordings.load("modern-block")["data"]["variants"]
    losses = {
        (variant["base"], variant["field"], variant["value"]): torch.tensor(
            [run["loss"] for run in variant["runs"]], dtype=torch.float64
        )
        for variant in variants
    }
    gaps = {key: loss - losses[key[0], "", None] for key, loss in losses.items() if key[1]}
    found = [[*key, gap.mean().item(), gap.std().item()] for key, gap in gaps.items()]
    caches = [[name, n, cache(model, n, 1)] for name, model in models().items() for n in (1024, 131_072)]
    figure = BlockYears()
    return {
        "differences": found, "caches": caches, "rows": figure.rows, "models": figure.models,
        "measured": figure.measured,
    }  # fmt: skip


def test_the_paper_and_today_are_those_of_the_experiment():
    assert {field: value for field, (_, value) in ROWS.items()} == {field: getattr(mb.PAPER, field) for field in ROWS}
    assert set(ROWS) == set(mb.CHOICES)
    qwen = models()["qwen"]["choices"]
    assert qwen == {field: getattr(mb.TODAY, field) for field in ROWS}


@pytest.mark.parametrize("name", NAMES)
def test_every_choice_was_measured_but_one(name):
    for field, value in CHANGES[name].items():
        assert (
            value in mb.CHOICES[field][1:]
            or (name, field) == ("deepseek", "query_key_norm")
            or field in ("keys", "biases")
        )


@pytest.mark.parametrize("name", ["gpt2", "llama", "mistral", "olmo", "qwen"])
def test_published_parameters_fit_the_sizes(name):
    layers, d_model, d_head, heads, shared, d_ff, vocab, _, _, millions = SIZES[name]
    part = (2 if name == "gpt2" else 3) * d_ff * d_model
    total = layers * (2 * d_model * d_head * (heads + shared) + part) + (1 if name == "gpt2" else 2) * vocab * d_model
    assert total / 1e6 == pytest.approx(millions, rel=0.01)
