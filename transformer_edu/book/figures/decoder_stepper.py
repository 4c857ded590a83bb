"""A decoder at work, one word at a time: where its newest position looks, and which words may come next."""

from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any, ClassVar

import torch
import traitlets

from transformer_edu.book.figures.base import spoken
from transformer_edu.book.figures.fields import field, index, made, switch
from transformer_edu.book.figures.inputs import check_words
from transformer_edu.book.figures.sentence_data import Opening, SentenceFigure, sentence_field
from transformer_edu.data.vocabulary import BOS_ID, EOS_ID, PAD_ID, SPECIALS
from transformer_edu.inspect.changes import changed
from transformer_edu.inspect.record import record_attention
from transformer_edu.support.shapes import Tensor

DEFAULT_WORDS = 3  # written at the start, so that there is something to look back at
DIGITS = 5  # after the point
LIKELY = 5  # next words that are offered
SHOWN_DIMENSIONS = 4  # of an output vector
MAX_INPUT = 16  # tokens of the decoder's input, the begin token counted
KINDS = ("self", "cross")
END = "<eos>"


@torch.no_grad()
def decoder_steps(opening: Opening, path: list[str], masked: bool = True) -> dict[str, Any]:
    """The steps on the way of `path` and, from there on, of the model's own words up to the end token.

    A step is one input of the decoder: the begin token and some words.

    Returns:
        `source`: the words read. `masked`: as given. `written`: the words of the path and those that follow it.
        `steps`, one before each written word: `self` and `cross` (for each layer the newest position's weights, mean of
        the heads), `outputs` (for each position the first four numbers of its output vector), `moved` (for each
        position but the newest: how far the newest word has moved any number of its output), `next` (likeliest words:
        [word, probability]), `taken` (of the word that was written: probability, and its place among all that may be
        written).
    """
    model, (english, french) = opening.model, opening.vocabularies
    source = torch.tensor([english.encode(opening.words)])
    memory = model.encode(source)
    ids, before = [BOS_ID], None
    steps: list[dict[str, Any]] = []
    forced = [EOS_ID if word == END else french.encode([word])[0] for word in path]
    with changed(model, unmasked=not masked), record_attention(model) as maps:
        while ids[-1] != EOS_ID and len(ids) <= min(MAX_INPUT, model.config.max_len):
            output = model.decode(torch.tensor([ids]), memory, source)  # (1, seq, d_model)
            chances = model.project(output[:, -1:])[0, 0].softmax(dim=-1)  # (vocab,)
            chances[[PAD_ID, BOS_ID]] = -1.0  # never written
            likely = chances.argsort(descending=True).tolist()
            word = forced[len(ids) - 1] if len(ids) <= len(forced) else likely[0]
            layers = range(model.config.num_layers)
            step: dict[str, Any] = {
                kind: [_rounded(maps[f"decoder.{i}.{kind}"][0, :, -1].mean(dim=0)) for i in layers] for kind in KINDS
            }
            step["outputs"] = [_rounded(row) for row in output[0, :, :SHOWN_DIMENSIONS]]
            step["moved"] = [] if before is None else _rounded((output[0, :-1] - before).abs().amax(dim=1), 6)
            step["next"] = [[french.word(token), round(chances[token].item(), DIGITS)] for token in likely[:LIKELY]]
            step["taken"] = [round(chances[word].item(), DIGITS), likely.index(word) + 1]
            steps.append(step)
            before = output[0]
            ids.append(word)
    return {
        "source": opening.words,
        "masked": masked,
        "written": [french.word(token) for token in ids[1:]],
        "steps": steps,
    }


def _rounded(values: Tensor, digits: int = DIGITS) -> list[float]:
    return [round(value, digits) for value in values.tolist()]


def _path(name: str, path: str | Sequence[str] | None, so: SimpleNamespace) -> list[str] | None:
    """Words that the model can write, the end token at most as the last; None is for `_steps` to fill."""
    if path is None:
        return None
    written = check_words(name, path.split() if isinstance(path, str) else path, 0, so.most - 1)
    unknown = [odd for at, odd in enumerate(written) if odd not in so.words and (odd, at) != (END, len(written) - 1)]
    if unknown:
        raise ValueError(f"{name} must consist of words that the model can write, got {unknown} in {written}")
    return written


def _steps(so: SimpleNamespace) -> dict[str, Any]:
    """The steps on the way of the path; if none is given, it is how the model begins by itself."""
    steps = decoder_steps(so.opened, so.path or [], so.masked)
    so.path = steps["written"][:DEFAULT_WORDS] if so.path is None else so.path
    return steps


class DecoderStepper(SentenceFigure):
    """The decoder writes a translation word by word; the reader lets it, or writes another word and sees what follows.

    Args:
        sentence: at most twelve words that the model knows.
        path: the words written at the start: a text or a list. None is the model's own first three words.
        layer: whose attention is shown first, counts from 0; None is the last.
        masked: whether the decoder has its causal mask.
        model, vocabularies: as of every `SentenceFigure`.

    Raises:
        TypeError, ValueError: the sentence or the path has an unknown word, is empty or too long.
    """

    figure_name: ClassVar[str] = "decoder-stepper"

    sentence = sentence_field()
    words = made(traitlets.List(traitlets.Unicode()), lambda so: list(so.opened.vocabularies[1].words[len(SPECIALS) :]))
    most = made(traitlets.Int(), lambda so: min(MAX_INPUT, so.opened.model.config.max_len))
    size = made(traitlets.Int(), lambda so: so.opened.model.config.d_model)
    path = field(traitlets.List(traitlets.Unicode()), None, _path)
    layer = index(lambda so: so.opened.model.config.num_layers - 1, lambda so: so.opened.model.config.num_layers)
    masked = switch(True)
    recorded = made(traitlets.Dict(), _steps)

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


def _strongest(words: Sequence[str], weights: Sequence[float]) -> str:
    """The word looked at most, and its weight."""
    best = max(range(len(weights)), key=lambda i: weights[i])
    return f"{words[best]} {weights[best]:.2f}"
