"""The playground in a page: what it shows, where the caret is, and the door to the other model."""

from playwright.sync_api import expect

from tests.browser.conftest import axe_problems, overflow, wake
from tests.browser.figure_page import act, close, numbers
from tests.browser.test_template import CUT
from transformer_edu.book.engine.page_file import read_page_file
from transformer_edu.book.engine.shipped import shipped_file
from transformer_edu.book.figures import Playground
from transformer_edu.book.figures.playground import translated

LINE = "English sentence"
COW = "the small black cow sees the fox"


def written(page):
    """The French words that are drawn."""
    return page.locator(".te-link-queries .te-word").all_inner_texts()


def test_the_page_shows_what_is_computed_before_any_weight_is_loaded_and_then(open_html):
    figure = Playground()
    watched = open_html(figure.html(), asleep=True)
    page = watched.page
    for _ in range(2):
        assert written(page) == ["le", "petit", "chat", "noir", "voit", "le", "renard", "end"]
        expect(page.locator(".te-says")).to_have_text("Before each French word, it looks at the English")
        assert numbers(page.locator(".te-link-key")).tolist() == figure.recorded["weights"][figure.token]
        wake(page)
    act(page, f"textbox {LINE} = {COW}")
    old = "all => all.map((one) => getComputedStyle(one, '::after').content.split(' /')[0].replaceAll('\"', ''))"
    for kind, marks in ((".te-choice", ["le", "petit", "chat", "noir"]), (".te-link-key", ["0.13", "0.86", "0.01"])):
        assert page.locator(f"{kind}[data-was]").evaluate_all(old) == marks
    act(page, "checkbox word order = on")
    expected = translated(*read_page_file(shipped_file("grammar")), COW.split(), ["order"])
    for place, row in enumerate(expected["weights"]):
        act(page, f"click .te-link-queries button >> nth={place}")
        close(numbers(page.locator(".te-link-key")), row)
        printed = [f"{weight:.2f}" if weight >= 0.005 else "" for weight in row]
        assert [text.strip() for text in page.locator(".te-link-key .te-share").all_inner_texts()] == printed
    number, word = (page.locator(f".te-link-key >> nth=0 >> {css}").bounding_box() for css in (".te-share", ".te-word"))
    assert word["y"] - 2 < number["y"] + number["height"] <= word["y"] + 2, "a number stands above its word"
    watched.assert_clean()


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


def test_no_word_is_cut_on_the_smallest_phone(page):
    page.set_viewport_size({"width": 360, "height": 900})
    for sentence in (COW, "these small black foxes do not see my small white cows"):
        act(page, f"textbox {LINE} = {sentence}")
        for part in (0, 1, 2):
            act(page, f"click .te-play-parts label >> nth={part}")
            for place in range(len(written(page))):
                act(page, f"click .te-link-queries button >> nth={place}")
                assert page.evaluate(CUT) == []
            act(page, f"click .te-play-parts label >> nth={part}")


def test_words_are_offered_and_put_where_the_caret_is(page):
    line = page.get_by_label(LINE)
    act(page, "click .te-link-key >> nth=3")  # cat
    expect(line).to_be_focused()
    page.get_by_role("button", name="fox", exact=True).press("Enter")
    expect(line).to_have_value("the small black fox sees the fox")
    line.fill("")
    expect(page.locator(".te-words")).to_have_text("Type a sentence, or take words from the list.")
    page.get_by_role("button", name="this", exact=True).click()
    line.press("End")
    page.keyboard.type("he")
    page.get_by_role("button", name="hen", exact=True).click()
    page.get_by_role("button", name="sleeps", exact=True).click()
    expect(line).to_have_value("this hen sleeps ")
    assert written(page) == ["cette", "poule", "dort", "end"]
    line.evaluate("(one) => one.setSelectionRange(0, 0)")
    act(page, "button Start again")  # it offers what the invitation names
    expect(page.get_by_role("button", name="cow", exact=True)).to_be_visible()
