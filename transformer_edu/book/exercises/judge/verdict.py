"""What the observations say: right, or which mistake; formed from plain tensors, away from the code that is judged."""

import math
import operator
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from itertools import chain, islice, product
from typing import Any, Protocol, TypeVar

import torch
from torch import Tensor

from transformer_edu.book.exercises.checks.engine import Mistake
from transformer_edu.book.exercises.judge.calculator import FROZEN_TABLE
from transformer_edu.book.exercises.judge.experiment import (
    ALONE,
    FEW,
    FIXED,
    GIVEN,
    KEPT,
    LEFT_BEHIND,
    LONG,
    OVERFLOW,
    PASSES,
    TOO_SLOW,
    UNASKED,
    WIDENED,
    Experiment,
    Masked,
    Seen,
    copies,
    in_words,
)
from transformer_edu.book.exercises.judge.kind import Kind, Parameters
from transformer_edu.book.exercises.judge.making import ONE_VOCABULARY
from transformer_edu.book.exercises.judge.masks import BOOLEAN, OF_KEYS, OURS, WAYS, Way, Ways, finite
from transformer_edu.book.exercises.judge.masks import in_words as in_words_of_masks
from transformer_edu.book.exercises.judge.mistakes import named
from transformer_edu.book.exercises.judge.model import IN_ATTENTION
from transformer_edu.book.exercises.judge.numbers import ALL_ROUNDS, DEAD, EVEN, Function, Numbers, Reference

REFUSED = "ValueError", "AssertionError", "NotImplementedError"  # errors by which code says what it does not take
CHANCE = "two calls on the same input differ: something is kept between them, or dropout or chance plays a part"


@dataclass(frozen=True)
class Verdict:
    """`fault` is None where the component is right; `where` is the experiment that shows it."""

    kind: str
    fault: Mistake | None = None
    known: bool = True
    where: str = ""
    detail: str = ""
    remarks: tuple[str, ...] = ()
    passed: int = 0

    @property
    def right(self) -> bool:
        """Whether nothing but remarks was found."""
        return self.fault is None


T = TypeVar("T")


class Undecided(Exception):  # noqa: N818 (a finding)
    """Nothing sure can be said of a component; the text says why, and what would help."""


class Component(Protocol):
    """What is judged: a `Calculator`, here or in a process of its own."""

    def observe(
        self, ways: Ways = (), other: bool = False, numbers: Tensor | None = None
    ) -> tuple[list[Seen], Parameters]:
        """What it does in every experiment."""

    def masked(self, place: int, way: Way, numbers: Tensor) -> list[Seen]:
        """What it answers with a mask at one place."""

    def look(self, numbers: Tensor, other: bool = False) -> tuple[Tensor, Tensor]:
        """Its answer with these numbers, and the gradient by each."""

    def cut(self, numbers: Tensor, other: bool = False) -> list[str]:
        """The tensors whose gradient is not how the answer changes with them."""


@dataclass(frozen=True)
class Run:
    """What a component did with masks in one convention, at one of its sizes, and what its numbers are."""

    kind: Kind
    seen: list[Seen]
    parameters: Parameters
    numbers: Numbers
    ways: Ways = ()

    @property
    def has_idle_norm(self) -> bool:
        """Whether gains change nothing, which no bias of keys is."""
        return any(bool(ones.all()) for ones in self._dead.values())

    @cached_property
    def idle(self) -> list[str]:
        """The tensors that change nothing, more than the biases of keys do; gains first, which no such bias is."""
        usual = max((layout.dead - layout.rows for layout in self.kind.layouts(self.parameters)), default=0)
        dead = sorted(self._dead, key=lambda name: not bool(self._dead[name].all()))
        return dead if self.has_idle_norm or sum(map(len, self._dead.values())) > usual else []

    @cached_property
    def _dead(self) -> dict[str, Tensor]:
        """The tensors that change nothing, and which of their numbers started as 1."""
        if not self.numbers.works or not self.parameters.made:
            return {}
        names: list[str] = []
        lengths = list(self.numbers.lengths)
        for name, length in zip(self.parameters.names, self.parameters.lengths, strict=True):
            rows = length // lengths[len(names)] if length else 1  # of a tensor for all layers
            names += [name] if rows == 1 else [f"{name}[{row}]" for row in range(rows)]
        each = zip(names, self.numbers.alive.split(lengths), self.numbers.ones.split(lengths), strict=True)
        return {name: ones for name, some, ones in each if len(some) and not bool(some.any())}

    @cached_property
    def got(self) -> list[Any]:
        """What it answered in each experiment, or its error in words."""
        return [outcome.get("output", outcome.get("error")) for outcome in self.seen]

    @cached_property
    def plain(self) -> list[int]:
        """The experiments whose numbers are compared with what is right and what is known."""
        pairs = enumerate(zip(self.kind.experiments, self.seen, strict=True))
        return [i for i, (case, found) in pairs if case.how == "plain" and not case.remark and "not asked" not in found]


def answer_of(kind: Kind, fn: Function, index: int) -> Tensor | str:
    """What a function answers in one experiment of its kind, or its error in words."""
    experiment = kind.experiments[index]
    inputs = tuple(copies(tuple(item.mask if isinstance(item, Masked) else item for item in experiment.inputs)))
    if kind.may_be_function:
        inputs = (*inputs, *experiment.options.get("learned", ()))
    try:
        result = fn(*inputs)
    except Exception as error:
        return in_words(error)
    first = result[0] if isinstance(result, tuple | list) else result
    return first.detach() if isinstance(first, Tensor) else torch.tensor(float(first))


def same(expected: Any, got: Any, tolerance: float) -> bool:
    """Two answers: tensors of one shape with the same numbers up to rounding; two errors of one kind."""
    if isinstance(expected, str) or isinstance(got, str) or got is None:
        return isinstance(expected, str) and isinstance(got, str) and expected.split(":")[0] == got.split(":")[0]
    if expected.shape != got.shape or expected.is_complex() or got.is_complex():
        return False
    scale = float(expected.double().nan_to_num(0, 0, 0).abs().max()) if expected.numel() else 1.0
    return torch.allclose(
        got.double(), expected.double(), rtol=tolerance, atol=tolerance / 10 * max(scale, 1e-3), equal_nan=True
    )


Best = tuple[str, Function, Run, list[int]]  # a remark, what is right, the run it was compared with, where it differs


def judge(kind: Kind, component: Component, seconds: float = math.inf) -> Verdict:
    """The best that can be said of a component, over all the conventions in which it was handed its masks.

    Raises:
        Undecided: nothing sure can be said.
    """
    judging = _Judging(kind, component, time.monotonic() + seconds)
    start = judging.run(judging.ours)
    early, sure = _before_numbers(start), True
    if early is None:
        early, sure = _cut_off(start)
    if early is not None and not sure:
        with judging.briefly():  # a gradient that is another: a known mistake may say why
            found = _of_numbers(judging, start)
            early = found if found.fault is not None and found.known else early
    if early is not None:
        return _with_another(judging, start, early)
    return _of_numbers(judging, start)


NAMING = 20.0  # seconds, for what is idle, for a second fault, and for what is wrong at other sizes only
# a known mistake, the run it was compared with, the experiments where it differs
Tried = tuple[Mistake, Run, list[int]]


