// Sentences in batches: how each order packs them, how much of that is padding, and what is said of it. Nothing draws.
import { lastChange } from "./core/changed.js";
import { plain, plural, whole } from "./core/format.js";
import { sumOf } from "./core/math.js";

/** @typedef {{sentences: string[], order: string, limit: string, size: number, epoch: number, draws: string[]}} State */
/** @typedef {{rows: number[], width: number, cells: number, padding: number, rest: boolean}} Batch  `rest`: of what was left */
/** @typedef {{batches: Batch[], cells: number, padding: number}} Plan */

export const ORDERS = ["as they come", "shuffled", "sorted by length", "similar lengths together"];
export const SIMILAR = ORDERS[3];
const MANY = 18; // batches: more are drawn small, without their numbers
const [WIDE, HIGH] = [660, 150]; // what the batches have, in pixels, where the figure is as wide as a book's column
const NOTES = {
  "as they come": "The order is that of the list, the same in every epoch.",
  shuffled: "Each epoch has other batches, and chance decides what a batch wastes.",
  "sorted by length": "Every epoch goes from short to long: the order of training is no longer random.",
  [SIMILAR]: "The batches are then shuffled, and each epoch has others.",
};
const count = (number, noun) => plural(number, noun, "\u00a0");
const percent = ({ padding, cells }, little) =>
  padding && 200 * padding < cells ? little : String(Math.round((100 * padding) / cells));
const isShuffled = (order) => order === "shuffled" || order === SIMILAR;

/** Python's random.shuffle, from the bytes that its generator drew: k bits are the top k of a byte. @param {string} hex */
function shuffler(hex) {
  let at = 0;
  const draw = (bits) => parseInt(hex.slice(2 * at, 2 * (at += 1)), 16) >> (8 - bits);
  return (list) => {
    for (let i = list.length - 1, j; i > 0; i -= 1) {
      do j = draw(32 - Math.clz32(i + 1));
      while (j > i);
      [list[i], list[j]] = [list[j], list[i]];
    }
  };
}

/** Fill one batch after the other, rows times the largest cost at most `most`; `costs`: tokens, or 1 for each sentence. */
function pack(costs, most, order) {
  const batches = [];
  let [batch, width] = [[], 0];
  for (const index of order) {
    if (batch.length && Math.max(width, costs[index]) * (batch.length + 1) > most) {
      batches.push(batch);
      [batch, width] = [[], 0];
    }
    batch.push(index);
    width = Math.max(width, costs[index]);
  }
  return [...batches, batch];
}

/** Batches in the order of training, with what each costs. @returns {Plan} */
function plan({ limit, size, draws, epoch }, order, lengths) {
  const shuffle = shuffler(draws[epoch]);
  const indices = lengths.map((_, index) => index);
  if (isShuffled(order)) shuffle(indices);
  if (order === "sorted by length" || order === SIMILAR) indices.sort((a, b) => lengths[a] - lengths[b]);
  const packed = pack(limit === "tokens" ? lengths : lengths.map(() => 1), size, indices);
  const last = packed.at(-1);
  if (order === SIMILAR) shuffle(packed);
  const batches = packed.map((rows) => {
    const own = rows.map((index) => lengths[index]);
    const cells = Math.max(...own) * rows.length;
    const rest = rows === last && !(limit === "sentences" && rows.length === size);
    return { rows, width: Math.max(...own), cells, padding: cells - sumOf(own), rest };
  });
  const total = (name) => sumOf(batches.map((batch) => batch[name]));
  return { batches, cells: total("cells"), padding: total("padding") };
}

/** "72 to 88 cells" */
function range(numbers, noun) {
  const [least, most] = [Math.min(...numbers), Math.max(...numbers)];
  return `${least === most ? "" : `${least} to `}${count(most, noun)}`;
}

/** What the batches cost beside each other; the one with what was left over is told apart. */
function balance({ limit, size }, batches) {
  const [rest, full] = [batches.find((batch) => batch.rest), batches.filter((batch) => !batch.rest)];
  if (!full.length) return "One batch holds all sentences.";
  const cells = full.map((batch) => batch.cells);
  const ratio = Math.max(...cells) / Math.min(...cells);
  const left = rest ? ` The batch marked “rest” has what was left: ${count(rest.cells, "cell")}.` : "";
  if (limit === "tokens") {
    const held = full.map(({ rows }) => rows.length);
    const even = ratio < 1.35 ? ", much the same" : "";
    return `With a budget of ${size} a batch costs ${range(cells, "cell")}${even}, and holds ${range(held, "sentence")}.${left}`;
  }
  const times = ratio < 1.05 ? "" : `: the largest is ${ratio.toFixed(1)} times the smallest`;
  const advice = ratio >= 1.5 ? " A budget of tokens evens that." : "";
  return `A batch of ${count(size, "sentence")} costs ${range(cells, "cell")}${times}.${advice}${left}`;
}

