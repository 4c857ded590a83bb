"""Small number tables side by side: the hand calculation as a picture."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle
from torch import Tensor

from transformer_edu.book.plots.cells import CHARACTER, draw_cells, label_cells, print_numbers
from transformer_edu.book.plots.inputs import as_array, as_labels, as_mapping
from transformer_edu.book.plots.style import INK, QUIET, WIDTH, book_style, colour_scale, number
from transformer_edu.support.validation import check_positive_integer

GAP = 0.2  # inches between tables
HEADER = 0.55  # inches above a table: its name and shape
FOOTER = 0.15

Labels = Sequence[str] | Mapping[str, Sequence[str] | None] | None
Decimals = int | Mapping[str, int]
Highlight = Mapping[str, Sequence[tuple[int, int]]] | None


@dataclass(frozen=True)
class Table:
    """One matrix and what is written around it; sizes in inches."""

    name: str
    values: np.ndarray
    rows: list[str]
    columns: list[str]
    marked: list[tuple[int, int]]
    decimals: int
    cell: float  # side of a cell, the same in all tables of a figure

    @property
    def signed(self) -> bool:
        """Whether signs are printed: when any entry is a negative number."""
        return bool((self.values[np.isfinite(self.values)] < 0).any())

    @property
    def margin(self) -> float:
        """Room for the row names."""
        return CHARACTER * max(map(len, self.rows), default=0) + (0.1 if any(self.rows) else 0)

    @property
    def width(self) -> float:
        """Whole width, row names and title included."""
        return self.margin + max(self.cell * self.values.shape[1], 0.1 * len(self.name))

    @property
    def height(self) -> float:
        """Whole height, title and column names included."""
        return HEADER + self.cell * self.values.shape[0] + FOOTER + (0.25 if any(self.columns) else 0)


@book_style
def plot_matrices(
    matrices: Mapping[str, Tensor],
    row_labels: Labels = None,
    column_labels: Labels = None,
    decimals: Decimals = 1,
    highlight: Highlight = None,
) -> Figure:
    """Matrices as number tables in a row (in several rows where one is too narrow), each cell coloured by its value.

    Each table has its own colour scale; a matrix with negative entries prints its signs. −∞ and NaN are grey.

    Args:
        matrices: name -> (rows, columns), drawn in this order under these names.
        row_labels, column_labels: one label for each row (column): the same for all matrices, or name -> labels,
            where names left out have none.
        decimals: digits after the point, for all matrices or name -> digits (1 for names left out).
        highlight: name -> cells (row, column) to draw a frame around.
    """
    tables = make_tables(matrices, row_labels, column_labels, decimals, highlight)
    lines = break_lines(tables)
    width = max(sum(table.width for table in line) + GAP * (len(line) - 1) for line in lines) + 0.2
    height = sum(max(table.height for table in line) for line in lines)
    figure = plt.figure(figsize=(width, height))
    top = height
    for line in lines:
        left = 0.1
        for table in line:
            draw_table(figure, table, left, top)
            left += table.width + GAP
        top -= max(table.height for table in line)
    return figure


def make_tables(
    matrices: Mapping[str, Tensor], row_labels: Labels, column_labels: Labels, decimals: Decimals, highlight: Highlight
) -> list[Table]:
    """Check every argument and put what belongs to one matrix together."""
    arrays = {name: as_array(f"matrices[{name!r}]", m, 2) for name, m in as_mapping("matrices", matrices).items()}
    row_labels, column_labels = for_each(arrays, row_labels), for_each(arrays, column_labels)
    for argument, given in (("row_labels", row_labels), ("column_labels", column_labels), ("highlight", highlight)):
        if given is not None and not isinstance(given, Mapping):
            raise TypeError(f"{argument} must be a mapping from the matrices' names or None, got {given!r}")
        unknown = [name for name in given or () if name not in arrays]
        if unknown:
            raise ValueError(f"{argument} must use the matrices' names {list(arrays)}, got {unknown[0]!r}")
    rows = {name: labels_of("row_labels", row_labels, name, m.shape[0]) for name, m in arrays.items()}
    columns = {name: labels_of("column_labels", column_labels, name, m.shape[1]) for name, m in arrays.items()}
    digits = digits_of(arrays, decimals)
    cell = cell_size(arrays, columns, digits)
    return [
        Table(name, m, rows[name], columns[name], cells_of(highlight, name, m.shape), digits[name], cell)
        for name, m in arrays.items()
    ]


def for_each(arrays: Mapping[str, np.ndarray], labels: Labels) -> Labels:
    """Labels given once stand for every matrix."""
    return dict.fromkeys(arrays, labels) if isinstance(labels, list | tuple) else labels


def digits_of(arrays: Mapping[str, np.ndarray], decimals: Decimals) -> dict[str, int]:
    """The digits after the point of each matrix."""
    given = decimals if isinstance(decimals, Mapping) else dict.fromkeys(arrays, decimals)
    for name, digits in given.items():
        if name not in arrays:
            raise ValueError(f"decimals must use the matrices' names {list(arrays)}, got {name!r}")
        check_positive_integer("decimals", digits, minimum=0)
    return {name: given.get(name, 1) for name in arrays}


def cell_size(arrays: Mapping[str, np.ndarray], columns: Mapping[str, list[str]], digits: Mapping[str, int]) -> float:
    """Side of a cell in inches: room for the longest number and for column names of up to eight letters."""
    numbers = max(
        len(number(value, digits[name], bool((m < 0).any()))) for name, m in arrays.items() for value in m.flat
    )
    names = max(len(label) for labels in columns.values() for label in labels)
    return max(0.4, CHARACTER * numbers + 0.14, min(CHARACTER * names + 0.08, 0.76))


def labels_of(argument: str, given: Labels, name: str, count: int) -> list[str]:
    """The labels of one matrix; empty strings when it has none."""
    labels = given.get(name) if isinstance(given, Mapping) else None
    return [""] * count if labels is None else as_labels(f"{argument}[{name!r}]", labels, count)


def cells_of(highlight: Highlight, name: str, shape: tuple[int, ...]) -> list[tuple[int, int]]:
    """The highlighted cells of one matrix, each inside it."""
    cells: list[Any] = list((highlight or {}).get(name, ()))
    for cell in cells:
        if not isinstance(cell, tuple) or len(cell) != 2 or not all(isinstance(index, int) for index in cell):
            raise TypeError(f"highlight[{name!r}] must hold cells (row, column), got {cell!r}")
        if not (0 <= cell[0] < shape[0] and 0 <= cell[1] < shape[1]):
            raise ValueError(f"highlight[{name!r}] must lie inside the shape {shape}, got {cell}")
    return cells


def break_lines(tables: list[Table]) -> list[list[Table]]:
    """As few lines as the page's width allows, and these about equally full."""
    return next(
        lines
        for per_line in (math.ceil(len(tables) / count) for count in range(1, len(tables) + 1))
        if all(map(fits, lines := [tables[i : i + per_line] for i in range(0, len(tables), per_line)])) or per_line == 1
    )


