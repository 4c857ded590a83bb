"""The architecture map: the page shows what derive says; pointing, chapters' links, a phone."""

import pytest
import torch
from playwright.sync_api import expect

from tests.browser.conftest import axe_problems
from tests.browser.figure_page import act, close, numbers, play, shown, values
from tests.unit.test_architecture_map import numbers as computed
from transformer_edu.book.figures import ArchitectureMap, assets

FILES = ["03-tokens-and-embeddings", "04-positional-encoding", "05-normalization", "06-attention"]
FILES += ["07-multi-head-attention", "08-feed-forward-and-residuals", "09-encoder", "10-decoder", "11-the-transformer"]
FILES += ["13-training"]


def signs(page):
    """Which cells of the picture are rather orange than blue (rows, d_model)."""
    pixels = page.locator("canvas").evaluate(
        "c => [c.width, ...c.getContext('2d').getImageData(0, 0, c.width, c.height).data]"
    )
    red, _, blue, _ = torch.tensor(pixels[1:]).reshape(-1, pixels[0], 4).unbind(dim=-1)
    return red > blue


def test_the_page_shows_what_derive_says(page):
    expected = computed()["sentences"][0]
    act(page, "click [data-block='decoder.0.cross']")
    activations = torch.tensor(expected["activations"]["decoder.0.cross"])
    close(values(page, ".te-am-facts"), activations[3])
    assert signs(page).eq(activations > 0)[activations.abs() > 0.2].all()
    close(shown(page, "weights"), torch.tensor(expected["weights"]["decoder.0.cross"])[:, 3])
    act(page, "click [data-block='decoder.0.self']")
    hidden = numbers(page.locator("[data-matrix=weights] .te-blocked"))
    assert hidden.tolist() == [0] * (4 * 4)  # of 8 inputs, the fourth word's position may see four
    act(page, "click [data-block='logits']")
    close(numbers(page.locator("[data-candidate]")), expected["logits"][3], atol=1e-3)
    assert values(page, ".te-am-size").tolist() == [189_568, 8_128]


def test_a_number_is_read_by_pointing_and_its_row_followed_by_a_click(page):
    names = ("decoder.0.cross", "decoder.0.after_cross")
    activations = computed()["sentences"][0]["activations"]
    before, after = (f"{activations[name][5][17]:.2f}".replace("-", "\u2212") for name in names)
    act(page, "click [data-block='decoder.0.cross']")
    box = page.locator("canvas").bounding_box()
    page.mouse.move(box["x"] + box["width"] * 17.5 / 64, box["y"] + box["height"] * 5.5 / 8)
    play(page, f"ne → dort, number 17: {before}")
    page.mouse.down()
    page.mouse.up()
    play(page, "To write dort", "> button Next block", f"number 17: {after}")  # the same place


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
    boxes = [block.bounding_box() for block in page.locator(".te-root [data-block]").all()]
    assert boxes
    assert all(0 < box["y"] + box["height"] - top <= 844 for box in boxes)
