"""The softmax lab, with PyTorch's numbers."""

import math

import pytest
import torch

from tests.browser.figure_page import act, close, number, shown, values
from transformer_edu.book.figures.softmax_lab_data import DRAWS


def assert_agrees(page, scores, d_k, temperature):
    """Scores, weights, all derivatives and their size on both sides are those of autograd."""
    if not page.locator("details[open]").count():
        act(page, "click .te-details summary")
        page.wait_for_selector("[data-matrix=jacobian-raw] [data-value]")
    for side, factor in (("raw", math.sqrt(d_k)), ("scaled", 1.0)):
        logits = scores.double() * factor / temperature
        weights = logits.softmax(dim=0)
        jacobian = torch.autograd.functional.jacobian(lambda s: s.softmax(dim=0), logits)
        close(values(page, f"[data-list={side}]").view(-1, 2), torch.stack([logits, weights], dim=1))
        close(shown(page, f"jacobian-{side}"), jacobian)
        assert number(page, f"[data-panel={side}] .te-lab-size") == pytest.approx(jacobian.norm().item(), abs=1e-4)


def drawn(index):
    return torch.tensor(DRAWS[index], dtype=torch.float64)


def test_every_key_length_agrees_with_autograd(page):
    for d_k in (4, 16, 64, 256, 1024):
        act(page, f"radio {d_k}")
        assert_agrees(page, drawn(0), d_k, 1.0)


def test_temperature_divides_both_sides(page):
    act(page, "click .te-details summary")
    for power, temperature in (("-1", 0.1), ("0.5", 3.16), ("1", 10.0)):
        act(page, f"slider temperature = {power}")
        assert_agrees(page, drawn(0), 64, temperature)


def test_other_draws_are_the_stored_ones_in_order(page):
    for index in (1, 2):
        act(page, "button Draw other scores")
        assert_agrees(page, drawn(index), 64, 1.0)


def test_a_typed_score_counts(page):
    act(page, "click .te-details summary")
    field = page.locator("[data-matrix=scores] [data-column='4'] input")
    field.fill("-2,5")
    scores = drawn(0)
    scores[4] = -2.5
    assert_agrees(page, scores, 64, 1.0)
