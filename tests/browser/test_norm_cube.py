"""The norm cube, with PyTorch's numbers."""

from collections.abc import Callable
from typing import Any

import pytest
import torch
from playwright.sync_api import Locator, Page, expect
from torch import Tensor, nn

from tests.browser.figure_page import Show, values
from transformer_edu.widgets import NormCube

SENTENCES = [torch.tensor(one["x"], dtype=torch.float64) for one in NormCube().sentences]
EPS = 1e-5


@pytest.fixture
def make_page(show: Show) -> Callable[..., Page]:
    def make(**options: Any) -> Page:
        return show(NormCube(**options))

    return make


@pytest.fixture
def cube(make_page: Callable[..., Page]) -> Page:
    return make_page()


def matrix(page: Page, name: str) -> Tensor:
    return values(page, f"[data-matrix={name}]").view(-1, 4)


def batch(*sentences: Tensor, positions: int) -> Tensor:
    """(batch, positions, features), zeros at padding."""
    return torch.stack([torch.cat([x, x.new_zeros(positions - len(x), 4)]) for x in sentences])


def edited() -> Tensor:
    """The second sentence with the default edit."""
    x = SENTENCES[1].clone()
    x[1, 1] = 12
    return x


def batch_norm(x: Tensor) -> Tensor:
    """torch.nn.BatchNorm1d in training over (batch · position)."""
    return nn.BatchNorm1d(4, eps=EPS, dtype=torch.float64)(x.flatten(0, 1)).detach().view_as(x)


def assert_shows(page: Page, x: Tensor, y: Tensor) -> None:
    for row in range(len(x)):
        torch.testing.assert_close(matrix(page, f"input-{row}"), x[row], atol=1e-9, rtol=0)
        torch.testing.assert_close(matrix(page, f"output-{row}"), y[row], atol=1e-4, rtol=0)
    expect(page.locator("[data-matrix^=input]")).to_have_count(len(x))


def norm_button(page: Page, name: str) -> Locator:
    return page.get_by_role("radio", name=name)


def shared(page: Page) -> list[list[int]]:
    """The outlined places [row of the batch, position, feature]."""
    return page.locator(".te-cube-shared").evaluate_all(
        "all => all.map(c => [c.closest('[data-matrix]').dataset.matrix.at(-1), c.dataset.row, c.dataset.column]"
        ".map(Number))"
    )


def said(page: Page) -> str:
    return page.locator(".te-cube-sentence").inner_text()


def pad(page: Page) -> None:
    page.get_by_role("button", name="Add padding").click()


def test_every_norm_agrees_with_torch(cube: Page) -> None:
    x = batch(SENTENCES[0], edited(), positions=3)
    assert_shows(cube, x, batch_norm(x))
    norm_button(cube, "layer norm").click()
    assert_shows(cube, x, nn.LayerNorm(4, eps=EPS, dtype=torch.float64)(x).detach())
    norm_button(cube, "RMS norm").click()
    assert_shows(cube, x, nn.RMSNorm(4, eps=EPS, dtype=torch.float64)(x).detach())


def test_default_state_shows_that_batch_norm_carries_an_edit_into_the_other_sentence(cube: Page) -> None:
    assert said(cube) == (
        "You changed one number: small, feature 2, from 6 to 12. "
        "All 6 tokens’ feature 2 moved, in both sentences. No word of sentence 1 was edited."
    )
    assert shared(cube) == [[row, position, 1] for row in (0, 1) for position in range(3)]
    counts = cube.locator(".te-cube-count").evaluate_all("all => all.map(c => c.dataset.value)")
    assert counts == ["4", "6", "3"]
    by = cube.locator("[data-matrix=output-0] .te-cube-moved").evaluate_all("all => all.map(c => c.dataset.by)")
    before, after = (batch_norm(batch(SENTENCES[0], two, positions=3)) for two in (SENTENCES[1], edited()))
    assert [float(value) for value in by] == pytest.approx((after - before)[0, :, 1].tolist(), abs=1e-4)


