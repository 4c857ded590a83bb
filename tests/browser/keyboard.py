"""A reader who has a keyboard and nothing else: press keys, go from stop to stop with Tab."""

import json

from playwright.sync_api import Page

MOST_TABS = 20  # a test of a figure with fewer stops, or many more, passes its own
NAME = "(node.ariaLabel || node.labels?.[0]?.textContent || node.textContent)"  # of an element, as in the tests' words


def press(page: Page, *keys: str) -> None:
    """Press keys, one after another."""
    for key in keys:
        page.keyboard.press(key)


def focused(page: Page) -> str:
    """The name of the focused element: its aria-label, its label's text, or its own text."""
    return str(page.evaluate(f"(node => {NAME})(document.activeElement)"))


def tab_until(page: Page, condition: str, most: int = MOST_TABS) -> None:
    """Press Tab, at least once and at most so often, until a condition in JavaScript is true of the focused `node`."""
    for _ in range(most):
        page.keyboard.press("Tab")
        if page.evaluate(f"(node => {condition})(document.activeElement)"):
            return
    raise AssertionError(f"Tab never reached {condition}")


def tab_to(page: Page, selector: str, most: int = MOST_TABS) -> None:
    """Press Tab, at least once, until the focused element matches a CSS selector."""
    tab_until(page, f"node.matches({json.dumps(selector)})", most)


def tab_to_name(page: Page, name: str, most: int = MOST_TABS) -> None:
    """Press Tab, at least once, until the focused element's name (see `focused`) begins with `name`."""
    tab_until(page, f"{NAME}.startsWith({json.dumps(name)})", most)
