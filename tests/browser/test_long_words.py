"""A word longer than a page is wide is cut where a figure shows it: the figure stays within its column."""

from pathlib import Path

import pytest

from tests.browser.cases import CASES, HOSTILE
from tests.browser.conftest import StrictPage, overflow
from transformer_edu.widgets import assets

LONG = "x" * 5_000
WRITTEN = assets.script_json(HOSTILE)[1:-1]  # as the state in a page holds it


@pytest.mark.parametrize("width", [688, 390])
@pytest.mark.parametrize("name", [name for name, case in CASES.items() if case.hostile])
def test_a_word_without_an_end_makes_no_page_wider(
    name: str, width: int, tmp_path: Path, strict_page: StrictPage
) -> None:
    make = CASES[name].hostile
    assert make is not None
    html = make().html()
    assert WRITTEN in html
    path = tmp_path / "figure.html"
    path.write_text(assets.standalone_page(html.replace(WRITTEN, LONG)), encoding="utf-8")
    watched = strict_page(viewport={"width": width, "height": 844})
    page = watched.open(path.as_uri())
    assert "xxxxxxxx" in page.locator(".te-root").inner_text()
    assert LONG not in page.locator(".te-root").inner_text()
    assert overflow(page, width) <= 0
    watched.assert_clean()
