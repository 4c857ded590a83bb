"""Which known mistake does the very same as an answer."""

from collections.abc import Callable
from typing import Any

from transformer_edu.classroom.comparing import difference
from transformer_edu.classroom.drawing import Drawn
from transformer_edu.classroom.observing import Observed, observe
from transformer_edu.classroom.problems import Mistake


def diagnosis(drawn: Drawn, seen: dict[str, list[Observed]]) -> Mistake | None:
    """The known mistake whose code answers in every case as this answer did; None if none does.

    A mistake that stops where the answer does counts if the same kind of error is raised.
    """
    for mistake in drawn.problem.mistakes:
        wrong = drawn.function(drawn.with_mistake(mistake))
        if answers_alike(drawn, wrong, seen):
            return mistake
    return None


def answers_alike(drawn: Drawn, fn: Callable[..., Any], seen: dict[str, list[Observed]]) -> bool:
    """Whether a trusted function does, in all cases, what was seen of an answer."""
    for group, cases in drawn.cases.items():
        observed = seen.get(group, [])
        if len(observed) != len(cases):
            return False
        for arguments, one in zip(cases, observed, strict=True):
            other = observe(fn, arguments, drawn.problem.gradient)
            if "error" in other or "error" in one:
                if _kind(other) != _kind(one):
                    return False
            elif other["changed"] != one.get("changed") or difference(other, {**one, "changed": False}):
                return False
    return True


def _kind(seen: Observed) -> str:
    return str(seen.get("error", "")).partition(":")[0]
