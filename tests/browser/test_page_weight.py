"""What a first visit fetches: no page is heavy, no model's weights come unasked, a live figure fetches no still."""

import page_weight
import pytest

from tests.browser.conftest import DESKTOP

MOST_BYTES = 500_000
LIVE = ".te-figure[data-ready=true] picture > img.te-still"


@pytest.fixture
def first_visit(browser):
    context = browser.new_context(viewport=DESKTOP)
    yield context.new_page()
    context.close()


@pytest.mark.weekly
def test_a_first_visit_scrolled_to_its_end_fetches_little(book_page, book_address, first_visit):
    weight = page_weight.weigh(first_visit, f"{book_address}/{book_page}")
    print(book_page, {kind: round(size / 1000) for kind, size in weight.items()})
    assert weight.total() <= MOST_BYTES, weight
    assert not weight["weights"]
    stills = first_visit.locator(LIVE)
    assert not any("_images/" in still.evaluate("image => image.currentSrc") for still in stills.all())


def test_the_heaviest_chapter_fetches_little(book_address, first_visit):
    assert (
        page_weight.weigh(first_visit, f"{book_address}/notebooks/07-multi-head-attention.html").total() <= MOST_BYTES
    )


def test_the_still_of_a_figure_that_cannot_run_is_fetched(book_address, first_visit):
    first_visit.route("**/figure-norm-cube.js*", lambda route: route.abort())
    first_visit.goto(f"{book_address}/notebooks/05-normalization.html")
    first_visit.wait_for_selector(".te-figure[data-ready=failed]")
    still = first_visit.locator(".te-figure[data-ready=failed] img.te-still").first
    still.scroll_into_view_if_needed()
    first_visit.wait_for_function("image => image.complete && image.naturalWidth > 0", arg=still.element_handle())
    assert "_images/" in still.evaluate("image => image.currentSrc")
