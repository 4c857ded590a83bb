"""The first cell of a chapter, which installs the package on Colab; what counts as replacing a package of Colab's."""

import importlib.util
import subprocess
import sys
import tomllib

import pytest
import try_colab
from packaging.requirements import Requirement
from try_colab import Trial

ADDRESS = "https://example.org/someone/book"
SAID = "Collecting jaxtyping\nSuccessfully installed jaxtyping-0.3.11 transformer-edu-0.1.0 wadler_lindig-0.1.8\n"
COLAB = {"torch": "2.11.0", "numpy": "2.1.3"}
NEW = {"jaxtyping": "0.3.11", "transformer-edu": "0.1.0", "wadler-lindig": "0.1.8"}


@pytest.fixture(scope="module")
def first_cell(chapters):
    """The one text that the first code cell of every chapter has."""
    first = {next(cell.source for cell in chapter.cells if cell.cell_type == "code") for chapter in chapters.values()}
    assert len(first) == 1, "the first cell must be the same in every chapter"
    return first.pop()


@pytest.fixture
def pip(monkeypatch):
    """The commands that were run instead of pip; the package is missing, and pip ends as `pip.ends` says."""
    commands = []
    ends = {"returncode": 0, "stdout": SAID, "stderr": ""}

    def run(command, **_):
        commands.append(command)
        return subprocess.CompletedProcess(command, **ends)

    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    monkeypatch.setattr(subprocess, "run", run)
    return commands, ends


def test_in_the_book_as_it_is_stored_the_first_cell_does_nothing(first_cell, pip, monkeypatch, capsys):
    assert 'REPOSITORY = ""' in first_cell
    with pytest.raises(ModuleNotFoundError, match="run `pip install"):
        exec(first_cell, {})
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: "here")
    exec(first_cell, {})
    assert capsys.readouterr().out == ""
    assert pip[0] == []


def test_on_colab_the_first_cell_installs_from_the_address_and_says_what(first_cell, pip, capsys):
    exec(first_cell.replace('REPOSITORY = ""', f'REPOSITORY = "{ADDRESS}"'), {})
    assert pip[0] == [[sys.executable, "-m", "pip", "install", f"transformer-edu[chapters] @ git+{ADDRESS}"]]
    begins, *_, ends = capsys.readouterr().out.splitlines()
    assert ADDRESS in begins
    assert ends == SAID.splitlines()[-1]


def test_an_installation_that_failed_stops_the_chapter_with_pip_s_reason(first_cell, pip):
    pip[1].update(returncode=1, stderr="fatal: repository not found")
    with pytest.raises(RuntimeError, match="fatal: repository not found"):
        exec(first_cell.replace('REPOSITORY = ""', f'REPOSITORY = "{ADDRESS}"'), {})


def test_the_package_asks_for_nothing_that_colab_has_in_another_version(root):
    listed = try_colab.listed(try_colab.LISTED.read_text(encoding="utf-8"))
    assert listed["torch"] == "2.11.0"
    project = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    wanted = [Requirement(line) for line in project["dependencies"] + project["optional-dependencies"]["chapters"]]
    for package in wanted:
        assert package.name not in listed or package.specifier.contains(listed[package.name]), str(package)
    assert {package.name for package in wanted} - listed.keys() == {"jaxtyping", "sacrebleu", "bertviz"}


def test_only_a_version_that_changed_or_a_package_that_went_is_replaced():
    assert try_colab.replaced(COLAB, COLAB | NEW) == []
    assert try_colab.replaced(COLAB, COLAB | {"torch": "2.11.0+cpu"}) == [], "another build of the same version"
    assert try_colab.replaced(COLAB, {"torch": "2.13.0"}) == ["torch 2.11.0 -> 2.13.0", "numpy 2.1.3 -> gone"]


def test_a_trial_passes_if_the_first_cell_said_what_it_installed_and_nothing_was_replaced():
    said = Trial(SAID.splitlines()[-1], 9.0, 20.0, "")
    assert try_colab.faults(said, COLAB, COLAB | NEW) == []
    assert try_colab.faults(Trial("", 9.0, 20.0, ""), COLAB, COLAB | NEW) == [
        "the first cell did not say that it installed jaxtyping, transformer-edu, wadler-lindig"
    ]
    assert try_colab.faults(said, COLAB, COLAB) == ["transformer-edu was not installed"]
    assert try_colab.faults(Trial("", 9.0, 0.0, "ValueError"), COLAB, COLAB)[0] == "ValueError"
    assert try_colab.faults(said, COLAB, COLAB | NEW | {"numpy": "2.2.0"}) == ["replaced: numpy 2.1.3 -> 2.2.0"]


def test_a_list_of_versions_is_read_without_its_remarks():
    text = "# Colab's\nJinja2==3.1.6\ntyping_extensions==4.16.0  # why\n\n"
    assert try_colab.listed(text) == {"jinja2": "3.1.6", "typing-extensions": "4.16.0"}
