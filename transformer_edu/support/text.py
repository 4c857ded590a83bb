"""Printed text that fits a page of the book and a narrow terminal; and, where others wrote it, does no harm there."""

import textwrap
from collections.abc import Sequence


def wrapped(text: str, width: int = 72, hanging: int = 11) -> str:
    """Each line of `text` in lines of at most `width` columns, those after its first indented by `hanging` more.

    Words are never cut: one that is wider than a line has a line of its own. Spaces between words, and the indent of
    a line, stay as they are.
    """
    return "\n".join(_wrapped_line(line, width, hanging) for line in text.split("\n"))


def _wrapped_line(line: str, width: int, hanging: int) -> str:
    if len(line) <= width:
        return line
    own = len(line) - len(line.lstrip())
    return textwrap.fill(
        line.strip(),
        width,
        initial_indent=" " * own,
        subsequent_indent=" " * (own + hanging),
        break_long_words=False,
        break_on_hyphens=False,
    )


def printable(text: str, longest: int = 4000) -> str:
    """Other people's text as one line that any terminal and any encoding takes.

    Line breaks, control characters (a terminal obeys them), lone surrogates (no encoding has them), and invisible
    characters, which may turn what follows around or look like a space and be none, are shown as Python writes them:
    `\\n`, `\\x1b`, `\\ud800`. What comes after `longest` characters is left out, and that is said.
    """
    shown = "".join(character if character.isprintable() else ascii(character)[1:-1] for character in text[:longest])
    rest = len(text) - longest
    return f"{shown} … ({rest:,} more characters)" if rest > 0 else shown


def check_texts(texts: Sequence[str]) -> None:
    """Raise unless these are strings of whole characters, in a list."""
    if isinstance(texts, str):
        raise TypeError(f"texts must be a list of sentences, got one string: {texts[:80]!r}")
    for number, text in enumerate(texts):
        if not isinstance(text, str):
            raise TypeError(f"texts must be a list of sentences, got texts[{number}] = {text!r}"[:300])
        if any("\ud800" <= character <= "\udfff" for character in text):
            raise ValueError(
                f"texts must be Unicode, got half a character (a surrogate) in texts[{number}]: {text!r}"[:300]
            )