@dataclass
class _Judging:
    """A component's runs, each made when it is asked for, and its numbers, which are the same in all of them."""

    kind: Kind
    component: Component
    until: float
    whole: bool = False  # whether a known mistake has to explain every answer
    runs: dict[tuple[Ways, bool], Run] = field(default_factory=dict)
    numbers: dict[bool, Numbers] = field(default_factory=dict)
    answers: dict[tuple[int, Way], list[Seen]] = field(default_factory=dict)
    tried: dict[int, list[Tried]] = field(default_factory=dict)

    def mistakes(self, start: Run) -> Iterator[Tried]:
        """The known mistakes that begin as a component does; a second time from memory."""
        if id(start) in self.tried:
            yield from self.tried[id(start)]
            return
        found: list[Tried] = []
        for tried in self.compared(start, start.kind.wrongs(self.arranged(start))):
            found.append(tried)
            yield tried
        if start.numbers.left > 0:  # else some were not tried for want of rounds
            self.tried[id(start)] = found

    def idling(self, start: Run) -> Iterator[Tried]:
        """Those that have all the numbers of a component, also the idle ones, or none at all: so some are idle."""
        count = len(start.parameters.numbers)
        wrongs = start.kind.wrongs(self.arranged(start))
        yield from self.compared(
            start, ((m, r) for m, r in wrongs if not isinstance(r, Reference) or r.size in (0, count))
        )

    def arranged(self, start: Run) -> Parameters:
        """With what is right where some parts are silent: a mistake in those does not hide how the rest is made."""
        heard = start.numbers.heard
        if not heard and start.numbers.works:
            for reference in start.kind.usual(start.parameters):
                self.in_time()
                start.numbers.in_stages(reference, right=True)
        return replace(start.parameters, arranged=tuple(heard[max(heard)]) if heard else ())

    def compared(
        self, start: Run, wrongs: Iterable[tuple[T, Reference | Function]]
    ) -> Iterator[tuple[T, Run, list[int]]]:
        """Those that begin as a component does, each with the run it was compared with, and where it differs."""
        for told, fn in self.fitting(start, wrongs):
            run = self.run(self.ways(fn)) if start.kind.places else start
            yield told, run, _differing(run, fn)

    def fitting(
        self, run: Run, references: Iterable[tuple[T, Reference | Function]], right: bool = False
    ) -> Iterator[tuple[T, Function]]:
        """Those that begin as the component does, for some order of its numbers; Undecided when it is too late."""
        later: list[tuple[T, Reference | Function]] = []

        def ordered() -> Iterator[tuple[T, Reference | Function]]:
            for told, reference in references:
                self.in_time()
                if isinstance(reference, Reference) and reference.stages and not run.numbers.parted(reference, 0):
                    later.append((told, reference))
                else:
                    yield told, reference
            yield from later if len(run.numbers.heard) < 2 else ()

        for told, reference in ordered():
            self.in_time()
            fn = run.numbers.bind(reference, right)
            if fn is not None and _agrees_early(run, fn):
                yield told, fn

    def in_time(self) -> None:
        """Undecided, when it is too late."""
        if time.monotonic() > self.until:
            raise Undecided("judging it takes longer than --seconds allows")

    @contextmanager
    def briefly(self) -> Iterator[None]:
        """For `NAMING` seconds at most: what is undecided inside is left, and there is other time after it."""
        until, self.until = self.until, min(self.until, time.monotonic() + NAMING)
        with suppress(Undecided):
            yield
        self.until = until

    @property
    def ours(self) -> Ways:
        """Masks as they are in this book."""
        return (OURS,) * len(self.kind.places)

    def run(self, ways: Ways, other: bool = False) -> Run:
        """What it does with masks handed over so."""
        if (ways, other) not in self.runs:
            kind = self.kind.elsewhere if other and self.kind.elsewhere else self.kind
            seen, parameters = self.component.observe(() if other else ways, other)
            if other not in self.numbers:
                look = partial(self.component.look, other=other)
                self.numbers[other] = Numbers(
                    look,
                    partial(self.component.cut, other=other),
                    parameters.numbers,
                    parameters.ones,
                    kind.experiments[0].inputs,
                    parameters.lengths,
                )
            numbers = self.numbers[other]
            parameters = sized(kind, replace(parameters, alive=numbers.matter if parameters.made else 0))
            numbers.lengths = _unstacked(kind, parameters)
            known = any(True for _ in chain(kind.rights(parameters), kind.usual(parameters)))
            idle = numbers.works and not bool(numbers.alive.all()) and known
            if idle and (kind.places or "num_layers" in kind.options):
                # what changes nothing at first may do so with a mask: one value for it, here and in every reference;
                # but for matrices, whose parts would all be the same
                most = kind.options.get("d_model", math.inf)
                each = numbers.alive.split(list(parameters.lengths))
                dead = torch.cat([~part & (bool(part.any()) | (len(part) <= most)) for part in each])
                numbers.values = torch.where(dead, DEAD, numbers.values)
                seen, _ = self.component.observe(() if other else ways, other, numbers.values)
            self.runs[ways, other] = Run(kind, seen, parameters, numbers, ways)
        return self.runs[ways, other]

    def ways(self, fn: Function) -> Ways:
        """The ways to hand over masks in which the component is most like this function."""
        chosen = []
        for place in self.kind.places:
            indexes, most, best = self.kind.masked_at(place), 0, OURS
            expected = [answer_of(self.kind, fn, i) for i in indexes]
            for way in WAYS:
                if (place, way) not in self.answers:
                    self.answers[place, way] = self.component.masked(place, way, self.numbers[False].values)
                right = sum(
                    same(wanted, outcome.get("output", outcome.get("error")), self.kind.experiments[i].tolerance)
                    for i, wanted, outcome in zip(indexes, expected, self.answers[place, way], strict=True)
                    if outcome
                )
                if right > most:
                    most, best = right, way
                if most == len(indexes):
                    break
            chosen.append(best if most == len(indexes) else self._of_keys(place, indexes, expected) or best)
        return tuple(chosen)

    def _of_keys(self, place: int, indexes: list[int], expected: list[Any]) -> Way | None:
        """The way to hand over masks of keys in which a component is right wherever a mask can be written so."""
        for way in WAYS:
            seen = self.answers.get((place, way), []) if way[0] == OF_KEYS else []
            some = [(i, wanted, found) for i, wanted, found in zip(indexes, expected, seen, strict=False) if found]
            if some and all(
                same(wanted, found.get("output"), self.kind.experiments[i].tolerance) for i, wanted, found in some
            ):
                return way
        return None


APART = {"an input is changed in place", "dropout is active in eval mode"}  # they leave the numbers as they are


def _with_another(judging: _Judging, start: Run, first: Verdict) -> Verdict:
    """With a second fault, where the first one does not hide it."""
    if first.fault is None or first.fault.name not in APART:
        return first
    second, judging.whole = first, True
    with judging.briefly():
        second = _of_numbers(judging, start)
    if second.fault is None or not second.known or second.fault.name == first.fault.name:
        return first
    return replace(first, remarks=(f"and a second fault: {second.fault.name}",))


def _of_numbers(judging: _Judging, start: Run) -> Verdict:
    """The verdict by what it computes, and what numbers do not show.

    Raises:
        Undecided: nothing sure can be said.
    """
    kind = judging.kind
    stops = all(isinstance(start.got[i], str) for i in start.plain) and not start.parameters.made
    if kind.made and (stops or (len(start.parameters.numbers) and not start.numbers.works)):
        return _unknown(start)  # before anything can be said of its numbers
    start.numbers.held = bool(start.idle)
    found = None
    with judging.briefly():  # there are other ways to see what is wrong
        found = _where_others_idle(start, judging.idling(start)) if start.idle else None
    if found is not None:
        return Verdict(kind.name, found[0], True, kind.experiments[0].title, f"unused: {', '.join(start.idle[:4])}")
    start.numbers.left, start.numbers.held = ALL_ROUNDS, False
    best = _best_right(judging, start)
    if best is not None and not best[3]:
        remark, right, run, _ = best
        if _opposite(run.ways):
            return Verdict(kind.name, beyond(OPPOSITE), True, kind.experiments[0].title, passed=len(run.plain))
        verdict = _with_manners(run, remark, right)
        if not verdict.right and finite(run.ways) != run.ways:
            run = judging.run(finite(run.ways))
            verdict = verdict if _differing(run, right) else _with_manners(run, remark, right)
        if run.idle:
            told = f"{UNUSED}: {', '.join(run.idle[:4])}"
            verdict = replace(verdict, remarks=(*verdict.remarks, told))
            if run.has_idle_norm:
                verdict = replace(verdict, fault=beyond(UNUSED), where=kind.experiments[0].title)
        pairs = zip(kind.experiments, run.seen, strict=True)
        slow = tuple(f"{case.title}: {TOO_SLOW}" for case, found in pairs if found.get("not asked") == TOO_SLOW)
        verdict = replace(verdict, remarks=(*verdict.remarks, *slow))
        return _also(judging, run, verdict, remark, right) if verdict.right else verdict
    return _wrong(judging, start, best)


