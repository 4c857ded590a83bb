"""Running a chapter stores the same bytes every time, or nothing at all; nbval sees a wrong digit."""

import base64
import io
import os
import re
import subprocess
import sys
import time
from pathlib import Path

import nbformat
import numpy as np
import psutil
import pytest
from nbclient.exceptions import CellExecutionError
from normalize import normalize, strip_png
from PIL import Image, PngImagePlugin
from run_notebooks import execute, stale, store_fingerprint, stored_fingerprints

CELLS = [
    "REPOSITORY = ''",
    "from transformer_edu.masks import size\nprint('size', size)\nobject()",
    "import matplotlib.pyplot as plt\nplt.plot([1, 2])\nplt.show()",
]
TOOLS = Path(__file__).resolve().parents[2] / "tools"


@pytest.fixture
def house(tmp_path, monkeypatch):
    """A repository with a package of one module and one chapter."""
    (tmp_path / "notebooks").mkdir()
    (tmp_path / "transformer_edu").mkdir()
    (tmp_path / "transformer_edu" / "__init__.py").write_text("")
    (tmp_path / "transformer_edu" / "masks.py").write_text("size = 0.1234\n")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    write(tmp_path, CELLS)
    return tmp_path


def write(house, cells):
    path = house / "notebooks" / "06-attention.ipynb"
    nbformat.write(nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell) for cell in cells]), path)
    return path


@pytest.mark.slow
def test_running_twice_stores_the_same_bytes_and_leaves_nothing_stale(house):
    path = house / "notebooks" / "06-attention.ipynb"
    assert stale([path], house) == [path]
    execute(path, house)
    first = path.read_bytes()
    assert b"0.1234" in first
    assert b"image/png" in first
    assert stale([path], house) == []
    as_another_processor_prints_it = first.replace(b"size 0.1234", b"size 0.1235")
    for stored in (first, as_another_processor_prints_it):
        path.write_bytes(stored)
        execute(path, house)
        assert path.read_bytes() == stored
    (house / "transformer_edu" / "masks.py").write_text("size = 0.5\n")
    assert stale([path], house) == [path]


def test_marks_lie_in_one_file_with_a_line_for_each_chapter_that_is(house):
    folder = house / "notebooks"
    for name in ("02-second", "01-first"):
        (folder / f"{name}.ipynb").touch()
        store_fingerprint(folder / f"{name}.ipynb", f"mark of {name}")
    assert (folder / "outputs.json").read_text() == (
        '{\n "01-first": "mark of 01-first",\n "02-second": "mark of 02-second"\n}\n'
    )
    (folder / "01-first.ipynb").unlink()
    store_fingerprint(folder / "02-second.ipynb", "another")
    assert stored_fingerprints(folder) == {"02-second": "another"}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("cell", "error", "says"),
    [
        ("1 / 0", CellExecutionError, r"1 / 0[\s\S]*ZeroDivisionError"),
        ("import warnings\nwarnings.warn('mind this')", ValueError, r"cell 4 wrote to stderr[\s\S]*mind this"),
    ],
)
def test_a_cell_that_fails_or_warns_is_shown_and_leaves_the_file_alone(house, cell, error, says):
    path = write(house, [*CELLS, cell])
    before = path.read_bytes()
    with pytest.raises(error, match=says):
        execute(path, house)
    assert path.read_bytes() == before
    assert [file.name for file in path.parent.iterdir()] == [path.name]


def failed_in_nbval(folder):
    """Run the notebooks of a folder as `pytest --nbval notebooks` does; return "NAME, cell 1" for each that failed."""
    command = [sys.executable, "-m", "pytest", "--nbval", "--nbval-current-env", "-p", "nbval_rule"]
    options = ["-p", "no:cacheprovider", "-c", "/dev/null", "--rootdir", str(folder)]
    search = {"PYTHONPATH": os.pathsep.join([str(TOOLS), str(TOOLS.parent)])}
    done = subprocess.run([*command, *options], capture_output=True, text=True, cwd=folder, env=os.environ | search)
    failed = re.findall(r"^FAILED (?:.*/)?(.+)\.ipynb::Cell (\d+)", done.stdout, re.MULTILINE)
    assert done.returncode == bool(failed), done.stdout
    return [f"{name}, cell {number}" for name, number in failed]


