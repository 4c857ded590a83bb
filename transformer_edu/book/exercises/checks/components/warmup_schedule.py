"""Checks the learning rate of the paper."""

from collections.abc import Callable
from functools import partial
from typing import Any

from transformer_edu.book.exercises.checks.engine import Component, Trial, as_number
from transformer_edu.training.schedule import warmup_schedule


def check_warmup_schedule(fn: Callable[[int, int, int], float]) -> None:
    """Check fn(step, d_model, warmup_steps) -> learning rate, steps counted from 1 (paper, equation 3)."""
    COMPONENT.check(fn=fn)


def _rate(fn: Any, given: dict[str, Any]) -> float:
    return as_number(fn(*given.values()))


def _trial(title: str, step: int, d_model: int, warmup_steps: int) -> Trial:
    return Trial(title, {"step": step, "d_model": d_model, "warmup_steps": warmup_steps}, _rate)


COMPONENT = Component(
    "warm-up schedule",
    chapter=13,
    reference=warmup_schedule,
    trials=[
        _trial("the first step", 1, 16, 100),
        _trial("half-way up", 50, 16, 100),
        _trial("the peak", 100, 16, 100),
        _trial("long after the peak", 400, 16, 100),
        _trial("the paper's base model at its peak", 4000, 512, 4000),
    ],
)
mistake = COMPONENT.mistake


def rate(
    step: int,
    d_model: int,
    warmup_steps: int,
    *,
    width: float = -0.5,
    falling: float = -0.5,
    warmup: float = -1.5,
    smaller: Callable[[float, float], float] = min,
) -> float:
    """Equation 3, with its exponents and its choice between the two terms."""
    return d_model**width * smaller(step**falling, step * warmup_steps**warmup)


mistake(
    "max is taken instead of min",
    symptom="the rate is huge at the first step and grows again after the peak; the loss diverges",
    why="of the rising line and the falling curve the *smaller* one counts.",
    hint="Draw both terms over the steps. Which of them should win at step 1?",
)(partial(rate, smaller=max))
mistake(
    "the factor d_model^-0.5 is forgotten",
    symptom="rates √d_model times too high (22 times for the base model); the loss diverges",
    why="equation 3 has three factors of powers; the first one is missing.",
    hint="Which argument does your function never use?",
)(partial(rate, width=0.0))
mistake(
    "d_model has the exponent +0.5 instead of -0.5",
    symptom="rates d_model times too high; the loss diverges at once",
    why="a wider model needs *smaller* steps.",
    hint="Should the rate grow or shrink with d_model?",
)(partial(rate, width=0.5))
mistake(
    "d_model has the exponent -1 instead of -0.5",
    symptom="rates √d_model times too low (22 times for the base model); the loss falls very slowly",
    why="in Python -1 // 2 is -1: a division that cuts has made a whole exponent of the half.",
    hint="What does your first factor give for d_model = 4?",
)(partial(rate, width=-1.0))
mistake(
    "warmup_steps has the exponent -0.5 instead of -1.5",
    symptom="no warm-up: the falling curve wins from the first step",
    why="the two terms must meet at step = warmup_steps.",
    hint="Put step = warmup_steps into both terms. Are they equal?",
)(partial(rate, warmup=-0.5))
mistake(
    "the rising term is divided by warmup_steps only",
    symptom="the peak is too early: the rising line is √warmup_steps times too steep",
    why="step / warmup_steps is 1 at the end of the warm-up, but the falling curve has step^-0.5 there.",
    hint="Put step = warmup_steps into both terms. Are they equal?",
)(partial(rate, warmup=-1.0))
mistake(
    "the falling term is 1 / step, not 1 / √step",
    symptom="the peak is far too low and early, and the rate fades too fast",
    why="the exponent of step is -0.5.",
    hint="From the peak to four times as many steps the rate should halve. What does yours do?",
)(partial(rate, falling=-1.0))
mistake(
    "the rate never falls: the second term is missing",
    symptom="training goes well until some time after the warm-up, then diverges",
    why="only the rising line is computed.",
    hint="What should happen after warmup_steps?",
)(partial(rate, smaller=lambda falling, rising: rising))
mistake(
    "there is no warm-up: the rising term is missing",
    symptom="the rate is highest at the very first step; post-norm models diverge",
    why="only the falling curve is computed.",
    hint="Which argument does your function never use?",
)(partial(rate, smaller=lambda falling, rising: falling))
mistake(
    "the steps are counted from 0 and 1 is added",
    symptom="the peak comes one step early: harmless in training, but not equation 3",
    why="the caller counts from 1 already.",
    hint="At step = warmup_steps, which step do you compute the rate of?",
)(lambda step, d_model, warmup_steps: rate(step + 1, d_model, warmup_steps))
mistake(
    "the steps are counted from 0: 1 is subtracted, and 0^-0.5 is a division by zero",
    symptom="ZeroDivisionError at the first step, or a first step with the rate 0",
    why="the first step is number 1.",
    hint="Which step do you compute the rate of when `step` is 1?",
)(lambda step, d_model, warmup_steps: rate(step - 1, d_model, warmup_steps))
