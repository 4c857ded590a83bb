"""A decoder at work, one word at a time: where its newest position looks, and which words may come next."""

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import traitlets

from transformer_edu import recordings
from transformer_edu.widgets.base import Figure, spoken
from transformer_edu.widgets.decoder_stepper_data import MAX_INPUT, check_branches, record_branches
from transformer_edu.widgets.inputs import check_index, check_words

END = "<eos>"
DEFAULT_WORDS = 3  # written at the start, so that there is something to look back at


class DecoderStepper(Figure):
    """The decoder writes a translation word by word; the reader lets it, or chooses another word and sees what follows.

    Without arguments: the shipped model on the book's running sentence.

    Args:
        branches: a tree of translations, as `record_branches` makes it.
        path: the words written at the start: a text or a list. None is the model's own first three words.
        layer: whose attention is shown first, counts from 0; None is the last.
        source_name, target_name: what the two languages are called.
    """

    figure_name: ClassVar[str] = "decoder-stepper"

    branches = traitlets.Dict().tag(sync=True)
    path = traitlets.List(traitlets.Unicode()).tag(sync=True)
    layer = traitlets.Int().tag(sync=True)
    source_name = traitlets.Unicode().tag(sync=True)
    target_name = traitlets.Unicode().tag(sync=True)

    def __init__(
        self,
        branches: Mapping[str, Any] | None = None,
        *,
        path: str | Sequence[str] | None = None,
        layer: int | None = None,
        source_name: str = "English",
        target_name: str = "French",
    ) -> None:
        tree = check_branches(recordings.load("decoder-branches")["data"] if branches is None else branches)
        layers = len(tree["self"][0])
        words = tree["translation"].split()[:DEFAULT_WORDS] if path is None else path
        written = check_words("path", words.split() if isinstance(words, str) else words, 0, MAX_INPUT)
        find_node(tree, written)
        super().__init__(
            branches=tree,
            path=written,
            layer=layers - 1 if layer is None else check_index("layer", layer, layers),
            source_name=source_name,
            target_name=target_name,
        )

    @classmethod
    def of_translator(
        cls, translator: Any, sentence: str, *, also: Sequence[str] = (), **options: Any
    ) -> "DecoderStepper":
        """A translator (as `pretrained.load_grammar` gives) on one sentence; `also` as in `record_branches`."""
        return cls(record_branches(translator, sentence, also=also), **options)

    def alt_text(self) -> str:
        """What has been written, where the newest position looks, and the likeliest next words."""
        tree, words = self.branches, self.branches["words"]
        start = f"Decoding step by step. The model reads “{' '.join(tree['source'])}”"
        if self.path and self.path[-1] == END:
            return f"{start} and has written “{' '.join(self.path[:-1])}” and the end token."
        node = find_node(tree, self.path)
        read = [spoken("<bos>"), *self.path]
        likely = [
            f"{spoken(words[w])} {p * tree['unit']:.3f}"
            for w, p in zip(tree["next"][node], tree["p"][node], strict=True)
        ]
        return (
            f"{start} and has written {'“' + ' '.join(self.path) + '”' if self.path else 'nothing yet'}. In layer "
            f"{self.layer + 1} the newest position, {read[-1]}, looks back most at "
            f"{_strongest(read, tree['self'][node][self.layer], tree['unit'])} and at the {self.source_name} word "
            f"{_strongest(tree['source'], tree['cross'][node][self.layer], tree['unit'])}. "
            f"Likeliest next words: {', '.join(likely)}."
        )


def find_node(tree: Mapping[str, Any], path: Sequence[str]) -> int:
    """The place of the node that has these words as the decoder's input; the end token may follow."""
    at = 0
    for step, word in enumerate(path):
        if word == END and step == len(path) - 1:
            return at
        children = [i for i, parent in enumerate(tree["parent"]) if parent == at and _input(tree, i) == word]
        if not children:
            raise ValueError(f"path must be recorded in the branches, got {word!r} after {' '.join(path[:step])!r}")
        at = children[0]
    return at


def _input(tree: Mapping[str, Any], node: int) -> str:
    return str(tree["words"][tree["word"][node]])


def _strongest(words: Sequence[str], weights: Sequence[int], unit: float) -> str:
    """The word looked at most, and its weight."""
    best = max(range(len(weights)), key=lambda i: weights[i])
    return f"{words[best]} {weights[best] * unit:.2f}"
