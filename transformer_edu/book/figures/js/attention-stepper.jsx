import { useLayoutEffect, useRef } from "preact/hooks";
import { attend, derive, INPUTS, PARTS, STEPS } from "./attention-stepper.derive.js";
import { uniqueId } from "./core/controls.js";
import { div } from "./core/dom.js";
import { mapMatrix } from "./core/math.js";
import { appear, fly, player } from "./core/motion.js";
import { snapshot } from "./core/state.js";
import { Button, Choice, classes, figure, Kept, Matrix, Said, Select, Toggle, useRest, Word } from "./core/view.jsx";
import { asToken, sub } from "./core/words.js";

const TRAITS = ["tokens", ...INPUTS, "step", "part", "query", "key", "column", "scale", "mask"];
const PLAY = 1800; // milliseconds a step
const MASKS = Object.entries({ none: "none", causal: "causal", padding: "last is padding" }).map(([value, label]) => ({
  value,
  label,
}));
const SPOKEN =
  "output = softmax of (Q K transposed, divided by the root of d k, plus mask), times V, times W O; where Q = X W Q, " +
  "K = X W K, V = X W V";

/** A matrix by its sign: X, W with its index, Q, K and V in their colours. Other words as they are. */
function Sign({ of }) {
  const [base, index] = of.split("_");
  if (!/^[a-z]$/.test(base)) return ["scaled", "masked"].includes(base) ? `${base} scores` : base;
  return (
    <span class={`te-nowrap te-${base}`}>
      {base.toUpperCase()}
      {index && (index === "t" ? <sup>T</sup> : <sub>{index.toUpperCase()}</sub>)}
    </span>
  );
}

/** A formula of signs. @param {{of: string}} props */
const Signs = ({ of }) => of.split(" ").flatMap((word, i) => [i ? " " : "", <Sign key={i} of={word} />]);

const PROJECTIONS = Object.entries(PARTS).map(([value, name]) => ({
  value,
  text: <Signs of={`${value} · ${name}`} />,
}));

const D_K = <Said of={["d", { sub: "k" }]} />;

/** The formula; the term that the present step computes is marked. */
function Equation({ now: { term }, isScaled }) {
  const termOf = (name, ...content) => (
    <span
      class={classes("te-term-of", name === term && "te-active", name === "scale" && !isScaled && "te-off")}
      data-term={name}>
      {content}
    </span>
  );
  return (
    <div class="te-equation" role="img" aria-label={SPOKEN}>
      <div class="te-formula">
        {termOf("output", "output")} = {termOf("softmax", "softmax", <span class="te-paren">(</span>)}
        <span class="te-fraction">
          {termOf("scores", <Signs of="q k_t" />)}
          {termOf("scale", "√", <span class="te-root-of">{D_K}</span>)}
        </span>
        {termOf("mask", " + mask")}
        {termOf("softmax", <span class="te-paren">)</span>)}
        {termOf("mix", <Sign of="v" />)}
        {termOf("output", <Sign of="w_o" />)}
      </div>
      <div class="te-formula te-small">
        {Object.keys(PARTS).map((part) => termOf(part, <Signs of={`${part} = x w_${part}`} />))}
      </div>
    </div>
  );
}

/** The tokens as buttons; above them the chosen query's looks, as wide as the weights. */
function Strip({ tokens, query, strip: { label, looks }, onChoose }) {
  const look = (j, { text, was }) => (
    <>
      <Word of={tokens[j]} />
      <span class={classes("te-look", was && "te-other")} title={was && `was ${was}`}>
        {text}
      </span>
    </>
  );
  return (
    <div class="te-strip" style={{ "--count": tokens.length }}>
      <div class="te-label">{label}</div>
      <svg class="te-arcs" viewBox={`0 0 ${100 * tokens.length} 50`} aria-hidden="true" focusable="false">
        {looks.map(({ path, width }, j) => (
          <path key={j} class="te-arc te-glide" d={path} style={{ strokeWidth: width }} />
        ))}
      </svg>
      <Choice
        label="Query: the token that looks"
        kind="te-tokens"
        value={query}
        onChange={onChoose}
        options={looks.map((one, j) => ({ value: j, text: look(j, one) }))}
      />
    </div>
  );
}

