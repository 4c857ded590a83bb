"""A check's words wrap in the page, line by line, and lose nothing."""

import re
from html import unescape

import diagnosis
import pytest

from tests.book import built

SAID = """✗ attention: check 1 of 10, one query that looks at three keys, of which
  the last is blocked

    lengths = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17,
        18]
    expected output =
        [ 7.3106   5.3788]
        [  1.192  17.6159]

Diagnosis: the mask is inverted: it blocks what is allowed, and allows
           everything else.
Why:       True means <b>.
(In other trials something else differs too. Mend this first, then run
the check again.)
"""


def test_what_the_check_has_wrapped_is_one_line_again_and_rows_of_numbers_keep_theirs():
    assert diagnosis.lines_of(SAID) == [
        ("✗ attention: check 1 of 10, one query that looks at three keys, of which the last is blocked", 2),
        ("", 0),
        ("    lengths = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18]", 8),
        ("    expected output =", 8),
        ("        [ 7.3106   5.3788]", 12),
        ("        [  1.192  17.6159]", 12),
        ("", 0),
        ("Diagnosis: the mask is inverted: it blocks what is allowed, and allows everything else.", 11),
        ("Why:       True means <b>.", 11),
        ("(In other trials something else differs too. Mend this first, then run the check again.)", 0),
    ]


def test_what_is_copied_from_the_page_is_what_the_check_said():
    html = diagnosis.in_html(diagnosis.lines_of(SAID), ["output", "traceback"])
    assert "<b>" not in html
    text = unescape(re.sub(r"<[^>]*>", "", html))
    assert text.split() == SAID.split()
    assert "\n        [  1.192  17.6159]\n" in text


@pytest.mark.parametrize(
    ("text", "is_one"),
    [(SAID, True), ("Diagnosis: one", True), ("✗ ✗ ✗\n", False), ("✗ entries changed: 0", False), ("loss 0.1", False)],
)
def test_which_printed_text_is_a_check_s(text, is_one):
    assert bool(diagnosis.SAID.search(text)) is is_one


def test_every_diagnosis_of_the_book_wraps(book_html):
    pages = [path for part in ("book", "notebooks") for path in (book_html / part).glob("*.html")]
    blocks = [block for path in pages for block in built.page(path).select("pre") if "Diagnosis: " in block.get_text()]
    assert len(blocks) > 17
    assert all("te-diagnosis" in block.get("class", []) for block in blocks)


def test_a_wide_output_wraps_each_line_under_its_own_beginning_and_joins_none():
    text = "  name " + "1.00 " * 20 + "\n  next"
    assert diagnosis.wide_lines_of(text) == [(text.split("\n")[0], 6), ("  next", 6)]
