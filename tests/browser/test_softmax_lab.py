"""The softmax lab's page, against the numbers that it was derived of."""

import pytest

from tests.browser.figure_page import act, close, number, shown, values
from tests.unit.test_softmax_lab import DRAWS, sides


def test_the_page_shows_what_was_derived(page):
    act(page, "button Draw other scores", "slider length of a key = 5", "click .te-details summary")
    act(page, "slider temperature = 0.5", "textbox column key 5 = -2,5")
    scores = [*DRAWS[1][:4], -2.5, DRAWS[1][5]]
    for name, (logits, weights, slopes, size) in zip(("raw", "scaled"), sides(scores, 32, 3.16), strict=True):
        close(values(page, f"[data-list={name}]").view(-1, 2), list(zip(logits, weights, strict=True)))
        close(shown(page, f"jacobian-{name}"), slopes)
        assert number(page, f"[data-panel={name}] .te-lab-size") == pytest.approx(size, abs=1e-4)
