// Byte-pair merges of a text, step by step, how a word is cut with them, and what is said of it. Nothing draws.
import { plural } from "./core/format.js";
import { sumOf } from "./core/math.js";

/** @import { Piece } from "./core/format.js" */
/** @typedef {[string, string]} Pair  of neighbours */
/** @typedef {{word: string, count: number, symbols: string[]}} Entry */

export const END = "·";
const MOST_WORDS = 30;
const PAIRS_SHOWN = 6;
const NEW = " te-bpe-new";
const times = (count) => (count === 1 ? "once" : count === 2 ? "twice" : `${count} times`);
export const wordsIn = (text) => text.split(/\p{White_Space}+/u).filter(Boolean);
/** As Python sorts: by code point, not by UTF-16 unit. */
const byCodePoint = (a, b) => a.codePointAt(0) - b.codePointAt(0);
/** @param {string[]} symbols @returns {Pair[]} */
const neighbours = (symbols) => symbols.slice(1).map((right, i) => [symbols[i], right]);
/** A pair as a key: what is typed is split at white space, so no symbol contains a space. @param {Pair} pair */
const keyOf = (pair) => pair.join(" ");

/** @param {Entry[]} entries @returns {{pair: Pair, count: number}[]} */
function countPairs(entries) {
  const pairs = new Map();
  for (const { symbols, count } of entries)
    for (const pair of neighbours(symbols)) {
      const before = pairs.get(keyOf(pair))?.count ?? 0;
      pairs.set(keyOf(pair), { pair, count: before + count });
    }
  return [...pairs.values()];
}

/** Write the pair as one symbol, from left to right. @param {string[]} symbols @param {Pair} pair */
function joinPair(symbols, [left, right]) {
  const joined = [];
  for (const symbol of symbols) {
    if (joined.at(-1) === left && symbol === right) joined[joined.length - 1] += symbol;
    else joined.push(symbol);
  }
  return joined;
}

/**
 * Everything that happens to a text, until every word is one symbol. At stage k, k merges are made: the words as they
 * stand, of how many symbols, their pairs, commonest first, and the size of the vocabulary (with <unk>). On a tie the
 * symbols known longest win, first the left one, then the right one: this is the tokenizers library's order.
 * @param {string[]} words
 */
function learn(words) {
  const counts = new Map();
  words.forEach((word) => counts.set(word, (counts.get(word) ?? 0) + 1));
  let entries = [...counts].slice(0, MOST_WORDS).map(([word, count]) => ({ word, count, symbols: [...word, END] }));
  const characters = [...new Set(entries.flatMap((entry) => entry.symbols))].sort(byCodePoint);
  const age = new Map(characters.map((symbol, i) => [symbol, i]));
  const order = (a, b) =>
    b.count - a.count || age.get(a.pair[0]) - age.get(b.pair[0]) || age.get(a.pair[1]) - age.get(b.pair[1]);
  const [stages, merges] = [[], []];
  for (;;) {
    const pairs = countPairs(entries).sort(order);
    const total = sumOf(entries.map(({ count, symbols }) => count * symbols.length));
    stages.push({ entries, pairs, total, size: age.size + 1 });
    if (!pairs.length) return { stages, merges, characters, known: age, left: counts.size - entries.length };
    const best = pairs[0];
    const symbol = best.pair.join("");
    entries = entries.map((entry) => ({ ...entry, symbols: joinPair(entry.symbols, best.pair) }));
    merges.push({ ...best, symbol });
    if (!age.has(symbol)) age.set(symbol, age.size);
  }
}

/** Cut a word: join the pair of neighbours that was learned first, until none was learned. */
function cutWith(merges, word) {
  const [learned, symbols] = [merges.map(({ pair }) => keyOf(pair)), [...word, END]];
  for (;;) {
    const pairs = neighbours(symbols).map(keyOf);
    const at = pairs.indexOf(learned.find((pair) => pairs.includes(pair)));
    if (at < 0) return symbols;
    symbols.splice(at, 2, symbols[at] + symbols[at + 1]);
  }
}

const spoken = (symbol) =>
  symbol === END ? "end mark" : symbol.endsWith(END) ? `${symbol.slice(0, -1)} with end mark` : symbol;
const chip = (symbol, isNew = false) => ({ exact: symbol, kind: ` te-bpe-chip${isNew ? NEW : ""}` });
const sum = ([left, right], newest = "") => [chip(left, left === newest), " + ", chip(right, right === newest)];
/** A number, after the one that it was before the last merge. */
const since = (was, number, measure) => [was ? `${was} → ` : "", { number, text: `${number}`, measure }];

/**
 * A word's symbols as boxes, known by the place at which they end. A symbol that the last merge made is two boxes that
 * touch: they slide there from where its parts stood.
 */
function boxesOf(word, symbols, last, known) {
  let end = 0;
  const boxes = symbols.flatMap((symbol) => {
    const isNew = symbol === last?.symbol;
    const kinds = isNew ? [`${NEW} te-bpe-left`, `${NEW} te-bpe-right`] : [known.has(symbol) ? "" : " te-bpe-unknown"];
    return kinds.map((kind, i) => {
      const text = isNew ? last.pair[i] : symbol;
      end += text.length;
      return { end, text, kind, symbol: i ? undefined : symbol };
    });
  });
  const aloud = symbols.map((symbol) => spoken(symbol) + (known.has(symbol) ? "" : ", unknown"));
  return { boxes, label: `${word}: ${aloud.join(" | ")}` };
}