def fits(line: list[Table]) -> bool:
    """Whether these tables fit beside each other."""
    return sum(table.width for table in line) + GAP * (len(line) - 1) <= WIDTH + 0.2


def draw_table(figure: Figure, table: Table, left: float, top: float) -> None:
    """Draw one table with its upper left corner at (left, top) inches."""
    width, height = figure.get_size_inches()
    rows, columns = table.values.shape
    bottom = top - HEADER - table.cell * rows
    axes = figure.add_axes(
        ((left + table.margin) / width, bottom / height, table.cell * columns / width, table.cell * rows / height)
    )
    image = draw_cells(axes, table.values, *colour_scale(table.values))
    print_numbers(axes, image, table.values, table.decimals, table.signed)
    label_cells(axes, table.rows, table.columns, table.cell)
    title = axes.annotate(table.name, (0, 1), (0, 20), "axes fraction", "offset points", fontweight="bold")
    title.set_gid("name")
    axes.annotate(f"{rows} × {columns}", (0, 1), (0, 5), "axes fraction", "offset points", color=QUIET)
    for row, column in table.marked:
        for colour, thickness in (("white", 6), (INK, 3)):  # a light edge keeps the dark frame visible on dark cells
            place = (column - 0.5, row - 0.5)
            axes.add_patch(Rectangle(place, 1, 1, fill=False, edgecolor=colour, linewidth=thickness, clip_on=False))
