"""What a calculator is asked and says, as bytes: JSON and safetensors, of which nothing runs when it is read."""

import json
from dataclasses import replace
from typing import Any

from safetensors.torch import load, save
from torch import Tensor

from transformer_edu.book.exercises.checks.engine.compare import as_tensor
from transformer_edu.book.exercises.judge.experiment import Seen
from transformer_edu.book.exercises.judge.kind import Parameters

LENGTH = 8
ROWS = "names", "loose", "frozen", "buffers", "untaken", "taken"  # of words


def pack(words: dict[str, Any], tensors: dict[str, Tensor] | None = None) -> bytes:
    """Words and tensors."""
    text = json.dumps(words).encode()
    plain = {name: as_tensor(tensor).contiguous() for name, tensor in (tensors or {}).items()}
    return len(text).to_bytes(LENGTH, "big") + text + save(plain)


def unpack(data: bytes) -> tuple[dict[str, Any], dict[str, Tensor]]:
    """The words and tensors in these bytes; ValueError for bytes that `pack` has not written."""
    size = int.from_bytes(data[:LENGTH], "big")
    try:
        return dict(json.loads(data[LENGTH : LENGTH + size])), load(data[LENGTH + size :])
    except Exception as error:
        raise ValueError(f"the answer of the process that ran the code cannot be read: {error}") from None


def pack_seen(seen: list[Seen], parameters: Parameters) -> bytes:
    """What was observed."""
    tensors = {
        f"{i}/{name}": item for i, found in enumerate(seen) for name, item in found.items() if isinstance(item, Tensor)
    }
    words = {
        "seen": [{name: item for name, item in found.items() if isinstance(item, str)} for found in seen],
        "made": parameters.made,
        "lengths": list(parameters.lengths),
        "eps": parameters.eps,
        "says_eps": parameters.says_eps,
        **{name: list(getattr(parameters, name)) for name in ROWS},
    }
    return pack(words, tensors | {"numbers": parameters.numbers, "ones": parameters.ones})


def unpack_seen(words: dict[str, Any], tensors: dict[str, Tensor]) -> tuple[list[Seen], Parameters]:
    """What was observed; ValueError where it is nothing of the kind."""
    try:
        seen: list[Seen] = [{str(name): str(value) for name, value in found.items()} for found in words["seen"]]
        for index, found in enumerate(seen):
            start = f"{index}/"
            found |= {name.removeprefix(start): tensor for name, tensor in tensors.items() if name.startswith(start)}
        rows = {name: tuple(str(word) for word in words[name]) for name in ROWS}
        numbers, ones = tensors["numbers"].float().reshape(-1), tensors["ones"].bool().reshape(-1)
        plain = Parameters(numbers, made=bool(words["made"]), ones=ones[: len(numbers)], eps=float(words["eps"]))
        return seen, replace(plain, lengths=tuple(map(int, words["lengths"])), says_eps=bool(words["says_eps"]), **rows)  # type: ignore[arg-type]
    except Exception as error:
        raise ValueError(f"the answer of the process that ran the code cannot be read: {error}") from None


def pack_look(answer: Tensor, gradient: Tensor) -> bytes:
    """An answer, and the gradient by each number."""
    return pack({}, {"answer": answer.double(), "gradient": gradient})


def unpack_look(tensors: dict[str, Tensor], size: int) -> tuple[Tensor, Tensor]:
    """An answer, and the gradient by each of so many numbers; ValueError for anything else."""
    answer, gradient = tensors.get("answer"), tensors.get("gradient")
    if answer is None or gradient is None or gradient.shape != (size,) or not gradient.is_floating_point():
        raise ValueError("no answer and gradient came")
    return answer.double(), gradient
