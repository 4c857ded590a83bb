"""Where a trained model looks: recorded attention as lines between two sentences, and as a matrix of weights."""

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import traitlets

from transformer_edu.widgets.attention_map_data import check_candidates, choose_map, recorded
from transformer_edu.widgets.attention_weights import check_maps, check_tokens, first_crossing, map_name, mean_row
from transformer_edu.widgets.base import Figure, spoken
from transformer_edu.widgets.inputs import check_index


class AttentionMap(Figure):
    """Recorded attention: choose a word and see, as lines and numbers, what the model looks at.

    Without arguments: the shipped model on the book's running sentence.

    Args:
        maps: what `record_attention` collects, for one sentence: {"decoder.0.cross": (heads, q_len, k_len), ...},
            tensors or lists of weights between 0 and 1.
        source_tokens: the words that the encoder reads.
        target_tokens: the words that the decoder *writes*, one for each row of its maps. The row that writes word i
            has word i-1 as its input; the first has the begin token.
        candidates: for each target token the most probable next words, best first: [[word, probability], ...].
        attention: "encoder self", "decoder self" or "cross". layer: counts from 0; None is the last.
        head: counts from 0; None is the mean of the heads.
        token: the row chosen, counts from 0; None is the first where the two word orders cross.
        source_name, target_name: what the two languages are called.
    """

    figure_name: ClassVar[str] = "attention-map"

    maps = traitlets.Dict().tag(sync=True)
    source_tokens = traitlets.List(traitlets.Unicode()).tag(sync=True)
    target_tokens = traitlets.List(traitlets.Unicode()).tag(sync=True)
    candidates = traitlets.List(traitlets.List()).tag(sync=True)
    attention = traitlets.Unicode().tag(sync=True)
    layer = traitlets.Int().tag(sync=True)
    head = traitlets.Int(allow_none=True).tag(sync=True)
    token = traitlets.Int().tag(sync=True)
    source_name = traitlets.Unicode().tag(sync=True)
    target_name = traitlets.Unicode().tag(sync=True)

    def __init__(
        self,
        maps: Mapping[str, Any] | None = None,
        source_tokens: Sequence[str] | None = None,
        target_tokens: Sequence[str] | None = None,
        *,
        candidates: Sequence[Any] = (),
        attention: str = "cross",
        layer: int | None = None,
        head: int | None = None,
        token: int | None = None,
        source_name: str | None = None,
        target_name: str | None = None,
    ) -> None:
        names = ["source", "target"]
        if maps is None:
            _check_none_given(source_tokens=source_tokens, target_tokens=target_tokens, candidates=candidates or None)
            maps, source_tokens, target_tokens, candidates, *names = recorded("running-sentence").values()
        source, target = check_tokens("source_tokens", source_tokens), check_tokens("target_tokens", target_tokens)
        shown = check_maps("maps", maps, source, target)
        weights, layer = choose_map(shown, attention, layer)
        head = None if head is None else check_index("head", head, len(weights))
        super().__init__(
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
        )

    @classmethod
    def of_recording(cls, name: str = "running-sentence", **options: Any) -> "AttentionMap":
        """The shipped model's attention on a recorded sentence; `options` are those of the constructor."""
        return cls(**recorded(name) | options)

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
        return (
            f"Attention of a translation model on “{' '.join(self.source_tokens)}”: "
            f"{self.attention} attention, layer {self.layer + 1}, {head}, as lines between words and as a matrix. "
            f"While it {'reads' if reads else 'writes'} {spoken(words[self.token])} it looks at {looks}."
        )


def _check_none_given(**own: Any) -> None:
    """The figure of the book's sentence has its own words: others need the attention that belongs to them."""
    given = [name for name, value in own.items() if value is not None]
    if given:
        raise ValueError(f"maps must be given with {', '.join(given)}: weights belong to their words")
