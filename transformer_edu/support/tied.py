"""Modules some of whose matrices are one."""

from collections.abc import Callable, Iterator

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

    def __repr__(self) -> str:
        """Its parts, down to those that are made of matrices alone, each with how many numbers it has to learn."""
        return "\n".join(_outline("", self, 0))


def _outline(name: str, part: nn.Module, depth: int) -> Iterator[str]:
    several = isinstance(part, nn.ModuleList) and len({type(child) for child in part}) == 1
    what = f"{len(part)} × {type(part[0]).__name__}" if several else type(part).__name__  # type: ignore[arg-type,index]
    count = sum(parameter.numel() for parameter in part.parameters())
    if count:
        yield f"{'  ' * depth}{name}{': ' * bool(name)}{what}".ljust(56) + f"{count:>15,}"
    inner = list((part[0] if several else part).named_children())  # type: ignore[index]
    if any(True for _, child in inner for _ in child.children()):
        for name, child in inner:
            yield from _outline(name, child, depth + 1)
