"""Take the still picture of every interactive figure: what a reader without JavaScript, or on GitHub, sees.

    python tools/take_stills.py             # chapters and pages: take what is missing or out of date
    python tools/take_stills.py --pages     # only the figures of Markdown pages, kept in book/stills
    python tools/take_stills.py --check     # take none; exit 1 if any is missing or out of date

A still carries a digest of the figure's state, module and styles (of a bertviz view: of all but bertviz's script).
While that is unchanged and the picture whole, the still is kept, byte for byte, and no browser is started. Needs
Chromium: an installed one, or `python -m playwright install chromium`.
"""

import argparse
import io
import re
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

import light_nbformat  # noqa: F401  before nbformat
import nbformat
from bs4 import BeautifulSoup
from nbformat import NotebookNode
from PIL import Image
from PIL.PngImagePlugin import PngInfo

from transformer_edu.book.figures import assets, bertviz_page, bertviz_script, figure_from_file, font, headless
from transformer_edu.book.figures.stills import NO_STILL, STILL, png_of, without_stills
from transformer_edu.support.files import write_atomically

ROOT = Path(__file__).resolve().parent.parent
STILLS = ROOT / "book" / "stills"
SHOWN = ".te-live, .te-bertviz > div"  # what of a figure, or of a view, is in its still
WIDTH = 688  # of the book's column on most laptops: the live figure is then as high as its still
PHONE = 390  # pixels: there a figure is as wide as the screen but for the page's margins, and higher than its still
MARGIN = 16
# Letters are there, and what measures itself has done so.
SETTLED = """document.fonts.ready.then(() => new Promise((drawn) =>
    requestAnimationFrame(() => requestAnimationFrame(drawn))))"""
BEGINNINGS = ('<div class="te-figure"', bertviz_script.VIEW)  # of an output that is a figure, or a view
DIRECTIVE = re.compile(r"^(?:```+|:::+)\{interactive\} *([\w-]+)[^\n]*\n((?::\w+:[^\n]*\n)*)", re.MULTILINE)


def take(figures: list[str]) -> list[bytes]:
    """Show each figure (its HTML) in a browser, in light mode, and return small PNGs at two device pixels per pixel."""
    from playwright.sync_api import sync_playwright

    pictures = []
    with sync_playwright() as playwright, tempfile.TemporaryDirectory() as folder:
        browser = headless.launch(playwright)
        page = browser.new_page(device_scale_factor=2, color_scheme="light")
        for number, html in enumerate(figures):
            path = Path(folder) / f"{number}.html"
            write_atomically(path, page_of(html, Path(folder)).encode())
            page.set_viewport_size({"width": WIDTH + 2 * MARGIN, "height": 900})
            page.goto(path.as_uri())
            page.wait_for_selector("[data-ready=true]", timeout=20_000)
            page.evaluate(SETTLED)
            png = page.locator(SHOWN).screenshot(animations="disabled")
            page.set_viewport_size({"width": PHONE, "height": 900})
            page.evaluate(SETTLED)
            pictures.append(shrink(png, page.locator(SHOWN).evaluate("shown => shown.getBoundingClientRect().height")))
        browser.close()
    return pictures


def page_of(html: str, folder: Path) -> str:
    """Return the page that shows a figure or a view, once `folder` holds what a view needs beside it."""
    page = bertviz_page.page(html, folder) if bertviz_script.VIEW in html else assets.standalone_page(html)
    return font.with_font(page)


def digest(html: str) -> str:
    """Return what the still of a figure, or of a view, has to carry while it is true."""
    return bertviz_page.digest(html) if bertviz_script.VIEW in html else assets.digest(html)


def shrink(png: bytes, phone: float) -> bytes:
    """Reduce a picture to 128 colours, and note in it how high the figure is on a phone."""
    small, note = io.BytesIO(), PngInfo()
    note.add_text(assets.PHONE, str(round(phone)))
    picture = Image.open(io.BytesIO(png)).convert("RGB")
    reduced = picture.quantize(128, method=Image.Quantize.MEDIANCUT, dither=Image.Dither.NONE)
    reduced.save(small, "PNG", optimize=True, pnginfo=note)
    return small.getvalue()


@dataclass(frozen=True)
class StoredFigure:
    """A figure, or a view that bertviz draws, in an output of a chapter."""

    data: NotebookNode
    html: str  # without its still
    alt: str
    still: str  # its <img>, if it has one
    mark: str  # the digest that this carries

    def has_true_still(self) -> bool:
        """Whether the still is whole, and shows the figure as it is now."""
        return self.mark == digest(self.html) and self.has_whole_still()

    def has_whole_still(self) -> bool:
        """Whether there is a picture of which nothing is missing."""
        return assets.is_whole_png(png_of(self.still))


