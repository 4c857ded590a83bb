"""The playground as a Python object: what it opens with, and models of one's own."""

import pytest
import torch

from transformer_edu import build_transformer, record_attention
from transformer_edu.book.engine.page_file import read_page_file
from transformer_edu.book.engine.shipped import shipped_file
from transformer_edu.book.figures import Playground, assets
from transformer_edu.book.figures.playground import SEEN
from transformer_edu.book.figures.playground_data import PARTS, translated
from transformer_edu.data.vocabulary import BOS_ID, EOS_ID, Vocabulary
from transformer_edu.decoding.greedy import greedy_search

WORDS = Vocabulary(["a", "b"]), Vocabulary(["x", "y", "z"])
EXAMPLE = {"sentence": "these foxes want a hat", "taken": ["order", "own"], "token": 1}
BAD = [
    (
        ValueError,
        "sentence must consist of words that the model knows, got ['zebra'] in 'a zebra'",
        {"sentence": "a zebra"},
    ),
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


def _small():
    torch.manual_seed(0)
    return build_transformer(6, 7, d_model=8, num_heads=2, d_ff=8, num_layers=1, max_len=20)


@pytest.mark.parametrize("sentence", [SEEN, SEEN.replace("cat", "cow")])
@pytest.mark.parametrize("part", PARTS)
def test_each_part_taken_away_changes_the_french_of_what_the_page_invites_to_try(sentence, part):
    model, words = read_page_file(shipped_file("grammar"))
    without, whole = (translated(model, words, sentence.split(), taken)["written"] for taken in ([part], []))
    assert without != whole


def test_behind_the_door_is_the_translator_of_any_german_sentence():
    html = Playground().html()
    assert 'data-model="grammar multi30k-de-en" data-opens="sentence-translator"' in html
    assert "data-opens" not in Playground("a b", model=_small(), vocabularies=WORDS).html()


def test_what_lies_behind_the_door_makes_no_still_old():
    html = Playground().html()
    assert assets.digest(html) == assets.digest(html.replace("Radfahrer", "Radler"))
    assert assets.digest(html) != assets.digest(html.replace("petit", "grand"))


def test_a_model_of_ones_own_brings_its_words_and_its_weights():
    model = _small()
    figure = Playground("a b a", model=model, vocabularies=WORDS)
    assert figure.line == {"kinds": {"word": ["a", "b"]}, "most": 12}
    assert figure.model_file["name"] == ""
    assert figure.model_file["sha256"][:12] in figure.html().partition("</div>")[2]
    with pytest.raises(ValueError, match="vocabularies must have the model's 6 and 7 tokens"):
        Playground("a b", model=model, vocabularies=(WORDS[1], WORDS[0]))


def test_the_kernel_sends_the_weights_to_whom_asks_for_them(monkeypatch):
    sent = []
    figure = Playground()
    monkeypatch.setattr(figure, "send", lambda content, buffers=None: sent.append((content, buffers)))
    figure._handle_custom_msg({"ask": "the time"}, [])
    assert not sent
    figure._handle_custom_msg({"ask": "weights"}, [])
    assert sent == [({"weights": figure.model_file["sha256"]}, [shipped_file("grammar")])]
