// All heads at work on a sentence: their maps, what is measured of each, what is lost without it. Nothing draws.
import * as engine from "../../engine/js/engine.js";
import { format, plain, plural, readable } from "./core/format.js";

const WRITTEN = 14; // words of the model's translation that are looked at
export const KINDS = {
  "encoder.self": { sign: "●", short: "encoder", name: "encoder" },
  "decoder.self": { sign: "▲", short: "decoder", name: "decoder" },
  "decoder.cross": { sign: "■", short: "cross", name: "cross-attention" },
};
const MEASURES = ["entropy", "distance", "importance"];
export const ORDERS = ["place", ...MEASURES];
const MOSTLY = 0.5; // of a head's weight
const EVENLY = 0.85; // of the entropy that it could have
const SHARPLY = 0.8; // of each word's weight
// What lies at which distance from the word that looks.
const AROUND = {
  "encoder.self": { "-1": "one word back", 0: "at the word itself", 1: "one word on" },
  "decoder.self": { "-1": "one word before the newest", 0: "at the newest word" },
  "decoder.cross": { 0: "at the English word at the same place" },
};

/** "encoder.1.self.0": which kind, and its layer and head from 0. */
function partsOf(name) {
  const [side, layer, kind, head] = name.split(".");
  return { kind: `${side}.${kind}`, layer: Number(layer), head: Number(head) };
}

/** "encoder, layer 2, head 1" */
function inWords(name) {
  const { kind, layer, head } = partsOf(name);
  return `${KINDS[kind].name}, layer ${layer + 1}, head ${head + 1}`;
}

/** H(α) / ln n of each query that may see more than one key; their mean. @param {number[][]} map */
function entropyOf(map, mayLook) {
  const rows = map.map((row, i) => row.filter((_, j) => mayLook(i, j))).filter((row) => row.length > 1);
  const one = (row) => -row.reduce((sum, a) => sum + (a > 0 ? a * Math.log(a) : 0), 0) / Math.log(row.length);
  return rows.length ? rows.reduce((sum, row) => sum + one(row), 0) / rows.length : 0;
}

/** Σ α_ij |i − j|, the mean over queries. @param {number[][]} map */
const distanceOf = (map) =>
  map.reduce((sum, row, i) => sum + row.reduce((far, a, j) => far + a * Math.abs(i - j), 0), 0) / map.length;

export const mayLookIn = (kind) => (kind === "decoder.self" ? (i, j) => j <= i : () => true);

/** All heads of a model at work on a sentence, some of them changed: as Python's `atlas`, less what is measured. */
export function atWork(model, words, { source, ids }, heads) {
  const then = Object.keys(heads).length ? engine.greedySearch(model, source, { changes: { heads } }).ids : ids;
  const target = ids.slice(0, WRITTEN + 1);
  const { maps } = engine.forward(model, source, target.slice(0, -1), { heads });
  const asWords = (some) => some.slice(1).map((id) => model.target.token(id));
  const places = Object.keys(maps).flatMap((name) => maps[name].map((map, i) => [`${name}.${i}`, engine.rowsOf(map)]));
  return {
    source: words,
    heads,
    written: asWords(target),
    // biome-ignore lint/suspicious/noThenProperty: no promise, the words written then
    then: asWords(then),
    maps: Object.fromEntries(places),
    given: { source, target },
    effects: null,
    breaks: null,
  };
}

/** The mean −ln p of the words of a translation, and whether another word is likelier than one of them. */
export function lost(model, { source, target }, heads) {
  const changes = { heads };
  const logits = engine.decode(model, target.slice(0, -1), engine.encode(model, source, { changes }), { changes });
  const next = target.slice(1);
  let [sum, breaks] = [0, false];
  next.forEach((id, i) => {
    const scores = engine.rowOf(logits, i);
    const [likeliest] = engine.highest(engine.possible(scores), 1);
    sum -= Math.log(engine.probabilities(scores)[id]);
    breaks ||= likeliest !== id;
  });
  return { loss: sum / next.length, breaks };
}

