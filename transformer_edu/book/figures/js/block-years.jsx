import { derive, NOTES, questions } from "./block-years.derive.js";
import { cut } from "./core/dom.js";
import { Choice, classes, figure, Select } from "./core/view.jsx";
import { Powers } from "./parts/powers.jsx";

/** A row of both blocks. */
const Row = ({ label, first, text, was, isOther }) => (
  <>
    <span class="te-by-label">{cut(label)}</span>
    <span class="te-by-box">{cut(first)}</span>
    <span class="te-by-sign">{isOther ? "→" : "="}</span>
    <span
      class={classes("te-by-box", isOther && "te-by-other", was && "te-changed")}
      title={was ? `was ${was}` : undefined}>
      {isOther ? cut(text) : [<i key="same">same: </i>, cut(text)]}
    </span>
  </>
);

/** A number of both blocks, and what it was. */
const Line = ({ label, cells }) => (
  <div role="row" class="te-by-line">
    <span role="rowheader" class="te-by-label">
      {label}
    </span>
    {cells.map(({ value, text, was }, i) => (
      <span
        key={i}
        role="cell"
        class={classes("te-by-number", was && "te-changed")}
        data-value={value}
        title={was ? `was ${was}` : undefined}>
        <b>{text}</b>
        <small>{was ? ` was ${was}` : "\u00a0"}</small>
      </span>
    ))}
  </div>
);

/** @param {{now: any, set: (changes: any) => void}} props */
const Stage = ({ now, set }) => (
  <>
    <div class="te-by-head" aria-hidden="true">
      <span class="te-by-key">{now.rows.some(({ was }) => was) && "dashed: new here"}</span>
      <span>the paper, 2017</span>
      <span />
      <span>{now.name}</span>
    </div>
    <Choice
      {...{ label: "row of the block", kind: "te-by-rows", value: now.now.row }}
      onChange={(row) => set({ row })}
      options={now.rows.map((row, value) => ({
        ...{ value, text: <Row {...row} />, kind: "te-by-row" },
        label: `${row.label}: ${row.first} in the paper; ${row.isOther ? `changed: ${row.text}` : `same: ${row.text}`}`,
      }))}
    />
    <div role="table" aria-label="Parameters and cache" class="te-by-lines">
      <div role="row" class="te-by-line te-by-titles">
        <span role="columnheader" class="te-by-label">
          as deep and wide:
        </span>
        <span role="columnheader">paper’s block</span>
        <span role="columnheader">{now.name}</span>
      </div>
      {now.lines.map((line) => (
        <Line key={line.label} {...line} />
      ))}
    </div>
  </>
);

function start(state) {
  const { set, models } = state;
  const options = Object.entries(models).map(([value, { name }]) => ({ value, label: name }));
  options.sort((one, other) => one.label.slice(-5).localeCompare(other.label.slice(-5))); // by year
  let now = null;
  function view() {
    now = derive(state, now);
    return {
      ...now,
      stage: <Stage now={now} set={set} />,
      controls: [
        <Select key="model" label="model" value={state.model} options={options} onChange={(model) => set({ model })} />,
        <Powers
          key="tokens"
          label="tokens"
          from={10}
          to={17}
          value={state.tokens}
          onInput={(tokens) => set({ tokens })}
        />,
        <Powers key="texts" label="texts" from={0} to={7} value={state.texts} onInput={(texts) => set({ texts })} />,
      ],
    };
  }
  return { view, questions: questions(state, () => now), details: ["How it was measured and counted", ...NOTES] };
}

export default figure({
  name: "block-years",
  label: "The block of 2017 and of today",
  invite: ["choose a row. Then choose another model from the list, and a shorter text."],
  traits: ["model", "row", "tokens", "texts", "rows", "models", "measured"],
  lines: 3,
  start,
});
