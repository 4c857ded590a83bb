"""A component as a calculator: made, given numbers and inputs, asked for answers and gradients. It judges nothing."""

import inspect
import math
import time
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor, nn

from transformer_edu.book.exercises.judge.experiment import (
    FEW,
    PASSES,
    TOO_SLOW,
    UNASKED,
    Experiment,
    Masked,
    Seen,
    changed,
    copies,
    empty,
    in_words,
    look,
    look_at_dropout,
    look_elsewhere,
    precisely,
    scramble,
    tensor_of,
    way_back,
)
from transformer_edu.book.exercises.judge.kind import Kind, Parameters
from transformer_edu.book.exercises.judge.making import TAKES_MASK, Untaken, make, mask_of
from transformer_edu.book.exercises.judge.masks import OURS, Way, Ways, handed
from transformer_edu.book.exercises.judge.numbers import doubled, summed

NONE = torch.zeros(0, dtype=torch.bool)
PATIENCE = 60  # seconds, for one experiment
NOISE = 1e-6  # a gradient that is zero but for rounding, as that of a bias of keys
STEPS = {torch.float64: (1e-5, 1e-6), torch.float32: (2e-2, 1e-2)}  # by which numbers are moved to see a derivative


class Calculator:
    """Somebody's component. `other` asks for the second sizes of its kind."""

    def __init__(self, kind: Kind, target: Any, adapted: bool = False):
        self.kind, self.target = kind, target
        self.adapted = adapted  # then a size that is named need not be used
        self._made: dict[bool, tuple[nn.Module, torch.dtype]] = {}

    def _of(self, other: bool) -> Kind:
        return self.kind.elsewhere if other and self.kind.elsewhere else self.kind

    def observe(
        self, ways: Ways = (), other: bool = False, numbers: Tensor | None = None
    ) -> tuple[list[Seen], Parameters]:
        """What it does in every experiment, with masks handed over in these ways, one for each place.

        Its numbers are drawn; or these, where it has as many.
        """
        kind = self._of(other)
        seen: list[Seen] = []
        parameters = Parameters()
        least, small = math.inf, _size(kind.experiments[0])
        for experiment in kind.experiments:
            torch.manual_seed(0)
            start, larger = time.perf_counter(), _size(experiment) / small
            power = 1 if "may stop" in experiment.options else 2  # for loops over tokens, or over pairs of them
            if experiment.alone and larger > 1 and least * larger**power > PATIENCE:
                seen.append({"not asked": TOO_SLOW})
                continue
            try:
                one, found = _observed(kind, self.target, experiment, ways, numbers)
                parameters = found if found.made and not parameters.made else parameters
                least = min(least, time.perf_counter() - start) if experiment.how == "plain" else least
            except Untaken:
                one = {"not asked": "yes"}
            except RecursionError:
                one = {"error": "RecursionError: it calls itself without end"}
            except Exception as error:
                one = {"not asked": "yes"} if experiment.options.get("may stop") else {"error": in_words(error)}
            seen.append(one)
        if self.adapted and "d_ff" in parameters.taken:
            parameters = replace(parameters, untaken=(*parameters.untaken, "d_ff"))
        return seen, parameters

    def masked(self, place: int, way: Way, numbers: Tensor) -> list[Seen]:
        """What it answers, with these numbers, where there is a mask at this place only, handed over in this way."""
        ways = tuple(way if slot == place else OURS for slot in self.kind.places)
        seen: list[Seen] = []
        for index in self.kind.masked_at(place):
            torch.manual_seed(0)
            experiment = self.kind.experiments[index]
            inputs = _converted(self.kind, experiment.inputs, ways)
            try:
                component = self.target
                if inputs is not None and self.kind.made:
                    component = _ready(self.kind, self.target, self.kind.options, inputs)[0].eval()
                    fill(trained(component), numbers)
                with torch.no_grad():
                    seen.append({} if inputs is None else {"output": tensor_of(self.kind.call(component, inputs))})
            except Untaken:
                seen.append({})
            except Exception as error:
                seen.append({"error": in_words(error)})
        return seen

    def look(self, numbers: Tensor, other: bool = False) -> tuple[Tensor, Tensor]:
        """With these numbers: the answer in the first experiment, and the gradient by each number, in its precision."""
        learned = self._set(numbers, other)
        answer = self._answer(other)
        found = way_back(summed(answer), learned)
        flat = [torch.zeros_like(tensor) if g is None else g for tensor, g in zip(learned, found, strict=True)]
        return answer.detach().double(), torch.cat([gradient.flatten() for gradient in flat])

    def cut(self, numbers: Tensor, other: bool = False) -> list[str]:
        """The tensors whose gradient is not how the answer changes with them."""
        learned = self._set(numbers, other)
        module, dtype = self._made[other]
        names = [name for name, parameter in module.named_parameters() if parameter.requires_grad]
        seeded = torch.Generator().manual_seed(9)
        ways = [torch.randn(tensor.shape, generator=seeded, dtype=torch.float64).to(dtype) for tensor in learned]
        gradients = way_back(summed(self._answer(other)), learned)
        told = [0.0 if g is None else float((g * way).sum()) for g, way in zip(gradients, ways, strict=True)]
        if not self._differs(other, learned, ways, sum(told)):
            return []
        tables = {table for part in module.modules() if isinstance(part, nn.Embedding) for table in part.parameters()}
        return [  # but for tables, whose row of padding has no gradient on purpose
            name
            for name, tensor, way, slope in zip(names, learned, ways, told, strict=True)
            if (tensor not in tables or not slope) and self._differs(other, [tensor], [way], slope)
        ]

    def _differs(self, other: bool, learned: list[Tensor], ways: list[Tensor], told: float) -> bool:
        """Whether the answer changes otherwise than `told`, by two steps that agree with each other."""
        slopes = []
        dtype = self._made[other][1]
        for step in STEPS[dtype]:
            ends = []
            for sign in (1, -2):
                with torch.no_grad():
                    for tensor, way in zip(learned, ways, strict=True):
                        tensor.add_(way, alpha=sign * step)
                    ends.append(float(summed(self._answer(other))))
            with torch.no_grad():
                for tensor, way in zip(learned, ways, strict=True):
                    tensor.add_(way, alpha=step)
            slopes.append((ends[0] - ends[1]) / (2 * step))
        share, least = (0.02, 0.003) if dtype == torch.float64 else (0.1, 0.3)
        apart = abs(slopes[0] - slopes[1])
        agree = apart <= share * abs(slopes[1])
        return agree and abs(slopes[1]) > 1e-4 and abs(told - slopes[1]) > max(3 * apart, least * abs(slopes[1]))

    def _set(self, numbers: Tensor, other: bool) -> list[Tensor]:
        """The tensors that are trained, with these numbers in them."""
        if other not in self._made:
            self._made[other] = _precise(self._of(other), self.target)
        learned = trained(self._made[other][0])
        fill(learned, numbers)
        return learned

    def _answer(self, other: bool) -> Tensor:
        kind, (module, dtype) = self._of(other), self._made[other]
        if dtype == torch.float64:
            with precisely():
                return tensor_of(kind.call(module, tuple(doubled(kind.experiments[0].inputs))))
        return tensor_of(kind.call(module, tuple(copies(kind.experiments[0].inputs))))


