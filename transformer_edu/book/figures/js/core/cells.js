import { decimalsFor, format } from "./format.js";
import { mapMatrix } from "./math.js";

/** @import { Matrix } from "./math.js" */
/** @import { Cell } from "./view.jsx" */

/**
 * The cells of a matrix of numbers, with what each was before the last change.
 * @param {Matrix} values
 * @param {{rows: string[], columns: string[], decimals?: number, quiet?: number, before?: Cell[][] | null}} look
 *   `rows`, `columns`: what the places are called; `quiet`: a number nearer to zero is not printed, only spoken; `before`:
 *   the cells at the last draw
 */
export function cellsOf(values, { rows, columns, decimals = decimalsFor(values), quiet = 0, before = null }) {
  const cells = mapMatrix(values, (value, i, j) => {
    const text = format(value, decimals);
    const isHatched = value === -Infinity;
    const label = `row ${rows[i]}, column ${columns[j]}: ${isHatched ? "minus infinity, blocked" : text}`;
    return { value, text: Math.abs(value) < quiet ? "" : text, label, isHatched };
  });
  return keepMarked(cells, before);
}

/**
 * What a change made another number stays marked until the next; of most of them, none would stand out.
 * @param {Cell[][]} cells @param {Cell[][] | null} before @returns {Cell[][]}
 */
export function keepMarked(cells, before = null) {
  if (before?.length !== cells.length || before[0].length !== cells[0].length)
    return cells.map((line) => line.map((cell) => ({ ...cell, was: null })));
  const others = cells.flatMap((line, i) => line.filter(({ text }, j) => text !== before[i][j].text));
  const marked = new Set(2 * others.length > cells.length * cells[0].length ? [] : others);
  return cells.map((line, i) =>
    line.map((cell, j) => {
      const { text, was } = before[i][j];
      return { ...cell, was: others.length ? (marked.has(cell) ? text || "near 0" : null) : was };
    }),
  );
}
