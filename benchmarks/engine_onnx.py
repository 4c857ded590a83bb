"""The models in a page, by our engine and by ONNX Runtime Web: the same weights and sentences in the same browser.

    python benchmarks/engine_onnx.py

ONNX Runtime gets its best: a graph for the encoder and one for a step of the decoder, with keys and values kept between
the steps, the beam's rows chosen and the likeliest words found inside the graph (shared/onnx_export.py); WebAssembly
with SIMD, all optimizations of the graph. It has one thread, as our engine has. Its weights are those that our engine
computes with, in 32 bits. Before anything is timed, both must give the same translations. They take turns; medians
count. "ratio" is our time over ONNX Runtime's: below 1 we are quicker.

The packages that this takes (onnx, onnxscript, onnxruntime-web) come by pip and npm into a folder that is gone at the
end. transformers.js would run the same graphs on the same runtime.
"""

import functools
import http.server
import json
import logging
import shutil
import statistics
import subprocess
import sys
import tempfile
import threading
import warnings
from base64 import b64encode
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import torch
from playwright.sync_api import Page, sync_playwright
from shared.onnx_export import BEAM, export
from shared.report import arguments, save, table

from transformer_edu.book.engine.page_file import read_page_file
from transformer_edu.book.engine.shipped import SHIPPED, shipped_file
from transformer_edu.book.engine.source import engine_source
from transformer_edu.book.figures import headless
from transformer_edu.data.examples import RUNNING_SENTENCE

PYTHON_PACKAGES = ("onnx", "onnxscript", "onnx_ir", "ml_dtypes", "protobuf")
RUNTIME = "node_modules/onnxruntime-web"
FETCHED = ("dist/ort.wasm.bundle.min.mjs", "dist/ort-wasm-simd-threaded.wasm")  # what a reader's browser would ask for
GRAMMAR, TRANSLATOR = SHIPPED
GERMAN = "Zwei junge Männer spielen mit einem großen Hund am Strand im Sommer."  # twelve words
CASES = (
    (GRAMMAR, RUNNING_SENTENCE, "first token"),
    (GRAMMAR, RUNNING_SENTENCE, "greedy"),
    (TRANSLATOR, GERMAN, "first token"),
    (TRANSLATOR, GERMAN, "greedy"),
    (TRANSLATOR, GERMAN, f"beam of {BEAM}"),
)
ALSO_ALIKE = (  # translated by both, but not timed
    (GRAMMAR, "my cow sees the red house", "greedy"),
    (TRANSLATOR, "Ein Hund wartet im Regen auf sein Herrchen.", f"beam of {BEAM}"),
    (TRANSLATOR, "Eine Frau mit Hut liest ein Buch im Zug.", "greedy"),
)
PAGE = """<!doctype html><meta charset=utf-8><script>{engine}</script><script type=module>
import * as onnx from "./onnx_search.js";
const bytes = {files};
for (const name in bytes) bytes[name] = Uint8Array.from(atob(bytes[name]), (one) => one.charCodeAt(0));
const first = (model, text) => {{
  const memory = engine.encode(model, model.source.encode(text));
  return engine.highest(engine.possible(engine.rowOf(engine.decode(model, [engine.BOS], memory), 0)), 1)[0];
}};
const greedy = (model, text) => engine.greedySearch(model, model.source.encode(text)).ids;
const beam = (model, text, size, penalty) => engine.beamSearch(model, model.source.encode(text), {{ size, penalty }});
const [ours, theirs] = [{{}}, {{}}];
globalThis.ready = async (name) => {{
  const begun = performance.now();
  ours[name] = engine.readModel(bytes[name]);
  const between = performance.now();
  theirs[name] = await onnx.readOnnx(name, ours[name]);
  return [between - begun, performance.now() - between];
}};
globalThis.contenders = (name, text, what) => [[{{ first, greedy, beam }}, ours], [onnx, theirs]].map(([by, models]) =>
  () => by[what.split(" ")[0]](models[name], text, {beam}, 1));
</script>"""
ANSWERS = """async (question) => {
    const answers = [];
    for (const run of contenders(...question)) answers.push(await run());
    return answers;
}"""
TIMED = """async ([question, rounds]) => {
    const [runs, times] = [contenders(...question), [[], []]];
    for (let round = 0; round <= rounds; round += 1) {
        for (const which of round % 2 ? [1, 0] : [0, 1]) {
            const begun = performance.now();
            await runs[which]();
            if (round) times[which].push(performance.now() - begun); // the first round warms up
        }
    }
    return times;
}"""


