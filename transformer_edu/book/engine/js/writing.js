import { rowOf } from "./matrix.js";
import { probabilities } from "./search.js";
import { cutCache, startCache, write } from "./transformer.js";

/** @import { Changes } from "./changes.js" */
/** @import { Matrix } from "./matrix.js" */
/** @import { Model } from "./transformer.js" */

/**
 * Where the part of a text begins that a model sees. One that would be longer than `most` tokens loses its older half,
 * again and again as it grows: where its part begins hangs on its length alone.
 * @param {number} length @param {number} most
 */
export function windowStart(length, most) {
  const half = Math.ceil(most / 2);
  return length <= most ? 0 : half * Math.ceil((length - most) / half);
}

/**
 * A text that a GPT goes on from. Keys and values of what it has read are kept.
 *
 * const text = startText(model);   text.prefill([BOS, ...ids]);   text.step(id);   text.cut(5);   text.step(other);
 * @param {Model} model @param {{changes?: Changes}}[options]
 */
export function startText(model, { changes = {} } = {}) {
  const most = model.config.max_len;
  let ids = []; // from the begin token on
  let cache = startCache(model); // of those that the model sees

  /** Read all ids behind those that are kept; logits, a row for each that was read. */
  function read(next, record = null) {
    const start = windowStart(next.length, most);
    if (start !== windowStart(ids.length, most)) cache = startCache(model);
    ids = next;
    return write(model, ids.slice(start + cache.length), { changes, record, cache });
  }
  const last = (logits) => rowOf(logits, logits.rows - 1);

  const own = {
    /** How many tokens the text has. */
    get length() {
      return ids.length;
    },
    /** Begin anew, with a text in one pass. @param {number[]} text @returns {Float32Array} logits of the next token */
    prefill: (text) => last(own.prefillAll(text)),
    /** The same: logits after each token that it sees. `record` gets weights and activations. @returns {Matrix} */
    prefillAll(text, record = null) {
      own.cut(0);
      return read(text, record);
    },
    /** One token more. @param {number} id @returns {Float32Array} logits of the next one */
    step: (id) => last(read([...ids, id])),
    /** Back to the first tokens. */
    cut(/** @type {number} */ length) {
      const start = windowStart(length, most);
      if (start === windowStart(ids.length, most)) cutCache(cache, length - start);
      else cache = startCache(model);
      ids = ids.slice(0, length);
    },
    /** Another text: what it shares with the present one is not read again. @returns {Float32Array} logits */
    goTo(/** @type {number[]} */ text) {
      const shared = text.findIndex((id, i) => id !== ids[i]);
      own.cut(shared < 0 ? text.length - 1 : shared);
      return last(read(text));
    },
  };
  return own;
}

/**
 * How many of the most probable tokens are left in: of the k most probable, the fewest that reach p of their sum, and
 * of these those with at least `minP` times the largest probability. Python's `sampling_probabilities` keeps the same.
 * @param {ArrayLike<number>} chances  the largest first; all, or as many of the first as decide
 * @param {{topK?: number | null, topP?: number, minP?: number}} filters  null, 1 and 0 leave all in
 */
export function countLeftIn(chances, { topK = null, topP = 1, minP = 0 }) {
  let most = Math.min(topK ?? Infinity, chances.length);
  while (topK && most < chances.length && chances[most] === chances[most - 1]) most += 1; // as probable as the k-th
  let total = 0;
  for (let i = 0; i < most; i += 1) total += chances[i];
  if (!topK) total = 1;
  let count = 0;
  for (let before = 0; count < most; count += 1) {
    if (topP < 1 && before >= topP * total) break;
    if (chances[count] < minP * chances[0]) break;
    before += chances[count];
  }
  return count;
}

/** The ids of all tokens that can come, the most probable first. @param {Float32Array} logits */
export const byProbability = (logits) =>
  Array.from(logits.keys())
    .filter((id) => logits[id] > -Infinity)
    .sort((a, b) => logits[b] - logits[a]);

/**
 * The probabilities to draw from: softmax(logits / temperature), the unlikely tokens left out, summing to one.
 * @param {Float32Array} logits @param {{temperature?: number, topK?: number | null, topP?: number, minP?: number}}
 *   options  as for `countLeftIn`
 * @returns {Float32Array}
 */
export function samplingProbabilities(logits, { temperature = 1, ...filters }) {
  const order = byProbability(logits);
  const chances = probabilities(logits, temperature);
  const left = order.slice(
    0,
    countLeftIn(
      order.map((id) => chances[id]),
      filters,
    ),
  );
  const total = left.reduce((sum, id) => sum + chances[id], 0);
  const drawnFrom = new Float32Array(logits.length);
  left.forEach((id) => (drawnFrom[id] = chances[id] / total));
  return drawnFrom;
}

/** A number from 0 to 1 for a place in a text, the same for the same seed: MurmurHash3's last mixing of both. */
export function luckAt(/** @type {number} */ seed, /** @type {number} */ place) {
  let x = Math.imul(seed, 0x9e3779b1) ^ Math.imul(place + 1, 0x85ebca77);
  x = Math.imul(x ^ (x >>> 16), 0x85ebca6b);
  x = Math.imul(x ^ (x >>> 13), 0xc2b2ae35);
  return ((x ^ (x >>> 16)) >>> 0) / 2 ** 32;
}
