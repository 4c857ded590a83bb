"""Every figure in each engine: drawn from disk without an error, operated by keyboard, with the same numbers.

Chromium's numbers are compared with PyTorch's in the other files; here the others' are compared with Chromium's.
"""

import re
import shutil
from functools import cache

import pytest
import torch

from tests.browser.cases import CASES
from tests.browser.conftest import THERE, TWO_FRAMES, built_pages
from tests.browser.engines import ENGINES, tab
from transformer_edu.book.figures import assets, font

# What a page reports, in whichever engine, from before its first script on; what is drawn by lot is the same in all.
REPORT = """<script>
    globalThis.problems = [];
    Math.random = () => 0.4;
    addEventListener("error", (event) => problems.push(String(event.message ?? event.target)), true);
    addEventListener("unhandledrejection", (event) => problems.push(String(event.reason)));
    const say = console.error;
    console.error = (...words) => { problems.push(words.join(" ")); say(...words); };
</script>"""
KEYS = """{ button: "Enter", radio: "ArrowRight", range: "ArrowRight", checkbox: "Space" }"""
# Focus the main button, else the first control that a key changes, and say which key that is.
FOCUS = f"""async () => {{
    const keys = {KEYS};
    const kind = (one) => one.getAttribute("role") ?? one.type;
    const all = [...document.querySelectorAll(".te-root :is(button, input, [role=radio])")].filter((one) =>
        kind(one) in keys && one.ariaDisabled !== "true" && one.tabIndex === 0 && one.offsetParent);
    const chosen = all.find((one) => one.matches(".te-primary")) ?? all[0];
    chosen.focus();
    return keys[kind(chosen)];
}}"""
UNTIL_DRAWN = f"""async () => {{
    while (!({THERE})()) await new Promise(requestAnimationFrame);
    await {TWO_FRAMES};
}}"""
# The font is there, is used, differs from what stands in for it, and its figures are as wide as each other.
FONT = f"""async () => {{
    await document.fonts.ready;
    const context = document.createElement("canvas").getContext("2d");
    const width = (text, font) => {{
        context.font = `16px ${{font}}`;
        return context.measureText(text).width;
    }};
    const own = '"{font.FAMILY}"';
    const names = (selector) => getComputedStyle(document.querySelector(selector)).fontFamily.startsWith(own);
    return {{
        checked: document.fonts.check(`16px ${{own}}`),
        used: names(".te-root") && names(".bd-article p") && names(".bd-article h1"),
        there: width("Attention", `${{own}}, monospace`) !== width("Attention", "monospace"),
        tabular: Math.abs(width("1111", own) - width("8888", own)) < 0.01,
    }};
}}"""
SEEN = """async () => {
    const frame = () => new Promise((drawn) => requestAnimationFrame(() => requestAnimationFrame(drawn)));
    const look = () => JSON.stringify({
        values: [...document.querySelectorAll(".te-root [data-value]")].map((one) => one.dataset.value),
        text: [...document.querySelectorAll(".te-root *:not([aria-live])")].flatMap((one) => [...one.childNodes])
            .filter((one) => one.nodeType === Node.TEXT_NODE).map((one) => one.data).join("|"),
        problems,
        loading: document.querySelectorAll("[data-engine=loading]").length,
        ready: [...document.querySelectorAll(".te-figure")].map((one) => one.dataset.ready),
    });
    for (let now = look(), before = ""; ; before = now, now = look()) {
        if (now === before && !JSON.parse(now).loading) return JSON.parse(now);
        await frame();
    }
}"""
WHOLE = """async () => ({
    problems,
    ready: [...document.querySelectorAll("[data-widget]")].map((one) => one.dataset.ready),
})"""
NUMBER = re.compile(r"[−-]?\d[\d.,]*")
OTHERS = [engine for engine in ENGINES if engine != "chromium"]
# Between them: fields, grids, a canvas, a drawing, time, a model in the page and one in a thread. Once a week, all.
OFTEN = ["attention-stepper", "norm-placement", "playground", "position-explorer", "sentence-translator"]
OFTEN += ["training-replay"]
EVERY = [pytest.param(name, marks=() if name in OFTEN else pytest.mark.weekly) for name in CASES]


@pytest.fixture(scope="session")
def engine(request, playwright, tmp_path_factory):
    """A page in the engine of this name, which stays open for all figures."""
    with tab(request.param, playwright, tmp_path_factory.mktemp(request.param)) as page:
        yield page


@pytest.fixture(scope="session")
def chromium(playwright, tmp_path_factory):
    with tab("chromium", playwright, tmp_path_factory.mktemp("chromium")) as page:
        yield page


