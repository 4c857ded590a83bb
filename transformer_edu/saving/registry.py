"""The families of models that can be saved, by name: a file says which it holds."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn
from torch.overrides import TorchFunctionMode

from transformer_edu.config import TransformerConfig
from transformer_edu.saving.size import check_memory, in_words, parameter_count, sizes_in_words
from transformer_edu.support.arguments import check_is
from transformer_edu.transformer import Transformer

FORMAT = "transformer_edu.{}/1"  # of a file; the name stands in it
Check = Callable[[Any, Mapping[str, Tensor]], None]  # a configuration and the tensors that are said to be its model's


@dataclass(frozen=True)
class Family:
    """A model's class, its configuration's (a dataclass that JSON can hold), and what a file is asked beforehand."""

    config: type
    model: Callable[[Any], nn.Module]
    check: Check


FAMILIES: dict[str, Family] = {}


class Unstarted(TorchFunctionMode):
    """Within it, what starts a tensor with random numbers does nothing."""

    def __torch_function__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Call a function of PyTorch, unless it is one of `nn.init`."""
        starts = getattr(function, "__module__", "") == nn.init.__name__
        given = kwargs or {}
        return [*args, *given.values()][0] if starts else function(*args, **given)


def count_numbers(model: Callable[[Any], nn.Module], config: Any) -> int:
    """How many numbers a model of this configuration learns; it is built without memory."""
    with torch.device("meta"), Unstarted():  # random numbers there would load PyTorch's compiler, for seconds
        return sum(parameter.numel() for parameter in model(config).parameters())


def check_count(config: Any, tensors: Mapping[str, Tensor], name: str) -> None:
    """Raise unless a model of this configuration, built without memory, holds as many numbers as the tensors."""
    held, claimed = sum(tensor.numel() for tensor in tensors.values()), count_numbers(FAMILIES[name].model, config)
    if held != claimed:
        raise ValueError(f"its tensors hold {held:,} numbers, but {config} asks for {claimed:,}")


def register(name: str, config: type, model: Callable[[Any], nn.Module], check: Check | None = None) -> None:
    """Let `save_model` and `load_model` know a family of models.

    Args:
        name: what its files say they hold.
        config: a dataclass; every `model.config` is one.
        model: builds a model from its configuration; a class.
        check: raises a ValueError unless tensors can belong to a configuration, before anything is built.

    Raises:
        ValueError: another family has this name.
    """
    check_is("name", name, str)
    if name in FAMILIES and FAMILIES[name].config is not config:
        raise ValueError(f"name must not be taken, got {name!r} of {FAMILIES[name].config.__name__}")
    FAMILIES[name] = Family(config, model, check or (lambda config, tensors: check_count(config, tensors, name)))


def name_of(model: Any) -> str:
    """The name of a model's family; TypeError if it is of none."""
    names = [name for name, family in FAMILIES.items() if type(getattr(model, "config", None)) is family.config]
    if not names or not isinstance(model, nn.Module):
        raise TypeError(f"model must be a {' or a '.join(FAMILIES)}, got {type(model).__name__}")
    return names[0]


def check_transformer(config: TransformerConfig, tensors: Mapping[str, Tensor]) -> None:
    """A configuration from a file can claim any size: its tensors have the one they have."""
    layers = {name.split(".")[2] for name in tensors if name.startswith("encoder.layers.")}
    if config.num_layers != len(layers):
        raise ValueError(f"num_layers={in_words(config.num_layers)}, but there are tensors of {len(layers)} layers")
    held, claimed = sum(tensor.numel() for tensor in tensors.values()), parameter_count(config)
    if held != claimed:
        sizes = sizes_in_words(config)
        raise ValueError(f"its tensors hold {held:,} numbers, but {sizes} ask for {in_words(claimed)}")
    check_memory(config)


register("Transformer", TransformerConfig, Transformer, check_transformer)
