"""What each number of a component does: found out, with no look at names, by what changes with it.

However somebody lays parameters out (packed, turned, a matrix for each head, a dictionary), they are the reference's
numbers in another order. Give all numbers of both one value: if they are the same function, the answers agree, and so
do the gradients by each number, once sorted. Numbers whose gradients differ get different values, and so on, until each
number has its one partner: the refinement of colours by which graphs are compared (Weisfeiler and Lehman, 1968). Heads,
and what stands within one, may change places; they are told apart by choosing one. Where too little is seen at first
(norms that make zeros of equal features), tensors of one size are taken for each other, and the answers decide.
"""

import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import Any

import torch
from torch import Tensor

from transformer_edu.book.exercises.judge.experiment import precisely, tensor_of

Look = Callable[[Tensor], tuple[Tensor, Tensor]]  # numbers (size,) -> the answer, and the gradient by each number
Function = Callable[..., Any]
Colours = tuple[Tensor, Tensor]  # of a component's numbers and of a reference's: partners have the same

DEAD = 0.7  # what is put where a number changes nothing
EVEN = 0.35  # what all numbers are at first
DRAWS = 8  # in a row that find no more numbers that matter, and then there are none
SCALES = 0.3, 0.6, 0.15
ROUNDS, FALLBACK = 400, 60  # of refinement, all tries together; and of those, once the likeliest has failed
QUICK = 4
SMALL = 0.02  # what gains are multiplied by as long as features are not told apart
ADDED = "o_bias", "second_bias", "shift"  # tensors whose numbers are added to what is handed on, and to nothing else
FAR = 1000  # colours that are carried over are larger
MANY = 1000  # numbers, from which on what is only near is not tried further
HOPELESS, FEW = 4, 2  # partners that fail in so few rounds, and then no other is tried
REMEMBERED = 400  # questions whose answers are kept
ALL_ROUNDS, AGAIN = 4000, 240  # for one component; and of those, for what was not found with the partners of a stage
TRIES = 3  # where answers are near each other: some numbers make of rounding much more than others
NEAR = 1e-7  # in float64: norms make more of rounding where what they get varies little
ANOTHER = 1e-9  # so far apart are two functions, in float64, whose norms have another epsilon
TINY = 1e-6  # a gradient below it is nothing but rounding
STEP = 1e-9  # so small a change of all numbers is seen in float64, and lost in the rounding of float32
SAME = 1e-12  # two functions that are one, in float64, whatever the order of their sums
TOLERANCES = FINE, _, COARSE = 1e-8, 1e-6, 2e-5  # how far answers may lie apart: float64, and what has float32 in it


