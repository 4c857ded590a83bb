"""Recordings: each has its experiment, the cheapest is made again, the dear ones cut short have the same entries."""

import json
from functools import partial

import make_recordings
import pytest
import torch
from experiments import (
    answers,
    decoder_mistakes,
    depth,
    double_rate,
    embedding_scale,
    families,
    grammar_seeds,
    heads_over_seeds,
    induction,
    query_start,
    running_costs,
    step_times,
    symptom_seeds,
    translator_heads,
    wrong_merge,
)
from experiments.running_sentence import record_running_sentence

from transformer_edu import recordings
from transformer_edu.book.experiments import long_range, recurrent_start, symptoms, two_steps
from transformer_edu.book.experiments.induction import train_copier
from transformer_edu.book.experiments.long_range import CONTENDERS
from transformer_edu.training.grammar_model import train_grammar_model

pytestmark = pytest.mark.usefixtures("at_readers_speed")
EXPERIMENTS = make_recordings.EXPERIMENTS
FILES = {path.stem: path for path in make_recordings.FOLDER.glob("*.json")}
CUT_SHORT = {
    "answers": partial(answers.record_answers, (0,), stories=48, tuning=1, steps=2, betas=(0.0, 0.1), requests=2),
    "decoder-mistakes": partial(decoder_mistakes.record_decoder_mistakes, (0,), steps=2, sentences=4),
    "depth": partial(depth.record_depth, (1,), (0,), steps=2, every=1),
    "double-rate": partial(double_rate.record_double_rate, (0,), steps=2, sentences=4, processes=1),
    "embedding-scale": partial(embedding_scale.record_embedding_scale, ("Xavier",), (0,), steps=1, sentences=4),
    "families": partial(families.record_families, (0,), steps=1),
    "grammar-seeds": partial(grammar_seeds.record_grammar_seeds, (0, 1), steps=2, sentences=4),
    "heads-over-seeds": partial(heads_over_seeds.record_heads_over_seeds, (1,), steps=2, sentences=4),
    "induction": partial(induction.record_induction, (0,), steps=2, fit=1, processes=1),
    "long-range": partial(long_range.record_long_range, (0,), (2, 3), steps=1, patient_steps=2),
    "query-start": partial(query_start.record_query_start, (0,), steps=2, sentences=4, processes=1),
    "recurrent-start": partial(recurrent_start.record_recurrent_start, (0,), (0.003,), steps=1, patient_steps=2),
    "running-costs": partial(running_costs.record_running_costs, 8, (1, 2), (4,), ("float32", "bfloat16"), 1),
    "step-times": partial(step_times.record_step_times, (2, 4)),
    "symptom-seeds": partial(symptom_seeds.record_symptom_seeds, symptoms.BUGS[:1], (1,), (1,), 2, 60, 1),
    "symptoms": partial(symptoms.record_symptoms, symptoms.BUGS[:1], steps=2, sentences=60),
    "translator-heads": partial(translator_heads.heads_of, [("ein Mann", "a man"), ("ein Hund bellt", "a dog barks")]),
    "two-steps": partial(two_steps.record_two_steps, (0,), (2, 3)),
    "wrong-merge": partial(wrong_merge.record_wrong_merge, (0,), steps=2, sentences=4, places=("encoder",)),
}


MADE_FROM_A_SEED = {
    "depth": lambda seed: depth.train_sorter("post", 1, seed=seed, steps=2).model,
    "grammar": lambda seed: train_grammar_model(seed=seed, steps=2, progress=False)[0],
    "families": lambda seed: families.train_t5(seed, steps=2).model,
    "embedding-scale": lambda seed: embedding_scale.new_model("N(0, 1)", False, seed=seed),
    **{name: lambda seed, name=name: long_range.train_contender(name, 3, seed, steps=2).model for name in CONTENDERS},
    "induction": lambda seed: train_copier(seed=seed, steps=2)[0],
    "recurrent-start": lambda seed: recurrent_start.new_recurrent("orthogonal", seed),
}


def read(name):
    return json.loads(FILES[name].read_text(encoding="utf-8"))


def leaves(value, where="data"):
    """Every word and number of nested dicts and lists, by its path."""
    if isinstance(value, dict | list):
        entries = value.items() if isinstance(value, dict) else enumerate(value)
        return {path: leaf for key, entry in entries for path, leaf in leaves(entry, f"{where}.{key}").items()}
    return {where: value}


def without_ties(data):
    """Of the best words keep the first: the others are so close that another processor may swap them."""
    steps = [{"chosen": step["chosen"], "best": step["best"][0]} for step in data["steps"]]
    return {**data, "steps": steps}


def test_every_recording_has_its_experiment_in_a_file_of_its_name():
    assert EXPERIMENTS.keys() == FILES.keys() == set(recordings.names())
    for name, record in EXPERIMENTS.items():
        assert record.__module__.split(".")[-2:] == ["experiments", name.replace("-", "_")]
        assert record.__doc__


@pytest.mark.parametrize("name", FILES)
def test_recording_says_where_it_comes_from_and_is_laid_out_as_the_command_does(name):
    recording = read(name)
    assert list(recording) == ["name", "command", "commit", "machine", "date", "data"]
    assert recording["name"] == name
    assert recording["command"] == f"python tools/make_recordings.py --only {name}"
    assert {"processor", "cores", "threads", "python", "torch"} == recording["machine"].keys()
    assert FILES[name].stat().st_size < 60_000
    assert make_recordings.as_text(recording) == FILES[name].read_text(encoding="utf-8")


@pytest.mark.parametrize("name", CUT_SHORT)
@pytest.mark.long
def test_an_experiment_cut_short_gives_the_entries_of_its_recording(name):
    made, stored = CUT_SHORT[name](), read(name)["data"]
    assert made.keys() == stored.keys()
    for key, value in stored.items():
        if isinstance(value, list):
            assert [row.keys() for row in made[key]] == [value[0].keys()] * len(made[key])


@pytest.mark.parametrize("make", MADE_FROM_A_SEED.values(), ids=MADE_FROM_A_SEED)
@pytest.mark.long
def test_the_seed_decides_the_weights_and_the_random_state_neither_matters_nor_changes(make):
    torch.manual_seed(7)
    state = torch.get_rng_state()
    one = make(2).state_dict()
    assert torch.equal(torch.get_rng_state(), state)
    torch.manual_seed(8)
    same, other = make(2).state_dict(), make(3).state_dict()
    assert all(torch.equal(one[name], same[name]) for name in one)
    assert any(not torch.equal(one[name], other[name]) for name in one)


def test_running_sentence_recording_can_be_made_again():
    stored = leaves(without_ties(read("running-sentence")["data"]))
    assert leaves(without_ties(record_running_sentence())) == pytest.approx(stored, abs=5e-4)  # they have 4 decimals
    changed = {**stored, "data.attention.decoder.1.cross.0.3.2": stored["data.attention.decoder.1.cross.0.3.2"] - 1e-3}
    assert changed != pytest.approx(stored, abs=5e-4), "a wrong digit would be seen"


def test_command_writes_only_what_it_was_asked_for(tmp_path, capsys):
    make_recordings.main(["--only", "running-sentence", "--out", str(tmp_path)])
    assert [path.name for path in tmp_path.iterdir()] == ["running-sentence.json"]
    assert capsys.readouterr().out == "wrote running-sentence.json\n"
    assert json.loads((tmp_path / "running-sentence.json").read_text())["data"] == record_running_sentence()
