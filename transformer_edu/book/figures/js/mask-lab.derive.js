// Padding and causal masks, right and wrong: what attention makes of them, and what is said of that. Nothing draws.
import { cellsOf, keepMarked } from "./core/cells.js";
import { cividis, css, diverging, inkOn } from "./core/colour.js";
import { format, listed, MINUS, plain, plural } from "./core/format.js";
import { mapMatrix, softmax, sumOf } from "./core/math.js";

export const KINDS = { encoder: "encoder self-attention", decoder: "decoder self-attention", cross: "cross-attention" };
const SIX = [0, 1, 2, 3, 4, 5];
export const LONGEST = SIX.length;
const WHOLE = 0.9995; // a row that sums to less is told
const OPTIONS = {
  right: "the right masks",
  bare: "no mask",
  "no-padding": "no padding mask",
  "no-causal": "no causal mask",
  extra: "a causal mask too",
  flipped: "causal mask turned round",
  after: "mask after the softmax",
  added: "adds 0 or 1, not −∞",
  queries: "padding mask on queries",
  blind: "a row without a key",
  painted: "the mask that you painted",
};
const MISTAKES = ["flipped", "after", "added", "queries", "blind"];

/** The masks to choose from, for a kind of attention. */
export const offers = (kind) =>
  ["right", kind === "encoder" ? "extra" : "no-causal", "no-padding", "bare", ...MISTAKES].map((value) => ({
    value,
    text: OPTIONS[value],
    isOff: kind !== "decoder" && ["no-causal", "no-padding", "flipped"].includes(value), // of a causal mask
  }));

/** One language's sentence, filled up to the longer of the two: the tokens, and which of them are real. */
function side({ sentence, pad_first }, words, lengths) {
  const [count, width] = [lengths[sentence], Math.max(...lengths, 1)];
  const at = Array.from({ length: width }, (_, i) => (pad_first ? i - (width - count) : i));
  const real = at.map((i) => i >= 0 && i < count);
  return { real, tokens: at.map((i, place) => (real[place] ? words[sentence][i] : "<pad>")) };
}

const isCausal = (i, j) => j <= i;

/** The mask in use, painted, or made rightly or wrongly from the ticked masks: True = may attend. */
function usedMask({ padding, causal, mistake, query, painted }, queries, keys) {
  if (painted.length) return (i, j) => painted[i][j] === "1";
  const before = (i, j) => !causal || (mistake === "flipped" ? isCausal(j, i) : isCausal(i, j));
  const real = (i, j) => !padding || (mistake === "queries" ? queries.real[i] : keys.real[j]);
  const row = Math.min(query, queries.real.length - 1);
  return (i, j) => before(i, j) && real(i, j) && !(mistake === "blind" && i === row);
}

/** Scores → mask → masked scores → weights, and what the right mask of this kind allows. */
export function attend(state) {
  const { kind, mistake, sentence } = state;
  const english = side(state, state.source, state.source_lengths);
  const queries = kind === "encoder" ? english : side(state, state.target, state.target_lengths);
  const keys = kind === "decoder" ? queries : english;
  const scores = queries.real.map((_, i) => keys.real.map((_, j) => state.scores[kind][sentence][i][j]));
  const used = usedMask(state, queries, keys);
  const mask = mapMatrix(scores, (_, i, j) => (used(i, j) ? 1 : 0));
  const may = mapMatrix(scores, (_, i, j) => keys.real[j] && (kind !== "decoder" || isCausal(i, j)));
  const unmasked = scores.map(softmax);
  const block = (score, on) => (on ? score : -Infinity);
  const masked = mapMatrix(scores, (one, i, j) => (mistake === "added" ? one + mask[i][j] : block(one, mask[i][j])));
  const isLost = (row) => mistake === "blind" && row.every((score) => score === -Infinity);
  const plainly = (row) => (isLost(row) ? row.map(() => NaN) : softmax(row));
  const weights =
    mistake === "after" ? mapMatrix(unmasked, (weight, i, j) => weight * mask[i][j]) : masked.map(plainly);
  const right = mapMatrix(scores, (score, i, j) => block(score, may[i][j])).map(softmax);
  return { kind, queries, keys, scores, mask, may, masked, unmasked, weights, right };
}

/** Where one query's attention goes that must not, what it cannot see though it may, and the sum of its row. */
function judge({ kind, keys, may, mask, weights }, i) {
  const share = (test) => sumOf(weights[i].map((weight, j) => (test(j) ? weight : 0)));
  return {
    pad: share((j) => !keys.real[j]),
    later: kind === "decoder" ? share((j) => keys.real[j] && j > i) : 0,
    leak: share((j) => !may[i][j]),
    hidden: may[i].flatMap((allowed, j) => (allowed && !mask[i][j] ? [j] : [])),
    sum: sumOf(weights[i]),
    blind: !may[i].some(Boolean),
  };
}

