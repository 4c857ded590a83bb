"""Every page of the built book: no foreign request, no error, accessible, light and dark, at home on a phone."""

import pytest
from moved import MOVED

from tests.browser.conftest import DESKTOP, PHONE, arrive, axe_problems, overflow
from transformer_edu.book.plots.dark import PAPER

# What lasts a hundredth of a millisecond, the theme's way of not moving, may still be listed.
MOVES = "document.getAnimations().filter((one) => one.effect.getTiming().duration > 1).length"
# The colours of code are half of a page's elements, and nothing but colours.
PLAIN_CODE = """for (const code of document.querySelectorAll(".highlight pre"))
    if (!code.querySelector("a, button")) code.textContent = code.textContent;"""
DRAWN = [".te-live"]  # figures are checked alone, in both themes


SCREEN = 800  # pixels: the height of a laptop's window, 1,280 wide
FIRST_FIGURE = """() => {
    const top = document.querySelector(".bd-article").getBoundingClientRect().top;
    const shown = [...document.querySelectorAll(".te-figure")]
        .map((figure) => figure.closest(".te-covered:not([open])") ?? figure)  // a guess uncovers it
        .filter((figure) => figure.checkVisibility());
    return Math.min(...shown.map((figure) => figure.getBoundingClientRect().top - top));
}"""
# How high each figure is on a phone, and how high its still says that it will be.
HEIGHTS = """() => [...document.querySelectorAll(".te-figure")].filter((figure) => figure.checkVisibility()).map(
    (figure) => [figure.dataset.widget, figure.getBoundingClientRect().height,
        parseFloat(figure.querySelector(".te-still").style.getPropertyValue("--te-phone"))])"""


def is_chapter(book_page):
    return book_page.startswith("notebooks/")


def figures(page):
    return page.locator(".te-figure").count()


def open_all(page):
    """What is folded is held to the same."""
    page.evaluate("for (const box of document.querySelectorAll('.bd-article details')) box.open = true")


def test_page_is_clean_accessible_in_both_themes_and_fits_a_phone(book_page, book_address, same_tab):
    watched = same_tab()
    page = watched.open(f"{book_address}/{book_page}")
    if is_chapter(book_page):
        assert page.evaluate(FIRST_FIGURE) <= 1.5 * SCREEN, "the first figure comes late"
    open_all(page)
    for scheme in ("light", "dark"):
        page.emulate_media(color_scheme=scheme)
        if page.locator("html[data-theme]").count():
            page.wait_for_selector(f"html[data-theme={scheme}]")
        assert page.evaluate(MOVES) == 0, "with reduced motion a theme is there at once"
        assert not axe_problems(page, without=DRAWN, contrast_only=True)
    page.emulate_media(color_scheme="light")
    page.evaluate(PLAIN_CODE)
    assert not axe_problems(page, without=DRAWN)
    assert overflow(page) <= 0
    watched.assert_clean()


@pytest.mark.weekly
def test_page_is_accessible_on_a_phone_in_both_themes(book_page, book_address, same_tab):
    page = on_a_phone(same_tab, f"{book_address}/{book_page}")
    open_all(page)
    for scheme in ("light", "dark"):
        page.emulate_media(color_scheme=scheme)
        page.wait_for_function(f"(document.documentElement.dataset.theme ?? '{scheme}') === '{scheme}'")
        problems = axe_problems(page, contrast_only=scheme == "dark")
        page.emulate_media(color_scheme="light")
        assert not problems


# By how much each displayed formula is wider than its room, and how far its beginning lies outside of it.
FORMULAS = """() => [...document.querySelectorAll("div.math")].map((room) => {
    const parts = [...room.querySelectorAll("math *")].map((one) => one.getBoundingClientRect());
    const left = Math.min(...parts.filter((one) => one.width).map((one) => one.left));
    return [room.scrollWidth - room.clientWidth, Math.max(0, Math.round(room.getBoundingClientRect().left - left))];
})"""


