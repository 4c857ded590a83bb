"""Judge one component of a file: which kind it is, its run apart, and the verdict."""

import json
import re
from dataclasses import dataclass
from pathlib import Path

from transformer_edu.book.exercises.checks.engine.laboratory import laboratory
from transformer_edu.book.exercises.judge.experiment import Seen
from transformer_edu.book.exercises.judge.kind import Parameters
from transformer_edu.book.exercises.judge.kinds import KINDS
from transformer_edu.book.exercises.judge.packing import Runs, unpack
from transformer_edu.book.exercises.judge.verdict import Unreadable, Verdict, judge
from transformer_edu.book.sandbox.sandbox import Limits, run
from transformer_edu.support.text import printable

LONGEST = 1000  # characters of an error's text
MOST = 2000  # parameters: a Transformer of six layers has 260
NUMBERS = "output", "again", "mean", "spread"
SENTENCES = 10  # on what is not protected
GUESSES = {  # the first whose pattern is found in the name
    "kv_cache": r"cache",
    "beam_search": r"beam",
    "greedy_search": r"greedy",
    "label_smoothing": r"smooth|cross_?entropy|^loss|_loss",
    "warmup_schedule": r"warm_?up|noam|sched|lr|learning_?rate|^rate$",
    "causal_mask": r"causal|subsequent|future|look_?ahead",
    "padding_mask": r"pad\w*_?mask|mask\w*_?pad",
    "rms_norm": r"rms",
    "residual": r"residual|add_?(and_?)?norm|skip|sub_?layer_?conn",
    "decoder_layer": r"dec\w*_?(layer|block)",
    "encoder_layer": r"enc\w*_?(layer|block)|^block$",
    "layer_norm": r"layer_?norm|^ln$|^norm$",
    "positional_encoding": r"pos\w*_?(enc|emb)|sinusoid|^pe$",
    "input_embedding": r"emb",
    "multi_head_attention": r"multi_?head|mha|self_?attention$|head_?attention",
    "attention": r"atten|sdpa|dot_?product",
    "feed_forward": r"feed|ffn|^ff$|mlp",
    "transformer": r"transformer|seq2seq|encoder_?decoder|^model$|translat|build",
}


@dataclass(frozen=True)
class Judgement:
    """`verdict` is None where the code could not be run; `trouble` then says why."""

    kind: str
    verdict: Verdict | None
    trouble: str | None
    unprotected: tuple[str, ...]
    printed: str

    @property
    def status(self) -> int:
        """0 right, 1 a fault, 2 could not be run."""
        if self.verdict is None:
            return 2
        return 0 if self.verdict.right else 1


def guess(name: str) -> str:
    """The kind that a component's name speaks of; ValueError if it speaks of none."""
    spoken = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name.rpartition(".")[2]).lower()
    for kind, pattern in GUESSES.items():
        if re.search(pattern, spoken):
            return kind
    raise ValueError(f"the name {name!r} does not say what it is: name one with --as, of {', '.join(KINDS)}")


def judge_file(
    path: Path, name: str, kind: str, adapter: tuple[Path, str] | None = None, limits: Limits | None = None
) -> Judgement:
    """Judge the object `name` of a Python file as a component of this kind.

    Args:
        path: the file; it runs in a process of its own.
        name: the name of the function or class in it, dotted if it stands in a class.
        kind: one of `KINDS`.
        adapter: file and name of a function that makes, of the object, one that is called as the kind is.
        limits: of time, memory and output of that process.

    Raises:
        ValueError: there is no such kind, or no such file.
    """
    if kind not in KINDS:
        raise ValueError(f"kind must be one of {', '.join(KINDS)}, got {kind!r}")
    for file in [path, *([adapter[0]] if adapter else [])]:
        if not file.is_file():
            raise ValueError(f"FILE must be a Python file, got {str(file)!r}, which is none")
    order = {
        "path": str(path.resolve()),
        "name": name,
        "kind": kind,
        "adapter": [str(adapter[0].resolve()), adapter[1]] if adapter else None,
    }
    outcome = run("transformer_edu.book.exercises.judge.worker", json.dumps(order).encode(), limits or Limits())
    verdict, trouble, unprotected = None, outcome.trouble, []
    if outcome.answer is not None:
        try:
            runs, told = unpack(outcome.answer)
            unprotected = [printable(str(one), LONGEST) for one in told["unprotected"][:SENTENCES]]
            trouble = None if told["trouble"] is None else printable(str(told["trouble"]), LONGEST)
        except (ValueError, LookupError, TypeError) as error:
            trouble = f"could not be judged: {error}"
        if trouble is None:
            verdict, trouble = _judged(kind, runs)
    return Judgement(kind, verdict, trouble, tuple(unprotected), outcome.printed)


def _judged(kind: str, runs: Runs) -> tuple[Verdict | None, str | None]:
    """The verdict on what a process answered, or why there is none.

    Answers may be forged, so that nothing is sure of them: what cannot be judged is no fault of anybody's code.
    """
    try:
        with laboratory():
            verdict = judge(KINDS[kind], {name: _checked(*one) for name, one in runs.items()})
    except Unreadable as problem:
        return None, f"could not be judged: {problem}. An adapter can hand over its parts one by one"
    except Exception as error:
        return None, f"could not be judged: its process answered what no component does ({type(error).__name__})"
    if verdict.fault is not None and verdict.fault.name == "it stops with an error":
        return None, f"could not be run: {verdict.detail}. It was called as {KINDS[kind].is_called}"
    return verdict, None


def _checked(seen: list[Seen], learned: Parameters) -> tuple[list[Seen], Parameters]:
    """The same with the words that the code's own errors brought in made harmless, each a line.

    Raises:
        ValueError: there are words in the place of numbers, numbers of shapes that do not belong together, or
            parameters without end.
    """
    if len(learned.named) > MOST:
        raise ValueError(f"no component has more than {MOST} parameters")
    for one in seen:
        numbers = [one[name] for name in NUMBERS if name in one]
        shapes = {getattr(value, "shape", None) for value in numbers}
        if None in shapes or ("spread" in one and len(shapes) > 1) or not seen[0]:
            raise ValueError("no observation is like this")
    return [
        {name: printable(value, LONGEST) if isinstance(value, str) else value for name, value in one.items()}
        for one in seen
    ], learned
