// A sentence is written with the key-value cache and without it: which rows are computed, and which come out otherwise
// when they are computed again. A row is what a layer's cache keeps of a token: its key and its value. Nothing draws.
import * as engine from "../../engine/js/engine.js";
import { diverging } from "./core/colour.js";
import { bound, format, plain, plural, readable, special, whole } from "./core/format.js";
import { clamp, mapMatrix, sumOf } from "./core/math.js";

const MOST = 16; // steps of a sentence
const DIMENSIONS = 4; // of a key that are shown
const MOVED = 1e-3; // a row that changes by less is the same: rounding
const STRONGEST = 4; // a number of this size has the full colour
const BYTES = 4; // of a number in float32
export const WAYS = { cached: "with the cache", plain: "without" };
export const KINDS = { now: "computed", again: "computed again", kept: "kept", stale: "kept, but stale" };

/** How many rows of one layer are computed in so many steps. */
const rowsIn = { cached: (steps) => steps, plain: (steps) => (steps * (steps + 1)) / 2 };

/**
 * The writing of one sentence: the decoder's newest input and its output at each step; `kept`, [layer][token] the first
 * numbers of the key in the cache; `again`, computed at a step from all tokens so far, with the causal mask or without: the
 * same numbers of the keys, and how far any number of a row is from the one that was kept.
 * @typedef {{source: string[], reads: string[], writes: string[], kept: number[][][],
 *   again: (step: number, masked: boolean) => {keys: number[][][], moved: number[][]}}} Run
 */

/** What a cache holds: [layer][token] the key and, behind it, the value. */
const rowsOf = ({ layers }) =>
  layers.map(({ self }) => {
    const values = engine.rowsOf(self.value);
    return engine.rowsOf(self.key).map((key, token) => [...key, ...values[token]]);
  });
const shown = (row) => row.slice(0, DIMENSIONS);

/** What Python computed of the sentence that the figure opens with. @returns {Run} */
export const runBefore = (recorded) => ({
  ...recorded,
  again: (step, masked) => recorded[masked ? "masked" : "unmasked"][step - 1],
});

/** The same, of any sentence. @returns {Run} */
export function runOf(model, words) {
  const source = model.source.encode(words.join(" "));
  const [memory, cache, known] = [engine.encode(model, source), engine.startCache(model), {}];
  const ids = engine.greedySearch(model, source, { memory, cache }).ids.slice(0, MOST + 1);
  const written = ids.map((id) => model.target.token(id));
  engine.cutCache(cache, ids.length - 1); // it may hold more than is shown
  const keptRows = rowsOf(cache);

  /** All tokens up to a step at once, with an empty cache. */
  function compute(step, masked) {
    const fresh = engine.startCache(model);
    engine.decode(model, ids.slice(0, step), memory, { cache: fresh, changes: { unmasked: !masked } });
    const rows = rowsOf(fresh);
    const far = (row, layer, token) => Math.max(...row.map((value, i) => Math.abs(value - keptRows[layer][token][i])));
    return { keys: mapMatrix(rows, shown), moved: mapMatrix(rows, far) };
  }
  return {
    source: words,
    reads: written.slice(0, -1),
    writes: written.slice(1),
    kept: mapMatrix(keptRows, shown),
    again: (step, masked) => (known[`${step} ${masked}`] ??= compute(step, masked)),
  };
}

/**
 * All that is drawn.
 * @param {any} state  `step`, `token`, `layer` (of which only what there is counts), `masked`, `length`, `size`
 * @param {{run: Run, instead?: any}} own  what is shown; what is said in place of the sentence
 * @param {any}[before]  what was derived before: words and counts that are others stay marked until the next change
 */
