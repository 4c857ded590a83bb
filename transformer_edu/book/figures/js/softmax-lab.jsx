import { useState } from "preact/hooks";
import { diverging } from "./core/colour.js";
import { format } from "./core/format.js";
import { clamp } from "./core/math.js";
import { Button, figure, Matrix, Slider } from "./core/view.jsx";
import { Powers } from "./parts/powers.jsx";
import { derive, LONGEST, SHORTEST } from "./softmax-lab.derive.js";

const WIDEST = 100; // a score that is typed
const SIDES = { raw: "undivided", scaled: "divided by the root of d k" };
const root = () => <span class="te-nowrap">{["√d", <sub key="k">k</sub>]}</span>;
const wide = (text) => <span class="te-lab-wide">{text}</span>; // not on a phone
const colour = (value) => diverging(3.2 * value); // at most ¼, w (1 − w) at w = ½

const Exact = ({ of: { value, text, was }, ...more }) => (
  <span {...more} data-value={value} title={was ? `was ${was.text}` : undefined}>
    {text}
  </span>
);

/** A bar, and where it ended before. */
const Track = ({ of: { share, was, beyond }, kind, children = null }) => (
  <span class={kind} aria-hidden="true" data-beyond={beyond} style={{ "--share": share, "--was": was?.share }}>
    <span class="te-lab-fill te-glide" />
    {was && was.share !== share && <span class="te-lab-was" />}
    {children}
  </span>
);

/** A key: its score and its weight, with their bars. */
const Line = ({ of: { score, weight, kind }, number }) => (
  <div role="row" class={`te-lab-line${kind}`}>
    <span role="rowheader">{[wide("key "), number]}</span>
    <Exact of={score} role="cell" class="te-lab-number" />
    <Track of={score} kind="te-lab-signed" />
    <Track of={weight} kind="te-lab-track" />
    <Exact of={weight} role="cell" class="te-lab-number" />
  </div>
);

/** One side: scores and weights, and under them how much gradient comes back. */
const Panel = ({ name, title, of: { range, lines, gradient, verdict } }) => (
  <div class="te-lab-panel" role="group" aria-label={SIDES[name]} data-panel={name}>
    <div class="te-lab-title">{title}</div>
    <div role="table" aria-label={`Scores and weights, ${SIDES[name]}`} data-list={name}>
      <div role="row" class="te-lab-line te-lab-head">
        <span role="columnheader">key</span>
        <span role="columnheader">score</span>
        <span class="te-lab-range">{range}</span>
        <span role="columnheader">{[wide("softmax → "), "weight"]}</span>
      </div>
      {lines.map((line, i) => (
        <Line key={i} of={line} number={i + 1} />
      ))}
    </div>
    <div class="te-lab-measure">
      <span>{["← gradient", wide(" back to the scores")]}</span>
      <Exact of={gradient} class="te-lab-size" />
      <Track of={gradient} kind="te-lab-track te-lab-back">
        {gradient.was && <span class="te-lab-before">{`was ${gradient.was.text}`}</span>}
      </Track>
    </div>
    <p class="te-lab-verdict">{verdict}</p>
  </div>
);

/** A table with its name. */
const Captioned = ({ name, note, children }) => (
  <div>
    <div class="te-caption">
      <b>{name}</b>
      <span>{note}</span>
    </div>
    {children}
  </div>
);

/** All derivatives of one side. */
function Derivatives({ name, note, of: { rows, columns, cells } }) {
  const [marks, mark] = useState({});
  return (
    <Captioned name={[<i key="w">∂w</i>, " / ", <i key="s">∂s</i>]} note={note}>
      <Matrix
        name={`jacobian-${name}`}
        label={`Derivative of each weight with respect to each score, ${SIDES[name]}`}
        {...{ rows, columns, cells, colour, marks }}
        onSelect={(row, column) => mark({ row, column, cell: [row, column] })}
      />
    </Captioned>
  );
}

