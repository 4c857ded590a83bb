"""Sphinx extension: interactive figures in the published book, without a kernel.

A page with a figure gets the figures' styles, one script for each kind of figure on it, and the host script; a page
without one gets nothing. The weights of a model that a figure runs lie in _static; no page loads them by itself.
Stills, stored as data in the notebooks, become files in _images.

In a Markdown page (`:state:` is a JSON file, relative to the repository; both options may be left out):

    ```{interactive} attention-stepper
    :state: transformer_edu/book/recordings/example.json
    :alt: What the picture shows.
    ```
"""

import hashlib
import re
from html import escape
from pathlib import Path
from typing import Any, ClassVar

from docutils import nodes
from docutils.parsers.rst import directives
from sphinx.application import Sphinx
from sphinx.config import Config
from sphinx.util import logging
from sphinx.util.docutils import SphinxDirective

from transformer_edu.book.engine.shipped import shipped_file
from transformer_edu.book.engine.weights import weight_scripts
from transformer_edu.book.figures import assets
from transformer_edu.book.figures.stills import NO_STILL, SOURCE, STILL, png_of
from transformer_edu.support.files import write_atomically

logger = logging.getLogger(__name__)
WIDGET = re.compile(r'<div class="te-figure" data-widget="([\w-]+)"')
# A figure's still, by now in a file: a browser that runs scripts takes an empty picture of its size in its place.
# (Its address has no spaces: they would end it.)
OWN_STILL = re.compile(
    r'(<div class="te-figure"[^>]*><script type="application/json">[^<]*</script>)'
    r'(<img class="te-still"[^>]* width="(\d+)" height="(\d+)"[^>]*>)'
)
EMPTY = "data:image/svg+xml,%3Csvg%20xmlns='http://www.w3.org/2000/svg'%20viewBox='0%200%20{}%20{}'/%3E"
MODELS = re.compile(r'<div class="te-figure" data-widget="[\w-]+" data-model="([\w -]+)"')


class Interactive(SphinxDirective):
    """An interactive figure in a Markdown page, with its still from book/stills."""

    required_arguments = 1
    option_spec: ClassVar[dict[str, Any]] = {"state": directives.unchanged, "alt": directives.unchanged}

    def run(self) -> list[nodes.Node]:
        """Return the figure's HTML: its state, and its still if there is one."""
        from transformer_edu.book.figures import figure_from_file

        root = Path(self.env.srcdir)
        state = self.options.get("state")
        if state:
            self.env.note_dependency(str(root / state))
        try:
            figure = figure_from_file(self.arguments[0], root / state if state else None)
        except (OSError, TypeError, ValueError) as error:
            raise self.error(f"interactive figure {self.arguments[0]!r}: {error}") from error
        alt = self.options.get("alt") or figure.alt_text()
        html = figure.html(alt)
        return [nodes.raw("", with_still(html, alt, figure.figure_name, root / "book" / "stills"), format="html")]


def with_still(html: str, alt: str, name: str, folder: Path) -> str:
    """Put the stored still of a figure into its HTML; without a whole one, leave the mark that the build warns of."""
    mark = assets.digest(html)
    path = folder / f"{name}-{mark}.png"
    png = path.read_bytes() if path.exists() else b""
    return html.replace(NO_STILL, assets.still_image(png, alt, mark)) if assets.is_whole_png(png) else html


def watch_sources(app: Sphinx, config: Config) -> None:
    """Let a change of the front end rebuild every page, because each page carries its version."""
    config.figure_version = version()


def version() -> str:
    """Eight hex digits that change with any script or style of the figures."""
    scripts = map(assets.figure_script, assets.scripts_of(*assets.figure_names()))
    texts = [assets.host_script(), assets.stylesheet(), *scripts]
    return hashlib.sha256("\0".join(texts).encode()).hexdigest()[:8]


