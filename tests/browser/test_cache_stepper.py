"""The cache stepper, against the counts in Python and the model itself."""

import pytest
import torch

from tests.browser.figure_page import act, close, numbers, play, values
from transformer_edu import RUNNING_SENTENCE, RUNNING_TRANSLATION, pretrained
from transformer_edu.decoding.cost import cache_size, decoding_cost, step_cost
from transformer_edu.widgets.cache_stepper_data import rows_of_each_step, without_mask

STORED = 0.5e-4 + 2e-6  # half a unit of the recording, and float32's rounding
SHIPPED = pretrained.load_grammar()
READS = ["start", *RUNNING_TRANSLATION.split()]
STEPS, WORDS = len(READS), len(RUNNING_SENTENCE.split())
CACHED = {True: "with cache", False: "without cache"}


@pytest.fixture(scope="module")
def keys():
    """The model's own keys in layer 2, for each step (step, d_model), with the causal mask and without it."""
    source = torch.tensor([SHIPPED.source_vocabulary.encode(RUNNING_SENTENCE)])
    target = torch.tensor([SHIPPED.target_vocabulary.encode(RUNNING_TRANSLATION, add_bos=True)])
    masked = rows_of_each_step(SHIPPED.model, source, target)
    with without_mask(layer.self_attention for layer in SHIPPED.model.decoder.layers):
        unmasked = rows_of_each_step(SHIPPED.model, source, target)
    return {"masked": [rows["1.key"] for rows in masked], "unmasked": [rows["1.key"] for rows in unmasked]}


def kinds(page, table):
    """What happens to each row of a table, column by column."""
    rows = page.locator(f"[data-table={table}] [role=row]:has([data-kind])")
    return rows.evaluate_all("rows => rows.map(r => [...r.querySelectorAll('[data-kind]')].map(c => c.dataset.kind))")


def counts(page):
    """The lines of the table of counts: [with, without]."""
    flat = values(page, ".te-cache-counts").tolist()
    return [flat[i : i + 2] for i in range(0, len(flat), 2)]


def go(page, step):
    page.get_by_role("button", name="Start again").dispatch_event("click")
    act(page, *["button Next step"] * (step - 1))
    play(page, f"Step {step} of {STEPS}")


def assert_shows(page, step, cached):
    """Every cell of the picture, and every count, is as it must be."""
    own, memory = kinds(page, "target"), kinds(page, "memory")
    past = ["idle", "kept", "kept", "idle"] if cached else ["again"] * 4
    assert own == [past] * (step - 1) + [["now"] * 4] + [["later"] * 4] * (STEPS - step)
    assert memory == [["now" if step == 1 else "kept" if cached else "again"] * 2] * WORDS
    computed = sum(row.count("now") + row.count("again") for row in own + memory)
    assert computed == step_cost(step, WORDS, cached).projected_rows
    one = [step_cost(step, WORDS, way) for way in (True, False)]
    all_steps = [decoding_cost(step, WORDS, way) for way in (True, False)]
    assert counts(page) == [
        [work.projected_rows for work in one],
        [work.projected_rows for work in all_steps],
        [work.scores for work in one],
        [work.scores for work in all_steps],
        [cache_size(step, WORDS, 64, 2), 0],
    ]
    words = page.locator("[data-table=target] .te-cache-word").all_text_contents()
    assert words == READS[:step] + ["·"] * (STEPS - step)


def key_lines(page):
    rows = page.locator(".te-cache-keys [role=row]")
    verdicts = rows.locator(".te-cache-verdict").all_text_contents()
    return [(numbers(row.locator("[data-value]")), said) for row, said in zip(rows.all(), verdicts, strict=True)]


def assert_key(page, keys, token, step):
    """The lines of a token's key are the model's numbers; equal with the mask."""
    lines = key_lines(page)
    expected = [keys["masked"][token], keys["masked"][step - 1], keys["unmasked"][step - 1]]
    assert len(lines) == (1 if step == token + 1 else 3)
    for (shown, _), rows in zip(lines, expected, strict=False):
        close(shown, rows[token, :4], atol=STORED)
    if len(lines) == 3:
        assert torch.equal(lines[0][0], lines[1][0])
        changed = not torch.equal(lines[2][0], lines[0][0])
        assert [said for _, said in lines[1:]] == ["= the same", "≠ different" if changed else "= still the same"]


@pytest.mark.parametrize("cached", [True, False])
def test_every_step_agrees_with_the_counts_in_python(page, cached):
    act(page, f"radio {CACHED[cached]}")
    go(page, 1)
    for step in range(1, STEPS + 1):
        assert_shows(page, step, cached)
        play(page, f"the decoder reads {READS[step - 1]} and writes")
        page.get_by_role("button", name="Next step").dispatch_event("click")
    assert_shows(page, STEPS, cached)
    act(page, "button Back")
    assert_shows(page, STEPS - 1, cached)


def test_every_key_at_every_step_agrees_with_the_model(page, keys):
    for step in (2, 5, 8):
        go(page, step)
        for token in range(step):
            act(page, f"combobox Key of = {token}")
            assert_key(page, keys, token, step)


def test_a_longer_sentence_is_counted_as_in_python(page):
    for n in (8, 64, 200, 512):
        act(page, f"slider steps, n = {n}")
        rows = [decoding_cost(n, WORDS, way).target_rows for way in (True, False)]
        assert values(page, ".te-cache-bars").tolist() == [*rows, cache_size(n, WORDS, 64, 2)]
        wide = page.locator(".te-cache-track span").evaluate_all("all => all.map(one => parseFloat(one.style.width))")
        assert wide == pytest.approx([100 * rows[0] / rows[1], 100], rel=1e-4)
