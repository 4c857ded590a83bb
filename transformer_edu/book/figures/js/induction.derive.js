// The copier, and what the figure shows of it: what each head looks at, what comes next, what is said. Nothing draws.
import * as engine from "../../engine/js/engine.js";
import { format } from "./core/format.js";

export const LETTERS = "abcdefghijklmnopqrstuvwxyz";
export const MOST = 24;
export const SEEN = 0.03; // an arc below is not drawn
export const [SURE, LOST] = [0.5, 0.1]; // of a copied letter: it is copied; it is not
const [FEWEST, BEST] = [2, 5];
const CHANCE = 1 / LETTERS.length;
const NEW = 0.005; // a change below is not told
const STANDS_OUT = 0.25; // of another letter

export const lettersOf = (text) => [...text.replace(/\s+/g, "")];
const largest = (row) => row.indexOf(Math.max(...row));

/** The weights, as a tree of parts: model.decoder.layers[0].self_attention … @param {string} base64 @returns {any} */
export function readCopier(base64) {
  const { tensors } = engine.readSafetensors(Uint8Array.from(atob(base64), (one) => one.charCodeAt(0)));
  const model = {};
  for (const [name, tensor] of Object.entries(tensors)) {
    const path = name.split(".");
    const last = path.pop();
    path.reduce((tree, key) => (tree[key] ??= {}), model)[last] = tensor;
  }
  return model;
}

/** Each row turned by its position: entries 2i and 2i + 1 by the angle p · 10000^(−2i / d). */
function rotated(x) {
  const y = engine.matrix(x.rows, x.columns);
  for (let p = 0; p < x.rows; p += 1) {
    const [from, to] = [engine.rowOf(x, p), engine.rowOf(y, p)];
    for (let i = 0; i < x.columns; i += 2) {
      const angle = p * 10000 ** (-i / x.columns);
      const [sin, cos] = [Math.sin(angle), Math.cos(angle)];
      to[i] = from[i] * cos - from[i + 1] * sin;
      to[i + 1] = from[i] * sin + from[i + 1] * cos;
    }
  }
  return y;
}

/** Two layers of one head each, pre-norm: probabilities of the next letter and weights, a row for each letter. */
export function run(model, letters, without) {
  let x = engine.matrix(letters.length, model.embedding.weight.columns);
  letters.forEach((letter, i) => engine.rowOf(x, i).set(engine.rowOf(model.embedding.weight, LETTERS.indexOf(letter))));
  const maps = Object.values(model.decoder.layers).map((layer, index) => {
    const part = layer.self_attention;
    const normed = engine.layerNorm(x, layer.self_attention_residual.norm);
    const [q, k] = ["query", "key"].map((name) => rotated(engine.linear(normed, part[`${name}_projection`])));
    const v = engine.linear(normed, part.value_projection);
    const { output, weights } = engine.scaledDotProductAttention(q, k, v, (i, j) => j <= i, 1 / Math.sqrt(q.columns));
    const head = without.includes(index) ? engine.matrix(output.rows, output.columns) : output;
    x = engine.sum(x, engine.linear(head, part.output_projection));
    return engine.rowsOf(weights);
  });
  const logits = engine.project(engine.layerNorm(x, model.decoder.final_norm), model.projection.linear);
  return { maps, p: engine.rowsOf(engine.softmaxRows(logits)) };
}

/** What is wrong with what was typed; null if nothing is. */
export function refusal(letters) {
  const strange = letters.find((letter) => !LETTERS.includes(letter));
  if (strange) return [{ exact: strange }, " is none of the letters a to z that it knows. The picture stays."];
  if (letters.length >= FEWEST && letters.length <= MOST) return null;
  return [`${FEWEST} to ${MOST} letters, please: there are ${letters.length}. The picture stays.`];
}

/**
 * What the chosen letter sees and the model expects after it.
 * @param {any} state  `text`, `token`, `without`
 * @param {{model: any, before: any}} own  the copier, and what was derived before: its letters stay where `text` cannot
 *   be read, and what was more or less probable there is told
 */
export function derive({ text, token, without }, { model, before }) {
  const typed = lettersOf(text);
  const wrong = refusal(typed);
  const letters = wrong ? (before?.letters ?? [...LETTERS].slice(0, MOST)) : typed;
  const { maps, p } = run(model, letters, without);
  const at = Math.min(token, letters.length - 1);
  const last = letters.lastIndexOf(letters[at], at - 1);
  const copy = at > 0 && last >= 0 ? last + 1 : null; // the place of what followed it last time
  const [second, seen] = [maps[1][at], largest(maps[1][at])];
  const copied = copy === null ? null : letters[copy];
  const seenNow = {
    wrong,
    letters,
    without,
    at,
    copy,
    seen,
    second,
    first: maps[0][seen],
    p: p[at],
    chosen: letters[at],
    copied,
    pCopied: copied && p[at][LETTERS.indexOf(copied)],
  };
  return { ...seenNow, bars: barsOf(seenNow, before?.p), says: finding(seenNow), words: wrong ?? story(seenNow) };
}

/** The copied letter and the likeliest others; `was`: how probable each was before, where it was another number. */
function barsOf({ p, copied }, before) {
  const worth = (index) => (LETTERS[index] === copied ? 1 : 0) + p[index]; // the copy first, where it stays
  const best = [...p.keys()].sort((a, b) => worth(b) - worth(a)).slice(0, BEST);
  return best.map((index) => ({
    letter: LETTERS[index],
    p: p[index],
    isCopy: LETTERS[index] === copied,
    was: before && Math.abs(before[index] - p[index]) >= NEW ? before[index] : null,
  }));
}

/** The finding, for this letter and these heads. */
function finding({ chosen, copied, pCopied, p, without }) {
  const letter = { exact: chosen };
  if (copied === null) return [letter, " is new here: there is nothing to copy"];
  const away = `Without the head of layer\u00a0${without.map((layer) => layer + 1).join(" and ")}, `;
  const best = largest(p);
  if (without.length && LETTERS[best] !== copied) {
    return p[best] < STANDS_OUT
      ? [away, "no letter stands out"]
      : [away, "it expects ", { exact: LETTERS[best] }, " in place of ", { exact: copied }];
  }
  if (without.length) return [away, "it still expects ", { exact: copied }];
  if (pCopied < SURE) return [letter, " was there before, but it is not sure of the copy"];
  return ["It looks at what followed ", letter, " last time, and expects it again"];
}

/** Where both heads look, and what the copy gets. */
function story({ at, chosen, copied, pCopied, seen, second, first, letters, without }) {
  const [back, letter] = [largest(first), { exact: chosen }];
  const vain = (layer) => (without.includes(layer) ? ", to no effect" : "");
  const looks = [
    "From ",
    letter,
    ` (letter ${at + 1}) layer 2 looks most at `,
    { exact: letters[seen] },
    ` (letter ${seen + 1}), ${format(second[seen])}${vain(1)}. From there layer 1 looked most at `,
    { exact: letters[back] },
    ` (letter ${back + 1}), ${format(first[back])}${vain(0)}. `,
  ];
  const chance = `with 26 letters alike, each has ${format(CHANCE)}.`;
  if (copied === null) return [...looks, letter, ` was not there before; ${chance}`];
  const number = { number: pCopied, text: format(pCopied) };
  return [...looks, { exact: copied }, " followed ", letter, " last time: it gets ", number, `; ${chance}`];
}