def write_assets(app: Sphinx) -> None:
    """Write styles and scripts into the book's static folder."""
    if app.builder.format != "html":
        return
    folder = Path(app.outdir) / "_static"
    folder.mkdir(parents=True, exist_ok=True)
    names = assets.figure_names()
    scripts = {f"figure-{name}.js": assets.figure_script(name) for name in [*assets.scripts_of(*names), assets.PICTURE]}
    styles = {f"figure-{name}.css": assets.own_styles(name) for name in names}
    shared = {"figures.css": assets.shared_styles(), "figures.js": assets.host_script()}
    for name, text in (shared | styles | scripts).items():
        (folder / name).write_text(text, encoding="utf-8")


def write_weights(app: Sphinx, model: str) -> None:
    """Write the scripts with a shipped model's weights beside the others; a page asks for them when it is touched."""
    for name, text in weight_scripts(shipped_file(model)).items():
        path = Path(app.outdir) / "_static" / name
        if not path.exists():
            write_atomically(path, text.encode())


def prepare_page(app: Sphinx, pagename: str, templatename: str, context: dict[str, Any], doctree: object) -> None:
    """Give a page with figures what they need, and turn their stills into files."""
    body = context.get("body") or ""
    names = sorted(set(WIDGET.findall(body)))
    if not names:
        return
    for name in set(names) - set(assets.figure_names()):
        logger.warning("there is no figure called %r", name, location=pagename)
    if NO_STILL in body:
        logger.warning("an interactive figure has no still picture: run `make outputs`", location=pagename)
    for model in {name for found in MODELS.findall(body) for name in found.split()}:
        write_weights(app, model)
    context["body"] = OWN_STILL.sub(without_fetching, stills_as_files(app, context, body))
    context["metatags"] = context.get("metatags", "") + head_tags(app, context, names)


def head_tags(app: Sphinx, context: dict[str, Any], names: list[str]) -> str:
    """The style sheets and the scripts, in the order in which they have to be read."""

    def address(file: str) -> str:
        return escape(f"{context['pathto']('_static/' + file, 1)}?v={app.config.figure_version}")

    styles = ["figures.css", *(f"figure-{name}.css" for name in names)]
    scripts = [*(f"figure-{name}.js" for name in assets.scripts_of(*names)), "figures.js"]
    links = [f'\n<link rel="stylesheet" href="{address(file)}">' for file in styles]
    return "".join(links + [f'\n<script defer src="{address(file)}"></script>' for file in scripts])


def stills_as_files(app: Sphinx, context: dict[str, Any], body: str) -> str:
    """Write the stills that a page holds as data to _images, and let the page point there."""
    return STILL.sub(lambda still: SOURCE.sub(lambda _: still_file(app, context, still[0]), still[0]), body)


def without_fetching(still: re.Match[str]) -> str:
    """A figure whose still is fetched where no script runs; the host script fetches it where the figure fails."""
    figure, image, *size = still.groups()
    source = f'<source media="(scripting: enabled)" srcset="{EMPTY.format(*size)}">'
    return f"{figure}<picture>{source}{image}</picture>"


def still_file(app: Sphinx, context: dict[str, Any], still: str) -> str:
    """Write one still to _images and return the attributes that show it."""
    png = png_of(still)
    if not assets.is_whole_png(png):
        logger.warning("the still picture of a figure is damaged: run `make outputs`", location=context["pagename"])
    name = f"_images/still-{hashlib.sha256(png).hexdigest()[:12]}.png"
    target = Path(app.outdir) / name
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_bytes(png)
    return f'loading="lazy" src="{escape(context["pathto"](name, 1))}"'


def setup(app: Sphinx) -> dict[str, Any]:
    """Register the directive and the two hooks."""
    app.add_config_value("figure_version", "", "html")
    app.add_directive("interactive", Interactive)
    app.connect("config-inited", watch_sources)
    app.connect("builder-inited", write_assets)
    app.connect("html-page-context", prepare_page, priority=800)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
