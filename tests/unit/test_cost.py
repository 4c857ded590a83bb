"""The counts of decoding with and without a cache, against sums of steps and against the model at work."""

from collections import Counter
from contextlib import contextmanager
from dataclasses import astuple
from typing import Any

import pytest
import torch

from tests.properties.models import BOS, EOS, force_scores, small_model
from tests.unit.conftest import refusals
from transformer_edu import greedy_search
from transformer_edu.decoding.cost import DecodingCost, cache_size, decoding_cost, step_cost

PROJECTIONS = ("query_projection", "key_projection", "value_projection")


@contextmanager
def counted(model):
    """Rows through every projection of every decoder layer ("0.self.key"), and scores of a head ("0.self.scores")."""
    counts: Counter[str] = Counter()
    hooks = []

    def count_rows(name):
        return lambda _, inputs, output: counts.update({name: inputs[0].shape[0] * inputs[0].shape[1]})

    def count_scores(name):
        return lambda weights: counts.update({name: weights[0, 0].numel()})

    for number, layer in enumerate(model.decoder.layers):
        for kind in ("self", "cross"):
            attention: Any = getattr(layer, f"{kind}_attention")
            attention.recorder = count_scores(f"{number}.{kind}.scores")
            for projection in PROJECTIONS:
                name = f"{number}.{kind}.{projection.removesuffix('_projection')}"
                hooks.append(getattr(attention, projection).register_forward_hook(count_rows(name)))
    try:
        yield counts
    finally:
        for hook in hooks:
            hook.remove()
        for layer in model.decoder.layers:
            layer.self_attention.recorder = layer.cross_attention.recorder = None


def work_of(counts, layer):
    """What a layer was seen to do; the three projections of self-attention, and the others, must agree."""
    own = {counts[f"{layer}.{name}"] for name in ("self.query", "self.key", "self.value", "cross.query")}
    memory = {counts[f"{layer}.cross.{name}"] for name in ("key", "value")}
    assert len(own) == len(memory) == 1
    return DecodingCost(own.pop(), memory.pop(), counts[f"{layer}.self.scores"], counts[f"{layer}.cross.scores"])


@torch.no_grad()
def decode_prefixes(model, source, steps):
    """Decode without a cache, the whole prefix at every step; the counts do not depend on the words."""
    memory = model.encode(source)
    for length in range(1, steps + 1):
        model.decode(torch.full((1, length), 6), memory, source)


@pytest.mark.parametrize("cached", [True, False])
@pytest.mark.parametrize(("steps", "words"), [(1, 1), (1, 5), (2, 3), (5, 1), (11, 4)])
def test_counts_are_what_the_model_does(steps, words, cached):
    model = force_scores(small_model(num_layers=3), {6: 5.0})  # never ends by itself
    source = torch.full((1, words), 4)
    with counted(model) as counts:
        if cached:
            greedy_search(model, source, BOS, EOS, steps + 1)
        else:
            decode_prefixes(model, source, steps)
    for layer in range(3):
        assert work_of(counts, layer) == decoding_cost(steps, words, cached)


@pytest.mark.parametrize("cached", [True, False])
def test_totals_are_the_sums_of_the_steps(cached):
    for words in (1, 7, 30):
        sums = (0, 0, 0, 0)
        for step in range(1, 41):
            sums = tuple(a + b for a, b in zip(sums, astuple(step_cost(step, words, cached)), strict=True))
            total = decoding_cost(step, words, cached)
            assert astuple(total) == sums
            assert total.projected_rows == 4 * sums[0] + 2 * sums[1]
            assert total.scores == sums[2] + sums[3]


@torch.no_grad()
@pytest.mark.parametrize(("length", "words"), [(8, 7), (1, 2)])
def test_cache_holds_as_many_numbers_as_counted(length, words):
    model, source = small_model(num_layers=3), torch.full((1, words), 4)
    memory, cache = model.encode(source), model.start_cache()
    for _ in range(length):
        model.decode(torch.tensor([[6]]), memory, source, cache)
    halves = [half for layer in cache.layers for half in (layer.self_attention, layer.cross_attention)]
    held = sum(tensor.numel() for half in halves for tensor in (half.key, half.value))
    assert held == cache_size(length, words, model.config.d_model, model.config.num_layers)


test_bad_arguments_are_named = refusals(
    (lambda: decoding_cost(0, 7, True), ValueError, "length must be at least 1, got 0"),
    (lambda: decoding_cost(1, -1, True), ValueError, "source_length must be at least 1, got -1"),
    (lambda: step_cost(1, 7, "no"), TypeError, "cached must be True or False, got 'no'"),
    (lambda: cache_size(1, 1, 64, 0), ValueError, "num_layers must be at least 1, got 0"),
    (lambda: cache_size(1, 1, "64", 1), TypeError, "d_model must be a whole number"),
)
