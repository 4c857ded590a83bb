"""Where a result comes from: this project's commit and no other, and nothing that names a folder."""

import json
import subprocess
from pathlib import Path

import pytest

from transformer_edu.support import provenance


@pytest.fixture
def repository(tmp_path, monkeypatch):
    """A repository with one commit, this project's if it tracks the module; makes it and returns the commit."""
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path.parent))
    author = ("-c", "user.name=a", "-c", "user.email=a@b")

    def git(*arguments):
        return subprocess.run(["git", "-C", tmp_path, *arguments], check=True, capture_output=True, text=True).stdout

    def make(tracked):
        (tmp_path / tracked).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / tracked).write_text("")
        git("init", "-q")
        git("add", tracked)
        git(*author, "commit", "-q", "-m", "one")
        return git("rev-parse", "HEAD").strip()

    monkeypatch.setattr(provenance, "ROOT", tmp_path.resolve())
    return make


def test_this_projects_commit_is_recorded_and_changes_of_its_code_are_marked(repository, tmp_path):
    assert provenance.current_commit() is None, "no repository"
    commit = repository(provenance.THIS)
    assert provenance.current_commit() == commit
    (tmp_path / "notes.py").write_text("")
    assert provenance.current_commit() == commit
    (tmp_path / provenance.THIS).write_text("changed")
    assert provenance.current_commit() == f"{commit}+changes"


def test_somebody_elses_commit_is_not_recorded(repository, tmp_path, monkeypatch):
    repository("their.py")
    assert provenance.current_commit() is None, "the package lies there, and is not tracked"
    installed = tmp_path / ".venv" / "lib"
    (installed / provenance.THIS).parent.mkdir(parents=True)
    (installed / provenance.THIS).write_text("")
    subprocess.run(["git", "-C", tmp_path, "add", "--force", ".venv"], check=True)
    monkeypatch.setattr(provenance, "ROOT", installed.resolve())
    assert provenance.current_commit() is None, "it is tracked, below the top of another repository"


def test_no_folder_is_named():
    text = json.dumps(provenance.provenance("python x.py"))
    assert str(Path.home()) not in text
    assert str(provenance.ROOT) not in text
