"""The architecture map: every number is PyTorch's."""

import pytest
import torch
from playwright.sync_api import expect

from tests.browser.conftest import axe_problems
from tests.browser.figure_page import act, close, number, numbers, play, shown, values
from transformer_edu import RUNNING_SENTENCE, RUNNING_TRANSLATION, record_activations, record_attention
from transformer_edu.book.engine.page_file import read_page_file
from transformer_edu.book.engine.shipped import shipped_file
from transformer_edu.book.figures import ArchitectureMap, assets
from transformer_edu.book.figures.architecture_map import path

MODEL, (ENGLISH, FRENCH) = read_page_file(shipped_file("grammar"))
FILES = ["03-tokens-and-embeddings", "04-positional-encoding", "05-normalization", "06-attention"]
FILES += ["07-multi-head-attention", "08-feed-forward-and-residuals", "09-encoder", "10-decoder", "11-the-transformer"]
FILES += ["13-training"]


def computed(sentence=RUNNING_SENTENCE, translation=RUNNING_TRANSLATION):
    """Every activation (seq, d_model), the logits, and the weights under "weights NAME" (heads, q_len, k_len)."""
    ids = torch.tensor([ENGLISH.encode(sentence)])
    so_far = torch.tensor([FRENCH.encode(translation, add_bos=True)])
    with torch.no_grad(), record_activations(MODEL) as activations, record_attention(MODEL) as maps:
        MODEL(ids, so_far)
    return {name: x[0] for name, x in activations.items()} | {f"weights {name}": x[0] for name, x in maps.items()}


def signs(page):
    """Which cells of the picture are rather orange than blue (rows, d_model)."""
    pixels = page.locator("canvas").evaluate(
        "c => [c.width, ...c.getContext('2d').getImageData(0, 0, c.width, c.height).data]"
    )
    red, _, blue, _ = torch.tensor(pixels[1:]).reshape(-1, pixels[0], 4).unbind(dim=-1)
    return red > blue


def open_block(page):
    return page.locator("[role=radio][data-block][aria-checked=true]").get_attribute("data-block")


def assert_numbers(page, name, expected, at):
    """What the panel shows of one block, with row `at` followed."""
    if name in ("logits", "softmax"):
        row = expected["logits"][at]
        likely = (row if name == "logits" else row.softmax(-1)).topk(5).values
        close(numbers(page.locator("[data-candidate]")), likely, atol=1e-3 if name == "logits" else 1e-4)
        return
    close(values(page, ".te-am-facts"), expected[name][at], atol=1e-3)
    assert signs(page).eq(expected[name] > 0)[expected[name].abs() > 0.2].all()
    assert page.locator(".te-am-rows [aria-checked=true]").get_attribute("data-value") == str(at)
    weights = expected.get(f"weights {name}")
    assert page.locator("[data-matrix=weights]").count() == (weights is not None)
    if weights is not None:
        close(shown(page, "weights"), weights[:, at])


def test_every_block_on_the_way_shows_what_pytorch_computes_and_counts(show):
    page, expected = show(ArchitectureMap(block="encoder.embedding")), computed()
    forward = page.get_by_role("button", name="Next block")
    counts = {}
    for place, name in enumerate(path(2)):
        assert open_block(page) == name
        at = 2 if name.startswith("encoder") else 3
        assert_numbers(page, name, expected, at)
        counts[name] = number(page, "[data-parameters]")
        play(page, f"step {place + 1} of 26")
        forward.click(force=True)  # at the end it is disabled, and still there
    assert open_block(page) == "softmax"  # the last step leads no further
    assert forward.get_attribute("aria-disabled") == "true"
    assert (
        sum(counts.values())
        == number(page, "[data-total]")
        == sum(parameter.numel() for parameter in MODEL.parameters())
    )
    second = MODEL.decoder.layers[1]
    assert counts["decoder.1.cross"] == sum(parameter.numel() for parameter in second.cross_attention.parameters())
    assert counts["decoder.1.after_cross"] == sum(parameter.numel() for parameter in second.cross_residual.parameters())
    act(page, "button Previous block")
    assert open_block(page) == "logits"


@pytest.mark.parametrize("name", ["decoder.0.self", "softmax"])
def test_every_kind_of_panel_is_accessible(name, show):
    assert not axe_problems(show(ArchitectureMap(block=name)))


def linked(page):
    """File name of a chapter -> where its link leads, over blocks that between them name every chapter."""
    found = {}
    for part in ("embedding", "positional", "0.self", "0.after_self"):
        found |= links_at(page, f"encoder.{part}")
    return found | links_at(page, "decoder.0.cross") | links_at(page, "logits")


def links_at(page, block):
    act(page, f"click [data-block='{block}']")
    links = page.locator("a[data-chapter]").evaluate_all("nodes => nodes.map(n => [n.dataset.chapter, n.href])")
    return dict(links)


def test_links_are_those_of_the_books_own_contents(tmp_path, strict_page):
    (tmp_path / "book").mkdir()
    there = FILES[1:]  # a book in which one chapter is missing
    contents = "".join(f'<a href="../notebooks/{name}.html">{name}</a>' for name in there)
    html = assets.standalone_page(ArchitectureMap(block="encoder.embedding").html())
    page_file = tmp_path / "book" / "intro.html"
    page_file.write_text(html.replace("<main>", f"<nav>{contents}</nav><main>"), encoding="utf-8")
    links = linked(strict_page().open(page_file.as_uri()))
    assert links == {name: (tmp_path / "notebooks" / f"{name}.html").as_uri() for name in there}


