// One attention head in seven steps: all its matrices, which of them a step shows, and what is said of it. Nothing draws.
import { cellsOf } from "./core/cells.js";
import { cividis, diverging } from "./core/colour.js";
import { decimalsFor, format, inBrackets, plain, short } from "./core/format.js";
import { dot, mapMatrix, matmul, softmax, sumOf, transpose } from "./core/math.js";

/** @import { Cell } from "./core/view.jsx" */
/** @import { Piece } from "./core/format.js" */
/** @import { Matrix } from "./core/math.js" */

export const STEPS = ["Project", "Scores", "Scale", "Mask", "Softmax", "Mix", "Output"];
export const INPUTS = /** @type {const} */ (["x", "w_q", "w_k", "w_v", "w_o"]);
export const PARTS = { q: "query", k: "key", v: "value" };
const PURPOSES = { q: "what it asks", k: "what it is found by", v: "what it hands over" };
const NOTES = { x: "a row each", q: "queries", k: "keys", v: "values", k_t: "a key each" };
const SCORES = ["scores", "scaled", "masked"];
const D_K = ["√d", { sub: "k" }];

const numbered = (count) => Array.from({ length: count }, (_, i) => String(i + 1));
const vector = (row) => `(${row.map((value) => short(value)).join(", ")})`;
const power = (value) => (value >= 1e5 ? value.toExponential(1).replace("e+", " × 10^") : format(value));
const divisorOf = ({ scale, w_k }) => (scale ? Math.sqrt(w_k[0].length) : 1);

function isBlocked(mask, query, key, count) {
  return (mask === "causal" && key > query) || (mask === "padding" && key === count - 1);
}

/** Every matrix of the head, from the inputs and the two switches. */
export function attend(state) {
  const { tokens, x, w_q, w_k, w_v, w_o, mask } = state;
  const [q, k, v] = [matmul(x, w_q), matmul(x, w_k), matmul(x, w_v)];
  const scores = matmul(q, transpose(k));
  const scaled = mapMatrix(scores, (score) => score / divisorOf(state));
  const masked = mapMatrix(scaled, (score, i, j) => (isBlocked(mask, i, j, tokens.length) ? -Infinity : score));
  const weights = masked.map(softmax);
  const mix = matmul(weights, v);
  const inputs = { x, w_q, w_k, w_v, w_o };
  return { ...inputs, q, k, v, k_t: transpose(k), scores, scaled, masked, weights, mix, output: matmul(mix, w_o) };
}

/**
 * A matrix as it is shown. Colours only where size is the message: weights on cividis, scores on blue–orange.
 * @param {string} name @param {Matrix} values @param {string[]} tokens @param {Cell[][]}[before]
 */
function tableOf(name, values, tokens, before) {
  const [isWeights, isScores] = [name === "weights", SCORES.includes(name)];
  const rows = name.startsWith("w_") || name === "k_t" ? numbered(values.length) : tokens;
  const columns = isWeights || isScores || name === "k_t" ? tokens : numbered(values[0].length);
  const [decimals, quiet] = isWeights ? [3, 0.0005] : [decimalsFor(values), 0];
  const largest = Math.max(...values.flat().filter(Number.isFinite).map(Math.abs), 1e-9);
  const signed = (value) => (value === -Infinity ? null : diverging((0.8 * value) / largest));
  const cells = cellsOf(values, { rows, columns, decimals, quiet, before }).map((line) =>
    line.map((cell) => (cell.isHatched ? { ...cell, isHatched: false, kind: " te-blocked" } : cell)),
  );
  const note = name.startsWith("w_") ? "learned" : (NOTES[name] ?? "");
  const label = (isScores && name !== "scores" ? `${name} scores` : name.replace("_", " ")) + (note && `, ${note}`);
  const colour = isWeights ? cividis : isScores ? signed : undefined;
  return { key: `${name} ${sizeOf(values)}`, name, rows, columns, cells, colour, note, label };
}

/** What a step shows: `left` (and `top`, in a product) go into `result`. */
const sceneOf = ({ step, part }) =>
  [
    { left: "x", top: `w_${part}`, result: part },
    { left: "q", top: "k_t", result: "scores" },
    { left: "scores", top: "", result: "scaled" },
    { left: "scaled", top: "", result: "masked" },
    { left: "masked", top: "", result: "weights" },
    { left: "weights", top: "v", result: "mix" },
    { left: "mix", top: "w_o", result: "output" },
  ][step - 1];

/** The tables of a step, with what is marked, in Falk's arrangement: a row of the left meets a column of the top. */
function gridsOf({ left, top, result }, tables, row, column) {
  const here = { row, column, cell: [row, column] };
  const shown = [
    { place: "left", ...tables[left], marks: top ? { row } : here, showRows: true, showColumns: !top },
    { place: "result", ...tables[result], marks: here, showRows: false, showColumns: !top },
  ];
  return top ? [...shown, { place: "top", ...tables[top], marks: { column }, showRows: top === "v" }] : shown;
}

