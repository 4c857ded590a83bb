"""The symptom finder: its page shows the numbers that were recorded."""

from tests.browser.figure_page import act
from tests.unit.test_symptom_finder import CASES, DATA
from transformer_edu.book.figures import SymptomFinder


def test_the_page_shows_the_recorded_numbers(show):
    page, case = show(SymptomFinder(symptom=3, patient=2, played=[])), CASES[3]
    act(page, *(f"click .te-sym-row:nth-child({row + 2}) button" for row in range(len(case.experiments))))
    recorded = DATA["bugs"][case.bugs[2]]["values"]
    cells = page.locator(".te-sym-row [data-value]").evaluate_all("all => all.map((one) => Number(one.dataset.value))")
    assert cells == [recorded[experiment] for experiment in case.experiments]
