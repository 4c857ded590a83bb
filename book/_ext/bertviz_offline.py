"""Sphinx extension: bertviz's views in the published book, with no request to another host.

bertviz draws with d3 and jQuery. Both, and bertviz's own scripts, are taken from installed packages when the book is
built. A stored view has no script of bertviz's (tools/normalize.py): its page gets a file that holds it, and a line
that says where the libraries lie (transformer_edu/book/figures/bertviz/view.js loads them from there).
"""

import shutil
from html import escape
from importlib.metadata import version
from pathlib import Path
from typing import Any

from figures import stills_as_files
from sphinx.application import Sphinx
from sphinx.util import logging

from transformer_edu.book.figures import bertviz_script
from transformer_edu.book.figures.stills import NO_STILL

logger = logging.getLogger(__name__)
FOLDER = "_static/bertviz/"
KINDS = ("head", "model")


def write_assets(app: Sphinx) -> None:
    """Copy d3, jQuery, bertviz's scripts and its licence into the book's static folder."""
    if app.builder.format != "html":
        return
    target = Path(app.outdir, FOLDER)
    target.mkdir(parents=True, exist_ok=True)
    licence = {"LICENSE.txt": bertviz_script.installed_file("bertviz", "LICENSE")}
    for name, path in (bertviz_script.library_files() | licence).items():
        shutil.copyfile(path, target / name)
    for kind in KINDS:
        (target / f"{kind}.js").write_text(script_file(kind), encoding="utf-8")


def script_file(kind: str) -> str:
    """A classic script that holds bertviz's drawing of one kind as a function for all views on a page."""
    return (
        f"/* From bertviz {version('bertviz')}; see LICENSE.txt in this folder. */\n"
        f"(globalThis.bertvizDrawings ??= {{}}).{kind} = (view, require, requirejs) => {{\n"
        f"{bertviz_script.drawing_script(kind)}\n}};\n"
    )


def call(kind: str) -> str:
    """What stands in a view on the page: a call of that function."""
    return f"globalThis.bertvizDrawings.{kind}(view, require, requirejs);"


def prepare_page(app: Sphinx, pagename: str, templatename: str, context: dict[str, Any], doctree: object) -> None:
    """Give a page with views what they need, and turn their stills into files; leave all other pages alone."""
    body = context.get("body") or ""
    if bertviz_script.VIEW not in body:
        return
    kinds = sorted({found[2] for found in bertviz_script.SCRIPT.finditer(body)})
    if body.count(bertviz_script.VIEW) != len(bertviz_script.SCRIPT.findall(body)) or NO_STILL in body:
        logger.warning(
            "a view of bertviz's has no still, or no place for its script: run `make outputs`", location=pagename
        )
    context["body"] = bertviz_script.with_script(stills_as_files(app, context, body), call)
    folder = escape(context["pathto"](FOLDER + "d3.js", 1).removesuffix("d3.js"))
    tags = [f'<meta name="bertviz-libraries" content="{folder}">']
    tags += [f'<script src="{folder}{kind}.js"></script>' for kind in kinds]
    context["metatags"] = "\n".join([context.get("metatags", ""), *tags])


def setup(app: Sphinx) -> dict[str, Any]:
    """Register the two hooks."""
    app.connect("builder-inited", write_assets)
    app.connect("html-page-context", prepare_page, priority=800)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