def test_in_a_live_notebook_links_lead_to_the_notebooks_beside_it(strict_page):
    watched, home = strict_page(), "http://notebook.test/lab/tree/notebooks"
    html = assets.standalone_page(ArchitectureMap(block="encoder.embedding").html())
    outside = html.replace("figure.append(el);", "document.body.append(el);")  # as a kernel's view: not inside our HTML

    def answer(route):
        route.fulfill(body=outside, content_type="text/html; charset=utf-8")

    watched.page.route("**/*", answer)
    watched.page.goto(f"{home}/01-the-whole-machine.ipynb")
    watched.page.wait_for_selector("[data-ready=true]", state="attached")
    assert linked(watched.page) == {name: f"{home}/{name}.ipynb" for name in FILES}


def test_blocks_layers_and_words(page):
    expected = computed()
    act(page, "click [data-block='decoder.0.cross']", "radio le → petit")
    assert_numbers(page, "decoder.0.cross", expected, 1)
    act(page, "click [data-block='decoder.0.cross']")  # once more: the next layer
    play(page, "To write petit, this layer looks at small")
    assert_numbers(page, "decoder.1.cross", expected, 1)
    play(page, "> radio → noir", "To write noir, this layer looks at black 1.00", "> radio → petit")
    act(page, "click [data-block='encoder.1.feed_forward']", "radio sleep")
    assert_numbers(page, "encoder.1.feed_forward", expected, 6)
    act(page, "click [data-block='decoder.embedding']", "click [data-block='decoder.1.self']")
    assert_numbers(page, "decoder.1.self", expected, 1)
    hidden = numbers(page.locator("[data-matrix=weights] .te-blocked"))
    assert hidden.tolist() == [0] * (4 * 6)  # of 8 inputs, the second word's position may see two
    act(page, "radio → end", "click [data-block='softmax']")
    assert_numbers(page, "softmax", expected, 7)
    rest = 1 - expected["logits"][7].softmax(-1).topk(5).values.sum()
    play(page, "After pas the likeliest word is end, 0.94", f"The other 122 words together: {rest:.4f}")


def test_sizes_before_and_after_a_norm_are_the_rows_root_mean_squares(show):
    page, expected = show(ArchitectureMap(block="decoder.1.after_cross")), computed()
    names = ["decoder.1.after_self", "decoder.1.cross", "decoder.1.after_cross"]
    sizes = [float(expected[name][3].square().mean().sqrt()) for name in names]
    printed = page.locator(".te-words b:not(.te-token)").all_text_contents()
    assert [float(size) for size in printed] == pytest.approx(sizes, abs=0.011)


def test_a_number_is_read_by_pointing_and_its_row_followed_by_a_click(page):
    expected = computed()
    before, after = (
        f"{expected[f'decoder.0.{name}'][5, 17]:.2f}".replace("-", "\u2212") for name in ("cross", "after_cross")
    )
    act(page, "click [data-block='decoder.0.cross']")
    box = page.locator("canvas").bounding_box()
    page.mouse.move(box["x"] + box["width"] * 17.5 / 64, box["y"] + box["height"] * 5.5 / 8)
    play(page, f"ne → dort, number 17: {before}")
    page.mouse.down()
    page.mouse.up()
    play(page, "To write dort")
    assert_numbers(page, "decoder.0.cross", expected, 5)
    play(page, "> button Next block", f"number 17: {after}")  # the same place


def test_another_sentence_goes_through_the_model_in_the_page(page):
    sentence, translation = "these foxes want a hat", "ces renards veulent un chapeau"
    expected = computed(sentence, translation)
    act(page, f"textbox English sentence = {sentence}")
    for name, at in (
        ("encoder.0.self", 2),
        ("encoder.1.after_feed_forward", 2),
        ("decoder.1.cross", 3),
        ("softmax", 3),
    ):
        act(
            page,
            f"click [data-block='{name}']" if page.locator(f"[data-block='{name}']").count() else "button Next block",
        )
        while open_block(page) != name:
            act(page, "button Next block")
        assert_numbers(page, name, expected, at)
    play(page, "to the next French word: un", "these foxes want a hat")


def test_a_block_whose_numbers_are_not_there_yet_says_so(open_html):
    page = open_html(ArchitectureMap().html().replace('"sha256":"', '"sha256":"0'), asleep=True).page
    act(page, "button Next block")
    expect(page.locator(".te-words")).to_contain_text("The model could not be loaded")
    play(page, "Adds a fixed pattern", "! What comes out")
    act(page, "button Previous block")
    play(page, "What comes out")


def test_on_a_phone_play_stands_in_one_view_with_the_boxes_it_goes_through(page):
    page.set_viewport_size({"width": 390, "height": 844})
    top = page.locator(".te-play").bounding_box()["y"]
    boxes = [one.bounding_box() for one in page.locator(".te-root [data-block]").all()]
    assert boxes
    assert all(0 < one["y"] + one["height"] - top <= 844 for one in boxes)