def trained(module: nn.Module) -> list[Tensor]:
    """The tensors that an optimizer would change."""
    return [parameter for parameter in module.parameters() if parameter.requires_grad]


def fill(tensors: Sequence[Tensor], numbers: Tensor) -> None:
    """Put these numbers into the tensors, one after another."""
    with torch.no_grad():
        for tensor, part in zip(tensors, numbers.split([tensor.numel() for tensor in tensors]), strict=True):
            tensor.copy_(part.view(tensor.shape))


def _ready(kind: Kind, target: Any, options: dict[str, Any], inputs: tuple[Any, ...]) -> tuple[Any, set[str]]:
    """A component made with these options, and which of them it took; what has no shape yet has been called once."""
    try:
        component, taken = make(target, options)
    except (ValueError, AssertionError, NotImplementedError):  # of a part that need not be
        if "d_turned" not in options:
            raise
        component, taken = make(target, {name: value for name, value in options.items() if name != "d_turned"})
    if isinstance(component, nn.Module) and any(map(is_lazy, component.parameters())):
        kind.call(component, inputs)
    if isinstance(component, nn.Module) and "num_layers" in options:  # a frozen table is a table
        words = {options[name] for name in VOCABULARIES if name in options}
        for table in component.parameters():
            if table.is_floating_point() and table.dim() == 2 and table.shape[0] in words and not table.requires_grad:
                table.requires_grad_()
                taken.add(FROZEN_TABLE)
    return component, taken


FROZEN_TABLE = "frozen table"
VOCABULARIES = "source_vocab", "target_vocab", "vocab_size"


