"""Sentences of different lengths in batches: how much of each rectangle is padding, and what the order does to it."""

from collections.abc import Sequence
from typing import Any, ClassVar

import traitlets

from transformer_edu.book.figures.base import Figure
from transformer_edu.book.figures.inputs import check_index, check_range
from transformer_edu.book.figures.token_budget_batches_data import (
    EPOCHS,
    ORDERS,
    Plan,
    cells_of,
    check_sentences,
    plan,
    shuffle_draws,
    token_counts,
)
from transformer_edu.data import train_pairs
from transformer_edu.data.token_budget import padding_waste
from transformer_edu.support.validation import check_choice, check_positive_integer

LIMITS = ("sentences", "tokens")
LARGEST = {"sentences": 16, "tokens": 8}  # a batch: so many sentences; so many times the longest sentence


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
    ) -> None:
        texts = check_sentences([english for english, _ in train_pairs(48)] if sentences is None else sentences)
        check_choice("order", order, ORDERS)
        check_choice("limit", limit, LIMITS)
        _check_size(size, limit, max(token_counts(texts)))
        check_positive_integer("seed", seed, minimum=0)
        check_index("epoch", epoch, EPOCHS)
        draws = shuffle_draws(seed, len(texts))
        super().__init__(sentences=texts, order=order, limit=limit, size=size, seed=seed, epoch=epoch, draws=draws)

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

    def _plan(self, order: str) -> Plan:
        return plan(token_counts(self.sentences), order, self.limit, self.size, seed=self.seed, epoch=self.epoch)


def _percent(lengths: Sequence[int], batches: Sequence[Sequence[int]]) -> str:
    return f"{100 * padding_waste([(length, length) for length in lengths], batches):.0f} %"


def _check_size(size: Any, limit: str, longest: int) -> None:
    low, high = (longest, LARGEST[limit] * longest) if limit == "tokens" else (1, LARGEST[limit])
    check_range(f"size, in {limit} (the longest sentence has {longest} tokens),", size, low, high)
