"""Where tensors live."""

import os

import torch
from torch import nn

VARIABLE = "TRANSFORMER_EDU_DEVICE"


def pick_device() -> torch.device:
    """The GPU where there is one, else the CPU; the environment variable TRANSFORMER_EDU_DEVICE overrides both."""
    wanted = os.environ.get(VARIABLE, "").strip()
    if not wanted:
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    try:
        return torch.device(wanted)
    except RuntimeError as error:
        raise ValueError(f"{VARIABLE} must name a PyTorch device such as 'cpu' or 'cuda', got {wanted!r}") from error


def device_of(model: nn.Module) -> torch.device:
    """Where a model's weights are."""
    return next(model.parameters()).device


def check_device_works() -> None:
    """Raise ValueError if the environment variable names a device that is not here, or that computes nothing."""
    wanted = os.environ.get(VARIABLE, "").strip()
    try:
        torch.ones(1, device=pick_device() if wanted else "cpu").tolist()
    except (RuntimeError, AssertionError, ImportError) as error:  # torch raises each of them, by kind of device
        reason = str(error).partition("\n")[0][:120]
        raise ValueError(f"{VARIABLE} must name a device that can be used here, got {wanted!r}: {reason}") from error
