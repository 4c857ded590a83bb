"""The factor √d_model under three starts: the models, a short training, the recorded outcome."""

import pytest
import torch
from experiments import embedding_scale
from experiments.embedding_scale import TYINGS, balance, new_model

from transformer_edu import recordings
from transformer_edu.training.grammar_model import new_grammar_model

pytestmark = pytest.mark.usefixtures("at_readers_speed")
IDS = torch.tensor([[5, 6, 7]])
TABLES = {"source_embedding.lookup.weight", "target_embedding.lookup.weight"}


def recorded(**wanted):
    """The recorded runs of some settings."""
    return [run for run in recordings.load("embedding-scale")["data"]["runs"] if wanted.items() <= run.items()]


def differing(model, other):
    """Names of the weights in which two models differ."""
    weights, other = model.state_dict(), other.state_dict()
    assert weights.keys() == other.keys()
    return {name for name in weights if not torch.equal(weights[name], other[name])}


def test_xavier_with_the_factor_is_the_model_of_the_book():
    assert not differing(new_model("Xavier", True, seed=3), new_grammar_model(3))


@pytest.mark.parametrize(("start", "size"), [("N(0, 1)", 1.0), ("N(0, 1/d)", 0.125)])
def test_only_the_tables_depend_on_the_start(start, size):
    model = new_model(start, True)
    assert differing(model, new_model("Xavier", True)) == TABLES
    assert all(model.state_dict()[name].std().item() == pytest.approx(size, rel=0.05) for name in TABLES)
    assert balance(model) == pytest.approx(8 * size * 2**0.5, rel=0.05)  # of a word's size over a position's
    assert balance(new_model(start, False)) == pytest.approx(size * 2**0.5, rel=0.05)


def test_untied_two_of_the_models_compute_the_same_until_the_first_step():
    large, small = new_model("N(0, 1)", False), new_model("N(0, 1/d)", True)
    assert torch.equal(large.eval()(IDS, IDS), small.eval()(IDS, IDS))
    tied = [new_model(start, start != "N(0, 1)", "target").eval() for start in ("N(0, 1)", "N(0, 1/d)")]
    assert not torch.allclose(tied[0](IDS, IDS), tied[1](IDS, IDS), atol=1.0)
    assert all(model.projection.linear.weight is model.target_embedding.lookup.weight for model in tied)


@pytest.mark.parametrize("tying", TYINGS)
@pytest.mark.long
def test_recorded_first_balance_and_loss_are_those_of_the_model(tying):
    pairs = embedding_scale.held_out()
    for run in recorded(tying=tying, seed=0):
        model = new_model(run["start"], run["factor"], tying)
        loss = embedding_scale.evaluate_loss(model, embedding_scale.iterate_batches(pairs, len(pairs)))
        assert run["balance"] == pytest.approx(balance(model), abs=5e-4)
        assert run["first_loss"] == pytest.approx(loss, abs=2e-3)


def test_recording_shows_what_the_chapter_says():
    def accuracies(start, factor, tying="none"):
        return [run["accuracy"] for run in recorded(start=start, factor=factor, tying=tying)]

    for start in ("Xavier", "N(0, 1/d)"):  # the factor helps small tables ...
        assert min(accuracies(start, True)) > 0.9
        assert max(accuracies(start, False)) < 0.5
    assert min(accuracies("N(0, 1)", False)) > max(accuracies("N(0, 1)", True)) + 0.3  # ... and harms the default
    assert max(accuracies("N(0, 1)", True, "target")) < 0.1  # tied, a table of size one fails
    for run in recorded():  # a balance near one learns faster
        for other in recorded(tying=run["tying"], seed=run["seed"]):
            if 1.0 < run["balance"] < 1.5 and not 0.5 < other["balance"] < 5.0:
                assert run["accuracy"] > other["accuracy"] + 0.1
                assert run["loss"] < other["loss"]
