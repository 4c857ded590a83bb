"""A term of the classroom, made once."""

import pytest

from transformer_edu.book.exercises.classroom import term


@pytest.fixture(scope="session")
def sources(root):
    """The problem sets."""
    return term.load_sets(root / "assignments")


@pytest.fixture(scope="session")
def term_folder(tmp_path_factory, sources):
    """A term's folder."""
    folder = tmp_path_factory.mktemp("classroom") / "spring"
    term.make(folder, sources, "spring")
    return folder


@pytest.fixture(scope="session")
def masks(term_folder, sources):
    """What problem set 2 of that term is graded with."""
    return term.material(term_folder, sources, 2)
