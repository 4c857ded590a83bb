"""The counts of decoding with and without a cache, against sums of steps and against the model at work."""

from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import astuple
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from tests.properties.models import BOS, EOS, force_scores, small_model
from transformer_edu import RUNNING_SENTENCE, Transformer, greedy_search, pretrained
from transformer_edu.decoding.cost import DecodingCost, cache_size, decoding_cost, step_cost

SHIPPED = pretrained.load_grammar()
SOURCE = torch.tensor([SHIPPED.source_vocabulary.encode(RUNNING_SENTENCE)])
PROJECTIONS = ("query_projection", "key_projection", "value_projection")


@contextmanager
def counted(model: Transformer) -> Iterator[Counter[str]]:
    """Rows through every projection of every decoder layer ("0.self.key"), and scores of a head ("0.self.scores")."""
    counts: Counter[str] = Counter()
    hooks = []

    def count_rows(name: str) -> Callable[..., None]:
        return lambda _, inputs, output: counts.update({name: inputs[0].shape[0] * inputs[0].shape[1]})

    def count_scores(name: str) -> Callable[[Tensor], None]:
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


def work_of(counts: Counter[str], layer: int) -> DecodingCost:
    """What a layer was seen to do; the three projections of self-attention, and the others, must agree."""
    own = {counts[f"{layer}.{name}"] for name in ("self.query", "self.key", "self.value", "cross.query")}
    memory = {counts[f"{layer}.cross.{name}"] for name in ("key", "value")}
    assert len(own) == len(memory) == 1
    return DecodingCost(own.pop(), memory.pop(), counts[f"{layer}.self.scores"], counts[f"{layer}.cross.scores"])


@torch.no_grad()
def without_cache(model: Transformer, source: Tensor, bos_id: int, eos_id: int, max_len: int) -> Tensor:
    """Greedy search that decodes the whole prefix at every step."""
    memory, ids = model.encode(source), torch.tensor([[bos_id]])
    while ids.shape[1] < max_len and ids[0, -1] != eos_id:
        logits = model.project(model.decode(ids, memory, source))[:, -1]
        logits[:, [model.config.pad_id, bos_id]] = -torch.inf
        ids = torch.cat([ids, logits.argmax(dim=-1, keepdim=True)], dim=1)
    return ids


SEARCHES = {True: greedy_search, False: without_cache}


@pytest.mark.parametrize("cached", SEARCHES)
@pytest.mark.parametrize(("steps", "words"), [(1, 1), (1, 5), (2, 3), (5, 1), (11, 4)])
def test_counts_are_what_any_model_does(steps: int, words: int, cached: bool) -> None:
    model = force_scores(small_model(num_layers=3), {6: 5.0})  # never ends by itself
    with counted(model) as counts:
        ids = SEARCHES[cached](model, torch.full((1, words), 4), BOS, EOS, steps + 1)
    assert ids.shape == (1, steps + 1)
    for layer in range(3):
        assert work_of(counts, layer) == decoding_cost(steps, words, cached)


def test_each_step_alone_is_what_the_model_does() -> None:
    model, cache = SHIPPED.model, SHIPPED.model.start_cache()
    ids = greedy_search(model, SOURCE, BOS, EOS, 20)
    with torch.no_grad():
        memory = model.encode(SOURCE)
        for step in range(1, ids.shape[1]):
            with counted(model) as kept:
                from_cache = model.decode(ids[:, step - 1 : step], memory, SOURCE, cache)
            with counted(model) as whole:
                from_prefix = model.decode(ids[:, :step], memory, SOURCE)
            torch.testing.assert_close(from_cache[:, -1], from_prefix[:, -1], atol=1e-5, rtol=0)
            assert (work_of(kept, 1), work_of(whole, 1)) == (step_cost(step, 7, True), step_cost(step, 7, False))


