"""What the figure of copying in context shows: the trained copier, and what it does with a row of letters."""

import base64
from collections.abc import Sequence
from contextlib import ExitStack
from typing import Any

import torch

from transformer_edu.book.experiments.copier import FILE, load_copier
from transformer_edu.book.experiments.induction import LETTERS, without_head
from transformer_edu.book.figures.inputs import check_index, check_text
from transformer_edu.inspect.record import record_attention
from transformer_edu.support.shapes import Tensor

FEWEST, MOST = 2, 24
LAYERS = 2


def weights_of_copier() -> str:
    """The file of its weights, in base64."""
    return base64.b64encode(FILE.read_bytes()).decode()


def check_letters(name: str, text: Any) -> str:
    """The letters of a text of FEWEST to MOST letters from a to z, without the spaces between them."""
    letters = "".join(check_text(name, text, FEWEST, 4 * MOST).split())
    if not FEWEST <= len(letters) <= MOST or set(letters) - set(LETTERS):
        raise ValueError(f"{name} must be {FEWEST} to {MOST} letters from a to z, got {text!r}")
    return letters


def check_layers(name: str, layers: Any) -> list[int]:
    """Layers whose head is away, each once, in order."""
    if not isinstance(layers, Sequence) or isinstance(layers, str):
        raise TypeError(f"{name} must be a list of layers (0, 1), got {layers!r}")
    return sorted({check_index(name, layer, LAYERS) for layer in layers})


def last_time(letters: str, token: int) -> int | None:
    """Where the letter at `token` stood last before; None if it is new."""
    found = letters.rfind(letters[token], 0, token)
    return None if found < 0 else found


@torch.no_grad()
def copier_on(letters: str, without: Sequence[int]) -> tuple[Tensor, list[Tensor]]:
    """Probabilities of each next letter (seq, 26), and each layer's weights (seq, seq), without the heads named."""
    model, ids = load_copier(), torch.tensor([[LETTERS.index(letter) for letter in letters]])
    with ExitStack() as away, record_attention(model) as maps:
        for layer in without:
            away.enter_context(without_head(model, layer, 0))
        p = model(ids).softmax(dim=-1)[0]
    return p, [weights[0, 0] for weights in maps.values()]
