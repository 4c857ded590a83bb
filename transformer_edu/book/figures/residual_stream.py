"""The decoder's residual stream, read through the output layer after every sub-layer (the "logit lens")."""

from typing import ClassVar

import traitlets

from transformer_edu.book.figures.base import spoken
from transformer_edu.book.figures.inputs import check_index
from transformer_edu.book.figures.model_figure import ModelFigure
from transformer_edu.book.figures.residual_stream_data import stream, sublayers_of
from transformer_edu.book.figures.sentence_data import opening
from transformer_edu.data.examples import RUNNING_SENTENCE
from transformer_edu.data.vocabulary import Vocabulary
from transformer_edu.support.validation import check_choice
from transformer_edu.transformer import Transformer

SUBLAYERS = {"self": "self-attention", "cross": "cross-attention", "feed_forward": "feed-forward"}


class ResidualStream(ModelFigure):
    """Which word the model would write if it stopped after this sub-layer: every place, every word of a translation.

    Args:
        sentence: at most twelve words that the model knows.
        silent: a sub-layer of the decoder that adds nothing, as "decoder.1.cross"; "" for none.
        place: the chosen row, 0 is what enters the first layer; None is the one that brings most words.
        token: the chosen column, counts from 0; None is the first that the chosen row brings.
        model, vocabularies: a model of one's own with its two vocabularies, in place of the shipped one.

    Raises:
        TypeError, ValueError: the sentence has an unknown word, is empty or too long; a sub-layer has another name.
    """

    figure_name: ClassVar[str] = "residual-stream"

    sentence = traitlets.Unicode().tag(sync=True)
    silent = traitlets.Unicode().tag(sync=True)
    place = traitlets.Int().tag(sync=True)
    token = traitlets.Int().tag(sync=True)
    recorded = traitlets.Dict().tag(sync=True)
    line = traitlets.Dict().tag(sync=True)
    pre = traitlets.Bool().tag(sync=True)

    def __init__(
        self,
        sentence: str = RUNNING_SENTENCE,
        silent: str = "",
        place: int | None = None,
        token: int | None = None,
        *,
        model: Transformer | None = None,
        vocabularies: tuple[Vocabulary, Vocabulary] | None = None,
    ) -> None:
        opened = opening(sentence, model, vocabularies)
        check_choice("silent", silent, ("", *sublayers_of(opened.model)))
        recorded = stream(opened.model, opened.vocabularies, opened.words, silent)
        likeliest = [[some[0] for some in row] for row in recorded["best"]]
        written = recorded["written"]
        right = [[one[0] == word for one, word in zip(row, written, strict=True)] for row in likeliest]
        if place is None:
            place = max(range(1, len(right)), key=lambda i: sum(right[i]) - sum(right[i - 1]))
        row = check_index("place", place, len(right))
        if token is None:
            brought = [right[row][j] and not right[max(0, row - 1)][j] for j in range(len(written))]
            token = max(range(len(written)), key=lambda j: (brought[j], likeliest[row][j][1]))
        super().__init__(
            opened.content,
            opened.name,
            sentence=opened.sentence,
            silent=silent,
            place=row,
            token=check_index("token", token, len(written)),
            recorded=recorded,
            line=opened.line,
            pre=opened.model.config.norm == "pre",
        )

    def alt_text(self) -> str:
        """How many words are there at which place, and what stands at the chosen one."""
        recorded = self.recorded
        written = recorded["written"]
        right = [sum(some[0][0] == word for some, word in zip(row, written, strict=True)) for row in recorded["best"]]
        best = ", ".join(f"{spoken(word)} {p:.2f}" for word, p in recorded["best"][self.place][self.token])
        silent = f"Without {_in_words(self.silent)}. " if self.silent else ""
        return (
            f"A line to type an English sentence in: {self.sentence}. Below it a table with a column for each French "
            f"word and a row for each place on its way through the decoder. {silent}Of {len(written)} words, so many "
            f"would be written from place to place: {', '.join(map(str, right))}. After "
            f"{_in_words(recorded['places'][self.place])}, for {spoken(written[self.token])}: {best}."
        )


def _in_words(place: str) -> str:
    """ "decoder.1.cross" -> "layer 2's cross-attention"."""
    if place == "decoder.positional":
        return "word and position"
    _, layer, kind = place.replace("after_", "").split(".")
    return f"layer {int(layer) + 1}'s {SUBLAYERS[kind]}"
