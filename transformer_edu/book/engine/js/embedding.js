import { matrix, rowOf, times, timesTransposed } from "./matrix.js";

/** A row of the table for each token, times √d_model. */
export function embed(ids, { weight }) {
  const x = matrix(ids.length, weight.columns);
  ids.forEach((id, i) => rowOf(x, i).set(rowOf(weight, id)));
  return times(x, Math.sqrt(weight.columns));
}

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
