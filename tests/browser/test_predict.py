"""A Predict box takes a guess, by hand or by keyboard, keeps it, and shows it beside the answer."""

import pytest

from tests.browser.conftest import ROOT, reload

PAGE = """<!doctype html><html lang="en"><body><article class="bd-article">
<div class="admonition note"><p class="admonition-title">Predict</p><p>Which of the two?</p>{options}{form}</div>
<details class="te-covered" open><summary>Your guess first.</summary><p>Both.</p></details>
</article><script>{script}</script></body></html>"""
OPTIONS = "<ul><li><p>the <em>first</em></p></li><li><p>the second</p></li></ul>"


@pytest.fixture
def question(tmp_path, strict_page, request, monkeypatch):
    """A page from disk with one Predict box and its answer, closed."""
    monkeypatch.syspath_prepend(ROOT / "book" / "_ext")
    from folding import guess_form

    options = getattr(request, "param", "")
    script = "".join((ROOT / "book" / "_static" / name).read_text("utf-8") for name in ("page.js", "predict.js"))
    path = tmp_path / "page.html"
    path.write_text(
        PAGE.format(options=options, form=guess_form(chosen=bool(options)), script=script), encoding="utf-8"
    )
    return strict_page().open(path.as_uri())


def test_a_typed_guess_is_shown_with_the_answer_and_survives_a_reload(question):
    guess = "<b>the first</b>"
    question.get_by_label("Your guess").fill(guess)
    question.keyboard.press("Enter")
    assert question.locator("details.te-covered[open]").count() == 1
    assert question.locator(".te-predict-said").inner_text() == f"You said: {guess}"
    reload(question)
    assert question.locator("details.te-covered[open]").count() == 0
    assert question.get_by_label("Your guess").input_value() == guess
    question.get_by_label("Your guess").fill("")
    question.get_by_role("button", name="Show the answer").click()
    assert not question.locator(".te-predict-said").is_visible()


@pytest.mark.parametrize("question", [OPTIONS], indirect=True)
def test_a_list_becomes_choices_by_keyboard(question):
    question.get_by_role("radio", name="the first").focus()
    question.keyboard.press("ArrowDown")
    question.get_by_role("button", name="Show the answer").click()
    assert question.locator(".te-predict-said").inner_text() == "You said: the second"
    reload(question)
    assert question.get_by_role("radio", name="the second").is_checked()


def test_a_browser_that_keeps_nothing_still_takes_the_guess(question):
    question.add_init_script("Object.defineProperty(window, 'localStorage', { get() { throw new Error('no'); } })")
    reload(question)
    question.get_by_label("Your guess").fill("neither")
    question.keyboard.press("Enter")
    assert question.locator(".te-predict-said").inner_text() == "You said: neither"
