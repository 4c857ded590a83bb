"""Shared by all browser tests: a browser, the built book over http, and a page that sees every misdeed."""

import functools
import http.server
import itertools
import os
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from moved import MOVED
from playwright.sync_api import (
    BrowserContext,
    Page,
    ViewportSize,
    expect,
    sync_playwright,
)

from tests.browser.cases import CASES
from tests.browser.engines import DRIVEN_BY_PLAYWRIGHT, PATIENCE
from transformer_edu.book.figures import assets, font

ROOT = Path(__file__).resolve().parents[2]
BOOK = ROOT / "_build" / "html"
ENGINE = os.environ.get("TRANSFORMER_EDU_BROWSER", "chromium")  # "firefox": all of these tests in Firefox
expect.set_options(timeout=PATIENCE)
DESKTOP: ViewportSize = {"width": 1280, "height": 900}
PHONE: ViewportSize = {"width": 390, "height": 844}
TWO_FRAMES = "new Promise((drawn) => requestAnimationFrame(() => requestAnimationFrame(drawn)))"
# On a busy machine a driver may call a page loaded while it still speaks to the page before, or to one still empty.
LEAVE = "globalThis.isLeft = true"
# A page is there: it is the one that was asked for, and every figure is shown or has failed. No promise: a driver that
# waits for a function takes the promise itself for a yes.
THERE = """() => !globalThis.isLeft && document.readyState === "complete" && Boolean(document.body?.firstElementChild)
    && [...document.querySelectorAll("[data-widget]")].every((figure) => figure.dataset.ready)"""


def built_pages():
    """Every page of the book that a reader can reach, relative to the book's folder."""
    pages = [path.relative_to(BOOK) for path in sorted(BOOK.rglob("*.html"))]
    left_out = {f"{old}.html" for old in MOVED}  # these lead to others of them
    return [
        page.as_posix()
        for page in pages
        if page.parts[0] not in ("_static", "_sources") and page.as_posix() not in left_out
    ]


def pytest_generate_tests(metafunc):
    """A test with a `book_page` argument runs for every built page, or fails once when there is no book."""
    if "book_page" in metafunc.fixturenames:
        metafunc.parametrize("book_page", built_pages() or ["index.html"])


@pytest.fixture(scope="module", autouse=True)
def shapes_are_checked_elsewhere(at_readers_speed):
    """What a page shows is compared with functions whose shapes other tests check."""


@pytest.fixture(scope="session")
def playwright():
    """One Playwright for the whole session."""
    with sync_playwright() as one:
        yield one


@pytest.fixture(scope="session")
def browser(playwright, tmp_path_factory):
    """One browser for the whole session."""
    with DRIVEN_BY_PLAYWRIGHT[ENGINE](playwright, tmp_path_factory.mktemp(ENGINE)) as one:
        yield one


class QuietHandler(http.server.SimpleHTTPRequestHandler):
    """Serves files without writing a line for each; a page that has no icon is not told so."""

    def do_GET(self):
        """Answer with a file, or with nothing where a browser asks for an icon that no page names."""
        if self.path != "/favicon.ico":
            return super().do_GET()
        self.send_response(http.HTTPStatus.NO_CONTENT)
        return self.end_headers()

    def log_message(self, format, *args):
        """Say nothing."""


@pytest.fixture(scope="session")
def serve():
    """`serve(folder)` gives the address at which a folder is served on this machine."""
    servers: dict[Path, http.server.ThreadingHTTPServer] = {}

    def start(folder):
        if folder not in servers:
            handler = functools.partial(QuietHandler, directory=str(folder))
            servers[folder] = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
            threading.Thread(target=servers[folder].serve_forever, daemon=True).start()
        return f"http://127.0.0.1:{servers[folder].server_address[1]}"

    yield start
    for server in servers.values():
        server.shutdown()
        server.server_close()


@pytest.fixture
def book_address(book_html, serve):
    """The book's address over http."""
    return serve(book_html)


def arrive(page, address):
    """Go to an address, and from the book's index.html on to the page that it leads to."""
    page.goto(address)
    if address.endswith("/index.html"):
        page.wait_for_url("**/book/intro.html")


def until_drawn(page):
    """Wait until a page is there, and all of it on the screen."""
    page.wait_for_function(THERE)
    page.evaluate(TWO_FRAMES)