@dataclass(frozen=True)
class Reference:
    """A function of named numbers: `call(p, *inputs)`, where `p` has a tensor of each shape.

    `dead` of its numbers change nothing: the biases of keys, which move all scores of a query alike, and those `rows`
    of tables that are not read. At a `kink`, where all numbers of one size give a ReLU nothing but 0, gradients need
    not agree. A function is `faint` where too little is seen at first, so that tensors of one size are held together;
    should that be mistaken, nothing is found. In its `stages` tensors whose names end so are nothing but 0; two with
    the same one of `keys` are one function there. What it is `made_of` is for whoever made it.
    """

    shapes: Mapping[str, tuple[int, ...]]
    call: Callable[..., Any]
    dead: int = 0
    kink: bool = False
    faint: bool = False
    rows: int = 0
    stages: tuple[tuple[str, ...], ...] = ()
    keys: tuple[Any, ...] = ()
    made_of: Any = None

    @cached_property
    def staged(self) -> list["Reference"]:
        """Itself in each of its stages: a function of the numbers that are not 0 there."""
        return [self._hushed(endings) for endings in self.stages]

    def _hushed(self, endings: tuple[str, ...]) -> "Reference":
        none = {name: torch.zeros(shape).double() for name, shape in self.shapes.items() if name.endswith(endings)}
        loud = {name: shape for name, shape in self.shapes.items() if name not in none}
        return replace(self, shapes=loud, call=lambda p, *inputs: self.call({**p, **none}, *inputs), stages=())

    def loud(self, endings: tuple[str, ...]) -> Tensor:
        """Which of its numbers are not in tensors whose names end so."""
        each = zip(self.shapes, self.sizes, strict=True)
        return torch.cat([torch.full((length,), not name.endswith(endings)) for name, length in each])

    @cached_property
    def told_apart(self) -> Tensor:
        """A colour for each number; those that are only added, one behind the other, may change places."""
        colours, added = 1 + torch.arange(self.size), None
        for name, here in zip(self.shapes, colours.split(self.sizes), strict=True):
            if name.endswith(ADDED):
                added = here.clone() if added is None else added
                here.copy_(added)
        return colours

    @cached_property
    def sizes(self) -> list[int]:
        """How many numbers each tensor has."""
        return [math.prod(shape) for shape in self.shapes.values()]

    @cached_property
    def gains(self) -> Tensor:
        """Which of its numbers are gains of a norm."""
        named = [torch.full((n,), name.endswith("gain")) for name, n in zip(self.shapes, self.sizes, strict=True)]
        return torch.cat(named) if named else torch.zeros(0, dtype=torch.bool)

    @cached_property
    def places(self) -> list[tuple[str, tuple[int, ...]]]:
        """The tensor and the place in it of each number."""
        return [
            (name, tuple(place))
            for name, shape in self.shapes.items()
            for place in torch.ones(shape).nonzero().tolist()
        ]

    @cached_property
    def size(self) -> int:
        """How many numbers it has."""
        return sum(self.sizes)

    def parts(self, vector: Tensor) -> dict[str, Tensor]:
        """The tensors with these numbers."""
        cut = vector.split(self.sizes) if self.shapes else []
        return {name: part.view(shape) for (name, shape), part in zip(self.shapes.items(), cut, strict=True)}

    def look(self, inputs: Sequence[Any], vector: Tensor, gradient: bool = True) -> tuple[Tensor, Tensor]:
        """The answer in float64, and the gradient of `summed` answers by each number."""
        vector = vector.detach().clone().requires_grad_(gradient)
        with precisely(), torch.set_grad_enabled(gradient):
            answer = tensor_of(self.call(self.parts(vector), *doubled(inputs)))
            if not answer.requires_grad:
                return answer.double(), torch.zeros_like(vector)
            return answer.detach(), torch.autograd.grad(summed(answer), vector)[0]


def doubled(inputs: Sequence[Any]) -> list[Any]:
    """Inputs in float64, to be changed at will."""
    return [
        (raw.double() if raw.is_floating_point() else raw.clone()) if isinstance(raw, Tensor) else raw for raw in inputs
    ]


def summed(answer: Tensor) -> Tensor:
    """All numbers of an answer in one, each with a weight of its own."""
    seeded = torch.Generator().manual_seed(5)
    return (answer.double() * torch.randn(answer.shape, generator=seeded, dtype=torch.float64)).sum()


def apart(a: Tensor, b: Tensor) -> float:
    """How far two answers lie apart, as a share of the largest number; infinity where they cannot be compared."""
    if a.shape != b.shape or not torch.equal(a.isnan(), b.isnan()):
        return float("inf")
    a, b = a.double().nan_to_num(0, 9e9, -9e9), b.double().nan_to_num(0, 9e9, -9e9)
    return float((a - b).abs().max() / b.abs().max().clamp(min=1e-3)) if a.numel() else 0.0


