"""How long each interactive figure takes from a key to the next frame, on a processor slowed down four times.

    python benchmarks/figure_latency.py                        # all figures, and the built book's pages
    python benchmarks/figure_latency.py --only mask-lab
    python benchmarks/figure_latency.py --book some/html       # another build

For its main button, first slider, first group of choices, first list and first table: from the key's own time stamp to
the end of the frame that shows what it did, median and worst of the rounds. Beside it, four times the work: what the
page's thread does at full speed from the key to the end of that frame, less what it does for a key without an effect.
The goal is 50 ms of that, for other programs change it less (on a busy machine still by half). The last line says which
figure is the worst.

Then, in the built book: by how much a page moves when a figure takes the place of its still (0 is nothing; browsers
call up to 0.1 good), and how high both are.
"""

import argparse
import statistics
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from playwright.sync_api import CDPSession, Page, Route, sync_playwright

from transformer_edu.book.figures import Figure, assets, font, headless

ROOT = Path(__file__).resolve().parent.parent
GOAL = 50  # milliseconds
ROUNDS = 9
SLOWER = 4
CONTROLS = {  # what is operated, and with which key
    "button": (".te-primary", "Enter"),
    "slider": ("input[type=range]", "ArrowRight"),
    "choice": (":is([role=radio], [role=tab])[tabindex='0']", "ArrowRight"),
    "list": ("select", "ArrowDown"),
    "cell": ("[role=gridcell][tabindex='0']", "ArrowDown"),
    "switch": (".te-atlas-switch [role=radio][tabindex='0']", "ArrowRight"),  # of a head, which the model then lacks
}
TRACED = ["devtools.timeline", "disabled-by-default-devtools.timeline"]
WATCH = """() => {
    addEventListener("keydown", (event) => requestAnimationFrame(() => {
        const channel = new MessageChannel();
        channel.port1.onmessage = () => globalThis.drawn(performance.now() - event.timeStamp);
        channel.port2.postMessage(null);
    }), true);
}"""
# Focus a control if there is one that can be operated.
FOCUS = """(selector) => {
    const can = (one) => one.checkVisibility() && one.ariaDisabled !== "true" && !one.disabled
        && !(one.type === "range" && Number(one.value) >= Number(one.max));
    const one = [...document.querySelectorAll(`.te-root ${selector}`)].find(can);
    one?.focus();
    return one !== undefined;
}"""
# Nothing has changed for ten frames; or what moves does so for ever.
SETTLED = """async () => {
    let quiet = 0;
    const observer = new MutationObserver(() => (quiet = 0));
    observer.observe(document, { subtree: true, childList: true, attributes: true, characterData: true });
    for (let frames = 0; quiet < 10 && frames < 200; quiet++, frames++) await new Promise(requestAnimationFrame);
    observer.disconnect();
}"""
STILL_LOADED = """async (figure) => {
    const still = figure.querySelector(".te-still");
    if (still) still.loading = "eager";
    await still?.decode();
}"""
READY = "[...document.querySelectorAll('[data-widget]')].every((figure) => figure.dataset.ready)"
# A figure that runs a model has been touched before, and has it.
TOUCH = """document.querySelectorAll("[data-engine=idle]").forEach((one) =>
    one.dispatchEvent(new Event("pointerdown")))"""
AWAKE = "!document.querySelector('[data-engine=idle], [data-engine=loading]')"
SHIFTS = """
    globalThis.shifts = [];
    new PerformanceObserver((list) => shifts.push(...list.getEntries().map((one) => one.value)))
        .observe({ type: "layout-shift", buffered: true });
"""
SHIFTED = "shifts.reduce((sum, one) => sum + one, 0)"


def open_figure(page: Page, address: str) -> None:
    """Open a page with one figure, and note from then on how long a key takes."""
    page.goto(address)
    page.wait_for_function(READY)
    page.evaluate(TOUCH)
    page.wait_for_function(AWAKE)
    page.evaluate(SETTLED)
    page.evaluate(WATCH)


def press(page: Page, key: str) -> float:
    """Press a key; return the milliseconds until the frame is drawn."""
    page.evaluate("globalThis.frame = new Promise((drawn) => (globalThis.drawn = drawn)); undefined")
    page.keyboard.down(key)
    took = float(page.evaluate("frame"))
    page.keyboard.up(key)
    return took


class Work:
    """Measures for how many milliseconds the page's thread works from a key to the end of the frame after it.

    Not until the browser answers, as its own counter would: by then, what glides has been drawn several times.
    """

    def __init__(self, page: Page, session: CDPSession) -> None:
        """Listen to what the browser traces."""
        self.page, self.session = page, session
        self.events: list[dict[str, Any]] = []
        self.complete = False
        session.on("Tracing.dataCollected", lambda part: self.events.extend(part["value"]))
        session.on("Tracing.tracingComplete", self.completed)

    def completed(self, _: object) -> None:
        """All events have come."""
        self.complete = True

    def press(self, key: str) -> float:
        """Press a key; return the work."""
        self.events.clear()
        self.complete = False
        config = {"includedCategories": TRACED, "excludedCategories": ["*"]}
        self.session.send("Tracing.start", {"transferMode": "ReportEvents", "traceConfig": config})
        press(self.page, key)
        self.session.send("Tracing.end")
        while not self.complete:
            self.page.wait_for_timeout(10)
        return self.until_frame()

    def until_frame(self) -> float:
        """The milliseconds of the tasks from the key's to the frame's."""
        keys = [
            key for key in self.events if key["name"] == "EventDispatch" and key["args"]["data"]["type"] == "keydown"
        ]
        start = min(keys, key=lambda event: event["ts"])
        mine = [event for event in self.events if (event["pid"], event["tid"]) == (start["pid"], start["tid"])]
        frame = min(tick["ts"] for tick in mine if tick["name"] == "FireAnimationFrame" and tick["ts"] > start["ts"])
        tasks = [task for task in mine if task["name"] == "RunTask" and "tdur" in task]
        return sum(job["tdur"] for job in tasks if job["ts"] <= frame and job["ts"] + job["dur"] >= start["ts"]) / 1000


