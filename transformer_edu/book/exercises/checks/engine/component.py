"""How a check works: try something small, compare, and if it differs ask which known mistake gives that very answer."""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any

from transformer_edu.book.exercises.checks.engine.compare import Raised, agree, differing
from transformer_edu.book.exercises.checks.engine.laboratory import laboratory
from transformer_edu.book.exercises.checks.engine.report import failure_report
from transformer_edu.book.exercises.checks.engine.side_effects import (
    Observe,
    changes_its_input,
    inputs_of,
    spoils_the_gradient,
)
from transformer_edu.book.exercises.checks.engine.trial import Mistake, Trial, observe
from transformer_edu.support.text import wrapped

LABEL = re.compile(r"(Diagnosis|Why|Symptom|Hint): +")  # of report.diagnosis; what follows hangs under its text


class CheckFailed(AssertionError):  # noqa: N818 (reads as a sentence: raise CheckFailed)
    """A check found a difference; the message says what was tried, which mistake it is, and how to go on.

    Attributes: `component` and `trial` (their names) and `mistake` (a `Mistake`, or None when no known one fits).
    """

    def __init__(self, message: str, component: str, trial: str, mistake: Mistake | None = None) -> None:
        super().__init__("\n".join(wrapped(line, hanging=_hanging(line)) for line in message.split("\n")))
        self.component = component
        self.trial = trial
        self.mistake = mistake

    def _render_traceback_(self) -> list[str]:
        """What a notebook prints: the message alone, without the frames of this package."""
        return str(self).splitlines()


def _hanging(line: str) -> int:
    """How far the rest of a line of a message is indented, where the line is too long."""
    label = LABEL.match(line)
    return label.end() if label else 4 if line.startswith(" ") else 2 if line.startswith("✗") else 0


@dataclass
class Component:
    """A thing that readers write: the right answer, the trials, and the catalogue of known mistakes.

    `chapter` is the one that teaches it. `gradient` observes what the answer has to let through, for those that
    training goes back through.
    """

    name: str
    chapter: int
    reference: Any
    trials: list[Trial]
    mistakes: list[Mistake] = field(default_factory=list)
    gradient: Observe | None = None
    _seen_before: dict[str, list[Any]] = field(default_factory=dict, init=False, repr=False)

    def mistake(self, name: str, *, symptom: str, why: str, hint: str) -> Callable[[Any], Any]:
        """Enter the decorated stand-in into the catalogue."""

        def register(wrong: Any) -> Any:
            self.mistakes.append(Mistake(name, symptom, why, hint, wrong))
            return wrong

        return register

    def check(self, **candidates: Any) -> None:
        """Print one line when every trial agrees with the reference; raise `CheckFailed` at the first that does not.

        The candidate is given by the name that its writer knows; two functions that belong together are one candidate.
        """
        for name, value in candidates.items():
            need_callable(name, value)
        candidate = next(iter(candidates.values())) if len(candidates) == 1 else tuple(candidates.values())
        with laboratory():
            self._compare(candidate)
            for look in self._looks():
                self._look(candidate, *look)
        print(f"✓ {self.name}: {len(self.trials)} checks passed")

    def _compare(self, candidate: Any) -> None:
        expected = self._seen("", self.reference)
        got = [observe(trial, candidate) for trial in self.trials]
        for index, trial in enumerate(self.trials):
            if agree(expected[index], got[index], trial.tolerance):
                continue
            mistake, certain = self.diagnose(index, got)
            if not certain and not isinstance(got[index], str):  # a sentence says enough
                self._look(candidate, index, inputs_of(trial), changes_its_input, certain=False)
            raise self._failure(index, expected[index], got[index], mistake, certain)

    def _look(
        self,
        candidate: Any,
        index: int,
        look: Trial,
        mistake_of: Callable[[dict[str, Any]], Mistake],
        certain: bool = True,
    ) -> None:
        """Raise `CheckFailed` if this finding, which has one name of its own, differs from the reference's."""
        expected, got = (observe(look, version) for version in (self.reference, candidate))
        if not agree(expected, got, look.tolerance):
            found = {name: got.get(name) for name in differing(expected, got, look.tolerance)}
            raise self._failure(index, expected, got, mistake_of(found), certain)

    def _looks(self) -> Iterator[tuple[int, Trial, Callable[[dict[str, Any]], Mistake]]]:
        """The numbers are right: what else happens on the way to them?"""
        for index, trial in enumerate(self.trials):
            yield index, inputs_of(trial), changes_its_input
            if self.gradient is not None:
                look = replace(trial, observe=self.gradient, tolerance=max(0.01, 5 * trial.tolerance))
                yield index, look, spoils_the_gradient

    def _failure(self, index: int, expected: Any, got: Any, mistake: Mistake | None, certain: bool) -> CheckFailed:
        trial, heading = self.trials[index], f"{self.name}: check {index + 1} of {len(self.trials)}"
        message = failure_report(heading, trial, expected, got, mistake, certain)
        failure = CheckFailed(message, self.name, trial.title, mistake)
        failure.__cause__ = got.error if isinstance(got, Raised) else None
        return failure

    def diagnose(self, index: int, got: list[Any]) -> tuple[Mistake | None, bool]:
        """The known mistake that gives the same answer in trial `index`, and whether it does so in every trial.

        Where several fit, the one that agrees in most trials. One that would fail where `got` is right is not made,
        unless that is all in which the two differ: a part may be called once more, and the mistake be the same.
        """
        best, most = None, 0
        with laboratory():
            right = self._seen("", self.reference)
            passed = self._agreeing(right, got)
            for mistake in self.mistakes:
                seen = self._seen(mistake.name, mistake.wrong)
                same, harmless = self._agreeing(seen, got), self._agreeing(seen, right)
                fits = all(fine or not good for fine, good in zip(harmless, passed, strict=True))
                made = same[index] and (fits or sum(same) == len(same) - 1)
                if made and sum(same) > most:
                    best, most = mistake, sum(same)
        return best, most == len(self.trials)

    def _agreeing(self, seen: list[Any], other: list[Any]) -> list[bool]:
        """In which trials two candidates do the same."""
        return [agree(a, b, t.tolerance) for a, b, t in zip(seen, other, self.trials, strict=True)]

    def _seen(self, name: str, known: Any) -> list[Any]:
        """What the reference or a known mistake does in each trial: in the laboratory always the same."""
        if name not in self._seen_before:
            self._seen_before[name] = [observe(trial, known) for trial in self.trials]
        return self._seen_before[name]


def need_callable(name: str, value: Any) -> None:
    """Raise unless `value` can be called: pass the function itself, not what it returned."""
    if not callable(value):
        raise TypeError(f"{name} must be a function or class (without calling it), got {type(value).__name__}")
