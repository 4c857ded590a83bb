"""The decoder stepper's page, with the numbers that its module derives (tests/js) from what Python recorded."""

from tests.browser.figure_page import numbers, shown
from transformer_edu.book.figures import DecoderStepper


def test_the_page_shows_what_was_derived(open_html):
    figure = DecoderStepper()
    page = open_html(figure.html(), asleep=True).page
    *before, step = figure.recorded["steps"][: len(figure.path) + 1]
    for where, expected in {
        ".te-dec-p[data-value]": [previous["taken"][0] for previous in before],
        ".te-dec-look": step["self"][figure.layer],
        ".te-dec-output": [*step["moved"], 0],
        "[aria-label=Cross-attention] li": step["cross"][figure.layer],
        ".te-dec-option": [p for _, p in step["next"]],
    }.items():
        assert numbers(page.locator(where)).tolist() == expected, where
    assert shown(page, "outputs").tolist() == step["outputs"]