OPPOSITE = "True may attend in one of the two masks, and is blocked in the other"


def _opposite(ways: Ways) -> bool:
    """Whether two boolean masks of one shape are read in opposite ways."""
    return len(ways) == 2 and ways[0][0] == ways[1][0] and {way[1] for way in ways} == set(BOOLEAN)


def _also(judging: _Judging, run: Run, right: Verdict, remark: str, fn: Function) -> Verdict:
    """What is right with masks in one convention, looked at with boolean ones, and at other sizes."""
    kind, passed = judging.kind, right.passed
    fault = _of_masks_of_keys(judging, run, fn)
    if fault is None and not all(value in BOOLEAN for _, value in run.ways):
        fault = _of_boolean_masks(judging)
    remarks = (*right.remarks, *in_words_of_masks(run.ways))
    if {value for _, value in run.ways} == set(BOOLEAN):
        remarks = (*remarks, OPPOSITE)
    if fault is None and kind.elsewhere is not None:
        other = judging.run(run.ways, True)
        told = str(other.seen[0].get("error", ""))
        if told.startswith(REFUSED):
            remarks = (*remarks, f"other sizes are refused: {told}")
        elif told:
            fault = _verdict(other.kind, FIXED, other.kind.experiments[0], told, True, passed)
        else:
            fault, more = _at_other_sizes(judging, other, remark)
            passed += more
    return Verdict(kind.name, remarks=remarks, passed=passed) if fault is None else replace(fault, remarks=remarks)


def _at_other_sizes(judging: _Judging, other: Run, remark: str) -> tuple[Verdict | None, int]:
    """The fault that shows at other sizes only, and in how many experiments there is none."""
    fits = any(told == remark and isinstance(right, Reference) for told, right in other.kind.rights(other.parameters))
    if other.numbers.works and other.parameters.made and not fits and other.parameters.alive < other.kind.least:
        return _too_few(other, other.kind.least), 0
    if "no way back" in other.seen[0]:
        return Verdict(other.kind.name, beyond(NO_WAY_BACK), True, other.kind.experiments[0].title), 0
    best = _best_right(judging, other, remark)
    if best is not None and not best[3]:
        return None, len(other.plain)
    if best is None and other.idle:
        told = f"unused: {', '.join(other.idle[:4])}"
        return Verdict(other.kind.name, beyond(UNUSED), True, other.kind.experiments[0].title, told), 0
    if best is None and _has_one_layer(other, remark):
        told = f"it learns {len(other.parameters.numbers)} numbers with two layers, as many as with one"
        return Verdict(other.kind.name, beyond(ONE_LAYER), True, other.kind.experiments[0].title, told), 0
    there = Verdict(other.kind.name, NOTHING_KNOWN, False, other.kind.experiments[0].title) if fits else None
    with judging.briefly():
        there = _wrong(judging, other, best)
    if there is None:
        return None, 0
    name = SEVERAL if "num_layers" in other.kind.options else FIXED
    return (there if there.known else replace(there, fault=beyond(name), known=True)), there.passed


def _of_boolean_masks(judging: _Judging) -> Verdict | None:
    """The fault of a component that is right with masks of numbers, and lets boolean ones go astray."""
    run = judging.run(judging.ours)
    for _, reference in run.kind.rights(run.parameters):
        fn = run.numbers.bind(reference)
        wrong = [] if fn is None else _differing(run, fn)
        name = _name_of_mask(run.kind, fn, run.got, run.plain) if fn and wrong else ""
        if name:
            told = f"{name} (boolean ones, not those of numbers)"
            shown = run.kind.experiments[wrong[0]]
            return _verdict(run.kind, told, shown, "", True, len(run.plain) - len(wrong))
    return None


def _of_masks_of_keys(judging: _Judging, run: Run, right: Function) -> Verdict | None:
    """The fault of a component that takes a mask (batch, len), too, and lets what it hides be seen."""
    kind = run.kind
    for place, (shape, value) in zip(kind.places, run.ways, strict=True):
        found = [] if shape else judging.component.masked(place, (OF_KEYS, value), run.numbers.values)
        for index, seen in zip(kind.masked_at(place), found, strict=False):
            experiment, got = kind.experiments[index], seen.get("output")
            given = experiment.inputs[place]
            expected, bare = answer_of(kind, right, index), _with_masks(kind, right, index, _all_seen)
            if not isinstance(given, Masked) or isinstance(expected, str) or isinstance(bare, str):
                continue
            real = given.mask[:, 0, 0]
            if not isinstance(got, Tensor) or got.shape != bare.shape or got.shape[:2] != real.shape:
                continue
            if same(bare[real], got[real], 1e-3) and not same(expected[real], got[real], 1e-3):
                return _verdict(kind, ALONG_QUERIES, experiment, "", True, len(run.plain))
    return None


SIZES = "d_ff", "num_layers"  # those that a component may have of its own
ROWS = 100  # of a table of places, at least


