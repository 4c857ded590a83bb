"""The folder of a run belongs to that run: what does not is refused by name, and stays as it is."""

import gzip
import json
import os
import shutil
from pathlib import Path

import pytest
import torch
from filelock import FileLock

from tests.unit.command import as_arguments
from tests.unit.conftest import SMALL
from transformer_edu.book.commands.main import main
from transformer_edu.data.tokenizer import Tokenizer
from transformer_edu.runs.command import _folder
from transformer_edu.runs.distributed import Processes
from transformer_edu.runs.folder import CHECKPOINT, WEIGHTS, RunFolder
from transformer_edu.saving.tensor_file import read_tensors, write_tensors
from transformer_edu.translate.settings import TrainingSettings
from transformer_edu.translate.translator import load_translator

pytestmark = [pytest.mark.long, pytest.mark.usefixtures("at_readers_speed", "brief_answers")]
SHORT = {**SMALL, "steps": 4, "every": 2}  # two evaluations
CHECKPOINTS, WEIGHT_FILES = (
    tuple(f"{kind}-{step:08d}.safetensors" for step in (2, 4)) for kind in (CHECKPOINT, WEIGHTS)
)
START = ("run.json", "tokenizer.json")


def train(folder, text, *more, **changes):
    main(["train", "--quiet", "--out", str(folder), *as_arguments({**SHORT, **text, **changes}), *more])


def content(folder):
    return {str(file.relative_to(folder)): file.read_bytes() for file in sorted(folder.rglob("*")) if file.is_file()}


@pytest.fixture
def refused(one, brief_text, capsys):
    """Runs a command that must leave the folder as it is, and returns the one line that it ends with."""

    def run(*more, text=brief_text, **changes):
        before = content(one)
        capsys.readouterr()
        with pytest.raises(SystemExit) as stop:
            train(one, text, *more, **changes)
        assert stop.value.code == 2
        assert content(one) == before
        (line,) = [line for line in capsys.readouterr().err.splitlines() if line.startswith("transformer-edu: ")]
        return line

    return run


@pytest.fixture(scope="module")
def runs(tmp_path_factory, brief_text, brief_answers, at_readers_speed):
    """Two finished runs that differ in their seed."""
    folder = tmp_path_factory.mktemp("runs")
    train(folder / "one", brief_text)
    train(folder / "other", brief_text, seed=7)
    return folder


@pytest.fixture
def one(runs, tmp_path):
    """A copy of the first."""
    return Path(shutil.copytree(runs / "one", tmp_path / "one"))


@pytest.fixture
def changed_text(brief_text, tmp_path):
    """Makes other files of the text: each takes the lines of a side and gives them back."""

    def change(source=list, target=list):
        files = []
        for number, (path, edit) in enumerate(zip(brief_text["train"], (source, target), strict=True)):
            files.append(tmp_path / f"changed.{number}.gz")
            lines = edit(Path(path).read_text(encoding="utf-8").splitlines())
            files[-1].write_bytes(gzip.compress("".join(f"{line}\n" for line in lines).encode()))
        return {**brief_text, "train": tuple(map(str, files))}

    return change


@pytest.fixture
def half_text(changed_text):
    return changed_text(lambda lines: lines[:60], lambda lines: lines[:60])


def damage(file):
    content = bytearray(file.read_bytes())
    content[-7] ^= 1
    file.write_bytes(content)


def forget_run(file):
    write_tensors(file, read_tensors(file, "transformer_edu.weights/1")[1], {}, "transformer_edu.weights/1")


def keep_only(folder, *names):
    for file in folder.iterdir():
        if file.name not in names:
            file.unlink()


def test_a_finished_run_leaves_its_files_and_nothing_else(runs):
    finished = ["card.json", "log.jsonl", "model.safetensors"]
    expected = sorted([*CHECKPOINTS, *WEIGHT_FILES, *START, *finished])
    assert sorted(file.name for file in (runs / "one").iterdir()) == expected


@pytest.mark.parametrize("left", [CHECKPOINTS[0], WEIGHT_FILES[1], "log.jsonl", "model.safetensors", "card.json"])
def test_a_run_never_starts_where_a_file_of_a_run_lies(one, refused, left):
    keep_only(one, left)
    assert f"out must be a new folder, but {one} holds {left}" in refused(seed=7)
    assert f"{one} holds {left} without the run.json" in refused("--resume")


