// A small batch through layer, batch or RMS norm: which numbers share a mean, which outputs are others than in the first
// batch, and what is said of it. Nothing draws.
import { cellsOf, keepMarked } from "./core/cells.js";
import { lastChange } from "./core/changed.js";
import { format, inBrackets, plain, plural, short } from "./core/format.js";
import { clamp, meanOf, sumOf } from "./core/math.js";

/** @import { Piece } from "./core/format.js" */

export const NORMS = { layer: "layer norm", batch: "batch norm", rms: "RMS norm" };
const TITLES = { layer: "Layer", batch: "Batch", rms: "RMS" };
const EPS = 1e-5;
const MOMENTUM = 0.1;
const MOST_POSITIONS = 5;
const LARGEST = 1000;
const SHOWN = 0.005; // a move that two decimals show
const OUTPUTS = { low: -3, high: 3 }; // where a bar of the output ends at the latest
const PAD = "padding";
const SIDES = { above: [-1, 0], below: [1, 0], left: [0, -1], right: [0, 1] };

/** @typedef {[number, number, number]} Place  row of the batch, position, feature */

const isAt = (one, place) => place.every((index, i) => one[i] === index);
const editAt = (edits, place) => edits.find((edit) => isAt(edit, place));

/** The sentences of a batch as rows of one length: `tokens`, `x` with zeros at padding, `length` without padding. */
export function batchOf({ sentences, other, padding, edits }) {
  const members = other === null ? [0] : [0, other];
  const positions = Math.max(...members.map((s) => sentences[s].tokens.length)) + padding;
  return members.map((s) => {
    const { tokens, x } = sentences[s];
    const value = (p, f) => editAt(edits, [s, p, f])?.[3] ?? x[p]?.[f] ?? 0;
    const rows = Array.from({ length: positions }, (_, p) => x[0].map((_, f) => value(p, f)));
    return { sentence: s, tokens: rows.map((_, p) => tokens[p] ?? PAD), x: rows, length: tokens.length };
  });
}

/** The batch that outputs are compared with, and from which the running statistics come. */
const firstOf = ({ sentences }) =>
  batchOf({ sentences, other: sentences.length > 1 ? 1 : null, padding: 0, edits: [] });

/** The places whose values share their statistics with this one: the whole difference. */
function sharing(batch, { norm, mode, leave_out }, [b, p, f]) {
  if (norm !== "batch") return batch[b].x[p].map((_, g) => [b, p, g]);
  if (mode === "evaluation") return [];
  const all = batch.flatMap((row, c) => row.x.map((_, q) => [c, q, f]));
  return all.filter(([c, q]) => !leave_out || q < batch[c].length);
}

/** Mean, variance (divided by n) and mean of squares. */
function moments(values) {
  const mean = meanOf(values);
  return { mean, variance: meanOf(values.map((v) => (v - mean) ** 2)), square: meanOf(values.map((v) => v * v)) };
}

/** What batch norm has stored: from mean 0 and variance 1 a tenth of the way to each batch's; variance with n − 1. */
function running(state, f) {
  const batch = firstOf(state);
  const shared = sharing(batch, { ...state, norm: "batch", mode: "training" }, [0, 0, f]);
  const { mean, variance } = moments(shared.map(([b, p]) => batch[b].x[p][f]));
  const kept = (1 - MOMENTUM) ** state.batches;
  return { mean: (1 - kept) * mean, variance: kept + ((1 - kept) * variance * shared.length) / (shared.length - 1) };
}

/** The statistics that the value at a place is normalized with. */
function statistics(batch, state, place) {
  const shared = sharing(batch, state, place);
  return shared.length ? moments(shared.map(([b, p, f]) => batch[b].x[p][f])) : running(state, place[2]);
}

const isOut = (batch, { norm, leave_out }, [b, p]) => norm === "batch" && leave_out && p >= batch[b].length;

