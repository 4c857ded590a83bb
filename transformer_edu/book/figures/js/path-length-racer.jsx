import { div } from "./core/dom.js";
import { player } from "./core/motion.js";
import { Button, Choice, figure, Kept, Select, Slider, Toggle, useGlidingTo } from "./core/view.jsx";
import { derive, FEWEST, FLOOR, HIGH, MOST, SIZES, trail, unbroken, WIDE } from "./path-length-racer.derive.js";

const TICKS = 24; // a race is played in about so many movements, however long the sentence is
const PICTURE = {
  class: "te-race-cells",
  viewBox: `0 0 ${WIDE} ${HIGH}`,
  preserveAspectRatio: "none",
  focusable: "false",
};
const TOKEN = { y: FLOOR + 3, width: 0.86, height: HIGH - FLOOR - 3, class: "te-race-cell te-glide" };
const SIGNS = {
  heard: "has heard of token 1",
  new: "new",
  computed: "computed, has not heard",
  waiting: "waits for the token before it",
};
const HEADS = ["layer", "steps in a row", "longest path", "multiply-adds"];

/** The path from token 1, hopping over the tokens. */
function Path({ lane, n, step }) {
  const t = useGlidingTo(step);
  const { d, reached } = trail(lane.path, Math.min(t, lane.finish), n);
  return (
    <>
      <path class="te-race-path" vector-effect="non-scaling-stroke" d={d} />
      <path class="te-race-runner" vector-effect="non-scaling-stroke" d={`M${reached.join(" ")}h0.01`} />
    </>
  );
}

/** A lane; where the hops will be, a bet can be made before the first step. */
const Lane = ({ lane, n, step, stakes, onBet }) => (
  <div class="te-race-lane" data-lane={lane.name} data-done={lane.isDone}>
    <div class="te-race-title">
      <b>{lane.title}</b>
      <span class="te-note te-race-how">{lane.how}</span>
      <b>{lane.told}</b>
    </div>
    <svg {...PICTURE} role="img" aria-label={lane.label}>
      <g transform={`scale(${WIDE / n} 1)`}>
        {lane.kinds.map((kind, i) => (
          <rect key={i} x={i + 0.07} {...TOKEN} data-kind={kind} />
        ))}
      </g>
      <Path lane={lane} n={n} step={step} />
    </svg>
    {step === 0 && (
      <div class="te-race-bet te-note">
        your bet: arrives at step
        <Choice
          label={`at which step ${lane.who} will arrive`}
          value={lane.bet}
          options={stakes.map((value) => ({ value, text: String(value) }))}
          onChange={(bet) => onBet(lane.race, bet)}
        />
      </div>
    )}
  </div>
);

const Stage = ({ now: { lanes, stakes, now }, onBet }) => (
  <>
    {lanes.map((lane) => (
      <Lane key={lane.name} lane={lane} {...now} stakes={stakes} onBet={onBet} />
    ))}
    <div class="te-race-axis te-label">
      <span>token 1</span>
      <span>place in the sentence →</span>
      <span>{`token ${now.n}: the finish`}</span>
    </div>
    <div class="te-race-legend te-label">
      {Object.entries(SIGNS).map(([kind, means]) => (
        <span key={kind} class="te-race-key">
          <svg viewBox="0 0 1 1" aria-hidden="true">
            <rect width={1} height={1} class="te-race-cell" data-kind={kind} />
          </svg>
          {means}
        </span>
      ))}
    </div>
  </>
);

const Table = ({ rows }) => (
  <div role="table" aria-label="What a layer costs" class="te-race-table">
    <div role="row">
      {HEADS.map((text) => (
        <span key={text} role="columnheader">
          {text}
        </span>
      ))}
    </div>
    {rows.map(({ title, cells }) => (
      <div key={title} role="row">
        <span role="rowheader">{title}</span>
        {cells.map(({ value, text, note, was }, i) => (
          <span key={HEADS[i]} role="cell" data-value={value}>
            <b>{text}</b>
            <span class="te-note">{note}</span>
            {was && <span class="te-race-was">{was}</span>}
          </span>
        ))}
      </div>
    ))}
  </div>
);

