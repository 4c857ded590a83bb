"""The small tools: the book's address is set in one place, and a build that failed is repeated."""

import re
import shutil

import build_book
import nbformat
import pytest
import set_repository

CONFIG = """repository:
  url: ""
  branch: main
launch_buttons:
  colab_url: ""
html:
  use_issues_button: false
  use_repository_button: false
"""
ADDRESS = "https://example.org/someone/book"


def test_the_address_switches_colab_on_and_taking_it_out_switches_it_off(root):
    on = set_repository.set_in_config(CONFIG, ADDRESS, "trunk")
    assert f'url: "{ADDRESS}"\n  branch: trunk' in on
    assert 'colab_url: "https://colab.research.google.com"' in on
    assert "use_issues_button: true" in on, "readers can report an error"
    assert set_repository.set_in_config(on, "", "main") == CONFIG
    assert ADDRESS in set_repository.set_in_config((root / "_config.yml").read_text(), ADDRESS, "main")


def test_only_the_setup_cell_learns_the_address(tmp_path):
    cells = ['REPOSITORY = ""  # filled in\nprint(1)', 'REPOSITORY = "another"']
    path = tmp_path / "06-attention.ipynb"
    nbformat.write(nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell) for cell in cells]), path)
    assert set_repository.set_in_notebook(path, ADDRESS)
    sources = [cell.source for cell in nbformat.read(path, as_version=4).cells]
    assert sources == [f'REPOSITORY = "{ADDRESS}"  # filled in\nprint(1)', cells[1]]


@pytest.mark.parametrize("url", ["http://example.org/a/b", "example.org/a/b", "https://example.org/a", "file:///a/b"])
def test_an_address_that_cannot_work_is_refused(url):
    with pytest.raises(ValueError, match="url must be like https://HOST/OWNER/NAME"):
        set_repository.checked(url)


def test_every_tool_writes_whole_files(root):
    own = re.compile(
        r"\.write_(?:text|bytes)\(|nbformat\.write\(|shutil\.copy|screenshot\(path|open\([^)]*[\"'][wax]b?[\"']"
    )
    for tool in (root / "tools").glob("*.py"):
        assert not own.search(tool.read_text(encoding="utf-8")), f"{tool.name} must write through write_atomically"


@pytest.fixture
def small_book(root, tmp_path, monkeypatch):
    """The real configuration around a book of one page."""
    for folder in ("_ext", "_static", "_templates"):
        shutil.copytree(
            root / "book" / folder, tmp_path / "book" / folder, ignore=shutil.ignore_patterns("__pycache__")
        )
    shutil.copy(root / "_config.yml", tmp_path)
    (tmp_path / "_toc.yml").write_text("format: jb-book\nroot: book/intro\n")
    (tmp_path / "book" / "references.bib").write_text("")
    (tmp_path / "book" / "intro.md").write_text("# A page\n\nAnd $x^2$.\n")
    monkeypatch.setenv("PYTHONPATH", str(root))
    monkeypatch.setattr(build_book, "ROOT", tmp_path)
    monkeypatch.setattr(build_book, "BUILD", tmp_path / "_build")
    return tmp_path


@pytest.mark.slow
def test_a_page_with_a_warning_is_not_built_and_a_mended_one_is(small_book):
    page = small_book / "book" / "intro.md"
    good = page.read_text()
    page.write_text(good + "\nSee [this](no-such-page.md).\n")
    assert build_book.main() != 0
    page.write_text(good)
    assert build_book.main() == 0
    assert "A page" in (small_book / "_build" / "html" / "book" / "intro.html").read_text()


def test_a_build_is_repeated_until_it_ends_well_and_then_only_for_a_change(small_book, monkeypatch):
    ends = iter([1, 1, 0, 0, 0, 0])
    monkeypatch.setattr(build_book, "build", lambda: next(ends))
    build_book.BUILD.mkdir()
    assert [build_book.main() for _ in range(4)] == [1, 1, 0, 0]
    for content in ("", "abc"):  # a stamp that was cut off is none
        (build_book.BUILD / "built.txt").write_text(content)
        assert build_book.main() == 0
    (small_book / "book" / "intro.md").write_text("# Another\n")
    assert build_book.main() == 0
    assert not list(ends)