def test_a_run_goes_on_with_its_own_settings_and_text_only(one, refused, brief_text, changed_text, half_text):
    for file in one.glob("checkpoint-*"):
        file.unlink()  # refused before old weights are averaged
    assert "weights-00000002" in refused(seed=7)
    says = refused("--resume", seed=7, d_model=32, text=half_text)
    assert f"the run must be that of {one / 'run.json'}, but differs from it in " in says
    assert all(part in says for part in ("seed: 0 then, 7 now", "d_model: 16 then, 32", "train pairs: 120 then, 60"))
    says = refused("--resume", text=changed_text(target=lambda lines: [*lines[:-1], "un autre chat"]))
    assert "train target_sha256: " in says
    assert "source_sha256" not in says
    assert "valid pairs: 2 then, 120" in refused("--resume", text={**brief_text, "valid": brief_text["train"]})


def test_a_start_that_came_to_nothing_may_be_repeated_and_only_with_the_same_text_and_settings(
    one, runs, refused, brief_text, half_text
):
    keep_only(one, *START)
    assert "train pairs: 120 then, 60 now" in refused(text=half_text)
    (one / "tokenizer.json").unlink()
    (one / ".tokenizer.json.0123").write_bytes(b"half")
    train(one, brief_text)
    assert content(one).keys() == content(runs / "one").keys()
    assert all(content(one)[name] == content(runs / "one")[name] for name in (*WEIGHT_FILES, "tokenizer.json"))


def test_a_tokenizer_of_unknown_origin_is_not_used_silently(one, refused, brief_text):
    keep_only(one, "tokenizer.json")
    assert f"{one / 'tokenizer.json'} is another tokenizer" in refused(vocab_size=290)
    train(one, brief_text)
    assert len(load_translator(one).tokenizer) == 300


def test_the_same_text_may_come_from_another_file(one, changed_text):
    train(one, changed_text(), "--resume", steps=6)
    assert json.loads((one / "card.json").read_text())["training"]["steps"] == 6


def test_a_replaced_tokenizer_of_the_same_size_is_refused_and_a_lost_one_learnt_again(one, runs, refused, brief_text):
    texts = [line for path in brief_text["train"] for line in Path(path).read_text(encoding="utf-8").splitlines()]
    Tokenizer.train(texts[:100], 300).save(one / "tokenizer.json")
    assert "tokenizer sha256: " in refused("--resume")
    (one / "tokenizer.json").unlink()
    train(one, brief_text, "--resume")
    assert (one / "tokenizer.json").read_bytes() == (runs / "one" / "tokenizer.json").read_bytes()


def test_damaged_weights_are_reported_and_left_out_of_the_average(one, brief_text):
    damage(one / WEIGHT_FILES[0])
    with pytest.warns(UserWarning, match=r"weights-00000002\.safetensors is damaged.*it is passed over"):
        train(one, brief_text, "--resume")
    assert "mean of the last 2" not in json.loads((one / "card.json").read_text())["weights"]["tried"]


NOT_WHOLE, FOREIGN = "a checkpoint that is whole, but none is left", "must be of the run that run.json describes"
REFUSED = {  # what happened to the folder, and what is said when the run is to go on
    "damaged checkpoints": (lambda run, _: [damage(run / name) for name in CHECKPOINTS], NOT_WHOLE),
    "no checkpoints": (lambda run, _: keep_only(run, *START, *WEIGHT_FILES), f"there are {', '.join(WEIGHT_FILES)}"),
    "only a model": (lambda run, _: keep_only(run, *START, "model.safetensors"), "there are model.safetensors"),
    "weights of no run": (lambda run, _: forget_run(run / WEIGHT_FILES[1]), f"{WEIGHT_FILES[1]} {FOREIGN}"),
    "no model": (lambda run, _: (run / "model.safetensors").write_text("?"), f"model.safetensors {FOREIGN}"),
    "damaged description": (lambda run, _: (run / "run.json").write_text("[1]"), "run.json is damaged"),
    "empty description": (lambda run, _: (run / "run.json").write_text(""), "run.json is damaged"),
}
for name in (CHECKPOINTS[0], WEIGHT_FILES[0], "model.safetensors", "card.json"):
    REFUSED[f"other {name}"] = lambda run, other, name=name: shutil.copy(other / name, run / name), f"{name} {FOREIGN}"


