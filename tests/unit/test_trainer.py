"""A training run: what it computes, what it writes, and that it can be stopped anywhere and resumed."""

import json
from dataclasses import replace

import pytest
import torch

from tests.unit.conftest import SMALL
from transformer_edu.saving.checkpoint import distinct_weights
from transformer_edu.support.provenance import provenance
from transformer_edu.training import warmup_schedule
from transformer_edu.translator.distributed import Processes
from transformer_edu.translator.export import average_weights, export
from transformer_edu.translator.run_folder import CHECKPOINT, WEIGHTS, RunFolder
from transformer_edu.translator.settings import TrainingSettings
from transformer_edu.translator.steps import StepMaker, chosen_precision
from transformer_edu.translator.task import prepare_task
from transformer_edu.translator.trainer import Trainer, new_model
from transformer_edu.translator.translator import load_translator

pytestmark = pytest.mark.usefixtures("at_readers_speed")
DAMAGED = r"checkpoint-00000012\.safetensors is damaged.*it is passed over"
ALONE = Processes(0, 1, torch.device("cpu"))


def settings_for(folder, parallel_text, **changes):
    return TrainingSettings(out=str(folder), **{**SMALL, **parallel_text, **changes})


def trainer_for(settings, resume=False, seen=None):
    show = (lambda *step: None) if seen is None else (lambda *step: seen.append(step))
    task = prepare_task(settings, ALONE, resume)
    trainer = Trainer(settings, task, ALONE, show, provenance("the command"))
    if resume:
        assert trainer.resume()
    return trainer


def same_weights(one, other):
    return all(torch.equal(a, b) for a, b in zip(one.state_dict().values(), other.state_dict().values(), strict=True))


@pytest.fixture(scope="module")
def whole_run(tmp_path_factory, parallel_text):
    """A run from beginning to end, its card, and what it showed on the way."""
    settings, seen = settings_for(tmp_path_factory.mktemp("run"), parallel_text), []
    trainer = trainer_for(settings, seen=seen)
    trainer.run()
    weights = {name: weight.clone() for name, weight in distinct_weights(trainer.model).items()}
    return settings, trainer, export(trainer), weights, seen


def test_training_lowers_the_loss(tmp_path, parallel_text):
    seen = []
    trainer_for(settings_for(tmp_path, parallel_text, steps=60, every=60, learning_rate=0.02), seen=seen).run()
    assert sum(loss for _, loss, _ in seen[-5:]) < 0.75 * sum(loss for _, loss, _ in seen[:5])


def test_the_learning_rate_is_the_papers_schedule_scaled_to_its_peak(tmp_path, parallel_text):
    trainer = trainer_for(settings_for(tmp_path, parallel_text, learning_rate=0.01))
    assert trainer.learning_rate(10) == pytest.approx(0.01)
    for step in (1, 5, 40):
        ratio = warmup_schedule(step, 16, 10) / warmup_schedule(10, 16, 10)
        assert trainer.learning_rate(step) == pytest.approx(0.01 * ratio)


def test_the_log_holds_steps_and_evaluations(whole_run):
    _, trainer, _, _, seen = whole_run
    lines = trainer.folder.log()
    assert [line["step"] for line in lines] == [4, 4, 8, 8, 12, 12]
    assert lines[0]["loss"] == pytest.approx(sum(loss for _, loss, _ in seen[:4]) / 4, rel=0.05)
    assert all({"validation_loss", "validation_bleu"} <= set(line) for line in lines[1::2])
    assert lines[-2]["learning_rate"] == pytest.approx(trainer.learning_rate(12), rel=1e-4)


def test_only_the_files_that_are_needed_are_kept(whole_run):
    _, trainer, *_ = whole_run
    assert trainer.folder.saved(CHECKPOINT) == [8, 12]
    assert trainer.folder.saved(WEIGHTS) == [8, 12]
    assert not list(trainer.folder.path.glob(".*"))


def test_a_resumed_run_ends_with_the_same_bits(tmp_path, parallel_text, whole_run):
    settings = settings_for(tmp_path, parallel_text)
    trainer_for(replace(settings, steps=5)).run()  # stops between two evaluations of the whole run
    resumed = trainer_for(settings, resume=True)
    assert resumed.progress.step == 5
    assert [one["command"] for one in resumed.origins] == ["the command"] * 2
    resumed.run()
    _, _, _, weights, _ = whole_run
    for name, weight in distinct_weights(resumed.model).items():
        assert torch.equal(weight, weights[name]), name


def test_resuming_in_a_later_epoch_goes_on_at_the_right_batch(tmp_path, parallel_text):
    settings = settings_for(tmp_path / "a", parallel_text, steps=24, every=6)
    whole = trainer_for(settings)
    whole.run()
    assert whole.progress.epoch >= 1
    first = replace(settings, out=str(tmp_path / "b"), steps=18)
    trainer_for(first).run()
    resumed = trainer_for(replace(first, steps=24), resume=True)
    resumed.run()
    assert same_weights(whole.model, resumed.model)
    assert (resumed.progress.epoch, resumed.progress.place) == (whole.progress.epoch, whole.progress.place)


