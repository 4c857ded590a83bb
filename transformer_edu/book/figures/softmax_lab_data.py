"""What a softmax lab shows: rows of attention scores."""

from typing import Any

from transformer_edu.book.figures.inputs import check_numbers

MAX_KEYS = 8
MAX_SCORE = 100.0
# torch.randn(6, 6, generator=torch.Generator().manual_seed(43263)), rounded to one decimal. The seed was looked for:
# in the first draw the winner leads by 0.6, as is common; in the third the first two are almost tied.
DRAWS = (
    (-0.3, 1.4, -1.5, 0.1, 0.8, 0.5),
    (-0.1, 0.9, -0.2, -0.8, -0.2, -1.4),
    (-2.0, 1.0, 0.3, -0.8, 0.9, -0.1),
    (-1.2, -2.2, -0.5, -1.1, 1.6, 0.7),
    (-1.5, -0.5, 0.8, -0.3, -0.2, 0.2),
    (-0.3, 1.9, 0.3, 0.6, -0.1, -0.7),
)


def check_scores(value: Any) -> list[float]:
    """One score for each of 2 to 8 keys."""
    numbers: list[float] = check_numbers("scores", value, 1, "a list of numbers")
    if not 2 <= len(numbers) <= MAX_KEYS:
        raise ValueError(f"scores must be 2 to {MAX_KEYS} numbers, got {len(numbers)}: {value!r}")
    if not all(abs(number) <= MAX_SCORE for number in numbers):
        raise ValueError(f"scores must be finite, from -{MAX_SCORE:g} to {MAX_SCORE:g}, got {value!r}")
    return numbers


def draws_of_length(scores: list[float]) -> list[list[float]]:
    """The six draws, as long as the scores; of longer scores there is no other draw."""
    if len(scores) > len(DRAWS[0]):
        return [scores]
    return [list(draw[: len(scores)]) for draw in DRAWS]
