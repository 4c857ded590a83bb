"""The decoder's residual stream, read through the output layer after every sub-layer (the "logit lens")."""

from typing import Any, ClassVar

import torch
import traitlets

from transformer_edu.book.figures.base import spoken
from transformer_edu.book.figures.fields import choice, index, made
from transformer_edu.book.figures.sentence_data import SentenceFigure, sentence_field, translate
from transformer_edu.data.vocabulary import Vocabulary
from transformer_edu.inspect.changes import RESIDUALS, Changes, changed
from transformer_edu.inspect.lens import stream_logits
from transformer_edu.inspect.record import record_activations
from transformer_edu.normalization import LayerNorm
from transformer_edu.support.shapes import Float, Tensor
from transformer_edu.transformer import Transformer

WRITTEN = 12  # words of the model's translation that are drawn
BEST = 5  # words that are told of each place
DECIMALS = 4
Stream = Float[Tensor, "tgt d_model"]
SUBLAYERS = {"self": "self-attention", "cross": "cross-attention", "feed_forward": "feed-forward"}


def sublayers_of(model: Transformer) -> list[str]:
    """The decoder's sub-layers in the order of computation: "decoder.0.self", "decoder.0.cross", ..."""
    return [f"decoder.{i}.{kind}" for i in range(model.config.num_layers) for kind in RESIDUALS]


@torch.no_grad()
def stream(
    model: Transformer, vocabularies: tuple[Vocabulary, Vocabulary], words: list[str], silent: str = ""
) -> dict[str, Any]:
    """What stands in the decoder's residual stream, place by place, while the model writes its own translation.

    Args:
        model, vocabularies: of words.
        words: the sentence.
        silent: a sub-layer that adds nothing; "" for none. The model is given the words that it wrote with it.

    Returns:
        `places`: "decoder.positional", "decoder.0.after_self", ... For each place and each
        written word: `best`, the five likeliest words and their probabilities if the output layer read here; `whole`,
        the likeliest word with no sub-layer silent; `wrote`, ‖written‖ / ‖what stood there‖; `kept`, by what the norm
        after the addition multiplies the length of what stood there; `left`, the same for what stood there first,
        through all norms up to here.
    """
    source, ids = translate(model, vocabularies, words, WRITTEN)
    whole = stream_logits(model, source, ids[:, :-1])
    with changed(model, Changes(silent=(silent,) if silent else ())):
        logits = stream_logits(model, source, ids[:, :-1])
        with record_activations(model) as seen:
            model(source, ids[:, :-1])
    french = vocabularies[1]
    best = [scores[0].softmax(dim=-1).topk(min(BEST, len(french))) for scores in logits.values()]
    measured = _measured(model, {name: x[0] for name, x in seen.items()}, list(logits))
    return {
        "source": words,
        "silent": silent,
        "written": [french.word(index) for index in ids[0, 1:].tolist()],
        "places": list(logits),
        "best": [
            [
                [[french.word(index), round(p, DECIMALS)] for p, index in zip(some, at, strict=True)]
                for some, at in zip(top.values.tolist(), top.indices.tolist(), strict=True)
            ]
            for top in best
        ],
        "whole": [[french.word(index) for index in scores[0].argmax(dim=-1).tolist()] for scores in whole.values()],
        **{key: [[round(share, DECIMALS) for share in row.tolist()] for row in rows] for key, rows in measured.items()},
    }


def _measured(model: Transformer, seen: dict[str, Stream], places: list[str]) -> dict[str, list[Tensor]]:
    """At each place, of each word: `wrote`, `kept` and `left`, as `stream` tells them."""
    x = first = left = seen[places[0]]
    ones = torch.ones(len(x))
    found = {"wrote": [0 * ones], "kept": [ones], "left": [ones]}
    for place in places[1:]:
        name = place.replace("after_", "")
        _, layer, kind = name.split(".")
        residual = getattr(model.decoder.layers[int(layer)], RESIDUALS[kind])
        written = seen.get(name, torch.zeros_like(x))
        kept = x if residual.pre else _rescaled(x, x + written, residual.norm)
        left = left if residual.pre else _rescaled(left, x + written, residual.norm)
        for key, part, whole in (("wrote", written, x), ("kept", kept, x), ("left", left, first)):
            found[key].append(part.norm(dim=-1) / whole.norm(dim=-1))
        x = seen[place]
    return found


