"""The small tools: the book's address is set in one place, and a build that failed is repeated."""

import re
import shutil
import subprocess
import sys
import zipfile

import build_book
import nbformat
import pytest
import release
import set_repository

CONFIG = """repository:
  url: ""
  branch: main
launch_buttons:
  colab_url: ""
html:
  use_issues_button: false
  use_repository_button: false
  use_edit_page_button: false
  baseurl: ""
"""
ADDRESS = "https://example.org/someone/book"


def test_the_address_switches_colab_on_and_taking_it_out_switches_it_off(root):
    on = set_repository.set_in_config(CONFIG, ADDRESS, "trunk")
    assert f'url: "{ADDRESS}"\n  branch: trunk' in on
    assert 'colab_url: "https://colab.research.google.com"' in on
    assert "use_issues_button: true" in on, "readers can report an error"
    assert "use_edit_page_button: true" in on
    assert set_repository.set_in_config(on, "", "main") == CONFIG
    assert ADDRESS in set_repository.set_in_config((root / "_config.yml").read_text(), ADDRESS, "main")


@pytest.mark.parametrize(
    ("url", "site"),
    [
        ("https://github.com/Someone/book", "https://someone.github.io/book/"),
        ("https://github.com/someone/someone.github.io", "https://someone.github.io/"),
        (ADDRESS, ""),
        ("", ""),
    ],
)
def test_where_a_repository_is_published_is_known_for_one_host(url, site):
    assert set_repository.published_at(url) == site


def test_a_citation_names_the_addresses_that_there_are_and_forgets_them(root):
    text = (root / "CITATION.cff").read_text(encoding="utf-8")
    on = set_repository.set_in_citation(text, ADDRESS, "https://example.org/")
    assert on.endswith(f'repository-code: "{ADDRESS}"\nurl: "https://example.org/"\n')
    assert set_repository.set_in_citation(on, "", "") == set_repository.set_in_citation(text, "", "")


def test_the_readme_lists_the_chapters_and_says_where_the_book_is(root):
    text = (root / "README.md").read_text(encoding="utf-8")
    listed = re.findall(r"^\d+\. \[(.*)\]\((notebooks/.*)\.ipynb\)$", text, re.M)
    contents = (root / "_toc.yml").read_text(encoding="utf-8")
    assert listed == [(title, file) for file, title in re.findall(r'(notebooks/\S+)\s+title: "\d+\. (.*)"', contents)]
    on = set_repository.set_in_readme(text, "https://github.com/someone/book", "https://someone.github.io/book/")
    assert "Read it at [https://someone.github.io/book/](https://someone.github.io/book/). [Open the first" in on
    assert "/github/someone/book/blob/colab/notebooks/01-the-whole-machine.ipynb)" in on
    assert set_repository.set_in_readme(on, "", "") == text
    with pytest.raises(ValueError, match="found 0"):
        set_repository.set_in_readme("nothing", "", "")


def test_the_same_pages_make_the_same_zip(tmp_path):
    (tmp_path / "_static").mkdir()
    for name in ("index.html", "_static/page.js"):
        (tmp_path / name).write_text(name)
    first = release.zip_of(tmp_path, "book")
    (tmp_path / "index.html").touch()
    assert release.zip_of(tmp_path, "book") == first
    (tmp_path / "book.zip").write_bytes(first)
    assert zipfile.ZipFile(tmp_path / "book.zip").namelist() == ["book/_static/page.js", "book/index.html"]


def test_a_release_names_what_stands_in_its_way(root, tmp_path):
    assert len(set(release.versions(root).values())) == 1, "pyproject.toml, CITATION.cff and CHANGELOG.md agree"
    (tmp_path / "pyproject.toml").write_text('[project]\nversion = "2.0"\n')
    (tmp_path / "CITATION.cff").write_text("version: 1.0\n")
    (tmp_path / "CHANGELOG.md").write_text("## [Unreleased]\n\n- New\n\n## [2.0] - 2026-01-01\n")
    release.subprocess.run(["git", "init", "-q"], cwd=tmp_path, check=True)
    found = " ".join(release.obstacles(tmp_path))
    assert all(word in found for word in ("not committed", "1.0", "Unreleased"))


def test_every_action_is_pinned_to_a_commit_and_the_fast_tests_are_those_of_make(root):
    flows = {path.name: path.read_text(encoding="utf-8") for path in (root / ".github" / "workflows").glob("*.yml")}
    used = [line for text in flows.values() for line in text.splitlines() if "uses:" in line]
    assert used
    for line in used:
        assert re.search(r"uses: [\w-]+/[\w-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+$", line), line
    chosen = re.search(r'-m "(not long[^"]*)"', (root / "Makefile").read_text(encoding="utf-8"))
    assert chosen
    assert chosen[0] in flows["test.yml"]


