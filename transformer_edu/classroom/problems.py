"""A problem of a set: its texts with slots, the mistakes that are often made in it, and what an answer is tried on.

A slot, `<<base>>` or `<<order.words>>`, is filled by one of its choices. Which one follows from a term's key: two terms
ask for different functions. A known mistake is an edit of the solution, so that its code fits every term.
"""

import hashlib
import hmac
import math
import random
import re
import textwrap
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

SLOT = re.compile(r"<<(\w+)(?:\.(\w+))?>>")
EXAMPLES = "examples"  # the group of cases that the student's notebook shows
IMPORTS = "import math\n\nimport torch\nimport torch.nn.functional as F"

Choice = Any  # a number or a text, or a dict of several texts that belong together
Cases = dict[str, list[tuple[Any, ...]]]  # by group; each case is the arguments of one call


@dataclass(frozen=True)
class Mistake:
    """A common mistake: the solution with `old` replaced by `new`, and how many points of the problem it keeps."""

    name: str
    old: str
    new: str
    why: str
    hint: str
    keeps: int = 0


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

    def __post_init__(self) -> None:
        assert EXAMPLES in self.points, f"{self.name}: no points for the examples"
        for mistake in self.mistakes:
            assert self.body.count(mistake.old) == 1, f"{self.name}, {mistake.name}: the text is not there once"
        assert {one.name for one in self.mistakes} >= set(self.bugs)

    @property
    def possible(self) -> int:
        """The points of all groups."""
        return sum(self.points.values())


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
        return sum(one.possible for one in self.problems)


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


@dataclass(frozen=True)
class Drawn:
    """A problem as one term has it: the slots are filled, the cases are made."""

    problem: Problem
    choices: dict[str, Choice] = field(hash=False)
    seeds: dict[str, int] = field(hash=False)
    bug: Mistake | None

    @property
    def name(self) -> str:
        """Of the function."""
        return self.problem.name

    def fill(self, text: str) -> str:
        """A text with its slots filled."""

        def chosen(match: re.Match[str]) -> str:
            slot, part = match.groups()
            choice = self.choices[slot]
            return str(choice[part] if part else choice)

        return SLOT.sub(chosen, text)

    @cached_property
    def statement(self) -> str:
        """What is asked for."""
        return self.fill(textwrap.dedent(self.problem.statement).strip())

    @cached_property
    def given(self) -> str:
        """The code that the notebook brings along."""
        return self.fill(self.problem.given.strip())

    @cached_property
    def solution(self) -> str:
        """The code of the right answer."""
        return self._code(self.problem.body)

    @cached_property
    def starter(self) -> str:
        """What the student's notebook has in its place."""
        if self.bug:
            return self.with_mistake(self.bug)
        return self._code("    ...  # your code")

    def with_mistake(self, mistake: Mistake) -> str:
        """The code of an answer that makes a mistake."""
        return self._code(self.problem.body.replace(mistake.old, mistake.new))

    def _code(self, body: str) -> str:
        head = textwrap.dedent(self.problem.head).strip("\n")
        return self.fill(f"{head}\n{body.strip(chr(10))}")

    def function(self, code: str) -> Callable[..., Any]:
        """The function that trusted code defines; `given` stands before it."""
        place: dict[str, Any] = {"math": math, "torch": torch, "F": F}
        exec(f"{self.given}\n\n\n{code}", place)
        found: Callable[..., Any] = place[self.name]
        return found

    @cached_property
    def cases(self) -> Cases:
        """The arguments of all calls, by group."""
        made: Cases = {}
        for group in self.problem.points:
            found = self.problem.cases(Numbers(self.seeds[group]), self.choices)
            made[group] = found[group]
        return made


def draw(problems: ProblemSet, key: bytes) -> list[Drawn]:
    """The problems of a set as the term with this key has them."""
    return [_draw(problems, problem, key) for problem in problems.problems]


def _draw(problems: ProblemSet, problem: Problem, key: bytes) -> Drawn:
    place = f"{problems.name}/{problem.name}"
    chance = random.Random(_seed(key, place))
    choices = {name: chance.choice(options) for name, options in problem.slots.items()}
    bugs = [one for one in problem.mistakes if one.name in problem.bugs]
    bug = chance.choice(bugs) if problem.broken else None
    seeds = {group: _seed(key, f"{place}/{group}") for group in problem.points}
    return Drawn(problem, choices, seeds, bug)


def _seed(key: bytes, place: str) -> int:
    return int.from_bytes(hmac.digest(key, place.encode(), hashlib.sha256)[:7], "big")