# Printed text that is wider than its box: its longest line.
CUT_OFF = """(selector) => [...document.querySelectorAll(`.bd-article ${selector}`)]
    .filter((block) => block.checkVisibility() && block.scrollWidth > block.clientWidth + 1)
    .map((block) => block.textContent.split("\\n").reduce((one, other) => other.length > one.length ? other : one))"""
PRINTED, DIAGNOSIS = ".cell_output pre", "pre.te-diagnosis"


def test_page_works_from_disk_with_every_figure_alive_and_no_formula_or_printed_line_cut_off(
    book_page, book_html, same_tab
):
    watched = same_tab()
    page = watched.open((book_html / book_page).as_uri())
    page.set_viewport_size(PHONE)
    for name, height, told in page.evaluate(HEIGHTS):
        assert told == pytest.approx(height, abs=2), f"the page moves when {name} takes the place of its still"
    page.set_viewport_size(DESKTOP)
    open_all(page)
    assert page.locator(".te-figure[data-ready=true]").count() == figures(page)
    assert not any(still.is_visible() for still in page.locator(".te-still").all())
    assert [wider for wider, _ in page.evaluate(FORMULAS) if wider > 0] == []
    assert page.evaluate(CUT_OFF, PRINTED) == []
    page.set_viewport_size(PHONE)
    assert page.evaluate(CUT_OFF, DIAGNOSIS) == []
    assert [hidden for _, hidden in page.evaluate(FORMULAS) if hidden] == []
    watched.assert_clean()


def test_without_javascript_every_figure_shows_its_still(book_page, book_address, same_tab):
    page = same_tab(java_script_enabled=False).page
    arrive(page, f"{book_address}/{book_page}")
    open_all(page)
    stills = page.locator(".te-figure img.te-still")
    assert stills.count() == figures(page)
    for still in stills.all():
        assert still.is_visible()
        assert still.get_attribute("alt")
        assert still.evaluate("image => image.complete && image.naturalWidth") > 0
        assert "_images/" in still.evaluate("image => image.currentSrc"), "the picture itself, not its place"


def on_a_phone(same_tab, address):
    """A page, opened at a phone's width."""
    watched = same_tab()
    watched.page.set_viewport_size(PHONE)
    return watched.open(address)


CHAPTER = "notebooks/06-attention.html"


SIZE = "heading => parseFloat(getComputedStyle(heading).fontSize)"


def test_on_a_phone_headings_have_their_order_and_no_button_covers_a_figure(book_address, same_tab):
    page = on_a_phone(same_tab, f"{book_address}/{CHAPTER}")
    first, second = (page.locator(f".bd-article {tag}").first.evaluate(SIZE) for tag in ("h1", "h2"))
    assert second < first
    page.evaluate("scrollTo(0, 2000), scrollTo(0, 1500)")
    assert not page.locator("#pst-back-to-top").is_visible()


def test_answers_are_covered_until_asked_for_and_stand_open_without_javascript(book_address, same_tab):
    page = same_tab().open(f"{book_address}/{CHAPTER}")
    answers = page.locator("details.te-covered")
    assert answers.count()
    assert page.locator("details.te-covered[open]").count() == 0
    answers.first.locator("summary").first.focus()  # a figure inside of it has others
    page.keyboard.press("Enter")
    assert answers.first.locator(".cell_output").is_visible()
    plain = same_tab(java_script_enabled=False).page
    plain.goto(f"{book_address}/{CHAPTER}")
    assert plain.locator("details.te-covered[open]").count() == answers.count()
    assert page.locator(".te-predict:visible").count()
    assert not plain.locator(".te-predict:visible").count(), "a line for a guess that nothing reads"


def test_an_address_that_names_no_place_is_no_error(book_address, same_tab):
    watched = same_tab()
    watched.page.goto("about:blank")  # or else it would be a step on the same page
    page = watched.open(f"{book_address}/{CHAPTER}#te-%")
    assert page.locator("details.te-covered[open]").count() == 0
    watched.assert_clean()


