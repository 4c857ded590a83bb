"""The playground: type a sentence, see it translated by the model in the page, take parts of the model away."""

import pytest
import torch
from playwright.sync_api import expect

from tests.browser.conftest import axe_problems, overflow, wake
from tests.browser.figure_page import act, play
from tests.browser.test_template import CUT
from transformer_edu import build_transformer
from transformer_edu.book.engine.page_file import read_page_file
from transformer_edu.book.engine.shipped import shipped_file
from transformer_edu.book.figures import Playground, assets
from transformer_edu.book.figures.playground_data import PARTS, translated
from transformer_edu.data.corpus import sentence_pairs
from transformer_edu.data.vocabulary import Vocabulary

LINE = "English sentence"
OTHERS = """([text, kinds, sentences]) => {
    const nearest = new Function(`${text} return nearestOf;`)()(kinds);
    return sentences.filter((one) => nearest(one.split(" ")).join(" ") !== one);
}"""


def written(page):
    """The French words that are drawn."""
    return page.locator(".te-link-queries .te-word").all_inner_texts()


def test_the_default_teaches_before_any_weight_is_loaded(open_html):
    watched = open_html(Playground().html(), asleep=True)
    page = watched.page
    assert page.locator(".te-root").get_attribute("data-engine") == "idle"
    assert written(page) == ["le", "petit", "chat", "noir", "voit", "le", "renard", "end"]
    expect(page.locator(".te-says")).to_have_text("Before each French word, it looks at the English")
    wake(page)
    assert written(page) == ["le", "petit", "chat", "noir", "voit", "le", "renard", "end"]
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
        f"> textbox {LINE} = the small black cow sees the fox",
        "1 English word changed: so did 4 of 7 French words",
        "~ la petite vache noire voit le renard. New: la petite vache noire.",
        "> button Start again",
        "Before each French word",
        "> checkbox word order = on; checkbox residual connections = on; checkbox its own words = on",
        "Without 3 of its parts:",
        "With all its parts: le petit chat noir voit le renard.",
    )


def new(page):
    """The words that are marked as new, and not by their looks alone."""
    return [
        name.removesuffix(", new")
        for name in page.locator(".te-link-queries [role=radio]").all_text_contents()
        if name.endswith(", new")
    ]


def test_what_changed_stays_marked_until_the_next_change(page):
    assert new(page) == []
    page.get_by_label(LINE).fill("the small black cow sees the fox")
    assert new(page) == ["la", "petite", "vache", "noire"]
    marked = page.locator(".te-link-queries .te-play-new .te-word")
    assert {one.evaluate("one => getComputedStyle(one).textDecorationLine") for one in marked.all()} == {"underline"}
    act(page, "click .te-link-queries button >> nth=5")  # to look elsewhere changes nothing
    assert new(page) == ["la", "petite", "vache", "noire"]
    page.get_by_label(LINE).fill("the small black cow sees a fox")
    assert new(page) == ["un"]
    act(page, "button Start again")
    assert new(page) == []


@pytest.mark.parametrize(
    ("typed", "first", "near"),
    [
        ("I love you", "It has never met i and 2 other words", "the cat sleeps"),
        ("my name is Anna", "It has never met name and 2 other words", "my cat sleeps"),
        ("the dog bites the man", "It has never met bites and 1 other word", "the dog sees the cat"),
        ("these blak cats does not see the hen", "It has never met blak", "these black cats do not see the hen"),
        ("cat", "It was taught whole sentences: this is none", "the cat sleeps"),
    ],
)
def test_words_it_does_not_know_lead_to_a_sentence_that_it_does(page, typed, first, near):
    page.get_by_label(LINE).fill(typed)
    expect(page.locator(".te-says")).to_have_text(first)
    page.locator(".te-play-note").get_by_role("button", name=near, exact=True).click()
    expect(page.get_by_label(LINE)).to_have_value(near)
    expect(page.get_by_label(LINE)).to_have_attribute("aria-invalid", "false")
    expect(page.locator(".te-play-note")).to_contain_text("It knows 88 words")


def test_every_sentence_of_the_grammar_is_its_own_nearest(page):
    text = (assets.FOLDER / "js" / "parts" / "nearest.js").read_text(encoding="utf-8").replace("export ", "")
    sentences = [english for english, _ in sentence_pairs(0, 500, "held_out")]
    assert page.evaluate(OTHERS, [text, Playground().line["kinds"], sentences]) == []


def test_half_a_word_is_no_answer_to_a_word_that_it_does_not_know(page):
    before = written(page)
    page.get_by_label(LINE).press("End")
    page.keyboard.type(" an")
    assert written(page) == before
    expect(page.locator(".te-says")).to_have_text("It has never met an")


def test_any_german_sentence_is_one_click_away_and_the_way_back_too(open_html):
    watched = open_html(Playground().html(), width=390)
    page = watched.page
    assert overflow(page) <= 0
    door = page.get_by_role("button", name="Larger model: any German text (5.8 MB)")
    door.press("Enter")
    line = page.get_by_label("German sentence")
    expect(line).to_be_focused()
    page.wait_for_selector("[data-engine=ready].te-sentence-translator")
    page.get_by_role("button", name="Zwei Hunde spielen im Schnee.").click()
    expect(page.locator(".te-trans-ends")).to_contain_text("Two dogs are playing in the snow.")
    assert overflow(page) <= 0
    page.get_by_role("button", name="Back to the small model").press("Enter")
    expect(door).to_be_focused()
    expect(page.get_by_label(LINE)).to_be_visible()
    door.click()
    expect(page.locator(".te-trans-ends")).to_contain_text("Two dogs are playing in the snow.")
    assert page.locator(".te-sentence-translator").count() == 1
    assert axe_problems(page) == []
    watched.assert_clean()


@pytest.mark.parametrize("taken", [[], *([part] for part in PARTS if part != "residual")])
def test_no_word_is_cut_on_the_smallest_phone(show, taken):
    page = show(Playground(taken=taken), width=360)
    page.get_by_label(LINE).fill("the small black cow sees the fox")
    for place in range(len(written(page))):
        act(page, f"click .te-link-queries button >> nth={place}")
        assert page.evaluate(CUT) == []


def test_start_again_offers_what_the_invitation_names(page):
    line = page.get_by_label(LINE)
    page.evaluate("document.querySelector('.te-sentence-input').setSelectionRange(0, 0)")
    line.fill("a hen sleeps")
    act(page, "button Start again")
    expect(page.get_by_role("button", name="cow", exact=True)).to_be_visible()


def test_words_are_offered_and_put_where_the_caret_is(page):
    line = page.get_by_label(LINE)
    act(page, "click .te-link-key >> nth=3")  # cat
    expect(line).to_be_focused()
    page.get_by_role("button", name="fox", exact=True).press("Enter")
    expect(line).to_have_value("the small black fox sees the fox")
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
