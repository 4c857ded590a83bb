import {
  bold,
  button,
  choice,
  clamp,
  div,
  diverging,
  fill,
  format,
  frame,
  h,
  matrixGrid,
  numbered,
  paragraph,
  slider,
  softmax,
  span,
  store,
  sub,
} from "./core.js";

const SIZES = [4, 16, 64, 256, 1024];
const TRAITS = /** @type {const} */ (["scores", "draws", "d_k", "temperature"]);
const AXIS = 16; // the score bars reach from −16 to 16; what is longer is cut off with an arrow
const LARGEST = 0.25; // of a derivative: w (1 − w) at w = ½
const LONGEST = 0.5; // of the whole matrix: two keys with ½ each
const FADED = 0.05; // size of the matrix below which hardly any gradient passes
const root = () => span("te-nowrap", "√", sub("d", "k"));
const SIDES = { raw: "undivided", scaled: "divided by the root of d k" };

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
    const slopes = jacobian.flat().map(Math.abs);
    return { logits, weights, jacobian, first, second, size: Math.hypot(...slopes), steepest: Math.max(...slopes) };
  };
  return { raw: side(Math.sqrt(d_k)), scaled: side(1) };
}

/** ∂w_i/∂s_j = w_i (1[i = j] − w_j). Here 1 − w_i is the sum of the others, which stays exact when w_i is nearly 1. */
function derivatives(weights) {
  const others = weights.map((_, i) => weights.reduce((sum, weight, j) => (i === j ? sum : sum + weight), 0));
  return weights.map((wi, i) => weights.map((wj, j) => (i === j ? wi * others[i] : -wi * wj)));
}

/** Three decimals, or a power of ten for what they would round away. */
function small(value) {
  if (value === 0 || value >= 0.001) return format(value, 3);
  const [digits, exponent] = value.toExponential(1).split("e-");
  return `${digits} × 10⁻${[...exponent].map((digit) => "⁰¹²³⁴⁵⁶⁷⁸⁹"[digit]).join("")}`;
}

const tied = ({ first, second }) => second > 0.25 && first + second > 0.9;
const even = ({ weights, first }) => first < 1.15 / weights.length;

/** What the weights do, in a few words. */
function verdict(side) {
  if (even(side)) return "Nearly equal shares: no choice.";
  if (tied(side)) return "Two keys nearly tie: a nudge decides.";
  if (side.size >= FADED) return "The softmax still answers.";
  return side.size < 0.001 ? "One key takes all: nothing answers." : "One key has nearly everything.";
}

/** The finding, for these scores. */
function finding({ raw, scaled }) {
  if (scaled.size < FADED) return "So cold that one key wins on both sides, divided or not";
  if (raw.size < FADED) return "Undivided, one key wins and hardly any gradient passes";
  if (tied(raw)) return "Two keys nearly tie, so gradient passes even undivided";
  return even(raw)
    ? "All weights are nearly equal: this query hardly chooses"
    : "Here gradient passes on both sides, divided or not";
}

/** A row of the list: key, score and its bar, weight and its bar. */
function line(index) {
  const [scoreBar, weightBar] = [span("te-lab-fill te-glide"), span("te-lab-fill te-glide")];
  const score = h("span", { role: "cell", class: "te-lab-number" });
  const weight = h("span", { role: "cell", class: "te-lab-number" });
  const signed = h("span", { class: "te-lab-signed", "aria-hidden": "true" }, scoreBar);
  const track = h("span", { class: "te-lab-track", "aria-hidden": "true" }, weightBar);
  const element = h(
    "div",
    { role: "row", class: "te-lab-line" },
    h("span", { role: "rowheader" }, span("te-lab-wide", "key "), String(index + 1)),
    score,
    signed,
    track,
    weight,
  );
  return {
    element,
    update(s, w, isFirst) {
      [score.dataset.value, weight.dataset.value] = [s, w];
      score.textContent = format(s, Math.abs(s) < 100 ? 1 : 0);
      weight.textContent = format(w, 3);
      scoreBar.style.transform = `scaleX(${clamp(s / AXIS, -1, 1)})`;
      signed.dataset.beyond = s > AXIS ? "right" : s < -AXIS ? "left" : "";
      weightBar.style.width = `${100 * w}%`;
      element.classList.toggle("te-lab-first", isFirst);
      element.classList.toggle("te-lab-zero", w < 0.0005);
    },
  };
}

