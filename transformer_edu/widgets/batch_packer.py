"""Sentences of different lengths in batches: how much of each rectangle is padding, and what the order does to it."""

import random
from collections.abc import Sequence
from typing import Any, ClassVar, NamedTuple

import traitlets

from transformer_edu.data import train_pairs
from transformer_edu.data.token_budget import padding_waste, token_budget_batches
from transformer_edu.support.validation import check_choice, check_positive_integer
from transformer_edu.widgets.base import Figure

ORDERS = ("as they come", "shuffled", "sorted by length", "similar lengths together")
LIMITS = ("sentences", "tokens")
EPOCHS = 4
MOST_SENTENCES, MOST_TOKENS = 64, 40  # in the figure; in one sentence
LARGEST = {"sentences": 16, "tokens": 8}  # a batch: so many sentences; so many times the longest sentence


class BatchPacker(Figure):
    """Batches as rectangles: a row for each sentence, a cell for each token, padding up to the longest.

    Args:
        sentences: 2 to 64, each 1 to 40 tokens with spaces between; None is the English side of 48 training pairs.
        order: in which the sentences are taken. "as they come"; "shuffled"; "sorted by length", the shortest first;
            or "similar lengths together", sorted and packed, the batches then shuffled.
        limit: what fills a batch, a number of "sentences" or a budget of "tokens", padding included.
        size: how many; 1 to 16 sentences, or tokens from the longest sentence to 8 times that.
        seed, epoch: decide what is shuffled how, as in `epoch_batches`. The page knows epochs 0 to 3.
        draws: belongs to the figure's state and follows from `seed`; leave it out.
    """

    figure_name: ClassVar[str] = "batch-packer"

    sentences = traitlets.List(traitlets.Unicode()).tag(sync=True)
    order = traitlets.Unicode().tag(sync=True)
    limit = traitlets.Unicode().tag(sync=True)
    size = traitlets.Int().tag(sync=True)
    seed = traitlets.Int().tag(sync=True)
    epoch = traitlets.Int().tag(sync=True)
    draws = traitlets.List(traitlets.Unicode()).tag(sync=True)

    def __init__(
        self,
        sentences: Sequence[str] | None = None,
        *,
        order: str = "as they come",
        limit: str = "sentences",
        size: int = 8,
        seed: int = 0,
        epoch: int = 0,
        draws: Sequence[str] | None = None,
    ) -> None:
        texts = _checked([english for english, _ in train_pairs(48)] if sentences is None else sentences)
        check_choice("order", order, ORDERS)
        check_choice("limit", limit, LIMITS)
        _check_size(size, limit, max(token_counts(texts)))
        check_positive_integer("seed", seed, minimum=0)
        check_choice("epoch", epoch, range(EPOCHS))
        drawn = shuffle_draws(seed, len(texts))
        if draws is not None and list(draws) != drawn:
            raise ValueError(f"draws must be left out, it follows from seed; got other draws than those of seed {seed}")
        super().__init__(sentences=texts, order=order, limit=limit, size=size, seed=seed, epoch=epoch, draws=drawn)

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


class _Counting(random.Random):
    drawn = 0

    def getrandbits(self, k: int, /) -> int:
        self.drawn += 1
        return super().getrandbits(k)


def shuffle_draws(seed: int, count: int) -> list[str]:
    """For each epoch what `random.shuffle` draws, so that the page shuffles alike: a byte for each draw, in hex.

    A draw of k bits is the top k bits of its byte, k <= 7 for up to 64 sentences. There are as many bytes as the
    sentences and then any number of batches can need.
    """
    draws = []
    for epoch in range(EPOCHS):
        most = 0
        for batches in range(1, count + 1):
            counting = _Counting(f"{seed}, {epoch}")
            counting.shuffle(list(range(count)))
            counting.shuffle(list(range(batches)))
            most = max(most, counting.drawn)
        rng = random.Random(f"{seed}, {epoch}")
        draws.append(bytes(rng.getrandbits(8) for _ in range(most)).hex())
    return draws


def _percent(lengths: Sequence[int], batches: Sequence[Sequence[int]]) -> str:
    return f"{100 * padding_waste([(length, length) for length in lengths], batches):.0f} %"


def _checked(sentences: Any) -> list[str]:
    if isinstance(sentences, str) or not isinstance(sentences, Sequence):
        raise TypeError(f"sentences must be a list of strings, got {sentences!r}")
    wrong = [sentence for sentence in sentences if not isinstance(sentence, str)]
    if wrong:
        raise TypeError(f"sentences must be a list of strings, got {wrong[0]!r} in it")
    if not 2 <= len(sentences) <= MOST_SENTENCES:
        raise ValueError(f"sentences must hold 2 to {MOST_SENTENCES} sentences, got {len(sentences)}")
    for sentence, count in zip(sentences, token_counts(sentences), strict=True):
        if not 1 <= count <= MOST_TOKENS:
            raise ValueError(f"sentences must have 1 to {MOST_TOKENS} tokens each, got {count} in {sentence!r}")
    return [" ".join(sentence.split()) for sentence in sentences]


def _check_size(size: Any, limit: str, longest: int) -> None:
    check_positive_integer("size", size)
    least, most = (longest, LARGEST[limit] * longest) if limit == "tokens" else (1, LARGEST[limit])
    if not least <= size <= most:
        fits = f" (the longest sentence has {longest})" if limit == "tokens" else ""
        raise ValueError(f"size must be from {least} to {most} {limit}{fits}, got {size}")
