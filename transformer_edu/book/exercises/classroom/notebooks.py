"""The notebooks of a problem set: the student's, the one with solutions, and the rubric."""

import nbformat
from nbformat import NotebookNode
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook

from transformer_edu.book.exercises.classroom.drawing import Drawn
from transformer_edu.book.exercises.classroom.examples import packed
from transformer_edu.book.exercises.classroom.problems import EXAMPLES, IMPORTS, ProblemSet

INSTALL = '''import importlib.util

REPOSITORY = ""  # the address to install the package from, where it is not there yet (Colab)
if importlib.util.find_spec("transformer_edu") is None:
    if not REPOSITORY:
        raise ModuleNotFoundError("transformer_edu is not installed: ask your teacher for the address of the package")
    %pip install --quiet "transformer-edu @ git+{REPOSITORY}"'''
WRITE = "Write your code where `...` stands, and run the cell below it: it tries your function on the examples."
MEND = "Mend the function in its cell, and run the cell below it: it tries your function on the examples."
HOW = """Hidden tests call it with other arguments; each problem says how many of its points they give. You may add
cells and functions of your own. `torch`, `math` and `F` (torch.nn.functional) are there, and what the notebook itself
defines; nothing else of the package is there when you are graded. Hand in this notebook."""
EXAMPLES_CELL = '''# {}
from transformer_edu.book.exercises.classroom import Examples

examples = Examples("""
{}
""")'''
KERNEL = {
    "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
    "language_info": {"name": "python"},
}


def student_notebook(problems: ProblemSet, drawn: list[Drawn], term: str, repository: str = "") -> NotebookNode:
    """The notebook to hand out; `repository` is where its first cell installs the package from, as pip reads it."""
    return _notebook(problems, drawn, term, repository, solved=False)


def solution_notebook(problems: ProblemSet, drawn: list[Drawn], term: str) -> NotebookNode:
    """The notebook with the solutions, each problem with its rubric."""
    return _notebook(problems, drawn, term, "", solved=True)


def written(notebook: NotebookNode) -> bytes:
    """A notebook as its file's bytes."""
    text: str = nbformat.writes(notebook, indent=1, sort_keys=True)
    return text.rstrip("\n").encode() + b"\n"


def handout(problems: ProblemSet, term: str) -> str:
    """What a notebook says that it is, in the cell of its examples."""
    return f"problem set {problems.number}, {' '.join(term.split())}"


def rubric(drawn: Drawn) -> str:
    """What a problem's points are for, and the mistakes that it knows, as Markdown."""
    points = [f"- {group}: {count}" for group, count in drawn.problem.points.items()]
    head = ["mistake", "points it keeps", "why it is one", "hint"]
    known = drawn.problem.mistakes
    rows = [
        [drawn.fill(bug.name), str(drawn.problem.kept(bug)), drawn.fill(bug.why), drawn.fill(bug.hint)] for bug in known
    ]
    table = [f"| {' | '.join(map(_cell, row))} |" for row in [head, ["---"] * len(head), *rows]]
    return "\n".join([f"**Rubric, {drawn.problem.possible} points**", "", *points, "", *table])


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ")


def _notebook(problems: ProblemSet, drawn: list[Drawn], term: str, repository: str, *, solved: bool) -> NotebookNode:
    first = MEND if all(task.problem.broken for task in drawn) else WRITE
    title = f"# Problem set {problems.number}: {problems.title}\n\n*{term}, {problems.possible} points*"
    cells = [
        new_markdown_cell(f"{title}\n\n{problems.introduction.strip()}\n\n{first} {HOW}", id="title"),
        new_code_cell(INSTALL.replace('""', f'"{repository}"', 1), id="install"),
        new_code_cell(
            f"{IMPORTS}\n\n{EXAMPLES_CELL.format(handout(problems, term), packed(drawn))}",
            id="examples",
            metadata={"jupyter": {"source_hidden": True}, "cellView": "form", "tags": ["hide-input"]},
        ),
    ]
    for number, task in enumerate(drawn, start=1):
        name = task.name.replace("_", "-")
        hidden = sum(count for group, count in task.problem.points.items() if group != EXAMPLES)
        shown = task.problem.points[EXAMPLES]
        counts = f"*{task.problem.possible} points: {shown} for the examples, {hidden} for hidden tests.*"
        text = f"## {number}. {task.problem.title}\n\n{task.statement}\n\n{counts}"
        cells.append(new_markdown_cell(text, id=f"{name}-asked"))
        if task.given:
            cells.append(new_code_cell(task.given, id=f"{name}-given"))
        cells.append(new_code_cell(task.solution if solved else task.starter, id=f"{name}-answer"))
        cells.append(new_code_cell(f"examples.check({task.name})", id=f"{name}-check"))
        if solved:
            cells.append(new_markdown_cell(rubric(task), id=f"{name}-rubric"))
    return new_notebook(cells=cells, metadata=KERNEL)
