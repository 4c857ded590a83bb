import { useMemo } from "preact/hooks";
import { cividis } from "./core/colour.js";
import { cut, div } from "./core/dom.js";
import { format } from "./core/format.js";
import { player } from "./core/motion.js";
import {
  Button,
  Choice,
  classes,
  figure,
  Kept,
  Matrix,
  Said,
  Select,
  Slider,
  useAppearing,
  useRest,
} from "./core/view.jsx";
import { chartsOf, derive, endsOf, headsOf, nearestTo, notesOf, questions } from "./training-replay.derive.js";

const DASHES = ["", "7 3", "2 3"];
const dashOf = (run) => DASHES[run % DASHES.length];
const MAP = "cross-attention, a row for each right next word";
const FIXED = { "vector-effect": "non-scaling-stroke" };

const Sketch = ({ kind, children, ...more }) => (
  <svg class={kind} viewBox="0 0 100 100" preserveAspectRatio="none" aria-hidden="true" focusable="false" {...more}>
    {children}
  </svg>
);
const Dot = ({ kind, at = null, ...more }) => {
  const style = at ? { left: `${at[0]}%`, top: `${at[1]}%` } : {};
  return <span class={`te-rep-dot te-rep-${kind}`} aria-hidden="true" style={style} {...more} />;
};

/** What does not change in a chart: rules, all curves thin, axes. */
const Ground = ({ chart: { rules, curves, axes } }) => (
  <>
    <Sketch kind="te-rep-lines">
      {rules.map((at) => (
        <line key={at} class="te-rep-rule" x1={0} x2={100} y1={at} y2={at} {...FIXED} />
      ))}
      {curves.map((points, run) => (
        <polyline key={points} class="te-rep-curve" points={points} stroke-dasharray={dashOf(run)} {...FIXED} />
      ))}
    </Sketch>
    {axes.map(({ kind, text, style }) => (
      <span key={`${kind} ${text}`} class={`te-rep-axis te-rep-${kind}`} aria-hidden="true" style={style}>
        {text}
      </span>
    ))}
  </>
);

/** Curves over the steps of the runs: the chosen one strong up to the moment, where its dot is; the others thin. */
function Chart({ name, chart, run, step, value, onPick = null }) {
  const ground = useMemo(() => <Ground chart={chart} />, [chart]);
  const at = chart.placeOf(step, value ?? 0);
  function pick({ currentTarget, clientX }) {
    const { left, width } = currentTarget.getBoundingClientRect();
    onPick?.(((clientX - left) / width) * chart.last);
  }
  return (
    // biome-ignore lint/a11y: for the mouse alone; the slider takes keys
    <div class="te-rep-chart" data-chart={name} onClick={pick}>
      {ground}
      <Sketch kind="te-rep-lines te-rep-past" style={{ clipPath: `inset(-10px ${100 - at[0]}% -10px 0)` }}>
        <polyline class="te-rep-curve te-rep-chosen" points={chart.curves[run]} {...FIXED} />
      </Sketch>
      {onPick && chart.ends[run].map((end, i) => <Dot key={i} kind="end" at={end} />)}
      {value !== null && <Dot kind="now" at={at} data-step={step} data-value={value} />}
    </div>
  );
}

/** A word that is written; one that was not there before appears. */
const Written = ({ of: { text, isGood, isNew } }) => (
  <span ref={useAppearing(isNew)} class={classes("te-rep-word", isGood && "te-rep-good", isNew && "te-rep-new")}>
    {cut(text)}
  </span>
);
const NOTHING = { key: "", text: "(nothing)", isGood: false, isNew: false };

/** One moment: its step and loss, where it looks, what it writes. */
const Panel = ({ kind, of: { step, loss, text, was, line }, children }) => (
  <>
    <div class={`te-rep-caption te-rep-${kind}`}>
      <Dot kind={kind === "now" ? "now" : "end"} />
      <b>step {step}</b>
      <span data-fact={kind === "now" ? "loss" : undefined} data-value={loss} data-was={was}>
        loss {text}
      </span>
    </div>
    <div class={`te-rep-map te-rep-${kind}`}>{children}</div>
    <div class={`te-rep-writes te-rep-${kind}`}>
      <p class="te-rep-line" data-line={kind}>
        {(line.words.length ? line.words : [NOTHING]).map((word) => [<Written key={word.key} of={word} />, " "])}
        {line.isEndless && "…"}
        {line.isDone && <b class="te-rep-done">✓</b>}
      </p>
    </div>
  </>
);

/** A map without numbers, to compare with. @param {{kind: string, of: any}} props */
const End = ({ kind, of }) => (
  <Panel kind={kind} of={of}>
    <Sketch kind="te-rep-picture" viewBox={`0 0 ${of.squares.at(-1).x + 1} ${of.squares.at(-1).y + 1}`}>
      {of.squares.map((square, i) => (
        <rect key={i} {...square} />
      ))}
    </Sketch>
  </Panel>
);

