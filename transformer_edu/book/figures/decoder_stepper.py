"""A decoder at work, one word at a time: where its newest position looks, and which words may come next."""

from collections.abc import Sequence
from typing import ClassVar

import traitlets

from transformer_edu.book.figures.base import spoken
from transformer_edu.book.figures.decoder_stepper_data import END, MAX_INPUT, decoder_steps
from transformer_edu.book.figures.inputs import check_index, check_words
from transformer_edu.book.figures.model_figure import ModelFigure
from transformer_edu.book.figures.sentence_data import opening
from transformer_edu.data.examples import RUNNING_SENTENCE
from transformer_edu.data.vocabulary import SPECIALS, Vocabulary
from transformer_edu.support.validation import check_boolean
from transformer_edu.transformer import Transformer

DEFAULT_WORDS = 3  # written at the start, so that there is something to look back at


class DecoderStepper(ModelFigure):
    """The decoder writes a translation word by word; the reader lets it, or writes another word and sees what follows.

    Args:
        sentence: at most twelve words that the model knows.
        path: the words written at the start: a text or a list. None is the model's own first three words.
        layer: whose attention is shown first, counts from 0; None is the last.
        masked: whether the decoder has its causal mask.
        model, vocabularies: a model of one's own with its two vocabularies, in place of the shipped one.

    Raises:
        TypeError, ValueError: the sentence or the path has an unknown word, is empty or too long.
    """

    figure_name: ClassVar[str] = "decoder-stepper"

    sentence = traitlets.Unicode().tag(sync=True)
    path = traitlets.List(traitlets.Unicode()).tag(sync=True)
    layer = traitlets.Int().tag(sync=True)
    masked = traitlets.Bool().tag(sync=True)
    recorded = traitlets.Dict().tag(sync=True)
    line = traitlets.Dict().tag(sync=True)
    words = traitlets.List(traitlets.Unicode()).tag(sync=True)
    most = traitlets.Int().tag(sync=True)
    size = traitlets.Int().tag(sync=True)

    def __init__(
        self,
        sentence: str = RUNNING_SENTENCE,
        path: str | Sequence[str] | None = None,
        layer: int | None = None,
        masked: bool = True,
        *,
        model: Transformer | None = None,
        vocabularies: tuple[Vocabulary, Vocabulary] | None = None,
    ) -> None:
        check_boolean("masked", masked)
        opened = opening(sentence, model, vocabularies)
        layers = opened.model.config.num_layers
        most = min(MAX_INPUT, opened.model.config.max_len)
        known = opened.vocabularies[1].words[len(SPECIALS) :]
        written = [] if path is None else check_path(path, known, most - 1)
        steps = decoder_steps(opened, written, masked)
        super().__init__(
            opened.content,
            opened.name,
            sentence=opened.sentence,
            path=steps["written"][:DEFAULT_WORDS] if path is None else written,
            layer=layers - 1 if layer is None else check_index("layer", layer, layers),
            masked=masked,
            recorded=steps,
            line=opened.line,
            words=list(known),
            most=most,
            size=opened.model.config.d_model,
        )

    def alt_text(self) -> str:
        """What has been written, where the newest position looks, and the likeliest next words."""
        source = self.recorded["source"]
        start = f"Decoding step by step. The model reads “{' '.join(source)}”"
        if self.path and self.path[-1] == END:
            return f"{start} and has written “{' '.join(self.path[:-1])}” and the end token."
        step = self.recorded["steps"][len(self.path)]
        read = [spoken("<bos>"), *self.path]
        likely = ", ".join(f"{spoken(word)} {p:.3f}" for word, p in step["next"])
        without = "" if self.masked else "Without the causal mask. "
        return (
            f"{start} and has written {'“' + ' '.join(self.path) + '”' if self.path else 'nothing yet'}. {without}In "
            f"layer {self.layer + 1} the newest position, {read[-1]}, looks back most at "
            f"{_strongest(read, step['self'][self.layer])} and at the English word "
            f"{_strongest(source, step['cross'][self.layer])}. Likeliest next words: {likely}."
        )


def check_path(path: str | Sequence[str], known: Sequence[str], most: int) -> list[str]:
    """At most so many words that the model can write; the end token may be the last of them."""
    written = check_words("path", path.split() if isinstance(path, str) else path, 0, most)
    unknown = [word for at, word in enumerate(written) if word not in known and (word, at) != (END, len(written) - 1)]
    if unknown:
        raise ValueError(f"path must consist of words that the model can write, got {unknown} in {written}")
    return written


def _strongest(words: Sequence[str], weights: Sequence[float]) -> str:
    """The word looked at most, and its weight."""
    best = max(range(len(weights)), key=lambda i: weights[i])
    return f"{words[best]} {weights[best]:.2f}"
