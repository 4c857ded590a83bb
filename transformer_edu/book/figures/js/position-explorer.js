import {
  bold,
  button,
  choice,
  clamp,
  div,
  diverging,
  dot,
  fill,
  focusedIn,
  format,
  frame,
  gliding,
  h,
  matrixGrid,
  paragraph,
  player,
  select,
  sketch,
  slider,
  snapshot,
  span,
  store,
  svg,
  whole,
} from "./core.js";

const TRAITS = /** @type {const} */ (["d_model", "base", "positions", "position", "offset", "pair"]);
const SIZES = [4, 8, 16, 32, 64];
const LENGTHS = [32, 64, 128];
const MOST_CLOCKS = 6;
const ELSEWHERE = 30; // how far away the same distance is shown once more
const TURN = 2 * Math.PI;
const ROOM = 0.007; // between a marked row and its frame, as a share of the table's height
const LETTER = 0.09; // the height of a number beside it, as a share of the table's on a phone
const SHADES = Array.from({ length: 256 }, (_, i) => diverging(i / 127.5 - 1));

/** θ_i, in radians per position, for each pair of columns. */
const thetasOf = (d_model, base) => Array.from({ length: d_model / 2 }, (_, i) => base ** ((-2 * i) / d_model));

/** One row of the table: sin, cos, sin, cos … */
const rowOf = (position, thetas) => thetas.flatMap((theta) => [Math.sin(position * theta), Math.cos(position * theta)]);

/** PE(p) · PE(p+k) = Σ cos(kθ_i): p does not occur in it. */
const productAt = (offset, thetas) => thetas.reduce((sum, theta) => sum + Math.cos(offset * theta), 0);

/** At most six pairs, more of the fast ones, which show something; the chosen one is among them. */
function clocksShown(count, chosen) {
  if (count <= MOST_CLOCKS) return [...Array(count).keys()];
  const pairs = Array.from({ length: MOST_CLOCKS }, (_, n) => Math.round((count - 1) * (n / (MOST_CLOCKS - 1)) ** 1.5));
  if (pairs.includes(chosen)) return pairs;
  const far = pairs.slice(1, -1).map((pair) => Math.abs(pair - chosen));
  pairs[1 + far.indexOf(Math.min(...far))] = chosen;
  return pairs;
}

/** Another first position in the table: the same distance, from somewhere else. */
function elsewhere({ positions, position, offset }) {
  const count = positions - offset;
  return (position + Math.min(ELSEWHERE, Math.floor(count / 2))) % count;
}

const turnOf = (theta) => `one turn in ${long(TURN / theta)}`;
const long = (value) => (value < 100 ? format(value, 1) : whole(Math.round(value)));
/** Full turns dropped. */
const degrees = (angle) => ((angle % TURN) * 360) / TURN;
const angleOf = (angle) => `${format(degrees(angle), 1)}°`;

