import { div, h, span } from "./dom.js";

/** @import { Props } from "./dom.js" */

let serial = 0;
/** A document-wide unique id, for labels. */
export function uniqueId() {
  serial += 1;
  return `te-${serial}-${Math.random().toString(36).slice(2, 8)}`;
}

/**
 * A slider with its label and its value beside it.
 * @param {{label: Node | string, min: number, max: number, step?: number, value: number,
 *          format?: (v: number) => string, onInput: (v: number) => void}} options
 */
export function slider({ label, min, max, step = 1, value, format: show = String, onInput }) {
  const id = uniqueId();
  const input = h("input", { type: "range", id, min, max, step, class: "te-range" });
  const output = h("output", { for: id, class: "te-number" });
  const set = (/** @type {number} */ v) => {
    if (Number(input.value) !== v) input.value = String(v);
    input.setAttribute("aria-valuetext", show(v));
    output.textContent = show(v);
  };
  input.addEventListener("input", () => {
    onInput(Number(input.value)); // first: it may have to ask where something stands
    set(Number(input.value));
  });
  set(value);
  return { element: div("te-slider", h("label", { for: id }, label), input, output), input, set };
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

/**
 * One choice out of a few, as buttons in a row. One Tab stop; arrow keys choose. `kind` "tablist" for the steps of a
 * figure (give `controls`, the id of the panel), "radiogroup" for anything else.
 * @param {{label: string, kind?: "radiogroup" | "tablist", class?: string, controls?: string, value: any,
 * options: {value: any, content: (Node | string)[], label?: string}[], onChange: (value: any) => void}} options
 */
export function choice({ label, kind = "radiogroup", class: extra = "", controls, value, options, onChange }) {
  const [role, mark] = kind === "tablist" ? ["tab", "aria-selected"] : ["radio", "aria-checked"];
  const buttons = options.map((option, index) =>
    h(
      "button",
      {
        type: "button",
        role,
        class: "te-choice",
        "aria-label": option.label,
        "aria-controls": controls,
        dataset: { value: option.value },
        on: { click: () => onChange(option.value), keydown: (event) => move(event, index) },
      },
      ...option.content,
    ),
  );

  function move(event, index) {
    const next = event.ctrlKey || event.metaKey || event.altKey ? null : nextIndex(event.key, index, buttons.length);
    if (next === null) return;
    event.preventDefault();
    stopAt(buttons, next); // first, and the focus last: between other changes, both make the browser lay out the figure
    onChange(options[next].value);
    buttons[next].focus();
  }
  const set = (current) => {
    const index = options.findIndex((option) => option.value === current);
    stopAt(buttons, Math.max(0, index));
    buttons.forEach((button, i) => button.setAttribute(mark, String(i === index)));
  };
  set(value);
  return {
    element: h("div", { role: kind, "aria-label": label, class: `te-choices ${extra}` }, ...buttons),
    buttons,
    set,
  };
}

/** An on/off switch. @param {{label: (Node | string)[], value: boolean, onChange: (on: boolean) => void}} options */
export function toggle({ label, value, onChange }) {
  const input = h("input", { type: "checkbox", on: { change: () => onChange(input.checked) } });
  input.checked = value;
  return {
    element: h("label", { class: "te-toggle" }, input, span("", ...label)),
    input,
    set: (on) => (input.checked = on),
  };
}

/** Tell whether a control does nothing at present; it keeps its place in the order of Tab. */
export const setOff = (control, off) => control.setAttribute("aria-disabled", String(off));

/** A push button. @param {string} text @param {() => void} onClick @param {Props}[props] */
export function button(text, onClick, props = {}) {
  return h("button", { type: "button", class: "te-button", ...props, on: { click: onClick } }, text);
}