@dataclass
class Numbers:
    """A component's numbers: how it answers to them, and those with which it was observed."""

    look: Look
    find_cut: Callable[[Tensor], list[str]]
    values: Tensor
    ones: Tensor  # which of them were 1 when it was made, as gains are
    inputs: Sequence[Any]  # with which it is looked at
    lengths: Sequence[int] = ()  # how many of the numbers each tensor has
    found: list[tuple[Mapping[str, tuple[int, ...]], Tensor, Tensor]] = field(default_factory=list)
    refused: list[tuple[float, Tensor]] = field(default_factory=list)  # what no order of numbers fits
    exact: list[dict[str, tuple[int, ...]]] = field(default_factory=list)  # found among many: no other fits
    left: int = ALL_ROUNDS
    again: int = AGAIN
    closest: float = math.inf  # how near an answer came where all numbers are the same
    told: bool = False  # whether all that is right has been tried: what comes less near has another epsilon
    held: bool = False  # whether a function at first is told by numbers that differ between tensors of another size
    remembered: dict[bytes, tuple[Tensor, Tensor]] = field(default_factory=dict)
    parts: dict[frozenset[int], "Numbers"] = field(default_factory=dict)  # those in tensors of these sizes alone
    mattered: dict[Any, Tensor] = field(default_factory=dict)  # what matters in the last reference of these shapes
    heard: dict[int, list[Any]] = field(default_factory=dict)  # what is right in each stage, by what it is made of
    passed: dict[Any, Colours | None] = field(default_factory=dict)  # what was found in a stage of what has this key
    parting: dict[Any, tuple[Any, bool]] = field(default_factory=dict)  # shapes, and whether sizes tell in a stage

    @cached_property
    def works(self) -> bool:
        """Whether it answers at all, with gradients, and again after a call."""
        try:
            return self.even[0].numel() > 0 and len(self.alive) == len(self.values)
        except Exception:  # whatever the code that is judged raises
            return False

    @cached_property
    def cut(self) -> list[str]:
        """The tensors whose gradient is not how the answer changes with them."""
        return self.find_cut(self.values.double()) if len(self.values) and self.works else []

    @cached_property
    def most(self) -> float:
        """How far its answers may lie from those of what is right: less where much is tried, all in float64."""
        if len(self.values) < MANY:
            return COARSE
        start = draw(torch.arange(len(self.values)), torch.Generator().manual_seed(11))
        way = draw(torch.arange(len(self.values)), torch.Generator().manual_seed(12))
        (answer, gradient), further = self.look(start), self.look(start + STEP * way)[0]
        told = float(STEP * (gradient.double() * way).sum())
        found = float(summed(further) - summed(answer))
        return NEAR if abs(found - told) <= 1e-3 * abs(told) else COARSE

    @cached_property
    def even(self) -> tuple[Tensor, Tensor]:
        """The answer, and the gradient, where all numbers are the same."""
        return self.look(torch.full((len(self.values),), EVEN, dtype=torch.float64))

    @cached_property
    def alive(self) -> Tensor:
        """Which of the numbers change the answer."""
        return alive(self.look, len(self.values))

    def known(self, numbers: Tensor) -> tuple[Tensor, Tensor]:
        """As `look`, and remembered: candidates are told apart by the same few questions."""
        key = numbers.numpy().tobytes()
        if key in self.remembered:
            return self.remembered[key]
        found = self.look(numbers)
        if len(self.remembered) < REMEMBERED:
            self.remembered[key] = found
        return found

    @cached_property
    def least(self) -> int:
        """How many numbers there are in tensors that are not idle as a whole."""
        return sum(len(part) for part in self.alive.split(list(self.lengths)) if bool(part.any())) if self.works else 0

    @property
    def matter(self) -> int:
        """How many of the numbers change the answer."""
        return int(self.alive.sum()) if self.works else 0

    def bind(self, reference: Reference | Function, right: bool = False) -> Function | None:
        """The reference with this component's numbers in it; None if no order of them makes it the same function."""
        if not isinstance(reference, Reference):
            return reference
        if not self.works:
            return None
        may, start = self.in_stages(reference, right)
        partners = self.partners(reference, start) if may else None
        if partners is None:
            return None
        vector = torch.full((reference.size,), DEAD)
        has = partners >= 0
        vector[partners[has]] = self.values[has].float()
        parts = reference.parts(vector)
        return lambda *inputs: reference.call(parts, *inputs)

    def _part(self, sizes: frozenset[int]) -> "Numbers":
        """The numbers in tensors of these sizes, where all others are 0."""
        if sizes not in self.parts:
            loud = self._loud(sizes)

            def look(numbers: Tensor) -> tuple[Tensor, Tensor]:
                answer, gradient = self.look(torch.zeros(len(loud)).double().masked_scatter(loud, numbers))
                return answer, gradient[loud]

            lengths = [length for length in self.lengths if length in sizes]
            self.parts[sizes] = Numbers(look, self.find_cut, self.values[loud], self.ones[loud], self.inputs, lengths)
        return self.parts[sizes]

    def _loud(self, sizes: frozenset[int]) -> Tensor:
        return torch.cat([torch.full((length,), length in sizes) for length in self.lengths])

    def parted(self, reference: Reference, stage: int) -> bool:
        """Whether sizes tell which numbers are not 0 in a reference's stage."""
        key = id(reference.shapes), stage
        if key not in self.parting:
            self.parting[key] = reference.shapes, self._parted(reference, stage)
        return self.parting[key][1]

    def _parted(self, reference: Reference, stage: int) -> bool:
        hushed = Counter(reference.staged[stage].sizes)
        here = Counter({size: count for size, count in Counter(self.lengths).items() if size in hushed})
        return not hushed - here and not here - hushed - (Counter(reference.sizes) - hushed)

    def laid_out(self, reference: Reference) -> bool:
        """Whether sizes tell so in all its stages."""
        return all(self.parted(reference, stage) for stage, _ in enumerate(reference.stages))

    def in_stages(self, reference: Reference, right: bool) -> tuple[bool, Colours | None]:
        """Whether it may be the same function, and colours by the partners that are found where some tensors are 0.

        What is `right` and fits is kept in `heard`.
        """
        start = None
        if reference.stages and self.least > reference.size:
            return False, None
        for stage in range(len(reference.stages)):
            if not self.parted(reference, stage):
                return True, None
            key = (self.told, self.held, reference.keys[stage]) if reference.keys else None
            start = self.passed[key] if key in self.passed else self._in_stage(reference, stage, start)
            if key is not None:
                self.passed[key] = start
            if start is None:
                return False, None
            if right:
                self.heard.setdefault(stage, []).append(reference.made_of)
        return True, start

    def _in_stage(self, reference: Reference, stage: int, start: Colours | None) -> Colours | None:
        hushed, theirs = reference.staged[stage], reference.loud(reference.stages[stage])
        sizes = frozenset(hushed.sizes)
        part, mine = self._part(sizes), self._loud(sizes)
        part.left = part.left if part.told == self.told else ALL_ROUNDS
        part.told, part.held = self.told, self.held
        partners = part.partners(hushed, None if start is None else (start[0][mine], start[1][theirs]))
        if partners is None:
            return None
        colours = reference.told_apart[theirs]
        found = torch.zeros(len(mine), dtype=torch.long), torch.zeros(len(theirs), dtype=torch.long)
        found[0][mine] = torch.where(partners < 0, 0, colours[partners])
        has = torch.zeros(len(colours), dtype=torch.bool)
        has[partners[partners >= 0]] = True
        found[1][theirs] = torch.where(has, colours, 0)
        return found

    def partners(self, reference: Reference, start: Colours | None = None) -> Tensor | None:
        """The place in the reference of each number that matters, or −1; None if there is no such order of them."""
        look = partial(reference.look, self.inputs)
        try:
            even = torch.full((reference.size,), EVEN, dtype=torch.float64)
            distance = apart(look(even, gradient=False)[0], self.even[0])
            self.closest = min(self.closest, distance)
            if distance > self.most or (self.told and self.most == NEAR and distance > ANOTHER > 1e3 * self.closest):
                return None
            drawn = draw(torch.arange(reference.size), torch.Generator().manual_seed(7))
            mine = look(drawn, gradient=False)[0]
            for shapes, theirs, partners in self.found:  # what is the same without a mask has the same partners
                if shapes == reference.shapes and apart(mine, theirs) < FINE:
                    return partners
            if self.left <= 0 or dict(reference.shapes) in self.exact:
                return None
            total = float(summed(mine))
            if any(abs(total - past) < NEAR * (1 + abs(total)) and apart(mine, it) < SAME for past, it in self.refused):
                return None
            found = self._search(reference, look, start)
            if found is None and start is not None and not self.told and self.again > 0:
                before = self.left  # what is right is not lost by a wrong partner
                found = self._search(reference, look, None, FALLBACK)
                self.again -= before - self.left
        except Exception:  # a mistake's code does not fit these numbers, or these inputs
            return None
        if found is None:
            self.refused.append((total, mine))
        else:
            self.found.append((reference.shapes, mine, found))
        return found

    def _search(self, reference: Reference, look: Look, carried: Colours | None, most: int = ROUNDS) -> Tensor | None:
        gains, whole = (self.ones, reference.gains), len(self.values) == reference.size
        apart_by_size = whole and (self.held or reference.faint)
        sizes = alike(self.lengths, reference.sizes) if apart_by_size else (self.ones * 0, reference.gains * 0)
        if whole and gains[0].sum() == gains[1].sum():
            # most that are another function are told in a few rounds
            quick = _Search((self.known, look), reference, FINE, self.most, ROUNDS)
            start = [(1 + gain.long()) * (1 + self.held * size) for gain, size in zip(gains, sizes, strict=True)]
            if not quick.agrees(*_with(start[0], start[1], carried), QUICK) and not quick.near:
                return None
        shapes = tuple(reference.shapes.items())
        matter = self.mattered[shapes] = alive(look, reference.size, self.mattered.get(shapes))
        if int(matter.sum()) != self.matter:
            return None
        if not self.matter:
            return torch.full((len(self.values),), -1)
        gains = gains[0] & self.alive, gains[1] & matter
        if gains[0].sum() != gains[1].sum():  # not all gains start as 1, nor is all that does a gain
            gains = gains[0] & False, gains[1] & False
        # what changes nothing has the colour 0
        mine, theirs = (
            (mask.long() + (mask & some)) * (1 + reference.faint * size)
            for mask, some, size in zip((self.alive, matter), gains, sizes, strict=True)
        )
        mine, theirs = _with(mine, theirs, carried)
        for tolerance in TOLERANCES[: 2 if self.most == NEAR else 3]:
            search = _Search((self.known, look), reference, tolerance, self.most, min(most, self.left))
            found = search.find(mine, theirs)
            self.left -= search.rounds
            if found is not None and tolerance == FINE and len(self.values) >= MANY:
                self.exact.append(dict(reference.shapes))
            if found is not None or not search.near:
                return found
        return None


