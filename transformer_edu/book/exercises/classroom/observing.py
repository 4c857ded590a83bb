"""What an answer does when it is called, as plain values that can be sent, stored and compared."""

import copy
import json
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor
from torch.overrides import TorchFunctionMode

from transformer_edu.book.sandbox.sandbox import out_of_memory

Observed = dict[str, Any]  # "output", "gradients", "changed"; or "error", a phrase about "it"
THERE_ALREADY = "which is there already"  # of a function that an answer calls and must not
DEEPEST = 20  # lists in lists
LARGEST = 20_000  # numbers of a tensor: many times what a right answer has
DTYPES = {str(dtype): dtype for dtype in (torch.float32, torch.float64, torch.int64, torch.int32, torch.bool)}


def observe(
    fn: Callable[..., Any], arguments: tuple[Any, ...], gradient: bool = False, never: Sequence[str] = ()
) -> Observed:
    """Call `fn` once with copies of the arguments; an exception of its own is an observation, too.

    Args:
        fn: what is called.
        arguments: tensors, numbers, texts, and lists or dicts of them.
        gradient: whether to go back through the output, as a sum with fixed weights, to every floating-point argument.
        never: functions of torch that it must not call, however it spells them, by a part of their names.
    """
    learning: list[Tensor] = []
    given = _copied(arguments, learning if gradient else None)
    try:
        if never:
            with _Watched(never) as watched:
                output = fn(*given)
            if watched.called:
                return {"error": f"it calls {watched.called}, {THERE_ALREADY}: build it from simpler operations"}
        else:
            output = fn(*given)
        seen: Observed = {"output": plain(output)}
        if gradient:
            seen["gradients"] = [plain(slope) for slope in _gradients(output, learning)]
    except RecursionError:
        return {"error": "it calls itself without end"}
    except (Exception, SystemExit) as error:
        return {"error": in_words(error)}
    seen["changed"] = plain(given) != plain(arguments)
    return seen


class _Watched(TorchFunctionMode):
    """Notes a function of torch that must not be called: every spelling of it comes by here."""

    def __init__(self, never: Sequence[str]):
        super().__init__()
        self._never = never
        self.called = ""

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        name = str(getattr(func, "__name__", ""))
        if any(part in name for part in self._never):
            self.called = f"torch's {name.strip('_')}"
        return func(*args, **(kwargs or {}))


def in_words(error: BaseException) -> str:
    """What an exception says, as a short phrase about "it"."""
    if isinstance(error, SystemExit):
        return "it ends the program"
    if out_of_memory(error):
        return "it asks for more memory than there is for an answer"
    first = (str(error).strip().splitlines() or [""])[0]
    return f"it stops with {type(error).__name__}: {first}"[:300].rstrip(": .")


def plain(value: Any, depth: int = 0) -> Any:
    """A value as JSON has it; a tensor becomes an object of its dtype, shape and values.

    Raises:
        TypeError: it is nothing that an answer may be.
    """
    if depth > DEEPEST:
        raise TypeError(f"lists nested more than {DEEPEST} deep are no answer")
    if value is None or isinstance(value, str | bool | int):
        return value
    if isinstance(value, float):
        return float(value)
    if isinstance(value, Tensor):
        if value.numel() > LARGEST:
            raise TypeError(f"a tensor of shape {tuple(value.shape)} is no answer: it is far too large")
        flat = value.detach().reshape(-1)
        if flat.dtype not in DTYPES.values():
            flat = flat.float() if flat.is_floating_point() else flat.long() if not flat.is_complex() else flat
        if flat.dtype not in DTYPES.values():
            raise TypeError(f"a tensor of {flat.dtype} is no answer")
        return {"dtype": str(flat.dtype), "shape": list(value.shape), "values": flat.tolist()}
    if isinstance(value, list | tuple):
        return [plain(item, depth + 1) for item in value]
    if isinstance(value, dict):
        return {"dict": {str(name): plain(item, depth + 1) for name, item in value.items()}}
    raise TypeError(f"a {type(value).__name__} is no answer")


def from_plain(value: Any) -> Any:
    """The value again; lists stay lists.

    Raises:
        ValueError: `plain` has not written this.
    """
    if isinstance(value, list):
        return [from_plain(item) for item in value]
    if not isinstance(value, dict):
        return value
    if set(value) == {"dict"}:
        return {str(name): from_plain(item) for name, item in value["dict"].items()}
    if set(value) != {"dtype", "shape", "values"} or value["dtype"] not in DTYPES:
        raise ValueError(f"not a value of an answer: {json.dumps(value)[:80]}")
    return torch.tensor(value["values"], dtype=DTYPES[value["dtype"]]).reshape(value["shape"])


def _copied(value: Any, learning: list[Tensor] | None) -> Any:
    """A copy; where gradients are asked for, of tensors that have one, which are put into `learning`."""
    if isinstance(value, Tensor) and learning is not None and value.is_floating_point():
        learning.append(value.detach().clone().requires_grad_())
        return learning[-1].clone()  # no leaf: to change it in place is no error, and is seen
    if isinstance(value, list | tuple):
        return type(value)(_copied(item, learning) for item in value)
    if isinstance(value, dict):
        return {name: _copied(item, learning) for name, item in value.items()}
    return copy.deepcopy(value)


def _tensors(value: Any) -> list[Tensor]:
    if isinstance(value, Tensor):
        return [value]
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list | tuple) else ()
    return [tensor for item in inner for tensor in _tensors(item)]


def _gradients(output: Any, learning: list[Tensor]) -> list[Tensor]:
    """The gradient of the outputs' weighted sum; zeros where it does not come through."""
    outputs = [tensor for tensor in _tensors(output) if tensor.requires_grad]
    if not outputs:
        return [torch.zeros_like(leaf) for leaf in learning]
    total = torch.stack([(tensor * _weights(tensor)).sum() for tensor in outputs]).sum()
    found = torch.autograd.grad(total, learning, allow_unused=True)
    return [torch.zeros_like(leaf) if slope is None else slope for leaf, slope in zip(learning, found, strict=True)]


def _weights(output: Tensor) -> Tensor:
    """Weights that differ from place to place, so that a sum does not hide what changes places."""
    return torch.cos(torch.arange(output.numel(), dtype=output.dtype)).reshape(output.shape)
