"""A change re-runs the chapters that it can change, and no others."""

import nbformat
import pytest
from fingerprint import Sources, fingerprint

from transformer_edu.book.figures import Figure
from transformer_edu.book.figures.model_figure import ModelFigure

FILES = {
    "__init__.py": "from transformer_edu.attention import Attention\nfrom .masks import causal_mask as mask\n"
    "from transformer_edu.positional import table\n__version__ = '1'\nLATER = {'drawings': 'plots'}\n",
    "attention.py": "from transformer_edu.masks import causal_mask\nfrom transformer_edu import shapes\n"
    "class Attention: ...\n",
    "masks.py": '"""Masks."""\n\ndef causal_mask():\n    """See three-seeds."""\n    return 1\n',
    "shapes.py": "BATCH = 1\n",
    "positional.py": "def table(): ...\n",
    "unused.py": "X = 1\n",
    "plots/__init__.py": "from transformer_edu.plots.heat import heatmap\nfrom .curves import curve\n",
    "plots/heat.py": "def heatmap():\n    from transformer_edu.masks import causal_mask\n",
    "plots/curves.py": "def curve(): ...\n",
    "pretrained/__init__.py": "from .grammar import load_grammar\nfrom .translator import load_translator\n",
    "pretrained/grammar.py": "def load_grammar(): ...\n",
    "pretrained/grammar.safetensors": "weights\n",
    "pretrained/translator.py": "FOLDER = 'de-en'\ndef load_translator(): ...\n",
    "pretrained/de-en/model.safetensors": "weights\n",
    "pretrained/de-en/log.jsonl": "{}\n",
    "checks/__init__.py": "from pkgutil import iter_modules\nfrom transformer_edu.checks import parts\n"
    "FOUND = iter_modules(parts.__path__)\ndef catalogue(): ...\n",
    "checks/parts/__init__.py": "",
    "checks/parts/mask.py": "from transformer_edu import mask\ndef check_mask(): ...\n",
    "checks/parts/table.py": "def check_table(): ...\n",
    "recordings/__init__.py": "def load(name): ...\n",
    "recordings/three-seeds.json": "{}\n",
    "recordings/other.json": "{}\n",
    "widgets/__init__.py": "from .stepper import Stepper\n",
    "widgets/stepper.py": "from transformer_edu.widgets import base\nclass Stepper: ...\n",
    "widgets/base.py": "CORE = 'js/core.js'\n",
    "widgets/js/stepper.js": "1;\n",
    "widgets/js/core.js": "2;\n",
    "widgets/css/stepper.css": "a {}\n",
    "widgets/view.py": "SCRIPT = 'view/draw.js'\n",
    "widgets/view/draw.js": "3;\n",
}


@pytest.fixture
def house(tmp_path):
    for name, text in FILES.items():
        path = tmp_path / "transformer_edu" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return tmp_path


def chapter(*cells):
    return nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell) for cell in cells])


def mark(house, code):
    return fingerprint(chapter("setup = 1", code), house)


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ("from transformer_edu import Attention", {"attention.py", "masks.py", "shapes.py"}),
        ("from transformer_edu import mask", {"masks.py"}),
        ("import transformer_edu as te\nte.table()", {"positional.py"}),
        ("import transformer_edu.masks", {"masks.py"}),
        ("from transformer_edu.plots import curve", {"plots/curves.py"}),
        ("from transformer_edu import plots\nplots.heatmap()", {"plots/heat.py", "masks.py"}),
        ("from transformer_edu import drawings\ndrawings.heatmap()", {"plots/heat.py", "masks.py"}),
        (  # a package passed about whole
            "from transformer_edu import plots\nprint(plots)",
            {"plots/__init__.py", "plots/heat.py", "plots/curves.py", "masks.py"},
        ),
        (
            "from transformer_edu import pretrained\npretrained.load_grammar()",
            {"pretrained/grammar.py", "pretrained/grammar.safetensors"},
        ),
        (
            "from transformer_edu.pretrained import load_translator",
            {"pretrained/translator.py", "pretrained/de-en/model.safetensors", "pretrained/de-en/log.jsonl"},
        ),
        ("from transformer_edu import checks\nchecks.check_mask()", {"checks/parts/mask.py", "masks.py"}),
        (  # what walks through a folder depends on all of it
            "from transformer_edu import checks\nchecks.catalogue()",
            {
                "checks/__init__.py",
                "checks/parts/__init__.py",
                "checks/parts/mask.py",
                "checks/parts/table.py",
                "masks.py",
            },
        ),
        ("%matplotlib inline\nimport math", set()),
        (
            "from transformer_edu import recordings\nrecordings.load('three-seeds')",
            {"recordings/__init__.py", "recordings/three-seeds.json"},
        ),
        ("from transformer_edu.widgets import Stepper", {"widgets/stepper.py", "widgets/base.py"}),
        ("from transformer_edu.widgets import view", {"widgets/view.py", "widgets/view/draw.js"}),
    ],
)
def test_code_reaches_exactly_the_files_it_can_depend_on(house, code, expected):
    found = Sources(house).reached_by([code])
    assert {path.relative_to(house / "transformer_edu").as_posix() for path in found} == expected


