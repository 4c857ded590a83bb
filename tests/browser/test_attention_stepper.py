"""The attention stepper, with PyTorch's numbers."""

import math

import pytest
import torch
from playwright.sync_api import Locator, Page, expect
from torch import Tensor

from tests.browser.figure_page import Show, matrix
from tests.browser.keyboard import focused, press
from transformer_edu import hand_example
from transformer_edu.widgets import AttentionStepper

SHOWN = {1: ["x", "w_q", "q"], 2: ["q", "k_t", "scores"], 3: ["scores", "scaled"], 4: ["scaled", "masked"]}
SHOWN |= {5: ["masked", "weights"], 6: ["weights", "v", "mix"], 7: ["mix", "w_o", "output"]}


def reference(x: Tensor | None = None, scale: bool = True, mask: str = "none") -> dict[str, Tensor]:
    """Every matrix of the head, computed by PyTorch in float64."""
    hand = hand_example()
    w_q, w_k, w_v, w_o = (matrix.double() for matrix in (hand.w_q, hand.w_k, hand.w_v, hand.w_o))
    x = (hand.x if x is None else x).double()
    q, k, v = x @ w_q, x @ w_k, x @ w_v
    scores = q @ k.T
    scaled = scores / math.sqrt(k.shape[1]) if scale else scores
    allowed = torch.ones(3, 3, dtype=torch.bool)
    if mask == "causal":
        allowed = allowed.tril()
    if mask == "padding":
        allowed[:, -1] = False
    masked = scaled.masked_fill(~allowed, -math.inf)
    weights = masked.softmax(dim=-1)
    mix = weights @ v
    inputs = {"x": x, "w_q": w_q, "w_o": w_o, "q": q, "k": k, "k_t": k.T, "v": v}
    attention = {"scores": scores, "scaled": scaled, "masked": masked, "weights": weights}
    return inputs | attention | {"mix": mix, "output": mix @ w_o}


def shown(page: Page, name: str) -> Tensor:
    return matrix(page.locator(f"[data-matrix={name}]"))


def assert_step(page: Page, step: int, expected: dict[str, Tensor]) -> None:
    for name in SHOWN[step]:
        torch.testing.assert_close(shown(page, name), expected[name], atol=1e-4, rtol=0)


@pytest.fixture
def stepper(show: Show) -> Page:
    return show(AttentionStepper(step=1), height=900)


def cell(page: Page, name: str, row: int, column: int) -> Locator:
    return page.locator(f"[data-matrix={name}] [data-row='{row}'][data-column='{column}']")


def test_every_step_by_mouse_agrees_with_torch(stepper: Page) -> None:
    expected = reference()
    for step in range(1, 8):
        assert_step(stepper, step, expected)
        assert stepper.get_by_role("tab").nth(step - 1).get_attribute("aria-selected") == "true"
        if step < 7:
            stepper.get_by_role("button", name="Next").click()
    assert stepper.get_by_role("button", name="Next").get_attribute("aria-disabled") == "true"
    stepper.get_by_role("tab", name="Step 2: Scores").click()
    assert_step(stepper, 2, expected)


def test_keys_and_values_are_projected_too(stepper: Page) -> None:
    for part in ("k", "v"):
        stepper.locator(f".te-parts [data-value={part}]").click()
        torch.testing.assert_close(shown(stepper, part), reference()[part], atol=1e-4, rtol=0)
        assert stepper.locator(".te-active").get_attribute("data-term") == part


def test_an_edited_number_runs_through_to_the_output(stepper: Page) -> None:
    cell(stepper, "x", 2, 1).locator("input").fill("-1,5")
    x = hand_example().x.clone()
    x[2, 1] = -1.5
    expected = reference(x)
    for step in range(1, 8):
        stepper.get_by_role("tab").nth(step - 1).click()
        assert_step(stepper, step, expected)
    stepper.get_by_role("button", name="Reset").click()
    assert_step(stepper, 7, reference())


def test_nonsense_typed_changes_nothing_and_goes_away(stepper: Page) -> None:
    field = cell(stepper, "w_q", 0, 0).locator("input")
    field.fill("two")
    assert field.get_attribute("aria-invalid") == "true"
    assert_step(stepper, 1, reference())
    stepper.get_by_role("tab").nth(0).click()
    assert field.input_value() == "1"
    assert field.get_attribute("aria-invalid") is None


@pytest.mark.parametrize("mask", ["none", "causal", "padding"])
@pytest.mark.parametrize("scale", [True, False])
def test_mask_and_scaling_agree_with_torch(stepper: Page, mask: str, scale: bool) -> None:
    stepper.get_by_role("combobox", name="mask").select_option(mask)
    stepper.get_by_label("divide by").set_checked(scale)
    for step in range(3, 8):
        stepper.get_by_role("tab").nth(step - 1).click()
        assert_step(stepper, step, reference(scale=scale, mask=mask))


def test_clicked_score_is_written_out(stepper: Page) -> None:
    stepper.get_by_role("tab").nth(1).click()
    cell(stepper, "scores", 2, 1).click()
    expect(stepper.locator(".te-sum .te-total")).to_have_text("8")
    assert stepper.locator(".te-from-row").all_text_contents() == ["1", "1", "0", "2"]
    assert stepper.locator(".te-from-column").all_text_contents() == ["0", "2", "(−1)", "3"]
    assert cell(stepper, "scores", 2, 1).get_attribute("aria-label") == "row cat, column black: 8"
    assert cell(stepper, "k_t", 0, 1).get_attribute("class").split().count("te-in-column") == 1


def test_arrow_keys_walk_the_number_fields(stepper: Page) -> None:
    cell(stepper, "x", 0, 0).locator("input").focus()
    press(stepper, "ArrowRight", "ArrowDown")
    assert focused(stepper) == "row black, column 2: 2"
    stepper.keyboard.type("7")
    press(stepper, "Enter")
    assert focused(stepper) == "row cat, column 2: 0"
    assert shown(stepper, "x")[1, 1] == 7


def test_focus_stays_when_another_projection_is_chosen(stepper: Page) -> None:
    stepper.locator(".te-parts [data-value=q]").focus()
    press(stepper, "ArrowRight")
    assert stepper.evaluate("document.activeElement.dataset.value") == "k"
