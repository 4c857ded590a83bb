import { matrix, rowOf, times, timesTransposed } from "./matrix.js";

/** @import { Matrix } from "./matrix.js" */

/** A row of a table for each of some ids, or places. @param {number[]} ids @param {Matrix} table @returns {Matrix} */
export function lookUp(ids, table) {
  const x = matrix(ids.length, table.columns);
  ids.forEach((id, i) => rowOf(x, i).set(rowOf(table, id)));
  return x;
}

/** A row of the table for each token, times √d_model. */
export const embed = (ids, { weight }) => times(lookUp(ids, weight), Math.sqrt(weight.columns));

/** PE[pos, 2i] = sin(pos · θᵢ), PE[pos, 2i + 1] = cos(pos · θᵢ), θᵢ = 10000^(−2i / d_model), for some positions. */
export function positionalEncoding(positions, dModel) {
  const table = matrix(positions.length, dModel);
  positions.forEach((position, row) => {
    for (let i = 0; i < dModel; i += 2) {
      const angle = position * 10000 ** (-i / dModel);
      rowOf(table, row).set([Math.sin(angle), Math.cos(angle)], i);
    }
  });
  return table;
}

/** One score for each word of the vocabulary: x Wᵀ. */
export const project = (x, { weight }) => timesTransposed(x, weight);
