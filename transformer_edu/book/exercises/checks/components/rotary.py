"""Checks rotary positions, in whichever direction and with whichever pairs they turn."""

from collections.abc import Callable
from functools import partial
from typing import Any

import torch
from torch import Tensor

from transformer_edu.book.exercises.checks.engine import Component, Trial, Unfit, as_tensor

BASE = 10000.0


def check_rotary(rotary: Callable[..., Tensor]) -> None:
    """Check rotary(x, start=0) with x (seq, d) -> (seq, d): row r turned by the angles of position start + r.

    Pair i of d / 2 turns by position · 10000^(−2i / d). Every convention is right: one direction or the other, pairs
    of neighbours (the paper of RoFormer) or of a feature of the first half with one of the second (LLaMA).
    """
    COMPONENT.check(rotary=rotary)


def turn(
    x: Tensor,
    start: int = 0,
    *,
    angles: Callable[[Tensor, Tensor], Tensor] = torch.outer,
    positions: Callable[[int, int], Tensor] = lambda start, length: torch.arange(start, start + length),
    exponent: float = 2.0,
    base: float = BASE,
    pair: Callable[[Tensor, Tensor, Tensor, Tensor], tuple[Tensor, Tensor]] = lambda u, v, cos, sin: (
        u * cos + v * sin,
        v * cos - u * sin,
    ),
) -> Tensor:
    """Neighbours (u, v) turned as the table's clocks are; the keywords exchange one step, for the mistakes below."""
    theta = base ** (-exponent * torch.arange(x.shape[-1] // 2, dtype=torch.float64) / x.shape[-1])
    turned = angles(positions(start, x.shape[-2]).double(), theta).to(x.dtype)
    return torch.stack(pair(x[..., 0::2], x[..., 1::2], turned.cos(), turned.sin()), dim=-1).flatten(-2)


def _call(fn: Any, x: Tensor, *start: int) -> Tensor:
    result = as_tensor(fn(x, *start))
    if result.shape != x.shape:
        raise Unfit(f"returned the shape {tuple(result.shape)}, expected x's own, {tuple(x.shape)}")
    return result.to(x.dtype)


def _lengths(fn: Any, given: dict[str, Any]) -> dict[str, Any]:
    turned = _call(fn, given["x"])
    kept = torch.allclose(turned.norm(dim=1), given["x"].norm(dim=1), rtol=1e-4)
    return {"the row at position 0": turned[:1], "the rows keep their lengths": kept}


def _angles(fn: Any, given: dict[str, Any]) -> dict[str, Any]:
    """How far it turns, whatever the pairs and the direction: each cosine stands twice among the eigenvalues."""
    rows = [_call(fn, row[None], given["start"])[0] for row in torch.eye(given["d"])]
    matrix = torch.stack(rows).double()
    found = torch.linalg.eigvalsh((matrix + matrix.T) / 2).flip(0)
    return {"cosines of the angles": found[None]}


def _moved(fn: Any, given: dict[str, Any]) -> dict[str, Any]:
    query, key = given["query"], given["key"]
    here, there = (_call(fn, query, start) @ _call(fn, key, start).T for start in (0, given["moved_by"]))
    alone = _call(fn, query[2:3], 9)
    return {
        "the scores stay as they are when the sentence moves": torch.allclose(here, there, atol=1e-3),
        "the scores differ from those without positions": not torch.allclose(here, query @ key.T, atol=0.1),
        "row 2 from position 7 on stands at position 9": torch.allclose(_call(fn, query, 7)[2:3], alone, atol=1e-4),
    }


def _drawn(*shape: int) -> Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(sum(shape)))


COMPONENT = Component(
    "rotary positions",
    chapter=4,
    reference=turn,
    trials=[
        Trial("two tokens, d 4", {"x": torch.tensor([[3.0, 4, 0, 1], [3, 4, 0, 1]])}, _lengths),
        Trial("a token at position 1, d 4", {"d": 4, "start": 1}, _angles),
        Trial("a token at position 3, d 6", {"d": 6, "start": 3}, _angles),
        Trial(
            "queries and keys of five tokens", {"query": _drawn(5, 16), "key": _drawn(16, 5).T, "moved_by": 40}, _moved
        ),
    ],
)
mistake = COMPONENT.mistake


def halves_with_angles_of_neighbours(x: Tensor, start: int = 0) -> Tensor:
    """LLaMA's pairs, RoFormer's order of the angles."""
    theta = BASE ** (-torch.arange(0, x.shape[-1], 2) / x.shape[-1])
    angles = torch.outer(torch.arange(start, start + x.shape[-2]), theta).repeat_interleave(2, dim=1)
    u, v = x.chunk(2, dim=-1)
    return x * angles.cos() + torch.cat([-v, u], dim=-1) * angles.sin()


def added(x: Tensor, start: int = 0) -> Tensor:
    """The sinusoidal encoding."""
    clocks = turn(torch.tensor([[0.0, 1.0]]).repeat(x.shape[-2], x.shape[-1] // 2), start)
    return x + clocks


mistake(
    "nothing is turned",
    symptom="a model that cannot tell one order of the words from another",
    why="x is returned as it came in.",
    hint="By which angle should the second row be turned?",
)(lambda x, start=0: x)
mistake(
    "the clocks are added to x, not used to turn it",
    symptom="scores change when the sentence moves: they depend on both positions, not on the distance alone",
    why="a sinusoidal encoding adds its row to the word; a rotary one turns the word and adds nothing.",
    hint="How long is a row before, and how long after a turn?",
)(added)
mistake(
    "all rows are turned by the angle of the first",
    symptom="scores do not know of the distance: all words of a sentence seem to stand at one place",
    why="`start` alone was taken for the position; row r stands at start + r.",
    hint="Which positions do the rows of x stand at?",
)(partial(turn, positions=lambda start, length: torch.full((length,), start)))
mistake(
    "`start` is ignored",
    symptom="right in training; writing word by word with a cache, every new word stands at position 0",
    why="the positions are counted from 0, wherever the piece of the sentence begins.",
    hint="Which argument of your function does the result not depend on?",
)(partial(turn, positions=lambda start, length: torch.arange(length)))
mistake(
    "a sign is wrong: lengths change",
    symptom="scores grow and shrink with the position",
    why="of the two sines of a turn exactly one has a minus.",
    hint="Multiply the matrix out: the pair becomes (u cos b + v sin b, −u sin b + v cos b).",
)(partial(turn, pair=lambda u, v, cos, sin: (u * cos + v * sin, u * sin + v * cos)))
mistake(
    "it is a reflection, not a turn: a sign is wrong",
    symptom="at position 0, where nothing turns, half of the features change their sign",
    why="both cosines of a turn have the same sign, and exactly one of the sines has a minus.",
    hint="What should come out at position 0?",
)(partial(turn, pair=lambda u, v, cos, sin: (u * cos + v * sin, u * sin - v * cos)))
mistake(
    "the pairing is mixed: halves are paired, and the angles stand in the order of neighbours",
    symptom="lengths change, and scores do not depend on the distance alone",
    why="u and v of one pair have to turn by one angle: features 0 and 1, or 0 and d / 2, in both places alike.",
    hint="Which two features make a pair in your version? Does the table give these two the same angle?",
)(halves_with_angles_of_neighbours)
mistake(
    "the exponent is i / d, not 2i / d",
    symptom="the slow pairs turn too fast: far words look like near ones",
    why="i counts pairs, 0 .. d/2 − 1, and the exponent has to reach from 0 to nearly 1.",
    hint="What is your exponent for the last pair? It should be (d − 2) / d.",
)(partial(turn, exponent=1.0))
mistake(
    "the angle is taken for degrees",
    symptom="neighbouring positions are almost equal",
    why="sin and cos take radians; a factor π/180 has crept in.",
    hint="θ is in radians per position, as in the table.",
)(partial(turn, angles=lambda positions, theta: torch.deg2rad(torch.outer(positions, theta))))
