"""What three families are taught with the same sentences, and one with images: inputs and targets (chapter 18).

    GPT    <bos> the cats sleep         ->  the cats sleep <eos>         each place: the next word
    BERT   <bos> the <mask> sleep <eos> ->  cats                         hidden places alone
    T5     the <X> sleep <eos>          ->  <X> cats <eos>               what stood in the gaps, written

The text is the book's English grammar, drawn anew for every batch.
"""

import math
import random
from collections.abc import Sequence
from itertools import islice

import torch
import torch.nn.functional as F

from transformer_edu.data import BOS_ID, EOS_ID, PAD_ID, Sentence, Vocabulary, pad_sequences, parse, vocabularies
from transformer_edu.data.corpus import ANIMALS, sentences
from transformer_edu.data.grammar import NounPhrase
from transformer_edu.data.lexicon import ADJECTIVES, DETERMINERS, NOUNS, VERBS
from transformer_edu.support.shapes import Float, Int, Tensor

MARKS = ("<mask>", "<X>", "<Y>")
VOCABULARY = Vocabulary([*vocabularies()[0].words[4:], *MARKS])
MASK_ID, *GAP_IDS = VOCABULARY.encode(MARKS)
FIRST_WORD, NUM_WORDS = 4, len(VOCABULARY) - 4 - len(MARKS)
UNTRAINED = -100  # as a target: no answer is wanted here
UNSEEN = 1_000_000  # seed of what is measured on
SIDE, PATCH = 16, 4  # pixels of an image's side and a patch's

Example = tuple[tuple[Tensor, ...], Tensor]  # what the model is called with, and the targets


def words_of(sentence: Sentence) -> list[int]:
    """The ids of a sentence's words."""
    return VOCABULARY.encode([word for word, _ in sentence.english()])


def place_of(sentence: Sentence, role: str) -> int:
    """Where the first word with this role stands, counted from 0: "subject.noun", "verb", "object.determiner" …"""
    return [found for _, found in sentence.english()].index(role)


def next_words(rows: Sequence[Sequence[int]]) -> Example:
    """GPT: what stands so far, and at each place the word that comes next."""
    ids = pad_sequences([[BOS_ID, *row, EOS_ID] for row in rows])
    return (ids[:, :-1],), ids[:, 1:].masked_fill(ids[:, 1:] == PAD_ID, UNTRAINED)


def hidden_words(rows: Sequence[Sequence[int]], share: float = 0.15) -> Example:
    """BERT: a share of the words is to be told; of these 80 % are <mask>, 10 % another word, 10 % as they were."""
    ids = pad_sequences([[BOS_ID, *row, EOS_ID] for row in rows])
    chosen = (torch.rand(ids.shape) < share) & (ids >= FIRST_WORD)
    lot, other = torch.rand(ids.shape), torch.randint(FIRST_WORD, FIRST_WORD + NUM_WORDS, ids.shape)
    inputs = torch.where(chosen & (lot < 0.8), MASK_ID, torch.where(chosen & (lot >= 0.9), other, ids))
    return (inputs,), ids.masked_fill(~chosen, UNTRAINED)


def with_gaps(row: Sequence[int], gaps: Sequence[tuple[int, int]]) -> tuple[list[int], list[int]]:
    """T5: the words with a mark for each gap (from, to), and after each mark again what stood there, then <eos>."""
    source, answer, at = list[int](), list[int](), 0
    for mark, (start, stop) in zip(GAP_IDS, gaps, strict=False):
        source += [*row[at:start], mark]
        answer += [mark, *row[start:stop]]
        at = stop
    return [*source, *row[at:], EOS_ID], [*answer, EOS_ID]


def random_gaps(length: int, rng: random.Random) -> list[tuple[int, int]]:
    """One or two gaps of one to three words, with a word between them."""
    first = rng.randrange(length)
    gaps = [(first, min(length, first + rng.randint(1, 3)))]
    left = range(gaps[0][1] + 1, length)
    if left and rng.random() < 0.5:
        second = rng.choice(left)
        gaps.append((second, min(length, second + rng.randint(1, 3))))
    return gaps


def gaps_filled(rows: Sequence[Sequence[int]], gaps: Sequence[Sequence[tuple[int, int]]]) -> Example:
    """T5: sources with gaps and the answers so far, and at each place of the answer the word that comes next."""
    cut = [with_gaps(row, places) for row, places in zip(rows, gaps, strict=True)]
    source, answer = (pad_sequences(side) for side in zip(*cut, strict=True))
    return (source, F.pad(answer[:, :-1], (1, 0), value=BOS_ID)), answer.masked_fill(answer == PAD_ID, UNTRAINED)


def two_dots(count: int) -> tuple[Float[Tensor, "batch 1 side side"], Int[Tensor, " batch"]]:
    """Noisy images with a bright and a dimmer dot at random places, and the quadrant (0 to 3) of the bright one."""
    images = 0.05 * torch.randn(count, SIDE * SIDE)
    places = torch.rand(count, SIDE * SIDE).argsort(dim=1)[:, :2]  # two different ones
    images.scatter_add_(1, places, torch.stack([0.8 + 0.2 * torch.rand(count), 0.4 + 0.2 * torch.rand(count)], dim=1))
    row, column = places[:, 0] // SIDE, places[:, 0] % SIDE
    return images.view(count, 1, SIDE, SIDE), 2 * (row >= SIDE // 2).long() + (column >= SIDE // 2).long()


def is_sentence(text: str) -> bool:
    """Whether the grammar accepts it."""
    try:
        parse(text)
    except ValueError:
        return False
    return True


def grammar_log_probability(sentence: Sentence) -> float:
    """ln of the probability with which `random_sentence` draws this sentence: it can be drawn in one way only."""
    total = math.log(len(VERBS)) + math.log(2) + _phrase_cost(sentence.subject, len(ANIMALS), len(DETERMINERS))
    if sentence.object:
        total += _phrase_cost(sentence.object, len(NOUNS), len(DETERMINERS) - sentence.negated)
    return -total


def _phrase_cost(phrase: NounPhrase, nouns: int, determiners: int) -> float:
    coins = 2 + (phrase.determiner.plural is not None)
    before = sum(adjective.before_noun for adjective in ADJECTIVES)
    adjectives = (phrase.before is not None) * math.log(before)
    adjectives += (phrase.after is not None) * math.log(len(ADJECTIVES) - before)
    return math.log(determiners) + coins * math.log(2) + adjectives + math.log(nouns)


def either_number(count: int) -> list[Sentence]:
    """Unseen sentences whose subject begins with a word that says nothing of its number: "the", "my"."""
    text = sentences(UNSEEN, "all")
    stream = (sample for sample in text if sample.subject.determiner.singular == sample.subject.determiner.plural)
    return list(islice(stream, count))
