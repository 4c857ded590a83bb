"""`transformer-edu check`: what is wrong with somebody's Transformer, part by part and by name."""

import argparse
import json
import shutil
import sys
from pathlib import Path
from typing import Any

from transformer_edu.book.exercises.judge.judging import LONGEST, Judgement, guess, judge_file
from transformer_edu.book.exercises.judge.kinds import KINDS
from transformer_edu.book.sandbox.sandbox import Limits
from transformer_edu.support.output import reader_may_leave, say
from transformer_edu.support.text import printable, wrapped

PAGE = 72  # columns, where there is no terminal
HANGING = 10  # to below the text beside "Symptom:"
STATUS = "exit status: 0 right, 1 a fault, 2 could not be run or judged"
TRUST = """\
what a ✓ is worth: the file runs in a process of its own, which on Linux may neither write outside a folder of its
own, nor start programs, nor reach a network, nor do anything to other processes; a line says what is not protected
on this system. It can read every file that you can read, print it, and use the processor until --seconds are over.
And what is compared is what that process answers: code that means to deceive can answer in the place of what it is
asked for, and gets its ✓. Of such code, read it.

FILE.py runs by itself, or in its package, where its folder has an __init__.py. Other modules are found where PYTHONPATH
names their folder. A configuration object is made up where a class asks for one, arguments are told by their names, and
masks are handed over in every usual way. What is right in another convention is right, with a remark. Where nothing is
sure, it says so; --adapter names a function that makes of the object what is called as above, for instance
  def adapt(cls):                       # in fit.py: check model.py:Attention --adapter fit.py:adapt
      return lambda d_model, num_heads, dropout: cls(Config(hidden=d_model, heads=num_heads))"""


def add_parser(commands: Any) -> None:
    """Add the command."""
    kinds = "\n".join(f"  {kind.name:23} {kind.is_called}" for kind in KINDS.values())
    parser = commands.add_parser(
        "check",
        help="judge a component of a Python file: right, or what is wrong with it",
        epilog=f"kinds, and how each is called:\n{kinds}\n\n{STATUS}\n\n{TRUST}",
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
    width = shutil.get_terminal_size().columns if sys.stdout.isatty() else PAGE
    lines = [as_json(found)] if options.json else [wrapped(line, width, HANGING) for line in in_words(found, name)]
    with reader_may_leave():
        print(*lines, sep="\n", flush=True)
    sys.exit(found.status)


def place_of(option: str, text: str) -> tuple[Path, str]:
    """File and name of FILE.py:NAME; ValueError for anything else."""
    file, colon, name = text.rpartition(":")
    if not colon or not file.endswith(".py") or not name:
        raise ValueError(f"{option} must be a file and a name, as in model.py:Attention, got {text!r}")
    return Path(file), name


def in_words(found: Judgement, name: str) -> list[str]:
    """The verdict, for people, in lines of any length; what others wrote begins none of them."""
    verdict = found.verdict
    if verdict is None:
        lines = [f"? {name} ({found.kind}): it {printable(found.trouble or '')}"]
        printed = found.printed.strip().splitlines()[-3:]
        lines += ["  It printed:", *(f"    {printable(line, LONGEST)}" for line in printed)] if printed else []
    elif verdict.fault is None:
        lines = [f"✓ {name} ({found.kind}): {verdict.passed} experiments, nothing wrong"]
    else:
        lines = [f"✗ {name} ({found.kind}): {printable(verdict.fault.name)}"]
        told = {
            "Seen in": verdict.where,
            "It said": printable(verdict.detail),
            "Why": verdict.fault.why,
            "Symptom": verdict.fault.symptom,
            "Hint": verdict.fault.hint,
        }
        lines += [f"  {label + ':':9} {text}" for label, text in told.items() if text]
    remarks = verdict.remarks if verdict else ()
    lines += [f"  Remark:   {printable(remark)}" for remark in remarks]
    return lines + [f"  Not protected here: {printable(sentence)}" for sentence in found.unprotected]


def as_json(found: Judgement) -> str:
    """The verdict, for programs."""
    verdict = found.verdict
    fault = verdict.fault if verdict else None
    return json.dumps(
        {
            "status": found.status,
            "kind": found.kind,
            "trouble": found.trouble and printable(found.trouble),
            "fault": fault
            and {"name": printable(fault.name), "why": fault.why, "symptom": fault.symptom, "hint": fault.hint},
            "known": bool(verdict and verdict.known),
            "where": verdict.where if verdict else "",
            "detail": printable(verdict.detail) if verdict else "",
            "remarks": [printable(remark) for remark in verdict.remarks] if verdict else [],
            "not_protected": [printable(sentence) for sentence in found.unprotected],
        },
        ensure_ascii=False,
        allow_nan=False,
        indent=1,
    )
