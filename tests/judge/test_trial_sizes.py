"""At the sizes of the experiments no two formulas of a scale give the same numbers, so that none passes for another."""

import math
from itertools import combinations

import pytest

from transformer_edu.book.exercises.judge.kinds import KINDS

SCALES = {
    "√d_head": lambda d, h, n, k, b: math.sqrt(d),
    "d_head / 2": lambda d, h, n, k, b: d / 2,
    "log₂ d_head": lambda d, h, n, k, b: math.log2(d),
    "ln d_head": lambda d, h, n, k, b: math.log(d),
    "d_head": lambda d, h, n, k, b: d,
    "√d_model": lambda d, h, n, k, b: math.sqrt(h * d),
    "d_model": lambda d, h, n, k, b: h * d,
    "heads": lambda d, h, n, k, b: h,
    "√heads": lambda d, h, n, k, b: math.sqrt(h),
    "queries": lambda d, h, n, k, b: n,
    "√queries": lambda d, h, n, k, b: math.sqrt(n),
    "keys": lambda d, h, n, k, b: k,
    "√keys": lambda d, h, n, k, b: math.sqrt(k),
    "sentences": lambda d, h, n, k, b: b,
    **{f"always {fixed:g}": lambda d, h, n, k, b, fixed=fixed: fixed for fixed in (1, 2, 3, 4, 5, 6, 8, 12, 64, 512)},
}


def sizes(kind):
    """d_head, heads, queries, keys and sentences of every experiment that is compared."""
    for trial in filter(None, (kind, kind.elsewhere)):
        for experiment in trial.experiments:
            query, key = experiment.inputs[:2]
            batch, heads = query.shape[0], trial.options.get("num_heads") or query.shape[1]
            width = query.shape[-1] // (heads if trial.options else 1)
            yield width, heads, query.shape[-2], key.shape[-2], batch


@pytest.mark.parametrize("name", ["attention", "multi_head_attention"])
def test_no_two_scales_give_the_same_numbers(name):
    tried = set(sizes(KINDS[name]))
    values = {scale: [formula(*case) for case in tried] for scale, formula in SCALES.items()}
    for first, other in combinations(values, 2):
        apart = max(abs(a / b - 1) for a, b in zip(values[first], values[other], strict=True))
        assert apart > 0.04, (first, other)


def options(kind):
    """The sizes of both trials of a kind, in one order; at first as many experts are chosen as there are."""
    others = "pad_id", "max_len", "top_k"
    names = [name for name, value in kind.options.items() if isinstance(value, int) and name not in others]
    return [[trial.options[name] for name in names] for trial in (kind, kind.elsewhere)]


LEARNING = [name for name, kind in KINDS.items() if kind.elsewhere is not None]


@pytest.mark.parametrize("name", LEARNING)
def test_every_part_that_learns_is_tried_at_two_sizes_of_which_none_agree(name):
    first, second = options(KINDS[name])
    assert len(set(first) | set(second)) == len(first) + len(second)


@pytest.mark.long
def test_parts_without_sizes_see_several():
    assert {name for name, kind in KINDS.items() if kind.least or kind.learns} <= set(LEARNING)
    for name in set(KINDS) - set(LEARNING):
        shapes = {tuple(map(str, (getattr(x, "shape", x) for x in case.inputs))) for case in KINDS[name].experiments}
        assert len(shapes) > 1, name
