"""A page of which a part is written when the book is built, from what the package holds."""

from collections.abc import Callable
from typing import Any

from sphinx.application import Sphinx


def write_page(app: Sphinx, page: str, place: str, text: Callable[[], str]) -> None:
    """Put `text()` where `place` stands in the source of a page.

    The page hangs on the package, not on its own file: it is read at every build.
    """

    def write(app: Sphinx, docname: str, source: list[str]) -> None:
        if docname == page:
            if place not in source[0]:
                raise ValueError(f"{page}.md must hold the line {place!r}")
            source[0] = source[0].replace(place, text())

    def always(app: Sphinx, *_: Any) -> list[str]:
        return [page]

    app.connect("source-read", write)
    app.connect("env-get-outdated", always)
