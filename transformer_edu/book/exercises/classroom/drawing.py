"""A problem as one term has it: slots filled, a bug chosen, cases made, all by the term's key."""

import hashlib
import hmac
import math
import random
import re
import textwrap
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import torch
import torch.nn.functional as F

from transformer_edu.book.exercises.classroom.comparing import difference
from transformer_edu.book.exercises.classroom.observing import Observed, observe
from transformer_edu.book.exercises.classroom.problems import (
    EXAMPLES,
    Cases,
    Choice,
    Mistake,
    Numbers,
    Problem,
    ProblemSet,
)

SLOT = re.compile(r"<<(\w+)(?:\.(\w+))?>>")
ATTEMPTS = 1000  # to draw cases in which every mistake shows that should

Answer = Callable[..., Any]
Call = tuple[tuple[Any, ...], Observed]  # its arguments, and what the solution does with them
Wrong = list[tuple[tuple[str, ...], Answer]]  # the groups that a mistake passes, and its code


@dataclass(frozen=True)
class Drawn:
    """A problem as one term has it: the slots are filled, the cases are made."""

    problem: Problem
    choices: dict[str, Choice] = field(hash=False)
    key: bytes
    place: str
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

        while SLOT.search(text):  # a choice may have slots of its own
            text = SLOT.sub(chosen, text)
        return text

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

    def with_mistake(self, *mistakes: Mistake) -> str:
        """The code of an answer that makes a mistake, or several, one after the other.

        Raises:
            ValueError: after those before it, a mistake's place is not there any more.
        """
        body = self.problem.body
        for mistake in mistakes:
            if body.count(mistake.old) != 1:
                raise ValueError(f"{self.place}: {mistake.name!r} has no place after the other mistakes")
            body = body.replace(mistake.old, mistake.new)
        return self._code(body)

    def observe(self, fn: Answer, case: tuple[Any, ...]) -> Observed:
        """What a function does in a case, and whether it may."""
        return observe(fn, case, self.problem.gradient, self.problem.never)

    def _code(self, body: str) -> str:
        head = textwrap.dedent(self.problem.head).strip("\n")
        return self.fill(f"{head}\n{body.strip(chr(10))}")

    def function(self, code: str) -> Answer:
        """The function that trusted code defines; `given` stands before it."""
        place: dict[str, Any] = {"math": math, "torch": torch, "F": F}
        exec(f"{self.given}\n\n\n{code}", place)
        found: Answer = place[self.name]
        return found

    @cached_property
    def calls(self) -> dict[str, list[Call]]:
        """All calls by group, each with its right answer: as drawn first, and more until they tell what they should.

        In each group shows every mistake that does not pass it, and none that does. Somewhere in the hidden groups
        shows what another term would ask for, where one choice is another.
        """
        wrong = [(mistake.passes, self.function(self.with_mistake(mistake))) for mistake in self.problem.mistakes]
        found = {group: self._telling(group, wrong) for group in self.problem.points}
        hidden = [call for group, calls in found.items() if group != EXAMPLES for call in calls]
        others = [neighbour.function(neighbour.solution) for neighbour in self._neighbours()]
        others = [fn for fn in others if self._passes(hidden, fn)]
        for group, call in self._more(wrong):
            if not others:
                return found
            still = [fn for fn in others if self._passes([call], fn)]
            if len(still) < len(others):
                found[group].append(call)
            others = still
        raise ValueError(f"{self.place}: no cases show {len(others)} of what another term may ask for")

    @cached_property
    def right(self) -> Answer:
        """The solution as a function."""
        return self.function(self.solution)

    @property
    def cases(self) -> Cases:
        """The arguments of all calls, by group."""
        return {group: [arguments for arguments, _ in calls] for group, calls in self.calls.items()}

    @property
    def wanted(self) -> dict[str, list[Observed]]:
        """What the solution does in all calls, by group."""
        return {group: [wanted for _, wanted in calls] for group, calls in self.calls.items()}

    def _neighbours(self) -> Iterator["Drawn"]:
        """The problem with one choice changed, where that makes another function."""
        for name, options in self.problem.slots.items():
            for choice in options:
                other = replace(self, choices={**self.choices, name: choice})
                if other.solution != self.solution:
                    yield other

    def _telling(self, group: str, wrong: Wrong) -> list[Call]:
        unseen = [fn for passes, fn in wrong if group not in passes]
        chosen: list[Call] = []
        for attempt in range(ATTEMPTS):
            for call in self._draw(group, attempt, wrong):
                still = [fn for fn in unseen if self._passes([call], fn)]
                if attempt == 0 or len(still) < len(unseen):
                    chosen.append(call)
                unseen = still
            if not unseen:
                return chosen
        raise ValueError(f"{self.place}: no cases of {group!r} show {len(unseen)} of its mistakes")

    def _more(self, wrong: Wrong) -> Iterator[tuple[str, Call]]:
        """Further calls of the hidden groups, each with its group."""
        for attempt in range(1, ATTEMPTS):
            for group in self.problem.points:
                if group != EXAMPLES:
                    yield from ((group, call) for call in self._draw(group, attempt, wrong))

    def _draw(self, group: str, attempt: int, wrong: Wrong) -> list[Call]:
        """Calls of a group in which no mistake shows that is to pass it."""
        numbers = Numbers(_seed(self.key, f"{self.place}/{group}/{attempt}"))
        never = [fn for passes, fn in wrong if group in passes]
        cases = self.problem.cases(numbers, self.choices)[group]
        calls = [(case, self.observe(self.right, case)) for case in cases]
        return [call for call in calls if all(self._passes([call], fn) for fn in never)]

    def _passes(self, calls: list[Call], fn: Answer) -> bool:
        pairs = ((wanted, self.observe(fn, case)) for case, wanted in calls)
        return not any(difference(*pair) for pair in pairs)


def draw(problems: ProblemSet, key: bytes) -> list[Drawn]:
    """The problems of a set as the term with this key has them."""
    return [_draw(problems, problem, key) for problem in problems.problems]


def _draw(problems: ProblemSet, problem: Problem, key: bytes) -> Drawn:
    place = f"{problems.name}/{problem.name}"
    chance = random.Random(_seed(key, place))
    choices = {name: chance.choice(options) for name, options in problem.slots.items()}
    bugs = [mistake for mistake in problem.mistakes if mistake.name in problem.bugs]
    bug = chance.choice(bugs) if problem.broken else None
    if bug:
        choices["symptom"] = bug.symptom
    return Drawn(problem, choices, key, place, bug)


def _seed(key: bytes, place: str) -> int:
    return int.from_bytes(hmac.digest(key, place.encode(), hashlib.sha256)[:7], "big")
