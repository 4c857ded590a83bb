"""The training replay: the page shows the recorded numbers; the chart, and what stands together on a phone."""

import torch

from tests.browser.figure_page import act, close, number, numbers, shown
from transformer_edu import recordings
from transformer_edu.book.figures.training_replay import best_head, turning_point, weights_at

DATA = recordings.load("training-replay")["data"]


def test_the_page_shows_a_moments_numbers_and_its_dot_on_the_curve(page):
    step = turning_point(DATA, 0)
    for run, at in ((0, step), (2, step + 1)):
        act(page, f"radio {DATA['runs'][run]['name']}", f"slider step = {at}")
        look = DATA["runs"][run]["moments"][at]
        expected = torch.tensor(weights_at(DATA, run, at, 1, best_head(DATA, 0, 1)), dtype=torch.float64)
        close(shown(page, "weights", "[data-row]"), expected, atol=1e-6)
        assert numbers(page.locator(".te-rep-p")).tolist() == look["p"]
        assert number(page, "[data-fact=loss]") == number(page, "[data-chart=loss] .te-rep-now") == look["loss"]
        assert number(page, "[data-fact=rate]") == look["rate"]
        left = page.locator("[data-chart=loss] .te-rep-now").evaluate("({ style }) => parseFloat(style.left)")
        assert left == DATA["moments"][at] / 10


def test_a_click_in_the_chart_picks_a_moment(page):
    act(page, "click [data-chart=loss]")
    assert page.locator(".te-slider output").text_content() == "500"


def test_the_mark_hides_no_number_and_the_axis_no_label(page):
    inside = "one => getComputedStyle(one).boxShadow.split(/,(?![^(]*\\))/).every((part) => part.includes('inset'))"
    assert page.locator(".te-rep-map .te-selected").evaluate(inside)
    chart = page.locator(".te-rep-chart").first
    label, tick = (chart.locator(selector).bounding_box() for selector in (".te-rep-steps", ".te-rep-x >> nth=-1"))
    assert label["x"] >= tick["x"] + tick["width"]


def test_on_a_phone_play_stands_in_one_view_with_the_map_it_moves(page):
    page.set_viewport_size({"width": 390, "height": 844})
    play_, map_ = (page.locator(selector).bounding_box() for selector in (".te-play", ".te-rep-map.te-rep-now"))
    assert 0 < map_["y"] + map_["height"] - play_["y"] <= 844
