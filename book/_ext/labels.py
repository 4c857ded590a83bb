"""What a folded cell does, in words, read from its code and from what stands under it: for the bar that hides it."""

import ast
from collections.abc import Iterator

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
    try:
        body = ast.parse(source).body
    except SyntaxError:  # a command of IPython
        body = []
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


def kind_shown(html: str, picture: bool, text: bool) -> str:
    """What stands under a cell: one of FIGURE, PLOT, TABLE, TEXT, NOTHING.

    Args:
        html: its HTML outputs.
        picture: whether a picture is there.
        text: whether text is there.
    """
    found = {FIGURE: any(mark in html for mark in MARKS), PLOT: picture, TABLE: "<table" in html, TEXT: text}
    return next((kind for kind, is_there in found.items() if is_there), NOTHING)


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
