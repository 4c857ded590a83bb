// What the decoder does while it writes, step by step, and what is seen of it. Nothing draws.
import * as engine from "../../engine/js/engine.js";
import { bound, format, plain, plural, readable, VISIBLE } from "./core/format.js";
import { mapMatrix, meanOf } from "./core/math.js";

/** @import { Piece } from "./core/format.js" */

const [START, END] = ["<bos>", "<eos>"];
const LIKELY = 5; // next words with a button
const DIMENSIONS = 4; // of an output that are shown
const MOVED = 1e-3; // an output that changes by less is the same: rounding
const SAYS = "What the decoder writes, it reads in its next step";

/**
 * A step: what the decoder does with the begin token and some words. `before`: the step without the last of them.
 * @returns {any} `self`, `cross`: for each layer the newest position's weights, mean of the heads; `outputs`: for each
 *   position the first numbers of its output (`all`: all of them); `moved`: how far the newest word has moved the outputs
 *   of those before it; `next`: likeliest next words; `chanceOf` a next word: its probability, and its place among all
 */
function compute(model, ids, memory, words, masked, before) {
  const record = engine.recording();
  const input = [engine.BOS, ...words.map((word) => ids.get(word))];
  const logits = engine.decode(model, input, memory, { changes: { unmasked: !masked }, record });
  const chances = engine.probabilities(engine.rowOf(logits, words.length));
  [engine.PAD, engine.BOS].forEach((id) => (chances[id] = -1)); // never written
  const newest = (kind) =>
    Array.from({ length: model.config.num_layers }, (_, layer) => {
      const heads = record.maps[`decoder.${layer}.${kind}`].map((map) => engine.rowOf(map, map.rows - 1));
      return Array.from(heads[0], (__, j) => meanOf(heads.map((head) => head[j])));
    });
  const all = engine.rowsOf(record.activations["decoder.output"]);
  const far = (i) => Math.max(...all[i].map((value, k) => Math.abs(value - before.all[i][k])));
  return {
    self: newest("self"),
    cross: newest("cross"),
    outputs: all.map((row) => row.slice(0, DIMENSIONS)),
    all,
    moved: words.map((_, i) => far(i)),
    next: engine.likeliestWords(model, chances, LIKELY),
    chanceOf: (word) => [chances[ids.get(word)], 1 + chances.filter((p) => p > chances[ids.get(word)]).length],
  };
}

const keyOf = (source, words, masked) => JSON.stringify([source, words, masked]);
const once = (made, key, make) => made.get(key) ?? made.set(key, make()).get(key);

/** The steps, each computed once: those that Python handed over, and with a model any other. */
export function stepsOf({ source: opened, written, masked: isMasked, steps }) {
  const [known, memories] = [new Map(), new Map()];
  let [model, ids] = [null, null];
  steps.forEach((step, i) => {
    const told = [...step.next.map(([word, p], at) => [word, p, at + 1]), [written[i], ...step.taken]];
    const chanceOf = (word) => told.find(([other]) => other === word)?.slice(1);
    known.set(keyOf(opened, written.slice(0, i), isMasked), { ...step, chanceOf });
  });
  const idOf = (word) => model.source.encode(word)[0];
  const memoryOf = (source) => once(memories, source.join(" "), () => engine.encode(model, source.map(idOf)));

  /** A step; undefined where it would have to be computed and there is no model yet. */
  function look(source, words, masked) {
    const key = keyOf(source, words, masked);
    if (!model) return known.get(key);
    const before = () => (words.length ? look(source, words.slice(0, -1), masked) : null);
    return once(known, key, () => compute(model, ids, memoryOf(source), words, masked, before()));
  }

  /** From now on all is computed. */
  function use(one) {
    known.clear();
    model = one;
    ids = new Map(Array.from({ length: model.target.size }, (_, id) => [model.target.token(id), id]));
  }
  return { look, use };
}

