"""The context explorer, with the vectors of the model itself."""

import pytest
import torch
from torch.nn.functional import cosine_similarity

from tests.browser.figure_page import act, close, numbers, play, values
from transformer_edu import RUNNING_SENTENCE, pretrained
from transformer_edu.widgets import ContextExplorer

SHIPPED = pretrained.load_grammar()
COW = "the small black cow does not sleep"
OBJECT = "the cow watches the small black cat"


@torch.no_grad()
def levels(sentence):
    """The sentence before the layers and after each, run through the model's parts by hand: (seq, d_model) each."""
    model = SHIPPED.model
    x = model.source_embedding(torch.tensor([SHIPPED.source_vocabulary.encode(sentence)]))
    found = [x, model.positional_encoding(x)]
    for layer in model.encoder.layers:
        found.append(layer(found[-1]))
    return [one[0] for one in found]


def assert_shows(page, first, second, pair):
    """Strips, cosines, distances and shares are those of the model's own vectors."""
    one = torch.stack([level[pair[0]] for level in levels(first)])
    other = torch.stack([level[pair[1]] for level in levels(second)])
    distance, length = (one - other).norm(dim=1), (one.norm(dim=1) + other.norm(dim=1)) / 2
    stored = 1.02e-4  # a sum of two stored numbers
    for strip, expected, atol in (("first", one, stored), ("second", other, stored), ("difference", one - other, 2e-4)):
        close(values(page, f"[data-strip={strip}]").view_as(expected), expected, atol=atol + 2e-6)
    close(numbers(page.locator("[data-measure=cosine]")), cosine_similarity(one, other))
    close(numbers(page.locator("[data-measure=distance]")), distance, atol=4e-4)
    shares = [float(text.split()[0]) for text in page.locator(".te-ctx-share").all_text_contents()]
    assert shares == pytest.approx((100 * distance / length).tolist(), abs=0.51)


def test_every_shared_word_agrees_with_the_model(page):
    for word in ("small", "black", "does", "not", "sleep", "the"):
        act(page, f"radio {word}")
        place = RUNNING_SENTENCE.split().index(word)
        assert_shows(page, RUNNING_SENTENCE, COW, (place, place))


def test_table_holds_the_cosine_of_every_word_and_chooses_it(page):
    pairs = zip(levels(RUNNING_SENTENCE), levels(COW), strict=True)
    expected = torch.stack([cosine_similarity(one, other)[[0, 1, 2, 4, 5, 6]] for one, other in pairs], dim=1)
    close(values(page, "[data-matrix=cosines]").view_as(expected), expected)
    act(page, "click [data-matrix=cosines] [data-row='2'][data-column='3']")
    assert page.locator("[aria-checked=true]").text_content() == "black"


def test_another_place_moves_a_word_before_any_layer(page):
    act(page, "radio small", f"combobox second sentence = {OBJECT}")
    assert page.locator("[aria-checked=true]").text_content() == "small 2|5"
    assert_shows(page, RUNNING_SENTENCE, OBJECT, (1, 4))
    cosine = numbers(page.locator("[data-measure=cosine]"))[1]
    assert cosine < 0.9
    play(page, f"word 2 here and word 5 there: the position alone takes the cosine to {cosine:.3f}")


def test_a_word_that_stands_twice_is_compared_with_itself(page):
    act(page, f"combobox first sentence = {OBJECT}", f"combobox second sentence = {OBJECT}", "radio the 1|4")
    assert_shows(page, OBJECT, OBJECT, (0, 3))


def test_sentences_of_your_own(show):
    sentences = ["my mouse sings", "my mice sing"]
    assert_shows(show(ContextExplorer.of_translator(SHIPPED, sentences)), *sentences, (0, 0))
