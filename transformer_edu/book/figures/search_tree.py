"""Beam search, step by step: which beginnings of a sentence are kept, which fall out, which end, and which one wins.

A recording holds every prefix that a beam search of a few widths needs, with its likeliest next tokens. `search` is the
same search as the figure's module does in the page, and it is exact on what is recorded: of each prefix at least one
token more than the widest beam holds.
"""

import itertools
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from types import SimpleNamespace
from typing import Any, ClassVar

import torch
import traitlets
from torch import Tensor

from transformer_edu.book.figures.fields import argument, field, made, one_of, whole
from transformer_edu.book.figures.inputs import check_index, check_recording
from transformer_edu.book.figures.sentence_data import Opening, SentenceFigure, opening
from transformer_edu.data.examples import RUNNING_SENTENCE
from transformer_edu.data.vocabulary import BOS_ID, EOS_ID
from transformer_edu.decoding.beam import Hypothesis, length_normalizer
from transformer_edu.support.device import device_of
from transformer_edu.support.modes import evaluation_mode
from transformer_edu.support.validation import check_choice, check_number, check_positive_integer

BEAM_SIZES = (1, 2, 3, 4, 5)
ALPHAS = (0.0, 0.2, 0.4, 0.6, 0.8, 1.0)
TOP = 7  # likeliest next tokens kept of each prefix
MOST_WORDS = 9  # of a sentence: its translation has a column for each word
LONGEST = 18  # tokens of a translation that the page searches for, the begin token counted
DIGITS = 5  # of a log-probability, after the point
BOS, EOS = 0, 1  # places of the begin and end token in a tree's list of tokens

FACTS = ("source", "space", "tokens", "max_len", "beam_sizes", "alphas")
COLUMNS = ("parent", "token", "next", "log_probs", "rest")  # a list each, with an entry for every prefix

# A language of six words, made up: the end of a prefix, and the probabilities of what follows. The longest end counts.
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

Prefix = tuple[int, ...]  # ids, the begin token first
Partial = tuple[Prefix, float]  # the beginning of an answer, and the sum of its tokens' log-probabilities
Look = Callable[[Prefix], Sequence[tuple[int, float]]]  # a prefix's next tokens with log-probabilities, likeliest first


def _check_opened(_: str, sentence: Any, so: SimpleNamespace) -> str:
    """What the figure begins with: a recorded tree, a sentence, or, for neither, the made-up language."""
    if so.tree is not None:
        if sentence or so.model is not None or so.vocabularies is not None:
            raise ValueError(f"tree must be given alone, got sentence={sentence!r} or a model, too")
        so.content, so.name, so.opened = b"", "", SimpleNamespace(line={})
        so.given = check_recording("tree", so.tree, (*FACTS, *COLUMNS), "record_search_tree")
        return ""
    begun = sentence or (RUNNING_SENTENCE if so.model is None else "")
    so.opened = opening(begun, so.model, so.vocabularies, MOST_WORDS)
    so.content, so.name = so.opened.content, so.opened.name
    so.given = translation_tree(so.opened) if sentence else hand_tree()
    return so.opened.sentence if sentence else ""


def _check_alpha(name: str, alpha: Any, so: SimpleNamespace) -> float:
    check_choice(name, alpha, so.recorded["alphas"])
    return float(alpha)


class SearchTree(SentenceFigure):
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

    tree = argument(first=True)
    sentence = field(traitlets.Unicode(), "", _check_opened)
    recorded = made(traitlets.Dict(), lambda so: so.given)
    beam = one_of(2, lambda so: so.recorded["beam_sizes"])
    alpha = field(traitlets.Float(), 0.6, _check_alpha)
    step = whole(lambda so: so.recorded["max_len"] - 1, 0, lambda so: so.recorded["max_len"] - 1)

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
        others = "; ".join(self._told(hypothesis) for hypothesis in found[1:4]) or "none"
        start = f"Search tree with beam size {self.beam} and length penalty {self.alpha:g}. "
        won = f"The winner is {self._told(best)}, with score {best.score:.2f}. Other finished: {others}. "
        return f"{start}{won}Greedy search says {self._told(greedy[0])}."

    def _told(self, hypothesis: Hypothesis) -> str:
        words = text_of(self.recorded, hypothesis.ids)
        return f"“{words if len(words) <= 80 else words[:79] + '…'}”, log-probability {hypothesis.log_prob:.2f}"


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
    words = [tree["tokens"][index] for index in ids if index not in (BOS, EOS)]
    return "".join(words).replace(tree["space"], " ").strip() if tree["space"] else " ".join(words)


