/**
 * Numbers in rows: a sentence is a matrix with a row for each token, as in PyTorch; they lie in one array, row after
 * row.
 * @typedef {{rows: number, columns: number, data: Float32Array}} Matrix
 */

/** @param {number} rows @param {number} columns @param {Float32Array}[data] zeros if left out @returns {Matrix} */
export const matrix = (rows, columns, data = new Float32Array(rows * columns)) => ({ rows, columns, data });

/** Row i, not a copy. @param {Matrix} x @param {number} i */
export const rowOf = (x, i) => x.data.subarray(i * x.columns, (i + 1) * x.columns);

/** All rows as lists. @param {Matrix} x @returns {number[][]} */
export const rowsOf = (x) => Array.from({ length: x.rows }, (_, i) => [...rowOf(x, i)]);

/** A matrix of the rows of two. @param {Matrix | null} above @param {Matrix} below @returns {Matrix} */
export function stacked(above, below) {
  if (!above) return below;
  const data = new Float32Array(above.data.length + below.data.length);
  data.set(above.data);
  data.set(below.data, above.data.length);
  return matrix(above.rows + below.rows, below.columns, data);
}

/** The first rows, not a copy. @param {Matrix} x @param {number} count @returns {Matrix} */
export const firstRows = (x, count) => matrix(count, x.columns, x.data.subarray(0, count * x.columns));

/** Columns first .. first + count − 1, as a copy. @param {Matrix} x @returns {Matrix} */
export function columnsOf(x, first, count) {
  const part = matrix(x.rows, count);
  for (let i = 0; i < x.rows; i += 1) rowOf(part, i).set(rowOf(x, i).subarray(first, first + count));
  return part;
}

/** @param {Matrix} a @param {Matrix} b @returns {Matrix} */
export const sum = (a, b) =>
  matrix(
    a.rows,
    a.columns,
    a.data.map((value, i) => value + b.data[i]),
  );

/** @param {Matrix} x @param {number} factor @returns {Matrix} */
export const times = (x, factor) =>
  matrix(
    x.rows,
    x.columns,
    x.data.map((value) => value * factor),
  );

/**
 * A Bᵀ: every row of A times every row of B, (m, k) and (n, k) give (m, n).
 * @param {Matrix} a @param {Matrix} b @returns {Matrix}
 */
export function timesTransposed(a, b) {
  const product = matrix(a.rows, b.rows);
  const x = new Float64Array(a.data); // the processor multiplies doubles: made such once, and not at each use
  const fives = a.rows - (a.rows % 5);
  for (let j = 0; j < b.rows; j += 2) {
    // outside, because B may be large: each of its rows is fetched once
    const next = Math.min(j + 1, b.rows - 1); // where their number is odd, the last one twice
    for (let i = 0; i < fives; i += 5) fiveRows(x, i, b, j, next, product);
    for (let i = fives; i < a.rows; i += 1) oneRow(x, i, b, j, next, product);
  }
  return product;
}

// Inside the two loops that take most of the time nothing is unpacked from a list: it would be made at each turn.

/** Row i of A times two rows of B, each in four sums: the processor works on all of them at the same time. */
function oneRow(x, i, { data: y, columns: length }, j, next, { data: product, columns: width }) {
  const [at, to, other] = [i * length, j * length, next * length];
  let [p, q, r, s] = [0, 0, 0, 0]; // with row j
  let [p2, q2, r2, s2] = [0, 0, 0, 0]; // with the next
  const inFours = length - (length % 4);
  for (let k = 0; k < inFours; k += 4) {
    const a = x[at + k];
    const b = x[at + k + 1];
    const c = x[at + k + 2];
    const d = x[at + k + 3];
    p += a * y[to + k];
    q += b * y[to + k + 1];
    r += c * y[to + k + 2];
    s += d * y[to + k + 3];
    p2 += a * y[other + k];
    q2 += b * y[other + k + 1];
    r2 += c * y[other + k + 2];
    s2 += d * y[other + k + 3];
  }
  for (let k = inFours; k < length; k += 1) {
    p += x[at + k] * y[to + k];
    p2 += x[at + k] * y[other + k];
  }
  product[i * width + j] = p + q + r + s;
  product[i * width + next] = p2 + q2 + r2 + s2;
}

/** Rows i to i + 4 of A times the same two: a number that is fetched is used for all that need it. */
function fiveRows(x, i, { data: y, columns: length }, j, next, { data: product, columns: width }) {
  const [at, to, other] = [i * length, j * length, next * length];
  const [second, third, fourth, fifth] = [at + length, at + 2 * length, at + 3 * length, at + 4 * length];
  let [p, q, r, s, t] = [0, 0, 0, 0, 0]; // with row j
  let [p2, q2, r2, s2, t2] = [0, 0, 0, 0, 0]; // with the next
  for (let k = 0; k < length; k += 1) {
    const here = y[to + k];
    const there = y[other + k];
    const a = x[at + k];
    const b = x[second + k];
    const c = x[third + k];
    const d = x[fourth + k];
    const e = x[fifth + k];
    p += a * here;
    q += b * here;
    r += c * here;
    s += d * here;
    t += e * here;
    p2 += a * there;
    q2 += b * there;
    r2 += c * there;
    s2 += d * there;
    t2 += e * there;
  }
  [p, q, r, s, t].forEach((sum, row) => (product[(i + row) * width + j] = sum));
  [p2, q2, r2, s2, t2].forEach((sum, row) => (product[(i + row) * width + next] = sum));
}

/** A B: (m, k) and (k, n) give (m, n). @param {Matrix} a @param {Matrix} b @returns {Matrix} */
export function product(a, b) {
  const c = matrix(a.rows, b.columns);
  for (let i = 0; i < a.rows; i += 1) {
    const row = rowOf(c, i);
    for (let j = 0; j < a.columns; j += 1) {
      const [factor, other] = [a.data[i * a.columns + j], rowOf(b, j)];
      for (let k = 0; k < other.length; k += 1) row[k] += factor * other[k];
    }
  }
  return c;
}

/** x Wᵀ + b, as torch.nn.Linear: W has a row for each output. @param {Matrix} x @returns {Matrix} */
export function linear(x, { weight, bias }) {
  const y = timesTransposed(x, weight);
  if (bias) for (let i = 0; i < y.rows; i += 1) rowOf(y, i).forEach((_, j, row) => (row[j] += bias.data[j]));
  return y;
}
