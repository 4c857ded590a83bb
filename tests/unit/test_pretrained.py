"""The shipped models: small, documented, as good as their cards and the book say, and refused when changed."""

import json
import shutil
from pathlib import Path

import pytest
import torch

from transformer_edu import RUNNING_SENTENCE, RUNNING_TRANSLATION, pretrained
from transformer_edu.data import encode_pairs, held_out_pairs, multi30k_pairs, vocabularies
from transformer_edu.pretrained import grammar
from transformer_edu.training import exact_match, read_extra
from transformer_edu.training import grammar_model as recipe
from transformer_edu.training.evaluate import lowercase_bleu
from transformer_edu.translate.commands.evaluate import evaluate

pytestmark = pytest.mark.usefixtures("at_readers_speed")
FOLDER = Path(pretrained.__file__).parent


@pytest.fixture(scope="module")
def shipped():
    return pretrained.load_grammar()


def test_running_sentence_is_translated(shipped):
    assert shipped.translate(RUNNING_SENTENCE) == RUNNING_TRANSLATION
    assert shipped.translate(" The small black cat does not sleep. ") == RUNNING_TRANSLATION


@pytest.mark.long
def test_held_out_sentences_are_translated(shipped):
    pairs = encode_pairs(held_out_pairs(), shipped.source_vocabulary, shipped.target_vocabulary)
    score = exact_match(shipped.model, pairs)
    assert score >= 0.97
    assert score == pytest.approx(shipped.card["held_out"]["exact_match"], abs=0.003)


def test_an_untrained_model_of_the_same_shape_cannot_do_it():
    pairs = encode_pairs(held_out_pairs(20), *vocabularies())
    assert exact_match(recipe.new_grammar_model(0).eval(), pairs) == 0


def test_shipped_files_are_small_and_say_where_they_come_from(shipped):
    assert (FOLDER / "grammar.safetensors").stat().st_size <= 1_000_000
    card = shipped.card
    assert card["command"] == f"python -m transformer_edu.training.grammar_model --seed {card['seed']}"
    assert {"commit", "machine", "date", "held_out", "training", "weights_sha256"} <= card.keys()
    assert read_extra(FOLDER / "grammar.safetensors") == {"command": card["command"], "seed": card["seed"]}
    assert (FOLDER / "grammar.log").read_text().startswith(f"$ {card['command']}\n")


def test_shipped_model_belongs_to_this_recipe_and_grammar(shipped):
    assert shipped.model.config == recipe.grammar_config()
    assert (shipped.source_vocabulary, shipped.target_vocabulary) == vocabularies()
    assert not shipped.model.training


@pytest.mark.parametrize(("sentence", "says"), [("the blue cat sleeps", "blue"), ("", "none"), (" . ", "none")])
def test_unknown_words_are_refused_by_name(shipped, sentence, says):
    with pytest.raises(ValueError, match=says):
        shipped.translate(sentence)


def test_weights_that_are_not_the_cards_are_refused(tmp_path, monkeypatch):
    for name in ("grammar.safetensors", "grammar.json"):
        shutil.copy(FOLDER / name, tmp_path)
    monkeypatch.setattr(grammar, "_FOLDER", tmp_path)
    card = json.loads((tmp_path / "grammar.json").read_text())
    (tmp_path / "grammar.json").write_text(json.dumps({**card, "weights_sha256": "0" * 64}))
    with pytest.raises(ValueError, match=r"grammar\.safetensors must be the file that grammar\.json describes"):
        pretrained.load_grammar()


@pytest.mark.long
def test_command_writes_a_model_that_loads_and_never_into_the_package_by_itself(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    recipe.main(["--seed", "5", "--steps", "2"])
    monkeypatch.setattr(grammar, "_FOLDER", tmp_path / "grammar-model")
    card = pretrained.load_grammar().card
    assert card["command"].endswith("--seed 5 --steps 2")
    assert card["training"]["steps"] == 2
    assert "held out" in capsys.readouterr().out


def test_training_on_one_thread_puts_the_threads_back(monkeypatch):
    counts = [5]
    monkeypatch.setattr(torch, "get_num_threads", lambda: counts[-1])
    monkeypatch.setattr(torch, "set_num_threads", counts.append)
    with pytest.raises(RuntimeError, match="in between"), recipe.one_thread():
        raise RuntimeError("in between")
    assert counts == [5, 1, 5]


@pytest.fixture(scope="module")
def translator():
    return pretrained.load_translator()


def test_the_translator_is_small(translator):
    assert sum(weight.numel() for weight in translator.model.parameters()) == translator.card["parameters"] <= 6_000_000
    assert sum(file.stat().st_size for file in (FOLDER / "multi30k-de-en").iterdir()) <= 12_000_000


def test_the_translators_card_says_how_it_came_about(translator):
    card = translator.card
    assert card["command"].startswith("transformer-edu train")
    assert card["settings"]["seed"] == card["seed"]
    assert card["languages"] == ["de", "en"]
    assert {"processor", "cores", "threads", "torch"} <= set(card["machine"])
    tried = {name: scores["validation_bleu"] for name, scores in card["weights"]["tried"].items()}
    assert tried[card["weights"]["chosen"]] == max(tried.values())


def test_the_translator_translates(translator):
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


@pytest.mark.slow
def test_a_part_of_the_test_text_scores_as_stored(translator, corpus_folder):
    pairs = multi30k_pairs("test_2016_flickr", corpus_folder)[:150]
    again = evaluate(translator, pairs, {"beam_size": 1})
    then = pretrained.translator_scores("greedy")["translations"][:150]
    same = sum(translation == other for translation, other in zip(again["translations"], then, strict=True))
    assert same >= 147, "translations may differ where two words are equally probable to float32's last digits"
