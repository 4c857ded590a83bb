"""What a reader takes along from a figure: a link to its present state, and pictures of it."""

import base64
import io
import json
import xml.etree.ElementTree as ET

import pytest
from PIL import Image
from playwright.sync_api import expect

from tests.browser.cases import CASES
from tests.browser.conftest import wake
from tests.browser.figure_page import SEEN, act, play
from transformer_edu.book.figures import FamilyMap, assets

VIEWED = [name for name in CASES if (assets.FOLDER / "js" / f"{name}.jsx").exists()]

FAMILIES = "#figure-family-map-"
GO = f"end => (location.hash = '{FAMILIES}' + end)"


def stage(page):
    """What stands in the picture, and in the fields to type in."""
    fields = page.locator(".te-root input:visible").evaluate_all("all => all.map(one => one.value + one.checked)")
    return [page.evaluate(SEEN.replace(".te-root'", ".te-stage'")), fields]


def link(page):
    """The address that the figure's button puts into the address bar."""
    act(page, "click .te-take > summary", "button Link")
    expect(page.locator(".te-take-menu .te-note")).to_contain_text("The link")
    return page.evaluate("location.href")


def tampered(changes):
    """The address's end for a family map with these changes."""
    packed = base64.urlsafe_b64encode(json.dumps(changes).encode()).decode().rstrip("=")
    return f"1-{packed}"


@pytest.mark.parametrize("name", VIEWED)
def test_a_link_leads_to_the_state_that_was_seen(name, open_html):
    watched = open_html(CASES[name].make().html())
    page = watched.page
    opened = stage(page)
    act(page, "button Show me")
    page.wait_for_function("!document.querySelector('[data-engine=loading]')")
    seen, address = stage(page), link(page)
    assert seen != opened
    page.goto("about:blank")
    watched.open(address)
    wake(page)
    for _ in range(100):
        if stage(page) == seen:
            break
        page.wait_for_timeout(50)
    assert stage(page) == seen
    assert len(address) < 4000
    watched.assert_clean()


NO_STATE = tampered({"family": 3, "place": "x", "words": "the cat", "nothing": 1, "__proto__": {"x": 1}})


@pytest.mark.parametrize("end", ["1-", "1-%%%", "2-e30", "", tampered([1]), NO_STATE])
def test_an_address_that_fits_no_figure_changes_none(end, open_html):
    watched = open_html(FamilyMap().html())
    page, before = watched.page, stage(watched.page)
    address = page.evaluate("location.href")
    page.goto("about:blank")
    watched.open(address + FAMILIES + end)
    assert stage(page) == before
    watched.assert_clean()


def test_an_address_that_is_changed_on_the_page_changes_the_figure(open_html):
    page = open_html(FamilyMap().html()).page
    page.evaluate(GO, tampered({"family": "bert", "place": 6}))
    play(page, "49 of 49", "To tell sleep")
    page.evaluate(GO, tampered({"place": 10**6}))
    play(page, "28 of 49", "To tell cat")
    page.evaluate(GO, tampered({"family": "t5"}))
    play(page, "70 of 100", "To tell cat")


def test_an_address_with_a_state_that_cannot_be_drawn_leaves_the_figure_as_it_opens(open_html):
    watched = open_html(FamilyMap().html())
    page = watched.page
    before = stage(page)
    address = page.evaluate("location.href")
    for changes in ({"place": 10**6}, {"family": "rnn"}, {"words": []}, {"words": [1, None]}):
        page.goto("about:blank")
        watched.open(address + FAMILIES + tampered(changes))
        assert stage(page) == before, changes
    hostile = "<img src=x onerror=alert(1)>"
    page.goto("about:blank")
    watched.open(address + FAMILIES + tampered({"words": [hostile, "cat"], "place": 1}))
    assert hostile in page.locator(".te-root").inner_text()
    assert page.locator(".te-root img").count() == 0


def saved(page, kind):
    with page.expect_download() as waiting:
        act(page, f"button {kind.upper()}")
    expect(page.locator(".te-take-menu .te-note")).to_have_text(f"family-map.{kind} is saved.")
    assert waiting.value.suggested_filename == f"family-map.{kind}"
    return waiting.value.path().read_bytes()


def test_pictures_show_what_is_seen_without_controls(open_html):
    watched = open_html(FamilyMap("bert").html(), width=720)
    page = watched.page
    act(page, "click .te-take > summary")
    drawing = saved(page, "svg").decode()
    ET.fromstring(drawing)
    for words in ("BERT", "[mask]", "sleep"):
        assert words in drawing
    assert "Show me" not in drawing
    assert "http" not in drawing.replace("http://www.w3.org/", "")
    with Image.open(io.BytesIO(saved(page, "png"))) as picture:
        assert picture.width == 2 * page.locator(".te-root").bounding_box()["width"]
        assert 600 < picture.height < 2 * page.locator(".te-root").bounding_box()["height"]
        assert len(picture.convert("RGB").getcolors(100_000) or []) > 20, "more than a blank page"
    watched.assert_clean()


def test_by_keyboard_the_menu_opens_and_closes(open_html):
    page = open_html(FamilyMap().html()).page
    page.locator(".te-take > summary").focus()
    page.keyboard.press("Enter")
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.textContent") == "Link"
    page.keyboard.press("Escape")
    assert page.locator(".te-take[open]").count() == 0
    assert page.evaluate("document.activeElement.textContent") == "Share"
