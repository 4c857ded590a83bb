"""The built book holds together: links lead somewhere, pictures have words, no page asks another host for anything."""

import re
from base64 import b64decode
from functools import cache
from pathlib import Path
from types import SimpleNamespace
from urllib.parse import unquote, urlsplit

import nbformat
import pictures
import pytest
from PIL import Image

from tests.book import built

HTML = Path(__file__).resolve().parents[2] / "_build" / "html"
PAGES = sorted(p.relative_to(HTML).as_posix() for p in HTML.rglob("*.html") if "_static" not in p.parts)
FETCHING = dict.fromkeys(("script", "img", "iframe", "source", "video", "audio"), "src") | {"link": "href"}
NOT_FETCHED = {"canonical", "next", "prev", "search", "index", "author", "license", "copyright"}
CSS_URL = re.compile(r"""(?:url\(\s*|@import\s+)["']?((?:https?:)?//[^"')\s]+)""")
FONT = re.compile(r"url\(\"data:font/woff2;base64,([\w+/=]+)\"\)")
ERROR_TEXT = re.compile(r"\{(?:cite|ref|numref|eq|doc)[:}]|\[\?\]|ipywidgets|interactive\(children=")


def page(name):
    return built.page(HTML / name)


@cache
def anchors(name):
    return frozenset(str(tag[key]) for tag in page(name).find_all(True) for key in ("id", "name") if tag.has_attr(key))


def leads_on(name):
    """Whether a page is only there to lead to another."""
    return bool(page(name).find("meta", attrs={"http-equiv": re.compile("^refresh$", re.I)}))


def contents():
    listed = (HTML.parents[1] / "_toc.yml").read_text(encoding="utf-8")
    return re.findall(r"(?:root|file): (\S+)", listed)


@pytest.fixture(params=PAGES)
def name(request, book_html):
    return str(request.param)


def test_every_page_of_the_contents_is_built(book_html):
    assert {f"{entry}.html" for entry in contents()} <= set(PAGES)
    assert leads_on("index.html")


def test_internal_links_lead_to_a_page_and_a_place_on_it(name):
    broken = []
    for link in page(name).find_all("a", href=True):
        parts = urlsplit(str(link["href"]))
        if parts.scheme or parts.netloc:
            continue
        target = (HTML / name).parent / unquote(parts.path) if parts.path else HTML / name
        target = target / "index.html" if target.is_dir() else target
        relative = target.resolve()
        if not relative.is_relative_to(HTML) or not relative.exists():
            broken.append(link["href"])
        elif parts.fragment and relative.suffix == ".html":
            known = anchors(relative.relative_to(HTML).as_posix())
            broken += [link["href"]] if unquote(parts.fragment) not in known else []
    assert not broken


def test_links_to_other_places_are_written_in_full_and_safe(name):
    schemes = {urlsplit(str(a["href"])).scheme for a in page(name).find_all("a", href=True)}
    assert schemes <= {"", "https", "mailto"}


def test_every_picture_has_alt_text(name):
    silent = []
    for picture in page(name).find_all("img"):
        alt = str(picture.get("alt", "")).strip()
        if not alt or alt.endswith((".png", ".svg", ".jpg")) or "_images/" in alt:
            silent.append(picture.get("src"))
    assert not silent


def test_every_drawing_and_figure_says_what_it_shows(name):
    for drawing in page(name).select("article svg"):
        hidden = drawing.get("aria-hidden") == "true" or drawing.find_parent(attrs={"aria-hidden": "true"})
        assert hidden or drawing.get("aria-label") or drawing.get("aria-labelledby") or drawing.find("title")
    for figure in page(name).select("[data-widget]"):
        assert figure.get("data-alt") or figure.get("aria-label"), figure.get("data-widget")
        assert figure.select_one("img[alt], svg"), f"{figure.get('data-widget')} has no still picture"


def fetched(name):
    """All that a browser fetches with a page."""
    tags = [(tag, key) for kind, key in FETCHING.items() for tag in page(name).find_all(kind)]
    return [tag.get(key) or "" for tag, key in tags if not NOT_FETCHED.intersection(tag.get("rel") or [])]


def test_no_page_fetches_anything_from_another_host(name):
    outside = [address for address in fetched(name) if urlsplit(address).netloc]
    inline = [match for style in page(name).find_all("style") for match in CSS_URL.findall(style.text)]
    assert not outside + inline


def test_everything_a_page_fetches_is_in_the_book(name):
    for address in map(urlsplit, fetched(name)):
        if address.path and not address.scheme:
            assert ((HTML / name).parent / unquote(address.path)).exists(), address.path


def test_styles_and_scripts_name_no_host_to_fetch_from(book_html):
    for sheet in book_html.rglob("*.css"):
        assert not CSS_URL.findall(sheet.read_text(encoding="utf-8")), sheet.name
    pages = "".join((HTML / name).read_text(encoding="utf-8") for name in PAGES)
    for script in ("sphinx-thebe.js", "thebe/lib", "fontawesome.js", "require.min.js", "html-manager"):
        assert script not in pages, script


