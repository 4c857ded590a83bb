import { announcer, bold, button, div, fill, h, mount, paragraph, plural, select, setOff, slider, span, store, svg,
  toggle, whole } from "./core.js";

const TRAITS = ["n", "d", "dilated", "step"];
const [FEWEST, MOST] = [4, 64];
const SIZES = [32, 64, 128, 256, 512, 1024];
const KERNEL = 3;
/** A formula is not broken at the end of a line. */
const unbroken = (text) => text.replace(/ ([·/]) /g, "\u00a0$1\u00a0");

/**
 * A lane: after how many steps token n has heard of token 1, how many tokens have heard after `step` steps (those on
 * the
 * left), how many are computed by then, where the shortest path is, the multiply-adds of a whole layer, and the paper's
 * Table 1.
 */
const LANES = [{
  name: "recurrent",
  who: "the recurrent layer",
  step: "one token",
  finish: ({ n }) => n,
  heard: (_, step) => Math.max(step, 1),
  computed: ({ n }, step) => (step === 0 ? n : step),
  path: (_, step) => Math.max(step - 1, 0),
  sequential: ({ n }) => n,
  cost: ({ n, d }) => 2 * n * d * d,
  orders: () => ["n", "n", "n · d²"],
}, {
  name: "convolution",
  who: "the convolutions",
  step: "one layer",
  finish: ({ n, dilated }) => (dilated ? Math.ceil(Math.log2(n)) : n - 1),
  heard: ({ n, dilated }, step) => Math.min(n, dilated ? 2 ** step : step + 1),
  computed: ({ n }) => n,
  path: ({ n, dilated }, step) => (dilated ? (n - 1) % 2 ** step : step),
  sequential: () => 1,
  cost: ({ n, d }) => KERNEL * n * d * d,
  orders: ({ dilated }) => ["1", dilated ? "log n" : "n / k", "k · n · d²"],
}, {
  name: "attention",
  who: "attention",
  step: "everything",
  finish: () => 1,
  heard: ({ n }, step) => (step ? n : 1),
  computed: ({ n }) => n,
  path: ({ n }, step) => (step ? n - 1 : 0),
  sequential: () => 1,
  cost: ({ n, d }) => 4 * n * d * d + 2 * n * n * d,
  orders: () => ["1", "1", "n² · d"],
}, ];

/** Squares of one size in one path: thousands of cells are three elements. */
const squares = (cells, size) => cells.map(
  ([row, column]) => `M${column + 0.5 - size / 2} ${row + 0.5 - size / 2}h${size}v${size}h${-size}z`
).join("");

/** The cells of a lane: a row for each step, a column for each token. */
function cellsOf(lane, state, rows) {
  const kinds = { heard: [], computed: [], waiting: [] };
  for (let row = 0; row <= rows; row += 1) {
    const [heard, computed] = [lane.heard(state, row), lane.computed(state, row)];
    for (let column = 0; column < state.n; column += 1) {
      const kind = column < heard ? "heard" : column < computed ? "computed" : "waiting";
      kinds[kind].push([row, column]);
    }
  }
  return kinds;
}

/** One lane: its picture, and a line under the last row that says how far it is. */
function laneOf(lane) {
  const picture = svg("svg", { class: "te-race-cells", role: "img", focusable: "false" });
  const line = div("te-race-line");
  const last = span();
  const element = h("div", { class: "te-race-lane", dataset: { lane: lane.name } },
    div("te-race-title", bold(lane.name), span("te-note", `a step: ${lane.step}`)),
    h("div", { class: "te-race-ends te-label", "aria-hidden": "true" }, span("", "token 1"), last),
    div("te-race-box", picture, line));
  return {
    element,
    update(state) {
      const { n, step } = state;
      const finish = lane.finish(state);
      const rows = Math.min(step, finish);
      const done = step >= finish;
      const kinds = cellsOf(lane, state, rows);
      const steps = Array.from({ length: rows + 1 }, (_, row) => row);
      const points = steps.map((row) => `${lane.path(state, row) + 0.5},${row + 0.5}`).join(" ");
      last.textContent = String(n);
      picture.setAttribute("viewBox", `0 0 ${n} ${n + 1}`);
      picture.setAttribute(
        "aria-label",
        `${lane.name}: after ${plural(step, "step")}, ${lane.heard(state, rows)} of ${n} tokens have heard of token 1.`,
      );
      fill(picture, svg("path", { d: squares(kinds.waiting, 0.16), class: "te-race-waiting" }),
        svg("path", { d: squares(kinds.computed, 0.42), class: "te-race-computed" }),
        svg("path", { d: squares(kinds.heard, 0.86), class: "te-race-heard" }),
        ...["te-race-under", "te-race-path"].map(
          (name) => svg("polyline", { points, class: name, "vector-effect": "non-scaling-stroke" })
        ));
      Object.assign(element.dataset, { heard: steps.map((row) => lane.heard(state, row)).join(" "), finish, done });
      line.style.top = `${(100 * (rows + 1)) / (n + 1)}%`;
      fill(line, bold(done ? `✓ ${plural(finish, "step")}` : `${lane.heard(state, rows)} of ${n} tokens`));
    },
  };
}

