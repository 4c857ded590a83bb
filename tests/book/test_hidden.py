"""Folded code: bars say what they hide, and none lies right on top of another."""

import hidden
import labels
import pytest
from docutils import nodes
from docutils.frontend import get_default_settings
from docutils.utils import new_document

from tests.book import built


@pytest.mark.parametrize(
    ("source", "shown", "words"),
    [
        ("import math\nimport torch", labels.NOTHING, "imports"),
        ("from transformer_edu.book.figures import MaskLab\n\nMaskLab()", labels.FIGURE, "calls this figure"),
        ("import math\nimport torch\nMaskLab()", labels.FIGURE, "imports and calls this figure"),
        ("def split(x): ...\nclass Heads: ...", labels.NOTHING, "defines `split`, `Heads`"),
        ("def f(x): ...\nplt.show()", labels.PLOT, "defines `f` and draws this plot"),
        ("print(1)", labels.TEXT, "prints this"),
        ("frame", labels.TABLE, "makes this table"),
        ("with torch.no_grad():\n    one, _ = f()\ntwo = 2\ntwo = 3", labels.NOTHING, "sets up `one`, `two`"),
        ("a = b = c = d = 1", labels.NOTHING, "sets up `a`, `b` and 2 more"),
        ("plt.ioff()", labels.NOTHING, "sets up what follows"),
        ("x = 1\nassert x", labels.NOTHING, "tests this"),
        ("torch.testing.assert_close(x, y)", labels.NOTHING, "tests this"),
        ("%timeit f()", labels.TEXT, "prints this"),
        ("def f(x):\n    assert x", labels.NOTHING, "defines `f`"),
    ],
)
def test_the_words_on_a_bar_say_what_the_code_does(source, shown, words):
    assert labels.what_it_does(source, shown) == f"Code that {words}"


def test_the_bar_above_a_covered_answer_does_not_say_that_it_is_seen():
    assert labels.what_it_does("print(1)", labels.TEXT, answer=True) == "Code that prints the answer"


PROMPT = "Show the {type}"


def cell(code, output="", mode="input", prompt=PROMPT, tag=""):
    """A code cell as MyST-NB hands it over; without a mode its code is open."""
    one = nodes.container(nb_element="cell_code", classes=["cell", tag], prompt_show=prompt)
    if mode:
        one["hide_mode"] = mode
    one += nodes.container("", nodes.literal_block(code, code), nb_element="cell_code_source", classes=["cell_input"])
    if output:
        shown = nodes.literal_block(output, output)
        one += nodes.container("", shown, nb_element="cell_code_output", classes=["cell_output"])
    return one


def bars(*children):
    """What the transform makes of them: the words on each bar, and the codes under it."""
    document = new_document("page", get_default_settings())
    document += children
    hidden.OneBar(document).run()
    return [
        (bar[0].astext(), [block.astext() for block in bar.findall(nodes.literal_block)])
        for bar in document.findall(hidden.details)
    ]


def test_cells_that_follow_each_other_lie_under_one_bar_until_something_is_shown():
    words = nodes.paragraph("", "and")
    made = bars(cell("import a"), cell("print(1)", "1"), cell("print(2)", "2"), cell("x = 1"), words, cell("y = 2"))
    assert made == [
        ("Code that prints this", ["import a", "print(1)"]),
        ("Code that prints this", ["print(2)"]),
        ("Code that sets up x", ["x = 1"]),
        ("Code that sets up y", ["y = 2"]),
    ]


def test_open_code_ends_a_run_and_stays_open():
    made = bars(cell("x = 1"), cell("print(x)", "1", mode=""), cell("y = 2"))
    assert [codes for _, codes in made] == [["x = 1"], ["y = 2"]]


def test_a_cell_that_is_folded_whole_takes_its_output_along_and_others_leave_it():
    assert bars(cell("print(1)", "1", mode="all")) == [("Code that prints this", ["print(1)", "1"])]
    assert bars(cell("print(1)", "1")) == [("Code that prints this", ["print(1)"])]


def test_a_cell_that_is_folded_whole_lies_under_the_bar_of_the_next():
    made = bars(cell("def f(): ...\nprint(1)", "1", mode="all"), cell("print(2)", "2"))
    assert made == [("Code that defines f and prints this", ["def f(): ...\nprint(1)", "1", "print(2)"])]


def test_words_in_a_cell_s_metadata_come_first():
    assert bars(cell("x = 1", prompt="The same in numpy")) == [("The same in numpy", ["x = 1"])]


def test_every_bar_of_the_book_says_what_it_hides_and_none_follows_another(book_html):
    counted = 0
    for path in (book_html / "notebooks").glob("[0-9]*.html"):
        page = built.page(path)
        assert not page.select("details.hide"), f"{path.stem}: MyST-NB's own"
        for bar in page.select("details.te-code"):
            counted += 1
            assert bar.summary.get_text().startswith("Code that ")
            following = bar.find_parent(class_="cell").find_next_sibling()
            alone = not bar.find_next_sibling(class_=["cell_output", "te-covered"])
            assert not (alone and following and following.select_one(":scope > .te-code")), (path.stem, bar.summary)
    assert counted > 200
