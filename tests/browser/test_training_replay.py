"""The training replay: its numbers against PyTorch, the schedule and the recording."""

import pytest
import torch

from tests.browser.figure_page import act, close, number, numbers, play, shown, values
from transformer_edu import RUNNING_SENTENCE, RUNNING_TRANSLATION, record_attention, recordings
from transformer_edu.data import encode_pairs, held_out_pairs, iterate_batches, vocabularies
from transformer_edu.training import evaluate_loss
from transformer_edu.training.grammar_model import grammar_learning_rate, new_grammar_model
from transformer_edu.widgets.training_replay_data import best_head, turning_point, weights_at

DATA = recordings.load("training-replay")["data"]
MOMENTS = DATA["moments"]
HALF_BYTE = 0.5 / 255 + 1e-6
START = turning_point(DATA, 0)


def written(page):
    return page.locator("[data-line=written] .te-rep-word").all_text_contents()


def assert_shows(page, run, at, layer=1, head=None):
    """Every number of a moment is the recorded one."""
    look = DATA["runs"][run]["moments"][at]
    head = best_head(DATA, 0, layer) if head is None else head
    assert page.locator(".te-slider output").text_content() == str(MOMENTS[at])
    assert numbers(page.locator(".te-rep-p")).tolist() == look["p"]
    assert number(page, "[data-fact=loss]") == look["loss"]
    assert written(page) == [{"<eos>": "(end)"}.get(word, word) for word in look["written"]]
    expected = torch.tensor(weights_at(DATA, run, at, layer, head), dtype=torch.float64)
    close(shown(page, "weights", "[data-row]"), expected, atol=1e-6)
    if at:
        assert number(page, "[data-fact=rate]") == look["rate"]
        assert page.locator(".te-rep-story").inner_text().startswith(f"Steps {MOMENTS[at - 1] + 1} to {MOMENTS[at]}:")


def test_before_training_it_shows_what_pytorch_computes(page):
    act(page, "slider training step = 0")
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
    assert page.locator(".te-rep-done").count() == 0
    right = page.locator(".te-rep-good").all_text_contents()
    assert 3 <= len(right) < 8
    act(page, "button Forward")
    assert_shows(page, 0, START + 1)
    assert written(page) == [*RUNNING_TRANSLATION.split(), "(end)"]
    assert page.locator(".te-rep-done").text_content() == "✓ right"
    act(page, "button Back")
    assert_shows(page, 0, START)


def test_every_moment_of_every_run(page):
    for run, plan in enumerate(DATA["runs"]):
        act(page, f"radio {plan['name']}")
        for at in range(len(MOMENTS)):
            act(page, f"slider training step = {at}")
            assert_shows(page, run, at)
            if run == 0 and at:
                rate = pytest.approx(grammar_learning_rate(MOMENTS[at]), rel=1e-3)
                assert number(page, "[data-fact=rate]") == rate


def test_chart_has_a_dot_for_each_moment_at_its_height(page):
    dots = values(page, "[data-chart=loss] svg").tolist()
    assert dots == [look["loss"] for look in DATA["runs"][0]["moments"]]
    places = page.locator("[data-chart=loss] circle").evaluate_all(
        "all => all.map(one => [one.dataset.step, one.cx.baseVal.value, one.cy.baseVal.value].map(Number))"
    )
    first, last = places[0], places[-1]
    for (step, x, y), loss in zip(places, dots, strict=True):
        assert x == pytest.approx(first[1] + (last[1] - first[1]) * step / MOMENTS[-1], abs=0.01)
        share = (loss - dots[0]) / (dots[-1] - dots[0])
        assert y == pytest.approx(first[2] + (last[2] - first[2]) * share, abs=0.01)
    assert page.locator("[data-chart=loss] .te-rep-here").get_attribute("data-step") == str(MOMENTS[START])
    assert page.locator("[data-chart=loss] .te-rep-curve").count() == len(DATA["runs"])


def test_words_name_what_grew_most(page):
    before, after = DATA["runs"][0]["moments"][START - 1 : START + 1]
    growth = [new - old for new, old in zip(after["p"], before["p"], strict=True)]
    most = growth.index(max(growth))
    said = f"gained most is {DATA['target_tokens'][most]}, {before['p'][most]:.2f} → {after['p'][most]:.2f}"
    play(page, said)
    assert page.locator(".te-rep-most").get_attribute("data-value") == str(after["p"][most])
    head = best_head(DATA, 0, 1)
    old, new = (weights_at(DATA, 0, at, 1, head) for at in (START - 1, START))
    i, j = max(DATA["alignment"], key=lambda pair: new[pair[1]][pair[0]] - old[pair[1]][pair[0]])
    play(
        page,
        f"To write {DATA['target_tokens'][j]}, this head looks at {DATA['source_tokens'][i]} more than before, "
        f"{old[j][i]:.2f} → {new[j][i]:.2f}.",
    )
    assert page.locator(".te-selected").get_attribute("data-row") == str(j)
