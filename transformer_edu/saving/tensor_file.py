"""One file of tensors with a header: safetensors for the numbers, JSON inside it for the rest, a checksum over all.

No pickle: reading a file never runs code from it. A damaged file is an error, never slightly different numbers.
"""

import hashlib
import json
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from transformer_edu.support.files import write_atomically

KEY = "transformer_edu"  # of the header in the file's metadata


def write_tensors(path: str | Path, tensors: Mapping[str, Tensor], header: Mapping[str, Any], kind: str) -> None:
    """Write tensors and `header` (anything JSON can hold) to a .safetensors file, whole or not at all.

    `kind` says what the file is, and must be asked for when it is read.
    """
    from safetensors.torch import save  # here, so that importing the package stays light

    content = {name: tensor.detach().cpu().contiguous() for name, tensor in tensors.items()}
    full = {"format": kind, **header, "checksum": _checksum(content, header)}
    write_atomically(path, save(content, metadata={KEY: to_json(full)}))


def read_tensors(path: str | Path, kind: str) -> tuple[dict[str, Any], dict[str, Tensor]]:
    """The header and the tensors that `write_tensors` wrote.

    Raises:
        FileNotFoundError: there is no such file.
        ValueError: the file is damaged, cut short, or of another kind; the message names it.
    """
    return read_any(path, [kind])[1:]


def read_any(path: str | Path, kinds: Collection[str]) -> tuple[str, dict[str, Any], dict[str, Tensor]]:
    """Which of these kinds a file is of, its header and its tensors; errors as of `read_tensors`."""
    from safetensors import SafetensorError, safe_open

    if not Path(path).is_file():
        raise FileNotFoundError(f"path must name a file that was saved, but there is no file {path}")
    try:
        with safe_open(path, framework="pt") as file:
            metadata = file.metadata() or {}
            tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118 (not a dictionary)
        header = _from_json(metadata[KEY])
    except (SafetensorError, KeyError, ValueError, RecursionError) as error:
        raise damaged(path, f"it cannot be read: {error}") from error
    found = header.pop("format", None)
    if found not in kinds:
        raise damaged(path, f"its format is {found!r}, expected {' or '.join(map(repr, kinds))}")
    checksum = header.pop("checksum", None)
    if checksum not in (_checksum(tensors, header), _checksum(tensors, {})):  # the second: files of the first edition
        raise damaged(path, "its checksum does not fit what it holds")
    return found, header, tensors


def to_json(content: Any) -> str:
    """JSON in one line; what JSON cannot hold (NaN, a tensor) is a TypeError."""
    try:
        return json.dumps(content, ensure_ascii=False, allow_nan=False)
    except (TypeError, ValueError) as error:
        raise TypeError(f"extra must hold what JSON can hold, got {content!r}"[:300] + f" ({error})") from error


def _from_json(text: str) -> dict[str, Any]:
    """What `to_json` made of a header; ValueError for any other text."""
    header = json.loads(text)
    if not isinstance(header, dict):
        raise ValueError(f"its header must be a JSON object, got {text[:100]}")
    try:
        to_json(header).encode()
    except TypeError as error:  # NaN, or a number beyond all floats
        raise ValueError(f"its header must hold JSON, got {text[:100]}") from error
    return header


def damaged(path: str | Path, reason: str) -> ValueError:
    """The error for a file that cannot be used."""
    return ValueError(f"path must name a saved model, but {path} is damaged or of another kind: {reason}")


def _checksum(tensors: Mapping[str, Tensor], header: Mapping[str, Any]) -> str:
    digest = hashlib.sha256(to_json(header).encode() if header else b"")
    for name in sorted(tensors):
        digest.update(f"{name} {tuple(tensors[name].shape)} {tensors[name].dtype};".encode())
        digest.update(tensors[name].reshape(-1).view(torch.uint8).numpy().tobytes())
    return digest.hexdigest()
