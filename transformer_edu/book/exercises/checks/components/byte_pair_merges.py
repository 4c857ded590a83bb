"""Checks how byte-pair merges are learned from word counts."""

from collections import Counter
from collections.abc import Callable, Mapping
from itertools import pairwise
from typing import Any

from transformer_edu.book.exercises.checks.engine import Component, Trial, Unfit, read_list
from transformer_edu.data.byte_pairs import END, Pair, Words, count_pairs, learn_merges, merge

LearnMerges = Callable[[dict[str, int], int], list[Pair]]


def check_byte_pair_merges(fn: LearnMerges) -> None:
    """Check fn(word_counts, num_merges) -> the pairs that are merged, in order, each a tuple of two symbols.

    Every word is cut into its characters and ends with the symbol "·". On a tie the pair wins whose left symbol has
    been in the vocabulary longest, then the right one: characters by code point, then the merges in their order.
    """
    COMPONENT.check(fn=fn)


def _learn(fn: Any, given: dict[str, Any]) -> dict[str, Any]:
    result = fn(given["word_counts"], given["num_merges"])
    result = read_list(result, "a list of pairs")
    for pair in result:
        if not isinstance(pair, list | tuple) or [type(symbol) for symbol in pair] != [str, str]:
            raise Unfit(f"returned {pair!r} among the merges, expected a pair of two symbols such as ('a', 'b')")
    return {"merges": [tuple(pair) for pair in result]}


def _trial(title: str, num_merges: int, **word_counts: int) -> Trial:
    return Trial(title, {"word_counts": word_counts, "num_merges": num_merges}, _learn)


