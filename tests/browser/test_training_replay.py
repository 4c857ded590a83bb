"""The training replay: its numbers against PyTorch, the schedule and the recording."""

import pytest
import torch

from tests.browser.figure_page import act, close, number, numbers, play, shown
from transformer_edu import RUNNING_SENTENCE, RUNNING_TRANSLATION, record_attention, recordings
from transformer_edu.book.figures.training_replay import best_head, turning_point, weights_at
from transformer_edu.data import encode_pairs, held_out_pairs, iterate_batches, vocabularies
from transformer_edu.training import evaluate_loss
from transformer_edu.training.grammar_model import grammar_learning_rate, new_grammar_model

DATA = recordings.load("training-replay")["data"]
MOMENTS = DATA["moments"]
HALF_BYTE = 0.5 / 255 + 1e-6
START = turning_point(DATA, 0)


def written(page, line="now"):
    return page.locator(f"[data-line={line}] .te-rep-word").all_text_contents()


def assert_shows(page, run, at, layer=1, head=None):
    """Every number of a moment is the recorded one."""
    page.locator(".te-details").evaluate("details => (details.open = true)")
    look = DATA["runs"][run]["moments"][at]
    head = best_head(DATA, 0, layer) if head is None else head
    assert page.locator(".te-slider output").text_content() == str(MOMENTS[at])
    assert numbers(page.locator(".te-rep-p")).tolist() == look["p"]
    assert number(page, "[data-fact=loss]") == look["loss"]
    assert written(page) == ([word for word in look["written"] if word != "<eos>"] or ["(nothing)"])
    expected = torch.tensor(weights_at(DATA, run, at, layer, head), dtype=torch.float64)
    close(shown(page, "weights", "[data-row]"), expected, atol=1e-6)
    if at:
        assert number(page, "[data-fact=rate]") == look["rate"]
        assert page.locator(".te-words").inner_text().startswith(f"Since step {MOMENTS[at - 1]}:")


def test_before_training_it_shows_what_pytorch_computes(page):
    act(page, "slider step = 0", "click .te-details summary")
    model = new_grammar_model(0).eval()
    english, french = vocabularies()
    source = torch.tensor([english.encode(RUNNING_SENTENCE)])
    target = torch.tensor([french.encode(RUNNING_TRANSLATION, add_bos=True, add_eos=True)])
    with torch.no_grad(), record_attention(model) as maps:
        p = model(source, target[:, :-1])[0].softmax(-1)
    right = [p[i, word].item() for i, word in enumerate(target[0, 1:].tolist())]
    assert numbers(page.locator(".te-rep-p")).tolist() == pytest.approx(right, abs=1e-4)
    pairs = encode_pairs(held_out_pairs(DATA["held_out_sentences"]), english, french)
    loss = evaluate_loss(model, iterate_batches(pairs, 100), smoothing=DATA["smoothing"])
    assert number(page, "[data-fact=loss]") == pytest.approx(loss, abs=1e-4)
    for layer in range(2):
        for head in range(4):
            act(page, f"combobox attention of = layer {layer + 1}, head {head + 1}")
            close(shown(page, "weights", "[data-row]"), maps[f"decoder.{layer}.cross"][0, head], atol=HALF_BYTE)


def test_default_has_half_the_words_and_forward_brings_the_rest(page):
    assert_shows(page, 0, START)
    assert page.locator("[data-line=now] .te-rep-done").count() == 0
    right = page.locator("[data-line=now] .te-rep-good").all_text_contents()
    assert 3 <= len(right) < 7
    assert written(page, "start") == DATA["runs"][0]["moments"][0]["written"][:5]
    assert written(page, "end") == RUNNING_TRANSLATION.split()
    act(page, "button Forward")
    assert_shows(page, 0, START + 1)
    assert written(page) == RUNNING_TRANSLATION.split()
    assert page.locator("[data-line=now] .te-rep-done").text_content() == "✓"
    act(page, "button Back")
    assert_shows(page, 0, START)


def test_every_moment_of_every_run_and_its_dot_on_the_curve(page):
    places, losses = [], []
    for run, plan in enumerate(DATA["runs"]):
        act(page, f"radio {plan['name']}")
        for at in range(len(MOMENTS)):
            act(page, f"slider step = {at}")
            assert_shows(page, run, at)
            dot = page.locator("[data-chart=loss] .te-rep-now")
            assert dot.get_attribute("data-step") == str(MOMENTS[at])
            assert number(page, "[data-chart=loss] .te-rep-now") == plan["moments"][at]["loss"]
            places.append(dot.evaluate("({ style }) => [style.left, style.top].map(parseFloat)"))
            losses.append(plan["moments"][at]["loss"])
            if run == 0 and at:
                rate = pytest.approx(grammar_learning_rate(MOMENTS[at]), rel=1e-3)
                assert number(page, "[data-fact=rate]") == rate
    top = losses[0] / (1 - places[0][1] / 100)
    for (x, y), step, loss in zip(places, MOMENTS * 3, losses, strict=True):
        assert x == pytest.approx(step / 10, abs=0.01)
        assert y == pytest.approx(100 - 100 * loss / top, abs=0.01)


def test_play_begins_at_the_start_and_a_click_in_the_chart_picks_a_moment(page):
    act(page, "button Play")
    assert page.locator(".te-slider output").text_content() == "0"
    act(page, "button Pause", "click [data-chart=loss]")
    assert page.locator(".te-slider output").text_content() == "500"


def test_words_name_what_grew_most(page):
    before, after = DATA["runs"][0]["moments"][START - 1 : START + 1]
    growth = [new - old for new, old in zip(after["p"], before["p"], strict=True)]
    most = growth.index(max(growth))
    head = best_head(DATA, 0, 1)
    old, new = (weights_at(DATA, 0, at, 1, head) for at in (START - 1, START))
    i, j = max(DATA["alignment"], key=lambda pair: new[pair[1]][pair[0]] - old[pair[1]][pair[0]])
    play(
        page,
        "> click .te-details summary",
        f"to write {DATA['target_tokens'][j]} it looks more at {DATA['source_tokens'][i]}, {old[j][i]:.2f} → "
        f"{new[j][i]:.2f}. … surer of {DATA['target_tokens'][most]}, {before['p'][most]:.2f} → {after['p'][most]:.2f}.",
    )
    assert page.locator(".te-selected").get_attribute("data-row") == str(j)


def test_the_mark_hides_no_number_and_the_axis_no_label(page):
    inside = "one => getComputedStyle(one).boxShadow.split(/,(?![^(]*\\))/).every((part) => part.includes('inset'))"
    assert page.locator(".te-rep-map .te-selected").evaluate(inside)
    chart = page.locator(".te-rep-chart").first
    label, tick = (chart.locator(one).bounding_box() for one in (".te-rep-steps", ".te-rep-x >> nth=-1"))
    assert label["x"] >= tick["x"] + tick["width"]


def test_on_a_phone_play_stands_in_one_view_with_the_map_it_moves(page):
    page.set_viewport_size({"width": 390, "height": 844})
    play_, map_ = (page.locator(one).bounding_box() for one in (".te-play", ".te-rep-map.te-rep-now"))
    assert 0 < map_["y"] + map_["height"] - play_["y"] <= 844
