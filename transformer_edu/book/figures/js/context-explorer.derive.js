// A word in a few sentences: its vectors level by level, how alike two of them are, what is said of it. Nothing draws.
import * as engine from "../../engine/js/engine.js";
import { format, plain } from "./core/format.js";
import { dot, sumOf } from "./core/math.js";
import { labelled, planeOf, waysOf } from "./parts/plane.js";

const GIVEN = 2; // levels before the first layer: embedding, + position
const FAR = 0.9; // a cosine below this: two directions
export const NEAR = 0.98; // above: hardly moved
const FRENCH = { the: ["le", "la", "les"], a: ["un", "une"] }; // articles, one for each of the English ones

/**
 * @typedef {{sentence: number, place: number}} Where  of a word
 * @typedef {{sentences: string[][], word: string, one: Where, other: Where}} View  a word in two `sentences`: the first
 *   one, the others that were given, and last the reader's own if it is none of them
 * @typedef {{translation: string, at: (place: number, level: number) => number[], knows?: (place: number) => boolean}}
 *   Reading  of one sentence; `knows`: the places whose vectors are there, if not all are
 */

export const textOf = (words) => words.join(" ");

/** Read a sentence. @returns {Reading} */
function readingOf(model, words, levels) {
  const [ids, record] = [model.source.encode(textOf(words)), engine.recording()];
  engine.encode(model, ids, { record });
  return {
    translation: model.target.decode(engine.greedySearch(model, ids).ids),
    at: (place, level) => [...engine.rowOf(record.activations[levels[level][0]], place)],
  };
}

/** What was read before the page: of one word. @returns {Reading} */
function readingBefore({ translation, vectors }, unit) {
  const known = new Map(vectors);
  return {
    translation,
    knows: (place) => known.has(place),
    at: (place, level) => known.get(place)[level].map((number) => number * unit),
  };
}

/**
 * What is known of sentences: at first of one word; once there is a model, all.
 * @param {any} state @param {() => any} modelNow  or null
 */
export function memory({ sentence, other, also, levels, readings, unit }, modelNow) {
  const given = [sentence, other, ...also].map((text) => text.split(" "));
  const known = new Map(given.map((words, i) => [textOf(words), readingBefore(readings[i], unit)]));
  return {
    given,
    levels: levels.map(([, name]) => name),
    planes: new Map(), // of words
    /** Whether all vectors of a word are there. */
    has: (words, word) =>
      modelNow() || words.every((one, place) => one !== word || known.get(textOf(words))?.knows?.(place)),
    /** What the model makes of a sentence: known before, or computed once. @returns {Reading} */
    reading(words) {
      const [key, model] = [textOf(words), modelNow()];
      const found = known.get(key);
      if (model && (!found || found.knows)) known.set(key, readingOf(model, words, levels));
      return known.get(key);
    },
  };
}

const vectorOf = (known, sentences, { sentence, place }, level) => known.reading(sentences[sentence]).at(place, level);

/** The two vectors of a view at one level. @param {any} known @param {Partial<View>} view @param {number} level */
export function compare(known, { sentences, one, other }, level) {
  const [a, b] = [one, other].map((where) => vectorOf(known, sentences, where, level));
  const [lengthA, lengthB] = [Math.hypot(...a), Math.hypot(...b)];
  const distance = Math.hypot(...a.map((value, i) => value - b[i]));
  return { distance, cosine: dot(a, b) / (lengthA * lengthB), relative: (2 * distance) / (lengthA + lengthB) };
}

/** Every occurrence of a word in all sentences. @returns {Where[]} */
const occurrences = (sentences, word) =>
  sentences.flatMap((words, sentence) => words.flatMap((one, place) => (one === word ? [{ sentence, place }] : [])));

/** Places of every word that both sentences have. @returns {[number, number][]} */
const sharedBy = (first, second) =>
  first.flatMap((word, i) => second.flatMap((one, j) => (one === word ? [[i, j]] : [])));

/** The same; no word beside itself. */
const pairsOf = (first, second) =>
  sharedBy(first, second).filter(([i, j]) => i !== j || textOf(first) !== textOf(second));

/** The places of another word in the two sentences. @param {string} word @param {View} view */
export function pairOf(word, { sentences, other }) {
  const place = sentences[0].indexOf(word);
  const there = pairsOf(sentences[0], sentences[other.sentence]).flatMap(([i, j]) => (i === place ? [j] : []));
  return [place, there.includes(place) ? place : there[0]];
}