COMPONENT = Component(
    "byte-pair merges",
    chapter=3,
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
mistake = COMPONENT.mistake


def start(word_counts: Mapping[str, int]) -> Words:
    """Each word as its characters and the mark."""
    return {(*word, END): count for word, count in word_counts.items()}


def longest_known(pairs: Counter[Pair], vocabulary: list[str]) -> Pair:
    """The right choice."""
    return min(pairs, key=lambda pair: (-pairs[pair], *map(vocabulary.index, pair)))


def wrong(
    begin: Callable[[Mapping[str, int]], Words] = start,
    count: Callable[[Words], Counter[Pair]] = count_pairs,
    choose: Callable[[Counter[Pair], list[str]], Pair] = longest_known,
    join: Callable[[Words, Pair], Words] = merge,
) -> LearnMerges:
    """The right loop with one of its parts exchanged."""

    def learn(word_counts: Mapping[str, int], num_merges: int) -> list[Pair]:
        words = begin(word_counts)
        vocabulary = sorted({symbol for word in words for symbol in word})
        merges: list[Pair] = []
        while len(merges) < num_merges and (pairs := count(words)):
            best = choose(pairs, vocabulary)
            words = join(words, best)
            merges.append(best)
            vocabulary.append("".join(best))
            vocabulary += sorted({symbol for word in words for symbol in word} - set(vocabulary))
        return merges

    return learn


def _count_without_overlaps(words: Words) -> Counter[Pair]:
    pairs: Counter[Pair] = Counter()
    for symbols, count in words.items():
        for pair in set(pairwise(symbols)):
            pairs[pair] += count * (len(symbols) - len(next(iter(merge({symbols: 1}, pair)))))
    return pairs


def _merge_once(words: Words, pair: Pair) -> Words:
    new_words: Words = {}
    for symbols, count in words.items():
        places = [i for i, two in enumerate(pairwise(symbols)) if two == pair][:1]
        for i in places:
            symbols = (*symbols[:i], "".join(pair), *symbols[i + 2 :])
        new_words[symbols] = count
    return new_words


def _replace_text(words: Words, pair: Pair) -> Words:
    found, new = " ".join(pair), "".join(pair)
    return {tuple(" ".join(symbols).replace(found, new).split()): count for symbols, count in words.items()}


mistake(
    "how often a word occurs is ignored: every word counts once",
    symptom="rare words shape the merges as much as common ones; common words stay in pieces",
    why="the pairs of a word are counted once, not as many times as the word occurs.",
    hint="A word that occurs five times brings each of its pairs five times. Where does its count come in?",
)(wrong(lambda word_counts: dict.fromkeys(start(word_counts), 1)))
mistake(
    "words have no mark at their end",
    symptom="a piece at the end of a word cannot be told from the same piece inside one; spaces are lost in decoding",
    why="the word is cut into its characters alone.",
    hint="Which symbol must follow the last character, so that a piece can say: here the word ends?",
)(wrong(lambda word_counts: {tuple(word): count for word, count in word_counts.items()}))
mistake(
    "pairs that overlap are counted once, as str.count does",
    symptom="other merges than the library's as soon as a letter stands three times in a row",
    why="aaa holds two pairs of neighbours, (1st, 2nd) and (2nd, 3rd); str.count finds one.",
    hint="How many pairs of neighbours do three symbols have?",
)(wrong(count=_count_without_overlaps))
mistake(
    "only the first place of each word is merged",
    symptom="the same pair wins again and again; merges are spent on nothing new",
    why="the search stops after it has found the pair once.",
    hint="After the merge, may the two symbols still stand side by side anywhere?",
)(wrong(join=_merge_once))
mistake(
    "on a tie the pair that is last in the order wins",
    symptom="merges differ from the library's wherever two pairs are equally common",
    why="max over (count, pair) takes the largest pair among the equally common ones.",
    hint="Two pairs are equally common: which of them has symbols that are longer in the vocabulary?",
)(wrong(choose=lambda pairs, vocabulary: max(pairs, key=lambda pair: (pairs[pair], *map(vocabulary.index, pair)))))
mistake(
    "on a tie the pair that was seen first wins",
    symptom="merges depend on the order of the text; the same words in another order give another vocabulary",
    why="max(pairs, key=pairs.get) and Counter.most_common keep the order of insertion among equals.",
    hint="Hand in the same words in another order. Do the merges stay the same?",
)(wrong(choose=lambda pairs, vocabulary: pairs.most_common(1)[0][0]))
mistake(
    "on a tie the pair that is first in the alphabet wins",
    symptom="merges differ from the library's wherever a merged symbol and a letter are equally common",
    why="pairs are compared as texts; a symbol that a merge has made is younger than every letter, whatever it spells.",
    hint="Which of two symbols has been in the vocabulary longest: a letter, or one that a merge made?",
)(wrong(choose=lambda pairs, vocabulary: min(pairs, key=lambda pair: (-pairs[pair], pair))))
mistake(
    "pairs are counted across the border between two words",
    symptom="symbols that hold the end of one word and the beginning of the next",
    why="all words stand in one list, and the last symbol of one has the first of the next as its neighbour.",
    hint="Is what follows the mark · a neighbour?",
)(
    wrong(
        lambda word_counts: {tuple(symbol for word, count in word_counts.items() for symbol in (*word, END) * count): 1}
    )
)


@mistake(
    "the pairs are counted once, before the first merge",
    symptom="no symbol ever has more than two characters",
    why="the commonest pairs of the beginning are taken, one after another; new symbols are never counted.",
    hint="After lo has become one symbol, which pairs does low hold?",
)
def never_counted_again(word_counts: Mapping[str, int], num_merges: int) -> list[Pair]:
    pairs = count_pairs(start(word_counts))
    vocabulary = sorted({symbol for pair in pairs for symbol in pair})
    return sorted(pairs, key=lambda pair: (-pairs[pair], *map(vocabulary.index, pair)))[:num_merges]


mistake(
    "the merge is a text replacement that also finds the pair inside longer symbols",
    symptom="symbols that no merge made; words with equal letters are cut differently",
    why='in "e st" the text "e s" is found, though the symbols are e and st.',
    hint="Compare whole symbols, not the letters that they begin and end with. What stands before and after the match?",
)(wrong(join=_replace_text))
