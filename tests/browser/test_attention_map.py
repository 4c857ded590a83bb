"""The attention map, with PyTorch's numbers."""

import pytest
import torch

from tests.browser.figure_page import act, close, numbers, shown
from transformer_edu import RUNNING_SENTENCE, RUNNING_TRANSLATION, pretrained, record_attention, recordings

WRITTEN = [*RUNNING_TRANSLATION.split(), "end"]


@pytest.fixture(scope="module")
def model_maps():
    """Every attention of the shipped model on the running sentence: (heads, q_len, k_len)."""
    shipped = pretrained.load_grammar()
    source = torch.tensor([shipped.source_vocabulary.encode(RUNNING_SENTENCE)])
    target = torch.tensor([shipped.target_vocabulary.encode(RUNNING_TRANSLATION, add_bos=True)])
    with torch.no_grad(), record_attention(shipped.model) as maps:
        shipped.model(source, target)
    return {name: weights[0].double() for name, weights in maps.items()}


@pytest.mark.parametrize("kind", ["decoder.cross", "encoder.self", "decoder.self"])
def test_every_map_agrees_with_the_model(page, model_maps, kind):
    stack, attention = kind.split(".")
    act(page, "radio Cross" if attention == "cross" else f"radio {stack.title()} self")
    for layer in (0, 1):
        weights = model_maps[f"{stack}.{layer}.{attention}"]
        act(page, f"combobox layer = {layer + 1}", "combobox head = null")
        close(shown(page, "weights"), weights.mean(dim=0))
        for head in range(len(weights)):
            act(page, f"combobox head = {head + 1}")
            close(shown(page, "weights"), weights[head])


def test_a_line_is_as_thick_as_its_weight(page, model_maps):
    row = model_maps["decoder.1.cross"].mean(dim=0)[WRITTEN.index("noir")]
    lines = page.locator(".te-map-chosen").evaluate_all("all => all.map(one => one.getAttribute('stroke-width'))")
    assert [float(width) for width in lines] == pytest.approx((1 + 8 * row[row >= 0.005]).tolist(), abs=0.01)


def test_candidates_are_the_recorded_ones(page):
    stored = recordings.load("running-sentence")["data"]["steps"][3]["best"]
    close(numbers(page.locator(".te-candidate")), [probability for _, probability in stored], atol=0)


def test_rows_of_decoder_self_attention_never_see_later_words(page):
    act(page, "radio Decoder self")
    hatched = page.locator("[data-matrix=weights] .te-blocked").evaluate_all(
        "all => all.map(c => [c.dataset.row, c.dataset.column])"
    )
    assert {(int(row), int(column)) for row, column in hatched} == {(i, j) for i in range(8) for j in range(i + 1, 8)}
    headers = page.locator("[data-matrix=weights] [role=columnheader]").all_text_contents()
    assert headers == ["start", *WRITTEN[:-1]]
    assert page.locator("[data-matrix=weights] [role=rowheader]").all_text_contents() == WRITTEN
