"""Where a trained model looks: attention as lines between two sentences, and as a matrix of weights."""

from collections.abc import Mapping, Sequence
from types import SimpleNamespace
from typing import Any, ClassVar

import torch
import traitlets

from transformer_edu.book.figures.attention_weights import (
    KINDS,
    Weights,
    check_maps,
    check_tokens,
    first_crossing,
    map_name,
    mean_row,
)
from transformer_edu.book.figures.base import spoken
from transformer_edu.book.figures.inputs import check_index
from transformer_edu.book.figures.model_figure import ModelFigure
from transformer_edu.book.figures.sentence_data import Opening, opening, translate
from transformer_edu.data.examples import RUNNING_SENTENCE
from transformer_edu.data.vocabulary import Vocabulary
from transformer_edu.inspect.record import record_attention
from transformer_edu.support.validation import check_choice
from transformer_edu.transformer import Transformer

BEST = 5  # likeliest words at each place
DECIMALS = 4


@torch.no_grad()
def attention_of(opened: Opening) -> tuple[dict[str, Any], list[str], list[str], list[list[list[Any]]]]:
    """All weights (heads, q_len, k_len) on a sentence, its words, what the model writes, the likeliest words there.

    Of what it writes, as much as the figure draws.
    """
    model, target_words = opened.model, opened.vocabularies[1]
    source, ids = translate(model, opened.vocabularies, opened.words, opened.line["most"])
    with record_attention(model) as maps:
        logits = model(source, ids[:, :-1])[0]
    best = logits.softmax(dim=-1).topk(min(BEST, len(target_words)))
    candidates = [
        [[target_words.word(i), round(p, DECIMALS)] for i, p in zip(*row, strict=True)]
        for row in zip(best.indices.tolist(), best.values.tolist(), strict=True)
    ]
    written = [target_words.word(i) for i in ids[0, 1:].tolist()]
    return {name: weights[0] for name, weights in maps.items()}, opened.words, written, candidates


def check_candidates(given: Sequence[Any], target: list[str]) -> list[list[list[Any]]]:
    """For each target word its likeliest next words with their probabilities, or nothing at all."""
    try:
        rows = [[[str(word), float(probability)] for word, probability in row] for row in given]
    except (TypeError, ValueError) as error:
        raise TypeError(
            f"candidates must be a list of [word, probability] for each target token, got {given!r}"
        ) from error
    if rows and len(rows) != len(target):
        raise ValueError(f"candidates must have one list for each of the {len(target)} target tokens, got {len(rows)}")
    return rows


def choose_map(maps: dict[str, Weights], attention: str, layer: int | None) -> tuple[Weights, int]:
    """The map to show first, and its layer."""
    check_choice("attention", attention, KINDS)
    layers = [number for number in range(100) if map_name(attention, number) in maps]
    if not layers:
        raise ValueError(f"attention must be one that maps holds ({', '.join(maps)}), got {attention!r}")
    if layer is None:
        layer = layers[-1]
    check_choice("layer", layer, layers)
    return maps[map_name(attention, layer)], layer


