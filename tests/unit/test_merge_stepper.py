"""The merge stepper's Python side: its default state and its alt text."""

from transformer_edu.book.figures.merge_stepper import TEXT

EXAMPLE = {"text": "low low lower", "step": 2, "new_word": "slow"}
BAD = [
    (ValueError, "text must have 1 to 30 different words, got 0", {"text": "   "}),
    (ValueError, "text must have 1 to 30 different words, got 31", {"text": " ".join(map(str, range(31)))}),
    (ValueError, "step must be from 0 to 2, got 3", {"text": "ab", "step": 3}),
]
SAYS = [
    ({}, "18 words, 7 of them different", "at, cat, er, ld, old, er·.", "bolder is cut into b (unknown), old, er·."),
    ({}, f"it took {sum(len(word) + 1 for word in TEXT.split())} as characters"),
    ({"text": "low lower", "step": 0, "new_word": ""}, "Merges made so far: none"),
    ({"text": "ab ab"}, "Merges made so far: ab, ab·."),
]
