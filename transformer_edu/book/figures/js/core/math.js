/** @typedef {number[]} Vector */
/** @typedef {number[][]} Matrix  rows of equal length */

/** @param {Matrix} a @returns {Matrix} */
export function transpose(a) {
  return a[0].map((_, column) => a.map((row) => row[column]));
}

/** @param {Vector} a @param {Vector} b */
export function dot(a, b) {
  return a.reduce((sum, value, i) => sum + value * b[i], 0);
}

/** @param {Vector} a */
export function sumOf(a) {
  return a.reduce((sum, value) => sum + value, 0);
}

/** @param {Vector} a */
export function meanOf(a) {
  return sumOf(a) / a.length;
}

/** (m, k) times (k, n) gives (m, n). @param {Matrix} a @param {Matrix} b @returns {Matrix} */
export function matmul(a, b) {
  const columns = transpose(b);
  return a.map((row) => columns.map((column) => dot(row, column)));
}

/**
 * @template S, T
 * @param {S[][]} a @param {(value: S, row: number, column: number) => T} f
 */
export function mapMatrix(a, f) {
  return a.map((row, i) => row.map((value, j) => f(value, i, j)));
}

/**
 * exp(x − max) / Σ exp(x − max). −Infinity gets weight 0; a row of nothing but −Infinity gets zeros, never NaN.
 * @param {Vector} row @returns {Vector}
 */
export function softmax(row) {
  const largest = Math.max(...row);
  if (largest === -Infinity) return row.map(() => 0);
  const powers = row.map((value) => Math.exp(value - largest));
  const total = sumOf(powers);
  return powers.map((value) => value / total);
}

/** @param {number} value @param {number} low @param {number} high */
export function clamp(value, low, high) {
  return Math.min(high, Math.max(low, value));
}
