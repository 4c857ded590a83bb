"""Recordings: complete, small, and the cheapest one is made again."""

import json
from pathlib import Path

import make_recordings
import pytest
import torch

from transformer_edu import RUNNING_TRANSLATION
from transformer_edu.support import provenance

FOLDER = make_recordings.FOLDER
NAMES = sorted(make_recordings.RECORDINGS)


def read(name: str) -> dict:
    return json.loads((FOLDER / f"{name}.json").read_text(encoding="utf-8"))


def assert_close(one, other, where="data"):
    """The same structure, the same words, numbers within 0.0005 (they have 4 decimals)."""
    if isinstance(one, dict):
        assert one.keys() == other.keys(), where
        for key in one:
            assert_close(one[key], other[key], f"{where}.{key}")
    elif isinstance(one, list):
        assert len(one) == len(other), where
        for index, (a, b) in enumerate(zip(one, other, strict=True)):
            assert_close(a, b, f"{where}[{index}]")
    elif isinstance(one, float) or isinstance(other, float):
        assert abs(one - other) <= 5e-4, f"{where}: {one} and {other}"
    else:
        assert one == other, where


def without_ties(data: dict) -> dict:
    """Of the best words keep the first: the others are so close that another processor may swap them."""
    steps = [{"chosen": step["chosen"], "best": step["best"][0]} for step in data["steps"]]
    return {**data, "steps": steps}


@pytest.mark.parametrize("name", NAMES)
def test_recording_says_where_it_comes_from(name):
    recording = read(name)
    assert list(recording) == ["name", "command", "commit", "machine", "date", "data"]
    assert recording["name"] == name
    assert recording["command"] == f"python tools/make_recordings.py --only {name}"
    assert {"processor", "cores", "threads", "python", "torch"} == recording["machine"].keys()
    assert (FOLDER / f"{name}.json").stat().st_size < 60_000


def test_no_recording_is_without_its_command():
    assert sorted(path.stem for path in FOLDER.glob("*.json")) == NAMES


def test_running_sentence_recording_can_be_made_again():
    assert_close(without_ties(make_recordings.running_sentence()), without_ties(read("running-sentence")["data"]))


def test_a_wrong_digit_in_the_recording_would_be_seen():
    data = read("running-sentence")["data"]
    changed = json.loads(json.dumps(data))
    changed["attention"]["decoder.1.cross"][0][3][2] -= 0.001
    with pytest.raises(AssertionError, match=r"decoder\.1\.cross\[0\]\[3\]\[2\]"):
        assert_close(changed, data)


def test_recorded_attention_sums_to_one_and_finds_the_words():
    data = read("running-sentence")["data"]
    assert data["translation"] == RUNNING_TRANSLATION
    for maps in data["attention"].values():
        assert torch.tensor(maps).sum(-1) == pytest.approx(1.0, abs=1e-3)
    last = torch.tensor(data["attention"]["decoder.1.cross"]).mean(0)  # heads' mean: (target, source)
    looks_at = {
        word: data["source_tokens"][i]
        for word, i in zip(data["predicted_tokens"], last.argmax(-1).tolist(), strict=True)
    }
    assert {word: looks_at[word] for word in ("petit", "chat", "noir", "dort", "pas")} == {
        "petit": "small", "chat": "cat", "noir": "black", "dort": "sleep", "pas": "not",
    }  # fmt: skip


def test_three_seeds_reach_the_promised_score():
    data = read("grammar-seeds")["data"]
    assert [run["seed"] for run in data["runs"]] == [0, 1, 2]
    assert min(run["held_out"]["exact_match"] for run in data["runs"]) == data["lowest_exact_match"] >= 0.97


def test_snapshots_show_attention_forming():
    data = read("training-snapshots")["data"]
    steps = [snapshot["step"] for snapshot in data["snapshots"]]
    assert steps == [0, *make_recordings.SNAPSHOTS]
    matches = [snapshot["exact_match"] for snapshot in data["snapshots"]]
    assert (matches[0], matches[-1] >= 0.97) == (0, True)
    q, k = data["predicted_tokens"].index("noir"), data["source_tokens"].index("black")
    first, last = (
        torch.tensor(data["snapshots"][i]["cross_attention"]["decoder.1.cross"])[:, q, k].mean() for i in (0, -1)
    )
    assert first < 0.5 < last


def test_a_snapshot_leaves_the_model_as_it_was():
    model = make_recordings.new_grammar_model(0).train()
    before = [parameter.clone() for parameter in model.parameters()]
    result = make_recordings.snapshot(model, 0, None)
    assert model.training
    assert all(torch.equal(a, b) for a, b in zip(before, model.parameters(), strict=True))
    assert result["exact_match"] == 0


def test_command_writes_only_what_it_was_asked_for(tmp_path, capsys):
    make_recordings.main(["--only", "running-sentence", "--out", str(tmp_path)])
    assert [path.name for path in tmp_path.iterdir()] == ["running-sentence.json"]
    assert "running-sentence.json" in capsys.readouterr().out
    written = json.loads((tmp_path / "running-sentence.json").read_text(encoding="utf-8"))
    assert written["data"] == make_recordings.running_sentence()


def test_provenance_without_a_repository_has_no_commit(monkeypatch, tmp_path):
    monkeypatch.setattr(provenance, "ROOT", tmp_path)
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path.parent))
    assert provenance.current_commit() is None


def test_provenance_marks_changed_code(monkeypatch):
    answers = {"rev-parse": "abc123", "status": " M transformer_edu/attention.py"}
    monkeypatch.setattr(provenance, "_git", lambda verb, *_: answers[verb])
    assert provenance.current_commit() == "abc123+changes"
    answers["status"] = ""
    assert provenance.current_commit() == "abc123"


def test_provenance_names_no_folder_and_no_host():
    text = json.dumps(provenance.provenance("python x.py"))
    assert str(Path.home()) not in text
    assert str(provenance.ROOT) not in text
