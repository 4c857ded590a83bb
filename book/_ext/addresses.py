"""Sphinx extension: what a page can say only where the book has an address (`tools/set_repository.py` sets it).

With a repository, a chapter has a button that downloads it as a notebook, and one that opens it in Colab: both give it
as `plain.py` writes it, in Markdown that every program shows. Colab reads it from a branch of its own, to which
.github/workflows/publish.yml brings it. With a site, it has a sitemap, and pages say where they are (head.py). Without,
pages point nowhere and say no address.
"""

from pathlib import Path, PurePosixPath
from typing import Any

import nbformat
from plain import colab_folder, plain
from sphinx.application import Sphinx
from sphinx.config import Config


def set_up_site(app: Sphinx, config: Config) -> None:
    """Load what needs the site's address, if there is one."""
    if not config.html_baseurl:
        return
    config.sitemap_url_scheme = "{link}"
    config.sitemap_excludes = ["search.html", "genindex.html"]


def is_chapter(app: Sphinx, pagename: str) -> bool:
    """Tell whether a page comes from a notebook."""
    return pagename in app.env.all_docs and str(app.env.doc2path(pagename)).endswith(".ipynb")


def add_download(app: Sphinx, pagename: str, templatename: str, context: dict[str, Any], doctree: object) -> None:
    """A chapter of a book with a repository can be downloaded."""
    if has_repository(app) and is_chapter(app, pagename) and "header_buttons" in context:
        button = {
            "type": "link",
            "url": PurePosixPath(pagename).name + ".ipynb",
            "tooltip": "Download this chapter as a notebook",
            "icon": "fas fa-download",
            "label": "download-notebook-button",
        }
        context["header_buttons"].append(button)


def lead_to_colab(app: Sphinx, pagename: str, templatename: str, context: dict[str, Any], doctree: object) -> None:
    """Let the theme's button open the plain chapter, which lies on a branch of its own."""
    folder = colab_of(app)
    if not (folder and is_chapter(app, pagename)):
        return
    groups = [one.get("buttons", []) for one in context.get("header_buttons", [])]
    for button in (button for group in groups for button in group):
        if "/blob/" in str(button.get("url")) and str(button["url"]).startswith(folder.split("/github/")[0]):
            button["url"] = folder + PurePosixPath(pagename).name + ".ipynb"


def colab_of(app: Sphinx) -> str:
    """Where Colab opens this book's chapters; "" without a repository."""
    options = app.config.html_theme_options
    return colab_folder(options.get("launch_buttons", {}).get("colab_url", ""), options.get("repository_url", ""))


def write_chapters(app: Sphinx, error: Exception | None) -> None:
    """Put the plain chapters beside their pages, where the buttons look for them."""
    if error or app.builder.format != "html" or not has_repository(app):
        return
    for name in filter(lambda name: is_chapter(app, name), app.env.all_docs):
        chapter = plain(nbformat.read(app.env.doc2path(name), 4), colab_of(app), app.config.html_baseurl)
        nbformat.write(chapter, Path(app.outdir, name).with_suffix(".ipynb"))


def has_repository(app: Sphinx) -> bool:
    """Tell whether the book knows its repository."""
    return bool(app.config.html_theme_options.get("repository_url"))


def setup(app: Sphinx) -> dict[str, Any]:
    """Register the handlers."""
    if app.config.html_baseurl:
        app.setup_extension("sphinx_sitemap")
    app.connect("config-inited", set_up_site, priority=100)
    app.connect("html-page-context", add_download, priority=600)
    app.connect("html-page-context", lead_to_colab, priority=600)
    app.connect("build-finished", write_chapters)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
