"""What a reader does with a figure and finds there, in few words. The fixture `show` opens a page with one figure."""

import re

import torch
from playwright.sync_api import expect

from tests.browser.conftest import TWO_FRAMES

CELLS_BY_ROW = """(grid, cells) => [...grid.querySelectorAll('[role=row]')]
    .map(row => [...row.querySelectorAll(cells)].map(cell => cell.dataset.value)).filter(row => row.length)"""
SEEN = """() => {
    const copy = document.querySelector('.te-root').cloneNode(true);
    copy.querySelectorAll('[aria-live]').forEach((region) => region.remove());
    return copy.textContent.replace(/\\s+/g, ' ');
}"""

DAMAGE = """for (const part in transformerModels)
    transformerModels[part] = transformerModels[part].replace(/.{8}(?=.{40}$)/, 'AAAAAAAA')"""


def act(page, *steps):
    """Do what a reader does, one step after another, and wait until it is drawn.

    Args:
        page: the page with the figure.
        steps: a role and a name, "button Next" or "radio cat" (a part of the name does, where no whole name fits), with
            a value where the control takes one: "slider steps = 3", "combobox mask = right", "checkbox scale = off".
            Or "key Enter", or a CSS selector after "click" or "hover".
    """
    for step in steps:
        what, _, value = step.partition(" = ")
        verb, _, name = what.partition(" ")
        if verb == "key":
            page.keyboard.press(name)
        elif verb == "hover":
            page.locator(name).hover()
        elif verb == "click":
            page.locator(step.removeprefix("click ")).click()
        else:
            operate(control(page, verb, name), verb, value)
        page.evaluate(TWO_FRAMES)  # what is not looked at first is drawn after the next frame


def control(page, role, name):
    """The control with this role and name, or the one whose name contains it."""
    exact = page.get_by_role(role, name=name, exact=True)
    return exact if exact.count() else page.get_by_role(role, name=name)


def operate(widget, role, value):
    """Click a control, or give it a value; an option is named by its label or else its value."""
    if role in ("slider", "textbox"):
        widget.fill(value)
    elif role == "combobox":
        by_label = value in widget.locator("option").all_text_contents()
        widget.select_option(**{"label" if by_label else "value": value})
    elif role == "checkbox":
        widget.set_checked(value == "on")
    else:
        widget.click()


def play(page, *lines):
    """Go through a scene: "> " and steps of `act`, or a text that must stand in the figure then, with … for omissions.

    A text after "! " must not stand there; one after "~ " must be announced to a screen reader.
    """
    for line in lines:
        sign, text = line[:2], line[2:]
        if sign == "> ":
            act(page, *text.split("; "))
        elif sign == "~ ":
            expect(page.locator(".te-root > [aria-live]")).to_contain_text(text)
        else:
            pattern = re.compile(".*".join(map(re.escape, line.removeprefix("! ").split(" … "))))
            for _ in range(100):  # a figure may draw what is not looked at first in a later frame
                seen = page.evaluate(SEEN)
                if (pattern.search(seen) is not None) == (sign != "! "):
                    break
                page.wait_for_timeout(50)
            else:
                raise AssertionError(f"{line!r}, but there stands: {seen}")


def numbers(found, key="value"):
    """The number that each element holds in its data-value, or in another such attribute: (count,)."""
    texts = found.evaluate_all(f"all => all.map(one => one.dataset.{key})")
    return torch.tensor([float(text) for text in texts], dtype=torch.float64)


def number(page, selector):
    """The number that one element holds in its data-value."""
    return float(page.locator(selector).get_attribute("data-value") or "nan")


def values(page, selector):
    """All numbers inside an element, in one row (count,), exactly as the figure holds them in data-value."""
    return numbers(page.locator(f"{selector} [data-value]"))


def matrix(grid, cells="[data-value]"):
    """A grid's numbers (rows, columns), exactly as the figure holds them in its cells' data-value.

    Args:
        grid: the element whose descendants with the role "row" hold the cells; rows without a cell are left out.
        cells: a selector of the cells that count.
    """
    rows = grid.evaluate(CELLS_BY_ROW, cells)
    return torch.tensor([[float(value) for value in row] for row in rows], dtype=torch.float64)


def shown(page, name, cells="[data-value]"):
    """The matrix of this name, as `matrix` reads it."""
    return matrix(page.locator(f"[data-matrix='{name}']"), cells)


def close(found, expected, atol=1e-4):
    """Assert that numbers are the expected ones, with the same shape."""
    torch.testing.assert_close(
        found.double(), torch.as_tensor(expected, dtype=torch.float64), atol=atol, rtol=0, equal_nan=True
    )
