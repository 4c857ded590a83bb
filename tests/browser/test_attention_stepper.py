"""The attention stepper's page shows what torch computes, and takes a reader's numbers."""

from tests.browser.figure_page import act, close, shown
from tests.browser.keyboard import focused
from tests.unit.test_attention_stepper import head
from transformer_edu import hand_example

SHOWN = {"q": ["x", "w_q", "q"], "scores": ["q", "k_t", "scores"], "scale": ["scores", "scaled"]}
SHOWN |= {"mask": ["scaled", "masked"], "softmax": ["masked", "weights"], "mix": ["weights", "v", "mix"]}
SHOWN |= {"output": ["mix", "w_o", "output"]}
FIELD = "[data-matrix={}] [data-row='{}'][data-column='{}'] input"


def test_an_edited_number_runs_through_to_the_output(page):
    act(page, "tab Step 4", "combobox mask = causal", "tab Step 1")
    page.locator(FIELD.format("x", 2, 1)).fill("-1,5")
    act(page, "radio black")
    x = hand_example().x.clone()
    x[2, 1] = -1.5
    expected = head(x=x, mask="causal")
    for term, names in SHOWN.items():
        for name in names:
            close(shown(page, name), expected[name], atol=1e-12)
        assert set(page.locator(".te-active").evaluate_all("all => all.map(one => one.dataset.term)")) == {term}
        marked = page.locator(f"[data-matrix={names[-1]}] .te-in-row")
        assert set(marked.evaluate_all("cells => cells.map(cell => cell.dataset.row)")) == {"1"}
        page.get_by_role("button", name="Next").dispatch_event("click")  # the last step leads no further
    act(page, "button Reset")
    close(shown(page, "output"), head()["output"], atol=1e-12)


def test_arrow_keys_walk_the_number_fields_where_nonsense_goes_away_and_a_change_is_marked(page):
    act(page, "tab Step 1")
    page.locator(FIELD.format("x", 0, 0)).focus()
    act(page, "key ArrowRight", "key ArrowDown")
    assert focused(page) == "row black, column 2: 2"
    page.keyboard.type("two")
    field = page.locator(FIELD.format("x", 1, 1))
    assert field.get_attribute("aria-invalid") == "true"
    close(shown(page, "q"), head()["q"])
    act(page, "key Enter", "key ArrowUp")
    assert (field.input_value(), field.get_attribute("aria-invalid")) == ("2", None)
    page.keyboard.type("7")
    act(page, "key Enter")
    assert focused(page) == "row cat, column 2: 0"
    assert shown(page, "x")[1, 1] == 7
    changed = page.locator("[data-matrix=q] .te-changed")
    assert changed.evaluate_all("all => all.map(one => [one.textContent, one.title])") == [["7", "was 2"]]
