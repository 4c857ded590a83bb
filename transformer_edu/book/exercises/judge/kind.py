"""What a kind of component is: how it is made and called, what is tried, what is right, and what is known as wrong."""

import inspect
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import torch
from torch import Tensor, nn

from transformer_edu.book.exercises.checks import catalogue
from transformer_edu.book.exercises.checks.engine import Mistake
from transformer_edu.book.exercises.judge.experiment import (
    CONVENTIONS,
    PASSES,
    THREE,
    UNASKED,
    Experiment,
    Masked,
    Seen,
    copies,
    empty,
    in_words,
    look,
    look_at_dropout,
    look_elsewhere,
    make,
    scramble,
    tensor_of,
)
from transformer_edu.book.exercises.judge.weights import Named

Function = Callable[..., Any]
OTHER = ", at other sizes"


@dataclass(frozen=True)
class Parameters:
    """What a component has learned: tensors by name, which of them belong to nn.Linear, which started as ones."""

    named: Named = field(default_factory=dict)
    linear: frozenset[str] = frozenset()
    ones: frozenset[str] = frozenset()
    loose: tuple[str, ...] = ()  # tensors in plain attributes, which training does not see
    made: bool = False  # whether they belong to a module
    buffers: tuple[str, ...] = ()  # tensors that are saved with the module and not trained
    untaken: tuple[str, ...] = ()  # the options of the kind that the component does not take
    sizes: Mapping[str, Any] = field(default_factory=dict)  # the options of the kind at which they were made


