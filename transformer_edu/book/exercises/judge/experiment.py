"""One experiment with somebody's component: what goes in, in which state, and what is seen."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor, nn

Seen = dict[str, Tensor | str]  # what an experiment shows: tensors, and errors in words
TOO_SLOW = "not tried, for it would take minutes"
LONG = "it is right for short sentences only"  # what several kinds can do wrong, each in an experiment of its own
TRAINING = "it drops out although dropout is 0"
WIDENED = "half precision goes in, and another comes out"
OVERFLOW = "half precision overflows: a number beyond 65,504"
BEYOND = "for a text longer than it was made for it gives a wrong answer, and no error"
KEPT = "something stays behind from an earlier call with other inputs"
FIXED = "it is right at some sizes only: a number is fixed, or comes from another size than it should"
EMPTY = {"still": True, "empty": True}  # nothing but gains of a norm: no sub-layer gives anything but zeros
ALIKE_WORDS = {"alike": True}  # the words of the second sentence are one and the same: whatever their weights
LEFT_BEHIND = "a tensor stays on the CPU when the module is moved: it is neither a buffer nor made where x is"
ALONE = "the first token alone"
GIVEN = "it sees later tokens too, unless it is handed a causal mask"
UNASKED = "it takes no dropout"  # that is: no argument, or no field of its configuration
PASSES, FEW = 240, 4  # in training, where dropout is looked at; FEW, where the mean tells nothing


@dataclass(frozen=True)
class Masked:
    """A mask among the inputs, boolean (batch, 1, q_len, k_len), True = may attend."""

    mask: Tensor


@dataclass(frozen=True)
class Experiment:
    """`inputs` go in as they stand; `how` is "plain", "training" (dropout 0), "dropout" (one half), "half",
    "half input" or "moved".

    What fails here alone, and is none of the known mistakes, has the name `alone`. What is only a convention is a
    `remark`. Among the `options`, "before" is a call that comes first, with other inputs, and "asks" names an option
    that has to be among those that the component takes: nothing is seen of one that does not, nor where it
    "may stop" and does. Dropout has the "share" that is given; where that is all, it answers "as if" these went in, and
    where one number alone may be dropped, "either" the one or the other of these.
    """

    title: str
    inputs: tuple[Any, ...]
    how: str = "plain"
    alone: str | None = None
    remark: bool = False
    tolerance: float = 1e-3
    options: Mapping[str, Any] = field(default_factory=dict)

    @property
    def masked(self) -> list[int]:
        """The places of the masks that go in, now or in the call before."""
        given = (self.inputs, self.options.get("before", ()))
        return sorted({i for some in given for i, item in enumerate(some) if isinstance(item, Masked)})


def scramble(module: nn.Module) -> set[str]:
    """Draw all parameters anew, so that no gain of 1 and no bias of 0 hides a mistake; names what started as ones."""
    seeded = torch.Generator().manual_seed(1)
    ones = set()
    with torch.no_grad():
        for name, parameter in module.named_parameters():
            if not parameter.requires_grad:
                continue
            start = parameter.detach().clone()
            if parameter.numel() > 1 and parameter.squeeze().dim() == 1 and bool((start == 1).all()):
                ones.add(name)
            drawn = 0.3 * torch.randn(parameter.shape, generator=seeded)
            parameter.copy_(drawn + 1 if name in ones else drawn)
    return ones


def empty(module: nn.Module, ones: set[str]) -> None:
    """Set all that was learned to zero, but for what started as ones."""
    with torch.no_grad():
        for name, parameter in module.named_parameters():
            if name not in ones:
                parameter.zero_()


# ------------------------------------------------------------------ seeing


def in_words(error: BaseException) -> str:
    """An error as text, with the last line of the component's own code that led to it."""
    first = (str(error).strip() or "no message").splitlines()[0]
    return f"{type(error).__name__}: {first}"


def _named_tensors(result: Any) -> list[Tensor]:
    """What an answer with names holds, as a dictionary does or an object with fields."""
    named = result if isinstance(result, Mapping) else getattr(result, "__dict__", {})
    return [value for value in named.values() if isinstance(value, Tensor) and value.dim()]


def tensor_of(result: Any) -> Tensor:
    """The answer: a tensor of real numbers, or the first of a tuple; raises TypeError for anything else."""
    if not isinstance(result, Tensor | tuple | list | int | float) and result is not None:
        result = _named_tensors(result) or result
    first = result[0] if isinstance(result, tuple | list) and result else result
    if isinstance(first, (int, float)) and not isinstance(first, bool):
        first = torch.tensor(float(first))
    if type(first) not in (Tensor, nn.Parameter):
        raise TypeError(f"returned {'None' if first is None else f'a {type(first).__name__}'}, expected a tensor")
    if first.is_complex() or first.is_quantized:
        raise TypeError(f"returned a tensor of {first.dtype}, expected real numbers, or True and False")
    return first


@contextmanager
def precisely() -> Iterator[None]:
    """Compute in float64, also what is made on the way, and what asks for float32: rounding would hide what differs."""
    before, names = torch.get_default_dtype(), ("float", "float32")
    kept = [getattr(torch, name) for name in names], Tensor.float
    torch.set_default_dtype(torch.float64)
    try:
        for name in names:
            setattr(torch, name, torch.float64)
        Tensor.float = Tensor.double  # type: ignore[method-assign]
        yield
    finally:
        torch.set_default_dtype(before)
        for name, dtype in zip(names, kept[0], strict=True):
            setattr(torch, name, dtype)
        Tensor.float = kept[1]  # type: ignore[method-assign]


