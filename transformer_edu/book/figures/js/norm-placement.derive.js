// Where the norm stands: random networks run forward and back, curves through them, a pulse through a layer. Nothing draws.
import { cellsOf } from "./core/cells.js";
import { lastChange } from "./core/changed.js";
import { format, listed, plain } from "./core/format.js";
import { dot, meanOf } from "./core/math.js";

export const MOST_LAYERS = 24;
export const NETWORKS = 51;
const [D_MODEL, D_FF] = [8, 32];
const EPS = 1e-5;
export const NAMES = { post: "post-norm", pre: "pre-norm", none: "no residual" };
export const PLACEMENTS = Object.keys(NAMES);
const TAPS = {
  post: ["x", "Sublayer(x)", "x + Sublayer(x)", "LayerNorm of the sum"],
  pre: ["x", "LayerNorm(x)", "Sublayer of it", "x + Sublayer"],
  none: ["x", "Sublayer(x)", "LayerNorm of it"],
};
const LINE = 9; // what the name of a curve takes of the chart's height, in percent
const add = (a, b) => a.map((value, i) => value + b[i]);
const length = (v) => Math.hypot(...v);
const cosine = (a, b) => dot(a, b) / (length(a) * length(b));
const median = (values) => [...values].sort((a, b) => a - b)[(values.length - 1) / 2];
const middle = (rows) => rows[0].map((_, i) => median(rows.map((row) => row[i])));
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
  const matrix = (rows, columns) =>
    Array.from({ length: rows }, () => Array.from({ length: columns }, () => (2 * next() - 1) * bound));
  return Array.from({ length: MOST_LAYERS }, () => [matrix(D_MODEL, D_FF), matrix(D_FF, D_MODEL)]);
}

