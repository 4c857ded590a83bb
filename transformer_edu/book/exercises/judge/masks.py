"""How masks are handed over: the conventions that are in use, each as a way to write a mask of this book."""

import math
from collections.abc import Callable
from itertools import product

import torch
from torch import Tensor

Way = tuple[str, str]  # a name of SHAPES and one of VALUES
Ways = tuple[Way, ...]  # one for each place of a mask among a kind's inputs


def _without_heads(mask: Tensor) -> Tensor | None:
    return mask[:, 0] if mask.shape[1] == 1 else None


def _for_all(mask: Tensor) -> Tensor | None:
    return mask[0, 0] if bool((mask == mask[:1, :1]).all()) else None


def _of_keys(mask: Tensor) -> Tensor | None:
    return mask[:, 0, 0] if mask.shape[1] == 1 and bool((mask == mask[..., :1, :]).all()) else None


def _added(mask: Tensor, low: float) -> Tensor:
    return torch.zeros(mask.shape).masked_fill(~mask, low)


BLOCKED = "a mask whose True is blocked, as torch.nn's: hand it ~mask"
ADDED, LARGE = "an additive mask, 0 where allowed and −∞ where not", "an additive mask of large negative numbers"
OF_KEYS = "a mask of keys, (batch, k_len)"
SHAPES: dict[str, Callable[[Tensor], Tensor | None]] = {  # of the book's masks, (batch, heads or 1, q_len, k_len)
    "": lambda mask: mask,
    "a mask of three dimensions, without heads": _without_heads,
    "a mask of two dimensions, (q_len, k_len)": _for_all,
    OF_KEYS: _of_keys,
    "a mask whose third dimension is the heads', (batch, q_len, heads, k_len)": lambda mask: mask.transpose(1, 2),
}
VALUES: dict[str, Callable[[Tensor], Tensor]] = {  # True may attend
    "": lambda mask: mask,
    BLOCKED: lambda mask: ~mask,
    ADDED: lambda mask: _added(mask, -math.inf),
    LARGE: lambda mask: _added(mask, -1e9),
    "a mask of ones and zeros": lambda mask: mask.long(),
    "a mask of zeros and ones, 1 where blocked": lambda mask: (~mask).long(),
}
OURS: Way = ("", "")
WAYS: tuple[Way, ...] = tuple(product(SHAPES, VALUES))
BOOLEAN = "", BLOCKED


def handed(mask: Tensor, way: Way) -> Tensor | None:
    """A mask as it is handed over in this way; None if it cannot be written so."""
    shaped = SHAPES[way[0]](mask)
    return None if shaped is None else VALUES[way[1]](shaped)


def finite(ways: Ways) -> Ways:
    """These ways, with large numbers in the place of infinity: softmax of nothing but −∞ has no gradient."""
    return tuple((shape, LARGE if value == ADDED else value) for shape, value in ways)


def in_words(ways: Ways) -> list[str]:
    """What is remarked of a component that takes its masks so."""
    return list(dict.fromkeys(f"it takes {name}" for way in ways for name in way if name))