/** What the norm makes of each number. */
function outputs(batch, state) {
  const known = {}; // each statistic is counted once for all who share it
  const output = (x, place) => {
    if (isOut(batch, state, place)) return 0;
    const [b, p, f] = place;
    known[state.norm === "batch" ? f : `${b} ${p}`] ??= statistics(batch, state, place);
    const { mean, variance, square } = known[state.norm === "batch" ? f : `${b} ${p}`];
    return state.norm === "rms" ? x / Math.sqrt(square + EPS) : (x - mean) / Math.sqrt(variance + EPS);
  };
  return batch.map((row, b) => row.x.map((line, p) => line.map((x, f) => output(x, [b, p, f]))));
}

/** Moves of the outputs at words that the first batch had too: where, by how much, and from which output. */
function movesOf(batch, state) {
  const first = firstOf(state);
  const [before, after] = [outputs(first, state), outputs(batch, state)];
  const moveAt = (b, p, f) => ({ place: [b, p, f], by: after[b][p][f] - before[b][p][f], from: before[b][p][f] });
  const all = batch.map(({ sentence, length, x }, b) => (first[b]?.sentence === sentence ? x.slice(0, length) : []));
  const moves = all.flatMap((x, b) => x.flatMap((line, p) => line.map((_, f) => moveAt(b, p, f))));
  return moves.filter(({ by }) => Math.abs(by) >= SHOWN);
}

/** The state with some of it changed: the tensor stays small enough, and the selected place inside it. */
export function fitting(state, wanted) {
  const { sentences, norm, other, padding, leave_out, mode, batches, edits, selected } = { ...state, ...wanted };
  const longest = batchOf({ sentences, other, padding: 0, edits })[0].x.length;
  const added = Math.min(padding, MOST_POSITIONS - longest);
  const [b, p, f] = selected;
  const place = [other === null ? 0 : b, Math.min(p, longest + added - 1), f];
  return { norm, other, padding: added, leave_out, mode, batches, edits, selected: place };
}

/** The changes after one more; what is as it was is none. */
export function edited(state, [b, p, f], value) {
  const { sentence: s, x } = batchOf(state)[b];
  if (x[p][f] === value) return state.edits;
  const rest = state.edits.filter((one) => !isAt(one, [s, p, f]));
  const bounded = clamp(value, -LARGEST, LARGEST);
  return bounded === state.sentences[s].x[p][f] ? rest : [...rest, [s, p, f, bounded]];
}

/**
 * All that is drawn.
 * @param {any} given  the figure's state @param {any}[before]  what was derived before: what is another now stays marked
 *   until the next change
 */
export function derive(given, before = null) {
  const key = JSON.stringify(given);
  if (before?.key === key) return before;
  const state = JSON.parse(key);
  const { sentences, selected, ...now } = state;
  const change = lastChange(now, before, () => isAt(selected, before.selected)); // dragging on makes one change
  const batch = batchOf(state);
  const moves = Object.fromEntries(Object.keys(NORMS).map((norm) => [norm, movesOf(batch, { ...state, norm })]));
  const [moved, [b, p, f]] = [moves[state.norm], selected];
  const working = workingOf(batch, state, selected);
  const words = [changes(batch, state), " ", { bold: verdict(moved) }];
  const tables = tablesOf(batch, state, moved, change.from);
  return {
    ...{ ...change, key, selected, tables, words, working },
    moves: moved,
    tokens: batch.map((row) => row.tokens),
    positions: batch[0].x.length,
    columns: columnsOf(batch),
    norms: Object.entries(moves).map(([norm, all]) => ({ norm, all, text: `${whichWords(batch, state, all)} moved` })),
    amount: { name: `${batch[b].tokens[p]}, feature ${f + 1}`, value: batch[b].x[p][f], isOff: p >= batch[b].length },
    isFull: batch[0].x.length >= MOST_POSITIONS,
    untouched: untouched(batch, state, moved),
    says: [finding(batch, state, moved)],
    told: `${state.norm} norm, ${state.mode}. ${plain(words)} ${plain(working)}`,
  };
}

const columnsOf = (batch) => batch[0].x[0].map((_, f) => `f${f + 1}`);

