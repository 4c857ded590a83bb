"""The head splitter, with the numbers of PyTorch and of MultiHeadAttention."""

import math

import pytest
import torch

from tests.browser.figure_page import act, close, matrix, play, shown
from transformer_edu import MultiHeadAttention, hand_example
from transformer_edu.book.figures import HeadSplitter

TOKENS = hand_example().tokens
STEPS = {1: ("q", "k", "v"), 2: ("q", "wrong-split"), 3: ("out", "v"), 4: ("out", "right", "wrong")}
# Of each cell the size of its letters, how wide its number is, and how wide it is itself.
PRINTED = """all => all.map((one) => {
    const range = document.createRange();
    range.selectNodeContents(one);
    return [parseFloat(getComputedStyle(one).fontSize), range.getBoundingClientRect().width, one.offsetWidth];
})"""


def reference(num_heads):
    """Every matrix of the figure from the package's own parts and PyTorch's reshapes, by its name in the page."""
    hand, size = hand_example(), 4 // num_heads
    attention = MultiHeadAttention(4, num_heads, bias=False).double()
    names = {"query": "w_q", "key": "w_k", "value": "w_v", "output": "w_o"}
    attention.load_state_dict({f"{name}_projection.weight": getattr(hand, w).double().T for name, w in names.items()})
    attention.eval()
    x = hand.x.double()[None]
    layers = {"q": attention.query_projection, "k": attention.key_projection, "v": attention.value_projection}
    found = {name: layer(x)[0] for name, layer in layers.items()}
    query, key, value = (attention.split_heads(found[name][None])[0] for name in "qkv")
    weights = (query @ key.transpose(-2, -1) / math.sqrt(size)).softmax(dim=-1)
    outputs = weights @ value
    found |= {f"weights-{head + 1}": one for head, one in enumerate(weights)}
    found["wrong-split"] = attention.merge_heads(found["q"].reshape(1, num_heads, 3, size))[0]
    found["out"] = found["right"] = attention.merge_heads(outputs[None])[0]
    found["wrong"] = outputs.reshape(3, 4)
    found |= {"final-right": attention(x, x, x)[0], "final-wrong": attention.output_projection(found["wrong"])}
    return {name: tensor.detach() for name, tensor in found.items()}


def origins(page, name):
    """Token and head that each cell of a matrix says that it comes from."""
    cells = page.locator(f"[data-matrix={name}] [data-origin]")
    said = cells.evaluate_all("cells => cells.map((one) => [one.dataset.token, one.dataset.head].map(Number))")
    return torch.tensor(said).view(3, 4, 2)


@pytest.mark.parametrize("num_heads", [2, 4])
def test_every_step_agrees_with_the_packages_attention(page, num_heads):
    expected = reference(num_heads)
    act(page, f"radio {num_heads} heads")
    for step, names in STEPS.items():
        act(page, f"tab Step {step}")
        for name in names:
            assert page.locator(f"[data-matrix={name}]").is_visible()
            close(shown(page, name), expected[name])
    for name in (f"weights-{num_heads}", "final-right", "final-wrong", *(f"w_{part}" for part in "qkv")):
        close(shown(page, name), expected.get(name, getattr(hand_example(), name, None)))


@pytest.mark.parametrize("num_heads", [2, 4])
def test_every_number_says_where_it_came_from_and_lies_in_its_heads_lane(num_heads, show):
    page = show(HeadSplitter(num_heads=num_heads))
    size = 4 // num_heads
    token = torch.arange(3)[:, None].expand(3, 4)
    whole = torch.stack([token, torch.arange(4).expand(3, 4) // size], dim=-1)  # (seq, d_model, token and head)
    heads = whole.unflatten(1, (num_heads, size)).transpose(0, 1)
    assert torch.equal(origins(page, "right"), whole)
    assert torch.equal(origins(page, "wrong"), heads.reshape(3, 4, 2))
    cut = whole.reshape(num_heads, 3, size, 2).transpose(0, 1).reshape(3, 4, 2)
    assert torch.equal(origins(page, "wrong-split"), cut)
    for name, marks in (("right", whole), ("wrong", heads.reshape(3, 4, 2))):
        foreign = page.locator(f"[data-matrix={name}] .te-foreign").count()
        assert foreign == (marks[..., 0] != token).sum()
    where = "cells => cells.map((one) => [one.getBoundingClientRect().x, one.getBoundingClientRect().y])"
    for step, lanes in ((1, 1), (2, num_heads)):
        act(page, f"tab Step {step}")
        places = torch.tensor(page.locator("[data-matrix=q] [data-origin]").evaluate_all(where))
        assert len(places[:, 0].unique()) == 4 // lanes
        assert len(places[:, 1].unique()) == 3 * lanes


def test_followed_token_keeps_its_row_only_in_the_right_merge(page):
    rows = "cells => [...new Set(cells.map(cell => cell.dataset.row))]"
    assert page.locator("[data-matrix=right] .te-followed").evaluate_all(rows) == ["0"]
    assert page.locator("[data-matrix=wrong] .te-followed").evaluate_all(rows) == ["0", "1"]
    cell = page.locator("[data-matrix=wrong] [data-row='0'][data-column='2']")
    assert cell.get_attribute("aria-label") == "row the, column 3: 0.11, from black, head 1"
    play(page, "see a later token", "> radio cat", "! see a later token", "cat gets numbers of black")
    assert page.locator("[data-matrix=right] .te-followed").evaluate_all(rows) == ["2"]
    act(page, "click [data-matrix=wrong] [data-row='0'][data-column='3']")
    assert page.get_by_role("radio", name="black").get_attribute("aria-checked") == "true"
    play(page, "and none of its own", "> tab Step 3", "cat in head 2 (0.80)")


def test_play_goes_from_the_first_step_to_the_last(page):
    page.clock.install()
    act(page, "button Play")
    seen = []
    for _ in range(6):
        seen.append(page.locator(".te-heads").get_attribute("data-step"))
        page.clock.run_for(1800)
    assert list(dict.fromkeys(seen)) == ["1", "2", "3", "4"]
    assert matrix(page.locator("[data-matrix=wrong]")).shape == (3, 4)


@pytest.mark.parametrize("heads", [2, 4])
def test_a_phone_shows_numbers_large_enough_and_whole_at_every_step(heads, show):
    page = show(HeadSplitter(num_heads=heads), width=358)
    for step in range(1, 5):
        page.get_by_role("tab", name=f"Step {step}").click()
        cells = page.locator(".te-sheet.te-seen .te-cell").evaluate_all(PRINTED)
        assert min(size for size, _, _ in cells) >= 11
        assert all(printed <= width for _, printed, width in cells)
