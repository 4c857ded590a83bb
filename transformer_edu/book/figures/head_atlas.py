"""An atlas of a model's heads: all maps side by side for the reader's sentence, and what is lost without a head."""

from collections.abc import Mapping
from typing import ClassVar

import torch
import traitlets

from transformer_edu.book.figures.base import spoken
from transformer_edu.book.figures.head_atlas_data import SENTENCE, atlas, check_heads
from transformer_edu.book.figures.model_figure import ModelFigure
from transformer_edu.book.figures.sentence_data import opening
from transformer_edu.data.vocabulary import Vocabulary
from transformer_edu.inspect.heads import attention_distance, attention_entropy, head_names, keys_allowed
from transformer_edu.support.validation import check_choice
from transformer_edu.transformer import Transformer

ORDERS = {"place": "their place", "entropy": "entropy", "distance": "distance", "importance": "importance"}
KINDS = {"encoder.self": "encoder", "decoder.self": "decoder", "decoder.cross": "cross-attention"}


class HeadAtlas(ModelFigure):
    """All heads of all layers at work on the reader's sentence; any of them can be switched off in the page.

    Args:
        sentence: at most twelve words that the model knows.
        heads: which heads are changed and how: {"encoder.1.self.0": "off"}, or "uniform".
        chosen: the head that is drawn large; None is the one without which the model loses most.
        sort: the order of the small maps: "place", "entropy", "distance" or "importance".
        model, vocabularies: a model of one's own with its two vocabularies, in place of the shipped one.

    Raises:
        TypeError, ValueError: the sentence has an unknown word, is empty or too long; a head has another name.
    """

    figure_name: ClassVar[str] = "head-atlas"

    sentence = traitlets.Unicode().tag(sync=True)
    heads = traitlets.Dict().tag(sync=True)
    chosen = traitlets.Unicode().tag(sync=True)
    sort = traitlets.Unicode().tag(sync=True)
    recorded = traitlets.Dict().tag(sync=True)
    line = traitlets.Dict().tag(sync=True)

    def __init__(
        self,
        sentence: str = SENTENCE,
        heads: Mapping[str, str] | None = None,
        chosen: str | None = None,
        sort: str = "place",
        *,
        model: Transformer | None = None,
        vocabularies: tuple[Vocabulary, Vocabulary] | None = None,
    ) -> None:
        opened = opening(sentence, model, vocabularies)
        names = head_names(opened.model)
        check_choice("sort", sort, tuple(ORDERS))
        if chosen is not None:
            check_choice("chosen", chosen, tuple(names))
        changes = check_heads(heads if heads is not None else {}, names)
        recorded = atlas(opened.model, opened.vocabularies, opened.words, changes)
        effects = recorded["effects"]
        super().__init__(
            opened.content,
            opened.name,
            sentence=opened.sentence,
            heads=changes,
            chosen=names[effects.index(max(effects))] if chosen is None else chosen,
            sort=sort,
            recorded=recorded,
            line=opened.line,
        )

    def alt_text(self) -> str:
        """How many maps there are, in which order, and the three numbers of the chosen head."""
        names = self.recorded["names"]
        at = names.index(self.chosen)
        side, layer, kind, head = self.chosen.split(".")
        weights = torch.tensor(self.recorded["maps"][self.chosen])
        may = keys_allowed(self.chosen.rpartition(".")[0], weights.shape[-1])
        entropy = attention_entropy(weights, may).item()
        distance = attention_distance(weights).item()
        off = ", ".join(f"{name} {how}" for name, how in self.heads.items())
        then = " ".join(spoken(word) for word in self.recorded["then"] if word != "<eos>")
        return (
            f"A line to type an English sentence in: {self.sentence}. Below it {len(names)} small maps of attention "
            f"weights, one for each head, in the order of {ORDERS[self.sort]}. Large: {KINDS[f'{side}.{kind}']}, layer "
            f"{int(layer) + 1}, head {int(head) + 1}: entropy {entropy:.2f} of the most it could have, distance "
            f"{distance:.2f} tokens, importance {self.recorded['effects'][at]:.4f} nats. "
            f"{f'Changed: {off}. ' if off else ''}The model writes: {then}."
        )
