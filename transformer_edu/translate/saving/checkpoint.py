"""Save a model to one file and load it back: its weights and the configuration that gives them their places."""

from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from transformer_edu.support.validation import check_floating_point
from transformer_edu.transformer import Transformer, TransformerConfig
from transformer_edu.translate.saving.size import check_memory, in_words, parameter_count, sizes_in_words
from transformer_edu.translate.saving.tensor_file import damaged, read_tensors, write_tensors

FORMAT = "transformer_edu.Transformer/1"


def save_model(
    model: Transformer, path: str | Path, extra: Mapping[str, Any] | None = None, dtype: torch.dtype | None = None
) -> None:
    """Write the weights, the configuration and `extra` (anything JSON can hold) to `path`, a .safetensors file.

    A matrix that is used in several places (tied embeddings) is written once. `dtype` torch.float16 halves the
    file: eleven bits of each number are kept.
    """
    if not isinstance(model, Transformer):
        raise TypeError(f"model must be a Transformer, got {type(model).__name__}")
    header = {"config": asdict(model.config), "extra": dict(extra or {})}
    write_tensors(path, {name: w.to(dtype or w.dtype) for name, w in distinct_weights(model).items()}, header, FORMAT)


def load_model(path: str | Path, device: torch.device | str = "cpu") -> Transformer:
    """The saved model, in evaluation mode, on `device`, in the default dtype.

    Raises:
        FileNotFoundError: there is no such file.
        ValueError: the file is damaged, cut short, or not one of ours; the message names it.
    """
    header, tensors = read_tensors(path, FORMAT)
    try:
        config = TransformerConfig(**header["config"])
        _check_belongs(config, tensors)
        model = Transformer(config)
        put_weights(model, tensors)
    except (KeyError, TypeError, ValueError, RuntimeError) as error:
        raise damaged(path, f"its weights and its configuration do not fit together: {error}") from error
    return model.to(device).eval()


def read_extra(path: str | Path) -> dict[str, Any]:
    """What was given to `save_model` as `extra`."""
    extra = read_tensors(path, FORMAT)[0].get("extra")
    if not isinstance(extra, dict):
        raise damaged(path, f"its `extra` must be a JSON object, got {type(extra).__name__}")
    return extra


def _check_belongs(config: TransformerConfig, tensors: Mapping[str, Tensor]) -> None:
    """Before anything is built: a configuration from a file can claim any size, its tensors have the one they have."""
    layers = {name.split(".")[2] for name in tensors if name.startswith("encoder.layers.")}
    if config.num_layers != len(layers):
        raise ValueError(f"num_layers={in_words(config.num_layers)}, but there are tensors of {len(layers)} layers")
    for name, tensor in tensors.items():
        check_floating_point(name, tensor)
    held, claimed = sum(tensor.numel() for tensor in tensors.values()), parameter_count(config)
    if held != claimed:
        sizes = sizes_in_words(config)
        raise ValueError(f"its tensors hold {held:,} numbers, but {sizes} ask for {in_words(claimed)}")
    check_memory(config)


def distinct_weights(model: Transformer) -> dict[str, Tensor]:
    """Each weight of the model once, under the first of its names."""
    return {names[0]: tensor for names, tensor in _distinct(model)}


def put_weights(model: Transformer, tensors: Mapping[str, Tensor]) -> None:
    """Give the model the weights that `distinct_weights` took from one like it."""
    model.load_state_dict({name: tensors[names[0]] for names, _ in _distinct(model) for name in names})


def _distinct(model: Transformer) -> list[tuple[list[str], Tensor]]:
    found: dict[int, tuple[list[str], Tensor]] = {}
    for name, tensor in model.state_dict(keep_vars=True).items():
        found.setdefault(id(tensor), ([], tensor.detach()))[0].append(name)
    return list(found.values())
