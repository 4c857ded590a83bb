"""The whole book as one PDF in build/, from the built pages: figures as they open, folded parts opened, links kept.

    python tools/print_book.py                # or: make pdf
    python tools/print_book.py --only 01 06   # two chapters, to try it

Chromium prints each page as the print style has it; pypdf joins them in the order of the contents, with a bookmark for
each page, and lets links from page to page lead there in the file too.
"""

import argparse
import io
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

from bs4 import BeautifulSoup
from playwright.sync_api import Browser, PdfMargins, ViewportSize, sync_playwright
from pypdf import PdfReader, PdfWriter
from pypdf.generic import ArrayObject, DictionaryObject, NameObject
from release import ROOT, versions

from transformer_edu.book.figures import headless
from transformer_edu.support.files import write_atomically

BOOK = ROOT / "_build" / "html"
READY = "[...document.querySelectorAll('[data-widget]')].every((figure) => figure.dataset.ready)"
# What is not looked at is drawn, and pictures that wait to be scrolled to are fetched.
ALL_THERE = """async () => {
    dispatchEvent(new Event("beforeprint"));
    const pictures = [...document.images].filter((image) => image.checkVisibility());
    pictures.forEach((image) => (image.loading = "eager"));
    await Promise.all([document.fonts.ready, ...pictures.map((image) => image.decode().catch(() => {}))]);
}"""
MARGINS: PdfMargins = {"top": "18mm", "bottom": "20mm", "left": "18mm", "right": "18mm"}
SCALE = 0.85  # wide enough for the figures of a laptop
PAGE: ViewportSize = {"width": 774, "height": 1150}  # what the margins leave at this scale, in CSS pixels
FOOT = (
    '<div style="width:100%;font-size:8px;color:#595959;text-align:center">'
    '<span class="pageNumber"></span> / <span class="totalPages"></span></div>'
)


def in_order(book: Path) -> Iterator[tuple[Path, str]]:
    """Each page of a built book with its title, from the first on to where no next one is named."""
    path = book / "book" / "intro.html"
    while True:
        page = BeautifulSoup(path.read_text(encoding="utf-8"), "lxml")
        yield path, str(page.select_one("h1").find(string=True))  # type: ignore[union-attr]
        following = page.select_one("link[rel=next]")
        if following is None:
            return
        path = (path.parent / unquote(str(following["href"]))).resolve()


def printed(pages: list[Path], browser: Browser) -> Iterator[bytes]:
    """Each page as a PDF."""
    context = browser.new_context(viewport=PAGE, color_scheme="light", reduced_motion="reduce")
    for path in pages:
        page = context.new_page()
        page.goto(path.as_uri())
        page.wait_for_function(READY)
        page.emulate_media(media="print")
        page.evaluate(ALL_THERE)
        yield page.pdf(
            format="A4",
            margin=MARGINS,
            print_background=True,
            tagged=True,
            scale=SCALE,
            display_header_footer=True,
            header_template="<span></span>",
            footer_template=FOOT,
        )
        page.close()
    context.close()


def joined(pages: list[tuple[Path, str]], pdfs: Iterator[bytes]) -> bytes:
    """All pages as one PDF, with bookmarks; a link to one of them leads to its place in the file."""
    writer, starts = PdfWriter(), {}
    for (path, title), pdf in zip(pages, pdfs, strict=True):
        starts[path] = len(writer.pages)
        writer.append(PdfReader(io.BytesIO(pdf)), outline_item=title, import_outline=False)
    for sheet in writer.pages:
        for annotation in sheet.get("/Annots", []):
            lead_inside(annotation.get_object(), starts, writer)
    writer.add_metadata({"/Title": "The Transformer, piece by piece"})
    writer.compress_identical_objects()
    content = io.BytesIO()
    writer.write(content)
    return content.getvalue()


def lead_inside(link: DictionaryObject, starts: dict[Path, int], writer: PdfWriter) -> None:
    """Turn a link to a page's file into one to where that page begins."""
    action: Any = link.get("/A")
    address = str(action.get_object().get("/URI", "")) if action else ""
    path = Path(unquote(urlsplit(address).path))
    if address.startswith("file:") and path in starts:
        target = writer.pages[starts[path]].indirect_reference
        assert target is not None
        link[NameObject("/Dest")] = ArrayObject([target, NameObject("/Fit")])
        del link["/A"]


def main() -> None:
    """Print the pages and write the file."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", nargs="*", default=[""], help="beginnings of the pages' names")
    parser.add_argument("--out", type=Path, help="the file to write (default: in build/, with the version)")
    options = parser.parse_args()
    if not (BOOK / "index.html").exists():
        sys.exit("The book is not built: run `make book` first.")
    pages = [page for page in in_order(BOOK) if page[0].name.startswith(tuple(options.only))]
    out = options.out or ROOT / "build" / f"transformer-edu-book-{versions(ROOT)['pyproject.toml']}.pdf"
    with sync_playwright() as tool:
        content = joined(pages, printed([path for path, _ in pages], headless.launch(tool)))
    write_atomically(out, content)
    print(f"{out}: {len(PdfReader(out).pages)} pages, {out.stat().st_size / 1e6:.1f} MB")


if __name__ == "__main__":
    main()