def _with(mine: Tensor, theirs: Tensor, carried: Colours | None) -> Colours:
    """Colours, with those that are carried over in the place of what matters."""
    if carried is None:
        return mine, theirs
    both = zip((mine, theirs), carried, strict=True)
    return tuple(torch.where((old > 0) & (new > 0), FAR + new, old) for old, new in both)  # type: ignore[return-value]


def alike(mine: Sequence[int], theirs: Sequence[int]) -> tuple[Tensor, Tensor]:
    """A number for each size of tensors that hold as many numbers here as there, and one for all others."""
    sums = [{size: size * some.count(size) for size in some} for some in (list(mine), list(theirs))]
    same = [size for size, total in sums[0].items() if total == sums[1].get(size)]
    place = {size: 3 * (1 + index) for index, size in enumerate(same)}
    found = [torch.tensor([place.get(size, 0) for size in some for _ in range(size)]) for some in (mine, theirs)]
    return found[0], found[1]


def alive(look: Look, size: int, guess: Tensor | None = None) -> Tensor:
    """Which of a function's numbers change its answer; looked at less long where it is as guessed."""
    seeded, most = torch.Generator().manual_seed(3), torch.zeros(size, dtype=torch.float64)
    found, idle, draws = torch.zeros(size, dtype=torch.bool), 0, 0
    while idle < DRAWS and not bool(found.all()):
        draws += 1
        gradient = look(SCALES[draws % 2] * torch.randn(size, generator=seeded, dtype=torch.float64))[1]
        noise = 1e-11 if gradient.dtype == torch.float64 else 1e-5
        most = torch.maximum(most, gradient.double().nan_to_num(0, 0, 0).abs())
        more = most > noise * float(most.max())
        idle, found = (idle + 1 if torch.equal(more, found) else 0), more
        if guess is not None and draws > 1 and torch.equal(found, guess):
            break
    return found


