"""One block between 2017 and today: equal sizes, the package's own parts at both ends, and what is recorded of them."""

from dataclasses import replace
from itertools import pairwise

import pytest
import torch
from experiments.modern_block import BASES, BOLD, block_of, frequencies_alone, run_variant, variants

from transformer_edu import recordings
from transformer_edu.book.experiments import modern_block as mb
from transformer_edu.models import Llama, LlamaConfig

SMALL = mb.Size(d_model=32, num_heads=4, num_layers=4, context=12, vocab_size=40, window=5)
EVERY = variants()


@pytest.fixture(scope="module")
def ids():
    return torch.randint(40, (2000,), generator=torch.Generator().manual_seed(0))


@pytest.mark.parametrize("one", EVERY, ids=str)
def test_each_block_is_as_large_causal_and_writes_with_a_cache_what_it_reads_at_once(one, ids):
    model = mb.build_block_model(block_of(*one), SMALL).eval()
    paper = mb.count(mb.build_block_model(mb.PAPER, SMALL))
    assert mb.active(model) == pytest.approx(paper, rel=0.02)
    rows, cache = ids[:24].view(2, 12), model.start_cache()
    with torch.no_grad():
        whole = model(rows)
        steps = torch.cat([model(rows[:, :5], cache), *(model(rows[:, i : i + 1], cache) for i in range(5, 12))], 1)
        other = model(torch.cat([rows[:, :8], rows[:, :4]], 1))
    torch.testing.assert_close(steps, whole, rtol=1e-4, atol=1e-5)
    torch.testing.assert_close(other[:, :8], whole[:, :8], rtol=1e-4, atol=1e-5)


def test_today_is_llama_with_normed_queries_and_keys():
    model = mb.build_block_model(mb.TODAY, SMALL).eval()
    config = LlamaConfig(40, 32, 4, 2, 8, model.d_ff, 4, 12, base=10_000.0, query_key_norm="head", tied=True)
    llama = Llama(replace(config, scaled=True)).eval()
    weights = {name.replace("embedding.lookup", "embedding"): value for name, value in model.state_dict().items()}
    for layer in model.decoder.layers:
        layer.self_attention.rotate = llama.decoder.layers[0].self_attention.rotate  # halves, and the weights as drawn
    llama.load_state_dict(weights)
    rows = torch.arange(24).view(2, 12)
    torch.testing.assert_close(llama(rows), model(rows), rtol=1e-4, atol=1e-5)


def test_all_blocks_read_the_same_batches_and_a_seed_repeats(ids):
    recipe = mb.Recipe(steps=3, batch_size=2, warmup=1)
    first, again, other = (list(mb.batches(ids, 12, recipe, seed)) for seed in (0, 0, 1))
    assert all(torch.equal(*pair) for pair in zip(first, again, strict=True))
    assert not torch.equal(first[0], other[0])
    assert first[0].shape == (2, 13)
    losses = [mb.fit(mb.build_block_model(mb.TODAY, SMALL), ids, recipe) for _ in range(2)]
    assert losses[0] == losses[1]


@pytest.mark.long
@pytest.mark.parametrize("block", [mb.PAPER, mb.TODAY], ids=["2017", "today"])
def test_both_ends_learn_what_can_be_learnt(block):
    ids = torch.arange(40).repeat(50)
    model = mb.build_block_model(block, SMALL)
    before = mb.held_out_loss(model, ids).mean()
    mb.fit(model, ids, mb.Recipe(steps=60, batch_size=8, rate=0.004, warmup=10))
    after = mb.held_out_loss(model, ids)
    assert after.shape == (12,)
    assert after.mean() < 1.0 < before


@pytest.mark.long
def test_balancing_moves_the_bias_alone_and_only_where_it_is_asked_for(ids):
    block = replace(mb.TODAY, feed_forward="experts")
    biases = {}
    for kind in ("none", "loss", "bias"):
        model = mb.build_block_model(block, SMALL)
        mb.fit(model, ids, mb.Recipe(steps=4, batch_size=2, warmup=1, balancing=kind))
        biases[kind] = sum(mixture.bias.abs().sum().item() for mixture in model.experts())
    assert biases["none"] == biases["loss"] == 0 < biases["bias"]