/** The table as a picture: one canvas pixel for each number, stretched; the two rows and the chosen pair are framed. */
function tableOf(onPick) {
  const canvas = h("canvas", { class: "te-pos-canvas", role: "img" });
  const rect = (name) => svg("rect", { class: name, "vector-effect": "non-scaling-stroke" });
  const pairFrames = [rect("te-pos-under"), rect("te-pos-row")];
  const names = ["te-pos-first", "te-pos-second"];
  const rows = names.map((name) => [rect(`te-pos-under ${name}`), rect(`te-pos-row ${name}`)]);
  const frames = svg(
    "svg",
    { class: "te-pos-frames", preserveAspectRatio: "none", "aria-hidden": "true", focusable: "false" },
    ...pairFrames,
    ...rows.flat(),
  );
  const marks = names.map((name) => span(`te-pos-mark ${name}`));
  const ticks = h("div", { class: "te-pos-ticks", "aria-hidden": "true" });
  const box = div("te-pos-table", ticks, div("te-pos-picture", canvas, frames), ...marks);
  const set = (node, values) => Object.entries(values).forEach(([name, value]) => node.setAttribute(name, value));
  let size = [1, 1];
  const pick = (event) => {
    const area = canvas.getBoundingClientRect();
    const at = (offset, length, count) => clamp(Math.floor((offset / length) * count), 0, count - 1);
    const column = at(event.clientX - area.left, area.width, size[1]);
    onPick(at(event.clientY - area.top, area.height, size[0]), Math.floor(column / 2));
  };
  canvas.addEventListener("pointerdown", (event) => {
    canvas.setPointerCapture(event.pointerId);
    pick(event);
  });
  canvas.addEventListener("pointermove", (event) => event.buttons && pick(event));

  let [painted, numbers] = ["", []]; // beside the table: its ticks

  function paint({ d_model, positions, base }, thetas) {
    if (painted === `${d_model} ${positions} ${base}`) return;
    painted = `${d_model} ${positions} ${base}`;
    size = [positions, d_model];
    [canvas.width, canvas.height] = [d_model, positions];
    const picture = new ImageData(d_model, positions);
    picture.data.fill(255);
    for (let position = 0; position < positions; position += 1) {
      rowOf(position, thetas).forEach((value, column) =>
        picture.data.set(SHADES[Math.round(127.5 * (value + 1))], 4 * (position * d_model + column)),
      );
    }
    canvas.getContext("2d").putImageData(picture, 0, 0);
    numbers = [0, 1, 2, 3, 4].map((n) => Math.min((n * positions) / 4, positions - 1));
    fill(ticks, ...numbers.map((tick) => h("span", { style: { top: `${(100 * (tick + 0.5)) / positions}%` } }, tick)));
    set(frames, { viewBox: `0 0 ${d_model} ${positions}` });
    rows.flat().forEach((one) => set(one, { x: 0, width: d_model, height: 1 + 2 * ROOM * positions }));
  }
  return {
    element: box,
    update(state, thetas) {
      const { positions, position, offset, pair } = state;
      paint(state, thetas);
      pairFrames.forEach((one) => set(one, { x: 2 * pair, y: 0, width: 2, height: positions }));
      marks.forEach((mark, i) => (mark.textContent = String(position + i * offset)));
      canvas.setAttribute(
        "aria-label",
        `Heatmap of the table: ${positions} positions by ${state.d_model} dimensions, values from minus 1 to 1. ` +
          "Columns on the left change fast from row to row, columns on the right slowly. " +
          `Rows ${position} and ${position + offset} are marked.`,
      );
    },
    /** Put the frames at two places, which may lie between rows. */
    move(places) {
      places.forEach((at, i) => {
        rows[i].forEach((one) => one.setAttribute("y", String(at - ROOM * size[0])));
        marks[i].style.top = `${(100 * (at + 0.5)) / size[0]}%`;
      });
      numbers.forEach((tick, i) => {
        // the first row's own number stands among them
        /** @type {HTMLElement} */ (ticks.children[i]).style.visibility =
          Math.abs(tick - places[0]) < LETTER * size[0] ? "hidden" : "";
      });
    },
  };
}

/** Sine to the right, cosine up: the hand's angle, clockwise from twelve, is position times θ. */
function clock() {
  const wedge = svg("path", { class: "te-pos-wedge" });
  const hands = ["te-pos-first", "te-pos-second"].map((name) =>
    svg("line", { x1: 0, y1: 0, class: `te-pos-hand ${name}` }),
  );
  const marks = [0, 1, 2, 3].map((n) =>
    svg("line", { x1: 0, x2: 0, y1: -1, y2: -0.88, class: "te-pos-tick", transform: `rotate(${90 * n})` }),
  );
  const face = sketch(
    "te-pos-face",
    "-1.08 -1.08 2.16 2.16",
    svg("circle", { r: 1, class: "te-pos-rim" }),
    wedge,
    ...marks,
    ...hands,
    svg("circle", { r: 0.07, class: "te-pos-pin" }),
  );
  return {
    face,
    update(theta, position, offset) {
      hands.forEach((hand, i) => {
        const angle = (position + i * offset) * theta;
        Object.assign(hand.dataset, { sin: Math.sin(angle), cos: Math.cos(angle) });
      });
    },
    /** Draw the hands for two positions, which may lie between rows. */
    turn(theta, from, to) {
      hands.forEach((hand, i) => {
        const angle = [from, to][i] * theta;
        hand.setAttribute("x2", String(0.86 * Math.sin(angle)));
        hand.setAttribute("y2", String(-0.86 * Math.cos(angle)));
      });
      const wide = ((to - from) * theta) % TURN;
      const point = (angle) => `${0.5 * Math.sin(angle)} ${-0.5 * Math.cos(angle)}`;
      const large = wide > Math.PI ? 1 : 0;
      wedge.setAttribute("d", `M 0 0 L ${point(from * theta)} A 0.5 0.5 0 ${large} 1 ${point(from * theta + wide)} Z`);
    },
  };
}

