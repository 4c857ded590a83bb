"""The head splitter, with the numbers of PyTorch and of MultiHeadAttention."""

import math

import pytest
import torch

from tests.browser.figure_page import act, close, play, shown
from transformer_edu import MultiHeadAttention, hand_example
from transformer_edu.widgets import HeadSplitter

TOKENS = hand_example().tokens


def module(num_heads):
    """The package's attention with the hand example's matrices and no bias, in float64."""
    hand = hand_example()
    attention = MultiHeadAttention(4, num_heads, bias=False).double()
    names = {"query": "w_q", "key": "w_k", "value": "w_v", "output": "w_o"}
    state = {f"{name}_projection.weight": getattr(hand, w).double().T for name, w in names.items()}
    attention.load_state_dict(state)
    return attention.eval()


def reference(num_heads):
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


def origins(page, way):
    """What the cells of one side print as their origin, row by row."""
    grids = page.locator(f".te-{way} [data-matrix]").evaluate_all(
        "grids => grids.map(grid => [...grid.querySelectorAll('[role=row]')]"
        ".map(row => [...row.querySelectorAll('[data-origin]')].map(cell => cell.dataset.origin)))"
    )
    return [[text for grid in grids for text in grid[row]] for row in range(3)]


@pytest.mark.parametrize("num_heads", [1, 2, 4])
def test_every_step_agrees_with_the_packages_attention(page, num_heads):
    expected = reference(num_heads)
    act(page, "tab Step 1", f"radio {num_heads} head{'s' if num_heads > 1 else ''}")
    for name in ("x", "q"):
        close(shown(page, name), expected[name])
    act(page, "tab Step 2")
    for head in range(1, num_heads + 1):
        close(shown(page, f"right-{head}"), expected[f"right-{head}"])
        close(shown(page, f"wrong-{head}"), expected[f"wrong-split-{head}"])
    for step, name in ((3, "scores"), (4, "weights"), (6, "output")):
        act(page, f"tab Step {step}")
        for head in range(1, num_heads + 1):
            close(shown(page, f"{name}-{head}"), expected[f"{name}-{head}"])
    close(shown(page, "right"), expected["merge-right"])
    close(shown(page, "wrong"), expected["merge-wrong"])
    act(page, "tab Step 5")
    for head in range(1, num_heads + 1):
        if num_heads > 1:
            act(page, f"radio head {head}")
        for name, stem in (("weights", "weights"), ("v", "v-head"), ("output", "output")):
            close(shown(page, name), expected[f"{stem}-{head}"])
    for way in ("right", "wrong"):
        act(page, "tab Step 7", f"radio after the {way} merge")
        close(shown(page, "merged"), expected[f"merge-{way}"])
        close(shown(page, "final"), expected[f"final-{way}"])


@pytest.mark.parametrize("part", ["q", "k", "v"])
def test_projections_and_their_split(page, part):
    expected = reference(2)[part]
    act(page, "tab Step 1", f"radio {part.upper()}, ")
    close(shown(page, part), expected)
    act(page, "button Next")
    close(torch.cat([shown(page, "right-1"), shown(page, "right-2")], dim=1), expected)


@pytest.mark.parametrize("num_heads", [2, 4])
def test_every_number_of_both_merges_and_splits_says_where_it_came_from(num_heads, show):
    page = show(HeadSplitter(num_heads=num_heads, step=6))
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
    act(page, "tab Step 2")
    cut = whole.reshape(num_heads, 3, size, 2).transpose(0, 1).reshape(3, 4, 2)
    assert origins(page, "wrong") == [[f"{TOKENS[t]} h{h + 1}" for t, h in row] for row in cut.tolist()]


def test_followed_token_keeps_its_row_only_in_the_right_merge(page):
    rows = "cells => [...new Set(cells.map(cell => cell.dataset.row))]"
    assert page.locator(".te-right .te-followed").evaluate_all(rows) == ["0"]
    assert page.locator(".te-wrong .te-followed").evaluate_all(rows) == ["0", "1"]
    cell = page.locator(".te-wrong [data-row='0'][data-column='2']")
    assert cell.get_attribute("aria-label") == "row the, column 3: 0.11, from black, head 1"
    play(page, "a leak", "> radio cat", "! a leak")
    assert page.locator(".te-right .te-followed").evaluate_all(rows) == ["2"]
    act(page, "click .te-wrong [data-row='0'][data-column='3']")
    assert page.get_by_role("radio", name="black").get_attribute("aria-checked") == "true"
