"""The softmax lab, with PyTorch's numbers."""

import math

import pytest
import torch
from playwright.sync_api import Page
from torch import Tensor

from tests.browser.figure_page import Show, values
from transformer_edu.widgets import SoftmaxLab
from transformer_edu.widgets.softmax_lab_data import DRAWS


@pytest.fixture
def lab(show: Show) -> Page:
    return show(SoftmaxLab(), height=900)


def assert_agrees(page: Page, scores: Tensor, d_k: int, temperature: float) -> None:
    """Scores, weights, all derivatives and their size on both sides are those of autograd."""
    for side, factor in (("raw", math.sqrt(d_k)), ("scaled", 1.0)):
        logits = scores.double() * factor / temperature
        weights = logits.softmax(dim=0)
        jacobian = torch.autograd.functional.jacobian(lambda s: s.softmax(dim=0), logits)
        shown = values(page, f"[data-list={side}]").view(-1, 2)
        torch.testing.assert_close(shown[:, 0], logits, atol=1e-4, rtol=0)
        torch.testing.assert_close(shown[:, 1], weights, atol=1e-4, rtol=0)
        matrix = values(page, f"[data-matrix=jacobian-{side}]").view_as(jacobian)
        torch.testing.assert_close(matrix, jacobian, atol=1e-4, rtol=0)
        size = float(page.locator(f"[data-panel={side}] .te-lab-size").get_attribute("data-value") or "nan")
        assert size == pytest.approx(jacobian.norm().item(), abs=1e-4)


def drawn(index: int) -> Tensor:
    return torch.tensor(DRAWS[index], dtype=torch.float64)


def said(page: Page, side: str) -> str:
    return page.locator(f"[data-panel={side}] .te-lab-sentence").inner_text()


def test_every_key_length_agrees_with_autograd_and_the_gradient_dies_on_one_side_only(lab: Page) -> None:
    for place, d_k in enumerate((4, 16, 64, 256, 1024)):
        lab.get_by_label("length of a key").fill(str(place))
        assert_agrees(lab, drawn(0), d_k, 1.0)
    assert "The largest share is 1.000" in said(lab, "raw")
    assert "No gradient to speak of passes" in said(lab, "raw")
    assert "Gradient passes" in said(lab, "scaled")


def test_temperature_divides_both_sides(lab: Page) -> None:
    for power, temperature in (("-1", 0.1), ("0.5", 3.16), ("1", 10.0)):
        lab.get_by_label("temperature").fill(power)
        assert_agrees(lab, drawn(0), 64, temperature)
    assert "÷ 10.00" in lab.locator("[data-panel=raw] .te-note").first.inner_text()
    assert "almost equal" in said(lab, "scaled")


def test_new_draws_are_the_stored_ones_in_order_and_reset_goes_back(lab: Page) -> None:
    for index in (1, 2):
        lab.get_by_role("button", name="Draw new scores").click()
        assert_agrees(lab, drawn(index), 64, 1.0)
    assert "nearly tied" in said(lab, "raw")
    lab.get_by_label("length of a key").fill("0")
    lab.get_by_role("button", name="Reset").click()
    assert_agrees(lab, drawn(0), 64, 1.0)


def test_a_typed_score_counts_and_nonsense_does_not(lab: Page) -> None:
    field = lab.locator("[data-matrix=scores] [data-column='4'] input")
    field.fill("-2,5")
    scores = drawn(0)
    scores[4] = -2.5
    assert_agrees(lab, scores, 64, 1.0)
    field.fill("warm")
    assert field.get_attribute("aria-invalid") == "true"
    assert_agrees(lab, scores, 64, 1.0)
