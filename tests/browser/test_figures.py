"""What every interactive figure must do, whatever it shows. The cases are in cases.py."""

import io

import pytest
from PIL import Image
from PIL.PngImagePlugin import PngInfo

from tests.browser.cases import CASES, HOSTILE, NUMBERS_ALONE, WRITTEN
from tests.browser.conftest import axe_problems, overflow
from tests.browser.keyboard import silent_controls
from transformer_edu.book.figures import assets

LONG = "x" * 5_000  # a word longer than any page is wide
TEXTUAL = sorted(CASES.keys() - NUMBERS_ALONE)
PIXEL = bytes.fromhex(
    "89504e470d0a1a0a0000000d4948445200000001000000010806000000"
    "1f15c4890000000d49444154789c6360606060"
    "000000050001a5f645400000000049454e44ae426082"
)


@pytest.mark.parametrize("name", CASES)
def test_figure_runs_from_disk_is_accessible_and_fits_a_phone(name, open_html):
    watched = open_html(CASES[name].make().html())
    page = watched.page
    assert page.locator(".te-figure").get_attribute("data-ready") == "true"
    assert not axe_problems(page)
    page.emulate_media(color_scheme="dark")
    assert overflow(page) <= 0
    assert not axe_problems(page)
    page.emulate_media(color_scheme="light")
    watched.assert_clean()


@pytest.mark.parametrize("name", CASES)
def test_every_control_is_reached_by_tab_and_says_what_it_changes(name, open_html):
    html, silent = CASES[name].make().html(), None
    for _ in range(2):  # on a busy machine an answer may be late once; a control that is silent is so again
        watched = open_html(html)
        silent = silent_controls(watched.page)
        watched.assert_clean()
        if silent == CASES[name].quiet:
            break
    assert silent == CASES[name].quiet


@pytest.mark.parametrize("name", TEXTUAL)
def test_text_that_looks_like_markup_stays_text(name, open_html):
    watched = open_html(CASES[name].hostile())
    assert HOSTILE in watched.page.locator(".te-root").inner_text()
    assert watched.page.locator(".te-root img").count() == 0
    watched.assert_clean()  # the picture that the text asks for would be an error


@pytest.mark.parametrize("name", TEXTUAL)
def test_a_word_without_an_end_makes_no_page_wider(name, open_html):
    watched = open_html(CASES[name].hostile().replace(WRITTEN, LONG))
    for width in (688, 390):
        assert overflow(watched.page, width) <= 0
    text = watched.page.locator(".te-root").inner_text()
    assert "xxxxxxxx" in text
    assert LONG not in text
    watched.assert_clean()


@pytest.mark.parametrize("name", CASES)
def test_the_same_figure_twice_on_a_page_works_twice(name, open_html):
    html = CASES[name].make().html()
    watched = open_html(html, html)
    page = watched.page
    assert page.locator(".te-figure[data-ready=true]").count() == 2
    ids = page.locator("[id]").evaluate_all("all => all.map((one) => one.id)")
    assert len(set(ids)) == len(ids)
    watched.assert_clean()


def with_still(html):
    return html.replace("<!--still-->", assets.still_image(PIXEL, "a still", "0"))


def still_visible(page):
    return bool(page.locator(".te-still").evaluate("image => getComputedStyle(image).display !== 'none'"))


def test_still_gives_way_to_the_live_figure(open_html):
    assert not still_visible(open_html(with_still(CASES["attention-stepper"].make().html())).page)


def test_still_remains_when_the_module_fails(open_html):
    html = with_still(CASES["attention-stepper"].make().html()).replace('"tokens":[', '"tokens":null,"was":[')
    watched = open_html(html)
    assert watched.page.locator(".te-figure").get_attribute("data-ready") == "failed"
    assert still_visible(watched.page)
    assert any("could not be shown" in error for error in watched.errors)


def test_on_a_phone_a_still_takes_the_room_of_the_figure_that_comes_there(strict_page):
    picture, note = io.BytesIO(), PngInfo()
    note.add_text(assets.PHONE, "777")
    Image.new("RGB", (1376, 800)).save(picture, "PNG", pnginfo=note)
    still = assets.still_image(picture.getvalue(), "a still", "0")
    page = strict_page(viewport={"width": 390, "height": 844}).page
    page.set_content(f'<style>{assets.stylesheet()}</style><div class="te-figure">{still}</div>')

    def height():
        return page.locator(".te-still").bounding_box()["height"]

    assert height() == 777
    page.locator(".te-figure").evaluate("figure => (figure.dataset.ready = 'failed')")
    assert height() < 400, "where no figure comes, nothing is left free"
    page.set_viewport_size({"width": 720, "height": 900})
    assert height() == 400


def test_theme_change_needs_no_script(open_html):
    page = open_html(CASES["attention-stepper"].make().html()).page
    colour = "getComputedStyle(document.querySelector('.te-root')).backgroundColor"
    for attribute in ("data-theme", "theme"):
        page.evaluate(f"document.documentElement.setAttribute('{attribute}', 'light')")
        before = page.evaluate(colour)
        page.evaluate(f"document.documentElement.setAttribute('{attribute}', 'dark')")
        assert page.evaluate(colour) != before
        page.evaluate(f"document.documentElement.removeAttribute('{attribute}')")
