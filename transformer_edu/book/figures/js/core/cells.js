/**
 * Visit the cells of a matrix, to print more than a number in them.
 * @param {{element: Element}} grid from matrixGrid
 * @param {(cell: HTMLElement, row: number, column: number) => void} visit
 */
export function eachCell(grid, visit) {
  /** @type {NodeListOf<HTMLElement>} */ (grid.element.querySelectorAll("[data-row]")).forEach((cell) =>
    visit(cell, Number(cell.dataset.row), Number(cell.dataset.column)),
  );
}
