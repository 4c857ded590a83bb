"""The merge stepper's Python side: its default state and its alt text."""

from collections import Counter

from transformer_edu.data.byte_pairs import learn_merges
from transformer_edu.widgets.merge_stepper import TEXT

EXAMPLE = {"text": "low low lower", "step": 2, "new_word": "slow"}
BAD = [
    (ValueError, "text must have 1 to 400 characters, got 401", {"text": "a" * 401}),
    (ValueError, "text must have 1 to 30 different words, got 0", {"text": "   "}),
    (ValueError, "text must have 1 to 30 different words, got 31", {"text": " ".join(map(str, range(31)))}),
    (ValueError, "step must be from 0 to 2, got 3", {"text": "ab", "step": 3}),
    (ValueError, "new_word must have 0 to 40 characters, got 41", {"new_word": "a" * 41}),
]
SAYS = [
    ({}, "18 words, 7 of them different", "at, cat, er, ld, old, er·.", "bolder is cut into b (unknown), old, er·."),
    ({}, f"it took {sum(len(word) + 1 for word in TEXT.split())} as characters"),
    ({"text": "low lower", "step": 0, "new_word": ""}, "Merges made so far: none"),
    ({"text": "ab ab"}, "Merges made so far: ab, ab·."),
]


def test_the_default_text_teaches_within_six_merges_and_begins_with_a_tie() -> None:
    counts = Counter(TEXT.split())
    assert ["".join(pair) for pair in learn_merges(counts, 6)] == ["at", "cat", "er", "ld", "old", "er·"]
    assert sum(counts[word] * (pair in word) for word in counts for pair in ("at",)) == 7
    assert sum(counts[word] * (pair in word) for word in counts for pair in ("ca",)) == 7
    assert "bolder" not in counts
