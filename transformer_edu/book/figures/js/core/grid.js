import { css, inkOn } from "./colour.js";
import { focusedIn, h, span } from "./dom.js";
import { decimalsFor, format, parseNumber, short } from "./format.js";
import { clamp } from "./math.js";

/** @import { RGB } from "./colour.js" */
/** @import { Matrix } from "./math.js" */

/**
 * A matrix that can be read and walked through cell by cell: one Tab stop, then arrow keys, Home, End.
 * Every cell carries its full value in `data-value` and says "row cat, column black: 8".
 * @typedef {object} GridOptions
 * @property {string} name      machine name, kept in data-matrix
 * @property {string} label     what a screen reader calls it
 * @property {string[]} rows    @property {string[]} columns   tokens or numbers
 * @property {boolean}[showRows]  @property {boolean}[showColumns]   print these labels (they are spoken either way)
 * @property {boolean}[editable]  cells are number fields
 * @property {(row: number, column: number) => void}[onSelect]   a cell was clicked or reached by key
 * @property {(row: number, column: number, value: number) => void}[onEdit]
 *
 * @typedef {{decimals?: number, colour?: (value: number) => RGB, quiet?: number}} Look  `quiet`: a number nearer to
 *   zero is not printed; it is still spoken
 */

/** @param {GridOptions} options */
export function matrixGrid(options) {
  const { name, label, rows, columns, showRows = false, showColumns = false, editable = false } = options;
  const cells = rows.map((_, r) => columns.map((_, c) => gridCell(options, r, c, (key) => step(r, c, key))));
  const header = (role, text) => h("div", { role, class: "te-header", title: text }, span("", text));
  const lines = cells.map((line, r) =>
    h(
      "div",
      { role: "row", class: "te-row" },
      showRows ? header("rowheader", rows[r]) : null,
      ...line.map((cell) => cell.element),
    ),
  );
  if (showColumns) {
    lines.unshift(
      h(
        "div",
        { role: "row", class: "te-row te-columns" },
        showRows ? h("div", { role: "gridcell", class: "te-header" }) : null,
        ...columns.map((text) => header("columnheader", text)),
      ),
    );
  }
  const element = h(
    "div",
    {
      role: "grid",
      "aria-label": label,
      class: `te-grid${editable ? " te-editable" : ""}${showRows ? " te-with-rows" : ""}`,
      dataset: { matrix: name },
      style: { "--columns": columns.length },
    },
    ...lines,
  );

  let stop = [0, 0];
  let marked = ""; // what is highlighted
  let changed = []; // cells whose number is another than before

  function setStop(r, c) {
    cells[stop[0]][stop[1]].target.tabIndex = -1;
    stop = [r, c];
    cells[r][c].target.tabIndex = 0;
  }

  function step(r, c, key) {
    const to = neighbour(key, r, c, rows.length, columns.length);
    if (to) cells[to[0]][to[1]].target.focus();
    return Boolean(to);
  }
  cells.forEach((line, r) =>
    line.forEach((cell, c) =>
      cell.target.addEventListener("focus", () => {
        setStop(r, c);
        options.onSelect?.(r, c);
      }),
    ),
  );
  setStop(0, 0);

  /** What a change made another number stays marked until the next; of most of them, none would stand out. */
  function keepMarked(others) {
    changed.forEach((cell) => cell.mark(false));
    others.forEach((cell) => cell.mark(true));
    element.classList.toggle("te-has-changed", others.length > 0);
    changed = others;
  }

  return {
    element,
    /** @param {Matrix} values @param {Look}[look] */
    update(values, look = {}) {
      const decimals = look.decimals ?? decimalsFor(values);
      const others = cells.flatMap((line, r) => line.filter((cell, c) => cell.show(values[r][c], decimals, look)));
      if (others.length) keepMarked(2 * others.length > rows.length * columns.length ? [] : others);
    },
    /** Mark a row, a column and one cell (any may be null or missing); Tab then leads to the marked place. */
    highlight({ row = null, column = null, cell = null } = {}) {
      const next = JSON.stringify([row, column, cell]);
      if (!focusedIn(element)) setStop(cell?.[0] ?? row ?? stop[0], cell?.[1] ?? column ?? stop[1]);
      if (next === marked) return;
      marked = next;
      cells.forEach((line, r) =>
        line.forEach((one, c) => {
          one.element.classList.toggle("te-in-row", r === row);
          one.element.classList.toggle("te-in-column", c === column);
          one.element.classList.toggle("te-selected", cell !== null && r === cell[0] && c === cell[1]);
          if (cell) one.element.setAttribute("aria-selected", String(r === cell[0] && c === cell[1]));
        }),
      );
      lines.forEach((line) =>
        [...line.querySelectorAll(".te-header")].forEach((header) => header.classList.remove("te-marked")),
      );
      if (showRows && row !== null) lines[row + (showColumns ? 1 : 0)].firstElementChild.classList.add("te-marked");
      if (showColumns && column !== null) lines[0].children[column + (showRows ? 1 : 0)].classList.add("te-marked");
    },
  };
}