/** @param {any} known @param {string[][]} own  the reader's sentence @param {string[]} second @returns {View} */
function viewOf({ given }, own, second, [place, there]) {
  const sentences = [...given, ...own];
  const sentence = sentences.findIndex((words) => textOf(words) === textOf(second));
  return { sentences, word: given[0][place], one: { sentence: 0, place }, other: { sentence, place: there } };
}

/** Every word of the first sentence beside each of the same in the given ones. */
export const everyView = (known) =>
  known.given.flatMap((second) => pairsOf(known.given[0], second).map((pair) => viewOf(known, [], second, pair)));

/** What is to be shown, and what is wrong with the sentence. What cannot be shown leaves what was shown before. */
function askedOf(state, known, { words: second, wrong }, before) {
  const [[first], [place, there]] = [known.given, state.pair];
  const was = before ?? { own: [], view: viewOf(known, [], known.given[1], state.pair) };
  const stay = (why) => ({ own: was.own, view: was.view, wrong: why });
  if (wrong) return stay(wrong);
  const far = ([i, j]) => 100 * +(first[i] !== first[place]) + 10 * +(i !== place) + +(j !== there);
  const [pair] = pairsOf(first, second).sort((a, b) => far(a) - far(b)); // nearest to those compared now
  if (!pair) return stay(["It shares no word with ", { italic: state.sentence }, ", so there is nothing to compare."]);
  const own = known.given.some((words) => textOf(words) === textOf(second)) ? was.own : [second];
  const view = viewOf(known, own, second, pair);
  return { own, view: view.sentences.every((words) => known.has(words, view.word)) ? view : was.view, wrong: null };
}

/** The place of the word nearest to this one that the other sentence has not, else of a neighbour. */
const markPlace = (mine, other, place) =>
  mine
    .map((word, at) => ({ word, at, far: Math.abs(at - place) }))
    .filter(({ word }) => !other.includes(word))
    .sort((a, b) => a.far - b.far)[0]?.at ?? (place + 1 < mine.length ? place + 1 : place - 1);

/** The French of a word’s sentence, and where the word’s own stands there: known of articles only, else -1. */
function frenchOf(known, { sentences }, { sentence, place }) {
  const [english, words] = [sentences[sentence], known.reading(sentences[sentence]).translation.split(" ")];
  const articles = FRENCH[english[place]] ?? [];
  const count = english.slice(0, place).filter((word) => word === english[place]).length;
  return { words, place: words.flatMap((word, i) => (articles.includes(word) ? [i] : []))[count] ?? -1 };
}

/** A word in its sentence, told from another one: "the … cat → le". */
function inContext(known, view, where, other) {
  const [words, { place }] = [view.sentences[where.sentence], where];
  const at = markPlace(words, view.sentences[other.sentence], place);
  const gap = Math.abs(at - place) > 1 ? " … " : " ";
  const translation = frenchOf(known, view, where);
  const french = translation.words[translation.place];
  const text = (at < 0 ? [words[place]] : at < place ? [words[at], words[place]] : [words[place], words[at]]).join(gap);
  return {
    side: at < 0 ? "alone" : `${at < place ? "after" : "before"} ${words[at]}`,
    text: french ? `${text} → ${french}` : text,
  };
}

/** The number of each occurrence’s sentence, with a letter where the word stands there twice. */
const numbersOf = (found) =>
  found.map(({ sentence }, i) => {
    const twins = found.flatMap((other, j) => (other.sentence === sentence ? [j] : []));
    return `${sentence + 1}${twins.length > 1 ? "abcdefgh"[twins.indexOf(i)] : ""}`;
  });

/** All occurrences of a word: points of the plane in which they differ most, and rows. They stay while it is the same. */
function sceneOf(known, view, before) {
  const { sentences, word, one } = view;
  const key = JSON.stringify([sentences, word, one]);
  if (before?.key === key) return before;
  const found = occurrences(sentences, word);
  const states = known.levels.map((_, level) => found.map((where) => vectorOf(known, sentences, where, level)));
  const given = states.map((row) => row.filter((_, i) => found[i].sentence < known.given.length));
  const axes = known.planes.get(word) ?? planeOf(given[0].length > 1 ? given : states);
  if (given[0].length > 1) known.planes.set(word, axes); // whatever the reader types
  const at = states.map((row, level) => row.map((state) => axes.of(state, level)));
  const numbers = numbersOf(found);
  const rows = found.map((where, i) => ({
    number: numbers[i],
    english: { words: sentences[where.sentence], place: where.place },
    french: frenchOf(known, view, where),
    told: `${where.sentence + 1} ${textOf(sentences[where.sentence])}, word ${where.place + 1}`,
  }));
  return { key, found, at, ways: waysOf(at), shares: axes.shares, numbers, rows };
}