def draw(colours: Tensor, generator: torch.Generator, scale: float = 0.5) -> Tensor:
    """One number for each colour, none of them near 0."""
    count = int(colours.max()) + 1 if len(colours) else 0
    sizes = 0.4 + torch.rand(count, generator=generator, dtype=torch.float64)
    signs = torch.where(torch.rand(count, generator=generator) < 0.35, -1.0, 1.0).double()
    return scale * (sizes * signs)[colours]


def _begins(colours: Tensor, gradient: Tensor, near: float) -> Tensor:
    """New colours of sorted gradients: another one wherever there is a gap."""
    begins = torch.ones(len(colours), dtype=torch.bool)
    gaps = gradient[1:] - gradient[:-1] > 4 * near * (1 + gradient[1:].abs())
    begins[1:] = (colours[1:] != colours[:-1]) | gaps
    return torch.cumsum(begins, 0)


def _shared(
    first: tuple[Tensor, Tensor], other: tuple[Tensor, Tensor], fresh: tuple[Tensor, Tensor], near: float
) -> tuple[Tensor, Tensor]:
    """New colours for those gradients that both have equally often; what is left of an old colour stays together.

    So at a kink: where all that goes into a ReLU is 0, its gradient is a matter of rounding.
    """
    groups: list[dict[tuple[int, int], list[tuple[float, int, int]]]] = [{}, {}]
    for (colours, gradient), new, group in zip((first, other), fresh, groups, strict=True):
        begin = 0
        for end in new.bincount()[1:].cumsum(0).tolist():  # both are sorted
            key = int(colours[begin]), end - begin
            group.setdefault(key, []).append((float(gradient[begin:end].mean()), begin, end))
            begin = end
    finer, count = (torch.zeros_like(fresh[0]), torch.zeros_like(fresh[1])), 0
    for key, members in groups[0].items():
        for value, begin, end in members:
            match = next((m for m in groups[1].get(key, []) if abs(m[0] - value) < 4 * near * (1 + abs(value))), None)
            if match is not None:
                groups[1][key].remove(match)
                count += 1
                finer[0][begin:end], finer[1][match[1] : match[2]] = count, count
    left = torch.cat([colours[new == 0] for (colours, _), new in zip((first, other), finer, strict=True)]).unique()
    for (colours, _), new in zip((first, other), finer, strict=True):
        new[new == 0] = count + 1 + torch.searchsorted(left, colours[new == 0])
    return finer