@pytest.mark.slow
def test_nbval_allows_the_last_digit_one_unit_and_fails_any_other_digit(tmp_path):
    for digits in ("0.1234", "0.1235", "0.1236", "0.2234"):
        stored = [output("stream", name="stdout", text=f"size {digits}\n")]
        cell = nbformat.v4.new_code_cell("print('size', 0.1234)", outputs=stored, execution_count=1)
        nbformat.write(nbformat.v4.new_notebook(cells=[cell]), tmp_path / f"{digits}.ipynb")
    assert failed_in_nbval(tmp_path) == ["0.1236, cell 0", "0.2234, cell 0"]


def output(kind, **fields):
    return nbformat.v4.new_output(kind, **fields)


def test_progress_bars_widget_views_and_run_metadata_are_dropped():
    view = {"application/vnd.jupyter.widget-view+json": {"model_id": "abc"}, "text/plain": "<figure stepper>"}
    cell = nbformat.v4.new_code_cell("f()")
    cell.metadata["execution"] = {"iopub.status.busy": "2026-01-01"}
    cell.outputs = [
        output("stream", name="stdout", text="a"),
        output("stream", name="stdout", text="b <X at 0x7f1234567890>"),
        output("stream", name="stderr", text="\r 50%|#####     | 5/10 [00:01<00:01, 5.00it/s]"),
        output("display_data", data=view),
        output("display_data", data=view | {"text/html": "<div data-widget='stepper'></div>"}),
    ]
    notebook = nbformat.v4.new_notebook(cells=[cell], metadata={"widgets": {"state": {}}})
    normalize(notebook)
    stream, figure = notebook.cells[0].outputs
    assert stream.text == "ab <X at 0x...>"
    assert set(figure.data) == {"text/html", "text/plain"}
    assert not cell.metadata
    assert "widgets" not in notebook.metadata


def test_a_picture_loses_its_metadata_and_keeps_its_pixels(tmp_path):
    pixels, words = np.arange(48, dtype=np.uint8).reshape(4, 4, 3), PngImagePlugin.PngInfo()
    words.add_text("Software", "drawn by something, version 3.11")
    raw = io.BytesIO()
    Image.fromarray(pixels).save(raw, "PNG", pnginfo=words)
    stripped = base64.b64decode(strip_png(base64.b64encode(raw.getvalue()).decode()))
    assert b"Software" not in stripped
    assert (np.asarray(Image.open(io.BytesIO(stripped))) == pixels).all()


@pytest.mark.weekly
@pytest.mark.slow
def test_a_runner_that_is_ended_leaves_no_process_behind_and_the_file_as_it_was(house, tmp_path):
    begun = tmp_path / "begun"
    path = write(house, [*CELLS, f"import time\nopen({str(begun)!r}, 'w').close()\nwhile True: time.sleep(1)"])
    before = path.read_bytes()
    code = f"import pathlib, run_notebooks; run_notebooks.run_all([pathlib.Path({str(path)!r})], 1)"
    search = os.pathsep.join([str(TOOLS), os.environ["PYTHONPATH"]])
    runner = psutil.Popen([sys.executable, "-c", code], env={**os.environ, "PYTHONPATH": search})
    while not begun.exists() and runner.poll() is None:
        time.sleep(0.05)
    children = runner.children(recursive=True)
    runner.terminate()
    runner.wait()
    psutil.wait_procs(children)  # waits as long as one of them lives
    assert children
    assert path.read_bytes() == before


@pytest.mark.long
def test_stored_chapters_are_up_to_date(root):
    chapters = sorted((root / "notebooks").glob("[0-9]*.ipynb"))
    assert [path.stem for path in stale(chapters, root)] == []
    assert list(stored_fingerprints(root / "notebooks")) == [path.stem for path in chapters]
