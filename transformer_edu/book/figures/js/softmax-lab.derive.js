// One row of scores through the softmax twice, as it is and divided by √d_k: all that is seen of it. Nothing draws.

import { cellsOf } from "./core/cells.js";
import { lastChange } from "./core/changed.js";
import { format, short } from "./core/format.js";
import { clamp, softmax, sumOf } from "./core/math.js";

export const [SHORTEST, LONGEST] = [2, 10]; // keys have 2², 2³, … 2¹⁰ numbers
const AXIS = 16; // the score bars reach from −16 to 16; what is longer is cut off with an arrow
const MOST = 0.5; // size of the whole matrix: two keys with ½ each
const FADED = 0.05; // size of the matrix below which hardly any gradient passes
const GONE = 0.0005; // a number nearer to zero is printed as 0.000

/** @typedef {{scores: number[], draws: number[][], d_k: number, temperature: number}} State */

/**
 * All that is drawn.
 * @param {State} state  `scores` have a standard deviation of 1; those of long keys are √d_k times larger
 * @param {any}[before]  what was derived before: what is another now stays marked until the next change
 */
export function derive({ scores, draws, d_k, temperature }, before = null) {
  const now = { scores: String(scores), d_k, temperature };
  const key = JSON.stringify(now);
  if (before?.key === key) return before;
  const draw = draws.findIndex((one) => String(one) === now.scores);
  const change = lastChange(now, before, () => draw === before.draw); // a number that is typed makes one change, too
  const { from } = change;
  const raw = sideOf(scores, Math.sqrt(d_k) / temperature, from?.raw);
  const scaled = sideOf(scores, 1 / temperature, from?.scaled);
  const names = { rows: ["z"], columns: scores.map((_, i) => `key ${i + 1}`) };
  const toldOf = ({ first, gradient }) => `largest share ${format(first, 3)}, gradient ${gradient.text}.`;
  const told = `undivided: ${toldOf(raw)} divided by the root of d k: ${toldOf(scaled)}`;
  return {
    ...{ ...change, key, draw, raw, scaled, names },
    typed: cellsOf([scores], names),
    says: [finding(raw, scaled)],
    words: [story(raw, scaled, now)],
    told: `d k ${d_k}, temperature ${format(temperature, 2)}. ${told}`,
  };
}

/** One side: scores, weights, how much gradient comes back, and all derivatives. */
function sideOf(scores, factor, last) {
  const before = last?.lines.length === scores.length ? last : null;
  const logits = scores.map((score) => score * factor);
  const weights = softmax(logits);
  const jacobian = derivatives(weights);
  const [first, second] = [...weights].sort((a, b) => b - a);
  const slopes = jacobian.flat().map(Math.abs);
  const size = Math.hypot(...slopes);
  const [rows, columns] = ["w", "s"].map((letter) => scores.map((_, i) => `${letter}${i + 1}`));
  return {
    ...{ first, second, rows, columns, steepest: Math.max(...slopes) },
    lines: weights.map((weight, i) => lineOf(logits[i], weight, i === weights.indexOf(first), before?.lines[i])),
    range: logits.some((score) => Math.abs(score) > AXIS) ? `▸ beyond ${AXIS}` : `−${AXIS} to ${AXIS}`,
    gradient: measured(size, small(size), size / MOST, before?.gradient),
    verdict: verdict(weights.length, first, second, size),
    cells: cellsOf(jacobian, { rows, columns, decimals: 3, quiet: GONE, before: before?.cells }),
  };
}

/** A number with its bar, and what it was, if it was printed otherwise. */
const measured = (value, text, share, before = null) => ({
  ...{ value, text, share },
  was: before && before.text !== text ? { text: before.text, share: before.share } : null,
});

/** A key: its score and its weight. */
function lineOf(score, weight, isFirst, before) {
  return {
    score: {
      ...measured(score, format(score, Math.abs(score) < 100 ? 1 : 0), clamp(score / AXIS, -1, 1), before?.score),
      beyond: score > AXIS ? "right" : score < -AXIS ? "left" : "",
    },
    weight: measured(weight, format(weight, 3), weight, before?.weight),
    kind: `${isFirst ? " te-lab-first" : ""}${weight < GONE ? " te-lab-zero" : ""}`,
  };
}

/** ∂w_i/∂s_j = w_i (1[i = j] − w_j). Here 1 − w_i is the sum of the others, which stays exact when w_i is nearly 1. */
function derivatives(weights) {
  const others = weights.map((_, i) => sumOf(weights.filter((__, j) => j !== i)));
  return weights.map((wi, i) => weights.map((wj, j) => (i === j ? wi * others[i] : -wi * wj)));
}

/** Three decimals, or a power of ten for what they would round away. */
function small(value) {
  if (value === 0 || value >= 0.001) return format(value, 3);
  const [digits, exponent] = value.toExponential(1).split("e-");
  return `${digits} × 10⁻${[...exponent].map((digit) => "⁰¹²³⁴⁵⁶⁷⁸⁹"[digit]).join("")}`;
}

const tied = (first, second) => second > 0.25 && first + second > 0.9;
const even = (count, first) => first < 1.15 / count;

/** What the weights do, in a few words. */
function verdict(count, first, second, size) {
  if (even(count, first)) return "Nearly equal shares: no choice.";
  if (tied(first, second)) return "Two keys nearly tie: a nudge decides.";
  if (size >= FADED) return "The softmax still answers.";
  return size < 0.001 ? "One key takes all: nothing answers." : "One key has nearly everything.";
}

/** The finding, for these scores. */
function finding(raw, scaled) {
  if (scaled.gradient.value < FADED) return "So cold that one key wins on both sides, divided or not";
  if (raw.gradient.value < FADED) return "Undivided, one key wins and hardly any gradient passes";
  if (tied(raw.first, raw.second)) return "Two keys nearly tie, so gradient passes even undivided";
  return even(raw.lines.length, raw.first)
    ? "All weights are nearly equal: this query hardly chooses"
    : "Here gradient passes on both sides, divided or not";
}

/** What the numbers mean for a nudge. */
function story(raw, scaled, { d_k, temperature }) {
  const [root, cold] = [Math.sqrt(d_k), temperature === 1 ? "" : `, at temperature ${format(temperature, 2)}`];
  return (
    `On the left the scores are √${d_k} ${root % 1 ? "≈" : "="} ${short(root, 1)} times as large${cold}. Nudge one a ` +
    `little: there no weight moves by more than ${small(raw.steepest)} of the nudge, on the right by up to ` +
    `${small(scaled.steepest)}.`
  );
}
