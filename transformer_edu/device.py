"""Where tensors live."""

import os

import torch


def pick_device() -> torch.device:
    """The GPU where there is one, else the CPU; the environment variable TRANSFORMER_EDU_DEVICE overrides both."""
    wanted = os.environ.get("TRANSFORMER_EDU_DEVICE", "").strip()
    if not wanted:
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    try:
        return torch.device(wanted)
    except RuntimeError as error:
        raise ValueError(
            f"TRANSFORMER_EDU_DEVICE must name a PyTorch device such as 'cpu' or 'cuda', got {wanted!r}"
        ) from error
