"""A page that shows one figure: move its sliders, read its numbers. The fixture `show` opens it."""

from collections.abc import Callable

import torch
from playwright.sync_api import Locator, Page
from torch import Tensor

Show = Callable[..., Page]
CELLS_BY_ROW = """(grid, cells) => [...grid.querySelectorAll('[role=row]')]
    .map(row => [...row.querySelectorAll(cells)].map(cell => cell.dataset.value)).filter(row => row.length)"""


def slide(page: Page, label: str, value: float) -> None:
    """Set the slider with this label."""
    page.get_by_role("slider", name=label).fill(str(value))


def values(page: Page, selector: str) -> Tensor:
    """All numbers inside an element, in one row (count,), exactly as the figure holds them in data-value."""
    found = page.locator(f"{selector} [data-value]").evaluate_all("all => all.map(one => one.dataset.value)")
    return torch.tensor([float(value) for value in found], dtype=torch.float64)


def matrix(grid: Locator, cells: str = "[data-value]") -> Tensor:
    """A grid's numbers (rows, columns), exactly as the figure holds them in its cells' data-value.

    Args:
        grid: the element whose descendants with the role "row" hold the cells; rows without a cell are left out.
        cells: a selector of the cells that count.
    """
    rows = grid.evaluate(CELLS_BY_ROW, cells)
    return torch.tensor([[float(value) for value in row] for row in rows], dtype=torch.float64)
