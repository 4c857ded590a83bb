/**
 * @typedef {Record<string, any>} Props  attributes; plus class, style (object), dataset (object), on (object of
 *   listeners)
 * @typedef {Node | string | number | null} Child  null: none
 */

/** @template {HTMLElement | SVGElement} E @param {E} node @param {Props} props */
function apply(node, props) {
  for (const [name, value] of Object.entries(props)) {
    if (name === "class") node.setAttribute("class", value);
    else if (name === "style") {
      Object.entries(value).forEach(([key, text]) => node.style.setProperty(key, String(text)));
    } else if (name === "dataset") Object.assign(node.dataset, value);
    else if (name === "on") {
      Object.entries(value).forEach(([event, listener]) => node.addEventListener(event, listener));
    } else if (value === true) node.setAttribute(name, "");
    else if (value !== false && value != null) node.setAttribute(name, String(value));
  }
  return node;
}

/** What is shown of a word: 28 characters, for a longer one would make the figure wider than a phone. */
const LONG_WORD = /(\S{27})\S{2,}/gu;

/** @param {string} text */
export const cut = (text) => text.replace(LONG_WORD, "$1…");

/** A child for an element. @param {Node | string | number} child */
const asChild = (child) => (child instanceof Node ? child : cut(String(child)));

/**
 * An HTML element. Children that are not nodes become text, so a token can never turn into markup.
 * @template {keyof HTMLElementTagNameMap} T
 * @param {T} tag @param {Props}[props] @param {...Child} children
 */
export function h(tag, props = {}, ...children) {
  const node = apply(document.createElement(tag), props);
  node.append(...children.filter((child) => child != null).map(asChild));
  return node;
}

/**
 * An SVG element, as `h`.
 * @template {keyof SVGElementTagNameMap} T
 * @param {T} tag @param {Props}[props] @param {...Child} children
 */
export function svg(tag, props = {}, ...children) {
  const node = apply(document.createElementNS("http://www.w3.org/2000/svg", tag), props);
  node.append(...children.filter((child) => child != null).map(asChild));
  return node;
}

/** @template {keyof HTMLElementTagNameMap} T @param {T} tag */
const withClass =
  (tag) =>
  (name = "", /** @type {Child[]} */ ...children) =>
    h(tag, name ? { class: name } : {}, ...children);

/** `div("te-note", "text")`: an element that needs nothing but a class; "" for none. */
export const div = withClass("div");
export const span = withClass("span");
export const paragraph = withClass("p");

/** @param {...Child} children */
export const bold = (...children) => h("b", {}, ...children);

/**
 * The figure's outermost element. The colours, fonts and light/dark variables of figures.css hang on `te-root`.
 * What takes the focus in it takes the keys, too: JupyterLab would use arrow keys to move between its cells otherwise.
 * @param {HTMLElement} el @param {string} name @param {string} label what a screen reader calls the figure
 */
export function mount(el, name, label) {
  const root = h("div", { class: `te-root te-${name}`, role: "group", "aria-label": label });
  root.addEventListener("focusin", (event) => {
    /** @type {Element} */ (event.target).setAttribute("data-lm-suppress-shortcuts", "true");
  });
  el.append(root);
  return root;
}

/** A polite live region: `const announce = announcer(root); announce("cat selected")`. Quick repeats are merged. */
export function announcer(/** @type {HTMLElement} */ root, delay = 250) {
  const region = h("div", { class: "te-hidden", role: "status", "aria-live": "polite" });
  root.append(region);
  let timer = 0;
  return (/** @type {string} */ text) => {
    clearTimeout(timer);
    timer = setTimeout(() => (region.textContent = text), delay);
  };
}

const calm = matchMedia("(prefers-reduced-motion: reduce)");
/** True when the reader asked for less movement: then jump, do not glide. */
export const reducedMotion = () => calm.matches;

/** The element inside `node` that has the focus, or null. @param {Element} node @returns {HTMLElement | null} */
export function focusedIn(node) {
  const { activeElement: active } = /** @type {Document} */ (node.getRootNode());
  return active && node.contains(active) ? /** @type {HTMLElement} */ (active) : null;
}

/** Replace all children of `node`. @template {Element} E @param {E} node @param {...Child} children */
export function fill(node, ...children) {
  node.replaceChildren(...children.filter((child) => child != null).map(asChild));
  return node;
}