export function derive(state, { run, instead = null }, before = null) {
  const { masked, length, size } = state;
  const [last, layers, source] = [run.reads.length, run.kept.length, run.source.length];
  const [step, token] = [clamp(state.step, 1, last), clamp(state.token, 0, last - 1)];
  const layer = clamp(state.layer, 0, layers - 1);
  const again = run.again(step, masked);
  const isStale = again.moved[layer].slice(0, step - 1).map((far) => far > MOVED);
  const isAsBefore = before?.run === run && before.step === step;
  const was = isAsBefore ? before.was : before && { step: before.step, reads: before.run.reads };
  const now = { run, step, token, layer, masked, again, isStale, was, stale: isStale.filter(Boolean).length };
  const numbersIn = (steps) => 2 * layers * (steps + source) * size; // keys and values, of the memory, too
  const [says, words, keys] = [[finding(now)], instead ?? story(now), keysOf(now)];
  const longer = longerOf(length, source, plural(layers, "layer"), numbersIn(length));
  const spoken = [
    plain([masked ? "" : `${says[0]}. `, ...words]),
    keys.map((key) => plain([...key.words, " ", ...key.numbers.map(({ text }) => `${text} `), key.verdict])).join(" "),
    plain([...longer.bars.map(({ name, text }) => `${name} ${text}. `), ...longer.note]),
  ];
  const others = spoken.filter((part, i) => part !== before?.spoken[i]);
  const told = others.length ? others.join(" ") : before.told;
  const boards = Object.keys(WAYS).map((way) => boardOf(way, now));
  const [why, counts] = [
    reason(masked, again.moved.flat()),
    countsOf(step, source, plural(layers, "layer"), numbersIn(step)),
  ];
  return { ...now, last, says, words, keys, longer, spoken, told, boards, why, counts };
}

/** What has happened to a token's row at a step, when the sentence has come to step `now`. */
function kindOf(way, row, at, { step, isStale }) {
  if (at > step || row > at) return "later";
  if (row === at) return "now";
  if (way === "plain") return "again";
  return at === step && isStale[row - 1] ? "stale" : "kept";
}

/** Tokens down the side, steps across: a cell is filled when its row is computed. */
function boardOf(way, now) {
  const { run, step, token, was } = now;
  const before = was?.reads.length === run.reads.length ? was.reads : run.reads;
  const present = (i) => i === step - 1 && "te-cache-present";
  const marks = (word, i) => [present(i), i === token && "te-cache-compared", before[i] !== word && "te-cache-other"];
  return {
    way,
    count: rowsIn[way](step),
    was: was && was.step !== step ? `was ${whole(rowsIn[way](was.step))}` : "",
    heads: run.reads.map((_, i) => present(i)),
    rows: run.reads.map((word, i) => ({
      word: readable(word),
      marks: [special(word), ...marks(word, i)],
      was: before[i] === word ? undefined : `was ${readable(before[i])}`,
      cells: run.reads.map((_, at) => kindOf(way, i + 1, at + 1, now)),
    })),
  };
}

function finding({ step, masked, stale }) {
  if (step === 1) return "At the first step there is nothing to keep yet";
  if (masked) return `With the cache ${plural(step, "row")} so far, without it ${whole(rowsIn.plain(step))}`;
  return `Without the causal mask, ${stale} of ${plural(step - 1, "kept row")} would be stale`;
}

/** The step in words. */
function story({ run, step, layer, masked, stale }) {
  const [read, written] = [{ token: run.reads[step - 1] }, { token: run.writes[step - 1] }];
  const start = [`Step ${step} of ${run.reads.length} reads `, read, " and writes ", written, ". "];
  if (step === 1) return [...start, "Nothing is kept yet: both ways compute the one row there is."];
  if (masked) {
    const without = `Without, the rows of all ${step} tokens: ${step - 1} of them again, and they come out as before.`;
    return [...start, "With the cache it computes the row of ", read, ` alone. ${without}`];
  }
  if (stale) {
    const rows = `${plural(stale, "row")} of layer ${layer + 1} ${stale > 1 ? "come" : "comes"} out otherwise`;
    return [...start, "Every token now sees ", read, `, too. Computed again, ${rows}: the cache is stale.`];
  }
  if (layer) return [...start, `No row of layer ${layer + 1} comes out otherwise at this step.`];
  return [...start, "In layer 1 a row is made of its own token and place alone: it stays, with the mask or without."];
}

