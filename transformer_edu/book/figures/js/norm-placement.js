import {
  bold,
  button,
  choice,
  div,
  diverging,
  dot,
  fill,
  format,
  frame,
  gliding,
  h,
  matrixGrid,
  meanOf,
  named,
  paragraph,
  slider,
  span,
  store,
  svg,
} from "./core.js";

const TRAITS = /** @type {const} */ (["placement", "depth", "layer", "network", "measure", "tokens", "x"]);
const [D_MODEL, D_FF, NETWORKS, MOST_LAYERS] = [8, 32, 51, 24];
const EPS = 1e-5;
const NAMES = { post: "post-norm", pre: "pre-norm", none: "no residual" };
const FORMULAS = { post: "Norm(x + Sub(x))", pre: "x + Sub(Norm(x))", none: "Norm(Sub(x))" };
const PLACEMENTS = Object.keys(NAMES);
const MEASURES = { signal: "signal back", length: "length", likeness: "likeness" };
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

/** One layer: its taps, its output, and the way back, of all or (`residual`) of what goes round the sub-layer. */
function runLayer(x, weights, placement) {
  if (placement === "pre") {
    const norm = layerNorm(x);
    const sub = sublayer(norm.value, weights);
    const value = add(x, sub.value);
    const taps = [x, norm.value, sub.value, value];
    return { taps, value, back: (d) => add(d, norm.back(sub.back(d))), residual: (d) => d };
  }
  const sub = sublayer(x, weights);
  if (placement === "none") {
    const norm = layerNorm(sub.value);
    return { taps: [x, sub.value, norm.value], value: norm.value, back: (d) => sub.back(norm.back(d)) };
  }
  const sum = add(x, sub.value);
  const norm = layerNorm(sum);
  const back = (d) => {
    const inner = norm.back(d);
    return add(inner, sub.back(inner));
  };
  return { taps: [x, sub.value, sum, norm.value], value: norm.value, back, residual: norm.back };
}

/** Lengths of ∂loss/∂stream after 0 … depth layers; `way` is "back" or "residual". */
function backward(layers, depth, placement, way) {
  let d = placement === "pre" ? layerNorm(layers[depth - 1].value).back(SIGNS) : SIGNS;
  const lengths = [length(d)];
  for (let l = depth - 1; l >= 0; l -= 1) lengths.unshift(length((d = layers[l][way](d))));
  return lengths;
}

/** All networks on both tokens, run once; then medians over them after 0 … depth layers. */
function laboratory([mine, other]) {
  const networks = Array.from({ length: NETWORKS }, (_, seed) => drawNetwork(seed));
  const kept = {};
  const once = (name, make) => (kept[name] ??= make());
  const pass = (x, network, placement) => {
    const layers = [];
    network.forEach((weights) => layers.push(runLayer(layers.at(-1)?.value ?? x, weights, placement)));
    return layers;
  };
  const run = (placement, which) =>
    once(`${placement} ${which}`, () => networks.map((network) => pass(which ? other : mine, network, placement)));
  const streams = (x, layers) => [x, ...layers.map((layer) => layer.value)];
  const middle = (rows) => rows[0].map((_, i) => median(rows.map((row) => row[i])));
  const measures = {
    length: (placement) => run(placement, 0).map((layers) => streams(mine, layers).map(length)),
    likeness: (placement) =>
      run(placement, 0).map((layers, n) => {
        const others = streams(other, run(placement, 1)[n]);
        return streams(mine, layers).map((x, i) => cosine(x, others[i]));
      }),
    signal: (placement, depth) => run(placement, 0).map((layers) => backward(layers, depth, placement, "back")),
    residual: (placement, depth) => run(placement, 0).map((layers) => backward(layers, depth, placement, "residual")),
  };
  return {
    taps: (placement, network, layer) => run(placement, 0)[network - 1][layer - 1].taps,
    /** Going forward, the first layers do not know how many will follow. */
    curve(name, placement, depth) {
      const seen = name === "signal" || name === "residual" ? depth : MOST_LAYERS;
      const whole = once(`${name} ${placement} ${seen}`, () => middle(measures[name](placement, seen)));
      return whole.slice(0, depth + 1);
    },
  };
}