@pytest.mark.filterwarnings("ignore:.*is damaged")
@pytest.mark.parametrize("case", REFUSED)
def test_a_folder_that_does_not_hold_the_whole_run_and_no_other_is_refused_by_name(one, runs, refused, case):
    happens, says = REFUSED[case]
    happens(one, runs / "other")
    assert says in refused("--resume")


def test_two_trainings_never_share_a_folder_and_the_lock_of_one_that_is_gone_locks_nothing(one, refused, brief_text):
    with FileLock(one / ".lock"):
        (one / ".lock").write_text("4321")
        for more in ((), ("--resume",)):
            assert f"no other process trains in, but process 4321 does in {one}" in refused(*more)
    (one / ".lock").write_text("4321")
    train(one, brief_text, "--resume")
    assert not (one / ".lock").exists()


def test_only_the_first_of_several_processes_holds_the_folder(tmp_path, brief_text):
    settings = TrainingSettings(out=str(tmp_path / "run"), **SHORT, **brief_text)
    first, second = (Processes(rank, 2, torch.device("cpu")) for rank in (0, 1))
    with _folder(settings, first), _folder(settings, second):
        assert (tmp_path / "run" / ".lock").read_text() == str(os.getpid())


def test_fewer_steps_than_taken_are_refused_and_as_many_finish_the_run(one, refused, brief_text):
    assert "steps must be at least 4, which the run" in refused("--resume", steps=3)
    (one / "model.safetensors").unlink()
    train(one, brief_text, "--resume", minutes=1e-9)  # both are used up: it is finished as it is
    assert (one / "model.safetensors").exists()


def test_a_run_that_goes_on_knows_what_it_was_begun_with(one, runs, brief_text):
    for left in (*CHECKPOINTS[1:], *WEIGHT_FILES[1:], "model.safetensors", "card.json"):
        (one / left).unlink()
    main(["train", "--quiet", "--out", str(one), "--resume"])
    assert load_translator(one).card["weights_sha256"] == load_translator(runs / "one").card["weights_sha256"]


def test_there_is_nothing_to_go_on_with_where_there_is_no_folder(tmp_path, brief_text, capsys):
    with pytest.raises(SystemExit) as stop:
        train(tmp_path / "mistyped", brief_text, "--resume")
    assert stop.value.code == 2
    assert "out must be the folder of a run to go on with (--resume), but there is no" in capsys.readouterr().err
    assert not (tmp_path / "mistyped").exists()


def test_half_a_line_of_log_before_the_first_checkpoint_and_half_written_files_spoil_nothing(
    one, runs, refused, brief_text
):
    keep_only(one, *START, "log.jsonl")
    (one / "log.jsonl").write_text('{"step": 1, "lo')
    for name in ("card.json", "model.safetensors", "log.jsonl", WEIGHT_FILES[0]):
        (one / f".{name}.0123").write_bytes(b"half")
    assert f"{one} holds log.jsonl" in refused()
    train(one, brief_text, "--resume")
    assert not list(one.glob(".*"))
    steps = [line["step"] for line in RunFolder(one).log()]
    assert steps == [line["step"] for line in RunFolder(runs / "one").log()]


def test_what_is_appended_never_merges_with_half_a_line(tmp_path):
    folder = RunFolder(tmp_path)
    folder.append({"step": 4}, {"step": 8})
    with (tmp_path / "log.jsonl").open("ab") as log:
        log.write(b'{"step": 9, "more": {"a": 1}')
    assert [line["step"] for line in folder.log()] == [4, 8]
    folder.append({"step": 12})
    assert (tmp_path / "log.jsonl").read_bytes() == b'{"step": 4}\n{"step": 8}\n{"step": 12}\n'


@pytest.mark.parametrize("line", ['{"step": 4', "4"])
def test_a_damaged_line_of_the_log_is_named(tmp_path, line):
    (tmp_path / "log.jsonl").write_text(f'{{"step": 4}}\n{line}\n{{"step": 8}}\n')
    with pytest.raises(ValueError, match=r"line 2 of .*log\.jsonl is damaged"):
        RunFolder(tmp_path).log()
