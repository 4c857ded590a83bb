import { choice } from "./controls.js";
import { div, fill, h, span, svg } from "./dom.js";
import { format, readable, VISIBLE } from "./format.js";
import { wordSpan } from "./words.js";

/** Shares of a row's width for words: a long one gets more than a short one. */
const widthsOf = (words) => words.map((word) => Math.max(2, [...readable(word)].length) + 1.5);

/** A grid for words. @param {string[]} words */
export const rowStyle = (words) => ({
  "--count": words.length,
  "grid-template-columns": widthsOf(words)
    .map((width) => `minmax(0, ${width}fr)`)
    .join(" "),
});

/** Where the middles of parts stand, in percent of their sum. @param {number[]} widths */
function middles(widths) {
  const whole = widths.reduce((sum, width) => sum + width, 0);
  let before = 0;
  return widths.map((width) => {
    before += width;
    return (100 * (before - width / 2)) / whole;
  });
}

/** Lines from words below to words above. @param {string[]} queries @param {string[]} keys */
export function pathsOf(queries, keys) {
  const [starts, ends] = [queries, keys].map((words) => middles(widthsOf(words)));
  return starts.map((from) => ends.map((to) => `M ${from} 100 C ${from} 45, ${to} 55, ${to} 0`));
}

/** How a line of this weight is drawn. @param {number} weight @param {boolean} isStrong */
export function lineStyle(weight, isStrong) {
  if (weight < VISIBLE) return { "stroke-width": "0px", opacity: "0" };
  return {
    "stroke-width": `${(isStrong ? 1 + 8 * weight : 0.5 + 3.5 * weight).toFixed(2)}px`,
    opacity: (isStrong ? 0.4 + 0.6 * weight : 0.5 * weight).toFixed(3),
  };
}
export const SEEN = 0.2; // from here on a word above is in bold

/**
 * Two rows of words with lines between them: the chosen word's lines strong, all others faint.
 * @param {{queries: string[], keys: string[], above: string, below: string}} parts  words that look, below; words
 *   looked at, above; and what the rows are called
 * @param {{chosen: number, onChoose: (query: number) => void, onHover?: (query: number | null) => void,
 *   onKey: (key: number) => void}} actions  `onKey`: a word above was clicked
 */
export function linkedWords({ queries, keys, above, below }, { chosen: first, onChoose, onHover = () => {}, onKey }) {
  const shares = keys.map(() => span("te-share"));
  const top = h(
    "div",
    { class: "te-link-keys", "aria-hidden": "true", style: rowStyle(keys) },
    ...keys.map((word, j) =>
      h("span", { class: "te-link-key", on: { click: () => onKey(j) } }, shares[j], wordSpan("te-word", word)),
    ),
  );
  const rows = choice({
    label: below,
    class: "te-link-queries",
    value: first,
    onChange: onChoose,
    options: queries.map((word, i) => ({ value: i, content: [wordSpan("te-word", word)] })),
  });
  Object.entries(rowStyle(queries)).forEach(([name, value]) => rows.element.style.setProperty(name, String(value)));
  rows.buttons.forEach((one, i) => {
    one.addEventListener("pointerenter", (event) => event.pointerType === "mouse" && onHover(i));
    one.addEventListener("pointerleave", () => onHover(null));
  });
  const lines = svg("svg", {
    class: "te-link-lines",
    viewBox: "0 0 100 100",
    preserveAspectRatio: "none",
    "aria-hidden": "true",
    focusable: "false",
  });
  const paths = pathsOf(queries, keys).map((row) =>
    row.map((d) => svg("path", { d, class: "te-link-line te-glide", "vector-effect": "non-scaling-stroke" })),
  );
  fill(lines, ...paths.flat());
  return {
    /** What stands below, and above, word by word. */
    written: rows.buttons,
    read: /** @type {HTMLElement[]} */ ([...top.children]),
    element: div("te-link", above ? div("te-label", above) : "", top, lines, rows.element, div("te-label", below)),
    /** @param {number[][]} weights (queries, keys) @param {number} chosen @param {number}[marked] strong lines */
    update(weights, chosen, marked = chosen) {
      rows.set(chosen);
      rows.buttons.forEach((one, i) => one.classList.toggle("te-link-hovered", i === marked && i !== chosen));
      shares.forEach((share, j) => {
        const weight = weights[marked][j];
        share.textContent = weight >= VISIBLE ? format(weight) : "\u00a0";
        share.parentElement.classList.toggle("te-link-seen", weight >= SEEN);
      });
      paths.forEach((row, i) =>
        row.forEach((one, j) => {
          const [weight, isStrong] = [weights[i][j], i === marked];
          one.classList.toggle("te-link-chosen", isStrong && weight >= VISIBLE);
          Object.entries(lineStyle(weight, isStrong)).forEach(([name, value]) => one.style.setProperty(name, value));
        }),
      );
    },
  };
}
