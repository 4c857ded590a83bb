"""Beam search, step by step: which beginnings of a sentence are kept, which fall out, which end, and which one wins."""

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import traitlets

from transformer_edu.book.figures.inputs import check_one_of, check_range
from transformer_edu.book.figures.model_figure import ModelFigure
from transformer_edu.book.figures.search_tree_data import (
    BOS,
    EOS,
    Prefix,
    check_tree,
    hand_tree,
    record_model,
    search,
    translation_tree,
)
from transformer_edu.book.figures.sentence_data import opening
from transformer_edu.data.examples import RUNNING_SENTENCE
from transformer_edu.data.vocabulary import Vocabulary
from transformer_edu.decoding.beam import Hypothesis
from transformer_edu.support.validation import check_choice
from transformer_edu.transformer import Transformer

MOST_WORDS = 9  # of a sentence: its translation has a column for each word


class SearchTree(ModelFigure):
    """The tree of prefixes that a beam search looks at, step by step, for a few beam sizes and length penalties.

    Without arguments: a language of six words, made by hand, in which greedy search misses the likeliest sentence.
    There, and with `sentence`, a reader can type a sentence, and the page translates it with the book's grammar model.

    Args:
        tree: recorded prefixes, as `record_search_tree` makes them; nothing else is shown then.
        sentence: one to begin with, of at most nine words that the model knows.
        beam: beginnings kept at each step; 1 is greedy search.
        alpha: the length penalty: score = log-probability / ((5 + length) / 6) ** alpha.
        step: search steps made at the start; None is all of them.
        model, vocabularies: a model of one's own with its two vocabularies; needs a `sentence`.
    """

    figure_name: ClassVar[str] = "search-tree"

    recorded = traitlets.Dict().tag(sync=True)
    sentence = traitlets.Unicode().tag(sync=True)
    beam = traitlets.Int().tag(sync=True)
    alpha = traitlets.Float().tag(sync=True)
    step = traitlets.Int().tag(sync=True)
    line = traitlets.Dict().tag(sync=True)

    def __init__(
        self,
        tree: Mapping[str, Any] | None = None,
        *,
        sentence: str = "",
        beam: int = 2,
        alpha: float = 0.6,
        step: int | None = None,
        model: Transformer | None = None,
        vocabularies: tuple[Vocabulary, Vocabulary] | None = None,
    ) -> None:
        content, name = b"", ""
        line: dict[str, Any] = {}
        if tree is None:
            begun = sentence or (RUNNING_SENTENCE if model is None else "")
            opened = opening(begun, model, vocabularies, MOST_WORDS)
            content, name, line = opened.content, opened.name, opened.line
            data = translation_tree(opened) if sentence else hand_tree()
            sentence = opened.sentence if sentence else ""
        elif sentence or model is not None or vocabularies is not None:
            raise ValueError(f"tree must be given alone, got sentence={sentence!r} or a model, too")
        else:
            data = check_tree(tree)
        check_one_of("beam", beam, data["beam_sizes"])
        check_choice("alpha", alpha, data["alphas"])
        steps = data["max_len"] - 1
        step = steps if step is None else check_range("step", step, 0, steps)
        super().__init__(
            content, name, recorded=data, sentence=sentence, beam=beam, alpha=float(alpha), step=step, line=line
        )

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
        found, greedy = results(self.recorded, self.beam, self.alpha), results(self.recorded, 1, 0.0)
        best = found[0]
        others = "; ".join(self._told(one) for one in found[1:4]) or "none"
        start = f"Search tree with beam size {self.beam} and length penalty {self.alpha:g}. "
        won = f"The winner is {self._told(best)}, with score {best.score:.2f}. Other finished: {others}. "
        return f"{start}{won}Greedy search says {self._told(greedy[0])}."

    def _told(self, one: Hypothesis) -> str:
        words = text_of(self.recorded, one.ids)
        return f"“{words if len(words) <= 80 else words[:79] + '…'}”, log-probability {one.log_prob:.2f}"


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
