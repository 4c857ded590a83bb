"""Beam search, step by step: which beginnings of a sentence are kept, which fall out, which end, and which one wins."""

import math
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import traitlets

from transformer_edu.decoding.beam import Hypothesis
from transformer_edu.support.validation import check_choice
from transformer_edu.widgets.base import Figure
from transformer_edu.widgets.search_tree_data import BOS, EOS, Prefix, record_model, record_search_tree, search

COLUMNS = ("parent", "token", "next", "log_probs", "rest")  # a list each, with an entry for every prefix
FACTS = ("source", "space", "tokens", "max_len", "beam_sizes", "alphas")

# A language of five words, made up: the end of a prefix, and the probabilities of what follows. The longest end counts.
# Greedy search takes "a" (0.5), after which no noun is likely; "the" (0.4) leads to "cat" (0.9) and to more in the end.
HAND_TOKENS = ("<bos>", "<eos>", "a", "the", "black", "cat", "dog", "sleeps")
HAND_LANGUAGE: dict[tuple[str, ...], dict[str, float]] = {
    ("<bos>",): {"a": 0.50, "the": 0.40, "black": 0.10},
    ("a",): {"cat": 0.38, "black": 0.34, "dog": 0.28},
    ("the",): {"cat": 0.90, "black": 0.06, "dog": 0.04},
    ("the", "cat"): {"<eos>": 0.47, "sleeps": 0.45, "black": 0.08},
    ("black",): {"cat": 0.80, "dog": 0.20},
    ("cat",): {"sleeps": 0.60, "<eos>": 0.40},
    ("dog",): {"sleeps": 0.70, "<eos>": 0.30},
    ("sleeps",): {"<eos>": 1.0},
}


class SearchTree(Figure):
    """The tree of prefixes that a beam search looks at, step by step, for a few beam sizes and length penalties.

    Without arguments: a language of five words, made by hand, in which greedy search misses the likeliest sentence.

    Args:
        tree: recorded prefixes, as `record_search_tree` makes them.
        beam: beginnings kept at each step; 1 is greedy search.
        alpha: the length penalty: score = log-probability / ((5 + length) / 6) ** alpha.
        step: search steps made at the start; None is all of them.
    """

    figure_name: ClassVar[str] = "search-tree"

    tree = traitlets.Dict().tag(sync=True)
    beam = traitlets.Int().tag(sync=True)
    alpha = traitlets.Float().tag(sync=True)
    step = traitlets.Int().tag(sync=True)

    def __init__(
        self,
        tree: Mapping[str, Any] | None = None,
        *,
        beam: int = 2,
        alpha: float = 0.6,
        step: int | None = None,
    ) -> None:
        data = check_tree(hand_tree() if tree is None else tree)
        check_choice("beam", beam, data["beam_sizes"])
        check_choice("alpha", alpha, data["alphas"])
        steps = data["max_len"] - 1
        if step is not None and (isinstance(step, bool) or not isinstance(step, int)):
            raise TypeError(f"step must be a whole number, the steps made, or None, got {step!r}")
        if step is not None and not 0 <= step <= steps:
            raise ValueError(f"step must be from 0 to {steps}, as many tokens as a sentence may have, got {step}")
        super().__init__(tree=data, beam=beam, alpha=float(alpha), step=steps if step is None else step)

    @classmethod
    def by_hand(cls, **options: Any) -> "SearchTree":
        """The made-up language of five words; `options` are beam, alpha and step."""
        return cls(hand_tree(), **options)

    @classmethod
    def from_model(
        cls,
        model: Any,
        source_ids: Sequence[int],
        bos_id: int,
        eos_id: int,
        tokens: Sequence[str],
        max_len: int,
        *,
        source: str = "",
        space: str = "",
        **options: Any,
    ) -> "SearchTree":
        """A Transformer that translates one sentence, recorded now; arguments as in `record_model`."""
        recorded = record_model(model, source_ids, bos_id, eos_id, tokens, max_len, source=source, space=space)
        return cls(recorded, **options)

    def alt_text(self) -> str:
        """Which sentence wins with this beam and penalty, and what greedy search would have said."""
        found, greedy = results(self.tree, self.beam, self.alpha), results(self.tree, 1, 0.0)
        best = found[0]
        others = "; ".join(self._told(one) for one in found[1:4]) or "none"
        start = f"Search tree with beam size {self.beam} and length penalty {self.alpha:g}. "
        won = f"The winner is {self._told(best)}, with score {best.score:.2f}. Other finished: {others}. "
        return f"{start}{won}Greedy search says {self._told(greedy[0])}."

    def _told(self, one: Hypothesis) -> str:
        words = text_of(self.tree, one.ids)
        return f"“{words if len(words) <= 80 else words[:79] + '…'}”, log-probability {one.log_prob:.2f}"