/** The chosen clock for one pair of positions, large. */
function largeClock() {
  const hands = clock();
  const [first, second] = ["te-pos-first", "te-pos-second"].map((name) => span(`te-pos-key ${name}`));
  const [angle, where] = [h("b", { class: "te-pos-angle" }), span("te-label")];
  return {
    ...hands,
    element: div("te-pos-large", where, div("te-pos-keys", first, second), hands.face, angle),
    /** `moved`: how far both positions are from the rows framed in the table. */
    say(theta, position, offset, moved) {
      hands.update(theta, position, offset);
      where.textContent = moved
        ? `both ${Math.abs(moved)} rows ${moved > 0 ? "further on" : "earlier"}`
        : "the two framed rows";
      first.textContent = moved ? position : `p = ${position}`;
      second.textContent = moved ? position + offset : `p + ${offset} = ${position + offset}`;
      angle.textContent = angleOf(offset * theta);
    },
  };
}

/** The dot product against the offset. */
function productCurve({ d_model, positions, offset }, thetas) {
  const [width, height, left, top] = [600, 130, 30, 8];
  const values = Array.from({ length: 4 * positions }, (_, n) =>
    productAt((n * (positions - 1)) / (4 * positions - 1), thetas),
  );
  const low = Math.min(-1, ...values);
  const x = (k) => left + (k / (positions - 1)) * (width - left - 10);
  const y = (value) => top + ((d_model / 2 - value) / (d_model / 2 - low)) * (height - top - 22);
  const text = (content, at, down, anchor) =>
    svg("text", { x: at, y: down, "text-anchor": anchor, class: "te-pos-axis" }, content);
  const points = values.map(
    (value, n) => `${x((n * (positions - 1)) / (values.length - 1)).toFixed(2)} ${y(value).toFixed(2)}`,
  );
  const line = (value) => svg("line", { x1: left, x2: width - 10, y1: y(value), y2: y(value), class: "te-pos-line" });
  return sketch(
    "te-pos-chart",
    `0 0 ${width} ${height}`,
    line(0),
    line(d_model / 2),
    text("0", left - 6, y(0) + 4, "end"),
    text(d_model / 2, left - 6, y(d_model / 2) + 4, "end"),
    text("distance k", width / 2, height - 4, "middle"),
    text(positions - 1, width - 10, height - 4, "end"),
    svg("path", { d: `M ${points.join(" L ")}`, class: "te-pos-curve" }),
    svg("circle", { cx: x(offset), cy: y(productAt(offset, thetas)), r: 5, class: "te-pos-pin" }),
  );
}

