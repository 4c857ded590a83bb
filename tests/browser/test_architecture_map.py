"""The architecture map: every number is PyTorch's, to the digits that are stored."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from playwright.sync_api import Locator, Page, Route, expect

from tests.browser.conftest import StrictPage, axe_problems
from tests.browser.figure_page import Show
from transformer_edu import RUNNING_SENTENCE, RUNNING_TRANSLATION, pretrained, record_activations, record_attention
from transformer_edu.widgets import ArchitectureMap, assets
from transformer_edu.widgets.architecture_map_data import path

Open = Callable[..., Page]
HUNDREDTH, TEN_THOUSANDTH = (
    0.0051,
    6e-5,
)  # activations are stored with two decimals, weights and probabilities with four
FILES = ["03-tokens-and-embeddings", "04-positional-encoding", "05-normalization", "06-attention"]
FILES += ["07-multi-head-attention", "08-feed-forward-and-residuals", "09-encoder", "10-decoder", "11-the-transformer"]
FILES += ["13-training"]


@pytest.fixture
def open_map(show: Show) -> Open:
    def open_page(figure: ArchitectureMap | None = None, width: int = 800, **options: Any) -> Page:
        return show(figure or ArchitectureMap(**options), width=width, height=900)

    return open_page


def computed(source: str = RUNNING_SENTENCE, target: str = RUNNING_TRANSLATION) -> dict[str, torch.Tensor]:
    """Every activation (seq, d_model), the logits, and the weights under "weights NAME" (heads, q_len, k_len)."""
    shipped = pretrained.load_grammar()
    ids = torch.tensor([shipped.source_vocabulary.encode(source)])
    so_far = torch.tensor([shipped.target_vocabulary.encode(target, add_bos=True)])
    with torch.no_grad(), record_activations(shipped.model) as activations, record_attention(shipped.model) as maps:
        shipped.model(ids, so_far)
    return {name: x[0] for name, x in activations.items()} | {f"weights {name}": x[0] for name, x in maps.items()}


def shown(page: Page, name: str) -> torch.Tensor:
    """The grid of this name as a matrix."""
    rows = page.locator(f"[data-matrix={name}] .te-row").evaluate_all(
        "rows => rows.map(row => [...row.querySelectorAll('[data-value]')].map(cell => +cell.dataset.value))"
    )
    return torch.tensor([row for row in rows if row], dtype=torch.float32)


def block(page: Page, name: str) -> Locator:
    return page.locator(f"[data-block='{name}']")


def open_block(page: Page) -> str | None:
    return page.locator("[role=radio][data-block][aria-checked=true]").get_attribute("data-block")


def assert_numbers(page: Page, name: str, expected: dict[str, torch.Tensor], at: int) -> None:
    """What the panel shows of one block, with row `at` followed."""
    if name in ("logits", "softmax"):
        best = page.locator("[data-candidate]").evaluate_all("nodes => nodes.map(node => +node.dataset.value)")
        row = expected["logits"][at]
        ids = row.topk(5).indices
        values = row[ids] if name == "logits" else row.softmax(-1)[ids]
        tolerance = HUNDREDTH if name == "logits" else TEN_THOUSANDTH
        torch.testing.assert_close(torch.tensor(best), values, atol=tolerance, rtol=0)
        return
    torch.testing.assert_close(shown(page, "activations"), expected[name], atol=HUNDREDTH, rtol=0)
    marked = page.locator("[data-matrix=activations] .te-in-row").first
    assert marked.get_attribute("data-row") == str(at)
    weights = expected.get(f"weights {name}")
    assert (weights is None) == (page.locator("[data-matrix=weights]").count() == 0)
    if weights is not None:
        torch.testing.assert_close(shown(page, "weights"), weights[:, at], atol=TEN_THOUSANDTH, rtol=0)


def test_every_block_on_the_way_shows_what_pytorch_computes_and_counts(open_map: Open) -> None:
    page, expected = open_map(block="encoder.embedding"), computed()
    model = pretrained.load_grammar().model
    forward = page.get_by_role("button", name="Next block")
    counts = {}
    for number, name in enumerate(path(2)):
        assert open_block(page) == name
        expect(page.locator(".te-am-walk")).to_contain_text(f"block {number + 1} of 26")
        at = 2 if name.startswith("encoder") else 3
        assert_numbers(page, name, expected, at)
        counts[name] = int(page.locator("[data-parameters]").get_attribute("data-value") or -1)
        rows = 7 if name.startswith("encoder") else 8
        width = 64 if "." in name else 127
        expect(page.locator(".te-am-facts")).to_contain_text(f"Tensor: (1, {rows}, {width})")
        forward.click(force=True)  # at the end it is disabled, and still there
    assert open_block(page) == "softmax"  # the last step leads no further
    assert forward.get_attribute("aria-disabled") == "true"
    total = int(page.locator("[data-total]").get_attribute("data-value") or -1)
    assert sum(counts.values()) == total == sum(parameter.numel() for parameter in model.parameters())
    second = model.decoder.layers[1]
    assert counts["decoder.1.cross"] == sum(parameter.numel() for parameter in second.cross_attention.parameters())
    assert counts["decoder.1.after_cross"] == sum(parameter.numel() for parameter in second.cross_residual.parameters())
    page.get_by_role("button", name="Previous block").click()
    assert open_block(page) == "logits"


def test_blocks_layers_and_words_by_mouse(open_map: Open) -> None:
    page, expected = open_map(), computed()
    said = page.locator(".te-am-followed")
    expect(said).to_contain_text("To write noir, this layer looks at black 1.00")
    page.get_by_role("radio", name="petit", exact=True).click()
    expect(said).to_contain_text("To write petit, this layer looks at small")
    assert_numbers(page, "decoder.1.cross", expected, 1)
    page.get_by_role("radio", name="1", exact=True).click()
    assert open_block(page) == "decoder.0.cross"
    assert_numbers(page, "decoder.0.cross", expected, 1)
    block(page, "encoder.0.feed_forward").click()
    page.get_by_role("radio", name="sleep", exact=True).click()
    assert_numbers(page, "encoder.0.feed_forward", expected, 6)
    block(page, "decoder.embedding").click()
    page.get_by_role("radio", name="2", exact=True).click()
    assert open_block(page) == "decoder.embedding"  # it is in no layer
    block(page, "decoder.1.self").click()
    assert_numbers(page, "decoder.1.self", expected, 1)
    hidden = page.locator("[data-matrix=weights] .te-blocked")
    assert hidden.count() == 4 * 6  # of 8 inputs, the second word's position may see two
    assert hidden.evaluate_all("nodes => nodes.every(node => node.dataset.value === '0')")
    block(page, "softmax").click()
    page.get_by_role("radio", name="end", exact=True).click()
    assert_numbers(page, "softmax", expected, 7)
    expect(said).to_contain_text("After pas the likeliest word is end, 0.94")
    rest = 1 - expected["logits"][7].softmax(-1).topk(5).values.sum()
    expect(page.locator(".te-am-rest")).to_contain_text(f"The other 122 words together: {rest:.4f}")


def test_sizes_before_and_after_a_norm_are_the_rows_root_mean_squares(open_map: Open) -> None:
    page, expected = open_map(block="decoder.1.after_cross"), computed()
    names = ["decoder.1.after_self", "decoder.1.cross", "decoder.1.after_cross"]
    sizes = [float(expected[name][3].square().mean().sqrt()) for name in names]
    printed = page.locator(".te-am-followed b:not(.te-token)").all_text_contents()
    assert [float(number) for number in printed] == pytest.approx(sizes, abs=0.011)


def test_a_number_is_read_by_pointing_and_its_row_followed_by_a_click(open_map: Open) -> None:
    page, expected = open_map(), computed()
    cell = page.locator("[data-matrix=activations] [data-row='5'][data-column='17']")
    cell.hover()
    value = f"{expected['decoder.1.cross'][5, 17]:.2f}".replace("-", "\u2212")
    expect(page.locator(".te-am-below")).to_contain_text(f"ne → dort, number 17: {value}")
    cell.click()
    expect(page.locator(".te-am-followed")).to_contain_text("To write dort")
    assert_numbers(page, "decoder.1.cross", expected, 5)
    page.get_by_role("button", name="Next block").click()
    page.get_by_role("button", name="Next block").hover()
    value = f"{expected['decoder.1.after_cross'][5, 17]:.2f}".replace("-", "\u2212")
    expect(page.locator(".te-am-below")).to_contain_text(
        f"number 17: {value}"
    )  # the same place, the new block's number


@pytest.mark.parametrize("name", ["decoder.0.self", "softmax"])
def test_every_kind_of_panel_is_accessible(name: str, open_map: Open) -> None:
    assert not axe_problems(open_map(block=name))


def linked(page: Page) -> dict[str, str]:
    """File name of a chapter -> where its link leads, over blocks that between them name every chapter."""
    found: dict[str, str] = {}
    for name in (
        "encoder.embedding",
        "encoder.positional",
        "encoder.1.self",
        "encoder.1.after_self",
        "decoder.1.cross",
        "logits",
    ):
        block(page, name).click()
        links = page.locator("a[data-chapter]").evaluate_all("nodes => nodes.map(n => [n.dataset.chapter, n.href])")
        found |= dict(links)
    return found


def test_links_are_those_of_the_books_own_contents(tmp_path: Path, strict_page: StrictPage) -> None:
    (tmp_path / "book").mkdir()
    there = FILES[1:]  # a book in which one chapter is missing
    contents = "".join(f'<a href="../notebooks/{name}.html">{name}</a>' for name in there)
    html = assets.standalone_page(ArchitectureMap(block="encoder.embedding").html())
    page_file = tmp_path / "book" / "intro.html"
    page_file.write_text(html.replace("<main>", f"<nav>{contents}</nav><main>"), encoding="utf-8")
    links = linked(strict_page().open(page_file.as_uri()))
    assert links == {name: (tmp_path / "notebooks" / f"{name}.html").as_uri() for name in there}


def test_in_a_live_notebook_links_lead_to_the_notebooks_beside_it(strict_page: StrictPage) -> None:
    watched, home = strict_page(), "http://notebook.test/lab/tree/notebooks"
    html = assets.standalone_page(ArchitectureMap(block="encoder.embedding").html())
    outside = html.replace("figure.append(el);", "document.body.append(el);")  # as a kernel's view: not inside our HTML

    def answer(route: Route) -> None:
        route.fulfill(body=outside, content_type="text/html; charset=utf-8")

    watched.page.route("**/*", answer)
    watched.page.goto(f"{home}/01-the-whole-machine.ipynb")
    watched.page.wait_for_selector("[data-ready=true]", state="attached")
    assert linked(watched.page) == {name: f"{home}/{name}.ipynb" for name in FILES}
