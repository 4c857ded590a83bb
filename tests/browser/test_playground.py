"""The playground: type a sentence, see it translated by the model in the page, take parts of the model away."""

import pytest
import torch
from playwright.sync_api import expect

from tests.browser.conftest import wake
from tests.browser.figure_page import act, play
from transformer_edu import build_transformer
from transformer_edu.data.vocabulary import Vocabulary
from transformer_edu.engine.page_file import read_page_file
from transformer_edu.engine.shipped import shipped_file
from transformer_edu.widgets import Playground
from transformer_edu.widgets.playground_data import PARTS, translated

LINE = "English sentence"


def written(page):
    """The French words that are drawn."""
    return page.locator(".te-link-queries .te-word").all_inner_texts()


def test_the_default_teaches_before_any_weight_is_loaded(open_html):
    watched = open_html(Playground().html(), asleep=True)
    page = watched.page
    assert page.locator(".te-root").get_attribute("data-engine") == "idle"
    assert written(page) == ["le", "petit", "chat", "noir", "ne", "dort", "pas", "end"]
    expect(page.locator(".te-says")).to_have_text("noir looks at black")
    wake(page)
    assert written(page) == ["le", "petit", "chat", "noir", "ne", "dort", "pas", "end"]
    watched.assert_clean()


@pytest.mark.parametrize("taken", [[], *([part] for part in PARTS), ["order", "own"], list(PARTS)])
def test_words_and_lines_are_those_of_pytorch(page, taken):
    sentence = "my cow sees the red house"
    model, vocabularies = read_page_file(shipped_file("grammar"))
    expected = translated(model, vocabularies, sentence.split(), taken)
    page.get_by_label(LINE).fill(sentence)
    for part in taken:
        page.get_by_label(PARTS[part], exact=True).check()
    assert written(page) == [word.replace("<eos>", "end") for word in expected["written"][:12]]
    for place, row in enumerate(expected["weights"][:12]):
        act(page, f"click .te-link-queries button >> nth={place}")
        shares = [float(text.strip() or 0) for text in page.locator(".te-link-key .te-share").all_inner_texts()]
        torch.testing.assert_close(torch.tensor(shares), torch.tensor(row), atol=0.0051, rtol=0)


def test_a_changed_word_changes_what_belongs_to_it(page):
    play(
        page,
        f"> textbox {LINE} = the small black cow does not sleep",
        "1 English word changed: so did 4 of 7 French words",
        "~ la petite vache noire ne dort pas",
        "> button Start again",
        "noir looks at black",
        "> checkbox word order = on; checkbox residual connections = on; checkbox its own words = on",
        "Without 3 of its parts:",
        "With all its parts: le petit chat noir ne dort pas.",
    )


def test_words_are_offered_and_put_where_the_caret_is(page):
    line = page.get_by_label(LINE)
    act(page, "click .te-link-key >> nth=3")  # cat
    expect(line).to_be_focused()
    page.get_by_role("button", name="fox", exact=True).press("Enter")
    expect(line).to_have_value("the small black fox does not sleep")
    line.fill("")
    expect(page.locator(".te-words")).to_have_text("Type a sentence, or take words from the list.")
    page.get_by_role("button", name="this", exact=True).click()
    line.evaluate("(one) => one.focus()")  # Playwright's own would put the caret at the beginning
    page.keyboard.type("he")
    page.get_by_role("button", name="hen", exact=True).click()
    page.get_by_role("button", name="sleeps", exact=True).click()
    expect(line).to_have_value("this hen sleeps ")
    assert written(page) == ["cette", "poule", "dort", "end"]


def test_a_model_of_ones_own_runs_in_the_page(open_html):
    torch.manual_seed(0)
    words = Vocabulary(["a", "b", "c"]), Vocabulary(["x", "y"])
    figure = Playground(
        "a c",
        model=build_transformer(7, 6, d_model=8, num_heads=2, d_ff=8, num_layers=1, max_len=9),
        vocabularies=words,
    )
    watched = open_html(figure.html())
    watched.page.get_by_label(LINE).fill("b c a")
    expected = translated(*read_page_file(figure._content), ["b", "c", "a"], [])
    assert written(watched.page) == [word.replace("<eos>", "end") for word in expected["written"]]
    watched.assert_clean()
