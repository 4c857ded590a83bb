"""A view that bertviz draws is stored with its data and its still, and without a line of bertviz's code."""

import io
from pathlib import Path

import nbformat
import pytest
import take_stills
from nbformat import NotebookNode
from normalize import normalize
from PIL import Image
from run_notebooks import run_cells

from tests.notebooks.test_run_notebooks import failed_in_nbval
from transformer_edu.widgets import bertviz_head_view, bertviz_model_view
from transformer_edu.widgets.bertviz_script import drawing_script, with_script, without_script
from transformer_edu.widgets.bertviz_views import BertvizView

CHAPTERS = sorted((Path(__file__).resolve().parents[2] / "notebooks").glob("[0-9]*.ipynb"))
DATA = {"encoder.0.self": [[[0.25, 0.75], [1.0, 0.0]]]}
HOSTILE = "/*bertviz script: head*/"
VIEWS = [draw(DATA, ["black", HOSTILE]) for draw in (bertviz_head_view, bertviz_model_view)]
CELL = f"""from transformer_edu.widgets import bertviz_head_view
bertviz_head_view({DATA}, ["black", "cat"])"""


def notebook_with(html: str) -> NotebookNode:
    output = nbformat.v4.new_output("execute_result", {"text/html": html, "text/plain": "<view>"}, execution_count=1)
    return nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell("view", outputs=[output])])


def picture(width: int, height: int) -> bytes:
    raw = io.BytesIO()
    Image.new("RGB", (width, height)).save(raw, "PNG")
    return raw.getvalue()


def html_of(notebook: NotebookNode) -> str:
    return "".join(output.get("data", {}).get("text/html", "") for cell in notebook.cells for output in cell.outputs)


def bertviz_lines(notebook: NotebookNode) -> list[str]:
    """The lines of bertviz's scripts, but for the shortest ones, that a notebook's outputs hold."""
    lines = {line.strip() for kind in ("head", "model") for line in drawing_script(kind).splitlines()}
    stored = "\n".join(str(cell.get("outputs", "")) for cell in notebook.cells)
    return [line for line in lines if len(line) >= 30 and repr(line)[1:-1] in stored]


@pytest.mark.parametrize("path", CHAPTERS, ids=lambda path: path.stem)
def test_no_stored_output_holds_code_of_bertviz(path: Path) -> None:
    assert not bertviz_lines(nbformat.read(path, as_version=4))


@pytest.mark.parametrize("view", VIEWS, ids=repr)
def test_storing_a_view_takes_bertviz_out_and_leaves_its_data_and_the_book_puts_bertviz_back(view: BertvizView) -> None:
    notebook = notebook_with(view.markup)
    assert len(bertviz_lines(notebook)) > 50
    normalize(notebook)
    stored = html_of(notebook)
    assert not bertviz_lines(notebook)
    assert "[[0.25,0.75],[1.0,0.0]]" in stored
    assert stored.count(HOSTILE) == view.markup.count(HOSTILE)
    normalize(notebook)
    assert html_of(notebook) == stored
    assert with_script(stored) == view.markup
    assert with_script(stored, str.upper).count("\nHEAD\n") == ("head view" in repr(view))


def test_a_still_is_kept_until_the_data_changes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(take_stills, "take", lambda figures: [picture(80, 40)] * len(figures))
    first, again = notebook_with(without_script(VIEWS[0].markup)), notebook_with(without_script(VIEWS[0].markup))
    assert take_stills.insert_stills(first) == 1
    assert 'alt="Encoder self-attention, layer 1. Two columns' in html_of(first)
    assert 'width="40" height="20"' in html_of(first)
    assert take_stills.insert_stills(again, first) == 0
    assert html_of(again) == html_of(first)
    changed = notebook_with(html_of(first).replace("0.25,0.75", "0.26,0.74"))
    assert take_stills.insert_stills(changed) == 1


@pytest.mark.slow
def test_nbval_takes_a_stored_view_for_a_fresh_one_and_sees_a_changed_weight(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(take_stills, "take", lambda figures: [picture(8, 4)] * len(figures))
    notebook, path = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(CELL)]), tmp_path / "view.ipynb"
    run_cells(notebook, tmp_path)
    assert bertviz_lines(notebook)
    normalize(notebook)
    assert take_stills.insert_stills(notebook) == 1
    nbformat.write(notebook, path)
    assert path.read_text().count("[[0.25,0.75]") == 1
    path.with_name("changed.ipynb").write_text(path.read_text().replace("[[0.25,0.75]", "[[0.27,0.75]"))
    assert failed_in_nbval(tmp_path) == ["changed, cell 0"]
