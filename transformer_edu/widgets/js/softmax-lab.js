import { bold, button, changeAnnouncer, clamp, div, diverging, fill, format, h, matrixGrid, mount, paragraph, slider,
  softmax, span, store, sub } from "./core.js";

const SIZES = [4, 16, 64, 256, 1024];
const TRAITS = ["scores", "draws", "d_k", "temperature"];
const AXIS = 16; // the score bars reach from −16 to 16; what is longer is cut off with an arrow
const LARGEST = 0.25; // of a derivative: w (1 − w) at w = ½
const LONGEST = 0.5; // of the whole matrix: two keys with ½ each
const SIDES = [
  ["raw", "without scaling"],
  ["scaled", "divided by √"]
];
const root = () => span("te-nowrap", "√d", h("sub", {}, "k"));

/**
 * Both rows of scores, their weights and ∂w/∂s. `scores` have a standard deviation of 1; those of long keys are
 * √d_k times larger.
 */
function compute({ scores, d_k, temperature }) {
  const side = (factor) => {
    const logits = scores.map((score) => (score * factor) / temperature);
    const weights = softmax(logits);
    const jacobian = derivatives(weights);
    const [first, second] = [...weights].sort((a, b) => b - a);
    return {
      logits,
      weights,
      jacobian,
      first,
      second,
      size: Math.hypot(...jacobian.flat()),
      steepest: Math.max(
        ...jacobian.flat().map(Math.abs)
      )
    };
  };
  return { raw: side(Math.sqrt(d_k)), scaled: side(1) };
}

/** ∂w_i/∂s_j = w_i (1[i = j] − w_j). Here 1 − w_i is the sum of the others, which stays exact when w_i is nearly 1. */
function derivatives(weights) {
  const others = weights.map((_, i) => weights.reduce((sum, weight, j) => (i === j ? sum : sum + weight), 0));
  return weights.map((wi, i) => weights.map((wj, j) => (i === j ? wi * others[i] : -wi * wj)));
}

/** Four decimals, or a power of ten for what they would round away. */
function small(value) {
  if (value === 0 || value >= 0.001) return format(value, 4);
  const [digits, exponent] = value.toExponential(1).split("e-");
  return `${digits} × 10⁻${[...exponent].map((digit) => "⁰¹²³⁴⁵⁶⁷⁸⁹"[digit]).join("")}`;
}

/** What the gradient means for learning, in a few words. */
function verdict({ weights, first, second, size }) {
  if (first < 1.15 / weights.length) return "The weights are almost equal: this query hardly chooses.";
  if (second > 0.25 && first + second > 0.9) return "Two keys are nearly tied: a jolt of gradient.";
  if (size < 0.001) return "No gradient to speak of passes.";
  return size < 0.05 ? "Hardly any gradient passes." : "Gradient passes: this query can learn.";
}

const names = (count, letter) => Array.from({ length: count }, (_, i) => `${letter}${i + 1}`);

/** A row of the list: key, score and its bar, weight and its bar. */
function line(index) {
  const scoreBar = span("te-lab-fill");
  const weightBar = span("te-lab-fill");
  const score = h("span", { role: "cell", class: "te-lab-number" });
  const weight = h("span", { role: "cell", class: "te-lab-number" });
  const signed = h("span", { class: "te-lab-signed", "aria-hidden": "true" }, scoreBar);
  const track = h("span", { class: "te-lab-track", "aria-hidden": "true" }, weightBar);
  const element = h("div", { role: "row", class: "te-lab-line" },
    h("span", { role: "rowheader" }, `key ${index + 1}`), score, signed, weight, track
  );
  return {
    element,
    update(s, w, isFirst) {
      [score.dataset.value, weight.dataset.value] = [s, w];
      fill(score, format(s, Math.abs(s) < 100 ? 2 : 1));
      fill(weight, format(w, 3));
      const end = clamp(s / AXIS, -1, 1) * 50;
      Object.assign(scoreBar.style, { insetInlineStart: `${50 + Math.min(end, 0)}%`, width: `${Math.abs(end)}%` });
      signed.dataset.beyond = s > AXIS ? "right" : s < -AXIS ? "left" : "";
      signed.dataset.sign = s < 0 ? "minus" : "plus";
      weightBar.style.width = `${100 * w}%`;
      element.classList.toggle("te-lab-first", isFirst);
    },
  };
}