@pytest.mark.parametrize("cached", [True, False])
def test_totals_are_the_sums_of_the_steps(cached: bool) -> None:
    for words in (1, 7, 30):
        sums = (0, 0, 0, 0)
        for step in range(1, 41):
            sums = tuple(a + b for a, b in zip(sums, astuple(step_cost(step, words, cached)), strict=True))
            total = decoding_cost(step, words, cached)
            assert astuple(total) == sums
            assert total.projected_rows == 4 * sums[0] + 2 * sums[1]
            assert total.scores == sums[2] + sums[3]


def test_cache_holds_as_many_numbers_as_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    for model, source, max_len in ((SHIPPED.model, SOURCE, 20), (small_model(num_layers=3), torch.tensor([[4, 5]]), 6)):
        caches = []
        start = model.start_cache
        with monkeypatch.context() as patch:
            patch.setattr(model, "start_cache", lambda start=start, caches=caches: caches.append(start()) or caches[0])
            greedy_search(model, source, BOS, EOS, max_len)
        halves = [half for layer in caches[0].layers for half in (layer.self_attention, layer.cross_attention)]
        held = sum(tensor.numel() for half in halves for tensor in (half.key, half.value))
        length, words = caches[0].length, source.shape[1]
        assert held == cache_size(length, words, model.config.d_model, model.config.num_layers)


def keys_of_layer_2(model: nn.Module, run: Callable[[], object], stack: str) -> Tensor:
    """Keys (seq, d_model) of self-attention in the second layer of the encoder or decoder while `run` runs."""
    seen: list[Tensor] = []
    projection: Any = getattr(model, stack).layers[1].self_attention.key_projection
    hook = projection.register_forward_hook(lambda _, inputs, output: seen.append(output[0].detach()))
    run()
    hook.remove()
    return seen[-1]


def test_keys_of_an_encoder_change_when_a_word_is_added_and_those_of_a_decoder_do_not() -> None:
    model = SHIPPED.model
    ids = greedy_search(model, SOURCE, BOS, EOS, 20)
    memory = model.encode(SOURCE)
    for length in range(2, 7):
        read = [
            keys_of_layer_2(model, lambda n=n: model.encode(SOURCE[:, :n]), "encoder") for n in (length, length + 1)
        ]
        assert (read[0] - read[1][:length]).abs().max() > 0.01  # a thousand times the rounding
        wrote = [
            keys_of_layer_2(model, lambda n=n: model.decode(ids[:, :n], memory, SOURCE), "decoder")
            for n in (length, length + 1)
        ]
        torch.testing.assert_close(wrote[0], wrote[1][:length], atol=1e-5, rtol=0)


BAD: list[tuple[type[Exception], str, Callable[[], object]]] = [
    (ValueError, "length must be at least 1, got 0", lambda: decoding_cost(0, 7, True)),
    (TypeError, "length must be a whole number", lambda: decoding_cost(2.5, 7, True)),  # type: ignore[arg-type]
    (ValueError, "source_length must be at least 1, got -1", lambda: decoding_cost(1, -1, True)),
    (TypeError, "cached must be True or False, got 1", lambda: decoding_cost(1, 1, 1)),  # type: ignore[arg-type]
    (ValueError, "step must be at least 1, got 0", lambda: step_cost(0, 7, False)),
    (TypeError, "cached must be True or False, got 'no'", lambda: step_cost(1, 7, "no")),  # type: ignore[arg-type]
    (ValueError, "num_layers must be at least 1, got 0", lambda: cache_size(1, 1, 64, 0)),
    (TypeError, "d_model must be a whole number", lambda: cache_size(1, 1, "64", 1)),  # type: ignore[arg-type]
]


@pytest.mark.usefixtures("as_readers_run_it")
@pytest.mark.parametrize(("error", "message", "call"), BAD)
def test_bad_arguments_are_named(error: type[Exception], message: str, call: Callable[[], object]) -> None:
    with pytest.raises(error, match=message):
        call()
