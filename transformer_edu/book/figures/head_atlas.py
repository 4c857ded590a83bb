"""An atlas of a model's heads: all maps side by side for the reader's sentence, and what is lost without a head."""

from collections.abc import Mapping
from types import SimpleNamespace
from typing import Any, ClassVar

import torch
import traitlets

from transformer_edu.book.figures.base import spoken
from transformer_edu.book.figures.fields import choice, field, made
from transformer_edu.book.figures.sentence_data import SentenceFigure, sentence_field, translate
from transformer_edu.data.vocabulary import BOS_ID, EOS_ID, PAD_ID, Vocabulary
from transformer_edu.decoding.greedy import greedy_search
from transformer_edu.inspect.changes import KINDS, Changes, changed
from transformer_edu.inspect.heads import attention_distance, attention_entropy, head_names, keys_allowed
from transformer_edu.inspect.record import record_attention
from transformer_edu.support.shapes import Int, Tensor
from transformer_edu.support.validation import check_choice
from transformer_edu.transformer import Transformer

WRITTEN = 14  # words of the model's translation that are looked at
DECIMALS = 4
# Either of two heads tells the model that "small" belongs to a feminine noun: one may go, both may not.
SENTENCE = "my small white turtles sleep"
REDUNDANT = ("encoder.1.self.0", "decoder.1.cross.1")


def check_heads(heads: Any, names: list[str]) -> dict[str, str]:
    """Which heads are changed, and how: each a head of the model, each "off" or "uniform"."""
    if not isinstance(heads, Mapping):
        raise TypeError(f"heads must be a dict from names of heads to 'off' or 'uniform', got {heads!r}")
    for name, how in heads.items():
        check_choice("heads", name, tuple(names))
        check_choice(f"heads[{name!r}]", how, KINDS)
    return dict(heads)


@torch.no_grad()
def atlas(
    model: Transformer, vocabularies: tuple[Vocabulary, Vocabulary], words: list[str], heads: Mapping[str, str]
) -> dict[str, Any]:
    """All heads of a model at work on one sentence, some of them changed.

    The model translates alone, without changes; then it is given its own translation word by word, with the changes.

    Args:
        model, vocabularies: of words.
        words: the sentence.
        heads: "off" or "uniform" for heads that are changed.

    Returns:
        `names` of all heads. `written`: the translation with its end, at most 14 words. `then`: what it writes with
        the changes. `maps` of each head by its name, (written or source, keys). `effects`, head by head: by how much
        the mean −ln p of a written word is higher with this head off than with it on, the others as they are, in
        nats. `breaks`: whether a word of the translation is not the likeliest any more with this head off.
    """
    source, ids = translate(model, vocabularies, words, WRITTEN)
    names = head_names(model)
    with changed(model, Changes(heads=heads)), record_attention(model) as maps:
        then = greedy_search(model, source, BOS_ID, EOS_ID)
        maps.clear()
        model(source, ids[:, :-1])
    without = {name: _lost(model, source, ids, {**heads, name: "off"}) for name in names}
    present = _lost(model, source, ids, heads)
    with_it = {name: _lost(model, source, ids, {n: how for n, how in heads.items() if n != name}) for name in heads}
    rows = {f"{name}.{head}": weights.tolist() for name, part in maps.items() for head, weights in enumerate(part[0])}
    return {
        "source": words,
        "heads": dict(heads),
        "written": [vocabularies[1].word(index) for index in ids[0, 1:].tolist()],
        "then": [vocabularies[1].word(index) for index in then[0, 1:].tolist()],
        "names": names,
        "maps": {name: [[round(weight, DECIMALS) for weight in row] for row in rows[name]] for name in names},
        "effects": [round(without[name][0] - with_it.get(name, present)[0], 6) for name in names],
        "breaks": [without[name][1] for name in names],
    }


def _lost(
    model: Transformer, source: Int[Tensor, "1 src"], ids: Int[Tensor, "1 tgt"], heads: Mapping[str, str]
) -> tuple[float, bool]:
    """The mean −ln p of the words in `ids`, and whether another word is likelier than one of them."""
    with changed(model, Changes(heads=heads)):
        logits = model(source, ids[:, :-1])[0]  # (tgt - 1, vocab)
    nexts = ids[0, 1:]
    loss = torch.nn.functional.cross_entropy(logits, nexts)
    logits[:, [PAD_ID, BOS_ID]] = -torch.inf  # what is never written
    return loss.item(), bool((logits.argmax(dim=-1) != nexts).any())


ORDERS = {"place": "their place", "entropy": "entropy", "distance": "distance", "importance": "importance"}
PLACES = {"encoder.self": "encoder", "decoder.self": "decoder", "decoder.cross": "cross-attention"}


class HeadAtlas(SentenceFigure):
    """All heads of all layers at work on the reader's sentence; any of them can be switched off in the page.

    Args:
        sentence: at most twelve words that the model knows.
        heads: which heads are changed and how: {"encoder.1.self.0": "off"}, or "uniform".
        chosen: the head that is drawn large; None is the one without which the model loses most.
        sort: the order of the small maps: "place", "entropy", "distance" or "importance".
        model, vocabularies: as of every `SentenceFigure`.

    Raises:
        TypeError, ValueError: the sentence has an unknown word, is empty or too long; a head has another name.
    """

    figure_name: ClassVar[str] = "head-atlas"

    sentence = sentence_field(SENTENCE)
    heads = field(traitlets.Dict(), lambda so: {}, lambda _, given, so: check_heads(given, head_names(so.opened.model)))
    recorded = made(traitlets.Dict(), lambda so: _recorded(so))
    chosen = choice(lambda so: _costliest(so.recorded), lambda so: so.recorded["names"])
    sort = choice("place", ORDERS)

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
            f"weights, one for each head, in the order of {ORDERS[self.sort]}. Large: {PLACES[f'{side}.{kind}']}, "
            f"layer {int(layer) + 1}, head {int(head) + 1}: entropy {entropy:.2f} of the most it could have, distance "
            f"{distance:.2f} tokens, importance {self.recorded['effects'][at]:.4f} nats. "
            f"{f'Changed: {off}. ' if off else ''}The model writes: {then}."
        )


def _recorded(so: SimpleNamespace) -> dict[str, Any]:
    return atlas(so.opened.model, so.opened.vocabularies, so.opened.words, so.heads)


def _costliest(recorded: dict[str, Any]) -> str:
    """The head without which the model loses most."""
    return str(max(zip(recorded["effects"], recorded["names"], strict=True), key=lambda pair: pair[0])[1])