def _precise(kind: Kind, target: Any) -> tuple[nn.Module, torch.dtype]:
    """A component that computes in float64, or, where it has float32 written into it, in that."""
    torch.manual_seed(0)
    try:
        with precisely(), torch.no_grad():
            module = _ready(kind, target, kind.options, tuple(doubled(kind.experiments[0].inputs)))[0].eval().double()
            kind.call(module, tuple(doubled(kind.experiments[0].inputs)))
        return module, torch.float64
    except Exception:
        module = make(target, kind.options)[0].eval()
        with torch.no_grad():
            kind.call(module, tuple(copies(kind.experiments[0].inputs)))
        return module, torch.float32


def _converted(kind: Kind, given: tuple[Any, ...], ways: Ways) -> tuple[Any, ...] | None:
    """Inputs with their masks handed over so; None where that cannot be."""
    how = dict(zip(kind.places, ways, strict=True)) if ways else {}
    found = [handed(item.mask, how.get(i, OURS)) if isinstance(item, Masked) else item for i, item in enumerate(given)]
    if any(isinstance(item, Masked) and new is None for item, new in zip(given, found, strict=True)):
        return None
    return tuple(found)


def _size(experiment: Experiment) -> int:
    """How many numbers go in."""
    return sum(item.numel() for item in experiment.inputs if isinstance(item, Tensor)) or 1


def _observed(  # noqa: C901
    kind: Kind, target: Any, experiment: Experiment, ways: Ways, numbers: Tensor | None
) -> tuple[Seen, Parameters]:
    inputs, learned = _converted(kind, experiment.inputs, ways), experiment.options.get("learned", ())
    earlier = _converted(kind, experiment.options.get("before", ()), ways)
    if inputs is None or earlier is None:
        return {"not asked": "yes"}, Parameters()
    if kind.plain:
        given = copies(inputs), copies(inputs)
        first, second = (tensor_of(kind.call(target, tuple(some))).detach().clone() for some in given)
        return {"output": first, "again": second} | changed(inputs, given[0]), Parameters()
    options = kind.options | {name: value for name, value in experiment.options.items() if name in kind.options}
    if experiment.how == "dropout" and "dropout" in options:
        options["dropout"] = experiment.options.get("share", 0.5)
    makes = kind.made and not (kind.may_be_function and not is_made(target))
    component, taken = _ready(kind, target, options, inputs) if makes else (target, set(options))
    asked = experiment.options.get("asks")
    if asked and not (asked in taken if makes else takes(target, len(inputs) + len(learned))):
        return {"not asked": "yes"}, Parameters()
    if mask_of(component) is not None:
        taken = taken | {TAKES_MASK}
    parameters, learned_by = Parameters(), {}
    if isinstance(component, nn.Module):
        started = torch.cat([tensor.detach().flatten() == 1 for tensor in trained(component)] or [NONE])
        new = _ready(kind, target, options, inputs)[0] if makes and experiment.how == "training" else None
        begun = {} if new is None else _at_start(kind, new, inputs)
        ones = scramble(component)
        learned_by = {name: parameter for name, parameter in component.named_parameters() if parameter.requires_grad}
        if numbers is not None and len(numbers) == len(started):
            fill(trained(component), numbers)
        if experiment.options.get("empty"):
            empty(component, ones)
        untaken = tuple(name for name in options if name not in taken)
        parameters = replace(
            _parameters(component, learned_by), ones=started, untaken=untaken, taken=tuple(sorted(taken))
        )
        component.train(experiment.how == "training")
    inputs = inputs if makes or not kind.made else (*inputs, *learned)
    masks = {place for place, item in enumerate(experiment.inputs) if isinstance(item, Masked)}
    learns = tuple(
        place
        for place, item in enumerate(inputs)
        if place not in masks and isinstance(item, Tensor) and item.is_floating_point()
    )

    def run(*given: Any) -> Any:
        return kind.call(component, given)

    def unasked() -> Seen:  # a configuration may be read as late as in forward
        return {} if "dropout" in taken or "dropout" not in options else {UNASKED: "yes"}

    if "before" in experiment.options:
        with torch.no_grad():
            run(*copies(earlier))
    if experiment.how == "dropout":
        if not isinstance(component, nn.Module):
            return {}, parameters
        passes = PASSES if kind.unbiased and "alike" not in experiment.options else FEW
        return look_at_dropout(run, component, inputs, passes) | unasked(), parameters
    if experiment.how == "moved":
        return (look_elsewhere(run, component, inputs) if isinstance(component, nn.Module) else {}), parameters
    if experiment.how in ("half", "half input"):
        if isinstance(component, nn.Module) and experiment.how == "half":
            component.half()
        halved = [item.half() if isinstance(item, Tensor) and item.is_floating_point() else item for item in inputs]
        with torch.no_grad():
            return {"output": tensor_of(run(*halved)).detach().clone()}, parameters
    before = [parameter.detach().clone() for parameter in learned_by.values()]
    seen = look(run, inputs, learned_by, learns) | unasked() | (begun if learned_by else {})
    if any(not torch.equal(parameter, was) for parameter, was in zip(learned_by.values(), before, strict=True)):
        seen["rewritten"] = "yes"
    return seen, parameters


