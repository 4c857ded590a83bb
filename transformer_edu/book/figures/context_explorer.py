"""One word in two sentences: the same embedding goes into the encoder, two vectors come out."""

from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any, ClassVar

import torch
import traitlets
from torch import Tensor
from torch.nn.functional import cosine_similarity

from transformer_edu.book.figures.inputs import check_index, check_sentence, check_words
from transformer_edu.book.figures.model_figure import ModelFigure
from transformer_edu.book.figures.sentence_data import MOST, Opening, opening, translate
from transformer_edu.data.examples import RUNNING_SENTENCE
from transformer_edu.data.vocabulary import Vocabulary
from transformer_edu.inspect.record import record_activations
from transformer_edu.transformer import Transformer

UNIT = 1e-4  # all vectors are whole multiples of it
SENTENCES = (  # the running sentence, then: gender, nothing of the kind, number, one place to the left, in the object
    RUNNING_SENTENCE,
    "the small black cow does not sleep",
    "the small black dog does not sleep",
    "the small black cats do not sleep",
    "the black cat does not sleep",
    "the cow watches the small black cat",
)


def levels_of(model: Transformer) -> list[list[str]]:
    """How far a vector has come: [name of the activation, name for a reader], from the embedding to the end."""
    layers = [[f"encoder.{i}.after_feed_forward", f"layer {i + 1}"] for i in range(model.config.num_layers)]
    final = [["encoder.output", "final norm"]] if model.config.has_final_norm else []
    return [["encoder.embedding", "embedding"], ["encoder.positional", "+ position"], *layers, *final]


@torch.no_grad()
def vectors_of(opened: Opening, words: Sequence[str]) -> Tensor:
    """Each word's vector at every level: (levels, seq, d_model)."""
    source = torch.tensor([opened.vocabularies[0].encode(list(words))])
    with record_activations(opened.model) as activations:
        opened.model.encode(source)
    return torch.stack([activations[name][0] for name, _ in levels_of(opened.model)])


def translation_of(opened: Opening, words: Sequence[str]) -> str:
    """What the model makes of a sentence."""
    _, ids = translate(opened.model, opened.vocabularies, words)
    return opened.vocabularies[1].decode(ids[0].tolist())


def shared_pairs(first: Sequence[str], second: Sequence[str]) -> list[list[int]]:
    """Places (in the first sentence, in the second) of every word that both have; none with itself."""
    same = list(first) == list(second)
    return [
        [i, j]
        for i, word in enumerate(first)
        for j, other in enumerate(second)
        if word == other and not (same and i == j)
    ]


def readings_of(opened: Opening, sentences: Sequence[Sequence[str]], word: str) -> list[dict[str, Any]]:
    """For each sentence its translation, and this word's `vectors` there: [place, [level][number in UNITs]]."""
    readings = []
    for words in sentences:
        levels = vectors_of(opened, words)
        places = [place for place, other in enumerate(words) if other == word]
        vectors = [[place, (levels[:, place].double() / UNIT).round().long().tolist()] for place in places]
        readings.append({"translation": translation_of(opened, words), "vectors": vectors})
    return readings


class ContextExplorer(ModelFigure):
    """A word's vectors in a sentence and in one that the reader types, level by level; cosine and distance of the two.

    Without arguments: the shipped model on the book's running sentence and five others around it.

    Args:
        sentence: the first sentence, of at most twelve words that the model knows.
        other: the second, which the reader can change.
        also: more sentences, to choose as the second; the plane is that in which the word differs most in all of them.
        word: the word compared first; None is the one whose two vectors end up furthest apart in direction.
        pair: the word by its places in both sentences, [place in the first, place in the second], instead of `word`.
        level: how far through the encoder, a count from 0; None is the end.
        model, vocabularies: a model of one's own with its two vocabularies, in place of the shipped one.
    """

    figure_name: ClassVar[str] = "context-explorer"

    sentence = traitlets.Unicode().tag(sync=True)
    other = traitlets.Unicode().tag(sync=True)
    also = traitlets.List(traitlets.Unicode()).tag(sync=True)
    pair = traitlets.List(traitlets.Int()).tag(sync=True)
    level = traitlets.Int().tag(sync=True)
    levels = traitlets.List(traitlets.List()).tag(sync=True)
    readings = traitlets.List(traitlets.Dict()).tag(sync=True)
    unit = traitlets.Float(UNIT).tag(sync=True)
    line = traitlets.Dict().tag(sync=True)

    def __init__(
        self,
        sentence: str = SENTENCES[0],
        other: str = SENTENCES[1],
        also: Sequence[str] = SENTENCES[2:],
        *,
        word: str | None = None,
        pair: Sequence[int] | None = None,
        level: int | None = None,
        model: Transformer | None = None,
        vocabularies: tuple[Vocabulary, Vocabulary] | None = None,
    ) -> None:
        opened = opening(sentence, model, vocabularies)
        given = {"other": [other], "also": check_words("also", also, 0, 8)}
        second, *more = (
            check_sentence(name, text, opened.vocabularies[0], MOST) for name, texts in given.items() for text in texts
        )
        pairs = [both for both in shared_pairs(opened.words, second) if word is None or opened.words[both[0]] == word]
        if not pairs:
            raise ValueError(f"word must be in both sentences, got {word!r}: {opened.sentence!r}, {other!r}")
        if pair is not None and (not isinstance(pair, Sequence) or list(pair) not in pairs):
            raise ValueError(f"pair must be one of {pairs}, where both sentences have one word, got {pair!r}")
        levels = levels_of(opened.model)
        vectors = vectors_of(opened, opened.words), vectors_of(opened, second)
        chosen = list(pair or min(pairs, key=lambda both: _cosines(vectors, both)[-1]))
        self._alike = _cosines(vectors, chosen)
        so = SimpleNamespace(
            content=opened.content,
            name=opened.name,
            sentence=opened.sentence,
            other=" ".join(second),
            also=[" ".join(words) for words in more],
            pair=chosen,
            level=len(levels) - 1 if level is None else check_index("level", level, len(levels)),
            levels=levels,
            readings=readings_of(opened, [opened.words, second, *more], opened.words[chosen[0]]),
            line=opened.line,
        )
        self._opened(so)

    def alt_text(self) -> str:
        """Which word of which sentences, and how alike its two vectors are at each level."""
        word = self.sentence.split()[self.pair[0]]
        names = [name for _, name in self.levels]
        told = ", ".join(f"{name} {cosine:.3f}" for name, cosine in zip(names, self._alike, strict=True))
        return (
            f"The vectors of “{word}” in all sentences, as points in a plane, at the level {names[self.level]}. "
            f"Marked are word {self.pair[0] + 1} of “{self.sentence}” and word {self.pair[1] + 1} of “{self.other}”, "
            f"a line that can be changed; both start as one point. Their cosine: {told}."
        )


def _cosines(vectors: tuple[Tensor, Tensor], pair: Sequence[int]) -> list[float]:
    """Likeness of a word's two vectors at each level; `vectors` of both sentences, (levels, seq, d_model)."""
    one, other = (of[:, place] for of, place in zip(vectors, pair, strict=True))
    return [float(cosine) for cosine in cosine_similarity(one, other)]
