import {
  bold,
  button,
  div,
  fill,
  frame,
  gliding,
  h,
  paragraph,
  player,
  plural,
  select,
  setOff,
  slider,
  span,
  store,
  svg,
  toggle,
  whole,
} from "./core.js";

const TRAITS = /** @type {const} */ (["n", "d", "dilated", "step"]);
const [FEWEST, MOST] = [4, 64];
const SIZES = [32, 64, 128, 256, 512, 1024];
const KERNEL = 3;
const [WIDE, HIGH, FLOOR] = [640, 54, 34]; // a lane in its own units: hops above the floor, tokens below it
const TICKS = 24; // a race is played in about so many movements, however long the sentence is
/** A formula is not broken at the end of a line. */
const unbroken = (text) => text.replace(/ ([·/]) /g, "\u00a0$1\u00a0");

/**
 * A lane: after how many steps token n has heard of token 1; how many tokens have heard after `step` steps (those on
 * the left), how many are computed by then, and where the path from token 1 to token n is.
 * @typedef {{n: number, d: number, dilated: boolean}} Race
 * @typedef {(race: Race, step: number) => number} AtStep
 * @typedef {{name: string, title: string, how: string, dilated?: string, who: string[],
 *   finish: (race: Race) => number, heard: AtStep, computed: AtStep, path: AtStep}} Lane
 * @type {Lane[]}
 */
const LANES = [
  {
    name: "recurrent",
    title: "Recurrent layer",
    how: "plain, without gates; a step reads one token",
    who: ["the recurrent layer", "is"],
    finish: ({ n }) => n,
    heard: (_, step) => Math.max(step, 1),
    computed: ({ n }, step) => (step === 0 ? n : step),
    path: (_, step) => Math.max(step - 1, 0),
  },
  {
    name: "convolution",
    title: "Convolutions",
    how: "a step is a layer; each token sees its neighbours",
    dilated: "a step is a layer; each sees 1, 2, 4, 8 … places away",
    who: ["the convolutions", "are"],
    finish: ({ n, dilated }) => (dilated ? Math.ceil(Math.log2(n)) : n - 1),
    heard: ({ n, dilated }, step) => Math.min(n, dilated ? 2 ** step : step + 1),
    computed: ({ n }) => n,
    path: ({ n, dilated }, step) => (dilated ? (n - 1) % 2 ** step : step),
  },
  {
    name: "attention",
    title: "Self-attention",
    how: "a step is a layer; each token sees every token",
    who: ["attention", "is"],
    finish: () => 1,
    heard: ({ n }, step) => (step ? n : 1),
    computed: ({ n }) => n,
    path: ({ n }, step) => (step ? n - 1 : 0),
  },
];
const [recurrent, convolution, attention] = LANES;

/** What a whole layer costs: multiply-adds, the formula, and the paper's Table 1 for steps in a row, path, work. */
const COSTS = /** @type {[string, Lane, (race: Race) => number, string, string[]][]} */ ([
  ["recurrent, plain", recurrent, ({ n, d }) => 2 * n * d * d, "2 · n · d²", ["n", "n", "n · d²"]],
  ["recurrent, GRU", recurrent, ({ n, d }) => 6 * n * d * d, "6 · n · d²", ["n", "n", "n · d²"]],
  ["recurrent, LSTM", recurrent, ({ n, d }) => 8 * n * d * d, "8 · n · d²", ["n", "n", "n · d²"]],
  ["convolution", convolution, ({ n, d }) => KERNEL * n * d * d, `${KERNEL} · n · d²`, ["1", "n / k", "k · n · d²"]],
  [
    "self-attention",
    attention,
    ({ n, d }) => 4 * n * d * d + 2 * n * n * d,
    "4 · n · d² + 2 · n² · d",
    ["1", "1", "n² · d"],
  ],
]).map(([title, lane, cost, formula, orders]) => ({ title, lane, cost, formula, orders }));
const [plain, , lstm, , ours] = COSTS.map(({ cost }) => cost);

const upTo = (last) => Array.from({ length: last + 1 }, (_, step) => step);

/** The hops between these places up to the moment `t` (step 2.5: half of the third hop), and the point reached. */
function trail(places, t, n) {
  const x = (place) => ((place + 0.5) * WIDE) / n;
  let reached = [x(places[0]), FLOOR];
  let d = `M${reached.join(" ")}`;
  for (let step = 1; step < places.length && step - 1 < t; step += 1) {
    const share = Math.min(1, t - step + 1);
    const [from, to] = [x(places[step - 1]), x(places[step])];
    const top = 2 * Math.min(FLOOR - 5, 0.4 * (to - from)); // of the control point; the curve rises half as high
    const along = 2 * share * (1 - share);
    reached = [from + (to - from) * share, FLOOR - along * top];
    d += `Q${from + ((to - from) / 2) * share} ${FLOOR - top * share} ${reached.join(" ")}`;
  }
  return { d, reached };
}

