"""What a search computes once, and uses at each of its steps.

Copying weights into the layout that products read fastest pays within a search, which multiplies with the same
weights at every step, and is safe there: nobody changes weights in the middle of a search. Nothing is kept when it
is over.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

import torch
from torch import nn

from transformer_edu.fast.products import Weights, prepared_product
from transformer_edu.masks import padding_mask
from transformer_edu.support.plain import is_watched
from transformer_edu.support.shapes import Bool, Float, Int, Tensor

ROWS = 16  # with fewer vectors a step, a search of usual length does not earn back the copies


class Search:
    """One search's products, prepared, and the mask of its sources."""

    def __init__(self) -> None:
        self._products: dict[nn.Module, Callable[[Tensor], Tensor]] = {}
        self._queries: dict[nn.Module, tuple[Tensor, Tensor]] = {}
        self._source: Tensor | None = None
        self._mask: Tensor | None = None
        self._additive: Tensor | None = None

    @contextmanager
    def in_use(self) -> Iterator[None]:
        """Inside the `with` block the quick classes of this thread find this search; not where a gradient is wanted."""
        token = _in_use.set(None if torch.is_grad_enabled() or is_watched() else self)
        try:
            yield
        finally:
            _in_use.reset(token)

    def product(self, module: nn.Module, x: Tensor, weights: Callable[[], Weights]) -> Tensor:
        """x (..., inner) times a module's weights (outer, inner), plus its bias; `weights` is asked for both once."""
        if module not in self._products:
            self._products[module] = prepared_product(*weights(), x)
        return self._products[module](x)

    def keep_queries(self, module: nn.Module, x: Tensor, queries: Tensor) -> None:
        """Put an attention's x W_Q aside, which was computed together with x W_K and x W_V."""
        self._queries[module] = (x, queries)

    def kept_queries(self, module: nn.Module, x: Tensor) -> Tensor | None:
        """What `keep_queries` put aside for this very x, once."""
        kept = self._queries.pop(module, None)
        return kept[1] if kept is not None and kept[0] is x else None

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


def search_with_products(x: Float[Tensor, "... inner"]) -> Search | None:
    """The search that is taking a step in this thread, if x has enough vectors for prepared products."""
    search = current_search()
    return None if search is None or x.numel() < ROWS * x.shape[-1] else search
