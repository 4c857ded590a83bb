"""The attention map, with PyTorch's numbers."""

import pytest
import torch

from tests.browser.figure_page import act, close, numbers, play, shown
from tests.browser.test_engine import greedily
from transformer_edu import RUNNING_SENTENCE, RUNNING_TRANSLATION, record_attention
from transformer_edu.book.engine.page_file import read_page_file
from transformer_edu.book.engine.shipped import shipped_file
from transformer_edu.book.figures.attention_map import attention_of
from transformer_edu.book.figures.sentence_data import opening
from transformer_edu.inspect.changes import changed

WRITTEN = [*RUNNING_TRANSLATION.split(), "end"]
HEADS = [f"decoder.1.cross.{head}" for head in range(4)]
OTHER = "these foxes want a hat"


@pytest.fixture(scope="module")
def model_maps():
    """Every attention of the shipped model on the running sentence: (heads, q_len, k_len)."""
    return {name: weights.double() for name, weights in attention_of(opening(RUNNING_SENTENCE))[0].items()}


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
    lines = page.locator(".te-link-chosen").evaluate_all("all => all.map(one => parseFloat(one.style.strokeWidth))")
    assert lines == pytest.approx((1 + 8 * row[row >= 0.005]).tolist(), abs=0.01)


@pytest.mark.parametrize(
    ("changes", "steps"),
    [
        ({}, []),
        ({"heads": {HEADS[2]: "off"}}, ["combobox head = 3", "combobox heads shown = off"]),
        ({"heads": dict.fromkeys(HEADS, "uniform")}, ["combobox heads shown = look at all alike"]),
        ({"heads": dict.fromkeys(HEADS, "off")}, ["combobox heads shown = off"]),
        (
            {"blocked": [("decoder.cross", 1, 1), ("decoder.cross", 4, 0)]},
            [
                "click [data-matrix=weights] [data-row='1'][data-column='1']",
                "checkbox may not look at = on",
                "click [data-matrix=weights] [data-row='4'][data-column='0']",
                "checkbox may not look at = on",
            ],
        ),
    ],
    ids=["as trained", "a head off", "all alike", "all off", "two looks blocked"],
)
def test_another_sentence_is_computed_as_in_pytorch_with_parts_taken_away(page, changes, steps):
    model, (english, french) = read_page_file(shipped_file("grammar"))
    source = english.encode(OTHER)
    with changed(model, **changes), record_attention(model) as maps, torch.no_grad():
        ids = greedily(model, source)[:13]
        logits = model(torch.tensor([source]), torch.tensor([ids[:-1]]))[0]
    act(page, f"textbox English sentence = {OTHER}", *steps)
    written = page.locator(".te-link-queries .te-word").all_inner_texts()
    assert written == [french.word(index).replace("<eos>", "end") for index in ids[1:]]
    for layer in (1, 2):
        for kind, name in (
            ("Cross", "decoder.{}.cross"),
            ("Encoder", "encoder.{}.self"),
            ("Decoder", "decoder.{}.self"),
        ):
            act(page, f"radio {kind}", f"combobox layer = {layer}", "combobox head = null")
            close(shown(page, "weights"), maps[name.format(layer - 1)][0].mean(dim=0))
    act(page, "radio Cross", "click .te-link-queries button >> nth=2")
    likely = numbers(page.locator(".te-candidate"))
    close(likely, logits.softmax(dim=-1)[2].topk(5).values)


def test_what_a_blocked_look_changes_is_said_and_taken_back(page):
    play(
        page,
        "> checkbox noir may not look at black = on",
        "Without noir → black: le petit chat ne dort pas",
        "With all its parts: le petit chat noir ne dort pas.",
        "~ le petit chat ne dort pas.",
        "> checkbox noir may not look at black = off",
        "noir looks at black",
        "> checkbox noir may not look at black = on",
        "> button Start again",
        "noir looks at black",
        "> combobox head = 1; combobox heads shown = off",
        "Without 1 head, it writes the same",
    )


def test_rows_of_decoder_self_attention_never_see_later_words(page):
    act(page, "radio Decoder self")
    hatched = page.locator("[data-matrix=weights] .te-blocked").evaluate_all(
        "all => all.map(c => [c.dataset.row, c.dataset.column])"
    )
    assert {(int(row), int(column)) for row, column in hatched} == {(i, j) for i in range(8) for j in range(i + 1, 8)}
    headers = page.locator("[data-matrix=weights] [role=columnheader]").all_text_contents()
    assert headers == ["start", *WRITTEN[:-1]]
    assert page.locator("[data-matrix=weights] [role=rowheader]").all_text_contents() == WRITTEN


def test_a_word_that_is_gone_stays_beside_the_new_one(page):
    gone = "all => Object.fromEntries(all.map((one) => [one.textContent, one.dataset.was]))"
    act(page, "textbox English sentence = the small black cow does not sleep", "radio dort")
    marked = page.locator(".te-link-queries [data-was]")
    assert marked.evaluate_all(gone) == {"la": "le", "petite": "petit", "vache": "chat", "noire": "noir"}
    act(page, "radio noire", "checkbox noire may not look at black = on")
    assert marked.count() == 0
    between = page.locator(".te-link-queries [data-gone]")
    assert between.evaluate_all("all => all.map((one) => [one.dataset.gone, one.textContent])") == [["noire", "ne"]]
