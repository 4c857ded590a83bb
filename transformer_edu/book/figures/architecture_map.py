"""The paper's Figure 1 as a map: every block opens with its shape, formula, parameters and numbers."""

from typing import ClassVar

import traitlets
from torch import Tensor

from transformer_edu.book.figures.architecture_map_data import path, trace_of
from transformer_edu.book.figures.attention_weights import first_crossing
from transformer_edu.book.figures.base import spoken
from transformer_edu.book.figures.inputs import check_index
from transformer_edu.book.figures.model_figure import ModelFigure
from transformer_edu.book.figures.sentence_data import opening
from transformer_edu.data.examples import RUNNING_SENTENCE
from transformer_edu.data.vocabulary import Vocabulary
from transformer_edu.support.validation import check_choice
from transformer_edu.transformer import Transformer


class ArchitectureMap(ModelFigure):
    """A clickable map of the whole Transformer, with the real numbers of the reader's sentence at every block.

    Args:
        sentence: at most twelve words that the model knows; the decoder's input is the model's translation.
        block: the block that is open first, named as in `record_activations` ("encoder.embedding", "decoder.1.cross",
            "logits", ...) or "softmax".
        source_token, target_token: the words followed through, counted from 0. The target token is the word
            *written*; its row has the word before it as input. None: the first written word at which the two word
            orders cross, and the source word that it looks at.
        source_name, target_name: what the two languages are called.
        model, vocabularies: a model of one's own with its two vocabularies, in place of the shipped one.
    """

    figure_name: ClassVar[str] = "architecture-map"

    sentence = traitlets.Unicode().tag(sync=True)
    trace = traitlets.Dict().tag(sync=True)
    block = traitlets.Unicode().tag(sync=True)
    source_token = traitlets.Int().tag(sync=True)
    target_token = traitlets.Int().tag(sync=True)
    source_name = traitlets.Unicode().tag(sync=True)
    target_name = traitlets.Unicode().tag(sync=True)
    line = traitlets.Dict().tag(sync=True)

    def __init__(
        self,
        sentence: str = RUNNING_SENTENCE,
        *,
        block: str = "encoder.embedding",
        source_token: int | None = None,
        target_token: int | None = None,
        source_name: str | None = None,
        target_name: str | None = None,
        model: Transformer | None = None,
        vocabularies: tuple[Vocabulary, Vocabulary] | None = None,
    ) -> None:
        opened = opening(sentence, model, vocabularies)
        check_choice("block", block, path(opened.model.config.num_layers))
        trace, cross = trace_of(opened, block)
        names = ("English", "French") if opened.name else ("source", "target")
        row, column = meeting(cross)
        if target_token is not None:
            row = check_index("target_token", target_token, len(trace["target_tokens"]))
        if source_token is not None:
            column = check_index("source_token", source_token, len(opened.words))
        super().__init__(
            opened.content,
            opened.name,
            sentence=opened.sentence,
            trace=trace,
            block=block,
            source_token=column,
            target_token=row,
            source_name=names[0] if source_name is None else source_name,
            target_name=names[1] if target_name is None else target_name,
            line=opened.line,
        )

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


def meeting(cross: Tensor) -> tuple[int, int]:
    """The written word at which the two word orders cross, and the source word that it looks at: of a last layer."""
    row = first_crossing(cross.tolist(), None)
    return row, int(cross.mean(dim=0)[row].argmax())


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