/** The paper's three measures for this n and d, its O(…) beneath each number. */
function tableOf() {
  const rows = ["steps in a row, one layer", "longest path, 1 to n", "multiply-adds, one layer"].map(
    (title) => ({ title, cells: LANES.map(() => h("div", { role: "cell" })) })
  );
  const element = h("div", { role: "table", "aria-label": "What a layer costs", class: "te-race-table" },
    h("div", { role: "row", class: "te-race-head" },
      h("span", { role: "columnheader", class: "te-hidden" }, "measure"),
      ...LANES.map((lane) => h("b", { role: "columnheader" }, lane.name)),
    ),
    ...rows.map(({ title, cells }) => h("div", { role: "row" }, h("div", { role: "rowheader" }, title), ...cells)));
  return {
    element,
    update(state) {
      const most = Math.max(...LANES.map((lane) => lane.cost(state)));
      LANES.forEach((lane, column) => {
        [lane.sequential(state), lane.finish(state), lane.cost(state)].forEach((value, row) => {
          const cell = rows[row].cells[column];
          cell.dataset.value = String(value);
          const order = lane.orders(state)[row];
          fill(cell, bold(whole(value)), span("te-note", `O(${order})`),
            row === 2 ? h("span", { class: "te-race-track", "aria-hidden": "true" },
              h("span", { class: "te-race-bar", style: { width: `${(100 * value) / most}%` } })
            ) : null);
        });
      });
    },
  };
}

/** Where each lane is, in words. */
function progress(state) {
  const parts = LANES.map((lane) => {
    const finish = lane.finish(state);
    return finish <= state.step
      ? `${lane.who} arrived at step ${finish}`
      : `${lane.who} got to token ${lane.heard(state, state.step)} of ${state.n}`;
  });
  return state.step === 0
    ? "Before the first step only token 1 knows of token 1."
    : `After ${plural(state.step, "step")}: ${parts.join(", ")}.`;
}

/**
 * What attention pays for its short path: 2 + n / d times a recurrent layer's work, of which n / (2 d + n) are pairs.
 */
function price({ n, d }) {
  const [recurrent, , attention] = LANES.map((lane) => lane.cost({ n, d }));
  const percent = (100 * 2 * n * n * d) / attention;
  const share = percent < 1 ? "less than 1" : Math.round(percent);
  return `For n = ${n} and d = ${d}, a layer of attention takes ${(attention / recurrent).toFixed(2)} times the ` +
    "multiply-adds of a recurrent layer (always at least twice as many). The part that grows with n², scores and " +
    `mixing, is ${share} % of attention’s work; at n = 2d it is half.`;
}

function render({ model, el }) {
  const figure = mount(el, "path-length-racer", "Path-length racer");
  const announce = announcer(figure);
  const state = store(model, TRAITS, draw);
  let [said, saidPrice] = ["", ""];
  const lanes = LANES.map(laneOf);
  const table = tableOf();
  const words = paragraph("te-sentence te-race-sentence");
  const dilations = span("te-note");
  const go = (step) => step >= 0 && step <= state.n && state.set({ step });
  const again = button("Start again", () => go(0));
  const next = button("One step", () => go(state.step + 1), { class: "te-button te-primary" });
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
    onInput: (n) => state.set({
      n,
      step: state.step === state.n ? n : Math.min(state.step, n),
    })
  });
  const size = select({
    label: "size of a vector, d",
    value: String(state.d),
    options: SIZES.map((d) => ({ value: String(d), label: String(d) })),
    onChange: (d) => state.set({ d: Number(d) }),
  });
  const wide = toggle({
    label: ["dilated convolution"],
    value: state.dilated,
    onChange: (dilated) => state.set({
      dilated,
    })
  });
  const key = (name, text) => span("te-race-key", svg("svg", {
    viewBox: "0 0 1 1",
    "aria-hidden": "true",
    focusable: "false",
  }, svg("path", {
    d: squares([
      [0, 0]
    ], { heard: 0.86, computed: 0.42, waiting: 0.16 }[name]),
    class: `te-race-${name}`
  })), text);

  function draw() {
    lanes.forEach((lane) => lane.update(state));
    table.update(state);
    const costs = price(state);
    fill(
      words, span("", progress(state)), ` ${costs} `, bold("What attention does less of is steps one after another.")
    );
    fill(dilations, state.dilated
      ? "The kernel of k = 3 looks 1, 2, 4, 8 … tokens to each side, layer after layer: the reach doubles."
      : "The kernel of k = 3 looks one token to each side.");
    [bar.input.max, length.input.value] = [String(state.n), String(state.n)];
    bar.set(state.step);
    length.set(state.n);
    size.set(String(state.d));
    wide.set(state.dilated);
    setOff(again, state.step === 0);
    setOff(next, state.step === state.n);
    const text = `${progress(state)}${state.dilated ? " The convolution is dilated." : ""}`;
    if (said && text + costs !== said + saidPrice) announce(costs === saidPrice ? text : `${text} ${costs}`);
    [said, saidPrice] = [text, costs];
  }

  figure.append(
    div("te-race-controls", length.element, div("te-group", size.element, wide.element)),
    div("te-race-steps", again, next, bar.element),
    div("te-race-legend te-label",
      key("heard", "has heard of token 1"), key("computed", "computed, has not heard"),
      key("waiting", "not computed yet"), span("te-race-key", span("te-race-dash"), "the path"),
    ),
    div("te-race-lanes", ...lanes.map((lane) => lane.element)),
    words,
    table.element,
    paragraph("te-note te-race-foot",
      dilations,
      unbroken(
        " Multiply-adds are of whole layers: recurrent 2 · n · d² (a matrix for the token, one for the state), " +
        "convolution k · n · d², attention 4 · n · d² (four projections) + 2 · n² · d (scores and mixing). Biases, " +
        "softmax and nonlinearities are not counted. O(…) is the paper’s Table 1, leading terms in n or d, without " +
        "attention’s projections. It gives O(log"
      ),
      h("sub", {}, "k"),
      unbroken("(n)) for dilated convolutions; O(n / k) for others is in its text."),
    ),
  );
  draw();
  return state.dispose;
}

export default { render };
