"""What all tests share: shape and type checks switched on in the package, one thread for torch, folders, markers."""

import os
import re
from contextlib import contextmanager
from pathlib import Path

import jaxtyping
import pytest
from hypothesis import HealthCheck, settings
from jaxtyping import install_import_hook

ROOT = Path(__file__).resolve().parent.parent

# Before anything imports the package: every annotated shape and type in it is now checked when it is called. `make
# check` does without (JAXTYPING_DISABLE=1): it has mypy, and half the time goes to these checks. So do the judge,
# which defines functions in functions by the ten thousand (each definition would be compiled anew), and the classroom.
if not jaxtyping.config.jaxtyping_disable:
    package = ROOT / "transformer_edu"
    folders = (package, package / "book", package / "book" / "exercises")
    rooms = [path for folder in folders for path in folder.iterdir() if path.suffix in ("", ".py")]
    checked = [path for path in rooms if path.stem not in ("book", "exercises", "judge", "classroom")]
    names = sorted(".".join(path.relative_to(ROOT).with_suffix("").parts) for path in checked)
    install_import_hook(names, "beartype.beartype")

import javascript  # noqa: E402  tools/javascript.py
import light_nbformat  # noqa: E402, F401  before anything that loads nbformat
import torch  # noqa: E402

from tests.turns import turn_of_this_commit, whose_turn  # noqa: E402

FOLDER_MARKERS = {"book": "book", "browser": "browser"}
ALL_MARKED = r"(?m)^pytestmark = \[?\s*pytest\.mark\.(\w+)"  # of a file
UNCOUNTED = {"notebooks", "book", "browser", "properties", "parity"}
torch.set_num_threads(1)

# No test fails because a machine is busy: no deadline for an example, no complaint that making one took long. In CI
# the examples are the same each time; elsewhere each run looks at new ones.
settings.register_profile(
    "any machine",
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
    derandomize=bool(os.environ.get("CI")),
    database=None,
)
settings.load_profile("any machine")


def pytest_addoption(parser):
    """`--turns 8`: of the long tests and of each table of alike cases, only those whose turn it is."""
    parser.addoption("--turns", type=int, default=1, help="of long tests and alike cases, run every N-th (default all)")
    parser.addoption("--whole", nargs="*", default=(), help="folders of tests/ that take no turns")


def pytest_ignore_collect(collection_path, config):
    """Where long tests are left out, a file that has no others is not even read."""
    left_out = re.findall(r"not (\w+)", config.option.markexpr)
    if left_out and collection_path.suffix == ".py":
        marked = re.search(ALL_MARKED, collection_path.read_text(encoding="utf-8"))
        return True if marked and marked[1] in left_out else None
    return None


def pytest_collection_modifyitems(config, items):
    """Mark tests by what they need, leave out what waits for its turn, and put the chapters first, then slow files.

    The lines that run are counted in fast tests alone: counting doubles the time, and the others run the same lines.
    """
    for item in items:
        folder = item.path.relative_to(ROOT).parts[-2]
        if folder in FOLDER_MARKERS:
            item.add_marker(FOLDER_MARKERS[folder])
        if folder in UNCOUNTED or item.get_closest_marker("slow") or item.get_closest_marker("weekly"):
            item.add_marker("no_cover")
    if config.option.turns > 1:
        waiting = [item for item in items if not item.get_closest_marker("weekly")]
        kept = set(whose_turn(waiting, config.option.turns, turn_of_this_commit(ROOT), config.option.whole))
        config.hook.pytest_deselected(items=[item for item in items if item not in kept])
        items[:] = [item for item in items if item in kept]
    uncounted = {item.path for item in items if item.get_closest_marker("no_cover")}
    items.sort(key=lambda item: (item.path.suffix != ".ipynb", item.path not in uncounted))


def pytest_configure(config):
    """Join the figures' modules anew, if they have changed; once, where several processes test."""
    if not hasattr(config, "workerinput"):
        javascript.bundle()


@contextmanager
def unchecked():
    """Without the shape and type checks of the tests."""
    before = jaxtyping.config.jaxtyping_disable
    jaxtyping.config.update("jaxtyping_disable", True)
    yield
    jaxtyping.config.update("jaxtyping_disable", before)


@pytest.fixture
def as_readers_run_it():
    """Without the shape and type checks of the tests, whose errors come before the package's own."""
    with unchecked():
        yield


@pytest.fixture(scope="module")
def at_readers_speed():
    """For a file, its fixtures included, that trains and decodes at length with parts that other files check.

    The checks of each call take twice the time of training itself.
    """
    with unchecked():
        yield


@pytest.fixture(scope="session")
def root():
    """The repository's root."""
    return ROOT


@pytest.fixture(scope="session")
def book_html():
    """The folder of the built book."""
    folder = ROOT / "_build" / "html"
    if not (folder / "index.html").exists():
        pytest.fail("the book is not built: run `make book` first (`make test` does)")
    return folder


@pytest.fixture(scope="session")
def corpus_folder():
    """The folder of the Multi30k copy that TRANSFORMER_EDU_DATA names."""
    folder = os.environ.get("TRANSFORMER_EDU_DATA")
    if not folder:
        pytest.skip("TRANSFORMER_EDU_DATA names no copy of Multi30k")
    return Path(folder)