/** The commonest pairs, with their new symbol marked, and what the last merge made of their count. */
function rowsOf(pairs, earlier, last) {
  const before = new Map(earlier?.pairs.map(({ pair, count }) => [keyOf(pair), count]));
  return pairs.slice(0, PAIRS_SHOWN).map(({ pair, count }, i) => {
    const was = before.get(keyOf(pair)) ?? count;
    const flag = i === 0 ? "next" : count === pairs[0].count ? "tie" : "";
    const notes = [flag && { bold: flag }, was === count ? "" : ` was ${was}`];
    return { pair, sum: sum(pair, last?.symbol), count, share: count / pairs[0].count, notes };
  });
}

/** Why this pair and not another that is as common. @returns {Piece[]} */
function tieOf([first, ...others]) {
  const equals = others.filter(({ count }) => count === first.count);
  if (!equals.length) return [];
  const second = equals[0].pair;
  const place = first.pair[0] === second[0] ? 1 : 0;
  const more = equals.length > 1 ? ` and ${equals.length - 1} more` : "";
  const decides = `${more}: the ${place ? "right" : "left"} symbol decides, `;
  const winner = [chip(first.pair[place]), " came into the vocabulary before ", chip(second[place]), ". "];
  return [{ bold: "A tie" }, " with ", sum(second), decides, ...winner];
}

/** What the last merge did and what the next will be. @returns {Piece[]} */
function sentence({ merges, left }, { pairs }, last, step) {
  if (!merges.length) return ["Type some words into the field."];
  const done = last
    ? [`Merge ${step}: `, sum(last.pair), `, counted ${times(last.count)}, became `, chip(last.symbol, true), ". "]
    : ["Each word is cut into its characters; ", chip(END), " marks its end. "];
  const next = pairs.length
    ? ["Next: ", sum(pairs[0].pair), `, ${times(pairs[0].count)}.`]
    : [{ bold: "Every word is one symbol: no pair is left." }];
  return [...done, ...next, left && { bold: ` Only the first ${MOST_WORDS} different words are used.` }].filter(
    Boolean,
  );
}

function announcement({ merges }, { pairs, total, size }, last, step) {
  const aloud = ({ pair }) => pair.map(spoken).join(" plus ");
  const here = last ? `Merge ${step} of ${merges.length}: ${aloud(last)}.` : "No merge yet.";
  const next = pairs.length ? `Next: ${aloud(pairs[0])}, ${times(pairs[0].count)}.` : "No pair is left.";
  return `${here} ${next} Vocabulary ${size}, text ${plural(total, "symbol")}.`;
}

/** How much is known, and which pair wins a tie. @returns {Piece[]} */
const factsOf = ({ stages, characters }, { pairs, size }) => [
  `The text began with ${stages[0].total} symbols. The vocabulary has ${characters.length} characters with ${END}, ` +
    `<unk>, and ${size - 1 - characters.length} that were merged. `,
  ...(pairs.length ? tieOf(pairs) : []),
  "On a tie the symbol that came into the vocabulary first wins: characters by code point (a before b before ·), " +
    "then the merges in their order.",
];

/** What of the typed words is not known. */
function noteOn(text, { known }) {
  const strange = [...new Set(wordsIn(text).join(""))].filter((letter) => !known.has(letter));
  const [are, each] = strange.length > 1 ? ["are", "each"] : ["is", "it"];
  const why = `${strange.join(", ")} ${are} not in the text, so ${each} becomes <unk>`;
  return text.trim() && `“${text.trim()}”: ${strange.length ? why : "every character is known"}`;
}

/**
 * All that is drawn.
 * @param {any} state  `text`, `step`, `new_word` @param {any}[before]  what was derived before: a text is learned once
 */
export function derive({ text, step: wanted, new_word }, before = null) {
  const course = before?.text === text ? before.course : learn(wordsIn(text));
  const step = Math.min(wanted, course.merges.length);
  const merges = course.merges.slice(0, step);
  const [stage, earlier, last] = [course.stages[step], course.stages[step - 1], merges.at(-1)];
  const note = noteOn(new_word, course);
  return {
    text,
    course,
    step,
    most: course.merges.length,
    isFurther: before?.text === text && step > before.step,
    entries: stage.entries.map((one) => ({ ...one, ...boxesOf(one.word, one.symbols, last, course.known) })),
    rows: rowsOf(stage.pairs, earlier, last),
    merges: merges.map(({ pair, symbol }, i) => ({ pair, sign: [`${i + 1} `, chip(symbol, i === step - 1)] })),
    total: [...since(earlier?.total, stage.total, "total"), ` symbols; ${END} marks a word’s end`],
    size: ["vocabulary: ", ...since(earlier?.size, stage.size, "vocabulary"), " symbols"],
    cut: wordsIn(new_word).map((word) => boxesOf(word, cutWith(merges, word), last, course.known)),
    note,
    words: sentence(course, stage, last, step),
    facts: factsOf(course, stage),
    told: `${announcement(course, stage, last, step)} ${note}`,
  };
}