/** Input and output of each sentence, as cells. */
function tablesOf(batch, state, moved, from) {
  const [rows, columns] = [batch.map(({ tokens }) => tokens), columnsOf(batch)];
  const all = outputs(batch, state).map((values, b) => cellsOf(values, { rows: rows[b], columns, decimals: 2 }));
  const isAlike = from && String(from.tokens) === String(rows);
  const results = keepMarked(all.flat(), isAlike ? from.tables.flatMap(({ output }) => output) : null);
  const [shared, scale] = [new Set(sharing(batch, state, state.selected).map(String)), scaleOf(state.sentences)];
  return batch.map(({ tokens, length, sentence, x }, b) => {
    const own = state.sentences[sentence].x;
    const input = cellsOf(x, { rows: tokens, columns }).map((line, p) =>
      line.map((cell, f) => {
        const old = editAt(state.edits, [sentence, p, f]) ? own[p][f] : null;
        const note = old === null ? "" : `was ${short(old)}`;
        const kind = outlineOf(shared, [b, p, f]);
        const more = { isFixed: p >= length, kind, old, note, spoken: [kind && "in the outlined set", note] };
        return withBar(cell, scale, more);
      }),
    );
    const output = results.slice(b * tokens.length, (b + 1) * tokens.length).map((line, p) =>
      line.map((cell, f) => {
        const { by = null, from: old = null } = moved.find(({ place }) => isAt(place, [b, p, f])) ?? {};
        const note = by === null ? "" : `${by > 0 ? "+" : ""}${format(by)}`;
        const more = { isFixed: p >= length, kind: note && " te-cube-moved", old, by, note };
        return withBar(cell, OUTPUTS, { ...more, spoken: [note && `moved by ${note}`] });
      }),
    );
    return { tokens, input, output };
  });
}

/** Where the bars of the input end at the latest: it does not hang on what is changed, so that no other bar moves. */
function scaleOf(sentences) {
  const all = sentences.flatMap(({ x }) => x.flat());
  const most = 1.5 * (Math.max(...all.map(Math.abs)) || 1);
  return { low: Math.min(...all) < 0 ? -most : -most / 3, high: most };
}

/** A cell with its bar, from zero to its number, and with a small text; `old`: where the bar ended in the first batch. */
function withBar(cell, { low, high }, { isFixed, kind, old, by = null, note, spoken }) {
  const at = (value) => clamp((value - low) / (high - low), 0, 1);
  const { value, was } = cell;
  const told = spoken.filter(Boolean);
  return {
    ...cell,
    isFixed,
    label: [cell.label, ...told].join(", "),
    kind: `${isFixed ? " te-cube-pad" : ""}${kind}`,
    bar: { zero: at(0), to: at(value), was: old === null ? null : at(old) },
    more: {
      title: [cell.text, was !== null && `was ${was}`, ...told].filter(Boolean).join(", "),
      "data-note": note || undefined,
      "data-by": by ?? undefined,
      "data-beyond": value > high ? "right" : value < low ? "left" : undefined,
    },
  };
}

/** The classes of a cell that is in the outlined set: where the outline runs beside it. */
function outlineOf(shared, [b, p, f]) {
  if (!shared.has(`${b},${p},${f}`)) return "";
  const sides = Object.keys(SIDES).filter((side) => !shared.has(`${b},${p + SIDES[side][0]},${f + SIDES[side][1]}`));
  return [" te-cube-shared", ...sides.map((side) => `te-cube-${side}`)].join(" ");
}

/** What is different from the first batch, in words. */
function changes(batch, { sentences, other, padding, edits }) {
  const inside = insideOf(batch, edits);
  const said = [];
  if (inside.length === 1) {
    const [s, p, f, value] = inside[0];
    const { tokens, x } = sentences[s];
    said.push(`${tokens[p]}, feature ${f + 1}, went from ${short(x[p][f])} to ${short(value)}.`);
  } else if (inside.length) said.push(`You changed ${inside.length} numbers.`);
  if (other === null && sentences.length > 1) said.push("Sentence 1 is alone in its batch.");
  else if (other !== null && other !== 1) said.push("Sentence 2 is another one.");
  const added = batch[0].x.length - firstOf({ sentences })[0].x.length;
  if (padding) said.push(`${plural(padding, "position")} of padding added.`);
  else if (added > 0) said.push(`Sentence 1 gets ${plural(added, "position")} of padding.`);
  return said.join(" ");
}

