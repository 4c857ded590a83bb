import { button, setOff } from "./controls.js";
import { announcer, bold, div, fill, h, mount, paragraph, reducedMotion, span } from "./dom.js";
import { afterFrame, appear } from "./motion.js";
import { shareMenu } from "./share.js";

/** @typedef {(Node | string | number)[]} Words */

/**
 * What every figure looks like, from top to bottom: what it says, what to try, the picture, its controls, a sentence
 * about the present state, a question to answer with the controls, details folded. Parts that are not asked for are not
 * there.
 *
 * const figure = frame(el, { name: "softmax-lab", label: "Softmax lab", says: ["Long keys …"], invite: ["make …"] });
 * figure.stage.append(picture);   figure.controls.append(one, other);   figure.details("How it is counted", ...);
 *
 * @param {HTMLElement} el
 * @param {{name: string, label: string, says: Words, invite: Words, rest?: number}} options  `says`: the finding, a
 *   sentence of at most twelve words; `invite`: what to do first, one line; `rest`: for how many milliseconds nothing
 *   may change before it is told
 */
export function frame(el, { name, label, says, invite, rest }) {
  const root = mount(el, name, label);
  const announce = announcer(root, rest);
  let [told, asked] = ["", null];
  let [first, waiting] = [true, null];
  const look = () => asked?.update();
  const title = paragraph("te-says", ...says);
  const stage = div("te-stage");
  const controls = div("te-controls");
  root.append(title, paragraph("te-invite", bold("Try: "), ...invite), stage, controls);
  return {
    root,
    title,
    stage,
    controls,
    /** Another finding, for another state. @param {...(Node | string | number)} words */
    says: (...words) => fill(title, ...words),
    /** The sentence about the present state, `lines` high at the width of a book's column. @param {number} lines */
    words(lines = 2) {
      const element = h("p", { class: "te-sentence te-words", style: { "--lines": lines } });
      root.append(element);
      return element;
    },
    /** Questions that notice when they are answered. */
    ask(/** @type {Task[]} */ tasks) {
      if (!tasks.length) return;
      asked = challenge(tasks);
      root.append(asked.element);
    },
    /** For a screen reader. @param {string} text */
    announce,
    /**
     * What is drawn beside the picture, and said of it: right after the next frame, for the picture should not wait.
     * At once the first time, and for who asked for less movement. @param {() => void} action
     */
    rest(action) {
      const later = !first && !reducedMotion();
      if (later && !waiting)
        afterFrame(() => {
          const last = waiting;
          waiting = null;
          last?.();
        });
      [first, waiting] = [false, later ? action : null];
      if (!later) action();
    },
    /** To call at the end of every draw: does the present state answer the question? */
    look,
    /** The end of every draw: `look`, and announce the whole state in words, if it is another. */
    tell(/** @type {string} */ text) {
      if (told && text !== told) announce(text);
      told = text;
      look();
    },
    /** A link to the present state, and pictures. @param {any} widget */
    share: (widget) => shareMenu({ root, name, widget, announce }),
    /** What few readers need, folded. @param {string} summary @param {...(Node | string)} nodes */
    details(summary, ...nodes) {
      const box = h("details", { class: "te-details" }, h("summary", {}, summary), ...nodes);
      root.append(box);
      return box;
    },
  };
}

/**
 * Questions that are answered by doing, one after another. `update` looks whether the present one is done. What was so
 * when the question was put does not count.
 *
 * @typedef {object} Task
 * @property {Words} ask      the question, one line, after "Can you" and before "?"
 * @property {() => boolean} done   whether the present state answers it
 * @property {Words} tell     what it shows, one sentence
 * @property {() => void} show      brings about a state that answers it
 *
 * @param {Task[]} tasks
 */
function challenge(tasks) {
  let current = 0;
  let waiting = true; // for a state that does not answer it, before one that does
  const mark = h("span", { class: "te-challenge-mark", "aria-hidden": "true" }, "?");
  const question = paragraph("te-challenge-ask");
  const told = paragraph("te-challenge-tell");
  const show = button("Show me", () => {
    if (element.dataset.done === "true") return;
    waiting = false; // who asks is told, even where the figure stood there already
    tasks[current].show();
    update();
  });
  const next = button("Another question", () => {
    put((current + 1) % tasks.length);
    announce(question.textContent);
  });
  const element = h(
    "div",
    { class: "te-challenge", role: "group", "aria-label": "A question to try" },
    mark,
    div("te-challenge-words", question, told),
    div("te-group", show, tasks.length > 1 ? next : null),
  );

  const announce = announcer(element);

  function put(index) {
    current = index;
    waiting = tasks[index].done();
    element.dataset.task = String(index);
    element.dataset.done = "false";
    mark.textContent = "?";
    fill(question, bold("Can you "), ...tasks[index].ask, "?");
    fill(told, span("te-note", "The figure notices when you have it."));
    setOff(show, false);
  }

  function update() {
    if (element.dataset.done === "true") return;
    const done = tasks[current].done();
    if (waiting) waiting = done;
    else if (done) {
      element.dataset.done = "true";
      mark.textContent = "✓";
      fill(told, bold("Yes. "), ...tasks[current].tell);
      setOff(show, true);
      appear(told);
      announce(told.textContent);
    }
  }
  put(0);
  return { element, update };
}