/** All steps on the way of these words, and what was written at each; null where only the model could tell. */
export function walk(steps, source, { path, masked }) {
  const words = path.filter((word) => word !== END);
  const on = Array.from({ length: words.length + 1 }, (_, i) => steps.look(source, words.slice(0, i), masked));
  const chances = path.map((word, i) => on[i]?.chanceOf(word));
  if (![...on, ...chances].every(Boolean)) return null;
  const chosen = path.map((word, i) => ({ word, chance: chances[i], best: on[i].next[0] }));
  return { source, masked, newest: on.at(-1), chosen, reads: [START, ...words], ended: path.at(-1) === END };
}

/** The model's own words after some others, at most so many in all; as far as is known of them. */
export function onwards(steps, source, begun, { masked, most }, count = most) {
  const path = [...begun];
  while (path.length < Math.min(count, most) && path.at(-1) !== END) {
    const word = steps.look(source, path, masked)?.next[0][0];
    if (!word || (word !== END && path.length + 1 >= most)) break;
    path.push(word);
  }
  return path;
}

/** Whether there is room for a word: the end token needs none. */
export const canWrite = ({ ended, reads }, word, most) => !ended && (word === END || reads.length < most);
export const isOwn = ({ word, best: [first] }) => word !== first;
export const hasMoved = (far) => far > MOVED;

/** A number or a word as it is printed; `was`: how it was printed before the last action, if that was otherwise. */
const shown = (now, before) => ({ ...now, was: (before ?? now).text === now.text ? null : { ...before, was: null } });
const wordOf = (word, before) => shown({ word, text: readable(word) }, before);

/** Words, and how much the newest position looks at each. */
const looksAt = (words, weights, before) =>
  words.map((word, i) => {
    const text = weights[i] < VISIBLE ? "" : format(weights[i]);
    const now = shown({ word, value: weights[i], text }, before?.[i]?.word === word ? before[i] : null);
    return { ...now, isTop: weights[i] === Math.max(...weights) };
  });

/** A position: what it reads, what it writes, whether its output is another since the newest word came. */
function rowOf(i, { reads, chosen, newest: { moved } }, before) {
  const one = chosen[i] ?? { word: "?", chance: [], best: ["?"] };
  const [far, [p]] = [moved[i] ?? 0, one.chance];
  const text = p === undefined ? "" : isOwn(one) ? "chosen" : format(p);
  const kinds = [
    i === reads.length - 1 && "te-dec-newest",
    isOwn(one) && "te-dec-own",
    hasMoved(far) && "te-dec-moved",
  ];
  return {
    kind: kinds.filter(Boolean).join(" "),
    reads: wordOf(reads[i], before?.reads),
    writes: wordOf(one.word, before?.writes.word === "?" ? null : before?.writes),
    chance: shown({ value: p, text }, before?.writes.word === one.word ? before.chance : null),
    output: { value: far, text: hasMoved(far) ? `moved ${format(far)}` : i < moved.length ? "as it was" : "new" },
  };
}

/** The first numbers of each position's output, as a matrix. */
function outputsOf({ reads, newest }, before) {
  const cellOf = (value, i, j) => {
    const old = before?.reads[i] === reads[i] ? before.outputs.cells[i][j] : null;
    const { text, was } = shown({ value, text: format(value, 1) }, old);
    return { value, text, was: was?.text ?? null, label: `${readable(reads[i])}, number ${j + 1}: ${text}` };
  };
  const columns = newest.outputs[0].map((_, j) => String(j + 1));
  return { rows: reads, columns, cells: mapMatrix(newest.outputs, cellOf), row: reads.length - 1 };
}

/** The likeliest next words; of the same words before, with another mask, their probabilities. */
const nextOf = (way, most, before) =>
  way.newest.next.map(([word, value]) => {
    const text = format(value, 4);
    const old = String(before?.reads) === String(way.reads) ? before.next.find((one) => one.word === word) : null;
    const label = `write ${readable(word)}, probability ${text}`;
    return { ...shown({ word, value, text }, old), isOff: !canWrite(way, word, most), label };
  });

