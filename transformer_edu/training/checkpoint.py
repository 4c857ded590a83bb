"""Save a model to one file and load it back: safetensors for the numbers, JSON inside it for the configuration.

No pickle: loading a file never runs code from it. The file is written whole or not at all, and carries a checksum
of its tensors, so that a damaged file is an error and never a slightly different model.
"""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from transformer_edu.data.files import write_atomically
from transformer_edu.transformer import Transformer, TransformerConfig

FORMAT = "transformer_edu.Transformer/1"


def save_model(model: Transformer, path: str | Path, extra: Mapping[str, Any] | None = None) -> None:
    """Write the weights, the configuration and `extra` (anything JSON can hold) to `path`, a .safetensors file.

    A matrix that is used in several places (tied embeddings) is written once.
    """
    from safetensors.torch import save  # here, so that importing the package stays light

    if not isinstance(model, Transformer):
        raise TypeError(f"model must be a Transformer, got {type(model).__name__}")
    tensors = {names[0]: tensor for names, tensor in _distinct_tensors(model)}
    header = {
        "format": FORMAT,
        "config": asdict(model.config),
        "checksum": _checksum(tensors),
        "extra": dict(extra or {}),
    }
    try:
        text = json.dumps(header, ensure_ascii=False, allow_nan=False)
    except (TypeError, ValueError) as error:
        raise TypeError(f"extra must hold what JSON can hold, got {extra!r}"[:300] + f" ({error})") from error
    write_atomically(path, save(tensors, metadata={"transformer_edu": text}))


def load_model(path: str | Path, device: torch.device | str = "cpu") -> Transformer:
    """The saved model, in evaluation mode, on `device`.

    Raises:
        FileNotFoundError: there is no such file.
        ValueError: the file is damaged, cut short, or not one of ours; the message names it.
    """
    header, tensors = _read(Path(path))
    try:
        model = Transformer(TransformerConfig(**header["config"]))
        weights = {name: tensors[names[0]] for names, _ in _distinct_tensors(model) for name in names}
        model.load_state_dict(weights)
    except (KeyError, TypeError, ValueError, RuntimeError) as error:
        raise _damaged(path, f"its weights and its configuration do not fit together: {error}") from error
    return model.to(device).eval()


def read_extra(path: str | Path) -> dict[str, Any]:
    """What was given to `save_model` as `extra`."""
    extra: dict[str, Any] = _read(Path(path))[0]["extra"]
    return extra


def _distinct_tensors(model: Transformer) -> list[tuple[list[str], Tensor]]:
    """Each tensor of the model once, with all the names under which it is used."""
    found: dict[int, tuple[list[str], Tensor]] = {}
    for name, tensor in model.state_dict(keep_vars=True).items():
        found.setdefault(id(tensor), ([], tensor.detach().cpu().contiguous()))[0].append(name)
    return list(found.values())


def _checksum(tensors: Mapping[str, Tensor]) -> str:
    digest = hashlib.sha256()
    for name in sorted(tensors):
        digest.update(f"{name} {tuple(tensors[name].shape)} {tensors[name].dtype};".encode())
        digest.update(tensors[name].reshape(-1).view(torch.uint8).numpy().tobytes())
    return digest.hexdigest()


def _read(path: Path) -> tuple[dict[str, Any], dict[str, Tensor]]:
    from safetensors import SafetensorError, safe_open

    if not path.is_file():
        raise FileNotFoundError(f"path must name a saved model, but there is no file {path}")
    try:
        with safe_open(path, framework="pt") as file:
            metadata = file.metadata() or {}
            tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118 (not a dictionary)
        header: dict[str, Any] = json.loads(metadata["transformer_edu"])
    except (SafetensorError, KeyError, ValueError) as error:
        raise _damaged(path, f"it cannot be read: {error}") from error
    if header.get("format") != FORMAT:
        raise _damaged(path, f"its format is {header.get('format')!r}, expected {FORMAT!r}")
    if header.get("checksum") != _checksum(tensors):
        raise _damaged(path, "its checksum does not fit its tensors")
    return header, tensors


def _damaged(path: str | Path, reason: str) -> ValueError:
    return ValueError(f"path must name a saved model, but {path} is damaged or of another kind: {reason}")
