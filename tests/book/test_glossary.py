"""The glossary: each word linked once in a chapter, in plain prose only, and found by the search."""

import re

import pytest
import terms
from docutils import nodes

from tests.book import built
from tests.conftest import ROOT

CHAPTERS = sorted(path.stem for path in (ROOT / "notebooks").glob("[0-9]*.ipynb"))
ENTRIES = terms.entries((ROOT / "book" / "glossary.md").read_text(encoding="utf-8"))
SENTENCE = re.compile(r"[.!?](?:\s|$)")


def links(page):
    return [found.parent for found in page.select(".bd-article .book-term")]


@pytest.mark.book
@pytest.mark.parametrize("chapter", CHAPTERS)
def test_a_chapter_links_each_entry_at_most_once_and_only_in_prose(chapter, book_html):
    page = built.page(book_html / "notebooks" / f"{chapter}.html")
    found = links(page)
    assert len(found) >= 3, (
        f"{chapter} uses fewer than three words of book/glossary.md: {[link.get_text() for link in found]}"
    )
    words = [entry for link in found for entry in ENTRIES if terms.pattern(entry).fullmatch(link.get_text())]
    assert len(words) == len(set(words)) == len(found)
    for link in found:
        assert link["href"].startswith("../book/glossary.html#term-")
        assert not link.find_parent(["h1", "h2", "h3", "h4", "pre", "code", "math", "figcaption", "summary"])


def test_words_are_found_in_the_plural_and_in_other_case_but_not_inside_others():
    words = terms.pattern(("causal mask", "look-ahead mask"))
    assert words.search("Causal masks block")[1] == "Causal mask"
    assert not words.search("a non-causal masking")
    assert not terms.pattern(("attention",)).search("self-attention")


@pytest.mark.parametrize("box", [nodes.title, nodes.literal, nodes.reference, nodes.math])
def test_headings_code_links_and_formulas_are_no_prose(box):
    text = nodes.Text("attention")
    inner = box("", "")
    inner += text
    nodes.paragraph("", "", inner)
    assert not terms.is_prose(text)


def test_a_paragraph_is_prose():
    paragraph = nodes.paragraph("", "", nodes.Text("attention"))
    assert terms.is_prose(paragraph[0])


def test_no_word_stands_in_two_entries_and_each_entry_names_its_chapter():
    every = [word.lower() for entry in ENTRIES for word in entry]
    assert len(every) == len(set(every))
    text = (ROOT / "book" / "glossary.md").read_text(encoding="utf-8")
    named = re.findall(r"\[Chapter (\d+)\]\(\.\./notebooks/(\d+)-[\w-]+\.ipynb\)", text)
    assert len(named) == len(ENTRIES)
    assert all(int(number) == int(file) for number, file in named)


@pytest.mark.parametrize(
    "definition", terms.BLOCK.search((ROOT / "book" / "glossary.md").read_text(encoding="utf-8"))[1].split("\n\n")
)
def test_a_definition_has_one_to_three_sentences(definition):
    said = definition.splitlines()[-1].rpartition(" [Chapter")[0]
    assert 1 <= len(SENTENCE.findall(said)) <= 3
