import { plural } from "./core/format.js";
import { Button, classes, figure, Said, Select, useAppearing } from "./core/view.jsx";
import { derive, guess, left, namedByOne, patientsOf, shortest } from "./symptom-finder.derive.js";

const anyOf = (all) => all[Math.floor(Math.random() * all.length)];
const isNow = (one, { symptom, patient }) => one.symptom === symptom && one.patient === patient;

/** Both losses over the steps: the healthy one dashed, the patient's strong. */
const Curves = ({ chart: { levels, steps, mine, healthy, note } }) => (
  <div>
    <div class="te-sym-chart" aria-hidden="true">
      {Object.entries(levels).map(([text, level]) => (
        <div key={text} class="te-sym-level" style={{ top: `${level}%` }}>
          <span>{text}</span>
        </div>
      ))}
      <svg viewBox="0 0 300 100" preserveAspectRatio="none" aria-hidden="true" focusable="false">
        <polyline class="te-sym-healthy" points={healthy} />
        <polyline class="te-sym-patient" points={mine} />
      </svg>
      <span class="te-sym-steps">{steps}</span>
    </div>
    <p class="te-note">
      <Said of={note} />
    </p>
  </div>
);

/** A suspect that a click names; who is ruled out is struck through. */
const Suspect = ({ of: { name, isOut, isNew, isRight, sign }, onName }) => (
  <Button
    kind={classes("sym-suspect te-glide", isOut && "te-sym-out", isNew && "te-sym-new", isRight && "te-sym-right")}
    onClick={onName}>
    <span aria-hidden="true">{sign}</span>
    <span class="te-hidden">It is: </span>
    {isOut ? <s>{name}</s> : name}
    {isOut && <span class="te-hidden"> (ruled out)</span>}
  </Button>
);

/** An experiment that a click plays; its number stands beside the healthy model's. */
const Experiment = ({ of: { name, asks, isPlayed, isNew, isOff, value, here, healthy }, onPlay }) => (
  <div class={classes("te-sym-row", isNew && "te-sym-new")}>
    <Button kind="sym-play" off={isPlayed} onClick={onPlay}>
      {name}
    </Button>
    <span>{asks}</span>
    <b class={classes("te-number", isOff && "te-sym-off")} data-value={value}>
      {here}
    </b>
    <span class="te-number">{healthy}</span>
  </div>
);

/** The line at fault, its mending, and why. */
const Mending = ({ of: { wrong, right, why } }) => (
  <div ref={useAppearing(true)}>
    <code class="te-sym-code te-sym-wrong">{wrong}</code>
    <code class="te-sym-code">{right}</code>
    <p class="te-note">{why}</p>
  </div>
);

const Stage = ({ now, state, all, open }) => (
  <>
    <div class="te-controls">
      <Select
        label="You see:"
        value={String(state.symptom)}
        options={state.shown.symptoms.map(({ name }, i) => ({ value: String(i), label: name }))}
        onChange={(at) => open(anyOf(all.filter(({ symptom }) => symptom === Number(at))))}
      />
      <Button onClick={() => open(anyOf(all.filter((one) => !isNow(one, state))))}>Another patient</Button>
      <p class="te-sym-score">
        <b data-value={now.right}>{now.score}</b> right at first guess
      </p>
    </div>
    <div class="te-sym-top">
      <p class="te-sym-sees">{now.sees}</p>
      <Curves chart={now.chart} />
      <p class="te-note">Suspects. Name one:</p>
      <div class="te-sym-suspects">
        {now.listed.map((one, i) => (
          <Suspect key={i} of={one} onName={() => state.set(guess(state, i))} />
        ))}
      </div>
    </div>
    <div class="te-sym-table">
      <div class="te-sym-row te-sym-head">
        {["experiment", "what it measures", "here", "healthy"].map((text) => (
          <span key={text}>{text}</span>
        ))}
      </div>
      {now.table.map((one, i) => (
        <Experiment key={i} of={one} onPlay={() => state.set({ played: [...state.played, i] })} />
      ))}
    </div>
    <div class="te-sym-line">
      {now.mending ? (
        <Mending of={now.mending} />
      ) : (
        <p class="te-note">The line at fault and its mending stand here when you have named the bug.</p>
      )}
    </div>
  </>
);

function start(state) {
  const { bugs, steps, sentences } = state.shown;
  const all = patientsOf(state.shown);
  const open = (changes) => state.set({ played: [], named: null, ...changes });
  const isLast = () => left(state, state.played).length === 1;
  function view() {
    const now = derive(state);
    return { ...now, stage: <Stage now={now} state={state} all={all} open={open} /> };
  }
  return {
    view,
    questions: [
      {
        ask: ["name it after three experiments or fewer"],
        done: () => state.named === state.patient && state.played.length <= 3 && isLast(),
        tell: ["What differs among the suspects helps, not what is off."],
        show: () => open({ played: shortest(state), named: state.patient }),
      },
      {
        ask: ["let one experiment name a bug"],
        done: () => state.played.length === 1 && isLast(),
        tell: ["One number that only this suspect has is enough."],
        show: () => open(namedByOne(state)),
      },
    ],
    details: [
      "How it was measured",
      `${plural(bugs.length, "bug")}, each one line in the same small translator ` +
        `(two decoder layers, one encoder layer, d_model 32), trained for ${steps} steps from the same seed. ` +
        `The experiments are the same for all, on ${sentences} unseen sentences or a few of them. A suspect ` +
        "goes when its recorded outcome is of another kind than the patient's: as in the healthy model, below it, " +
        "above it, or no number.",
    ],
  };
}

export default figure({
  name: "symptom-finder",
  label: "Symptom finder",
  invite: ["play an experiment, watch which suspects go, and name the bug when one is left."],
  traits: ["shown", "symptom", "patient", "played", "named", "guesses"],
  lines: 1,
  start,
});
