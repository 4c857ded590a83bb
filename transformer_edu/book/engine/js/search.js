import { softmaxRows } from "./attention.js";
import { matrix, rowOf } from "./matrix.js";
import { BOS, EOS, PAD } from "./tokenizer.js";
import { decode, encode, startCache } from "./transformer.js";

/** @import { Changes } from "./changes.js" */
/** @import { Matrix } from "./matrix.js" */

const EXTRA = 50; // tokens that an answer may have more than its source (paper, section 6.1)

const limitOf = (model, source) => Math.min(source.length + EXTRA, model.config.max_len);

/** Scores for the word after the last of `ids`. */
function nextLogits(model, ids, memory, changes, cache) {
  const logits = decode(model, ids.slice(cache.length), memory, { changes, cache });
  return possible(rowOf(logits, logits.rows - 1));
}

/** The begin token and padding are no words. @param {Float32Array} logits */
export function possible(logits) {
  const scores = logits.slice();
  [PAD, BOS].forEach((id) => (scores[id] = -Infinity));
  return scores;
}

/** Probabilities of the next word. @param {Float32Array} logits @param {number}[temperature] */
export function probabilities(logits, temperature = 1) {
  return softmaxRows(
    matrix(
      1,
      logits.length,
      logits.map((score) => score / temperature),
    ),
  ).data;
}

const likeliest = (scores) => scores.reduce((best, value, id) => (value > scores[best] ? id : best), 0);

/**
 * The most probable next word again and again. `begun`: ids, from the begin token on, that it has to go on from;
 * `memory`: what the encoder made of the source, where that is known; `cache`: an empty one, to look into afterwards.
 * @returns {{ids: number[], steps: Float32Array[]}} `steps`: the probabilities from which each word was taken
 */
export function greedySearch(model, source, options = {}) {
  const { changes = {}, begun = [BOS], choose = likeliest, temperature = 1 } = options;
  const { memory = encode(model, source, { changes }), cache = startCache(model) } = options;
  const [ids, steps] = [[...begun], []];
  while (ids.length < limitOf(model, source) && ids.at(-1) !== EOS) {
    steps.push(probabilities(nextLogits(model, ids, memory, changes, cache), temperature));
    ids.push(choose(steps.at(-1)));
  }
  return { ids, steps };
}

/** A sentence as ids, and its translation from the begin token on; of that at most so many words. */
export function translate(model, text, { changes = {}, most = Infinity } = {}) {
  const source = model.source.encode(text);
  return { source, ids: greedySearch(model, source, { changes }).ids.slice(0, most + 1) };
}

/** The few likeliest words, each with its probability. @returns {[string, number][]} the likeliest first */
export const likeliestWords = (model, chances, count) =>
  highest(chances, count).map((id) => [model.target.token(id), chances[id]]);

/** For `greedySearch`: draw the next word. @param {() => number} random from 0 to 1 */
export const drawn = (random) => (chances) => {
  let left = random() * chances.reduce((total, chance) => total + chance, 0);
  const found = chances.findIndex((chance) => (left -= chance) < 0);
  return found < 0 ? likeliest(chances) : found;
};

/** ((5 + length) / 6) ^ penalty (Wu et al., 2016). */
export const normalizer = (length, penalty) => ((5 + length) / 6) ** penalty;

/**
 * Follow the best `size` partial answers side by side; of the best that end, keep `size`.
 * @param {{size?: number, penalty?: number, best?: number, changes?: Changes, begun?: number[], limit?: number,
 *   memory?: Matrix}} options  `best`: how many to look for; `begun`: as in `greedySearch`; `limit`: most tokens of an
 *   answer; `memory`: what the encoder made of the source, where that is known
 * @returns {{ids: number[], logProb: number, score: number}[]} best first
 */
export function beamSearch(model, source, options = {}) {
  const steps = beamSteps(model, source, options);
  for (;;) {
    const { value, done } = steps.next();
    if (done) return value;
  }
}

/**
 * The same, and between two words it tells the partial answers. The keys and values of all of them lie in one cache,
 * like a tree: `rows` are those of an answer's own words, and a mask hides the others'.
 */
export function* beamSteps(model, source, options = {}) {
  const { size = 4, penalty = 0.6, best: wanted = size, changes = {}, begun = [BOS] } = options;
  const { limit = limitOf(model, source), memory = encode(model, source, { changes }) } = options;
  const cache = startCache(model);
  const ended = [];
  const finish = ({ ids, logProb }) => {
    ended.push({ ids, logProb, score: logProb / normalizer(ids.length - 1, penalty) });
    ended.sort((a, b) => b.score - a.score);
    ended.length = Math.min(ended.length, wanted);
  };
  const known = begun.slice(0, -1);
  if (known.length) decode(model, known, memory, { changes, cache });
  let beam = [{ ids: begun, logProb: 0, rows: new Set(known.keys()) }];
  for (let length = begun.length + 1; ; length += 1) {
    const candidates = continuations(model, beam, memory, changes, cache, 2 * size);
    candidates
      .slice(0, size)
      .filter(({ ids }) => ids.at(-1) === EOS)
      .forEach(finish);
    beam = candidates
      .slice(0, 2 * size)
      .filter(({ ids }) => ids.at(-1) !== EOS)
      .slice(0, size);
    if (!beam.length) return ended;
    if (length >= limit) {
      if (!ended.length) beam.forEach(finish);
      return ended;
    }
    const hope = beam[0].logProb / normalizer(limit - 1, penalty); // if all the rest were certain
    if (ended.length === wanted && ended.at(-1).score >= hope) return ended;
    yield beam;
  }
}

/** The best few words after each partial answer, all read at once: best first. */
function continuations(model, beam, memory, changes, cache, count) {
  beam.forEach(({ rows }, i) => rows.add(cache.length + i));
  const logits = decode(
    model,
    beam.map(({ ids }) => ids.at(-1)),
    memory,
    { changes, cache, positions: beam.map(({ ids }) => ids.length - 1), mayLook: (i, j) => beam[i].rows.has(j) },
  );
  const all = beam.flatMap(({ ids, logProb, rows }, i) => {
    const scores = possible(rowOf(logits, i));
    const total = logSumOfPowers(scores);
    const after = (id) => ({ ids: [...ids, id], logProb: logProb + scores[id] - total, rows: new Set(rows) });
    return highest(scores, count).map(after);
  });
  return all.sort((a, b) => b.logProb - a.logProb);
}

/** log Σ exp(x). @param {Float32Array} scores */
function logSumOfPowers(scores) {
  let [largest, total] = [-Infinity, 0];
  for (const score of scores) largest = Math.max(largest, score);
  for (const score of scores) total += Math.exp(score - largest);
  return Math.log(total) + largest;
}

/** The places of the largest values, the largest first. */
export function highest(values, count) {
  const places = [];
  for (let place = 0; place < values.length; place += 1) {
    if (places.length === count && values[place] <= values[places.at(-1)]) continue;
    const before = places.findIndex((other) => values[other] < values[place]);
    places.splice(before < 0 ? places.length : before, 0, place);
    places.length = Math.min(places.length, count);
  }
  return places;
}