def place(address):
    """Scheme and host of an address."""
    return address.split("/", 3)[:3]


@dataclass
class Watched:
    """A page, every request it made to another host, and every error it reported.

    Requests are heard of, not held back one by one (the browser knows no other host): a page's modules and threads
    start as they do for a reader.
    """

    page: Page
    home: list[str] = field(default_factory=list)
    foreign: list[str] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)

    def open(self, address):
        """Go to an address and wait until every figure has been shown or has failed."""
        self.home = place(address)
        self.page.evaluate(LEAVE)
        arrive(self.page, address)
        until_drawn(self.page)
        return self.page

    def on_request(self, request):
        """Note a request to another host."""
        if not request.url.startswith(("data:", "blob:")) and place(request.url) != self.home:
            self.foreign.append(request.url)

    def assert_clean(self):
        """Zero requests to other hosts, zero console errors, no uncaught exception."""
        assert not self.foreign, f"requests to other hosts: {self.foreign}"
        assert not self.errors, f"errors on the page: {self.errors}"


StrictPage = Callable[..., Watched]


@pytest.fixture(scope="session")
def contexts(browser):
    """`contexts(color_scheme="dark")` gives the one browser context with these options, a desktop's by default.

    A page opens there in two thirds of the time that it takes in a new context.
    """
    made: dict[str, BrowserContext] = {}

    def context(**options):
        name = repr(sorted(options.items()))
        if name not in made:
            made[name] = browser.new_context(**{"viewport": DESKTOP, "reduced_motion": "reduce"} | options)
            made[name].set_default_timeout(PATIENCE)
        return made[name]

    yield context
    for browser_context in made.values():
        browser_context.close()


def reload(page):
    """Load a page again, and wait until it is drawn."""
    page.evaluate(LEAVE)
    page.reload()
    until_drawn(page)


def watch(page):
    """Note every error that a page reports from now on."""
    watched = Watched(page)

    def on_console(message):
        if message.type == "error":
            watched.errors.append(f"{message.text} ({message.location.get('url', '')})")

    page.on("request", watched.on_request)
    page.on("console", on_console)
    page.on("pageerror", lambda error: watched.errors.append(str(error)))
    return watched


@pytest.fixture
def strict_page(contexts):
    """`strict_page(color_scheme="dark", viewport=...)` gives a new watched page; it is gone when the test ends."""
    pages: list[Page] = []

    def make(**options):
        pages.append(contexts(**options).new_page())
        return watch(pages[-1])

    yield make
    for page in pages:
        page.close()


@pytest.fixture(scope="session")
def same_tab(contexts):
    """Like `strict_page`, but equal options give one tab to all tests, as a reader goes through a book."""
    tabs: dict[BrowserContext, Watched] = {}

    def make(**options):
        context = contexts(**options)
        if context not in tabs:
            tabs[context] = watch(context.new_page())
        tab = tabs[context]
        tab.page.set_viewport_size(DESKTOP)  # `overflow` leaves it as narrow as a phone
        tab.page.emulate_media(reduced_motion=options.get("reduced_motion", "reduce"))
        tab.foreign.clear()
        tab.errors.clear()
        return tab

    return make


TOUCH = """document.querySelectorAll("[data-engine=idle]").forEach((one) =>
    one.dispatchEvent(new Event("pointerdown")))"""


def wake(page):
    """Touch the figures that run a model, and wait until they have it."""
    page.evaluate(TOUCH)
    page.wait_for_function("!document.querySelector('[data-engine=idle], [data-engine=loading]')")


@pytest.fixture(scope="session")
def open_html(tmp_path_factory, same_tab):
    """`open_html(html, html, width=390)` opens a page from disk with these figures and nothing else.

    A figure that runs a model has been touched, unless it is to be `asleep`.
    """

    folder, numbers = tmp_path_factory.mktemp("pages"), itertools.count()

    def open_page(*html, width=1280, height=900, asleep=False):
        number = next(numbers)
        path = folder / f"{number}.html"
        path.write_text(font.with_font(assets.standalone_page(*html)), encoding="utf-8")
        watched = same_tab()
        watched.page.set_viewport_size({"width": width, "height": height})
        watched.open(path.as_uri())
        (folder / f"{number - 1}.html").unlink(missing_ok=True)  # some are megabytes
        if not asleep:
            wake(watched.page)
        return watched

    return open_page


