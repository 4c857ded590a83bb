"""A training run: what it computes, what it writes, and that it can be stopped anywhere and resumed."""

import json
import shutil
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from tests.unit.conftest import SMALL
from transformer_edu.runs.distributed import Processes
from transformer_edu.runs.finish import average_weights
from transformer_edu.runs.folder import CHECKPOINT, RunFolder
from transformer_edu.runs.steps import StepMaker, chosen_precision
from transformer_edu.runs.trainer import Trainer, new_model
from transformer_edu.saving.checkpoint import distinct_weights
from transformer_edu.support.provenance import provenance
from transformer_edu.training import warmup_schedule
from transformer_edu.translate.export import export
from transformer_edu.translate.settings import TrainingSettings
from transformer_edu.translate.task import prepare_task
from transformer_edu.translate.translator import load_translator

pytestmark = [pytest.mark.long, pytest.mark.usefixtures("at_readers_speed")]
ALONE = Processes(0, 1, torch.device("cpu"))


def settings_for(folder, text, **changes):
    return TrainingSettings(out=str(folder), **{**SMALL, **text, **changes})


def trainer_for(settings, resume=False, seen=None):
    show = (lambda *step: None) if seen is None else (lambda *step: seen.append(step))
    task = prepare_task(settings, ALONE, resume)
    trainer = Trainer(settings, task, ALONE, show, provenance("the command"))
    if resume:
        assert trainer.resume()
    return trainer


def same_weights(model, other):
    return all(torch.equal(a, b) for a, b in zip(model.state_dict().values(), other.state_dict().values(), strict=True))


@pytest.fixture(scope="module")
def whole_run(tmp_path_factory, brief_text):
    """A run from beginning to end, its card, its last weights, and what it showed on the way."""
    settings, seen = settings_for(tmp_path_factory.mktemp("run"), brief_text), []
    trainer = trainer_for(settings, seen=seen)
    trainer.run()
    weights = {name: weight.clone() for name, weight in distinct_weights(trainer.model).items()}
    return settings, trainer, export(trainer, trainer.task), weights, seen


@pytest.fixture
def again(whole_run, tmp_path):
    """Settings of the same run in a copy of its folder."""
    return replace(whole_run[0], out=str(shutil.copytree(whole_run[0].out, tmp_path / "again")))


def ends_as(whole_run, trainer):
    trainer.run()
    return all(torch.equal(weight, whole_run[3][name]) for name, weight in distinct_weights(trainer.model).items())


def test_the_learning_rate_is_the_papers_schedule_scaled_to_its_peak(whole_run):
    _, trainer, *_ = whole_run
    peak = trainer.settings.learning_rate
    assert trainer.task.learning_rate(10) == pytest.approx(peak)
    for step in (1, 5, 40):
        ratio = warmup_schedule(step, 16, 10) / warmup_schedule(10, 16, 10)
        assert trainer.task.learning_rate(step) == pytest.approx(peak * ratio)


def test_the_log_holds_steps_and_evaluations(whole_run):
    _, trainer, _, _, seen = whole_run
    lines = trainer.folder.log()
    assert [line["step"] for line in lines] == [4, 4, 8, 8, 12, 12]
    assert lines[0]["loss"] == pytest.approx(sum(loss for _, loss, _ in seen[:4]) / 4, rel=0.05)
    assert all({"validation_loss", "validation_bleu"} <= set(line) for line in lines[1::2])
    assert lines[-2]["learning_rate"] == pytest.approx(trainer.task.learning_rate(12), rel=1e-4)


def test_a_resumed_run_ends_with_the_same_bits(tmp_path, whole_run):
    settings = replace(whole_run[0], out=str(tmp_path))
    trainer_for(replace(settings, steps=5)).run()  # stops between two evaluations of the whole run
    resumed = trainer_for(settings, resume=True)
    assert resumed.progress.step == 5
    assert [origin["command"] for origin in resumed.origins] == ["the command"] * 2
    assert ends_as(whole_run, resumed)


def test_parts_of_a_batch_add_up_to_the_whole(tmp_path, brief_text):
    settings = settings_for(tmp_path, brief_text, precision="float64", dropout=0.0)
    task = prepare_task(settings, ALONE)
    found = []
    for parts in (1, 3, 50):  # 50: each sentence alone, without padding, and parts that have none
        changed = replace(settings, accumulate=parts)
        model = new_model(task)
        steps = StepMaker(model, task, changed, ALONE)
        losses = [steps.take(list(range(start, start + 7)), 1 + start, 0.01)[0] for start in range(0, 35, 7)]
        found.append((losses, model))
    for losses, model in found[1:]:
        assert losses == pytest.approx(found[0][0], abs=1e-10)
        for ours, whole in zip(model.parameters(), found[0][1].parameters(), strict=True):
            assert (ours - whole).abs().max() < 1e-9


def flip(content):
    return content[:-7] + bytes([content[-7] ^ 1]) + content[-6:]


