// Figures as derive and view: `derive` makes all that is drawn out of the state, a view draws it, and nothing else is
// remembered. Preact changes only what is another than before.
import { render } from "preact";
import { useLayoutEffect, useMemo, useRef } from "preact/hooks";
import { nextIndex, uniqueId } from "./controls.js";
import { cut, KEYS } from "./dom.js";
import { plain, special } from "./format.js";
import { frame } from "./frame.js";
import { appear } from "./motion.js";
import { store } from "./state.js";

/** @import { Task } from "./frame.js" */
/** @import { Piece } from "./format.js" */

/** @param {{piece: Piece}} props */
function Marked({ piece }) {
  if (typeof piece === "string") return piece;
  if (piece.bold !== undefined) return <b>{cut(piece.bold)}</b>;
  if (piece.text !== undefined)
    return (
      <b class="te-number" data-value={piece.number}>
        {piece.text}
      </b>
    );
  return <b class={`te-token${piece.token === undefined ? "" : special(piece.token)}`}>{cut(plain([piece]))}</b>;
}

/** A sentence for the page. @param {{of: Piece[]}} props */
export const Said = ({ of }) => of.map((piece, i) => <Marked key={i} piece={piece} />);

/**
 * A figure for anywidget and for the published page.
 * @param {{name: string, label: string, invite: string[], rest?: number, traits: string[], lines?: number,
 *   start: (state: any, around: {root: HTMLElement, widget: any, draw: () => void}) => {
 *     view: () => {says: Piece[], words: Piece[], stage: any, controls?: any, told?: string},
 *     questions: Task[], details: string[], end?: () => void}}} figure  besides what `frame` takes:
 *   `traits`, of the state; `lines` of the sentence on the present state; `start`, what the figure is made of. `view` says
 *   all that is to be seen now; `told`, what a screen reader hears of it, if that is more than the words
 */
export const figure = ({ traits, lines = 2, start, ...template }) => ({
  render({ model: widget, el }) {
    const around = frame(el, { says: [], ...template });
    const state = store(widget, traits, () => draw());
    const words = around.words(lines);
    let own = null;

    function draw() {
      const { says, words: said, stage, controls = null, told = `${plain(says)}. ${plain(said)}` } = own.view();
      render(stage, around.stage);
      render(controls, around.controls);
      render(<Said of={says} />, around.title);
      render(<Said of={said} />, words);
      around.tell(told);
    }
    own = start(state, { root: around.root, widget, draw: () => own && draw() });
    draw();
    around.ask(own.questions);
    const [summary, ...paragraphs] = own.details;
    const folded = around.details(summary);
    render(
      paragraphs.map((text) => (
        <p key={text} class="te-note">
          {text}
        </p>
      )),
      folded.appendChild(document.createElement("div")),
    );
    return () => {
      own.end?.();
      state.dispose();
      [around.stage, around.controls].forEach((slot) => render(null, slot));
    };
  },
});

/** A push button; with `off` told, one that may do nothing at present and keeps its place in the order of Tab. */
export const Button = ({ children, onClick, off = undefined, kind = "", hidden = false }) => (
  <button
    type="button"
    class={`te-button${kind && ` te-${kind}`}`}
    {...KEYS}
    hidden={hidden}
    aria-disabled={off}
    onClick={() => !off && onClick()}>
    {children}
  </button>
);

/**
 * A slider with its label and its value beside it.
 * @param {{label: string, min: number, max: number, step?: number, value: number, show?: (value: number) => string,
 *   onInput: (value: number) => void}} props
 */
export function Slider({ label, min, max, step = 1, value, show = String, onInput }) {
  const id = useMemo(uniqueId, []);
  return (
    <div class="te-slider">
      <label for={id}>{label}</label>
      <input
        type="range"
        id={id}
        class="te-range"
        {...KEYS}
        min={min}
        max={max}
        step={step}
        value={value}
        aria-valuetext={show(value)}
        onInput={(event) => onInput(Number(event.currentTarget.value))}
      />
      <output for={id} class="te-number">
        {show(value)}
      </output>
    </div>
  );
}

