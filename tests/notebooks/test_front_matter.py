"""What the pages around the chapters promise is counted, and their check says what is printed there."""

import re

import catalogue
import pytest
import torch
from reading_time import measure

from transformer_edu import checks


@pytest.fixture
def intro(root):
    return (root / "book" / "intro.md").read_text(encoding="utf-8")


def test_the_mistakes_and_the_pieces_are_counted(intro):
    names = checks.component_names()
    mistakes = sum(len(checks.catalogue(name)) for name in names)
    assert f"know {mistakes} such mistakes, in {len(names)} pieces" in intro


def test_the_outputs_that_are_not_compared_are_counted(intro, chapters):
    cells = [cell for notebook in chapters.values() for cell in notebook.cells if cell.get("outputs")]
    ignored = [cell for cell in cells if "nbval-ignore-output" in cell.metadata.get("tags", [])]
    assert f"{len(ignored)} of the {len(cells)} cells that print or draw" in intro


def test_the_page_s_check_says_what_stands_there(intro):
    code, said = re.search(r"```python\n(.*?)```.*?```text\n(.*?)\n```", intro, re.S).groups()
    place = {"torch": torch}
    exec(code, place)
    with pytest.raises(checks.CheckFailed) as failure:
        checks.check_shift(place["shift"])
    assert str(failure.value) == said


def test_the_catalogue_holds_every_mistake_and_shows_what_a_check_says(root):
    page = "\n".join(catalogue.entries())
    every = [one for name in checks.component_names() for one in checks.catalogue(name)]
    assert all(f"\n{catalogue.plain(one.name)}\n: *Symptom:*" in page for one in every)
    assert page.count("*Hint:*") == len(every)
    shown = (root / f"{catalogue.PAGE}.md").read_text(encoding="utf-8")
    with pytest.raises(checks.CheckFailed) as failure:
        checks.check_softmax(lambda scores: scores.softmax(dim=0))
    assert re.search(r"```text\n(.*?)```", shown, re.S)[1] in str(failure.value) + "\n"


@pytest.mark.parametrize(("route", "hours"), [("an hour", 1), ("a weekend", 4), ("all of it", 6.5)])
def test_a_route_takes_no_longer_than_it_says(intro, chapters, route, hours):
    row = next(line for line in intro.splitlines() if line.startswith(f"| **{route}**"))
    named = re.findall(r"\{doc\}`\d+ </notebooks/([\w-]+)>", row) or chapters
    minutes = sum(measure(chapters[name]).minutes for name in named)
    print(f"{route}: {minutes:.0f} minutes")
    assert minutes <= 60 * hours


def test_the_way_to_the_first_chapter_is_one_button_and_notation_stands_at_the_back(intro, root):
    assert intro.count("{button-ref}") == 1
    assert "```{button-ref} /notebooks/01-the-whole-machine" in intro
    pages = re.findall(r"- file: (\S+)", (root / "_toc.yml").read_text(encoding="utf-8"))
    assert pages.index("book/notation") > pages.index("notebooks/15-real-translation")
