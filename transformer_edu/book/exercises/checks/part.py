"""Checks a whole part, a class or a function of any kind that the judge knows: the verdict of its command, here."""

from collections.abc import Callable, Mapping
from typing import Any

from transformer_edu.book.exercises.checks.engine.compare import Raised
from transformer_edu.book.exercises.checks.engine.component import CheckFailed, need_callable
from transformer_edu.book.exercises.checks.engine.laboratory import laboratory
from transformer_edu.book.exercises.checks.engine.report import diagnosis
from transformer_edu.book.exercises.checks.engine.trial import Mistake
from transformer_edu.support.text import printable, wrapped


def check_part(
    part: Callable[..., Any],
    kind: str | None = None,
    *,
    asked: Mapping[str, Mistake | None] | None = None,
    also: Callable[[Any], tuple[str, Mistake] | None] = lambda part: None,
) -> None:
    """Judge a class or function as `transformer-edu check` does, without a process of its own.

    Each part of the book has a kind, later ones too: "rms_norm", "latent_attention", "mixture_of_experts" and so on;
    `transformer-edu check --help` says how each is called. Without one, the name of `part` says what it is. Your own
    names, layouts and conventions are tried, and what is another convention is printed as a remark.

    Args:
        part: the class or function.
        kind: what it is; else by its name.
        asked: words of remarks, each with the mistake that this convention is in an exercise; None: it is asked for.
        also: looks at what is right so far, and returns where it is wrong all the same, and how.

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
    detail, fault, where, remarks = verdict.detail, verdict.fault, verdict.where, verdict.remarks
    if asked and fault is None:
        remarks = tuple(part for remark in remarks for part in remark.split("; "))
        for words, mistake in asked.items():
            found = [remark for remark in remarks if words in remark]
            if found and mistake is not None:
                [detail, *_], fault, where = found, mistake, "which is asked for otherwise here"
                break
            remarks = tuple(remark for remark in remarks if remark not in found)
    if fault is None:
        with laboratory():
            where, fault = also(part) or (where, None)
    if fault is not None:
        shown = [wrapped(f"    {printable(detail)}", hanging=2), ""] if detail else []
        lines = [f"✗ {kind}, {where or 'as it is made'}", "", *shown, *diagnosis(None, fault, True)]
        raise CheckFailed("\n".join(lines), kind, where, fault)
    remarked = [wrapped(f"  Remark: {printable(remark)}", hanging=10) for remark in remarks]
    print(f"✓ {kind}: {verdict.passed} experiments passed", *remarked, sep="\n")