/** Find out what is lost without each head, the others as they are: head by head, because it takes a while. */
export function* measured(model, answer, names) {
  const { given, heads } = answer;
  const [present, found] = [lost(model, given, heads).loss, []];
  for (const name of names) {
    const { loss, breaks } = lost(model, given, { ...heads, [name]: "off" });
    const withIt = name in heads ? lost(model, given, without(heads, name)).loss : present;
    found.push({ effect: loss - withIt, breaks });
    yield;
  }
  answer.effects = found.map(({ effect }) => effect);
  answer.breaks = found.map(({ breaks }) => breaks);
}

/** The other heads that are changed. */
export const without = (heads, name) => Object.fromEntries(Object.entries(heads).filter(([other]) => other !== name));
export const allTo = (how, names) => Object.fromEntries(names.map((name) => [name, how]));
export const keyOf = (words, heads) => JSON.stringify([words, Object.entries(heads).sort()]);

/** What a model answered, by sentence and changed heads. It is asked for what is missing; without a model, for nothing. */
export function memory(first) {
  const [answers, translations] = [new Map([[keyOf(first.source, first.heads), first]]), new Map()];
  function translate(model, words) {
    const text = words.join(" ");
    if (!translations.has(text)) translations.set(text, engine.translate(model, text));
    return translations.get(text);
  }
  function ask(model, words, heads) {
    const key = keyOf(words, heads);
    if (model && !answers.has(key)) answers.set(key, atWork(model, words, translate(model, words), heads));
    return answers.get(key) ?? null;
  }
  return { translate, ask };
}

const text = (words) => words.filter((word) => word !== "<eos>");

/**
 * All that is drawn.
 * @param {any} state  `chosen`, `sort` @param {{names: string[], answer: any, instead?: any, before?: any}} more  `names`
 *   of all heads; `answer`, the model's; `instead`, what is said in place of the chosen head's story; `before`, what was
 *   derived before: its order and its finding stay until all is measured
 */
export function derive({ chosen, sort }, { names, answer, instead = null, before = null }) {
  const { kind } = partsOf(chosen);
  const [was, is] = [text(answer.written), text(answer.then).slice(0, WRITTEN)];
  const [differs, measures] = [was.join() !== is.join(), measuresOf(names, answer)];
  const own = measures[chosen];
  const now = { names, answer, chosen, sort, was, is, differs, measures };
  const [order, words] = [sorted(now, before?.order), instead ?? story(now)];
  return {
    ...now,
    order,
    kind,
    title: inWords(chosen),
    tiles: order.map((name) => tileOf(now, name)),
    large: { kind, weights: answer.maps[chosen], ...sidesOf(kind, answer) },
    numbers: MEASURES.map((name) => ({ name, value: own[name], text: numberOf(name, own[name]) })),
    writes: is.map((word, i) => ({ word, isOther: word !== was[i] })),
    says: finding(now) ?? before?.says ?? [],
    words,
    told: instead ? plain(words) : `It writes: ${is.join(" ")}. ${plain(words)} Sorted by ${sort}.`,
  };
}

/** Entropy, distance and importance of each head; NaN for what a head that is off does not have. */
function measuresOf(names, { maps, heads, effects }) {
  const of = (name, i) => ({
    entropy: heads[name] === "off" ? NaN : entropyOf(maps[name], mayLookIn(partsOf(name).kind)),
    distance: heads[name] === "off" ? NaN : distanceOf(maps[name]),
    importance: effects?.[i],
  });
  return Object.fromEntries(names.map((name, i) => [name, of(name, i)]));
}

/** A measure as it is printed; one that is not yet known, and one that is not to be had. */
function numberOf(measure, value) {
  if (value === undefined) return "…";
  return Number.isNaN(value) ? "–" : format(value, measure === "importance" ? 4 : 2);
}

function sorted({ names, sort, measures, answer }, before) {
  if (sort === "place") return names;
  if (sort === "importance" && !answer.effects) return before ?? names;
  const sign = sort === "importance" ? -1 : 1;
  const key = (name) => (Number.isNaN(measures[name][sort]) ? Infinity : sign * measures[name][sort]);
  return [...names].sort((a, b) => key(a) - key(b) || 0);
}

