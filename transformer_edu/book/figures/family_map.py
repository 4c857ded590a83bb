"""Which mask makes which family: GPT, BERT, T5 and the prefix model on one sentence."""

from collections.abc import Sequence
from typing import ClassVar

import traitlets

from transformer_edu.book.figures.base import Figure
from transformer_edu.book.figures.family_map_data import FAMILIES, MOST, SENTENCE, pass_of
from transformer_edu.book.figures.inputs import check_index, check_words
from transformer_edu.support.validation import check_choice


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

    words = traitlets.List(traitlets.Unicode()).tag(sync=True)
    family = traitlets.Unicode().tag(sync=True)
    place = traitlets.Int().tag(sync=True)

    def __init__(self, family: str = "gpt", words: Sequence[str] = SENTENCE, place: int | None = None) -> None:
        check_choice("family", family, tuple(FAMILIES))
        words = check_words("words", words, 1, MOST)
        place = min(3, len(words) - 1) if place is None else check_index("place", place, len(words))
        super().__init__(family=family, words=words, place=place)

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
