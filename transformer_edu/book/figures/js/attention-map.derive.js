// Where a model looks while it reads or writes a sentence: the weights, what stands beside them, and what is said of
// them. Nothing here draws.
import * as engine from "../../engine/js/engine.js";
import { keepMarked } from "./core/cells.js";
import { compared } from "./core/changed.js";
import { format, plain, plural, readable, VISIBLE } from "./core/format.js";
import { mapMatrix, sumOf } from "./core/math.js";

/** @typedef {{maps: any, source_tokens: string[], target_tokens: string[], candidates: [string, number][][]}} Answer */
export const KINDS = { cross: "Cross", "encoder self": "Encoder self", "decoder self": "Decoder self" };
export const SHARED = 0.25; // from here on a second word is looked at, too
const PLACES = { cross: "decoder cross", "encoder self": "encoder self", "decoder self": "decoder self" };
const BEGIN = "<bos>";
const END = "<eos>";
const BEST = 5; // likeliest words
const IN_TITLE = 7; // words of an answer in the title
const [MANY, TOLD] = [5, 4]; // words that are looked at: of more than `MANY` the first `TOLD` are named
// Pixels for all words of a row beside the matrix, and for a letter of the usual and of the small size.
const [ROOM, LETTER, SMALL] = [340, 7.6, 6.6];
const FITS = 6; // letters of a word beside a row of the matrix

export const mapName = (kind, layer) => PLACES[kind].replace(" ", `.${layer}.`);
/** This attention in all layers. */
export const roadOf = (kind) => PLACES[kind].replace(" ", ".");
const named = (token) => ({ token });

/** Translate, and keep all that an attention looked at; of what is written as many words as the figure draws. */
export function attentionOf(model, words, changes, most) {
  const { source, ids } = engine.translate(model, words.join(" "), { changes, most });
  const { maps, logits } = engine.forward(model, source, ids.slice(0, -1), changes);
  return {
    maps: Object.fromEntries(Object.entries(maps).map(([name, heads]) => [name, heads.map(engine.rowsOf)])),
    source_tokens: words,
    target_tokens: ids.slice(1).map(model.target.token),
    candidates: ids
      .slice(1)
      .map((_, i) => engine.likeliestWords(model, engine.probabilities(engine.rowOf(logits, i)), BEST)),
  };
}

/** What is written, without the end. @param {Answer} answer */
export const textOf = ({ target_tokens: words }) => words.filter((word) => word !== END);
/** Whether two answers read alike. */
export const areAlike = (one, other) => textOf(one).join() === textOf(other).join();
export const isChanged = ({ blocked, heads }) => blocked.length > 0 || Object.keys(heads).length > 0;

/** The layers that have this kind of attention. */
export function layersWith(maps, kind) {
  const pattern = new RegExp(`^${mapName(kind, "(\\d+)").replaceAll(".", "\\.")}$`);
  return Object.keys(maps)
    .flatMap((name) => pattern.exec(name)?.[1] ?? [])
    .map(Number)
    .sort((a, b) => a - b);
}

/** Weights (q_len, k_len): of the head, or the mean of all heads. */
export function weightsOf(heads, head) {
  return head === null
    ? mapMatrix(heads[0], (_, i, j) => heads.reduce((sum, one) => sum + one[i][j], 0) / heads.length)
    : heads[head];
}

/** The places of a row's weights, the largest first. */
export const byWeight = (row) => [...row.keys()].sort((a, b) => row[b] - row[a]);

/** Some changes of the state, and what keeps layer, head and word within what there is. */
export function within(state, { maps }, changes) {
  const { attention, layer, head, token } = { ...state, ...changes };
  const [layers, more] = [layersWith(state.maps, attention), /** @type {any} */ ({})];
  if (!layers.includes(layer)) more.layer = layers.at(-1);
  const heads = maps[mapName(attention, more.layer ?? layer)];
  if (head !== null && head >= heads.length) more.head = null;
  if (!("sentence" in changes) && token >= heads[0].length) more.token = heads[0].length - 1;
  return { ...changes, ...more };
}

/** The changed state in which one query may not look at one key, or may again. */
export function blocking({ attention, blocked }, [query, key], on) {
  const road = roadOf(attention);
  const others = blocked.filter(([name, i, j]) => name !== road || i !== query || j !== key);
  return { key, blocked: on ? [...others, [road, query, key]] : others };
}

