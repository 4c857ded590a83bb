// Figures as derive and view: `derive` makes all that is drawn out of the state, a view draws it, and nothing else is
// remembered. Preact changes only what is another than before.
import { render } from "preact";
import { useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import { css, inkOn } from "./colour.js";
import { neighbour, nextIndex, stopAt, uniqueId } from "./controls.js";
import { cut, focusedIn, reducedMotion } from "./dom.js";
import { format, parseNumber, plain, readable, short, special, VISIBLE } from "./format.js";
import { frame } from "./frame.js";
import { lineStyle, pathsOf, rowStyle, SEEN } from "./links.js";
import { afterFrame, appear, DURATION, glide, gliding } from "./motion.js";
import { store } from "./state.js";

/** @import { Task, Words } from "./frame.js" */
/** @import { Piece } from "./format.js" */
/** @import { RGB } from "./colour.js" */

/** @param {{piece: Piece}} props */
function Marked({ piece }) {
  if (typeof piece === "string") return cut(piece);
  if (Array.isArray(piece))
    return (
      <span class="te-nowrap">
        <Said of={piece} />
      </span>
    );
  if (piece.bold !== undefined) return <b>{cut(piece.bold)}</b>;
  if (piece.italic !== undefined) return <i>{cut(piece.italic)}</i>;
  if (piece.sub !== undefined) return <sub>{piece.sub}</sub>;
  if (piece.sup !== undefined)
    return (
      <sup>
        <span class="te-hidden"> to the power </span>
        {piece.sup}
      </sup>
    );
  if (piece.text !== undefined)
    return (
      <b class="te-number" data-value={piece.number} data-measure={piece.measure}>
        {piece.text}
      </b>
    );
  return <b class={`te-token${special(piece.token ?? "")}${piece.kind ?? ""}`}>{cut(plain([piece]))}</b>;
}

/** A sentence for the page. @param {{of: Piece[]}} props */
export const Said = ({ of }) => of.map((piece, i) => <Marked key={i} piece={piece} />);

/** Classes for an element, of names that may be missing. @param {any[]} names */
export const classes = (...names) => names.filter(Boolean).join(" ");

/** What the line for a sentence says of it, as pieces; null if it says nothing. @param {Words | null} words */
export const asPieces = (words) =>
  words?.map((one) => (one instanceof Node ? { exact: one.textContent } : String(one))) ?? null;

/**
 * A figure for anywidget and for the published page.
 * @param {{name: string, label: string, invite: Words | ((state: any) => Words), rest?: number, traits: string[],
 *   lines?: number | ((state: any) => number),
 *   start: (state: any, around: {root: HTMLElement, widget: any, draw: () => void}) => {
 *     view: () => {says: Piece[], words: Piece[], stage: any, controls?: any, folded?: any, also?: any, told?: string},
 *     questions: Task[], details?: string[], also?: string, end?: () => void}}} figure  besides what `frame` takes:
 *   `traits`, of the state; `lines` of the sentence on the present state (0: the stage has it); `start`, what the figure
 *   is made of. `view` says all that is to be seen now; `folded`, what stands in the details above their text; `also`, what
 *   stands in further details, whose summary is `start`'s; `told`, what a screen reader hears, if that is not the words
 */
export const figure = ({ traits, lines = 2, start, invite, ...template }) => ({
  render({ model: widget, el }) {
    const state = store(widget, traits, () => draw());
    const around = frame(el, { says: [], ...template, invite: typeof invite === "function" ? invite(state) : invite });
    const count = typeof lines === "function" ? lines(state) : lines;
    const words = count ? around.words(count) : null;
    const [box, further] = [document.createElement("div"), document.createElement("div")]; // in the details
    let own = null;

    function draw() {
      const { says, words: said, stage, controls = null, folded, also, ...more } = own.view();
      const { told = `${plain(says)}. ${plain(said)}` } = more;
      render(stage, around.stage);
      render(controls, around.controls);
      render(<Said of={says} />, around.title);
      around.rest(() => {
        if (words) render(<Said of={said} />, words);
        if (folded) unfold(folded);
        if (also) render(also, further);
        around.tell(told);
      });
    }

    function unfold(more = null) {
      const notes = own.details.slice(1).map((text) => (
        <p key={text} class="te-note">
          {text}
        </p>
      ));
      render([more, notes], box);
    }
    own = start(state, { root: around.root, widget, draw: () => own && draw() });
    draw();
    around.ask(own.questions);
    if (own.details) around.details(own.details[0]).append(box);
    if (own.details && !box.childElementCount) unfold();
    if (own.also) around.details(own.also).append(further);
    around.share(widget);
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
    hidden={hidden}
    aria-disabled={off}
    onClick={() => !off && onClick()}>
    {children}
  </button>
);

/**
 * A slider with its label and its value beside it.
 * @param {{label: any, min: number, max: number, step?: number, value: number, off?: boolean,
 *   show?: (value: number) => string, onInput: (value: number) => void}} props
 */
export function Slider({ label, min, max, step = 1, value, off = false, show = String, onInput }) {
  const id = useMemo(uniqueId, []);
  return (
    <div class="te-slider">
      <label for={id}>{label}</label>
      <input
        type="range"
        id={id}
        class="te-range"
        min={min}
        max={max}
        step={step}
        value={value}
        disabled={off}
        aria-valuetext={show(value)}
        onInput={(event) => onInput(Number(event.currentTarget.value))}
      />
      <output for={id} class="te-number">
        {show(value)}
      </output>
    </div>
  );
}

/**
 * An on/off switch.
 * @param {{label: any, kind?: string, value: boolean, more?: any, onChange: (on: boolean) => void}} props  `more`, attributes
 */
export const Toggle = ({ label, kind = "", value, more = {}, onChange }) => (
  <label class={`te-toggle${kind && ` ${kind}`}`} {...more}>
    <input type="checkbox" checked={value} onChange={(event) => onChange(event.currentTarget.checked)} />
    <span>{label}</span>
  </label>
);

/**
 * One choice out of a few, as buttons in a row. One Tab stop; arrow keys choose.
 * @param {{label: string, kind?: string, style?: any, panel?: string, value: any, onChange: (value: any) => void,
 *   options: {value: any, text: any, label?: string, kind?: string, more?: any}[]}} props  `panel`: they are tabs, and this
 *   is the id of what they control; `text`: or what is drawn in its place; `more`, attributes
 */
export function Choice({ label, kind = "", style = undefined, panel = undefined, value, options, onChange }) {
  const box = useRef(null);
  const group = /** @type {any} */ ({ role: panel ? "tablist" : "radiogroup", "aria-label": label });
  const roleOf = (isChosen) =>
    /** @type {any} */ (
      panel
        ? { role: "tab", "aria-selected": isChosen, "aria-controls": panel }
        : { role: "radio", "aria-checked": isChosen }
    );
  const at = options.findIndex((option) => option.value === value);
  function move(event, i) {
    const next = event.ctrlKey || event.metaKey || event.altKey ? null : nextIndex(event.key, i, options.length);
    if (next === null) return;
    event.preventDefault();
    const button = box.current.children[next];
    stopAt([...box.current.children], next); // first, and the focus: between other changes both make the browser lay out the figure
    button.focus();
    onChange(options[next].value);
    if (!button.isConnected) box.current.children[next].focus();
  }
  useLayoutEffect(() => stopAt([...box.current.children], Math.max(0, at)));
  return (
    <div {...group} class={`te-choices ${kind}`} style={style} ref={box}>
      {options.map((option, i) => (
        <button
          key={option.value}
          type="button"
          {...roleOf(i === at)}
          class={`te-choice ${option.kind ?? ""}`}
          aria-label={option.label}
          data-value={option.value}
          {...option.more}
          onClick={() => onChange(option.value)}
          onKeyDown={(event) => move(event, i)}>
          {typeof option.text === "string" ? cut(option.text) : option.text}
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
  useLayoutEffect(() => {
    const move = (event) => {
      const [buttons, step] = [all(), STEPS[event.key]];
      const here = buttons.indexOf(event.target);
      if (!step || here < 0 || event.ctrlKey || event.metaKey || event.altKey) return;
      event.preventDefault();
      buttons[Math.min(buttons.length - 1, Math.max(0, here + step))].focus();
    };
    box.current.addEventListener("keydown", move);
    box.current.addEventListener(
      "focusin",
      ({ target }) => all().includes(target) && stopAt(all(), all().indexOf(target)),
    );
  }, []);
  useLayoutEffect(() => {
    stopAt(
      all(),
      Math.max(
        0,
        all().findIndex((one) => one.getAttribute("tabindex") === "0"),
      ),
    );
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
 * @param {{make: () => any, update: (control: any) => void, children?: any}} props  `make`, once; `update`, at every draw;
 *   `children` stand behind it, in its box
 */
export function Kept({ make, update, children = null }) {
  const box = useRef(null);
  const control = useMemo(make, []);
  useLayoutEffect(() => box.current.prepend(...control.element.children), []);
  useLayoutEffect(() => update(control));
  return (
    <div ref={box} class={control.element.className}>
      {children}
    </div>
  );
}

/**
 * A drop-down list.
 * @param {{label: string, value: string | null, options: {value: string, label: string}[],
 *   onChange: (value: string) => void}} props  `value`: null, if none is chosen
 */
export function Select({ label, value, options, onChange }) {
  const list = useRef(null);
  const at = options.findIndex((option) => option.value === value);
  useLayoutEffect(() => {
    if (list.current.selectedIndex !== at) list.current.selectedIndex = at; // "" may be an option, and is read off none
  });
  return (
    <label class="te-select">
      <span>{label}</span>
      <select aria-label={label} ref={list} onChange={(event) => onChange(event.currentTarget.value)}>
        {options.map((option) => (
          <option key={option.value} value={option.value}>
            {option.label}
          </option>
        ))}
      </select>
    </label>
  );
}

/** A token in a picture; its title tells a word that was cut off. @param {{of: string, kind?: string}} props */
export const Word = ({ of, kind = "te-word" }) => (
  <span class={`${kind}${special(of)}`} title={readable(of)}>
    {cut(readable(of))}
  </span>
);

/** The lines between words; those of the marked one are strong. */
function Lines({ paths, weights, marked }) {
  return (
    <svg class="te-link-lines" viewBox="0 0 100 100" preserveAspectRatio="none" aria-hidden="true" focusable="false">
      {paths.map((row, i) =>
        row.map((d, j) => (
          <path
            key={j}
            class={`te-link-line te-glide${i === marked && weights[i][j] >= VISIBLE ? " te-link-chosen" : ""}`}
            d={d}
            vector-effect="non-scaling-stroke"
            style={lineStyle(weights[i][j], i === marked)}
          />
        )),
      )}
    </svg>
  );
}

/**
 * Two rows of words with lines between them: the marked word's lines strong, all others faint. Give it a key of its words.
 * @param {{parts: {queries: string[], keys: string[], above: string, below: string}, weights: number[][],
 *   chosen: number, marked?: number, kinds?: {queries?: string, keys?: string}, more?: any[], moreKeys?: any[],
 *   onChoose: (query: number) => void, onHover?: (query: number | null) => void, onKey: (key: number) => void}} props
 *   words that look, below; words looked at, above; and what the rows are called; `kinds`, classes of the rows; `more`,
 *   attributes of the words below, `moreKeys` of those above; `onKey`: a word above was clicked
 */
export function Links({ parts, weights, chosen, marked = chosen, onChoose, onHover, onKey, ...options }) {
  const { kinds = {}, more = [], moreKeys = [] } = options;
  const { queries, keys, above, below } = parts;
  const paths = useMemo(() => pathsOf(queries, keys), []);
  return (
    <div class="te-link">
      {above && <div class="te-label">{cut(above)}</div>}
      <div class={`te-link-keys${kinds.keys ?? ""}`} aria-hidden="true" style={rowStyle(keys)}>
        {keys.map((word, j) => (
          // biome-ignore lint/a11y: for the mouse alone; a screen reader passes over it, and the words below take keys
          <span
            key={j}
            class={`te-link-key${weights[marked][j] >= SEEN ? " te-link-seen" : ""}`}
            {...moreKeys[j]}
            onClick={() => onKey(j)}>
            <span class="te-share">{weights[marked][j] >= VISIBLE ? format(weights[marked][j]) : "\u00a0"}</span>
            <Word of={word} />
          </span>
        ))}
      </div>
      <Lines paths={paths} weights={weights} marked={marked} />
      <Choice
        label={below}
        kind={`te-link-queries${kinds.queries ?? ""}`}
        style={rowStyle(queries)}
        value={chosen}
        onChange={onChoose}
        options={queries.map((word, i) => ({
          value: i,
          text: <Word of={word} />,
          kind: i === marked && i !== chosen ? "te-link-hovered" : "",
          more: {
            ...more[i],
            onPointerEnter: (event) => event.pointerType === "mouse" && onHover?.(i),
            onPointerLeave: () => onHover?.(null),
          },
        }))}
      />
      <div class="te-label">{cut(below)}</div>
    </div>
  );
}

const Header = ({ role, word, kind = "", more = {} }) => (
  <div role={role} class={`te-header${kind}`} title={readable(word)} {...more}>
    <span>{cut(readable(word))}</span>
  </div>
);

/**
 * A cell of a matrix: its whole value, what is printed, what a screen reader hears; `was`: what was printed before the last
 * change, or null; `isFixed`: among fields, one not to type in; `kind`, more classes; `more`, attributes.
 * @typedef {{value: number, text: string, label: string, isHatched?: boolean, isFixed?: boolean, was?: string | null,
 *   kind?: string, more?: any}} Cell
 * @typedef {{row?: number | null, column?: number | null, cell?: [number, number] | null}} Marks  what is marked of a table
 */

/** A number to type in. Up and Down leave it, Left and Right at the ends of its text. Escape takes back what was typed. */
function NumberField({ value, label, isFixed, onEdit }) {
  const input = useRef(null);
  const before = useRef("");
  useLayoutEffect(() => {
    if (focusedIn(input.current) !== input.current || parseNumber(input.current.value) !== value)
      input.current.value = short(value);
  });
  function commit() {
    const typed = parseNumber(input.current.value);
    if (typed === null) input.current.setAttribute("aria-invalid", "true");
    else input.current.removeAttribute("aria-invalid");
    if (typed !== null) onEdit(typed);
  }
  function takeBack() {
    input.current.value = before.current;
    commit();
  }
  function onKeyDown(event) {
    const { selectionStart: from, selectionEnd: to, value: text } = input.current;
    if (event.key === "Escape") takeBack();
    const isAll = from === 0 && to === text.length;
    const isInside = event.key === "ArrowLeft" ? to > 0 : event.key === "ArrowRight" ? from < text.length : false;
    if (["Home", "End"].includes(event.key) || (isInside && !isAll)) event.stopPropagation(); // it moves in the text
  }
  return (
    <input
      ref={input}
      type="text"
      inputmode="decimal"
      autocomplete="off"
      class="te-field"
      tabindex={-1}
      aria-label={label}
      readOnly={isFixed}
      onFocus={() => {
        before.current = input.current.value;
        input.current.select();
      }}
      onInput={commit}
      onBlur={() => parseNumber(input.current.value) === null && takeBack()}
      onKeyDown={onKeyDown}
    />
  );
}

/**
 * @param {{cell: Cell, i: number, j: number, mark: string, isSelected?: boolean, rgb: RGB | null,
 *   draw: (text: string) => any, under?: (cell: Cell) => any, onEnter: (event: any) => void,
 *   onEdit?: (i: number, j: number, value: number) => void}} props
 */
const MatrixCell = ({ cell, i, j, mark, isSelected, rgb, draw, under, onEnter, onEdit }) => {
  const { value, text, label, isHatched, isFixed, was = null, kind = "", more } = cell;
  const own = onEdit ? {} : { tabindex: -1, "aria-label": label };
  return (
    <div
      role="gridcell"
      class={`te-cell${isHatched ? " te-blocked" : ""}${rgb ? " te-coloured" : ""}${mark}${kind}${was === null ? "" : " te-changed"}`}
      {...own}
      data-row={i}
      data-column={j}
      data-value={value}
      aria-selected={isSelected}
      title={was === null ? undefined : `was ${was}`}
      style={rgb ? { background: css(rgb), color: inkOn(rgb) } : {}}
      {...more}
      onPointerEnter={onEnter}>
      {under?.(cell)}
      {onEdit ? (
        <NumberField {...{ value, label, isFixed }} onEdit={(typed) => onEdit(i, j, typed)} />
      ) : isHatched ? (
        ""
      ) : (
        draw(text)
      )}
    </div>
  );
};

/** A row of a matrix, drawn again only where something of it is another. `isCell`: one cell of the table is selected. */
function MatrixRow({
  i,
  word,
  header,
  line,
  isMarked,
  column,
  selected,
  isCell,
  colour,
  draw,
  under,
  onHover,
  onEdit,
}) {
  const markOf = (j) =>
    `${isMarked ? " te-in-row" : ""}${j === column ? " te-in-column" : ""}${j === selected ? " te-selected" : ""}`;
  const row = () => (
    <div role="row" class="te-row">
      {word !== null && (
        <Header
          role="rowheader"
          word={word}
          kind={`${isMarked ? " te-marked" : ""}${header?.kind ?? ""}`}
          more={header?.more}
        />
      )}
      {line.map((cell, j) => (
        <MatrixCell
          key={j}
          {...{ cell, i, j, draw, under, onEdit }}
          mark={markOf(j)}
          isSelected={isCell ? j === selected : undefined}
          rgb={cell.isHatched || !colour ? null : colour(cell.value)}
          onEnter={onHover && ((event) => event.pointerType === "mouse" && onHover(i))}
        />
      ))}
    </div>
  );
  const parts = [i, word, header, line, isMarked, column, selected, isCell, colour, draw, under, onHover, onEdit];
  return useMemo(row, parts);
}

/**
 * For the element around the cells of a table: one Tab stop, in the marked row, then arrow keys, Home, End.
 * @param {{rows: number, columns: number, row: number | null, column?: number | null,
 *   onSelect?: (row: number, column: number) => void}} table  how many there are; the marked row, or cell; `onSelect`: a
 *   cell was clicked or reached by key
 */
export function useWalking({ rows, columns, row, column = null, onSelect }) {
  const box = useRef(null);
  const cellAt = (i, j) => box.current.querySelector(`[data-row="${i}"][data-column="${j}"]`);
  const targetIn = (cell) => cell.querySelector("input") ?? cell; // of a cell to type in, the field
  const stop = () => box.current.querySelector(":is(.te-cell, .te-field)[tabindex='0']");
  function moveTo(target) {
    stop()?.setAttribute("tabindex", "-1");
    target.setAttribute("tabindex", "0");
  }
  useLayoutEffect(() => {
    const before = stop()?.closest("[data-row]").dataset;
    if (!focusedIn(box.current)) moveTo(targetIn(cellAt(row ?? before?.row ?? 0, column ?? before?.column ?? 0)));
  }, [row, column]);
  const placeOf = (target) => {
    const { row, column } = target.closest("[data-row]")?.dataset ?? {};
    return row === undefined ? null : [Number(row), Number(column)];
  };
  function onKeyDown(event) {
    const at = event.ctrlKey || event.metaKey || event.altKey ? null : placeOf(event.target);
    const key = event.key === "Enter" && event.target.matches("input") ? "ArrowDown" : event.key;
    const to = at && neighbour(key, at[0], at[1], rows, columns);
    if (!to) return;
    event.preventDefault();
    targetIn(cellAt(...to)).focus();
  }
  function onFocusIn({ target }) {
    const at = placeOf(target);
    if (!at) return;
    moveTo(target);
    onSelect?.(at[0], at[1]);
  }
  return { ref: box, onKeyDown, onFocusIn };
}

/**
 * A matrix that can be read and walked through cell by cell: one Tab stop, at what is marked, then arrow keys, Home, End.
 * Give it a key of its words.
 * @param {{name: string, label: string, kind?: string, rows: string[], columns: string[], cells: Cell[][],
 *   showRows?: boolean, showColumns?: boolean, colour?: (value: number) => RGB, row?: number | null,
 *   column?: number | null, marks?: Marks, corner?: string, headers?: {kind?: string, more?: any}[],
 *   draw?: (text: string) => any, under?: (cell: any) => any, onSelect?: (row: number, column: number) => void,
 *   onHover?: (row: number | null) => void, onEdit?: (row: number, column: number, value: number) => void}} props
 *   `rows`, `columns`: tokens, printed unless told otherwise; `row`: the marked one, or with `column` the selected cell's;
 *   `marks`: several of them; `headers`, classes and attributes of the rows'; `draw`, a cell's text; `under`, what lies
 *   beneath it; `onSelect`: a cell was clicked or reached by key; `onEdit`: cells are fields for numbers
 */
export function Matrix({ name, label, kind = "", rows, columns, cells, row = null, column = null, ...more }) {
  const { showRows = true, showColumns = true, colour, corner = "", headers = [], onSelect, onHover, onEdit } = more;
  const { draw = plainly, under, marks = column === null ? { row } : { cell: [row, column] } } = more;
  const at = { row: marks.cell?.[0] ?? marks.row ?? null, column: marks.cell?.[1] ?? marks.column ?? null };
  const walking = useWalking({ rows: rows.length, columns: columns.length, ...at, onSelect });
  const hasChanged = cells.some((line) => line.some(({ was = null }) => was !== null));
  const looks = classes(
    "te-grid",
    onEdit && "te-editable",
    showRows && "te-with-rows",
    kind,
    hasChanged && "te-has-changed",
  );
  return (
    <div
      role="grid"
      aria-label={label}
      class={looks}
      data-matrix={name}
      style={{ "--columns": columns.length }}
      {...walking}
      onPointerLeave={() => onHover?.(null)}>
      {showColumns && (
        <div role="row" class="te-row te-columns">
          {showRows && (
            <div role="gridcell" class="te-header">
              {corner}
            </div>
          )}
          {columns.map((word, j) => (
            <Header key={j} role="columnheader" word={word} kind={j === marks.column ? " te-marked" : ""} />
          ))}
        </div>
      )}
      {cells.map((line, i) => (
        <MatrixRow
          key={i}
          {...{ i, line, colour, draw, under, onHover, onEdit }}
          word={showRows ? rows[i] : null}
          header={headers[i]}
          isMarked={i === marks.row}
          column={marks.column ?? null}
          selected={i === marks.cell?.[0] ? marks.cell[1] : null}
          isCell={Boolean(marks.cell)}
        />
      ))}
    </div>
  );
}

const plainly = (text) => text;

/**
 * What stands in an element, its children or what a selector names, known by its keys, glides to where another order puts it.
 * @param {string} order @param {string}[selector]
 * @param {string}[name]  of the data attribute, a number, that an element is known by where it may get another parent
 */
export function useGliding(order, selector = ":scope > *", name = "") {
  const [box, was] = [useRef(null), useRef(order)];
  const isOther = was.current !== order;
  was.current = order;
  const all = () => [...(box.current?.querySelectorAll(selector) ?? [])];
  const known = () => all().sort((a, b) => a.dataset[name] - b.dataset[name]);
  const focused = isOther ? focusedIn(box.current) : null;
  if (isOther) name ? glide(known(), () => {}, DURATION, known) : glide(all(), () => {}); // from where they stand now
  useLayoutEffect(() => focused?.focus()); // who is moved loses it
  return box;
}

/** What was derived, right after the next frame, for what the picture should not wait for. @template T @param {T} now */
export function useRest(now) {
  const [rest, follow] = useState(now);
  useLayoutEffect(() => {
    if (rest !== now) afterFrame(() => follow(() => now));
  }, [now]);
  return reducedMotion() ? now : rest;
}

/** Numbers on their way to where they are sent, for a drawing; always as many. @param {number[]} to @param {number}[duration] */
export function useGlidingAll(to, duration = DURATION) {
  const [now, go] = useState(to);
  const movement = useMemo(() => gliding((all) => go([...all]), duration), []);
  useLayoutEffect(() => movement.to(to), [String(to)]);
  useLayoutEffect(() => movement.stop, []);
  return reducedMotion() ? to : now;
}

/** A number on its way to where it is sent, for a drawing. @param {number} to @param {number}[duration] */
export const useGlidingTo = (to, duration) => useGlidingAll([to], duration)[0];