const NOTES =
  "Counted are the multiply-adds of whole layers, without biases, softmax and nonlinearities. Plain recurrent: a matrix " +
  "for the token and one for the state. A GRU has three such pairs, an LSTM four. Convolution: one for each of k = 3 " +
  "places. Attention: four projections, then scores and mixing, which grow with n². O(…) is the paper’s Table 1: leading " +
  "terms in n or d, without attention’s projections. It gives O(log n), to the base k, for dilated convolutions; " +
  "O(n / k) for others is in its text.";

/** Questions about waiting, reach and work; those that are answered already are left out. */
const questions = (state, now) =>
  [
    {
      ask: ["bring the convolutions to token 16 in 4 steps"],
      done: () => state.n >= 16 && now().lanes[1].finish <= Math.min(4, state.step),
      tell: ["Each layer reaches twice as far: log₂ n layers, not n\u00a0−\u00a01."],
      show: () => state.set({ n: 16, dilated: true, step: 4 }),
    },
    {
      ask: ["let the recurrent layer run 64 steps"],
      done: () => state.step === MOST,
      tell: ["Attention still takes one step. What grows for it is the work, with n²."],
      show: () => state.set({ n: MOST, step: MOST }),
    },
    {
      ask: ["make attention’s work equal an LSTM’s? (d is in the table below)"],
      done: () => now().prices[1] === 1,
      tell: ["That is at n = 2d. In shorter sentences attention does less than an LSTM."],
      show: () => state.set({ n: 64, d: 32, step: Math.min(state.step, 64) }),
    },
  ].filter((one) => !one.done());

function start(state, { root, draw }) {
  let [now, bets] = [null, {}];
  const go = (step) => state.set({ step });
  const { element, stop } = player({
    figure: root,
    at: () => state.step,
    last: () => state.n,
    go: (step) => go(step < 2 ? step : Math.min(state.n, step - 1 + Math.ceil(state.n / TICKS))),
    wait: 380,
  });
  const onBet = (race, steps) => {
    bets = { ...bets, [race]: steps };
    draw();
  };

  function view() {
    now = derive(state, bets, now);
    const { n, d, dilated, step } = state;
    const resize = (to) => state.set({ n: to, step: step === n ? to : Math.min(step, to) });
    return {
      ...now,
      stage: <Stage now={now} onBet={onBet} />,
      controls: (
        <>
          <Kept make={() => ({ element: div("te-race-steps", element) })} update={() => {}}>
            <Button kind="primary" off={step === n} onClick={() => go(step + 1)}>
              One step →
            </Button>
            <Slider label="steps" min={0} max={n} value={step} show={(at) => `${at} of ${n}`} onInput={go} />
          </Kept>
          <Slider label="tokens, n" min={FEWEST} max={MOST} value={n} onInput={resize} />
          <Toggle label="dilated convolutions" value={dilated} onChange={(on) => state.set({ dilated: on })} />
        </>
      ),
      folded: (
        <>
          <Select
            label="size of a vector, d"
            value={String(d)}
            options={SIZES.map((size) => ({ value: String(size), label: String(size) }))}
            onChange={(size) => state.set({ d: Number(size) })}
          />
          <Table rows={now.table} />
        </>
      ),
    };
  }
  return {
    view,
    questions: questions(state, () => now ?? derive(state)),
    details: ["What a layer costs, counted", unbroken(NOTES)],
    end: stop,
  };
}

export default figure({
  name: "path-length-racer",
  label: "Path-length racer",
  invite: ["bet how many steps each layer takes, press Play, then make the sentence longer."],
  rest: 500, // longer than a step of Play: only the rest is told
  traits: ["n", "d", "dilated", "step"],
  lines: 3,
  start,
});
