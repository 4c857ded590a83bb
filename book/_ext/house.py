"""Sphinx extension of the house: a page has what it uses and no more, and asks no other host for anything.

Jupyter Book loads Thebe on every page, from another host, and a script that folds what folding.py has folded without
one: both are taken out of the pages.
"""

import re
from pathlib import Path
from typing import Any

from sphinx.application import Sphinx

UNWANTED = ("thebe", "togglebutton", "togglehint", "toggleopen")
# Markup that other packages write and a page is better without, and what stands in its place.
MENDED = (
    # The theme's icons come from its style sheet and font; this script, 1.5 MB, would draw them a second time.
    (re.compile(r'\s*<script defer src="[^"]*scripts/fontawesome\.js[^"]*"></script>'), ""),
    # What two packages say, after Sphinx: that a page is as wide as its screen; and the front page's title, twice.
    (re.compile(r'\s*<meta name="viewport" content="width=device-width, initial-scale=1" ?/>'), ""),
    (re.compile(r"<title>([^<]+?) &#8212; \1</title>"), r"<title>\1</title>"),
    # Roles and empty headings that accessibility checkers refuse.
    (re.compile(r' role="doc-biblioentry"'), ""),
    (re.compile(r'<div role="list" class="citation-list">'), '<div class="citation-list">'),
    (re.compile(r'<th(?: class="head")?>(?:<p></p>)?</th>'), "<td></td>"),
)
# Scripts that are read before the page is drawn, though none of them draws: they are read after it, in their order.
# (The page of results and bertviz's views call theirs while the page is read.)
DRAWN_FIRST = (
    (re.compile(r'<script src="(?=[^"]*_static/)(?![^"]*(?:documentation_options|bertviz/))'), '<script defer src="'),
    (re.compile(r'\s*<link rel="preload" as="script"[^>]*/>'), ""),
)
# The index that Sphinx searches finds in an object what every object has, such as its constructor, and breaks off.
WORDS = re.compile(r'("(?:terms|titleterms)": ?\{)')
NOTHING_ELSE = r'\1"__proto__":{"__proto__":null,hasOwnProperty:Object.prototype.hasOwnProperty},'


def tidy_page(app: Sphinx, pagename: str, templatename: str, context: dict[str, Any], doctree: object) -> None:
    """Take unwanted scripts and styles out of a page."""
    for kind in ("script_files", "css_files"):
        context[kind] = [item for item in context.get(kind, []) if not is_unwanted(item)]


def mend_pages(app: Sphinx, error: Exception | None) -> None:
    """Mend what templates and other extensions wrote, in every page of the finished book, and drop unused scripts."""
    if error or app.builder.format != "html":
        return
    for path in Path(app.outdir).rglob("*.html"):
        text = mended = path.read_text(encoding="utf-8")
        for wrong, right in MENDED if path.name == "search.html" else MENDED + DRAWN_FIRST:
            mended = wrong.sub(right, mended)
        if mended != text:
            path.write_text(mended, encoding="utf-8")
    index = Path(app.outdir, "searchindex.js")
    if index.exists() and "__proto__" not in (text := index.read_text(encoding="utf-8")):
        index.write_text(WORDS.sub(NOTHING_ELSE, text), encoding="utf-8")
    for pattern in ("*.js.map", "*.css.map", "fontawesome.js"):
        for path in list(Path(app.outdir, "_static").rglob(pattern)):
            path.unlink()


def is_unwanted(item: Any) -> bool:
    """Tell whether a script or style, by its address or its text, belongs to something the book does not use."""
    text = f"{getattr(item, 'filename', item)} {getattr(item, 'attributes', {}).get('body', '')}".lower()
    return any(word in text for word in UNWANTED)


def setup(app: Sphinx) -> dict[str, Any]:
    """Register the handlers."""
    app.connect("html-page-context", tidy_page, priority=900)
    app.connect("build-finished", mend_pages)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
