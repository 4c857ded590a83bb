"""Text for people: what others wrote cannot break, colour, hide or turn around what stands beside it."""

import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from transformer_edu.support.text import printable

ANY = st.text(st.characters(exclude_categories=()))  # lone surrogates among them


@given(ANY)
def test_cleaned_text_is_one_line_in_any_encoding_and_clean(text):
    clean = printable(text)
    assert len(clean.splitlines()) <= 1
    assert clean.encode().decode() == clean
    assert "\x1b" not in clean
    assert printable(clean) == clean


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("scores · √d_k, 注意力 🙂", "scores · √d_k, 注意力 🙂"),
        ("E\n✓ causal_mask: fine", r"E\n✓ causal_mask: fine"),
        ("\x1b[2J\a\r", r"\x1b[2J\x07\r"),
        ("\ud800", r"\ud800"),
        ("\u202egnorw\u2028", r"\u202egnorw\u2028"),
        ("a\\nb\u00a0c", r"a\nb\xa0c"),
    ],
)
def test_what_cannot_be_seen_is_shown_by_its_number(text, shown):
    assert printable(text) == shown


def test_long_text_is_cut_and_says_by_how_much():
    assert printable("x" * 10, longest=10) == "x" * 10
    assert printable("x" * 4_000_000, longest=10) == "x" * 10 + " … (3,999,990 more characters)"
    assert sys.getsizeof(printable("\ud800" * 1_000_000)) < 100_000
