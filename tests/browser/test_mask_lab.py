"""The mask lab: its weights are those of the package's attention, right and wrong."""

from collections.abc import Callable
from typing import Any

import pytest
import torch
from playwright.sync_api import Page, expect
from torch import Tensor

from tests.browser.figure_page import Show, matrix
from transformer_edu import causal_mask, padding_mask
from transformer_edu.widgets import MaskLab
from transformer_edu.widgets.mask_lab_data import attention_of_scores

KINDS = {"encoder": "encoder self-attention", "decoder": "decoder self-attention", "cross": "cross-attention"}


@pytest.fixture
def lab(show: Show) -> Callable[..., Page]:
    def make(kind: str = "decoder", **options: Any) -> Page:
        return show(MaskLab(kind, **options))

    return make


def shown(page: Page, name: str) -> Tensor:
    """A table of the figure, without the column of sums."""
    return matrix(page.locator(f"[data-matrix={name}]"), "[data-value]:not(.te-row-sum)")


def assert_same(found: Tensor, expected: Tensor) -> None:
    torch.testing.assert_close(found, expected.double(), atol=1e-4, rtol=0, equal_nan=True)


def scores_of(kind: str, sentence: int = 1, rows: int = 6, columns: int = 6) -> Tensor:
    return torch.tensor(MaskLab().scores[kind][sentence], dtype=torch.float64)[:rows, :columns]


def pads(real: int, width: int = 6, in_front: bool = False) -> Tensor:
    """The package's padding mask for one sentence, (1, k_len)."""
    ids = torch.tensor([[1] * real + [0] * (width - real)])
    return padding_mask(ids.flip(-1) if in_front else ids, pad_id=0)[0, 0]


def choose(page: Page, mistake: str) -> None:
    page.get_by_role("combobox", name="mask").select_option(mistake)


@pytest.mark.parametrize("padding", [True, False])
@pytest.mark.parametrize("causal", [True, False])
@pytest.mark.parametrize("kind", ["encoder", "decoder", "cross"])
def test_ticked_masks_give_the_packages_weights(
    lab: Callable[..., Page], kind: str, causal: bool, padding: bool
) -> None:
    page = lab("decoder" if kind == "encoder" else "encoder")
    page.get_by_role("radio", name=KINDS[kind]).click()
    page.get_by_label("padding mask").set_checked(padding)
    if kind == "cross":
        assert not page.get_by_label("causal mask").is_visible()
    else:
        page.get_by_label("causal mask").set_checked(causal)
    mask = pads(4).expand(6, 6) if padding else torch.ones(6, 6, dtype=torch.bool)
    if causal and kind != "cross":
        mask = mask & causal_mask(6)
    assert_same(shown(page, "mask"), mask)
    assert_same(shown(page, "masked"), scores_of(kind).masked_fill(~mask, -torch.inf))
    assert_same(shown(page, "weights"), attention_of_scores(scores_of(kind), mask))


@pytest.mark.parametrize("in_front", [False, True])
def test_lengths_and_the_side_of_the_padding(lab: Callable[..., Page], in_front: bool) -> None:
    page = lab("cross", source_lengths=(5, 2), target_lengths=(1, 4), pad_first=in_front)
    mask = pads(2, 5, in_front).expand(4, 5)
    assert_same(shown(page, "weights"), attention_of_scores(scores_of("cross", rows=4, columns=5), mask))
    page.get_by_role("slider", name="English 2").fill("3")
    assert_same(shown(page, "mask"), pads(3, 5, in_front).expand(4, 5))
    page.get_by_role("radio", name="sentence 1").click()
    assert_same(shown(page, "weights"), attention_of_scores(scores_of("cross", 0, 4, 5), pads(5, 5).expand(4, 5)))
    assert page.locator("[data-matrix=mask] [role=rowheader]").all_text_contents().count("<pad>") == 3


def wrong_weights(mistake: str, scores: Tensor, query: int) -> Tensor:
    """What each mistake computes, in PyTorch, for a decoder with 4 real tokens of 6."""
    right = causal_mask(6) & pads(4)
    blind = right.clone()
    blind[query] = False
    return {
        "bare": lambda: scores.softmax(dim=-1),
        "no-padding": lambda: attention_of_scores(scores, causal_mask(6)),
        "no-causal": lambda: attention_of_scores(scores, pads(4).expand(6, 6)),
        "flipped": lambda: attention_of_scores(scores, causal_mask(6).T & pads(4)),
        "after": lambda: scores.softmax(dim=-1) * right,
        "added": lambda: (scores + right).softmax(dim=-1),
        "queries": lambda: attention_of_scores(scores, causal_mask(6) & pads(4).T),
        "blind": lambda: scores.masked_fill(~blind, -torch.inf).softmax(dim=-1),
    }[mistake]()


