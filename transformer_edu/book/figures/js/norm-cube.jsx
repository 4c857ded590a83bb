import { plural, short } from "./core/format.js";
import { snapshot } from "./core/state.js";
import { Button, Choice, figure, Matrix, Said, Select, Slider, Toggle } from "./core/view.jsx";
import { derive, edited, fitting, NORMS } from "./norm-cube.derive.js";

const TRAITS = ["sentences", "norm", "other", "padding", "leave_out", "mode", "batches", "edits", "selected"];

const Caption = ({ of, note }) => (
  <div class={`te-cube-title te-cube-${of}`}>
    <b>{of}</b>
    <span class="te-note">{note}</span>
  </div>
);

const asked = (text) => <span class="te-cube-asked">{text}</span>;

const share = (part) => `${100 * part}%`;

/** Of a cell: a bar from zero to its number, and a tick where it ended in the first batch. */
const bar = ({ bar: { zero, to, was } }) => (
  <>
    <i
      class={`te-cube-bar${to < zero ? " te-cube-negative" : ""}`}
      style={{ left: share(Math.min(zero, to)), right: share(1 - Math.max(zero, to)) }}
    />
    {was !== null && <i class="te-cube-tick" style={{ left: share(was) }} />}
  </>
);

/** Input and output of one sentence. */
function Sentence({ b, now, choose, edit }) {
  const { tokens, input, output } = now.tables[b];
  const shared = {
    rows: tokens,
    columns: now.columns,
    under: bar,
    marks: now.selected[0] === b ? { cell: now.selected.slice(1) } : {},
    onSelect: (p, f) => choose([b, p, f]),
  };
  return (
    <>
      <Matrix
        name={`input-${b}`}
        label={`Input, sentence ${b + 1}`}
        corner={`sentence ${b + 1}`}
        cells={input}
        onEdit={(p, f, value) => edit([b, p, f], value)}
        {...shared}
      />
      <div class="te-cube-arrow" aria-hidden="true">
        →
      </div>
      <Matrix name={`output-${b}`} label={`Output, sentence ${b + 1}`} cells={output} draw={asked} {...shared} />
    </>
  );
}

const Stage = ({ now, choose, edit }) => (
  <div class="te-cube-stage" data-positions={now.positions} style={{ "--positions": now.positions }}>
    <Caption of="input" note="blue: averaged together" />
    <div />
    <Caption of="output" note="orange: moved from tick" />
    {now.tables.map((_, b) => (
      <Sentence key={`${b} ${now.tokens[b].join(" ")}`} {...{ b, now, choose, edit }} />
    ))}
  </div>
);

/** What few readers need: the sum behind the marked number, and another batch. */
const Folded = ({ now, state, change }) => (
  <>
    <p class="te-cube-working">
      <Said of={now.working} />
    </p>
    <div class="te-group">
      <Select
        label="sentence 2"
        value={String(state.other)}
        options={[
          ...state.sentences.slice(1).map(({ tokens }, i) => ({ value: String(i + 1), label: tokens.join(" ") })),
          { value: "null", label: "none: a batch of one" },
        ]}
        onChange={(value) => change({ other: JSON.parse(value) })}
      />
      <Button off={now.isFull} onClick={() => change({ padding: state.padding + 1 })}>
        Add padding
      </Button>
      <Button off={!state.padding} onClick={() => change({ padding: state.padding - 1 })}>
        Remove padding
      </Button>
    </div>
    <div class="te-group">
      <Toggle label="leave padding out" value={state.leave_out} onChange={(leave_out) => change({ leave_out })} />
      <Select
        label="batch norm in"
        value={state.mode}
        options={["training", "evaluation"].map((value) => ({ value, label: value }))}
        onChange={(mode) => change({ mode })}
      />
      {state.mode === "evaluation" && (
        <Select
          label="after"
          value={String(state.batches)}
          options={[1, 10, 100].map((n) => ({ value: String(n), label: plural(n, "training batch") }))}
          onChange={(value) => change({ batches: Number(value) })}
        />
      )}
    </div>
  </>
);

/** What can be asked of this batch. */
function questions(state, opened, now, change) {
  const edits = opened.edits.length ? opened.edits : [[0, 0, 0, state.sentences[0].x[0][0] + 6]];
  const training = { edits, mode: "training", padding: 0, other: opened.other };
  const count = () => state.sentences.slice(0, 2).reduce((sum, { x }) => sum + x.flat().length, 0);
  return [
    {
      ask: ["let nothing but the changed word move"],
      done: () => state.norm !== "batch" && now().moves.length > 0 && !now().untouched,
      tell: ["Each token is normalized with its own numbers alone."],
      show: () => change({ ...training, norm: "layer" }),
    },
    {
      ask: ["move every output by adding padding"],
      done: () => state.padding > 0 && now().moves.length === count(),
      tell: ["Batch norm counts the zeros of padding, as if they were words."],
      show: () => change({ ...training, norm: "batch", padding: 1, leave_out: false }),
    },
    {
      ask: ["let batch norm move one output only"],
      done: () => state.norm === "batch" && now().moves.length === 1,
      tell: ["In evaluation it takes stored statistics: nothing in the batch counts."],
      show: () => change({ ...training, norm: "batch", mode: "evaluation" }),
    },
  ].filter((one) => !one.done());
}

function start(state, { root }) {
  const opened = snapshot(state, TRAITS);
  let [now, isTabbing] = [null, false]; // Tab only passes through the tables; clicks, arrow keys and typing choose
  root.addEventListener("keydown", (event) => (isTabbing = event.key === "Tab"), true);
  root.addEventListener("pointerdown", () => (isTabbing = false), true);
  const look = () => {
    now = derive(state, now);
    return now;
  };
  const change = (wanted) => state.set(fitting(state, wanted));
  const choose = (selected) => isTabbing || change({ selected });
  const edit = (selected, value) => change({ selected, edits: edited(state, selected, value) });

  function view() {
    const { name, value, isOff } = look().amount;
    return {
      ...now,
      stage: <Stage {...{ now, choose, edit }} />,
      controls: (
        <>
          <Choice
            label="Norm"
            kind="te-cube-norms"
            value={state.norm}
            options={now.norms.map(({ norm, all, text }) => ({
              value: norm,
              text: [
                <span key="name">{NORMS[norm]}</span>,
                <span key="count" class="te-cube-count" data-value={all.length}>
                  {text}
                </span>,
              ],
            }))}
            onChange={(norm) => change({ norm })}
          />
          <Slider
            label={name}
            {...{ min: -10, max: 20, step: 0.5, value, off: isOff, show: short }}
            onInput={(wanted) => edit(state.selected, wanted)}
          />
          <Button onClick={() => state.set(structuredClone(opened))}>Reset</Button>
        </>
      ),
      folded: <Folded {...{ now, state, change }} />,
    };
  }
  return {
    view,
    questions: questions(state, opened, look, change),
    details: ["How the marked number comes about; padding, another sentence, evaluation"],
  };
}

export default figure({
  name: "norm-cube",
  label: "Which numbers does a norm average over?",
  invite: ["choose layer norm. Then drag the slider, or click a bar and type a number."],
  traits: TRAITS,
  start,
});
