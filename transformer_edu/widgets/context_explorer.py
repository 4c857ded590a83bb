"""One word in two sentences: the same embedding goes into the encoder, two vectors come out."""

import math
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import traitlets

from transformer_edu import recordings
from transformer_edu.widgets.base import Figure
from transformer_edu.widgets.context_explorer_data import check_vectors, record_vectors, shared_pairs, vector_at
from transformer_edu.widgets.inputs import check_index


class ContextExplorer(Figure):
    """A word's vector in two sentences, level by level: both vectors, their difference, cosine and distance.

    Without arguments: the shipped model on six sentences around the book's running sentence.

    Args:
        vectors: the vectors of a few sentences, as `record_vectors` makes them.
        first, second: which two sentences are compared, counts from 0; they may be the same.
        word: the word compared first; None is the one whose two vectors end up furthest apart in direction.
        pair: the word by its places in both sentences, [place in the first, place in the second], instead of `word`.
    """

    figure_name: ClassVar[str] = "context-explorer"

    vectors = traitlets.Dict().tag(sync=True)
    first = traitlets.Int().tag(sync=True)
    second = traitlets.Int().tag(sync=True)
    pair = traitlets.List(traitlets.Int()).tag(sync=True)

    def __init__(
        self,
        vectors: Mapping[str, Any] | None = None,
        *,
        first: int = 0,
        second: int = 1,
        word: str | None = None,
        pair: Sequence[int] | None = None,
    ) -> None:
        data = check_vectors(recordings.load("context-vectors")["data"] if vectors is None else vectors)
        first = check_index("first", first, len(data["sentences"]))
        second = check_index("second", second, len(data["sentences"]))
        words = (data["sentences"][first], data["sentences"][second])
        pairs = [one for one in shared_pairs(*words) if word is None or words[0][one[0]] == word]
        if not pairs:
            raise ValueError(
                f"word must be in both sentences, got {word!r}: {' '.join(words[0])!r}, {' '.join(words[1])!r}"
            )
        if pair is not None and (not isinstance(pair, Sequence) or list(pair) not in pairs):
            raise ValueError(f"pair must be one of {pairs}, where both sentences have one word, got {pair!r}")
        level = len(data["levels"]) - 1
        chosen = pair or min(pairs, key=lambda one: _compare(data, first, second, one, level)[0])
        super().__init__(vectors=data, first=first, second=second, pair=list(chosen))

    @classmethod
    def of_translator(cls, translator: Any, sentences: Sequence[str], **options: Any) -> "ContextExplorer":
        """A translator (as `pretrained.load_grammar` gives) on sentences of your own, recorded now."""
        return cls(record_vectors(translator, sentences), **options)

    def alt_text(self) -> str:
        """Which word of which sentences, and how alike its two vectors are at each level."""
        texts = [" ".join(self.vectors["sentences"][i]) for i in (self.first, self.second)]
        word = self.vectors["sentences"][self.first][self.pair[0]]
        levels = self.vectors["levels"]
        alike = [_compare(self.vectors, self.first, self.second, self.pair, level) for level in range(len(levels))]
        told = ", ".join(
            f"{name} {cosine:.3f} and {distance:.2f}" for name, (cosine, distance) in zip(levels, alike, strict=True)
        )
        return (
            f"The vectors of “{word}”, word {self.pair[0] + 1} of “{texts[0]}” and word {self.pair[1] + 1} of "
            f"“{texts[1]}”, level by level as two strips of numbers and their difference. Cosine and distance: {told}."
        )


def _compare(data: Mapping[str, Any], first: int, second: int, pair: Sequence[int], level: int) -> tuple[float, float]:
    """(cosine, distance) of a word's two vectors at one level."""
    one, other = vector_at(data, first, level, pair[0]), vector_at(data, second, level, pair[1])
    product = sum(p * q for p, q in zip(one, other, strict=True))
    return product / (math.hypot(*one) * math.hypot(*other)), math.dist(one, other)
