"""The exercises that have a check are counted as a reader counts them."""

import re

import nbformat

from tests.notebooks.exercises import calls_a_check, exercises, with_a_check


def test_every_exercise_is_found_once_with_its_solution(chapters):
    for name, notebook in chapters.items():
        text = "\n".join(cell.source for cell in notebook.cells if cell.cell_type == "markdown")
        assert len(exercises(notebook)) == len(re.findall(r"\{exercise-start\}", text)), name
        assert len(exercises(notebook)) == len(re.findall(r"\{solution-start\}", text)), name


def test_a_check_counts_in_code_and_in_a_line_to_uncomment_and_not_in_prose_or_in_another_check():
    assert calls_a_check("checks.check_softmax(mine)")
    assert calls_a_check("# When you have written it:\n# checks.check_softmax(mine)")
    assert not calls_a_check("# see checks.check_softmax\ncheck_shapes(mine)")
    assert not calls_a_check("checks.keep(mine)")


def test_the_count_is_of_exercises_and_not_of_calls(chapters):
    cells = [
        nbformat.v4.new_markdown_cell(":::{exercise-start} A\n:label: a\n:::"),
        nbformat.v4.new_code_cell("# checks.check_softmax(mine)"),
        nbformat.v4.new_markdown_cell(":::{exercise-end}\n:::\n\n:::{solution-start} a\n:::"),
        nbformat.v4.new_code_cell("checks.check_softmax(mine)"),
        nbformat.v4.new_markdown_cell(":::{solution-end}\n:::\n:::{exercise-start} B\n:label: b\n:::"),
        nbformat.v4.new_code_cell("print(1)"),
    ]
    assert with_a_check([nbformat.v4.new_notebook(cells=cells)]) == (1, 2)
    found, every = with_a_check(chapters.values())
    print(f"{found} of {every} exercises have a check")
    assert 0 < found < every
