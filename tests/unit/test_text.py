"""Text is wrapped with a hanging indent, and no word of it is lost."""

import pytest

from transformer_edu.support.text import wrapped

DIAGNOSIS = "Why:       the *variance* of the dot product is d_head; what must be divided by is its standard deviation."


@pytest.mark.parametrize("hanging", [0, 4, 11])
def test_no_line_is_wider_and_later_lines_begin_under_the_text(hanging):
    first, *rest = wrapped(DIAGNOSIS, 60, hanging).split("\n")
    assert max(map(len, [first, *rest])) <= 60
    assert first.startswith("Why:       the *variance*")
    assert rest
    assert all(len(line) - len(line.lstrip()) == hanging for line in rest)


@pytest.mark.parametrize("text", [DIAGNOSIS, f"✗ one\n\n    {DIAGNOSIS}\n", "x" * 90, "", "    deep\n"])
def test_every_word_and_every_line_is_kept(text):
    assert wrapped(text).split() == text.split()
    assert wrapped(text).count("\n") >= text.count("\n")


def test_what_fits_stays_as_it_is():
    table = "    [1  2]\n        [3    4]\n"
    assert wrapped(table) == table


def test_a_long_word_has_a_line_of_its_own_and_is_not_cut():
    assert wrapped("see " + "well-known/" * 9, 40, 2) == "see\n  " + "well-known/" * 9


def test_an_indented_line_hangs_from_its_own_indent():
    assert wrapped("    one two three", 12, 2) == "    one two\n      three"
