"""A decoder at work, one word at a time: where its newest position looks, and which words may come next."""

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import traitlets

from transformer_edu import recordings
from transformer_edu.widgets.attention_map_data import check_index, check_words
from transformer_edu.widgets.base import Figure
from transformer_edu.widgets.decoder_stepper_data import UNIT, record_branches

END = "<eos>"
COLUMNS = ("parent", "word", "self", "cross", "output", "next", "p")  # a list each, with an entry for every node
FACTS = ("source", "words", "translation", "d_model", "unit", "largest_change", "more")
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
        written = tree["translation"].split()[:DEFAULT_WORDS] if path is None else _words(path)
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
        """A translator (as `pretrained.load` gives) on one sentence, recorded now; `also` as in `record_branches`."""
        return cls(record_branches(translator, sentence, also=also), **options)

    def alt_text(self) -> str:
        """What has been written, where the newest position looks, and the likeliest next words."""
        tree, words = self.branches, self.branches["words"]
        start = f"Decoding step by step. The model reads “{' '.join(tree['source'])}”"
        if self.path and self.path[-1] == END:
            return f"{start} and has written “{' '.join(self.path[:-1])}” and the end token."
        node = find_node(tree, self.path)
        read = ["start", *self.path]
        likely = [f"{_spoken(words[w])} {p * tree['unit']:.3f}" for w, p in zip(*_best(tree, node), strict=True)]
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


def check_branches(given: Any) -> dict[str, Any]:
    """A tree of translations with all that the figure needs, its lists as long as they must be."""
    if not isinstance(given, Mapping):
        raise TypeError(f"branches must be a dict, as record_branches makes it, got {type(given).__name__}")
    missing = [key for key in (*FACTS, *COLUMNS) if key not in given]
    if missing:
        raise ValueError(f"branches must have {', '.join((*FACTS, *COLUMNS))}, got none of {', '.join(missing)}")
    check_words("branches['source']", given["source"])
    count = len(given["parent"])
    for key in COLUMNS:
        if len(given[key]) != count or not count:
            raise ValueError(f"branches[{key!r}] must have one entry for each of {count} nodes, got {len(given[key])}")
    if given["parent"][0] != -1 or any(not -1 < parent < i for i, parent in enumerate(given["parent"]) if i):
        raise ValueError("branches['parent'] must lead from each node but the first to an earlier one")
    for node in range(count):
        _check_node(given, node)
    return {key: given[key] for key in (*FACTS, *COLUMNS)}


def _check_node(tree: Mapping[str, Any], node: int) -> None:
    """Weights as many as words looked at; words that exist."""
    depth, at = 1, node
    while tree["parent"][at] >= 0:
        depth, at = depth + 1, tree["parent"][at]
    for key, length in (("self", depth), ("cross", len(tree["source"]))):
        lengths = [len(weights) for weights in tree[key][node]]
        if set(lengths) != {length}:
            raise ValueError(f"branches[{key!r}][{node}] must hold {length} weights for each layer, got {lengths}")
    if not all(0 <= word < len(tree["words"]) for word in (tree["word"][node], *tree["next"][node])):
        raise ValueError(f"branches must name words by their place in 'words', below {len(tree['words'])}, at {node}")
    if len(tree["next"][node]) != len(tree["p"][node]):
        raise ValueError(f"branches['p'][{node}] must be as long as 'next', got {len(tree['p'][node])}")


def _words(path: Any) -> list[str]:
    words = path.split() if isinstance(path, str) else path
    if not isinstance(words, Sequence) or not all(isinstance(word, str) for word in words):
        raise TypeError(f"path must be a text or a list of words, got {path!r}")
    return list(words)


def _input(tree: Mapping[str, Any], node: int) -> str:
    return str(tree["words"][tree["word"][node]])


def _best(tree: Mapping[str, Any], node: int) -> tuple[list[int], list[int]]:
    return tree["next"][node], tree["p"][node]


def _spoken(word: str) -> str:
    return "the end" if word == END else word


def _strongest(words: Sequence[str], weights: Sequence[int], unit: float = UNIT) -> str:
    """The word looked at most, and its weight."""
    best = max(range(len(weights)), key=lambda i: weights[i])
    return f"{words[best]} {weights[best] * unit:.2f}"
