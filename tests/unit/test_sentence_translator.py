"""The sentence translator as a Python object: the answers it opens with, and models of one's own."""

import base64
import math

import pytest
import torch

from transformer_edu import build_transformer
from transformer_edu.book.engine.shipped import shipped_file
from transformer_edu.book.figures import SentenceTranslator
from transformer_edu.book.figures.sentence_translator import FOXES, PARTS, RAIN, SEARCHES, answered, languages_of
from transformer_edu.data.tokenizer import Tokenizer
from transformer_edu.data.vocabulary import BOS_ID, EOS_ID, Vocabulary
from transformer_edu.decoding.beam import beam_search
from transformer_edu.decoding.greedy import greedy_search
from transformer_edu.pretrained import load_translator

DOG = "Ein Hund wartet im Regen auf sein Herrchen."
WORDS = Vocabulary(["a", "b"]), Vocabulary(["x", "y", "z"])
EXAMPLE = {"sentence": DOG, "taken": ["order"], "search": "beam", "step": 2}
BAD = [
    (ValueError, "sentence must have 1 to 40 tokens, got 45: ", {"sentence": "Hund " * 45}),
    (ValueError, "sentence must have 1 to 400 characters, got 0", {"sentence": ""}),
    (ValueError, "sentence must have 1 to 40 tokens, got 0: ''", {"sentence": "  "}),
    (TypeError, "sentence must be a str, got 3", {"sentence": 3}),
    (ValueError, "sentence must consist of words that the model knows", {"sentence": "a zebra", "shipped": "grammar"}),
    (ValueError, "taken must be one of", {"taken": ["mask"]}),
    (ValueError, "search must be one of 'greedy', 'beam', got 'best'", {"search": "best"}),
    (ValueError, "step must be from 0 to 8, got 9", {"step": 9}),
    (ValueError, "got vocabularies=", {"vocabularies": WORDS}),
]
SAYS = [
    ({}, RAIN, "riding through the city.", "At step 8 it wrote .", ". 0.32, ·in 0.23"),
    ({"search": "beam"}, "by a beam of 5", "in the rain"),
    ({"sentence": DOG, "taken": ["order"]}, "A gentleman waits for his dog", "Without word order."),
    ({"shipped": "grammar", "taken": ["order"]}, "un chapeau veut un chapeau"),
]


def numbers():
    """The state that the translator opens with, and answers of the grammar's model, whose file and state these are."""
    languages = languages_of(shipped_file("grammar"))
    plain = answered(languages, FOXES)
    begun = [plain["steps"][0]["id"], plain["steps"][1]["best"][1][0]]
    broken = [answered(languages, FOXES, taken, search) for taken in (["order"], list(PARTS)) for search in SEARCHES]
    answers = [plain, answered(languages, FOXES, begun=begun), answered(languages, FOXES, search="beam"), *broken]
    own, file = SentenceTranslator(shipped="grammar").state(), base64.b64encode(shipped_file("grammar")).decode()
    return {"opened": SentenceTranslator().state(), "own": own, "answers": answers, "file": file}


@pytest.mark.long
def test_answers_are_those_of_the_pages_weights():
    languages = languages_of(shipped_file("multi30k-de-en"))
    source = torch.tensor([languages.encode(DOG)])
    greedy, beam = answered(languages, DOG), answered(languages, DOG, search="beam")
    assert [BOS_ID, *(step["id"] for step in greedy["steps"])] == greedy_search(
        languages.model, source, BOS_ID, EOS_ID
    )[0].tolist()
    best = beam_search(languages.model, source, BOS_ID, EOS_ID, beam_size=5, length_penalty=1.0)[0]
    assert [end["text"] for end in beam["ends"]] == [languages.decode(hypothesis.ids) for hypothesis in best]
    assert [end["score"] for end in beam["ends"]] == [pytest.approx(hypothesis.score, abs=1e-4) for hypothesis in best]
    for answer in (greedy, beam):
        chance = math.prod(step["chance"] for step in answer["steps"])
        assert answer["ends"][0]["chance"] == pytest.approx(chance, rel=1e-2, abs=1e-6)  # of rounded probabilities
        assert all(sum(step["weights"]) == pytest.approx(1, abs=1e-3) for step in answer["steps"])


@pytest.mark.long
def test_weights_are_the_alignment_that_python_tells():
    translator = load_translator()
    best = translator.translate_all([RAIN], beam_size=1)[0][0]
    answer = answered(languages_of(shipped_file("multi30k-de-en")), RAIN)
    for step, (written, read, weight) in zip(answer["steps"], translator.alignment(RAIN, best), strict=False):
        assert step["token"] == written
        assert answer["source"][step["weights"].index(max(step["weights"]))] == read
        assert max(step["weights"]) == pytest.approx(weight, abs=0.02)  # of weights with eight bits


@pytest.mark.long
def test_a_forced_beginning_is_gone_on_from_greedily():
    languages = languages_of(shipped_file("multi30k-de-en"))
    begun = [step["id"] for step in answered(languages, RAIN)["steps"][:7]] + languages.encode("in")
    forced = answered(languages, RAIN, begun=begun)
    assert [step["id"] for step in forced["steps"]][:8] == begun
    assert forced["ends"][0]["text"] == "A cyclist is riding through the city in the rain."
    assert forced in SentenceTranslator().recorded


@pytest.mark.long
@pytest.mark.parametrize("vocabularies", ["words", "pieces"])
def test_a_model_of_ones_own_brings_its_words_and_its_weights(vocabularies):
    torch.manual_seed(0)
    own = WORDS if vocabularies == "words" else Tokenizer.train(["a b", "x y"] * 2, vocab_size=262)
    sizes = (6, 7) if vocabularies == "words" else (len(own),) * 2
    model = build_transformer(*sizes, d_model=8, num_heads=2, d_ff=8, num_layers=1, max_len=20)
    figure = SentenceTranslator("a b a", model=model, vocabularies=own)
    assert figure.line["kinds"] == ({"word": ["a", "b"]} if vocabularies == "words" else {})
    assert figure.languages == ["", ""]
    assert figure.model_file["name"] == ""
    assert len(figure.recorded[0]["steps"]) <= len(figure.recorded[0]["source"]) + 12
