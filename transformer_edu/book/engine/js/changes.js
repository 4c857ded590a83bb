import { matrix, rowOf } from "./matrix.js";

/**
 * What the model is to compute differently, while it runs. Parts are named as in Python's recordings: "encoder.0" is a
 * layer, "encoder.0.self", "decoder.1.cross", "decoder.1.feed_forward" are sub-layers, "decoder.1.cross.3" is a head.
 *
 * @typedef {object} Changes
 * @property {Record<string, "off" | "uniform">}[heads]   a head that adds nothing, or looks at all alike
 * @property {"off" | number[]}[source_positions]  no positional encoding, or these places in place of 0, 1, 2 …
 * @property {"off"}[target_positions]
 * @property {boolean}[unscaled]   scores are not divided by √d_head
 * @property {boolean}[unmasked]   the decoder sees later words too (in a teacher-forced pass, where they are there)
 * @property {string[]}[skipped]   layers that are left out
 * @property {string[]}[silent]    sub-layers that add nothing
 * @property {string[]}[unadded]   sub-layers whose input is not added to what they write
 * @property {string[]}[unnormed]  sub-layers without their norm
 * @property {[string, number, number][]}[blocked]  attention (of all layers: "encoder.self", "decoder.self",
 *   "decoder.cross"; or of one), query, key: this one may not look at that one
 */

const HEADS = {
  off: (weights) => matrix(weights.rows, weights.columns),
  uniform(weights, mayLook) {
    for (let i = 0; i < weights.rows; i += 1) {
      const may = Array.from(rowOf(weights, i), (_, j) => mayLook(i, j));
      const count = may.filter(Boolean).length;
      rowOf(weights, i).set(may.map((yes) => (yes ? 1 / count : 0)));
    }
    return weights;
  },
};

/** What becomes of one head's weights. */
export function headChange({ name, changes }, head, mayLook) {
  const kind = changes.heads?.[`${name}.${head}`];
  return kind && ((weights) => HEADS[kind](weights, mayLook));
}

/** Whether a road is blocked: query i to key j; without them, whether any is in this attention. */
export function isBlocked({ name, changes }, i = null, j = null) {
  const all = name.replace(/\.\d+\./, ".");
  return (changes.blocked ?? []).some(
    ([road, query, key]) => (road === name || road === all) && (i === null || (query === i && key === j)),
  );
}

/** Whether the sub-layer at this place is in one of the lists. */
export const among = (list, { name, changes }) => Boolean(changes[list]?.includes(name));
