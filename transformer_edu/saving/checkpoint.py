"""Save a model to one file and load it back: its weights and the configuration that gives them their places."""

from collections.abc import Mapping
from dataclasses import asdict
from importlib import import_module
from pathlib import Path
from typing import Any, cast

import torch
from torch import Tensor, nn

from transformer_edu.saving.registry import FAMILIES, FORMAT, Family, name_of
from transformer_edu.saving.tensor_file import damaged, read_any, write_tensors
from transformer_edu.support.validation import check_floating_point


def save_model(
    model: nn.Module, path: str | Path, extra: Mapping[str, Any] | None = None, dtype: torch.dtype | None = None
) -> None:
    """Write the weights, the configuration and `extra` (anything JSON can hold) to `path`, a .safetensors file.

    `model` is a Transformer, or of another family that is known (see `register`); the file names the family.
    A matrix that is used in several places (tied embeddings) is written once. `dtype` torch.float16 halves the
    file: eleven bits of each number are kept.
    """
    kind, config = FORMAT.format(name_of(model)), asdict(cast(Any, model).config)
    header = {"config": config, "extra": dict(extra or {})}
    write_tensors(path, {name: w.to(dtype or w.dtype) for name, w in distinct_weights(model).items()}, header, kind)


def load_model(path: str | Path, device: torch.device | str = "cpu") -> Any:
    """The saved model, in evaluation mode, on `device`, in the default dtype.

    Raises:
        FileNotFoundError: there is no such file.
        ValueError: the file is damaged, cut short, or of a family that is not registered; the message names it.
    """
    family, header, tensors = _read(path)
    try:
        config = family.config(**header["config"])
        for name, tensor in tensors.items():
            check_floating_point(name, tensor)
        family.check(config, tensors)
        model = family.model(config)
        put_weights(model, tensors)
    except (KeyError, TypeError, ValueError, RuntimeError) as error:
        raise damaged(path, f"its weights and its configuration do not fit together: {error}") from error
    return model.to(device).eval()


def read_extra(path: str | Path) -> dict[str, Any]:
    """What was given to `save_model` as `extra`."""
    extra = _read(path)[1].get("extra")
    if not isinstance(extra, dict):
        raise damaged(path, f"its `extra` must be a JSON object, got {type(extra).__name__}")
    return extra


def _read(path: str | Path) -> tuple[Family, dict[str, Any], dict[str, Tensor]]:
    import_module("transformer_edu.models")  # it registers those of the package
    families = {FORMAT.format(name): family for name, family in FAMILIES.items()}
    found, header, tensors = read_any(path, families)
    return families[found], header, tensors


def distinct_weights(model: nn.Module) -> dict[str, Tensor]:
    """Each weight of the model once, under the first of its names."""
    return {names[0]: tensor for names, tensor in _distinct(model)}


def put_weights(model: nn.Module, tensors: Mapping[str, Tensor]) -> None:
    """Give the model the weights that `distinct_weights` took from one like it."""
    model.load_state_dict({name: tensors[names[0]] for names, _ in _distinct(model) for name in names})


def _distinct(model: nn.Module) -> list[tuple[list[str], Tensor]]:
    found: dict[int, tuple[list[str], Tensor]] = {}
    for name, tensor in model.state_dict(keep_vars=True).items():
        found.setdefault(id(tensor), ([], tensor.detach()))[0].append(name)
    return list(found.values())
