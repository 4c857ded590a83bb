// The search of transformer_edu.decoding.beam over the beginnings of a translation, recorded or computed.
import * as engine from "../../../engine/js/engine.js";

export const [BOS, EOS] = [0, 1]; // places in tree.tokens
const TOP = 7; // likeliest next tokens of a beginning: more than the widest beam
export const LONGEST = 18; // tokens of a translation, the begin token counted

/** Wu et al. 2016, equation 14: what a log-probability is divided by. Length: tokens after the begin token. */
export const penalty = (length, alpha) => ((5 + length) / 6) ** alpha;
export const scoreOf = ({ path, logProb }, alpha) => logProb / penalty(path.length, alpha);

/**
 * What a search asks: of a beginning, the likeliest next tokens with log-probabilities, and what all others share.
 * @typedef {{tokens: string[], max_len: number, beam_sizes: number[], alphas: number[], space: string, source: string,
 *   read: (paths: number[][]) => void,
 *   look: (path: number[]) => [number, number][], rest: (path: number[]) => number}} Tree
 */

/** Beginnings that Python has looked at. @returns {Tree} */
export function recordedTree(data) {
  const paths = [];
  data.parent.forEach((parent, i) => paths.push(parent < 0 ? [] : [...paths[parent], data.token[i]]));
  const places = new Map(paths.map((path, i) => [path.join(" "), i]));
  const placeOf = (path) => places.get(path.join(" "));
  const look = (path) => data.next[placeOf(path)].map((token, i) => [token, data.log_probs[placeOf(path)][i]]);
  return { ...data, look, read() {}, rest: (path) => data.rest[placeOf(path)] };
}

/** All beginnings of a translation: each is computed when it is asked for. @returns {Tree} */
export function modelTree(model, words, { beam_sizes, alphas }) {
  const memory = engine.encode(model, model.source.encode(words.join(" ")));
  const ids = [
    engine.BOS,
    engine.EOS,
    ...Array.from({ length: model.target.size }, (_, id) => id).filter(
      (id) => ![engine.PAD, engine.BOS, engine.EOS].includes(id),
    ),
  ];
  const places = new Map(ids.map((id, place) => [id, place]));
  const [known, cache] = [new Map(), engine.startCache(model)];

  /** Read the newest tokens of these beginnings, all at once: one cache like a tree, in which each sees its own way. */
  function read(paths) {
    const fresh = paths.filter((path) => !known.has(path.join(" ")));
    if (!fresh.length) return;
    const rows = fresh.map((path, i) => [
      ...(path.length ? known.get(path.slice(0, -1).join(" ")).rows : []),
      cache.length + i,
    ]);
    const logits = engine.decode(
      model,
      fresh.map((path) => (path.length ? ids[path.at(-1)] : engine.BOS)),
      memory,
      { cache, positions: fresh.map((path) => path.length), mayLook: (i, j) => rows[i].includes(j) },
    );
    fresh.forEach((path, i) => {
      const chances = engine.probabilities(engine.possible(engine.rowOf(logits, i)));
      const next = engine.highest(chances, TOP).map((id) => [places.get(id), Math.min(0, Math.log(chances[id]))]);
      const rest = Math.max(0, 1 - next.reduce((sum, [, logP]) => sum + Math.exp(logP), 0));
      known.set(path.join(" "), { rows: rows[i], next, rest });
    });
  }
  return {
    tokens: ids.map((id) => model.target.token(id)),
    max_len: Math.min(LONGEST, model.config.max_len),
    beam_sizes,
    alphas,
    space: "",
    source: words.join(" "),
    read,
    look: (path) => known.get(path.join(" ")).next,
    rest: (path) => known.get(path.join(" ")).rest,
  };
}

/** Every next token of a beginning, with the log-probability of the longer one. */
function continued(tree, from) {
  return tree
    .look(from.path)
    .map(([token, own]) => ({ from, token, own, logProb: from.logProb + own, path: [...from.path, token] }));
}

/** At the limit, or when nothing in the beam could become better than the `beam` sentences that are finished. */
function isDone(/** @type {any[]} */ [first], best, longest, beam, alpha) {
  const hope = first.logProb / penalty(longest - 1, alpha);
  return first.path.length + 1 >= longest || (best.length === beam && scoreOf(best.at(-1), alpha) >= hope);
}

/**
 * The search of transformer_edu.decoding.beam, step by step. The best `beam` candidates that do not end are the next
 * beam; one that ends is finished when it is among the best `beam` of all. Of each step: candidates, best first, with
 * their fates.
 */
export function searched(tree, beam, alpha) {
  const root = { from: null, token: BOS, own: 0, logProb: 0, path: [], fate: "kept" };
  const ranked = (found) => found.sort((a, b) => scoreOf(b, alpha) - scoreOf(a, alpha)).slice(0, beam);
  let [steps, alive, best] = [[], [root], []];
  while (alive.length && !isDone(alive, best, tree.max_len, beam, alpha)) {
    tree.read(alive.map(({ path }) => path));
    const candidates = alive.flatMap((from) => continued(tree, from)).sort((a, b) => b.logProb - a.logProb);
    const going = candidates.filter(({ token }) => token !== EOS).slice(0, beam);
    const ends = candidates.slice(0, beam).filter(({ token }) => token === EOS);
    candidates.forEach(
      (one) => (one.fate = going.includes(one) ? "kept" : ends.includes(one) ? "finished" : "dropped"),
    );
    best = ranked([...best, ...ends]);
    steps.push({ alive, candidates, ends, best });
    alive = going;
  }
  return { root, steps, ranked: best.length ? best : ranked(alive), cut: !best.length };
}

const searches = new WeakMap(); // of each tree, by setting

/** The search with this setting, done once. */
export function search(tree, beam, alpha) {
  const known = searches.get(tree) ?? searches.set(tree, new Map()).get(tree);
  const setting = `${beam} ${alpha}`;
  return known.get(setting) ?? known.set(setting, searched(tree, beam, alpha)).get(setting);
}