/** The points with what stands beside them, the same as long as the same are compared. */
function pictureOf(scene, inContext, chosen, before) {
  const texts = inContext.map(({ text }) => text);
  const key = JSON.stringify([texts, chosen]);
  if (before?.scene === scene && before.key === key) return before;
  return { scene, key, chosen, ...labelled(scene.ways, texts, scene.numbers, chosen) };
}

/** What has happened to the word, in words. */
function story({ word, one, other }, cosines, level) {
  const isOnePlace = one.place === other.place;
  const [alone, now] = [cosines[1], cosines[level]].map((cosine) => format(cosine, 3));
  const place = isOnePlace
    ? "These two stand at one place, so the position does not part them. "
    : `Word ${one.place + 1} here, word ${other.place + 1} there: the position alone takes the likeness to ${alone}. `;
  const what = isOnePlace ? "their likeness" : "it";
  const verb = cosines[level] > NEAR ? `left ${what} at` : `taken ${what} to`;
  const layers = level < GIVEN ? "" : `The layers, which see the other words, have ${verb} ${now}.`;
  return ["Every ", { exact: word }, " starts from one embedding. ", place, layers];
}

/** Cosines of every word that both sentences have. */
function tableOf(known, { sentences, other: { sentence } }) {
  const [first, second] = [sentences[0], sentences[sentence]];
  const pairs = sharedBy(first, second);
  const viewOf = ([a, b]) => ({ sentences, one: { sentence: 0, place: a }, other: { sentence, place: b } });
  return {
    rows: pairs.map(([a, b]) => (a === b ? first[a] : `${first[a]} ${a + 1}|${b + 1}`)),
    values: pairs.map((pair) => known.levels.map((_, level) => compare(known, viewOf(pair), level).cosine)),
  };
}

/**
 * All that is drawn.
 * @param {any} state  `sentence`, `other`, `pair`, `level`
 * @param {{known: any, read: {words: string[], wrong: any}, isOpened: boolean, instead: (wrong: any) => any,
 *   isUnfolded?: boolean, before?: any}} around  a memory; the words of `other` and what is wrong with them; what is said
 *   in place of the story; what was derived before
 */
export function derive(state, { known, read, isOpened, instead, isUnfolded = false, before = null }) {
  const asked = askedOf(state, known, read, before);
  const { sentences, word, one, other } = asked.view;
  const [{ levels }, { level }] = [known, state];
  const values = levels.map((_, at) => compare(known, asked.view, at));
  const cosines = values.map(({ cosine }) => cosine);
  const scene = sceneOf(known, asked.view, before?.picture.scene);
  const { found, shares } = scene;
  const chosen = [one, other].map(({ sentence, place }) =>
    found.findIndex((each) => each.sentence === sentence && each.place === place),
  );
  const names = found.map((where, i) => inContext(known, asked.view, where, i === chosen[0] ? other : one));
  const at = `${levels[level]}: likeness (cosine) ${format(cosines[level], 3)}`;
  const shown = format(100 * sumOf(shares), 0);
  const out = cosines.at(-1) < FAR ? "two out" : cosines.at(-1) > NEAR ? "nearly one out" : "two near ones out";
  const words = instead(asked.wrong) ?? story(asked.view, cosines, level);
  const which = `sentences ${one.sentence + 1} and ${other.sentence + 1}`;
  return {
    ...asked,
    picture: pictureOf(scene, names, chosen, before?.picture),
    label: `“${word}” in all sentences, as points; ${at}. The plane shows ${shown} % of the variance.`,
    level,
    levels: levels.map((name, i) => ({ name, cosine: cosines[i] })),
    both: [...new Set(pairsOf(sentences[0], sentences[other.sentence]).map(([i]) => sentences[0][i]))],
    apart: { name: levels[level], ...values[level], shares },
    table: isUnfolded ? tableOf(known, asked.view) : null,
    says: [{ exact: word }, ` ${chosen.map((i) => names[i].side).join(" and ")}: one vector in, ${out}`],
    words,
    told: `${word}, ${which}, ${at}. ${plain(words)}${isOpened ? "" : ` ${state.other}`}`,
  };
}
