"""Copy what followed last time: two layers of attention on a reader's own letters, and without one of their heads."""

import base64
from collections.abc import Sequence
from contextlib import ExitStack
from typing import Any, ClassVar

import torch
import traitlets

from transformer_edu.book.experiments.copier import FILE, load_copier
from transformer_edu.book.experiments.induction import LETTERS, without_head
from transformer_edu.book.figures.base import Figure
from transformer_edu.book.figures.fields import field, index, made
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


class Induction(Figure):
    """Type letters that repeat, and see where each of two heads looks and what the model expects next.

    The model is the book's trained copier (`book.experiments.copier`); it runs in the page.

    Args:
        text: 2 to 24 letters from a to z; spaces between them do not count.
        token: the letter after which the next one is asked for, counts from 0; None is the last.
        without: layers whose head is taken away: 0, 1, or both.

    Olsson et al. 2022 call such a pair of heads previous-token head and induction head.
    """

    figure_name: ClassVar[str] = "induction"

    text = field(traitlets.Unicode(), "m r x d t m r x", lambda name, given, so: check_letters(name, given) and given)
    token = index(lambda so: len("".join(so.text.split())) - 1, lambda so: len("".join(so.text.split())))
    without = field(traitlets.List(traitlets.Int()), (), lambda name, layers, so: check_layers(name, layers))
    weights = made(traitlets.Unicode(), lambda so: weights_of_copier())

    def alt_text(self) -> str:
        """Where the second layer looks from the chosen letter, and how probable the copy is."""
        letters = check_letters("text", self.text)
        p, (_, looks) = copier_on(letters, self.without)
        row, now = looks[self.token], letters[self.token]
        most, before = int(row.argmax()), last_time(letters, self.token)
        away = f" without the head of layer {' and of layer '.join(str(layer + 1) for layer in self.without)}"
        expects = LETTERS[int(p[self.token].argmax())]
        said = f"It expects {expects} with {p[self.token].max():.2f}."
        if before is not None:
            after = letters[before + 1]
            said += f" {after}, which followed {now} last time, has {p[self.token, LETTERS.index(after)]:.2f}."
        return (
            f"A line to type letters in, here {' '.join(letters)}. Two layers of attention read them"
            f"{away if self.without else ''}, and are asked what comes after letter {self.token + 1}, {now}. The head "
            f"of layer 2 looks at letter {most + 1}, {letters[most]}, with {row[most]:.2f}. {said}"
        )
