"""Dropout: in training, zero some entries at random, so that nothing relies on a single one (paper, section 5.4)."""

import torch
import torch.nn.functional as F
from torch import nn

from transformer_edu.support.plain import is_plain
from transformer_edu.support.shapes import Float, Tensor
from transformer_edu.support.validation import check_probability

LARGE = 2**18  # entries; below, PyTorch's own dropout is quick enough
STATES = 2**16  # what a 16-bit number can be


def dropout(x: Float[Tensor, "..."], p: float) -> Float[Tensor, "..."]:
    """Zero each entry of x with probability p and divide the others by 1 - p, so that the mean stays.

    A large tensor on a CPU gets its random numbers sixteen bits at a time, four from each draw: an eighth of the
    time of `torch.nn.functional.dropout`, with p rounded to a multiple of 1/65,536.
    """
    if p == 0:
        return x
    check_probability("p", p)
    dropped = round(p * STATES)
    if dropped == STATES or not draws_quickly(x, x.numel()):
        return F.dropout(x, p)
    draws = torch.empty(-(-x.numel() // 4), dtype=torch.int64).random_(-(2**63), None)
    numbers = draws.view(torch.int16)[: x.numel()].view(x.shape)  # each of -32,768 .. 32,767 is equally likely
    keep = (numbers >= dropped - STATES // 2).to(x.dtype)
    return x * keep.mul_(STATES / (STATES - dropped))


def draws_quickly(x: Float[Tensor, "..."], entries: int) -> bool:
    """Whether `dropout` draws sixteen bits at a time for a tensor like x with so many entries."""
    return is_plain(x) and x.is_cpu and entries >= LARGE


class Dropout(nn.Module):
    """`dropout` in training mode, and nothing at all in evaluation mode.

    Args:
        p: probability of zeroing an entry, in [0, 1).
    """

    def __init__(self, p: float = 0.0) -> None:
        super().__init__()
        check_probability("p", p)
        self.p = p

    def forward(self, x: Float[Tensor, "..."]) -> Float[Tensor, "..."]:
        """A tensor of any shape -> one of the same shape."""
        return dropout(x, self.p) if self.training else x

    def extra_repr(self) -> str:
        """What stands between the brackets when the module is printed."""
        return f"p={self.p}"