/** One side: scores, weights, derivatives, their size, and a sentence. */
function panel(name, title, count) {
  const lines = Array.from({ length: count }, (_, index) => line(index));
  const head = (text, ...more) => h("span", { role: "columnheader" }, text, ...more);
  const note = span("te-note");
  const list = h("div", { role: "table", "aria-label": `Scores and weights, ${title}`, dataset: { list: name } },
    h("div", { role: "row", class: "te-lab-line te-lab-head" },
      head("key"), head("score ", h("i", {}, "s")), span(), head("weight ", h("i", {}, "w")), span()
    ),
    ...lines.map((one) => one.element));
  const grid = matrixGrid({
    name: `jacobian-${name}`,
    label: `Derivative of each weight with respect to each score, ${title}`,
    rows: names(count, "w"),
    columns: names(count, "s"),
    showRows: true,
    showColumns: true,
    onSelect: (r, c) => grid.highlight({ row: r, column: c, cell: [r, c] }),
  });
  const size = h("b", { class: "te-lab-size" });
  const bar = span("te-lab-fill");
  const words = paragraph("te-lab-sentence");
  const heading = name === "raw" ? bold(title) : bold("divided by ", root());
  const measure = div("te-lab-measure",
    span("", "size of the gradient"), size, h("span", { class: "te-lab-track", "aria-hidden": "true" }, bar)
  );
  const derivative = span("te-nowrap", h("i", {}, "∂w"), " / ", h("i", {}, "∂s"));
  const element = h("div", { class: "te-lab-panel", role: "group", "aria-label": title, dataset: { panel: name } },
    div("te-lab-top", div("te-lab-title", heading, note), list, measure, words),
    div("te-lab-bottom",
      div("te-lab-title te-lab-second", bold("gradient ", derivative), span(
        "te-note", name === "raw" ? "without scaling" : "divided by ", name === "raw" ? null : root()
      )),
      grid.element,
    ));
  return {
    element,
    update(side, how) {
      fill(note, how);
      const winner = side.weights.indexOf(side.first);
      lines.forEach((one, i) => one.update(side.logits[i], side.weights[i], i === winner));
      grid.update(side.jacobian, { decimals: 3, colour: (value) => diverging((0.8 * value) / LARGEST) });
      size.dataset.value = side.size;
      fill(size, small(side.size));
      bar.style.width = `${(100 * side.size) / LONGEST}%`;
      fill(
        words,
        `The largest share is ${format(side.first, 3)}. Nudge any score: no weight moves by more than ` +
        `${small(side.steepest)} of the nudge. `,
        bold(verdict(side)),
      );
    },
  };
}

/** How the scores of one side come about, with its numbers. */
function recipe(name, { d_k, temperature }) {
  const factor = name === "raw" ? ` × ${Math.sqrt(d_k)}` : ` × ${Math.sqrt(d_k)} ÷ ${Math.sqrt(d_k)}`;
  return span("te-nowrap",
    h("i", {}, "s"), " = ", h("i", {}, "z"), factor, temperature === 1 ? "" : ` ÷ ${format(temperature, 2)}`
  );
}

function render({ model, el }) {
  const figure = mount(el, "softmax-lab", "Softmax lab");
  const announce = changeAnnouncer(figure);
  const state = store(model, TRAITS, draw);
  const start = { scores: [...state.scores], d_k: state.d_k, temperature: state.temperature };
  let panels, grid, drawn = 0;
  const gridBox = div("te-lab-scores");
  const panelBox = div("te-lab-panels");
  const size = slider({
    label: span("", "length of a key, ", sub("d", "k")),
    min: 0,
    max: SIZES.length - 1,
    value: SIZES.indexOf(state.d_k),
    format: (place) => String(SIZES[place]),
    onInput: (place) => state.set({ d_k: SIZES[place] }),
  });
  const heat = slider({
    label: span("", "temperature ", h("i", {}, "T")),
    min: -1,
    max: 1,
    step: 0.05,
    value: Math.log10(state.temperature),
    format: (power) => format(10 ** power, 2),
    onInput: (power) => state.set({ temperature: Number((10 ** power).toFixed(2)) }),
  });
  const another = button("Draw new scores", () => {
    drawn = (drawn + 1) % state.draws.length;
    state.set({ scores: [...state.draws[drawn]] });
  });
  const reset = button("Reset", () => {
    drawn = 0;
    state.set({ ...start, scores: [...start.scores] });
  });

  function rebuild(count) {
    if (panels && count === panels.count) return;
    grid = matrixGrid({
      name: "scores",
      label: "Scores of standard deviation 1",
      rows: ["z"],
      columns: names(count, "key "),
      showColumns: true,
      editable: true,
      onEdit: (_, column, value) => value !== state.scores[column]
        && state.set({ scores: state.scores.map((old, i) => (i === column ? clamp(value, -100, 100) : old)) }),
    });
    fill(gridBox, grid.element);
    panels = {
      count,
      sides: SIDES.map(([name, title]) => [
        name, panel(name, name === "raw" ? title : "divided by the root of d k", count),
      ])
    };
    fill(panelBox, ...panels.sides.map(([, one]) => one.element));
  }

  function draw() {
    rebuild(state.scores.length);
    const values = compute(state);
    grid.update([state.scores], { decimals: 1 });
    size.set(SIZES.indexOf(state.d_k));
    heat.set(Math.log10(state.temperature));
    panels.sides.forEach(([name, one]) => one.update(values[name], recipe(name, state)));
    const text = `d k ${state.d_k}, temperature ${format(state.temperature, 2)}. ` + ["raw", "scaled"].map((name) =>
      `${name === "raw" ? "Without scaling" : "Divided by the root of d k"}: largest share ` +
      `${format(values[name].first, 3)}, gradient ${small(values[name].size)}.`).join(" ");
    announce(text);
  }

  figure.append(
    div("te-lab-controls", size.element, heat.element),
    div("te-lab-inputs",
      div(
        "te-lab-explain", bold(h("i", {}, "z"), " = q · k / ", root()),
        span("te-note", "standard deviation 1; type over them")
      ),
      gridBox, div("te-lab-buttons", another, reset)),
    panelBox,
  );
  draw();
  return state.dispose;
}

export default { render };
