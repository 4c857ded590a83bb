"""By how much the pages of the built book move while they load and are read to their end, and what moves.

    python benchmarks/layout_shift.py                          # all pages of _build/html, on a phone and a laptop
    python benchmarks/layout_shift.py --only 05 06 --causes    # two chapters, and what moved most

Over HTTP, on a processor slowed down four times and a line of 10 Mbit/s with 40 ms to the server: the sum of the
browser's own layout shifts from the first byte until the page, scrolled screen by screen, stands still at its end.
0 is nothing; browsers call up to 0.1 good; the goal here is 0.05. The last lines name the worst pages.
"""

import argparse
from pathlib import Path
from typing import Any

from playwright.sync_api import Browser, sync_playwright
from shared.pages import built_pages, served

from transformer_edu.book.figures import headless

ROOT = Path(__file__).resolve().parent.parent
GOAL = 0.05
WIDTHS = {390: 844, 1280: 900}  # pixels, each with the height of its screen
SLOWER = 4
LINE = {"offline": False, "latency": 40, "downloadThroughput": 1_250_000, "uploadThroughput": 1_250_000}
# Every shift of the page with the element that moved most; what follows a key or a click is not one.
WATCH = """
    globalThis.shifts = [];
    const told = (source) => {
        const [one, { top: before }, { top: after }] = [source.node, source.previousRect, source.currentRect];
        const element = one?.nodeType === Node.ELEMENT_NODE ? one : one?.parentElement;
        const name = element ? `${element.tagName.toLowerCase()}.${element.className}` : "?";
        const text = (element?.textContent ?? "").trim().replace(/\\s+/g, " ").slice(0, 40);
        return `${name} ${Math.round(before)} → ${Math.round(after)} px “${text}”`;
    };
    new PerformanceObserver((list) => shifts.push(...list.getEntries().filter((one) => !one.hadRecentInput).map(
        (one) => ({ value: one.value, at: Math.round(one.startTime), what: one.sources.map(told)[0] ?? "" })
    ))).observe({ type: "layout-shift", buffered: true });
"""
READY = """[...document.querySelectorAll('[data-widget]')].every((figure) => figure.dataset.ready)"""
# The letters are there, and nothing has changed for ten frames.
SETTLED = """async () => {
    await document.fonts.ready;
    let quiet = 0;
    const observer = new MutationObserver(() => (quiet = 0));
    observer.observe(document.body, { subtree: true, childList: true, attributes: true });
    for (let frames = 0; quiet < 10 && frames < 200; quiet++, frames++) await new Promise(requestAnimationFrame);
    observer.disconnect();
}"""
SCROLLED = """async () => {
    const end = () => scrollY + innerHeight >= document.documentElement.scrollHeight - 2;
    for (let screens = 0; !end() && screens < 200; screens++) {
        scrollBy({ top: innerHeight, behavior: "instant" });
        for (let frames = 0; frames < 3; frames++) await new Promise(requestAnimationFrame);
    }
}"""


def shifts_of(browser: Browser, address: str, width: int) -> list[dict[str, Any]]:
    """Load a page on a slow machine and a slow line, read it to its end, and return its layout shifts."""
    context = browser.new_context(viewport={"width": width, "height": WIDTHS[width]})
    page = context.new_page()
    page.set_default_timeout(300_000)
    page.add_init_script(WATCH)
    session = context.new_cdp_session(page)
    session.send("Network.enable")
    session.send("Network.emulateNetworkConditions", LINE)
    session.send("Emulation.setCPUThrottlingRate", {"rate": SLOWER})
    page.goto(address)
    page.wait_for_function(READY)
    for step in (SETTLED, SCROLLED, SETTLED):
        page.evaluate(step)
    found: list[dict[str, Any]] = page.evaluate("shifts")
    context.close()
    return found


def main() -> None:
    """Print the table: a line for each page, a column for each width."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--book", type=Path, default=ROOT / "_build" / "html", help="the built book's folder")
    parser.add_argument("--only", nargs="*", default=[""], help="beginnings of the pages' names")
    parser.add_argument("--causes", action="store_true", help="name what moved, the largest shifts first")
    options = parser.parse_args()
    pages = [path for path in built_pages(options.book) if path.name.startswith(tuple(options.only))]
    above = []
    with served(options.book) as address, sync_playwright() as tool:
        browser = headless.launch(tool)
        print(f"{'layout shift':42}" + "".join(f"{width:>9} px" for width in WIDTHS), flush=True)
        for path in pages:
            name = path.relative_to(options.book).as_posix()
            found = {width: shifts_of(browser, f"{address}/{name}", width) for width in WIDTHS}
            sums = {width: sum(shift["value"] for shift in some) for width, some in found.items()}
            print(f"{name:42}" + "".join(f"{total:12.3f}" for total in sums.values()), flush=True)
            above += [f"{name} at {width} px" for width, total in sums.items() if total > GOAL]
            for width, some in found.items() if options.causes else ():
                for shift in sorted(some, key=lambda shift: -shift["value"])[:5]:
                    print(f"    {width} px: {shift['value']:.3f} after {shift['at']} ms, {shift['what']}")
        browser.close()
    print(f"more than {GOAL}: {', '.join(above) or 'none'}")


if __name__ == "__main__":
    main()
