"""Text for people: wrapped, and, where others wrote it, made harmless and not too long."""

import textwrap
import unicodedata


def wrapped(text: str, width: int = 72, hanging: int = 11) -> str:
    """Break text into lines of at most `width` columns, all but the first of which begin `hanging` columns further in.

    What is no space stays as it is, and a word that is longer than a line is broken.
    """
    return textwrap.fill(text, width, subsequent_indent=" " * hanging, break_on_hyphens=False)


def printable(text: str, longest: int = 4000) -> str:
    """Other people's text as one line that any terminal and any encoding takes.

    Line breaks, control characters (a terminal obeys them), lone surrogates (no encoding has them) and invisible
    characters, which may turn what follows around, are shown as Python writes them: `\\n`, `\\x1b`, `\\ud800`. What
    comes after `longest` characters is left out, and that is said.
    """
    shown = "".join(one if _is_seen(one) else ascii(one)[1:-1] for one in text[:longest])
    rest = len(text) - longest
    return f"{shown} … ({rest:,} more characters)" if rest > 0 else shown


def _is_seen(character: str) -> bool:
    return character.isprintable() or unicodedata.category(character) == "Zs"
