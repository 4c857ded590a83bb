"""The process in which somebody's code runs: it loads the code and answers questions. It judges nothing."""

import importlib
import importlib.util
import json
import math
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import torch
import torch.nn.functional as F
from torch import nn

from transformer_edu.book.exercises.checks.engine.laboratory import laboratory
from transformer_edu.book.exercises.judge.calculator import Calculator
from transformer_edu.book.exercises.judge.experiment import in_words
from transformer_edu.book.exercises.judge.kind import Parameters
from transformer_edu.book.exercises.judge.kinds import KINDS
from transformer_edu.book.exercises.judge.packing import pack, pack_look, pack_seen, unpack
from transformer_edu.book.sandbox import sandbox

WATCHED = {
    "torch": torch,
    "torch.nn.functional": F,
    "torch.nn": nn,
    "torch.Tensor": torch.Tensor,
    "math": math,
    "Calculator": Calculator,
}
WRAPPER = torch._disable_dynamo(math.sqrt).__code__


def main() -> None:
    """Read the order, lock the door, load the code, answer what is asked."""
    order = json.loads(sandbox.receive())
    kind = KINDS[order["kind"]]
    if any(experiment.how == "moved" for experiment in kind.experiments):
        import torch._dynamo  # noqa: F401 (tensors without data need it: seconds that are not the code's own)
    told: dict[str, Any] = {"unprotected": sandbox.lock_down(), "trouble": None}
    before, found = _state(), []
    with laboratory():
        try:
            target = _load(order["path"], order["name"])
            if order["adapter"]:
                target = _load(*order["adapter"])(target)
            if not callable(target):
                raise TypeError(f"{order['name']} must be a function or a class, got a {type(target).__name__}")
        except Exception as error:
            told["trouble"] = f"could not be loaded: {in_words(error)}"
        else:
            told["trouble"] = _changed(before, _state())
            found.append(Calculator(kind, target, bool(order["adapter"])))
        sandbox.converse(lambda question: _reply(question, told, found, before))


def _reply(question: bytes, told: dict[str, Any], found: list[Calculator], before: dict[str, Any]) -> bytes:
    """The answer to one question."""
    words, tensors = unpack(question)
    if words["do"] == "load":
        return pack(told)
    component, other = found[0], words.get("other", False)
    try:
        if words["do"] == "observe":
            seen = component.observe(tuple(map(tuple, words["ways"])), other, tensors.get("numbers"))
            changed = _changed(before, _state())
            return pack({"trouble": changed}) if changed else pack_seen(*seen)
        if words["do"] == "masked":
            return pack_seen(component.masked(words["place"], tuple(words["way"]), tensors["numbers"]), Parameters())
        if words["do"] == "cut":
            return pack({"names": component.cut(tensors["numbers"], other)})
        return pack_look(*component.look(tensors["numbers"], other))
    except Exception as error:
        return pack({"error": in_words(error)})


def _load(path: str, name: str) -> Any:
    """The object of this dotted name in a file, which is run as a module that is not `__main__`."""
    found: Any = _module(Path(path))
    for part in name.split("."):
        found = getattr(found, part)
    return found


def _module(file: Path) -> ModuleType:
    """A file as a module: of its package, if its folder is one, so that relative imports find their way."""
    root, name = file.parent, file.stem
    while (root / "__init__.py").is_file():
        root, name = root.parent, f"{root.name}.{name}"
    sys.path[:0] = dict.fromkeys(map(str, (file.parent, root)))
    package = name.rpartition(".")[0]
    if package:
        importlib.import_module(package)
    elif name in sys.modules:
        name = f"judged_{name}"  # a file may be called math.py
    spec = importlib.util.spec_from_file_location(name, file)
    if spec is None or spec.loader is None:
        raise ImportError(f"{file} is no Python file")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    try:
        spec.loader.exec_module(module)
    except ImportError as error:
        if "relative import" in str(error):
            raise ImportError(f"{error}: its folder needs an __init__.py to be a package") from None
        if isinstance(error, ModuleNotFoundError):
            raise ImportError(f"{error} from {root}: add the folder that has it to PYTHONPATH") from None
        raise
    return module


def _state() -> dict[str, Any]:
    """What is everybody's: torch's own functions, and the settings that hold for all code of a process."""
    functions = {
        f"{owner}.{name}": value for owner, place in WATCHED.items() for name, value in list(vars(place).items())
    }
    settings = {
        "the default dtype": torch.get_default_dtype(),
        "whether gradients are computed": torch.is_grad_enabled(),
        "whether inference mode is on": torch.is_inference_mode_enabled(),
        "whether algorithms are deterministic": torch.are_deterministic_algorithms_enabled(),
    }
    return {**functions, **settings}


def _changed(before: dict[str, Any], after: dict[str, Any]) -> str | None:
    """A sentence on what the code has changed for everybody, or None."""
    gone = object()
    found = [name for name, value in before.items() if not _is_same(value, after.get(name, gone))]
    found = [name for name in found if not name.rpartition(".")[2].startswith("_")]
    if not found:
        return None
    return f"changes what is not its own: {', '.join(sorted(found)[:3])}"


def _is_same(before: Any, after: Any) -> bool:
    """Whether this is what it was, or torch's own wrapper of it: so `torch._dynamo` leaves torch.manual_seed.

    It is imported by the first tensor without data, and by the first `@torch.compile`.
    """
    return after is before or (
        getattr(after, "__wrapped__", None) is before and getattr(after, "__code__", None) is WRAPPER
    )


if __name__ == "__main__":
    main()
