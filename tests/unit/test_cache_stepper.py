"""The cache stepper as a Python object: its recording, its words, and what it refuses."""

import gzip
import json
import re
from typing import Any

import pytest
import torch

from transformer_edu import RUNNING_SENTENCE, RUNNING_TRANSLATION, pretrained, recordings
from transformer_edu.experiments.cached_keys import record_cached_keys
from transformer_edu.widgets import CacheStepper, assets, make_figure
from transformer_edu.widgets.cache_stepper_data import largest_change, record_keys, rows_of_each_step, without_mask

SHIPPED = pretrained.load_grammar()


def two_steps() -> dict[str, Any]:
    """A decoder of one layer that reads two tokens, d_model 4."""
    return {
        "source": ["the", "cat"],
        "reads": ["<bos>", "chat"],
        "writes": ["chat", "<eos>"],
        "d_model": 4,
        "unit": 0.1,
        "largest_change": 0.0,
        "largest_change_without_mask": 1.0,
        "masked": [[[[1, 2, 3, 4]], [[1, 2, 3, 4], [4, 3, 2, 1]]]],
        "unmasked": [[[[1, 2, 3, 4]], [[2, 2, 3, 4], [4, 3, 2, 1]]]],
    }


def test_default_has_read_six_tokens_of_the_running_sentence_and_compares_petit() -> None:
    figure = CacheStepper()
    data = figure.recorded
    assert data["source"] == RUNNING_SENTENCE.split()
    assert data["reads"] == ["<bos>", *RUNNING_TRANSLATION.split()]
    assert data["writes"] == [*RUNNING_TRANSLATION.split(), "<eos>"]
    assert (figure.step, figure.cached, figure.layer, data["reads"][figure.token]) == (6, True, 1, "petit")


def test_alt_text_counts_both_ways() -> None:
    told = CacheStepper().alt_text()
    assert "with the cache. Step 6 of 8 reads “ne” and writes “dort”: 4 rows are computed with the cache, 38" in told
    assert "so far 38 and 168. The cache of 2 layers holds 3,328 numbers. The key of “petit” is the same" in told
    small = CacheStepper(two_steps(), cached=False).alt_text()
    assert "without the cache. Step 2 of 2 reads “chat” and writes “end”: 4 rows" in small
    assert "12 without; so far 12 and 20. The cache of 1 layer holds 32 numbers. The key of “chat”" in small


def test_recording_is_what_the_shipped_model_does_now() -> None:
    stored, fresh = recordings.load("cached-keys")["data"], record_cached_keys()
    assert fresh.keys() == stored.keys()
    for key in ("source", "reads", "writes", "d_model", "unit"):
        assert fresh[key] == stored[key]
    for kind in ("masked", "unmasked"):
        for one, other in zip(flat(stored[kind]), flat(fresh[kind]), strict=True):
            assert abs(one - other) <= 1  # a last digit may round either way on another processor


def flat(nested: Any) -> list[int]:
    return [number for one in nested for number in flat(one)] if isinstance(nested, list) else [nested]


def test_recorded_keys_are_those_that_the_cache_holds() -> None:
    data = recordings.load("cached-keys")["data"]
    model, ids = SHIPPED.model, SHIPPED.target_vocabulary.encode(RUNNING_TRANSLATION, add_bos=True)
    source, cache = torch.tensor([SHIPPED.source_vocabulary.encode(RUNNING_SENTENCE)]), model.start_cache()
    with torch.no_grad():
        memory = model.encode(source)
        for step, index in enumerate(ids):
            model.decode(torch.tensor([[index]]), memory, source, cache)
            for layer in (0, 1):
                held = cache.layers[layer].self_attention.key[0, 0, :, :4]  # of head 1: the first numbers of a key
                shown = torch.tensor(data["masked"][layer][step]) * data["unit"]
                torch.testing.assert_close(held, shown, atol=1e-4, rtol=0)


def test_shown_keys_never_change_with_the_mask_and_change_without_it_from_layer_2_on() -> None:
    data = recordings.load("cached-keys")["data"]
    steps = len(data["reads"])
    moved = set()
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


def test_largest_change_is_measured_over_all_keys_and_values() -> None:
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


def test_figure_stays_small() -> None:
    own = CacheStepper().html() + assets.module_source("cache-stepper").removeprefix(assets.core_source())
    own += (assets.FOLDER / "css/cache-stepper.css").read_text(encoding="utf-8")
    assert len(gzip.compress(own.encode())) <= 40_000


def test_state_makes_the_same_figure_again() -> None:
    figure = CacheStepper(step=3, cached=False, token=0, layer=0, length=512)
    assert make_figure("cache-stepper", **figure.state()).html() == figure.html()
    json.dumps(figure.state(), allow_nan=False)


def test_any_translator_and_sentence() -> None:
    figure = CacheStepper.of_translator(SHIPPED, "a red hen sings", step=2)
    assert figure.recorded["reads"] == ["<bos>", "une", "poule", "rouge", "chante"]
    assert (figure.step, figure.token) == (2, 2)
    assert CacheStepper.of_translator(SHIPPED, "a red hen sings").step == 5


@pytest.mark.parametrize("sentence", ["the small zebra sleeps", " "])
def test_words_that_the_model_does_not_know_are_named(sentence: str) -> None:
    named = "['zebra']" if "zebra" in sentence else "' '"
    with pytest.raises(
        ValueError, match=re.escape(f"sentence must consist of words that the model knows, got {named}")
    ):
        record_keys(SHIPPED, sentence)


BAD: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "recorded must have source, reads, .*, got none of writes, unit": ({"writes": None, "unit": None}, {}),
    "as many 'reads' as 'writes', one for each step, got 2 and 1": ({"writes": ["chat"]}, {}),
    "as many 'reads' as 'writes', one for each step, got 0 and 0": ({"reads": [], "writes": []}, {}),
    r"recorded\['masked'\]\[0\] must hold 1 key at step 1, .*, got \[1\]": ({"masked": [[[[1, 2, 3, 4]]]]}, {}),
    "as many layers 'masked' as 'unmasked', got 1 and 0": ({"unmasked": []}, {}),
    "as many layers 'masked' as 'unmasked', got 0 and 0": ({"masked": [], "unmasked": []}, {}),
    "step must be from 1 to 2, got 3": ({}, {"step": 3}),
    "step must be at least 1, got 0": ({}, {"step": 0}),
    "token must be from 0 to 1, got 2": ({}, {"token": 2}),
    "layer must be from 0 to 0, got 1": ({}, {"layer": 1}),
    "length must be at least 8, got 7": ({}, {"length": 7}),
    "length must be from 8 to 512, got 513": ({}, {"length": 513}),
}


@pytest.mark.parametrize("message", BAD)
def test_bad_values_are_named(message: str) -> None:
    changes, options = BAD[message]
    given = {key: value for key, value in (two_steps() | changes).items() if value is not None}
    with pytest.raises(ValueError, match=message):
        CacheStepper(given, **options)


@pytest.mark.usefixtures("as_readers_run_it")
def test_wrong_types_are_named() -> None:
    with pytest.raises(TypeError, match="recorded must be a dict, as record_keys makes it, got list"):
        CacheStepper([1])  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="cached must be True or False, got 1"):
        CacheStepper(two_steps(), cached=1)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="step must be a whole number"):
        CacheStepper(two_steps(), step="2")  # type: ignore[arg-type]
