"""What a decoder stepper shows: a tree of translations, each step with its attention and its likeliest words.

A node is one input of the decoder: the begin token and some words. It keeps what the newest position did there.
"""

from collections.abc import Iterator, Sequence
from typing import Any

import torch
from torch import Tensor

from transformer_edu.data.vocabulary import BOS_ID, EOS_ID, PAD_ID
from transformer_edu.inspection.record import record_attention
from transformer_edu.support.modes import evaluation_mode
from transformer_edu.widgets.inputs import check_recording, check_sentence, check_translator

UNIT = 1e-4  # all numbers of a node are whole multiples of it
SHOWN_DIMENSIONS = 4  # of the newest position's output vector
MAX_INPUT = 16  # tokens of the decoder's input, the begin token counted
COLUMNS = ("parent", "word", "self", "cross", "output", "next", "p")  # a list each, with an entry for every node
FACTS = ("source", "words", "translation", "d_model", "unit", "largest_change", "more")

Prefix = tuple[int, ...]  # ids of the decoder's input, the begin token first


def record_branches(translator: Any, sentence: str, *, width: int = 5, also: Sequence[str] = ()) -> dict[str, Any]:
    """The tree of translations of one sentence, as plain JSON values.

    The model writes the sentence greedily; at each of its steps the `width` likeliest words are tried in turn, and each
    is continued greedily to its end. The same is done along the path that begins with each text in `also`.

    Returns:
        `source`: the words read. `translation`: the greedy one. `d_model`: length of an output vector. `words`: all
        words of the tree. `unit`: what the whole numbers of a node count. `largest_change`: how far the decoder's
        output at an earlier position ever moved when a word was appended. Then one list each, with an entry for every
        node: `parent` (its place; -1 for the first), `word` (the newest input), `self` and `cross` (for each layer the
        newest position's weights, mean of the heads), `output` (the first four numbers of its output vector), `next`
        and `p` (likeliest next words, and their probabilities). Last `more`: other words tried, by node: [word,
        probability, place among all that may be written].
    """
    recorder = _Recorder(translator, sentence)
    starts = [(BOS_ID,), *((BOS_ID, *recorder.target_ids(text)) for text in also)]
    with torch.no_grad(), evaluation_mode(recorder.model), record_attention(recorder.model) as recorder.maps:
        for start in starts:
            recorder.explore(start, width)
    return recorder.as_data(width)


