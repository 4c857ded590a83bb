import { useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import { uniqueId } from "./core/controls.js";
import { whole } from "./core/format.js";
import { gliding } from "./core/motion.js";
import { Choice, classes, figure, Said, Select, Toggle, useRoving } from "./core/view.jsx";
import { sub } from "./core/words.js";
import * as derived from "./parameter-map.derive.js";

const { FIELDS, fieldsOf, label, NUMBERS } = derived;
const SPINS = { autocomplete: "off", "aria-valuemin": 1 };

/** The total, and what share of it each kind has. */
const Legend = ({ sizes: { total }, shares }) => (
  <div class="te-pm-legend">
    <span class="te-nowrap">
      <b data-total data-value={total}>
        {whole(total)}
      </b>
      {" numbers"}
    </span>
    {shares.map(({ kind, name, value, text, was }) => (
      <span key={kind} class="te-nowrap">
        <i class={`te-pm-swatch te-pm-${kind}`} />
        {`${name} `}
        <b data-kind={kind} data-value={value} class={was && "te-changed"} title={was}>
          {text}
        </b>
      </span>
    ))}
  </div>
);

const Option = ({ of: { id, kind, rows, count, text, spoken }, isSelected }) => (
  <div
    role="option"
    class={`te-pm-part te-pm-${kind}`}
    aria-label={spoken}
    aria-selected={isSelected}
    tabindex={isSelected ? 0 : -1}
    data-part={id}
    data-value={count}
    style={kind === "table" ? { flexGrow: rows } : {}}>
    <span class="te-pm-letter">{text}</span>
  </div>
);

/** A group's matrices, and beside them its name, share and count. */
const Group = ({ of: { name, title, factor, share, count, bands, layers }, selected }) => (
  <div class="te-pm-group">
    <div class="te-pm-aside" aria-hidden="true">
      <div class="te-pm-side">
        <b>{title}</b>
        <span>{share}</span>
        <span data-group={name} data-value={count}>
          {whole(count)}
          {factor && <span class="te-pm-times">{factor}</span>}
        </span>
      </div>
      <div class="te-pm-names">
        {bands.map((band) => (
          <span key={band}>{band}</span>
        ))}
      </div>
    </div>
    <div class={name === "tables" ? "" : "te-pm-stack"}>
      {layers.map(({ label, kind, parts }) => (
        <div key={label} role="group" aria-label={label} class={kind}>
          {parts.map((part) => (
            <Option key={part.id} of={part} isSelected={part === selected} />
          ))}
        </div>
      ))}
    </div>
  </div>
);

/** The drawing: areas are counts. Its lengths glide. */
function Drawing({ now, choose }) {
  const box = useRoving("[role=option]");
  const [width, setWidth] = useState(0);
  const { perLine, isSmall, isFlat, lengths } = useMemo(() => derived.layoutOf(now, width), [now.groups, width]);
  const names = Object.keys(lengths);
  const draw = (all) => all.forEach((value, i) => box.current.style.setProperty(`--${names[i]}`, `${value}px`));
  const movement = useMemo(() => gliding(draw), []);
  useLayoutEffect(() => {
    const watcher = new ResizeObserver(([{ contentRect }]) => setWidth(Math.round(contentRect.width)));
    watcher.observe(box.current);
    return () => watcher.disconnect();
  }, []);
  useLayoutEffect(() => {
    if (width) movement.to(Object.values(lengths));
    return movement.stop;
  }, [lengths]);
  const pick = ({ target }) => choose(target.closest("[role=option]")?.dataset.part);
  return (
    // biome-ignore lint/a11y: arrow keys select as well, by the focus
    <div
      role="listbox"
      aria-label="matrices"
      class={classes("te-pm-map", isSmall && "te-pm-small", isFlat && "te-pm-flat", now.isFault && "te-pm-fault")}
      style={{ "--per-line": perLine }}
      ref={box}
      onFocusIn={pick}
      onClick={pick}>
      {now.groups.map((group) => (
        <Group key={group.name} of={group} selected={now.part} />
      ))}
    </div>
  );
}

/** A number to type, halve or double (layers: one less, one more). Arrow keys up and down do as the buttons. */
function NumberBox({ name, value, was, set }) {
  const [id, field] = [useMemo(uniqueId, []), useRef(null)];
  useLayoutEffect(() => field.current.removeAttribute("aria-invalid")); // what was wrong is gone with every draw
  const [less, more, fewer, further] =
    name === "num_layers" ? ["one less", "one more", "−", "+"] : ["halve", "double", "÷2", "×2"];
  const move = (isUp) => set(name, derived.stepped(name, value, isUp));
  function onChange() {
    const typed = Number(field.current.value.replace(/[\s,.]/g, ""));
    if (Number.isInteger(typed) && typed > 0) set(name, typed);
    else field.current.setAttribute("aria-invalid", "true");
  }
  function onKeyDown(event) {
    if (event.key !== "ArrowUp" && event.key !== "ArrowDown") return;
    event.preventDefault();
    move(event.key === "ArrowUp");
  }
  const side = (isUp, what, text) => (
    <button
      type="button"
      tabindex={-1}
      class="te-pm-step"
      aria-label={`${what}: ${NUMBERS[name]}`}
      onClick={() => move(isUp)}>
      {text}
    </button>
  );
  return (
    <div class="te-pm-number">
      <label for={id}>
        <Said of={[label(name)]} />
      </label>
      <div class="te-pm-box">
        {side(false, less, fewer)}
        <input
          {...SPINS}
          role="spinbutton"
          inputmode="numeric"
          id={id}
          ref={field}
          class={classes("te-pm-field", was && "te-changed")}
          title={was && `was ${whole(was)}`}
          data-field={name}
          aria-valuenow={value}
          value={whole(value)}
          {...{ onChange, onKeyDown }}
        />
        {side(true, more, further)}
      </div>
    </div>
  );
}

function Controls({ state, now: { changed, olds } }) {
  const { presets } = state;
  const set = (name, value) => state.set(derived.changesFor(state, name, value));
  const was = (name) => (changed.includes(name) ? olds[name] : undefined);
  return (
    <>
      <div class="te-pm-numbers">
        {Object.keys(NUMBERS).map((name) => (
          <NumberBox key={name} name={name} value={state[name]} was={was(name)} set={set} />
        ))}
      </div>
      <div class="te-group">
        <span class="te-pm-model">model</span>
        <Choice
          label="Model"
          value={Object.keys(presets).find((name) => FIELDS.every((field) => presets[name][field] === state[field]))}
          options={Object.keys(presets).map((value) => ({ value, text: value }))}
          onChange={(name) => state.set(presets[name])}
        />
      </div>
      <Toggle
        label={<Said of={[label("d_ff"), " follows ", label("d_model")]} />}
        value={state.keep_ratio}
        onChange={(keep_ratio) => state.set({ keep_ratio })}
      />
      <Select
        label="tied tables"
        value={state.tie_embeddings}
        options={Object.entries(derived.TIES).map(([value, text]) => ({ value, label: text }))}
        onChange={(tie_embeddings) => state.set({ tie_embeddings })}
      />
    </>
  );
}

function start(state) {
  const opened = fieldsOf(state);
  let now = null;
  const choose = (selected) => selected && selected !== state.selected && state.set({ selected });
  function view() {
    now = derived.derive(state, now);
    return {
      says: [derived.KINDS[now.sizes.largest][1]],
      words: now.words,
      stage: [<Legend key="legend" {...now} />, <Drawing key="map" now={now} choose={choose} />],
      controls: <Controls state={state} now={now} />,
      folded: (
        <p class="te-note">
          <Said of={derived.counted(now.sizes)} />
        </p>
      ),
    };
  }
  const questions = [
    {
      ask: ["double a number and add no parameter"],
      done: () => now.model.num_heads !== opened.num_heads && now.sizes.total === derived.sizesOf(opened).total,
      tell: ["Heads are cuts through the same four matrices."],
      show: () => state.set({ ...opened, num_heads: opened.num_heads * 2 }),
    },
    {
      ask: ["make attention hold the largest share"],
      done: () => now.sizes.largest === "attention",
      tell: ["A small vocabulary, or a narrow feed-forward network, leaves it in front."],
      show: () => state.set(state.presets.book),
    },
    {
      ask: ["make the word tables hold more than half"],
      done: () => now.sizes.kinds.table > now.sizes.total / 2,
      tell: ["Three tables instead of one, or more words, outweigh twelve layers."],
      show: () => state.set({ ...state.presets.base, tie_embeddings: "none" }),
    },
  ];
  const details = [
    "How it is counted",
    "“opus” is opus-mt-en-fr (Tiedemann and Thottingal, 2020), a translator to download. It adds a bias to each word’s " +
      "score as well: 59,514 numbers that are not drawn.",
  ];
  return { view, questions, details };
}

export default figure({
  name: "parameter-map",
  label: "Map of all parameters",
  invite: () => ["double ", sub("d", "model"), ": which areas grow most? Then double the heads."],
  traits: [...FIELDS, "keep_ratio", "selected", "presets", "limits"],
  start,
});
