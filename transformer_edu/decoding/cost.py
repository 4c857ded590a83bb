"""How much a decoder computes to write a sentence, with the key-value cache and without it.

Each step is one forward pass that reads the begin token and the words so far, and writes one more. "Without" means
`model.decode` on the whole prefix at every step. The two ways write the same sentence.

>>> decoding_cost(8, 7, cached=True).projected_rows, decoding_cost(8, 7, cached=False).projected_rows
(46, 256)
"""

from dataclasses import dataclass

from transformer_edu.support.arguments import check_sizes
from transformer_edu.support.validation import check_boolean

TARGET_PROJECTIONS = 4  # W_Q, W_K, W_V of self-attention and W_Q of cross-attention work on the decoder's own rows
MEMORY_PROJECTIONS = 2  # W_K and W_V of cross-attention work on the memory's rows


@dataclass(frozen=True)
class DecodingCost:
    """What one decoder layer does for one sentence (a batch of 1).

    target_rows: rows that go through each of the four projections of the decoder's own vectors.
    memory_rows: rows that go through each of the two projections of the memory.
    self_scores, cross_scores: dot products of a query and a key in each head; blocked ones are computed too.
    """

    target_rows: int
    memory_rows: int
    self_scores: int
    cross_scores: int

    @property
    def projected_rows(self) -> int:
        """Rows through all six projections in front of the two attentions (their W_O is not counted)."""
        return TARGET_PROJECTIONS * self.target_rows + MEMORY_PROJECTIONS * self.memory_rows

    @property
    def scores(self) -> int:
        """Scores of both attentions, in each head."""
        return self.self_scores + self.cross_scores


def step_cost(step: int, source_length: int, cached: bool) -> DecodingCost:
    """What step `step` alone computes, which reads `step` tokens (the begin token counted) and writes one more.

    Args:
        step: counts from 1.
        source_length: words of the source, which are the rows of the memory.
        cached: keys and values are kept, and only the newest token goes in; otherwise all `step` tokens go in.

    >>> step_cost(5, 7, cached=True)
    DecodingCost(target_rows=1, memory_rows=0, self_scores=5, cross_scores=7)
    >>> step_cost(5, 7, cached=False)
    DecodingCost(target_rows=5, memory_rows=7, self_scores=25, cross_scores=35)
    """
    check_sizes(step=step, source_length=source_length)
    check_boolean("cached", cached)
    rows = 1 if cached else step
    memory_rows = source_length if step == 1 or not cached else 0
    return DecodingCost(rows, memory_rows, rows * step, rows * source_length)


def decoding_cost(length: int, source_length: int, cached: bool) -> DecodingCost:
    """What steps 1 to `length` compute together, in closed form; arguments as in `step_cost`.

    With the cache the rows are `length`, without it 1 + 2 + … + length = length (length + 1) / 2.
    """
    check_sizes(length=length, source_length=source_length)
    check_boolean("cached", cached)
    triangle = length * (length + 1) // 2
    if cached:
        return DecodingCost(length, source_length, triangle, length * source_length)
    squares = triangle * (2 * length + 1) // 3  # 1² + 2² + … + length²
    return DecodingCost(triangle, length * source_length, squares, triangle * source_length)


def cache_size(length: int, source_length: int, d_model: int, num_layers: int) -> int:
    """How many numbers a `DecoderCache` holds after `length` steps of one sentence: keys and values of every layer.

    >>> cache_size(8, 7, d_model=64, num_layers=2)
    3840
    """
    check_sizes(length=length, source_length=source_length, d_model=d_model, num_layers=num_layers)
    return 2 * num_layers * (length + source_length) * d_model