class _Recorder:
    """Runs the decoder on one prefix after another and keeps what it saw."""

    def __init__(self, translator: Any, sentence: str) -> None:
        check_translator(translator)
        self.model, self.french = translator.model, translator.target_vocabulary
        self.words = check_sentence("sentence", sentence, translator.source_vocabulary)
        self.source = torch.tensor([translator.source_vocabulary.encode(self.words)])  # (1, source_seq)
        self.seen: dict[Prefix, dict[str, Any]] = {}
        self.maps: dict[str, Tensor] = {}  # attention weights of the latest pass, by layer
        with torch.no_grad(), evaluation_mode(self.model):
            self.memory = self.model.encode(self.source)

    def target_ids(self, text: str) -> list[int]:
        """Ids of the words that a branch is made to begin with."""
        words = check_sentence("also", text, self.french, MAX_INPUT - 1)
        ids: list[int] = self.french.encode(words)
        return ids

    def explore(self, start: Prefix, width: int) -> None:
        """The greedy path from `start`, and at each of its steps each of the likeliest words, followed greedily."""
        for cut in range(1, len(start)):
            self.look(start[:cut])
        for prefix in list(self.follow(start)):
            for word in self.ranked(prefix)[1:width]:
                list(self.follow((*prefix, word)))

    def follow(self, prefix: Prefix) -> Iterator[Prefix]:
        """Every prefix on the greedy way from this one to the end."""
        while prefix[-1] != EOS_ID and len(prefix) <= MAX_INPUT:
            yield prefix
            prefix = (*prefix, self.ranked(prefix)[0])

    def ranked(self, prefix: Prefix) -> list[int]:
        """Ids of the next words, likeliest first; never padding or the begin token."""
        probabilities: Tensor = self.look(prefix)["probabilities"]
        order: list[int] = probabilities.argsort(descending=True).tolist()
        return [index for index in order if index not in (PAD_ID, BOS_ID)]

    def look(self, prefix: Prefix) -> dict[str, Any]:
        """What the decoder does with this input: probabilities (vocab), output (seq, d_model), attention maps."""
        if prefix not in self.seen:
            output = self.model.decode(torch.tensor([prefix]), self.memory, self.source)
            probabilities = self.model.project(output[:, -1:])[0, 0].softmax(dim=-1)
            self.seen[prefix] = {"output": output[0], "probabilities": probabilities, "maps": dict(self.maps)}
        return self.seen[prefix]

    def as_data(self, width: int) -> dict[str, Any]:
        """The tree; parents come before their children."""
        prefixes = sorted(self.seen)
        place = {prefix: index for index, prefix in enumerate(prefixes)}
        tried = {prefix: self.ranked(prefix)[:width] for prefix in prefixes}
        used = sorted({word for prefix in prefixes for word in (prefix[-1], *tried[prefix])})
        number = {word: index for index, word in enumerate(used)}
        greedy = [*self.follow((BOS_ID,))][-1]
        return {
            "source": self.words,
            "translation": self.french.decode(greedy),
            "d_model": self.model.config.d_model,
            "unit": UNIT,
            "largest_change": self.largest_change(),
            "words": [self.french.word(word) for word in used],
            "parent": [place.get(prefix[:-1], -1) for prefix in prefixes],
            "word": [number[prefix[-1]] for prefix in prefixes],
            "self": [self.weights(prefix, "self") for prefix in prefixes],
            "cross": [self.weights(prefix, "cross") for prefix in prefixes],
            "output": [_units(self.look(prefix)["output"][-1, :SHOWN_DIMENSIONS]) for prefix in prefixes],
            "next": [[number[word] for word in tried[prefix]] for prefix in prefixes],
            "p": [_units(self.look(prefix)["probabilities"][tried[prefix]]) for prefix in prefixes],
            "more": self.more(place, number, tried),
        }

    def more(self, place: dict[Prefix, int], number: dict[int, int], tried: dict[Prefix, list[int]]) -> dict[str, Any]:
        """Words tried that are not among the likeliest, by the place of their node: [word, probability, place]."""
        found: dict[str, Any] = {}
        for *start, word in place:
            prefix = tuple(start)
            if prefix in tried and word not in tried[prefix]:
                probability = _units(self.look(prefix)["probabilities"][[word]])[0]
                entry = [number[word], probability, self.ranked(prefix).index(word) + 1]
                found.setdefault(str(place[prefix]), []).append(entry)
        return found

    def weights(self, prefix: Prefix, kind: str) -> list[list[int]]:
        """For each layer the newest position's weights, mean of the heads."""
        maps = self.look(prefix)["maps"]
        layers = len(self.model.decoder.layers)
        return [_units(maps[f"decoder.{layer}.{kind}"][0, :, -1].mean(dim=0)) for layer in range(layers)]

    def largest_change(self) -> float:
        """Over all nodes: how much the outputs of earlier positions moved when the last word was appended."""
        changes = [
            (look["output"][:-1] - self.seen[prefix[:-1]]["output"]).abs().max().item()
            for prefix, look in self.seen.items()
            if prefix[:-1] in self.seen
        ]
        return float(f"{max(changes, default=0.0):.1e}")


def _units(values: Tensor) -> list[int]:
    """Numbers as whole multiples of UNIT."""
    return [round(value / UNIT) for value in values.tolist()]


def check_branches(given: Any) -> dict[str, Any]:
    """A tree of translations with all that the figure needs."""
    return check_recording("branches", given, (*FACTS, *COLUMNS), "record_branches")
