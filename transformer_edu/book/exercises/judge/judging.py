"""Judge one component of a file: which kind it is, its run apart, and the verdict."""

import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from torch import Tensor

from transformer_edu.book.exercises.checks.engine.laboratory import laboratory
from transformer_edu.book.exercises.judge.experiment import Seen
from transformer_edu.book.exercises.judge.kind import Kind, Parameters
from transformer_edu.book.exercises.judge.kinds import KINDS
from transformer_edu.book.exercises.judge.masks import Way, Ways
from transformer_edu.book.exercises.judge.packing import pack, unpack, unpack_look, unpack_seen
from transformer_edu.book.exercises.judge.verdict import Component, Undecided, Verdict, judge
from transformer_edu.book.sandbox.sandbox import Ended, Limits, conversation
from transformer_edu.support.text import printable

LONGEST = 1000  # characters of an error's text
MOST = 1 << 20  # numbers: a Transformer has 20,000 at the sizes at which it is tried
NUMBERS = "output", "again", "mean", "spread"
SENTENCES = 10  # on what is not protected
GUESSES = {  # the first whose pattern is found in the name
    "kv_cache": r"cache",
    "beam_search": r"beam",
    "greedy_search": r"greedy",
    "label_smoothing": r"smooth|cross_?entropy|^loss|_loss",
    "warmup_schedule": r"warm_?up|noam|sched|lr|learning_?rate|^rate$",
    "rotary": r"rotary|rope",
    "alibi": r"alibi|linear_?bias",
    "latent_attention": r"latent|mla",
    "sink_attention": r"sink",
    "capped_attention": r"cap(?!t)",
    "qk_norm_attention": r"(qk|query_?key)_?norm|normed_?att",
    "top_k": r"top_?k",
    "top_p": r"top_?p|nucleus",
    "mixture_of_experts": r"mixture|expert|moe",
    "gated_feed_forward": r"gated|glu",
    "grouped_query_attention": r"grouped|gqa|multi_?query",
    "causal_self_attention": r"causal\w*att",
    "window_mask": r"window|sliding|local\w*mask",
    "decoder_only_block": r"decoder_?only|gpt\w*_?(block|layer)",
    "language_model": r"language|^gpt|^llama|(^|_)lm$",
    "causal_mask": r"causal|subsequent|future|look_?ahead",
    "padding_mask": r"pad\w*_?mask|mask\w*_?pad",
    "rms_norm": r"rms",
    "residual": r"residual|add_?(and_?)?norm|skip|sub_?layer_?conn",
    "decoder_layer": r"dec\w*_?(layer|block)",
    "encoder_layer": r"enc\w*_?(layer|block)|^block$",
    "layer_norm": r"layer_?norm|^ln$|^norm$",
    "positional_encoding": r"pos\w*_?(enc|emb)|sinusoid|^pe$",
    "input_embedding": r"emb",
    "multi_head_attention": r"multi_?head|mha|head_?attention",
    "self_attention": r"self_?att",
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
    raise ValueError(f"the name {name!r} does not say what it is: name its kind (--as), one of {', '.join(KINDS)}")


def kind_named(kind: str) -> Kind:
    """The kind of this name; ValueError if there is none."""
    if kind not in KINDS:
        raise ValueError(f"kind must be one of {', '.join(KINDS)}, got {kind!r}")
    return KINDS[kind]


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
    kind_named(kind)
    for file in [path, *([adapter[0]] if adapter else [])]:
        if not file.is_file():
            raise ValueError(f"FILE must be a Python file, got {str(file)!r}, which is none")
    order = {
        "path": str(path.resolve()),
        "name": name,
        "kind": kind,
        "adapter": [str(adapter[0].resolve()), adapter[1]] if adapter else None,
    }
    unprotected: tuple[str, ...] = ()
    limits = limits or Limits()
    with conversation("transformer_edu.book.exercises.judge.worker", json.dumps(order).encode(), limits) as talk:
        component = Remote(talk.ask)
        verdict, trouble = None, None
        try:
            told = component.load()
            unprotected = tuple(printable(str(sentence), LONGEST) for sentence in told["unprotected"][:SENTENCES])
            trouble = None if told["trouble"] is None else printable(str(told["trouble"]), LONGEST)
            if trouble is None:
                verdict, trouble = judged(kind, component, limits.seconds)
        except (ValueError, LookupError, TypeError) as error:
            trouble = f"could not be judged: {error}"
        except Ended as end:
            trouble = end.trouble
    return Judgement(kind, verdict, trouble, unprotected, talk.printed)


class Remote:
    """A calculator in a process of its own."""

    def __init__(self, ask: Callable[[bytes], bytes]):
        self._ask = ask

    def load(self) -> dict[str, Any]:
        """What there is to tell of the code before it is looked at."""
        return unpack(self._ask(pack({"do": "load"})))[0]

    def observe(
        self, ways: Ways = (), other: bool = False, numbers: Tensor | None = None
    ) -> tuple[list[Seen], Parameters]:
        """As Calculator's; Troubled where the code does what it may not."""
        given = {} if numbers is None else {"numbers": numbers}
        words, tensors = self._asked({"do": "observe", "ways": ways, "other": other}, given)
        if words.get("trouble"):
            raise Troubled(printable(str(words["trouble"]), LONGEST))
        return _checked(*unpack_seen(words, tensors))

    def masked(self, place: int, way: Way, numbers: Tensor) -> list[Seen]:
        """As Calculator's."""
        return unpack_seen(*self._asked({"do": "masked", "place": place, "way": way}, {"numbers": numbers}))[0]

    def look(self, numbers: Tensor, other: bool = False) -> tuple[Tensor, Tensor]:
        """As Calculator's."""
        found = self._asked({"do": "look", "other": other}, {"numbers": numbers})[1]
        return unpack_look(found, len(numbers))

    def cut(self, numbers: Tensor, other: bool = False) -> list[str]:
        """As Calculator's."""
        words = self._asked({"do": "cut", "other": other}, {"numbers": numbers})[0]
        return [printable(str(name), LONGEST) for name in words.get("names", [])[:SENTENCES]]

    def _asked(
        self, words: dict[str, Any], tensors: dict[str, Tensor] | None = None
    ) -> tuple[dict[str, Any], dict[str, Tensor]]:
        found = unpack(self._ask(pack(words, tensors)))
        if "error" in found[0]:
            raise RuntimeError(printable(str(found[0]["error"]), LONGEST))
        return found


class Troubled(Exception):  # noqa: N818 (a finding)
    """What is observed cannot be trusted; the text says why."""


def judged(kind: str, component: Component, seconds: float) -> tuple[Verdict | None, str | None]:
    """The verdict on what a process answers, or why there is none.

    Answers may be forged, so that nothing is sure of them: what cannot be judged is no fault of anybody's code.
    """
    try:
        with laboratory():
            verdict = judge(KINDS[kind], component, seconds)
    except Ended:
        raise
    except Troubled as problem:
        return None, str(problem)
    except Undecided as problem:
        return None, f"could not be judged: {problem}"
    except Exception as error:
        return None, f"could not be judged: its process answered what no component does ({type(error).__name__})"
    if verdict.fault is not None and verdict.fault.name == "it stops with an error":
        return None, f"could not be run: {verdict.detail}. It was called as {KINDS[kind].is_called}"
    return verdict, None


def _checked(seen: list[Seen], learned: Parameters) -> tuple[list[Seen], Parameters]:
    """What was observed, with the words that the code's own errors brought in made harmless, each a line.

    Raises:
        ValueError: there are words in the place of numbers, numbers of shapes that do not belong together, or
            parameters without end.
    """
    if len(learned.numbers) > MOST:
        raise ValueError(f"no component that is tried here learns more than {MOST} numbers")
    for observation in seen:
        numbers = [observation[name] for name in NUMBERS if name in observation]
        shapes = {getattr(value, "shape", None) for value in numbers}
        if None in shapes or ("spread" in observation and len(shapes) > 1) or not seen[0]:
            raise ValueError("no observation is like this")
    return [
        {name: printable(value, LONGEST) if isinstance(value, str) else value for name, value in observation.items()}
        for observation in seen
    ], learned
