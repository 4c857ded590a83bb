import { headChange, isBlocked } from "./changes.js";
import { columnsOf, linear, matrix, product, rowOf, stacked, times, timesTransposed } from "./matrix.js";

/** @import { Matrix } from "./matrix.js" */
/** @import { At } from "./transformer.js" */

/** exp(x − max) / Σ exp(x − max) in each row. A row of nothing but −∞ gets zeros. @param {Matrix} scores */
export function softmaxRows(scores) {
  const weights = matrix(scores.rows, scores.columns);
  for (let i = 0; i < scores.rows; i += 1) {
    const [from, to] = [rowOf(scores, i), rowOf(weights, i)];
    const largest = from.reduce((most, value) => Math.max(most, value), -Infinity);
    if (largest === -Infinity) continue;
    let total = 0;
    for (let j = 0; j < from.length; j += 1) total += to[j] = Math.exp(from[j] - largest);
    for (let j = 0; j < to.length; j += 1) to[j] /= total;
  }
  return weights;
}

/**
 * softmax(QKᵀ / √d_head) V of one head (paper, equation 1).
 * @param {Matrix} query @param {Matrix} key @param {Matrix} value
 * @param {(query: number, key: number) => boolean} mayLook the mask @param {number} scale
 * @param {(weights: Matrix) => Matrix}[change]  what an intervention makes of the weights
 */
export function scaledDotProductAttention(query, key, value, mayLook, scale, change = (weights) => weights) {
  const scores = times(timesTransposed(query, key), scale); // (q_len, k_len)
  for (let i = 0; i < scores.rows; i += 1) {
    for (let j = 0; j < scores.columns; j += 1) if (!mayLook(i, j)) scores.data[i * scores.columns + j] = -Infinity;
  }
  const weights = change(softmaxRows(scores));
  return { output: product(weights, value), weights };
}

/**
 * Several heads side by side: Concat(head_1 .. head_h) W_O (paper, section 3.2.2).
 * @param {any} part @param {Matrix} from the tokens that ask @param {Matrix} to the tokens that are looked at
 * @param {(query: number, key: number) => boolean} mayLook
 * @param {At} at
 * @param {{key?: Matrix, value?: Matrix, whole?: boolean}}[cache] keys and values of earlier tokens; `whole`: no more
 *   will come
 */
export function multiHeadAttention(part, from, to, mayLook, at, cache = {}) {
  const q = linear(from, part.query_projection);
  if (!cache.whole) {
    cache.key = stacked(cache.key, linear(to, part.key_projection));
    cache.value = stacked(cache.value, linear(to, part.value_projection));
  }
  const { key: k, value: v } = cache;
  const dHead = q.columns / at.config.num_heads;
  const scale = at.changes.unscaled ? 1 : 1 / Math.sqrt(dHead);
  const allowed = isBlocked(at) ? (i, j) => mayLook(i, j) && !isBlocked(at, i + at.offset, j) : mayLook;
  const merged = matrix(q.rows, q.columns);
  const maps = [];
  for (let head = 0; head < at.config.num_heads; head += 1) {
    const [query, key, value] = [q, k, v].map((x) => columnsOf(x, head * dHead, dHead));
    const change = headChange(at, head, allowed);
    const { output, weights } = scaledDotProductAttention(query, key, value, allowed, scale, change);
    for (let i = 0; i < output.rows; i += 1) rowOf(merged, i).set(rowOf(output, i), head * dHead);
    maps.push(weights);
  }
  if (at.record) at.record.maps[at.name] = maps;
  return linear(merged, part.output_projection);
}
