"""The measurements run and fill their section; how fast anything is, is not tested here."""

import json
import os
import subprocess
import sys

import pytest

SECTIONS = ("training_speed", "decoding_speed", "scaling")
TRAINEES = {"ours", "nn.Transformer", "Marian", "ours, PyTorch's loss"}


@pytest.fixture(scope="module")
def results(root, tmp_path_factory):
    """All sections, each written to the same temporary file by its script's shortest run."""
    pytest.importorskip("transformers")
    out = tmp_path_factory.mktemp("benchmarks") / "results.json"
    out.write_text(json.dumps({"another": 1}), encoding="utf-8")
    for section in SECTIONS:
        command = [sys.executable, f"benchmarks/{section}.py", "--quick", "--threads", "1", "--out", str(out)]
        done = subprocess.run(
            command, cwd=root, capture_output=True, text=True, check=False, env={**os.environ, "OMP_NUM_THREADS": "1"}
        )
        assert done.returncode == 0, done.stderr
        assert done.stdout.strip(), f"{section} prints no table"
    return json.loads(out.read_text(encoding="utf-8"))


def all_positive(numbers):
    return all(isinstance(number, int | float) and number > 0 for number in numbers)


def test_each_script_fills_its_section_and_keeps_the_others(results):
    assert set(results) == {"another", *SECTIONS}
    for section in SECTIONS:
        assert results[section]["command"] == f"python benchmarks/{section}.py --quick"
        assert results[section]["machine"]["threads"] == 1


def test_training_compares_models_of_the_same_size_in_time_and_memory(results):
    (case,) = results["training_speed"]["cases"].values()
    assert len(set(case["parameters"].values())) == 1
    for column in ("forward_backward_seconds", "optimizer_seconds", "tokens_per_second"):
        assert set(case[column]) == TRAINEES
        assert all_positive(case[column].values())
    assert set(case["peak_memory_bytes"]) == TRAINEES
    whole = {name: case["forward_backward_seconds"][name] + case["optimizer_seconds"][name] for name in TRAINEES}
    assert case["times_as_fast"]["Marian"] == pytest.approx(whole["Marian"] / whole["ours"], abs=1e-3)


def test_decoding_compares_greedy_and_beam_and_fits_an_exponent(results):
    decoding = results["decoding_speed"]
    assert set(decoding["greedy"]["seconds"]) == {"ours", "nn.Transformer recomputing", "Marian"}
    assert set(decoding["beam"]["seconds"]) == {"ours", "Marian"}
    for kind in ("greedy", "beam"):
        seconds, ratios = decoding[kind]["seconds"], decoding[kind]["times_as_fast"]
        assert ratios["Marian"] == pytest.approx(seconds["Marian"] / seconds["ours"], abs=1e-3)
    for entry in decoding["against_length"].values():
        assert len(entry["seconds"]) == len(entry["lengths"])
        assert all_positive(entry["seconds"])
        assert isinstance(entry["exponent"], float)


def test_scaling_measures_both_paths_all_precisions_and_the_peak(results):
    scaling = results["scaling"]
    assert set(scaling["against_length"]) == {"written out", "fused"}
    for entry in scaling["against_length"].values():
        assert len(entry["seconds"]) == len(entry["peak_memory_bytes"]) == len(entry["lengths"])
        assert all_positive(entry["seconds"])
    assert set(scaling["precision_seconds"]["cpu"]) > {"float32", "bfloat16 autocast"}
    peak = scaling["peak"]
    assert all_positive([peak["operations"], *peak["product_flops_per_second"].values()])
    best = max(peak["product_flops_per_second"].values())
    assert peak["share"] == pytest.approx(peak["training_flops_per_second"] / best, abs=1e-3)


def test_our_model_and_that_of_torch_nn_give_the_same_logits(root, monkeypatch):
    """The two that are timed against each other compute the same thing."""
    monkeypatch.syspath_prepend(str(root / "benchmarks"))
    import torch
    from shared.batches import random_batch
    from shared.contenders import Shape, build

    from transformer_edu import copy_weights

    shape = Shape(32, 2, vocab_size=50, max_len=20)
    batch = random_batch(3, 9, shape.vocab_size)
    theirs, ours = build("nn.Transformer", shape), build("ours", shape)
    copy_weights(theirs.transformer.encoder, ours.encoder)
    copy_weights(theirs.transformer.decoder, ours.decoder)
    copy_weights(theirs.projection, ours.projection)
    torch.testing.assert_close(
        ours.eval()(batch.source, batch.target_in),
        theirs.eval()(batch.source, batch.target_in),
        rtol=1e-4,
        atol=1e-4,
    )