/** The tokens, with the arcs of the chosen query's looks above them, and what was printed before the last change. */
function stripOf({ tokens, query, step }, values, earlier) {
  const name = SCORES[step - 2] ?? "weights";
  const isShare = name === "weights";
  const show = (value) => (isShare ? format(value, 3) : short(value));
  const looks = tokens.map((_, j) => {
    const [value, old] = [values[name][query][j], earlier?.[name][query][j]];
    const [from, to] = [query * 100 + 50 + 18 * Math.sign(j - query), j * 100 + 50];
    const top = Math.abs(to - from) > 100 ? -14 : 8;
    const path =
      j === query
        ? `M ${to - 7} 50 C ${to - 26} 6, ${to + 26} 6, ${to + 7} 50`
        : `M ${from} 50 C ${from} ${top}, ${to} ${top}, ${to} 50`;
    const width = isShare ? value && 1 + 13 * value : value === -Infinity ? 0 : 2;
    const was = old === undefined || show(old) === show(value) ? null : show(old);
    return { text: show(value), value, was, path, width: `${width.toFixed(2)}px` };
  });
  return {
    label: isShare ? `Who looks${step === 1 ? ", and where in the end" : ""}?` : "Who looks? Its scores:",
    looks,
  };
}

/** What this step is about, for the chosen query. @returns {Piece[]} */
function finding({ tokens, query, step, scale, mask }, { scores, weights }) {
  const [me, looks] = [{ token: tokens[query] }, weights[query]];
  const best = (row) => ({ token: tokens[row.indexOf(Math.max(...row))] });
  const isBlind = !sumOf(looks);
  const why = {
    none: "No mask: every token may look at every token",
    causal: "A causal mask hides what comes later",
    padding: "A padding mask hides what is no word",
  };
  return [
    ["Every token gets a query, a key and a value"],
    ["The query of ", me, " meets every key, and fits ", best(scores[query]), " best"],
    scale
      ? ["Longer keys give larger scores, so each is divided by ", D_K]
      : ["Not divided: larger differences, sharper weights"],
    [why[mask]],
    isBlind
      ? [me, " may look at nothing"]
      : [me, " gives ", best(looks), ` ${format(Math.max(...looks), 3)} of its attention`],
    isBlind ? [me, " receives nothing"] : ["What ", me, " receives is mostly the value of ", best(looks)],
    [["W", { sub: "O" }], " turns what ", me, " receives into its output"],
  ][step - 1];
}

/** One plain sentence on the chosen cell, with its real numbers. @returns {Piece[]} */
function sentence(state, values, row, column, was) {
  const { tokens, step, scale, w_k, part } = state;
  const [me, isSelf] = [{ token: tokens[row] }, row === column];
  const other = isSelf ? "itself" : { token: tokens[column] ?? "" };
  const [score, scaled] = [values.scores, values.scaled].map((all) => short(all[row][column], 3));
  const weights = values.weights[row].map((weight) => format(weight, 3));
  const since = was ? ` (was ${was}).` : ".";
  const root = [...D_K, ` = √${w_k[0].length} = ${short(divisorOf(state), 3)}`];
  const own = ` is its ${PARTS[part]}, ${PURPOSES[part]}: ${vector(values[part][row])}.`;
  const dots = `: the dot product of its query with ${isSelf ? "its own" : "that"} key is ${score}${since}`;
  const shares = tokens.flatMap((token, j) => [`${j ? ", " : ""}${weights[j]} of `, { token }]);
  return [
    [me, "’s row of X times ", ["W", { sub: part.toUpperCase() }], own],
    [me, " asks ", other, dots],
    scale
      ? ["Each score is divided by ", root, ". ", me, "’s score for ", other, ` goes from ${score} to ${scaled}.`]
      : ["The division is switched off. ", me, "’s score for ", other, ` stays ${score}.`],
    maskSentence(state, me, other, row, column),
    [
      "Each score becomes a power of e, then a share of their sum. ",
      me,
      " gives ",
      other,
      ` ${weights[column]}${since}`,
    ],
    [me, " takes a share of every value vector: ", ...shares, ". The sum is its new vector."],
    [["W", { sub: "O" }], " turns ", me, `’s mix into its output: ${vector(values.output[row])}.`],
  ][step - 1];
}

