"""The norm cube, with PyTorch's numbers."""

import pytest
import torch
from torch import nn

from tests.browser.figure_page import act, close, number, numbers, play, shown
from transformer_edu.book.figures import NormCube

SENTENCES = [torch.tensor(one["x"], dtype=torch.float64) for one in NormCube().sentences]
EPS = 1e-5


def batch(*sentences, positions):
    """(batch, positions, features), zeros at padding."""
    return torch.stack([torch.cat([x, x.new_zeros(positions - len(x), 4)]) for x in sentences])


def edited():
    """The second sentence with the default edit."""
    x = SENTENCES[1].clone()
    x[1, 1] = 12
    return x


def batch_norm(x):
    """torch.nn.BatchNorm1d in training over (batch · position)."""
    return nn.BatchNorm1d(4, eps=EPS, dtype=torch.float64)(x.flatten(0, 1)).detach().view_as(x)


def assert_shows(page, x, y):
    for row in range(len(x)):
        close(shown(page, f"input-{row}"), x[row], atol=1e-9)
        close(shown(page, f"output-{row}"), y[row])
    assert page.locator("[data-matrix^=input]").count() == len(x)


def shared(page):
    """The outlined places [row of the batch, position, feature]."""
    return page.locator(".te-cube-shared").evaluate_all(
        "all => all.map(c => [c.closest('[data-matrix]').dataset.matrix.at(-1), c.dataset.row, c.dataset.column]"
        ".map(Number))"
    )


@pytest.mark.parametrize("batches", [1, 10, 100])
def test_evaluation_uses_running_statistics_and_an_edit_moves_one_output(page, batches):
    norm = nn.BatchNorm1d(4, eps=EPS, dtype=torch.float64)
    for _ in range(batches):
        norm(batch(SENTENCES[0], SENTENCES[1], positions=3).flatten(0, 1))
    norm.eval()
    act(page, "click .te-details summary", "combobox batch norm in = evaluation", f"combobox after = {batches}")
    x = batch(SENTENCES[0], edited(), positions=3)
    assert_shows(page, x, norm(x.flatten(0, 1)).detach().view_as(x))
    assert shared(page) == []
    for name, stored in (("mean", norm.running_mean), ("variance", norm.running_var)):
        assert number(page, f".te-cube-working [data-name={name}]") == pytest.approx(stored[1].item(), abs=1e-4)


def test_every_norm_agrees_with_torch(page):
    x = batch(SENTENCES[0], edited(), positions=3)
    assert_shows(page, x, batch_norm(x))
    act(page, "radio layer norm")
    assert_shows(page, x, nn.LayerNorm(4, eps=EPS, dtype=torch.float64)(x).detach())
    act(page, "radio RMS norm")
    assert_shows(page, x, nn.RMSNorm(4, eps=EPS, dtype=torch.float64)(x).detach())


def counts(page):
    """How many outputs moved under each norm."""
    return numbers(page.locator(".te-cube-count")).tolist()


def test_batch_norm_carries_an_edit_into_the_other_sentence_and_layer_norm_does_not(page):
    assert shared(page) == [[row, position, 1] for row in (0, 1) for position in range(3)]
    assert counts(page) == [4, 6, 3]
    before, after = (batch_norm(batch(SENTENCES[0], two, positions=3)) for two in (SENTENCES[1], edited()))
    close(numbers(page.locator("[data-matrix=output-0] .te-cube-moved"), "by"), (after - before)[0, :, 1])
    act(page, "radio layer norm")
    assert shared(page) == [[1, 1, feature] for feature in range(4)]
    assert page.locator(".te-cube-moved").count() == 4
    act(page, "click [data-matrix=output-0] [data-row='2'][data-column='3']")
    assert shared(page) == [[0, 2, feature] for feature in range(4)]
    assert number(page, ".te-cube-working [data-name=mean]") == 0.75


def test_padding_is_averaged_in_by_batch_norm_alone_until_it_is_left_out(show):
    page = show(NormCube(edits=[]))
    before = page.locator(".te-stage").bounding_box()
    play(page, "nothing changed, no word moved", "No output moved.", "> click .te-details summary; button Add padding")
    assert page.locator(".te-stage").bounding_box() == before, "padding makes the picture grow"
    assert counts(page) == [0, 24, 0]
    act(page, "button Add padding")
    x = batch(SENTENCES[0], SENTENCES[1], positions=5)
    assert_shows(page, x, batch_norm(x))
    play(
        page,
        "nobody changed a word, and yet all 6 words moved, in both sentences",
        "24 outputs moved.",
        "all 10 positions, 4 of them padding",
    )
    page.get_by_role("button", name="Add padding").dispatch_event("click")  # no room for a sixth
    act(page, "checkbox leave padding out = on")
    real = batch_norm(x[:, :3])
    assert_shows(page, x, torch.cat([real, real.new_zeros(2, 2, 4)], dim=1))
    play(page, "No output moved.", "> button Remove padding")
    assert len(shown(page, "input-0")) == 4


def test_company_changes_a_sentence_under_batch_norm(show):
    page = show(NormCube(edits=[]))
    act(page, "click .te-details summary", "combobox sentence 2 = 2")
    x = batch(SENTENCES[0], SENTENCES[2], positions=4)
    assert_shows(page, x, batch_norm(x))
    play(page, "Sentence 2 is another one. Sentence 1 gets 1 position of padding.", "> combobox sentence 2 = null")
    alone = batch(SENTENCES[0], positions=3)
    assert_shows(page, alone, batch_norm(alone))
    play(page, "Sentence 1 is alone in its batch.")


def test_slider_and_typing_edit_and_nonsense_does_not(page):
    x = batch(SENTENCES[0], edited(), positions=3)
    page.get_by_role("slider").fill("-3.5")
    x[1, 1, 1] = -3.5
    field = page.locator("[data-matrix=input-0] [data-row='1'][data-column='2'] input")
    field.fill("7")
    x[0, 1, 2] = 7
    assert_shows(page, x, batch_norm(x))
    play(page, "2 numbers changed, all 6 words moved")
    field.fill("warm")
    assert field.get_attribute("aria-invalid") == "true"
    assert_shows(page, x, batch_norm(x))
    act(page, "button Reset")
    x = batch(SENTENCES[0], edited(), positions=3)
    assert_shows(page, x, batch_norm(x))