@pytest.fixture(scope="session")
def figure_page(tmp_path_factory):
    """`figure_page(name)` gives the address of a page on disk that shows this figure as a chapter opens it."""
    folder = tmp_path_factory.mktemp("figures")

    def write(name):
        html = font.with_font(assets.standalone_page(CASES[name].make().html()))
        path = folder / f"{name}.html"
        path.write_text(html.replace("<head>", f"<head>{REPORT}", 1), encoding="utf-8")
        return path.as_uri()

    return write


def operated(page, address):
    """What stands on a page, and what stands there after a key."""
    page.open(address)
    page.run(UNTIL_DRAWN)
    before = page.run(SEEN)
    page.press(page.run(FOCUS))
    return before, page.run(SEEN)


@pytest.fixture(scope="session")
def in_chromium(chromium, figure_page):
    """`in_chromium(name)`: what Chromium shows of a figure, before and after a key."""
    return cache(lambda name: operated(chromium, figure_page(name)))


def is_number(text):
    return re.fullmatch(r"-?(Infinity|NaN|[\d.]+(e[+-]?\d+)?)", text) is not None


def numbers(seen):
    return torch.tensor([float(value) for value in seen["values"] if is_number(value)], dtype=torch.float64)


def words(seen):
    """The text but for its numbers, whose last digits may differ."""
    return [NUMBER.sub("#", seen["text"]), *(value for value in seen["values"] if not is_number(value))]


@pytest.mark.parametrize("name", EVERY)
@pytest.mark.parametrize("engine", OTHERS, indirect=True, scope="session")
def test_figure_is_drawn_and_operated_with_the_numbers_of_chromium(engine, name, figure_page, in_chromium):
    expected = in_chromium(name)
    found = operated(engine, figure_page(name))
    assert expected[0]["text"] != expected[1]["text"], "the key changes nothing"
    for there, here in zip(expected, found, strict=True):
        assert here["problems"] == there["problems"] == []
        assert here["ready"] == ["true"]
        assert words(here) == words(there)
        torch.testing.assert_close(numbers(here), numbers(there), atol=1e-6, rtol=0, equal_nan=True)


@pytest.mark.parametrize("engine", ENGINES, indirect=True, scope="session")
def test_text_is_in_the_books_font_from_disk_and_over_http(engine, book_html, book_address):
    for address in (book_html.as_uri(), book_address):
        engine.open(f"{address}/notebooks/06-attention.html")
        assert engine.run(FONT) == dict.fromkeys(("checked", "used", "there", "tabular"), True)


# A view that bertviz draws: its words, and how strong each line is.
VIEW = """async () => {
    for (const box of document.querySelectorAll(".bd-article details")) box.open = true;
    const view = document.querySelector(".te-bertviz");
    while (!view.dataset.ready) await new Promise(requestAnimationFrame);
    return {
        words: [...view.querySelectorAll("svg text")].map((one) => one.textContent),
        lines: [...view.querySelectorAll("svg line")].map((one) => Number(one.getAttribute("stroke-opacity"))),
    };
}"""
FIRST_HEAD = """async () => document.querySelector(".te-bertviz input[type=checkbox]").focus()"""


@pytest.mark.parametrize("engine", OTHERS, indirect=True, scope="session")
def test_a_view_of_bertviz_is_drawn_and_operated_with_the_lines_of_chromium(engine, chromium, book_html):
    seen = []
    for page in (chromium, engine):
        page.open((book_html / "notebooks/07-multi-head-attention.html").as_uri())
        before = page.run(VIEW)
        page.run(FIRST_HEAD)
        page.press("Space")
        after = page.run(VIEW)
        assert after["words"] == before["words"] != []
        assert after["lines"] != before["lines"], "the head stays"
        seen.append((before, after))
    assert seen[0] == seen[1]


@pytest.fixture(scope="session")
def reporting_book(book_html, tmp_path_factory):
    """The built book, each page of which reports its errors."""
    folder = shutil.copytree(book_html, tmp_path_factory.mktemp("book") / "html")
    for name in built_pages():
        text = (folder / name).read_text(encoding="utf-8")
        (folder / name).write_text(text.replace("<head>", f"<head>{REPORT}", 1), encoding="utf-8")
    return folder


@pytest.mark.weekly
@pytest.mark.parametrize("over_http", [False, True], ids=["from disk", "over http"])
@pytest.mark.parametrize("engine", ENGINES, indirect=True, scope="session")
def test_every_page_is_whole_and_reports_no_error(engine, over_http, reporting_book, serve):
    address = serve(reporting_book) if over_http else reporting_book.as_uri()
    broken = {}
    for name in [page for page in built_pages() if page != "index.html"]:  # which only leads to the first page
        engine.open(f"{address}/{name}")
        engine.run(UNTIL_DRAWN)
        seen = engine.run(WHOLE)
        if seen["problems"] or set(seen["ready"]) - {"true"}:
            broken[name] = seen
    assert broken == {}