/** What is found at every real query. */
export const judged = (values) => values.queries.real.flatMap((real, i) => (real ? [judge(values, i)] : []));

/** Which entry of the list stands for the ticked boxes and the mistake. */
export function chosen({ kind, padding, causal, mistake, painted }) {
  if (painted.length) return "painted";
  if (mistake !== "none") return mistake;
  if (!padding && !causal) return "bare";
  if (kind === "decoder") return padding ? (causal ? "right" : "no-causal") : "no-padding";
  return causal ? "extra" : "right";
}

export function settings(key, kind) {
  const own = {
    bare: { padding: false, causal: false },
    "no-padding": { padding: false, causal: true },
    "no-causal": { causal: false },
    ...{ extra: { causal: true }, flipped: { causal: true } },
  };
  const mistake = MISTAKES.includes(key) ? key : "none";
  return { padding: true, causal: kind === "decoder", mistake, painted: [], ...own[key] };
}

/** Another kind of attention, with the causal mask that belongs there; a mistake goes along if it can. */
export function otherKind({ mistake }, kind) {
  const isLost = mistake === "flipped" && kind !== "decoder";
  return { kind, causal: kind === "decoder", mistake: isLost ? "none" : mistake, painted: [] };
}

/** The state with a mask that is painted: rows of 0 and 1. @param {(row: number, column: number) => any} at */
const paint = (at) => ({ painted: SIX.map((i) => SIX.map((j) => Number(at(i, j))).join("")), mistake: "none" });

/** The mask in use with one cell switched. */
export function switched(state, row, column) {
  const { mask } = attend(state);
  const on = (i, j) => mask[i]?.[j] ?? state.painted[i]?.[j] ?? 0;
  return paint((i, j) => (i === row && j === column ? 1 - on(i, j) : on(i, j)));
}

/** The right mask, as if it had been painted. */
export const paintedRightly = (state) => paint((i, j) => attend(state).may[i]?.[j] ?? false);

/** Masks that have a name, and where each allows to look. @returns {[string, (i: number, j: number) => boolean][]} */
function named({ kind, queries, keys }) {
  const real = (_, j) => keys.real[j];
  const isPadded = keys.real.includes(false);
  const both = (i, j) => isCausal(i, j) && real(i, j);
  const turned = (i, j) => isCausal(j, i) && real(i, j);
  const causal = "a causal mask: it hides what comes later";
  /** @type {any} */
  const all = {
    [isPadded ? "both masks in one, causal and padding" : causal]: kind !== "cross" && both,
    [`${causal}, and not padding`]: kind !== "cross" && isCausal,
    "a causal mask turned round: each position sees itself and what comes later": kind !== "cross" && turned,
    "a padding mask: it hides padding": isPadded && real,
    "a padding mask on queries: it blanks rows and leaves columns open": isPadded && ((i) => queries.real[i]),
    "no mask: nothing is hidden": () => true,
  };
  return Object.entries(all);
}

/** What a painted mask is, if need be in the rows that count: those of words, where there are words. */
export function diagnosis(values) {
  const { kind, mask, may, queries, keys } = values;
  const all = queries.real.map((_, i) => i);
  const real = all.filter((i) => queries.real[i]);
  const rows = real.length ? real : all;
  const among = (some, test) => sumOf(some.map((i) => mask[i].filter((on, j) => test(i, j, Boolean(on))).length));
  const count = (test) => among(rows, test);
  const nameOn = (some) => named(values).find(([, is]) => is && !among(some, (i, j, on) => on !== is(i, j)));
  const name = nameOn(all) ?? nameOn(rows);
  if (name) return [`You painted ${name[0]}.`];
  const later = count((i, j, on) => on && kind === "decoder" && keys.real[j] && j > i);
  const pad = count((_, j, on) => on && !keys.real[j]);
  const shut = count((i, j, on) => !on && may[i][j]);
  const blind = rows.filter((i) => may[i].some(Boolean) && !mask[i].some(Boolean));
  const parts = [
    later && [`${plural(later, "cell")} ${later === 1 ? "sees" : "see"} what comes later`],
    pad && [`${plural(pad, "cell")} ${pad === 1 ? "sees" : "see"} padding`],
    shut && [`${plural(shut, "cell")} ${shut === 1 ? "hides" : "hide"} what may be seen`],
    ...blind.map((i) => [{ token: queries.tokens[i] }, " sees nothing, a blind query"]),
  ].filter(Boolean);
  return ["You painted a mask without a name: ", ...listed(parts), "."];
}