@dataclass(frozen=True)
class Kind:
    """One kind of component.

    `rights(parameters)` and `wrongs(parameters)` give functions of the experiments' inputs: the right answers, each
    with a remark or "", and the known mistakes. A function that is `unbiased` answers, in training, its own eval
    answer on the average, whatever dropout does.
    """

    name: str
    is_called: str
    experiments: list[Experiment]
    rights: Callable[[Parameters], Iterator[tuple[str, Function]]]
    wrongs: Callable[[Parameters], Iterator[tuple[Mistake, Function]]]
    options: dict[str, Any] = field(default_factory=dict)
    made: bool = True
    may_be_function: bool = False
    unbiased: bool = False
    call: Callable[[Any, tuple[Any, ...]], Any] = lambda component, inputs: component(*inputs)
    learns: bool = False  # whether it has parameters, and nothing else that could be meant as one
    learns_nothing: bool = False
    least: int = 0  # how many numbers it has to have learned
    plain: bool = False  # called as it is, without weights, modes or gradients
    elsewhere: "Kind | None" = None  # the same at other sizes, where its weights are others: a few experiments

    @property
    def has_mask(self) -> bool:
        """Whether an experiment hands over a mask."""
        return any(isinstance(one, Masked) for experiment in self.experiments for one in experiment.inputs)

    def at(self, experiments: list[Experiment], least: int = 0, **sizes: int) -> "Kind":
        """The same kind, tried at other sizes, too."""
        options = self.options | sizes
        return replace(self, elsewhere=replace(self, experiments=experiments, options=options, least=least))

    def observe_all(self, target: Any) -> Iterator[tuple[str, tuple[list[Seen], Parameters]]]:
        """What `target` does at all sizes, with masks in every convention; `OTHER` ends the names of other sizes."""
        for convention in CONVENTIONS if self.has_mask else [""]:
            yield convention, self.observe(target, convention)
            if self.elsewhere is not None:
                yield convention + OTHER, self.elsewhere.observe(target, convention)

    def observe(self, target: Any, convention: str = "") -> tuple[list[Seen], Parameters]:
        """What `target` does in every experiment, with masks in this convention; run in the process of its own."""
        seen, parameters = [], Parameters()
        for experiment in self.experiments:
            torch.manual_seed(0)
            try:
                one, found = self._observe(target, experiment, convention)
                parameters = found if found.made and not parameters.made else parameters
            except RecursionError:
                one = {"error": "RecursionError: it calls itself without end"}
            except Exception as error:
                one = {"error": in_words(error)}
            seen.append(one)
        return seen, parameters

    def _observe(self, target: Any, experiment: Experiment, convention: str) -> tuple[Seen, Parameters]:  # noqa: C901
        convert = CONVENTIONS[convention]

        def converted(given: tuple[Any, ...]) -> tuple[Any, ...]:
            return tuple(convert(one.mask) if isinstance(one, Masked) else one for one in given)

        inputs = converted(experiment.inputs)
        if self.plain:
            first, second = (tensor_of(self.call(target, tuple(copies(inputs)))).detach().clone() for _ in range(2))
            return {"output": first, "again": second}, Parameters()
        options = self.options | {name: one for name, one in experiment.options.items() if name in self.options}
        if experiment.how == "dropout" and "dropout" in options:
            options["dropout"] = 0.5
        makes = self.made and not (self.may_be_function and not is_made(target))
        component, taken = make(target, options) if makes else (target, set(options))
        asked = experiment.options.get("asks")
        if asked and not (asked in taken if makes else takes(target, len(inputs) + len(self._learned(experiment)))):
            return {"not asked": "yes"}, Parameters()
        if convention == THREE and any(isinstance(one, Masked) and one.mask.shape[1] > 1 for one in experiment.inputs):
            return {"not asked": "yes"}, Parameters()  # without heads there is one mask for all
        parameters, trained = Parameters(), {}
        if isinstance(component, nn.Module):
            if any(is_lazy(one) for one in component.parameters()):
                self.call(component, inputs)
            ones, linear = scramble(component)
            if experiment.options.get("empty"):
                empty(component, ones)
            trained = {name: one for name, one in component.named_parameters() if one.requires_grad}
            named = {name: one.detach().clone() for name, one in component.named_parameters() if one.requires_grad}
            loose = tuple(
                f"{where}.{name}".lstrip(".")
                for where, part in component.named_modules()
                for name, one in vars(part).items()
                if isinstance(one, Tensor)
            )
            buffers = tuple(name for name, one in component.named_buffers() if one.is_floating_point())
            untaken = tuple(name for name in options if name not in taken)
            parameters = Parameters(named, frozenset(linear), frozenset(ones), loose, True, buffers, untaken)
            component.train(experiment.how == "training")
        inputs = inputs if makes or not self.made else (*inputs, *self._learned(experiment))
        masks = {place for place, one in enumerate(experiment.inputs) if isinstance(one, Masked)}
        learns = tuple(
            place
            for place, one in enumerate(inputs)
            if place not in masks and isinstance(one, Tensor) and one.is_floating_point()
        )

        def run(*given: Any) -> Any:
            return self.call(component, given)

        def unasked() -> Seen:  # a configuration may be read as late as in forward
            return {} if "dropout" in taken or "dropout" not in options else {UNASKED: "yes"}

        if "before" in experiment.options:
            with torch.no_grad():
                run(*copies(converted(experiment.options["before"])))
        if experiment.how == "dropout":
            if not isinstance(component, nn.Module):
                return {}, parameters
            return look_at_dropout(run, component, inputs, PASSES if self.unbiased else 4) | unasked(), parameters
        if experiment.how == "moved":
            return (look_elsewhere(run, component, inputs) if isinstance(component, nn.Module) else {}), parameters
        if experiment.how == "half":
            if isinstance(component, nn.Module):
                component.half()
            halved = [one.half() if isinstance(one, Tensor) and one.is_floating_point() else one for one in inputs]
            with torch.no_grad():
                return {"output": tensor_of(run(*halved)).detach().clone()}, parameters
        return look(run, inputs, trained, learns) | unasked(), parameters

    def _learned(self, experiment: Experiment) -> tuple[Any, ...]:
        return experiment.options.get("learned", ())


def takes(target: Any, count: int) -> bool:
    """Whether a function can be called with so many arguments."""
    try:
        inspect.signature(target).bind(*range(count))
    except (TypeError, ValueError):
        return False
    return True


def is_lazy(one: Any) -> bool:
    """Whether a parameter has no shape before the first call."""
    return isinstance(one, nn.parameter.UninitializedParameter)


def is_made(target: Any) -> bool:
    """Whether this is a class, or a function that makes a module when it is called with sizes."""
    return inspect.isclass(target)


def known(component: str) -> Iterator[tuple[Mistake, Any]]:
    """The known mistakes of one component of the checks, each with its code."""
    for mistake in catalogue(component):
        yield mistake, mistake.wrong


def drawn(*shape: int, seed: int = 0) -> Tensor:
    """The same normal numbers whenever they are asked for."""
    return torch.randn(shape, generator=torch.Generator().manual_seed(sum(shape) + 100 * seed))
