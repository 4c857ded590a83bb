import { readable, VISIBLE } from "./format.js";

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