/** Heights in the drawing of a layer: sub-layer, norm, plus. Without a residual there is no plus. */
const HEIGHTS = { post: [86, 198, 142, 1], pre: [142, 86, 198, 1], none: [86, 158, 142, 0] };
const [MAIN, BYPASS, START, END] = [88, 22, 40, 236];

/** The drawing of one layer; the norm glides to its place. */
function wiring() {
  const text = (words) => svg("text", { y: 5, "text-anchor": "middle" }, words);
  const box = (name, words) =>
    svg(
      "g",
      { class: `te-place-${name}` },
      svg("rect", { x: -43, y: -16, width: 86, height: 32, rx: 7, class: "te-place-box" }),
      text(words),
    );
  const [sub, norm] = [box("sub-layer", "sub-layer"), box("norm", "norm")];
  const plus = svg("g", {}, svg("circle", { r: 13, class: "te-place-box" }), text("+"));
  const residual = svg("path", { class: "te-place-residual" });
  const stream = svg("path", { class: "te-place-residual" });
  const glide = gliding(([ySub, yNorm, yPlus, there]) => {
    /** @type {[SVGElement, number][]} */ ([
      [sub, ySub],
      [norm, yNorm],
      [plus, yPlus],
    ]).forEach(([node, y]) => node.setAttribute("transform", `translate(${MAIN} ${y})`));
    [residual, stream, plus].forEach((node) => (node.style.opacity = String(there)));
    const round = `M ${MAIN} ${START} L ${BYPASS} ${START} L ${BYPASS} ${yPlus} L ${MAIN} ${yPlus}`;
    residual.setAttribute("d", there ? round : "");
    stream.setAttribute("d", there ? `M ${MAIN} ${yPlus} L ${MAIN} ${END}` : "");
  });
  const element = svg(
    "svg",
    { viewBox: "0 0 140 256", class: "te-place-circuit", "aria-hidden": "true", focusable: "false" },
    svg("path", { d: `M ${MAIN} 12 L ${MAIN} ${END}`, class: "te-place-wire" }),
    residual,
    stream,
    svg("path", { d: `M ${MAIN - 7} ${END} l 7 9 l 7 -9`, class: "te-place-wire" }),
    svg("circle", { cx: MAIN, cy: START, r: 5, class: "te-place-dot" }),
    sub,
    norm,
    plus,
  );
  return { element, show: (placement) => glide.to(HEIGHTS[placement]) };
}