def sized(kind: Kind, parameters: Parameters) -> Parameters:
    """With the sizes at which a component was made: those it was given, and those it has of its own."""
    sizes, own = dict(kind.options), [name for name in SIZES if name in parameters.untaken]
    if "target_vocab" in sizes:
        source, target = kind.experiments[0].inputs
        words = [len(ids.unique()) for ids in (source, target, torch.cat([source, target], 1))]
        sizes["seen"] = [*words, source.shape[1], target.shape[1]]
        if ONE_VOCABULARY in parameters.taken:
            sizes["source_vocab"] = sizes["target_vocab"]
    elif "num_layers" in sizes:
        sizes["seen"] = kind.experiments[0].inputs[0].shape[1]
    width = sizes.get("d_model", 1)
    rows = [length // width for length in parameters.lengths if length % width == 0 and length >= ROWS * width]
    if "max_len" in sizes and "max_len" not in parameters.taken and rows:  # only a table of places has so many
        sizes["max_len"] = max(rows, key=lambda count: (count.bit_count() == 1, count))  # powers of two above all
    usual = {"d_ff": [*(width * n for n in (4, 2, 3, 1)), 8 * width // 3], "num_layers": [2, 1, 3, 4, 6]}
    usual = {name: [sizes[name], *some] for name, some in usual.items() if name in sizes}
    best, most = replace(parameters, sizes=sizes), -1
    for values in product(*(usual[name] for name in own)):
        tried = replace(parameters, sizes=sizes | dict(zip(own, values, strict=True)))
        alike = _alike(kind, tried) if own else 0
        if alike > most:  # three matrices of 32 have as many numbers as two of 48
            given = {name for name in own if tried.sizes[name] == sizes[name]}
            best = replace(tried, untaken=tuple(name for name in parameters.untaken if name not in given))
            most = alike
        if most == len(parameters.lengths):  # no other values can fit better
            break
    return best


def _layouts(kind: Kind, parameters: Parameters) -> set[tuple[int, ...]]:
    """The sizes of all tensors of what would be right, or else usual."""
    some = {tuple(layout.sizes) for layout in kind.layouts(parameters)}
    return some or {tuple(layout.sizes) for layout in islice(kind.usual(parameters), 1)}


def _alike(kind: Kind, parameters: Parameters) -> int:
    """How many tensors of a component are as large as those of what would be right, or else usual; −1 without any."""
    have = Counter(parameters.lengths)
    return max(((have & Counter(sizes)).total() for sizes in _layouts(kind, parameters)), default=-1)


def _unstacked(kind: Kind, parameters: Parameters) -> list[int]:
    """How many numbers each tensor has; those of one tensor for all layers, as if each layer had its own."""
    layers = parameters.sizes.get("num_layers", 1)
    known = set(chain(*_layouts(kind, parameters))) if layers > 1 else set()
    cut = {length: layers for length in parameters.lengths if length not in known and length / layers in known}
    return [length // cut.get(length, 1) for length in parameters.lengths for _ in range(cut.get(length, 1))]


def _kept(run: Run) -> Experiment | None:
    """The experiment that is answered otherwise after a call with other inputs than it is without one."""
    some = [pair for pair in zip(run.kind.experiments, run.got, strict=True) if isinstance(pair[1], Tensor)]
    for later, seen in zip(run.kind.experiments, run.seen, strict=True):
        if "before" in later.options and "again" in seen and not same(seen["output"], seen["again"], later.tolerance):
            return later  # without a gradient only
    for later, got in (pair for pair in some if "before" in pair[0].options):
        for fresh, alone in (pair for pair in some if pair[0].how == "plain" and "before" not in pair[0].options):
            alike = len(fresh.inputs) == len(later.inputs) and all(map(operator.is_, fresh.inputs, later.inputs))
            if alike and not same(alone, got, later.tolerance):
                return later
    return None


def _unlearned(run: Run) -> Verdict | None:
    """What is wrong with what is learned, whatever the numbers are."""
    kind, parameters = run.kind, run.parameters
    learns_none = not len(parameters.numbers)
    if parameters.loose and (kind.learns or (learns_none and kind.least)):
        return Verdict(kind.name, beyond("what should be learned is a plain tensor, no parameter"))
    if parameters.buffers and learns_none and (kind.learns or kind.least):
        return Verdict(kind.name, beyond("what should be learned is a buffer, no parameter"))
    if parameters.frozen and learns_none and kind.least:
        return Verdict(kind.name, beyond(FROZEN), True, "", f"frozen: {', '.join(parameters.frozen[:4])}")
    if not learns_none and kind.learns_nothing:
        return Verdict(kind.name, beyond("its table is a parameter, which training would change"))
    return None


def _before_numbers(run: Run) -> Verdict | None:
    """What is wrong whatever the numbers are: what is learned, chance, and gradients that are cut."""
    kind, parameters, start = run.kind, run.parameters, run.seen[0]
    unlearned = _unlearned(run)
    if unlearned is not None:
        return unlearned
    moves = "again" in start and not same(start["output"], start["again"], 1e-4)
    moves = moves and ("dropout" in parameters.taken or _settles(run))  # with dropout 0, too
    for experiment, seen in zip(kind.experiments, run.seen, strict=True):
        if any(name.startswith("changed") for name in seen):
            return Verdict(kind.name, beyond("an input is changed in place"), True, experiment.title)
        alike = "again" not in seen or same(seen["output"], seen["again"], 1e-4)
        if experiment.how == "dropout" and not (alike or moves or parameters.loose):  # else eval() did not reach all
            return Verdict(kind.name, beyond("dropout is active in eval mode"), True, experiment.title)
    if "rewritten" in start:
        return Verdict(kind.name, beyond(REWRITTEN), True, kind.experiments[0].title)
    if "again" in start and not same(start["output"], start["again"], kind.experiments[0].tolerance):
        name = "a second call gives another answer" if kind.plain or _settles(run) else CHANCE
        name = kind.experiments[0].options.get("again", name)
        return Verdict(kind.name, beyond(name), True, kind.experiments[0].title)
    kept = _kept(run)
    if kept is not None:
        return Verdict(kind.name, beyond(KEPT), True, kept.title)
    return None


def _cut_off(run: Run) -> tuple[Verdict | None, bool]:
    """What is wrong with the gradient of what is learned, and whether it is zero there, so that nothing else can be."""
    kind, parameters = run.kind, run.parameters
    cut = [] if kind.learns_nothing else run.numbers.cut
    if not cut:
        return None, True
    gradient = run.numbers.look(run.numbers.values.double())[1]
    each = dict(zip(parameters.names, gradient.split(list(parameters.lengths)), strict=True))
    sure = not any(bool(each[name].any()) for name in cut if name in each)
    whole = sure and len(cut) == len(parameters.names)
    part = "a part of the gradient is cut off" if sure else OTHER_GRADIENT
    name = "nothing of the gradient comes through" if whole else part
    told = "" if whole else f"the gradient of {', '.join(cut[:4])} is not how the answer changes with it"
    return Verdict(kind.name, beyond(name), True, kind.experiments[0].title, told), sure


def _wrong(judging: _Judging, start: Run, best: Best | None) -> Verdict:
    """The verdict on a component that is right nowhere, or not everywhere."""
    unseen = _unseen(start) if best is None else None
    if unseen is not None:
        return unseen
    shaped = _misshaped(start) if best is None else ""
    if shaped:
        return Verdict(start.kind.name, beyond(SHAPED), True, start.kind.experiments[0].title, shaped)
    if best is None and "num_layers" in start.kind.options and "d_model" in start.parameters.untaken:
        return _unknown(start)  # made of a size of its own, it is no model that is known here
    start.numbers.left = ALL_ROUNDS
    start.numbers.told = start.numbers.held = True
    right_in = len(best[2].plain) - len(best[3]) if best else 0
    right_in = len(start.plain) - 1 if judging.whole else right_in
    found = None
    with suppress(Undecided):  # all that is right was tried; it is too late for a name
        found = _known_mistake(start, right_in, judging.mistakes(start), best)
    if best is None and not (found and found[3]):
        with judging.briefly():
            found = _known_mistake(start, right_in, _two_mistakes(judging, start)) or found
    if found is not None:
        mistake, run, first, _ = found
        told = _said(run.got[first]) or _first_difference(run, first)
        return Verdict(run.kind.name, mistake, True, run.kind.experiments[first].title, told)
    if best is None or (best[0] == GIVEN and all(best[2].kind.experiments[i].alone == LONG for i in best[3])):
        return _unknown(start)  # what hides later tokens in long texts alone is not what is handed its mask
    return _not_everywhere(best[2], best[1], best[3])


def _with_manners(run: Run, remark: str, right: Function) -> Verdict:
    """The verdict on a component whose numbers are right everywhere: what numbers do not show."""
    kind, remarks = run.kind, [remark] if remark else []
    if FROZEN_TABLE in run.parameters.taken:
        remarks.append("a table of words is frozen: training does not change it")
    for index, (experiment, seen) in enumerate(zip(kind.experiments, run.seen, strict=True)):
        if "not asked" in seen:
            continue
        remarks += ["a new one answers zeros only, until it has learned"] if "zeros" in seen else []
        halved = _in_half(experiment, seen)
        if halved:
            remarks.append(halved)
        if "dropped weights" in seen:
            remarks.append("in training it returns the weights after dropout: a row of them does not sum to one")
        if experiment.how == "dropout" and UNASKED in seen:
            remarks += [UNASKED] if UNASKED not in remarks else []
        fault = _beyond_numbers(kind, experiment, seen, right, index)
        if fault is None:
            continue
        if experiment.remark and "NaN" not in fault.name:
            remarks.append(fault.name)
        else:
            told = _said(run.got[index])
            return Verdict(kind.name, fault, True, experiment.title, told, tuple(remarks), len(run.plain))
    return Verdict(kind.name, remarks=tuple(dict.fromkeys(remarks)), passed=len(run.seen))


BLOCKED = "matrices that start at zero block each other: they get no gradient, at first or after a step"
ON_SCORES = "dropout stands before the softmax: it changes scores, and drops no weight"
RESCALED = "dropout changes the size of what it keeps"
ALIKE = "the rows of a matrix, or its columns, start as one and the same, get the same gradient, and stay alike"
DRAINED = "in training nothing is left, with dropout 0: what is taken for a probability of dropping is one of keeping"
STUCK = "no matrix gets a gradient at the start: its first numbers are zeros that block each other"
FLOAT32 = "in half precision it stops: it makes a tensor in float32, which .half() does not reach"
HALF = {  # what PyTorch says where half precision alone stops a component, and what is remarked of it: no fault, since
    # whoever computes in half precision by autocast never meets it
    "without overflow": "in float16 it stops: −1e9 does not fit, torch.finfo(scores.dtype).min does",
    "dtype": FLOAT32,
    "scalar type": FLOAT32,
    "not implemented for": "",
}


def _in_half(experiment: Experiment, seen: Seen) -> str | None:
    """What is remarked of a component that half precision stops; None where that is not what happened."""
    told = str(seen.get("error")) if experiment.how.startswith("half") else ""
    return next((remark for words, remark in HALF.items() if words in told), None)


def _settles(run: Run) -> bool:
    """Whether a second call differs in some experiments only, or a new one answers as the first: there is no chance."""
    pairs = [pair for pair in zip(run.kind.experiments, run.seen, strict=True) if "output" in pair[1]]
    if any("again" in seen and same(seen["output"], seen["again"], 1e-3) for _, seen in pairs):
        return True
    plain, new = ([pair for pair in pairs if pair[0].how == how] for how in ("plain", "training"))
    return any(
        list(map(id, first.inputs)) == list(map(id, other.inputs)) and same(seen["output"], got["output"], 1e-3)
        for (first, seen), (other, got) in product(plain, new)
    )


def _differing(run: Run, fn: Function) -> list[int]:
    """The compared experiments in which a function answers otherwise than the component."""
    kind = run.kind
    return [i for i in run.plain if not same(answer_of(kind, fn, i), run.got[i], kind.experiments[i].tolerance)]


def _first_difference(run: Run, index: int) -> str:
    """The first number that is not as the first of all right answers has it, where it learns none; "" else."""
    right = next((fn for _, fn in run.kind.rights(run.parameters) if not isinstance(fn, Reference)), None)
    expected, got = answer_of(run.kind, right, index) if right else "", run.got[index]
    if isinstance(expected, str) or isinstance(got, str) or expected.shape != got.shape or expected.dtype == torch.bool:
        return ""
    far = (~torch.isclose(expected.double(), got.double(), 1e-3, 1e-4)).nonzero().tolist()
    if not far:
        return ""
    place = tuple(far[0])
    return f"its number at {list(place)} is {float(got[place]):.4g}, and should be {float(expected[place]):.4g}"


def _agrees_early(run: Run, fn: Function) -> bool:
    """Whether a function is like the component in one of the first two experiments without a mask."""
    kind, unmasked = run.kind, [i for i in run.plain if not run.kind.experiments[i].masked]
    some = (unmasked or run.plain)[:2]
    return any(same(answer_of(kind, fn, i), run.got[i], kind.experiments[i].tolerance) for i in some)


def _best_right(judging: _Judging, start: Run, likeliest: str | None = None) -> Best | None:
    """The right function that agrees in most experiments, and those in which it does not; None if it never does.

    Where a remark `likeliest` is given, what has another is left out.
    """
    best: Best | None = None
    rights = start.kind.rights(start.parameters)
    asked = rights if likeliest is None else ((told, right) for told, right in rights if told == likeliest)
    for remark, fn in judging.fitting(start, asked, right=True):
        run = judging.run(judging.ways(fn)) if start.kind.places else start
        wrong = _differing(run, fn)
        if best is None or len(wrong) < len(best[3]):
            best = remark, fn, run, wrong
        if not wrong:
            return best
    return best


Named = tuple[Mistake, Run, int, bool]  # where it shows, and whether it gives the same answers wherever no mask stands


def _known_mistake(start: Run, right_in: int, tried: Iterable[Tried], right: Best | None = None) -> Named | None:
    """The known mistake that gives the same answers in all experiments, or in more than what is right does.

    One that differs where the nearest that is `right` does not is another mistake; so is one that is not asked there.
    """
    best: Named | None = None
    most = 0
    for mistake, run, differing in tried:
        if right:  # where masks handed over in other ways stop it, nothing is alike
            stopped = [i for i in run.plain if isinstance(run.got[i], str) and not isinstance(right[2].got[i], str)]
            differing = sorted({*differing, *stopped})
            if not (set(differing) <= set(right[3]) and set(run.plain) >= set(right[2].plain)):
                continue
        count = len(run.plain) - len(differing)
        if max(1, right_in) < count == sum(not isinstance(run.got[i], str) for i in run.plain):
            count = len(run.plain)  # the same wherever it answers at all, which nothing right is
        if count > most:
            best, most = (mistake, run, run.plain[0], _in_masks_alone(run, differing)), count
        if count == len(run.plain):
            break
    if best is None or (most < len(best[1].plain) and most <= max(1, right_in, (len(best[1].plain) - 1) // 2)):
        return None
    stopped = [i for i in best[1].plain if isinstance(best[1].got[i], str)]
    return best[0], best[1], stopped[0] if stopped else best[2], best[3]


def _where_others_idle(start: Run, tried: Iterable[Tried]) -> Named | None:
    """The known mistake that leaves numbers unused: they are not told apart, and may count where something is asked."""
    asking = {i for i in start.plain if "asks" in start.kind.experiments[i].options}
    if not asking:
        return _known_mistake(start, len(start.plain), tried)
    tried = list(tried)
    spared = ((mistake, run, list(set(differing) - asking)) for mistake, run, differing in tried)
    return _known_mistake(start, len(start.plain), tried) or _known_mistake(start, len(start.plain), spared)


def _in_masks_alone(run: Run, differing: list[int]) -> bool:
    return all(run.kind.experiments[i].masked for i in differing)


def _two_mistakes(judging: _Judging, start: Run) -> Iterator[Tried]:
    """Two known mistakes that give the same answers together, but for those with masks, in which they may meet."""

    def begins(reference: Reference) -> bool:
        judging.in_time()
        stages = reference.stages or (IN_ATTENTION,)
        alone = not bool(reference.loud(IN_ATTENTION).any())  # an attention without biases
        return alone or start.numbers.in_stages(replace(reference, stages=stages), False)[0]

    pairs = start.kind.pairs(judging.arranged(start), begins)
    for (first, second), run, differing in judging.compared(start, pairs):
        if _in_masks_alone(run, differing):
            name, symptom = f"{first.name}; and {second.name}", f"{first.symptom}; {second.symptom}"
            why, hint = f"{first.why} And: {second.why}", f"{first.hint} {second.hint}"
            yield named(name, why, hint, symptom), run, differing
            return


ADAPTER = "An adapter (--adapter) can hand over its parts one by one, or make of it what is called as the kind is"


def _unknown(run: Run) -> Verdict:
    """The verdict where neither anything right nor a known mistake gives these answers.

    Raises:
        Undecided: it learns other numbers than any reference, so that there is nothing to compare.
    """
    kind, parameters, got, plain = run.kind, run.parameters, run.got, run.plain
    shown = next((i for i in plain if isinstance(got[i], str)), plain[0])
    experiment, told = kind.experiments[shown], _said(got[shown])
    if all(isinstance(got[i], str) for i in plain):
        mistake = named(
            "it stops with an error",
            f"it was called as: {kind.is_called}.",
            "Call it so yourself, or hand over an adapter.",
            "no answer",
        )
        return Verdict(kind.name, mistake, False, experiment.title, told)
    references = [right for _, right in kind.rights(parameters) if isinstance(right, Reference)]
    if not parameters.made or kind.learns_nothing:
        return Verdict(kind.name, NOTHING_KNOWN, False, experiment.title, told)
    if len(parameters.numbers) and not run.numbers.works:
        stops = f"it stops at '{experiment.title}' ({told})" if told else "its numbers cannot be set"
        raise Undecided(f"{stops}, and its gradient cannot be computed. {ADAPTER}")
    least = kind.least if not set(parameters.untaken) & set(SIZES) else 0
    if not references and parameters.alive < least:
        return _too_few(run, least)
    if kind.each_token_alone and _tokens_meet(run):
        return Verdict(kind.name, beyond(MIXED), True, kind.experiments[0].title)
    if run.has_idle_norm:
        told = f"unused: {', '.join(run.idle[:4])}"
        return Verdict(kind.name, beyond(UNUSED), True, kind.experiments[0].title, told)
    if not references and _ignores(run):
        return Verdict(kind.name, beyond(IGNORED), True, kind.experiments[0].title)
    own = [name for name in parameters.untaken if name in (*SIZES, "d_model", "num_heads")]
    ones = int(parameters.ones.sum())
    laid_out = any(
        run.numbers.laid_out(reference) and (not ones or int(reference.gains.sum()) == ones) for reference in references
    )
    if not references or not laid_out or (own and not run.numbers.heard):
        found = f"{parameters.alive} of its numbers change its answer, and nothing right that is known here has as many"
        taken = f"; it takes no {' and no '.join(own)}" if own else ""
        raise Undecided(f"{found if not references else 'the sizes of its parts are its own'}{taken}. {ADAPTER}")
    other = "" if told else _other_shape(run, references[0])
    if other:
        return Verdict(kind.name, beyond(SHAPED), True, experiment.title, other)
    return Verdict(kind.name, NOTHING_KNOWN, False, experiment.title, told or _by_hand(run, references))


def _unseen(run: Run) -> Verdict | None:
    """The verdict on what learns other numbers than anything right, and keeps some where training does not see them."""
    loose, rights = run.parameters.loose, run.kind.rights(run.parameters)
    if not loose or not run.parameters.made or any(isinstance(right, Reference) for _, right in rights):
        return None
    kept = f"{', '.join(loose[:3])}: kept in a plain list or attribute, unseen by training"
    return Verdict(run.kind.name, beyond(UNSEEN), True, run.kind.experiments[0].title, kept)


def _too_few(run: Run, least: int) -> Verdict:
    """The verdict on what learns fewer numbers than any right component needs, or makes too little use of them."""
    kind, parameters = run.kind, run.parameters
    told = f"{parameters.alive} of its {len(parameters.numbers)} numbers change its answer; it takes {least} at least"
    idle = run.idle if len(parameters.numbers) >= least else []  # else even all of them are too few
    unused = f"; unused: {', '.join(idle[:4])}" if idle else ""
    name = UNUSED if idle or len(parameters.numbers) >= least else ONE_LAYER if _has_one_layer(run) else TOO_FEW
    return Verdict(kind.name, beyond(name), True, kind.experiments[0].title, told + unused)


def _has_one_layer(run: Run, remark: str | None = None) -> bool:
    """Whether it has as many numbers as there are to learn in a single layer, where it was given several."""
    sizes = {**run.parameters.sizes, "num_layers": 1}
    if run.parameters.sizes.get("num_layers", 1) == 1:
        return False
    own = [n * sizes["d_model"] for n in (4, 2, 3, 1)] if "d_ff" in run.parameters.untaken else []
    ones = (replace(run.parameters, sizes=sizes | {"d_ff": d_ff}) for d_ff in (sizes["d_ff"], *own))
    return any(remark in (None, told) for parameters in ones for told, _ in run.kind.rights(parameters))


def _tokens_meet(run: Run) -> bool:
    """Whether the first token of a sentence is answered otherwise where it stands alone."""
    pairs = zip(run.kind.experiments, run.got, strict=True)
    alone = next((got for experiment, got in pairs if experiment.title == ALONE), None)
    whole = run.got[0]
    return isinstance(alone, Tensor) and isinstance(whole, Tensor) and not same(whole[:1, :1], alone, 1e-3)


def _ignores(run: Run) -> bool:
    """Whether it has the numbers of another d_ff than the one that it was given."""
    sizes, have = run.parameters.sizes, len(run.parameters.numbers)
    if "d_ff" not in run.parameters.taken or "d_model" not in sizes or have > WIDEST:
        return False
    widths = {length // sizes["d_model"] for length in run.parameters.lengths if length % sizes["d_model"] == 0}
    others = (replace(run.parameters, sizes={**sizes, "d_ff": width}) for width in widths - {1, sizes["d_ff"]})
    rights = (right for other in others for _, right in run.kind.rights(other))
    return any(isinstance(right, Reference) and right.size == have for right in rights)


WIDEST = 1 << 18  # numbers of a layer, of any inner width
MIXED = "tokens see each other where each should be alone"
IGNORED = "the argument d_ff is taken and not used: the inner width is fixed, or comes from another size"
REWRITTEN = "a call changes what the component has learned: something is written into its own weights"
UNUSED = "a part of what it learns is never used"
TOO_FEW = "it learns fewer numbers than there are to learn: something is missing, or shared that should not be"
SHAPED = "its answer has not the shape that it should have"
ONE_LAYER = "all layers are one and the same layer"
FROZEN = "what should be learned is frozen"
UNSEEN = "training does not see all that it should learn"
NOTHING_KNOWN = named(
    "it gives other numbers than it should, by none of the known mistakes",
    "none of the known mistakes alone gives these answers; there may be more than one.",
    "Work the smallest experiment through by hand, step by step: where does yours first differ?",
    "wrong answers",
)


def _evenly(run: Run, reference: Reference) -> Tensor | None:
    """What a reference answers where all its numbers are the same; None if it does not fit these inputs."""
    numbers = torch.full((reference.size,), EVEN, dtype=torch.float64)
    try:
        return reference.look(run.numbers.inputs, numbers, False)[0]
    except (RuntimeError, ValueError, IndexError, TypeError):
        return None


def _other_shape(run: Run, reference: Reference) -> str:
    """What is said of an answer whose shape is not the right one; "" if it is."""
    mine, right = run.numbers.even[0], _evenly(run, reference)
    if right is None or mine.shape == right.shape:
        return ""
    return f"its answer has the shape {tuple(mine.shape)}, and should have {tuple(right.shape)}"


def _misshaped(run: Run) -> str:
    """What is said of a whole model's answer where no usual model gives one of its shape; "" else."""
    usual = next(iter(run.kind.usual(run.parameters)), None)
    return _other_shape(run, usual) if usual and "num_layers" in run.kind.options and run.numbers.works else ""


def _by_hand(run: Run, references: list[Reference]) -> str:
    """What can be worked out by hand: one value for all numbers, and the first number of the answer."""
    answers = [_evenly(run, reference) for reference in references[:SHOWN]]
    right = dict.fromkeys(f"{float(answer.flatten()[0]):.4f}" for answer in answers if answer is not None)
    mine = f"{float(run.numbers.even[0].flatten()[0]):.4f}"
    wanted = " or ".join(list(right)[:2])
    return "" if mine in right else f"with all its numbers {EVEN} its first answer is {mine}, and should be {wanted}"


def _all_seen(mask: Tensor, heads: int) -> Tensor:
    return torch.ones_like(mask)


SHOWN = 60  # right answers, of which the first that differ are told
ALONG_QUERIES = "a mask (batch, len) hides queries, not keys: what is hidden in it is seen all the same"
MASKED = "the mask has not the effect that it should have"
SQUEEZED = "a dimension of size one is lost: squeeze() takes the batch away where it holds one sentence"
MASKS: dict[str, Callable[[Tensor, int], Tensor]] = {  # of the mask (batch, 1, q_len, k_len) and the number of heads
    "masks are ignored": _all_seen,
    "every sentence is masked as the first one": lambda mask, heads: mask[:1].expand_as(mask),
    "every query is masked as the first one": lambda mask, heads: mask[..., :1, :].expand_as(mask),
    "masks and heads go out of step: repeat() where repeat_interleave() is meant": lambda mask, heads: (
        mask[:, :1].repeat(heads, 1, 1, 1).reshape(mask.shape[0], heads, *mask.shape[2:])
    ),
    "masks and heads go out of step: repeat_interleave() where repeat() is meant": lambda mask, heads: (
        mask[:, 0].repeat_interleave(heads, 0).unflatten(0, (heads, -1)).transpose(0, 1)
    ),
}


def _with_masks(kind: Kind, fn: Function, index: int, change: Callable[[Tensor, int], Tensor]) -> Tensor | str:
    """What a function answers in one experiment if its masks are changed so."""
    experiment = kind.experiments[index]
    first = experiment.inputs[0]
    heads = {**kind.options, **experiment.options}.get("num_heads", first.shape[1] if first.dim() == 4 else 1)
    inputs = tuple(Masked(change(item.mask, heads)) if isinstance(item, Masked) else item for item in experiment.inputs)
    changed = replace(kind, experiments=[replace(experiment, inputs=inputs)])
    return answer_of(changed, fn, 0)


def _name_of_mask(kind: Kind, right: Function, got: list[Any], plain: list[int]) -> str:
    """Which change of all masks explains all answers; "" if none does."""
    masked = [i for i in plain if kind.experiments[i].masked]
    for name, change in MASKS.items():
        if all(same(_with_masks(kind, right, i, change), got[i], kind.experiments[i].tolerance) for i in masked):
            return name
    return ""


def _is_squeezed(expected: Tensor | str, got: Any, tolerance: float) -> bool:
    """Whether the right numbers come without their dimensions of size one."""
    if not isinstance(expected, Tensor) or not isinstance(got, Tensor) or expected.shape == got.shape:
        return False
    return same(expected.squeeze(), got.squeeze(), tolerance)


def _not_everywhere(run: Run, right: Function, wrong: list[int]) -> Verdict:
    """Right in some experiments: what those have in common in which it is not says what is wrong."""
    kind, got, plain = run.kind, run.got, run.plain
    first = wrong[0]
    experiment = kind.experiments[first]
    alone = {kind.experiments[i].alone for i in wrong}
    detail = _said(got[first])
    if None not in alone and (experiment.alone == LONG or LONG not in alone):  # short ones are wrong as well, and long
        name = str(experiment.alone)
        return _verdict(kind, name, experiment, detail, True, len(plain) - len(wrong))
    squeezed = all(_is_squeezed(answer_of(kind, right, i), got[i], kind.experiments[i].tolerance) for i in wrong)
    if squeezed:
        return _verdict(kind, SQUEEZED, experiment, detail, True, len(plain) - len(wrong))
    with_mask = [i for i in plain if any(isinstance(item, Masked) for item in kind.experiments[i].inputs)]
    if set(wrong) <= set(with_mask):
        output = got[first]
        if isinstance(output, Tensor) and not output.isfinite().all():
            return _verdict(kind, "a mask makes NaN", experiment, detail, True, len(plain) - len(wrong))
        name = _name_of_mask(kind, right, got, plain)
        return _verdict(kind, name or MASKED, experiment, detail, bool(name), len(plain) - len(wrong))
    title = experiment.title
    return _verdict(kind, f"it is wrong for {title}", experiment, detail, False, len(plain) - len(wrong))


def _verdict(kind: Kind, name: str, experiment: Experiment, detail: str, known: bool, passed: int) -> Verdict:
    return Verdict(kind.name, beyond(name), known, experiment.title, detail, passed=passed)


def beyond(name: str) -> Mistake:
    """A fault that numbers alone do not show, by its name."""
    why, hint = EXPLAINED.get(name, ("What stands above is what was seen.", "Try the experiment that is named above."))
    return named(name, why, hint, "other answers in this case, and nowhere else")


NO_WAY_BACK = "its gradient cannot be computed: something is changed in place that the way back needs"
SEVERAL = "it is right with one layer, and wrong at other sizes, with two"
OTHER_GRADIENT = "a part of the gradient is not how the answer changes"
ELSEWHERE = "dropout stands at another place than in the paper"
EXPLAINED = {
    FIXED: (
        "it was tried at two sizes. At one of them a formula that should read d_model, the number of heads or d_head "
        "happens to give the right number.",
        "Which numbers of your code stand there as digits, and which size does each of the others come from?",
    ),
    NO_WAY_BACK: (
        "autograd keeps what it needs for the way back; a method whose name ends in _, or `x[...] =`, writes over it.",
        "Which of your lines changes a tensor that was handed to it, a mask perhaps?",
    ),
    SEVERAL: (
        "each layer reads what the one before it gives, and every decoder layer the whole encoder's memory; or a "
        "number is fixed that should be one of the sizes.",
        "With two layers of the first size, is it right?",
    ),
    ELSEWHERE: (
        "the paper drops what a sub-layer hands over, before it is added to x, and the sum of embedding and position "
        "(section 5.4). Here something changes although what should be dropped is zero, or something gets "
        "through although all is dropped.",
        "Which tensor goes into your dropout?",
    ),
    "what is returned beside the output are not the weights": (
        "weights are what comes out of the softmax: they are positive and sum to one over the keys.",
        "Which variable do you return beside the output?",
    ),
    OPPOSITE: (
        "two masks of the same kind mean opposite things: whoever hands over both hides the words of one of them.",
        "Follow both masks to where scores are filled: before which of them does a ~ stand?",
    ),
    ALONG_QUERIES: (
        "each word of the mask is a key, which no query may see if it is hidden: (batch, 1, 1, len), not (batch, 1, "
        "len, 1).",
        "Which dimension of your scores belongs to the keys, and which does your mask fill?",
    ),
    MIXED: (
        "each token is computed by itself: a kernel wider than 1, a norm over several tokens, or a reshape joins it "
        "with its neighbours.",
        "Change one token of x. How many tokens of the answer change?",
    ),
    IGNORED: (
        "the two matrices are d_model × d_ff and d_ff × d_model.",
        "Print the shapes of your two matrices for d_model 12 and d_ff 20.",
    ),
    REWRITTEN: (
        "max_norm shrinks the rows of a table at each look-up; `*=`, names that end in `_` and an assigned slice write "
        "into a parameter. Only an optimizer may.",
        "Compare your parameters before and after a call. Which line writes into one of them?",
    ),
    UNUSED: (
        "whatever stands in these tensors, the answer is the same: what they belong to is made and not called.",
        "Which of your modules does forward not call, or whose result does it not use?",
    ),
    TOO_FEW: (
        "each projection, each matrix and each layer of the paper has weights of its own.",
        "Print [(name, p.shape) for name, p in module.named_parameters()]. What is not there?",
    ),
    SHAPED: (
        "a size is taken from another place than it should, or two dimensions have changed places.",
        "Which of your sizes gives the dimension that is wrong? Print the shape after each step.",
    ),
    ONE_LAYER: (
        "[layer] * n holds n references to one object, so that all layers share their weights.",
        "How many times is your layer's constructor called?",
    ),
    UNSEEN: (
        "modules and parameters in a plain list or dictionary are not registered: nn.ModuleList and nn.ParameterDict "
        "register what they hold.",
        "Print [name for name, _ in module.named_parameters()]. What is missing?",
    ),
    "what should be learned is a plain tensor, no parameter": (
        "only an nn.Parameter is trained, saved, and moved to another device.",
        "Print [name for name, _ in module.named_parameters()]. What is missing?",
    ),
    "what should be learned is a buffer, no parameter": (
        "a buffer is saved and moved with the module, and no optimizer changes it.",
        "Print [name for name, _ in module.named_parameters()]. What is missing?",
    ),
    FROZEN: (
        "its requires_grad is off, as in nn.Embedding.from_pretrained unless freeze=False is given.",
        "What should the gradient reach?",
    ),
    "its table is a parameter, which training would change": (
        "positions are computed, not learned: the table is a buffer (register_buffer), which no optimizer sees.",
        "Print [name for name, _ in module.named_parameters()].",
    ),
    LEFT_BEHIND: (
        "`.to(device)` moves parameters and buffers. A plain attribute stays where it was made, and so does what "
        "forward makes without device=x.device.",
        "Which tensors does your forward use that are neither parameters, nor buffers, nor made on x's device?",
    ),
    CHANCE: (
        "F.dropout drops unless it is told not to: its `training` argument defaults to True.",
        "What tells your dropout to stay off?",
    ),
    KEPT: (
        "forward writes into what outlives the call: `&=` or `+=` on a buffer, a list that grows, a mask that is kept.",
        "Call it twice, with another input in between. Which of your attributes has changed?",
    ),
    "an input is changed in place": (
        "`+=`, names that end in `_`, or an assigned slice write into the caller's tensor.",
        "Which line writes into an argument?",
    ),
    "a second call gives another answer": (
        "something stays behind from the first call, or chance plays a part where it should not.",
        "What does your object keep between two calls?",
    ),
    "nothing of the gradient comes through": (
        "`.detach()`, `.data`, `.item()`, `.numpy()`, torch.tensor(...) and torch.no_grad() drop the way back.",
        "Print requires_grad of each intermediate result: at which line does it become False?",
    ),
    "a part of the gradient is cut off": (
        "`.detach()`, `.data`, torch.no_grad() or a copy drop a part of the way back.",
        "Which intermediate result is detached?",
    ),
    OTHER_GRADIENT: (
        "`.detach()`, `.data` or a copy drop one of several ways back, or what was written into a tensor is lost.",
        "By which ways does this weight reach the answer, and does each of them lead back?",
    ),
    "the gradient is NaN although the answer is right": (
        "where() and masked_fill() hide a NaN in the answer; the gradient of what they hide is NaN all the same.",
        "Does something divide by zero, or take the root or logarithm of zero, before it is masked?",
    ),
    DRAINED: (
        "nn.Dropout and F.dropout take the probability of dropping; some other libraries take that of keeping.",
        "With dropout 0, which number does your nn.Dropout get?",
    ),
    STUCK: (
        "what multiplies a matrix, or is multiplied behind it, starts at zero: neither can be learned.",
        "Which gradient has W1 while W2 is zero, and W2 while W1 is?",
    ),
    BLOCKED: (
        "a matrix is learned from what it multiplies and from what multiplies it: where both are zero, nothing moves.",
        "Which gradient has W1 while W2 is zero, and W2 while W1 is?",
    ),
    WIDENED: (
        "what comes next has its numbers in half precision, and refuses any other: what is computed in float32 is cast "
        "back to the dtype of the input.",
        "Which line makes it float32, and which brings it back?",
    ),
    ALIKE: (
        "chance tells hidden units apart: what starts alike, and is used alike, is changed alike, and counts as one.",
        "Print two rows of each of your matrices, before any training. Do they differ?",
    ),
    "dropout is active in eval mode": (
        "F.dropout drops unless it is told not to: its `training` argument defaults to True.",
        "What tells your dropout that the model is in eval mode?",
    ),
    "dropout does nothing in training": (
        "the argument is taken and not used, or the layer is made and never called.",
        "Where in forward does dropout stand?",
    ),
    ON_SCORES: (
        "a score of zero is no weight of zero: what is dropped there is looked at all the same.",
        "Is what goes into your dropout the softmax's answer, or what goes into the softmax?",
    ),
    RESCALED: (
        "what is kept is divided by 1 − p in training, so that nothing needs to change in evaluation.",
        "With p = 0.5, by what is a kept number multiplied?",
    ),
}


def _beyond_numbers(  # noqa: C901
    kind: Kind, experiment: Experiment, seen: Seen, right: Function, index: int
) -> Mistake | None:
    """State, gradients, modes and precision."""
    if experiment.how == "dropout":
        return _dropout(kind, experiment, seen, right, answer_of(kind, right, index)) if seen else None
    if experiment.how == "moved":
        return beyond(LEFT_BEHIND) if "left behind" in seen else None
    if "drained" in seen:
        return beyond(DRAINED)
    if "dead" in seen:
        return beyond(STUCK)
    if "blocked" in seen:
        return beyond(BLOCKED)
    if "alike" in seen:
        return beyond(ALIKE)
    if experiment.how == "training" and UNASKED in seen and not same(seen["output"], seen["again"], 1e-4):
        return None  # its dropout is written into the class
    if "error" in seen:
        if _in_half(experiment, seen) is not None:
            return None
        name = experiment.alone if experiment.alone else f"it stops with an error: {seen['error']}"
        return beyond(str(name))
    expected, output = answer_of(kind, right, index), seen["output"]
    if experiment.alone == OVERFLOW and isinstance(output, Tensor) and output.dtype != torch.half:
        return beyond(WIDENED)
    if not same(expected, output.float() if isinstance(output, Tensor) else "", experiment.tolerance):
        return beyond(experiment.alone or f"it is wrong for this: {experiment.title}")
    if any(name.startswith("changed") for name in seen):
        return beyond("an input is changed in place")
    if "again" in seen and not same(seen["output"], seen["again"], experiment.tolerance):
        return beyond("a second call gives another answer")
    second = seen.get("second")
    if isinstance(second, Tensor) and experiment.how == "plain" and kind.name == "attention":
        weights = _second(right, experiment)
        if second.shape == weights.shape and not same(weights, second, experiment.tolerance):
            return beyond("what is returned beside the output are not the weights")
    return _gradient(kind, experiment, seen, right)


def _second(right: Function, experiment: Experiment) -> Tensor:
    """The weights: what a value of one-hot rows gives."""
    query, key = experiment.inputs[:2]
    one_hot = torch.eye(key.shape[-2]).expand(*key.shape[:-1], key.shape[-2])
    mask = [item.mask for item in experiment.inputs if isinstance(item, Masked)]
    answer: Tensor = right(query, key, one_hot, *mask)
    return answer


def _gradient(kind: Kind, experiment: Experiment, seen: Seen, right: Function) -> Mistake | None:  # noqa: C901
    if "no way back" in seen:
        return beyond(NO_WAY_BACK)
    if "cut" in seen:
        return beyond("nothing of the gradient comes through")
    places = [int(name.split()[1]) for name in seen if name.startswith("gradient ")]
    if any(name.startswith("NaN gradient") for name in seen) or any(
        not _tensor(seen[f"gradient {place}"]).isfinite().all() for place in places
    ):
        return beyond("the gradient is NaN although the answer is right")
    if any(name.startswith("without gradient") for name in seen):
        return beyond("a part of the gradient is cut off")
    if not places or experiment.alone:
        return None
    inputs = [item.mask if isinstance(item, Masked) else item for item in experiment.inputs]
    if kind.may_be_function:
        inputs += list(experiment.options.get("learned", ()))[: max(places)]
    leaves = {place: inputs[place].clone().requires_grad_() for place in places}
    result = right(*[leaves.get(i, item) for i, item in enumerate(inputs)])
    output = result[0] if isinstance(result, tuple) else result
    if not output.requires_grad:
        return None
    weights = torch.randn(output.shape, generator=torch.Generator().manual_seed(2))
    wanted = torch.autograd.grad((output * weights).sum(), list(leaves.values()), allow_unused=True)
    for place, expected in zip(leaves, wanted, strict=True):
        if expected is None or not expected.isfinite().all():
            continue
        if not same(expected, _tensor(seen[f"gradient {place}"]), 3e-2):
            return beyond("a part of the gradient is cut off")
    return None


def _tensor(value: Tensor | str) -> Tensor:
    assert isinstance(value, Tensor)
    return value


def _dropout(kind: Kind, experiment: Experiment, seen: Seen, right: Function, expected: Tensor | str) -> Mistake | None:
    if "error" in seen:
        return beyond(f"with dropout it stops with an error: {seen['error']}")
    output, again = _tensor(seen["output"]), _tensor(seen["again"])
    is_right = "empty" in experiment.options or same(expected, output, experiment.tolerance)
    if not is_right or not same(output, again, 1e-4):
        return beyond("dropout is active in eval mode")
    if experiment.options.keys() & {"as if", "either", "alike"}:
        return _where_dropped(experiment, seen, right)
    if experiment.options.get("nought") and float(output.abs().max()) > 1e-4:
        return None  # another convention than the one of which the inputs make nothing
    if experiment.options.get("still"):
        return beyond(ELSEWHERE) if float(_tensor(seen["spread"]).max()) > 1e-6 else None
    if float(_tensor(seen["spread"]).max()) < 1e-6:
        used = "dropout" in kind.options and UNASKED not in seen
        return beyond("dropout does nothing in training") if used else None
    if kind.unbiased:
        error = _tensor(seen["spread"]) / PASSES**0.5
        far = (_tensor(seen["mean"]) - output.double()).abs() > 6 * error + 0.02 * output.double().abs() + 1e-3
        if float(far.float().mean()) > 0.02:
            return beyond(RESCALED)
    return None


def _where_dropped(experiment: Experiment, seen: Seen, right: Function) -> Mistake | None:
    """What inputs made for it tell of the place and the size of what is dropped."""
    if "as if" in experiment.options:
        wanted, dropped = right(*experiment.options["as if"]), _tensor(seen["mean"]).float()
        moved = bool(dropped.isfinite().all()) and not same(wanted.detach(), dropped, experiment.tolerance)
        return beyond(ELSEWHERE) if moved else None
    spread = _tensor(seen["spread"])
    if "alike" in experiment.options:
        return beyond(ON_SCORES) if float(spread[1].max()) < 1e-6 < float(spread[0].max()) else None
    low, high = (right(*inputs).detach() for inputs in experiment.options["either"])
    mean = _tensor(seen["mean"])  # with the spread it says of each number whether it is `low` or `high`
    fits = same(spread**2 * (FEW - 1) / FEW, (mean - low) * (high - mean), experiment.tolerance)
    return None if fits or float(spread.max()) < 1e-6 else beyond(RESCALED)


def _said(got: Any) -> str:
    if isinstance(got, str):
        return got
    if isinstance(got, Tensor) and not got.isfinite().all():
        return "the answer contains NaN or infinity"
    return ""
