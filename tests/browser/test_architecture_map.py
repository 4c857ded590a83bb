"""The architecture map: every number is PyTorch's, to the digits that are stored."""

import pytest
import torch

from tests.browser.conftest import axe_problems
from tests.browser.figure_page import act, close, number, numbers, play, shown
from transformer_edu import RUNNING_SENTENCE, RUNNING_TRANSLATION, pretrained, record_activations, record_attention
from transformer_edu.widgets import ArchitectureMap, assets
from transformer_edu.widgets.architecture_map_data import path

HUNDREDTH, TEN_THOUSANDTH = 0.0051, 6e-5  # activations are stored with two decimals, weights with four
FILES = ["03-tokens-and-embeddings", "04-positional-encoding", "05-normalization", "06-attention"]
FILES += ["07-multi-head-attention", "08-feed-forward-and-residuals", "09-encoder", "10-decoder", "11-the-transformer"]
FILES += ["13-training"]


def computed():
    """Every activation (seq, d_model), the logits, and the weights under "weights NAME" (heads, q_len, k_len)."""
    shipped = pretrained.load_grammar()
    ids = torch.tensor([shipped.source_vocabulary.encode(RUNNING_SENTENCE)])
    so_far = torch.tensor([shipped.target_vocabulary.encode(RUNNING_TRANSLATION, add_bos=True)])
    with torch.no_grad(), record_activations(shipped.model) as activations, record_attention(shipped.model) as maps:
        shipped.model(ids, so_far)
    return {name: x[0] for name, x in activations.items()} | {f"weights {name}": x[0] for name, x in maps.items()}


def open_block(page):
    return page.locator("[role=radio][data-block][aria-checked=true]").get_attribute("data-block")


def assert_numbers(page, name, expected, at):
    """What the panel shows of one block, with row `at` followed."""
    if name in ("logits", "softmax"):
        row = expected["logits"][at]
        likely = (row if name == "logits" else row.softmax(-1)).topk(5).values
        close(numbers(page.locator("[data-candidate]")), likely, HUNDREDTH if name == "logits" else TEN_THOUSANDTH)
        return
    close(shown(page, "activations"), expected[name], atol=HUNDREDTH)
    assert page.locator("[data-matrix=activations] .te-in-row").first.get_attribute("data-row") == str(at)
    weights = expected.get(f"weights {name}")
    assert page.locator("[data-matrix=weights]").count() == (weights is not None)
    if weights is not None:
        close(shown(page, "weights"), weights[:, at], atol=TEN_THOUSANDTH)


def test_every_block_on_the_way_shows_what_pytorch_computes_and_counts(show):
    page, expected = show(ArchitectureMap(block="encoder.embedding")), computed()
    model = pretrained.load_grammar().model
    forward = page.get_by_role("button", name="Next block")
    counts = {}
    for place, name in enumerate(path(2)):
        assert open_block(page) == name
        at = 2 if name.startswith("encoder") else 3
        assert_numbers(page, name, expected, at)
        counts[name] = number(page, "[data-parameters]")
        rows, width = 7 if name.startswith("encoder") else 8, 64 if "." in name else 127
        play(page, f"block {place + 1} of 26", f"Tensor: (1, {rows}, {width})")
        forward.click(force=True)  # at the end it is disabled, and still there
    assert open_block(page) == "softmax"  # the last step leads no further
    assert forward.get_attribute("aria-disabled") == "true"
    assert (
        sum(counts.values())
        == number(page, "[data-total]")
        == sum(parameter.numel() for parameter in model.parameters())
    )
    second = model.decoder.layers[1]
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
    for part in ("embedding", "positional", "1.self", "1.after_self"):
        found |= links_at(page, f"encoder.{part}")
    return found | links_at(page, "decoder.1.cross") | links_at(page, "logits")


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
    play(page, "To write noir, this layer looks at black 1.00", "> radio petit")
    play(page, "To write petit, this layer looks at small")
    assert_numbers(page, "decoder.1.cross", expected, 1)
    act(page, "radio 1")
    assert open_block(page) == "decoder.0.cross"
    assert_numbers(page, "decoder.0.cross", expected, 1)
    act(page, "click [data-block='encoder.0.feed_forward']", "radio sleep")
    assert_numbers(page, "encoder.0.feed_forward", expected, 6)
    act(page, "click [data-block='decoder.embedding']", "radio 2")
    assert open_block(page) == "decoder.embedding"  # it is in no layer
    act(page, "click [data-block='decoder.1.self']")
    assert_numbers(page, "decoder.1.self", expected, 1)
    hidden = numbers(page.locator("[data-matrix=weights] .te-blocked"))
    assert hidden.tolist() == [0] * (4 * 6)  # of 8 inputs, the second word's position may see two
    act(page, "click [data-block='softmax']", "radio end")
    assert_numbers(page, "softmax", expected, 7)
    rest = 1 - expected["logits"][7].softmax(-1).topk(5).values.sum()
    play(page, "After pas the likeliest word is end, 0.94", f"The other 122 words together: {rest:.4f}")


def test_sizes_before_and_after_a_norm_are_the_rows_root_mean_squares(show):
    page, expected = show(ArchitectureMap(block="decoder.1.after_cross")), computed()
    names = ["decoder.1.after_self", "decoder.1.cross", "decoder.1.after_cross"]
    sizes = [float(expected[name][3].square().mean().sqrt()) for name in names]
    printed = page.locator(".te-am-followed b:not(.te-token)").all_text_contents()
    assert [float(size) for size in printed] == pytest.approx(sizes, abs=0.011)


def test_a_number_is_read_by_pointing_and_its_row_followed_by_a_click(page):
    expected, cell = computed(), "[data-matrix=activations] [data-row='5'][data-column='17']"
    before, after = (
        f"{expected[f'decoder.1.{name}'][5, 17]:.2f}".replace("-", "\u2212") for name in ("cross", "after_cross")
    )
    play(page, f"> hover {cell}", f"ne → dort, number 17: {before}", f"> click {cell}", "To write dort")
    assert_numbers(page, "decoder.1.cross", expected, 5)
    play(page, "> button Next block", "> hover [aria-label='Next block']", f"number 17: {after}")  # the same place
