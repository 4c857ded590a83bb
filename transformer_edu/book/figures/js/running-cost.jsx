import { Choice, classes, figure, Select } from "./core/view.jsx";
import { Powers } from "./parts/powers.jsx";
import { derive, NOTES, questions, TASKS } from "./running-cost.derive.js";

const LABELS = { kept: "in memory", fetching: "fetching", multiplying: "multiplying" };

/** A bar in two parts: of the weights, and of keys and values; a tick, where it ended before. */
const Bar = ({ name, shares, text, more, was }) => (
  <div role="row" class="te-rc-line">
    <span role="rowheader">{LABELS[name]}</span>
    <span class={`te-rc-track te-rc-${name}`} aria-hidden="true">
      {shares.map((share, i) => (
        <span
          key={i}
          class={classes("te-glide", i ? "te-rc-own" : "te-rc-weights")}
          style={{ width: `${100 * share}%` }}
        />
      ))}
      {was && <span class="te-rc-was" style={{ left: `${Math.min(100, 100 * was.share)}%` }} />}
    </span>
    <span role="cell" class={classes("te-rc-number", was && "te-changed")} title={was ? `was ${was.text}` : undefined}>
      <b>{text}</b>
      {more}
      <small>{was ? ` was ${was.text}` : "\u00a0"}</small>
    </span>
  </div>
);

/** @param {{now: any}} props */
const Stage = ({ now }) => (
  <div role="table" aria-label="Bytes in memory, and time to fetch and to multiply" class="te-rc-lines">
    {now.bars.map((bar) => (
      <Bar key={bar.name} {...bar} />
    ))}
    <div class="te-note te-rc-key" aria-hidden="true">
      <span class="te-rc-weights" /> weights <span class="te-rc-own" /> keys and values, attention
    </div>
  </div>
);

function start(state) {
  const { set, models, machines } = state;
  let now = null;
  const list = (from) => Object.entries(from).map(([value, { name }]) => ({ value, label: name }));
  const pick = (name, label, options) => (
    <div class="te-group">
      <span class="te-label">{label}</span>
      <Choice {...{ label, value: state[name], options }} onChange={(value) => set({ [name]: value })} />
    </div>
  );
  function view() {
    now = derive(state, now);
    return {
      ...now,
      stage: <Stage now={now} />,
      controls: [
        <Select
          key="model"
          label="model"
          value={state.model}
          options={list(models)}
          onChange={(model) => set({ model })}
        />,
        <Select
          key="on"
          label="on"
          value={state.machine}
          options={list(machines)}
          onChange={(machine) => set({ machine })}
        />,
        pick(
          "task",
          "to",
          Object.entries(TASKS).map(([value, text]) => ({ value, text })),
        ),
        pick(
          "bits",
          "bits a weight",
          [16, 8, 4].map((value) => ({ value, text: String(value) })),
        ),
        <Powers
          key="tokens"
          label="tokens"
          from={10}
          to={17}
          value={state.tokens}
          onInput={(tokens) => set({ tokens })}
        />,
        <Powers
          key="texts"
          label="texts at once"
          from={0}
          to={7}
          value={state.texts}
          onInput={(texts) => set({ texts })}
        />,
      ],
    };
  }
  return {
    view,
    questions: questions(state, () => now),
    details: ["What is counted, and where the numbers are from", ...NOTES],
  };
}

export default figure({
  name: "running-cost",
  label: "Running cost: bytes and operations of one step",
  invite: ["let it read the text instead. Then write for more texts at once."],
  traits: ["model", "machine", "task", "bits", "tokens", "texts", "models", "machines"],
  lines: 3,
  start,
});
