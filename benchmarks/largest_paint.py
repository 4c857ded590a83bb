"""When a page of the built book shows its largest piece of text or picture, on a slow phone and a slow line.

    python benchmarks/largest_paint.py                # all pages of _build/html
    python benchmarks/largest_paint.py --only 05 06   # two chapters

Over HTTP, compressed, on a processor slowed down four times and a line of 1.6 Mbit/s with 40 ms to the server, with an
empty cache: milliseconds from the click until the first text is drawn and until the largest piece of the first screen
is (the browser's own figures), the median of three visits. The goal is 1,500 ms.
"""

import argparse
from pathlib import Path
from statistics import median
from typing import Any

from playwright.sync_api import Browser, sync_playwright
from shared.pages import built_pages, served

from transformer_edu.book.figures import headless

ROOT = Path(__file__).resolve().parent.parent
GOAL = 1500  # ms
VISITS = 3
PHONE = {"width": 390, "height": 844}
SLOWER = 4
LINE = {"offline": False, "latency": 40, "downloadThroughput": 200_000, "uploadThroughput": 200_000}
WATCH = """
    globalThis.largest = [];
    const name = (one) => one.element ? `${one.element.tagName.toLowerCase()}.${one.element.className}` : "?";
    new PerformanceObserver((list) => largest.push(...list.getEntries().map(
        (one) => ({ at: one.startTime, what: name(one), text: (one.element?.textContent ?? "").trim().slice(0, 40) })
    ))).observe({ type: "largest-contentful-paint", buffered: true });
"""
FIRST = "performance.getEntriesByName('first-contentful-paint')[0]?.startTime ?? null"
READY = "[...document.querySelectorAll('[data-widget]')].every((figure) => figure.dataset.ready)"


def visit(browser: Browser, address: str) -> dict[str, Any]:
    """Load a page with an empty cache; when its first and its largest piece were drawn, and what that was."""
    context = browser.new_context(viewport=PHONE)  # type: ignore[arg-type]
    page = context.new_page()
    page.set_default_timeout(120_000)
    page.add_init_script(WATCH)
    session = context.new_cdp_session(page)
    session.send("Network.enable")
    session.send("Network.emulateNetworkConditions", LINE)
    session.send("Emulation.setCPUThrottlingRate", {"rate": SLOWER})
    page.goto(address)
    page.wait_for_function(READY)
    page.wait_for_timeout(500)
    found = {"first": page.evaluate(FIRST), **page.evaluate("largest.at(-1)")}
    context.close()
    return found


def main() -> None:
    """Print the table, a line for each page."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--book", type=Path, default=ROOT / "_build" / "html", help="the built book's folder")
    parser.add_argument("--only", nargs="*", default=[""], help="beginnings of the pages' names")
    options = parser.parse_args()
    pages = [path for path in built_pages(options.book) if path.name.startswith(tuple(options.only))]
    late = []
    with served(options.book) as address, sync_playwright() as tool:
        browser = headless.launch(tool)
        print(f"{'ms':42}{'first':>8}{'largest':>9}   what it is", flush=True)
        for path in pages:
            name = path.relative_to(options.book).as_posix()
            visits = sorted((visit(browser, f"{address}/{name}") for _ in range(VISITS)), key=lambda paint: paint["at"])
            middle = visits[VISITS // 2]
            first = median(paint["first"] for paint in visits)
            print(f"{name:42}{first:8.0f}{middle['at']:9.0f}   {middle['what']} “{middle['text']}”", flush=True)
            if middle["at"] > GOAL:
                late.append(name)
        browser.close()
    print(f"later than {GOAL} ms: {', '.join(late) or 'none'}")


if __name__ == "__main__":
    main()
