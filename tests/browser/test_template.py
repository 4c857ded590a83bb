"""What every figure has in common for a reader: title, invitation, one view, a question, movement that explains."""

import pytest

from tests.browser.cases import CASES
from tests.browser.conftest import reload, wake

COLUMN = 720  # of the window: 688 for the figure, the width of the book's column on most laptops
HIGHEST = 700
LONGEST = 400  # milliseconds of a movement
WATCHED = LONGEST + 100  # until everything must have come to rest
AT_ONCE = 100  # and where nothing is to move
CUT = """() => [...document.querySelectorAll(".te-root *")]
    .filter((one) => getComputedStyle(one).textOverflow === "ellipsis" && one.checkVisibility()
        && one.scrollWidth > one.clientWidth + 1)
    .map((one) => one.textContent)"""
# What is printed in letters of less than so many pixels, as the reader sees them.
SMALL = """(least) => {
    const small = [];
    const nodes = document.createTreeWalker(document.querySelector(".te-root"), NodeFilter.SHOW_TEXT);
    for (let node = nodes.nextNode(); node; node = nodes.nextNode()) {
        const inside = node.parentElement;
        const size = parseFloat(getComputedStyle(inside).fontSize) * (inside.getScreenCTM?.()?.a ?? 1);
        const range = document.createRange();
        range.selectNodeContents(node);
        if (size >= least || size === 0 || inside.closest("sub, sup") || !node.textContent.trim()) continue;
        const seen = inside.checkVisibility({ opacityProperty: true, visibilityProperty: true });
        if (seen && range.getClientRects().length) small.push(`${node.textContent}: ${size.toFixed(1)} px`);
    }
    return small;
}"""
MOVING = """document.getAnimations().map((one) => one.effect.getComputedTiming())
    .map(({ duration, delay }) => [duration, delay])"""
# What moves right after a button was pressed, and whether the picture goes on changing.
PRESSED = """async (button, wait) => {
    const drawn = () => {
        const copy = document.querySelector(".te-root").cloneNode(true);
        copy.querySelectorAll("[aria-live]").forEach((region) => region.remove());
        return copy.innerHTML;
    };
    button.click();
    const [moving, early] = [MOVING, drawn()];
    await new Promise((later) => setTimeout(later, wait));
    return [moving, early !== drawn()];
}""".replace("MOVING", MOVING)
MOST_PRESSES = 12
SMALLEST = 11  # pixels of a letter


@pytest.fixture
def figure(request, show):
    """The figure of this name in the column of a laptop's book."""
    return show(CASES[request.param].make(), width=COLUMN)


@pytest.fixture(scope="module")
def shown(request, show):
    """The figure of this name in the column of a laptop's book, made once for the tests that only look."""
    return show(CASES[request.param].make(), width=COLUMN)


@pytest.fixture
def at_rest(shown):
    """A figure that nobody has touched."""
    shown.set_viewport_size({"width": COLUMN, "height": 1000})
    return shown


every_figure = pytest.mark.parametrize("figure", CASES, indirect=True)
every_figure_at_rest = pytest.mark.parametrize("shown", CASES, indirect=True)


def box(page, selector):
    """Left, top, width and height of the first such element."""
    found = page.locator(selector).first.bounding_box()
    assert found, f"{selector} is not to be seen"
    return found


@every_figure_at_rest
def test_a_figure_says_what_it_shows_and_what_to_try_before_its_picture(at_rest):
    title, invitation = (at_rest.locator(f".te-root > .te-{name}").inner_text() for name in ("says", "invite"))
    assert 2 <= len(title.split()) <= 14, title
    assert len(invitation.removeprefix("Try: ").split()) <= 26, invitation
    assert box(at_rest, ".te-says")["y"] < box(at_rest, ".te-invite")["y"] < box(at_rest, ".te-stage")["y"]


@every_figure_at_rest
def test_control_and_effect_are_in_one_view(at_rest):
    assert box(at_rest, ".te-root")["height"] <= HIGHEST


@every_figure_at_rest
def test_no_token_is_cut_off(at_rest):
    assert at_rest.evaluate(CUT) == []
    at_rest.set_viewport_size({"width": 390, "height": 844})
    assert at_rest.evaluate(CUT) == []


@every_figure_at_rest
def test_a_phone_shows_no_letters_too_small_to_read(at_rest):
    at_rest.set_viewport_size({"width": 390, "height": 844})
    assert at_rest.evaluate(SMALL, SMALLEST) == []


@every_figure
def test_the_button_to_go_on_stays_under_the_finger(figure):
    buttons = figure.locator(".te-root .te-primary")
    if not buttons.count():  # a figure without steps: choosing must not move what is below it
        figure.locator(".te-root .te-challenge button").first.focus()
        before = box(figure, ".te-root")
        figure.keyboard.press("Enter")
        assert box(figure, ".te-root") == before
        return
    before, whole = box(figure, ".te-primary"), box(figure, ".te-root")
    for press in range(MOST_PRESSES):
        buttons.first.focus()
        figure.keyboard.press("Enter")
        assert box(figure, ".te-root") == whole, f"the figure grows at press {press + 1}"
        assert box(figure, ".te-primary") == before, f"the button moves at press {press + 1}"


@every_figure
def test_each_question_notices_when_it_is_answered(figure):
    asked = figure.locator(".te-challenge")
    several = asked.get_by_role("button", name="Another question")
    for _ in range(6 if several.count() else 1):  # twice each: the second time the figure stands at an answer already
        assert asked.get_attribute("data-done") == "false"
        asked.get_by_role("button", name="Show me").focus()
        figure.keyboard.press("Enter")
        assert asked.get_attribute("data-done") == "true", asked.inner_text()
        assert asked.locator(".te-challenge-tell").inner_text().startswith("Yes. ")
        if not several.count():
            break
        several.focus()
        figure.keyboard.press("Enter")


@every_figure
def test_movement_is_short_and_only_for_those_who_want_it(figure):
    answer = figure.locator(".te-challenge").get_by_role("button", name="Show me")
    assert figure.evaluate(MOVING) == []
    moving, changing = answer.evaluate(PRESSED, AT_ONCE)
    assert (moving, changing) == ([], False), "something moves although the reader asked for no movement"
    figure.emulate_media(reduced_motion="no-preference")
    reload(figure)
    figure.wait_for_selector("[data-ready=true]")
    wake(figure)
    assert figure.evaluate(MOVING) == [], "something moves by itself"
    moving, changing = answer.evaluate(PRESSED, WATCHED)
    figure.emulate_media(reduced_motion="reduce")
    assert moving or changing, "the answer is there without a movement"
    assert all(duration <= LONGEST and delay <= 3 * LONGEST for duration, delay in moving)