@pytest.mark.parametrize("spoil", [flip, lambda content: content[:1000]], ids=["damaged", "cut off"])
def test_a_spoilt_newest_checkpoint_is_reported_and_the_one_before_it_used(again, whole_run, spoil):
    newest = RunFolder(again.out).file(CHECKPOINT, 12)
    newest.write_bytes(spoil(newest.read_bytes()))
    with pytest.warns(UserWarning, match=r"checkpoint-00000012\.safetensors is damaged.*it is passed over"):
        resumed = trainer_for(again, resume=True)
    assert resumed.progress.step == 8
    assert ends_as(whole_run, resumed)
    assert [line["step"] for line in resumed.folder.log()] == [4, 4, 8, 8, 12, 12]


def test_a_loss_that_is_no_number_stops_the_run_and_says_what_to_do(tmp_path, brief_text):
    trainer = trainer_for(settings_for(tmp_path, brief_text))
    with torch.no_grad():
        trainer.model.projection.linear.weight[5] = torch.nan
    with pytest.raises(FloatingPointError, match=r"got nan at step 1 .*lower --learning-rate"):
        trainer.run()


def test_patience_and_minutes_end_a_run_at_an_evaluation(tmp_path, brief_text):
    patient = settings_for(tmp_path / "a", brief_text, learning_rate=1e-9, steps=40, patience=2)
    progress = trainer_for(patient).run()
    assert (progress.step, progress.stale) == (12, 2)  # the first evaluation is the best, then two in vain
    assert trainer_for(settings_for(tmp_path / "b", brief_text, minutes=1e-6)).run().step == 4


def test_weights_are_averaged_name_by_name():
    one, two = {"w": torch.tensor([1.0, 3.0])}, {"w": torch.tensor([3.0, 3.0])}
    assert average_weights([one, two])["w"].tolist() == [2.0, 3.0]
    with pytest.raises(ValueError, match="weights must hold at least one set"):
        average_weights([])


def test_the_finished_model_is_the_best_on_validation(whole_run):
    _, trainer, card, _, _ = whole_run
    tried = {name: scores["validation_bleu"] for name, scores in card["weights"]["tried"].items()}
    assert tried[card["weights"]["chosen"]] == max(tried.values())
    assert "mean of the last 2" in tried
    penalties = card["search"]["validation_bleu"]
    assert penalties[str(card["search"]["length_penalty"])] == max(penalties.values())
    assert card["parameters"] == sum(weight.numel() for weight in trainer.model.parameters())
    assert {"command", "commit", "machine", "date", "seed"} <= set(card)
    assert card["settings"]["d_model"] == 16
    assert (card["training"]["steps"], card["training"]["pairs"]) == (12, 120)


def test_the_finished_model_loads_and_a_changed_file_does_not(whole_run, again):
    _, trainer, card, *_ = whole_run
    folder = Path(again.out)
    assert same_weights(load_translator(folder).model, trainer.model)
    assert json.loads((folder / "card.json").read_text()) == card
    with (folder / "tokenizer.json").open("a") as file:
        file.write("\n")
    with pytest.raises(ValueError, match=r"tokenizer\.json must be the file that card\.json describes"):
        load_translator(folder)
    (folder / "model.safetensors").unlink()
    with pytest.raises(FileNotFoundError, match=r"has no model\.safetensors"):
        load_translator(folder)


def test_half_precision_halves_the_file_and_keeps_the_answers(again, whole_run):
    resumed = trainer_for(again, resume=True)
    export(resumed, resumed.task, half=True)
    full, half = (Path(folder) / "model.safetensors" for folder in (whole_run[0].out, again.out))
    assert half.stat().st_size < 0.6 * full.stat().st_size
    assert same_weights(load_translator(again.out).model, resumed.model)


def test_bfloat16_is_refused_where_the_processor_only_imitates_it(monkeypatch, tmp_path, brief_text):
    monkeypatch.setattr(torch.ops.mkldnn, "_is_mkldnn_bf16_supported", lambda: False)
    cpu = torch.device("cpu")
    assert chosen_precision(settings_for(tmp_path, brief_text, precision="auto"), cpu) == "float32"
    with pytest.raises(ValueError, match="precision must be float32 or auto here"):
        chosen_precision(settings_for(tmp_path, brief_text, precision="bfloat16"), cpu)


def test_training_lowers_the_loss_and_bfloat16_products_follow_the_float32_run(monkeypatch, tmp_path, brief_text):
    monkeypatch.setattr(torch.ops.mkldnn, "_is_mkldnn_bf16_supported", lambda: True)  # imitated where it is not
    losses = {}
    for precision in ("float32", "bfloat16"):
        seen, changes = [], {"steps": 20, "every": 20, "dropout": 0.0, "learning_rate": 0.01}
        trainer_for(settings_for(tmp_path / precision, brief_text, precision=precision, **changes), seen=seen).run()
        losses[precision] = [loss for _, loss, _ in seen]
    exact, quick = losses.values()
    assert quick != exact
    assert quick == pytest.approx(exact, rel=0.02)
    assert quick[-1] < 0.9 * quick[0]


def test_each_step_draws_its_own_dropout_and_again_the_same(tmp_path, brief_text):
    settings = settings_for(tmp_path, brief_text, dropout=0.5)
    task = prepare_task(settings, ALONE)
    steps = StepMaker(new_model(task).train(), task, settings, ALONE)
    first, second, again = (steps.take(list(range(8)), step, 0.0)[0] for step in (1, 2, 1))
    assert first == again
    assert first != second
