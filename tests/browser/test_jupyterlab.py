"""The same figure in JupyterLab, with a kernel: operated by key and mouse, its values read back in Python."""

import os
import re
import shutil
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import nbformat
import pytest
from playwright.sync_api import Browser, Page, expect

from tests.browser.conftest import PATIENCE

pytestmark = pytest.mark.slow
ROOT = Path(__file__).resolve().parents[2]
FIRST = "from transformer_edu.widgets import AttentionStepper\nfigure = AttentionStepper(step=1)\nfigure"
# A bare slider of the shared core, with a trait behind it: do the arrow keys reach it?
SLIDER = """
import traitlets
from transformer_edu.widgets import assets
import anywidget

class Probe(anywidget.AnyWidget):
    _esm = assets.core_source() + '''
function render({ model, el }) {
  const state = store(model, ["value"], () => control.set(state.value));
  const onInput = (value) => state.set({ value });
  const control = slider({ label: "probe", min: 0, max: 10, value: state.value, onInput });
  el.append(control.element);
}
export default { render };'''
    value = traitlets.Int(4).tag(sync=True)

probe = Probe()
probe
"""
NUMBERED = re.compile(r"^\[\d+\]:$")
LAST = 'print("step", figure.step, "x", figure.x[1][1], "probe", probe.value)'


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def wait_for(address: str, server: subprocess.Popen[bytes], log: Path) -> None:
    """Wait until a server answers; it may take as long as it lives."""
    while server.poll() is None:
        try:
            urllib.request.urlopen(address).close()
            return
        except OSError:
            time.sleep(0.3)
    pytest.fail(f"JupyterLab did not start at {address}:\n{log.read_text()[-2000:]}")


@pytest.fixture
def lab(tmp_path: Path) -> Iterator[str]:
    """The address of a notebook with the figure, in a JupyterLab of its own."""
    cells = [nbformat.v4.new_code_cell(source) for source in (FIRST, SLIDER, LAST)]
    kernel = {"kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"}}
    folder = tmp_path / "work"
    folder.mkdir()
    nbformat.write(nbformat.v4.new_notebook(cells=cells, metadata=kernel), folder / "figure.ipynb")
    port, log = free_port(), tmp_path / "lab.log"
    command = [sys.executable, "-m", "jupyter", "lab", "--no-browser", "--allow-root", f"--port={port}"]
    command += [
        "--ip=127.0.0.1",
        f"--ServerApp.root_dir={folder}",
        "--IdentityProvider.token=",
        "--ServerApp.password=",
    ]
    homes = {name: str(tmp_path / name) for name in ("HOME", "JUPYTER_CONFIG_DIR", "JUPYTER_RUNTIME_DIR", "IPYTHONDIR")}
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


def run_all(page: Page) -> None:
    page.get_by_role("menuitem", name="Run", exact=True).click()
    page.get_by_role("menuitem", name="Run All Cells", exact=True).click()


def run_last_cell(page: Page) -> str:
    """Run the last cell again and return what it prints."""
    last = page.locator(".jp-CodeCell").last
    prompt = last.locator(".jp-InputArea-prompt")
    expect(prompt).to_have_text(NUMBERED)  # it ran once
    before = prompt.inner_text()
    last.locator(".cm-content").click()
    page.keyboard.press("Control+Enter")
    expect(prompt).not_to_have_text(before)
    expect(prompt).to_have_text(NUMBERED)
    return last.locator(".jp-OutputArea-output").inner_text()


def test_figure_with_a_kernel_takes_arrow_keys_and_tells_python(lab: str, browser: Browser) -> None:
    page = browser.new_page(viewport={"width": 1300, "height": 1500})
    page.set_default_timeout(PATIENCE)
    page.goto(lab)
    page.wait_for_selector(".jp-NotebookPanel .jp-CodeCell")
    page.get_by_text("Python 3 (ipykernel) | Idle").wait_for()
    run_all(page)
    expect(page.locator(".te-root").first).to_be_visible()
    expect(page.locator(".te-range")).to_be_visible()

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

    page.locator(".te-range").focus()
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowUp")
    assert page.locator(".te-range").input_value() == "7"
    assert run_last_cell(page).split() == ["step", "3", "x", "5", "probe", "7"]
    page.close()