/** The first numbers of a token's key, as they are kept and as they come out now, and whether it is one key. */
function keysOf({ run, step, token, layer, masked, again }) {
  const [word, isNew] = [{ token: run.reads[token] }, token === step - 1];
  const key = (way, words, values, verdict = "") => ({
    way,
    words,
    numbers: values.map((value) => ({ value, text: format(value), rgb: diverging(value / STRONGEST) })),
    verdict,
  });
  if (token >= step) return [key("cached", [word, ` is not read before step ${token + 1}.`], []), key("plain", [], [])];
  const since = isNew ? ", computed now" : `, kept since step ${token + 1}`;
  const how = `computed ${isNew ? "now" : "again"}${masked ? "" : ", without the mask"}`;
  const verdict = again.moved[layer][token] > MOVED ? "≠ another" : "= the same";
  return [
    key("cached", ["key of ", word, since], run.kept[layer][token]),
    key("plain", [how], again.keys[layer][token], verdict),
  ];
}

/** Why a kept row is the one that would be computed. */
function reason(masked, moved) {
  const how = masked ? "" : " without the mask (and the words that were written with it)";
  return (
    "In layer 1 a row comes from its own token and place alone; from layer 2 on, from all tokens that it may " +
    "look at. The causal mask leaves itself and those before it, so no later word can change it. Computed again at " +
    `this step${how}, no number of any key or value differs from the kept one by more than ` +
    `${masked ? `${bound(moved, 6)}, which is rounding` : format(Math.max(...moved))}. An encoder has no such mask: ` +
    "what it computed cannot be kept when a word is added."
  );
}

/** A table of what both ways compute in one layer, at a step and up to it, and of what is kept. @see decoding/cost.py */
function countsOf(step, source, layers, numbers) {
  const works = [false, true].map((isAgain) =>
    Array.from({ length: step }, (_, i) => {
      const rows = isAgain ? i + 1 : 1;
      return { rows: 4 * rows + (isAgain || !i ? 2 * source : 0), scores: rows * (i + 1 + source) };
    }),
  );
  const line = (text, values) => [
    { role: "rowheader", text },
    ...values.map((value) => ({ role: "cell", text: whole(value), value })),
  ];
  const here = (what) => works.map((steps) => steps.at(-1)[what]);
  const soFar = (what) => works.map((steps) => sumOf(steps.map((work) => work[what])));
  return [
    [{ role: "cell", text: "" }, ...Object.values(WAYS).map((text) => ({ role: "columnheader", text }))],
    line("rows at this step, all six projections", here("rows")),
    line("rows so far", soFar("rows")),
    line("scores of a head at this step", here("scores")),
    line("scores of a head so far", soFar("scores")),
    line(`numbers in the cache, ${layers}`, [numbers, 0]),
  ];
}

/** Rows and price of a longer sentence, in `n` steps. */
function longerOf(n, source, layers, numbers) {
  const [few, many] = [rowsIn.cached(n), rowsIn.plain(n)];
  const bar = (name, value, formula) => ({ name, value, share: value / many, text: `${formula} = ${whole(value)}` });
  const times = `${whole(many / few)} times as many rows without. The price is memory: the cache of ${layers} then holds `;
  const bytes = ` numbers (${plural(source, "source word")}), ${whole(Math.round((numbers * BYTES) / 1024))} KiB in float32.`;
  return {
    times: many / few,
    bars: [bar(WAYS.cached, few, "n"), bar(WAYS.plain, many, "n(n + 1)/2")],
    note: [times, { number: numbers, text: whole(numbers) }, bytes],
  };
}