/** What the mask in use does, in words. */
function reason(key, { kind, pad_first, padding }, values) {
  const isPadded = values.keys.real.includes(false);
  const share = isPadded
    ? "Padding takes its share of attention, as if it were a word."
    : "(This sentence has no padding.)";
  const leaks = "It blanks the rows of padding, whose answers nobody uses, and leaves its columns open";
  if (key === "painted") return diagnosis(values);
  const told = {
    right: {
      encoder: "Every word may look at every word of its sentence. Nobody looks at padding.",
      decoder: "A position may look where both masks allow it: at nothing later, at no padding.",
      cross: "Each French position may look at every English word: that sentence is there as a whole.",
    }[kind],
    bare: kind === "decoder" ? `Each position reads the words that it is to predict. ${share}` : share,
    "no-padding": !isPadded
      ? share
      : pad_first
        ? "Padding in front comes earlier, so the causal mask lets every word see it."
        : "Here only padding looks at padding: it stands behind, where the causal mask hides it. Put it in front " +
          "(below).",
    "no-causal": "Each position reads what it is to predict. When the model writes, those words are not there yet.",
    extra:
      `${padding || !pad_first ? "Nothing leaks, since a mask only hides." : share} An encoder may read ahead; ` +
      "this one cannot.",
    flipped: "Rows and columns have changed places: each position sees itself and what comes after it.",
    after: "The softmax shared out the attention before the mask took some of it away.",
    added: "True adds 1, False adds 0. A forbidden key still counts: only −∞ makes its share zero.",
    queries:
      leaks +
      (kind === "decoder" && !pad_first
        ? ". Here the causal mask hides them; put padding in front (below)."
        : ": real words look at padding."),
    blind: "All scores of one row are −∞: softmax divides 0 by 0. The book’s function gives zeros.",
  };
  return [told[key]];
}

/** Where a real query looks, or how much of its attention is where it must not be. */
function whereTo({ kind, keys, weights }, i, { leak, later, pad, sum }) {
  const share = (number, where) => [{ number, text: format(number) }, ` of its attention is on ${where}`];
  if (leak > 0) {
    const parts = [later > 0 && share(later, "what comes later"), pad > 0 && share(pad, "padding")].filter(Boolean);
    return [" looks where it must not: ", ...listed(parts), "."];
  }
  const seen = keys.tokens.flatMap((token, j) =>
    weights[i][j] > 0 ? [[j === i && kind !== "cross" ? "itself" : { token }, ` ${format(weights[i][j])}`]] : [],
  );
  return [" looks at ", ...listed(seen), sum < WHOLE ? "." : ", and at nothing that it must not."];
}

/** The chosen query's row, in a sentence. */
function sentence(values, i) {
  const { queries, keys } = values;
  const me = [{ token: queries.tokens[i] }, ` (position ${i + 1})`];
  const found = judge(values, i);
  if (Number.isNaN(found.sum)) return [...me, " gets no weights: each is 0 ÷ 0, not a number."];
  if (!queries.real[i])
    return [
      `Position ${i + 1} is padding. It asks as the others do, but nobody uses its answer`,
      found.sum === 0 ? ": it may look at nothing, and its weights are zero, never NaN." : ".",
    ];
  const ruled = "look at nothing: its weights are zero, never NaN. That is the book’s rule.";
  if (found.sum === 0) return [...me, ` ${found.blind ? "may" : "can"} ${ruled}`];
  const hidden = listed(found.hidden.map((j) => [{ token: keys.tokens[j] }]));
  const missing = `the missing ${format(1 - found.sum)} went to what it must not see.`;
  return [
    ...me,
    ...whereTo(values, i, found),
    ...(hidden.length ? [" It cannot see ", ...hidden, ", though it may."] : []),
    found.sum < WHOLE ? ` Its weights sum to ${format(found.sum)}: ${missing}` : "",
  ];
}

/** What the whole table shows: [whether it is right, in words]. @returns {[boolean, string]} */
export function finding(values) {
  const rows = judged(values);
  const count = (test) => rows.filter(test).length;
  const words = (number, one, more) => `${number} of ${rows.length} words ${number === 1 ? one : more}`;
  if (!rows.length) return [true, "Nothing but padding: nobody uses an answer of this sentence"];
  if (count((row) => Number.isNaN(row.sum))) return [false, "One row is not a number"];
  const leaks = count((row) => row.leak > 0);
  const [later, pad] = [rows.some((row) => row.later > 0), rows.some((row) => row.pad > 0)];
  const where = later ? (pad ? "at later words or at padding" : "ahead, at what it is to predict") : "at padding";
  const ahead = later && !pad ? "ahead, at what they are to predict" : where;
  if (leaks) return [false, words(leaks, `looks ${where}`, `look ${ahead}`)];
  const short = count((row) => row.sum > 0 && row.sum < WHOLE && !row.blind);
  if (short) return [false, `The weights of ${words(short, "does", "do")} not sum to 1`];
  const hidden = count((row) => row.hidden.length);
  const less = words(hidden, "cannot see all that it may", "cannot see all that they may");
  if (hidden) return [false, `No leak, but ${less}`];
  return [true, "No leak: each word looks only where it may"];
}

