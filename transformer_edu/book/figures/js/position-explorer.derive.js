// Two positions in a table of sinusoidal encodings: a picture, clocks, the dot product, and what is said. Nothing draws.
import { cellsOf } from "./core/cells.js";
import { lastChange } from "./core/changed.js";
import { diverging } from "./core/colour.js";
import { format, plain, whole } from "./core/format.js";
import { clamp, dot } from "./core/math.js";

export const SIZES = [4, 8, 16, 32, 64];
export const LENGTHS = [32, 64, 128];
const [WIDE, HIGH] = [600, 130]; // of the curve
export const CHART = `0 0 ${WIDE} ${HIGH}`;
const MOST_CLOCKS = 6;
const ELSEWHERE = 30; // how far away the same distance is shown once more
const TURN = 2 * Math.PI;
const HAND = 0.86;
const LETTER = 0.11; // the height of a number beside the table, as a share of the table's on a phone
const SHADES = Array.from({ length: 256 }, (_, i) => diverging(i / 127.5 - 1));

/** θ_i, in radians per position, for each pair of columns. */
export const thetasOf = (d_model, base) => Array.from({ length: d_model / 2 }, (_, i) => base ** ((-2 * i) / d_model));

/** One row of the table: sin, cos, sin, cos … */
const rowOf = (position, thetas) => thetas.flatMap((theta) => [Math.sin(position * theta), Math.cos(position * theta)]);

/** PE(p) · PE(p+k) = Σ cos(kθ_i): p does not occur in it. */
const productAt = (offset, thetas) => thetas.reduce((sum, theta) => sum + Math.cos(offset * theta), 0);

/** The table as a picture, red, green, blue and opacity for each number. */
export function pixelsOf({ d_model, base, positions }) {
  const thetas = thetasOf(d_model, base);
  const rows = Array.from({ length: positions }, (_, position) => rowOf(position, thetas));
  return rows.flat().flatMap((value) => [...SHADES[Math.round(127.5 * (value + 1))], 255]);
}

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

const long = (value) => (value < 100 ? format(value, 1) : whole(Math.round(value)));
const turnOf = (theta) => `one turn in ${long(TURN / theta)}`;
export const degrees = (angle) => ((angle % TURN) * 360) / TURN; // full turns dropped
const angleOf = (angle) => `${format(degrees(angle), 1)}°`;

/** The changes with which both rows stay inside the table, and the pair among the pairs. */
export function fitting(state, wanted) {
  const { d_model, base, positions, ...next } = { ...state, ...wanted };
  const offset = clamp(next.offset, 0, positions / 2);
  const position = clamp(next.position, 0, positions - 1 - offset);
  return { d_model, base, positions, position, offset, pair: clamp(next.pair, 0, d_model / 2 - 1) };
}

/** The change that brings the first row, or the second, to a position: both move, or the distance is another. */
export const movedTo = ({ positions, position, offset }, which, to) =>
  which === 0 ? { position: to } : { offset: clamp(to - position, 0, Math.max(offset, positions - 1 - position)) };

/** The row and the pair of columns at a place of the table, from 0 to 1 across and down. */
export function pickedAt({ d_model, positions }, across, down) {
  const at = (share, count) => clamp(Math.floor(share * count), 0, count - 1);
  return { position: at(down, positions), pair: Math.floor(at(across, d_model) / 2) };
}

/** The angle of a pointer on a clock, from twelve. */
export const turnedTo = ({ clientX, clientY }, { left, top, width, height }) =>
  Math.atan2(clientX - left - width / 2, top + height / 2 - clientY);

/** Sine and cosine of both hands. */
const handsOf = (theta, position, offset) =>
  [position, position + offset].map((at) => ({ sin: Math.sin(at * theta), cos: Math.cos(at * theta) }));

/** Where a clock's hand ends that has turned so far: sine to the right, cosine up. */
export const tipOf = (angle, length = HAND) => [length * Math.sin(angle), -length * Math.cos(angle)];

/** The piece of a clock between its hands. */
export function wedgeOf(theta, from, to) {
  const wide = ((to - from) * theta) % TURN;
  const [start, end] = [0, wide].map((angle) => tipOf(from * theta + angle, 0.5).join(" "));
  return `M 0 0 L ${start} A 0.5 0.5 0 ${wide > Math.PI ? 1 : 0} 1 ${end} Z`;
}

/** Numbers beside the table, and which are seen while the first row's own stands at a place. */
export const ticksOf = ({ positions }, place) =>
  [0, 1, 2, 3, 4].map((n) => {
    const tick = Math.min((n * positions) / 4, positions - 1);
    return { tick, visibility: Math.abs(tick - place) < LETTER * positions ? "hidden" : "visible" };
  });

/**
 * All that is drawn.
 * @param {any} state @param {any}[before]  what was derived before: what is another now stays marked until the next change
 */
