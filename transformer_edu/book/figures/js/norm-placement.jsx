import { diverging } from "./core/colour.js";
import { Button, Choice, classes, figure, Matrix, Said, Slider, useGlidingAll } from "./core/view.jsx";
import * as layer from "./norm-placement.derive.js";

const { derive, drawn, END, MAIN, MOST_LAYERS, NAMES, NETWORKS, PLACEMENTS, pulseOf, round, START, straight, TOP } =
  layer;
const FORMULAS = { post: "Norm(x + Sub(x))", pre: "x + Sub(Norm(x))", none: "Norm(Sub(x))" };
const MEASURES = Object.entries({ signal: "signal back", length: "length", likeness: "likeness" });
const colour = (value) => diverging(value / 3);
const at = (x, y) => ({ left: `${x}%`, top: `${y}%` });

/** A pulse on its way, and what it is at each place. */
const Pulse = ({ of: { legs, places, title } }) => (
  <g class="te-place-pulse">
    <text x={2} y={20}>
      {title}
    </text>
    {legs.map(({ path, delay }) => (
      <circle key={path} r={6} style={{ offsetPath: `path("${path}")`, animationDelay: `${delay}ms` }} />
    ))}
    {places.map(({ gap, x, y, value, text, delay }) => (
      <text key={gap} x={x + 8} y={y + 5} data-value={value} data-gap={gap} style={{ animationDelay: `${delay}ms` }}>
        {text}
      </text>
    ))}
  </g>
);

/** The drawing of one layer; the norm glides to its place. */
function Wiring({ heights, pulse, sent }) {
  const [sub, norm, plus, there] = useGlidingAll(heights);
  const boxes = Object.entries({ "sub-layer": sub, norm });
  return (
    <svg viewBox="0 0 140 256" class="te-place-circuit" aria-hidden="true" focusable="false">
      <path d={straight(TOP, END)} class="te-place-wire" />
      <path
        d={there ? round(START, plus) + straight(plus, END) : ""}
        class="te-place-residual"
        style={{ opacity: there }}
      />
      <path d={`M ${MAIN - 7} ${END} l 7 9 l 7 -9`} class="te-place-wire" />
      <circle cx={MAIN} cy={START} r={5} class="te-place-dot" />
      {boxes.map(([name, y]) => (
        <g key={name} class={`te-place-${name}`} transform={`translate(${MAIN} ${y})`}>
          <rect x={-43} y={-16} width={86} height={32} rx={7} class="te-place-box" />
          <text y={5}>{name}</text>
        </g>
      ))}
      {there > 0 && (
        <g transform={`translate(${MAIN} ${plus})`} style={{ opacity: there }}>
          <circle r={13} class="te-place-box" />
          <text y={5}>+</text>
        </g>
      )}
      {pulse && <Pulse key={sent} of={pulse} />}
    </svg>
  );
}

/** Three curves, each the way it is gone: the stream forward, the signal backward; where one ends, its name. */
function Plot({ of: { points, ticks, names, fall, begun, ends } }) {
  const { paths, right, start, end, heights } = drawn(useGlidingAll(points));
  return (
    <div class="te-place-plot" aria-hidden="true">
      <svg viewBox="0 0 100 100" preserveAspectRatio="none" aria-hidden="true" focusable="false">
        {ticks.map(({ y, text }) => (
          <path key={text} d={`M 0 ${y} H 100`} class="te-place-line" />
        ))}
        <path class="te-place-curve te-place-fall" d={fall} />
        {names.map(({ of, isChosen }, k) => (
          <path
            key={of}
            class={classes("te-place-curve", `te-place-of-${of}`, isChosen && "te-place-chosen")}
            d={paths[k]}
          />
        ))}
      </svg>
      {ticks.map(({ y, text }) => (
        <span key={text} class="te-place-tick" style={{ top: `${y}%` }}>
          {text}
        </span>
      ))}
      {names.map(
        ({ of, was }) =>
          was && (
            <div
              key={of}
              class={`te-place-was te-place-name-${of}`}
              style={at(right, was.y)}
              title={`was ${was.text}`}
            />
          ),
      )}
      <div class="te-place-dot-start" style={at(0, start)} />
      <div class="te-place-dot-end" style={at(right, end)} />
      {begun && (
        <div class="te-place-why">
          pre-norm begins at {begun}: <br />
          its last norm takes the rest
        </div>
      )}
      {names.map(({ of, value, text, isChosen }, k) => (
        <span
          key={of}
          class={classes("te-place-end", `te-place-name-${of}`, isChosen && "te-place-chosen")}
          data-value={value}
          style={at(right, heights[k])}>
          {text}
        </span>
      ))}
      <span class="te-place-from">{[ends[0], names.some(({ was }) => was) && ", ○ before"]}</span>
      <span class="te-place-to" style={at(right, 100)}>
        {ends[1]}
      </span>
    </div>
  );
}

