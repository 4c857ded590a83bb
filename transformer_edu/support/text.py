"""Printed text that fits a page of the book and a narrow terminal."""

import textwrap


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
