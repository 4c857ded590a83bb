"""Which mask makes which family: GPT, BERT, T5 and the prefix model on one sentence."""

from dataclasses import dataclass
from typing import ClassVar

from transformer_edu.book.figures.base import Figure
from transformer_edu.book.figures.fields import choice, index, words
from transformer_edu.masks import causal_mask
from transformer_edu.support.shapes import Bool, Tensor

FAMILIES = {"gpt": "GPT", "bert": "BERT", "t5": "T5", "prefix": "prefix"}
MOST = 10  # words
GAP = 2  # words of T5's gap, if there are so many
SENTENCE = ("the", "small", "black", "cat", "does", "not", "sleep")


class FamilyMap(Figure):
    """Who sees whom, what is read and what is asked for, as each family is trained on one sentence.

    Args:
        family: "gpt", "bert", "t5" or "prefix" (a language model in one stack, whose first words see each other).
        words: the sentence, 1 to 10 words.
        place: the word, from 0, that BERT hides, T5 takes out together with the next, or a GPT or a prefix model
            begins to write at. None: the fourth, or the last of fewer.

    Radford et al. 2019; Devlin et al. 2019; Raffel et al. 2020, section 3.2.1.
    """

    figure_name: ClassVar[str] = "family-map"

    family = choice("gpt", FAMILIES)
    words = words(SENTENCE, 1, MOST)
    place = index(lambda so: min(3, len(so.words) - 1), lambda so: len(so.words))

    def alt_text(self) -> str:
        """The family, what the chosen word's row sees, how many pairs are seen and places trained."""
        found = pass_of(self.words, self.family, self.place)
        seen = [word for word, may in zip(found.inputs, found.mask[found.asked].tolist(), strict=True) if may]
        trained = sum(target is not None for target in found.targets)
        return (
            f"Family map, {FAMILIES[self.family]}, on: {' '.join(self.words)}. It reads {' '.join(found.inputs)}. The "
            f"place that is asked for {self.words[self.place]} sees {', '.join(seen)}. {int(found.mask.sum())} of "
            f"{found.mask.numel()} pairs can be seen, and {trained} of {len(found.inputs)} places are trained."
        )


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
