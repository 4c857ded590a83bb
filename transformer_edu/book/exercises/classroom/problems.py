"""A problem of a set: its texts with slots, the mistakes that are often made in it, and what an answer is tried on.

A slot, `<<base>>` or `<<order.words>>`, is filled by one of its choices. Which one follows from a term's key: two terms
ask for different functions (see `drawing.py`). A known mistake is an edit of the solution, so that its code fits every
term.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

EXAMPLES = "examples"  # the group of cases that the student's notebook shows
IMPORTS = "import math\n\nimport torch\nimport torch.nn.functional as F"

Choice = Any  # a number or a text, or a dict of several texts that belong together
Cases = dict[str, list[tuple[Any, ...]]]  # by group; each case is the arguments of one call


@dataclass(frozen=True)
class Mistake:
    """A common mistake: the solution with `old` replaced by `new`. In the groups of cases `passes` it stays hidden."""

    name: str
    old: str
    new: str
    why: str
    hint: str
    passes: tuple[str, ...] = ()
    symptom: str = ""  # of a bug: what somebody has noticed; the slot `<<symptom>>` of the statement


@dataclass(frozen=True)
class Problem:
    """One function to write, or, where `broken`, to mend.

    Args:
        name: of the function.
        title: what it does, as a heading.
        points: by group of cases; `EXAMPLES` is the group that students see, the others are hidden.
        statement: what is asked for, Markdown with slots.
        head: signature and docstring.
        body: the rest of the solution, indented as it stands in the function.
        cases: the arguments of the calls, by group; it gets the choices that were made, and where its numbers come
            from.
        mistakes: the ones that are often made.
        slots: choices by name.
        given: code that the notebook brings along, with slots.
        gradient: whether gradients with respect to the floating-point arguments have to be right as well.
        broken: whether the notebook shows, in place of a blank, the solution with a mistake of `bugs`.
        bugs: names of the mistakes of which the term's key draws one.
        never: functions of torch that an answer must not call, by a part of their names.
    """

    name: str
    title: str
    points: dict[str, int]
    statement: str
    head: str
    body: str
    cases: Callable[["Numbers", dict[str, Choice]], Cases]
    mistakes: tuple[Mistake, ...]
    slots: dict[str, list[Choice]]
    given: str = ""
    gradient: bool = False
    broken: bool = False
    bugs: tuple[str, ...] = ()
    never: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        assert EXAMPLES in self.points, f"{self.name}: no points for the examples"
        for mistake in self.mistakes:
            assert self.body.count(mistake.old) == 1, f"{self.name}, {mistake.name}: the text is not there once"
            assert set(mistake.passes) < set(self.points), f"{self.name}, {mistake.name}: it passes what is not there"
        assert {mistake.name for mistake in self.mistakes} >= set(self.bugs)

    @property
    def possible(self) -> int:
        """The points of all groups."""
        return sum(self.points.values())

    def kept(self, mistake: Mistake) -> int:
        """The points that an answer with this mistake gets."""
        return sum(self.points[group] for group in mistake.passes)


@dataclass(frozen=True)
class ProblemSet:
    """Some problems under one title."""

    number: int
    title: str
    introduction: str
    problems: tuple[Problem, ...]

    @property
    def name(self) -> str:
        """As files are called: set-1."""
        return f"set-{self.number}"

    @property
    def possible(self) -> int:
        """The points of all problems."""
        return sum(problem.possible for problem in self.problems)


class Numbers:
    """Where the numbers of cases come from: the same for the same key, whatever the process has drawn before."""

    def __init__(self, seed: int):
        self._generator = torch.Generator().manual_seed(seed)

    def normal(self, *shape: int, scale: float = 1.0) -> Tensor:
        """Normal numbers, rounded so that what is printed is what they are."""
        return (torch.randn(shape, generator=self._generator) * scale * 1000).round() / 1000

    def integer(self, low: int, high: int) -> int:
        """A whole number from low to high, both included."""
        return int(torch.randint(low, high + 1, (), generator=self._generator))

    def integers(self, low: int, high: int, *shape: int) -> Tensor:
        """Whole numbers from low to high, both included."""
        return torch.randint(low, high + 1, shape, generator=self._generator)

    def log_probs(self, *shape: int) -> Tensor:
        """Logarithms of distributions over the last dimension, no two alike."""
        return torch.log_softmax(2 * torch.randn(shape, generator=self._generator), dim=-1)
