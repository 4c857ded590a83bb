import { bold, button, changeAnnouncer, choice, clamp, div, diverging, dot, fill, focusedIn, format, h, matrixGrid,
  MINUS, mount, paragraph, select, sketch, slider, snapshot, span, store, svg } from "./core.js";

const TRAITS = ["d_model", "base", "positions", "position", "offset", "pair"];
const SIZES = [4, 8, 16, 32, 64];
const LENGTHS = [32, 64, 128];
const MOST_CLOCKS = 8;
const TURN = 2 * Math.PI;
const ROOM = 0.007; // between a marked row and its frame, as a share of the table's height

/** θ_i, in radians per position, for each pair of columns. */
const thetasOf = (d_model, base) => Array.from({ length: d_model / 2 }, (_, i) => base ** ((-2 * i) / d_model));

/** One row of the table: sin, cos, sin, cos … */
const rowOf = (position, thetas) => thetas.flatMap((theta) => [Math.sin(position * theta), Math.cos(position * theta)]);

/** PE(p) · PE(p+k) = Σ cos(kθ_i): p does not occur in it. */
const productAt = (offset, thetas) => thetas.reduce((sum, theta) => sum + Math.cos(offset * theta), 0);

/** At most eight pairs, spread from the fastest to the slowest, the chosen one among them. */
function clocksShown(count, chosen) {
  if (count <= MOST_CLOCKS) return [...Array(count).keys()];
  const pairs = Array.from({ length: MOST_CLOCKS }, (_, n) => Math.round((n * (count - 1)) / (MOST_CLOCKS - 1)));
  const nearest = pairs.reduce(
    (best, pair, n) => (Math.abs(pair - chosen) < Math.abs(pairs[best] - chosen) ? n : best), 0
  );
  pairs[nearest] = chosen;
  return pairs;
}

const threeDigits = (value) => value.toPrecision(3);
const long = (value) => (value < 100 ? format(value, 1) : Math.round(value).toLocaleString("en"));
/** Full turns dropped. */
const degrees = (angle) => ((angle % TURN) * 360) / TURN;
const place = (state) => `p = ${state.position}`;
const other = (state) => `p + k = ${state.position + state.offset}`;

/** The table as a picture: one canvas pixel for each number, stretched; the two rows and the chosen pair are framed. */
function tableOf(onPick) {
  const canvas = h("canvas", { class: "te-pos-canvas", role: "img" });
  const frames = svg(
    "svg", { class: "te-pos-frames", preserveAspectRatio: "none", "aria-hidden": "true", focusable: "false" }
  );
  const [first, second] = [span("te-pos-mark te-pos-first"), span("te-pos-mark te-pos-second")];
  const ticks = h("div", { class: "te-pos-ticks", "aria-hidden": "true" });
  const box = div("te-pos-table", ticks, div("te-pos-picture", canvas, frames), first, second);
  let size = [1, 1];
  const pick = (event) => {
    const area = canvas.getBoundingClientRect();
    const at = (offset, length, count) => clamp(Math.floor((offset / length) * count), 0, count - 1);
    onPick(at(event.clientY - area.top, area.height, size[0]), Math.floor(
      at(event.clientX - area.left, area.width, size[1]) / 2
    ));
  };
  canvas.addEventListener("pointerdown", (event) => {
    canvas.setPointerCapture(event.pointerId);
    pick(event);
  });
  canvas.addEventListener("pointermove", (event) => event.buttons && pick(event));

  function paint({ d_model, positions }, thetas) {
    [canvas.width, canvas.height] = [d_model, positions];
    const picture = new ImageData(d_model, positions);
    for (let position = 0; position < positions; position += 1) {
      rowOf(position, thetas).forEach((value, column) => picture.data.set(
        [...diverging(value), 255], 4 * (position * d_model + column)
      ));
    }
    canvas.getContext("2d").putImageData(picture, 0, 0);
    const step = positions / 4;
    fill(ticks, ...[0, 1, 2, 3, 4].map((n) => Math.min(n * step, positions - 1)).map(
      (tick) => h("span", { style: { top: `${(100 * (tick + 0.5)) / positions}%` } }, tick)
    ));
  }
  let painted = "";
  return {
    element: box,
    update(state, thetas) {
      const { d_model, positions, position, offset, pair } = state;
      size = [positions, d_model];
      const shape = `${d_model} ${positions} ${state.base}`;
      if (shape !== painted) paint(state, thetas);
      painted = shape;
      frames.setAttribute("viewBox", `0 0 ${d_model} ${positions}`);
      const frame = (x, y, width, height, name) => svg(
        "rect", { x, y, width, height, class: name, "vector-effect": "non-scaling-stroke" }
      );
      // the row itself stays free
      const around = (row, name) => frame(0, row - ROOM * positions, d_model, 1 + 2 * ROOM * positions, name);
      fill(frames, frame(
        2 * pair, 0, 2, positions, "te-pos-pair"
      ), ...["te-pos-under", "te-pos-row"].flatMap((name) => [
        around(position, `${name} te-pos-first`), around(position + offset, `${name} te-pos-second`)
      ]));
      [first.textContent, second.textContent] = [position, position + offset];
      first.style.top = `${(100 * (position + 0.5)) / positions}%`;
      second.style.top = `${(100 * (position + offset + 0.5)) / positions}%`;
      canvas.setAttribute(
        "aria-label",
        `Heatmap of the table: ${positions} positions by ${d_model} dimensions, values from minus 1 to 1. Columns on ` +
        `the left change fast from row to row, columns on the right slowly. Rows ${position} and ` +
        `${position + offset} are marked.`,
      );
    },
  };
}

