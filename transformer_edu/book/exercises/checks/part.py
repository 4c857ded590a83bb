"""Checks a whole part, a class or a function of any kind that the judge knows: the verdict of its command, here."""

from collections.abc import Callable
from typing import Any

from transformer_edu.book.exercises.checks.engine.compare import Raised
from transformer_edu.book.exercises.checks.engine.component import CheckFailed, need_callable
from transformer_edu.book.exercises.checks.engine.report import diagnosis
from transformer_edu.support.text import printable, wrapped


def check_part(part: Callable[..., Any], kind: str | None = None) -> None:
    """Judge a class or function as `transformer-edu check` does, without a process of its own.

    Each part of the book has a kind, later ones too: "rms_norm", "latent_attention", "mixture_of_experts" and so on;
    `transformer-edu check --help` says how each is called. Without one, the name of `part` says what it is. Your own
    names, layouts and conventions are tried, and what is another convention is printed as a remark.

    Raises:
        CheckFailed: it has a fault, which the message names; or nothing sure can be said, and the message says why.
        ValueError: there is no such kind, or the name does not say of which it is.
    """
    from transformer_edu.book.exercises.judge.calculator import Calculator
    from transformer_edu.book.exercises.judge.judging import guess, judged, kind_named

    need_callable("part", part)
    kind = kind or guess(getattr(part, "__name__", type(part).__name__))
    verdict, trouble = judged(kind, Calculator(kind_named(kind), part), seconds=120)
    if verdict is None:
        told = f"It {printable(str(trouble))}."
        if "NotImplementedError" in told:
            [told] = diagnosis(Raised(NotImplementedError()), None, False)
        raise CheckFailed(f"? {kind}\n\n{told}", kind, "")
    if verdict.fault is not None:
        shown = [f"    {printable(verdict.detail)}", ""] if verdict.detail else []
        lines = [f"✗ {kind}, {verdict.where or 'as it is made'}", "", *shown, *diagnosis(None, verdict.fault, True)]
        raise CheckFailed("\n".join(lines), kind, verdict.where, verdict.fault)
    remarks = [wrapped(f"  Remark: {printable(remark)}", hanging=10) for remark in verdict.remarks]
    print(f"✓ {kind}: {verdict.passed} experiments passed", *remarks, sep="\n")
