"""The path-length racer's Python side: path lengths and costs against brute force, and its alt text."""

import pytest
import torch
from torch import nn
from torch.utils.flop_counter import FlopCounterMode

from transformer_edu import MultiHeadAttention, record_attention
from transformer_edu.book.figures.path_length_racer import SIZES, attention_price, multiply_adds, path_lengths

LANES = ("recurrent", "convolution", "attention")
EXAMPLE = {"n": 20, "d": 128, "dilated": True, "step": 3}
SAYS = [
    ({}, "plain recurrent layer: 16, 131,072 multiply", "self-attention: 1, 294,912", ": 15, 196,608", "after 0 steps"),
    (
        {"step": 4},
        "self-attention: 1, done",
        "2.25 times the plain recurrent layer's multiply-adds and 0.56 times an LSTM's; 11.1 % of them",
    ),
    ({"step": 1}, "after 1 step of the race"),
    ({"dilated": True, "step": 8}, "after 8 steps of the race", "dilated convolutions: 4, done"),
]
SCENES = {
    "a bet stands beside what came": [
        "How many steps until … only token 1 knows of token 1.",
        "> click [data-lane=convolution] [data-value='8']; click [data-lane=attention] [data-value='1']",
        "~ You bet: the convolutions 8, attention 1.",
        "> slider steps = 14; button One step",
        "15 of 16 have heard … ✓ 15 steps, you bet 8 … ✓ 1 step, as you bet",
        "! your bet",
        "> checkbox dilated convolution = on",
        "✓ 4 steps, was 15",
        "~ The convolutions are dilated.",
    ],
    "a race is played from its start, wherever it was opened": [
        {"n": 8, "step": 5},
        "> button Play",
        "2 of 8 have heard",
        "✓ 8 steps … recurrent layer arrived at step 8",
    ],
    "a race that is over stays so when the sentence grows, and can be stepped": [
        "> slider steps = 16; slider tokens, n = 30",
        "recurrence 30 steps … ✓ 30 steps, was 16 … token 30: the finish … 30 of 30 … After 30 steps",
        "> slider steps = 0; button One step; button One step",
        "~ After 2 steps: attention arrived at step 1, the convolutions are at token 3, the recurrent layer is at 2",
        "> slider steps = 25; slider tokens, n = 10",
        "After 10 steps",
    ],
    "what attention costs is said, beside what it was": [
        "> slider steps = 16; click .te-details summary; slider tokens, n = 48; slider tokens, n = 64",
        "Attention pays 3.00 times … 0.75 times an LSTM’s. Before: 2.25, 0.56. … 524,288 … was 131,072",
        "> combobox size of a vector, d = 32",
        "~ Attention pays 4.00 times the multiply-adds of this recurrent layer, 1.00 times an LSTM’s. Before: 3.00",
        "> slider steps = 3",
        "! Before: ",
    ],
}


def heard_by_step(lane, n, dilated):
    """How many tokens have something of the first after 0, 1, … steps, and that they are the leftmost ones."""
    distance = (torch.arange(n)[:, None] - torch.arange(n)).abs()
    heard, counts = torch.eye(n, dtype=torch.bool)[0], [1]
    while not heard[-1]:
        step = len(counts) - 1
        if lane == "recurrent":  # token `step` reads its own input and the state of the token before it
            heard[step] |= heard[max(step - 1, 0)]
        else:
            reach = 2**step if dilated else 1
            sees = (distance == 0) | (distance == reach) if lane == "convolution" else distance >= 0
            heard = (sees & heard).any(dim=1)
        assert heard[: int(heard.sum())].all()
        assert len(counts) <= n, "the last token never hears of the first"
        counts.append(int(heard.sum()))
    return counts


def numbers():
    """Races of four to 64 tokens, step by step, and what their layers cost."""
    return [
        {"n": n, "d": d, "dilated": dilated, "costs": multiply_adds(n, d), "price": attention_price(n, d)[0]}
        | {"heard": {lane: heard_by_step(lane, n, dilated) for lane in LANES}}
        for n, d in ((4, 32), (5, 512), (16, 64), (37, 128), (64, 32))
        for dilated in (False, True)
    ]


@pytest.mark.long
@pytest.mark.parametrize("dilated", [False, True])
def test_each_layer_needs_as_many_steps_as_brute_force_finds(dilated):
    for n in range(4, 65):
        assert path_lengths(n, dilated) == {lane: len(heard_by_step(lane, n, dilated)) - 1 for lane in LANES}


def counted_by_torch(run):
    """Multiply-adds of the matrix products and convolutions in `run`; torch counts each as two operations."""
    with torch.no_grad(), torch.backends.mkldnn.flags(enabled=False), FlopCounterMode(display=False) as counter:
        run()
    return counter.get_total_flops() // 2


@pytest.mark.filterwarnings("ignore:TF32 acceleration")  # some processors tell when oneDNN is switched
@pytest.mark.parametrize(("n", "d"), [(4, 128), (16, 64), (64, 32)])
def test_multiply_adds_are_those_that_torch_counts(n, d):
    x = torch.randn(1, n, d)
    attention = MultiHeadAttention(d, 4)
    convolution = nn.Conv1d(d, d, kernel_size=3, padding=1)
    with record_attention(attention):  # the written-out path
        assert counted_by_torch(lambda: attention(x, x, x)) == multiply_adds(n, d)["attention"]
    for name, layer in (("recurrent", nn.RNN), ("GRU", nn.GRU), ("LSTM", nn.LSTM)):
        rnn = layer(d, d, batch_first=True)
        assert counted_by_torch(lambda rnn=rnn: rnn(x)) == multiply_adds(n, d)[name]
    assert counted_by_torch(lambda: convolution(x.transpose(1, 2))) == multiply_adds(n, d)["convolution"]


@pytest.mark.parametrize("n", [4, 16, 64])
@pytest.mark.parametrize("d", SIZES)
def test_attention_takes_at_least_twice_the_recurrent_layer(n, d):
    ratio, share = attention_price(n, d)
    assert ratio == 2 + n / d
    assert share == pytest.approx(1 - 4 * n * d * d / multiply_adds(n, d)["attention"])  # what the projections leave
    assert (share < 0.5) == (n < 2 * d)
    assert (share == 0.5) == (n == 2 * d) == (multiply_adds(n, d)["attention"] == multiply_adds(n, d)["LSTM"])
    assert (multiply_adds(n, d)["attention"] < multiply_adds(n, d)["GRU"]) == (n < d)
