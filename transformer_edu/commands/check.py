"""`transformer-edu check`: what is wrong with somebody's Transformer, part by part and by name."""

import argparse
import json
import sys
from pathlib import Path
from typing import Any

from transformer_edu.commands.output import reader_may_leave, say
from transformer_edu.judge.judging import Judgement, guess, judge_file
from transformer_edu.judge.kinds import KINDS
from transformer_edu.judge.sandbox import Limits


def add_parser(commands: Any) -> None:
    """Add the command."""
    kinds = "\n".join(f"  {kind.name:22}{kind.is_called}" for kind in KINDS.values())
    parser = commands.add_parser(
        "check",
        help="judge a component of a Python file: right, or what is wrong with it",
        epilog=f"kinds, and how each is called:\n{kinds}\n\nexit status: 0 right, 1 a fault, 2 could not be run",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("what", metavar="FILE.py:NAME", help="a function or class, and the file that it stands in")
    parser.add_argument("--as", dest="kind", metavar="KIND", choices=list(KINDS), help="what it is; else by its name")
    parser.add_argument("--adapter", metavar="FILE.py:FUNCTION", help="makes of it what is called as the kind is")
    parser.add_argument("--json", action="store_true", help="print the verdict as JSON")
    parser.add_argument("--seconds", type=float, default=60.0, help="stop it after so many seconds (60)")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> None:
    """Judge, print, and leave with the status that says it in a number."""
    path, name = place_of("FILE.py:NAME", options.what)
    adapter = place_of("--adapter", options.adapter) if options.adapter else None
    if not options.seconds > 0:
        raise ValueError(f"--seconds must be above 0, got {options.seconds:g}")
    kind = options.kind or guess(name)
    if options.kind is None and not options.json:
        say(f"{name} is judged as {kind}; another kind is named with --as")
    found = judge_file(path, name, kind, adapter, Limits(seconds=options.seconds))
    with reader_may_leave():
        print(as_json(found) if options.json else "\n".join(in_words(found, name)), flush=True)
    sys.exit(found.status)


def place_of(option: str, text: str) -> tuple[Path, str]:
    """File and name of FILE.py:NAME; ValueError for anything else."""
    file, colon, name = text.rpartition(":")
    if not colon or not file.endswith(".py") or not name:
        raise ValueError(f"{option} must be a file and a name, as in model.py:Attention, got {text!r}")
    return Path(file), name


def in_words(found: Judgement, name: str) -> list[str]:
    """The verdict, for people."""
    verdict = found.verdict
    if verdict is None:
        lines = [f"? {name} ({found.kind}): it {found.trouble}"]
        printed = found.printed.strip().splitlines()[-3:]
        lines += ["  It printed:", *(f"    {line}" for line in printed)] if printed else []
    elif verdict.fault is None:
        lines = [f"✓ {name} ({found.kind}): {verdict.passed} experiments, nothing wrong"]
    else:
        lines = [f"✗ {name} ({found.kind}): {verdict.fault.name}"]
        told = {
            "Seen in": verdict.where,
            "It said": verdict.detail,
            "Why": verdict.fault.why,
            "Symptom": verdict.fault.symptom,
            "Hint": verdict.fault.hint,
        }
        lines += [f"  {label + ':':9} {text}" for label, text in told.items() if text]
    remarks = verdict.remarks if verdict else ()
    lines += [f"  Remark:   {remark}" for remark in remarks]
    return lines + [f"  Not protected here: {one}" for one in found.unprotected]


def as_json(found: Judgement) -> str:
    """The verdict, for programs."""
    verdict = found.verdict
    fault = verdict.fault if verdict else None
    return json.dumps(
        {
            "status": found.status,
            "kind": found.kind,
            "trouble": found.trouble,
            "fault": fault and {"name": fault.name, "why": fault.why, "symptom": fault.symptom, "hint": fault.hint},
            "known": bool(verdict and verdict.known),
            "where": verdict.where if verdict else "",
            "detail": verdict.detail if verdict else "",
            "remarks": list(verdict.remarks) if verdict else [],
            "not_protected": list(found.unprotected),
        },
        ensure_ascii=False,
        indent=1,
    )