/** One lane: a row of tokens, and the path from token 1 hopping over it. */
function laneOf(lane) {
  const cells = Array.from({ length: MOST }, (_, i) =>
    svg("rect", { x: i + 0.07, y: FLOOR + 3, width: 0.86, height: HIGH - FLOOR - 3, class: "te-race-cell te-glide" }),
  );
  const track = svg("g", {}, ...cells);
  const line = svg("path", { class: "te-race-path", "vector-effect": "non-scaling-stroke" });
  const runner = svg("path", { class: "te-race-runner", "vector-effect": "non-scaling-stroke" });
  const picture = svg(
    "svg",
    {
      class: "te-race-cells",
      viewBox: `0 0 ${WIDE} ${HIGH}`,
      preserveAspectRatio: "none",
      role: "img",
      focusable: "false",
    },
    track,
    line,
    runner,
  );
  const [how, told] = [span("te-note te-race-how"), bold()];
  const element = h(
    "div",
    { class: "te-race-lane", dataset: { lane: lane.name } },
    div("te-race-title", bold(lane.title), how, told),
    picture,
  );
  let places = [0];
  return {
    element,
    update(state) {
      const finish = lane.finish(state);
      const at = Math.min(state.step, finish);
      const [heard, computed] = [lane.heard(state, at), lane.computed(state, at)];
      const done = state.step >= finish;
      places = upTo(finish).map((step) => lane.path(state, step));
      track.setAttribute("transform", `scale(${WIDE / state.n} 1)`);
      cells.forEach((cell, i) => {
        const kind = i >= state.n ? "none" : i < heard ? "heard" : i < computed ? "computed" : "waiting";
        if (cell.dataset.kind !== kind) cell.dataset.kind = kind;
      });
      how.textContent = (state.dilated && lane.dilated) || lane.how;
      told.textContent = done ? `✓ ${plural(finish, "step")}` : `${heard} of ${state.n} have heard`;
      picture.setAttribute(
        "aria-label",
        `after ${plural(state.step, "step")}, ${heard} of ${state.n} tokens have heard of token 1`,
      );
      Object.assign(element.dataset, {
        heard: upTo(at)
          .map((step) => lane.heard(state, step))
          .join(" "),
        path: places.slice(0, at + 1).join(" "),
        done,
      });
    },
    run(t, n) {
      const { d, reached } = trail(places, Math.min(t, places.length - 1), n);
      line.setAttribute("d", d);
      runner.setAttribute("d", `M${reached.join(" ")}h0.01`);
    },
  };
}

/** A row for each layer: steps one after another, longest path, multiply-adds; O(…) as in the paper. */
function tableOf() {
  const rows = COSTS.map((one) => {
    const cells = one.orders.map(() => h("span", { role: "cell" }));
    const element = h("div", { role: "row" }, h("span", { role: "rowheader" }, one.title), ...cells);
    return { ...one, cells, element };
  });
  const heads = ["layer", "steps in a row", "longest path", "multiply-adds"];
  return {
    element: h(
      "div",
      { role: "table", "aria-label": "What a layer costs", class: "te-race-table" },
      h("div", { role: "row" }, ...heads.map((text) => h("span", { role: "columnheader" }, text))),
      ...rows.map((row) => row.element),
    ),
    update(state) {
      rows.forEach(({ lane, cost, formula, orders, cells }) => {
        const wait = lane === recurrent ? state.n : 1;
        [wait, lane.finish(state), cost(state)].forEach((value, i) => {
          const order = i === 1 && lane === convolution && state.dilated ? "log n" : orders[i];
          cells[i].dataset.value = String(value);
          fill(
            cells[i],
            bold(whole(value)),
            span("te-note", unbroken(i === 2 ? `${formula}; O(${order})` : `O(${order})`)),
          );
        });
      });
    },
  };
}

/** Where each lane is, in words. */
function progress(state) {
  if (state.step === 0) return "Before the first step only token 1 knows of token 1.";
  const parts = [...LANES].reverse().map((lane) => {
    const [finish, [name, verb]] = [lane.finish(state), lane.who];
    if (finish <= state.step) return `${name} arrived at step ${finish}`;
    return `${name} ${verb} at ${lane === recurrent ? "" : "token "}${lane.heard(state, state.step)}`;
  });
  return `After ${plural(state.step, "step")}: ${parts.join(", ")}.`;
}

/** What attention pays: 2 + n / d times a plain recurrent layer's work, an LSTM's only from n = 2 d on. */
function price(state) {
  const [beside, gated] = [plain, lstm].map((cost) => (ours(state) / cost(state)).toFixed(2));
  return `Attention pays ${beside} times the multiply-adds of this recurrent layer, ${gated} times an LSTM’s.`;
}

