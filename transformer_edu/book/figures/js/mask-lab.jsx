import { useLayoutEffect, useRef } from "preact/hooks";
import { plural } from "./core/format.js";
import { appear } from "./core/motion.js";
import { snapshot } from "./core/state.js";
import { Button, Choice, figure, Matrix, Said, Slider, Toggle } from "./core/view.jsx";
import * as lab from "./mask-lab.derive.js";

const OWN = "kind source_lengths target_lengths sentence query padding causal pad_first mistake painted".split(" ");

/** A table of queries and keys. `paint`: its cells are switched by a click, Enter or Space. */
function Table({ of: { name, title, note, isWhole, key, rows, columns, cells }, row, choose, paint = null }) {
  const box = useRef(null);
  useLayoutEffect(() => box.current.querySelectorAll("[data-fresh]").forEach((cell) => appear(cell)), [cells]);
  function onCell(event) {
    const { row, column } = event.target.closest("[data-row]")?.dataset ?? {};
    if (!paint || row === undefined) return;
    event.preventDefault();
    paint(Number(row), Number(column));
  }
  const onKeyDown = (event) => ["Enter", " "].includes(event.key) && onCell(event);
  return (
    // biome-ignore lint/a11y: the cells in it take the focus and the keys
    <div class={`te-block${paint ? " te-mask-paint" : ""}`} ref={box} onClick={onCell} onKeyDown={onKeyDown}>
      <div class="te-caption">
        <b>{title}</b>
        <span>
          <Said of={note} />
        </span>
      </div>
      <Matrix
        key={key}
        name={name}
        label={title}
        kind={isWhole ? "te-whole" : ""}
        onSelect={choose}
        {...{ rows, columns, cells, row }}
      />
    </div>
  );
}

/** What can be asked of these sentences. */
function questions(state) {
  const found = () => lab.judged(lab.attend(state));
  const set = (key, more) => state.set({ kind: "decoder", pad_first: false, ...lab.settings(key, "decoder"), ...more });
  return [
    {
      ask: ["find a wrong mask that does no harm here"],
      done: () => lab.chosen(state) !== "right" && lab.finding(lab.attend(state))[0],
      tell: ["What it forgot is hidden anyway, or not there."],
      show: () => set("no-padding"),
    },
    {
      ask: ["let words look at padding"],
      done: () => found().some((row) => row.pad > 0),
      tell: ["As if it were a word that says something."],
      show: () => set("bare", { sentence: 1, target_lengths: [6, 4] }),
    },
    {
      ask: ["make a row that is not a number"],
      done: () => found().some((row) => Number.isNaN(row.sum)),
      tell: ["With nowhere to look, softmax divides 0 by 0."],
      show: () => set("blind"),
    },
    {
      ask: ["paint the right mask yourself"],
      done: () => lab.chosen(state) === "painted" && lab.finding(lab.attend(state))[0],
      tell: ["It hides what must not be seen, and nothing else."],
      show: () => state.set(lab.paintedRightly(state)),
    },
  ];
}

/** Sentences of other lengths, and padding in front. */
const Batch = ({ state, reset }) => (
  <div class="te-batch">
    <Choice
      label="Sentence of the batch"
      value={state.sentence}
      options={[0, 1].map((value) => ({ value, text: `sentence ${value + 1}` }))}
      onChange={(sentence) => state.set({ sentence })}
    />
    <Toggle label="padding in front" value={state.pad_first} onChange={(pad_first) => state.set({ pad_first })} />
    <Button onClick={reset}>Reset</Button>
    {Object.entries({ source: "English", target: "French" }).map(([language, name]) => (
      <div key={language} class="te-lengths" hidden={state.kind === (language === "source" ? "decoder" : "encoder")}>
        {state[`${language}_lengths`].map((value, at) => (
          <Slider
            key={at}
            label={`${name} ${at + 1}`}
            min={0}
            max={lab.LONGEST}
            value={value}
            show={(count) => plural(count, "token")}
            onInput={(count) =>
              state.set({
                sentence: at, // the change is seen
                [`${language}_lengths`]: state[`${language}_lengths`].map((old, i) => (i === at ? count : old)),
              })
            }
          />
        ))}
      </div>
    ))}
  </div>
);

function start(state, { root, draw }) {
  const opened = snapshot(state, OWN);
  let now = null;
  root.addEventListener("toggle", draw, true); // the details are drawn when they are open
  const choose = (query) => query !== state.query && state.set({ query });

  function view() {
    now = lab.derive(state, now, Boolean(root.querySelector(".te-details[open]")));
    root.dataset.good = String(now.good);
    const { right, weights, mask, ...steps } = now.tables;
    const shown = { row: now.row, choose };
    const tables = (all) => all.map((one) => <Table key={one.name} of={one} {...shown} />);
    const options = lab.offers(state.kind);
    return {
      ...now,
      stage: <div class="te-tables">{tables([right, weights])}</div>,
      controls: (
        <>
          <Table of={mask} {...shown} paint={(...cell) => state.set(lab.switched(state, ...cell))} />
          <Choice
            label="mask"
            kind="te-mask-list"
            value={now.key}
            options={options.map(({ isOff, ...one }) => ({ ...one, more: { "aria-disabled": isOff } }))}
            onChange={(key) =>
              !options.find(({ value }) => value === key).isOff && state.set(lab.settings(key, state.kind))
            }
          />
          <div class="te-mask-group">
            <span class="te-label">attention</span>
            <Choice
              label="Kind of attention"
              value={state.kind}
              options={Object.entries(lab.KINDS).map(([value, text]) => ({ value, text }))}
              onChange={(kind) => state.set(lab.otherKind(state, kind))}
            />
          </div>
        </>
      ),
      folded: (
        <>
          <div class="te-tables">{tables(Object.values(steps))}</div>
          <Batch state={state} reset={() => state.set(structuredClone(opened))} />
        </>
      ),
    };
  }
  return {
    view,
    questions: questions(state),
    details: ["The scores, padding in front, sentences of other lengths", "The scores are made up."],
  };
}

export default figure({
  name: "mask-lab",
  label: "Mask lab",
  invite: ["choose another mask, or paint one: click its cells. Red cells look where they must not."],
  traits: [...OWN, "source", "target", "scores"],
  lines: 3,
  start,
});
