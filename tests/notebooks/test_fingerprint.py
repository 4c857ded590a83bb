"""A change re-runs the chapters that it can change, and no others."""

from collections.abc import Callable
from pathlib import Path

import nbformat
import pytest
from fingerprint import Sources, fingerprint
from nbformat import NotebookNode

FILES = {
    "__init__.py": "from transformer_edu.attention import Attention\nfrom .masks import causal_mask as mask\n"
    "from transformer_edu.positional import table\n__version__ = '1'\n",
    "attention.py": "from transformer_edu.masks import causal_mask\nfrom transformer_edu import shapes\n"
    "class Attention: ...\n",
    "masks.py": "def causal_mask(): ...\n",
    "shapes.py": "BATCH = 1\n",
    "positional.py": "def table(): ...\n",
    "unused.py": "X = 1\n",
    "plots/__init__.py": "from transformer_edu.plots.heat import heatmap\nfrom .curves import curve\n",
    "plots/heat.py": "def heatmap():\n    from transformer_edu.masks import causal_mask\n",
    "plots/curves.py": "def curve(): ...\n",
    "lazy/__init__.py": "_HOME = {'thing': 'inner', 'other': 'transformer_edu.lazy.outer'}\n"
    "def __getattr__(name): ...\n",
    "lazy/inner.py": "thing = 1\n",
    "lazy/outer.py": "other = 1\n",
    "pretrained/__init__.py": "def load_pretrained(name): ...\n",
    "pretrained/grammar.safetensors": "weights\n",
    "widgets/__init__.py": "from .stepper_figure import StepperFigure\n",
    "widgets/stepper_figure.py": "from transformer_edu.widgets import base\nclass StepperFigure: ...\n",
    "widgets/base.py": "CORE = 'js/core.js'\n",
    "widgets/js/stepper-figure.js": "1;\n",
    "widgets/js/core.js": 'export * from "./core/grid.js";\n',
    "widgets/js/core/grid.js": "2;\n",
    "widgets/js/other.js": "3;\n",
}


@pytest.fixture
def house(tmp_path: Path) -> Path:
    for name, text in FILES.items():
        path = tmp_path / "transformer_edu" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    recording = tmp_path / "transformer_edu" / "recordings" / "three-seeds.json"
    recording.parent.mkdir()
    recording.write_text("{}")
    return tmp_path


def chapter(*cells: str) -> NotebookNode:
    return nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell) for cell in cells])


def reached(house: Path, *cells: str) -> set[str]:
    found = Sources(house).reached_by(list(cells))
    return {path.relative_to(house).as_posix().removeprefix("transformer_edu/") for path in found}


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ("from transformer_edu import Attention", {"attention.py", "masks.py", "shapes.py"}),
        ("from transformer_edu import mask", {"masks.py"}),
        ("import transformer_edu as te\nte.table()", {"positional.py"}),
        ("import transformer_edu.masks", {"masks.py"}),
        ("from transformer_edu.plots import curve", {"plots/curves.py"}),
        ("from transformer_edu import plots\nplots.heatmap()", {"plots/heat.py", "masks.py"}),
        ("from transformer_edu.lazy import thing", {"lazy/inner.py"}),
        ("from transformer_edu.lazy import other", {"lazy/outer.py"}),
        (
            "from transformer_edu import pretrained\npretrained.load_pretrained('grammar')",
            {"pretrained/__init__.py", "pretrained/grammar.safetensors"},
        ),
        ("%matplotlib inline\nimport math", set()),
        ("load('three-seeds')", {"transformer_edu/recordings/three-seeds.json"}),
        (
            "from transformer_edu.widgets import StepperFigure",
            {"widgets/stepper_figure.py", "widgets/base.py"}
            | {"widgets/js/stepper-figure.js", "widgets/js/core.js", "widgets/js/core/grid.js"},
        ),
    ],
)
def test_code_reaches_exactly_the_files_it_can_depend_on(house: Path, code: str, expected: set[str]) -> None:
    assert reached(house, code) == expected


def test_a_package_passed_about_whole_counts_with_all_it_exports(house: Path) -> None:
    found = reached(house, "from transformer_edu import plots\nhelp(plots)")
    assert found == {"plots/__init__.py", "plots/heat.py", "plots/curves.py", "masks.py"}


def edit(name: str) -> Callable[[Path], None]:
    def change(house: Path) -> None:
        path = house / "transformer_edu" / name
        path.write_text(path.read_text() + "# changed\n")

    return change


@pytest.mark.parametrize(
    ("name", "changes"),
    [("masks.py", True), ("shapes.py", True), ("positional.py", False), ("unused.py", False), ("__init__.py", False)],
)
def test_a_changed_module_changes_the_mark_of_its_users_only(house: Path, name: str, changes: bool) -> None:
    notebook = chapter("setup = 1", "from transformer_edu import Attention")
    before = fingerprint(notebook, house)
    edit(name)(house)
    assert (fingerprint(notebook, house) != before) == changes


def test_the_setup_cell_may_change_and_other_cells_may_not(house: Path) -> None:
    before = fingerprint(chapter("setup = 1", "print(1)"), house)
    assert fingerprint(chapter("setup = 2", "print(1)"), house) == before
    assert fingerprint(chapter("setup = 1", "print(2)"), house) != before


def test_prose_does_not_count(house: Path) -> None:
    notebook = chapter("setup = 1", "print(1)")
    before = fingerprint(notebook, house)
    notebook.cells.insert(1, nbformat.v4.new_markdown_cell("More words."))
    assert fingerprint(notebook, house) == before