@pytest.fixture(scope="session")
def show(open_html):
    """`show(figure, width=390)` opens a page from disk that shows this figure and nothing else."""

    def open_figure(figure, width=800):
        watched = open_html(figure.html(), width=width, height=1000)
        shown = watched.page.locator("[data-ready=true]").count()
        assert shown, f"the figure could not be shown: {watched.errors}"
        return watched.page

    return open_figure


@pytest.fixture
def page(request, show):
    """The figure that the test's file is named after, as a chapter opens it."""
    name = request.path.stem.removeprefix("test_").replace("_", "-")
    return show(CASES[name].make())


CONTRAST = "color-contrast"
# preload: axe would fetch @import-ed styles from the wrong folder; resultTypes: describe only what is wrong
AXE = """async ([context, options]) => (await axe.run(
    Object.keys(context).length ? context : document,
    { preload: false, resultTypes: ["violations"], ...options },
)).violations"""
# Marked are the texts that look, in their colour and in all that lies behind it, like none before.
NEW_LOOKS = """([without, before]) => {
    const known = new Set(before), behind = new Map([[null, ""]]), found = [];
    const lies = (element) => { // what is painted behind an element's text, from the outermost in
        if (!behind.has(element)) {
            const { backgroundColor, backgroundImage, opacity } = getComputedStyle(element);
            const clear = /, 0\\)$/.test(backgroundColor) && backgroundImage === "none" && opacity === "1";
            const own = clear ? "" : ` ${backgroundColor} ${backgroundImage} ${opacity}`;
            behind.set(element, lies(element.parentElement) + own);
        }
        return behind.get(element);
    };
    document.querySelectorAll("[data-new]").forEach((one) => one.removeAttribute("data-new"));
    for (const one of document.body.querySelectorAll("*")) {
        const text = [...one.childNodes].some((child) => child.nodeType === Node.TEXT_NODE && child.data.trim());
        const seen = text && one.checkVisibility({ visibilityProperty: true });
        if (!seen || without.some((out) => one.closest(out))) continue;
        const { color, fontSize, fontWeight } = getComputedStyle(one);
        const looks = [color, fontSize, fontWeight, lies(one)].join();
        one.toggleAttribute("data-new", !known.has(looks));
        known.add(looks);
        found.push(looks);
    }
    return [...new Set(found)];
}"""
LOOKS: set[str] = set()  # whose contrast is enough, on any page


def axe_problems(page, without=(), contrast_only=False):
    """What axe finds wrong on a page: rule, impact, and the first elements concerned.

    Contrast is axe's slowest rule: of texts alike in colour, size and what lies behind, on whichever page, it is asked
    about one.

    Args:
        page: the page as it is now.
        without: selectors of elements that are left out.
        contrast_only: leave all other rules out, as for a page that has been checked in another theme.
    """
    from axe_playwright_python.base import AXE_SCRIPT

    if not page.evaluate("'axe' in globalThis"):
        page.evaluate(AXE_SCRIPT)
    every = [[selector] for selector in without]
    looks = set(page.evaluate(NEW_LOOKS, [list(without), list(LOOKS)]))
    assert looks, "a page without a word"
    runs: list[tuple[dict[str, list[list[str]]], dict[str, Any]]] = []
    if looks - LOOKS:
        runs.append(({"include": [["[data-new]"]], "exclude": every}, {"runOnly": [CONTRAST]}))
    if not contrast_only:
        runs.append(({"exclude": every} if every else {}, {"rules": {CONTRAST: {"enabled": False}}}))
    found = [rule for run in runs for rule in page.evaluate(AXE, run)]
    if not found:
        LOOKS.update(looks)
    return [
        f"{rule['id']} ({rule['impact']}), {len(rule['nodes'])}x: "
        + " | ".join(n["html"][:160] for n in rule["nodes"][:3])
        for rule in found
    ]


def overflow(page, width=390):
    """How many pixels a page is wider than a phone's window."""
    page.set_viewport_size({"width": width, "height": 844})
    page.evaluate(TWO_FRAMES)
    return int(page.evaluate("document.documentElement.scrollWidth")) - width