def test_only_the_setup_cell_learns_the_address(tmp_path):
    cells = ['REPOSITORY = ""  # filled in\nprint(1)', 'REPOSITORY = "another"']
    path = tmp_path / "06-attention.ipynb"
    nbformat.write(nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell) for cell in cells]), path)
    assert set_repository.set_in_notebook(path, ADDRESS)
    sources = [cell.source for cell in nbformat.read(path, as_version=4).cells]
    assert sources == [f'REPOSITORY = "{ADDRESS}"  # filled in\nprint(1)', cells[1]]


@pytest.mark.parametrize(
    "url",
    [
        *("http://example.org/a/b", "example.org/a/b", "https://example.org/a", "file:///a/b"),
        *(
            'https://example.org/a/b"',
            "https://example.org/a/b\n",
            "https://example.org/a/b#c",
            r"https://example.org/a/\1",
        ),
        "https://user:secret@example.org/a/b",
    ],
)
def test_an_address_that_cannot_work_is_refused(url):
    with pytest.raises(ValueError, match="url must be like https://HOST/OWNER/NAME"):
        set_repository.checked(url)


def test_a_secret_in_an_address_is_not_repeated():
    with pytest.raises(ValueError, match=r"got 'https://…@example\.org/a/b'"):
        set_repository.checked("https://user:secret@example.org/a/b")


@pytest.mark.parametrize("branch", ["", 'a"', "a b", "a\nb", "a#b", r"\1", "/a"])
def test_a_branch_that_would_break_a_file_is_refused(branch):
    with pytest.raises(ValueError, match="branch must be made of"):
        set_repository.checked_branch(branch)
    assert set_repository.checked_branch("release/1.0-rc_1") == "release/1.0-rc_1"


@pytest.mark.long
def test_a_refusal_on_the_command_line_says_what_was_expected(root):
    command = [sys.executable, str(root / "tools" / "set_repository.py"), "https://example.org/a"]
    told = subprocess.run(command, capture_output=True, text=True)
    assert told.returncode == 2
    assert "url must be like https://HOST/OWNER/NAME, or empty, got 'https://example.org/a'" in told.stderr


def test_every_tool_writes_whole_files(root):
    own = re.compile(
        r"\.write_(?:text|bytes)\(|nbformat\.write\(|shutil\.copy|screenshot\(path|open\([^)]*[\"'][wax]b?[\"']"
    )
    before = {root / "tools" / "javascript.py"}  # setup.py runs it, before the package is there; it moves whole folders
    for tool in set((root / "tools").glob("*.py")) - before:
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


@pytest.mark.weekly
@pytest.mark.slow
def test_a_page_with_a_warning_is_not_built_and_a_mended_one_is(small_book):
    page = small_book / "book" / "intro.md"
    good = page.read_text()
    page.write_text(good + "\nSee [this](no-such-page.md).\n")
    assert build_book.main() != 0
    page.write_text(good)
    assert build_book.main() == 0
    assert "A page" in (small_book / "_build" / "html" / "book" / "intro.html").read_text()


SIGNS = ["og:url", "og:image", 'rel="canonical"', "colab.research.google.com/github/", "/issues/new", "/edit/main/"]
SIGNS += ['href="01-the-whole-machine.ipynb', 'href="https://github.com/someone/book']
BESIDE = ("sitemap.xml", "notebooks/01-the-whole-machine.ipynb")


def signs_in(html):
    page = (html / "notebooks" / "01-the-whole-machine.html").read_text(encoding="utf-8")
    return [sign for sign in SIGNS if sign in page], [name for name in BESIDE if (html / name).exists()]


@pytest.mark.slow
def test_pages_say_addresses_only_where_the_book_has_one(small_book, book_html):
    assert signs_in(book_html) == ([], [])
    config, address = small_book / "_config.yml", "https://github.com/someone/book"
    site = set_repository.published_at(address)
    config.write_text(set_repository.set_in_config(config.read_text(), address, "main", site))
    toc = "format: jb-book\nroot: book/intro\nchapters:\n  - file: notebooks/01-the-whole-machine\n"
    (small_book / "_toc.yml").write_text(toc)
    (small_book / "notebooks").mkdir()
    chapter = nbformat.v4.new_notebook(cells=[nbformat.v4.new_markdown_cell("# A chapter\n\nIts first words.")])
    nbformat.write(chapter, small_book / "notebooks" / "01-the-whole-machine.ipynb")
    assert build_book.main() == 0
    assert signs_in(small_book / "_build" / "html") == (SIGNS, [*BESIDE])


def test_a_build_is_repeated_until_it_ends_well_and_then_only_for_a_change(small_book, monkeypatch):
    ends = iter([1, 1, 0, 0, 0, 0, 1, 0])
    monkeypatch.setattr(build_book, "build", lambda: next(ends))
    build_book.BUILD.mkdir()
    assert [build_book.main() for _ in range(4)] == [1, 1, 0, 0]
    for content in ("", "abc"):  # a stamp that was cut off is none
        (build_book.BUILD / "built.txt").write_text(content)
        assert build_book.main() == 0
    for text in ("# Another\n", "# On top of what a build has left that was cut off\n"):
        (small_book / "book" / "intro.md").write_text(text)
        assert build_book.main() == 0
    assert not list(ends)
