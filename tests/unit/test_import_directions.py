"""The rooms of the package, lowest first: a module imports from its own room and from those below it, and nothing else.

Every import counts, those inside functions and under TYPE_CHECKING too. `transformer_edu/__init__.py` may import all.
"""

import ast
from collections import defaultdict

import pytest

ROOMS = (
    "support",
    "paper",  # the modules beside __init__.py
    "data",
    "saving",
    "decoding",
    "inspection",
    "training",
    "fast",  # it puts a quicker loss in the place of training's, too
    "translator",
    "recordings",
    "pretrained",
    "plots",
    "engine",
    "widgets",
    "checks",
    "judge",
    "classroom",
    "commands",
    "experiments",  # they run the commands, as the half hour of training
)
PACKAGE = "transformer_edu"
Graph = dict[str, dict[str, set[str]]]  # room -> room that it imports from -> the modules that do


def room_of(module, package):
    """The room that a dotted name leads to; what is neither a folder nor a file is a name of the whole package."""
    first = module.split(".")[1]
    if (package / first).is_dir():
        return first
    return "paper" if (package / f"{first}.py").exists() else f"{PACKAGE} itself"


def imported(tree):
    """The dotted names under the package that a module imports; `__version__` and its like are nobody's."""
    found = set[str]()
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom):
            assert not node.level, "write imports in full"
            found |= {f"{node.module}.{item.name}" for item in node.names}
        elif isinstance(node, ast.Import):
            found |= {item.name for item in node.names}
    inside = {name for name in found if name.startswith(f"{PACKAGE}.")}
    return {name for name in inside if not name.startswith(f"{PACKAGE}.__")}


def graph_of(package):
    graph: Graph = defaultdict(lambda: defaultdict(set))
    for path in sorted(package.rglob("*.py")):
        place = path.relative_to(package)
        if place.as_posix() not in ("__init__.py", "__main__.py"):
            room = place.parts[0] if len(place.parts) > 1 else "paper"
            for name in imported(ast.parse(path.read_text(encoding="utf-8"))):
                graph[room][room_of(name, package)].add(place.as_posix())
    return graph


def upwards(graph):
    """The imports that lead to a room above, each with the modules that import."""
    height = {room: place for place, room in enumerate(ROOMS)}
    wrong = [
        (room, target, modules)
        for room, targets in graph.items()
        for target, modules in targets.items()
        if height.get(target, len(ROOMS)) > height[room]
    ]
    return [f"{room} -> {target}: {', '.join(sorted(modules))}" for room, target, modules in wrong]


def drawn(graph):
    """The graph, a line for each room."""
    return "\n".join(f"{room:>12} <- {', '.join(sorted(graph[room].keys() - {room}))}" for room in ROOMS)


def test_every_import_leads_to_the_same_room_or_to_one_below(root):
    graph = graph_of(root / PACKAGE)
    assert set(graph) <= set(ROOMS)
    assert not upwards(graph), f"{upwards(graph)}\nroom <- what it imports from:\n{drawn(graph)}"


@pytest.mark.parametrize(
    ("line", "found"),
    [
        ("from transformer_edu.training.loop import train", "data -> training: data/batches.py"),
        ("def f():\n    import transformer_edu.widgets", "data -> widgets: data/batches.py"),
        ("if TYPE_CHECKING:\n    from transformer_edu import widgets", "data -> widgets: data/batches.py"),
        ("from transformer_edu import EncoderLayer", "data -> transformer_edu itself: data/batches.py"),
        ("from transformer_edu import __version__", None),
        ("from transformer_edu.masks import padding_mask", None),
    ],
)
def test_an_import_that_leads_upwards_is_named(tmp_path, line, found):
    for name, text in {"masks.py": "", "data/batches.py": line, "training/loop.py": "", "widgets/base.py": ""}.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    assert upwards(graph_of(tmp_path)) == ([found] if found else [])
