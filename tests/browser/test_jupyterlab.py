"""Figures and bertviz in JupyterLab, with a kernel: operated by key and mouse, read back in Python, run again."""

import os
import re
import shutil
import socket
import subprocess
import sys
import time
import urllib.request
from importlib.metadata import files
from pathlib import Path

import nbformat
import pytest
from playwright.sync_api import expect

from tests.browser.conftest import PATIENCE

pytestmark = pytest.mark.slow
ROOT = Path(__file__).resolve().parents[2]
FIGURE = "from transformer_edu.book.figures import AttentionStepper\nfigure = AttentionStepper(step=1)\nfigure"
# A slider with a trait behind it: do the arrow keys reach it?
SLIDER = """from transformer_edu.book.figures import PathLengthRacer
racer = PathLengthRacer(n=8)
racer"""
HEAD_VIEW = """from transformer_edu import recordings
from transformer_edu.book.figures import bertviz_head_view, bertviz_model_view
data = recordings.load("running-sentence")["data"]
words = data["source_tokens"], data["predicted_tokens"]
bertviz_head_view(data["attention"], *words, attention="cross", layer=1)"""
MODEL_VIEW = 'bertviz_model_view(data["attention"], *words)'
# Figures that run a model: the kernel sends it, two of them a model of the reader's own.
ENGINE = """import torch
from IPython.display import display
from transformer_edu import widgets
from transformer_edu.pretrained import load_grammar
own = load_grammar()
with torch.no_grad():
    own.model.decoder.layers[1].cross_attention.output_projection.weight.mul_(0.99)
given = {"model": own.model, "vocabularies": (own.source_vocabulary, own.target_vocabulary)}
figures = [
    widgets.Playground("this hen runs", **given), widgets.AttentionMap(), widgets.DecoderStepper(),
    widgets.ContextExplorer(), widgets.ArchitectureMap(), widgets.SearchTree(sentence="the cat sleeps"),
    widgets.CacheStepper(**given), widgets.HeadAtlas(), widgets.ResidualStream(), widgets.SentenceTranslator(),
]
display(*figures)"""
FIGURES = ["playground", "attention-map", "decoder-stepper", "context-explorer", "architecture-map", "search-tree"]
FIGURES += ["cache-stepper", "head-atlas", "residual-stream", "sentence-translator"]
LAST = """print("step", figure.step, "x", figure.x[1][1], "n", racer.n)
print(sum("my cow sees the red house" in one.state().values() for one in figures), figures[-1].sentence)"""
NUMBERED = re.compile(r"^\[\d+\]:$")
LIBRARIES = {"d3": ("mpld3", "js/d3.v5.min.js"), "jquery": ("sphinxcontrib-jquery", "jquery/jquery.js")}


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def wait_for(address, server, log):
    """Wait until a server answers; it may take as long as it lives."""
    while server.poll() is None:
        try:
            urllib.request.urlopen(address).close()
            return
        except OSError:
            time.sleep(0.3)
    pytest.fail(f"JupyterLab did not start at {address}:\n{log.read_text()[-2000:]}")


@pytest.fixture(scope="module")
def lab(tmp_path_factory):
    """The address of a notebook with the figures, in a JupyterLab of its own."""
    home = tmp_path_factory.mktemp("lab")
    cells = [nbformat.v4.new_code_cell(source) for source in (FIGURE, SLIDER, HEAD_VIEW, MODEL_VIEW, ENGINE, LAST)]
    kernel = {"kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"}}
    folder = home / "work"
    folder.mkdir()
    nbformat.write(nbformat.v4.new_notebook(cells=cells, metadata=kernel), folder / "figure.ipynb")
    port, log = free_port(), home / "lab.log"
    command = [sys.executable, "-m", "jupyter", "lab", "--no-browser", "--allow-root", f"--port={port}"]
    command += ["--ip=127.0.0.1", f"--ServerApp.root_dir={folder}"]
    command += ["--IdentityProvider.token=", "--ServerApp.password="]
    homes = {name: str(home / name) for name in ("HOME", "JUPYTER_CONFIG_DIR", "JUPYTER_RUNTIME_DIR", "IPYTHONDIR")}
    environment = os.environ | homes | {"PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1"}
    with log.open("wb") as output:
        server = subprocess.Popen(command, stdout=output, stderr=subprocess.STDOUT, env=environment)
    try:
        wait_for(f"http://127.0.0.1:{port}/api", server, log)
        yield f"http://127.0.0.1:{port}/lab/tree/figure.ipynb?reset"
    finally:
        server.terminate()
        server.wait()
        shutil.rmtree(folder, ignore_errors=True)