/** The changes of sentences that are in the batch. */
const insideOf = (batch, edits) => edits.filter(([s]) => batch.some((row) => row.sentence === s));

/** Which words moved, "row of the batch,position". */
const wordsOf = (moved) => [...new Set(moved.map(({ place: [b, p] }) => `${b},${p}`))];

/** How many of them nobody changed. */
function untouched(batch, { edits }, moved) {
  const changed = edits.map(([s, p]) => `${batch.findIndex((row) => row.sentence === s)},${p}`);
  return wordsOf(moved).filter((word) => !changed.includes(word)).length;
}

/** Of those that the first batch had too: "all 6 words", "2 of 6 words", "only small". */
function whichWords(batch, state, moved) {
  const [words, first] = [wordsOf(moved), firstOf(state)];
  const total = sumOf(batch.map(({ sentence, length }, b) => (first[b]?.sentence === sentence ? length : 0)));
  if (!words.length) return "no word";
  if (words.length === total && total > 1) return `all ${total} words`;
  if (words.length > 1) return `${words.length} of ${total} words`;
  const [b, p] = moved[0].place;
  return `only “${batch[b].tokens[p]}”`;
}

/** The finding. */
function finding(batch, state, moved) {
  const who = whichWords(batch, state, moved);
  const edits = insideOf(batch, state.edits).length;
  const none = moved.length ? "nobody changed a word, and yet " : "nothing changed, ";
  const cause = edits ? `${edits === 1 ? "one number" : `${edits} numbers`} changed, ` : none;
  const mode = state.norm === "batch" && state.mode === "evaluation" ? " in evaluation" : "";
  const both = who.startsWith("all") && batch.length > 1 ? ", in both sentences" : "";
  return `${TITLES[state.norm]} norm${mode}: ${cause}${who} moved${both}`;
}

/** Which outputs moved, in words. */
function verdict(moved) {
  if (!moved.length) return "No output moved.";
  const features = new Set(moved.map(({ place }) => place[2]));
  const where = features.size === 1 && moved.length > 1 ? `, each in feature ${moved[0].place[2] + 1}` : "";
  return `${plural(moved.length, "output")} moved${where}.`;
}

/** With what a number of feature `f` shares its mean and variance. */
function company({ norm, batches }, f, shared, pads, sentences) {
  if (norm === "layer") return `shares its mean and variance with the ${shared.length} numbers of its own token. `;
  if (!shared.length) {
    const after = `takes the stored statistics (from mean 0, variance 1, after ${plural(batches, "training batch")}). `;
    return `${after}Nothing in this batch counts. `;
  }
  const all = pads ? `all ${shared.length} positions, ${pads} of them padding` : `all ${shared.length} tokens`;
  const both = sentences > 1 ? ", in both sentences" : "";
  return `shares its mean and variance with feature ${f + 1} of ${all}${both}. `;
}

/** Whose mean the selected value shares, and the sum that gives its output. @returns {Piece[]} */
function workingOf(batch, state, place) {
  const [b, p, f] = place;
  const name = { bold: `${batch[b].tokens[p]}, feature ${f + 1}: ` };
  if (isOut(batch, state, place)) return [name, "padding left out; its output is set to 0."];
  const x = short(batch[b].x[p][f]);
  const { mean, variance, square } = statistics(batch, state, place);
  const shared = sharing(batch, state, place);
  const number = (text, value, measure) => [`${text} `, { number: value, text: format(value), measure }];
  const output = outputs(batch, state)[b][p][f];
  const result = [" = ", { number: output, text: format(output), measure: "result" }];
  if (state.norm === "rms") {
    const with_ = `shares its mean of squares with the ${shared.length} numbers of its token. `;
    return [
      name,
      with_,
      number("Mean of squares", square, "square"),
      ". ",
      [`${x} / √(${format(square)} + ε)`],
      ...result,
    ];
  }
  const pads = shared.filter(([c, q]) => q >= batch[c].length).length;
  return [
    ...[name, company(state, f, shared, pads, batch.length)],
    ...[number("Mean", mean, "mean"), ", ", number("variance", variance, "variance"), ". "],
    ...[[`(${x} − ${inBrackets(mean)}) / √(${format(variance)} + ε)`], ...result],
  ];
}
