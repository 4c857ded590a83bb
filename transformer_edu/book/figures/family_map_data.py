"""What each family reads, may see and is asked for, on one sentence: one wall makes all masks."""

from dataclasses import dataclass

from transformer_edu.masks import causal_mask
from transformer_edu.support.shapes import Bool, Tensor

FAMILIES = {"gpt": "GPT", "bert": "BERT", "t5": "T5", "prefix": "prefix"}
MOST = 10  # words
GAP = 2  # words of T5's gap, if there are so many
SENTENCE = ("the", "small", "black", "cat", "does", "not", "sleep")


@dataclass(frozen=True)
class Pass:
    """One pass of a family over a sentence.

    Args:
        inputs: what is read; "start", "[mask]", "[X]" and "end" are marks.
        targets: what each place is asked for, or None.
        mask: True where the row's place may see the column's.
        asked: the row that is asked for the chosen word.
    """

    inputs: list[str]
    targets: list[str | None]
    mask: Bool[Tensor, "seq seq"]
    asked: int


def pass_of(words: list[str], family: str, place: int) -> Pass:
    """The pass in which the word at `place` is hidden (BERT), or begins what is written."""
    count = len(words)
    if family == "bert":
        hidden = [word if at == place else None for at, word in enumerate(words)]
        return Pass([*words[:place], "[mask]", *words[place + 1 :]], list(hidden), walled(count, count), place)
    if family == "t5":
        source = [*words[:place], "[X]", *words[place + GAP :]]
        answer = ["[X]", *words[place : place + GAP], "end"]
        inputs, targets = [*source, "start", *answer[:-1]], [*[None] * len(source), *answer]
        return Pass(inputs, targets, walled(len(inputs), len(source)), len(source) + 1)
    wall = place + 1 if family == "prefix" else 1
    asked = [word if at >= wall - 1 else None for at, word in enumerate(words)]
    return Pass(["start", *words[:-1]], list(asked), walled(count, wall), place)


def walled(size: int, wall: int) -> Bool[Tensor, "seq seq"]:
    """The first `wall` places see each other, the others what came before them."""
    mask = causal_mask(size)
    mask[:wall, :wall] = True
    return mask
