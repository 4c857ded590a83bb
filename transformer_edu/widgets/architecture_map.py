"""The paper's Figure 1 as a map: every block opens with its shape, formula, parameters and numbers."""

from collections.abc import Mapping
from typing import Any, ClassVar

import traitlets

from transformer_edu import recordings
from transformer_edu.support.validation import check_choice
from transformer_edu.widgets.architecture_map_data import check_trace, path, record_trace
from transformer_edu.widgets.attention_weights import first_crossing, mean_row
from transformer_edu.widgets.base import Figure, spoken
from transformer_edu.widgets.inputs import check_index


class ArchitectureMap(Figure):
    """A clickable map of the whole Transformer, with one sentence's real numbers at every block.

    Without arguments: the shipped model on the book's running sentence, with its right translation as the decoder's
    input. `ArchitectureMap.of_translator(translator, source)` records any other sentence.

    Args:
        trace: what `record_trace` collects.
        block: the block that is open first, named as in `record_activations` ("encoder.embedding", "decoder.1.cross",
            "logits", ...) or "softmax"; None is the last layer's cross-attention.
        source_token, target_token: the words followed through, counted from 0. The target token is the word
            *written*; its row has the word before it as input. None: the first written word at which the two word
            orders cross, and the source word that it looks at.
        source_name, target_name: what the two languages are called.
    """

    figure_name: ClassVar[str] = "architecture-map"

    trace = traitlets.Dict().tag(sync=True)
    block = traitlets.Unicode().tag(sync=True)
    source_token = traitlets.Int().tag(sync=True)
    target_token = traitlets.Int().tag(sync=True)
    source_name = traitlets.Unicode().tag(sync=True)
    target_name = traitlets.Unicode().tag(sync=True)

    def __init__(
        self,
        trace: Mapping[str, Any] | None = None,
        *,
        block: str | None = None,
        source_token: int | None = None,
        target_token: int | None = None,
        source_name: str | None = None,
        target_name: str | None = None,
    ) -> None:
        names = ("source", "target") if trace is not None else ("English", "French")
        shown = check_trace(recordings.load("architecture-map")["data"] if trace is None else trace)
        layers = shown["sizes"]["num_layers"]
        block = f"decoder.{layers - 1}.cross" if block is None else block
        check_choice("block", block, path(layers))
        row, column = meeting(shown)
        if target_token is not None:
            row = check_index("target_token", target_token, len(shown["target_tokens"]))
        if source_token is not None:
            column = check_index("source_token", source_token, len(shown["source_tokens"]))
        super().__init__(
            trace=shown,
            block=block,
            source_token=column,
            target_token=row,
            source_name=names[0] if source_name is None else source_name,
            target_name=names[1] if target_name is None else target_name,
        )

    @classmethod
    def of_translator(
        cls, translator: Any, source: str, target: str | None = None, **options: Any
    ) -> "ArchitectureMap":
        """Record a sentence live; `target` None is the translator's own translation, `options` the constructor's."""
        return cls(record_trace(translator, source, target), **options)

    def alt_text(self) -> str:
        """The machine, the block that is open, and the words followed."""
        sizes, counts, sentence = self.trace["sizes"], self.trace["parameters"], self.trace["source_tokens"]
        written = self.trace["target_tokens"][self.target_token]
        return (
            f"Map of a Transformer: an encoder stack of {sizes['num_layers']} layers on the left, a decoder stack of "
            f"{sizes['num_layers']} on the right, an arrow with the encoder's output from one to the other, "
            f"embeddings and positional encodings below, projection and softmax above; {sum(counts.values()):,} "
            f"parameters. Open is {block_in_words(self.block)} with {counts[self.block]:,} parameters and its numbers "
            f"for “{' '.join(sentence)}”; followed are “{sentence[self.source_token]}” and the position at which "
            f"“{spoken(written)}” is written."
        )


def meeting(trace: Mapping[str, Any]) -> tuple[int, int]:
    """The written word at which the two word orders cross, and the source word that it looks at."""
    heads = [
        [[int(weight) / 10_000 for weight in row.split()] for row in head]
        for head in trace["weights"][f"decoder.{trace['sizes']['num_layers'] - 1}.cross"]
    ]
    row = first_crossing(heads, None)
    weights = mean_row(heads, None, row)
    return row, weights.index(max(weights))


def block_in_words(block: str) -> str:
    """A block's name in words: "decoder.1.after_cross" -> "the decoder's add & norm after cross-attention, layer 2"."""
    if "." not in block:
        return {"logits": "the projection", "softmax": "the softmax"}[block]
    stack, *rest = block.split(".")
    names = {"self": "self-attention", "cross": "cross-attention", "feed_forward": "feed-forward"}
    part = names.get(rest[-1].removeprefix("after_"), {"positional": "positional encoding"}.get(rest[-1], rest[-1]))
    after = "add & norm after " if rest[-1].startswith("after_") else ""
    layer = f", layer {int(rest[0]) + 1}" if len(rest) > 1 else ""
    return f"the {stack}'s {after}{part}{layer}"
