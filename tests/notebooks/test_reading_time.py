"""The main line of a chapter takes a newcomer half an hour, and the chapter says how long; answers stay covered."""

import re

import pytest
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook, new_output
from reading_time import LONGEST, measure, open_cells, said

BEFORE_ATTENTION = 12_000  # words, code and outputs among them, before the chapter on attention
PICTURE = new_output("display_data", data={"image/png": "iVBORw0KGgo=", "text/plain": "<Figure>"})


def pytest_generate_tests(metafunc):
    if "name" in metafunc.fixturenames:
        folder = metafunc.config.rootpath / "notebooks"
        metafunc.parametrize("name", sorted(path.stem for path in folder.glob("[0-9]*.ipynb")))


def test_the_main_line_of_a_chapter_is_short_and_says_how_long(chapters, name):
    line = measure(chapters[name])
    print(f"{name}: {line.minutes:.1f} minutes, {line.words} words, prose, code and outputs together")
    assert line.minutes <= LONGEST, f"{line.minutes - LONGEST:.1f} minutes too long: fold what no later page needs"
    assert said(chapters[name]) == round(line.minutes), "write: Reading takes about N minutes"


def test_attention_is_reached_before_one_is_tired(chapters):
    words = sum(measure(chapters[name]).words for name in chapters if name < "06")
    assert words <= BEFORE_ATTENTION, f"{words - BEFORE_ATTENTION} words too many before chapter 6"


def test_every_answer_to_a_question_is_covered(chapters, name):
    """One cell for each Predict box, before the next box."""
    waiting = 0
    for cell, source in open_cells(chapters[name]):
        if cell.cell_type == "markdown":
            boxes = len(re.findall(r"(?m)^:::+ *\{admonition\} Predict", source))
            assert waiting + boxes <= 1, f"a Predict box has no cell tagged `covered`:\n{source}"
            waiting += boxes
        elif "covered" in cell.metadata.get("tags", []):
            assert waiting, f"nothing was asked before:\n{cell.source}"
            assert cell.outputs
            waiting = 0
    assert not waiting


def test_a_failing_check_is_shown_on_the_main_line(chapters, name):
    told = [
        line
        for cell, _ in open_cells(chapters[name])
        for output in cell.get("outputs", [])
        for line in output.get("traceback", [])
        if line.startswith("Diagnosis:")
    ]
    assert len(told) == 1, "one cell shows what a check says to a wrong line"


def exercises(notebook):
    """(title, text) of each, up to its end."""
    text = "\n".join(cell.source for cell in notebook.cells if cell.cell_type == "markdown")
    pattern = r"(?ms)^:::\{exercise-start\} *([^\n]*)\n:label: [\w-]+\n:nonumber:\n:::\n(.*?)^:::\{exercise-end\}"
    found = re.findall(pattern, text)
    assert len(found) == text.count("{exercise-start}") == text.count("{solution-start}")
    return found


def test_exercises_are_numbered_and_say_how_hard_they_are_with_hints_in_steps(chapters, name):
    found = exercises(chapters[name])
    assert len(found) >= 4
    for index, (title, text) in enumerate(found, 1):
        assert title.startswith(f"{int(name[:2])}.{index} "), title
        assert re.match(r"\*(Easy|Medium|Hard), \d+ minutes\.\*", text.strip()), title
        assert "{admonition} Hint" in text, title
        assert "{admonition} Wrong answers that people get" in text, title


def cells(*sources, **more):
    return new_notebook(cells=[new_markdown_cell(cell) if isinstance(cell, str) else cell for cell in sources], **more)


def test_what_is_counted():
    code = new_code_cell("a = 1\n\nb = 2", outputs=[PICTURE])
    line = measure(cells("# One\n\nTwo words and $x$.", code, ":::{admonition} Predict\nWhat?\n:::"))
    assert (line.code_lines, line.looks, line.questions) == (2, 1, 1)
    assert line.minutes == pytest.approx(line.prose / 120 + 2 * 4.5 / 60 + 1.5 + 1)


@pytest.mark.parametrize(
    "folded",
    [
        "## Going deeper: more\n\nmany words here",
        "## Exercises\n\nmany words here",
        ":::{admonition} Answers\n:class: dropdown\nmany words here\n:::",
        new_code_cell("print(1)", metadata={"tags": ["hide-input"]}),
        new_code_cell("print(1)", metadata={"tags": ["hide-cell"]}, outputs=[PICTURE]),
        new_code_cell("print(1)", metadata={"tags": ["remove-cell"]}, outputs=[PICTURE]),
    ],
)
def test_what_is_folded_does_not_count(folded):
    assert measure(cells("# One", folded)).minutes == pytest.approx(measure(cells("# One")).minutes)


def test_a_folded_section_ends_with_the_next_heading_of_its_level():
    line = measure(cells("### Going deeper: more\n\nnot counted", "#### Below\n\nnor this", "## Next\n\none two"))
    assert line.prose == 3