def fetch_packages(folder: Path) -> str:
    """Put the packages into the folder; returns the version of ONNX Runtime Web."""
    target = folder / "python"
    commands = (
        [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--target", str(target), *PYTHON_PACKAGES],
        ["npm", "install", "--silent", "--ignore-scripts", "--prefix", str(folder), "onnxruntime-web"],
    )
    for command in commands:
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            raise SystemExit(f"`{' '.join(command[:5])} …` failed:\n{done.stderr.strip()}")
    sys.path.append(str(target))  # at the end: what is installed already comes first
    version: str = json.loads((folder / RUNTIME / "package.json").read_text(encoding="utf-8"))["version"]
    return version


def write_page(folder: Path) -> None:
    """The graphs of both models and a page that runs them."""
    logging.disable(logging.WARNING)  # the exporter tells of packages that these models do not need
    warnings.simplefilter("ignore")
    for name in SHIPPED:
        export(read_page_file(shipped_file(name))[0], folder, name)
    shutil.copy(Path(__file__).parent / "shared" / "onnx_search.js", folder)
    files = json.dumps({name: b64encode(shipped_file(name)).decode() for name in SHIPPED})
    page = PAGE.format(engine=engine_source(), files=files, beam=BEAM)
    (folder / "index.html").write_text(page, encoding="utf-8")


class QuietHandler(http.server.SimpleHTTPRequestHandler):
    """Serves files without writing a line for each."""

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing."""


@contextmanager
def served(folder: Path) -> Iterator[str]:
    """The address at which the folder is served: WebAssembly is not loaded from a disk."""
    handler = functools.partial(QuietHandler, directory=str(folder))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_address[1]}/index.html"
        server.shutdown()


def check_alike(page: Page) -> None:
    """Raise unless both give the same words, in all searches."""
    for question in (*CASES, *ALSO_ALIKE):
        ours, theirs = page.evaluate(ANSWERS, list(question))
        if question[2].startswith("beam"):
            ours, theirs = ([answer["ids"] for answer in found] for found in (ours, theirs))
        if ours != theirs:
            raise RuntimeError(f"both must answer alike to {question}, got {ours} and {theirs}")


def bytes_to_load(folder: Path) -> dict[str, dict[str, int]]:
    """What a reader's browser has to load for each model, code and weights."""
    runtime = sum((folder / RUNTIME / part).stat().st_size for part in FETCHED)
    return {
        name: {
            "ours": len(engine_source().encode()) + len(shipped_file(name)),
            "ONNX Runtime Web": runtime + sum(file.stat().st_size for file in folder.glob(f"{name}.*.onnx")),
        }
        for name in SHIPPED
    }


def measured(page: Page, rounds: int) -> dict[str, dict[str, float]]:
    """Milliseconds of every case: the median of ours, of theirs, and their ratio."""
    found = {}
    for name in SHIPPED:
        ours, theirs = page.evaluate("(name) => ready(name)", name)
        found[f"{name}, from bytes to ready"] = {"ours": ours, "ONNX Runtime Web": theirs}
    check_alike(page)
    for question in CASES:
        ours, theirs = map(statistics.median, page.evaluate(TIMED, [list(question), rounds]))
        name, text, what = question
        found[f"{name}, {len(text.split())} words, {what}"] = {"ours": ours, "ONNX Runtime Web": theirs}
    return {case: {**both, "ratio": round(both["ours"] / both["ONNX Runtime Web"], 3)} for case, both in found.items()}


def main() -> None:
    """Measure, print and save."""
    options = arguments(__doc__).parse_args()
    torch.set_num_threads(options.threads)
    if shutil.which("npm") is None:
        print("needs npm, which comes with Node.js (https://nodejs.org), to fetch onnxruntime-web; nothing is measured")
        return
    with tempfile.TemporaryDirectory() as name, sync_playwright() as playwright:
        folder = Path(name)
        version = fetch_packages(folder)
        write_page(folder)
        browser = headless.launch(playwright)
        with served(folder) as address:
            page = browser.new_page()
            page.goto(address)
            page.wait_for_function("globalThis.contenders")
            cases = measured(page, 1 if options.quick else 15)
        loads = bytes_to_load(folder)
    title = f"milliseconds in Chromium; ONNX Runtime Web {version}: WebAssembly with SIMD, one thread"
    table(title, ["", *next(iter(cases.values()))], [[case, *row.values()] for case, row in cases.items()])
    rows = [[model, *(round(size / 1e6, 2) for size in row.values())] for model, row in loads.items()]
    table("to load, uncompressed, MB", ["", "ours", "ONNX Runtime Web"], rows)
    save("engine_onnx", {"onnxruntime_web": version, "milliseconds": cases, "bytes_to_load": loads}, options)


if __name__ == "__main__":
    main()
