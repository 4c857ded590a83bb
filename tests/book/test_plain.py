"""A chapter for Colab: nothing of the book's markup is left, what was folded is folded, and all cells run through."""

import re
from pathlib import Path

import nbformat
import plain
import plain_chapters
import pytest
import yaml
from nbclient import NotebookClient

from tests.conftest import ROOT

CHAPTERS = sorted((ROOT / "notebooks").glob("[0-9]*.ipynb"))
LEFT = re.compile(r"^:::|^:\w+:|\{cite|\{doc\}|\]\((?:\.\./|#)", re.M)
TITLE = re.compile(rf"# @title (Code that |{plain.SETUP}|{plain.ANSWER}|{plain.SOLUTION})")
COLAB = "https://colab.research.google.com/github/someone/book/blob/colab/notebooks/"
SITE = "https://someone.example/book/"


def cells(notebook, kind):
    return [cell for cell in notebook.cells if cell.cell_type == kind]


@pytest.fixture(params=CHAPTERS, ids=lambda path: path.stem)
def pair(request):
    chapter = nbformat.read(request.param, 4)
    return chapter, plain.plain(chapter, COLAB, SITE)


def test_nothing_of_the_book_s_markup_is_left(pair):
    chapter, written = pair
    nbformat.validate(written)
    text = "\n\n".join(cell.source for cell in cells(written, "markdown"))
    assert LEFT.findall(re.sub(r"```.*?```", "", text, flags=re.S)) == []
    assert text.count("<details>") == text.count("</details>") > 5
    assert "### Exercise" in text
    names = [cell.id for cell in written.cells]
    assert len(names) == len(set(names))
    assert [cell.id for cell in cells(written, "code")] == [cell.id for cell in cells(chapter, "code")]


def test_its_words_are_those_of_the_book(pair):
    def words(notebook):
        text = "\n\n".join(cell.source for cell in cells(notebook, "markdown"))
        text = re.sub(r"^:::.*$|^:\w+:.*$|\{cite(?::t)?\}`[^`]*`|\]\([^)]*\)", " ", text, flags=re.M)
        return re.findall(r"[^\W\d_]{4,}", text)

    chapter, written = pair
    there = words(written)
    assert [word for word in set(words(chapter)) if word not in there] == []


def test_what_the_book_hides_is_hidden_and_no_answer_stands_below_its_question(pair):
    chapter, written = pair
    for before, after in zip(cells(chapter, "code"), cells(written, "code"), strict=True):
        tags = set(before.metadata.get("tags", []))
        if tags & {"hide-input", "hide-cell", "covered", "remove-cell"}:
            assert after.metadata["cellView"] == "form", before.id
            assert after.source.startswith("# @title "), before.id
            assert not after.source.startswith(("# @title Source", "# @title \n")), (
                "a bar that does not say what it hides"
            )
        if "covered" in tags:
            assert after.outputs == [], before.id
        if "raises-exception" in tags:
            assert "raises-exception" not in after.metadata.tags, before.id
            compile(after.source, before.id, "exec")
    solutions = [cell for cell in written.cells if cell.source.startswith(f"# @title {plain.SOLUTION}")]
    assert len(solutions) >= 2
    assert all(not cell.outputs for cell in solutions)


def test_boxes_solutions_and_citations():
    text = """Before {cite}`vaswani2017attention,alammar2018illustrated`.

:::{exercise-start} 6.1 A softmax
:label: ex-softmax
:nonumber:
:::
*Easy.* [This](#ex-softmax), [chapter 7](07-multi-head-attention.ipynb#heads), [the web](../book/errata-of-the-web.md).

:::{admonition} Hint
:class: dropdown
Which row?
:::
:::{admonition} Careful
:class: warning
Two
lines.
:::"""
    written, solved = plain.in_markdown(text, solved=False)
    written = plain.linked(plain.cited(written), COLAB, "")
    assert not solved
    assert "([Vaswani et al., 2017](https://arxiv.org/abs/1706.03762); [Alammar, 2018](https" in written
    assert (
        "### Exercise 6.1 A softmax\n*Easy.* This, [chapter 7](" + COLAB + "07-multi-head-attention.ipynb)" in written
    )
    assert written.rstrip().endswith("> **Careful**\n>\n> Two\n> lines.")
    assert "the web." in written
    assert "<details><summary>Hint</summary>\n\nWhich row?\n\n</details>" in written
    assert plain.in_markdown("In words.\n\n:::{solution-end}\n:::\n\nAfter.", solved=True) == (
        "<details><summary>Solution</summary>\n\nIn words.\n\n</details>\n\nAfter.",
        False,
    )


def test_a_directive_without_a_plain_form_is_an_error():
    with pytest.raises(ValueError, match="'figure' has no plain form"):
        plain.in_markdown(":::{figure} a.png\n:::", solved=False)


def test_the_command_writes_every_chapter_with_links_where_there_is_an_address(tmp_path):
    settings = yaml.safe_load((ROOT / "_config.yml").read_text())
    settings["launch_buttons"]["colab_url"] = "https://colab.research.google.com"
    settings["repository"]["url"] = "https://github.com/someone/book"
    (tmp_path / "config.yml").write_text(yaml.safe_dump(settings))
    assert plain_chapters.write_all(tmp_path / "out", tmp_path / "config.yml") == len(CHAPTERS)
    assert plain_chapters.write_all(tmp_path / "out", tmp_path / "config.yml") == len(CHAPTERS)  # its own: again
    text = (tmp_path / "out" / "notebooks" / "02-why-attention.ipynb").read_text(encoding="utf-8")
    assert COLAB + "06-attention.ipynb" in text
    assert (tmp_path / "out" / "README.md").exists()


@pytest.mark.parametrize("path", ["notebooks/mine.ipynb", "README.md", "x"])
def test_a_folder_of_somebody_else_is_left_alone(tmp_path, path):
    (tmp_path / path).parent.mkdir(exist_ok=True)
    (tmp_path / path).write_text("mine")
    with pytest.raises(ValueError, match="folder must be new, empty, or one that this tool wrote"):
        plain_chapters.write_all(tmp_path)
    assert [file.read_text() for file in tmp_path.rglob("*") if file.is_file()] == ["mine"]


def test_what_is_no_folder_is_refused():
    with pytest.raises(ValueError, match="folder must be a folder, got /dev/null"):
        plain_chapters.write_all(Path("/dev/null"))


@pytest.mark.slow
@pytest.mark.parametrize("name", [pytest.param("02-why-attention", marks=pytest.mark.weekly), "06-attention"])
def test_it_runs_from_the_first_cell_to_the_last_and_the_failing_check_is_read(name, tmp_path):
    chapter = plain.plain(nbformat.read(ROOT / "notebooks" / f"{name}.ipynb", 4))
    NotebookClient(chapter, kernel_name="python3", resources={"metadata": {"path": tmp_path}}).execute()
    said = "".join(output.get("text", "") for cell in cells(chapter, "code") for output in cell.outputs)
    assert "CheckFailed: " in said
    assert "Hint:" in said
