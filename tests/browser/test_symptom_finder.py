"""The symptom finder: what it shows is what was recorded, and what it rules out follows from that."""

import pytest

from tests.browser.figure_page import act, play
from transformer_edu import recordings
from transformer_edu.book.figures import SymptomFinder
from transformer_edu.book.figures.symptom_finder_data import cases, verdicts

DATA = recordings.load("symptoms")["data"]
CASES = cases(DATA)
FOUND = [verdicts(DATA, bug["values"]) for bug in DATA["bugs"]]


def out(page):
    """The suspects that are struck through."""
    return page.locator(".te-sym-suspect:not([hidden]) s").all_text_contents()


@pytest.mark.parametrize("symptom", range(len(CASES)))
def test_each_experiment_shows_the_recorded_number_and_rules_out_who_differs(show, symptom):
    case = CASES[symptom]
    page, mine = show(SymptomFinder(symptom=symptom, patient=1, played=[])), case.bugs[1]
    gone = set()
    assert out(page) == []
    for row, experiment in enumerate(case.experiments):
        act(page, f"click .te-sym-row:nth-child({row + 2}) button")
        value = DATA["bugs"][mine]["values"][experiment]
        shown = page.locator(f".te-sym-row:nth-child({row + 2}) b").get_attribute("data-value")
        assert (shown == "null") if value is None else float(shown) == value
        gone |= {bug for bug in case.bugs if FOUND[bug][experiment] != FOUND[mine][experiment]}
        assert out(page) == [DATA["bugs"][bug]["name"] for bug in case.bugs if bug in gone]


def test_naming_the_bug_shows_the_line_and_its_check_naming_another_does_not(show):
    page = show(SymptomFinder(symptom=1, patient=0, played=[]))
    mine, other = (DATA["bugs"][CASES[1].bugs[place]] for place in (0, 1))
    play(
        page,
        "! " + mine["wrong"],
        f"> button It is: {other['name']}",
        "No, not that one.",
        "! " + mine["wrong"],
        f"> button It is: {mine['name']}",
        "Yes, that is it.",
        mine["wrong"],
        mine["right"],
        mine["check"][1],
    )
