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

from transformer_edu.classroom.comparing import difference
from transformer_edu.classroom.observing import observe
from transformer_edu.classroom.problems import EXAMPLES, Cases, Choice, Mistake, Numbers, Problem, ProblemSet

SLOT = re.compile(r"<<(\w+)(?:\.(\w+))?>>")
ATTEMPTS = 1000  # to draw cases in which every mistake shows that should

Answer = Callable[..., Any]
Calls = list[tuple[Any, ...]]  # the arguments of each
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

    def with_mistake(self, mistake: Mistake) -> str:
        """The code of an answer that makes a mistake."""
        return self._code(self.problem.body.replace(mistake.old, mistake.new))

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
    def cases(self) -> Cases:
        """The arguments of all calls, by group: as they are drawn first, and more until they tell what they should.

        In each group shows every mistake that does not pass it, and none that does. Somewhere in the hidden groups
        shows what another term would ask for, where one choice is another.
        """
        right = self.function(self.solution)
        wrong = [(one.passes, self.function(self.with_mistake(one))) for one in self.problem.mistakes]
        found = {group: self._telling(group, right, wrong) for group in self.problem.points}
        hidden = [one for group, cases in found.items() if group != EXAMPLES for one in cases]
        others = [one.function(one.solution) for one in self._neighbours()]
        others = [fn for fn in others if self._passes(hidden, right, fn)]
        for group, case in self._more(wrong, right):
            if not others:
                return found
            still = [fn for fn in others if self._passes([case], right, fn)]
            if len(still) < len(others):
                found[group].append(case)
            others = still
        raise ValueError(f"{self.place}: no cases show {len(others)} of what another term may ask for")

    def _neighbours(self) -> Iterator["Drawn"]:
        """The same with one choice changed, where that is another function."""
        for name, options in self.problem.slots.items():
            for choice in options:
                other = replace(self, choices={**self.choices, name: choice})
                if other.solution != self.solution:
                    yield other

    def _telling(self, group: str, right: Answer, wrong: Wrong) -> Calls:
        unseen = [fn for passes, fn in wrong if group not in passes]
        chosen: Calls = []
        for attempt in range(ATTEMPTS):
            for case in self._draw(group, attempt, right, wrong):
                still = [fn for fn in unseen if self._passes([case], right, fn)]
                if attempt == 0 or len(still) < len(unseen):
                    chosen.append(case)
                unseen = still
            if not unseen:
                return chosen
        raise ValueError(f"{self.place}: no cases of {group!r} show {len(unseen)} of its mistakes")

    def _more(self, wrong: Wrong, right: Answer) -> Iterator[tuple[str, tuple[Any, ...]]]:
        """Further cases of the hidden groups, each with its group."""
        for attempt in range(1, ATTEMPTS):
            for group in self.problem.points:
                if group != EXAMPLES:
                    yield from ((group, case) for case in self._draw(group, attempt, right, wrong))

    def _draw(self, group: str, attempt: int, right: Answer, wrong: Wrong) -> Calls:
        """Cases of a group in which no mistake shows that is to pass it."""
        numbers = Numbers(_seed(self.key, f"{self.place}/{group}/{attempt}"))
        never = [fn for passes, fn in wrong if group in passes]
        cases = self.problem.cases(numbers, self.choices)[group]
        return [case for case in cases if all(self._passes([case], right, fn) for fn in never)]

    def _passes(self, cases: Calls, right: Answer, fn: Answer) -> bool:
        pairs = ([observe(one, case, self.problem.gradient) for one in (right, fn)] for case in cases)
        return not any(difference(*pair) for pair in pairs)


def draw(problems: ProblemSet, key: bytes) -> list[Drawn]:
    """The problems of a set as the term with this key has them."""
    return [_draw(problems, problem, key) for problem in problems.problems]


def _draw(problems: ProblemSet, problem: Problem, key: bytes) -> Drawn:
    place = f"{problems.name}/{problem.name}"
    chance = random.Random(_seed(key, place))
    choices = {name: chance.choice(options) for name, options in problem.slots.items()}
    bugs = [one for one in problem.mistakes if one.name in problem.bugs]
    bug = chance.choice(bugs) if problem.broken else None
    if bug:
        choices["symptom"] = bug.symptom
    return Drawn(problem, choices, key, place, bug)


def _seed(key: bytes, place: str) -> int:
    return int.from_bytes(hmac.digest(key, place.encode(), hashlib.sha256)[:7], "big")
