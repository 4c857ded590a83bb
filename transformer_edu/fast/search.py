"""The mask of its sources, which a search computes once and uses at each of its steps."""

from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from contextvars import ContextVar

import torch
from torch import nn

from transformer_edu.masks import padding_mask
from transformer_edu.support.plain import is_observed, is_watched
from transformer_edu.support.shapes import Bool, Float, Int, Tensor


class Search:
    """One search's sources and their mask, and whether somebody looks at a part of the model."""

    def __init__(self, model: nn.Module) -> None:
        self.seen = is_observed(model)
        self._source: Tensor | None = None
        self._mask: Tensor | None = None
        self._additive: Tensor | None = None

    @contextmanager
    def in_use(self) -> Iterator[None]:
        """Inside, quick classes of this thread find it, and no history is kept; not where a gradient is wanted."""
        found = None if torch.is_grad_enabled() or is_watched() else self
        token = _in_use.set(found)
        try:  # who looks may train on what is seen; and inference_mode(False) would switch gradients on
            with nullcontext() if found is None or self.seen else torch.inference_mode():
                yield
        finally:
            _in_use.reset(token)

    def source_mask(self, source: Int[Tensor, "batch seq"], pad_id: int) -> Bool[Tensor, "batch 1 1 seq"]:
        """The sources' padding mask, always the same tensor for the same sources."""
        if self._mask is None or self._source is not source:
            self._source, self._mask, self._additive = source, padding_mask(source, pad_id), None
        return self._mask

    def additive(self, mask: Tensor | None, dtype: torch.dtype) -> Float[Tensor, "batch 1 1 seq"] | None:
        """What PyTorch's kernel makes of the sources' mask at each call: 0 and −∞; None for any other mask.

        None, too, if a whole source is padding: kernels differ in what they give a query with nowhere to look.
        """
        if mask is None or mask is not self._mask:
            return None
        if self._additive is None or self._additive.dtype is not dtype:
            if not bool(mask.any(dim=-1).all()):
                return None
            self._additive = torch.zeros(mask.shape, dtype=dtype, device=mask.device).masked_fill(~mask, -torch.inf)
        return self._additive


_in_use: ContextVar[Search | None] = ContextVar("the search that takes a step in this thread", default=None)


def current_search() -> Search | None:
    """The search that is taking a step in this thread, if any."""
    return None if is_watched() else _in_use.get()