/** A matrix under its sign; `select` is told the row or the column, or both: what is marked in it. @param {any} props */
const Block = ({ of: { place, note, ...table }, select, onEdit }) => (
  <div class={`te-block te-${place}`}>
    <div class="te-caption">
      <b>
        <Sign of={table.name} />
      </b>
      <span>{note}</span>
    </div>
    <Matrix
      {...table}
      onEdit={onEdit}
      onSelect={(i, j) => select("row" in table.marks ? i : null, "column" in table.marks ? j : null)}
    />
  </div>
);

/** The product that a step computes, and in the first one which of three. */
const Corner = ({ of: { left, top, result }, state: { step, part }, onPart }) => (
  <div class="te-corner">
    <b class="te-product">
      <Signs of={`${result} = ${left} ${top}`} />
    </b>
    {step === 1 && <Choice label="Projection" kind="te-parts" value={part} onChange={onPart} options={PROJECTIONS} />}
  </div>
);

/** What the step has to choose, the sentence on the chosen cell, and how its number came about. */
const Panel = ({ now: { words, working }, state: { step, scale, mask }, set }) => (
  <div class="te-panel">
    <div class="te-tool">
      {step === 3 && (
        <Toggle label={<Said of={["divide by ", ["√d", { sub: "k" }]]} />} value={scale} onChange={set("scale")} />
      )}
      {step === 4 && <Select label="mask" value={mask} options={MASKS} onChange={set("mask")} />}
    </div>
    <p class="te-sentence">
      <Said of={words} />
    </p>
    <div class={`te-working ${working.kind}`}>
      {working.parts.map(([kind, text], i) => (
        <span key={i} class={kind}>
          <Said of={[text]} />
        </span>
      ))}
    </div>
  </div>
);

/** The chosen query's numbers go to the column that they meet, or to their new table; the results come one by one. */
function travel(root, tables, row, column) {
  const cells = (place, of, index) => [...tables.querySelectorAll(`.te-${place} .te-cell[data-${of}="${index}"]`)];
  const [results, met] = [cells("result", "row", row), cells("top", "column", column)];
  results.forEach((cell, i) => appear(cell, (met.length ? 250 : 100) + 60 * i));
  cells("left", "row", row).forEach((cell, i) => fly(root, cell, (met.length ? met : results)[i], { delay: 60 * i }));
}

function Stage({ now, state, root, panel, select, edits }) {
  const { tokens, step, part, query } = state;
  const [tables, here] = [useRef(null), `${step} ${step === 1 && part} ${query}`];
  const was = useRef(here);
  useLayoutEffect(() => {
    if (was.current !== here) travel(root, tables.current, query, now.column);
    was.current = here;
  });
  const set = (name) => (value) => state.set({ [name]: value });
  const [isProduct, said] = [Boolean(now.scene.top), useRest(now)];
  return (
    <>
      <div class="te-head">
        <Strip tokens={tokens} query={query} strip={now.strip} onChoose={set("query")} />
        <Equation now={now} isScaled={state.scale} />
      </div>
      <div
        class={classes("te-body", now.isWide && "te-many", !isProduct && "te-low")}
        role="tabpanel"
        id={panel}
        aria-label="Numbers of this step"
        data-of={now.of}
        style={{ "--rows": now.rows }}>
        <div class={`te-tables ${isProduct ? "te-falk" : "te-pair"}`} style={{ "--total": now.total }} ref={tables}>
          {now.grids.map((grid) => (
            <Block key={grid.key} of={grid} select={select} onEdit={edits[grid.name]} />
          ))}
          {isProduct && <Corner of={now.scene} state={state} onPart={set("part")} />}
        </div>
        <Panel now={said} state={state} set={set} />
      </div>
    </>
  );
}

const Tab = ({ at, title }) => (
  <>
    <span class="te-count">{at}</span>
    <span class="te-title">{title}</span>
  </>
);

