"""The path-length racer, against boolean matrix products."""

from itertools import pairwise

import pytest
import torch
from playwright.sync_api import Page, expect

from tests.browser.figure_page import Show, slide
from transformer_edu.widgets import PathLengthRacer
from transformer_edu.widgets.path_length_racer import attention_price, multiply_adds, path_lengths

LANES = ("recurrent", "convolution", "attention")


@pytest.fixture
def racer(show: Show) -> Page:
    return show(PathLengthRacer())


def heard_by_step(lane: str, n: int, dilated: bool, steps: int) -> list[int]:
    """How many tokens have something of the first after 0, 1, … steps, and that they are the leftmost ones."""
    distance = torch.arange(n)[:, None] - torch.arange(n)[None]
    heard = torch.eye(n, dtype=torch.bool)[0]
    counts = [1]
    for step in range(steps):
        if lane == "recurrent":  # token `step` reads its own input and the state of the token before it
            if step > 0:
                heard[step] = heard[step] | heard[step - 1]
        else:
            reach = 2**step if dilated else 1
            sees = (distance == 0) | (distance.abs() == reach) if lane == "convolution" else torch.ones(n, n) > 0
            heard = (sees & heard).any(dim=1)
        assert heard[: int(heard.sum())].all()
        counts.append(int(heard.sum()))
    return counts


def attribute(page: Page, lane: str, name: str) -> str:
    return page.locator(f"[data-lane={lane}]").get_attribute(f"data-{name}") or ""


def assert_shows(page: Page, n: int, d: int, dilated: bool, step: int) -> None:
    paths = path_lengths(n, dilated)
    for lane in LANES:
        rows = min(step, paths[lane])
        expected = heard_by_step(lane, n, dilated, rows)
        assert [int(count) for count in attribute(page, lane, "heard").split()] == expected
        assert attribute(page, lane, "done") == str(paths[lane] <= step).lower()
        assert (expected[-1] == n) == (paths[lane] <= step)
        assert points(page, lane)[-1][1] == rows
    shown = page.locator(".te-race-table [role=cell]").evaluate_all(
        "all => all.map(cell => Number(cell.dataset.value))"
    )
    assert shown == [n, 1, 1, *(paths[lane] for lane in LANES), *(multiply_adds(n, d)[lane] for lane in LANES)]


def points(page: Page, lane: str) -> list[tuple[int, int]]:
    """(token, row) along the drawn path, both from 0."""
    text = page.locator(f"[data-lane={lane}] .te-race-path").get_attribute("points") or ""
    return [(int(float(x)), int(float(y))) for x, y in (pair.split(",") for pair in text.split())]


@pytest.mark.parametrize("dilated", [False, True])
def test_every_step_agrees_with_brute_force(racer: Page, dilated: bool) -> None:
    racer.get_by_label("dilated convolution").set_checked(dilated)
    for n in (4, 16, 37, 64):
        slide(racer, "tokens, n", n)
        for step in {0, 1, 2, 3, 5, n - 1, n}:
            slide(racer, "steps", step)
            assert_shows(racer, n, 64, dilated, step)


@pytest.mark.parametrize("dilated", [False, True])
def test_the_path_leads_from_token_1_to_token_n_over_links_that_exist(racer: Page, dilated: bool) -> None:
    racer.get_by_label("dilated convolution").set_checked(dilated)
    for n in (4, 16, 37, 64):
        slide(racer, "tokens, n", n)
        slide(racer, "steps", n)
        for lane in LANES:
            path = points(racer, lane)
            assert [row for _, row in path] == list(range(path_lengths(n, dilated)[lane] + 1))
            assert (path[0][0], path[-1][0]) == (0, n - 1)
            moves = [after - before for (before, _), (after, _) in pairwise(path)]
            if lane == "convolution":
                assert all(move in (0, 2**layer if dilated else 1) for layer, move in enumerate(moves))
            if lane == "recurrent":
                assert moves == [0] + [1] * (n - 1)


def test_how_much_more_attention_costs_is_said(racer: Page) -> None:
    words, announced = racer.locator(".te-race-sentence"), racer.locator("[aria-live=polite]")
    assert "steps one after another" in words.inner_text()
    for n, d, percent in ((16, 64, "11 %"), (64, 64, "33 %"), (64, 32, "50 %"), (5, 512, "less than 1 %")):
        slide(racer, "tokens, n", n)
        racer.get_by_label("size of a vector, d").select_option(str(d))
        ratio, share = attention_price(n, d)
        assert f"For n = {n} and d = {d}, a layer of attention takes {ratio:.2f} times" in words.inner_text()
        assert f"is {percent} of attention’s work" in words.inner_text()
        assert "less than 1" in percent or abs(int(percent[:2]) - 100 * share) <= 0.5
        assert_shows(racer, n, d, False, n)
    expect(announced).to_contain_text("takes 2.01 times the multiply-adds of a recurrent layer")
    slide(racer, "steps", 2)
    expect(announced).to_contain_text("After 2 steps")
    expect(announced).not_to_contain_text("multiply-adds")  # they have not changed