REMARK = FILES["masks.py"].replace("return 1", "return (1)  # why").replace("See three-seeds", "In other words")


USES = "from transformer_edu import Attention"
PRINTS = [
    "import inspect, transformer_edu as te\nprint(inspect.getsource(te.mask))",
    "from transformer_edu import masks\nhelp(masks.causal_mask)",
    "from transformer_edu import mask, Attention\nprint(mask.__doc__)",
    "from transformer_edu import mask\nmask?",
    "import inspect, transformer_edu as te\nfor f in [te.mask]:\n    print(inspect.getsource(f))",
]
PRINTS_NOT = [
    USES,
    "import inspect, transformer_edu as te\ndef own(): te.mask()\nprint(inspect.getsource(own))",
    "import inspect, transformer_edu as te\nte.mask()\nprint(inspect.getsource(te.table))",
]


@pytest.mark.parametrize(
    ("code", "name", "text", "changes"),
    [
        (USES, "masks.py", FILES["masks.py"].replace("return 1", "return 2"), True),
        (USES, "shapes.py", "BATCH = 2\n", True),
        (USES, "positional.py", "def table(): return 2\n", False),
        (USES, "unused.py", "X = 2\n", False),
        (USES, "__init__.py", FILES["__init__.py"].replace("1", "2"), False),
        (USES, "recordings/three-seeds.json", "[]", False),
        *((code, "masks.py", REMARK, code in PRINTS) for code in PRINTS + PRINTS_NOT),
    ],
)
def test_what_a_chapter_runs_or_prints_changes_its_mark_and_nothing_else_does(house, code, name, text, changes):
    before = mark(house, code)
    (house / "transformer_edu" / name).write_text(text)
    assert (mark(house, code) != before) == changes


def test_the_setup_cell_and_prose_may_change_and_other_cells_may_not(house):
    notebook, before = chapter("setup = 2", "print(1)"), fingerprint(chapter("setup = 1", "print(1)"), house)
    notebook.cells.insert(1, nbformat.v4.new_markdown_cell("More words."))
    assert fingerprint(notebook, house) == before
    assert fingerprint(chapter("setup = 1", "print(2)"), house) != before


WEIGHTS = {
    "load_grammar(": "pretrained/grammar.safetensors",
    "load_translator(": "multi30k-de-en/model.safetensors",
    "load_stories(": "stories/model.safetensors",
}


@pytest.mark.long
def test_a_chapter_depends_on_the_weights_that_it_or_its_figures_load_alone(root):
    sources, reach = Sources(root), dict[str, set[str]]()
    figures = [f"{figure.__name__}(" for figure in Figure.registry.values() if issubclass(figure, ModelFigure)]
    for path in sorted((root / "notebooks").glob("[0-9]*.ipynb")):
        code = [cell.source for cell in nbformat.read(path, as_version=4).cells if cell.cell_type == "code"]
        found = sources.reached_by(code)
        assert not [file for file in found if {"js", "css"} & set(file.relative_to(root).parts)]
        reach[path.stem] = {f"{file.parent.name}/{file.name}" for file in found}
        calls = {call for cell in code for call in (*figures, *WEIGHTS) if call in cell}
        for call, weights in WEIGHTS.items():
            if call in calls or not calls & set(figures):
                assert (weights in reach[path.stem]) == (call in calls), path.stem
    assert set(WEIGHTS.values()) <= set().union(*reach.values())