/** The small map of a head: its name in words, and the measure by which it stands where it stands. */
function tileOf({ names, answer, chosen, sort, measures, differs }, name) {
  const { kind, layer, head } = partsOf(name);
  const how = answer.heads[name];
  const breaks = how === "off" || differs ? undefined : answer.breaks?.[names.indexOf(name)];
  const [needed, free] = [breaks === true, breaks === false]; // a word would change without it, as the others are, or none
  const shown = sort === "place" ? null : numberOf(sort, measures[name][sort]);
  const label = [inWords(name), how, needed && "cannot go", free && "can go", shown !== null && `${sort} ${shown}`];
  return {
    name,
    kind,
    map: answer.maps[name],
    measures: measures[name],
    isChosen: name === chosen,
    needed,
    free,
    state: how ?? (needed ? "stays" : null),
    place: shown === null ? `layer ${layer + 1}` : `L${layer + 1}, h${head + 1}`,
    number: shown === null ? `head ${head + 1}` : { bold: shown },
    label: label.filter(Boolean).join(", "),
  };
}

const keysOf = (kind, { source, written }) => (kind === "decoder.self" ? ["<bos>", ...written.slice(0, -1)] : source);

/** What stands at the sides of a large map: the words that look, and those that they look at. */
function sidesOf(kind, { source, written }) {
  const [queries, keys] = [kind === "encoder.self" ? source : written, keysOf(kind, { source, written })];
  return { sentence: JSON.stringify([source, written]), rows: queries.map(readable), columns: keys.map(readable) };
}

/** Where most of a head's weight lies: at some distance, or at one word, whoever asks. */
function mostWeight(map, kind, answer) {
  const share = (weight) => map.reduce((sum, row, i) => sum + weight(row, i), 0) / map.length;
  const found = [
    ...Object.entries(AROUND[kind]).map(([by, where]) => [share((row, i) => row[i + Number(by)] ?? 0), [where]]),
    ...keysOf(kind, answer).map((token, j) => [share((row) => row[j]), ["at ", { token }]]),
  ];
  return found.reduce((most, one) => (one[0] > most[0] ? one : most));
}

/** What it takes to change a word: of this sentence, with what is switched off now; null until that is measured. */
function finding({ names, answer, was, is, differs }) {
  const changed = plural(Object.keys(answer.heads).length, "head");
  const some = Object.values(answer.heads).includes("uniform") ? `With ${changed} changed` : `Without ${changed}`;
  const others = was.flatMap((word, i) => (word === is[i] ? [] : [i]));
  if (others.length === 1 && was.length === is.length)
    return [some, ", ", { token: was[others[0]] }, " becomes ", { token: is[others[0]] }];
  if (differs) return [some, " it writes something else"];
  const needed = names.filter((name, i) => answer.breaks?.[i] && answer.heads[name] !== "off").length;
  const now = needed ? `; but now ${needed} ${needed > 1 ? "others have" : "other has"} to stay` : "";
  if (changed[0] !== "0") return [`${some}, no word changes${now}`];
  if (!answer.breaks) return null;
  if (needed) return [`${needed} of the ${names.length} heads cannot go: a word would change`];
  return [`Any one of the ${names.length} heads can go: no word changes`];
}

/** Where a head looks that is as it was trained. */
function looksOf(map, kind, entropy, answer) {
  const [share, where] = mostWeight(map, kind, answer);
  if (share >= MOSTLY) return [" mostly looks ", ...where, `: ${format(share)} of its weight.`];
  if (entropy >= EVENLY) return [" looks at all words nearly alike."];
  const largest = map.reduce((sum, row) => sum + Math.max(...row), 0) / map.length;
  if (largest >= SHARPLY)
    return [` looks at one word at a time, which gets ${format(largest)} of the weight in the mean.`];
  return [" divides its weight; the largest part, ", format(share), ", lies ", ...where, "."];
}

/** What the chosen head does here, as measured. */
function story({ names, answer, chosen, measures, differs }) {
  const who = { bold: inWords(chosen).replace(/^./, (letter) => letter.toUpperCase()) };
  const how = answer.heads[chosen];
  if (how === "off") return [who, " adds nothing now. Choose another one, or switch it on again."];
  if (how === "uniform") return [who, " looks at all words alike now, whatever they are."];
  const looks = looksOf(answer.maps[chosen], partsOf(chosen).kind, measures[chosen].entropy, answer);
  if (!answer.breaks || differs) return [who, ...looks];
  return [who, ...looks, ` Without it, ${answer.breaks[names.indexOf(chosen)] ? "a" : "no"} word changes.`];
}
