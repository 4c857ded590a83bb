import { bold, button, changeAnnouncer, choice, div, diverging, dot, fill, format, h, matrixGrid, meanOf, mount,
  paragraph, sketch, slider, snapshot, span, store, svg } from "./core.js";

const TRAITS = ["placement", "depth", "layer", "network", "tokens", "x"];
const [D_MODEL, D_FF, NETWORKS, MOST_LAYERS] = [8, 32, 51, 24];
const EPS = 1e-5;
const PLACEMENTS = [
  ["post", "post-norm", "LayerNorm(x + Sublayer(x))"],
  ["pre", "pre-norm", "x + Sublayer(LayerNorm(x))"],
  ["none", "no residual", "LayerNorm(Sublayer(x))"]
];
const TAPS = {
  post: [
    ["x", "dot"],
    ["Sublayer(x)", "sub-layer"],
    ["x + Sublayer(x)", "+"],
    ["LayerNorm of the sum", "norm"]
  ],
  pre: [
    ["x", "dot"],
    ["LayerNorm(x)", "norm"],
    ["Sublayer of it", "sub-layer"],
    ["x + Sublayer", "+"]
  ],
  none: [
    ["x", "dot"],
    ["Sublayer(x)", "sub-layer"],
    ["LayerNorm of it", "norm"]
  ],
};
const add = (a, b) => a.map((value, i) => value + b[i]);
const length = (v) => Math.hypot(...v);
const deviation = (v) => Math.sqrt(meanOf(v.map((value) => (value - meanOf(v)) ** 2)));
const cosine = (a, b) => dot(a, b) / (length(a) * length(b));
const median = (values) => [...values].sort((a, b) => a - b)[(values.length - 1) / 2];
const SIGNS = Array.from({ length: D_MODEL }, (_, i) => (i % 2 ? -1 : 1) / Math.sqrt(D_MODEL)); // ∂loss/∂output

