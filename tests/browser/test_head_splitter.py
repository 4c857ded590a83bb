"""The head splitter, with the numbers of PyTorch and of MultiHeadAttention."""

import math

import pytest
import torch
from playwright.sync_api import Page, expect
from torch import Tensor

from tests.browser.figure_page import Show, matrix
from transformer_edu import MultiHeadAttention, hand_example
from transformer_edu.widgets import HeadSplitter

TOKENS = hand_example().tokens


def module(num_heads: int) -> MultiHeadAttention:
    """The package's attention with the hand example's matrices and no bias, in float64."""
    hand = hand_example()
    attention = MultiHeadAttention(4, num_heads, bias=False).double()
    names = {"query": "w_q", "key": "w_k", "value": "w_v", "output": "w_o"}
    state = {f"{name}_projection.weight": getattr(hand, w).double().T for name, w in names.items()}
    attention.load_state_dict(state)
    return attention.eval()


def reference(num_heads: int) -> dict[str, Tensor]:
    """Every matrix of the figure from the package's own parts and PyTorch's reshapes, by its name in the page."""
    attention, x, size = module(num_heads), hand_example().x.double()[None], 4 // num_heads
    layers = {"q": attention.query_projection, "k": attention.key_projection, "v": attention.value_projection}
    found = {"x": x[0], "w_o": hand_example().w_o.double()}
    found |= {name: layer(x)[0] for name, layer in layers.items()}
    query, key, value = (attention.split_heads(found[name][None])[0] for name in "qkv")
    scores = query @ key.transpose(-2, -1) / math.sqrt(size)
    outputs = scores.softmax(dim=-1) @ value
    lists = {"right": query, "wrong-split": found["q"].reshape(num_heads, 3, size), "scores": scores}
    lists |= {"weights": scores.softmax(dim=-1), "output": outputs, "v-head": value}
    for name, one in lists.items():
        found |= {f"{name}-{head + 1}": one[head] for head in range(num_heads)}
    found |= {"merge-right": attention.merge_heads(outputs[None])[0], "merge-wrong": outputs.reshape(3, 4)}
    found |= {"final-right": attention(x, x, x)[0], "final-wrong": attention.output_projection(found["merge-wrong"])}
    return {name: tensor.detach() for name, tensor in found.items()}


def shown(page: Page, name: str, within: str = "") -> Tensor:
    return matrix(page.locator(f"{within} [data-matrix='{name}']"))


def assert_same(found: Tensor, expected: Tensor) -> None:
    torch.testing.assert_close(found, expected, atol=1e-4, rtol=0)


def origins(page: Page, way: str) -> list[list[str]]:
    """What the cells of one side print as their origin, row by row."""
    grids = page.locator(f".te-{way} [data-matrix]").evaluate_all(
        "grids => grids.map(grid => [...grid.querySelectorAll('[role=row]')]"
        ".map(row => [...row.querySelectorAll('[data-origin]')].map(cell => cell.dataset.origin)))"
    )
    return [[text for grid in grids for text in grid[row]] for row in range(3)]


def open_figure(show: Show, **options: int) -> Page:
    return show(HeadSplitter(**options), height=900)


@pytest.fixture
def splitter(show: Show) -> Page:
    return open_figure(show, step=1)


def go(page: Page, step: int) -> None:
    page.get_by_role("tab").nth(step - 1).click()


@pytest.mark.parametrize("num_heads", [1, 2, 4])
def test_every_step_agrees_with_the_packages_attention(splitter: Page, num_heads: int) -> None:
    expected = reference(num_heads)
    splitter.get_by_role("radiogroup", name="Number of heads").get_by_text(str(num_heads), exact=True).click()
    for name in ("x", "q"):
        assert_same(shown(splitter, name), expected[name])
    go(splitter, 2)
    for head in range(1, num_heads + 1):
        assert_same(shown(splitter, f"right-{head}"), expected[f"right-{head}"])
        assert_same(shown(splitter, f"wrong-{head}"), expected[f"wrong-split-{head}"])
    for step, name in ((3, "scores"), (4, "weights"), (6, "output")):
        go(splitter, step)
        for head in range(1, num_heads + 1):
            assert_same(shown(splitter, f"{name}-{head}"), expected[f"{name}-{head}"])
    assert_same(shown(splitter, "right"), expected["merge-right"])
    assert_same(shown(splitter, "wrong"), expected["merge-wrong"])
    for way in ("right", "wrong"):
        go(splitter, 7)
        splitter.get_by_role("radio", name=f"after the {way} merge").click()
        assert_same(shown(splitter, "merged"), expected[f"merge-{way}"])
        assert_same(shown(splitter, "final"), expected[f"final-{way}"])


