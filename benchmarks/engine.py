"""How fast the models run in a page, in Chromium, beside PyTorch on the same machine with one thread.

    python benchmarks/engine.py

The grammar's model: from its bytes to a model, and a sentence translated, as after every key in the playground. The
translator: the same, and twelve words of German with a beam of five. Then how much memory the page's script holds with
both models. Last the translator in the figure of chapter 15, in its thread: from a key to the first token on the page,
to the whole translation, to a beam's. Each is the median of several rounds; "ratio" is the page's time over PyTorch's.
"""

import statistics
import tempfile
import time
from base64 import b64encode
from collections.abc import Callable
from pathlib import Path

import torch
from playwright.sync_api import Page, sync_playwright

from transformer_edu.book.engine.page_file import read_page_file
from transformer_edu.book.engine.shipped import SHIPPED, shipped_file
from transformer_edu.book.engine.source import engine_source
from transformer_edu.book.figures import SentenceTranslator, headless
from transformer_edu.data.examples import RUNNING_SENTENCE
from transformer_edu.data.tokenizer import Tokenizer
from transformer_edu.data.vocabulary import BOS_ID, EOS_ID
from transformer_edu.decoding.beam import beam_search
from transformer_edu.decoding.greedy import greedy_search

ROUNDS = 9
GERMAN = "Zwei junge Männer spielen mit einem großen Hund am Strand im Sommer."  # twelve words
TIMED = """([name, text, beam, rounds]) => {
    const times = [];
    for (let round = 0; round < rounds; round += 1) {
        const begun = performance.now();
        const model = beam === null ? engine.readModel(contents[name]) : models[name];
        if (beam === 0) engine.greedySearch(model, model.source.encode(text));
        if (beam > 0) engine.beamSearch(model, model.source.encode(text), { size: beam, penalty: 1 });
        times.push(performance.now() - begun);
        models[name] = model;
    }
    return times;
}"""

# In the figure: milliseconds from a key to the first token that is another, and until it rests.
TYPED = """async (text) => {
    const [root, input] = [document.querySelector(".te-root"), document.querySelector(".te-sentence-input")];
    const changed = (node, options) => new Promise((done) => new MutationObserver(() => done()).observe(node, options));
    const begun = performance.now();
    const first = changed(document.querySelector(".te-trans-written"), { childList: true });
    input.value = text;
    input.dispatchEvent(new Event("input", { bubbles: true }));
    await first;
    const token = performance.now() - begun;
    while (root.ariaBusy === "true") await changed(root, { attributes: true });
    return [token, performance.now() - begun];
}"""


def page_of(names: tuple[str, ...]) -> str:
    """A page with the engine and the files of these models."""
    files = ", ".join(f'"{name}": "{b64encode(shipped_file(name)).decode()}"' for name in names)
    return (
        f"<!doctype html><meta charset=utf-8><script>{engine_source()}"
        f"const [contents, models] = [{{ {files} }}, {{}}];"
        "for (const name in contents) contents[name] = Uint8Array.from(atob(contents[name]), (c) => c.charCodeAt(0));"
        "</script>"
    )


def median_of(run: Callable[[], object]) -> float:
    """Milliseconds of a call: the median of some rounds after a first one."""
    times = []
    for _ in range(ROUNDS + 1):
        begun = time.perf_counter()
        run()
        times.append(1_000 * (time.perf_counter() - begun))
    return statistics.median(times[1:])


def in_pytorch(name: str, text: str, beam: int) -> float:
    """Milliseconds of a search in PyTorch, with the weights that the engine has."""
    model, vocabularies = read_page_file(shipped_file(name))
    source = vocabularies if isinstance(vocabularies, Tokenizer) else vocabularies[0]
    ids = torch.tensor([source.encode(text)])
    if beam:
        return median_of(lambda: beam_search(model, ids, BOS_ID, EOS_ID, beam_size=beam, length_penalty=1.0))
    return median_of(lambda: greedy_search(model, ids, BOS_ID, EOS_ID))


def main() -> None:
    """Print the table."""
    torch.set_num_threads(1)
    cases = [(SHIPPED[0], RUNNING_SENTENCE, 0), (SHIPPED[1], GERMAN, 0), (SHIPPED[1], GERMAN, 5)]
    with sync_playwright() as playwright, tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "engine.html"
        path.write_text(page_of(SHIPPED), encoding="utf-8")
        page = headless.launch(playwright).new_page()
        page.goto(path.as_uri())
        print(f"{'model':16} {'what':22} {'page ms':>8} {'PyTorch ms':>11} {'ratio':>6}")
        for name in SHIPPED:
            loading = statistics.median(page.evaluate(TIMED, [name, "", None, ROUNDS]))
            print(f"{name:16} {'bytes to model':22} {loading:8.1f}")
        for name, text, beam in cases:
            what = f"{len(text.split())} words, " + (f"beam of {beam}" if beam else "greedy")
            here = statistics.median(page.evaluate(TIMED, [name, text, beam, ROUNDS + 1])[1:])
            there = in_pytorch(name, text, beam)
            print(f"{name:16} {what:22} {here:8.1f} {there:11.1f} {here / there:6.2f}")
        held = page.evaluate("performance.memory.usedJSHeapSize") / 1e6
        print(f"\nboth models and their files held by the script: {held:.0f} MB")
        in_the_figure(page, Path(folder) / "figure.html")


def in_the_figure(page: Page, path: Path) -> None:
    """Print how long a reader waits for the translator."""
    SentenceTranslator().save(path)
    page.goto(path.as_uri())
    page.get_by_role("button", name="Load the model").click()
    page.wait_for_selector("[data-engine=ready]")
    for search in ("Greedy", "Beam of 5"):
        page.get_by_role("radio", name=search).click()
        times = [page.evaluate(TYPED, f"{GERMAN[:-1]}{sign}") for sign in ";:!?…,."]  # each is new to the figure
        first, whole = (statistics.median(column) for column in zip(*times[1:], strict=True))
        print(f"in the figure, {search}: first token after {first:.0f} ms, all of it after {whole:.0f} ms")


if __name__ == "__main__":
    main()
