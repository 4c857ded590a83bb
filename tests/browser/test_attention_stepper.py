"""The attention stepper, with PyTorch's numbers."""

import math

import pytest
import torch

from tests.browser.figure_page import act, close, shown
from tests.browser.keyboard import focused
from transformer_edu import hand_example

SHOWN = {1: ["x", "w_q", "q"], 2: ["q", "k_t", "scores"], 3: ["scores", "scaled"], 4: ["scaled", "masked"]}
SHOWN |= {5: ["masked", "weights"], 6: ["weights", "v", "mix"], 7: ["mix", "w_o", "output"]}


def reference(x=None, scale=True, mask="none"):
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


def assert_step(page, step, expected):
    for name in SHOWN[step]:
        close(shown(page, name), expected[name])


def cell(page, name, row, column):
    return page.locator(f"[data-matrix={name}] [data-row='{row}'][data-column='{column}']")


def test_the_query_is_marked_everywhere_together(page):
    act(page, "tab Step 2", "radio black")
    for name in ("q", "scores"):
        marked = page.locator(f"[data-matrix={name}] .te-in-row")
        assert set(marked.evaluate_all("cells => cells.map(cell => cell.dataset.row)")) == {"1"}
    assert page.locator(".te-active").get_attribute("data-term") == "scores"


def test_keys_and_values_are_projected_too(page):
    act(page, "tab Step 1")
    for part in ("k", "v"):
        page.locator(f".te-parts [data-value={part}]").click()
        close(shown(page, part), reference()[part])
        assert page.locator(".te-active").get_attribute("data-term") == part


def test_an_edited_number_runs_through_to_the_output(page):
    act(page, "tab Step 1")
    cell(page, "x", 2, 1).locator("input").fill("-1,5")
    x = hand_example().x.clone()
    x[2, 1] = -1.5
    expected = reference(x)
    for step in range(1, 8):
        act(page, f"tab Step {step}")
        assert_step(page, step, expected)
    act(page, "button Reset")
    assert_step(page, 7, reference())


def test_nonsense_typed_changes_nothing_and_goes_away(page):
    act(page, "tab Step 1")
    field = cell(page, "w_q", 0, 0).locator("input")
    field.fill("two")
    assert field.get_attribute("aria-invalid") == "true"
    assert_step(page, 1, reference())
    act(page, "tab Step 1")
    assert field.input_value() == "1"
    assert field.get_attribute("aria-invalid") is None


@pytest.mark.parametrize("mask", ["none", "causal", "padding"])
@pytest.mark.parametrize("scale", [True, False])
def test_every_step_mask_and_scaling_agrees_with_torch(page, mask, scale):
    act(page, "tab Step 3", f"checkbox divide by = {'on' if scale else 'off'}")
    act(page, "tab Step 4", f"combobox mask = {mask}", "tab Step 1")
    for step in range(1, 8):
        assert_step(page, step, reference(scale=scale, mask=mask))
        page.get_by_role("button", name="Next").dispatch_event("click")  # the last step leads no further
    assert_step(page, 7, reference(scale=scale, mask=mask))


def test_the_first_play_begins_at_step_1_for_whoever_looks_and_goes_on_where_it_was_paused(page):
    act(page, "radio black", "button Play")
    step = page.locator(".te-steps-bar [aria-selected=true] .te-title")
    assert step.text_content() == "Project"
    act(page, "button Pause", "tab Step 5", "button Play")
    assert step.text_content() == "Mix"


def test_arrow_keys_walk_the_number_fields(page):
    act(page, "tab Step 1")
    cell(page, "x", 0, 0).locator("input").focus()
    act(page, "key ArrowRight", "key ArrowDown")
    assert focused(page) == "row black, column 2: 2"
    page.keyboard.type("7")
    act(page, "key Enter")
    assert focused(page) == "row cat, column 2: 0"
    assert shown(page, "x")[1, 1] == 7


def test_the_numbers_that_an_edit_changed_stay_marked_until_the_next_change(page):
    act(page, "tab Step 1")
    marked = "all => all.map((one) => [one.dataset.row, one.dataset.column, one.textContent, one.title])"
    for value, query, was in (("-2", "−1", "was 2"), ("7", "8", "was −1")):
        cell(page, "w_q", 0, 0).locator("input").fill(value)
        act(page, "radio black", "radio cat")
        found = page.locator("[data-matrix=q] .te-changed").evaluate_all(marked)
        assert found == [["0", "0", query, was]]  # of the three tokens, only the first has a 1 there
