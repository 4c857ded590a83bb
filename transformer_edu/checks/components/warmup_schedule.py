"""Checks the learning rate of the paper."""

from collections.abc import Callable
from typing import Any

from transformer_edu.checks.engine import Component, Trial, need_callable
from transformer_edu.checks.engine.compare import as_number
from transformer_edu.training.schedule import warmup_schedule


def check_warmup_schedule(fn: Callable[[int, int, int], float]) -> None:
    """Check fn(step, d_model, warmup_steps) -> learning rate, steps counted from 1 (paper, equation 3)."""
    need_callable("fn", fn)
    SCHEDULE.check(fn)


def _rate(fn: Any, given: dict[str, Any]) -> float:
    return as_number(fn(*given.values()))


def _trial(title: str, step: int, d_model: int, warmup_steps: int) -> Trial:
    return Trial(title, {"step": step, "d_model": d_model, "warmup_steps": warmup_steps}, _rate)


SCHEDULE = Component(
    "warm-up schedule",
    reference=warmup_schedule,
    trials=[
        _trial("the first step", 1, 16, 100),
        _trial("half-way up", 50, 16, 100),
        _trial("the peak", 100, 16, 100),
        _trial("long after the peak", 400, 16, 100),
        _trial("the paper's base model at its peak", 4000, 512, 4000),
    ],
)
mistake = SCHEDULE.mistake


@mistake(
    "max is taken instead of min",
    symptom="the rate is huge at the first step and grows again after the peak; the loss diverges",
    why="of the rising line and the falling curve the *smaller* one counts.",
    hint="Draw both terms over the steps. Which of them should win at step 1?",
)
def largest(step: int, d_model: int, warmup_steps: int) -> float:
    return d_model**-0.5 * max(step**-0.5, step * warmup_steps**-1.5)


@mistake(
    "the factor d_model^-0.5 is forgotten",
    symptom="rates √d_model times too high (22 times for the base model); the loss diverges",
    why="equation 3 has three factors of powers; the first one is missing.",
    hint="Which argument does your function never use?",
)
def without_d_model(step: int, d_model: int, warmup_steps: int) -> float:
    return min(step**-0.5, step * warmup_steps**-1.5)


@mistake(
    "d_model has the exponent +0.5 instead of -0.5",
    symptom="rates d_model times too high; the loss diverges at once",
    why="a wider model needs *smaller* steps.",
    hint="Should the rate grow or shrink with d_model?",
)
def wrong_sign_of_d_model(step: int, d_model: int, warmup_steps: int) -> float:
    return d_model**0.5 * min(step**-0.5, step * warmup_steps**-1.5)


@mistake(
    "warmup_steps has the exponent -0.5 instead of -1.5",
    symptom="no warm-up: the falling curve wins from the first step",
    why="the two terms must meet at step = warmup_steps.",
    hint="Put step = warmup_steps into both terms. Are they equal?",
)
def warmup_exponent(step: int, d_model: int, warmup_steps: int) -> float:
    return d_model**-0.5 * min(step**-0.5, step * warmup_steps**-0.5)


@mistake(
    "the rising term is divided by warmup_steps only",
    symptom="the peak is too early: the rising line is √warmup_steps times too steep",
    why="step / warmup_steps is 1 at the end of the warm-up, but the falling curve has step^-0.5 there.",
    hint="Put step = warmup_steps into both terms. Are they equal?",
)
def linear_term_unscaled(step: int, d_model: int, warmup_steps: int) -> float:
    return d_model**-0.5 * min(step**-0.5, step / warmup_steps)


@mistake(
    "the falling term is 1 / step, not 1 / √step",
    symptom="the peak is far too low and early, and the rate fades too fast",
    why="the exponent of step is -0.5.",
    hint="From the peak to four times as many steps the rate should halve. What does yours do?",
)
def decays_too_fast(step: int, d_model: int, warmup_steps: int) -> float:
    return d_model**-0.5 * min(1 / step, step * warmup_steps**-1.5)


@mistake(
    "the rate never falls: the second term is missing",
    symptom="training goes well until some time after the warm-up, then diverges",
    why="only the rising line is computed.",
    hint="What should happen after warmup_steps?",
)
def never_falls(step: int, d_model: int, warmup_steps: int) -> float:
    return d_model**-0.5 * step * warmup_steps**-1.5


@mistake(
    "there is no warm-up: the rising term is missing",
    symptom="the rate is highest at the very first step; post-norm models diverge",
    why="only the falling curve is computed.",
    hint="Which argument does your function never use?",
)
def no_warmup(step: int, d_model: int, warmup_steps: int) -> float:
    return d_model**-0.5 * step**-0.5


@mistake(
    "the steps are counted from 0 and 1 is added",
    symptom="the peak comes one step early: harmless in training, but not equation 3",
    why="the caller counts from 1 already.",
    hint="At step = warmup_steps, which step do you compute the rate of?",
)
def one_ahead(step: int, d_model: int, warmup_steps: int) -> float:
    return warmup_schedule(step + 1, d_model, warmup_steps)


@mistake(
    "the steps are counted from 0: 1 is subtracted, and 0^-0.5 is a division by zero",
    symptom="ZeroDivisionError at the first step, or a first step with the rate 0",
    why="the first step is number 1.",
    hint="Which step do you compute the rate of when `step` is 1?",
)
def one_behind(step: int, d_model: int, warmup_steps: int) -> float:
    step = step - 1
    return d_model**-0.5 * min(step**-0.5, step * warmup_steps**-1.5)
