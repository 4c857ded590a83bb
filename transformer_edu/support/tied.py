"""Modules some of whose matrices are one."""

from collections.abc import Callable

from torch import Tensor, nn


class Tied(nn.Module):
    """A module that shares matrices among its parts, and goes on sharing them wherever it is moved or cast to."""

    def tie(self) -> None:
        """Let the parts share what they share."""
        raise NotImplementedError

    def _apply(self, fn: Callable[[Tensor], Tensor], recurse: bool = True) -> nn.Module:
        """All that moves or casts a module comes through here; `to_empty` would make several matrices of one."""
        super()._apply(fn, recurse)
        self.tie()
        return self
