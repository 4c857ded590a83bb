"""The next word: what is stored, what the model in its thread computes, what luck draws, and the way back."""

import re

import pytest
import torch
from playwright.sync_api import expect

from tests.browser.conftest import overflow
from tests.browser.figure_page import DAMAGE, act, close, numbers, play
from tests.browser.keyboard import focused, tab_to
from transformer_edu.book.engine.page_file import read_page_file
from transformer_edu.book.engine.shipped import shipped_file
from transformer_edu.book.figures import NextWord
from transformer_edu.book.figures.next_word import STORED, Settings, next_logits, recorded_text
from transformer_edu.data.tokenizer import Tokenizer
from transformer_edu.data.vocabulary import BOS_ID, EOS_ID
from transformer_edu.models import GPT, GPTConfig

BARS = "button.te-next-row:not([hidden])"
RESTS = "document.querySelector('.te-root').ariaBusy !== 'true'"
BEGINNING = "Once upon a time, there was a little"


@pytest.fixture(scope="module")
def stories():
    return read_page_file(shipped_file("stories"))


def rests(page):
    page.wait_for_function(RESTS)
    return page


def loaded(page):
    page.get_by_role("button", name=re.compile(r"Load the model \(\d+\.\d MB\)")).click()
    expect(page.locator("[data-engine=ready]")).to_be_attached()
    return page


def written(page):
    """The tokens that count, as the page names them."""
    return page.locator(".te-next-token:not(.te-next-pale)").all_inner_texts()


def plain(tokens):
    return ["end" if token == "<eos>" else token.removeprefix("·") for token in tokens]


def assert_bars(page, model, ids, settings):
    """The bars are PyTorch's: probabilities at the temperature, what is drawn from, and the rest."""
    logits = next_logits(model, ids)
    chances, left = (logits / settings.temperature).softmax(dim=-1), settings.left_in(logits)
    best = chances.sort(descending=True, stable=True).indices[:12]
    close(numbers(page.locator(BARS), "chance"), chances[best], atol=1e-3)
    close(numbers(page.locator(BARS)), left[best], atol=1e-3)
    others = page.locator(".te-next-others")
    close(numbers(others), [1 - float(left[best].sum())], atol=1e-3)
    close(numbers(others, "chance"), [1 - float(chances[best].sum())], atol=1e-3)


def test_the_stored_steps_go_back_and_forth_without_a_model(page, stories):
    model, tokenizer = stories
    stored = recorded_text(shipped_file("stories"), BEGINNING, Settings())
    ids = [token_id for token_id, _ in stored["written"]]
    start = [BOS_ID, *tokenizer.encode(BEGINNING)]
    tokens = plain(token for _, token in stored["written"])
    assert written(page) == []
    assert page.locator(".te-next-pale").all_inner_texts() == tokens
    assert_bars(page, model, start, Settings())
    act(page, "button Write one token", "button Write one token")
    assert written(page) == tokens[:2]
    assert page.locator(".te-next-fresh").all_inner_texts() == tokens[1:2]
    assert_bars(page, model, [*start, *ids[:2]], Settings())
    act(page, "click .te-next-token >> nth=7")
    assert written(page) == tokens[:7]
    assert_bars(page, model, [*start, *ids[:7]], Settings())
    act(page, "click .te-next-token >> nth=0", "slider Top-k = 2", "click .te-next-taken")
    assert written(page) == tokens[:1]
    assert_bars(page, model, [*start, *ids[:1]], Settings(top_k=2))
    assert page.locator(".te-root").get_attribute("data-engine") == "asked"


def test_the_model_comes_when_it_is_first_needed_and_computes_what_pytorch_does(open_html, stories):
    watched = open_html(NextWord().html())
    page, (model, tokenizer) = watched.page, stories
    start = [BOS_ID, *tokenizer.encode(BEGINNING)]
    act(page, "slider Temperature = 1.5")
    expect(page.locator("[data-engine=ready]")).to_be_attached()
    rests(page)
    assert_bars(page, model, start, Settings(temperature=1.5))
    act(page, "slider Top-p = 0.5", "slider Top-k = 9")
    assert_bars(page, model, start, Settings(temperature=1.5, top_p=0.5, top_k=9))
    act(page, "slider Temperature = 0.8", "slider Top-p = 1", "slider Top-k = 41")
    text = page.get_by_role("textbox")
    for beginning in ("One day, Tom", "", "naïve ☃ <b>"):
        text.fill(beginning)
        rests(page)
        assert_bars(page, model, [BOS_ID, *tokenizer.encode(beginning)], Settings(top_p=1.0))
    watched.assert_clean()


