"""The measurements run and fill their section; how fast anything is, is not tested here."""

import json
import os
import subprocess
import sys

import pytest

SECTIONS = ("training_speed", "decoding_speed", "scaling", "gpt_training")
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


def numbers(entry):
    """Every measured number under an entry."""
    if isinstance(entry, dict | list):
        return [number for part in (entry.values() if isinstance(entry, dict) else entry) for number in numbers(part)]
    return [entry] if isinstance(entry, int | float) else []


@pytest.mark.weekly
@pytest.mark.long
def test_each_script_fills_its_section_with_measurements_and_keeps_the_others(results):
    assert set(results) == {"another", *SECTIONS}
    for section in SECTIONS:
        assert results[section]["command"] == f"python benchmarks/{section}.py --quick"
        assert len(numbers(results[section])) > 20


@pytest.mark.weekly
@pytest.mark.long
def test_ratios_are_those_of_the_times_beside_them(results):
    (case,) = results["training_speed"]["cases"].values()
    assert len(set(case["parameters"].values())) == 1, "models of one size"
    assert set(case["peak_memory_bytes"]) == TRAINEES
    whole = {name: case["forward_backward_seconds"][name] + case["optimizer_seconds"][name] for name in TRAINEES}
    assert case["times_as_fast"]["Marian"] == pytest.approx(whole["Marian"] / whole["ours"], abs=1e-3)
    for kind in ("greedy", "beam"):
        seconds, ratios = (results["decoding_speed"][kind][name] for name in ("seconds", "times_as_fast"))
        assert ratios["Marian"] == pytest.approx(seconds["Marian"] / seconds["ours"], abs=1e-3)
    gpt = results["gpt_training"]
    assert len(set(gpt["parameters"].values())) == 1, "models of one size"
    kinds = [kind for kind in gpt if kind == "training" or kind.startswith("writing")]
    assert len(kinds) == 3, "training, one prompt, several prompts"
    for kind in kinds:
        seconds, ratios = gpt[kind]["seconds"], gpt[kind]["times_as_fast"]
        assert ratios["GPT-2"] == pytest.approx(seconds["GPT-2"] / seconds["ours"], abs=1e-3)
    peak = results["scaling"]["peak"]
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
