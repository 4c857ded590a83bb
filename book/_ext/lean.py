"""Sphinx extension: what no page uses is not sent.

The theme's style sheets know some thousand classes, of which the book uses a few hundred: rules for the others are
left out of the finished book. Sphinx's search loads its index on every page; only the page of results needs it.
"""

import re
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import tinycss2
from sphinx.application import Sphinx

OWN = ("figure*.css", "custom.css", "book-*.css")  # have nothing to spare
SEARCH_SCRIPTS = re.compile(
    r'\s*<script(?: defer)? src="[^"]*(?:searchtools|language_data|searchindex)\.js[^"]*"></script>'
)
TABS = re.compile(r"\s*<script [^>]*design-tabs\.js[^>]*></script>")  # of which the book has none
CLASSES = re.compile(r'\bclass="([^"]*)"')
WORD = re.compile(r"[A-Za-z_][\w-]*")
BUILT_UP = ("bs-",)  # classes whose names scripts put together
CONDITIONAL = ("media", "supports", "layer")


def words_in(folder: Path) -> set[str]:
    """Every class that a page has or that a script could give."""
    found: set[str] = set()
    for page in folder.rglob("*.html"):
        for names in CLASSES.findall(page.read_text(encoding="utf-8")):
            found.update(names.split())
    for script in (folder / "_static").rglob("*.js"):
        found.update(WORD.findall(script.read_text(encoding="utf-8")))
    return found


def selectors(prelude: list[Any]) -> Iterator[list[Any]]:
    """A rule's selectors, one after the other."""
    one: list[Any] = []
    for token in prelude:
        if token.type == "literal" and token.value == ",":
            yield one
            one = []
        else:
            one.append(token)
    yield one


def can_match(selector: list[Any], known: set[str]) -> bool:
    """Whether every class that a selector asks for is known; what stands in brackets is not looked at."""
    pairs = pairwise(selector)
    asked = [name.value for dot, name in pairs if dot.type == "literal" and dot.value == "." and name.type == "ident"]
    return all(name in known or name.startswith(BUILT_UP) for name in asked)


def used_rules(css: str, known: set[str]) -> str:
    """A style sheet without comments and without rules for classes that are not known.

    Args:
        css: the text of the sheet.
        known: the classes that pages have.

    >>> used_rules(".a, .b:hover { top: 0 } /* no */ @media print { .c { top: 1px } }", {"a"})
    '.a{ top: 0 }'
    """
    kept = []
    for rule in tinycss2.parse_stylesheet(css, skip_comments=True, skip_whitespace=True):
        if rule.type == "qualified-rule":
            left = [one for one in selectors(rule.prelude) if can_match(one, known)]
            if left:
                names = ",".join(tinycss2.serialize(one).strip() for one in left)
                kept.append(f"{names}{{{tinycss2.serialize(rule.content)}}}")
        elif rule.type == "at-rule" and rule.lower_at_keyword in CONDITIONAL and rule.content is not None:
            inner = used_rules(tinycss2.serialize(rule.content), known)
            if inner:
                kept.append(f"@{rule.at_keyword}{tinycss2.serialize(rule.prelude)}{{{inner}}}")
        else:
            kept.append(rule.serialize())
    return "".join(kept)


def leave_out(app: Sphinx, error: Exception | None) -> None:
    """Take what is not used out of the finished book's style sheets and pages."""
    if error or app.builder.format != "html":
        return
    folder = Path(app.outdir)
    for page in folder.rglob("*.html"):
        text = page.read_text(encoding="utf-8")
        lean = TABS.sub("", text if page.name == "search.html" else SEARCH_SCRIPTS.sub("", text))
        if lean != text:
            page.write_text(lean, encoding="utf-8")
    known = words_in(folder)
    for sheet in (folder / "_static").rglob("*.css"):
        if not any(map(sheet.match, OWN)):
            sheet.write_text(used_rules(sheet.read_text(encoding="utf-8"), known), encoding="utf-8")


def setup(app: Sphinx) -> dict[str, Any]:
    """Register the last step."""
    app.connect("build-finished", leave_out, priority=900)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
