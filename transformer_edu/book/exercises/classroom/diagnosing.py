"""Which known mistake does the very same as an answer."""

import itertools
from collections.abc import Iterator
from contextlib import suppress

from transformer_edu.book.exercises.classroom.comparing import difference
from transformer_edu.book.exercises.classroom.drawing import Answer, Drawn
from transformer_edu.book.exercises.classroom.observing import Observed
from transformer_edu.book.exercises.classroom.problems import Mistake


def diagnosis(drawn: Drawn, seen: dict[str, list[Observed]]) -> tuple[Mistake, ...]:
    """The known mistake, or the two together, whose code answers in every case as this answer did; else nothing.

    A mistake that stops where the answer does counts if the same kind of error is raised.
    """
    known = drawn.problem.mistakes
    for some in ((mistake,) for mistake in known):
        if answers_alike(drawn, drawn.function(drawn.with_mistake(*some)), seen):
            return some
    if any("error" in case for cases in seen.values() for case in cases):
        return ()
    return next((two for two, fn in _pairs(drawn) if answers_alike(drawn, fn, seen)), ())


def _pairs(drawn: Drawn) -> Iterator[tuple[tuple[Mistake, ...], Answer]]:
    """Two mistakes in one function, and its code; none with a loop that a second mistake might keep from ending."""
    for two in itertools.permutations(drawn.problem.mistakes, 2):
        with suppress(ValueError):  # the second has no place beside the first
            code = drawn.with_mistake(*two)
            if "while " not in code:
                yield two, drawn.function(code)


def answers_alike(drawn: Drawn, fn: Answer, seen: dict[str, list[Observed]]) -> bool:
    """Whether a trusted function does, in all cases, what was seen of an answer."""
    for group, cases in drawn.cases.items():
        observed = seen.get(group, [])
        if len(observed) != len(cases):
            return False
        for arguments, observation in zip(cases, observed, strict=True):
            other = drawn.observe(fn, arguments)
            if "error" in other or "error" in observation:
                if _kind(other) != _kind(observation):
                    return False
            elif other["changed"] != observation.get("changed") or difference(other, {**observation, "changed": False}):
                return False
    return True


def _kind(seen: Observed) -> str:
    return str(seen.get("error", "")).partition(":")[0]