function maskSentence({ mask, tokens }, me, other, row, column) {
  if (mask === "none") return ["No mask: ", me, " may look at every token, so nothing changes. Try the causal mask."];
  if (!isBlocked(mask, row, column, tokens.length))
    return [me, " may look at ", other, ", so this score stays as it is."];
  const why = mask === "causal" ? " comes later in the sentence" : " is padding";
  return [other, `${why}: its score becomes ${format(-Infinity)}, so its weight will be exactly 0.`];
}

/** The sum that makes one entry of a product, a line for each term. */
function dotProduct(labels, a, b) {
  const [da, db] = [decimalsFor([a], 3), decimalsFor([b], 2)];
  const decimals = decimalsFor([a, b], 3);
  const terms = a.flatMap((value, i) => [
    ["te-term", labels[i]],
    ["te-from-row", format(value, da)],
    ["", "×"],
    ["te-from-column", inBrackets(b[i], db)],
    ["", "="],
    ["", format(value * b[i], decimals)],
  ]);
  return { kind: "te-sum", parts: [...terms, ["te-total-label", "sum"], ["te-total", format(dot(a, b), decimals)]] };
}

/** How the chosen number came about: texts with their classes, line by line. */
function working(state, values, { left, top, result }, row, column) {
  const { tokens, step } = state;
  const [before, after] = [values[left][row], values[result][row]];
  if (top) {
    const met = values[top].map((line) => line[column]);
    return dotProduct(top === "v" ? tokens : numbered(met.length), before, met);
  }
  const lines = tokens.map((token, j) => {
    const [from, to] = [short(before[j]), short(after[j])];
    if (step === 5) return [token, from, power(Math.exp(before[j])), format(after[j], 3)];
    const change =
      step === 3 ? `÷ ${short(divisorOf(state), 3)}` : after[j] === -Infinity ? `+ (${format(-Infinity)})` : "+ 0";
    return [token, from, change, "=", to];
  });
  const kindsOf = (kind, line) => line.map((text, i) => [i ? kind : `${kind} te-name`, text]);
  const parts = lines.flatMap((line, j) => kindsOf(`te-line${j === column ? " te-chosen" : ""}`, line));
  if (step !== 5) return { kind: "te-steps", parts };
  const head = ["", "score", ["e", { sup: "score" }], "÷ sum"].map((text) => ["te-term", text]);
  const foot = ["sum", "", power(sumOf(before.map(Math.exp))), format(sumOf(after), 3)];
  return { kind: "te-softmax", parts: [...head, ...parts, ...kindsOf("te-total", foot)] };
}

/** All numbers, and those of before the last change: only then are they computed, and marked where they are others. */
function numbersOf(state, before) {
  const given = [state.tokens, ...INPUTS.map((name) => state[name]), state.scale, state.mask];
  if (before?.given.every((one, i) => one === given[i])) return before;
  const values = attend(state);
  const isAlike = Object.keys(values).every((name) => before && sizeOf(before.values[name]) === sizeOf(values[name]));
  const old = (name) => (isAlike && !INPUTS.includes(name) ? unmarked(before.tables[name].cells) : null);
  const tables = Object.keys(values).map((name) => [name, tableOf(name, values[name], state.tokens, old(name))]);
  return { given, values, tables: Object.fromEntries(tables), earlier: isAlike ? before.values : null };
}

const unmarked = (cells) => cells.map((line) => line.map((cell) => ({ ...cell, was: null })));
const sizeOf = (matrix) => `${matrix.length} ${matrix[0].length}`;

/**
 * All that is drawn.
 * @param {any} state  the figure's traits @param {any}[before]  what was derived before: what has changed since is marked
 */
export function derive(state, before = null) {
  const { tokens, step, part, query } = state;
  const numbers = numbersOf(state, before);
  const { values, tables, earlier } = numbers;
  const scene = sceneOf(state);
  const { result } = scene;
  const place = step > 1 && step < 6 ? "key" : "column"; // the columns of the result are tokens, or numbers
  const column = Math.min(state[place], values[result][0].length - 1);
  const grids = gridsOf(scene, tables, query, column);
  const strip = stripOf(state, values, earlier);
  const words = sentence(state, values, query, column, strip.looks[column]?.was);
  const sides = [state.x[0], state.w_k[0], state.w_v[0], tokens].map((one) => one.length);
  const total = grids[0].columns.length + grids[1].columns.length;
  return {
    ...numbers,
    scene,
    grids,
    place,
    column,
    total,
    isWide: total > 9,
    rows: Math.max(...sides) + tokens.length,
    term: step === 1 ? part : STEPS[step - 1].toLowerCase(),
    of: step === 1 ? part : ({ 2: "k", 6: "v", 7: "o" }[step] ?? ""),
    strip,
    working: working(state, values, scene, query, column),
    says: finding(state, values),
    words,
    told: `Step ${step} of ${STEPS.length}, ${STEPS[step - 1]}. ${plain(words)}`,
  };
}