def _rescaled(part: Stream, whole: Stream, norm: LayerNorm) -> Stream:
    """What the norm of `whole` makes of one of its summands: γ · (part − its mean) / the deviation of the whole."""
    deviation = (whole.var(dim=-1, correction=0, keepdim=True) + norm.eps).sqrt()
    return norm.weight * (part - part.mean(dim=-1, keepdim=True)) / deviation


class ResidualStream(SentenceFigure):
    """Which word the model would write if it stopped after this sub-layer: every place, every word of a translation.

    Args:
        sentence: at most twelve words that the model knows.
        silent: a sub-layer of the decoder that adds nothing, as "decoder.1.cross"; "" for none.
        place: the chosen row, 0 is what enters the first layer; None is the one that brings most words.
        token: the chosen column, counts from 0; None is the first that the chosen row brings.
        model, vocabularies: as of every `SentenceFigure`.

    Raises:
        TypeError, ValueError: the sentence has an unknown word, is empty or too long; a sub-layer has another name.
    """

    figure_name: ClassVar[str] = "residual-stream"

    sentence = sentence_field()
    silent = choice("", lambda so: ("", *sublayers_of(so.opened.model)))
    recorded = made(
        traitlets.Dict(), lambda so: stream(so.opened.model, so.opened.vocabularies, so.opened.words, so.silent)
    )
    place = index(lambda so: _richest(so.recorded), lambda so: len(so.recorded["best"]))
    token = index(lambda so: _brought(so.recorded, so.place), lambda so: len(so.recorded["written"]))
    pre = made(traitlets.Bool(), lambda so: so.opened.model.config.norm == "pre")

    def alt_text(self) -> str:
        """How many words are there at which place, and what stands at the chosen one."""
        recorded = self.recorded
        written, right = recorded["written"], [sum(row) for row in _right(recorded)]
        best = ", ".join(f"{spoken(word)} {p:.2f}" for word, p in recorded["best"][self.place][self.token])
        silent = f"Without {_in_words(self.silent)}. " if self.silent else ""
        return (
            f"A line to type an English sentence in: {self.sentence}. Below it a table with a column for each French "
            f"word and a row for each place on its way through the decoder. {silent}Of {len(written)} words, so many "
            f"would be written from place to place: {', '.join(map(str, right))}. After "
            f"{_in_words(recorded['places'][self.place])}, for {spoken(written[self.token])}: {best}."
        )


def _right(recorded: dict[str, Any]) -> list[list[bool]]:
    """Whether each word would be written, from place to place."""
    return [[some[0][0] == word for some, word in zip(r, recorded["written"], strict=True)] for r in recorded["best"]]


def _richest(recorded: dict[str, Any]) -> int:
    """The place that brings most words."""
    right = _right(recorded)
    return max(range(1, len(right)), key=lambda i: sum(right[i]) - sum(right[i - 1]))


def _brought(recorded: dict[str, Any], place: int) -> int:
    """The first word that this place brings, or else the one that is told of as likeliest."""
    here, before = _right(recorded)[place], _right(recorded)[max(0, place - 1)]
    chances = [some[0][1] for some in recorded["best"][place]]
    return max(range(len(here)), key=lambda j: (here[j] and not before[j], chances[j]))


def _in_words(place: str) -> str:
    """ "decoder.1.cross" -> "layer 2's cross-attention"."""
    if place == "decoder.positional":
        return "word and position"
    _, layer, kind = place.replace("after_", "").split(".")
    return f"layer {int(layer) + 1}'s {SUBLAYERS[kind]}"
