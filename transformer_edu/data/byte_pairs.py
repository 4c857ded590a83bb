"""Byte-pair encoding: learn merges from word counts, and cut words with them.

Sennrich et al. 2016, algorithm 1. Every word ends with the symbol `END`. The merges are those that the tokenizers
library learns from words written with this mark at their end (`models.BPE()`, `trainers.BpeTrainer()`), in its order.

>>> merges = learn_merges({"low": 5, "lowest": 2, "newer": 6, "wider": 3}, num_merges=4)
>>> merges
[('e', 'r'), ('er', '·'), ('l', 'o'), ('lo', 'w')]
>>> apply_merges("lower", merges)
['low', 'er·']
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from itertools import pairwise

from transformer_edu.support.validation import check_positive_integer

END = "·"
Pair = tuple[str, str]
Words = dict[tuple[str, ...], int]


def count_pairs(words: Words) -> Counter[Pair]:
    """How often does each pair of neighbours occur? `words` maps a word's symbols to the count of the word."""
    pairs: Counter[Pair] = Counter()
    for symbols, count in words.items():
        for pair in pairwise(symbols):
            pairs[pair] += count
    return pairs


def merge(words: Words, pair: Pair) -> Words:
    """Write the pair as one symbol, in every word, from left to right."""
    new_words: Words = {}
    for symbols, count in words.items():
        merged: list[str] = []
        for symbol in symbols:
            if merged and (merged[-1], symbol) == pair:
                merged[-1] += symbol
            else:
                merged.append(symbol)
        new_words[tuple(merged)] = count
    return new_words


def learn_merges(word_counts: Mapping[str, int], num_merges: int) -> list[Pair]:
    """The commonest pair becomes one symbol, up to `num_merges` times. On a tie the symbols known longest win.

    Known longest: the characters in the order of their code points, then the merged symbols in the order of merging.
    """
    check_positive_integer("num_merges", num_merges, minimum=0)
    words: Words = {(*word, END): count for word, count in word_counts.items()}
    vocabulary = sorted({symbol for word in words for symbol in word})
    merges: list[Pair] = []
    while len(merges) < num_merges and (pairs := count_pairs(words)):
        best = min(pairs, key=lambda pair: (-pairs[pair], *map(vocabulary.index, pair)))
        words = merge(words, best)
        merges.append(best)
        if "".join(best) not in vocabulary:
            vocabulary.append("".join(best))
    return merges


def apply_merges(word: str, merges: Iterable[Pair]) -> list[str]:
    """Cut a word: of all its neighbours, join the pair that was learned first; repeat until none was learned."""
    rank = {pair: place for place, pair in enumerate(merges)}
    symbols = [*word, END]
    while found := [(rank[pair], i) for i, pair in enumerate(pairwise(symbols)) if pair in rank]:
        i = min(found)[1]
        symbols[i : i + 2] = [symbols[i] + symbols[i + 1]]
    return symbols
