"""Which sentences of the grammar are for training, and which are held out.

A phrase with two adjectives is known by three words, such as (small, cat, black). One in ten of those 665
combinations is held out, drawn once from a fixed seed, and (small, cat, black) is always among them. No training
sentence contains a held-out combination, with any determiner, in the singular or the plural, as subject or as
object; every held-out sentence contains at least one. The words themselves, and each pair of the three, do occur
in training: *small black dog*, *small cat*, *black cat*. So the held-out score asks whether a model puts known
words together in a way that it has never seen.
"""

import random
from collections.abc import Iterator
from functools import cache, lru_cache

from transformer_edu.data.examples import RUNNING_SENTENCE
from transformer_edu.data.grammar import NounPhrase, Pair, Sentence, parse
from transformer_edu.data.lexicon import ADJECTIVES, DETERMINERS, NOUNS, VERBS, Noun
from transformer_edu.data.vocabulary import Vocabulary
from transformer_edu.support.validation import check_choice, check_positive_integer

BEFORE = tuple(a for a in ADJECTIVES if a.before_noun)
AFTER = tuple(a for a in ADJECTIVES if not a.before_noun)
ANIMALS = tuple(n for n in NOUNS if n.animal)
RUNNING_COMBINATION = ("small", "cat", "black")
SPLITS = ("train", "held_out", "all")


@cache
def held_out_combinations() -> frozenset[tuple[str, str, str]]:
    """One in ten of all (adjective before, noun, adjective after): never in a training sentence."""
    every = [(b.english, n.singular, a.english) for b in BEFORE for n in NOUNS for a in AFTER]
    chosen = random.Random(0).sample([c for c in every if c != RUNNING_COMBINATION], len(every) // 10 - 1)
    return frozenset([*chosen, RUNNING_COMBINATION])


def is_held_out(sentence: Sentence) -> bool:
    """Whether a held-out combination occurs in the sentence."""
    phrases = (sentence.subject, sentence.object)
    return any(phrase is not None and phrase.combination in held_out_combinations() for phrase in phrases)


def _random_phrase(rng: random.Random, nouns: tuple[Noun, ...], indefinite: bool = True) -> NounPhrase:
    determiner = rng.choice([d for d in DETERMINERS if indefinite or d.singular != "a"])
    plural = determiner.plural is not None and rng.random() < 0.5
    before = rng.choice(BEFORE) if rng.random() < 0.5 else None
    after = rng.choice(AFTER) if rng.random() < 0.5 else None
    return NounPhrase(determiner, rng.choice(nouns), plural, before, after)


def random_sentence(rng: random.Random) -> Sentence:
    """One sentence: every choice between two is a fair coin, every choice of a word is uniform."""
    verb = rng.choice(VERBS)
    negated = rng.random() < 0.5
    subject = _random_phrase(rng, ANIMALS)
    return Sentence(
        subject, verb, negated, _random_phrase(rng, NOUNS, indefinite=not negated) if verb.transitive else None
    )


def sentences(seed: int, split: str = "train") -> Iterator[Sentence]:
    """An endless stream of random sentences of one split: "train", "held_out" or "all"."""
    check_choice("split", split, SPLITS)
    rng = random.Random(seed)
    while True:
        sentence = random_sentence(rng)
        if split == "all" or is_held_out(sentence) == (split == "held_out"):
            yield sentence


def sentence_pairs(seed: int, count: int, split: str = "train") -> list[Pair]:
    """`count` different (English, French) pairs, the same ones for the same seed."""
    check_positive_integer("count", count)
    return list(_pairs(seed, count, split))


@lru_cache(maxsize=16)
def _pairs(seed: int, count: int, split: str) -> tuple[Pair, ...]:
    stream = sentences(seed, split)
    pairs: dict[Pair, None] = {}  # a dictionary keeps the order, a set would not
    while len(pairs) < count:
        pairs[next(stream).pair()] = None
    return tuple(pairs)


def train_pairs(count: int = 20_000, seed: int = 0) -> list[Pair]:
    """The training set: no held-out combination occurs in it."""
    return sentence_pairs(seed, count, "train")


def held_out_pairs(count: int = 1_000, seed: int = 1) -> list[Pair]:
    """The test set: a held-out combination in every sentence; the first is the book's running sentence."""
    running = parse(RUNNING_SENTENCE).pair()
    return [running, *(pair for pair in sentence_pairs(seed, count, "held_out") if pair != running)][:count]


@cache
def vocabularies() -> tuple[Vocabulary, Vocabulary]:
    """The English and the French vocabulary: every word of the lexicon, whatever sentences are drawn."""
    english = [d.singular for d in DETERMINERS] + [d.plural for d in DETERMINERS if d.plural]
    english += [form for n in NOUNS for form in (n.singular, n.plural)] + [a.english for a in ADJECTIVES]
    english += [form for v in VERBS for form in (v.base, v.third)] + ["do", "does", "not"]
    french = [form for d in DETERMINERS for form in (d.le, d.la, d.les) if form] + ["ne", "pas"]
    french += [form for n in NOUNS for form in (n.french_singular, n.french_plural)]
    french += [f for a in ADJECTIVES for f in (a.masculine, a.feminine, a.masculine_plural, a.feminine_plural)]
    french += [form for v in VERBS for form in (v.french_singular, v.french_plural)]
    return Vocabulary.from_sentences(english), Vocabulary.from_sentences(french)
