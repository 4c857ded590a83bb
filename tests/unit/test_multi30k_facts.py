"""What chapters 14 and 15 say about real text: counted rightly, and in agreement with what is shipped."""

import pytest
from experiments import multi30k_facts, search_settings

from transformer_edu import pretrained, recordings

PAIRS = [
    ("Ein Mann repariert ein Dach.", "A man is fixing a roof."),
    ("Ein Hund bellt, und eine Katze schläft nicht.", "A dog is barking, and a cat does not sleep."),
    ("Ein Kind isst ein Eis.", "A child is eating ice cream."),
    ("Eine Frau liest.", "A woman is reading."),
]
REFERENCES = [english for _, english in PAIRS]


@pytest.fixture(scope="module")
def translator():
    return pretrained.load_translator()


def test_facts_are_counted(translator):
    facts = multi30k_facts.text_facts(PAIRS[:2], PAIRS[2:], translator.tokenizer)
    assert facts["words"] == 12  # Ein Mann repariert ein Dach Hund bellt und eine Katze schläft nicht; Ein twice
    assert facts["once"] == 11
    assert facts["test_words"] == 8
    assert facts["test_unseen"] == 6  # Kind isst Eis Eine Frau liest
    assert facts["captions_with"]["schläft nicht"] == facts["captions_with"]["nicht"] == 1
    assert facts["captions_with"]["heute"] == 0
    assert not any(multi30k_facts.holds(PAIRS[1][0], words) for words in ("nicht schläft", "chläft"))


@pytest.mark.long
def test_answers_are_scored_and_parted_as_the_chapter_says(translator):
    found = [best[0] for best in translator.translate_all([german for german, _ in PAIRS])]
    taught = multi30k_facts.taught_answers(translator, PAIRS)
    ways = multi30k_facts.ways_to_score([answer.text for answer in found], taught, REFERENCES)
    assert ways["letters in place of words"] > ways["lowercased, tokenized"] >= ways["standard: case counts"]
    assert ways["two sentences, the worst two"] <= ways["two sentences, the best two"]
    assert all(
        1 <= len(a.split()) <= len(translator.tokenizer.encode(r)) + 1 for a, r in zip(taught, REFERENCES, strict=True)
    )
    facts = multi30k_facts.how_sure(found, REFERENCES)
    assert 0 < facts["quarters"][0]["probability"] <= facts["quarters"][-1]["probability"] < 1
    assert facts["interval"] == sorted(facts["interval"])
    narrow, wide = (
        search_settings.score(search_settings.search(translator, PAIRS, size, 0.0), REFERENCES) for size in (1, 4)
    )
    assert wide["log_prob"] >= narrow["log_prob"], "a wider beam finds what is more probable"
    assert narrow["bleu"] == pytest.approx(narrow["precision"] * narrow["brevity"], abs=0.01)


def test_two_settings_are_compared_on_the_same_draws():
    worse = ["A man is fixing a roof."] * len(REFERENCES)
    same = search_settings.difference(REFERENCES, REFERENCES, REFERENCES, draws=20)
    assert same == {"bleu": 0, "bleu_interval": [0, 0], "precision": 0, "precision_interval": [0, 0]}
    found = search_settings.difference(REFERENCES, worse, REFERENCES, draws=20)
    low, high = found["bleu_interval"]
    assert 0 <= low < found["bleu"] < high <= 100
    other_way = search_settings.difference(worse, REFERENCES, REFERENCES, draws=20)
    assert other_way["bleu_interval"] == [-high, -low]


def test_recorded_facts_agree_with_the_shipped_scores():
    recorded = recordings.load("multi30k-facts")["data"]["scores"]
    shipped = pretrained.translator_scores()["scores"]
    assert recorded["lowercased, tokenized"] == shipped["bleu_lowercase"]["score"]
    assert recorded["standard: case counts"] == shipped["bleu"]["score"]
    greedy = pretrained.translator_scores("greedy")["scores"]
    gain = shipped["bleu_lowercase"]["score"] - greedy["bleu_lowercase"]["score"]
    assert recordings.load("search-settings")["data"]["test"]["bleu"] == pytest.approx(gain, abs=0.02)