/** The words that look, the words looked at, and what the rows mean. A decoder row is labelled by the word it writes. */
function sidesOf({ attention, source_name: from, target_name: to }, { source_tokens: source, target_tokens: target }) {
  if (attention === "encoder self") {
    const [above, below] = [`${from}: what it can look at`, `${from}: what it reads`];
    return { queries: source, keys: source, above, below, verb: "reads" };
  }
  const writes = { queries: target, below: `${to}: what it writes`, verb: "writes" };
  if (attention === "cross") return { ...writes, keys: source, above: `${from}: what it can look at` };
  return { ...writes, keys: [BEGIN, ...target.slice(0, -1)], above: `${to}: already written` };
}

/**
 * All that is drawn.
 * @param {any} state
 * @param {{answer: Answer, whole: Answer, isOpened: boolean, isReady?: boolean, instead?: any[] | null,
 *   hovered?: number | null, taken?: Record<string, string[]>}} own  what is shown; the same with nothing taken away;
 *   whether all is as at first; whether a model is there; what is said in place of the sentence; the word pointed at;
 *   of a look that may not be, its two words when it was taken away
 * @param {any}[before]  what was derived before: what is another now stays marked until the next change
 */
export function derive(state, own, before = null) {
  const { answer, hovered = null } = own;
  const { attention, layer, head } = state;
  const heads = answer.maps[mapName(attention, layer)];
  const shown = heads.map((_, i) => `${mapName(attention, layer)}.${i}`).filter((_, i) => head === null || head === i);
  const kinds = new Set(shown.map((name) => state.heads[name] ?? ""));
  const sides = sidesOf(state, answer);
  const weights = weightsOf(heads, head);
  const chosen = Math.min(state.token, weights.length - 1);
  const words = JSON.stringify([attention, sides.queries, sides.keys]);
  const alike = before?.placed === words ? before : null; // the same words in the same places
  const here = state.blocked.filter(([road]) => road === roadOf(attention)).map(([, query, key]) => [query, key]);
  /** @type {any} */
  const now = { ...own, ...sides, state, attention, weights, chosen, here, placed: words, isChanged: isChanged(state) };
  const row = Math.min(hovered ?? chosen, weights.length - 1);
  return {
    ...now,
    row,
    shown,
    how: kinds.size === 1 ? [...kinds][0] : null,
    layers: layersWith(answer.maps, attention),
    heads: heads.length,
    sizes: sizesOf(sides),
    gone: alike ? alike.gone : before?.attention === attention ? compared(sides.queries, before.queries) : [],
    cells: cellsOf(now, alike?.cells),
    look: lookOf(now),
    says: finding(now, row),
    words: sentence(now, row),
    note: note(now, row),
    likely: likely(now, row),
    told: told(now),
  };
}

/** Which rows of words need small letters, and which every second word a line lower. */
function sizesOf({ queries, keys }) {
  const longest = (row) => Math.max(...row.map((word) => readable(word).length));
  const tooWide = (row, letter) => row.length > 8 || letter * longest(row) > ROOM / row.length;
  const sizeOf = (row) => ({ isCrowded: tooWide(row, SMALL), isSmall: tooWide(row, LETTER) });
  return { queries: sizeOf(queries), keys: sizeOf(keys), isNarrow: tooWide(keys, LETTER) || longest(queries) > FITS };
}

/** The cells, row by row; what cannot be looked at is hatched. `was`: what is printed no more, until the next change. */
function cellsOf({ queries, keys, weights, here, attention }, before) {
  const cells = mapMatrix(weights, (value, i, j) => {
    const isBlocked = here.some(([query, key]) => query === i && key === j);
    const isLater = attention === "decoder self" && j > i && value === 0;
    const why = isBlocked ? "blocked, 0" : isLater ? "not yet written, 0" : "";
    const text = value < VISIBLE ? "" : format(value);
    const label = `row ${readable(queries[i])}, column ${readable(keys[j])}: ${why || format(value)}`;
    return { value, text, label, isHatched: why !== "" };
  });
  return keepMarked(cells, before);
}

/** The look of which the switch speaks: the chosen word's at the one clicked, or blocked, or looked at most. */
function lookOf(now) {
  const { state, weights, chosen, here, queries, keys } = now;
  const may = (key) =>
    key !== null && key < weights[chosen].length && (state.attention !== "decoder self" || key <= chosen);
  const gone = here.find(([query]) => query === chosen);
  const key = may(state.key) ? state.key : gone ? gone[1] : byWeight(weights[chosen])[0];
  const isGone = here.some(([i, j]) => i === chosen && j === key);
  return { pair: [chosen, key], isGone, words: isGone ? wordsOf(now, chosen, key) : [queries[chosen], keys[key]] };
}

