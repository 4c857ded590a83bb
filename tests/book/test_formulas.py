"""Formulas are set when the book is built: MathML with its LaTeX beside it, in letters that the book's font has."""

import html
import io
import re

import formulas
import pytest
from bs4 import BeautifulSoup
from docutils import nodes
from fontTools.ttLib import TTFont

from tests.book.built import page

MATH = re.compile(r"<math[ >].*?</math>", re.S)
MOST_BYTES = 40_000
ITALIC = {**{i: 0x1D434 + i - 65 for i in range(65, 91)}, **{i: 0x1D44E + i - 97 for i in range(97, 123)}, 104: 0x210E}


@pytest.fixture(scope="module")
def letters():
    with TTFont(io.BytesIO(formulas.woff2())) as font:
        yield set(font.getBestCmap())


@pytest.fixture(scope="module")
def pages(book_html):
    folders = (book_html / "book", book_html / "notebooks")
    return {path: path.read_text(encoding="utf-8") for folder in folders for path in folder.glob("*.html")}


@pytest.mark.book
def test_every_formula_is_mathml_that_carries_its_latex(pages):
    counted = 0
    for path in pages:
        places = page(path).select(".bd-article .math")
        counted += len(places)
        for place in places:
            assert place.find("math"), f"{path.name}: {place}"
            assert place.find("math").get("alttext"), f"{path.name}: {place}"
    assert counted > 500


@pytest.mark.book
def test_no_page_loads_a_script_for_formulas_and_those_with_formulas_have_the_font(pages):
    for name, text in pages.items():
        assert not re.search("<script[^>]*mathjax", text, re.I), name
        assert ("fonts/book-math.css" in text) == bool(MATH.search(text)), name


@pytest.mark.book
def test_the_font_has_every_letter_of_every_formula(pages, letters):
    written = {letter for text in pages.values() for formula in MATH.findall(text) for letter in one_text(formula)}
    assert {ord(letter) for letter in written if not letter.isspace()} <= letters


def one_text(formula):
    return html.unescape(re.sub(r"<[^>]*>", "", formula))


def test_the_font_is_small_has_the_slanted_letters_and_its_licence(letters):
    assert len(formulas.woff2()) < MOST_BYTES
    assert set(ITALIC.values()) <= letters
    assert formulas.licence().startswith("Copyright 2001-2020 The STIX Fonts Project Authors")
    assert "SIL OPEN FONT LICENSE" in formulas.licence()
    assert "Adobe" not in formulas.licence()


def test_high_roots_are_as_narrow_as_low_ones():
    with TTFont(io.BytesIO(formulas.woff2())) as font:
        table = font["MATH"].table.MathVariants
        root = table.VertGlyphConstruction[table.VertGlyphCoverage.glyphs.index(font.getBestCmap()[ord("√")])]
        assert len({font["hmtx"][variant.VariantGlyph][0] for variant in root.MathGlyphVariantRecord}) == 1
        assert len(root.MathGlyphVariantRecord) > 1


def test_what_is_no_formula_is_warned_of(monkeypatch):
    warnings = []
    monkeypatch.setattr(formulas.logger, "warning", lambda *words, **where: warnings.append(words))
    assert "notacommand" in formulas.set_formula(nodes.math(), r"\notacommand{x}", display=False)
    assert len(warnings) == 1


def test_a_formula_s_latex_cannot_leave_its_attribute():
    text = formulas.mathml(r'x < y \text{ "quoted" }')
    assert BeautifulSoup(text, "html.parser").math["alttext"] == r'x < y \text{ "quoted" }'
