import { h } from "./dom.js";
import { clamp } from "./math.js";

/** @import { Props } from "./dom.js" */

let serial = 0;
/** A document-wide unique id, for labels. */
export function uniqueId() {
  serial += 1;
  return `te-${serial}-${Math.random().toString(36).slice(2, 8)}`;
}

/** Which entry the arrow, Home and End keys lead to; null for other keys. */
export function nextIndex(/** @type {string} */ key, /** @type {number} */ index, /** @type {number} */ count) {
  if (key === "ArrowRight" || key === "ArrowDown") return (index + 1) % count;
  if (key === "ArrowLeft" || key === "ArrowUp") return (index + count - 1) % count;
  if (key === "Home") return 0;
  return key === "End" ? count - 1 : null;
}

/** Tab stops at one of the buttons. @param {Element[]} buttons @param {number} index */
export const stopAt = (buttons, index) =>
  buttons.forEach((button, i) => {
    const stop = i === index ? "0" : "-1";
    if (button.getAttribute("tabindex") !== stop) button.setAttribute("tabindex", stop);
  });

/** Which cell of a table the arrow, Home and End keys lead to; null for other keys. @returns {[number, number] | null} */
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

/** Tell whether a control does nothing at present; it keeps its place in the order of Tab. */
export const setOff = (control, off) => control.setAttribute("aria-disabled", String(off));

/** A push button. @param {string} text @param {() => void} onClick @param {Props}[props] */
export function button(text, onClick, props = {}) {
  return h("button", { type: "button", class: "te-button", ...props, on: { click: onClick } }, text);
}