export function derive({ d_model, base, positions, position, offset, pair }, before = null) {
  const now = { d_model, base, positions, position, offset, pair };
  const key = JSON.stringify(now);
  if (before?.key === key) return before;
  const change = { ...lastChange(now, before), now };
  const thetas = thetasOf(d_model, base);
  const angles = thetas.map((theta) => angleOf(offset * theta));
  const marks = [position, position + offset];
  const rows = marks.map((at) => rowOf(at, thetas));
  const other = elsewhere(now);
  const shown = { ...{ ...change, key, thetas, angles, marks, other }, product: dot(rows[0], rows[1]) };
  const names = { rows: ["PE(p)", "PE(p+k)"], columns: Array.from({ length: d_model }, (_, i) => String(i)) };
  const pairs = clocksShown(d_model / 2, pair);
  const words = wordsOf(shown, pairs.length);
  return {
    ...{ ...shown, names, words },
    cells: cellsOf(rows, { ...names, decimals: 2, before: change.from?.cells }),
    picture:
      `Heatmap of the table: ${positions} positions by ${d_model} dimensions, values from minus 1 to 1. ` +
      "Columns on the left change fast from row to row, columns on the right slowly. " +
      `Rows ${marks.join(" and ")} are marked.`,
    clocks: pairs.map((one) => clockOf(shown, one)),
    chosen: `of columns ${2 * pair} and ${2 * pair + 1}, ${turnOf(thetas[pair])} positions`,
    large: [position, other].map((from) => largeOf(shown, from)),
    was: wasOf(shown, pair),
    says: ["Move both positions: each clock keeps its angle"],
    told:
      `Positions ${marks.join(" and ")}, ${other} and ${other + offset}. ${plain(words.slice(1))} ` +
      `Slowest clock: ${turnOf(thetas.at(-1))}. ${positions} positions, ${d_model} dimensions.`,
  };
}

/** The angle that a clock showed before the last change, if it was another. */
function wasOf({ from, angles }, pair) {
  const was = from?.angles[pair] ?? angles[pair];
  return was === angles[pair] ? null : was;
}

/** A clock in the row of them. */
function clockOf(shown, pair) {
  const { now, thetas, angles } = shown;
  const [name, angle, turn] = [`clock ${pair}`, angles[pair], turnOf(thetas[pair])];
  const columns = `columns ${2 * pair} and ${2 * pair + 1}`;
  const label = `${name}, ${columns}: ${turn} positions, angle between the hands ${angle}`;
  const hands = handsOf(thetas[pair], now.position, now.offset);
  return { value: pair, name, hands, angle, was: wasOf(shown, pair), turn, label };
}

/** The chosen clock for one pair of positions, large: what is written above it. */
function largeOf({ now: { position, offset, pair }, thetas }, from) {
  const moved = from - position; // how far both positions are from the rows framed in the table
  const where = `both ${Math.abs(moved)} rows ${moved > 0 ? "further on" : "earlier"}`;
  return {
    hands: handsOf(thetas[pair], from, offset),
    where: moved ? where : "the two framed rows",
    names: moved ? [from, from + offset] : [`p = ${from}`, `p + ${offset} = ${from + offset}`],
  };
}

/** What a clock is, and the finding on the chosen one. */
function wordsOf({ now: { offset, pair }, thetas, angles }, count) {
  const some = count < thetas.length ? ` (${count} of ${thetas.length} are drawn)` : "";
  return [
    `A clock${some} draws two neighbouring numbers of a row, the sine to the right and the cosine up. `,
    ...[`On clock ${pair}, `, { bold: String(offset) }, ` position${offset === 1 ? "" : "s"} further is `],
    ...[{ bold: angles[pair] }, ", wherever you begin."],
  ];
}

/** The dot product of both rows, in words. */
export function productOf({ marks: [first, second], product, from }) {
  const [text, was] = [format(product), format(from?.product ?? product)];
  const end = was === text ? ", whatever p is." : `, whatever p is. It was ${was}.`;
  return [[`PE(${first}) · PE(${second})`], " = ", { number: product, text, measure: "product" }, end];
}

/** What each clock adds to it. */
export const termsOf = ({ now: { offset }, thetas }) => [
  ...["Each clock adds cos(kθ", { sub: "i" }, ") to the dot product: "],
  `${thetas.map((theta) => format(Math.cos(offset * theta))).join(", ")}. Against the distance:`,
];

/** The dot product against the distance. */
export function curveOf({ now: { d_model, positions, offset }, thetas }) {
  const [left, right, count] = [30, WIDE - 10, 4 * positions];
  const distances = Array.from({ length: count }, (_, n) => (n * (positions - 1)) / (count - 1));
  const values = distances.map((k) => productAt(k, thetas));
  const low = Math.min(-1, ...values);
  const x = (k) => left + (k / (positions - 1)) * (right - left);
  const y = (value) => 8 + ((d_model / 2 - value) / (d_model / 2 - low)) * (HIGH - 30);
  const text = (text, x, y, anchor) => ({ text, x, y, "text-anchor": anchor });
  const levels = [0, d_model / 2];
  return {
    d: `M ${distances.map((k, n) => `${x(k).toFixed(2)} ${y(values[n]).toFixed(2)}`).join(" L ")}`,
    pin: { cx: x(offset), cy: y(productAt(offset, thetas)) },
    axes: levels.map((level) => `M ${left} ${y(level)} H ${right}`).join(""),
    texts: [
      ...levels.map((level) => text(level, left - 6, y(level) + 4, "end")),
      text("distance k", WIDE / 2, HIGH - 4, "middle"),
      text(positions - 1, right, HIGH - 4, "end"),
    ],
  };
}