class AttentionMap(ModelFigure):
    """Choose a word and see, as lines and numbers, what the model looks at; keep it from looking there.

    Without `maps`: a model in the page, which translates the reader's own sentence. With `maps`: attention that was
    recorded, of any model, and nothing that could compute another.

    Args:
        maps: what `record_attention` collects, for one sentence: {"decoder.0.cross": (heads, q_len, k_len), ...},
            tensors or lists of weights between 0 and 1.
        source_tokens: the words that the encoder reads.
        target_tokens: the words that the decoder *writes*, one for each row of its maps. The row that writes word i
            has word i-1 as its input; the first has the begin token.
        candidates: for each target token the most probable next words, best first: [[word, probability], ...].
        sentence: without maps: at most twelve words that the model knows; None is the book's running sentence.
        attention: "encoder self", "decoder self" or "cross". layer: counts from 0; None is the last.
        head: counts from 0; None is the mean of the heads.
        token: the row chosen, counts from 0; None is the first where the two word orders cross.
        source_name, target_name: what the two languages are called.
        model, vocabularies: without maps: a model of one's own with its two vocabularies, for the shipped one.
    """

    figure_name: ClassVar[str] = "attention-map"

    maps = traitlets.Dict().tag(sync=True)
    source_tokens = traitlets.List(traitlets.Unicode()).tag(sync=True)
    target_tokens = traitlets.List(traitlets.Unicode()).tag(sync=True)
    candidates = traitlets.List(traitlets.List()).tag(sync=True)
    sentence = traitlets.Unicode().tag(sync=True)
    line = traitlets.Dict().tag(sync=True)
    attention = traitlets.Unicode().tag(sync=True)
    layer = traitlets.Int().tag(sync=True)
    head = traitlets.Int(allow_none=True).tag(sync=True)
    token = traitlets.Int().tag(sync=True)
    key = traitlets.Int(None, allow_none=True).tag(sync=True)
    heads = traitlets.Dict().tag(sync=True)
    blocked = traitlets.List(traitlets.List()).tag(sync=True)
    source_name = traitlets.Unicode().tag(sync=True)
    target_name = traitlets.Unicode().tag(sync=True)

    def __init__(
        self,
        maps: Mapping[str, Any] | None = None,
        source_tokens: Sequence[str] | None = None,
        target_tokens: Sequence[str] | None = None,
        *,
        candidates: Sequence[Any] = (),
        sentence: str | None = None,
        attention: str = "cross",
        layer: int | None = None,
        head: int | None = None,
        token: int | None = None,
        source_name: str | None = None,
        target_name: str | None = None,
        model: Transformer | None = None,
        vocabularies: tuple[Vocabulary, Vocabulary] | None = None,
    ) -> None:
        names = ("source", "target")
        content, name, own = b"", "", {}
        if maps is None:
            _check_none_given(source_tokens=source_tokens, target_tokens=target_tokens, candidates=candidates or None)
            opened = opening(RUNNING_SENTENCE if sentence is None else sentence, model, vocabularies)
            content, name, own = opened.content, opened.name, {"sentence": opened.sentence, "line": opened.line}
            names = ("English", "French") if name else names
            maps, source_tokens, target_tokens, candidates = attention_of(opened)
        else:
            _check_no_model(sentence=sentence or None, model=model, vocabularies=vocabularies)
        source, target = check_tokens("source_tokens", source_tokens), check_tokens("target_tokens", target_tokens)
        shown = check_maps("maps", maps, source, target)
        weights, layer = choose_map(shown, attention, layer)
        head = None if head is None else check_index("head", head, len(weights))
        so = SimpleNamespace(
            content=content,
            name=name,
            maps=shown,
            source_tokens=source,
            target_tokens=target,
            candidates=check_candidates(candidates, target),
            attention=attention,
            layer=layer,
            head=head,
            token=first_crossing(weights, head) if token is None else check_index("token", token, len(weights[0])),
            source_name=names[0] if source_name is None else source_name,
            target_name=names[1] if target_name is None else target_name,
            **own,
        )
        self._opened(so)

    def alt_text(self) -> str:
        """Which attention is shown, and where the chosen word looks."""
        reads = self.attention == "encoder self"
        words = self.source_tokens if reads else self.target_tokens
        started = [spoken("<bos>"), *self.target_tokens[:-1]]
        keys = started if self.attention == "decoder self" else self.source_tokens
        row = mean_row(self.maps[map_name(self.attention, self.layer)], self.head, self.token)
        ranked = sorted(zip(row, keys, strict=True), key=lambda pair: -pair[0])
        looks = ", ".join(f"{word} {weight:.2f}" for weight, word in ranked if weight >= 0.005)
        head = "the mean of its heads" if self.head is None else f"head {self.head + 1}"
        typed = "A line to type a sentence in. " if self.sentence else ""
        return (
            f"{typed}Attention of a translation model on “{' '.join(self.source_tokens)}”: "
            f"{self.attention} attention, layer {self.layer + 1}, {head}, as lines between words and as a matrix. "
            f"While it {'reads' if reads else 'writes'} {spoken(words[self.token])} it looks at {looks}."
        )


def _check_none_given(**own: Any) -> None:
    """A model in the page finds its words itself: others need the attention that belongs to them."""
    given = [name for name, value in own.items() if value is not None]
    if given:
        raise ValueError(f"maps must be given with {', '.join(given)}: weights belong to their words")


def _check_no_model(**own: Any) -> None:
    for name, value in own.items():
        if value is not None:
            raise ValueError(f"{name} must be left out where maps are given, got {value!r}"[:300])