const Controls = ({ step, panel, go, makePlay, onReset }) => (
  <>
    <Choice
      label="Steps"
      kind="te-steps-bar"
      panel={panel}
      value={step}
      onChange={go}
      options={STEPS.map((title, i) => ({
        value: i + 1,
        label: `Step ${i + 1}: ${title}`,
        text: <Tab at={i + 1} title={title} />,
      }))}
    />
    <div class="te-group">
      <Button off={step === 1} onClick={() => go(step - 1)}>
        ← Previous
      </Button>
      <Button kind="primary" off={step === STEPS.length} onClick={() => go(step + 1)}>
        Next →
      </Button>
    </div>
    <Kept make={makePlay} update={() => {}} />
    <Button onClick={onReset}>Reset</Button>
  </>
);

/** A matrix with another number in one place. */
const typed = (matrix, i, j, value) => mapMatrix(matrix, (old, r, c) => (r === i && c === j ? value : old));

/** What can be asked of these numbers; what is answered already is left out. */
function questions(state, opened) {
  const { tokens, query } = state;
  const last = tokens.length - 1;
  const now = () => attend(state).weights;
  const weights = now();
  const tops = weights.map((row) => Math.max(...row));
  const [keen, favourite] = [tops.indexOf(Math.max(...tops)), weights[query].indexOf(tops[query])];
  const turned = (w_q) => attend({ ...state, ...opened, mask: "none", w_q }).weights[query][favourite] < 0.2;
  const edits = opened.w_q.flatMap((row, i) => row.map((_, j) => typed(opened.w_q, i, j, -2)));
  const edit = favourite !== query && !turned(opened.w_q) && edits.find(turned);
  const [me, other, w_q] = [asToken(tokens[query]), asToken(tokens[favourite]), sub("W", "Q")];
  return [
    keen !== query && {
      ask: ["find who gives the largest weight of all"],
      done: () => state.query === keen && state.step >= 5 && state.mask === opened.mask,
      tell: ["Every token has 1 to give, and shares it out its own way."],
      show: () => state.set({ ...structuredClone(opened), step: 5, query: keen }),
    },
    last > 0 &&
      weights[last - 1][last] > 0 && {
        ask: ["hide ", asToken(tokens[last]), " from ", asToken(tokens[last - 1])],
        done: () => now()[last - 1][last] === 0,
        tell: ["Its score is −∞, so its weight is exactly 0. The others share the whole."],
        show: () => state.set({ mask: "causal", step: 5, query: last - 1, key: last }),
      },
    edit && {
      ask: ["turn ", me, " away from ", other, " with one number of ", w_q],
      done: () => state.mask === "none" && now()[query][favourite] < 0.2,
      tell: ["The same word now asks another question."],
      show: () => state.set({ ...structuredClone(opened), mask: "none", w_q: edit, step: 1, part: "q", query }),
    },
  ].filter((one) => one && !one.done());
}

function start(state, { root }) {
  const [opened, panel] = [snapshot(state, [...INPUTS, "scale", "mask"]), uniqueId()];
  let now = null;
  const go = (step) => state.set({ step });
  const play = player({ figure: root, at: () => state.step, last: () => STEPS.length, go, first: 1, wait: PLAY });
  const makePlay = () => ({ element: div("", play.element) });
  const onReset = () => state.set(structuredClone(opened));
  const editOf = (name) => (i, j, value) => state.set({ [name]: typed(state[name], i, j, value) });
  const edits = Object.fromEntries(INPUTS.map((name) => [name, editOf(name)]));

  function select(row, column) {
    const changes = { query: row ?? state.query, [now.place]: column ?? state[now.place] };
    if (Object.entries(changes).some(([name, value]) => state[name] !== value)) state.set(changes);
  }

  function view() {
    now = derive(state, now);
    return {
      ...now,
      stage: <Stage {...{ now, state, root, panel, select, edits }} />,
      controls: <Controls step={state.step} {...{ panel, go, makePlay, onReset }} />,
    };
  }
  // below the stage, more or fewer numbers would move the buttons on a phone
  root.querySelector(".te-stage").before(root.querySelector(".te-controls"));
  return { view, questions: questions(state, opened), end: play.stop };
}

export default figure({
  name: "attention-stepper",
  label: "Attention in seven steps",
  invite: ["choose who looks, then press Play. In step 1 you can type over the numbers."],
  traits: TRAITS,
  lines: 0,
  start,
});
