"""What was seen, as bytes: tensors as safetensors and words as JSON, of which nothing runs when they are read."""

import json
from typing import Any

from safetensors.torch import load, save
from torch import Tensor

from transformer_edu.book.exercises.checks.engine.compare import as_tensor
from transformer_edu.book.exercises.judge.experiment import Seen
from transformer_edu.book.exercises.judge.kind import Parameters

Runs = dict[str, tuple[list[Seen], Parameters]]  # by the convention in which masks were handed over
LENGTH = 8


def pack(runs: Runs, told: dict[str, Any]) -> bytes:
    """Observations of all runs, and what else there is to tell."""
    tensors: dict[str, Tensor] = {}
    words: dict[str, Any] = {"told": told, "runs": []}
    for run, (convention, (seen, parameters)) in enumerate(runs.items()):
        for name, tensor in parameters.named.items():
            tensors[f"{run}/parameter/{name}"] = as_tensor(tensor).contiguous()
        for index, one in enumerate(seen):
            for name, value in one.items():
                if isinstance(value, Tensor):
                    tensors[f"{run}/{index}/{name}"] = as_tensor(value).contiguous()
        words["runs"].append(
            {
                "convention": convention,
                "parameters": list(parameters.named),
                "linear": sorted(parameters.linear),
                "ones": sorted(parameters.ones),
                "loose": list(parameters.loose),
                "made": parameters.made,
                "buffers": list(parameters.buffers),
                "untaken": list(parameters.untaken),
                "seen": [{name: value for name, value in one.items() if isinstance(value, str)} for one in seen],
            }
        )
    text = json.dumps(words).encode()
    return len(text).to_bytes(LENGTH, "big") + text + save(tensors)


def unpack(data: bytes) -> tuple[Runs, dict[str, Any]]:
    """The same again; ValueError for bytes that `pack` has not written."""
    size = int.from_bytes(data[:LENGTH], "big")
    try:
        words = json.loads(data[LENGTH : LENGTH + size])
        tensors = load(data[LENGTH + size :])
        runs: Runs = {}
        for run, one in enumerate(words["runs"]):
            named = {str(name): tensors[f"{run}/parameter/{name}"] for name in one["parameters"]}
            seen: list[Seen] = [{str(name): str(value) for name, value in texts.items()} for texts in one["seen"]]
            for index, observed in enumerate(seen):
                start = f"{run}/{index}/"
                observed |= {
                    name.removeprefix(start): value for name, value in tensors.items() if name.startswith(start)
                }
            parameters = Parameters(
                named,
                frozenset(one["linear"]),
                frozenset(one["ones"]),
                tuple(one["loose"]),
                bool(one["made"]),
                tuple(one["buffers"]),
                tuple(str(name) for name in one["untaken"]),
            )
            runs[str(one["convention"])] = seen, parameters
        return runs, dict(words["told"])
    except Exception as error:
        raise ValueError(f"the answer of the process that ran the code cannot be read: {error}") from None
