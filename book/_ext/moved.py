"""Sphinx extension: addresses that pages once had lead to where they are now, from disk too and without a script."""

import os
from html import escape
from pathlib import Path, PurePosixPath
from typing import Any

from sphinx.application import Sphinx

MOVED = {"notebooks/20-when-it-does-not-work": "notebooks/17-when-it-does-not-work"}
PAGE = """<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title}</title><meta name="robots" content="noindex"><link rel="canonical" href="{canonical}">
<meta http-equiv="refresh" content="0; url={address}"></head>
<body><main><h1>{title}</h1><p>This page has moved: <a href="{address}">{title}</a>.</p></main></body></html>
"""


def page(title: str, address: str, canonical: str) -> str:
    """A page that leads to another.

    Args:
        title: of the page to which it leads.
        address: of that page, relative to this one, so that it works from disk.
        canonical: its full address, where the book has one.
    """
    words = {"title": title, "address": address, "canonical": canonical or address}
    return PAGE.format_map({name: escape(text) for name, text in words.items()})


def relative(old: str, new: str) -> str:
    """The address of a page as it is seen from another.

    >>> relative("notebooks/20-bugs", "book/bugs")
    '../book/bugs.html'
    """
    return PurePosixPath(os.path.relpath(new, PurePosixPath(old).parent)).as_posix() + ".html"


def write_moved(app: Sphinx, error: Exception | None) -> None:
    """Write a page at each address at which one has been, if the book has that page at its new one."""
    if error or app.builder.format != "html":
        return
    base = app.config.html_baseurl
    for old, new in MOVED.items():
        if new in app.env.all_docs and old not in app.env.all_docs:
            text = page(app.env.titles[new].astext(), relative(old, new), base and f"{base}{new}.html")
            Path(app.outdir, f"{old}.html").write_text(text, encoding="utf-8")


def setup(app: Sphinx) -> dict[str, Any]:
    """Register the last step, after those that mend pages."""
    app.connect("build-finished", write_moved, priority=950)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