/** The two words of a look that was taken away: without it, another word may stand in its place. */
function wordsOf({ state, whole, taken = {} }, query, key) {
  const { queries, keys } = sidesOf(state, whole);
  return taken[String([roadOf(state.attention), query, key])] ?? [queries[query] ?? "?", keys[key] ?? "?"];
}

/** What the model computes without, in a few words. */
function without(now) {
  const { heads, blocked } = now.state;
  const kinds = Object.values(heads);
  const off = kinds.filter((kind) => kind === "off").length;
  const even = kinds.length - off;
  if (blocked.length === 1 && now.here.length === 1 && !kinds.length) {
    const [query, key] = wordsOf(now, ...now.here[0]);
    return ["Without ", named(query), " → ", named(key)];
  }
  const gone = [off && plural(off, "head"), blocked.length && plural(blocked.length, "look")].filter(Boolean);
  const alike = even ? [`${gone.length ? ", " : "With "}${plural(even, "head")} looking at all alike`] : [];
  return [...(gone.length ? [`Without ${gone.join(" and ")}`] : []), ...alike];
}

/** The finding: what is written with parts taken away, or where the word looks most. */
function finding(now, row) {
  const { answer, whole, weights, queries, keys, isReady } = now;
  if (now.isChanged && isReady) {
    if (areAlike(answer, whole)) return [...without(now), ", it writes the same"];
    const written = textOf(answer);
    const some = written.slice(0, IN_TITLE).join(" ") + (written.length > IN_TITLE ? " …" : "");
    return [...without(now), ": ", { italic: some || "nothing" }];
  }
  const [most] = byWeight(weights[row]);
  return [named(queries[row]), " looks at ", weights[row][most] ? named(keys[most]) : "nothing"];
}

/** "While it writes noir, it looks at black 1.00." */
function sentence({ queries, keys, verb, weights, instead }, row) {
  if (instead) return instead;
  const ranked = byWeight(weights[row]).filter((j) => weights[row][j] >= VISIBLE);
  const names = ranked.length > MANY ? ranked.slice(0, TOLD) : ranked;
  const rest = sumOf(weights[row]) - sumOf(names.map((j) => weights[row][j]));
  const parts = names.flatMap((j, i) => [i ? ", " : "", [named(keys[j]), ` ${format(weights[row][j])}`]]);
  const start = [`While it ${verb} `, named(queries[row]), verb === "reads" ? " it looks at " : ", it looks at "];
  if (!names.length) return [...start, "nothing."];
  return [...start, ...parts, ranked.length > names.length ? `, the others together ${format(rest)}.` : "."];
}

/** What is written with all parts, or what stands at the row's place, in one plain line. */
function note({ attention, answer, whole, isReady, ...now }, row) {
  if (now.isChanged && isReady) return ["With all its parts: ", { italic: textOf(whole).join(" ") }, "."];
  if (attention === "encoder self") return ["Every word may look at every word, earlier or later."];
  const input = named(row ? answer.target_tokens[row - 1] : BEGIN);
  const given = row
    ? ["Its input here is ", input, attention === "cross" ? ", the word just written" : ", just written"]
    : ["Its input here is the sign ", input, ": nothing is written yet"];
  return [...given, attention === "cross" ? "." : "; later words are hidden."];
}

/** The likeliest next words of a row. */
function likely({ attention, answer: { candidates, target_tokens: target } }, row) {
  const words = attention === "encoder self" ? [] : (candidates[row] ?? []);
  return words.map(([word, value]) => ({
    text: `${readable(word)} ${format(value, 3)}`,
    value,
    isSaid: word === target[row],
  }));
}

/** What a screen reader hears, of the chosen word. */
function told(now) {
  const { attention, layer, head } = now.state;
  return [
    now.isOpened ? "" : `${textOf(now.answer).join(" ")}. `,
    now.isChanged ? `${plain(finding(now, now.chosen))}. ` : "",
    `${KINDS[attention]} attention, layer ${layer + 1}, ${head === null ? "mean of heads" : `head ${head + 1}`}. `,
    plain(sentence(now, now.chosen)),
  ].join("");
}