def test_every_page_has_the_books_font_and_its_licence_lies_beside_it(book_html, name):
    folder = book_html / "_static" / "fonts"
    assert "SIL OPEN FONT LICENSE" in (folder / "LICENSE.txt").read_text(encoding="utf-8")
    styles = FONT.findall((folder / "book-sans.css").read_text(encoding="utf-8"))
    assert len(styles) == 3
    assert all(len(b64decode(style)) < 40_000 for style in styles)
    if not leads_on(name):
        assert page(name).select_one("link[rel=stylesheet][href*='_static/fonts/book-sans.css']")


def test_every_page_has_one_first_heading_a_language_and_a_title(name):
    if leads_on(name):
        return
    assert page(name).select_one('html[lang="en"]')
    assert page(name).select("title")[0].text.strip()
    assert len(page(name).select("main h1, article h1, #search-documentation")) >= 1


def test_no_reference_is_left_unresolved(name):
    article = page(name).find("article")
    prose = "" if article is None else " ".join(
        str(text) for text in article.find_all(string=True) if not text.find_parent(["pre", "code", "script"])
    )  # fmt: skip
    assert not ERROR_TEXT.search(prose)


def test_no_asterisk_is_left_of_words_in_italics(name):
    prose = page(name).find_all(string=re.compile(r"\w\*(?!\w)|(?<!\w)\*\w"))
    assert [text for text in prose if not text.find_parent(["pre", "code", "script", "style", "math"])] == []


def test_sources_with_solutions_are_not_shipped(book_html):
    assert not (book_html / "_sources").exists()


def test_a_line_stands_under_each_output_that_is_not_compared_and_under_no_other(book_html):
    for path in sorted((HTML.parents[1] / "notebooks").glob("[0-9]*.ipynb")):
        cells = [cell for cell in nbformat.read(path, as_version=4).cells if cell.get("outputs")]
        tags = [cell.metadata.get("tags", []) for cell in cells]
        wanted = ["times" in cell_tags for cell_tags in tags if "nbval-ignore-output" in cell_tags]
        found = page(f"notebooks/{path.stem}.html").select(".te-uncompared")
        assert [line.text.startswith("Times") for line in found] == wanted, path.stem


def test_each_plot_stands_in_a_chapter_light_and_dark(book_html, root):
    twins = len(list((root / "book" / "dark").iterdir()))
    both = [
        (light, light.find_next_sibling("img"))
        for path in (book_html / "notebooks").glob("*.html")
        for light in built.page(path).select("img.only-light")
    ]
    assert len(both) == twins > 30
    for light, dark in both:
        assert dark["class"] == ["only-dark"]
        assert dark["src"] != light["src"]
        assert (book_html / "notebooks" / dark["src"]).exists()
        kept = ("alt", "width", "height", "style", "loading")
        assert [dark[name] for name in kept] == [light[name] for name in kept]


@pytest.mark.parametrize("name", ["notebooks/06-attention", "book/intro"])
def test_no_script_but_the_options_stands_in_the_way_of_the_first_picture(name, book_html):
    page = built.page(book_html / f"{name}.html")
    waited_for = [script["src"] for script in page.select("head script[src]:not([defer]):not([async])")]
    assert len(waited_for) == 1
    assert "documentation_options.js" in waited_for[0]
    assert not page.select("link[rel=preload]")


def test_pages_and_figures_name_their_styles_apart():
    root = HTML.parents[1]
    styles = (root / "book" / "_static" / "custom.css").read_text(encoding="utf-8")
    own = set(re.findall(r"\.([a-z]+-[\w-]+)", styles)) - {"te-root", "te-figure", "te-still"}  # said on purpose
    written = {path: path.read_text(encoding="utf-8") for path in (root / "book" / "_ext").glob("*.py")}
    own |= {
        name
        for text in written.values()
        for found in re.findall(r'classes=\[(".*?")\]', text)
        for name in found.split('"')
    }
    figures = [
        path.read_text()
        for kind in ("css", "js")
        for path in (root / "transformer_edu/book/figures" / kind).rglob(f"*.{kind}")
    ]
    theirs = set(re.findall(r"(?<![\w-])te-[\w-]+", "".join(figures)))
    assert own & theirs == set()


def test_a_page_that_a_build_leaves_as_it_was_keeps_one_twin_for_each_picture(tmp_path):
    digest = "0123456789abcdef" * 4
    for folder, name in (("book/dark", digest[:16]), ("_images", digest)):
        (tmp_path / folder).mkdir(parents=True)
        Image.new("RGB", (2, 1)).save(tmp_path / folder / f"{name}.webp")
    app = SimpleNamespace(srcdir=tmp_path, outdir=tmp_path)
    page = f'<img alt="a plot" src="../_images/{digest}.webp"/>'
    for _ in range(2):
        page = pictures.IMAGE.sub(lambda image: pictures.with_twin(app, image), page)
        assert page.count("only-light") == page.count("only-dark") == 1
