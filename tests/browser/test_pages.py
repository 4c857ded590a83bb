"""Every page of the built book: no foreign request, no error, accessible, light and dark, at home on a phone."""

from tests.browser.conftest import axe_problems, overflow

DRAWN = [".te-live"]  # figures are checked alone, in both themes


def figures(page):
    return page.locator(".te-figure").count()


def test_page_is_clean_accessible_in_both_themes_and_fits_a_phone(book_page, book_address, same_tab):
    watched = same_tab()
    page = watched.open(f"{book_address}/{book_page}")
    for scheme, rules in (("light", None), ("dark", ["color-contrast"])):
        page.emulate_media(color_scheme=scheme)
        if page.locator("html[data-theme]").count():
            page.wait_for_selector(f"html[data-theme={scheme}]")
        assert not axe_problems(page, without=DRAWN, rules=rules)
    page.emulate_media(color_scheme="light")
    assert overflow(page) <= 0
    watched.assert_clean()


def test_page_works_from_disk_with_every_figure_alive(book_page, book_html, same_tab):
    watched = same_tab()
    page = watched.open((book_html / book_page).as_uri())
    assert page.locator(".te-figure[data-ready=true]").count() == figures(page)
    assert not any(still.is_visible() for still in page.locator(".te-still").all())
    watched.assert_clean()


def test_without_javascript_every_figure_shows_its_still(book_page, book_address, same_tab):
    page = same_tab(java_script_enabled=False).page
    page.goto(f"{book_address}/{book_page}", wait_until="networkidle")
    stills = page.locator(".te-figure > img.te-still")
    assert stills.count() == figures(page)
    for still in stills.all():
        assert still.is_visible()
        assert still.get_attribute("alt")
        assert still.evaluate("image => image.complete && image.naturalWidth") > 0
