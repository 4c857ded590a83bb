"""Every example in a docstring of the package and of the book's extensions gives what it says."""

import doctest
import importlib

import pytest

from tests.conftest import ROOT

SOURCES = sorted(
    path
    for folder in ("transformer_edu", "book/_ext")
    for path in (ROOT / folder).rglob("*.py")
    if ">>> " in path.read_text(encoding="utf-8")
)


def module_name(path):
    parts = path.relative_to(ROOT).with_suffix("").parts
    return parts[-1] if parts[0] == "book" else ".".join(part for part in parts if part != "__init__")


@pytest.mark.long
@pytest.mark.parametrize("path", SOURCES, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_examples_in_docstrings_are_true(path):
    tests, failures = 0, []
    runner = doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE)
    for case in doctest.DocTestFinder(exclude_empty=True).find(importlib.import_module(module_name(path))):
        runner.run(case, out=failures.append)
        tests += len(case.examples)
    assert tests, "its examples are not in docstrings"
    assert not failures, "".join(failures)
