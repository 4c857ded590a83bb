"""Copying in context: what its sequences promise, how its heads are scored and taken away, and the shipped copier."""

import hashlib
import math
import shutil

import pytest
import torch
from experiments import induction as recorded

from transformer_edu.book.experiments import copier
from transformer_edu.book.experiments.induction import (
    LENGTH,
    LETTERS,
    SHORTEST,
    Copier,
    induction_scores,
    losses,
    sequences,
    twice,
    without_head,
)

pytestmark = pytest.mark.usefixtures("at_readers_speed")


def drawn(count, seed=3):
    return sequences(count, torch.Generator().manual_seed(seed))


def test_a_copy_goes_on_as_letters_before_it_did_and_stops_no_earlier_than_said():
    ids, place = drawn(50)
    assert ids.shape == place.shape == (50, LENGTH)
    assert not place[:, :SHORTEST].any()
    for row, places in zip(ids.tolist(), place.tolist(), strict=True):
        pairs = [tuple(row[at : at + 2]) for at in range(LENGTH - 1)]
        assert all(pairs[at - 1] in pairs[: at - 1] for at in range(LENGTH) if places[at] > 1)
        stops = [at for at in range(1, LENGTH) if places[at] <= 1 and places[at - 1] > 0]
        assert all(places[at - 1] >= SHORTEST for at in stops)


def test_outside_a_copy_every_letter_is_as_likely():
    ids, place = drawn(4000)
    share = torch.bincount(ids[place == 0], minlength=26) / (place == 0).sum()
    assert share.tolist() == pytest.approx([1 / 26] * 26, abs=4e-3)


def test_a_letter_twice_in_a_row_of_twice_is_its_copy():
    ids = twice(20, 9, torch.Generator().manual_seed(0))
    assert torch.equal(ids[:, :9], ids[:, 9:])
    assert all(len(set(row)) == 9 for row in ids.tolist())


def test_induction_score_is_the_weight_on_what_followed_the_last_occurrence():
    ids = torch.tensor([[0, 1, 2, 0, 1, 0]])  # 0 at 3 -> place 1; 1 at 4 -> place 2; 0 at 5 -> place 4
    weights = torch.zeros(1, 2, 6, 6)
    weights[0, 0, [3, 4, 5], [1, 2, 4]] = torch.tensor([1.0, 0.5, 0.3])
    weights[0, 1, 5, 1] = 1.0  # an earlier occurrence than the last
    torch.testing.assert_close(induction_scores(weights, ids), torch.tensor([0.6, 0.0]))


def test_a_head_that_is_away_is_one_whose_output_weights_are_zero_and_comes_back():
    torch.manual_seed(0)
    model, ids = Copier(num_heads=2), drawn(2)[0]
    before = model(ids)
    with without_head(model, 0, 1):
        away = model(ids)
    assert torch.equal(model(ids), before)
    with torch.no_grad():
        model.decoder.layers[0].self_attention.output_projection.weight[:, 16:] = 0
    torch.testing.assert_close(model(ids), away)


def test_the_best_predictor_gives_the_letters_probabilities_that_add_up_to_one():
    ids = drawn(4)[0]
    for at in (1, 4, 12, LENGTH - 1):
        every = ids[:, None].repeat(1, 26, 1)
        every[:, :, at] = torch.arange(26)
        p = torch.exp(-recorded.best_losses(every.flatten(0, 1))[:, at]).view(4, 26)
        assert p.sum(dim=1).tolist() == pytest.approx([1.0] * 4)


@pytest.mark.long
def test_nobody_is_better_than_the_best_predictor_or_than_chance_where_letters_are_fresh():
    found, mine = recorded.references(20), losses(copier.load_copier())
    assert found["best"]["repeated"] < mine["repeated"] < found["distance"]["repeated"]
    assert min(found["best"]["fresh"], found["distance"]["fresh"], mine["fresh"]) > math.log(len(LETTERS))


def test_shipped_copier_is_small_what_its_card_says_and_copies_through_both_heads():
    card, model = copier.copier_card(), copier.load_copier()
    assert copier.FILE.stat().st_size < 16_000
    assert hashlib.sha256(copier.FILE.read_bytes()).hexdigest() == card["weights_sha256"]
    assert card["command"] == f"python -m transformer_edu.book.experiments.copier --seed {card['seed']}"
    assert losses(model) == pytest.approx(card["losses"], abs=1e-3)
    for layer in (0, 1):
        with without_head(model, layer, 0):
            assert losses(model)["repeated"] > 3 * card["losses"]["repeated"]


def test_the_command_writes_what_the_loader_reads(tmp_path, monkeypatch):
    copier.main(["--steps", "2", "--out", str(tmp_path)])
    monkeypatch.setattr(copier, "FILE", tmp_path / copier.FILE.name)
    monkeypatch.setattr(copier, "_FOLDER", tmp_path)
    assert losses(copier.load_copier()) == pytest.approx(copier.copier_card()["losses"], abs=1e-3)
    shutil.copyfile(tmp_path / "copier.json", tmp_path / copier.FILE.name)
    with pytest.raises(ValueError, match=r"copier\.safetensors is damaged"):
        copier.load_copier()
