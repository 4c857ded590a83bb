"""What a kind of component is: how it is made and called, what is tried, what is right, and what is known as wrong."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import combinations
from typing import Any

import torch
from torch import Tensor

from transformer_edu.book.exercises.checks import catalogue
from transformer_edu.book.exercises.checks.engine import Mistake
from transformer_edu.book.exercises.judge.experiment import Experiment
from transformer_edu.book.exercises.judge.making import called
from transformer_edu.book.exercises.judge.numbers import Function, Reference

Answer = Function | Reference
Two = tuple[Mistake, Mistake]
Begins = Callable[[Reference], bool]  # whether a component is like it where its attention is silent


@dataclass(frozen=True)
class Parameters:
    """What a component has learned: its numbers as one row, and what there is to say of the tensors they stand in."""

    numbers: Tensor = field(default_factory=lambda: torch.zeros(0))
    names: tuple[str, ...] = ()
    lengths: tuple[int, ...] = ()  # how many of the numbers each named tensor has
    loose: tuple[str, ...] = ()  # tensors and modules in plain attributes, which training does not see
    made: bool = False  # whether they belong to a module
    frozen: tuple[str, ...] = ()  # parameters that no optimizer changes
    buffers: tuple[str, ...] = ()  # tensors that are saved with the module and not trained
    untaken: tuple[str, ...] = ()  # the options of the kind that the component does not take
    taken: tuple[str, ...] = ()  # and those that it does
    sizes: Mapping[str, Any] = field(default_factory=dict)  # the options of the kind at which they were made
    ones: Tensor = field(default_factory=lambda: torch.zeros(0, dtype=torch.bool))  # which were 1 when it was made
    eps: float = 1e-5  # of its norms
    says_eps: bool = False  # whether they say so
    alive: int = 0  # how many of the numbers change the answer
    arranged: Sequence[Any] = ()  # of what is right where parts are silent: what it is made of


@dataclass(frozen=True)
class Kind:
    """One kind of component.

    `rights(parameters)` and `wrongs(parameters)` give functions of the experiments' inputs, or references that a
    component's numbers may be put into: the right answers, each with a remark or "", and the known mistakes; `usual`
    are the right references that are made as mistaken components mostly are, whatever numbers they have. A function
    that is `unbiased` answers, in training, its own eval answer on the average, whatever dropout does.
    """

    name: str
    is_called: str
    experiments: list[Experiment]
    rights: Callable[[Parameters], Iterator[tuple[str, Answer]]]
    wrongs: Callable[[Parameters], Iterator[tuple[Mistake, Answer]]]
    usual: Callable[[Parameters], Iterable[Reference]] = lambda parameters: ()
    options: dict[str, Any] = field(default_factory=dict)
    made: bool = True
    may_be_function: bool = False
    unbiased: bool = False
    call: Callable[[Any, tuple[Any, ...]], Any] = called
    learns: bool = False  # whether it has parameters, and nothing else that could be meant as one
    learns_nothing: bool = False
    each_token_alone: bool = False
    least: int = 0  # how many numbers it has to have learned
    plain: bool = False  # called as it is, without weights, modes or gradients
    elsewhere: "Kind | None" = None  # the same at other sizes, where its weights are others: a few experiments
    styled: Callable[[Parameters], Iterable[Reference]] | None = None  # of the rights, one for each way to lay out
    listed: Callable[[Parameters], Iterable[tuple[Mistake, Any]]] | None = None  # the wrongs, before they are arranged
    paired: Callable[[Parameters, Begins], Iterator[tuple[Two, Answer]]] | None = None  # two mistakes at once

    def layouts(self, parameters: Parameters) -> Iterable[Reference]:
        """What is right, by which tensors it has."""
        if self.styled is not None:
            return self.styled(parameters)
        return (reference for _, reference in self.rights(parameters) if isinstance(reference, Reference))

    @property
    def mistakes(self) -> list[Mistake]:
        """What is known as wrong, each once."""
        made = Parameters(made=True, sizes=self.options, taken=tuple(self.options))
        return list({mistake.name: mistake for mistake, _ in (self.listed or self.wrongs)(made)}.values())

    def pairs(self, parameters: Parameters, begins: Begins) -> Iterator[tuple[Two, Answer]]:
        """Two mistakes at once: `paired`, or keywords of one function."""
        if self.paired is not None:
            yield from self.paired(parameters, begins)
            return
        for (first, one), (second, other) in combinations(list(self.wrongs(parameters)), 2):
            if (fn := merged(one, other)) is not None:
                yield (first, second), fn

    @property
    def places(self) -> list[int]:
        """The places of masks among the inputs."""
        return sorted({place for experiment in self.experiments for place in experiment.masked})

    def masked_at(self, place: int) -> list[int]:
        """The experiments that hand over a mask at this place and at no other."""
        return [
            i
            for i, case in enumerate(self.experiments)
            if case.masked == [place] and case.how == "plain" and not case.remark and "before" not in case.options
        ]

    def at(self, experiments: list[Experiment], least: int = 0, **sizes: int) -> "Kind":
        """This kind, tried at other sizes, too."""
        options = self.options | sizes
        return replace(self, elsewhere=replace(self, experiments=experiments, options=options, least=least))


def known(component: str) -> Iterator[tuple[Mistake, Any]]:
    """The known mistakes of one component of the checks, each with its code."""
    for mistake in catalogue(component):
        yield mistake, mistake.wrong


def merged(one: Any, other: Any) -> Any:
    """Two `partial`s of one function as one, where what they are given differs in other keywords, also further inside.

    Two references become one in the same way; anything else None.
    """
    if isinstance(one, Reference) and isinstance(other, Reference):
        call = merged(one.call, other.call) if one.shapes == other.shapes else None
        return call and replace(one, call=call)
    if getattr(one, "func", 1) is not getattr(other, "func", 2) or len(one.args) != len(other.args):
        return None
    pairs = list(zip(one.args, other.args, strict=True))
    args = [a if a is b or a == b else merged(a, b) for a, b in pairs]
    twice = {
        name: merged(value, other.keywords[name]) for name, value in one.keywords.items() if name in other.keywords
    }
    if None in twice.values() or any(arg is None is not a for arg, (a, _) in zip(args, pairs, strict=True)):
        return None
    return partial(one.func, *args, **{**one.keywords, **other.keywords, **twice})


def joined(*remarks: str) -> str:
    """Those remarks that say something, as one."""
    return "; ".join(filter(None, remarks))


def drawn(*shape: int, seed: int = 0) -> Tensor:
    """Normal numbers, equal whenever they are asked for by this shape and seed."""
    return torch.randn(shape, generator=torch.Generator().manual_seed(sum(shape) + 100 * seed))
