"""The path-length racer's Python side: path lengths and costs against brute force, and its alt text."""

import pytest
import torch
from torch import nn
from torch.utils.flop_counter import FlopCounterMode

from transformer_edu import MultiHeadAttention, record_attention
from transformer_edu.book.figures.path_length_racer import SIZES, attention_price, multiply_adds, path_lengths

EXAMPLE = {"n": 20, "d": 128, "dilated": True, "step": 3}
SAYS = [
    ({"step": 4}, "plain recurrent layer: 16, 131,072 multiply", "self-attention: 1, done, 294,912", ": 15, 196,608"),
    ({"step": 4}, "2.25 times the plain recurrent layer's multiply-adds and 0.56 times an LSTM's; 11.1 % of them"),
    ({"dilated": True}, "after 8 steps of the race", "dilated convolutions: 4, done"),
]


def looks_at(n, reach):
    """(n, n): token i sees itself and the tokens `reach` to its left and right."""
    distance = (torch.arange(n)[:, None] - torch.arange(n)[None]).abs()
    return (distance == 0) | (distance == reach)


def layers_until_heard(n, dilated):
    """Multiply the layers' (n, n) matrices until the last token has something of the first."""
    heard = torch.eye(n, dtype=torch.bool)[0]
    for layer in range(n):
        if heard[-1]:
            return layer
        heard = (looks_at(n, 2**layer if dilated else 1) & heard).any(dim=1)
    raise AssertionError("the last token never hears of the first")


@pytest.mark.parametrize("dilated", [False, True])
def test_convolutions_need_as_many_layers_as_brute_force_finds(dilated):
    for n in range(4, 65):
        assert path_lengths(n, dilated)["convolution"] == layers_until_heard(n, dilated)


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