const coloured = (rgb) => ({ kind: " te-coloured", more: { style: { background: css(rgb), color: inkOn(rgb) } } });

/** What each kind of table prints in a cell, beside its number. */
const LOOKS = {
  score: (cell, ..._) => (cell.isHatched ? {} : coloured(diverging((0.8 * cell.value) / 3))),
  mask: (cell, _i, _j, { isAdded }) => ({
    text: isAdded ? `+${cell.value}` : cell.value ? "✓" : "",
    label: cell.label.replace(/: .*$/, cell.value ? ": may attend" : ": may not attend"),
    kind: cell.value ? " te-may" : "",
  }),
  share(cell, i, j, { name, queries, keys, may, before }) {
    const { value, label } = cell;
    const [isSum, isReal, isLost] = [j === keys.real.length, queries.real[i], Number.isNaN(value)];
    const isLeak = name === "weights" && !isSum && isReal && !may[i][j] && value > 0;
    const isShort = isSum && isReal && value < WHOLE;
    const kinds = { "row-sum": isSum, nan: isLost, none: !isSum && value === 0, short: isShort, leak: isLeak };
    const { kind = "", more } = isSum || !isReal || !(value > 0) ? {} : coloured(cividis(value));
    const isFresh = isLeak && before && !before[i][j].kind.includes("te-leak");
    return {
      text: !isReal || (isSum && !isShort) ? "" : isLost ? "NaN" : isSum ? format(value) : cell.text,
      label: isLeak ? `${label}, must not look` : label,
      kind: Object.keys(kinds).reduce((all, one) => (kinds[one] ? `${all} te-${one}` : all), kind),
      more: { ...more, "data-fresh": isFresh || undefined },
    };
  },
};

/** A table of queries and keys; what is another than before stays marked. */
function tableOf({ name, title, note, isAdded }, values, before) {
  const { queries, keys } = values;
  const isSummed = name === "weights" || name === "unmasked";
  const [rows, columns] = [queries.tokens, [...keys.tokens, ...(isSummed ? ["sum"] : [])]];
  const numbers = isSummed ? values[name].map((line) => [...line, sumOf(line)]) : values[name];
  const kind = isSummed || name === "right" ? "share" : name === "mask" ? "mask" : "score";
  const look = { mask: { decimals: 0 }, share: { decimals: 2, quiet: 0.005 }, score: { decimals: 1 } }[kind];
  const key = JSON.stringify([rows, columns]);
  const old = before?.key === key ? before.cells : null;
  const more = { ...values, name, isAdded, before: old };
  const cells = cellsOf(numbers, { rows, columns, ...look }).map((line, i) =>
    line.map((cell, j) => ({ ...cell, ...LOOKS[kind](cell, i, j, more) })),
  );
  const isWhole = isSummed && cells.every((line) => !line.at(-1).kind.includes("short"));
  const same = (line, i) => (JSON.stringify(line) === JSON.stringify(old?.[i]) ? old[i] : line); // not drawn again
  return { name, title, note, isWhole, key, rows, columns, cells: keepMarked(cells, old).map(same) };
}

/**
 * All that is drawn.
 * @param {any} state @param {any}[before]  what was derived before: the numbers that are others now stay marked
 * @param {boolean}[isOpen]  the steps from scores to weights are to be seen
 */
export function derive(state, before = null, isOpen = true) {
  const values = attend(state);
  const [key, mistake] = [chosen(state), state.mistake];
  const row = Math.min(state.query, values.queries.real.length - 1);
  const [good, text] = finding(values);
  const isAdded = mistake === "added";
  const words = [...reason(key, state, values), " ", ...sentence(values, row)];
  const [sees, title] = ["row looks at column", `with ${OPTIONS[key].replace(/^adds/, "a mask that adds")}`];
  const make = (name, title, ...note) => tableOf({ name, title, note, isAdded }, values, before?.tables[name]);
  const tables = {
    right: make("right", "with the right masks", sees),
    weights: make("weights", title, key === "right" ? sees : "red: must not look"),
    mask: make("mask", "mask", isAdded ? "to be added" : "✓ may look: click to switch"),
  };
  const open = (name, ...own) => isOpen && Object.assign(tables, { [name]: make(name, ...own) });
  open("scores", "scores", "query · key / √", ["d", { sub: "k" }]);
  if (mistake === "after") open("unmasked", "softmax", "of all scores, before the mask");
  else open("masked", "masked scores", isAdded ? "scores + mask" : `${MINUS}∞ where it may not look`);
  const says = [{ bold: good ? "✓ " : "✗ " }, text];
  return { key, row, good, says, words, tables, told: `${text}. ${plain(words)}` };
}