/** The generator mulberry32: numbers from 0 to 1 out of 32-bit integers, the same here and in Python. */
function generator(seed) {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** Network n: a pair of matrices (8, 32) and (32, 8) for each layer, Xavier uniform. */
function drawNetwork(seed) {
  const next = generator(seed);
  const bound = Math.sqrt(6 / (D_MODEL + D_FF));
  const matrix = (rows, columns) => Array.from({
    length: rows,
  }, () => Array.from({ length: columns }, () => (2 * next() - 1) * bound));
  return Array.from({ length: MOST_LAYERS }, () => [matrix(D_MODEL, D_FF), matrix(D_FF, D_MODEL)]);
}

/** v (rows) times the matrix (rows, columns). */
function times(v, matrix) {
  const sums = new Array(matrix[0].length).fill(0);
  v.forEach((value, i) => {
    if (value)
      for (let j = 0; j < sums.length; j += 1) sums[j] += value * matrix[i][j];
  });
  return sums;
}

/** The feed-forward sub-layer and its way back: ∂/∂input from ∂/∂output. */
function sublayer(x, [first, second]) {
  const hidden = times(x, first).map((value) => Math.max(value, 0));
  return {
    value: times(hidden, second),
    back: (d) => {
      const dHidden = hidden.map((value, j) => (value > 0 ? dot(second[j], d) : 0));
      return first.map((row) => dot(row, dHidden));
    },
  };
}

/** Layer norm (γ = 1, β = 0) and its way back. */
function layerNorm(x) {
  const centre = meanOf(x);
  const scale = Math.sqrt(meanOf(x.map((value) => (value - centre) ** 2)) + EPS);
  const value = x.map((entry) => (entry - centre) / scale);
  return {
    value,
    back: (d) => {
      const [shift, along] = [meanOf(d), dot(d, value) / d.length];
      return d.map((entry, i) => (entry - shift - value[i] * along) / scale);
    },
  };
}

/** One layer: its taps, its output, and the way back, of all or (`residual`) of what goes round the sub-layer. */
function runLayer(x, weights, placement) {
  if (placement === "pre") {
    const norm = layerNorm(x);
    const sub = sublayer(norm.value, weights);
    const value = add(x, sub.value);
    return {
      taps: [x, norm.value, sub.value, value],
      value,
      back: (d) => add(d, norm.back(sub.back(d))),
      residual: (d) => d,
    };
  }
  const sub = sublayer(x, weights);
  const sum = placement === "post" ? add(x, sub.value) : sub.value;
  const norm = layerNorm(sum);
  const taps = placement === "post" ? [x, sub.value, sum, norm.value] : [x, sub.value, norm.value];
  const none = x.map(() => 0);
  return {
    taps,
    value: norm.value,
    back: (d) => (placement === "post" ? add(norm.back(d), sub.back(norm.back(d))) : sub.back(norm.back(d))),
    residual: (d) => (placement === "post" ? norm.back(d) : none),
  };
}

/** The layers that x passes. */
function forward(x, network, placement) {
  const layers = [];
  network.forEach((weights) => layers.push(runLayer(layers.at(-1)?.value ?? x, weights, placement)));
  return layers;
}

/** Lengths of ∂loss/∂stream after 0 … depth layers; `way` is "back" or "residual". */
function backward(layers, depth, placement, way) {
  const passed = layers.slice(0, depth);
  let d = placement === "pre" ? layerNorm(passed.at(-1).value).back(SIGNS) : SIGNS;
  return [length(d), ...passed.reverse().map((layer) => length((d = layer[way](d))))].reverse();
}

/** All networks on both tokens, computed once; then the medians for any depth. */
function laboratory([mine, other]) {
  const networks = Array.from({ length: NETWORKS }, (_, seed) => drawNetwork(seed));
  const runs = Object.fromEntries(PLACEMENTS.map(([placement]) => [
    placement, networks.map((network) => [mine, other].map((x) => forward(x, network, placement))),
  ]));
  const middle = (rows) => rows[0].map((_, i) => median(rows.map((row) => row[i])));
  const streams = (x, layers, depth) => [x, ...layers.slice(0, depth).map((layer) => layer.value)];
  return {
    taps: (placement, network, layer) => runs[placement][network - 1][0][layer - 1].taps,
    curves: (placement, depth) => ({
      length: middle(runs[placement].map(([layers]) => streams(mine, layers, depth).map(length))),
      signal: middle(runs[placement].map(([layers]) => backward(layers, depth, placement, "back"))),
      residual: middle(runs[placement].map(([layers]) => backward(layers, depth, placement, "residual"))),
      likeness: middle(
        runs[placement].map(([a, b]) => streams(mine, a, depth).map((x, i) => cosine(x, streams(other, b, depth)[i])))
      ),
    }),
  };
}

const ROW = 46,
  TOP = 24,
  MAIN = 74,
  BYPASS = 14,
  WIDE = 122;

/** The layer as a circuit, one element for each row of numbers; the path that goes round the sub-layer is bold. */
function circuit(placement) {
  const taps = TAPS[placement];
  const y = (row) => TOP + ROW * row + 17;
  const at = (kind) => taps.findIndex(([, what]) => what === kind);
  const bottom = y(taps.length - 1);
  const plus = at("+");
  const out = `L ${MAIN} ${bottom + 26}`;
  const path = plus < 0
    ? ""
    : `M ${MAIN} ${y(0)} L ${BYPASS} ${y(0)} L ${BYPASS} ${y(plus)} L ${MAIN} ${y(plus)} ${out}`;
  const parts = taps.map(([, what], row) => {
    const text = (words) => svg("text", { x: MAIN, y: y(row) + 4.5, "text-anchor": "middle" }, words);
    if (what === "dot") return svg("circle", { cx: MAIN, cy: y(row), r: 5, class: "te-place-dot" });
    if (what === "+") {
      return svg("g", {}, svg("circle", { cx: MAIN, cy: y(row), r: 12, class: "te-place-box" }), text("+"));
    }
    return svg("g", { class: `te-place-${what}` },
      svg("rect", { x: MAIN - 36, y: y(row) - 14, width: 72, height: 28, rx: 6, class: "te-place-box" }), text(what)
    );
  });
  return svg("svg", {
      width: WIDE,
      height: TOP + ROW * taps.length + 8,
      class: "te-place-circuit",
      "aria-hidden": "true",
      focusable: "false",
    },
    ...taps.map((_, row) => svg("line", { x1: MAIN, x2: WIDE, y1: y(row), y2: y(row), class: "te-place-tap" })),
    svg("path", { d: `M ${MAIN} ${y(0) - 26} ${out}`, class: "te-place-wire" }),
    svg("path", { d: path, class: "te-place-residual" }),
    svg("path", { d: `M ${MAIN - 6} ${bottom + 20} l 6 8 l 6 -8`, class: "te-place-wire" }), ...parts);
}

const CHART = { width: 232, height: 168, left: 30, right: 8, top: 10, bottom: 34 };

/** Curves over 0 … depth layers. `curves`: [values, class]. */
function chart({ depth, layer, low, high, ticks, curves, points }) {
  const { width, height, left, right, top, bottom } = CHART;
  const x = (l) => left + (l / depth) * (width - left - right);
  const y = (value) => top + ((high - value) / (high - low)) * (height - top - bottom);
  const label = (text, px, py, anchor) => svg("text", { x: px, y: py, "text-anchor": anchor, class: "te-place-axis" },
    text
  );
  return sketch("te-place-chart", `0 0 ${width} ${height}`,
    svg("rect", {
      x: x(layer - 1),
      y: top,
      width: x(layer) - x(layer - 1),
      height: height - top - bottom,
      class: "te-place-here",
    }),
    ...ticks.flatMap((value) => [
      svg("line", { x1: left, x2: width - right, y1: y(value), y2: y(value), class: "te-place-line" }),
      label(format(value, Number.isInteger(value) ? 0 : 1), left - 5, y(value) + 4, "end"),
    ]),
    ...[0, depth].map((l) => label(l, x(l), height - bottom + 15, "middle")),
    label("layers passed", (left + width - right) / 2, height - 5, "middle"),
    ...curves.map(([values, name]) => svg("path", {
      d: values.map((value, l) => `${l ? "L" : "M"} ${x(l).toFixed(2)} ${y(value).toFixed(2)}`).join(" "),
      class: `te-place-curve ${name}`,
    })),
    ...points.map((value, l) => svg("circle", { cx: x(l), cy: y(value), r: 2.6, class: "te-place-point" })));
}

/** Round numbers for an axis from 0 (or below) to at least `highest`. */
function scale(highest) {
  const step = [0.5, 1, 2, 5, 10, 20, 50, 100].find((one) => highest / one <= 4) ?? 200;
  const count = Math.ceil(highest / step);
  return { low: 0, high: count * step, ticks: Array.from({ length: count + 1 }, (_, i) => i * step) };
}

/** What the medians show, in words, with their numbers. */
function sentence({ placement, depth, tokens }, curves) {
  const { length: lengths, signal, residual, likeness } = curves[placement];
  const [start, end] = [format(signal[0]), format(signal.at(-1))];
  const back = `The backward signal: ${end} at the last layer’s output, ${start} at the first layer’s input`;
  const layers = depth === 1 ? "1 layer" : `${depth} layers`;
  if (placement === "post") return [
    bold(`Every layer ends in a norm, so the stream leaves it with length ${format(lengths.at(-1))}, always. `),
    `${back}. Along the residual connection alone ${format(residual[0])}, because it leads through ` +
    `${depth === 1 ? "the norm" : `all ${depth} norms`}.`,
  ];
  if (placement === "pre") return [
    bold(
      `No norm stands on the residual connection: the stream goes from length ${format(lengths[0])} to ` +
      `${format(lengths.at(-1))}. `
    ),
    `${back}. Along the residual connection alone it is ${format(residual[0])} at every layer, unchanged.`,
  ];
  return [
    bold(
      `The norm keeps the length, but ${tokens.join(" and ")} become alike: cosine ${format(likeness[0])} before, ` +
      `${format(likeness.at(-1), 3)} after ${layers}. `
    ),
    `${back}. There is no residual connection.`,
  ];
}

function render({ model, el }) {
  const root = mount(el, "norm-placement", "Where the norm stands");
  const announce = changeAnnouncer(root);
  const state = store(model, TRAITS, draw);
  const start = snapshot(state, TRAITS);
  let lab, labFor = "",
    grid, built = "";

  const placements = choice({
    label: "Placement of the norm",
    class: "te-place-choice",
    value: state.placement,
    onChange: (placement) => state.set({ placement }),
    options: PLACEMENTS.map(([value, name, formula]) => ({
      value,
      label: `${name}: ${formula}`,
      content: [
        span("te-place-name",
          svg("svg", { viewBox: "0 0 34 8", width: 34, height: 8, "aria-hidden": "true" },
            svg("path", { d: "M 0 4 L 34 4", class: `te-place-curve te-place-of-${value}` })
          ),
          name,
        ),
        span("te-place-formula", formula)
      ]
    })),
  });
  const depths = slider({
    label: "layers in the stack",
    min: 1,
    max: MOST_LAYERS,
    value: state.depth,
    onInput: (depth) => state.set({ depth, layer: Math.min(state.layer, depth) }),
  });
  const layers = slider({
    label: "layer shown",
    min: 1,
    max: state.depth,
    value: state.layer,
    onInput: (layer) => state.set({ layer }),
  });
  const another = button("Another network", () => state.set({ network: (state.network % NETWORKS) + 1 }));
  const reset = button("Reset", () => state.set(structuredClone(start)));
  const stage = div("te-place-stage");
  const which = span("te-note");
  const charts = div("te-place-charts");
  const words = paragraph("te-sentence te-place-sentence");
  const numbers = ["length", "std"].map(
    (name) => ({ name, column: h("div", { class: `te-place-column te-place-${name}`, dataset: { column: name } }) })
  );

  function rebuild() {
    if (state.placement === built) return;
    built = state.placement;
    grid = matrixGrid({
      name: "taps",
      label: "The vector at each tap of the layer",
      rows: TAPS[built].map(([name]) => name),
      columns: Array.from({ length: D_MODEL }, (_, i) => String(i + 1)),
      showRows: true,
      showColumns: true,
      onSelect: (row, column) => grid.highlight({ cell: [row, column] }),
    });
    fill(stage, circuit(built), div("te-place-taps", grid.element), ...numbers.map(({ column }) => column));
  }
  /** Title, curves of all three placements, and (for the signal) the residual alone. */
  function panel(name, title, more, curves, axis) {
    const ordered = PLACEMENTS.map(([placement]) => placement).sort((a, b) => (a === state.placement) - (
      b === state.placement
    ));
    const points = name === "signal" && state.placement !== "none" ? curves[state.placement].residual : [];
    const dataset = {
      chart: name,
      ...Object.fromEntries(ordered.map((placement) => [placement, JSON.stringify(curves[placement][name])])),
      residual: JSON.stringify(points),
    };
    return h("div", { class: "te-place-panel", dataset }, div("te-place-title", bold(title), span("te-note", more)),
      span("te-hidden", PLACEMENTS.map(
        ([placement, called]) => `${called}: ${format(curves[placement][name][0])} to ` +
        `${format(curves[placement][name].at(-1))}`
      ).join("; ")),
      chart({
        ...axis,
        depth: state.depth,
        layer: state.layer,
        points,
        curves: ordered.map((placement) => [
          curves[placement][name], `te-place-of-${placement}${placement === state.placement ? " te-place-chosen" : ""}`,
        ])
      }));
  }

  function draw() {
    if (JSON.stringify(state.x) !== labFor)[lab, labFor] = [laboratory(state.x), JSON.stringify(state.x)];
    rebuild();
    const taps = lab.taps(state.placement, state.network, state.layer);
    const curves = Object.fromEntries(PLACEMENTS.map(([placement]) => [placement, lab.curves(placement, state.depth)]));
    grid.update(taps, { decimals: 1, colour: (value) => diverging(value / 3) });
    numbers.forEach(({ name, column }) => fill(column, span("te-header", name), ...taps.map((tap) => {
      const value = name === "length" ? length(tap) : deviation(tap);
      return h("span", { class: "te-place-number", dataset: { value } }, format(value));
    })));
    fill(which, `${state.tokens[0]}, layer ${state.layer} of ${state.depth}, network ${state.network} of ${NETWORKS}`);
    layers.input.max = String(state.depth);
    [placements.set(state.placement), depths.set(state.depth), layers.set(state.layer)];
    const highest = (name) => Math.max(...PLACEMENTS.flatMap(([placement]) => curves[placement][name]));
    const lowest = Math.min(...PLACEMENTS.flatMap(([placement]) => curves[placement].likeness));
    fill(charts,
      panel("length", "length of the stream", "post = none", curves, scale(highest("length"))),
      panel(
        "signal",
        "backward signal",
        state.placement === "none" ? "" : "○ residual connection alone",
        curves,
        scale(highest("signal")),
      ),
      panel("likeness", `${state.tokens.join(" and ")}`, "cosine", curves, lowest < -0.1
        ? { low: -1, high: 1, ticks: [-1, 0, 1] }
        : { low: -0.1, high: 1, ticks: [0, 0.5, 1] }));
    fill(words, ...sentence(state, curves));
    const text = `${PLACEMENTS.find(([value]) => value === state.placement)[1]}, ${state.depth} layers, layer ` +
      `${state.layer}, network ${state.network}. ${words.textContent}`;
    announce(text);
  }

  root.append(placements.element,
    div("te-place-sliders", depths.element, layers.element),
    div("te-place-top", bold("one layer"), which), stage, charts, words,
    div("te-foot",
      span("te-note",
        `Curves: medians of ${NETWORKS} random networks; each layer is one feed-forward sub-layer. Backward signal: ` +
        "length of ∂loss/∂stream, for a fixed loss. Pre-norm has one more norm after its last layer.",
      ),
      div("te-group", another, reset),
    ));
  draw();
  return state.dispose;
}

export default { render };
