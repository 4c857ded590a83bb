"""The factor √d_model under three starts: the models, a short training, the recorded outcome."""

import pytest
import torch

from transformer_edu import recordings
from transformer_edu.experiments import embedding_scale
from transformer_edu.support.threads import one_thread
from transformer_edu.training.grammar_model import new_grammar_model

pytestmark = pytest.mark.usefixtures("at_readers_speed")
IDS = torch.tensor([[5, 6, 7]])


def accuracies(start, factor, tying="none"):
    """What the recording has for one setting, one number for each seed."""
    wanted = {"start": start, "factor": factor, "tying": tying}
    stored = recordings.load("embedding-scale")["data"]["runs"]
    return [run["accuracy"] for run in stored if wanted.items() <= run.items()]


@pytest.fixture
def short(monkeypatch):
    """Ten held-out sentences, one thread."""
    monkeypatch.setattr(embedding_scale, "SENTENCES", 10)
    with one_thread():
        yield


def test_xavier_with_the_factor_is_the_model_of_the_book():
    ours = embedding_scale.new_model("Xavier", True, seed=3).state_dict()
    book = new_grammar_model(3).state_dict()
    assert ours.keys() == book.keys()
    assert all(torch.equal(ours[name], book[name]) for name in book)


@pytest.mark.parametrize("start", embedding_scale.STARTS)
def test_the_factor_changes_no_weight(start):
    with_factor = embedding_scale.new_model(start, True, seed=1)
    without = embedding_scale.new_model(start, False, seed=1)
    one, two = with_factor.state_dict(), without.state_dict()
    assert one.keys() == two.keys()
    assert all(torch.equal(one[name], two[name]) for name in one)
    assert torch.allclose(with_factor.source_embedding(IDS), 8 * without.source_embedding(IDS))


@pytest.mark.parametrize(("start", "size"), [("N(0, 1)", 1.0), ("N(0, 1/d)", 0.125)])
def test_only_the_tables_depend_on_the_start(start, size):
    model, xavier = embedding_scale.new_model(start, True), embedding_scale.new_model("Xavier", True)
    changed = {name for name, value in model.state_dict().items() if not torch.equal(value, xavier.state_dict()[name])}
    assert changed == {"source_embedding.lookup.weight", "target_embedding.lookup.weight"}
    assert model.source_embedding.lookup.weight.std().item() == pytest.approx(size, rel=0.05)
    assert model.target_embedding.lookup.weight.std().item() == pytest.approx(size, rel=0.05)


@pytest.mark.parametrize("factor", [True, False])
def test_a_tied_projection_stays_the_table_of_the_target(factor):
    tied = embedding_scale.new_model("N(0, 1/d)", factor, "target")
    assert tied.projection.linear.weight is tied.target_embedding.lookup.weight
    free = embedding_scale.new_model("N(0, 1/d)", factor, "none")
    assert free.projection.linear.weight is not free.target_embedding.lookup.weight


def test_weights_depend_on_the_seed_and_leave_the_random_state_alone():
    state = torch.get_rng_state()
    one = embedding_scale.new_model("N(0, 1)", False, seed=2).source_embedding.lookup.weight
    assert torch.equal(torch.get_rng_state(), state)
    torch.manual_seed(8)
    two = embedding_scale.new_model("N(0, 1)", False, seed=2).source_embedding.lookup.weight
    other = embedding_scale.new_model("N(0, 1)", False, seed=3).source_embedding.lookup.weight
    assert torch.equal(one, two)
    assert not torch.equal(one, other)


@pytest.mark.parametrize(
    ("start", "factor", "expected"),
    [("N(0, 1)", True, 8 * 2**0.5), ("N(0, 1)", False, 2**0.5), ("N(0, 1/d)", True, 2**0.5)],
)
def test_balance_is_the_size_of_a_word_over_that_of_a_position(start, factor, expected):
    model = embedding_scale.new_model(start, factor)
    assert embedding_scale.balance(model) == pytest.approx(expected, rel=0.05)


def test_untied_two_of_the_models_compute_the_same_until_the_first_step():
    large, small = embedding_scale.new_model("N(0, 1)", False), embedding_scale.new_model("N(0, 1/d)", True)
    assert torch.equal(large.eval()(IDS, IDS), small.eval()(IDS, IDS))
    tied = [embedding_scale.new_model(start, start != "N(0, 1)", "target") for start in ("N(0, 1)", "N(0, 1/d)")]
    assert not torch.allclose(tied[0].eval()(IDS, IDS), tied[1].eval()(IDS, IDS), atol=1.0)


def test_a_few_steps_lower_the_loss(short):
    outcome = embedding_scale.train_from("N(0, 1/d)", True, steps=10)
    assert outcome.loss < outcome.first_loss - 0.15
    assert outcome == embedding_scale.train_from("N(0, 1/d)", True, steps=10)


