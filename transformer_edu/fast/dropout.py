"""Dropout that draws its random numbers sixteen bits at a time."""

import torch
import torch.nn.functional as F
from torch import nn

from transformer_edu.support.plain import is_plain
from transformer_edu.support.shapes import Float, Tensor

LARGE = 2**18  # entries; below, PyTorch's own dropout is quick enough
STATES = 2**16  # what a 16-bit number can be


def dropout(x: Float[Tensor, "..."], p: float) -> Float[Tensor, "..."]:
    """Zero each entry of x with probability p and divide the others by 1 - p, so that the mean stays.

    A large tensor on a CPU gets its random numbers four from each draw: an eighth of the time of
    `torch.nn.functional.dropout`, with p rounded to a multiple of 1/65,536.
    """
    dropped = round(p * STATES)
    if dropped in (0, STATES) or not draws_quickly(x, x.numel()):
        return F.dropout(x, p)
    draws = torch.empty(-(-x.numel() // 4), dtype=torch.int64).random_(-(2**63), None)
    numbers = draws.view(torch.int16)[: x.numel()].view(x.shape)  # each of -32,768 .. 32,767 is equally likely
    keep = (numbers >= dropped - STATES // 2).to(x.dtype)
    return x * keep.mul_(STATES / (STATES - dropped))


def draws_quickly(x: Float[Tensor, "..."], entries: int) -> bool:
    """Whether `dropout` draws sixteen bits at a time for a tensor like x with so many entries."""
    return is_plain(x) and x.is_cpu and entries >= LARGE


class Dropout(nn.Dropout):
    """`torch.nn.Dropout` in all but speed and the numbers that it draws."""

    def forward(self, input: Float[Tensor, "..."]) -> Float[Tensor, "..."]:
        """A tensor of any shape -> one of the same shape."""
        if not self.training:
            return input
        if self.inplace:
            return super().forward(input)
        return dropout(input, self.p)
