"""Byte-pair encoding, one merge at a time."""

from collections import Counter
from typing import Any, ClassVar

import traitlets

from transformer_edu.book.figures import fields
from transformer_edu.book.figures.base import Figure
from transformer_edu.book.figures.inputs import check_text
from transformer_edu.data.byte_pairs import Pair, apply_merges, learn_merges

TEXT = "old cat older cats old cat older cats small cat smaller cats smallest cat old older smaller smaller"
NEW_WORD = "bolder"
MOST_CHARACTERS = 400
MOST_WORDS = 30
LONGEST_NEW_WORD = 40


class MergeStepper(Figure):
    """The words of a text, cut into symbols; at each step the commonest pair of neighbours becomes one symbol.

    `text` is at most 400 characters with at most 30 different words; a word written n times counts n times. `step` is
    the number of merges made (None: six, or as many as there are), `new_word` a word that is cut with these merges.
    The merges are those of `transformer_edu.data.byte_pairs.learn_merges`, and so of the tokenizers library.

    Sennrich et al. 2016, section 3.2, algorithm 1.
    """

    figure_name: ClassVar[str] = "merge-stepper"

    text = fields.field(traitlets.Unicode(), TEXT, lambda name, text, so: _checked(name, text))
    step = fields.whole(lambda so: min(6, len(_merges_of(so.text))), 0, lambda so: len(_merges_of(so.text)))
    new_word = fields.text(NEW_WORD, 0, LONGEST_NEW_WORD)

    def alt_text(self) -> str:
        """The merges made so far, how long the text is in symbols, and how the new word is cut."""
        words = self.text.split()
        merges = _merges_of(self.text)[: self.step]
        before, now = (sum(len(apply_merges(word, some)) for word in words) for some in ([], merges))
        made = ", ".join(left + right for left, right in merges) or "none"
        return (
            f"Byte-pair merges on {len(words)} words, {len(set(words))} of them different. Merges made so far: {made}. "
            f"The text takes {now} symbols; it took {before} as characters. "
            f"{self.new_word} is cut into {', '.join(self._cut(merges))}."
        )

    def _cut(self, merges: list[Pair]) -> list[str]:
        """The new word's symbols; a character that the text lacks is unknown."""
        known = {*self.text, *(left + right for left, right in merges), "·"}
        symbols = [symbol for word in self.new_word.split() for symbol in apply_merges(word, merges)]
        return [symbol if symbol in known else f"{symbol} (unknown)" for symbol in symbols] or ["nothing"]


def _merges_of(text: str) -> list[Pair]:
    """All merges of a text, until every word is one symbol."""
    return learn_merges(Counter(text.split()), len(text) + MOST_CHARACTERS)


def _checked(name: str, value: Any) -> str:
    text = check_text(name, value, 1, MOST_CHARACTERS)
    different = len(set(text.split()))
    if not 1 <= different <= MOST_WORDS:
        raise ValueError(f"{name} must have 1 to {MOST_WORDS} different words, got {different}: {text!r}")
    return text