/** Sine to the right, cosine up: the hand's angle, clockwise from twelve, is position times θ. */
function clock() {
  const wedge = svg("path", { class: "te-pos-wedge" });
  const hand = (name) => svg("line", { x1: 0, y1: 0, class: `te-pos-hand ${name}` });
  const [first, second] = [hand("te-pos-first"), hand("te-pos-second")];
  const marks = [0, 1, 2, 3].map(
    (n) => svg("line", { x1: 0, x2: 0, y1: -1, y2: -0.88, class: "te-pos-tick", transform: `rotate(${90 * n})` })
  );
  const face = sketch("te-pos-face", "-1.08 -1.08 2.16 2.16",
    svg("circle", { r: 1, class: "te-pos-rim" }),
    wedge, ...marks, first, second, svg("circle", { r: 0.07, class: "te-pos-pin" }));
  const aim = (line, angle) => {
    const [sin, cos] = [Math.sin(angle), Math.cos(angle)];
    line.setAttribute("x2", String(0.86 * sin));
    line.setAttribute("y2", String(-0.86 * cos));
    Object.assign(line.dataset, { sin, cos });
  };
  const text = [span(), span(), h("b", {})];
  return {
    content: [face, ...text],
    update(theta, position, offset) {
      const [from, between] = [position * theta, (offset * theta) % TURN];
      aim(first, from);
      aim(second, (position + offset) * theta);
      const point = (angle) => `${0.5 * Math.sin(angle)} ${-0.5 * Math.cos(angle)}`;
      wedge.setAttribute(
        "d", `M 0 0 L ${point(from)} A 0.5 0.5 0 ${between > Math.PI ? 1 : 0} 1 ${point(from + between)} Z`
      );
      text[0].textContent = `θ ${threeDigits(theta)}`;
      text[1].textContent = `wave ${long(TURN / theta)}`;
      text[2].textContent = `${format(degrees(offset * theta), 1)}°`;
    },
  };
}

/** The clocks, of which one is chosen. */
function clockRow(pairs, chosen, onChoose) {
  const clocks = pairs.map(clock);
  const list = choice({
    label: "Pair of dimensions",
    class: "te-pos-clocks",
    value: chosen,
    onChange: onChoose,
    options: pairs.map((pair, n) => ({ value: pair, label: `pair ${pair}`, content: clocks[n].content })),
  });
  return {
    element: list.element,
    update(state, thetas) {
      list.set(state.pair);
      pairs.forEach((pair, n) => {
        const theta = thetas[pair];
        clocks[n].update(theta, state.position, state.offset);
        list.buttons[n].setAttribute(
          "aria-label",
          `pair ${pair}, dimensions ${2 * pair} and ${2 * pair + 1}: θ ${threeDigits(theta)} radians per position, ` +
          `wavelength ${long(TURN / theta)} positions, angle between the hands ` +
          `${format(degrees(state.offset * theta), 1)} degrees`,
        );
      });
    },
  };
}

const CHART = { width: 350, height: 132, left: 34, right: 10, top: 10, bottom: 24 };

