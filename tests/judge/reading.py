"""Reads the components that other people wrote, and judges them in this process."""

import importlib.util
import json
import re
import sys
import tomllib
from pathlib import Path

import pytest

from transformer_edu.book.exercises.checks.engine.laboratory import laboratory
from transformer_edu.book.exercises.judge.calculator import Calculator
from transformer_edu.book.exercises.judge.kinds import KINDS
from transformer_edu.book.exercises.judge.verdict import Undecided, judge

COMPONENTS = Path(__file__).parent / "components"
GAPS = json.loads((COMPONENTS / "gaps.json").read_text(encoding="utf-8"))
WRONG = tomllib.loads((COMPONENTS / "wrong.toml").read_text(encoding="utf-8"))
# Of the kinds that take long, one wrong component is judged each time, the others once a week.
LARGE = {"attention", "multi_head_attention", "encoder_layer", "decoder_layer", "transformer"}
LARGE |= {"decoder_only_block", "language_model"}
PARTS = [
    pytest.param(kind, some, marks=mark, id=f"{kind}-{name}")
    for kind in KINDS
    for some, mark, name in (
        [(slice(1), pytest.mark.long, "one"), (slice(1, None), pytest.mark.weekly, "others")]
        if kind in LARGE
        else [(slice(None), pytest.mark.long, "all")]
    )
]


def gaps(which, kind):
    """The known gaps of one sort, of one kind of component."""
    return {name for name in GAPS[which] if name.startswith(f"{kind}__")}


def right_text(name):
    """The text of a right component."""
    return (COMPONENTS / "right" / f"{name}.py").read_text(encoding="utf-8")


def wrong_text(name):
    """The text of a wrong component: as it was written, or a right one with its edits made."""
    one = WRONG[name]
    if "code" in one:
        return f"# kind: {name.split('__')[0]}\n# name: {one['name']}\n{one['code']}"
    base = COMPONENTS / "bases" / f"{one['base']}.py"
    text = base.read_text(encoding="utf-8") if base.exists() else right_text(one["base"])
    for old, new in one["edits"]:
        assert old in text
        text = text.replace(old, new, 1)
    return text


def verdict(folder, name, text):
    """What the judge says of the component in this text; None if it cannot read what it has learned."""
    path = folder / f"{name}.py"
    path.write_text(text, encoding="utf-8")
    kind, target = (re.search(rf"{word}:\s*([\w.]+)", text)[1] for word in ("kind", "name"))
    spec = importlib.util.spec_from_file_location(name, path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # dataclasses look there
    with laboratory():
        spec.loader.exec_module(module)
        try:
            return judge(KINDS[kind], Calculator(KINDS[kind], getattr(module, target)))
        except Undecided:
            return None