/** Round numbers for an axis from 0 to at least `highest`. */
function scale(highest) {
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

/** Three curves, each the way it is gone: the stream forward, the signal backward; where one ends, its name. */
function chart() {
  const paths = Object.fromEntries(
    PLACEMENTS.map((placement) => [
      placement,
      svg("path", { class: `te-place-curve te-place-of-${placement}`, "vector-effect": "non-scaling-stroke" }),
    ]),
  );
  const fall = svg("path", { class: "te-place-curve te-place-fall", "vector-effect": "non-scaling-stroke" });
  const [lines, ticks, end, start] = [svg("g", {}), div(), div("te-place-dot-end"), div("te-place-dot-start")];
  const [from, to] = [span("te-place-from"), span("te-place-to")];
  const [title, note] = [div("te-place-title"), div("te-place-why")];
  const names = PLACEMENTS.map((placement) => span(`te-place-end te-place-name-${placement}`));
  const plot = h(
    "div",
    { class: "te-place-plot", "aria-hidden": "true" },
    svg(
      "svg",
      { viewBox: "0 0 100 100", preserveAspectRatio: "none", focusable: "false" },
      lines,
      fall,
      ...Object.values(paths),
    ),
    ticks,
    start,
    end,
    note,
    ...names,
    from,
    to,
  );
  const at = (node, x, y) => Object.assign(node.style, { left: `${x}%`, top: `${y}%` });
  const count = MOST_LAYERS + 1;
  const glide = gliding((now) => {
    const xs = now.slice(0, count);
    PLACEMENTS.forEach((placement, k) =>
      paths[placement].setAttribute(
        "d",
        xs.map((x, l) => `${l ? "L" : "M"} ${x.toFixed(2)} ${now[count * (k + 1) + l].toFixed(2)}`).join(" "),
      ),
    );
    const [startY, endY, ...heights] = now.slice(-5);
    [at(start, 0, startY), at(end, xs.at(-1), endY), at(to, xs.at(-1), 100)];
    names.forEach((name, k) => at(name, xs.at(-1), heights[k]));
  });
  const element = div("te-place-chart", title, plot);
  let drawn = "";
  return {
    element,
    show({ measure, placement, depth, tokens }, curves, axis) {
      const y = (value) => (100 * (axis.high - value)) / (axis.high - axis.low);
      const back = measure === "signal";
      const ways = PLACEMENTS.map((one) => (back ? curves[one].toReversed() : curves[one]));
      if (drawn !== measure) {
        drawn = measure;
        fill(
          lines,
          ...axis.ticks.map((value) =>
            svg("path", { d: `M 0 ${y(value)} H 100`, class: "te-place-line", "vector-effect": "non-scaling-stroke" }),
          ),
        );
        fill(
          ticks,
          ...axis.ticks.map((value) =>
            h(
              "span",
              { class: "te-place-tick", style: { top: `${y(value)}%` } },
              format(value, Number.isInteger(value) ? 0 : 1),
            ),
          ),
        );
      }
      fill(
        title,
        ...{
          signal: ["learning signal", span("te-place-wide", " (gradient)"), ", ", bold("from the loss back →")],
          length: ["length of ", named(tokens[0]), " after each layer →"],
          likeness: ["how alike ", named(tokens[0]), " and ", named(tokens[1]), " are (cosine) →"],
        }[measure],
      );
      const begun = curves.pre[depth];
      fill(note, `pre-norm begins at ${format(begun)}: `, h("br"), "its last norm takes the rest");
      note.hidden = !back;
      fall.setAttribute("d", back ? `M 0 ${y(1)} V ${y(begun)}` : "");
      [from.textContent, to.textContent] = back
        ? [`output (layer ${depth})`, "input (layer 1)"]
        : ["input", `layer ${depth}`];
      element.dataset.chart = measure;
      PLACEMENTS.forEach((one, k) => {
        element.dataset[one] = JSON.stringify(curves[one]);
        names[k].dataset.value = String(ways[k].at(-1));
        names[k].textContent = `${NAMES[one]} ${format(ways[k].at(-1))}`;
        [paths[one], names[k]].forEach((node) => node.classList.toggle("te-place-chosen", one === placement));
      });
      const steps = Array.from({ length: count }, (_, l) => Math.min(l, depth));
      const mine = ways[PLACEMENTS.indexOf(placement)];
      glide.to([
        ...steps.map((l) => (100 * l) / depth),
        ...ways.flatMap((way) => steps.map((l) => y(way[l]))),
        y(mine[0]),
        y(mine[depth]),
        ...apart(ways.map((way) => y(way[depth]))),
      ]);
    },
  };
}

const capital = (text) => text[0].toUpperCase() + text.slice(1);
const layersOf = (depth) => (depth === 1 ? "1 layer" : `${depth} layers`);

/** The finding, with its numbers. */
function title({ placement, measure, depth, tokens }, curves) {
  const curve = curves[placement];
  const [name, first, last] = [`${capital(NAMES[placement])}: `, format(curve[0]), format(curve.at(-1))];
  if (measure === "signal")
    return placement === "none"
      ? [`Back through ${layersOf(depth)} without a residual, ${first} of the signal is left`]
      : [
          `Back through ${layersOf(depth)}, post-norm leaves ${format(curves.post[0])} of the signal, pre-norm ${format(
            curves.pre[0],
          )}`,
        ];
  if (measure === "likeness") {
    return [`${name}after ${layersOf(depth)} `, named(tokens[0]), " and ", named(tokens[1]), ` have cosine ${last}`];
  }
  return [
    placement === "pre"
      ? `${name}the stream grows from length ${first} to ${last}`
      : `${name}the stream leaves every layer with length ${last}`,
  ];
}

/** Why it is so. */
function sentence({ placement, measure, depth }) {
  const norms = depth === 1 ? "the norm" : `all ${depth} norms`;
  if (measure === "signal")
    return [
      {
        post: `The way round the sub-layers leads through ${norms}, and that weakens what passes.`,
        pre: "No norm stands on the way round the sub-layers: what goes there passes every layer unchanged.",
        none: "There is no way round: the learning signal has to pass every sub-layer.",
      }[placement],
    ];
  if (measure === "length")
    return [
      {
        post: "Each layer ends in a norm, and a norm makes every vector as long as √8 = 2.83.",
        pre: "Each layer adds to the stream, and no norm stands on it that would shorten it.",
        none: "Each layer ends in a norm, and a norm makes every vector as long as √8 = 2.83.",
      }[placement],
    ];
  return [
    {
      post: "The residual connection carries what each token was, so they stay further apart.",
      pre: "The residual connection carries what each token was, all the way.",
      none: "Nothing carries what each token was: layer by layer they become the same vector.",
    }[placement],
  ];
}

/** The numbers of one layer, folded. */
function layerNumbers(state) {
  const [grids, which, box] = [{}, span("te-note"), div("te-place-taps")];
  const control = slider({
    label: "layer",
    min: 1,
    max: state.depth,
    value: state.layer,
    onInput: (layer) => state.set({ layer }),
  });
  const another = button("Another network", () => state.set({ network: (state.network % NETWORKS) + 1 }));
  let shown = "";
  return {
    nodes: [div("te-group te-place-which", control.element, another), which, box],
    show(lab) {
      const { placement, layer, network, depth, tokens } = state;
      control.input.max = String(depth);
      control.set(layer);
      const key = `${placement} ${layer} ${network} ${depth}`;
      if (key === shown) return;
      shown = key;
      const grid = (grids[placement] ??= matrixGrid({
        name: "taps",
        label: "The vector at each place in the layer",
        rows: TAPS[placement],
        columns: Array.from({ length: D_MODEL }, (_, i) => String(i + 1)),
        showRows: true,
      }));
      const taps = lab.taps(placement, network, layer);
      grid.update(taps, { decimals: 1, colour: (value) => diverging(value / 3) });
      if (box.firstChild !== grid.element) fill(box, grid.element);
      fill(
        which,
        named(tokens[0]),
        ` in layer ${layer} of ${depth}, network ${network} of ${NETWORKS}; lengths `,
        ...taps.flatMap((tap, i) => [
          i ? ", " : "",
          h("span", { dataset: { length: length(tap) } }, format(length(tap))),
        ]),
      );
    },
  };
}

function render({ model, el }) {
  const figure = frame(el, {
    name: "norm-placement",
    label: "Where the norm stands",
    says: [""],
    invite: ["choose pre-norm, then take the layers from 24 to 6."],
  });
  const state = store(model, TRAITS, draw);
  let lab, labFor, numbers;

  const [circuit, curves] = [wiring(), chart()];
  const sample = (placement) =>
    svg(
      "svg",
      { viewBox: "0 0 30 8", width: 30, height: 8, "aria-hidden": "true" },
      svg("path", { d: "M 0 4 L 30 4", class: `te-place-curve te-place-of-${placement}` }),
    );
  const placements = choice({
    label: "Placement of the norm",
    class: "te-place-choice",
    value: state.placement,
    onChange: (placement) => state.set({ placement }),
    options: PLACEMENTS.map((value) => ({
      value,
      label: `${NAMES[value]}: ${FORMULAS[value]}`,
      content: [span("te-place-name", sample(value), NAMES[value]), span("te-place-formula", FORMULAS[value])],
    })),
  });
  const measures = choice({
    label: "What the chart shows",
    value: state.measure,
    onChange: (measure) => state.set({ measure }),
    options: Object.entries(MEASURES).map(([value, name]) => ({ value, content: [name] })),
  });
  const depths = slider({
    label: "layers",
    min: 1,
    max: MOST_LAYERS,
    value: state.depth,
    onInput: (depth) => state.set({ depth, layer: Math.min(state.layer, depth) }),
  });
  figure.stage.append(div("te-place-stage", circuit.element, curves.element));
  figure.controls.append(placements.element, depths.element, measures.element);
  const words = figure.words(1);
  const alone = paragraph("te-note");
  const get = (name, placement = state.placement) => lab.curve(name, placement, state.depth);

  function draw() {
    if (labFor !== state.x) [lab, labFor] = [laboratory(state.x), state.x];
    const { placement, measure, depth } = state;
    numbers ??= layerNumbers(state);
    const all = Object.fromEntries(PLACEMENTS.map((one) => [one, get(measure, one)]));
    const longest = PLACEMENTS.flatMap((one) => lab.curve(measure, one, MOST_LAYERS));
    const axis =
      measure !== "likeness"
        ? scale(Math.max(...longest))
        : Math.min(...longest) < -0.1
          ? { low: -1, high: 1, ticks: [-1, 0, 1] }
          : { low: -0.1, high: 1, ticks: [0, 0.5, 1] };
    circuit.show(placement);
    curves.show(state, all, axis);
    [placements.set(placement), measures.set(measure), depths.set(depth)];
    numbers.show(lab);
    figure.says(...title(state, all));
    fill(words, ...sentence(state));
    const [post, pre] = ["post", "pre"].map((one) => format(get("residual", one)[0]));
    fill(
      alone,
      `Along the residual connections alone ${post} of the learning signal arrives in post-norm, ${pre} in `,
      "pre-norm; the rest comes through the sub-layers.",
    );
    const shown = `Layer ${state.layer}, network ${state.network}.`;
    figure.tell(`${figure.root.querySelector(".te-says").textContent}. ${words.textContent} ${shown}`);
  }
  draw();
  figure.ask([
    {
      ask: ["get less than a tenth of the learning signal to the first layer"],
      done: () => state.measure === "signal" && get("signal")[0] < 0.1,
      tell: ["Without a residual connection it has to pass every sub-layer, and each takes some of it."],
      show: () => state.set({ placement: "none", depth: MOST_LAYERS, measure: "signal" }),
    },
    {
      ask: ["make the stream more than twice as long as it began"],
      done: () => state.measure === "length" && get("length").at(-1) > 2 * get("length")[0],
      tell: ["In pre-norm every layer adds and no norm shortens, so one more norm stands at the very end."],
      show: () => state.set({ placement: "pre", depth: MOST_LAYERS, measure: "length" }),
    },
    {
      ask: ["make two different tokens all but the same, with a cosine above 0.99"],
      done: () => state.measure === "likeness" && get("likeness").at(-1) > 0.99,
      tell: ["The norm keeps their length and not their difference; that, the residual connection carried."],
      show: () => state.set({ placement: "none", depth: MOST_LAYERS, measure: "likeness" }),
    },
  ]);
  figure.details(
    "One layer’s numbers, and how this is measured",
    ...numbers.nodes,
    alone,
    paragraph(
      "te-note",
      `Curves are medians of ${NETWORKS} random networks; each layer is one feed-forward sub-layer with its norm. The ` +
        "learning signal is the length of ∂loss/∂stream, for a loss whose gradient has length 1 at the output. Pre-norm " +
        "has one more norm behind its last layer.",
    ),
  );
  return state.dispose;
}

export default { render };