/** The largest cell, in pixels, with which the batches of every order have room. @param {Plan[]} plans */
function cellSize(plans) {
  const height = (cell, batches) => {
    const under = batches.length > MANY ? 10 : 30;
    let [x, y, line] = [0, 0, 0];
    for (const { rows, width } of batches) {
      if (x + cell * width + 12 > WIDE) [x, y, line] = [0, y + line, 0];
      x += Math.max(cell * width, batches.length > MANY ? 0 : 44) + 12;
      line = Math.max(line, cell * rows.length + under);
    }
    return y + line;
  };
  return [9, 8, 7, 6].find((cell) => plans.every(({ batches }) => height(cell, batches) <= HIGH)) ?? 5;
}

/** A batch as it is drawn: its rows, with the tokens of each, and what is said of it. */
const drawn = (batch, index, sentences, lengths) => ({
  ...batch,
  rows: batch.rows.map((row) => ({ row, text: sentences[row], tokens: lengths[row] })),
  label: `Batch ${index + 1} · ${batch.cells} ${batch.rest ? "rest" : "cells"}`,
  under: [{ bold: String(index + 1) }, ` · ${batch.cells}${batch.rest ? " rest" : ""}`],
  about:
    `Batch ${index + 1}: ${count(batch.rows.length, "row")} × ${count(batch.width, "token")} ` +
    `= ${count(batch.cells, "cell")}, ${batch.padding || "none"} of them padding`,
  widest: sentences[batch.rows.find((row) => lengths[row] === batch.width)],
});

/** A batch as the tensor that it becomes: its sentences, with <pad> written out. */
export const written = ({ rows, width }) =>
  rows.map(({ text, tokens }) => [...text.split(" "), ...Array(width - tokens).fill(null)]);

/** An order's cost as a bar, its tokens and its padding; its waste, "32 → 5 %" if it was another. */
function cardOf(name, own, most, before = own) {
  const shares = [before, own].map((one) => percent(one, "<\u00a01"));
  const bar = [own.cells - own.padding, own.padding].map((part) => `${(100 * part) / most}%`);
  return { name, bar, told: `${[...new Set(shares)].join(" → ")}\u00a0% padding` };
}

/**
 * All that is drawn.
 * @param {State} state @param {any}[before]  what was derived before: what is another now stays told until the next change
 */
export function derive({ sentences, order, limit, size, epoch, draws }, before = null) {
  const state = { sentences, order, limit, size, epoch, draws };
  const change = lastChange(state, before, (moved) => moved === "size");
  if (change.moved === "") return before;
  const from = change.moved?.includes("sentences") ? null : change.from;
  const lengths = sentences.map((text) => text.split(" ").length);
  const plans = ORDERS.map((one) => plan(state, one, lengths));
  const most = Math.max(...plans.map(({ cells }) => cells));
  const { batches, cells, padding } = plans[ORDERS.indexOf(order)];
  const longest = Math.max(...lengths);
  const words = [
    { number: batches.length, text: count(batches.length, "batch"), measure: "batches" },
    ", ",
    { number: cells, text: count(cells, "cell"), measure: "cells" },
    `, ${padding || "none"} of them padding. ${balance(state, batches)} ${NOTES[order]}`,
  ];
  return {
    ...{ ...change, from, plans, cells, padding, words, longest },
    before: from && from.cells !== cells ? `· ${whole(from.cells)} → ${count(cells, "cell")}` : "",
    isShuffled: isShuffled(order),
    bounds: { sentences: { min: 1, max: 16 }, tokens: { min: longest, max: 8 * longest } }, // of a batch's size
    cards: ORDERS.map((name, i) => cardOf(name, plans[i], most, from?.plans[i])),
    batches: batches.map((batch, index) => drawn(batch, index, sentences, lengths)),
    packed: batches.map(({ rows }) => rows.join()).join(" "),
    isSmall: batches.length > MANY,
    cell: cellSize(plans),
    when: `A row is a sentence. Epoch ${epoch + 1} of ${draws.length}`,
    says: [
      padding
        ? `${percent({ padding, cells }, "less than 1")}\u00a0% of the work is padding, computed and thrown away`
        : "No padding: every row of a batch has the same length",
    ],
    told: `${order}, ${count(size, limit.slice(0, -1))} a batch, epoch ${epoch + 1}. ${plain(words)}`,
  };
}
