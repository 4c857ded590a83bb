"""Checks how byte-pair merges are learned from word counts."""

from collections.abc import Callable
from typing import Any

from transformer_edu.checks.engine import Component, Trial, need_callable
from transformer_edu.checks.engine.compare import Unfit
from transformer_edu.data.byte_pairs import Pair, learn_merges

LearnMerges = Callable[[dict[str, int], int], list[Pair]]


def check_byte_pair_merges(fn: LearnMerges) -> None:
    """Check fn(word_counts, num_merges) -> the pairs that are merged, in order, each a tuple of two symbols.

    Every word is cut into its characters and ends with the symbol "·". On a tie the pair wins whose left symbol has
    been in the vocabulary longest, then the right one: characters by code point, then the merges in their order.
    """
    need_callable("fn", fn)
    BYTE_PAIRS.check(fn)


def _learn(fn: Any, given: dict[str, Any]) -> dict[str, Any]:
    result = fn(given["word_counts"], given["num_merges"])
    if result is None:
        raise Unfit("returned None, expected a list of pairs: is the `return` missing?")
    if not isinstance(result, list | tuple):
        raise Unfit(f"returned a {type(result).__name__}, expected a list of pairs")
    for pair in result:
        if not isinstance(pair, list | tuple) or [type(symbol) for symbol in pair] != [str, str]:
            raise Unfit(f"returned {pair!r} among the merges, expected a pair of two symbols such as ('a', 'b')")
    return {"merges": [tuple(pair) for pair in result]}


def _trial(title: str, num_merges: int, **word_counts: int) -> Trial:
    return Trial(title, {"word_counts": word_counts, "num_merges": num_merges}, _learn)


BYTE_PAIRS = Component(
    "byte-pair merges",
    reference=learn_merges,
    trials=[
        _trial("one merge, one word much commoner than the others", 1, ab=5, cde=1, cdf=1),
        _trial("three merges, each built on the one before", 3, low=5, lot=1),
        _trial("two merges, the end of the word counts too", 2, ab=2, cb=2, db=2),
        _trial("two merges of words that occur once: a tie", 2, ba=1, bc=1, dc=1),
        _trial("two merges, one letter three times in a row", 2, aaa=3, bc=4),
        _trial("two merges, a pair twice in one word", 2, xyxy=3, zy=2),
        _trial("one merge, words that begin alike", 1, a=2, ab=1, ac=1),
        _trial("three merges, symbols that end alike", 3, xes=3, xec=2, xed=2, esa=1, esb=2),
        _trial("more merges than there are pairs", 9, to=1),
    ],
)
