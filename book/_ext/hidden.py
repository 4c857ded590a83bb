"""Sphinx extension: folded code lies under one bar that says what it does.

What a bar hides is read from the code itself and from what stands under it: "Code that defines `rows` and draws this
plot". Folded cells that follow each other without a word or an output in between lie under one bar.
"""

import ast
from collections.abc import Iterator
from typing import Any

from docutils import nodes
from folding import details, summary
from sphinx.application import Sphinx
from sphinx.transforms.post_transforms import SphinxPostTransform

FIGURE, PLOT, TABLE, TEXT, NOTHING = "figure", "plot", "table", "text", ""
VERBS = {FIGURE: "calls this figure", PLOT: "draws this plot", TABLE: "makes this table", TEXT: "prints this"}
MARKS = ('class="te-figure', 'class="te-bertviz')
MOST_NAMES = 3


def what_it_does(source: str, shown: str = NOTHING, answer: bool = False) -> str:
    """What a folded cell does, as the words on its bar.

    Args:
        source: the cell's code.
        shown: what stands under it: one of FIGURE, PLOT, TABLE, TEXT, NOTHING.
        answer: whether that is the answer to a question.

    >>> what_it_does("import math\\n\\ndef rows(x): ...\\n\\nprint(rows(2))", TEXT)
    'Code that defines `rows` and prints this'
    >>> what_it_does("import math\\nimport torch")
    'Code that imports'
    """
    body = ast.parse(source).body
    defined = [one.name for one in body if isinstance(one, ast.FunctionDef | ast.ClassDef)]
    imports = [one for one in body if isinstance(one, ast.Import | ast.ImportFrom)]
    done = ["imports"] if len(imports) > 1 and not defined else []
    done += [f"defines {listed(defined)}"] if defined else []
    if shown:
        done.append(f"{VERBS[shown].split()[0]} the answer" if answer else VERBS[shown])
    elif tests(body):
        done.append("tests this")
    elif not done:
        done.append(f"sets up {listed(list(dict.fromkeys(assigned(body))))}")
    return f"Code that {' and '.join(done)}"


def tests(body: list[ast.stmt]) -> bool:
    """Tell whether something is asserted outside of functions."""
    outside = [one for one in body if not isinstance(one, ast.FunctionDef | ast.ClassDef)]
    inside = [node for one in outside for node in ast.walk(one)]
    return any(isinstance(one, ast.Assert) or getattr(one, "attr", "") == "assert_close" for one in inside)


def assigned(body: list[ast.stmt]) -> Iterator[str]:
    """The names that code gives, but for those of loops, in their order."""
    for statement in body:
        inner = statement.body if isinstance(statement, ast.With | ast.For | ast.If) else [statement]
        for one in inner:
            for target in one.targets if isinstance(one, ast.Assign) else []:
                yield from (name.id for name in ast.walk(target) if isinstance(name, ast.Name) and is_given(name))


def is_given(name: ast.Name) -> bool:
    """Tell whether a name is assigned, and not one that is thrown away."""
    return isinstance(name.ctx, ast.Store) and name.id != "_"


def listed(names: list[str]) -> str:
    """Names in a sentence, three at most.

    >>> listed(["a", "b"]), listed(["a", "b", "c", "d", "e"]), listed([])
    ('`a`, `b`', '`a`, `b` and 3 more', 'what follows')
    """
    kept = names if len(names) <= MOST_NAMES else names[: MOST_NAMES - 1]
    more = f" and {len(names) - len(kept)} more" if kept != names else ""
    return ", ".join(f"`{name}`" for name in kept) + more or "what follows"


class OneBar(SphinxPostTransform):
    """Put the folded code of a page under bars, before MyST-NB does (priority 199)."""

    default_priority = 190

    def run(self, **kwargs: Any) -> None:
        """Look through the cells of this page."""
        for parent in {cell.parent: None for cell in self.document.findall(is_folded)}:
            run: list[nodes.container] = []
            for child in list(parent.children):
                if is_folded(child):
                    run.append(child)
                if run and (child is not run[-1] or shown_by(child)):
                    put_under_bar(run)
                    run = []
            if run:
                put_under_bar(run)


def is_folded(cell: nodes.Node) -> bool:
    """Tell whether the code of a cell is to be folded."""
    return isinstance(cell, nodes.container) and cell.get("hide_mode") in ("input", "all")


def shown_by(cell: nodes.Element) -> str:
    """What stands under a cell: one of FIGURE, PLOT, TABLE, TEXT, NOTHING."""
    there = [one for part in cell if part.get("nb_element") == "cell_code_output" for one in part.findall()]
    html = "".join(one.astext() for one in there if isinstance(one, nodes.raw))
    found = {
        FIGURE: any(mark in html for mark in MARKS),
        PLOT: any(isinstance(one, nodes.image) for one in there),
        TABLE: "<table" in html,
        TEXT: any(isinstance(one, nodes.literal_block) for one in there),
    }
    return next((kind for kind, is_there in found.items() if is_there), NOTHING)


def put_under_bar(run: list[nodes.container]) -> None:
    """Put the code of cells that follow each other under one bar, in the last of them."""
    *before, last = run
    source, *rest = last.children
    code = [part for cell in before for part in cell] + [source]
    text = "\n".join(block.astext() for part in code for block in part.findall(nodes.literal_block))
    own = last["prompt_show"]  # from the metadata of the cell; else MyST-NB's, for all cells
    label = what_it_does(text, shown_by(last), "tag_covered" in last["classes"]) if "{type}" in own else own
    box, bar = details(classes=["te-code"], open=False), summary()
    bar += nodes.inline("", "", *words(label))
    last.children = []
    box += [bar, *code]
    box += rest if last["hide_mode"] == "all" else []
    last += [box] if last["hide_mode"] == "all" else [box, *rest]
    for cell in before:
        cell.parent.remove(cell)
    del last["hide_mode"]  # so that it is not folded again


def words(label: str) -> list[nodes.Node]:
    """A label with its names as code."""
    parts = label.split("`")
    return [nodes.literal("", part) if i % 2 else nodes.Text(part) for i, part in enumerate(parts)]


def setup(app: Sphinx) -> dict[str, Any]:
    """Register the transform."""
    app.add_post_transform(OneBar)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