def read_figure(data: NotebookNode) -> StoredFigure | None:
    """Read the figure that an output is; None if its HTML is cut off, or is not as figures are written."""
    written = data["text/html"]
    html = without_stills(written)
    figure = BeautifulSoup(written, "html.parser").select_one("[data-alt]")
    if figure is None or html.count(NO_STILL) != 1 or not html.endswith("</div>"):
        return None
    still, image = STILL.search(written), figure.select_one(".te-still")
    mark = str(image.get("data-digest", "")) if image else ""
    return StoredFigure(data, html, str(figure["data-alt"]), still[0] if still else "", mark)


def figures_in(notebook: NotebookNode) -> list[StoredFigure]:
    """Return the figures in a notebook's outputs; ValueError if one is damaged."""
    outputs = [output.get("data", {}) for cell in notebook.cells for output in cell.get("outputs", [])]
    read = [read_figure(data) for data in outputs if data.get("text/html", "").startswith(BEGINNINGS)]
    figures = [figure for figure in read if figure]
    if damaged := len(read) - len(figures):
        raise ValueError(f"{damaged} of {len(read)} stored figures are damaged; run the chapter again")
    return figures


def insert_stills(notebook: NotebookNode, previous: NotebookNode | None = None) -> int:
    """Give every figure in a notebook's outputs its still, and return how many had to be taken.

    Stills that are still true, in the notebook or in `previous` (the same notebook before it was run), are kept.
    """
    figures = figures_in(notebook)
    before = figures + (figures_in(previous) if previous else [])
    known = {figure.mark: figure.still for figure in before if figure.has_whole_still()}
    missing = {digest(figure.html): figure for figure in figures if digest(figure.html) not in known}
    if missing:
        pictures = take([figure.html for figure in missing.values()])
        for (mark, figure), png in zip(missing.items(), pictures, strict=True):
            known[mark] = assets.still_image(png, figure.alt, mark)
    for figure in figures:
        figure.data["text/html"] = figure.html.replace(NO_STILL, known[digest(figure.html)])
    return len(missing)


def page_figures(root: Path = ROOT) -> dict[str, str]:
    """Return the figures that Markdown pages ask for: name of the still's file -> HTML."""
    figures = {}
    for page in sorted((root / "book").rglob("*.md")):
        for name, block in DIRECTIVE.findall(page.read_text(encoding="utf-8")):
            options = dict(re.findall(r"^:(\w+): *(.*?) *$", block, re.MULTILINE))
            figure = figure_from_file(name, root / options["state"] if options.get("state") else None)
            html = figure.html(options.get("alt", ""))
            figures[f"{name}-{assets.digest(html)}.png"] = html
    return figures


def update_pages(check: bool) -> int:
    """Take missing stills of Markdown pages, drop those that nobody shows, and return how many were missing."""
    wanted = page_figures()
    missing = [name for name in wanted if not is_whole_file(STILLS / name)]
    if check or not (missing or STILLS.exists()):
        return len(missing)
    for name, png in zip(missing, take([wanted[name] for name in missing]) if missing else [], strict=True):
        write_atomically(STILLS / name, png)
    for path in STILLS.glob("*.png"):
        if path.name not in wanted:
            path.unlink()
    return len(missing)


def is_whole_file(path: Path) -> bool:
    """Whether there is a picture of which nothing is missing."""
    return path.is_file() and assets.is_whole_png(path.read_bytes())


def update_notebook(path: Path, check: bool) -> int:
    """Bring the stills of one chapter up to date, and return how many were not."""
    notebook = nbformat.read(path, as_version=4)
    try:
        stale = sum(not figure.has_true_still() for figure in figures_in(notebook))
    except ValueError as error:
        raise SystemExit(f"{path.stem}: {error}") from error
    if stale and not check:
        insert_stills(notebook)
        text = nbformat.writes(notebook, indent=1, sort_keys=True).rstrip("\n") + "\n"
        write_atomically(path, text.encode())
    return stale


def main() -> int:
    """Read the command line and take what is missing."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pages", action="store_true", help="only the figures of Markdown pages")
    parser.add_argument("--check", action="store_true", help="take none; exit 1 if any is missing or out of date")
    options = parser.parse_args()
    chapters = [] if options.pages else sorted((ROOT / "notebooks").glob("*.ipynb"))
    counts = {path.stem: update_notebook(path, options.check) for path in chapters}
    counts["pages"] = update_pages(options.check)
    for name, count in counts.items():
        if count:
            print(f"{name}: {count} still{'s' * (count > 1)} {'out of date' if options.check else 'taken'}")
    return bool(options.check and any(counts.values()))


if __name__ == "__main__":
    sys.exit(main())