def hand_tree(max_len: int = 8) -> dict[str, Any]:
    """The tree of the made-up language."""

    def next_log_probs(prefix: list[int]) -> list[float]:
        words = tuple(HAND_TOKENS[token] for token in prefix)
        known = next(words[at:] for at in range(len(words)) if words[at:] in HAND_LANGUAGE)
        row = HAND_LANGUAGE[known]
        return [math.log(row[word]) if word in row else -math.inf for word in HAND_TOKENS]

    return record_search_tree(next_log_probs, 0, 1, HAND_TOKENS, max_len)


def results(tree: Mapping[str, Any], beam: int, alpha: float) -> list[Hypothesis]:
    """What a search on a recorded tree finds, best first; ids are places in tree["tokens"]."""
    prefixes: list[Prefix] = []
    for parent, token in zip(tree["parent"], tree["token"], strict=True):
        prefixes.append((*(prefixes[parent] if parent >= 0 else ()), token))
    place = {prefix: node for node, prefix in enumerate(prefixes)}

    def look(prefix: Prefix) -> list[tuple[int, float]]:
        node = place[prefix]
        return [*zip(tree["next"][node], tree["log_probs"][node], strict=True)]

    return search(look, BOS, EOS, tree["max_len"], beam_size=beam, alpha=alpha)


def text_of(tree: Mapping[str, Any], ids: Prefix) -> str:
    """The words of a sentence in this tree, without begin and end token."""
    words = [tree["tokens"][one] for one in ids if one not in (BOS, EOS)]
    return "".join(words).replace(tree["space"], " ").strip() if tree["space"] else " ".join(words)


def check_tree(given: Any) -> dict[str, Any]:
    """A recorded tree with all that the figure needs, its lists as long as they must be."""
    if not isinstance(given, Mapping):
        raise TypeError(f"tree must be a dict, as record_search_tree makes it, got {type(given).__name__}")
    missing = [key for key in (*FACTS, *COLUMNS) if key not in given]
    if missing:
        raise ValueError(f"tree must have {', '.join((*FACTS, *COLUMNS))}, got none of {', '.join(missing)}")
    count = len(given["parent"])
    for key in COLUMNS:
        if len(given[key]) != count or not count:
            raise ValueError(f"tree[{key!r}] must have one entry for each of {count} prefixes, got {len(given[key])}")
    if given["parent"][0] != -1 or any(not -1 < parent < i for i, parent in enumerate(given["parent"]) if i):
        raise ValueError("tree['parent'] must lead from each prefix but the first to an earlier one")
    for node in range(count):
        words = (given["token"][node], *given["next"][node])
        if not all(0 <= word < len(given["tokens"]) for word in words):
            raise ValueError(
                f"tree must name tokens by their place, below {len(given['tokens'])}, got {words} at {node}"
            )
        if len(given["next"][node]) != len(given["log_probs"][node]):
            raise ValueError(
                f"tree['log_probs'][{node}] must be as long as 'next', got {len(given['log_probs'][node])}"
            )
    return {key: given[key] for key in (*FACTS, *COLUMNS)}
