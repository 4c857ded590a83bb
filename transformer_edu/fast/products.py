"""x Wᵀ + b, with the quicker of PyTorch's two libraries for matrix products, and weights prepared for many of them.

On a CPU, PyTorch gives float32 products to MKL. On AMD processors MKL leaves the wide (AVX-512) arithmetic unused;
oneDNN, which PyTorch carries too, uses it and takes half the time. The sums are the same, added up in another
order: results agree to float32's rounding. Small products, other processors, other dtypes and layouts, autocast,
`torch.func`, tracing, export and compilation go PyTorch's usual way.
"""

from collections.abc import Callable
from functools import cache, partial
from pathlib import Path
from typing import Any

import torch
import torch.nn.functional as F
from torch.utils.flop_counter import register_flop_formula

from transformer_edu.support.plain import is_plain, is_watched
from transformer_edu.support.shapes import Float, Tensor

ROWS = 16  # fewer vectors, or
WEIGHTS = 2**16  # a smaller matrix than 256 x 256: handing the product over costs more than it saves
LARGEST = 2**20  # entries of a matrix that stays in a processor's cache

Weights = tuple[Tensor, Tensor | None]  # weight (outer, inner) and bias (outer)

ONEDNN: Any = getattr(torch.ops.mkldnn, "_linear_pointwise", None)  # not part of PyTorch's promises: it may be missing
REORDER: Any = getattr(torch.ops.mkldnn, "_reorder_linear_weight", None)
MKL: Any = getattr(torch.ops.mkl, "_mkl_linear", None)
PACK: Any = getattr(torch.ops.mkl, "_mkl_reorder_linear_weight", None)


def linear(
    x: Float[Tensor, "... inner"], weight: Float[Tensor, "outer inner"], bias: Float[Tensor, " outer"] | None = None
) -> Float[Tensor, "... outer"]:
    """Vectors (..., inner) times the rows of `weight` (outer, inner), plus `bias`: (..., outer)."""
    if _is_large(x, weight) and _mkl_is_slow():
        return _quick_linear(x, weight, bias)
    return F.linear(x, weight, bias)


def prepared_product(weight: Tensor, bias: Tensor | None, x: Tensor) -> Callable[[Tensor], Tensor]:
    """The product of vectors like x with these weights, which will be wanted many times.

    A product of a few vectors takes a third less time when the matrix lies in memory column by column. A matrix too
    large for the processor's cache gains more from a layout of the library's own.
    """
    if weight.numel() <= LARGEST:
        return _by_columns(weight.T.contiguous().T, bias)
    with_mkl = None not in (MKL, PACK) and torch.backends.mkl.is_available() and not _mkl_is_slow()
    if not (with_mkl or None not in (ONEDNN, REORDER)) or not _onednn_takes(x, weight, bias):
        return partial(linear, weight=weight, bias=bias)
    packed = _packed_by_mkl if with_mkl else _packed_by_onednn
    quick = packed(weight.detach(), bias, x.numel() // x.shape[-1])
    return lambda x: quick(x) if _onednn_takes(x, weight, bias) else linear(x, weight, bias)


def _by_columns(weight: Tensor, bias: Tensor | None) -> Callable[[Tensor], Tensor]:
    if bias is None or _mkl_is_slow():
        return partial(linear, weight=weight, bias=bias)
    return lambda x: linear(x, weight).add_(bias)  # PyTorch would copy the bias to each row first


def _packed_by_onednn(weight: Tensor, bias: Tensor | None, rows: int) -> Callable[[Tensor], Tensor]:
    packed = REORDER(weight, rows)
    return lambda x: _product(x, packed, bias)


def _packed_by_mkl(weight: Tensor, bias: Tensor | None, rows: int) -> Callable[[Tensor], Tensor]:
    packed = PACK(weight, rows)  # for this number of rows; with others the product goes PyTorch's usual way
    return lambda x: MKL(x, packed, weight, bias, rows)


def _quick_linear(x: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    if not _onednn_takes(x, weight, bias):
        return F.linear(x, weight, bias)
    if not torch.is_grad_enabled():
        return _product(x, weight, bias)
    return _OneDnnLinear.apply(x, weight, bias)


class _OneDnnLinear(torch.autograd.Function):
    """y = x Wᵀ + b and its three derivatives, made of products that can be differentiated again."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
        ctx.save_for_backward(x, weight)
        return _product(x, weight, bias)

    @staticmethod
    def backward(ctx: Any, of_y: Tensor) -> tuple[Tensor | None, Tensor | None, Tensor | None]:
        x, weight = ctx.saved_tensors
        rows, row_gradients = x.reshape(-1, x.shape[-1]), of_y.reshape(-1, of_y.shape[-1])
        return (
            _quick_linear(of_y, weight.T) if ctx.needs_input_grad[0] else None,
            _quick_linear(row_gradients.T, rows.T) if ctx.needs_input_grad[1] else None,
            row_gradients.sum(dim=0) if ctx.needs_input_grad[2] else None,
        )


def _product(x: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    return ONEDNN(x, weight, bias, "none", [], "")


def _count_operations(x_shape: torch.Size, weight_shape: torch.Size, *given: Any, **named: Any) -> int:
    """For `torch.utils.flop_counter`: a multiplication and an addition for each entry of x and row of the weight."""
    return 2 * x_shape.numel() * weight_shape[0]


if ONEDNN is not None:
    register_flop_formula(ONEDNN)(_count_operations)


def _is_large(x: Tensor, weight: Tensor) -> bool:
    if is_watched():  # sizes may be unknown yet
        return False
    return weight.numel() >= WEIGHTS and x.numel() >= ROWS * weight.shape[-1]


def _onednn_takes(x: Tensor, weight: Tensor, bias: Tensor | None) -> bool:
    """Whether oneDNN reads these as PyTorch does: it takes the bias's shape and the strides on trust."""
    given = (x, weight) if bias is None else (x, weight, bias)
    return (
        is_plain(*given)
        and all(map(_is_cpu_float32, given))
        and weight.dim() == 2
        and weight.shape[1] == x.shape[-1]
        and (weight.is_contiguous() or weight.T.is_contiguous())
        and (bias is None or (bias.shape == weight.shape[:1] and bias.is_contiguous()))
        and not torch.is_autocast_enabled("cpu")
        and torch._C._get_mkldnn_enabled()
    )


def _is_cpu_float32(tensor: Tensor) -> bool:
    return tensor.is_cpu and tensor.dtype is torch.float32


@cache
def _mkl_is_slow() -> bool:
    """Whether this is an AMD processor with AVX-512, and PyTorch came with both libraries."""
    if ONEDNN is None or not (torch.backends.mkl.is_available() and torch.backends.mkldnn.is_available()):
        return False
    if torch.backends.cpu.get_cpu_capability() != "AVX512":
        return False
    try:
        return "AuthenticAMD" in Path("/proc/cpuinfo").read_text(encoding="utf-8")
    except OSError:  # not Linux
        return False
