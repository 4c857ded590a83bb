"""The head splitter's Python side: its alt text against the package's attention, and its state."""

import re

import pytest

from transformer_edu import MultiHeadAttention, hand_example
from transformer_edu.book.figures import HeadSplitter

EXAMPLE = {"num_heads": 4, "step": 3, "token": 1}
BAD = [
    (ValueError, "num_heads must be one of 2, 4, got 3", {"num_heads": 3}),
    (ValueError, "tokens must be 3 strings, got 2", {"tokens": ["a", "b"]}),
]
SAYS = [
    (
        {"tokens": ["le", "chat", "noir"], "step": 2, "num_heads": 4, "token": 1},
        "le, chat, noir",
        "step 2, split",
        "4 heads take 1",
        "row of chat",
    ),
    ({}, "step 4, merge", "2 heads take 2 of the 4 columns", "row of the"),
]


def head_outputs(num_heads):
    """The heads of `MultiHeadAttention` with the hand example's matrices, (heads, seq, d_head)."""
    hand = hand_example()
    attention = MultiHeadAttention(4, num_heads, bias=False)
    query, key, value = (attention.split_heads((hand.x @ w)[None]) for w in (hand.w_q, hand.w_k, hand.w_v))
    weights = (query @ key.transpose(-2, -1) / (4 // num_heads) ** 0.5).softmax(dim=-1)
    return (weights @ value)[0]


@pytest.mark.parametrize("num_heads", [2, 4])
@pytest.mark.parametrize("token", [0, 1, 2])
def test_alt_text_says_torchs_numbers(num_heads, token):
    heads = head_outputs(num_heads)
    expected = [*heads.transpose(0, 1).reshape(3, 4)[token].tolist(), *heads.reshape(3, 4)[token].tolist()]
    said = re.findall(r"\d\.\d\d", HeadSplitter(num_heads=num_heads, token=token).alt_text())
    assert [float(number) for number in said] == pytest.approx(expected, abs=5.1e-3)