def test_a_model_that_answers_is_asked_in_a_line_whose_end_is_seen(open_html):
    model, tokenizer = read_page_file(shipped_file("answering"))
    asked = "Write a story with a leaf.\n"
    watched = open_html(NextWord(asked, shipped="answering", top_p=1.0).html())
    page, text = loaded(watched.page), watched.page.get_by_role("textbox")
    expect(text).to_have_value(asked.replace("\n", "⏎"))
    for beginning in (asked, asked.replace("leaf", "cat")):
        text.fill(beginning.replace("\n", "⏎"))
        rests(page)
        assert_bars(page, model, [BOS_ID, *tokenizer.encode(beginning)], Settings(top_p=1.0))
    watched.assert_clean()


@pytest.mark.parametrize("seed", [0, 1])
def test_luck_draws_in_the_page_what_it_draws_in_python(open_html, stories, seed):
    settings = Settings(temperature=1.4, seed=seed)
    page = loaded(open_html(NextWord("Mia had", temperature=1.4).html()).page)
    if seed:
        act(page, "button Again, other luck")
    else:
        act(page, "button Write 30")
    rests(page)
    expected = plain(token for _, token in recorded_text(shipped_file("stories"), "Mia had", settings)["written"])
    assert written(page)[:STORED] == expected


def test_a_token_is_taken_and_its_place_is_found_again(open_html, stories):
    model, tokenizer = stories
    page = loaded(open_html(NextWord().html()).page)
    start = [BOS_ID, *tokenizer.encode(BEGINNING)]
    other = page.locator(BARS).nth(11)
    name = other.locator(".te-word").inner_text()
    other.click()
    rests(page)
    assert written(page) == plain([name])
    taken = next(token_id for token_id in range(len(tokenizer)) if tokenizer.id_to_token(token_id) == name)
    assert_bars(page, model, [*start, taken], Settings())
    assert page.locator(".te-next-pale").count() == 0
    act(page, "button Write 30")
    rests(page)
    before = written(page)
    act(page, "click .te-next-token >> nth=0")
    rests(page)
    assert written(page) == []
    assert_bars(page, model, start, Settings())
    expect(page.locator(".te-next-taken .te-word")).to_have_text(name)
    act(page, "click .te-next-taken", "button Write 30")
    rests(page)
    assert written(page)[: len(before)] == before, "the same presses give the same text"


def test_bars_that_a_slider_puts_out_or_in_stay_marked(page):
    marks = page.locator(".te-next-mark")
    act(page, "slider Top-k = 1")
    kept = recorded_text(shipped_file("stories"), BEGINNING, Settings())["places"][0]["kept"]
    assert marks.all_inner_texts().count("−") == min(kept, 12) - 1 > 0
    act(page, "slider Top-k = 41")
    assert "−" not in marks.all_inner_texts()
    act(page, "slider Min-p = 0.5", "button Write one token")
    rests(page)
    assert {"+", "−"}.isdisjoint(marks.all_inner_texts())


def drag(page, name, right=0.0, down=0.0):
    """Drag a handle by so many widths of the longest bar's column, or rows."""
    box, row = page.locator(f"[data-handle={name}]").bounding_box(), page.locator(BARS).first.bounding_box()
    track = page.locator(".te-next-along").bounding_box()
    x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    page.mouse.move(x, y)
    page.mouse.down()
    page.mouse.move(x + right * track["width"], y + down * row["height"], steps=4)
    page.mouse.up()


def slid(page, label):
    return page.get_by_role("slider", name=label).get_attribute("aria-valuetext")


def test_what_the_sliders_set_is_dragged_on_the_bars(open_html, stories):
    watched = open_html(NextWord().html())
    page, (model, tokenizer) = watched.page, stories
    start = [BOS_ID, *tokenizer.encode(BEGINNING)]
    chances = numbers(page.locator(BARS), "chance")
    drag(page, "k", down=-9)
    assert slid(page, "Top-k") == "3"
    assert_bars(page, model, start, Settings(top_k=3))
    drag(page, "k", down=9)
    assert slid(page, "Top-k") == "off"
    drag(page, "p", down=-3)
    assert chances[0] - 0.01 < float(slid(page, "Top-p")) <= chances[0]
    assert page.locator(f"{BARS}:not(.te-next-left-out)").count() == 1
    drag(page, "p", down=11)
    assert slid(page, "Top-p") == "off"
    drag(page, "m", right=0.1)
    assert float(slid(page, "Min-p")) == pytest.approx(0.1 / float(chances[0]), abs=0.011)
    drag(page, "m", right=-0.5)
    assert slid(page, "Min-p") == "off"
    drag(page, "T", right=-0.3)
    expect(page.locator("[data-engine=ready]")).to_be_attached()
    rests(page)
    warmer = float(slid(page, "Temperature"))
    assert warmer > 1
    assert_bars(page, model, start, Settings(temperature=warmer, top_p=1.0))
    assert float(numbers(page.locator(BARS), "chance")[0]) == pytest.approx(float(chances[0]) - 0.3, abs=0.06)
    watched.assert_clean()


