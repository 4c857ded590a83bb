"""The residual stream: what the output layer reads at every place, and what a silent sub-layer changes there."""

import pytest
import torch
from playwright.sync_api import expect

from tests.browser.conftest import wake
from tests.browser.figure_page import act, close, number, numbers, play, shown
from transformer_edu import build_transformer
from transformer_edu.book.engine.page_file import read_page_file
from transformer_edu.book.engine.shipped import shipped_file
from transformer_edu.book.figures import ResidualStream
from transformer_edu.book.figures.residual_stream import stream
from transformer_edu.data.vocabulary import Vocabulary

LINE = "English sentence"
READ = {"<bos>": "start", "<eos>": "end"}
CELL = "[data-matrix=stream] [data-row='{}'][data-column='{}']"


def assert_shows(page, expected):
    """The table is the expected one, and so is what is told of some of its places."""
    best = expected["best"]
    close(shown(page, "stream"), [[some[0][1] for some in row] for row in best])
    cells = page.locator("[data-matrix=stream] [data-value]")
    words = [READ.get(some[0][0], some[0][0]) for row in best for some in row]
    assert cells.all_inner_texts() == words
    changed = cells.evaluate_all("all => all.map((one) => one.classList.contains('te-stream-other'))")
    whole = [word for row in expected["whole"] for word in row]
    assert changed == [word != READ.get(other, other) for word, other in zip(words, whole, strict=True)]
    for place, at in ((0, 0), (1, 0), (len(best) - 1, len(best[0]) - 1)):
        page.locator(CELL.format(place, at)).focus()
        close(numbers(page.locator(".te-stream-best .te-number")), [p for _, p in best[place][at]])
        for measure in page.locator(".te-words [data-measure]").all():
            key = measure.get_attribute("data-measure")
            assert number(page, f"[data-measure={key}]") == pytest.approx(expected[key][place][at], abs=2e-4)


def test_the_default_teaches_before_any_weight_is_loaded(open_html):
    watched = open_html(ResidualStream().html(), asleep=True)
    page = watched.page
    assert page.locator(".te-root").get_attribute("data-engine") == "idle"
    title = "Layer 2’s cross-attention finds the words: 4 of 8 before it, 8 after it"
    expect(page.locator(".te-says")).to_have_text(title)
    wake(page)
    expect(page.locator(".te-says")).to_have_text(title)
    watched.assert_clean()


@pytest.mark.parametrize("sentence", ["my cow sees the red house", "this hen sleeps"])
@pytest.mark.parametrize("silent", ["", "decoder.0.feed_forward", "decoder.1.cross"])
def test_the_stream_is_that_of_pytorch(page, sentence, silent):
    page.get_by_label(LINE).fill(sentence)
    act(page, f"combobox silence = {silent}")
    assert_shows(page, stream(*read_page_file(shipped_file("grammar")), sentence.split(), silent))


def test_a_silent_sub_layer_changes_words_from_there_on(page):
    play(
        page,
        "> combobox silence = decoder.1.cross",
        "Without layer 2’s cross-attention, 4 of 8 words change",
        "~ is silent and adds nothing",
        "> combobox silence = decoder.0.feed_forward",
        "Without layer 1’s feed-forward, no word changes",
        f"> click {CELL.format(0, 0)}",
        "Here stand only the vector of start, which was read last, and its position.",
        "> button Start again",
        "4 of 8 before it, 8 after it",
    )


@pytest.mark.parametrize("norm", ["post", "pre"])
def test_the_stream_of_ones_own_model(open_html, norm):
    torch.manual_seed(0)
    words = Vocabulary(["a", "b", "c"]), Vocabulary(["x", "y"])
    model = build_transformer(7, 6, d_model=8, num_heads=2, d_ff=8, num_layers=1, max_len=9, norm=norm)
    figure = ResidualStream("a c", model=model, vocabularies=words)
    watched = open_html(figure.html())
    watched.page.get_by_label(LINE).fill("b c a")
    assert_shows(watched.page, stream(*read_page_file(figure._content), ["b", "c", "a"]))
    assert ("final norm" in watched.page.locator(".te-details").text_content()) == (norm == "pre")
    watched.assert_clean()
