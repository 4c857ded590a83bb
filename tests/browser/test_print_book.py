"""The book as a PDF: its pages in order, bookmarks, and links that stay inside the file."""

import io

import print_book
import pytest
from moved import MOVED
from pypdf import PdfReader
from pypdf.generic import IndirectObject

pytestmark = pytest.mark.book


def test_every_page_comes_once_in_the_order_of_the_contents(book_html):
    pages = list(print_book.in_order(book_html))
    names = [path.relative_to(book_html).as_posix() for path, _ in pages]
    assert names[0] == "book/intro.html"
    assert len(names) == len(set(names))
    assert set(names) == {
        path.relative_to(book_html).as_posix()
        for part in ("book", "notebooks")
        for path in (book_html / part).glob("*.html")
    } - {f"{old}.html" for old in MOVED}
    chapters = [name for name in names if name.startswith("notebooks/")]
    assert chapters == sorted(chapters)


@pytest.mark.weekly
def test_printed_pages_are_joined_with_bookmarks_and_links_lead_inside(book_html, browser):
    wanted = ("book/how-to-use.html", "notebooks/05-normalization.html", "book/glossary.html")
    pages = [(path, title) for path, title in print_book.in_order(book_html) if path.as_posix().endswith(wanted)]
    content = print_book.joined(pages, print_book.printed([path for path, _ in pages], browser))
    book = PdfReader(io.BytesIO(content))
    assert [bookmark.title for bookmark in book.outline] == [title for _, title in pages]
    first_pages = [book.get_destination_page_number(bookmark) for bookmark in book.outline]
    assert first_pages == sorted(set(first_pages))
    text = "".join(page.extract_text() for page in book.pages)
    assert "Batch norm: one number changed" in text  # the figure is alive
    links = [annotation.get_object() for page in book.pages for annotation in page.get("/Annots", [])]
    inside = [link["/Dest"] for link in links if "/A" not in link and isinstance(link.get("/Dest"), list)]
    assert len(inside) > 3
    assert {book.get_page_number(goal[0].get_object()) for goal in inside if isinstance(goal[0], IndirectObject)} <= {
        *first_pages
    }
    left = [link["/A"]["/URI"] for link in links if "/URI" in link.get("/A", {})]
    assert not [address for address in left if address.endswith(wanted)]
