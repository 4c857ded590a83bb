"""The head of a page: one title, one viewport, a description; neighbours are named with their numbers."""

import re
from types import SimpleNamespace

import head
import pytest
from docutils import nodes

from tests.book import built
from tests.conftest import ROOT

PAGES = sorted(
    path.relative_to(ROOT).with_suffix("").as_posix()
    for part, kind in (("notebooks", "[0-9]*.ipynb"), ("book", "*.md"))
    for path in (ROOT / part).glob(kind)
)


@pytest.mark.parametrize("name", PAGES)
def test_a_page_has_one_title_one_viewport_and_says_what_it_is_about(name, book_html):
    page = built.page(book_html / f"{name}.html")
    titles = page.select("head > title")
    assert len(titles) == 1
    parts = titles[0].get_text().split(" — ")
    assert len(parts) == len(set(parts))
    assert len(page.select("meta[name=viewport]")) == 1
    [said] = page.select("meta[name=description]")
    assert 20 < len(said["content"]) <= head.MOST + 2
    assert page.select_one("meta[property='og:description']")["content"] == said["content"]
    assert page.select_one("meta[property='og:title']")
    assert not page.select("meta[property='og:image'], link[rel=canonical]"), "an address without a site"


def test_descriptions_differ(book_html):
    said = [built.page(book_html / f"{name}.html").select_one("meta[name=description]")["content"] for name in PAGES]
    assert len(said) == len(set(said))


def test_the_chapters_before_and_after_are_named_with_their_numbers(book_html):
    page = built.page(book_html / "notebooks" / "06-attention.html")
    assert [title.get_text() for title in page.select(".prev-next-title")] == [
        "5. Normalization",
        "7. Multi-head attention",
    ]


def section(*paragraphs):
    return nodes.section(
        "", nodes.title("", "A page"), *[nodes.paragraph("", "", nodes.Text(paragraph)) for paragraph in paragraphs]
    )


def test_a_description_is_the_first_sentences_without_captions_and_boxes():
    page = section("How\ndoes it look?", "x" * 90, "never")
    page.insert(1, nodes.note("", nodes.paragraph("", "in a box")))
    page.insert(1, nodes.paragraph("", "", nodes.emphasis("", "A caption.")))
    assert head.description_of(page) == "How does it look? " + "x" * 90
    assert head.description_of(section()) == ""


def test_a_long_description_is_cut_between_words():
    said = head.description_of(section("word, " * 60))
    assert len(said) <= head.MOST + 2
    assert said.endswith("word …")


def test_a_link_to_a_page_shows_its_first_figure_where_the_book_has_an_address(tmp_path):
    (tmp_path / "_images").mkdir()
    (tmp_path / "_images" / "still-0a.png").write_bytes(b"picture")
    app = SimpleNamespace(
        outdir=tmp_path,
        config=SimpleNamespace(html_baseurl="https://someone.example/book/", html_title="The book"),
        env=SimpleNamespace(titles={"notebooks/06-a": nodes.title("", 'A "b"')}),
    )
    still = '<img class="te-still" alt="" loading="lazy" src="../_images/still-0a.png" width="3">'
    for body, picture in ((still, "_static/shared/still-0a.png"), ("", head.PREVIEW)):
        context = {"body": body}
        head.describe(app, "notebooks/06-a", "", context, section("words"))
        said = dict(re.findall(r'<meta property="og:(\w+)" content="([^"]*)">', context["metatags"]))
        assert said["image"] == f"https://someone.example/book/{picture}"
        assert said["url"] == "https://someone.example/book/notebooks/06-a.html"
        assert said["title"] == "6. A &quot;b&quot;"
    assert (tmp_path / "_static" / "shared" / "still-0a.png").read_bytes() == b"picture"
