"""What the pages around the chapters promise is counted, and their check says what is printed there."""

import re

import catalogue
import counts
import pytest
import torch
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook
from reading_time import measure

from transformer_edu import checks


@pytest.fixture
def intro(root):
    return (root / "book" / "intro.md").read_text(encoding="utf-8")


def test_what_the_first_page_counts_is_counted_by_the_build(intro):
    named = re.findall(r"\{\{ (\w+) \}\}", intro)
    assert set(named) == set(counts.counted())
    assert not re.search(r"\d+ of the \d+|\d+ such mistakes", intro)


def test_exercises_that_tell_are_told_from_those_that_do_not():
    starts, ends = (f":::{{{word}}} 1.1 One\n:::" for word in ("exercise-start", "solution-end"))
    check = ("checks.check_softmax(mine)",)
    cells = [starts, check, ends, starts, ("print(1)",), ends, check]
    notebook = new_notebook(
        cells=[new_markdown_cell(cell) if isinstance(cell, str) else new_code_cell(cell[0]) for cell in cells]
    )
    assert counts.exercises_told(notebook) == [True, False]


def test_the_page_s_check_says_what_stands_there(intro):
    code, said = re.search(r"```python\n(.*?)```.*?```text\n(.*?)\n```", intro, re.S).groups()
    place = {"torch": torch}
    exec(code, place)
    with pytest.raises(checks.CheckFailed) as failure:
        checks.check_shift(place["shift"])
    assert str(failure.value) == said


def test_the_catalogue_holds_every_mistake_and_shows_what_a_check_says(root):
    page = "\n".join(catalogue.entries())
    every = [mistake for *_, mistakes in catalogue.sections() for mistake in mistakes]
    assert {mistake.name for name in checks.component_names() for mistake in checks.catalogue(name)} < {
        mistake.name for mistake in every
    }
    assert all(f"\n{catalogue.plain(mistake.name)}\n: *" in page for mistake in every)
    assert page.count("*Hint:*") == len(every)
    shown = (root / f"{catalogue.PAGE}.md").read_text(encoding="utf-8")
    with pytest.raises(checks.CheckFailed) as failure:
        checks.check_softmax(lambda scores: scores.softmax(dim=0))
    assert re.search(r"```text\n(.*?)```", shown, re.S)[1] in str(failure.value) + "\n"


@pytest.mark.parametrize(("route", "hours"), [("an hour", 1.15), ("a weekend", 4.5), ("all of it", 9.75)])
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