def _at_start(kind: Kind, module: nn.Module, inputs: tuple[Any, ...]) -> Seen:
    """With the numbers that it starts with: whether it answers zeros only, and whether its matrices get a gradient."""
    learned = sorted(trained(module), key=Tensor.dim, reverse=True)
    matrices = [tensor for tensor in learned if tensor.dim() > 1]
    try:
        output = tensor_of(kind.call(module, tuple(copies(inputs))))
        moves = way_back(summed(output), learned) if matrices else []
        seen: Seen = {} if output.detach().any() else {"zeros": "yes"}
        seen |= {"alike": "yes"} if any(map(_stays_alike, matrices, moves)) else {}
        if not _any(moves[: len(matrices)]) and moves:
            module.eval()
            alive = _any(way_back(summed(tensor_of(kind.call(module, tuple(copies(inputs))))), matrices))
            return seen | {"drained" if alive else "dead": "yes"}
        if any(not matrix.any() for matrix in matrices):
            with torch.no_grad():
                for tensor, move in zip(learned, moves, strict=True):
                    tensor -= 0 if move is None else 0.1 * move
            later = way_back(summed(tensor_of(kind.call(module, tuple(copies(inputs))))), matrices)
            still = [matrix.any() for matrix, g in zip(matrices, later, strict=True) if g is None or not g.any()]
            seen |= {"blocked": "yes"} if still and not any(still) else {}
    except Exception:  # whatever the code that is judged raises; the same experiment says it
        return {}
    return seen


def _any(gradients: Sequence[Tensor | None]) -> bool:
    return any(g is not None and bool(g.any()) for g in gradients)


def _stays_alike(matrix: Tensor, gradient: Tensor | None) -> bool:
    """Whether the rows of a matrix, or its columns, are one and the same, and so is their gradient."""
    if matrix.dim() != 2 or min(matrix.shape) < 2 or gradient is None or float(gradient.abs().max()) < NOISE:
        return False
    turned = (matrix, gradient), (matrix.T, gradient.T)
    return any(bool((m == m[:1]).all()) and torch.allclose(g, g[:1].expand_as(g), rtol=1e-4) for m, g in turned)


def _parameters(module: nn.Module, named: dict[str, nn.Parameter]) -> Parameters:
    """What a module has learned, and what it keeps where training does not see it."""
    usual = set(vars(nn.Module()))
    loose = tuple(
        f"{where}.{name}".lstrip(".")
        for where, part in module.named_modules()
        for name, item in vars(part).items()
        if name not in usual and _is_kept(item)
    )
    frozen = tuple(name for name, parameter in module.named_parameters() if not parameter.requires_grad)
    buffers = tuple(name for name, buffer in module.named_buffers() if buffer.is_floating_point())
    numbers = torch.cat([parameter.detach().flatten().float() for parameter in named.values()] or [torch.zeros(0)])
    lengths = tuple(parameter.numel() for parameter in named.values())
    found = [
        item for part in module.modules() for name, item in vars(part).items() if "eps" in name and type(item) is float
    ]
    eps = (found or [1e-5])[0]
    return Parameters(numbers, tuple(named), lengths, loose, True, frozen, buffers, eps=eps, says_eps=bool(found))


def _is_kept(item: Any) -> bool:
    """Whether this is a tensor, or a list, tuple or dictionary of tensors or modules."""
    if isinstance(item, list | tuple | dict):
        return any(isinstance(part, Tensor | nn.Module) for part in (item.values() if isinstance(item, dict) else item))
    return isinstance(item, Tensor) and item.numel() > 1


def takes(target: Any, count: int) -> bool:
    """Whether a function can be called with so many arguments."""
    try:
        inspect.signature(target).bind(*range(count))
    except (TypeError, ValueError):
        return False
    return True


def is_lazy(parameter: Any) -> bool:
    """Whether a parameter has no shape before the first call."""
    return isinstance(parameter, nn.parameter.UninitializedParameter)


def is_made(target: Any) -> bool:
    """Whether this is a class, or a function that makes a module when it is called with sizes."""
    return inspect.isclass(target)