/** What a placement is called, with a piece of its curve. */
const Name = ({ of }) => (
  <>
    <span class="te-place-name">
      <svg viewBox="0 0 30 8" width={30} height={8} aria-hidden="true">
        <path d="M 0 4 L 30 4" class={`te-place-curve te-place-of-${of}`} />
      </svg>
      {NAMES[of]}
    </span>
    <span class="te-place-formula">{FORMULAS[of]}</span>
  </>
);

const Controls = ({ state: { placement, depth, layer, measure, set }, onPulse }) => (
  <>
    <Choice
      label="Placement of the norm"
      kind="te-place-choice"
      value={placement}
      onChange={(placement) => set({ placement })}
      options={PLACEMENTS.map((value) => ({
        value,
        label: `${NAMES[value]}: ${FORMULAS[value]}`,
        text: <Name of={value} />,
      }))}
    />
    <Slider
      {...{ label: "layers", min: 1, max: MOST_LAYERS, value: depth }}
      onInput={(depth) => set({ depth, layer: Math.min(layer, depth) })}
    />
    <Button onClick={onPulse}>▶ Pulse</Button>
    <Choice
      label="What the chart shows"
      value={measure}
      onChange={(measure) => set({ measure })}
      options={MEASURES.map(([value, text]) => ({ value, text }))}
    />
  </>
);

/** The numbers of one layer, folded. */
const Folded = ({ now: { taps, alone }, state: { layer, depth, network, set } }) => (
  <>
    <div class="te-group te-place-which">
      <Slider {...{ label: "layer", min: 1, max: depth, value: layer }} onInput={(layer) => set({ layer })} />
      <Button onClick={() => set({ network: (network % NETWORKS) + 1 })}>Another network</Button>
    </div>
    <span class="te-note">
      <Said of={taps.which} />
    </span>
    <div class="te-place-taps">
      <Matrix
        key={taps.placement}
        {...{ name: "taps", label: "The vector at each place in the layer", ...taps, colour, showColumns: false }}
      />
    </div>
    <p class="te-note">{alone}</p>
  </>
);

const questions = (state, now) => [
  {
    ask: ["get less than a tenth of the learning signal to the first layer"],
    done: () => state.measure === "signal" && now().mine[0] < 0.1,
    tell: ["Without a residual connection it has to pass every sub-layer, and each takes some of it."],
    show: () => state.set({ placement: "none", depth: MOST_LAYERS, measure: "signal" }),
  },
  {
    ask: ["make the stream more than twice as long as it began"],
    done: () => state.measure === "length" && now().mine.at(-1) > 2 * now().mine[0],
    tell: ["In pre-norm every layer adds and no norm shortens, so one more norm stands at the very end."],
    show: () => state.set({ placement: "pre", depth: MOST_LAYERS, measure: "length" }),
  },
  {
    ask: ["make two different tokens all but the same, with a cosine above 0.99"],
    done: () => state.measure === "likeness" && now().mine.at(-1) > 0.99,
    tell: ["The norm keeps their length and not their difference; that, the residual connection carried."],
    show: () => state.set({ placement: "none", depth: MOST_LAYERS, measure: "likeness" }),
  },
];

function start(state, { draw }) {
  let [now, sent, pulsed] = [null, 0, ""]; // `pulsed`: the state in which a pulse was sent, which stays until another

  function onPulse() {
    [sent, pulsed] = [sent + 1, now.key];
    draw();
  }

  function view() {
    now = derive(state, now);
    const pulse = pulsed === now.key ? pulseOf(state, now) : null;
    return {
      ...now,
      told: now.told + (pulse?.told ?? ""),
      stage: (
        <div class="te-place-stage">
          <Wiring {...{ heights: now.wiring, pulse, sent }} />
          <div class="te-place-chart" data-chart={state.measure}>
            <div class="te-place-title">
              <Said of={now.chart.heading} />
            </div>
            <Plot of={now.chart} />
          </div>
        </div>
      ),
      controls: <Controls state={state} onPulse={onPulse} />,
      folded: <Folded now={now} state={state} />,
    };
  }
  return {
    view,
    questions: questions(state, () => now),
    details: [
      "One layer’s numbers, and how this is measured",
      `Curves are medians of ${NETWORKS} random networks; each layer is one feed-forward sub-layer with its norm. The ` +
        "learning signal is the length of ∂loss/∂stream, for a loss whose gradient has length 1 at the output. Pre-norm " +
        "has one more norm behind its last layer. A pulse’s numbers are medians, too, in the layer chosen here.",
    ],
  };
}

export default figure({
  name: "norm-placement",
  label: "Where the norm stands",
  invite: ["choose pre-norm and send a pulse, then take the layers from 24 to 6."],
  traits: ["placement", "depth", "layer", "network", "measure", "tokens", "x"],
  start,
});