/** A chart: curves over 0 … count−1, marked points, labelled axes. Values run from `low` to `high`. */
function chart({ count, low, high, curves, points, xTitle }) {
  const { width, height, left, right, top, bottom } = CHART;
  const x = (value) => left + (value / (count - 1)) * (width - left - right);
  const y = (value) => top + ((high - value) / (high - low)) * (height - top - bottom);
  const label = (text, px, py, anchor) => svg("text", { x: px, y: py, "text-anchor": anchor, class: "te-pos-axis" },
    text
  );
  const path = (f, fine) => Array.from({ length: fine }, (_, n) => (n * (count - 1)) / (fine - 1))
    .map((value, n) => `${n ? "L" : "M"} ${x(value).toFixed(2)} ${y(f(value)).toFixed(2)}`)
    .join(" ");
  return sketch("te-pos-chart", `0 0 ${width} ${height}`,
    ...[low, 0, high].map((value) => svg(
      "line", { x1: left, x2: width - right, y1: y(value), y2: y(value), class: value ? "te-pos-line" : "te-pos-zero" }
    )),
    ...(Math.abs(y(low) - y(0)) > 12 ? [low, 0, high] : [0, high]).map(
      (value) => label(format(value, Number.isInteger(value) ? 0 : 1), left - 5, y(value) + 4, "end")
    ),
    label("0", x(0), height - 8, "middle"),
    label(count - 1, x(count - 1), height - 8, "end"), label(xTitle, (left + width - right) / 2, height - 8, "middle"),
    ...curves.map(([f, name]) => svg("path", { d: path(f, 600), class: `te-pos-curve ${name}` })),
    ...points.map(
      ([at, value, name]) => svg("line", { x1: x(at), x2: x(at), y1: y(0), y2: y(value), class: `te-pos-stem ${name}` })
    ),
    ...points.map(
      ([at, value, name]) => svg("circle", { cx: x(at), cy: y(value), r: 4.5, class: `te-pos-point ${name}` })
    ));
}

function waves({ positions, position, offset, pair }, thetas) {
  const theta = thetas[pair];
  const [sine, cosine] = [(value) => Math.sin(value * theta), (value) => Math.cos(value * theta)];
  const points = [sine, cosine].flatMap((f) => [
    [position, f(position), "te-pos-first"],
    [position + offset, f(position + offset), "te-pos-second"]
  ]);
  return chart({
    count: positions,
    low: -1,
    high: 1,
    curves: [
      [sine, "te-pos-sine"],
      [cosine, "te-pos-cosine"]
    ],
    points,
    xTitle: "position"
  });
}

function productCurve({ d_model, positions, offset }, thetas) {
  const values = Array.from({ length: 4 * positions }, (_, n) => productAt(n / 4, thetas));
  const low = Math.min(-1, Math.floor(Math.min(...values)));
  return chart({
    count: positions,
    low,
    high: d_model / 2,
    curves: [
      [(k) => productAt(k, thetas), "te-pos-sine"]
    ],
    points: [
      [offset, productAt(offset, thetas), "te-pos-here"]
    ],
    xTitle: "offset k"
  });
}

/** "PE(10) · PE(13) = Σ cos(kθᵢ) = 6.31, whatever p is." */
function sentence({ position, offset }, thetas, product) {
  const sign = (text, i) => (
    text.startsWith(MINUS) ? `${i ? ` ${MINUS} ` : MINUS}${text.slice(1)}` : `${i ? " + " : ""}${text}`
  );
  const terms = thetas.length > MOST_CLOCKS ? [] : [span("te-label te-pos-terms",
    "a term for each clock: ", thetas.map((theta, i) => sign(format(Math.cos(offset * theta)), i)).join("")
  )];
  return [
    span("te-nowrap", `PE(${position}) · PE(${position + offset})`), " = Σ cos(kθ", h("sub", {}, "i"), ") = ",
    h("b", { dataset: { value: product, name: "product" } }, format(product)), ", whatever p is. ", ...terms,
  ];
}

