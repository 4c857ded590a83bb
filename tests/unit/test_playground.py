"""The playground as a Python object: what it opens with, and models of one's own."""

import base64

import pytest
import torch

from transformer_edu import build_transformer, record_attention
from transformer_edu.book.engine.page_file import read_page_file
from transformer_edu.book.engine.shipped import shipped_file
from transformer_edu.book.figures import Playground, assets
from transformer_edu.book.figures.playground import PARTS, SEEN, translated
from transformer_edu.data.corpus import sentence_pairs
from transformer_edu.data.vocabulary import BOS_ID, EOS_ID, Vocabulary
from transformer_edu.decoding.greedy import greedy_search

WORDS = Vocabulary(["a", "b"]), Vocabulary(["x", "y", "z"])
EXAMPLE = {"sentence": "these foxes want a hat", "taken": ["order", "own"], "token": 1}
BAD = [
    (ValueError, "sentence must consist of words that the model knows, got ['ox'] in 'a ox'", {"sentence": "a ox"}),
    (ValueError, "sentence must be 1 to 12 words, got 0: ", {"sentence": " . "}),
    (ValueError, "sentence must be 1 to 12 words, got 40", {"sentence": "the " * 40}),
    (TypeError, "taken must be a list of strings, got 'order'", {"taken": "order"}),
    (ValueError, "taken must be one of", {"taken": ["mask"]}),
    (ValueError, "got vocabularies=", {"vocabularies": WORDS}),
]
SAYS = [
    ({}, SEEN, "le petit chat noir voit le renard", "for chat at cat 0.86"),
    ({"sentence": "These foxes want a hat.", "taken": ["order"]}, "un chapeau veut un chapeau", "Without word order."),
    ({"taken": ["cross"]}, "mes renards blancs rêvent", "at no word"),
]


def _own():
    torch.manual_seed(0)
    model = build_transformer(6, 7, d_model=8, num_heads=2, d_ff=8, num_layers=1, max_len=20)
    return {"sentence": "a b a", "model": model, "vocabularies": WORDS}


LINE = "textbox English sentence"
SCENES = {
    "a changed word changes what belongs to it": [
        f"> {LINE} = the small black cow sees the fox",
        "1 English word changed: so did 4 of 7 French words",
        "~ la petite vache noire voit le renard. New: la petite vache noire. Before: small 0.13, cat 0.86, fox 0.01.",
        "> button Start again",
        "Before each French word",
        "> checkbox word order = on; checkbox residual connections = on; checkbox its own words = on",
        "Without 3 of its parts: … With all its parts: le petit chat noir voit le renard.",
    ],
    "a word that it does not know is told at once, and leads to a sentence that it knows": [
        f"> {LINE} = my name is Anna",
        "It has never met name and 2 other words … name, is and anna are not among the 88 words",
        "> button my cat sleeps",
        "It knows 88 words … my cat sleepsmonchatdortend",
        "> click .te-sentence-input; key End; key Space; key a",
        "It was taught whole sentences: this is none",
        "> key n",
        "It has never met an … my cat sleepsmonchatdortend",
    ],
    "a model of one's own": [_own(), "It knows 2 words", f"> {LINE} = b b a", "1 English word changed: so did "],
}


def numbers():
    """The grammar's model and one of one's own, and what they write; sentences of the grammar."""
    every = [[], *([part] for part in PARTS), ["order", "own"], list(PARTS)]
    models = []
    for figure, sentence in ((Playground(), "my cow sees the red house"), (Playground(**_own()), "b b a")):
        model = read_page_file(figure._content)
        answers = [translated(*model, sentence.split(), taken) for taken in every]
        file = base64.b64encode(figure._content).decode()
        models.append({"file": file, "state": figure.state(), "answers": answers})
    return {"models": models, "sentences": [english for english, _ in sentence_pairs(0, 500, "held_out")]}


def test_what_it_opens_with_is_what_the_pages_weights_compute():
    model, (english, french) = read_page_file(shipped_file("grammar"))
    source = torch.tensor([english.encode(SEEN)])
    ids = greedy_search(model, source, BOS_ID, EOS_ID)
    with record_attention(model) as maps:
        model(source, ids[:, :-1])
    recorded = Playground().recorded
    assert recorded["written"] == [french.word(int(index)) for index in ids[0, 1:]]
    torch.testing.assert_close(
        torch.tensor(recorded["weights"]), maps["decoder.1.cross"][0].mean(dim=0), atol=6e-5, rtol=0
    )


@pytest.mark.long
def test_behind_the_door_is_the_translator_of_any_german_sentence_which_makes_no_still_old():
    html = Playground().html()
    assert 'data-model="grammar multi30k-de-en" data-opens="sentence-translator"' in html
    assert assets.digest(html) == assets.digest(html.replace("Radfahrer", "Radler"))
    assert assets.digest(html) != assets.digest(html.replace("petit", "grand"))


def test_a_model_of_ones_own_brings_its_words_and_its_weights_and_no_door():
    figure = Playground(**_own())
    assert figure.line == {"kinds": {"word": ["a", "b"]}, "most": 12}
    assert figure.model_file["name"] == ""
    assert figure.model_file["sha256"][:12] in figure.html().partition("</div>")[2]
    assert "data-opens" not in figure.html()
    with pytest.raises(ValueError, match="vocabularies must have the model's 6 and 7 tokens"):
        Playground(**_own() | {"vocabularies": WORDS[::-1]})


def test_the_kernel_sends_the_weights_to_whom_asks_for_them(monkeypatch):
    sent = []
    figure = Playground()
    monkeypatch.setattr(figure, "send", lambda content, buffers=None: sent.append((content, buffers)))
    figure._handle_custom_msg({"ask": "the time"}, [])
    assert not sent
    figure._handle_custom_msg({"ask": "weights"}, [])
    assert sent == [({"weights": figure.model_file["sha256"]}, [shipped_file("grammar")])]
