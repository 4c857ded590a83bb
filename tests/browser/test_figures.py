"""What every interactive figure must do, whatever it shows. The cases are in cases.py."""

from pathlib import Path

import pytest
from playwright.sync_api import Page

from tests.browser.cases import CASES, HOSTILE
from tests.browser.conftest import StrictPage, axe_problems, overflow
from transformer_edu.widgets import assets

PIXEL = bytes.fromhex(
    "89504e470d0a1a0a0000000d4948445200000001000000010806000000"
    "1f15c4890000000d49444154789c6360606060"
    "000000050001a5f645400000000049454e44ae426082"
)


def write_page(folder: Path, *html: str) -> str:
    path = folder / "figure.html"
    path.write_text(assets.standalone_page(*html), encoding="utf-8")
    return path.as_uri()


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("name", CASES)
def test_figure_runs_from_disk_is_accessible_and_fits_a_phone(
    name: str, scheme: str, tmp_path: Path, strict_page: StrictPage
) -> None:
    watched = strict_page(color_scheme=scheme)
    page = watched.open(write_page(tmp_path, CASES[name].make().html()))
    assert page.locator(".te-figure").get_attribute("data-ready") == "true"
    assert not axe_problems(page)
    assert overflow(page) <= 0
    assert not axe_problems(page)
    watched.assert_clean()


@pytest.mark.parametrize("name", [name for name, case in CASES.items() if case.hostile])
def test_text_that_looks_like_markup_stays_text(name: str, tmp_path: Path, strict_page: StrictPage) -> None:
    make = CASES[name].hostile
    assert make is not None
    watched = strict_page()
    dialogs: list[str] = []
    watched.page.on("dialog", lambda dialog: (dialogs.append(dialog.message), dialog.dismiss()))
    page = watched.open(write_page(tmp_path, make().html()))
    assert HOSTILE in page.locator(".te-root").inner_text()
    assert page.locator(".te-root img").count() == 0
    assert not dialogs
    watched.assert_clean()


@pytest.mark.parametrize("name", CASES)
def test_the_same_figure_twice_on_a_page_works_twice(name: str, tmp_path: Path, strict_page: StrictPage) -> None:
    watched = strict_page()
    html = CASES[name].make().html()
    page = watched.open(write_page(tmp_path, html, html))
    assert page.locator(".te-figure[data-ready=true]").count() == 2
    assert (
        page.evaluate("new Set([...document.querySelectorAll('[id]')].map((n) => n.id)).size")
        == page.locator("[id]").count()
    )
    watched.assert_clean()


def with_still(html: str) -> str:
    return html.replace("<!--still-->", assets.still_image(PIXEL, "a still", "0"))


def still_visible(page: Page) -> bool:
    return page.locator(".te-still").evaluate("image => getComputedStyle(image).display !== 'none'")


def test_still_gives_way_to_the_live_figure(tmp_path: Path, strict_page: StrictPage) -> None:
    page = strict_page().open(write_page(tmp_path, with_still(CASES["attention-stepper"].make().html())))
    assert not still_visible(page)


def test_still_remains_when_the_module_fails(tmp_path: Path, strict_page: StrictPage) -> None:
    watched = strict_page()
    broken = with_still(CASES["attention-stepper"].make().html()).replace('"tokens":[', '"tokens":null,"was":[')
    page = watched.open(write_page(tmp_path, broken))
    assert page.locator(".te-figure").get_attribute("data-ready") == "failed"
    assert still_visible(page)
    assert any("could not be shown" in error for error in watched.errors)


def test_theme_change_needs_no_script(tmp_path: Path, strict_page: StrictPage) -> None:
    page = strict_page().open(write_page(tmp_path, CASES["attention-stepper"].make().html()))
    colour = "getComputedStyle(document.querySelector('.te-root')).backgroundColor"
    for attribute, dark, light in [("data-theme", "dark", "light"), ("theme", "dark", "light")]:
        page.evaluate(f"document.documentElement.setAttribute('{attribute}', '{light}')")
        before = page.evaluate(colour)
        page.evaluate(f"document.documentElement.setAttribute('{attribute}', '{dark}')")
        assert page.evaluate(colour) != before
        page.evaluate(f"document.documentElement.removeAttribute('{attribute}')")