/** The feed-forward sub-layer and its way back: ∂/∂input from ∂/∂output. Plain loops: it is run 10,000 times. */
function sublayer(x, [first, second]) {
  const hidden = new Array(D_FF).fill(0);
  const value = new Array(D_MODEL).fill(0);
  for (let j = 0; j < D_FF; j += 1) {
    for (let i = 0; i < D_MODEL; i += 1) hidden[j] += x[i] * first[i][j];
    if (hidden[j] > 0) for (let i = 0; i < D_MODEL; i += 1) value[i] += hidden[j] * second[j][i];
  }

  function back(d) {
    const result = new Array(D_MODEL).fill(0);
    for (let j = 0; j < D_FF; j += 1) {
      if (hidden[j] <= 0) continue;
      let along = 0;
      for (let i = 0; i < D_MODEL; i += 1) along += second[j][i] * d[i];
      for (let i = 0; i < D_MODEL; i += 1) result[i] += first[i][j] * along;
    }
    return result;
  }
  return { value, back };
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

/**
 * One layer: its taps, its output, and the way back of ∂loss/∂output. `on` says what it is at each place: at the output,
 * behind the first of norm and sub-layer that it meets, behind both, and, where a part went past them, together.
 */
function runLayer(x, weights, placement) {
  if (placement === "pre") {
    const norm = layerNorm(x);
    const sub = sublayer(norm.value, weights);
    const value = add(x, sub.value);
    const on = (d, inside = sub.back(d), through = norm.back(inside)) => [d, inside, through, add(d, through)];
    return { taps: [x, norm.value, sub.value, value], value, on, past: (d) => d };
  }
  const hasResidual = placement === "post";
  const sub = sublayer(x, weights);
  const norm = layerNorm(hasResidual ? add(x, sub.value) : sub.value);
  const on = (d, inside = norm.back(d), through = sub.back(inside)) =>
    hasResidual ? [d, inside, through, add(inside, through)] : [d, inside, through];
  const sum = hasResidual ? [add(x, sub.value)] : [];
  return { taps: [x, sub.value, ...sum, norm.value], value: norm.value, on, past: norm.back };
}

/** ∂loss/∂stream after 0 … depth layers; of the way past the sub-layers alone, if told so. */
function backward(layers, depth, placement, isResidual = false) {
  let d = placement === "pre" ? layerNorm(layers[depth - 1].value).back(SIGNS) : SIGNS;
  const signals = [d];
  for (let l = depth - 1; l >= 0; l -= 1)
    signals.unshift((d = isResidual ? layers[l].past(d) : layers[l].on(d).at(-1)));
  return signals;
}

/** All networks on both tokens, run once; then medians over them. */
function laboratory(x) {
  const networks = Array.from({ length: NETWORKS }, (_, seed) => drawNetwork(seed));
  const kept = {};
  const once = (name, make) => (kept[name] ??= make());
  const pass = (from, network, placement) => {
    const layers = [];
    network.forEach((weights) => layers.push(runLayer(layers.at(-1)?.value ?? from, weights, placement)));
    return layers;
  };
  const run = (placement, which = 0) =>
    once(`${placement} ${which}`, () => networks.map((network) => pass(x[which], network, placement)));
  /** Of vectors of each network: their lengths, or how alike those of both tokens are. */
  const forward = (name, placement, vectorsOf) =>
    run(placement).map((layers, n) => {
      if (name === "length") return vectorsOf(layers, x[0]).map(length);
      const others = vectorsOf(run(placement, 1)[n], x[1]);
      return vectorsOf(layers, x[0]).map((one, i) => cosine(one, others[i]));
    });
  const isForward = (name) => name === "length" || name === "likeness";
  const streams = (layers, from) => [from, ...layers.map((layer) => layer.value)];
  const rows = (name, placement, depth) =>
    isForward(name)
      ? forward(name, placement, streams)
      : run(placement).map((layers) => backward(layers, depth, placement, name === "residual").map(length));
  return {
    x,
    taps: (placement, network, layer) => run(placement)[network - 1][layer - 1].taps,
    /** After 0 … depth layers. Going forward, the first layers do not know how many will follow. */
    curve(name, placement, depth) {
      const seen = isForward(name) ? MOST_LAYERS : depth;
      return once(`${name} ${placement} ${seen}`, () => middle(rows(name, placement, seen))).slice(0, depth + 1);
    },
    /** At the taps of a layer; or what its `on` gives, of the signal that comes back. */
    places(name, placement, depth, layer) {
      if (isForward(name)) return middle(forward(name, placement, (layers) => layers[layer - 1].taps));
      const signals = (layers) => layers[layer - 1].on(backward(layers, depth, placement)[layer]);
      return middle(run(placement).map((layers) => signals(layers).map(length)));
    },
  };
}

/** Heights in the drawing of a layer: sub-layer, norm, plus. Without a residual there is no plus. */
const HEIGHTS = { post: [86, 198, 142, 1], pre: [142, 86, 198, 1], none: [86, 142, 142, 0] };
export const [MAIN, TOP, START, END] = [88, 12, 40, 236];
const BYPASS = 22;
/** Where a number stands beside its wire, and how that is told. */
const GAPS = {
  in: [24, "at x"],
  first: [57, "before the first box"],
  second: [114, "after it"],
  third: [169, "before the last"],
  out: [225, "at the end"],
  past: [114, "past the sub-layer"],
};
/** What a pulse passes, forward and back: the gap, which of its numbers it has there, and on which leg. */
const PULSES = {
  post: ["in 0 0, past 0 1, second 1 1, third 2 2, out 3 2", "out 0 0, third 1 0, past 1 1, first 2 1, in 3 2"],
  pre: ["in 0 0, past 0 1, second 1 1, third 2 1, out 3 2", "out 0 0, past 0 1, second 1 1, first 2 1, in 3 2"],
  none: ["in 0 0, second 1 0, third 2 0", "third 0 0, second 1 0, in 2 0"],
};
const LEG = 350; // milliseconds from one leg to the next
export const straight = (from, to) => `M ${MAIN} ${from} V ${to}`;
export const round = (from, to) => `M ${MAIN} ${from} H ${BYPASS} V ${to} H ${MAIN}`;

/** A pulse through the chosen layer: where it goes, leg by leg, and what it is at each place, as the median network says. */
export function pulseOf({ placement, measure, depth, layer }, { lab }) {
  const isBack = measure === "signal";
  const [, , plus, hasPlus] = HEIGHTS[placement];
  const stops = hasPlus ? [TOP, START, plus, END] : [TOP, END];
  const [a, b, c, d] = isBack ? stops.toReversed() : stops;
  const ways = hasPlus ? [[straight(a, b)], [straight(b, c), round(b, c)], [straight(c, d)]] : [[straight(a, b)]];
  const values = lab.places(measure, placement, depth, layer);
  const places = PULSES[placement][Number(isBack)].split(", ").map((one) => {
    const [gap, at, leg] = one.split(" ");
    const [x, [y, name]] = [gap === "past" ? BYPASS : MAIN, GAPS[gap]];
    return { gap, name, x, y, value: values[at], text: format(values[at]), delay: LEG * (Number(leg) + 0.6) };
  });
  return {
    places,
    title: `layer ${layer}`,
    legs: ways.flatMap((leg, i) => leg.map((path) => ({ path, delay: LEG * i }))),
    told: ` Pulse in layer ${layer}: ${plain(listed(places.map(({ name, text }) => [`${name} ${text}`])))}.`,
  };
}

/** Round numbers for an axis from 0 to at least the highest; for a cosine, all that there are. */
function axisOf(measure, values) {
  if (measure === "likeness")
    return Math.min(...values) < -0.1
      ? { low: -1, high: 1, ticks: [-1, 0, 1] }
      : { low: -0.1, high: 1, ticks: [0, 0.5, 1] };
  const highest = Math.max(...values);
  const step = [0.5, 1, 2, 5, 10, 20, 50, 100].find((one) => highest / one <= 4) ?? 200;
  const count = Math.ceil(highest / step);
  return { low: 0, high: count * step, ticks: Array.from({ length: count + 1 }, (_, i) => i * step) };
}

/** The ends of the curves must not cover each other: heights in percent, pushed apart. */
function apart(heights) {
  const order = heights.map((_, i) => i).sort((a, b) => heights[a] - heights[b]);
  const at = [...heights];
  order.forEach((one, n) => (at[one] = Math.max(at[one], n ? at[order[n - 1]] + LINE : 0)));
  [...order].reverse().forEach((one, n, down) => (at[one] = Math.min(at[one], n ? at[down[n - 1]] - LINE : 100)));
  return at;
}

/** The chart: its axis, its curves, each the way it is gone, and where one ends, its name. */
function chartOf({ measure, placement, depth, tokens }, curves, lab, from) {
  const axis = axisOf(
    measure,
    PLACEMENTS.flatMap((one) => lab.curve(measure, one, MOST_LAYERS)),
  );
  const y = (value) => (100 * (axis.high - value)) / (axis.high - axis.low);
  const isBack = measure === "signal";
  const ways = PLACEMENTS.map((one) => (isBack ? curves[one].toReversed() : curves[one]));
  const steps = Array.from({ length: MOST_LAYERS + 1 }, (_, l) => Math.min(l, depth));
  const mine = ways[PLACEMENTS.indexOf(placement)];
  const begun = curves.pre[depth];
  return {
    heading: {
      signal: ["learning signal", { italic: " (gradient)" }, ", ", { bold: "from the loss back →" }],
      length: ["length of ", { token: tokens[0] }, " after each layer →"],
      likeness: ["how alike ", { token: tokens[0] }, " and ", { token: tokens[1] }, " are (cosine) →"],
    }[measure],
    ...(isBack ? { begun: format(begun), fall: `M 0 ${y(1)} V ${y(begun)}` } : { begun: "", fall: "" }),
    ticks: axis.ticks.map((value) => ({ y: y(value), text: format(value, Number.isInteger(value) ? 0 : 1) })),
    ends: isBack ? [`output (layer ${depth})`, "input (layer 1)"] : ["input", `layer ${depth}`],
    names: PLACEMENTS.map((one, k) => {
      const [value, before] = [ways[k].at(-1), from?.chart.names[k].value ?? ways[k].at(-1)];
      const was = format(before) === format(value) ? null : { y: y(before), text: format(before) };
      return { of: one, value, was, text: `${NAMES[one]} ${format(value)}`, isChosen: one === placement };
    }),
    points: [
      ...steps.map((l) => (100 * l) / depth),
      ...ways.flatMap((way) => steps.map((l) => y(way[l]))),
      ...[y(mine[0]), y(mine[depth]), ...apart(ways.map((way) => y(way[depth])))],
    ],
  };
}

/** The drawing of the chart at a moment: what `points` of a chart are on their way. */
export function drawn(points) {
  const count = MOST_LAYERS + 1;
  const xs = points.slice(0, count);
  const [start, end, ...heights] = points.slice(-2 - PLACEMENTS.length);
  const path = (k) =>
    xs.map((x, l) => `${l ? "L" : "M"} ${x.toFixed(2)} ${points[count * (k + 1) + l].toFixed(2)}`).join(" ");
  return { paths: PLACEMENTS.map((_, k) => path(k)), right: xs.at(-1), start, end, heights };
}

/** The numbers of one layer of one network. */
function tapsOf({ placement, network, layer, depth, tokens }, lab, before) {
  const taps = lab.taps(placement, network, layer);
  const names = { rows: TAPS[placement], columns: Array.from({ length: D_MODEL }, (_, i) => String(i + 1)) };
  const lengths = taps.map(length).map((number) => ({ number, text: format(number), measure: "length" }));
  return {
    ...{ ...names, placement },
    cells: cellsOf(taps, { ...names, decimals: 1, before: before?.placement === placement ? before.cells : null }),
    which: [
      { token: tokens[0] },
      ` in layer ${layer} of ${depth}, network ${network} of ${NETWORKS}; lengths `,
      ...lengths.flatMap((one, i) => (i ? [", ", one] : [one])),
    ],
  };
}

/**
 * All that is drawn.
 * @param {any} state
 * @param {any}[before]  what was derived before: its networks are run once, and where its curves ended stays marked
 */
export function derive(state, before = null) {
  const { placement, depth, layer, network, measure, tokens, x } = state;
  const key = JSON.stringify([placement, depth, layer, network, measure, tokens, x]);
  if (before?.key === key) return before;
  const lab = before && String(before.lab.x) === String(x) ? before.lab : laboratory(x);
  const change = lastChange({ depth, measure }, before);
  const curves = Object.fromEntries(PLACEMENTS.map((one) => [one, lab.curve(measure, one, depth)]));
  const [says, words] = [title(state, curves), [sentence(state)]];
  const [post, pre] = ["post", "pre"].map((one) => format(lab.curve("residual", one, depth)[0]));
  return {
    ...{ ...change, key, lab, curves, says, words, mine: curves[placement], wiring: HEIGHTS[placement] },
    chart: chartOf(state, curves, lab, change.from?.now.measure === measure ? change.from : null),
    taps: tapsOf(state, lab, before?.taps),
    alone:
      `Along the residual connections alone ${post} of the learning signal arrives in post-norm, ${pre} in pre-norm; ` +
      "the rest comes through the sub-layers.",
    told: `${plain(says)}. ${words[0]} Layer ${layer}, network ${network}.`,
  };
}

const capital = (text) => text[0].toUpperCase() + text.slice(1);
const layersOf = (depth) => (depth === 1 ? "1 layer" : `${depth} layers`);

/** The finding, with its numbers. */
function title({ placement, measure, depth, tokens }, curves) {
  const curve = curves[placement];
  const [name, first, last] = [`${capital(NAMES[placement])}: `, format(curve[0]), format(curve.at(-1))];
  if (measure === "signal") {
    const [passed, [post, pre]] = [
      `Back through ${layersOf(depth)}`,
      [curves.post[0], curves.pre[0]].map((one) => format(one)),
    ];
    if (placement === "none") return [`${passed} without a residual, ${first} of the signal is left`];
    return [`${passed}, post-norm leaves ${post} of the signal, pre-norm ${pre}`];
  }
  if (measure === "likeness") {
    const [mine, other] = tokens.map((token) => ({ token }));
    return [`${name}after ${layersOf(depth)} `, mine, " and ", other, ` have cosine ${last}`];
  }
  return placement === "pre"
    ? [`${name}the stream grows from length ${first} to ${last}`]
    : [`${name}the stream leaves every layer with length ${last}`];
}

const SAME = "Each layer ends in a norm, and a norm makes every vector as long as √8 = 2.83.";
const REASONS = {
  signal: {
    post: "The way round the sub-layers leads through <norms>, and that weakens what passes.",
    pre: "No norm stands on the way round the sub-layers: what goes there passes every layer unchanged.",
    none: "There is no way round: the learning signal has to pass every sub-layer.",
  },
  length: {
    post: SAME,
    pre: "Each layer adds to the stream, and no norm stands on it that would shorten it.",
    none: SAME,
  },
  likeness: {
    post: "The residual connection carries what each token was, so they stay further apart.",
    pre: "The residual connection carries what each token was, all the way.",
    none: "Nothing carries what each token was: layer by layer they become the same vector.",
  },
};

/** Why it is so. */
const sentence = ({ placement, measure, depth }) =>
  REASONS[measure][placement].replace("<norms>", depth === 1 ? "the norm" : `all ${depth} norms`);
