import { multiHeadAttention } from "./attention.js";
import { among } from "./changes.js";
import { linear, matrix, rowOf, sum } from "./matrix.js";

const EPSILON = 1e-5;

/** γ · (x − mean) / √(variance + ε) + β, in each row. */
export function layerNorm(x, { weight, bias }, epsilon = EPSILON) {
  const y = matrix(x.rows, x.columns);
  for (let i = 0; i < x.rows; i += 1) {
    const [from, to] = [rowOf(x, i), rowOf(y, i)];
    let [mean, variance] = [0, 0];
    for (const value of from) mean += value / x.columns;
    for (const value of from) variance += (value - mean) ** 2 / x.columns;
    const root = Math.sqrt(variance + epsilon);
    for (let j = 0; j < to.length; j += 1) to[j] = (weight.data[j] * (from[j] - mean)) / root + bias.data[j];
  }
  return y;
}

const ROOT = Math.sqrt(2 / Math.PI);
const ACTIVATIONS = {
  // as in Python's configurations
  relu: (x) => Math.max(0, x),
  gelu_tanh: (x) => 0.5 * x * (1 + Math.tanh(ROOT * (x + 0.044715 * x * x * x))), // GPT-2's
};

/** max(0, x W₁ + b₁) W₂ + b₂ (paper, equation 2), or with another activation between the two. */
export function feedForward(x, part, activation = "relu") {
  const inner = linear(x, part.expand);
  return linear(matrix(inner.rows, inner.columns, inner.data.map(ACTIVATIONS[activation])), part.contract);
}

/** LayerNorm(x + Sublayer(x)) as in the paper, or with norm: "pre" x + Sublayer(LayerNorm(x)). */
export function residual(part, x, at, sublayer) {
  const norm = among("unnormed", at) ? (y) => y : (y) => layerNorm(y, part.norm, at.config.eps);
  const pre = at.config.norm === "pre";
  const silent = among("silent", at);
  const written = silent ? matrix(x.rows, x.columns) : sublayer(pre ? norm(x) : x);
  const added = among("unadded", at) ? written : sum(x, written);
  const y = pre ? added : norm(added);
  if (!silent) keep(at, "", written);
  keep(at, "after_", y);
  return y;
}

/** Put down what was computed here: "encoder.0.self", and "encoder.0.after_self" for the same after add & norm. */
function keep({ name, record }, prefix, x) {
  if (record) record.activations[name.replace(/[^.]+$/, (last) => prefix + last)] = x;
}

const inside = (at, name) => ({ ...at, name: `${at.name}.${name}` });
const everywhere = () => true;

/**
 * Self-attention and feed-forward, each inside a residual connection. In a model that only writes, `at.mayLook` is the
 * causal mask, and the cache holds keys and values of earlier tokens.
 */
export function encoderLayer(part, x, at, cache = { self: {} }) {
  const [own, forward] = [inside(at, "self"), inside(at, "feed_forward")];
  x = residual(part.self_attention_residual, x, own, (h) =>
    multiHeadAttention(part.self_attention, h, h, at.mayLook ?? everywhere, own, cache.self),
  );
  return residual(part.feed_forward_residual, x, forward, (h) =>
    feedForward(h, part.feed_forward, at.config.activation),
  );
}

/** The mask of a decoder's own words: no token sees a later one. */
export const causal = ({ changes, offset }) => (changes.unmasked ? everywhere : (i, j) => j <= i + offset);

/** Masked self-attention, attention to what the encoder read, feed-forward. */
export function decoderLayer(part, x, memory, at, cache) {
  const [own, cross, forward] = ["self", "cross", "feed_forward"].map((name) => inside(at, name));
  x = residual(part.self_attention_residual, x, own, (h) =>
    multiHeadAttention(part.self_attention, h, h, at.mayLook ?? causal(at), own, cache.self),
  );
  x = residual(part.cross_residual, x, cross, (h) =>
    multiHeadAttention(part.cross_attention, h, memory, everywhere, cross, cache.cross),
  );
  if (cache.cross.key) cache.cross.whole = true; // the sentence that is read does not grow
  return residual(part.feed_forward_residual, x, forward, (h) => feedForward(h, part.feed_forward));
}
