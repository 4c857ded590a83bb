/**
 * What a page needs beside its figures: answers are covered, links open what is folded, and
 * boxes that scroll sideways (formulas, code, tables, printed output) can be reached and scrolled from the keyboard:
 * a box is a tab stop only while its content is wider than it is.
 */
(() => {
  // A search quotes the pages that it finds, and from disk no browser lets it read them: there it names them only.
  if (location.protocol === "file:" && typeof DOCUMENTATION_OPTIONS === "object") {
    DOCUMENTATION_OPTIONS.SHOW_SEARCH_SUMMARY = false;
  }

  const BOXES = [
    [".bd-article .math", "Formula"],
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
    const formulas = [...document.querySelectorAll(".bd-article span.math")];
    for (const box of formulas) box.classList.remove("wide");
    const wide = formulas.filter((box) => {
      const block = box.closest("p, li, dd, td, th, figcaption, h1, h2, h3, div:not(.math)");
      return block !== null && box.getBoundingClientRect().width > block.clientWidth + 1; // no box for less than a pixel
    });
    for (const box of wide) box.classList.add("wide");
  }

  function updateAll() {
    markWideFormulas();
    for (const [selector, name] of BOXES) {
      for (const box of document.querySelectorAll(selector)) update(/** @type {HTMLElement} */ (box), name);
    }
  }

  /** Answers are covered until asked for; without this script they stand open. */
  function coverAnswers() {
    for (const box of document.querySelectorAll("details.te-covered")) box.removeAttribute("open");
  }

  /** The place that the address names; one that is no text (`#te-%`) names none. */
  function placeNamed() {
    try {
      return decodeURIComponent(location.hash.slice(1));
    } catch {
      return "";
    }
  }

  /** Whoever follows a link to something folded finds it open. */
  function openTarget() {
    const target = document.getElementById(placeNamed());
    if (!target) return;
    let box = target.querySelector(":scope > details") ?? target.closest("details");
    while (box) {
      box.setAttribute("open", "");
      box = box.parentElement?.closest("details") ?? null;
    }
    target.scrollIntoView();
  }

  /** On paper nothing can be opened. */
  function openAll() {
    for (const box of document.querySelectorAll(".bd-article details")) box.setAttribute("open", "");
  }

  coverAnswers();
  addEventListener("hashchange", openTarget);
  addEventListener("beforeprint", openAll);

  function start() {
    openTarget();
    updateAll();
    const article = document.querySelector(".bd-article");
    if (article) new ResizeObserver(updateAll).observe(article);
  }

  addEventListener("load", start);
})();
