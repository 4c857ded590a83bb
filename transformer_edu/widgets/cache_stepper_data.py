"""What a cache stepper shows: the keys of the decoder's tokens at every step, with and without the causal mask."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor, nn

from transformer_edu.decoding.greedy import greedy_search
from transformer_edu.support.modes import evaluation_mode
from transformer_edu.widgets.inputs import check_recording, check_sentence, check_translator

UNIT = 1e-4  # all numbers of a key are whole multiples of it
SHOWN_DIMENSIONS = 4  # of d_model: the first of head 1
MAX_STEPS = 16
CHANGES = ("largest_change", "largest_change_without_mask")
KEYS = ("source", "reads", "writes", "d_model", "unit", *CHANGES, "masked", "unmasked")

Rows = list[dict[str, Tensor]]  # one entry for each step: by projection, (step, d_model)


def record_keys(translator: Any, sentence: str) -> dict[str, Any]:
    """The decoder's keys while it writes the translation of a sentence, every prefix run whole, as plain JSON values.

    Returns:
        `source`: the words read by the encoder. `reads` and `writes`: the decoder's newest input and its output at
        each step. `d_model`. `unit`: what the whole numbers of a key count. `masked` and `unmasked`:
        [layer][step][position] the first four numbers of that position's key in self-attention, with the causal mask
        and without it. `largest_change` and `largest_change_without_mask`: how far any number of any key or value, in
        any layer, ever moved from the step at which its token was first read.
    """
    check_translator(translator)
    words = check_sentence("sentence", sentence, translator.source_vocabulary)
    french, source = translator.target_vocabulary, torch.tensor([translator.source_vocabulary.encode(words)])
    ids = greedy_search(translator.model, source, french.bos_id, french.eos_id, MAX_STEPS + 1)  # (1, steps + 1)
    written = [french.word(index) for index in ids[0].tolist()]
    masked = rows_of_each_step(translator.model, source, ids[:, :-1])
    with without_mask(layer.self_attention for layer in translator.model.decoder.layers):
        unmasked = rows_of_each_step(translator.model, source, ids[:, :-1])
    return {
        "source": words,
        "reads": written[:-1],
        "writes": written[1:],
        "d_model": translator.model.config.d_model,
        "unit": UNIT,
        "largest_change": largest_change(masked),
        "largest_change_without_mask": largest_change(unmasked),
        "masked": _shown(masked, len(translator.model.decoder.layers)),
        "unmasked": _shown(unmasked, len(translator.model.decoder.layers)),
    }


@torch.no_grad()
def rows_of_each_step(model: Any, source: Tensor, target: Tensor) -> Rows:
    """Keys and values of self-attention for each prefix of `target` (1, steps), computed without a cache.

    Returns:
        For each step a dict with "0.key", "0.value", "1.key", …, by layer: (step, d_model).
    """
    steps: Rows = []
    with evaluation_mode(model):
        memory = model.encode(source)
        for length in range(1, target.shape[1] + 1):
            with _projected_rows(model) as rows:
                model.decode(target[:, :length], memory, source)
            steps.append(rows)
    return steps


@contextmanager
def _projected_rows(model: Any) -> Iterator[dict[str, Tensor]]:
    """While open, what the key and value projections of the decoder's self-attentions put out (the last call's)."""
    rows: dict[str, Tensor] = {}
    hooks = []
    for number, layer in enumerate(model.decoder.layers):
        for kind in ("key", "value"):
            projection = getattr(layer.self_attention, f"{kind}_projection")
            name = f"{number}.{kind}"
            hooks.append(projection.register_forward_hook(lambda _, x, y, name=name: rows.__setitem__(name, y[0])))
    try:
        yield rows
    finally:
        for hook in hooks:
            hook.remove()


@contextmanager
def without_mask(attentions: Any) -> Iterator[None]:
    """While open, every query of these attentions may look at every key, later ones too."""

    def open_all(_: nn.Module, arguments: tuple[Any, ...]) -> tuple[Any, ...]:
        return *arguments[:3], None, *arguments[4:]

    hooks = [attention.register_forward_pre_hook(open_all) for attention in attentions]
    try:
        yield
    finally:
        for hook in hooks:
            hook.remove()


def largest_change(steps: Rows) -> float:
    """How far any number of any row moved after the step at which its token was first read."""
    return max(
        (
            float((later[name][:length] - rows[name]).abs().max())
            for length, rows in enumerate(steps, start=1)
            for later in steps[length:]
            for name in rows
        ),
        default=0.0,
    )


def _shown(steps: Rows, layers: int) -> list[list[list[list[int]]]]:
    """[layer][step][position] the first numbers of each key, as whole multiples of UNIT."""
    keys = [[rows[f"{layer}.key"][:, :SHOWN_DIMENSIONS] for rows in steps] for layer in range(layers)]
    return [[[[round(x / UNIT) for x in row] for row in step.tolist()] for step in layer] for layer in keys]


def check_keys(given: Any) -> dict[str, Any]:
    """A recording with all that the figure needs."""
    return check_recording("recorded", given, KEYS, "record_keys")
