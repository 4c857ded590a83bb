import { whole } from "./core/format.js";
import { clamp } from "./core/math.js";
import { Choice, classes, figure, Select, Slider } from "./core/view.jsx";
import { CHOICES, derive, SCALINGS } from "./rotary-explorer.derive.js";

const KINDS = ["query", "key"];
const turnedBy = (degrees) => ({ transform: `rotate(${degrees}deg)` });
/** The sector from the key's hand to the query's, where the key's points up. */
const sector = (angle) =>
  `M0 0V-0.5A0.5 0.5 0 0 ${Number(angle > 0)} ${0.5 * Math.sin(angle)} ${-0.5 * Math.cos(angle)}Z`;

/** Two hands, as long as their pairs; thin, where they were before. */
const Clock = ({ of: { hands, old, near } }) => (
  <svg class="te-rot-face" viewBox="-1.06 -1.06 2.12 2.12" aria-hidden="true" focusable="false">
    <circle r={1} class="te-rot-rim" />
    <path d={sector(near)} class="te-rot-sector te-glide" style={turnedBy(hands[1].drawn)} />
    {hands.map(({ size, drawn }, n) => [
      old && <line key={n} class={`te-rot-old te-rot-${KINDS[n]}`} y2={-size} style={turnedBy(old[n])} />,
      <line key={KINDS[n]} class={`te-glide te-rot-${KINDS[n]}`} y2={-size} style={turnedBy(drawn)} />,
    ])}
  </svg>
);

/** A pair: its clock, what it adds to the score, how often it turns in training and in what is read. */
const Pair = ({ of, i }) => (
  <div class={classes("te-rot-pair", of.newFrom !== null && "te-rot-far")} role="group" aria-label={`pair ${i}`}>
    <b>pair {i}</b>
    <Clock of={of} />
    <span>{of.cosine}</span>
    <b class="te-rot-product" data-value={of.product} data-was={of.was}>
      {of.text}
    </b>
    <span>{of.turns}</span>
    <span class="te-rot-sign">{of.newFrom === null ? "✓ no new angle" : `▲ new from ${whole(of.newFrom)}`}</span>
  </div>
);

/** The score against the distance, with a sign where angles begin that training never showed. */
const Chart = ({ now: { curve, old, dot, newFrom, now, score } }) => (
  <div class="te-rot-chart">
    {newFrom !== null && (
      <div class="te-rot-unseen" style={{ left: `${(100 * newFrom) / now.read}%` }}>
        <span>{`▲ angles never trained, from ${whole(newFrom)} on`}</span>
      </div>
    )}
    <svg viewBox="0 0 100 100" preserveAspectRatio="none" aria-hidden="true" focusable="false">
      <line x2={100} y1={50} y2={50} />
      <polygon points={curve.band} />
      {old && <polyline class="te-rot-before" points={old} />}
      <polyline points={curve.line} />
    </svg>
    <span class="te-rot-dot" style={{ left: `${dot[0]}%`, top: `${dot[1]}%` }} data-value={score} />
    {[0, 0.25, 0.5, 0.75, 1].map((share) => (
      <span key={share} class="te-rot-tick" style={{ left: `${100 * share}%` }}>
        {whole(share * now.read)}
      </span>
    ))}
    <span class="te-rot-zero">0</span>
  </div>
);

/** @param {{now: any}} props */
const Stage = ({ now }) => (
  <>
    <div class="te-rot-top">
      {KINDS.map((kind) => (
        <b key={kind} class={`te-rot-name-${kind}`}>{`${kind} at ${whole(now.now[kind])}`}</b>
      ))}
      <span>
        {"sum = score = "}
        <b {...{ "data-fact": "score", "data-value": now.score, "data-was": now.was }}>{now.text}</b>
      </span>
    </div>
    <div class="te-rot-pairs">
      {now.pairs.map((of, i) => (
        <Pair key={i} of={of} i={i} />
      ))}
    </div>
    <div class="te-note">Turns: in training → in what is read. Below: the score against the distance.</div>
    <Chart now={now} />
  </>
);

