"""The cache stepper, against the counts in Python and the model itself."""

import pytest

from tests.browser.figure_page import act, close, numbers, play, values
from transformer_edu import RUNNING_SENTENCE, RUNNING_TRANSLATION
from transformer_edu.book.figures import CacheStepper
from transformer_edu.book.figures.cache_stepper import cached_rows
from transformer_edu.book.figures.sentence_data import opening
from transformer_edu.decoding.cost import cache_size, decoding_cost, step_cost

OTHER = "these foxes want a hat"
ROWS = {sentence: cached_rows(opening(sentence)) for sentence in (RUNNING_SENTENCE, OTHER)}
READS = ["start", *RUNNING_TRANSLATION.split()]
STEPS, WORDS = len(READS), len(RUNNING_SENTENCE.split())


def kinds(page, board):
    """What has happened to each token's row at each step."""
    found = page.locator(f"[data-board={board}] [data-kind]").evaluate_all("all => all.map((one) => one.dataset.kind)")
    return [found[i : i + STEPS] for i in range(0, len(found), STEPS)]


def counts(page):
    """The lines of the table of counts: [with, without]."""
    flat = values(page, ".te-cache-counts").tolist()
    return [flat[i : i + 2] for i in range(0, len(flat), 2)]


def go(page, step):
    """To a step, with Next or Back."""
    for _ in range(STEPS - 1):
        page.get_by_role("button", name="Back").dispatch_event("click")
    for _ in range(step - 1):
        page.get_by_role("button", name="Next step").dispatch_event("click")
    play(page, f"Step {step} of {STEPS}")


def assert_shows(page, step):
    """Every cell of the picture, and every count, is as it must be."""
    one, all_steps = ([work(step, WORDS, way) for way in (True, False)] for work in (step_cost, decoding_cost))
    for board, past, work in (("cached", "kept", all_steps[0]), ("plain", "again", all_steps[1])):
        rows = kinds(page, board)
        for row, line in enumerate(rows, start=1):
            assert line == ["later"] * (row - 1) + (["now"] + [past] * STEPS)[: max(0, step - row + 1)] + (
                ["later"] * (STEPS - max(step, row - 1))
            )
        assert sum(line.count("now") + line.count("again") for line in rows) == work.target_rows
    assert numbers(page.locator(".te-cache-count")).tolist() == [work.target_rows for work in all_steps]
    assert counts(page) == [
        [work.projected_rows for work in one],
        [work.projected_rows for work in all_steps],
        [work.scores for work in one],
        [work.scores for work in all_steps],
        [cache_size(step, WORDS, 64, 2), 0],
    ]


def assert_keys(page, rows, step, layer, masked):
    """Every token's key is the one that the model keeps, and the one that it computes again; stale rows are marked."""
    again = rows["masked" if masked else "unmasked"][step - 1]
    moved = [far > 1e-3 for far in again["moved"][layer]]
    for token in range(step):
        page.get_by_label("Key of").select_option(str(token))
        close(numbers(page.locator("[data-key=cached] [data-value]")), rows["kept"][layer][token])
        close(numbers(page.locator("[data-key=plain] [data-value]")), again["keys"][layer][token])
        assert page.locator(".te-cache-verdict").last.inner_text() == ("≠ another" if moved[token] else "= the same")
    assert page.locator("[data-board=cached] [data-kind=stale]").count() == sum(moved[:-1])


def test_every_step_agrees_with_the_counts_in_python(page):
    go(page, 1)
    for step in range(1, STEPS + 1):
        assert_shows(page, step)
        play(page, f"Step {step} of {STEPS} reads {READS[step - 1]} and writes")
        page.get_by_role("button", name="Next step").dispatch_event("click")
    act(page, "button Back")
    assert_shows(page, STEPS - 1)


def test_what_it_opens_with_are_the_numbers_of_the_model(open_html):
    page = open_html(CacheStepper(masked=False).html(), asleep=True).page
    assert_keys(page, ROWS[RUNNING_SENTENCE], STEPS, 1, False)


@pytest.mark.parametrize("sentence", ROWS)
def test_every_key_of_any_sentence_agrees_with_the_model(page, sentence):
    rows = ROWS[sentence]
    for typed in ("the cat sleeps", sentence):  # the second is computed in the page, though the figure opened with it
        page.get_by_label("English sentence").fill(typed)
    steps = len(rows["reads"])
    assert numbers(page.locator(".te-cache-count")).tolist() == [steps, steps * (steps + 1) / 2]
    for step in (steps, steps - 1, steps - 2):
        for layer in (0, 1):
            act(page, f"radio layer {layer + 1}")
            for masked in (True, False):
                page.get_by_label("no mask").set_checked(not masked)
                assert_keys(page, rows, step, layer, masked)
        act(page, "button Back")


def test_a_longer_sentence_is_counted_as_in_python(page):
    page.locator("summary").last.click()
    for n in (8, 64, 200, 512):
        act(page, f"slider steps, n = {n}")
        rows = [decoding_cost(n, WORDS, way).target_rows for way in (True, False)]
        assert values(page, ".te-cache-bars").tolist() == [*rows, cache_size(n, WORDS, 64, 2)]
        wide = page.locator(".te-cache-track span").evaluate_all("all => all.map(one => parseFloat(one.style.width))")
        assert wide == pytest.approx([100 * rows[0] / rows[1], 100], rel=1e-4)
