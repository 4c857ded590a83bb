"""What a mask lab shows: two sentences in two languages, and scores between their positions, made up."""

import math
import random
from collections.abc import Sequence
from typing import Any

import torch

from transformer_edu.attention import scaled_dot_product_attention
from transformer_edu.book.figures.inputs import check_index, check_words
from transformer_edu.support.shapes import Tensor

KINDS = {"encoder": "encoder self-attention", "decoder": "decoder self-attention", "cross": "cross-attention"}
LONGEST = 6
SOURCE = (("the", "black", "cat", "does", "not", "sleep"), ("the", "dog", "sees", "the", "small", "cat"))
TARGET = (("<bos>", "le", "chat", "noir", "ne", "dort"), ("<bos>", "le", "chien", "voit", "le", "petit"))
SEED = 6


def attention_of_scores(scores: Tensor, mask: Tensor) -> Tensor:
    """Weights (q_len, k_len) of `scaled_dot_product_attention` whose scaled scores are `scores`."""
    size = scores.shape[-1]
    identity = torch.eye(size, dtype=scores.dtype)
    weights: Any = scaled_dot_product_attention(scores * math.sqrt(size), identity, identity, mask)[1]
    return weights


def made_up_scores() -> dict[str, list[list[list[float]]]]:
    """For each kind and each of the two sentences 6 × 6 scores from -2 to 2 with one decimal, always the same."""
    draw = random.Random(SEED).random
    square = range(LONGEST)
    return {kind: [[[round(4 * draw() - 2, 1) for _ in square] for _ in square] for _ in range(2)] for kind in KINDS}


def check_sentences(name: str, given: Any) -> list[list[str]]:
    """Two sentences of six words."""
    if isinstance(given, str) or not isinstance(given, Sequence):
        raise TypeError(f"{name} must be two lists of {LONGEST} strings, got {given!r}")
    if len(given) != 2:
        raise ValueError(f"{name} must be two lists of {LONGEST} strings, got {len(given)}: {given!r}")
    return [check_words(f"{name}[{index}]", words, LONGEST, LONGEST) for index, words in enumerate(given)]


def check_lengths(name: str, given: Any) -> list[int]:
    """How many words of each of the two sentences are real."""
    if not isinstance(given, Sequence) or len(given) != 2:
        raise ValueError(f"{name} must be two whole numbers from 0 to {LONGEST}, got {given!r}")
    return [check_index(name, length, LONGEST + 1) for length in given]