/** What few readers need: the temperature, scores to type, all derivatives. */
const Folded = ({ now: { raw, scaled, names, typed }, state: { scores, temperature, set } }) => (
  <div key={typed[0].length}>
    <div class="te-lab-own">
      <Slider
        label={["temperature ", <i key="T">T</i>]}
        {...{ min: -1, max: 1, step: 0.05, value: Math.log10(temperature) }}
        show={(power) => format(10 ** power, 2)}
        onInput={(power) => set({ temperature: Number((10 ** power).toFixed(2)) })}
      />
      <Captioned name={[<i key="z">z</i>, " = q · k / ", root()]} note="type over them">
        <Matrix
          {...{ name: "scores", label: "Scores of standard deviation 1", cells: typed, showRows: false, ...names }}
          onEdit={(_, at, value) =>
            value !== scores[at] &&
            set({ scores: scores.map((old, i) => (i === at ? clamp(value, -WIDEST, WIDEST) : old)) })
          }
        />
      </Captioned>
    </div>
    <div class="te-lab-grids">
      <Derivatives name="raw" of={raw} note="undivided" />
      <Derivatives name="scaled" of={scaled} note={["divided by ", root()]} />
    </div>
    <p class="te-note">
      The scores z have a standard deviation of 1, as random queries and keys give. On the left s = z × {root()} ÷ T, on
      the right s = z ÷ T. “Gradient back to the scores” is the size of the table ∂w/∂s, the root of its sum of squares;
      it is at most ½, where two keys have one half each. What reaches the query is this times the keys.
    </p>
  </div>
);

/** Questions that these scores, or other draws, can answer; those that are answered already are left out. */
function questions(state) {
  const { scores, draws, temperature } = state;
  const sizes = Array.from({ length: LONGEST - SHORTEST + 1 }, (_, i) => 2 ** (SHORTEST + i));
  const takesAll = (one) => derive({ draws, ...one }).raw.first > 0.9995;
  const passes = (one) => one.d_k >= 64 && derive({ draws, ...one }).raw.gradient.value > 0.2;
  const own = sizes.map((d_k) => ({ scores: [...scores], temperature, d_k }));
  const drawn = draws.flatMap((draw) => sizes.map((d_k) => ({ scores: [...draw], temperature: 1, d_k })));
  const [all, tie] = [own.find(takesAll), drawn.find(passes)];
  return [
    all && {
      ask: ["make one key on the left take everything, 1.000"],
      done: () => takesAll(state),
      tell: ["Longer keys carry the winner further ahead. On the right nothing has moved."],
      show: () => state.set(all),
    },
    tie && {
      ask: ["let gradient pass on the left at 64 or more"],
      done: () => passes(state),
      tell: ["Two keys nearly tie, so a nudge decides between them. That is rare."],
      show: () => state.set(tie),
    },
  ].filter((one) => one && !one.done());
}

function start(state) {
  let now = null;

  function view() {
    now = derive(state, now);
    const { draws, d_k } = state;
    return {
      ...now,
      stage: (
        <div class="te-lab-panels">
          <Panel name="raw" of={now.raw} title={[<b key="q">q · k</b>, " as it is"]} />
          <Panel name="scaled" of={now.scaled} title={<b>{["q · k / ", root()]}</b>} />
        </div>
      ),
      controls: (
        <>
          <Powers
            label={["length of a key, d", <sub key="k">k</sub>]}
            {...{ from: SHORTEST, to: LONGEST, value: d_k, show: String }}
            onInput={(d_k) => state.set({ d_k })}
          />
          <Button onClick={() => state.set({ scores: [...draws[(now.draw + 1) % draws.length]] })}>
            Draw other scores
          </Button>
        </>
      ),
      folded: <Folded now={now} state={state} />,
    };
  }
  return { view, questions: questions(state), details: ["Temperature, scores of your own, and all derivatives"] };
}

export default figure({
  name: "softmax-lab",
  label: "Softmax lab",
  invite: ["make the keys longer or shorter, and watch the left side. Then draw other scores."],
  traits: ["scores", "draws", "d_k", "temperature"],
  start,
});