def test_on_a_phone_the_header_names_the_page(book_address, same_tab):
    page = on_a_phone(same_tab, f"{book_address}/{CHAPTER}")
    title = page.locator(".house-title")
    assert title.is_visible()
    assert title.inner_text() == "Attention"
    middle = "one => { const box = one.getBoundingClientRect(); return box.top + box.height / 2; }"
    assert title.evaluate(middle) == pytest.approx(page.locator(".theme-switch-button").evaluate(middle), abs=3)
    page.set_viewport_size(DESKTOP)
    assert not title.is_visible()


LOOK = "summary => { const look = getComputedStyle(summary, '::before'); return [look.content, look.color].join(); }"


def test_everything_that_opens_has_one_mark(book_address, same_tab):
    page = same_tab().open(f"{book_address}/{CHAPTER}")
    folds = page.locator(".bd-article details:not(.te-figure *)")
    kinds = {fold.get_attribute("class").split()[0] for fold in folds.all()}
    assert kinds == {"te-code", "te-covered", "te-deeper", "te-hint"}
    assert len({page.locator(f"details.{kind} > summary").first.evaluate(LOOK) for kind in kinds}) == 1
    assert not page.locator(".bd-article .dropdown:not(details)").count()


GROUND = "one => getComputedStyle(one).backgroundColor"


def test_on_a_wide_screen_figures_get_room_and_lines_of_text_do_not_grow(book_address, same_tab):
    watched = same_tab()
    watched.page.set_viewport_size({"width": 1680, "height": 1000})
    page = watched.open(f"{book_address}/notebooks/04-positional-encoding.html")
    page.locator(".te-root .te-stage").first.wait_for()
    widths = "all => all.filter(one => one.offsetWidth).map(one => Math.round(one.getBoundingClientRect().width))"
    assert set(page.locator(".te-root").evaluate_all(widths)) == {944}
    assert max(page.locator(".bd-article section > :is(p, .admonition)").evaluate_all(widths)) <= 792
    assert page.evaluate("document.documentElement.scrollWidth") <= 1680
    figure, contents = (page.locator(part).first.bounding_box() for part in (".te-root", ".bd-sidebar-secondary"))
    assert figure["x"] + figure["width"] < contents["x"]
    page.set_viewport_size(DESKTOP)
    watched.assert_clean()


def test_in_the_dark_a_page_has_the_ground_of_its_plots(book_address, same_tab):
    watched = same_tab()
    page = watched.open(f"{book_address}/{CHAPTER}")
    page.emulate_media(color_scheme="dark")
    page.wait_for_selector("html[data-theme=dark]")
    wanted = [int(PAPER[i : i + 2], 16) for i in (1, 3, 5)]
    assert page.locator("body").evaluate(GROUND) == "rgb({}, {}, {})".format(*wanted)
    page.emulate_media(color_scheme="light")


def test_headings_weigh_as_much_as_those_below_them(book_address, same_tab):
    page = same_tab().open(f"{book_address}/{CHAPTER}")
    weights = [
        page.locator(f".bd-article {tag}").first.evaluate("one => getComputedStyle(one).fontWeight")
        for tag in ("h1", "h2", "h3")
    ]
    assert weights == ["600"] * 3, "the book's font has no weight between 400 and 600"


@pytest.mark.parametrize("from_disk", [False, True])
def test_an_address_of_the_first_edition_leads_to_the_chapter(from_disk, book_html, book_address, same_tab):
    page = same_tab().page
    base = book_html.as_uri() if from_disk else book_address
    for old, new in MOVED.items():
        page.goto(f"{base}/{old}.html")
        page.wait_for_url(f"{base}/{new}.html")


def test_a_link_opens_what_is_folded(book_address, same_tab):
    page = same_tab().open(f"{book_address}/{CHAPTER}")
    box = page.locator("details.te-deeper").first
    assert box.get_attribute("open") is None
    name = box.locator("summary").get_attribute("id")
    assert page.locator(f"[href='#{name}']").count(), "the page's contents lead there"
    page.evaluate("name => { location.hash = name; }", name)
    page.wait_for_selector("details.te-deeper[open]")
    assert box.locator("summary").is_visible()
