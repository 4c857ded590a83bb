"""One experiment with somebody's component: what goes in, in which state, and what is seen."""

import inspect
import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, is_dataclass
from types import SimpleNamespace
from typing import Any

import torch
from torch import Tensor, nn

Seen = dict[str, Tensor | str]  # what an experiment shows: tensors, and errors in words
LONG = "it is right for short sentences only"  # what several kinds can do wrong, each in an experiment of its own
TRAINING = "it drops out although dropout is 0"
OVERFLOW = "half precision overflows: a number beyond 65,504"
KEPT = "something stays behind from an earlier call with other inputs"
FIXED = "it is right at some sizes only: a number is fixed, or comes from another size than it should"
EMPTY = {"still": True, "empty": True}  # nothing but gains of a norm: no sub-layer gives anything but zeros
LEFT_BEHIND = "a tensor stays on the CPU when the module is moved: it is neither a buffer nor made where x is"
UNASKED = "it takes no dropout"  # that is: no argument, or no field of its configuration
PASSES = 240  # in training, where dropout is looked at


@dataclass(frozen=True)
class Masked:
    """A mask among the inputs, boolean (batch, 1, q_len, k_len), True = may attend."""

    mask: Tensor


@dataclass(frozen=True)
class Experiment:
    """`inputs` go in as they stand; `how` is "plain", "training" (dropout 0), "dropout" (one half), "half" or "moved".

    What fails here alone, and is none of the known mistakes, has the name `alone`. What is only a convention is a
    `remark`. Among the `options`, "before" is a call that comes first, with other inputs, and "asks" names an option
    that has to be among those that the component takes: nothing is seen of one that does not.
    """

    title: str
    inputs: tuple[Any, ...]
    how: str = "plain"
    alone: str | None = None
    remark: bool = False
    tolerance: float = 1e-3
    options: Mapping[str, Any] = field(default_factory=dict)

    @property
    def masks(self) -> list[Tensor]:
        """Those that go in, now or in the call before."""
        given = (*self.inputs, *self.options.get("before", ()))
        return [one.mask for one in given if isinstance(one, Masked)]


BLOCKED = "a mask whose True is blocked, as torch.nn's: hand it ~mask"
ADDITIVE, THREE = "an additive mask, 0 where allowed and −∞ where not", "a mask of three dimensions, without heads"
CONVENTIONS: dict[str, Callable[[Tensor], Tensor]] = {  # how a mask is handed over; the first is the book's
    "": lambda mask: mask,
    THREE: lambda mask: mask[:, 0],
    BLOCKED: lambda mask: ~mask,
    ADDITIVE: lambda mask: torch.zeros(mask.shape).masked_fill(~mask, -math.inf),
    "an additive mask of large negative numbers": lambda mask: torch.zeros(mask.shape).masked_fill(~mask, -1e9),
    "a mask of ones and zeros": lambda mask: mask.long(),
}
BOOLEAN = "", THREE, BLOCKED

# ------------------------------------------------------------------ making

SAID = {  # names that leave no doubt
    "source_vocab": r"(src|source|input|inp|enc\w*)_?(vocab|n_?tok|num|size|dict)|^(src|source)_v|^n_src",
    "target_vocab": r"(tgt|trg|target|output|out|dec\w*)_?(vocab|n_?tok|num|size|dict)|^(tgt|target|trg)_v|^n_tgt",
    "vocab_size": r"vocab|num_embeddings|n_tok|num_tok",
    "num_heads": r"head|^h$",
    "num_layers": r"layer|depth|^n$|blocks",
    "d_ff": r"(ff|feed|mlp|inter|inner)(?!.*out)",
    "max_len": r"max|positions|block_size|context|seq_?len",
    "dropout": r"drop|^p$|^rate$",
    "pad_id": r"pad",
    "eps": r"eps",
}
LIKELY = {"d_model": r"model|emb|dim|width|feature|^d$|size|shape|channel|hid|out", "d_ff": r"hid|dim|size|out"}


def meaning(name: str, wanted: Mapping[str, Any], names: Mapping[str, str] = SAID) -> str | None:
    """What a parameter of this name is, among what there is to give."""
    return next((one for one, pattern in names.items() if one in wanted and re.search(pattern, name.lower())), None)


class Settings(SimpleNamespace):
    """A configuration that answers to every usual name of a field."""

    def __getattr__(self, name: str) -> Any:
        values, taken = vars(self)["values"], vars(self)["taken"]
        found = meaning(name, values) or meaning(name, values, LIKELY)
        if found is None:
            raise AttributeError(f"the configuration has {', '.join(values)}, got {name!r}")
        taken.add(found)
        return values[found]


