"""The norm cube's page, against PyTorch's numbers."""

from tests.browser.figure_page import act, close, numbers, play, shown
from tests.unit.test_norm_cube import normed
from transformer_edu.book.figures import NormCube
from transformer_edu.book.figures.norm_cube import DEFAULT_EDIT, _padded


def batch(*edits):
    """The first batch with these changes: inputs and outputs of batch norm in training."""
    x, real = _padded(NormCube().sentences[:2], 0, edits)
    return x, normed(NormCube(), x, real)[0]


def assert_shows(page, x, y):
    for row in range(len(x)):
        close(shown(page, f"input-{row}"), x[row], atol=1e-9)
        close(shown(page, f"output-{row}"), y[row])


def test_slider_and_typing_edit_and_nonsense_does_not(page):
    first, opened = batch(), batch(DEFAULT_EDIT)
    assert_shows(page, *opened)
    moves = numbers(page.locator("[data-matrix=output-0] .te-cube-moved"), "by")
    close(moves, (opened[1] - first[1])[0, :, 1])
    page.get_by_role("slider").fill("-3.5")
    field = page.locator("[data-matrix=input-0] [data-row='1'][data-column='2'] input")
    field.fill("7")
    other = batch((1, 1, 1, -3.5), (0, 1, 2, 7))
    assert_shows(page, *other)
    play(page, "2 numbers changed, all 6 words moved")
    field.fill("warm")
    assert field.get_attribute("aria-invalid") == "true"
    assert_shows(page, *other)
    act(page, "button Reset")
    assert_shows(page, *opened)


def test_padding_makes_no_picture_grow_and_takes_no_number(page):
    before = page.locator(".te-stage").bounding_box()
    act(page, "click .te-details summary", "button Add padding", "button Add padding")
    assert page.locator(".te-stage").bounding_box() == before
    page.get_by_role("button", name="Add padding").dispatch_event("click")  # no room for a sixth
    field = page.locator("[data-matrix=input-0] [data-row='4'][data-column='1'] input")
    field.click()
    page.keyboard.type("7")
    assert page.get_by_role("slider").is_disabled()
    assert shown(page, "input-0")[4].tolist() == [0] * 4


def test_the_number_of_a_bar_is_seen_by_pointing_at_it_and_by_keyboard(page):
    seen = """all => all.filter((one) => one.checkVisibility({ opacityProperty: true }))
        .map((one) => one.value ?? one.textContent)"""
    asked = page.locator(".te-cube-asked, .te-cube-stage .te-field")
    assert asked.evaluate_all(seen) == ["12", "2.20"]
    act(page, "hover [data-matrix=output-0] [data-row='0'][data-column='0']")
    assert asked.evaluate_all(seen) == ["−0.72", "12", "2.20"]
    page.locator("[data-matrix=input-1] [data-row='1'][data-column='1'] input").focus()
    act(page, "hover .te-says", "key ArrowDown", "key ArrowLeft")
    assert asked.evaluate_all(seen) == ["9", "1.45"]
    act(page, "key Tab")
    assert asked.evaluate_all(seen)[0:1] == ["9"], "Tab only passes through"
