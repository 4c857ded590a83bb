"""The book's font: cut from an installed package, small, under a name of its own, with its licence."""

import io
import re
from pathlib import Path

import matplotlib
import pytest
from fontTools.ttLib import TTFont

from transformer_edu.book.figures import assets, font

pytestmark = pytest.mark.long
MOST_BYTES = 30_000
MOST_FIRST_BYTES = 10_000  # of what a page waits for
WRITTEN = "Ää ßéœĠ0123456789·×−±√∞≈≠≤≥∂→←↑↓₀₁₂²³⁴…–“”’✓"  # by the book and its figures
GREEK = "αβγεθλπσΣ"
ALL = font.FIRST | font.LATER
ROOT = Path(__file__).resolve().parents[2]
DEJAVU = {"Regular": "DejaVuSans.ttf", "Italic": "DejaVuSans-Oblique.ttf", "Semibold": "DejaVuSans-Bold.ttf"}


@pytest.fixture(scope="module", params=font.STYLES)
def style(request):
    return request.param


@pytest.fixture
def opened(style):
    with TTFont(io.BytesIO(font.woff2(style, ALL))) as one:
        yield one


def test_a_style_is_small_and_has_the_letters_that_the_book_writes(style, opened):
    assert len(font.woff2(style, font.FIRST)) < MOST_FIRST_BYTES
    assert len(font.woff2(style, font.FIRST)) + len(font.woff2(style, font.LATER)) < MOST_BYTES
    letters = WRITTEN if style == "Italic" else WRITTEN + GREEK
    assert set(letters.replace(" ", "")) <= set(map(chr, opened.getBestCmap()))


def test_a_letter_comes_either_first_or_later():
    assert not font.FIRST & font.LATER
    assert set("The query meets 1,234 keys: “é” → 0.5 × √2".replace("√", "")) <= font.FIRST


def test_all_figures_are_as_wide_as_each_other(opened):
    glyphs = opened.getBestCmap()
    assert len({opened["hmtx"][glyphs[ord(figure)]][0] for figure in "0123456789"}) == 1


def test_a_cut_font_does_not_bear_the_reserved_name_and_says_whose_it_is(opened):
    names = {entry.nameID: str(entry) for entry in opened["name"].names}
    assert all("Source" not in names.get(number, "") for number in (1, 3, 4, 6, 16))
    assert names[1] == font.FAMILY
    assert "Adobe" in names[0]
    assert "SIL OPEN FONT LICENSE" in font.licence()


def test_the_style_sheet_holds_every_style_and_a_page_takes_it_into_its_head():
    sheet = font.stylesheet()
    assert sheet.count("data:font/woff2") == sheet.count("url(") == 2 * len(font.STYLES)
    assert sheet.count("@font-face") == len(font.STYLES) * (2 + len(font.STAND_INS))
    page = font.with_font(assets.standalone_page())
    head, _, body = page.partition("</head>")
    assert sheet in head
    assert "@font-face" not in body


@pytest.mark.parametrize(("style", "file"), DEJAVU.items())
def test_the_width_of_a_stand_in_is_that_of_its_letters(style, file):
    with TTFont(Path(matplotlib.get_data_path(), "fonts", "ttf", file)) as one:
        assert font.mean_width(one) == pytest.approx(font.WIDTHS["DejaVu"][style], abs=5e-5)


@pytest.mark.parametrize("sheet", ["transformer_edu/book/figures/css/figures.css", "book/_static/custom.css"])
def test_what_stands_in_is_named_next_to_the_font_wherever_that_is_named(sheet):
    text = (ROOT / sheet).read_text(encoding="utf-8")
    families = ", ".join(f'"{name}"' for name in [font.FAMILY, *(f"{font.FAMILY} {face}" for face in font.STAND_INS)])
    assert len(re.findall(f'"{font.FAMILY}"', text)) == text.count(families) == 1
