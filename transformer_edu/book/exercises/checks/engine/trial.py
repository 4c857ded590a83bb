"""What a check is made of: small experiments, and the known mistakes that they tell apart."""

import copy
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from transformer_edu.book.exercises.checks.engine.compare import Misshapen, Raised, Unfit
from transformer_edu.book.exercises.checks.engine.laboratory import tidy_up


@dataclass(frozen=True)
class Mistake:
    """One known mistake: what it is, how it shows, where it comes from, and a push in the right direction.

    `wrong` is the mistake as code: a stand-in for the component that makes this one mistake and no other.
    """

    name: str
    symptom: str
    why: str
    hint: str
    wrong: Any = field(default=None, repr=False, compare=False)


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


def observe(trial: Trial, candidate: Any) -> Any:
    """What the candidate does in this trial, inside `laboratory()`; an exception is a finding like any other."""
    tidy_up()
    try:
        return trial.observe(candidate, copy.deepcopy(trial.given))
    except Unfit as finding:
        return Misshapen(finding)
    except Exception as error:
        return Raised(error)
    finally:
        tidy_up()
