/**
 * Boxes that scroll sideways (formulas, code, tables, printed output) can be reached and scrolled from the keyboard.
 * A box is a tab stop only while its content is wider than it is.
 */
(() => {
  const BOXES = [
    ["mjx-container", "Formula"],
    ["div.math", "Formula"],
    [".bd-article pre", "Code"],
    [".pst-scrollable-table-container", "Table"],
    [".cell_output .output", "Output"],
  ];

  /** @param {HTMLElement} box @param {string} name */
  function update(box, name) {
    const scrolls = box.scrollWidth > box.clientWidth + 1 && getComputedStyle(box).overflowX !== "visible";
    if (scrolls && !box.hasAttribute("tabindex")) {
      box.tabIndex = 0;
      box.dataset.scrolls = "true";
      if (!box.hasAttribute("role")) {
        box.setAttribute("role", "group");
        box.setAttribute("aria-label", `${name}, scrolls sideways`);
      }
    } else if (!scrolls && box.dataset.scrolls) {
      for (const attribute of ["tabindex", "data-scrolls", "role", "aria-label"]) box.removeAttribute(attribute);
    }
  }

  /** A formula inside a line of text scrolls only if it is wider than the text. */
  function markWideFormulas() {
    for (const box of document.querySelectorAll(".bd-article mjx-container:not([display])")) {
      box.classList.remove("wide");
      const block = box.closest("p, li, dd, td, th, figcaption, h1, h2, h3, div:not(.math)");
      box.classList.toggle("wide", block !== null && box.getBoundingClientRect().width > block.clientWidth);
    }
  }

  function updateAll() {
    markWideFormulas();
    for (const [selector, name] of BOXES) {
      for (const box of document.querySelectorAll(selector)) update(/** @type {HTMLElement} */ (box), name);
    }
  }

  async function start() {
    await globalThis.MathJax?.startup?.promise;
    updateAll();
    const article = document.querySelector(".bd-article");
    if (article) new ResizeObserver(updateAll).observe(article);
  }

  addEventListener("load", start);
})();