function render({ model, el }) {
  const figure = frame(el, {
    name: "position-explorer",
    label: "Positional encoding: two positions and the angle between them",
    says: ["Move both positions: each clock keeps its angle"],
    invite: ["press Play: both positions move on, all hands turn, no angle changes."],
  });
  const state = store(model, TRAITS, draw);
  let pairs = [],
    clocks = [],
    list,
    numbers;

  /** Change the state; keep both rows inside the table and the pair among the pairs. */
  function change(changes) {
    const next = { ...snapshot(state, TRAITS), ...changes };
    next.offset = clamp(next.offset, 0, next.positions / 2);
    next.position = clamp(next.position, 0, next.positions - 1 - next.offset);
    next.pair = clamp(next.pair, 0, next.d_model / 2 - 1);
    if (TRAITS.some((name) => next[name] !== state[name])) state.set(next);
  }
  const picture = tableOf((position, pair) => change({ position, pair }));
  const large = [largeClock(), largeClock()];
  const hands = gliding(([position, offset, power, other]) => {
    const thetas = thetasOf(state.d_model, Math.exp(power));
    picture.move([position, position + offset]);
    [position, other].forEach((from, n) => large[n].turn(thetas[state.pair], from, from + offset));
    clocks.forEach((one, n) => one.turn(thetas[pairs[n]], position, position + offset));
  });
  const largeTitle = div("te-caption");
  const product = paragraph();
  const clockBox = div();
  const numberBox = div("te-pos-numbers");
  const curve = div();
  const more = paragraph("te-note");
  const play = player({
    figure: figure.root,
    at: () => state.position,
    last: () => state.positions - 1 - state.offset,
    go: (position) => change({ position }),
    wait: 400,
  });
  const positionSlider = slider({
    label: "first position, p",
    min: 0,
    max: state.positions - 1,
    value: state.position,
    onInput: (position) => change({ position }),
  });
  const offsetSlider = slider({
    label: "distance, k",
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
    format: (exponent) => whole(Number((10 ** exponent).toPrecision(3))),
    onInput: (exponent) => change({ base: Number((10 ** exponent).toPrecision(3)) }),
  });
  const sizeList = (values, name) =>
    select({
      label: name,
      value: String(state[name]),
      options: values.map((value) => ({ value: String(value), label: String(value) })),
      onChange: (value) => change(Object.fromEntries([[name, Number(value)]])),
    });
  const lists = { d_model: sizeList(SIZES, "d_model"), positions: sizeList(LENGTHS, "positions") };

  function rebuild() {
    const shown = clocksShown(state.d_model / 2, state.pair);
    if (String(shown) === String(pairs)) return;
    const refocus = focusedIn(clockBox);
    pairs = shown;
    clocks = pairs.map(clock);
    list = choice({
      label: "Pair of dimensions",
      class: "te-pos-clocks",
      value: state.pair,
      onChange: (pair) => change({ pair }),
      options: pairs.map((pair, n) => ({
        value: pair,
        label: `clock ${pair}`,
        content: [clocks[n].face, span("te-pos-name", `clock ${pair}`), h("b", {}), span("te-pos-turn")],
      })),
    });
    fill(clockBox, list.element);
    if (refocus) list.element.querySelector("[aria-checked=true]").focus();
  }

  /** What is folded is drawn when it is open. */
  function drawMore(thetas, rows) {
    if (numbers?.columns !== state.d_model) {
      const grid = matrixGrid({
        name: "rows",
        label: "the two rows of the table",
        rows: ["PE(p)", "PE(p+k)"],
        columns: Array.from({ length: state.d_model }, (_, i) => String(i)),
        showRows: true,
        showColumns: true,
      });
      numbers = { columns: state.d_model, grid };
      fill(numberBox, grid.element);
    }
    numbers.grid.update(rows, { decimals: 2, colour: diverging });
    fill(
      more,
      "Each clock adds cos(kθ",
      h("sub", {}, "i"),
      ") to the dot product: ",
      thetas.map((theta) => format(Math.cos(state.offset * theta))).join(", "),
      ". Against the distance:",
    );
    fill(curve, productCurve(state, thetas));
  }

  function draw() {
    const { d_model, base, position, offset, pair, positions } = state;
    const thetas = thetasOf(d_model, base);
    const rows = [rowOf(position, thetas), rowOf(position + offset, thetas)];
    rebuild();
    picture.update(state, thetas);
    clocks.forEach((one, n) => one.update(thetas[pairs[n]], position, offset));
    const other = elsewhere(state);
    [position, other].forEach((from, n) => large[n].say(thetas[pair], from, offset, from - position));
    hands.to([position, offset, Math.log(base), other]);
    list.set(pair);
    list.buttons.forEach((one, n) => {
      const theta = thetas[pairs[n]];
      const columns = `${2 * pairs[n]} and ${2 * pairs[n] + 1}`;
      const angle = angleOf(offset * theta);
      one.querySelector("b").textContent = angle;
      one.querySelector(".te-pos-turn").textContent = turnOf(theta);
      one.setAttribute(
        "aria-label",
        `clock ${pairs[n]}, columns ${columns}: ${turnOf(theta)} positions, ` + `angle between the hands ${angle}`,
      );
    });
    fill(
      largeTitle,
      bold(`clock ${pair}`),
      span("", `of columns ${2 * pair} and ${2 * pair + 1}, ${turnOf(thetas[pair])} positions`),
    );
    const some = pairs.length < thetas.length ? ` (${pairs.length} of ${thetas.length} are drawn)` : "";
    words.firstChild.textContent = `A clock${some} draws two neighbouring numbers of a row, the sine to the right and the cosine up. `;
    fill(
      finding,
      `On clock ${pair}, `,
      bold(offset),
      offset === 1 ? " position further is " : " positions further is ",
      bold(angleOf(offset * thetas[pair])),
      ", wherever you begin.",
    );
    fill(
      product,
      span("te-nowrap", `PE(${position}) · PE(${position + offset})`),
      " = ",
      h("b", { dataset: { value: dot(rows[0], rows[1]), name: "product" } }, format(dot(rows[0], rows[1]))),
      ", whatever p is.",
    );
    if (folded.open) drawMore(thetas, rows);
    positionSlider.input.max = String(positions - 1 - offset);
    offsetSlider.input.max = String(positions / 2);
    positionSlider.set(position);
    offsetSlider.set(offset);
    baseSlider.set(Math.log10(base));
    Object.entries(lists).forEach(([name, one]) => one.set(String(state[name])));
    figure.tell(
      `Positions ${position} and ${position + offset}, ${other} and ${other + offset}. ` +
        `${finding.textContent} Slowest clock: ${turnOf(thetas.at(-1))}. ${positions} positions, ${d_model} dimensions.`,
    );
  }

  figure.stage.append(
    div(
      "te-pos-top",
      div(
        "te-pos-left",
        div("te-caption", bold("the table"), span("", "a row for each position")),
        picture.element,
        div(
          "te-pos-scale te-label",
          span("", "fast"),
          span("te-pos-legend", span("", "−1"), span("te-pos-bar"), span("", "+1")),
          span("", "slow"),
        ),
      ),
      div("te-pos-right", largeTitle, div("te-pos-same", large[0].element, div("te-pos-equal", "="), large[1].element)),
    ),
    clockBox,
  );
  figure.controls.append(play.element, positionSlider.element, offsetSlider.element, baseSlider.element);
  const [words, finding] = [figure.words(2), span()];
  words.append(span(), finding);
  const size = div(
    "te-group",
    ...Object.values(lists).map((one) => one.element),
    button("Start again", () => state.set(start)),
  );
  const start = snapshot(state, TRAITS);
  const near = (angle) => Math.min(angle, 360 - angle);
  const slowest = () => thetasOf(state.d_model, state.base).at(-1);
  figure.ask([
    {
      ask: ["find two positions at which clock 0 shows nearly the same"],
      done: () => state.offset > 0 && near(degrees(state.offset * 1)) < 10,
      tell: ["One clock alone confuses them; the slower clocks tell them apart."],
      show: () => change({ offset: 25, pair: 0 }),
    },
    {
      ask: ["make even the slowest clock turn by 90°"],
      done: () => state.offset * slowest() >= Math.PI / 2,
      tell: ["With a small base all clocks are fast, and far positions begin to look alike."],
      show: () => change({ base: 10, offset: 16, pair: state.d_model / 2 - 1 }),
    },
  ]);
  const folded = figure.details("Another table, its numbers, the dot product", size, numberBox, product, more, curve);
  folded.addEventListener("toggle", draw);
  draw();
  return state.dispose;
}

export default { render };
