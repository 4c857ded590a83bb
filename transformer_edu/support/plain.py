"""When a shortcut past PyTorch's own functions gives what they give: with plain tensors that nobody watches."""

import torch
from torch import Tensor, nn
from torch.autograd import forward_ad


def is_plain(*tensors: Tensor) -> bool:
    """Whether these are ordinary dense tensors, and nobody watches (see `is_watched`)."""
    return not is_watched() and all(map(_is_ordinary, tensors))


def is_watched() -> bool:
    """Whether PyTorch is doing more than to compute: then only its own functions do the right thing.

    It may transform what is computed (`torch.func`: grad, vmap, jvp), differentiate forwards, trace, export or compile.
    """
    return (
        torch.compiler.is_compiling()
        or torch._C._get_tracing_state() is not None  # torch.jit.trace
        or torch._C._are_functorch_transforms_active()
        or forward_ad._current_level >= 0
    )


def _is_ordinary(tensor: Tensor) -> bool:
    # what a subclass does with a product is its own affair
    return type(tensor) in (Tensor, nn.Parameter) and tensor.layout is torch.strided and not tensor.is_nested


def is_observed(model: nn.Module) -> bool:
    """Whether somebody looks at what a part of it computes: through a hook, forward or backward, or a recorder."""
    hooks = ("_forward_pre_hooks", "_forward_hooks", "_backward_pre_hooks", "_backward_hooks", "recorder")
    return any(getattr(part, name, None) for part in model.modules() for name in hooks)
