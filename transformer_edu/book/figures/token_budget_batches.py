"""Sentences of different lengths in batches: how much of each rectangle is padding, and what the order does to it."""

import random
from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any, ClassVar, NamedTuple

import traitlets

from transformer_edu.book.figures import fields
from transformer_edu.book.figures.base import Figure
from transformer_edu.book.figures.inputs import check_range, check_words
from transformer_edu.data import train_pairs
from transformer_edu.data.token_budget import padding_waste, token_budget_batches
from transformer_edu.support.validation import check_positive_integer

ORDERS = ("as they come", "shuffled", "sorted by length", "similar lengths together")
LIMITS = ("sentences", "tokens")
LARGEST = {"sentences": 16, "tokens": 8}  # a batch: so many sentences; so many times the longest sentence
EPOCHS = 4
ENOUGH = 2000  # bytes: two shuffles of 64 use about 170
MOST_SENTENCES, MOST_TOKENS = 64, 40  # in the figure; in one sentence


class TokenBudgetBatches(Figure):
    """Batches as rectangles: a row for each sentence, a cell for each token, padding up to the longest.

    Args:
        sentences: 2 to 64, each 1 to 40 tokens with spaces between; None is the English side of 48 training pairs.
        order: in which the sentences are taken. "as they come"; "shuffled"; "sorted by length", the shortest first;
            or "similar lengths together", sorted and packed, the batches then shuffled.
        limit: what fills a batch, a number of "sentences" or a budget of "tokens", padding included.
        size: how many; 1 to 16 sentences, or tokens from the longest sentence to 8 times that.
        seed, epoch: decide what is shuffled how, as in `epoch_batches`. The page knows epochs 0 to 3.
    """

    figure_name: ClassVar[str] = "token-budget-batches"

    sentences = fields.field(
        traitlets.List(traitlets.Unicode()),
        lambda so: [english for english, _ in train_pairs(48)],
        lambda name, given, so: _checked(name, given),
    )
    order = fields.choice("as they come", ORDERS)
    limit = fields.choice("sentences", LIMITS)
    size = fields.field(traitlets.Int(), 8, lambda name, size, so: _size(name, size, so))
    seed = fields.field(traitlets.Int(), 0, lambda name, seed, so: _seed(name, seed))
    epoch = fields.index(0, EPOCHS)
    draws = fields.made(traitlets.List(traitlets.Unicode()), lambda so: shuffle_draws(so.seed, len(so.sentences)))

    @traitlets.observe("seed", "sentences")
    def _draw_again(self, _: Any) -> None:
        self.draws = shuffle_draws(self.seed, len(self.sentences))

    def alt_text(self) -> str:
        """How many batches and cells, how much of them padding, and what it would be with similar lengths together."""
        lengths = token_counts(self.sentences)
        batches = self._plan(self.order).batches
        cells = [cells_of(batch, lengths) for batch in batches]
        other = self._plan("similar lengths together").batches
        return (
            f"{len(lengths)} sentences, {self.order}, at most {self.size} {self.limit} a batch: {len(batches)} batches "
            f"drawn as rectangles, a row for each sentence, a cell for each token. {sum(cells)} cells, "
            f"{_percent(lengths, batches)} of them padding; the largest batch has {max(cells)}, the smallest "
            f"{min(cells)}. With similar lengths together: {sum(cells_of(batch, lengths) for batch in other)} cells, "
            f"{_percent(lengths, other)} padding."
        )

    def _plan(self, order: str) -> "Plan":
        return plan(token_counts(self.sentences), order, self.limit, self.size, seed=self.seed, epoch=self.epoch)


class Plan(NamedTuple):
    """Batches of indices in the order of training, and the place of the one that got what was left over, if any."""

    batches: list[list[int]]
    rest: int | None


def plan(lengths: Sequence[int], order: str, limit: str, size: int, *, seed: int = 0, epoch: int = 0) -> Plan:
    """Pack sentences of so many tokens. Similar lengths with a budget of tokens are what `epoch_batches` gives."""
    rng = random.Random(f"{seed}, {epoch}")
    indices = list(range(len(lengths)))
    if order in ("shuffled", "similar lengths together"):
        rng.shuffle(indices)
    if order in ("sorted by length", "similar lengths together"):
        indices.sort(key=lambda index: lengths[index])
    costs = [(length, length) if limit == "tokens" else (1, 1) for length in lengths]
    batches = token_budget_batches(costs, size, indices)
    last = batches[-1]
    if order == "similar lengths together":
        rng.shuffle(batches)
    full = limit == "sentences" and len(last) == size
    return Plan(batches, None if full else next(at for at, batch in enumerate(batches) if batch is last))


def token_counts(sentences: Sequence[str]) -> list[int]:
    """How many tokens each sentence has."""
    return [len(sentence.split()) for sentence in sentences]


def cells_of(batch: Sequence[int], lengths: Sequence[int]) -> int:
    """Rows times width of a batch."""
    return len(batch) * max(lengths[index] for index in batch)


def shuffle_draws(seed: int, count: int) -> list[str]:
    """For each epoch what `random.shuffle` draws, so that the page shuffles alike: a byte for each draw, in hex.

    A draw of k bits is the top k bits of its byte, k <= 7 for up to 64 sentences. There are as many bytes as the
    sentences and then any number of batches can need.
    """
    draws = []
    for epoch in range(EPOCHS):
        rng = random.Random(f"{seed}, {epoch}")
        stream = bytes(rng.getrandbits(8) for _ in range(ENOUGH))
        after = _end_of_shuffle(stream, 0, count)
        most = max(_end_of_shuffle(stream, after, batches) for batches in range(1, count + 1))
        draws.append(stream[:most].hex())
    return draws


def _end_of_shuffle(stream: bytes, at: int, count: int) -> int:
    """How far `random.shuffle` of `count` items reads from place `at` on: it draws again when a draw is too large."""
    for last in range(count - 1, 0, -1):
        unused = 8 - (last + 1).bit_length()
        while stream[at] >> unused > last:
            at += 1
        at += 1
    return at


def _checked(name: str, sentences: Any) -> list[str]:
    """So many strings of so many words each, with single spaces between."""
    for sentence in (texts := check_words(name, sentences, 2, MOST_SENTENCES)):
        if not 1 <= (count := len(sentence.split())) <= MOST_TOKENS:
            raise ValueError(f"{name} must have 1 to {MOST_TOKENS} tokens each, got {count} in {sentence!r}")
    return [" ".join(text.split()) for text in texts]


def _seed(name: str, seed: int) -> int:
    check_positive_integer(name, seed, minimum=0)
    return seed


def _size(name: str, size: Any, so: SimpleNamespace) -> int:
    longest = max(token_counts(so.sentences))
    low, high = (longest, LARGEST["tokens"] * longest) if so.limit == "tokens" else (1, LARGEST["sentences"])
    return check_range(f"{name}, in {so.limit} (the longest sentence has {longest} tokens),", size, low, high)


def _percent(lengths: Sequence[int], batches: Sequence[Sequence[int]]) -> str:
    return f"{100 * padding_waste([(length, length) for length in lengths], batches):.0f} %"
