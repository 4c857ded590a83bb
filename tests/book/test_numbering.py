"""Figures and equations have the number of their chapter; what names one leads there, and the index lists them all."""

import re
from types import SimpleNamespace

import nbformat
import numbering
import pytest
from back_index import BackIndex, Spoken
from docutils import nodes

from tests.book import built
from tests.conftest import ROOT

CHAPTERS = sorted((ROOT / "notebooks").glob("[0-9]*.ipynb"))
DISPLAYED = re.compile(r"\$\$.+?\$\$", re.S)


@pytest.mark.parametrize("chapter", CHAPTERS, ids=lambda path: path.stem)
def test_equations_are_numbered_without_a_gap_as_jupyter_prints_them(chapter):
    cells = nbformat.read(chapter, 4).cells
    equations = [latex for cell in cells if cell.cell_type == "markdown" for latex in DISPLAYED.findall(cell.source)]
    said = [re.findall(r"\\tag\{(.*?)\}\s*\$\$$", formula) for formula in equations]
    assert said == [[f"{int(chapter.stem[:2])}.{i}"] for i in range(1, len(equations) + 1)]


@pytest.mark.book
@pytest.mark.parametrize("chapter", CHAPTERS, ids=lambda path: path.stem)
def test_each_equation_and_each_picture_of_the_built_chapter_has_its_number(chapter, book_html):
    page, number = built.page(book_html / "notebooks" / f"{chapter.stem}.html"), int(chapter.stem[:2])
    equations = page.select(".bd-article div.math")
    assert [formula["id"] for formula in equations] == [f"equation-{number}-{i}" for i in range(1, len(equations) + 1)]
    assert [formula.select_one(".eqno").get_text() for formula in equations] == [
        f"({number}.{i})" for i in range(1, len(equations) + 1)
    ]
    shown = page.select(".cell_output:has(.te-figure, .te-bertviz, img.only-light)")
    assert shown, "a chapter has figures"
    assert [output["id"] for output in shown] == [f"figure-{number}-{i}" for i in range(1, len(shown) + 1)]
    assert [label.get_text() for label in page.select(".book-caption > .book-number:first-child")] == [
        f"Figure {number}.{i}" for i in range(1, len(shown) + 1)
    ]


@pytest.mark.book
def test_the_index_lists_every_figure_equation_and_word(book_html):
    index = built.page(book_html / "book" / "book-index.html")
    pages = {path.stem: built.page(path) for path in (book_html / "notebooks").glob("[0-9]*.html")}
    for kind, selector in (("figures", ".book-number"), ("equations", ".eqno")):
        there = [
            re.sub(r"[^\d.]", "", label.get_text()) for name in sorted(pages) for label in pages[name].select(selector)
        ]
        listed = [item.select_one("a").get_text() for item in index.select(f"#{kind} .book-index li")]
        assert listed == there
    lines = {line.get_text().split(":")[0]: line for line in index.select("#words .book-index li")}
    assert "see residual connection" in lines["skip connection"].get_text()
    mask = {link["href"].partition("#")[0]: link for link in lines["causal mask"].select("a")}
    assert mask["../notebooks/10-decoder.html"].select_one("strong").get_text() == "10"
    assert "../notebooks/06-attention.html" in mask
    words = [line for line in lines.values() if ": see " not in line.get_text()]
    assert all(len(line.select("a")) >= 2 for line in words), "a word that leads to no chapter"


@pytest.mark.book
def test_words_that_name_an_equation_or_a_figure_lead_there(book_html):
    page = built.page(book_html / "notebooks" / "13-training.html")
    links = {link.get_text(): link["href"] for link in page.select(".bd-article p a")}
    assert links["equation\N{NO-BREAK SPACE}13.2"] == "#equation-13-2"
    assert links["the softmax lab (figure\N{NO-BREAK SPACE}6.4)"] == "06-attention.html#softmax-lab"


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("by equation 6.3.", ["equation 6.3"]),
        ("Equations 6.3", []),
        ("figure 14.12, figure 2.1", ["figure 14.12", "figure 2.1"]),
        ("the paper's equation 3", []),
        ("Equation\N{NO-BREAK SPACE}10.1 says", ["Equation\N{NO-BREAK SPACE}10.1"]),
        ("figure 6.2.1", []),
    ],
)
def test_what_counts_as_the_name_of_one(text, found):
    assert [match[0] for match in numbering.NAMED.finditer(text)] == found


@pytest.fixture
def warnings(monkeypatch):
    said = []
    monkeypatch.setattr(numbering.logger, "warning", lambda *words, **where: said.append(words[0] % words[1:]))
    return said


def numbered(*latex):
    """The equations of a chapter, as the transform leaves them."""
    document = SimpleNamespace(settings=SimpleNamespace(env=None))
    transform = object.__new__(numbering.Number)
    transform.document = document
    blocks = [nodes.math_block(formula, formula) for formula in latex]
    return blocks, [transform.equation(block, f"6.{i}") for i, block in enumerate(blocks, 1)]


def test_a_tag_is_taken_out_of_the_formula(warnings):
    [block], [found] = numbered("a = b \\tag{6.1}")
    assert block.astext() == "a = b"
    assert (found.number, found.anchor, block["ids"]) == ("6.1", "equation-6-1", ["equation-6-1"])
    assert not warnings


@pytest.mark.parametrize("second", ["b", "b \\tag{6.3}", "b \\tag{6.1}", "\\tag{6.2} b"])
def test_a_missing_or_wrong_number_stops_the_build(second, warnings):
    numbered("a \\tag{6.1}", second)
    assert warnings == ["this equation must end in \\tag{6.2}"]


def test_a_chapter_that_is_not_there_is_warned_of(warnings):
    transform = object.__new__(numbering.LinkNumbers)
    env = SimpleNamespace(found_docs={"notebooks/06-attention"})
    transform.document = SimpleNamespace(settings=SimpleNamespace(env=env))
    text = nodes.Text("equation 19.3")
    assert transform.link(text, numbering.NAMED.search(text)).astext() == "equation 19.3"
    assert warnings == ["there is no chapter 19 for 'equation 19.3'"]


def test_a_section_that_introduces_a_word_comes_before_one_that_uses_it_as_often():
    def section(title, *paragraph):
        return nodes.section("", nodes.title("", title), nodes.paragraph("", "", *paragraph))

    wanted = re.compile("mask")
    used = Spoken(section("Padding", nodes.Text("a mask here, a mask there"))).uses(wanted)
    introduced = Spoken(section("Padding", nodes.Text("a "), nodes.strong("", "mask"), nodes.Text("!"))).uses(wanted)
    folded = Spoken(section("Going deeper: a mask", nodes.Text("a mask"))).uses(wanted)
    code = Spoken(section("Padding", nodes.literal("", "mask"))).uses(wanted)
    assert introduced > folded > used > code == 0


def test_a_list_that_is_none_of_the_three_is_an_error():
    directive = object.__new__(BackIndex)
    directive.arguments = ["pictures"]
    directive.state_machine = SimpleNamespace(reporter=SimpleNamespace(severe=None))
    directive.error = lambda text: ValueError(text)
    with pytest.raises(ValueError, match="'pictures' must be one of words, figures, equations"):
        directive.run()
