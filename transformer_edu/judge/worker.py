"""The process in which somebody's code runs: load it, observe it, tell what was seen. It judges nothing."""

import importlib.util
import json
import math
import sys
from pathlib import Path
from typing import Any

import torch
import torch.nn.functional as F
from torch import nn

from transformer_edu.checks.engine.laboratory import laboratory
from transformer_edu.judge import sandbox
from transformer_edu.judge.experiment import CONVENTIONS, in_words
from transformer_edu.judge.kind import Kind
from transformer_edu.judge.kinds import KINDS
from transformer_edu.judge.packing import pack

WATCHED = {
    "torch": torch,
    "torch.nn.functional": F,
    "torch.nn": nn,
    "torch.Tensor": torch.Tensor,
    "math": math,
    "Kind": Kind,
}


def main() -> None:
    """Read the order, lock the door, run, answer."""
    order = json.loads(sandbox.receive())
    unprotected = sandbox.lock_down()
    told: dict[str, Any] = {"unprotected": unprotected, "trouble": None}
    before = _state()
    runs: Any = {}
    kind = KINDS[order["kind"]]
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
            if told["trouble"] is None:
                for convention in CONVENTIONS if kind.has_mask else [""]:
                    runs[convention] = kind.observe(target, convention)
                told["trouble"] = _changed(before, _state())
    sandbox.answer(pack(runs, told))


def _load(path: str, name: str) -> Any:
    """The object of this dotted name in a file, which is run as a module that is not `__main__`."""
    file = Path(path)
    sys.path.insert(0, str(file.parent))
    spec = importlib.util.spec_from_file_location(file.stem, file)
    if spec is None or spec.loader is None:
        raise ImportError(f"{path} is no Python file")
    module = importlib.util.module_from_spec(spec)
    sys.modules[file.stem] = module
    spec.loader.exec_module(module)
    found: Any = module
    for part in name.split("."):
        found = getattr(found, part)
    return found


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
    found = [name for name, value in before.items() if after.get(name, gone) is not value]
    found = [name for name in found if not name.rpartition(".")[2].startswith("_")]
    if not found:
        return None
    return f"changes what is not its own: {', '.join(sorted(found)[:3])}"


if __name__ == "__main__":
    main()