function render({ model, el }) {
  const root = mount(el, "position-explorer", "Positional encoding: two positions and the angle between them");
  const announce = changeAnnouncer(root);
  const state = store(model, TRAITS, draw);
  const start = snapshot(state, TRAITS);
  let clocks, numbers, built = "";

  /** Change the state; keep both rows inside the table and the pair among the pairs. */
  function change(changes) {
    const next = { ...snapshot(state, TRAITS), ...changes };
    next.offset = clamp(next.offset, 0, next.positions / 2);
    next.position = clamp(next.position, 0, next.positions - 1 - next.offset);
    next.pair = clamp(next.pair, 0, next.d_model / 2 - 1);
    if (TRAITS.some((name) => next[name] !== state[name])) state.set(next);
  }
  const picture = tableOf((position, pair) => change({ position, pair }));
  const legend = [span("te-pos-key te-pos-first"), span("te-pos-key te-pos-second")];
  const clockBox = div(),
    waveBox = div(),
    curveBox = div(),
    numberBox = div("te-pos-numbers");
  const waveTitle = div("te-label");
  const words = paragraph("te-sentence te-pos-sentence");
  const positionSlider = slider({
    label: "p (moves both)",
    min: 0,
    max: state.positions - 1,
    value: state.position,
    onInput: (position) => change({ position }),
  });
  const offsetSlider = slider({
    label: "k (distance)",
    min: 0,
    max: state.positions / 2,
    value: state.offset,
    onInput: (offset) => change({ offset }),
  });
  const baseSlider = slider({
    label: "base",
    min: 1,
    max: 5,
    step: 0.05,
    value: Math.log10(state.base),
    format: (exponent) => Number((10 ** exponent).toPrecision(3)).toLocaleString("en"),
    onInput: (exponent) => change({ base: Number((10 ** exponent).toPrecision(3)) }),
  });
  const list = (label, values, name) => select({
    label,
    value: String(state[name]),
    options: values.map(
      (value) => ({ value: String(value), label: String(value) })
    ),
    onChange: (value) => change({
      [name]: Number(value)
    })
  });
  const sizeList = list("d_model", SIZES, "d_model");
  const lengthList = list("positions", LENGTHS, "positions");
  const reset = button("Reset", () => state.set(start));

  function rebuild() {
    const pairs = clocksShown(state.d_model / 2, state.pair);
    const shape = JSON.stringify([state.d_model, pairs]);
    if (shape === built) return;
    const refocus = focusedIn(clockBox);
    built = shape;
    clocks = clockRow(pairs, state.pair, (pair) => change({ pair }));
    fill(clockBox, clocks.element);
    if (refocus) clocks.element.querySelector("[aria-checked=true]").focus();
    numbers = matrixGrid({
      name: "rows",
      label: "the two rows of the table",
      rows: ["PE(p)", "PE(p+k)"],
      columns: Array.from({ length: state.d_model }, (_, i) => String(i)),
      showRows: true,
      showColumns: true,
    });
    fill(numberBox, numbers.element);
  }

  function draw() {
    const thetas = thetasOf(state.d_model, state.base);
    const rows = [rowOf(state.position, thetas), rowOf(state.position + state.offset, thetas)];
    rebuild();
    picture.update(state, thetas);
    clocks.update(state, thetas);
    numbers.update(rows, { decimals: 2, colour: diverging });
    fill(legend[0], place(state));
    fill(legend[1], other(state));
    fill(waveTitle, `Pair ${state.pair} as waves: sine solid, cosine dashed`);
    fill(waveBox, waves(state, thetas));
    fill(curveBox, productCurve(state, thetas));
    fill(words, ...sentence(state, thetas, dot(...rows)));
    positionSlider.input.max = String(state.positions - 1 - state.offset);
    offsetSlider.input.max = String(state.positions / 2);
    [positionSlider.set(state.position), offsetSlider.set(state.offset), baseSlider.set(
      Number(Math.log10(state.base).toFixed(6))
    )];
    [sizeList.set(String(state.d_model)), lengthList.set(String(state.positions))];
    const text = `p ${state.position}, p plus k ${state.position + state.offset} of ${state.positions} positions, ` +
      `base ${state.base}, d_model ` +
      `${state.d_model}, pair ${state.pair}. Dot product ${format(dot(...rows))}.`;
    announce(text);
  }

  root.append(
    div("te-pos-controls", positionSlider.element, offsetSlider.element, baseSlider.element, div(
      "te-group", sizeList.element, lengthList.element, reset
    )),
    div("te-pos-top",
      div("te-pos-left", div("te-caption", bold("the table"), span("", "a row for each position")), picture.element,
        div("te-pos-scale te-label",
          span("", "fast"), span("te-pos-legend", span("", "−1"), span("te-pos-bar"), span("", "+1")), span("", "slow")
        )),
      div("te-pos-right",
        div("te-caption", bold("each pair is a clock"), span("te-pos-how", "sine →  cosine ↑")),
        div("te-pos-keys", ...legend, span("te-label", "bold: the angle between them")),
        clockBox,
      )),
    words,
    div("te-pos-charts",
      div("", div("te-label", "The dot product against the offset k"), curveBox),
      div("", waveTitle, waveBox)),
    h("details", { class: "te-pos-details" }, h("summary", {}, "The two rows in numbers"), numberBox),
  );
  draw();
  return state.dispose;
}

export default { render };
