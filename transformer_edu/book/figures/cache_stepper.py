"""The key-value cache at work: which rows a decoder layer computes at each step, and which it has kept.

A step is one input of the decoder, a token, for which it writes the next one.
"""

from types import SimpleNamespace
from typing import Any, ClassVar

import torch
import traitlets

from transformer_edu.book.figures.base import spoken
from transformer_edu.book.figures.fields import index, made, switch, whole
from transformer_edu.book.figures.sentence_data import Opening, SentenceFigure, sentence_field, translate
from transformer_edu.decoding.cost import cache_size, decoding_cost
from transformer_edu.inspect.changes import changed
from transformer_edu.support.cache import DecoderCache
from transformer_edu.support.shapes import Tensor

SHOWN_DIMENSIONS = 4  # of a key
MAX_STEPS = 16
DIGITS = 5  # after the point, of a key
MASKS = {"masked": True, "unmasked": False}
DEFAULT_TOKEN = 2  # "petit"
SHORTEST, LONGEST = 8, 512  # of the slider


@torch.no_grad()
def cached_rows(opening: Opening) -> dict[str, Any]:
    """The decoder's keys and values while it translates the sentence, kept in its cache and computed again.

    Returns:
        `source`: the words read. `reads` and `writes`: the decoder's newest input and its output at each step. `kept`:
        [layer][token] the first four numbers of the key that the cache keeps, from self-attention. Computed again at
        each step from all tokens so far, with the causal mask (`masked`) and without it (`unmasked`), for each step
        `keys`: [layer][token] the same four numbers, and `moved`: [layer][token] how far any number of the token's key
        or value then is from the one that is kept.
    """
    model, words = opening.model, opening.vocabularies[1]
    source, ids = translate(model, opening.vocabularies, opening.words, MAX_STEPS)
    memory, steps, cache = model.encode(source), ids.shape[1] - 1, model.start_cache()
    for step in range(steps):
        model.decode(ids[:, step : step + 1], memory, source, cache)
    kept = rows_of(cache)
    again: dict[str, list[dict[str, Any]]] = {name: [] for name in MASKS}
    for name, masked in MASKS.items():
        with changed(model, unmasked=not masked):
            for step in range(1, steps + 1):
                model.decode(ids[:, :step], memory, source, fresh := model.start_cache())
                rows = rows_of(fresh)
                moved = (rows - kept[:, :, :step]).abs().amax(dim=(1, 3))  # (layers, tokens)
                again[name].append({"keys": _shown(rows), "moved": _rounded(moved, 6)})
    written = [words.word(token) for token in ids[0].tolist()]
    return {"source": opening.words, "reads": written[:-1], "writes": written[1:], "kept": _shown(kept), **again}


def rows_of(cache: DecoderCache) -> Tensor:
    """Keys and values that a cache holds of one sentence's tokens: (layers, 2, tokens, d_model)."""
    layers = [torch.stack(layer.self_attention.kept()) for layer in cache.layers]  # (2, 1, heads, tokens, d_head) each
    return torch.stack(layers)[:, :, 0].transpose(2, 3).flatten(3)


def _shown(rows: Tensor) -> Any:
    """[layer][token] the first numbers of the keys."""
    return _rounded(rows[:, 0, :, :SHOWN_DIMENSIONS], DIGITS)


def _rounded(values: Tensor, digits: int) -> Any:
    """Nested lists of a tensor's numbers."""
    return [_rounded(value, digits) for value in values] if values.dim() else round(values.item(), digits)


def _steps(so: SimpleNamespace) -> int:
    """Of the sentence."""
    return len(so.recorded["reads"])


class CacheStepper(SentenceFigure):
    """A translation is written step by step, with the cache and without: a row is computed, kept, or computed again.

    Args:
        sentence: at most twelve words that the model knows.
        step: the step shown first, counts from 1; None is the last.
        token: whose key is compared, kept and computed again, counts from 0, the begin token; None is the third.
        layer: of which decoder layer the keys are, counts from 0; None is the last.
        masked: whether what is computed again has the causal mask.
        length: where the slider for longer sentences stands, in steps, 8 to 512.
        model, vocabularies: as of every `SentenceFigure`.

    Raises:
        TypeError, ValueError: the sentence has an unknown word, is empty or too long, or a number is out of range.
    """

    figure_name: ClassVar[str] = "cache-stepper"

    sentence = sentence_field()
    recorded = made(traitlets.Dict(), lambda so: cached_rows(so.opened))
    step = whole(_steps, 1, _steps)
    token = index(lambda so: min(DEFAULT_TOKEN, _steps(so) - 1), _steps)
    layer = index(lambda so: so.opened.model.config.num_layers - 1, lambda so: so.opened.model.config.num_layers)
    masked = switch(True)
    length = whole(64, SHORTEST, LONGEST)
    size = made(traitlets.Int(), lambda so: so.opened.model.config.d_model)

    def alt_text(self) -> str:
        """The step, the rows computed both ways, the size of the cache, and whether the key comes out the same."""
        data, source_length = self.recorded, len(self.recorded["source"])
        steps, layers = len(data["reads"]), len(data["kept"])
        shown = (data["reads"][self.step - 1], data["writes"][self.step - 1], data["reads"][self.token])
        reads, writes, compared = map(spoken, shown)
        rows = [decoding_cost(self.step, source_length, cached=way).target_rows for way in (True, False)]
        size = cache_size(self.step, source_length, self.size, layers)
        told = f"The key of “{compared}”, computed again, is the one that was kept."
        if not self.masked:
            told = "Without the causal mask, keys that are computed again need not be those that were kept."
        return (
            f"Tokens down the side, steps across, with the cache and without: a cell is filled where a token's row is "
            f"computed. Step {self.step} of {steps} reads “{reads}” and writes “{writes}”. With the cache one row is "
            f"computed at each step, {rows[0]} so far; without it all rows again, {rows[1]} so far. The cache of "
            f"{layers} layer{'s' if layers > 1 else ''} holds {size:,} numbers. {told}"
        )