@pytest.mark.parametrize("part", ["q", "k", "v"])
def test_projections_and_their_split(splitter: Page, part: str) -> None:
    expected = reference(2)[part]
    splitter.get_by_role("radio", name=f"{part.upper()}, ").click()
    assert_same(shown(splitter, part), expected)
    splitter.get_by_role("button", name="Next").click()
    assert_same(torch.cat([shown(splitter, "right-1"), shown(splitter, "right-2")], dim=1), expected)


@pytest.mark.parametrize("num_heads", [2, 4])
def test_every_number_of_both_merges_and_splits_says_where_it_came_from(num_heads: int, show: Show) -> None:
    page = open_figure(show, num_heads=num_heads, step=6)
    size = 4 // num_heads
    token = torch.arange(3)[:, None].expand(3, 4)
    whole = torch.stack([token, torch.arange(4).expand(3, 4) // size], dim=-1)  # (seq, d_model, token and head)
    heads = whole.unflatten(1, (num_heads, size)).transpose(0, 1)
    expected = {"right": heads.transpose(0, 1).reshape(3, 4, 2), "wrong": heads.reshape(3, 4, 2)}
    for way, marks in expected.items():
        assert origins(page, way) == [[f"{TOKENS[t]} h{h + 1}" for t, h in row] for row in marks.tolist()]
    assert page.locator(".te-right .te-foreign").count() == 0
    strangers = (expected["wrong"][..., 0] != token).sum()
    assert page.locator(".te-wrong .te-foreign").count() == strangers
    go(page, 2)
    cut = whole.reshape(num_heads, 3, size, 2).transpose(0, 1).reshape(3, 4, 2)
    assert origins(page, "wrong") == [[f"{TOKENS[t]} h{h + 1}" for t, h in row] for row in cut.tolist()]


def test_followed_token_keeps_its_row_only_in_the_right_merge(show: Show) -> None:
    page = open_figure(show)
    rows = "cells => [...new Set(cells.map(cell => cell.dataset.row))]"
    assert page.locator(".te-right .te-followed").evaluate_all(rows) == ["0"]
    assert page.locator(".te-wrong .te-followed").evaluate_all(rows) == ["0", "1"]
    expect(page.locator(".te-sentence")).to_contain_text("a leak")
    page.get_by_role("radio", name="cat").click()
    assert page.locator(".te-right .te-followed").evaluate_all(rows) == ["2"]
    expect(page.locator(".te-sentence")).not_to_contain_text("a leak")
    page.locator(".te-wrong [data-row='0'][data-column='3']").click()
    expect(page.get_by_role("radio", name="black")).to_have_attribute("aria-checked", "true")


def test_a_later_token_changes_an_earlier_row_only_after_the_wrong_merge() -> None:
    attention, x = module(2), hand_example().x.double()[None]
    mask = torch.ones(3, 3, dtype=torch.bool).tril()
    changed = x.clone()
    changed[0, 1] += 1.0
    right = [attention(one, one, one, mask)[0, 0] for one in (x, changed)]
    assert torch.equal(*right)
    attention.merge_heads = lambda heads: heads.reshape(1, 3, 4)  # type: ignore[method-assign]
    wrong = [attention(one, one, one, mask)[0, 0] for one in (x, changed)]
    assert (wrong[0] - wrong[1]).abs().max() > 0.1


def test_origin_is_spoken_with_the_number(show: Show) -> None:
    page = open_figure(show)
    cell = page.locator(".te-wrong [data-row='0'][data-column='2']")
    assert cell.get_attribute("aria-label") == "row the, column 3: 0.11, from black, head 1"