def copies(inputs: tuple[Any, ...]) -> list[Any]:
    """Inputs that may be changed; what is one and the same stays so."""
    cloned = {id(item): item.clone() for item in inputs if isinstance(item, Tensor)}
    return [cloned.get(id(item), item) for item in inputs]


def changed(inputs: Sequence[Any], given: Sequence[Any]) -> Seen:
    """Which of the tensors that were handed over are others afterwards."""
    pairs = enumerate(zip(inputs, given, strict=True))
    return {f"changed {i}": "yes" for i, (a, b) in pairs if isinstance(a, Tensor) and not torch.equal(a, b)}


def look(
    run: Callable[..., Any], inputs: tuple[Any, ...], parameters: Mapping[str, nn.Parameter], learns: tuple[int, ...]
) -> Seen:
    """Run once for the numbers, again for what has stayed behind, and back for the gradient of inputs `learns`."""
    seen: Seen = {}
    given = copies(inputs)
    result = run(*given)
    seen["output"] = tensor_of(result).detach().clone()
    if isinstance(result, tuple | list) and len(result) == 2 and type(result[1]) is Tensor:
        seen["second"] = result[1].detach().clone()
    seen |= changed(inputs, given)
    given = copies(inputs)
    with torch.no_grad():  # some remember only then, or write into what they are given
        seen["again"] = tensor_of(run(*given)).detach().clone()
    seen |= changed(inputs, given)
    try:
        return seen | gradients(run, inputs, parameters, learns)
    except RuntimeError as error:
        return seen | {"no way back": in_words(error)}


def way_back(total: Tensor, leaves: Sequence[Tensor]) -> list[Tensor | None]:
    """The gradient by each of these; None where it does not depend on it. That of a sparse table is made dense."""
    found = torch.autograd.grad(total, leaves, allow_unused=True) if total.requires_grad else [None] * len(leaves)
    return [None if g is None else g.to_dense() for g in found]


def gradients(
    run: Callable[..., Any], inputs: tuple[Any, ...], parameters: Mapping[str, nn.Parameter], learns: tuple[int, ...]
) -> Seen:
    """Of a weighted sum of the answer: by each input in `learns`, and which parameters get none, or NaN."""
    leaves = {place: inputs[place].clone().requires_grad_() for place in learns}
    if not leaves and not parameters:
        return {}
    output = tensor_of(run(*[leaves[i].clone() if i in leaves else item for i, item in enumerate(inputs)]))
    if not output.is_floating_point():
        return {}
    if not output.requires_grad:
        return {"cut": "everything"}
    weights = torch.randn(output.shape, generator=torch.Generator().manual_seed(2))
    wanted = [*leaves.values(), *parameters.values()]
    found = way_back((output.float() * weights).sum(), wanted)
    seen: Seen = {
        f"gradient {place}": torch.zeros(()) if g is None else g.detach().clone()
        for place, g in zip(leaves, found, strict=False)
    }
    rest = dict(zip(parameters, found[len(leaves) :], strict=True))
    for name in (name for name, g in rest.items() if g is None):
        seen[f"{'without gradient' if matters(run, inputs, parameters[name]) else 'unused'} {name}"] = "yes"
    seen |= {f"NaN gradient {name}": "yes" for name, g in rest.items() if g is not None and not g.isfinite().all()}
    return seen


def matters(run: Callable[..., Any], inputs: tuple[Any, ...], parameter: nn.Parameter) -> bool:
    """Whether the answer changes with this parameter."""
    with torch.no_grad():
        before = tensor_of(run(*copies(inputs))).clone()
        kept = parameter.clone()
        parameter.add_(torch.randn(parameter.shape, generator=torch.Generator().manual_seed(3)))
        after = tensor_of(run(*copies(inputs)))
        parameter.copy_(kept)
    return not torch.allclose(before, after, atol=1e-5, equal_nan=True)


def look_elsewhere(run: Callable[..., Any], module: nn.Module, inputs: tuple[Any, ...]) -> Seen:
    """Move a module to another device (one that computes shapes only): what does not come along stops the sum."""
    module.to("meta")
    try:
        run(*[item.to("meta") if isinstance(item, Tensor) else item for item in inputs])
    except RuntimeError as error:
        if "expected device" in str(error) or "same device" in str(error):
            return {"left behind": "yes"}
    except Exception:
        pass  # what this device cannot do says nothing of others
    return {}


def sums_to_one(result: Any) -> bool:
    """Whether weights are returned beside the output, each row of which sums to one."""
    second = result[1] if isinstance(result, tuple | list) and len(result) == 2 else None
    if type(second) is not Tensor or not second.is_floating_point():
        return False
    return torch.allclose(second.double().sum(-1), torch.ones((), dtype=torch.float64), atol=1e-3)


def look_at_dropout(run: Callable[..., Any], module: nn.Module, inputs: tuple[Any, ...], passes: int) -> Seen:
    """With dropout of one half: what eval mode answers, and mean and spread of many passes in training."""
    module.eval()
    result = run(*copies(inputs))
    seen: Seen = {
        "output": tensor_of(result).detach().clone(),
        "again": tensor_of(run(*copies(inputs))).detach().clone(),
    }
    module.train()
    with torch.no_grad():
        if sums_to_one(result) and not sums_to_one(run(*copies(inputs))):
            seen["dropped weights"] = "yes"
        drawn = torch.stack([tensor_of(run(*copies(inputs))).double() for _ in range(passes)])
    return seen | {"mean": drawn.mean(0), "spread": drawn.std(0)}