def search(look: Look, bos_id: int, eos_id: int, max_len: int, *, beam_size: int, alpha: float) -> list[Hypothesis]:
    """The answers of `beam_search`, best first, for whatever gives the next tokens of a prefix."""
    beam: list[Partial] = [((bos_id,), 0.0)]
    best: list[Hypothesis] = []
    while beam and not _is_done(beam, best, max_len, beam_size, alpha):
        candidates = sorted(_continued(beam, look), key=lambda candidate: -candidate[1])
        ends = [candidate for candidate in candidates[:beam_size] if candidate[0][-1] == eos_id]
        best = _ranked([*best, *_scored(ends, alpha)])[:beam_size]
        beam = [candidate for candidate in candidates if candidate[0][-1] != eos_id][:beam_size]
    return best or _ranked(_scored(beam, alpha))  # cut at the limit: better than no answer


def _continued(beam: Sequence[Partial], look: Look) -> Iterator[Partial]:
    for ids, log_prob in beam:
        for token, own in look(ids):
            yield (*ids, token), log_prob + own


def _is_done(beam: Sequence[Partial], best: Sequence[Hypothesis], max_len: int, beam_size: int, alpha: float) -> bool:
    """At the limit, or when nothing in the beam could become better than all that is finished."""
    hope = beam[0][1] / length_normalizer(max_len - 1, alpha)
    return len(beam[0][0]) >= max_len or (len(best) == beam_size and best[-1].score >= hope)


def _scored(found: Sequence[Partial], alpha: float) -> list[Hypothesis]:
    return [Hypothesis(ids, log_prob, log_prob / length_normalizer(len(ids) - 1, alpha)) for ids, log_prob in found]


def _ranked(found: Sequence[Hypothesis]) -> list[Hypothesis]:
    return sorted(found, key=lambda hypothesis: -hypothesis.score)


def record_search_tree(
    next_log_probs: Callable[[list[int]], Any],
    bos_id: int,
    eos_id: int,
    tokens: Sequence[str],
    max_len: int,
    beam_sizes: Sequence[int] = BEAM_SIZES,
    top: int = TOP,
    *,
    alphas: Sequence[float] = ALPHAS,
    source: str = "",
    space: str = "",
) -> dict[str, Any]:
    """Every prefix that a search of these widths and penalties looks at, as plain JSON values.

    Args:
        next_log_probs: natural log-probabilities (vocab,) of the token after a prefix (a list of ids, bos_id first);
            -inf for what may not be chosen, such as padding. bos_id is never chosen.
        tokens: what to call each id.
        max_len: most tokens in a sentence, the begin token counted.
        beam_sizes, alphas: widths and length penalties that the figure offers.
        top: how many next tokens of a prefix are kept; more than the widest beam.
        source: the sentence that is translated, if any; the figure quotes it.
        space: the sign that stands for a space in a token, "·" in `Tokenizer`; "": every token is a word.
    """
    _check(bos_id, eos_id, tokens, max_len, beam_sizes, alphas, top)
    recorder = _Recorder(next_log_probs, bos_id, tokens, top)
    settings = [(1, 0.0), *itertools.product(beam_sizes, alphas)]  # the first is greedy search
    for beam_size, alpha in settings:
        search(recorder.look, bos_id, eos_id, max_len, beam_size=beam_size, alpha=alpha)
    facts = {"source": source, "space": space, "max_len": max_len}
    return facts | {"beam_sizes": [*beam_sizes], "alphas": [*map(float, alphas)]} | recorder.as_data(bos_id, eos_id)


