"""Everything that would end a run is found before its first step, and said in a line that names it."""

import re
import shutil
from collections import namedtuple
from pathlib import Path

import pytest
import torch

from tests.unit.command import as_arguments
from tests.unit.conftest import SMALL
from transformer_edu.book.commands.main import main
from transformer_edu.runs.distributed import Processes
from transformer_edu.runs.steps import StepMaker, step_seed
from transformer_edu.runs.trainer import new_model
from transformer_edu.translate.evaluate import summed_loss
from transformer_edu.translate.settings import TrainingSettings
from transformer_edu.translate.task import prepare_task
from transformer_edu.translate.translator import load_translator

pytestmark = pytest.mark.usefixtures("at_readers_speed", "brief_answers")
SHORT = {**SMALL, "steps": 1}
ALONE = Processes(0, 1, torch.device("cpu"))
Usage = namedtuple("Usage", "total used free")


def train(out, text, *more, **changes):
    main(["train", "--quiet", "--out", str(out), *as_arguments({**SHORT, **text, **changes}), *more])


@pytest.fixture
def refused(brief_text, tmp_path, monkeypatch, capsys):
    """Runs a command that must end before its first step; its one line."""

    def run(*more, out=tmp_path / "run", text=brief_text, **changes):
        monkeypatch.setattr(StepMaker, "take", lambda *given: pytest.fail("a step was taken"))
        with pytest.raises(SystemExit) as stop:
            train(out, text, *more, **changes)
        assert stop.value.code == 2
        (line,) = capsys.readouterr().err.splitlines()
        return line

    return run


@pytest.fixture
def long_valid(brief_text, tmp_path):
    """The text with a validation line of 600 words, the second."""
    lines = Path(brief_text["valid"][0]).read_text(encoding="utf-8").splitlines()
    lines[1] = f"{'cat ' * 600}\tle chat"
    (tmp_path / "long.tsv").write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return {**brief_text, "valid": (str(tmp_path / "long.tsv"),)}


def test_a_validation_line_longer_than_the_positions_is_named(refused, long_valid, tmp_path):
    says = refused(text=long_valid)
    assert re.search(r"validation lines must have at most 511 tokens.* line 2 of .*long\.tsv has \d{3,4}: ", says)
    assert not list((tmp_path / "run").iterdir())  # it may be mended and started again


@pytest.mark.long
def test_it_is_cut_with_a_warning_where_that_is_asked_with_any_seed(long_valid, tmp_path):
    with pytest.warns(UserWarning, match=r"validation lines are cut to 511 tokens.*line 2 of .*long\.tsv has"):
        train(tmp_path / "run", long_valid, "--cut-valid", seed=2**63 - 1)
    assert load_translator(tmp_path / "run").model.config.max_len == 512
    assert 0 <= step_seed(2**63 - 1, 10**9, 10**6) < 2**64


def test_positions_follow_the_longest_sentence_that_is_wanted(long_valid, tmp_path):
    settings = TrainingSettings(out=str(tmp_path), **{**SHORT, **long_valid, "max_length": 1300})
    task = prepare_task(settings, ALONE)
    assert max(len(source) for source, _ in task.valid) > 511
    model = new_model(task)
    assert summed_loss(model, task.valid, settings, ALONE.device).isfinite()


def test_long_training_pairs_are_counted_and_those_with_too_many_words_not_learnt_from(brief_text, tmp_path):
    files = []
    for number, path in enumerate(brief_text["train"]):
        files.append(tmp_path / f"long.{number}")
        files[-1].write_text(Path(path).read_text(encoding="utf-8") + "zyzzyva " * 101 + "\n", encoding="utf-8")
    text = {**brief_text, "train": tuple(map(str, files))}
    long = prepare_task(TrainingSettings(out=str(tmp_path / "long"), **SHORT, **text), ALONE)
    plain = prepare_task(TrainingSettings(out=str(tmp_path / "plain"), **SHORT, **brief_text), ALONE)
    assert (len(long.train), long.too_long) == (120, 1)
    assert long.tokenizer == plain.tokenizer


def test_a_batch_too_small_for_a_line_names_the_line_and_lines_must_be_left(refused):
    says = refused(max_tokens=9)
    assert re.search(r"max_tokens must be at least \d\d, .*has line \d+ of .*train\.(en|fr), got 9$", says)
    assert "max_length must leave some training pairs, got 1" in refused(max_length=1)


@pytest.mark.parametrize("out", ["file", "file/run", "n" * 300, "run\udcff", "/proc/run"])
def test_a_folder_that_cannot_be_written_is_named(refused, tmp_path, out):
    (tmp_path / "file").write_text("kept")
    assert re.search(rf"out must be a (folder|name).*{re.escape(repr(out)[1:5])}", refused(out=tmp_path / out))
    assert (tmp_path / "file").read_text() == "kept"


def test_a_disk_without_room_for_what_will_be_written_is_named(refused, monkeypatch, tmp_path):
    monkeypatch.setattr(shutil, "disk_usage", lambda path: Usage(10**6, 10**6 - 1000, 1000))
    assert re.search(rf"room for the \d{{3}},\d{{3}} bytes .*{tmp_path / 'run'} has 1,000", refused())


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"num_layers": 10**23}, "num_layers must be less than 2^63, got 100,000,000,000,000,000,000,000"),
        ({"num_layers": 10**12}, "num_layers=1,000,000,000,000"),
        ({"vocab_size": 10**12}, "source_vocab_size=1,000,000,000,000"),
        ({"vocab_size": 259}, "vocab_size must be at least 260, got 259"),
        ({"max_length": 10**12}, "max_len=1,000,000,000,051"),
        ({"accumulate": 201}, "accumulate must be at most max_tokens=200, for no batch has more sentences, got 201"),
        ({"warmup_steps": 10**400}, "warmup_steps must be less than 2^63, got more than 2^1328"),
        ({"seed": -1}, "seed must be at least 0, got -1"),
        ({"threads": 10**6}, "threads must be at most"),
        ({"patience": 0}, "patience must be at least 1, got 0"),
        ({"learning_rate": "nan"}, "learning_rate must be a finite number greater than 0.0, got nan"),
        ({"minutes": 0.0}, "minutes must be a finite number greater than 0.0, got 0.0"),
        ({"smoothing": "nan"}, "smoothing must be in [0, 1), got nan"),
        ({"precision": "int8"}, "precision must be one of 'auto', 'float32', 'bfloat16', 'float64', got 'int8'"),
        ({"d_model": 15}, "d_model must be "),
        ({"train": ("a", "b", "c")}, "train must be two files or one TSV, got 3 files"),
        ({"source": "fr"}, "source must be one of 'de', 'en', got 'fr'"),
    ],
    ids=str,
)
def test_settings_that_nothing_can_be_built_from_are_named(refused, tmp_path, changes, says):
    assert says in refused(**changes)
    assert not (tmp_path / "run").exists()
