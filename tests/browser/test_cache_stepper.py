"""The cache stepper, against the counts in Python and the model itself."""

import pytest
import torch
from playwright.sync_api import Locator, Page, expect
from torch import Tensor

from tests.browser.figure_page import Show
from transformer_edu import RUNNING_SENTENCE, RUNNING_TRANSLATION, pretrained
from transformer_edu.decoding.cost import cache_size, decoding_cost, step_cost
from transformer_edu.widgets import CacheStepper
from transformer_edu.widgets.cache_stepper_data import rows_of_each_step, without_mask

STORED = 0.5e-4 + 2e-6  # half a unit of the recording, and float32's rounding
SHIPPED = pretrained.load_grammar()
READS = ["start", *RUNNING_TRANSLATION.split()]
STEPS, WORDS = len(READS), len(RUNNING_SENTENCE.split())
CACHED = {True: "with cache", False: "without cache"}


@pytest.fixture
def page(show: Show) -> Page:
    return show(CacheStepper())


@pytest.fixture(scope="module")
def keys() -> dict[str, list[Tensor]]:
    """The model's own keys in layer 2, for each step (step, d_model), with the causal mask and without it."""
    source = torch.tensor([SHIPPED.source_vocabulary.encode(RUNNING_SENTENCE)])
    target = torch.tensor([SHIPPED.target_vocabulary.encode(RUNNING_TRANSLATION, add_bos=True)])
    masked = rows_of_each_step(SHIPPED.model, source, target)
    with without_mask(layer.self_attention for layer in SHIPPED.model.decoder.layers):
        unmasked = rows_of_each_step(SHIPPED.model, source, target)
    return {"masked": [rows["1.key"] for rows in masked], "unmasked": [rows["1.key"] for rows in unmasked]}


def values(found: Locator) -> list[float]:
    return found.evaluate_all("all => all.map(one => Number(one.dataset.value))")


def kinds(page: Page, table: str) -> list[list[str]]:
    """What happens to each row of a table, column by column."""
    rows = page.locator(f"[data-table={table}] [role=row]:has([data-kind])")
    return rows.evaluate_all("rows => rows.map(r => [...r.querySelectorAll('[data-kind]')].map(c => c.dataset.kind))")


def counts(page: Page) -> list[list[float]]:
    """The lines of the table of counts: [with, without]."""
    flat = values(page.locator(".te-cache-counts [data-value]"))
    return [flat[i : i + 2] for i in range(0, len(flat), 2)]


def go(page: Page, step: int) -> None:
    page.get_by_role("button", name="Start again").dispatch_event("click")
    for _ in range(step - 1):
        page.get_by_role("button", name="Next step").click()
    expect(page.locator(".te-sentence").first).to_contain_text(f"Step {step} of {STEPS}")


def assert_shows(page: Page, step: int, cached: bool) -> None:
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


def key_lines(page: Page) -> list[tuple[list[float], str]]:
    rows = page.locator(".te-cache-keys [role=row]")
    return [
        (values(row.locator("[data-value]")), row.locator(".te-cache-verdict").text_content() or "")
        for row in rows.all()
    ]


def assert_key(page: Page, keys: dict[str, list[Tensor]], token: int, step: int) -> None:
    """The lines of a token's key are the model's numbers; equal with the mask."""
    lines = key_lines(page)
    expected = [keys["masked"][token], keys["masked"][step - 1], keys["unmasked"][step - 1]]
    assert len(lines) == (1 if step == token + 1 else 3)
    for (shown, _), rows in zip(lines, expected, strict=False):
        torch.testing.assert_close(torch.tensor(shown), rows[token, :4], atol=STORED, rtol=0)
    if len(lines) == 3:
        assert lines[0][0] == lines[1][0]
        assert lines[1][1] == "= the same"
        assert lines[2][1] == ("= still the same" if lines[2][0] == lines[0][0] else "≠ different")


@pytest.mark.parametrize("cached", [True, False])
def test_every_step_agrees_with_the_counts_in_python(page: Page, cached: bool) -> None:
    page.get_by_role("radio", name=CACHED[cached], exact=True).click()
    go(page, 1)
    for step in range(1, STEPS + 1):
        assert_shows(page, step, cached)
        expect(page.locator(".te-sentence").first).to_contain_text(f"the decoder reads {READS[step - 1]} and writes")
        page.get_by_role("button", name="Next step").dispatch_event("click")
    assert_shows(page, STEPS, cached)
    page.get_by_role("button", name="Back").click()
    assert_shows(page, STEPS - 1, cached)


def test_every_key_at_every_step_agrees_with_the_model(page: Page, keys: dict[str, list[Tensor]]) -> None:
    for step in (2, 5, 8):
        go(page, step)
        for token in range(step):
            page.get_by_label("Key of").select_option(str(token))
            assert_key(page, keys, token, step)
    go(page, 3)
    page.get_by_label("Key of").select_option("6")
    expect(page.locator(".te-cache-keys")).to_have_text("dort is not read before step 7.")


def test_a_longer_sentence_is_counted_as_in_python(page: Page) -> None:
    for n in (8, 64, 200, 512):
        page.get_by_role("slider", name="steps, n").fill(str(n))
        rows = [decoding_cost(n, WORDS, way).target_rows for way in (True, False)]
        assert values(page.locator(".te-cache-bars [data-value]")) == [*rows, cache_size(n, WORDS, 64, 2)]
        wide = page.locator(".te-cache-track span").evaluate_all("all => all.map(one => parseFloat(one.style.width))")
        assert wide == pytest.approx([100 * rows[0] / rows[1], 100], rel=1e-4)
    expect(page.locator(".te-cache-bars")).to_contain_text("n(n + 1)/2 = 131,328")
    expect(page.locator(".te-cache-bars")).to_contain_text("256.5 times as many rows without")


def test_another_sentence_recorded_live_and_layer_1(show: Show) -> None:
    figure = CacheStepper.of_translator(SHIPPED, "a red hen sings", layer=0, step=4, token=1)
    page = show(figure)
    assert page.locator("[data-table=memory] .te-cache-word").all_text_contents() == ["a", "red", "hen", "sings"]
    assert [verdict for _, verdict in key_lines(page)] == ["", "= the same", "= still the same"]
    expect(page.locator(".te-root")).to_contain_text("In layer 1 a key comes from its own token and place alone")
