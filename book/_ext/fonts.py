"""Sphinx extension: every page has the book's own font, written into _static/fonts with its licence.

A page waits for its commonest letters only.

The theme's icons are a font too, of which a book uses a few dozen of two thousand: the others are left out of the file.
"""

import re
from pathlib import Path
from typing import Any

from fontTools import subset
from sphinx.application import Sphinx

from transformer_edu.book.figures import font
from transformer_edu.support.files import write_atomically

FIRST_SHEET, LATER_SHEET = "fonts/book-sans.css", "fonts/book-sans-more.css"
# Attributes of a link to a style sheet that no page waits for; where no script runs, it counts from the start.
LATER = {"media": "print, (scripting: none)", "onload": "this.media = 'all'"}
ICONS = "vendor/fontawesome/webfonts/fa-solid-900.woff2"
# The theme's list of icons: names, and the place in the font.
NAMED = re.compile(r'((?:\.fa-[a-z0-9-]+:before,?)+)\{content:"\\([0-9a-f]+)"\}')
SPOKEN = re.compile(r"\bfa-([a-z0-9-]+)")
WRITTEN = re.compile(r'"\\([ef][0-9a-f]{3})"')


def read_now(family: str, *styles: str) -> str:
    """A script that reads a font at once: by itself a browser does when it has laid out a line without it."""
    return "".join(f"document.fonts.load('{style} 1em \"{family}\"');" for style in styles)


def write_font(app: Sphinx) -> None:
    """Write the style sheet that holds the font, and the licence beside it."""
    if app.builder.format != "html":
        return
    write_sheet(app, FIRST_SHEET, font.stand_ins() + font.faces(font.FIRST))
    write_sheet(app, LATER_SHEET, font.faces(font.LATER))
    write_sheet(app, f"fonts/{font.LICENCE}", font.licence())


def write_sheet(app: Sphinx, name: str, text: str) -> None:
    """Write a style sheet, or the licence of the font in it, into _static."""
    write_atomically(Path(app.outdir, "_static", name), text.encode())


def leave_out_icons(app: Sphinx, error: Exception | None) -> None:
    """Keep of the icons what pages, scripts and styles name."""
    folder = Path(app.outdir, "_static")
    if error or app.builder.format != "html" or not (folder / ICONS).exists():
        return
    styles = "".join(path.read_text(encoding="utf-8") for path in folder.rglob("*.css"))
    texts = [*Path(app.outdir).rglob("*.html"), *(folder / "scripts").rglob("*.js"), *folder.glob("*.js")]
    written = "".join(path.read_text(encoding="utf-8") for path in texts)
    named = set(SPOKEN.findall(written))
    places = {place for names, place in NAMED.findall(styles) if named & set(SPOKEN.findall(names))}
    places |= set(WRITTEN.findall(NAMED.sub("", styles)))
    private = {ord(letter) for letter in set(styles + written) if "\ue000" <= letter <= "\uf8ff"}
    options = subset.Options(flavor="woff2")
    font = subset.load_font(str(folder / ICONS), options)
    subsetter = subset.Subsetter(options)
    subsetter.populate(unicodes=private | {int(place, 16) for place in places})
    subsetter.subset(font)
    subset.save_font(font, str(folder / ICONS), options)


def setup(app: Sphinx) -> dict[str, Any]:
    """Register both; the style sheets come before all but the theme's own."""
    app.connect("builder-inited", write_font)
    app.connect("build-finished", leave_out_icons)
    app.add_css_file(FIRST_SHEET, priority=100)
    app.add_css_file(LATER_SHEET, priority=100, **LATER)
    app.add_js_file(None, body=read_now(font.FAMILY, "400", "600", "italic 400"), priority=100)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
