"""What a reader's browser fetches on a first visit to each page of the built book, scrolled to its end.

    python benchmarks/page_weight.py                        # all pages of _build/html
    python benchmarks/page_weight.py --book some/html

Each file counts once, compressed as servers do it (gzip; pictures and fonts as they are). A trained model's weights are
counted in a column of their own: they come only when a reader asks for them, so the column must be 0.
"""

import argparse
import gzip
from collections import Counter
from pathlib import Path
from urllib.parse import urlsplit

from playwright.sync_api import Page, Response, sync_playwright
from shared.pages import PACKED, built_pages, served

from transformer_edu.book.figures import headless

ROOT = Path(__file__).resolve().parent.parent
KINDS = {".js": "scripts", ".css": "styles", ".html": "text", **dict.fromkeys(PACKED, "pictures, fonts")}
AT_END = "scrollBy(0, innerHeight), scrollY + innerHeight >= document.documentElement.scrollHeight - 2"
COLUMNS = ("text", "scripts", "styles", "pictures, fonts", "other", "weights")


def weigh(page: Page, address: str) -> Counter[str]:
    """Bytes by kind that a page fetches until it is scrolled to its end."""
    found: dict[str, bytes] = {}

    def keep(response: Response) -> None:
        if response.ok and response.url.startswith("http"):  # blob: and data: have come with the page
            found[urlsplit(response.url).path] = response.body()

    page.on("response", keep)
    page.goto(address, wait_until="networkidle")
    for _ in range(200):
        if page.evaluate(AT_END):
            break
        page.wait_for_timeout(30)
    page.wait_for_load_state("networkidle")
    page.remove_listener("response", keep)
    total: Counter[str] = Counter()
    for path, body in found.items():
        ending = Path(path).suffix
        kind = "weights" if Path(path).name.startswith("model-") else KINDS.get(ending, "other")
        total[kind] += len(body) if ending in PACKED else len(gzip.compress(body, 6))
    return total


def main() -> None:
    """Print the table, the heaviest page first."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--book", type=Path, default=ROOT / "_build" / "html", help="the built book's folder")
    book = parser.parse_args().book
    rows = {}
    with served(book) as address, sync_playwright() as tool:
        browser = headless.launch(tool)
        for path in built_pages(book):
            context = browser.new_context(viewport={"width": 1280, "height": 900})
            name = path.relative_to(book).as_posix()
            rows[name] = weigh(context.new_page(), f"{address}/{name}")
            context.close()
        browser.close()
    print(f"{'kB, gzipped':42}{'all':>7}" + "".join(f"{name:>17}" for name in COLUMNS))
    for name, row in sorted(rows.items(), key=lambda item: -item[1].total()):
        print(f"{name:42}{row.total() / 1000:7.0f}" + "".join(f"{row[column] / 1000:17.0f}" for column in COLUMNS))


if __name__ == "__main__":
    main()