const Plans = ({ runs, run, onChange, children }) => (
  <div class="te-rep-rates">
    <span class="te-note">learning rate</span>
    <Choice
      {...{ label: "Learning rate", kind: "te-rep-runs", value: run, onChange }}
      options={runs.map(({ name }, i) => ({
        value: i,
        label: name,
        text: [
          <Sketch key="line" kind="te-rep-swatch" viewBox="0 0 26 8">
            <line x1={0} x2={26} y1={4} y2={4} stroke-dasharray={dashOf(i)} />
          </Sketch>,
          name,
        ],
      }))}
    />
    {children}
  </div>
);

/** What stands beside the curve and the map follows right after the next frame. */
function Stage({ now, chart, go, choose }) {
  const { replay, run, names, cells, cell, value, step } = now;
  const rest = useRest(now);
  const ends = () => endsOf(rest).map((of, i) => <End key={i} kind={["start", "end"][i]} of={of} />);
  const [first, last] = useMemo(ends, [rest.run, rest.layer, rest.head]);
  return (
    <>
      <div class="te-rep-top">
        <Chart {...{ name: "loss", chart, run, step, value, onPick: (at) => go(nearestTo(replay, at)) }} />
        <Plans runs={replay.runs} run={run} onChange={choose}>
          <p class="te-note te-rep-goal">
            To translate: <b>{cut(names.columns.join(" "))}</b>. Yellow: where it looks.
          </p>
        </Plans>
      </div>
      <div class="te-rep-strip">
        {first}
        <Panel kind="now" of={rest.now}>
          <Matrix name="weights" {...{ label: MAP, ...names, cells, marks: { cell }, colour: cividis }} />
        </Panel>
        {last}
      </div>
    </>
  );
}

/** Other heads, how sure it is of each right word, the learning rate. */
const Folded = ({ now: { replay, run, now, rate, p, more }, chart, state: { layer, head, set } }) => (
  <>
    <Select
      label="attention of"
      value={`${layer} ${head}`}
      options={headsOf(replay)}
      onChange={(value) => set({ layer: Number(value.split(" ")[0]), head: Number(value.split(" ")[1]) })}
    />
    <p>
      <Said of={more} />
    </p>
    <div class="te-note">Probability of each right next word, given the right words before it:</div>
    <div class="te-rep-sure">
      {p.map(({ word, value, text }, i) => (
        <div key={i} class="te-rep-p" data-value={value}>
          <span>{cut(word)}</span>
          <span class="te-rep-track">
            <span class="te-rep-fill" style={{ width: `${100 * value}%` }} />
          </span>
          <span class="te-number">{text}</span>
        </div>
      ))}
    </div>
    <div class="te-note">
      {"Learning rate of this step: "}
      {rate === null ? "no step made yet" : <b {...{ "data-fact": "rate", "data-value": rate }}>{format(rate, 5)}</b>}
    </div>
    <Chart {...{ name: "rate", chart, run, step: now.step, value: rate }} />
  </>
);

function start(state, { root }) {
  const { loss, rate, floor } = chartsOf(state.replay);
  const { moments } = state.replay;
  const last = moments.length - 1;
  let now = null;
  const place = () => moments.indexOf(state.step);
  const go = (at) => at >= 0 && at <= last && at !== place() && state.set({ step: moments[at] });
  const choose = (run) => state.set({ run });
  const { element, stop } = player({ figure: root, at: place, last: () => last, go, wait: 600 });

  function view() {
    now = derive(state, now);
    const { at } = now;
    return {
      ...now,
      stage: <Stage {...{ now, go, choose }} chart={loss} />,
      controls: (
        <>
          <Kept make={() => ({ element: div("te-group", element) })} update={() => {}}>
            <Button off={at === 0} onClick={() => go(at - 1)}>
              Back
            </Button>
            <Button kind="primary" off={at === last} onClick={() => go(at + 1)}>
              Forward
            </Button>
          </Kept>
          <Slider label="step" min={0} max={last} value={at} show={(i) => String(moments[i])} onInput={go} />
        </>
      ),
      folded: <Folded {...{ now, state }} chart={rate} />,
    };
  }
  return {
    view,
    questions: questions(state),
    details: ["Other heads, probabilities, how it was measured", notesOf(state.replay, floor)],
    end: stop,
  };
}

export default figure({
  name: "training-replay",
  label: "Training replay",
  invite: ["press Play and follow the dot. Then choose another learning rate."],
  traits: ["replay", "step", "run", "layer", "head"],
  lines: 1,
  start,
});