@pytest.mark.parametrize(
    "mistake", ["bare", "no-padding", "no-causal", "flipped", "after", "added", "queries", "blind"]
)
def test_every_wrong_mask_does_what_it_does_in_pytorch_and_marks_the_leaks(
    lab: Callable[..., Page], mistake: str
) -> None:
    page = lab()
    choose(page, mistake)
    weights = wrong_weights(mistake, scores_of("decoder"), query=2)
    assert_same(shown(page, "weights"), weights)
    allowed = causal_mask(6) & pads(4)
    leaks = (~allowed & (weights > 0))[:4]  # only the rows of real tokens count
    marked = page.locator("[data-matrix=weights] .te-leak").evaluate_all(
        "cells => cells.map(cell => [Number(cell.dataset.row), Number(cell.dataset.column)])"
    )
    assert marked == leaks.nonzero().tolist()
    good = mistake in ("no-padding", "queries")  # padding behind is later than every real token
    assert page.locator(".te-verdict").get_attribute("data-good") == str(good).lower()
    if leaks.any():
        worst = (weights * ~allowed)[:4].sum(dim=-1).max()
        expect(page.locator(".te-verdict")).to_contain_text(f"{int(leaks.any(-1).sum())} of 4 real tokens look")
        expect(page.locator(".te-verdict")).to_contain_text(f"up to {worst:.2f} of their attention")


def test_sentence_says_how_much_goes_where_it_must_not(lab: Callable[..., Page]) -> None:
    page = lab()
    choose(page, "bare")
    weights = scores_of("decoder").softmax(dim=-1)
    for row in range(4):
        page.locator(f"[data-matrix=scores] [data-row='{row}'][data-column='0']").click()
        said = page.locator(".te-sentence")
        expect(said).to_contain_text(f"Position {row + 1}, ")
        expect(said).to_contain_text(f"{weights[row, 4:].sum():.2f} of its attention is on padding")
        later = weights[row, row + 1 : 4].sum()
        if row < 3:
            expect(said).to_contain_text(f"{later:.2f} of its attention is on what comes later")
    page.locator("[data-matrix=scores] [data-row='5'][data-column='0']").click()
    expect(page.locator(".te-sentence")).to_contain_text("Position 6 is padding")


def test_causal_mask_alone_leaks_when_the_padding_stands_in_front(lab: Callable[..., Page]) -> None:
    page = lab(padding=False)
    assert page.locator(".te-leak").count() == 0
    page.get_by_label("padding in front").check()
    expected = attention_of_scores(scores_of("decoder"), causal_mask(6))
    assert_same(shown(page, "weights"), expected)
    assert page.locator(".te-leak").count() == 8
    expect(page.locator(".te-sentence")).to_contain_text(f"{expected[2, :2].sum():.2f} of its attention is on padding")


@pytest.mark.parametrize("kind", ["encoder", "cross"])
def test_padding_mask_on_the_queries_leaves_padding_in_view(lab: Callable[..., Page], kind: str) -> None:
    page = lab(kind, mistake="queries", query=1)
    expected = attention_of_scores(scores_of(kind), pads(4).T.expand(6, 6))
    assert_same(shown(page, "weights"), expected)
    assert shown(page, "weights")[4:].abs().sum() == 0
    assert page.locator(".te-leak").count() == 8
    expect(page.locator(".te-sentence")).to_contain_text(f"{expected[1, 4:].sum():.2f} of its attention is on padding")


def test_rows_with_nowhere_to_look_are_zero_by_the_books_rule_and_nan_without_it(lab: Callable[..., Page]) -> None:
    page = lab(pad_first=True, query=0)
    assert shown(page, "weights")[:2].abs().sum() == 0
    expect(page.locator(".te-sentence")).to_contain_text("zero, never NaN")
    page.get_by_role("slider", name="French 2").fill("0")
    assert shown(page, "weights").abs().sum() == 0
    expect(page.locator(".te-verdict")).to_contain_text("Nothing but padding")
    page.get_by_role("slider", name="French 2").fill("6")
    choose(page, "blind")
    assert shown(page, "weights")[0].isnan().all()
    assert page.locator("[data-matrix=weights] [data-row='0'][data-column='0']").inner_text() == "NaN"


def test_mask_cells_say_what_they_mean(lab: Callable[..., Page]) -> None:
    page = lab()
    cells = page.locator("[data-matrix=mask] [data-row='2']")
    assert cells.all_text_contents() == ["✓", "✓", "✓", "·", "·", "·"]
    assert cells.nth(3).get_attribute("aria-label") == "row chien, column voit: may not attend"
    choose(page, "no-causal")
    leak = page.locator("[data-matrix=weights] [data-row='0'][data-column='3']")
    assert leak.get_attribute("aria-label").endswith("must not look")