def test_parts_of_a_batch_add_up_to_the_whole(tmp_path, parallel_text):
    settings = settings_for(tmp_path, parallel_text, precision="float64", dropout=0.0)
    task = prepare_task(settings, ALONE)
    found = []
    for parts in (1, 3, 50):  # 50: more parts than sentences
        changed = replace(settings, accumulate=parts)
        model = new_model(changed, len(task.tokenizer))
        steps = StepMaker(model, task, changed, ALONE)
        losses = [steps.take(list(range(start, start + 7)), 1 + start, 0.01)[0] for start in range(0, 35, 7)]
        found.append((losses, model))
    for losses, model in found[1:]:
        assert losses == pytest.approx(found[0][0], abs=1e-10)
        for ours, whole in zip(model.parameters(), found[0][1].parameters(), strict=True):
            assert (ours - whole).abs().max() < 1e-9


def test_padding_and_batch_mates_do_not_change_a_sentences_loss(tmp_path, parallel_text):
    settings = settings_for(tmp_path, parallel_text, precision="float64", dropout=0.0)
    task = prepare_task(settings, ALONE)
    shortest = min(range(len(task.train)), key=lambda index: len(task.train[index][0]))
    longest = max(range(len(task.train)), key=lambda index: len(task.train[index][0]))
    sizes = [len(task.train[index][1]) + 1 for index in (shortest, longest)]

    def loss(indices):
        return StepMaker(new_model(settings, len(task.tokenizer)), task, settings, ALONE).take(indices, 1, 0.0)[0]

    alone = loss([shortest]) * sizes[0] + loss([longest]) * sizes[1]
    assert loss([shortest, longest]) * sum(sizes) == pytest.approx(alone, abs=1e-9)


def test_a_damaged_newest_checkpoint_is_reported_and_the_one_before_it_used(tmp_path, parallel_text):
    settings = settings_for(tmp_path, parallel_text)
    whole = trainer_for(settings)
    whole.run()
    newest = RunFolder(tmp_path).file(CHECKPOINT, 12)
    content = bytearray(newest.read_bytes())
    content[-7] ^= 1
    newest.write_bytes(content)
    with pytest.warns(UserWarning, match=DAMAGED):
        resumed = trainer_for(settings, resume=True)
    assert resumed.progress.step == 8
    resumed.run()
    assert same_weights(whole.model, resumed.model)
    assert [line["step"] for line in resumed.folder.log()] == [4, 4, 8, 8, 12, 12]


def test_a_cut_off_checkpoint_is_passed_over_too(tmp_path, parallel_text):
    settings = settings_for(tmp_path, parallel_text)
    trainer_for(settings).run()
    newest = RunFolder(tmp_path).file(CHECKPOINT, 12)
    newest.write_bytes(newest.read_bytes()[:1000])
    with pytest.warns(UserWarning, match="it is passed over"):
        assert trainer_for(settings, resume=True).progress.step == 8


def test_a_half_written_log_line_and_temporary_files_are_cleared_away(tmp_path, parallel_text):
    settings = settings_for(tmp_path, parallel_text, steps=8)
    trainer_for(settings).run()
    with (tmp_path / "log.jsonl").open("a") as log:
        log.write('{"step": 9, "loss": 3.1}\n{"step": 10, "lo')
    (tmp_path / ".checkpoint-00000012.safetensors.x1").write_bytes(b"half")
    trainer_for(replace(settings, steps=12), resume=True)
    assert [line["step"] for line in RunFolder(tmp_path).log()] == [4, 4, 8, 8]
    assert not list(tmp_path.glob(".checkpoint*"))


def test_settings_that_change_the_course_cannot_be_changed_on_the_way(tmp_path, parallel_text):
    settings = settings_for(tmp_path, parallel_text, steps=4)
    trainer_for(settings).run()
    with pytest.raises(
        ValueError, match=r"the run must be that of .*run\.json, but differs from it in dropout: 0\.1 then, 0\.2 now"
    ):
        trainer_for(replace(settings, dropout=0.2, steps=8), resume=True)


def test_a_loss_that_is_no_number_stops_the_run_and_says_what_to_do(tmp_path, parallel_text):
    trainer = trainer_for(settings_for(tmp_path, parallel_text))
    with torch.no_grad():
        trainer.model.projection.linear.weight[5] = torch.nan
    with pytest.raises(FloatingPointError, match=r"got nan at step 1 .*lower --learning-rate"):
        trainer.run()


def test_patience_ends_the_run(tmp_path, parallel_text):
    settings = settings_for(tmp_path, parallel_text, learning_rate=1e-9, steps=40, patience=2)
    progress = trainer_for(settings).run()
    assert progress.step == 12  # the first evaluation is the best, then two in vain
    assert progress.stale == 2