def rounds_of(page: Page, measure: Callable[[str], float], address: str, control: str, rounds: int) -> list[float]:
    """Press a control's key again and again, in a new page when nothing is left to press; empty if there is none."""
    selector, key = CONTROLS[control]
    found: list[float] = []
    open_figure(page, address)
    while len(found) < rounds:
        if page.evaluate(FOCUS, selector):
            found.append(measure(key))
            page.evaluate(SETTLED)
        elif found:
            open_figure(page, address)
        else:
            break
    return found


def print_latency(page: Page, names: list[str], rounds: int, folder: Path) -> None:
    """Measure and print each figure's controls, and how many are above the goal."""
    efforts: dict[str, float] = {}  # of each figure the largest
    session = page.context.new_cdp_session(page)
    work = Work(page, session)
    print(f"{'figure':24}{'control':10}{'median ms':>10}{'worst ms':>10}{'4 x work':>10}")
    for name in names:
        path = folder / f"{name}.html"
        path.write_text(font.with_font(assets.standalone_page(Figure.registry[name]().html())), encoding="utf-8")
        for control in CONTROLS:
            session.send("Emulation.setCPUThrottlingRate", {"rate": SLOWER})
            slowed = rounds_of(page, lambda key: press(page, key), path.as_uri(), control, rounds)
            session.send("Emulation.setCPUThrottlingRate", {"rate": 1})
            if not slowed:
                continue
            done = statistics.median(rounds_of(page, work.press, path.as_uri(), control, rounds))
            page.evaluate("document.activeElement.blur()")
            nothing = statistics.median(work.press("Shift") for _ in range(rounds))
            median, effort = statistics.median(slowed), SLOWER * (done - nothing)
            efforts[name] = max(effort, efforts.get(name, 0))
            over = "  over the goal" if effort > GOAL else ""
            print(f"{name:24}{control:10}{median:10.0f}{max(slowed):10.0f}{effort:10.0f}{over}", flush=True)
    if efforts:
        worst, above = max(efforts, key=lambda name: efforts[name]), sum(cost > GOAL for cost in efforts.values())
        print(f"worst: {worst}, {efforts[worst]:.0f} ms; {above} of {len(efforts)} figures take more than {GOAL} ms")


def print_shifts(page: Page, book: Path) -> None:
    """Measure and print how each page of the book moves, when it loads and when each of its figures comes alive."""
    page.add_init_script(SHIFTS)
    print(f"\n{'page':42}{'figure':24}{'still px':>9}{'live px':>9}{'shift':>8}")
    for path in sorted(book.rglob("*.html")):
        if 'class="te-figure"' not in path.read_text(encoding="utf-8"):
            continue
        where = path.relative_to(book).with_suffix("").as_posix()
        page.goto(path.as_uri())
        settle(page)
        print(f"{where:42}{'(loading the page)':42}{page.evaluate(SHIFTED):8.3f}", flush=True)
        for number, name in enumerate(page.locator(".te-figure").evaluate_all("all => all.map(f => f.dataset.widget)")):
            print(f"{where:42}{name:24}{come_alive(page, path, number)}", flush=True)


def settle(page: Page) -> None:
    """Wait for figures, formulas and letters."""
    page.wait_for_function(READY)
    page.evaluate("Promise.all([globalThis.MathJax?.startup?.promise, document.fonts.ready]).then(() => null)")
    page.evaluate(SETTLED)


def come_alive(page: Page, path: Path, number: int) -> str:
    """Show a page with stills, then let the figures take their places while this one is in view."""

    def keep_back(route: Route) -> None:
        route.fulfill(body="", content_type="text/javascript")

    page.route("**/_static/figures.js*", keep_back)
    page.goto(path.as_uri())
    page.unroute("**/_static/figures.js*", keep_back)
    page.evaluate("for (const box of document.querySelectorAll('.bd-article details')) box.open = true")
    figure = page.locator(".te-figure").nth(number)
    figure.evaluate("figure => figure.scrollIntoView({ block: 'center', behavior: 'instant' })")
    figure.evaluate(STILL_LOADED)
    page.evaluate("Promise.resolve(globalThis.MathJax?.startup?.promise).then(() => null)")
    page.evaluate(SETTLED)
    figure.evaluate("figure => figure.scrollIntoView({ block: 'center', behavior: 'instant' })")
    page.evaluate(SETTLED)
    height = "figure => figure.getBoundingClientRect().height"
    still = figure.evaluate(height)
    page.evaluate("shifts.length = 0")
    page.evaluate(assets.host_script())
    settle(page)
    return f"{still:9.0f}{figure.evaluate(height):9.0f}{page.evaluate(SHIFTED):8.3f}"


def main() -> None:
    """Read the command line, then measure."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", nargs="*", default=sorted(Figure.registry), help="figures to measure")
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    parser.add_argument("--book", type=Path, default=ROOT / "_build" / "html")
    options = parser.parse_args()
    with sync_playwright() as playwright, tempfile.TemporaryDirectory() as folder:
        browser = headless.launch(playwright)
        page = browser.new_page(viewport={"width": 1280, "height": 900})
        page.set_default_timeout(600_000)
        if options.rounds:
            print_latency(page, options.only, options.rounds, Path(folder))
        if options.book.exists():
            print_shifts(page, options.book)
        else:
            print("The book is not built: no page to look at.")
        browser.close()


if __name__ == "__main__":
    main()