@pytest.mark.parametrize(
    ("arguments", "error", "words"),
    [
        ({"start": "zeros", "factor": True}, ValueError, "start must be one of 'N.*got 'zeros'"),
        ({"start": "Xavier", "factor": 1}, TypeError, "factor must be True or False, got 1 of type int"),
        ({"start": "Xavier", "factor": True, "tying": "all"}, ValueError, "tying must be one of .*got 'all'"),
        ({"start": "Xavier", "factor": True, "seed": -1}, ValueError, "seed must be at least 0, got -1"),
        ({"start": "Xavier", "factor": True, "steps": 0}, ValueError, "steps must be at least 1, got 0"),
    ],
)
def test_bad_arguments_are_named(arguments, error, words, short, as_readers_run_it):
    with pytest.raises(error, match=words):
        embedding_scale.train_from(**arguments)


def test_recording_is_complete():
    data = recordings.load("embedding-scale")["data"]
    found = [{name: run[name] for name in ("start", "factor", "tying")} for run in data["runs"]]
    assert found == [setting for setting in embedding_scale.settings() for _ in embedding_scale.SEEDS]
    assert (data["steps"], data["sentences"]) == (embedding_scale.STEPS, embedding_scale.SENTENCES)


@pytest.mark.parametrize("tying", embedding_scale.TYINGS)
def test_recorded_first_balance_and_loss_are_those_of_the_model(tying):
    stored = recordings.load("embedding-scale")["data"]["runs"]
    pairs = embedding_scale.held_out()
    for run in [run for run in stored if run["tying"] == tying and run["seed"] == 0]:
        model = embedding_scale.new_model(run["start"], run["factor"], tying)
        loss = embedding_scale.evaluate_loss(model, embedding_scale.iterate_batches(pairs, len(pairs)))
        assert run["balance"] == pytest.approx(embedding_scale.balance(model), abs=5e-4)
        assert run["first_loss"] == pytest.approx(loss, abs=2e-3)


@pytest.mark.parametrize("seed", embedding_scale.SEEDS)
@pytest.mark.parametrize("tying", embedding_scale.TYINGS)
def test_in_the_recording_a_balance_near_one_learns_faster(tying, seed):
    stored = recordings.load("embedding-scale")["data"]["runs"]
    stored = [run for run in stored if (run["tying"], run["seed"]) == (tying, seed)]
    balanced = [run for run in stored if 1.0 < run["balance"] < 1.5]
    unbalanced = [run for run in stored if not 0.5 < run["balance"] < 5.0]
    assert len(balanced) == len(unbalanced) == 3
    assert min(run["accuracy"] for run in balanced) > max(run["accuracy"] for run in unbalanced) + 0.1
    assert max(run["loss"] for run in balanced) < min(run["loss"] for run in unbalanced)


def test_in_the_recording_the_factor_helps_small_tables_and_harms_the_default():
    for start in ("Xavier", "N(0, 1/d)"):
        assert min(accuracies(start, True)) > 0.9
        assert max(accuracies(start, False)) < 0.5
    assert min(accuracies("N(0, 1)", False)) > max(accuracies("N(0, 1)", True)) + 0.3
    assert min(accuracies("N(0, 1/d)", True)) > max(accuracies("N(0, 1)", False)) + 0.05


def test_in_the_recording_a_tied_table_of_size_one_fails():
    assert max(accuracies("N(0, 1)", True, "target")) < 0.1
    assert max(accuracies("N(0, 1)", False, "target")) < min(accuracies("N(0, 1/d)", True, "target")) - 0.3


def test_the_command_prints_a_line_with_the_factor_and_one_without(capsys, short):
    embedding_scale.main(["--start", "small", "--steps", "1"])
    lines = capsys.readouterr().out.splitlines()
    assert [line[:25].split("  ")[0] for line in lines] == ["N(0, 1/d)", "N(0, 1/d)"]
    assert "times √d_model" in lines[0]
    assert "plain" in lines[1]
    assert "word / position  0.1" in lines[1]


def test_a_recording_holds_every_setting_from_every_seed_at_four_decimals(monkeypatch):
    asked = []

    def quick(start, factor, tying, *, seed, steps):
        asked.append((start, factor, tying, seed, steps))
        return embedding_scale.Outcome(balance=1 / 3, first_loss=5.0, loss=2 / 3, accuracy=0.5)

    monkeypatch.setattr(embedding_scale, "train_from", quick)
    data = embedding_scale.record_embedding_scale()
    assert len(set(asked)) == len(data["runs"]) == 3 * 2 * 2 * 3
    assert {steps for *_, steps in asked} == {data["steps"]} == {300}
    assert data["runs"][0] == {
        "start": "N(0, 1)", "factor": True, "tying": "none", "seed": 0,
        "balance": 0.3333, "first_loss": 5.0, "loss": 0.6667, "accuracy": 0.5,
    }  # fmt: skip
