"""Known mistakes in learning byte-pair merges. Each is the right loop with one part exchanged."""

from collections import Counter
from collections.abc import Callable, Mapping
from itertools import pairwise

from transformer_edu.checks.components.byte_pair_merges import BYTE_PAIRS
from transformer_edu.data.byte_pairs import END, Pair, Words, count_pairs, merge

mistake = BYTE_PAIRS.mistake
Count = Callable[[Words], Counter[Pair]]
Choose = Callable[[Counter[Pair], list[str]], Pair]


def longest_known(pairs: Counter[Pair], vocabulary: list[str]) -> Pair:
    """The right choice."""
    return min(pairs, key=lambda pair: (-pairs[pair], *map(vocabulary.index, pair)))


def learn(
    words: Words,
    num_merges: int,
    count: Count = count_pairs,
    choose: Choose = longest_known,
    join: Callable[[Words, Pair], Words] = merge,
) -> list[Pair]:
    """The loop, with its three parts to be exchanged."""
    vocabulary = sorted({symbol for word in words for symbol in word})
    merges: list[Pair] = []
    while len(merges) < num_merges and (pairs := count(words)):
        best = choose(pairs, vocabulary)
        words = join(words, best)
        merges.append(best)
        vocabulary.append("".join(best))
        vocabulary += sorted({symbol for word in words for symbol in word} - set(vocabulary))
    return merges


def start(word_counts: Mapping[str, int]) -> Words:
    """Each word as its characters and the mark."""
    return {(*word, END): count for word, count in word_counts.items()}


@mistake(
    "how often a word occurs is ignored: every word counts once",
    symptom="rare words shape the merges as much as common ones; common words stay in pieces",
    why="the pairs of a word are counted once, not as many times as the word occurs.",
    hint="A word that occurs five times brings each of its pairs five times. Where does its count come in?",
)
def counts_ignored(word_counts: Mapping[str, int], num_merges: int) -> list[Pair]:
    return learn(dict.fromkeys(start(word_counts), 1), num_merges)


@mistake(
    "words have no mark at their end",
    symptom="a piece at the end of a word cannot be told from the same piece inside one; spaces are lost in decoding",
    why="the word is cut into its characters alone.",
    hint="Which symbol must follow the last character, so that a piece can say: here the word ends?",
)
def no_end_mark(word_counts: Mapping[str, int], num_merges: int) -> list[Pair]:
    return learn({tuple(word): count for word, count in word_counts.items()}, num_merges)


@mistake(
    "pairs that overlap are counted once, as str.count does",
    symptom="other merges than the library's as soon as a letter stands three times in a row",
    why="aaa holds two pairs of neighbours, (1st, 2nd) and (2nd, 3rd); str.count finds one.",
    hint="How many pairs of neighbours do three symbols have?",
)
def overlaps_counted_once(word_counts: Mapping[str, int], num_merges: int) -> list[Pair]:
    return learn(start(word_counts), num_merges, count=_count_without_overlaps)


def _count_without_overlaps(words: Words) -> Counter[Pair]:
    pairs: Counter[Pair] = Counter()
    for symbols, count in words.items():
        for pair in set(pairwise(symbols)):
            pairs[pair] += count * (len(symbols) - len(next(iter(merge({symbols: 1}, pair)))))
    return pairs


@mistake(
    "only the first place of each word is merged",
    symptom="the same pair wins again and again; merges are spent on nothing new",
    why="the search stops after it has found the pair once.",
    hint="After the merge, may the two symbols still stand side by side anywhere?",
)
def first_place_only(word_counts: Mapping[str, int], num_merges: int) -> list[Pair]:
    return learn(start(word_counts), num_merges, join=_merge_once)


def _merge_once(words: Words, pair: Pair) -> Words:
    new_words: Words = {}
    for symbols, count in words.items():
        places = [i for i, two in enumerate(pairwise(symbols)) if two == pair][:1]
        for i in places:
            symbols = (*symbols[:i], "".join(pair), *symbols[i + 2 :])
        new_words[symbols] = count
    return new_words


@mistake(
    "on a tie the pair that is last in the order wins",
    symptom="merges differ from the library's wherever two pairs are equally common",
    why="max over (count, pair) takes the largest pair among the equally common ones.",
    hint="Two pairs are equally common: which of them has symbols that are longer in the vocabulary?",
)
def last_of_a_tie(word_counts: Mapping[str, int], num_merges: int) -> list[Pair]:
    def choose(pairs: Counter[Pair], vocabulary: list[str]) -> Pair:
        return max(pairs, key=lambda pair: (pairs[pair], *map(vocabulary.index, pair)))

    return learn(start(word_counts), num_merges, choose=choose)


@mistake(
    "on a tie the pair that was seen first wins",
    symptom="merges depend on the order of the text; the same words in another order give another vocabulary",
    why="max(pairs, key=pairs.get) and Counter.most_common keep the order of insertion among equals.",
    hint="Hand in the same words in another order. Do the merges stay the same?",
)
def first_seen_of_a_tie(word_counts: Mapping[str, int], num_merges: int) -> list[Pair]:
    return learn(start(word_counts), num_merges, choose=lambda pairs, _: pairs.most_common(1)[0][0])


@mistake(
    "pairs are counted across the border between two words",
    symptom="symbols that hold the end of one word and the beginning of the next",
    why="all words stand in one list, and the last symbol of one has the first of the next as its neighbour.",
    hint="Is what follows the mark · a neighbour?",
)
def across_words(word_counts: Mapping[str, int], num_merges: int) -> list[Pair]:
    text = tuple(symbol for word, count in word_counts.items() for symbol in (*word, END) * count)
    return learn({text: 1}, num_merges)


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


@mistake(
    "the merge is a text replacement that also finds the pair inside longer symbols",
    symptom="symbols that no merge made; words with equal letters are cut differently",
    why='in "e st" the text "e s" is found, though the symbols are e and st.',
    hint="Compare whole symbols, not the letters that they begin and end with. What stands before and after the match?",
)
def replaced_as_text(word_counts: Mapping[str, int], num_merges: int) -> list[Pair]:
    def join(words: Words, pair: Pair) -> Words:
        found, new = " ".join(pair), "".join(pair)
        return {tuple(" ".join(symbols).replace(found, new).split()): count for symbols, count in words.items()}

    return learn(start(word_counts), num_merges, join=join)