class _Search:
    """For the partner of each number; `partners[i]` is the place of the component's i-th number in the reference."""

    def __init__(
        self, pair: tuple[Look, Look], reference: Reference, tolerance: float, farthest: float, most: int
    ) -> None:
        self.pair, self.tolerance, self.rounds = pair, tolerance, 0
        self.farthest = farthest  # how far answers may lie apart, whatever the tolerance for gradients is
        self.near = False  # whether two answers or gradients lay apart by so little that it may be rounding
        self.most = most
        self.generator = torch.Generator().manual_seed(0)
        self.reference = reference

    def agrees(self, mine: Tensor, theirs: Tensor, rounds: int) -> bool:
        """Whether nothing tells the two apart in so many rounds."""
        for _ in range(rounds):
            split = self._round(mine, theirs)
            if split is None:
                return False
            mine, theirs = split
        return True

    def find(self, mine: Tensor, theirs: Tensor) -> Tensor | None:
        """The partners, from colours to begin with."""
        still, most = 0, int((mine > 0).sum())
        while still < len(SCALES):  # at some scales less is seen than at others
            self.rounds += 1
            if self.rounds > self.most:
                return None
            split = next(
                (pair for pair in (self._round(mine, theirs) for _ in range(TRIES)) if pair or not self.near), None
            )
            if split is None:
                return None
            count = int(mine.max()) if len(mine) else 0
            mine, theirs = split
            reached = int(mine.max()) if len(mine) else 0
            if reached == most:
                return self._paired(mine, theirs)
            still = still + 1 if reached == count else 0
        return self._choose(mine, theirs)

    def _round(self, mine: Tensor, theirs: Tensor) -> tuple[Tensor, Tensor] | None:
        """Finer colours, by one value for each of the old ones; None if the two are not the same function."""
        numbers = draw(torch.arange(int(mine.max()) + 1 if len(mine) else 0), self.generator, SCALES[self.rounds % 3])
        numbers[self._faint_gains(theirs)] *= SMALL
        (a, g), (b, h) = (look(numbers[c]) for look, c in zip(self.pair, (mine, theirs), strict=True))
        g = g.double()
        distance = apart(a, b)
        if distance > min(self.tolerance, self.farthest):
            self.near |= distance < self.farthest
            return None
        most = torch.zeros(int(theirs.max()) + 1 if len(theirs) else 0, dtype=torch.float64)
        most, largest = most.scatter_reduce(0, theirs, h.abs(), "amax"), float(h.abs().max())
        orders = []
        for colours, gradient in ((mine, g), (theirs, h)):
            by_size = torch.argsort(gradient)
            by_size = by_size[colours[by_size] > 0]
            orders.append(by_size[torch.argsort(colours[by_size], stable=True)])
        c, d = mine[orders[0]], theirs[orders[1]]
        if not torch.equal(c, d):
            return None
        near = 30 * self.tolerance
        scale = most.clamp(min=max(10 * self.tolerance * largest, TINY))[c]
        x, y = g[orders[0]] / scale, h[orders[1]] / scale  # of a colour's largest
        fresh = _begins(c, y, near), _begins(c, x, near)
        if not torch.allclose(x, y, atol=near, rtol=near):
            if not self.reference.kink:
                rougher = scale / most.clamp(min=max(10 * COARSE * largest, TINY))[c]
                self.near |= torch.allclose(x * rougher, y * rougher, atol=30 * COARSE, rtol=30 * COARSE)
                return None
            fresh = _shared((c, y), (c, x), fresh, near)
        else:
            fresh = fresh[0], fresh[0]
        finer = torch.zeros_like(mine), torch.zeros_like(theirs)
        finer[0][orders[0]], finer[1][orders[1]] = fresh[1], fresh[0]
        return finer if torch.equal(*(side[side > 0].bincount() for side in finer)) else None

    def _faint_gains(self, theirs: Tensor) -> Tensor:
        """The colours of gains, while all features are the same: through each norm, gradients by 1/√ε of rounding."""
        some = theirs[self.reference.gains & (theirs > 0)].unique()
        norms = sum(name.endswith("gain") for name in self.reference.shapes)
        if len(some) > norms or bool(torch.isin(theirs[~self.reference.gains], some).any()):
            return some[:0]
        return some

    def _choose(self, mine: Tensor, theirs: Tensor) -> Tensor | None:
        """Tell apart what may change places: first in all parts of the reference at once, then one by one."""
        members: dict[int, list[int]] = {}
        named = [name for name, _ in self.reference.places]
        for place, colour in enumerate(theirs.tolist()):
            if colour:
                members.setdefault(colour, []).append(place)
        several = sorted((len(places), colour) for colour, places in members.items() if len(places) > 1)
        gains = [colour for _, colour in several if named[members[colour][0]].endswith("gain")]
        if self.reference.kink and gains and not self.reference.faint:
            return self._try_each(mine, theirs, gains[0], members[gains[0]])
        chosen: dict[Any, int] = {}
        for _, colour in several:
            chosen.setdefault(self._moves_with(members[colour]), colour)
        sure = {part: colour for part, colour in chosen.items() if self._axes(members[colour]) == 1}
        for at_once in (chosen, sure) if 0 < len(sure) < len(chosen) else (chosen,):
            a, b = mine.clone(), theirs.clone()
            for colour in at_once.values():
                self._tell_apart(a, b, colour, members[colour])
            found = self.find(a, b)
            if found is not None or self.rounds > self.most:
                return found
            self.most = min(self.most, self.rounds + FALLBACK)
        return self._try_each(mine, theirs, several[0][1], members[several[0][1]])

    def _moves_with(self, members: list[int]) -> Any:
        """What may not change places in any order while these do: two such are told apart at once.

        Numbers that are only added stand by themselves; so do, in a head, queries with keys, and values with outputs;
        else it is all that belongs to one part.
        """
        names, places = zip(*(self.reference.places[member] for member in members), strict=True)
        part, _, name = names[0].rpartition(".")
        if all(path.endswith(ADDED) for path in names):
            return members[0]
        shapes = [self.reference.shapes.get(f"{part}.{letter}") for letter in "qkv"]
        if shapes[0] is None or shapes[0] != shapes[1] or shapes[1] != shapes[2] or len(set(names)) > 1:
            return part
        heads = {place[0 if name == "o" or len(place) < 3 else 1] for place in places}
        return (part, name[0] in "qk", *heads) if len(heads) == 1 else part

    def _try_each(self, mine: Tensor, theirs: Tensor, colour: int, members: list[int]) -> Tensor | None:
        """Tell the first number of a colour apart from the others, by each partner that it may have.

        Where several of them, one of each tensor and some from all over, last hardly a round, none will.
        """
        first, new, hopeless = int((mine == colour).nonzero()[0]), int(mine.max()) + 1, 0
        of_each = {self.reference.places[member][0]: member for member in reversed(members)}
        spread, most = max(1, len(members) // HOPELESS), max(HOPELESS, len(of_each))
        for other in dict.fromkeys(
            (*reversed(of_each.values()), *sorted(members, key=lambda m: members.index(m) % spread))
        ):
            a, b = mine.clone(), theirs.clone()
            a[first], b[other] = new, new
            before = self.rounds
            found = self.find(a, b)
            hopeless += self.rounds <= before + FEW and not self.near
            if found is not None or self.rounds > self.most or hopeless == most:
                return found
        return None

    def _tell_apart(self, mine: Tensor, theirs: Tensor, colour: int, members: list[int]) -> None:
        """One of a colour, or all of them where they stand along one axis: any order of these will do.

        Where little is seen and tensors are held together, the first and the last, which are the likeliest partners.
        """
        several = len({self.reference.places[member][0] for member in members}) > 1
        ends = [0, -1] if self.reference.faint and several else [0]
        some = list(range(len(members))) if self._axes(members) == 1 else ends
        fresh = int(mine.max()) + 1 + torch.arange(len(some))
        mine[(mine == colour).nonzero().flatten()[some]] = fresh
        theirs[torch.tensor(members)[some]] = fresh

    def _axes(self, members: list[int]) -> int:
        """Along how many axes these numbers of one tensor stand; 2 where they are of several."""
        names, places = zip(*(self.reference.places[member] for member in members), strict=True)
        return sum(len(set(axis)) > 1 for axis in zip(*places, strict=True)) if len(set(names)) == 1 else 2

    def _paired(self, mine: Tensor, theirs: Tensor) -> Tensor:
        place = {colour: index for index, colour in enumerate(theirs.tolist()) if colour}
        return torch.tensor([place.get(colour, -1) for colour in mine.tolist()], dtype=torch.long)