def test_a_story_that_has_ended_is_gone_on_from_its_last_place(open_html):
    torch.manual_seed(0)
    own = Tokenizer.train(["a b c", "x y"] * 2, vocab_size=262)
    model = GPT(GPTConfig(len(own), 8, 2, 8, 1, 0.0, 10, pad_id=0)).eval()
    model.decoder.final_norm.weight.data.zero_()  # whatever it reads, it is sure of the end
    model.decoder.final_norm.bias.data.copy_(300 * model.embedding.weight[EOS_ID].detach())
    page = open_html(NextWord("a", model=model, tokenizer=own, top_k=2).html()).page
    act(page, "button Write 30")
    assert written(page) == ["end"]
    play(page, "The end token was drawn: the story is over")
    expect(page.get_by_role("button", name="Write one token")).to_have_attribute("aria-disabled", "true")
    expect(page.locator(".te-next-taken")).to_contain_text("end")
    act(page, f"click {BARS} >> nth=1")
    rests(page)
    assert len(written(page)) == 1
    assert written(page) != ["end"]
    expect(page.get_by_role("button", name="Write one token")).to_have_attribute("aria-disabled", "false")


def test_a_text_beyond_what_the_model_sees_marks_what_it_no_longer_sees(open_html):
    torch.manual_seed(0)
    own = Tokenizer.train(["a b c", "x y"] * 2, vocab_size=262)
    model = GPT(GPTConfig(len(own), 8, 2, 8, 1, 0.0, 10, pad_id=0)).eval()
    model.decoder.final_norm.bias.data.fill_(1.0)
    model.embedding.weight.data[EOS_ID] = -2.0  # it never ends
    figure = NextWord("a b", model=model, tokenizer=own, temperature=2, top_p=1)
    watched = open_html(figure.html())
    page = loaded(watched.page)
    act(page, "button Write 30")
    rests(page)
    count = len(written(page))
    seen = page.locator(".te-next-token:not(.te-next-unseen)").count()
    assert count > 10
    assert 5 < seen <= 10
    before = page.locator(".te-root").bounding_box()
    for _ in range(8):
        act(page, "button Write 30")
        rests(page)
    assert page.locator(".te-root").bounding_box() == before, "the text grows, the figure does not"
    assert page.locator(".te-next-text").evaluate("one => one.scrollTop > 0")
    watched.assert_clean()


def test_what_cannot_be_loaded_leaves_the_stored_steps(open_html):
    page = open_html(NextWord().html()).page
    page.evaluate(DAMAGE)
    act(page, "slider Temperature = 1.5")
    play(page, "The model could not be loaded (the file of weights is damaged)")
    act(page, "button Start again", "button Write one token")
    assert len(written(page)) == 1
    expect(page.get_by_role("button", name=re.compile("Try again"))).to_be_enabled()


def test_bars_and_tokens_are_reached_with_arrow_keys(page):
    tab_to(page, ".te-next-token")
    page.keyboard.press("ArrowRight")
    assert ", token 2" in focused(page)
    page.keyboard.press("Enter")
    assert len(written(page)) == 1
    tab_to(page, ".te-next-row")
    page.keyboard.press("End")
    page.keyboard.press("ArrowUp")
    assert page.evaluate("document.activeElement === document.querySelectorAll('button.te-next-row')[10]")
    page.keyboard.press("Home")
    page.keyboard.press("Enter")
    assert len(written(page)) == 2


@pytest.mark.parametrize("text", ["😀 مرحبا", "<script>alert(1)</script>", "x" * 200, "a\tb   c"])
def test_any_beginning_will_do(open_html, text):
    watched = open_html(NextWord().html(), width=390)
    page = loaded(watched.page)
    page.get_by_role("textbox").fill(text)
    rests(page)
    act(page, "button Write 30")
    rests(page)
    assert len(written(page)) > 0
    assert overflow(page, 390) <= 0
    assert page.locator(".te-root :is(script, img)").count() == 0
    watched.assert_clean()
