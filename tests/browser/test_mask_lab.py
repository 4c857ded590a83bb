"""The mask lab: its weights are those of the package's attention, right and wrong."""

import pytest
import torch

from tests.browser.figure_page import act, close, play, shown
from transformer_edu import causal_mask, padding_mask
from transformer_edu.book.figures import MaskLab
from transformer_edu.book.figures.mask_lab import attention_of_scores

KINDS = {"encoder": "encoder self-attention", "decoder": "decoder self-attention", "cross": "cross-attention"}


def assert_weights(page, expected):
    """The weights and the sums of their rows."""
    close(shown(page, "weights"), torch.cat([expected, expected.sum(dim=-1, keepdim=True)], dim=1))


def scores_of(kind, sentence=1, rows=6, columns=6):
    return torch.tensor(MaskLab().scores[kind][sentence], dtype=torch.float64)[:rows, :columns]


def pads(real, width=6, in_front=False):
    """The package's padding mask for one sentence, (1, k_len)."""
    ids = torch.tensor([[1] * real + [0] * (width - real)])
    return padding_mask(ids.flip(-1) if in_front else ids, pad_id=0)[0, 0]


@pytest.mark.parametrize("chosen", ["right", "bare", "extra"])
@pytest.mark.parametrize("kind", KINDS)
def test_masks_give_the_packages_weights(show, kind, chosen):
    page = show(MaskLab("decoder" if kind == "encoder" else "encoder"))
    act(page, f"radio {KINDS[kind]}", "click .te-details summary")
    if chosen == "extra" and kind != "encoder":
        assert page.locator(f"[data-value={chosen}]").count() == 0
        return
    act(page, f"click [data-value={chosen}]")
    mask = torch.ones(6, 6, dtype=torch.bool) if chosen == "bare" else pads(4).expand(6, 6)
    if chosen == "extra" or (chosen == "right" and kind == "decoder"):
        mask = mask & causal_mask(6)
    close(shown(page, "mask"), mask)
    close(shown(page, "scores"), scores_of(kind))
    close(shown(page, "masked"), scores_of(kind).masked_fill(~mask, -torch.inf))
    assert_weights(page, attention_of_scores(scores_of(kind), mask))


@pytest.mark.parametrize("in_front", [False, True])
def test_lengths_and_the_side_of_the_padding(show, in_front):
    page = show(MaskLab("cross", source_lengths=(5, 2), target_lengths=(1, 4), pad_first=in_front))
    mask = pads(2, 5, in_front).expand(4, 5)
    assert_weights(page, attention_of_scores(scores_of("cross", rows=4, columns=5), mask))
    act(page, "click .te-details summary", "slider English 2 = 3")
    close(shown(page, "mask"), pads(3, 5, in_front).expand(4, 5))
    act(page, "radio sentence 1")
    assert_weights(page, attention_of_scores(scores_of("cross", 0, 4, 5), pads(5, 5).expand(4, 5)))
    assert page.locator("[data-matrix=weights] [role=rowheader]").all_text_contents().count("<pad>") == 3


def wrong_weights(mistake, scores, query):
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
def test_every_wrong_mask_does_what_it_does_in_pytorch_and_marks_the_leaks(page, mistake):
    act(page, f"click [data-value={mistake}]", "click .te-details summary")
    weights = wrong_weights(mistake, scores_of("decoder"), query=2)
    assert_weights(page, weights)
    allowed = causal_mask(6) & pads(4)
    close(shown(page, "right"), attention_of_scores(scores_of("decoder"), allowed))
    leaks = (~allowed & (weights > 0))[:4]  # only the rows of real tokens count
    marked = page.locator("[data-matrix=weights] .te-leak").evaluate_all(
        "cells => cells.map(cell => [Number(cell.dataset.row), Number(cell.dataset.column)])"
    )
    assert marked == leaks.nonzero().tolist()
    good = mistake in ("no-padding", "queries")  # padding behind is later than every real token
    assert page.locator(".te-root").get_attribute("data-good") == str(good).lower()
    if mistake == "after":
        assert page.locator("[data-matrix=weights] .te-short").count() == 4
        close(shown(page, "unmasked")[:, :6], scores_of("decoder").softmax(dim=-1))
        play(page, f"sum to {weights[2].sum():.2f}: the missing {1 - weights[2].sum():.2f}")
    if leaks.any():
        play(page, f"✗ {leaks.any(-1).sum()} of 4 words look")


def test_sentence_says_how_much_goes_where_it_must_not(page):
    act(page, "click [data-value=bare]")
    weights = scores_of("decoder").softmax(dim=-1)
    for row in range(4):
        play(page, f"> click [data-matrix=weights] [data-row='{row}'][data-column='0']", f"(position {row + 1}) looks")
        play(page, f"{weights[row, 4:].sum():.2f} of its attention is on padding")
        if row < 3:
            play(page, f"{weights[row, row + 1 : 4].sum():.2f} of its attention is on what comes later")
    play(page, "> click [data-matrix=right] [data-row='5'][data-column='0']", "Position 6 is padding")


def test_mask_cells_say_what_they_mean(page):
    act(page, "click .te-details summary", "click [data-value=right]")
    cells = page.locator("[data-matrix=mask] [data-row='2']")
    assert cells.all_text_contents() == ["✓"] * 3 + [""] * 3
    assert cells.nth(3).get_attribute("aria-label") == "row chien, column voit: may not attend"
    act(page, "click [data-value=no-causal]")
    leak = page.locator("[data-matrix=weights] [data-row='0'][data-column='3']")
    assert leak.get_attribute("aria-label").endswith("must not look")


@pytest.mark.parametrize(
    ("options", "mask", "far"),
    [
        ({"padding": False, "causal": True, "pad_first": True, "query": 2}, causal_mask(6), slice(0, 2)),
        ({"kind": "encoder", "mistake": "queries"}, pads(4).T, slice(4, 6)),
        ({"kind": "cross", "mistake": "queries"}, pads(4).T, slice(4, 6)),
    ],
)
def test_padding_stays_in_view_of_a_wrong_mask(show, options, mask, far):
    page = show(MaskLab(**{"kind": "decoder", "query": 1} | options))
    expected = attention_of_scores(scores_of(options.get("kind", "decoder")), mask.expand(6, 6))
    assert_weights(page, expected)
    assert page.locator(".te-leak").count() == 8
    play(page, f"{expected[options.get('query', 1), far].sum():.2f} of its attention is on padding")


def test_rows_with_nowhere_to_look_are_zero_by_the_books_rule_and_nan_without_it(show):
    page = show(MaskLab(causal=True, pad_first=True, query=0))
    assert shown(page, "weights")[:2].abs().sum() == 0
    act(page, "click .te-details summary", "slider French 2 = 0")
    assert shown(page, "weights").abs().sum() == 0
    act(page, "slider French 2 = 6", "click [data-value=blind]")
    assert shown(page, "weights")[0].isnan().all()
    assert page.locator("[data-matrix=weights] [data-row='0'][data-column='0']").inner_text() == "NaN"
