"""The head splitter's Python side: its alt text, and the package's attention for its page."""

import math
import re

import pytest
import torch

from transformer_edu import MultiHeadAttention, hand_example
from transformer_edu.book.figures import HeadSplitter

EXAMPLE = {"num_heads": 4, "step": 3, "token": 1}
BAD = [
    (ValueError, "num_heads must be one of 2, 4, got 3", {"num_heads": 3}),
    (ValueError, "tokens must be 3 strings, got 2", {"tokens": ["a", "b"]}),
]
FRENCH = {"tokens": ["le", "chat", "noir"], "step": 2, "num_heads": 4, "token": 1}
SAYS = [
    (FRENCH, "le, chat, noir", "step 2, split", "4 heads take 1", "row of chat"),
    ({}, "step 4, merge", "2 heads take 2 of the 4 columns", "row of the"),
]
SCENES = {
    "a token's row is its own only in the right merge": [
        "see a later token",
        "> radio cat",
        "! see a later token",
        "cat gets numbers of black",
        "> click [data-matrix=wrong] [data-row='0'][data-column='3']",
        "Without the transpose black gets numbers of the and cat … and none of its own",
        "> tab Step 3",
        "black looks most at … cat in head 2 (0.80)",
    ],
}


def reference(num_heads):
    """All numbers of the figure from the package's own parts and PyTorch's reshapes; of three, each one's origin."""
    hand, size = hand_example(), 4 // num_heads
    attention = MultiHeadAttention(4, num_heads, bias=False).double().eval()
    names = {"query": "w_q", "key": "w_k", "value": "w_v", "output": "w_o"}
    attention.load_state_dict({f"{name}_projection.weight": getattr(hand, w).double().T for name, w in names.items()})
    x = hand.x.double()[None]
    found = {name[0]: getattr(attention, f"{name}_projection")(x)[0] for name in ("query", "key", "value")}
    query, key, value = (attention.split_heads(found[name][None])[0] for name in "qkv")
    weights = (query @ key.transpose(-2, -1) / math.sqrt(size)).softmax(dim=-1)
    outputs = weights @ value
    found["wrong-split"] = attention.merge_heads(found["q"].reshape(1, num_heads, 3, size))[0]
    found["out"] = found["right"] = attention.merge_heads(outputs[None])[0]
    found["wrong"] = outputs.reshape(3, 4)
    whole = torch.cartesian_prod(torch.arange(3), torch.arange(4) // size).view(3, 4, 2)  # token and head
    origins = {
        "right": whole,
        "wrong": whole.unflatten(1, (num_heads, size)).transpose(0, 1).reshape(3, 4, 2),
        "wrong-split": whole.reshape(num_heads, 3, size, 2).transpose(0, 1).reshape(3, 4, 2),
    }
    finals = [attention(x, x, x)[0], attention.output_projection(found["wrong"])]
    return {"matrices": found, "weights": {"all": weights}, "finals": dict(enumerate(finals)), "origins": origins}


def numbers():
    """What the page must compute, with two and four heads."""
    return [
        {"state": HeadSplitter(num_heads=num_heads).state()}
        | {name: {key: matrix.tolist() for key, matrix in all_.items()} for name, all_ in reference(num_heads).items()}
        for num_heads in (2, 4)
    ]


@pytest.mark.parametrize("num_heads", [2, 4])
@pytest.mark.parametrize("token", [0, 1, 2])
def test_alt_text_says_torchs_numbers(num_heads, token):
    matrices = reference(num_heads)["matrices"]
    expected = [*matrices["right"][token].tolist(), *matrices["wrong"][token].tolist()]
    said = re.findall(r"\d\.\d\d", HeadSplitter(num_heads=num_heads, token=token).alt_text())
    assert [float(number) for number in said] == pytest.approx(expected, abs=5.1e-3)
