"""The path-length racer, against boolean matrix products."""

from itertools import pairwise

import pytest
import torch

from tests.browser.figure_page import act, numbers, play
from transformer_edu.book.figures.path_length_racer import attention_price, multiply_adds, path_lengths

LANES = ("recurrent", "convolution", "attention")


def heard_by_step(lane, n, dilated, steps):
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


def attribute(page, lane, name):
    return page.locator(f"[data-lane={lane}]").get_attribute(f"data-{name}")


def assert_shows(page, n, d, dilated, step):
    paths = path_lengths(n, dilated)
    for lane in LANES:
        rows = min(step, paths[lane])
        expected = heard_by_step(lane, n, dilated, rows)
        assert [int(count) for count in attribute(page, lane, "heard").split()] == expected
        assert attribute(page, lane, "done") == str(paths[lane] <= step).lower()
        assert (expected[-1] == n) == (paths[lane] <= step)
        assert len(places(page, lane)) == rows + 1
        kinds = page.locator(f"[data-lane={lane}] rect").evaluate_all("all => all.map((one) => one.dataset.kind)")
        assert (kinds.count("heard"), kinds.count("none")) == (expected[-1], 64 - n)
    table = numbers(page.locator(".te-race-table [role=cell]")).view(5, 3).tolist()
    layers = {"recurrent": n, "GRU": n, "LSTM": n, "convolution": 1, "attention": 1}
    costs = multiply_adds(n, d)
    assert table == [[wait, paths.get(name, n), costs[name]] for name, wait in layers.items()]


def places(page, lane):
    """Where the path is after 0, 1, … steps, tokens counted from 0."""
    return [int(place) for place in attribute(page, lane, "path").split()]


@pytest.mark.parametrize("dilated", [False, True])
def test_every_step_agrees_with_brute_force(page, dilated):
    act(page, f"checkbox dilated convolution = {'on' if dilated else 'off'}")
    for n in (4, 16, 37, 64):
        act(page, f"slider tokens, n = {n}")
        for step in {0, 1, 2, 3, 5, n - 1, n}:
            act(page, f"slider steps = {step}")
            assert_shows(page, n, 64, dilated, step)


@pytest.mark.parametrize("dilated", [False, True])
def test_the_path_leads_from_token_1_to_token_n_over_links_that_exist(page, dilated):
    act(page, f"checkbox dilated convolution = {'on' if dilated else 'off'}")
    for n in (4, 16, 37, 64):
        act(page, f"slider tokens, n = {n}", f"slider steps = {n}")
        for lane in LANES:
            path = places(page, lane)
            assert len(path) == path_lengths(n, dilated)[lane] + 1
            assert (path[0], path[-1]) == (0, n - 1)
            ends = page.locator(f"[data-lane={lane}] .te-race-runner").get_attribute("d").removeprefix("M").split()
            assert float(ends[0]) == pytest.approx((n - 0.5) * 640 / n)
            moves = [after - before for before, after in pairwise(path)]
            if lane == "convolution":
                assert all(move in (0, 2**layer if dilated else 1) for layer, move in enumerate(moves))
            if lane == "recurrent":
                assert moves == [0] + [1] * (n - 1)


def test_how_much_more_attention_costs_is_said(page):
    act(page, "slider steps = 16", "click .te-details summary")
    for n, d in ((16, 64), (64, 64), (64, 32), (5, 512)):
        act(page, f"slider tokens, n = {n}", f"combobox size of a vector, d = {d}")
        play(page, f"Attention pays {attention_price(n, d)[0]:.2f} times the multiply-adds of this recurrent layer")
        assert_shows(page, n, d, False, n)


def test_the_first_play_begins_before_anything_is_heard(page):
    act(page, "button Play")
    heard = [attribute(page, lane, "heard").split() for lane in LANES]
    assert max(map(len, heard)) <= 2, heard


def test_a_finished_race_stays_finished_when_n_changes_and_it_can_be_played_and_stepped(page):
    act(page, "button Play")
    page.wait_for_selector("[data-lane=recurrent][data-done=true]")
    for step, n, at in (
        ("slider tokens, n = 30", 30, 30),
        ("slider steps = 0", 30, 0),
        ("button One step", 30, 1),
        ("button One step", 30, 2),
        ("slider steps = 25", 30, 25),
        ("slider tokens, n = 10", 10, 10),
    ):
        act(page, step)
        assert_shows(page, n, 64, False, at)
