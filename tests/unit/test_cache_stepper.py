"""The cache stepper as a Python object: its keys are the model's, and its words count rows both ways."""

import pytest
import torch

from transformer_edu import RUNNING_SENTENCE, RUNNING_TRANSLATION, pretrained, recordings
from transformer_edu.widgets import CacheStepper
from transformer_edu.widgets.cache_stepper_data import largest_change, rows_of_each_step, without_mask

SHIPPED = pretrained.load_grammar()
EXAMPLE = {"step": 1, "cached": False, "token": 0, "layer": 0, "length": 512}
SAYS = [
    ({}, "with the cache. Step 6 of 8 reads “ne” and writes “dort”: 4 rows are computed with the cache, 38 without;"),
    ({}, "so far 38 and 168. The cache of 2 layers holds 3,328 numbers. The key of “petit” is the same"),
    ({"step": 8, "cached": False, "token": 0}, "without the cache. Step 8 of 8 reads “pas” and writes “the end”"),
    ({"step": 8, "cached": False, "token": 0}, "The key of “start” is the same"),
]


def test_shown_keys_never_change_with_the_mask_and_change_without_it_from_layer_2_on():
    data = recordings.load("cached-keys")["data"]
    steps, moved = len(data["reads"]), set()
    for token in range(steps):
        for layer in (0, 1):
            seen = {
                kind: {tuple(data[kind][layer][step][token]) for step in range(token, steps)}
                for kind in ("masked", "unmasked")
            }
            assert len(seen["masked"]) == 1
            if len(seen["unmasked"]) > 1:
                moved.add((layer, token))
    assert moved == {(1, token) for token in range(6)}  # *dort* pays *pas*, the only word after it, no attention
    assert data["largest_change"] < 1e-5 < 1 < data["largest_change_without_mask"]


def test_largest_change_is_measured_over_all_keys_and_values():
    source = torch.tensor([SHIPPED.source_vocabulary.encode(RUNNING_SENTENCE)])
    target = torch.tensor([SHIPPED.target_vocabulary.encode(RUNNING_TRANSLATION, add_bos=True)])
    rows = rows_of_each_step(SHIPPED.model, source, target)
    assert rows[3].keys() == {"0.key", "0.value", "1.key", "1.value"}
    assert rows[3]["1.value"].shape == (4, 64)
    before = largest_change(rows)
    rows[5]["1.value"][2, 60] += 3.0
    assert before < 1e-5 < largest_change(rows) == pytest.approx(3.0, abs=1e-4)
    with without_mask(layer.self_attention for layer in SHIPPED.model.decoder.layers):
        assert largest_change(rows_of_each_step(SHIPPED.model, source, target)) > 1
    assert largest_change(rows_of_each_step(SHIPPED.model, source, target)) == before
    assert largest_change(rows[:1]) == 0


def test_any_translator_and_sentence():
    figure = CacheStepper.of_translator(SHIPPED, "a red hen sings")
    assert figure.recorded["reads"] == ["<bos>", "une", "poule", "rouge", "chante"]
    assert (figure.step, figure.token) == (5, 2)