def test_minutes_end_the_run_at_an_evaluation(tmp_path, parallel_text):
    progress = trainer_for(settings_for(tmp_path, parallel_text, minutes=1e-6)).run()
    assert progress.step == 4


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
    assert card["training"]["steps"] == 12


def test_the_finished_model_loads_and_a_changed_file_does_not(whole_run, tmp_path):
    settings, trainer, card, _, _ = whole_run
    translator = load_translator(settings.out)
    assert same_weights(translator.model, trainer.model)
    assert json.loads((trainer.folder.path / "card.json").read_text()) == card
    for name in ("card.json", "model.safetensors", "tokenizer.json"):
        (tmp_path / name).write_bytes((trainer.folder.path / name).read_bytes())
    with (tmp_path / "tokenizer.json").open("a") as file:
        file.write("\n")
    with pytest.raises(ValueError, match=r"tokenizer\.json must be the file that card\.json describes"):
        load_translator(tmp_path)
    (tmp_path / "model.safetensors").unlink()
    with pytest.raises(FileNotFoundError, match=r"has no model\.safetensors"):
        load_translator(tmp_path)


def test_half_precision_halves_the_file_and_keeps_the_answers(tmp_path, parallel_text, whole_run):
    settings, trainer, *_ = whole_run
    copy = trainer_for(replace(settings, out=str(tmp_path)))
    copy.run()
    export(copy, half=True)
    full, half = (folder / "model.safetensors" for folder in (trainer.folder.path, tmp_path))
    assert half.stat().st_size < 0.6 * full.stat().st_size
    assert same_weights(load_translator(tmp_path).model, copy.model)


def test_long_pairs_are_left_out_and_counted(tmp_path, parallel_text):
    task = prepare_task(settings_for(tmp_path, parallel_text, max_length=12), ALONE)
    assert task.too_long > 0
    assert task.too_long + len(task.train) == 120
    assert max(max(map(len, pair)) for pair in task.train) <= 12
    with pytest.raises(ValueError, match="max_length must leave some training pairs, got 1"):
        prepare_task(settings_for(tmp_path, parallel_text, max_length=1), ALONE)


def test_bfloat16_is_refused_where_the_processor_only_imitates_it(monkeypatch, tmp_path, parallel_text):
    monkeypatch.setattr(torch.ops.mkldnn, "_is_mkldnn_bf16_supported", lambda: False)
    cpu = torch.device("cpu")
    assert chosen_precision(settings_for(tmp_path, parallel_text, precision="auto"), cpu) == "float32"
    with pytest.raises(ValueError, match="precision must be float32 or auto here"):
        chosen_precision(settings_for(tmp_path, parallel_text, precision="bfloat16"), cpu)


def losses_of_run(folder, parallel_text, **changes):
    seen = []
    settings = settings_for(folder, parallel_text, steps=20, every=20, dropout=0.0, learning_rate=0.01, **changes)
    trainer_for(settings, seen=seen).run()
    return [loss for _, loss, _ in seen]


def test_bfloat16_products_follow_the_float32_run(monkeypatch, tmp_path, parallel_text):
    monkeypatch.setattr(torch.ops.mkldnn, "_is_mkldnn_bf16_supported", lambda: True)  # imitated where it is not
    exact = losses_of_run(tmp_path / "exact", parallel_text, precision="float32")
    quick = losses_of_run(tmp_path / "quick", parallel_text, precision="bfloat16")
    assert quick != exact
    assert quick == pytest.approx(exact, rel=0.02)
    assert quick[-1] < 0.9 * quick[0]


@pytest.mark.parametrize(
    ("changes", "error", "says"),
    [
        ({"steps": 0}, ValueError, "steps must be at least 1, got 0"),
        ({"learning_rate": 0.0}, ValueError, "learning_rate must be a finite number greater than 0"),
        ({"precision": "int8"}, ValueError, "precision must be one of"),
        ({"norm": "sandwich"}, ValueError, "norm must be one of 'post', 'pre'"),
        ({"d_model": 15}, ValueError, "d_model"),
        ({"train": ("a", "b", "c")}, ValueError, "train must be two files or one TSV, got 3 files"),
        ({"valid": ()}, ValueError, "train and valid must be given together"),
        ({"source": "fr"}, ValueError, "source must be one of 'de', 'en'"),
    ],
)
def test_bad_settings_are_named(tmp_path, parallel_text, changes, error, says):
    with pytest.raises(error, match=says):
        settings_for(tmp_path, parallel_text, **changes)


def test_each_step_draws_its_own_dropout_and_again_the_same(tmp_path, parallel_text):
    settings = settings_for(tmp_path, parallel_text, dropout=0.5)
    task = prepare_task(settings, ALONE)
    steps = StepMaker(new_model(settings, len(task.tokenizer)).train(), task, settings, ALONE)
    first, second, again = (steps.take(list(range(8)), step, 0.0)[0] for step in (1, 2, 1))
    assert first == again
    assert first != second