/**
 * All that is drawn.
 * @param {any} state  the traits
 * @param {{way: any, typed?: string, instead?: Piece[] | null}} own  what `walk` gave; the word that is typed; what is said
 *   in place of the sentence
 * @param {any}[before]  what was derived before: what is another now stays marked until the next action
 */
export function derive({ layer, most, words: known }, { way, typed = "", instead = null }, before = null) {
  const { source, masked, newest, reads, ended, chosen } = way;
  const whole = JSON.stringify([source, masked, reads, ended, layer]);
  const last = before?.whole === whole ? before.was : before;
  const says = finding(way);
  const words = instead ?? story(way, layer);
  const hint = typed && aboutWord(typed, newest, known);
  const written = chosen.map(({ word }) => readable(word)).join(" ") || "nothing";
  const told = `${source.join(" ")}. ${masked ? "" : `${says}. `}Layer ${layer + 1}. Written: ${written}. ${plain(words)}`;
  return {
    ...way,
    whole,
    was: last && { ...last, was: null },
    isFull: !canWrite(way, newest.next[0][0], most),
    rows: reads.map((_, i) => rowOf(i, way, last?.rows[i])),
    self: looksAt(reads, newest.self[layer], last?.self),
    cross: looksAt(source, newest.cross[layer], last?.cross),
    next: nextOf(way, most, last),
    outputs: outputsOf(way, last),
    hint,
    says: [says],
    words,
    told: hint ? `${typed}: ${hint}` : told,
  };
}

/** What the picture shows. */
function finding({ masked, newest: { moved } }) {
  if (masked) return SAYS;
  if (!moved.length) return "Without the mask, every position looks at later words, too";
  return `Without the mask, the newest word changed ${moved.filter(hasMoved).length} of ${moved.length} rows before it`;
}

/** "le 0.49, petit 0.28", the strongest first. @returns {Piece[]} */
const strongest = (words, weights) =>
  engine
    .highest(weights, 2)
    .filter((i) => weights[i] >= VISIBLE)
    .flatMap((i, rank) => [rank ? ", " : "", [{ token: words[i] }, ` ${format(weights[i])}`]]);

const chose = ({ word, chance: [p, place], best: [first, best] }) => [
  ...["You chose ", { token: word }, ` (${format(p, 4)}, place ${place}) in place of `],
  ...[{ token: first }, ` (${format(best, 4)}).`],
];

/** What the newest position does. @returns {Piece[]} */
function story({ source, newest, reads, ended, chosen }, layer) {
  if (ended) return ["The end token is written, and the decoder stops: ", { bold: reads.slice(1).join(" ") }, "."];
  const looks = ["It looks back at ", ...strongest(reads, newest.self[layer]), " and, in English, at "];
  const told = ["The newest position reads ", { token: reads.at(-1) }, ". ", ...looks];
  const own = chosen.findLast(isOwn);
  return [...told, ...strongest(source, newest.cross[layer]), ". ", ...(own ? chose(own) : [])];
}

/** Of a word that is typed: how likely it is to come next. */
function aboutWord(word, { chanceOf }, known) {
  if (!known.includes(word)) return `not one of its ${plural(known.length, "word")}`;
  const [p, place] = chanceOf(word) ?? [];
  return place ? `${format(p, 4)}, place ${place}` : "";
}

/** Why earlier rows stay as they were; and what the model would have done. @returns {Piece[]} */
export function remark({ masked, reads, newest, source }, steps, most) {
  const before = reads.length - 1;
  const rows = before === 1 ? "The row before it is" : `The ${before} rows before it are`;
  const why = masked
    ? "as they were: a position never looks at later words. Computed again, none of their numbers differs by more than " +
      `${bound(newest.moved, 6)}, which is rounding. `
    : `others now, by up to ${format(Math.max(...newest.moved))}: without the mask a position looks at later words, too. `;
  const own = onwards(steps, source, [], { masked, most }).filter((word) => word !== END);
  const told = before ? `${rows} ${why}` : "Nothing is written yet. ";
  return [`${told}Left alone, the model writes `, { italic: own.join(" ") }, "."];
}