def answer(route):
    """Hand out an installed copy in place of what the network would give."""
    package, ending = LIBRARIES["d3" if "/d3/" in route.request.url else "jquery"]
    path = next(f for f in files(package) or [] if f.as_posix().endswith(ending)).locate()
    route.fulfill(body=Path(str(path)).read_text(encoding="utf-8"), content_type="text/javascript")


def run_all(page):
    page.get_by_role("menuitem", name="Run", exact=True).click()
    page.get_by_role("menuitem", name="Run All Cells", exact=True).click()
    expect(page.locator(".jp-CodeCell").last.locator(".jp-InputArea-prompt")).to_have_text(NUMBERED)
    page.wait_for_selector(".te-bertviz[data-ready=true] >> nth=1")


@pytest.fixture(scope="module")
def page(lab, browser):
    """The notebook, high enough to show every cell, run once."""
    page = browser.new_page(viewport={"width": 1300, "height": 12000})
    page.set_default_timeout(PATIENCE)
    page.route("**/cdnjs.cloudflare.com/**", answer)
    page.goto(lab)
    page.wait_for_selector(".jp-NotebookPanel .jp-CodeCell")
    page.get_by_text("Python 3 (ipykernel) | Idle").wait_for()
    run_all(page)
    yield page
    page.close()


def run_last_cell(page):
    """Run the last cell again and return what it prints."""
    last = page.locator(".jp-CodeCell").last
    prompt = last.locator(".jp-InputArea-prompt")
    before = prompt.inner_text()
    last.locator(".cm-content").click()
    page.keyboard.press("Control+Enter")
    expect(prompt).not_to_have_text(before)
    expect(prompt).to_have_text(NUMBERED)
    return last.locator(".jp-OutputArea-output").inner_text()


def test_figure_with_a_kernel_takes_arrow_keys_and_tells_python(page):
    page.get_by_role("tab", name="Step 1: Project").focus()
    page.keyboard.press("ArrowRight")
    assert page.locator(".te-root [role=tab][aria-selected=true]").get_attribute("aria-label") == "Step 2: Scores"
    scores = page.locator("[data-matrix=scores]")
    scores.locator("[data-row='2'][data-column='1']").focus()
    page.keyboard.press("ArrowUp")
    assert scores.locator(".te-selected").get_attribute("aria-label") == "row black, column black: 0"

    page.get_by_role("tab", name="Step 1: Project").click()
    page.locator("[data-matrix=x] [data-row='1'][data-column='1'] input").fill("5")
    page.get_by_role("tab", name="Step 3: Scale").click()

    slider = page.locator(".te-path-length-racer").get_by_role("slider", name="tokens, n")
    slider.focus()
    for key in ("ArrowRight", "ArrowRight", "ArrowUp"):
        page.keyboard.press(key)
    assert slider.input_value() == "11"
    assert run_last_cell(page).split()[:6] == ["step", "3", "x", "5", "n", "11"]


def test_bertviz_takes_arrow_keys_and_survives_another_run(page):
    page.get_by_label("who looks").focus()
    for _ in range(3):
        page.keyboard.press("ArrowDown")
    assert "“chat” looks most: head 1 at “cat”" in page.locator(".bv-words").first.inner_text()
    page.evaluate("document.querySelectorAll('.te-bertviz').forEach((view) => view.dataset.old = 'true')")
    run_all(page)
    page.wait_for_function("document.querySelectorAll('.te-bertviz[data-ready=true]:not([data-old])').length === 2")
    assert page.locator(".te-bertviz svg").count() == 2


@pytest.mark.weekly
def test_models_come_from_the_kernel_and_run_in_the_page(page):
    for name in FIGURES:
        figure, german = page.locator(f".te-{name}"), name == "sentence-translator"
        sentence, written = ("Ein Hund schläft.", "dog") if german else ("my cow sees the red house", "voit")
        expect(figure.locator(".te-stage"), name).not_to_contain_text(written)
        line = figure.get_by_label("German sentence" if german else "English sentence")
        line.click()
        if german:  # too large to come with a touch
            figure.get_by_role("button", name="Load the model").click()
        page.wait_for_selector(f".te-{name}[data-engine=ready]")
        line.fill(sentence)
        expect(figure.locator(".te-stage"), name).to_contain_text(written)
    assert run_last_cell(page).splitlines()[1] == "9 Ein Hund schläft."
