"""Sphinx extension of the house: MathJax from an installed package, and a page that asks no other host for anything.

Jupyter Book loads Thebe on every page, and MathJax from another host. Here Thebe's scripts are taken out of the pages,
and the part of MathJax that a page needs is copied from the `sphinx-mathjax-offline` package when the book is built.
"""

import re
import shutil
from importlib.metadata import files
from pathlib import Path
from typing import Any

from sphinx.application import Sphinx
from sphinx.config import Config

MATHJAX_FILES = (
    "startup.js",
    "core.js",
    "input/tex.js",
    "output/chtml.js",
    "output/chtml/fonts/tex.js",
    "a11y/assistive-mml.js",
)
MATHJAX_FOLDERS = ("input/tex/extensions", "output/chtml/fonts/woff-v2")
MATHJAX_LOADS = ["input/tex", "output/chtml", "a11y/assistive-mml"]
UNWANTED = ("thebe",)
# Markup that other packages write and a page is better without, and what stands in its place.
MENDED = (
    # The theme's icons come from its style sheet and font; this script, 1.5 MB, would draw them a second time.
    (re.compile(r'\s*<script defer src="[^"]*scripts/fontawesome\.js[^"]*"></script>'), ""),
    # Roles and empty headings that accessibility checkers refuse.
    (re.compile(r' role="doc-biblioentry"'), ""),
    (re.compile(r'<div role="list" class="citation-list">'), '<div class="citation-list">'),
    (re.compile(r'<th(?: class="head")?>(?:<p></p>)?</th>'), "<td></td>"),
)


def mathjax_folder() -> Path:
    """Return the folder of the installed MathJax."""
    startup = next(
        f for f in files("sphinx-mathjax-offline") or [] if f.as_posix().endswith("static/mathjax/startup.js")
    )
    return Path(str(startup.locate())).parent


def configure_mathjax(app: Sphinx, config: Config) -> None:
    """Point the pages at the copy, and load its parts without the menu (which makes every formula a tab stop)."""
    config.mathjax_path = "mathjax/startup.js"
    config.mathjax3_config = (config.mathjax3_config or {}) | {"loader": {"load": MATHJAX_LOADS}}


def copy_mathjax(app: Sphinx) -> None:
    """Copy the parts that pages load into the book's static folder."""
    if app.builder.format != "html":
        return
    source, target = mathjax_folder(), Path(app.outdir) / "_static" / "mathjax"
    for name in MATHJAX_FILES:
        (target / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(source / name, target / name)
    for name in MATHJAX_FOLDERS:
        shutil.copytree(source / name, target / name, dirs_exist_ok=True)


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
        for wrong, right in MENDED:
            mended = wrong.sub(right, mended)
        if mended != text:
            path.write_text(mended, encoding="utf-8")
    for pattern in ("*.js.map", "*.css.map", "fontawesome.js"):
        for path in list(Path(app.outdir, "_static").rglob(pattern)):
            path.unlink()


def is_unwanted(item: Any) -> bool:
    """Tell whether a script or style, by its address or its text, belongs to something the book does not use."""
    text = f"{getattr(item, 'filename', item)} {getattr(item, 'attributes', {}).get('body', '')}".lower()
    return any(word in text for word in UNWANTED)


def setup(app: Sphinx) -> dict[str, Any]:
    """Register the handlers."""
    app.connect("config-inited", configure_mathjax, priority=900)
    app.connect("builder-inited", copy_mathjax)
    app.connect("html-page-context", tidy_page, priority=900)
    app.connect("build-finished", mend_pages)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