/** @returns {[number, number] | null} */
export function neighbour(key, r, c, rowCount, columnCount) {
  const moves = {
    ArrowUp: [r - 1, c],
    ArrowDown: [r + 1, c],
    ArrowLeft: [r, c - 1],
    ArrowRight: [r, c + 1],
    Home: [r, 0],
    End: [r, columnCount - 1],
  };
  const to = moves[key];
  return to ? [clamp(to[0], 0, rowCount - 1), clamp(to[1], 0, columnCount - 1)] : null;
}

/**
 * One cell: its element, the node that takes focus, `show(value, decimals, look)`, which says whether it prints another
 * number than before, and `mark(on)` for that.
 * @param {GridOptions} options @param {number} r @param {number} c @param {(key: string) => boolean} step
 */
function gridCell(options, r, c, step) {
  const place = `row ${options.rows[r]}, column ${options.columns[c]}`;
  const element = h("div", { role: "gridcell", class: "te-cell", dataset: { row: r, column: c } });
  /** @type {any} */
  const target = options.editable ? numberField(options, r, c, step) : element;
  if (options.editable) element.append(target);
  else {
    element.addEventListener("keydown", (event) => {
      if (!event.ctrlKey && !event.metaKey && !event.altKey && step(event.key)) event.preventDefault();
    });
  }
  target.tabIndex = -1;
  let [painted, shown, was] = ["", null, ""];

  function show(value, decimals, /** @type {Look} */ { colour, quiet = 0 }) {
    const text = format(value, decimals);
    element.dataset.value = String(value);
    target.setAttribute("aria-label", `${place}: ${value === -Infinity ? "minus infinity, blocked" : text}`);
    const printed = Math.abs(value) < quiet ? "" : text;
    const isOther = !options.editable && shown !== null && shown !== printed && !element.childElementCount;
    if (isOther) was = shown;
    shown = printed;
    if (!options.editable && (element.childElementCount || element.textContent !== printed)) {
      element.textContent = printed;
    }
    if (options.editable && (!focusedIn(target) || parseNumber(target.value) !== value)) target.value = short(value);
    const rgb = colour && value !== -Infinity ? colour(value) : null;
    const paint = rgb ? css(rgb) : "";
    if (paint !== painted || element.classList.contains("te-coloured") !== Boolean(rgb)) {
      painted = paint;
      element.style.background = paint;
      element.style.color = rgb ? inkOn(rgb) : "";
      element.classList.toggle("te-coloured", Boolean(rgb));
    }
    element.classList.toggle("te-blocked", value === -Infinity);
    return isOther;
  }

  function mark(on) {
    element.classList.toggle("te-changed", on);
    if (on) element.title = `was ${was || "near 0"}`;
    else element.removeAttribute("title");
  }
  return { element, target, show, mark };
}

/**
 * A cell to type in. Up and Down always leave it; Left and Right leave it at the end of its text.
 * @param {GridOptions} options @param {number} r @param {number} c @param {(key: string) => boolean} step
 */
function numberField(options, r, c, step) {
  const input = h("input", { type: "text", inputmode: "decimal", autocomplete: "off", class: "te-field" });
  const atEdge = (key) =>
    (input.selectionStart === 0 && input.selectionEnd === input.value.length) ||
    (key === "ArrowLeft" ? input.selectionEnd === 0 : input.selectionStart === input.value.length);
  let before = "";
  const mark = (bad) => (bad ? input.setAttribute("aria-invalid", "true") : input.removeAttribute("aria-invalid"));
  const commit = () => {
    const value = parseNumber(input.value);
    mark(value === null);
    if (value !== null) options.onEdit?.(r, c, value);
  };
  input.addEventListener("focus", () => {
    before = input.value;
    input.select();
  });
  input.addEventListener("input", commit);
  input.addEventListener("blur", () => {
    if (parseNumber(input.value) === null) {
      input.value = before;
      commit();
    }
  });
  input.addEventListener("keydown", (event) => {
    if (event.key === "Escape") {
      input.value = before;
      commit();
    }
    const leaves =
      event.key === "ArrowUp" || event.key === "ArrowDown" || (event.key.startsWith("Arrow") && atEdge(event.key));
    if (leaves && step(event.key)) event.preventDefault();
    if (event.key === "Enter" && step("ArrowDown")) event.preventDefault();
  });
  return input;
}
