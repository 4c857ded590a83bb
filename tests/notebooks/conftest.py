"""Shared by the tests of the chapters."""

import nbformat
import pytest


@pytest.fixture(scope="session")
def chapters(root):
    """Every chapter as a notebook, by its file's name without the ending."""
    return {path.stem: nbformat.read(path, as_version=4) for path in sorted((root / "notebooks").glob("[0-9]*.ipynb"))}
