"""What a chapter stores is complete: every cell was run, once and in order, and every picture has its words."""

import ast
import json
import re
from decimal import Decimal
from pathlib import Path

import nbformat
import pytest
from agreement import STATE, leaves
from dark_pictures import twins_wanted
from fingerprint import plain_python
from take_stills import figures_in

from tests.notebooks.test_bertviz_outputs import bertviz_lines

CHAPTERS = sorted((Path(__file__).resolve().parents[2] / "notebooks").glob("[0-9]*.ipynb"))
PICTURE = re.compile("base64,[A-Za-z0-9+/=]+")  # its letters may spell anything
RUN_DEPENDENT = re.compile(r" at 0x[0-9a-f]{6,}|\r|\d+(\.\d+)?(it|s)/(s|it)\b")
MACHINE = re.compile(r"/home/|/Users/|/root/|/tmp/|site-packages")


@pytest.fixture(params=CHAPTERS, ids=lambda path: path.stem)
def chapter(request):
    return nbformat.read(request.param, as_version=4)


def code_cells(notebook):
    return [cell for cell in notebook.cells if cell.cell_type == "code"]


def outputs(notebook):
    return [(cell, output) for cell in code_cells(notebook) for output in cell.outputs]


def test_every_code_cell_was_run_once_from_top_to_bottom(chapter):
    counts = [cell.execution_count for cell in code_cells(chapter)]
    assert counts == list(range(1, len(counts) + 1))


def asserts(source):
    calls = [node for node in ast.walk(ast.parse(plain_python(source))) if isinstance(node, ast.Call | ast.Assert)]
    return any(isinstance(node, ast.Assert) or ast.unparse(node.func).endswith("assert_close") for node in calls)


def test_an_output_that_is_not_compared_is_guarded_by_an_assertion_in_its_own_cell(chapter):
    for cell in code_cells(chapter):
        tags = cell.metadata.get("tags", [])
        if "nbval-ignore-output" in tags and cell.outputs:
            assert asserts(cell.source), cell.source
            assert ("times" in tags) == ("perf_counter" in cell.source), cell.source


def test_every_stored_picture_has_words_and_every_figure_a_true_still(chapter):
    for cell, output in outputs(chapter):
        if any(kind.startswith("image/") for kind in output.get("data", {})):
            alt = cell.metadata.get("mystnb", {}).get("image", {}).get("alt", "")
            assert len(alt) > 10, f"no alt text in the metadata of the cell:\n{cell.source}"
    for figure in figures_in(chapter):
        assert len(figure.alt) > 10
        assert figure.has_true_still(), f"run `make outputs`: {figure.alt}"


def test_nothing_is_stored_that_differs_from_run_to_run_or_went_wrong_or_is_not_ours(chapter):
    assert set(chapter.metadata) <= {"kernelspec", "language_info"}
    assert "version" not in chapter.metadata.language_info
    assert all("execution" not in cell.metadata for cell in chapter.cells)
    assert not bertviz_lines(chapter)
    for cell, output in outputs(chapter):
        assert output.get("name") != "stderr", cell.source
        announced = "raises-exception" in cell.metadata.get("tags", [])
        assert output.output_type != "error" or announced, cell.source
        for text in [output.get("text", ""), *output.get("data", {}).values(), *output.get("traceback", [])]:
            if isinstance(text, str) and not text.startswith("iVBOR"):
                text = PICTURE.sub("", text)
                assert not RUN_DEPENDENT.search(text), cell.source
                assert not MACHINE.search(text), cell.source
        # Its lines would differ after a change of comments, which runs no chapter again.
        assert not any("transformer_edu" in frame for frame in output.get("traceback", [])), cell.source


def test_no_state_of_a_figure_holds_digits_that_differ_between_processors(chapter):
    for _, output in outputs(chapter):
        for _, state in STATE.findall(output.get("data", {}).get("text/html", "")):
            for path, leaf in leaves(json.loads(state, parse_float=Decimal)):
                exact = "rate" in path or "rates" in path  # of training, from a formula
                if isinstance(leaf, Decimal) and not exact:
                    assert leaf.normalize().as_tuple().exponent >= -6, path


def test_every_picture_has_a_dark_twin_and_every_twin_a_picture(root):
    assert {path.name for path in (root / "book" / "dark").iterdir()} == twins_wanted(root / "notebooks")