@pytest.mark.parametrize(("field", "value", "numbers"), [
    ("keys", "each its own", 4 * 2 * 32 * 100), ("keys", "two share", 4 * 32 * 100),
    ("keys", "all share", 4 * 2 * 8 * 100), ("keys", "latent", 4 * 12 * 100), ("sees", "windows", 64 * (3 * 5 + 100)),
])  # fmt: skip
def test_what_a_cache_keeps_is_counted(field, value, numbers):
    assert mb.kept(replace(mb.PAPER, **{field: value}), SMALL, 100) == numbers


@pytest.mark.parametrize("value", ["each its own", "two share", "all share", "latent"])
def test_a_cache_holds_as_many_numbers_as_is_said(value, ids):
    model, block = None, replace(mb.PAPER, keys=value)
    model = mb.build_block_model(block, SMALL)
    cache = model.start_cache()
    model(ids[None, :9], cache)
    held = sum(part.numel() for layer in cache.layers for part in layer.self_attention.kept())
    assert held == mb.kept(block, SMALL, 9)


def test_a_setting_that_is_not_known_is_refused_by_name():
    with pytest.raises(ValueError, match="positions must be one of 'sinusoid', 'rotary'"):
        mb.Block(positions="rope")


def test_a_run_gives_what_the_recording_holds(monkeypatch, tmp_path, ids):
    monkeypatch.setattr("experiments.modern_block.ids_of", lambda folder: {"train": ids, "valid": ids[:600]})
    size = replace(SMALL, context=36)
    row = run_variant("today", "norm", "layer", 0, 0.004, 3, tmp_path, size)
    stored = recordings.load("modern-block")["data"]["variants"][0]["runs"][0]
    assert set(row) == set(stored)
    assert 0 < row["first"] < 1
    assert frequencies_alone({"train": ids, "valid": ids[:600]}, 40) == pytest.approx(3.69, abs=0.05)


@pytest.mark.long
def test_the_recording_has_every_variant_and_five_seeds_of_each():
    data = recordings.load("modern-block")["data"]
    assert [(row["base"], row["field"], row["value"]) for row in data["variants"]] == EVERY
    assert all([run["seed"] for run in row["runs"]] == list(range(5)) for row in data["variants"])
    assert [(row["base"], row["field"], row["value"]) for row in data["bold"]] == list(BOLD)
    for row in data["variants"]:
        model = mb.build_block_model(block_of(row["base"], row["field"], row["value"]))
        assert (mb.count(model), mb.active(model), model.d_ff) == (row["parameters"], row["active"], row["d_ff"])


def test_what_the_chapter_says_of_the_recordings_is_so():
    data = recordings.load("modern-block")["data"]
    mean = {(r["base"], r["field"], r["value"]): sum(run["loss"] for run in r["runs"]) / 5 for r in data["variants"]}
    gap = mean["2017", "", None] - mean["today", "", None]
    core = [field for field in mb.CHOICES if getattr(mb.PAPER, field) != getattr(mb.TODAY, field)]
    gains = {f: mean["2017", "", None] - mean["2017", f, getattr(mb.TODAY, f)] for f in core}
    assert [field for field, gain in gains.items() if gain > gap / 2] == ["positions"]
    assert {base for base, *_ in EVERY} == set(BASES)
    longer = recordings.load("longer-texts")["data"]["rows"]
    ends = {}
    for row in longer:
        ends.setdefault((row["positions"], row["scaling"]), []).append((row["quarters"][0], row["quarters"][-1]))
    gained = [name for name, pairs in ends.items() if all(last < first for first, last in pairs)]
    assert gained == [("ALiBi", "")]
    worst = [sum(last for _, last in ends[name]) for name in (("sinusoid", ""), ("learned", ""), ("none", ""))]
    assert all(left > right for left, right in pairwise(worst))
    for run in recordings.load("experts")["data"]["runs"]:
        assert run["idle"] == 0
        assert (run["largest"] > 0.25) == (run["balancing"] == "none")