def make(target: Any, values: Mapping[str, Any]) -> tuple[Any, set[str]]:
    """Call `target` with these values, by name where its parameters' names say what they are, else in this order.

    Returns what it gives, and the names of those values that it took.
    """
    parameters = [
        p for p in inspect.signature(target).parameters.values() if p.kind not in (p.VAR_KEYWORD, p.VAR_POSITIONAL)
    ]
    if not parameters:
        return target(*list(values.values())[:1]), set(list(values)[:1])
    if len([p for p in parameters if p.default is p.empty]) == 1 and re.search(
        "conf|cfg|args|param", parameters[0].name
    ):
        if inspect.isclass(kept := _annotated(target, parameters[0])) and is_dataclass(kept):
            configuration, taken = make(kept, values)
            return target(configuration), taken
        taken = set()
        return target(Settings(values=dict(values), taken=taken)), taken
    left, given = dict(values), {}
    for one in parameters:
        known = meaning(one.name, left)
        if known:
            given[one.name] = left.pop(known)
    for one in parameters:  # the rest in the order of the contract
        wanted = next(iter(left), None)
        if one.name in given or wanted is None:
            continue
        if one.default is one.empty or meaning(one.name, {wanted: 0}, LIKELY):
            given[one.name] = left.pop(wanted)
    positional = [given.pop(one.name) for one in parameters if one.kind is one.POSITIONAL_ONLY]
    return target(*positional, **given), set(values) - set(left)


def _annotated(target: Any, parameter: inspect.Parameter) -> Any:
    """The annotation of a parameter, also where it is written as a string."""
    scope = getattr(inspect.getmodule(target), "__dict__", {})
    name = parameter.annotation
    return scope.get(name, name) if isinstance(name, str) else name


def scramble(module: nn.Module) -> tuple[set[str], set[str]]:
    """Draw all parameters anew, so that no gain of 1 and no bias of 0 hides a mistake.

    Returns the names of those that started as ones, and of the matrices of nn.Linear, which are (out, in).
    """
    seeded = torch.Generator().manual_seed(1)
    linear = {f"{name}.weight".lstrip(".") for name, part in module.named_modules() if isinstance(part, nn.Linear)} | {
        name for name, _ in module.named_parameters() if name.endswith("in_proj_weight")
    }
    ones = set()
    with torch.no_grad():
        for name, one in module.named_parameters():
            if not one.requires_grad:
                continue
            start = one.detach().clone()
            if one.numel() > 1 and one.squeeze().dim() == 1 and bool((start == 1).all()):
                ones.add(name)
            drawn = 0.3 * torch.randn(one.shape, generator=seeded)
            one.copy_(drawn + 1 if name in ones else drawn)
    return ones, linear


def empty(module: nn.Module, ones: set[str]) -> None:
    """Set all that was learned to zero, but for what started as ones."""
    with torch.no_grad():
        for name, one in module.named_parameters():
            if name not in ones:
                one.zero_()


# ------------------------------------------------------------------ seeing


def in_words(error: BaseException) -> str:
    """An error as text, with the last line of the component's own code that led to it."""
    first = (str(error).strip() or "no message").splitlines()[0]
    return f"{type(error).__name__}: {first}"


def tensor_of(result: Any) -> Tensor:
    """The answer: a tensor of real numbers, or the first of a tuple; raises TypeError for anything else."""
    first = result[0] if isinstance(result, tuple | list) and result else result
    if isinstance(first, (int, float)) and not isinstance(first, bool):
        first = torch.tensor(float(first))
    if type(first) not in (Tensor, nn.Parameter):
        raise TypeError(f"returned {'None' if first is None else f'a {type(first).__name__}'}, expected a tensor")
    if first.is_complex() or first.is_quantized:
        raise TypeError(f"returned a tensor of {first.dtype}, expected real numbers, or True and False")
    return first


def copies(inputs: tuple[Any, ...]) -> list[Any]:
    """Inputs that may be changed."""
    return [one.clone() if isinstance(one, Tensor) else one for one in inputs]


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
    for place, (before, after) in enumerate(zip(inputs, given, strict=True)):
        if isinstance(before, Tensor) and not torch.equal(before, after):
            seen[f"changed {place}"] = "yes"
    seen["again"] = tensor_of(run(*copies(inputs))).detach().clone()
    try:
        return seen | gradients(run, inputs, parameters, learns)
    except RuntimeError as error:
        return seen | {"no way back": in_words(error)}


def gradients(
    run: Callable[..., Any], inputs: tuple[Any, ...], parameters: Mapping[str, nn.Parameter], learns: tuple[int, ...]
) -> Seen:
    """Of a weighted sum of the answer: by each input in `learns`, and which parameters get none, or NaN."""
    leaves = {place: inputs[place].clone().requires_grad_() for place in learns}
    if not leaves and not parameters:
        return {}
    output = tensor_of(run(*[leaves[i].clone() if i in leaves else one for i, one in enumerate(inputs)]))
    if not output.is_floating_point():
        return {}
    if not output.requires_grad:
        return {"cut": "everything"}
    weights = torch.randn(output.shape, generator=torch.Generator().manual_seed(2))
    wanted = [*leaves.values(), *parameters.values()]
    found = torch.autograd.grad((output.float() * weights).sum(), wanted, allow_unused=True)
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
        run(*[one.to("meta") if isinstance(one, Tensor) else one for one in inputs])
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
