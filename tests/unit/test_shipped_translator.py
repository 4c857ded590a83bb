"""The shipped German-English model: small, documented, and as good as its card says."""

from pathlib import Path

import pytest

from transformer_edu import pretrained
from transformer_edu.commands.evaluate import evaluate
from transformer_edu.data import multi30k_pairs
from transformer_edu.training.evaluate import lowercase_bleu

FOLDER = Path(pretrained.__file__).parent / "multi30k-de-en"


@pytest.fixture(scope="module")
def translator():
    return pretrained.load_translator()


def test_it_is_small(translator):
    assert sum(weight.numel() for weight in translator.model.parameters()) == translator.card["parameters"] <= 6_000_000
    assert sum(file.stat().st_size for file in FOLDER.iterdir()) <= 12_000_000


def test_its_card_says_how_it_came_about(translator):
    card = translator.card
    assert card["command"].startswith("transformer-edu train")
    assert card["settings"]["seed"] == card["seed"]
    assert card["languages"] == ["de", "en"]
    assert {"processor", "cores", "threads", "torch"} <= set(card["machine"])
    tried = {name: scores["validation_bleu"] for name, scores in card["weights"]["tried"].items()}
    assert tried[card["weights"]["chosen"]] == max(tried.values())


def test_its_log_tells_what_its_card_tells(translator):
    card = translator.card
    evaluations = {
        row["step"]: row["validation_bleu"] for row in pretrained.translator_log() if "validation_bleu" in row
    }
    assert max(evaluations) == card["training"]["steps"]
    chosen = card["weights"]["chosen"].removeprefix("step ")
    best = max(evaluations.values())
    assert evaluations[int(chosen)] == best == card["weights"]["tried"][f"step {chosen}"]["validation_bleu"]


def test_it_translates(translator):
    assert translator.translate("Ein Hund läuft durch den Schnee.") == "A dog is running through the snow."


@pytest.mark.parametrize("search", ["beam", "greedy"])
def test_stored_scores_belong_to_these_weights(search, translator, corpus_folder):
    result = pretrained.translator_scores(search)
    assert result["model"]["weights_sha256"] == translator.card["weights_sha256"]
    assert len(result["translations"]) == result["sentences"] == 1000
    references = [target for _, target in multi30k_pairs("test_2016_flickr", corpus_folder)]
    found = lowercase_bleu(result["translations"], references)
    assert found == pytest.approx(result["scores"]["bleu_lowercase"]["score"], abs=0.01)
    assert found >= 39


def test_a_search_that_was_not_recorded_is_named():
    with pytest.raises(ValueError, match="search must be one of 'beam', 'greedy', got 'sampling'"):
        pretrained.translator_scores("sampling")


@pytest.mark.slow
def test_a_part_of_the_test_text_scores_as_stored(translator, corpus_folder, as_readers_run_it):
    pairs = multi30k_pairs("test_2016_flickr", corpus_folder)[:150]
    again = evaluate(translator, pairs, {"beam_size": 1})
    then = pretrained.translator_scores("greedy")["translations"][:150]
    same = sum(one == other for one, other in zip(again["translations"], then, strict=True))
    assert same >= 147, "translations may differ where two words are equally probable to float32's last digits"
