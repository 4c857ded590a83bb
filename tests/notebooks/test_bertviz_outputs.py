"""A view that bertviz draws is stored with its data and its still, and without a line of bertviz's code."""

import io

import nbformat
import pytest
import take_stills
from agreement import agree
from normalize import normalize
from PIL import Image

from transformer_edu.book.figures import bertviz_head_view, bertviz_model_view
from transformer_edu.book.figures.bertviz_script import drawing_script, with_script, without_script

DATA = {"encoder.0.self": [[[0.25, 0.75], [1.0, 0.0]]]}
HOSTILE = "/*bertviz script: head*/"
VIEWS = [draw(DATA, ["black", HOSTILE]) for draw in (bertviz_head_view, bertviz_model_view)]


def notebook_with(html):
    output = nbformat.v4.new_output("execute_result", {"text/html": html, "text/plain": "<view>"}, execution_count=1)
    return nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell("view", outputs=[output])])


def picture(width, height):
    raw = io.BytesIO()
    Image.new("RGB", (width, height)).save(raw, "PNG")
    return raw.getvalue()


def html_of(notebook):
    return "".join(output.get("data", {}).get("text/html", "") for cell in notebook.cells for output in cell.outputs)


def bertviz_lines(notebook):
    """The lines of bertviz's scripts, but for the shortest ones, that a notebook's outputs hold."""
    lines = {line.strip() for kind in ("head", "model") for line in drawing_script(kind).splitlines()}
    stored = "\n".join(str(cell.get("outputs", "")) for cell in notebook.cells)
    return [line for line in lines if len(line) >= 30 and repr(line)[1:-1] in stored]


@pytest.mark.parametrize("view", VIEWS, ids=repr)
def test_storing_a_view_takes_bertviz_out_and_leaves_its_data_and_the_book_puts_bertviz_back(view):
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


def test_a_still_is_kept_until_the_data_changes(monkeypatch):
    monkeypatch.setattr(take_stills, "take", lambda figures: [picture(80, 40)] * len(figures))
    first, again = notebook_with(without_script(VIEWS[0].markup)), notebook_with(without_script(VIEWS[0].markup))
    assert take_stills.insert_stills(first) == 1
    assert 'alt="Encoder self-attention, layer 1. Two columns' in html_of(first)
    assert 'width="40" height="20"' in html_of(first)
    assert take_stills.insert_stills(again, first) == 0
    assert html_of(again) == html_of(first)
    changed = notebook_with(html_of(first).replace("0.25,0.75", "0.26,0.74"))
    assert take_stills.insert_stills(changed) == 1
    assert agree(html_of(first), without_script(VIEWS[0].markup)), "nbval takes a stored view for a fresh one"
    assert not agree(html_of(first), html_of(changed).replace("0.26", "0.27")), "and sees a changed weight"
