"""How a check works: try something small, compare, and if it differs ask which known mistake gives that very answer."""

import copy
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import torch

from transformer_edu.checks.compare import Raised, Unfit, agree
from transformer_edu.checks.report import failure_report


@dataclass(frozen=True)
class Mistake:
    """One known mistake: what it is, how it shows, where it comes from, and a push in the right direction.

    `wrong` is the mistake as code: a stand-in for the component that makes this one mistake and no other.
    """

    name: str
    symptom: str
    why: str
    hint: str
    wrong: Any = field(repr=False, compare=False)


@dataclass(frozen=True)
class Trial:
    """One small experiment.

    `observe(candidate, given)` returns what was seen: a tensor, a number, or a dictionary of named findings.
    `given` is shown to the reader; `observe` gets a copy of it.
    """

    title: str
    given: dict[str, Any]
    observe: Callable[[Any, dict[str, Any]], Any]
    tolerance: float = 1e-4


class CheckFailed(AssertionError):  # noqa: N818 (reads as a sentence: raise CheckFailed)
    """A check found a difference; the message says what was tried, which mistake it is, and how to go on.

    Attributes: `component` and `trial` (their names) and `mistake` (a `Mistake`, or None when no known one fits).
    """

    def __init__(self, message: str, component: str, trial: str, mistake: Mistake | None = None) -> None:
        super().__init__(message)
        self.component = component
        self.trial = trial
        self.mistake = mistake

    def _render_traceback_(self) -> list[str]:
        """What a notebook prints: the message alone, without the frames of this package."""
        return str(self).splitlines()


@dataclass
class Component:
    """A thing that readers write: the right answer, the trials, and the catalogue of known mistakes."""

    name: str
    reference: Any
    trials: list[Trial]
    mistakes: list[Mistake] = field(default_factory=list)
    _seen_before: dict[Any, list[Any]] = field(default_factory=dict, init=False, repr=False)

    def mistake(self, name: str, *, symptom: str, why: str, hint: str) -> Callable[[Any], Any]:
        """Enter the decorated stand-in into the catalogue."""

        def register(wrong: Any) -> Any:
            self.mistakes.append(Mistake(name, symptom, why, hint, wrong))
            return wrong

        return register

    def check(self, candidate: Any) -> None:
        """Print one line when every trial agrees with the reference; raise `CheckFailed` at the first that does not."""
        with torch.random.fork_rng(devices=[]), torch.device("cpu"), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            expected = self._seen("", self.reference)
            got = [observe(trial, candidate) for trial in self.trials]
            for index, trial in enumerate(self.trials):
                if not agree(expected[index], got[index], trial.tolerance):
                    self._fail(index, expected[index], got)
        print(f"✓ {self.name}: {len(self.trials)} checks passed")

    def _fail(self, index: int, expected: Any, got: list[Any]) -> None:
        mistake, certain = self.diagnose(index, got)
        message = failure_report(self, index, expected, got[index], mistake, certain)
        error = got[index].error if isinstance(got[index], Raised) else None
        raise CheckFailed(message, self.name, self.trials[index].title, mistake) from error

    def diagnose(self, index: int, got: list[Any]) -> tuple[Mistake | None, bool]:
        """The known mistake that gives the same answer in trial `index`, and whether it does so in every trial.

        Where several fit, the one that agrees in most trials.
        """
        best, most = None, 0
        for mistake in self.mistakes:
            seen = self._seen(mistake.name, mistake.wrong)
            same = [agree(s, g, t.tolerance) for s, g, t in zip(seen, got, self.trials, strict=True)]
            if same[index] and sum(same) > most:
                best, most = mistake, sum(same)
        return best, most == len(self.trials)

    def _seen(self, name: str, known: Any) -> list[Any]:
        """What the reference or a known mistake does in each trial: always the same, so it is tried once."""
        key = (name, torch.get_default_dtype())
        if key not in self._seen_before:
            self._seen_before[key] = [observe(trial, known) for trial in self.trials]
        return self._seen_before[key]


def observe(trial: Trial, candidate: Any) -> Any:
    """What the candidate does in this trial; an exception inside it is a finding like any other."""
    torch.manual_seed(0)
    try:
        return trial.observe(candidate, copy.deepcopy(trial.given))
    except Unfit as finding:
        return str(finding)
    except Exception as error:
        return Raised(error)


def need_callable(name: str, value: Any) -> None:
    """Raise unless `value` can be called: pass the function itself, not what it returned."""
    if not callable(value):
        raise TypeError(f"{name} must be a function or class (without calling it), got {type(value).__name__}")