/** One side: scores and weights as bars, and under them how much gradient comes back. */
function panel(name, count) {
  const lines = Array.from({ length: count }, (_, index) => line(index));
  const head = (...text) => h("span", { role: "columnheader" }, ...text);
  const range = span("te-lab-range"); // of the score bars
  const list = h(
    "div",
    { role: "table", "aria-label": `Scores and weights, ${SIDES[name]}`, dataset: { list: name } },
    h(
      "div",
      { role: "row", class: "te-lab-line te-lab-head" },
      head("key"),
      head("score"),
      range,
      head(span("te-lab-wide", "softmax → "), "weight"),
    ),
    ...lines.map((one) => one.element),
  );
  const size = h("b", { class: "te-lab-size" });
  const bar = span("te-lab-fill te-glide");
  const words = paragraph("te-lab-verdict");
  const title = name === "raw" ? [bold("q · k"), " as it is"] : [bold("q · k / ", root())];
  return {
    element: h(
      "div",
      { class: "te-lab-panel", role: "group", "aria-label": SIDES[name], dataset: { panel: name } },
      div("te-lab-title", ...title),
      list,
      div(
        "te-lab-measure",
        span("", "← gradient", span("te-lab-wide", " back to the scores")),
        size,
        h("span", { class: "te-lab-track te-lab-back", "aria-hidden": "true" }, bar),
      ),
      words,
    ),
    update(side) {
      const winner = side.weights.indexOf(side.first);
      lines.forEach((one, i) => one.update(side.logits[i], side.weights[i], i === winner));
      range.textContent = side.logits.some((s) => Math.abs(s) > AXIS) ? `▸ beyond ${AXIS}` : `−${AXIS} to ${AXIS}`;
      size.dataset.value = side.size;
      size.textContent = small(side.size);
      bar.style.width = `${(100 * side.size) / LONGEST}%`;
      words.textContent = verdict(side);
    },
  };
}

/** All derivatives of one side. */
function derivativeGrid(name, count) {
  const names = (letter) => numbered(count).map((number) => letter + number);
  const grid = matrixGrid({
    name: `jacobian-${name}`,
    label: `Derivative of each weight with respect to each score, ${SIDES[name]}`,
    rows: names("w"),
    columns: names("s"),
    showRows: true,
    showColumns: true,
    onSelect: (r, c) => grid.highlight({ row: r, column: c, cell: [r, c] }),
  });
  const caption = div(
    "te-caption",
    bold(h("i", {}, "∂w"), " / ", h("i", {}, "∂s")),
    span("", name === "raw" ? "undivided" : "divided by ", name === "raw" ? null : root()),
  );
  return {
    element: div("", caption, grid.element),
    update: ({ jacobian }) =>
      grid.update(jacobian, { decimals: 3, quiet: 0.0005, colour: (value) => diverging((0.8 * value) / LARGEST) }),
  };
}

/** What the numbers mean for a nudge. */
function story({ raw, scaled }, { d_k, temperature }) {
  const cold = temperature === 1 ? "" : `, at temperature ${format(temperature, 2)}`;
  return (
    `On the left the scores are √${d_k} = ${Math.sqrt(d_k)} times as large${cold}. Nudge one a little: there no ` +
    `weight moves by more than ${small(raw.steepest)} of the nudge, on the right by up to ${small(scaled.steepest)}.`
  );
}

