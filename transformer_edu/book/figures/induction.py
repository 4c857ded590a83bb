"""Copy what followed last time: two layers of attention on a reader's own letters, and without one of their heads."""

from collections.abc import Sequence
from typing import ClassVar

import traitlets

from transformer_edu.book.experiments.induction import LETTERS
from transformer_edu.book.figures.base import Figure
from transformer_edu.book.figures.induction_data import (
    check_layers,
    check_letters,
    copier_on,
    last_time,
    weights_of_copier,
)
from transformer_edu.book.figures.inputs import check_index


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

    text = traitlets.Unicode().tag(sync=True)
    token = traitlets.Int().tag(sync=True)
    without = traitlets.List(traitlets.Int()).tag(sync=True)
    weights = traitlets.Unicode().tag(sync=True)

    def __init__(self, text: str = "m r x d t m r x", *, token: int | None = None, without: Sequence[int] = ()) -> None:
        letters = check_letters("text", text)
        super().__init__(
            text=text,
            token=len(letters) - 1 if token is None else check_index("token", token, len(letters)),
            without=check_layers("without", without),
            weights=weights_of_copier(),
        )

    def alt_text(self) -> str:
        """Where the second layer looks from the chosen letter, and how probable the copy is."""
        letters = check_letters("text", self.text)
        p, (_, looks) = copier_on(letters, self.without)
        row, now = looks[self.token], letters[self.token]
        most, before = int(row.argmax()), last_time(letters, self.token)
        away = f" without the head of layer {' and of layer '.join(str(one + 1) for one in self.without)}"
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