class _Recorder:
    """Asks for one prefix after another and keeps what it was told."""

    def __init__(self, next_log_probs: Callable[[list[int]], Any], bos_id: int, tokens: Sequence[str], top: int):
        self.next_log_probs, self.bos_id, self.tokens, self.top = next_log_probs, bos_id, tokens, top
        self.seen: dict[Prefix, list[tuple[int, float]]] = {}

    def look(self, prefix: Prefix) -> list[tuple[int, float]]:
        """The likeliest next tokens of a prefix, with rounded log-probabilities."""
        if prefix not in self.seen:
            given = torch.as_tensor(self.next_log_probs(list(prefix)), dtype=torch.float64).detach().cpu()
            if given.shape != (len(self.tokens),) or not (given <= 1e-4).all():
                raise ValueError(
                    f"next_log_probs must give log-probabilities of shape (vocab={len(self.tokens)},), none above 0, "
                    f"got shape {tuple(given.shape)}, largest {given.max().item() if given.numel() else None}"
                )
            self.seen[prefix] = self._likeliest(given)
        return self.seen[prefix]

    def _likeliest(self, given: Tensor) -> list[tuple[int, float]]:
        allowed = given.clone()
        allowed[self.bos_id] = -math.inf
        values, ids = allowed.sort(descending=True, stable=True)
        pairs = zip(ids[: self.top].tolist(), values[: self.top].tolist(), strict=True)
        return [(token, min(0.0, round(value, DIGITS))) for token, value in pairs if value > -math.inf]

    def as_data(self, bos_id: int, eos_id: int) -> dict[str, Any]:
        """One entry for each prefix, parents first; tokens by their place in a list of those that occur."""
        prefixes = sorted(self.seen)
        used = {token for pairs in self.seen.values() for token, _ in pairs}
        order = [bos_id, eos_id, *sorted(used - {bos_id, eos_id})]
        number = {token: place for place, token in enumerate(order)}
        place = {prefix: index for index, prefix in enumerate(prefixes)}
        return {
            "tokens": [str(self.tokens[token]) for token in order],
            "parent": [place.get(prefix[:-1], -1) for prefix in prefixes],
            "token": [number[prefix[-1]] for prefix in prefixes],
            "next": [[number[token] for token, _ in self.seen[prefix]] for prefix in prefixes],
            "log_probs": [[value for _, value in self.seen[prefix]] for prefix in prefixes],
            "rest": [_rest(self.seen[prefix]) for prefix in prefixes],
        }


def record_model(
    model: Any, source_ids: Sequence[int], bos_id: int, eos_id: int, tokens: Sequence[str], max_len: int, **options: Any
) -> dict[str, Any]:
    """`record_search_tree` of a Transformer that reads one sentence; padding and the begin token are never chosen.

    Args:
        model: runs in evaluation mode here; its mode is put back.
        source_ids: the sentence that it reads, ids (source_seq,).
        options: `beam_sizes`, `top`, `alphas`, `source`, `space` of `record_search_tree`.
    """
    device = device_of(model)
    with torch.no_grad(), evaluation_mode(model):
        source = torch.as_tensor(source_ids, dtype=torch.long, device=device).reshape(1, -1)  # (1, source_seq)
        memory = model.encode(source)

        def next_log_probs(prefix: list[int]) -> Tensor:
            target = torch.tensor([prefix], device=device)
            logits = model.project(model.decode(target, memory, source)[:, -1:])[0, 0]  # (vocab,)
            logits[[model.config.pad_id, bos_id]] = -math.inf
            return logits.log_softmax(dim=-1)

        return record_search_tree(next_log_probs, bos_id, eos_id, tokens, max_len, **options)


def translation_tree(opening: Opening) -> dict[str, Any]:
    """What a figure shows of a sentence before the page has its model."""
    english, french = opening.vocabularies
    tokens = [french.word(index) for index in range(len(french))]
    longest = min(LONGEST, opening.model.config.max_len)
    return record_model(
        opening.model, english.encode(opening.words), BOS_ID, EOS_ID, tokens, longest, source=opening.sentence
    )


def _rest(pairs: Sequence[tuple[int, float]]) -> float:
    """The probability of all tokens that are not kept."""
    return max(0.0, round(1 - math.fsum(math.exp(value) for _, value in pairs), DIGITS))


def hand_tree(max_len: int = 8) -> dict[str, Any]:
    """The tree of the made-up language."""

    def next_log_probs(prefix: list[int]) -> list[float]:
        words = tuple(HAND_TOKENS[token] for token in prefix)
        known = next(words[at:] for at in range(len(words)) if words[at:] in HAND_LANGUAGE)
        row = HAND_LANGUAGE[known]
        return [math.log(row[word]) if word in row else -math.inf for word in HAND_TOKENS]

    return record_search_tree(next_log_probs, 0, 1, HAND_TOKENS, max_len)


def _check(
    bos_id: int,
    eos_id: int,
    tokens: Sequence[str],
    max_len: int,
    beam_sizes: Sequence[int],
    alphas: Sequence[float],
    top: int,
) -> None:
    check_index("bos_id", bos_id, len(tokens))
    check_index("eos_id", eos_id, len(tokens))
    if bos_id == eos_id:
        raise ValueError(f"bos_id and eos_id must differ, got {bos_id} for both")
    check_positive_integer("max_len", max_len, minimum=2)
    if not beam_sizes or not alphas:
        raise ValueError(f"beam_sizes and alphas must not be empty, got {beam_sizes!r} and {alphas!r}")
    for size in beam_sizes:
        check_positive_integer("beam_sizes", size)
    for alpha in alphas:
        if alpha != 0:
            check_number("alphas", alpha)
    check_positive_integer("top", top)
    if top <= max(beam_sizes):
        raise ValueError(f"top must be more than the widest beam, {max(beam_sizes)}, got {top}")