/** Questions that these scores, or other draws, can answer. */
function questions(state) {
  const start = { scores: [...state.scores], temperature: state.temperature };
  const states = state.draws.flatMap((scores) => SIZES.map((d_k) => ({ scores, d_k, temperature: 1 })));
  const all = SIZES.map((d_k) => ({ ...start, d_k })).find((one) => compute(one).raw.first > 0.9995);
  const tie = states.find((one) => one.d_k >= 64 && compute(one).raw.size > 0.2);
  return [
    all && {
      ask: ["make one key on the left take everything, 1.000"],
      done: () => compute(state).raw.first > 0.9995,
      tell: ["Longer keys carry the winner further ahead. On the right nothing has moved."],
      show: () => state.set(all),
    },
    tie && {
      ask: ["let gradient pass on the left at 64 or more"],
      done: () => state.d_k >= 64 && compute(state).raw.size > 0.2,
      tell: ["Two keys nearly tie, so a nudge decides between them. That is rare."],
      show: () => state.set(tie),
    },
  ].filter((one) => one && !one.done());
}

function render({ model, el }) {
  const figure = frame(el, {
    name: "softmax-lab",
    label: "Softmax lab",
    says: [""],
    invite: ["make the keys longer or shorter, and watch the left side. Then draw other scores."],
  });
  const state = store(model, TRAITS, draw);
  const same = (scores) => scores.every((score, i) => score === state.scores[i]);
  let panels, grids, typed;
  const size = choice({
    label: "length of a key",
    value: state.d_k,
    options: SIZES.map((d_k) => ({ value: d_k, content: [String(d_k)] })),
    onChange: (d_k) => d_k !== state.d_k && state.set({ d_k }),
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
  const another = button("Draw other scores", () => {
    const next = state.draws[(state.draws.findIndex(same) + 1) % state.draws.length];
    state.set({ scores: [...next] });
  });
  const words = figure.words(2);
  const [typedBox, gridBox] = [div("te-lab-typed"), div("te-lab-grids")];

  function rebuild(count) {
    if (panels?.count === count) return;
    typed = matrixGrid({
      name: "scores",
      label: "Scores of standard deviation 1",
      rows: ["z"],
      columns: numbered(count).map((number) => `key ${number}`),
      showColumns: true,
      editable: true,
      onEdit: (_, column, value) =>
        value !== state.scores[column] &&
        state.set({ scores: state.scores.map((old, i) => (i === column ? clamp(value, -100, 100) : old)) }),
    });
    [panels, grids] = [panel, derivativeGrid].map((make) => ({
      count,
      raw: make("raw", count),
      scaled: make("scaled", count),
    }));
    fill(figure.stage, div("te-lab-panels", panels.raw.element, panels.scaled.element));
    fill(typedBox, typed.element);
    fill(gridBox, grids.raw.element, grids.scaled.element);
  }

  function draw() {
    rebuild(state.scores.length);
    const values = compute(state);
    figure.says(finding(values));
    size.set(state.d_k);
    heat.set(Math.log10(state.temperature));
    for (const name of Object.keys(SIDES)) {
      panels[name].update(values[name]);
      if (more?.open) grids[name].update(values[name]);
    }
    if (more?.open) typed.update([state.scores], { decimals: 1 });
    words.textContent = story(values, state);
    const sides = Object.entries(SIDES).map(
      ([name, title]) =>
        `${title}: largest share ${format(values[name].first, 3)}, gradient ${small(values[name].size)}.`,
    );
    figure.tell(`d k ${state.d_k}, temperature ${format(state.temperature, 2)}. ${sides.join(" ")}`);
  }

  let more;
  figure.controls.append(
    div("te-group", span("te-lab-label", "length of a key, ", sub("d", "k")), size.element),
    another,
  );
  draw();
  figure.ask(questions(state));
  more = figure.details(
    "Temperature, scores of your own, and all derivatives",
    div(
      "te-lab-own",
      heat.element,
      div("", div("te-caption", bold(h("i", {}, "z"), " = q · k / ", root()), span("", "type over them")), typedBox),
    ),
    gridBox,
    paragraph(
      "te-note",
      "The scores z have a standard deviation of 1, as random queries and keys give. On the left s = z × ",
      root(),
      " ÷ T, on the right s = z ÷ T. “Gradient back to the scores” is the size of the table ∂w/∂s, the root ",
      "of its sum of squares; it is at most ½, where two keys have one half each. What reaches the query is this ",
      "times the keys.",
    ),
  );
  more.addEventListener("toggle", draw);
  return state.dispose;
}

export default { render };