/** Questions about waiting, reach and work. */
function questions(state) {
  return [
    {
      ask: ["bring the convolutions to token 16 in 4 steps"],
      done: () => state.n >= 16 && convolution.finish(state) <= Math.min(4, state.step),
      tell: ["Each layer reaches twice as far: log₂ n layers, not n − 1."],
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
      done: () => ours(state) === lstm(state),
      tell: ["That is at n = 2d. In shorter sentences attention does less than an LSTM."],
      show: () => state.set({ n: 64, d: 32, step: Math.min(state.step, 64) }),
    },
  ].filter((one) => !one.done());
}

function render({ model, el }) {
  const figure = frame(el, {
    name: "path-length-racer",
    label: "Path-length racer",
    says: [""],
    invite: ["press Play: who is first at the last token? Then make the sentence longer."],
    rest: 500, // longer than a step of Play: only the rest is told
  });
  const state = store(model, TRAITS, draw);
  const lanes = LANES.map(laneOf);
  const table = tableOf();
  const last = span();
  const race = gliding(([t]) => lanes.forEach((lane) => lane.run(t, state.n)));
  const go = (step) => step >= 0 && step <= state.n && state.set({ step });
  const stride = () => Math.ceil(state.n / TICKS);
  const play = player({
    figure: figure.root,
    at: () => state.step,
    last: () => state.n,
    go: (step) => go(step < 2 ? step : Math.min(state.n, step - 1 + stride())),
    wait: 380,
  });
  const next = button("One step →", () => go(state.step + 1), { class: "te-button te-primary" });
  const bar = slider({
    label: "steps",
    min: 0,
    max: state.n,
    value: state.step,
    format: (step) => `${step} of ${state.n}`,
    onInput: go,
  });
  const length = slider({
    label: "tokens, n",
    min: FEWEST,
    max: MOST,
    value: state.n,
    onInput: (n) => state.set({ n, step: state.step === state.n ? n : Math.min(state.step, n) }),
  });
  const size = select({
    label: "size of a vector, d",
    value: String(state.d),
    options: SIZES.map((d) => ({ value: String(d), label: String(d) })),
    onChange: (d) => state.set({ d: Number(d) }),
  });
  const wide = toggle({
    label: ["dilated convolutions"],
    value: state.dilated,
    onChange: (dilated) => state.set({ dilated }),
  });
  const key = (kind, text) =>
    span(
      "te-race-key",
      svg(
        "svg",
        { viewBox: "0 0 1 1", "aria-hidden": "true" },
        svg("rect", { width: 1, height: 1, class: "te-race-cell", dataset: { kind } }),
      ),
      text,
    );
  const words = figure.words(3);
  let tabled;

  function draw() {
    const { n, step } = state;
    figure.says(`First word to last: recurrence ${n} steps, attention one`);
    lanes.forEach((lane) => lane.update(state));
    race.to([step]);
    const counted = `${n} ${state.d} ${state.dilated}`;
    if (counted !== tabled) table.update(state);
    tabled = counted;
    last.textContent = `token ${n}: the finish`;
    words.textContent = `${progress(state)} ${price(state)}`;
    [bar.input.max, length.input.value] = [String(n), String(n)];
    bar.set(step);
    length.set(n);
    size.set(String(state.d));
    wide.set(state.dilated);
    setOff(next, step === n);
    figure.tell(`${progress(state)}${state.dilated ? " The convolutions are dilated." : ""} ${price(state)}`);
  }

  figure.stage.append(
    ...lanes.map((lane) => lane.element),
    div("te-race-axis te-label", span("", "token 1"), span("", "place in the sentence →"), last),
    div(
      "te-race-legend te-label",
      key("heard", "has heard of token 1"),
      key("computed", "computed, has not heard"),
      key("waiting", "waits for the token before it"),
    ),
  );
  figure.controls.append(div("te-race-steps", play.element, next, bar.element), length.element, wide.element);
  draw();
  figure.ask(questions(state));
  figure.details(
    "What a layer costs, counted",
    size.element,
    table.element,
    paragraph(
      "te-note",
      unbroken(
        "Counted are the multiply-adds of whole layers, without biases, softmax and nonlinearities. Plain " +
          "recurrent: a matrix for the token and one for the state. A GRU has three such pairs, an LSTM four. " +
          "Convolution: one for each of k = 3 places. Attention: four projections, then scores and mixing, which " +
          "grow with n². O(…) is the paper’s Table 1: leading terms in n or d, without attention’s projections. " +
          "It gives O(log",
      ),
      h("sub", {}, "k"),
      unbroken("(n)) for dilated convolutions; O(n / k) for others is in its text."),
    ),
  );
  return () => {
    race.stop();
    play.stop();
    state.dispose();
  };
}

export default { render };
