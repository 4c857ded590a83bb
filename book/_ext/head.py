"""Sphinx extension: what a page says of itself, to who searches the web and to who is sent a link to it (Open Graph).

A page has a description, its first sentences; a chapter has its number, there and where its neighbours name it. Where
the book has an address, a link shows a picture too: the page's first figure as it opens, or else the front page's.
"""

import re
from html import escape
from pathlib import Path
from shutil import copyfile
from typing import Any

from captions import is_caption
from docutils import nodes
from numbering import chapter_of
from sphinx.application import Sphinx

PREVIEW = "_static/readme/front-page.png"
SHARED = "_static/shared"  # pictures for links from elsewhere
STILL = re.compile(r'<img class="te-still"[^>]* src="[^"]*(_images/still-\w+\.png)"')
ENOUGH, MOST = 80, 200  # letters of a description


def description_of(document: nodes.document) -> str:
    """The first sentences of a page, as many as say something; "" where it has none."""
    said = ""
    for paragraph in document.findall(nodes.paragraph):
        is_prose = isinstance(paragraph.parent, nodes.section) and not is_caption(paragraph)
        if is_prose and len(said) < ENOUGH:
            said = f"{said} {' '.join(paragraph.astext().split())}".strip()
    return said if len(said) <= MOST else said[: said.rfind(" ", 0, MOST)].rstrip(",;:–") + " …"


def numbered_title(app: Sphinx, pagename: str) -> str:
    """A page's title, a chapter's with its number."""
    number, title = chapter_of(pagename), app.env.titles[pagename].astext()
    return f"{number}. {title}" if number else title


def describe(app: Sphinx, pagename: str, templatename: str, context: dict[str, Any], doctree: nodes.document) -> None:
    """Add to a page's head what it says of itself."""
    if pagename not in app.env.titles:
        return
    title, base = numbered_title(app, pagename), app.config.html_baseurl
    said = description_of(doctree) or f"{title}: {app.config.html_title}"
    tags = {"og:type": "article", "og:title": title, "og:description": said}
    if base:
        picture = base + shared_picture(app, context.get("body") or "")
        tags |= {"og:url": f"{base}{pagename}.html", "og:site_name": app.config.html_title, "og:image": picture}
    lines = [f'<meta name="description" content="{escape(said)}">']
    lines += [f'<meta property="{name}" content="{escape(text)}">' for name, text in tags.items()]
    context["metatags"] = "\n".join([context.get("metatags", ""), *lines])


def shared_picture(app: Sphinx, body: str) -> str:
    """The address, within the book, of the picture that goes with a link to a page: a PNG, which everybody shows."""
    still = STILL.search(body)
    if still is None:
        return PREVIEW
    target = Path(app.outdir, SHARED, Path(still[1]).name)
    target.parent.mkdir(parents=True, exist_ok=True)
    copyfile(Path(app.outdir, still[1]), target)
    return f"{SHARED}/{target.name}"


def number_neighbours(app: Sphinx, pagename: str, templatename: str, context: dict[str, Any], doctree: object) -> None:
    """Give the chapters before and after a page their numbers."""
    relations = app.builder.relations  # type: ignore[attr-defined]
    _, before, after = relations.get(pagename, (None, None, None))
    for key, name in (("prev", before), ("next", after)):
        if name and context.get(key):
            context[key]["title"] = numbered_title(app, name)


def setup(app: Sphinx) -> dict[str, Any]:
    """Register the handlers; when the page's head is described, its stills are files."""
    app.connect("html-page-context", describe, priority=870)
    app.connect("html-page-context", number_neighbours, priority=870)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