/** An on/off switch. @param {{label: string, value: boolean, onChange: (on: boolean) => void}} props */
export const Toggle = ({ label, value, onChange }) => (
  <label class="te-toggle">
    <input type="checkbox" {...KEYS} checked={value} onChange={(event) => onChange(event.currentTarget.checked)} />
    <span>{label}</span>
  </label>
);

/**
 * One choice out of a few, as buttons in a row. One Tab stop; arrow keys choose.
 * @param {{label: string, kind?: string, value: any, onChange: (value: any) => void,
 *   options: {value: any, text: string, label?: string, kind?: string}[]}} props
 */
export function Choice({ label, kind = "", value, options, onChange }) {
  const box = useRef(null);
  const at = options.findIndex((option) => option.value === value);
  function move(event, i) {
    const next = event.ctrlKey || event.metaKey || event.altKey ? null : nextIndex(event.key, i, options.length);
    if (next === null) return;
    event.preventDefault();
    onChange(options[next].value);
    box.current.children[next].focus();
  }
  return (
    <div role="radiogroup" aria-label={label} class={`te-choices ${kind}`} ref={box}>
      {options.map((option, i) => (
        <button
          key={option.value}
          type="button"
          role="radio"
          class={`te-choice ${option.kind ?? ""}`}
          {...KEYS}
          aria-label={option.label}
          aria-checked={i === at}
          tabindex={i === Math.max(0, at) ? 0 : -1}
          data-value={option.value}
          onClick={() => onChange(option.value)}
          onKeyDown={(event) => move(event, i)}>
          {cut(option.text)}
        </button>
      ))}
    </div>
  );
}

const STEPS = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1, Home: -Infinity, End: Infinity };

/** Of the buttons in an element, Tab stops at one; arrow keys lead to the others. @param {string} selector */
export function useRoving(selector) {
  const box = useRef(null);
  const all = () => [...box.current.querySelectorAll(selector)];
  const stopAt = (one) => all().forEach((other) => other.setAttribute("tabindex", other === one ? "0" : "-1"));
  useLayoutEffect(() => {
    const move = (event) => {
      const [buttons, step] = [all(), STEPS[event.key]];
      const here = buttons.indexOf(event.target);
      if (!step || here < 0 || event.ctrlKey || event.metaKey || event.altKey) return;
      event.preventDefault();
      buttons[Math.min(buttons.length - 1, Math.max(0, here + step))].focus();
    };
    box.current.addEventListener("keydown", move);
    box.current.addEventListener("focusin", ({ target }) => all().includes(target) && stopAt(target));
  }, []);
  useLayoutEffect(() => {
    const stops = all().filter((one) => one.getAttribute("tabindex") === "0");
    if (stops.length !== 1 || all().some((one) => !one.hasAttribute("tabindex"))) stopAt(stops[0] ?? all()[0]);
  });
  return box;
}

/** Let an element appear when it comes, unless the whole figure comes. @param {boolean} isLater */
export function useAppearing(isLater) {
  const node = useRef(null);
  useLayoutEffect(() => {
    if (isLater) appear(node.current);
  }, []);
  return node;
}

/**
 * A control of the core that is not drawn by Preact, the line for a sentence.
 * @param {{make: () => any, update: (control: any) => void}} props  `make`, once; `update`, at every draw
 */
export function Kept({ make, update }) {
  const box = useRef(null);
  const control = useMemo(make, []);
  useLayoutEffect(() => box.current.append(...control.element.children), []);
  useLayoutEffect(() => update(control));
  return <div ref={box} class={control.element.className} />;
}

/**
 * A drop-down list.
 * @param {{label: string, value: string, options: {value: string, label: string}[], onChange: (value: string) => void}}
 *   props
 */
export const Select = ({ label, value, options, onChange }) => (
  <label class="te-select">
    <span>{label}</span>
    <select aria-label={label} {...KEYS} value={value} onChange={(event) => onChange(event.currentTarget.value)}>
      {options.map((option) => (
        <option key={option.value} value={option.value}>
          {option.label}
        </option>
      ))}
    </select>
  </label>
);