/** What can be tried. */
function questions(state, now) {
  const [query, distance] = [state.query, state.query - state.key];
  const to = query < 1000 ? query + 1000 : query - 500;
  const scaled = (scaling) => state.set({ scaling, ...(state.read > state.trained ? {} : { trained: 512 }) });
  const isKnown = () => state.read > state.trained && !now().beyond.length;
  return [
    {
      ask: ["move query and key by 100 or more without another score"],
      done: () => state.query - state.key === distance && Math.abs(state.query - query) >= 100,
      tell: ["Both hands of a pair turn by the same angle, so the cosine between them stays."],
      show: () => state.set({ query: Math.max(to, distance), key: Math.max(to - distance, 0) }),
    },
    {
      ask: ["find a scaling with which no pair turns further than in training"],
      done: () => isKnown() && state.scaling !== "none",
      tell: ["Linear squeezes all positions; YaRN only slows down the pairs that would go further."],
      show: () => scaled("linear"),
    },
    {
      ask: ["read further without a new angle, the fastest pair as fast as it was"],
      done: () => isKnown() && now().speeds.own[0] === now().speeds.scaled[0],
      tell: ["It tells neighbours apart as before, and the slow pairs stay within what they know."],
      show: () => scaled("yarn"),
    },
  ];
}

function start(state) {
  let now = null;
  const move = (query, key) => state.set({ query, key: clamp(key, 0, query) });
  function change(changes) {
    const query = Math.min(state.query, (changes.read ?? state.read) - 1);
    state.set(query === state.query ? changes : { ...changes, query, key: Math.min(state.key, query) });
  }
  const slide = (label, value, max, onInput) => <Slider {...{ label, value, max, onInput, min: 0, show: whole }} />;

  function view() {
    now = derive(state, now);
    const { query, key, read, scaling } = state;
    return {
      ...now,
      stage: <Stage now={now} />,
      controls: (
        <>
          <div class="te-rot-sliders">
            {slide("move both", key, read - 1 - query + key, (to) => move(to + query - key, to))}
            {slide("query", query, read - 1, (to) => move(to, key))}
            {slide("key", key, query, (to) => move(query, to))}
          </div>
          {CHOICES.map(([name, label, sizes]) => (
            <Select
              key={name}
              {...{ label, value: String(state[name]) }}
              options={sizes.map((size) => ({ value: String(size), label: whole(size) }))}
              onChange={(size) => change({ [name]: Number(size) })}
            />
          ))}
          <div class="te-group">
            <span class="te-label">scaling</span>
            <Choice
              {...{ label: "scaling", value: scaling }}
              options={Object.entries(SCALINGS).map(([value, text]) => ({ value, text }))}
              onChange={(to) => change({ scaling: to })}
            />
          </div>
        </>
      ),
    };
  }
  return { view, questions: questions(state, () => now ?? derive(state)), details: NOTES };
}

const NOTES = [
  "The formulas, and what is drawn",
  "Numbers 2i and 2i + 1 of a query and of a key are a hand: the first points up, the second to the right. At position p " +
    "it is turned by p · θᵢ, θᵢ = base^(−2i / 12): Su and others (2021). A layer divides the score by √12. Query and key " +
    "are made up; real heads have 32 pairs or more. A pair that made a whole turn in training has stood at every angle.",
  "With f = to read / trained with: linear, θᵢ / f (Chen and others, 2023). NTK, θᵢ · f^(−i / 5). YaRN (Peng and others, " +
    "2023): pairs of more than 32 turns in training stay, those of less than one become θᵢ / f, between them a ramp; " +
    "queries and keys are multiplied by 0.1 ln f + 1. The curve is smoothed; the band is how far it swings, at most.",
];

export default figure({
  name: "rotary-explorer",
  label: "Rotary positions: a query and a key, turned pair by pair",
  invite: ["press the arrow keys on “move both”: all hands turn, no product changes. Then choose a scaling."],
  traits: ["query", "key", "base", "trained", "read", "scaling", "vectors"],
  start,
});