def test_layer_norm_keeps_the_edit_in_its_token(cube: Page) -> None:
    norm_button(cube, "layer norm").click()
    assert "1 token’s 4 outputs moved, in sentence 2 only." in said(cube)
    assert shared(cube) == [[1, 1, feature] for feature in range(4)]
    expect(cube.locator(".te-cube-moved")).to_have_count(4)
    cube.locator("[data-matrix=output-0] [data-row='2'][data-column='3']").click()
    assert shared(cube) == [[0, 2, feature] for feature in range(4)]
    words = cube.locator(".te-cube-working")
    assert "cat, feature 4: shares its mean and variance with the 4 numbers of its own token" in words.inner_text()
    expect(words.locator("[data-name=mean]")).to_have_attribute("data-value", "0.75")
    assert words.locator("[data-name=result]").inner_text() == "0.30"


def test_padding_is_averaged_in_until_it_is_left_out(make_page: Callable[..., Page]) -> None:
    page = make_page(edits=[])
    assert said(page).strip() == "No output of the sentences moved."
    pad(page)
    pad(page)
    x = batch(SENTENCES[0], SENTENCES[1], positions=5)
    assert_shows(page, x, batch_norm(x))
    assert (
        "2 positions of padding added. 24 outputs of all 6 tokens moved, in both sentences. No word was edited."
        in said(page)
    )
    assert "all 10 positions, 4 of them padding" in page.locator(".te-cube-working").inner_text()
    page.get_by_role("button", name="Add padding").dispatch_event("click")  # no room for a sixth
    assert len(matrix(page, "input-0")) == 5
    page.get_by_label("leave padding out").check()
    real = batch_norm(x[:, :3])
    assert_shows(page, x, torch.cat([real, real.new_zeros(2, 2, 4)], dim=1))
    assert "No output of the sentences moved." in said(page)
    page.get_by_role("button", name="Remove padding").click()
    assert len(matrix(page, "input-0")) == 4


def test_company_changes_a_sentence_under_batch_norm(make_page: Callable[..., Page]) -> None:
    page = make_page(edits=[])
    page.get_by_label("sentence 2", exact=True).select_option("2")
    x = batch(SENTENCES[0], SENTENCES[2], positions=4)
    assert_shows(page, x, batch_norm(x))
    assert "Sentence 2 is another one. Sentence 1 gets 1 position of padding." in said(page)
    assert "No word of sentence 1 was edited." in said(page)
    page.get_by_label("sentence 2", exact=True).select_option("null")
    alone = batch(SENTENCES[0], positions=3)
    assert_shows(page, alone, batch_norm(alone))
    assert "Sentence 1 is alone in its batch." in said(page)
    norm_button(page, "layer norm").click()
    assert "No output of sentence 1 moved." in said(page)


@pytest.mark.parametrize("batches", [1, 10, 100])
def test_evaluation_uses_running_statistics_and_an_edit_moves_one_output(cube: Page, batches: int) -> None:
    norm = nn.BatchNorm1d(4, eps=EPS, dtype=torch.float64)
    for _ in range(batches):
        norm(batch(SENTENCES[0], SENTENCES[1], positions=3).flatten(0, 1))
    norm.eval()
    cube.get_by_label("batch norm in").select_option("evaluation")
    cube.get_by_label("after").select_option(str(batches))
    x = batch(SENTENCES[0], edited(), positions=3)
    assert_shows(cube, x, norm(x.flatten(0, 1)).detach().view_as(x))
    assert "1 token’s 1 output moved, in sentence 2 only." in said(cube)
    assert shared(cube) == []
    words = cube.locator(".te-cube-working")
    for name, stored in (("mean", norm.running_mean), ("variance", norm.running_var)):
        assert stored is not None
        value = float(words.locator(f"[data-name={name}]").get_attribute("data-value") or "nan")
        assert value == pytest.approx(stored[1].item(), abs=1e-4)


def test_slider_and_typing_edit_and_nonsense_does_not(cube: Page) -> None:
    cube.get_by_role("slider").fill("-3.5")
    x = batch(SENTENCES[0], edited(), positions=3)
    x[1, 1, 1] = -3.5
    assert_shows(cube, x, batch_norm(x))
    field = cube.locator("[data-matrix=input-0] [data-row='1'][data-column='2'] input")
    field.fill("7")
    x[0, 1, 2] = 7
    assert_shows(cube, x, batch_norm(x))
    assert "You changed 2 numbers." in said(cube)
    field.fill("warm")
    assert field.get_attribute("aria-invalid") == "true"
    assert_shows(cube, x, batch_norm(x))
    cube.get_by_role("button", name="Reset").click()
    original = batch(SENTENCES[0], edited(), positions=3)
    assert_shows(cube, original, batch_norm(original))
