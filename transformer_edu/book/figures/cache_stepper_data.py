"""What a cache stepper opens with: the rows that the decoder's cache keeps, and the same rows computed again.

A step is one input of the decoder, a token, for which it writes the next one.
"""

from typing import Any

import torch
from torch import Tensor

from transformer_edu.book.figures.sentence_data import Opening, translate
from transformer_edu.inspect.changes import changed
from transformer_edu.support.cache import DecoderCache

SHOWN_DIMENSIONS = 4  # of a key
MAX_STEPS = 16
DIGITS = 5  # after the point, of a key
MASKS = {"masked": True, "unmasked": False}


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
    written = [words.word(index) for index in ids[0].tolist()]
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
    return [_rounded(one, digits) for one in values] if values.dim() else round(values.item(), digits)
