// The decoder's stream, read by the output layer at every place: the model's, and what is seen of it. Nothing draws.
import * as engine from "../../engine/js/engine.js";
import { format, plain, readable, special } from "./core/format.js";

const WRITTEN = 12; // words of the model's translation that are drawn
const BEST = 5; // words that are told of each place
const ENTRY = "decoder.positional";
const SUBLAYERS = { self: "self-attention", cross: "cross-attention", feed_forward: "feed-forward" };
const RESIDUALS = { self: "self_attention_residual", cross: "cross_residual", feed_forward: "feed_forward_residual" };

/** The sub-layer after which the stream is at a place. */
export const sublayerOf = (place) => place.replace("after_", "");

/** "decoder.1.cross" -> "layer 2", "cross-attention" */
function namesOf(sublayer) {
  const [, layer, kind] = sublayer.split(".");
  return [`layer ${Number(layer) + 1}`, SUBLAYERS[kind]];
}

export const inWords = (sublayer) => namesOf(sublayer).join("’s ");
const capital = (words) => words.replace(/^./, (letter) => letter.toUpperCase());
const lengthOf = (x) => Math.hypot(...x);

/** What the norm of a sum makes of one of its summands: γ · (part − its mean) / the deviation of the sum. */
function rescaled(part, whole, { weight }) {
  const meanOf = (x) => x.reduce((sum, value) => sum + value, 0) / x.length;
  const [own, all] = [meanOf(part), meanOf(whole)];
  const root = Math.sqrt(meanOf(whole.map((value) => (value - all) ** 2)) + 1e-5);
  return part.map((value, i) => (weight.data[i] * (value - own)) / root);
}

/** The likeliest words of each row of scores, and their probabilities. */
const likeliestOf = (model, scores) =>
  Array.from({ length: scores.rows }, (_, i) =>
    engine.likeliestWords(model, engine.probabilities(engine.rowOf(scores, i)), BEST),
  );

/** Every place of the decoder's stream while the model is given its own translation. */
function run(model, { source, ids }, silent) {
  const { activations } = engine.forward(model, source, ids.slice(0, -1), silent ? { silent: [silent] } : {});
  const { final_norm: norm } = model.decoder;
  const places = Object.keys(activations).filter((name) => name === ENTRY || /^decoder\..*\.after_/.test(name));
  const read = (x) => engine.project(norm ? engine.layerNorm(x, norm) : x, model.projection.linear);
  return { activations, places, best: places.map((place) => likeliestOf(model, read(activations[place]))) };
}

/** At each place, of each word: what was written against what stood there, and what its norm leaves of that. */
function measured(model, { activations: seen, places }) {
  let x = engine.rowsOf(seen[ENTRY]);
  let left = x;
  const begun = x.map(lengthOf);
  const found = { wrote: [x.map(() => 0)], kept: [x.map(() => 1)], left: [x.map(() => 1)] };
  for (const place of places.slice(1)) {
    const [, layer, kind] = sublayerOf(place).split(".");
    const { norm } = model.decoder.layers[layer][RESIDUALS[kind]];
    const output = seen[sublayerOf(place)];
    const written = output ? engine.rowsOf(output) : x.map((row) => row.map(() => 0));
    const sums = x.map((row, i) => row.map((value, j) => value + written[i][j]));
    const through = (rows) => (model.config.norm === "pre" ? rows : rows.map((row, i) => rescaled(row, sums[i], norm)));
    left = through(left);
    found.wrote.push(x.map((row, i) => lengthOf(written[i]) / lengthOf(row)));
    found.kept.push(through(x).map((row, i) => lengthOf(row) / lengthOf(x[i])));
    found.left.push(left.map((row, i) => lengthOf(row) / begun[i]));
    x = engine.rowsOf(seen[place]);
  }
  return found;
}

/** The likeliest word of each column. */
const firstOf = (row) => row.map((best) => best[0][0]);

/** Streams, as Python's `stream`, by sentence and silent sub-layer. A model is asked for what is missing; none, for nothing. */
export function memory(first) {
  const keyOf = (words, silent) => JSON.stringify([words, silent]);
  const [streams, translations] = [new Map([[keyOf(first.source, first.silent), first]]), new Map()];

  /** A sentence's translation, as ids; its stream with no sub-layer silent. */
  function translate(model, words) {
    const key = words.join(" ");
    if (!translations.has(key)) {
      const given = engine.translate(model, key, { most: WRITTEN });
      translations.set(key, { given, whole: run(model, given, "") });
    }
    return translations.get(key);
  }

  function streamOf(model, words, silent) {
    const { given, whole } = translate(model, words);
    const found = silent ? run(model, given, silent) : whole;
    return {
      source: words,
      silent,
      written: given.ids.slice(1).map((id) => model.target.token(id)),
      places: found.places,
      best: found.best,
      whole: whole.best.map(firstOf),
      ...measured(model, found),
    };
  }

  function ask(model, words, silent) {
    const key = keyOf(words, silent);
    if (model && !streams.has(key)) streams.set(key, streamOf(model, words, silent));
    return streams.get(key) ?? null;
  }
  return { translate, ask };
}

/** How many words of a row are those that are written in the end. */
const rightAt = ({ best, written }, place) => firstOf(best[place]).filter((word, i) => word === written[i]).length;

/** How many words that would be written are others than with no sub-layer silent. */
export const changedIn = ({ best, whole }) => firstOf(best.at(-1)).filter((word, i) => word !== whole.at(-1)[i]).length;

/** The place that brings most words. */
export function turnOf(stream) {
  const gains = stream.places.map((_, i) => (i ? rightAt(stream, i) - rightAt(stream, i - 1) : -Infinity));
  return gains.indexOf(Math.max(...gains));
}

/**
 * All that is drawn.
 * @param {any} state  `place`, `token`, `pre`
 * @param {{stream: any, instead?: any}} own  what is shown; what is said in place of the sentence
 * @param {any}[before]  what was derived before: the table of the same stream stays the same
 */
export function derive(state, { stream, instead = null }, before = null) {
  const { best, places, written } = stream;
  const [place, at] = [Math.min(state.place, places.length - 1), Math.min(state.token, written.length - 1)];
  const [says, words] = [finding(stream), instead ?? story(stream, place, at, state.pre)];
  const [word, chance] = best[place][at][0];
  const told = `${stream.source.join(" ")}: ${plain(says)}. ${readable(word)} ${format(chance)}. ${plain(words)}`;
  return {
    stream,
    place,
    at,
    written: JSON.stringify(written),
    longest: Math.max(...best.flatMap(firstOf).map((word) => readable(word).length)),
    table: before?.stream === stream ? before.table : tableOf(stream),
    title: place
      ? `After ${inWords(sublayerOf(places[place]))}, it would write:`
      : "Before the first layer, it would write:",
    likeliest: Array.from({ length: BEST }, (_, i) => {
      const [word, chance] = best[place][at][i] ?? ["", 0];
      const kind = `${special(word)}${word === written[at] ? " te-stream-right" : ""}`;
      return { word: readable(word), kind, chance, text: best[place][at][i] ? format(chance) : "" };
    }),
    says,
    words,
    told: instead ? plain(instead) : told,
  };
}

/** The table: those words that will be written, and those that were others before something was silenced. */
function tableOf({ best, places, written, whole, silent }) {
  const columns = ["<bos>", ...written.slice(0, -1)];
  const rows = places.map((place) => (place === ENTRY ? "word + position" : namesOf(sublayerOf(place)).join(", ")));
  return {
    columns,
    rows,
    headers: places.map((place) => ({
      kind: sublayerOf(place) === silent ? " te-stream-silent" : "",
      more: { "data-kind": place.split(/[._]/).at(-1) },
    })),
    cells: best.map((row, i) =>
      row.map(([[word, chance]], j) => ({
        text: word,
        value: chance,
        kind: `${word === written[j] ? " te-stream-right" : ""}${word === whole[i][j] ? "" : " te-stream-other"}`,
        label: `row ${rows[i]}, column ${readable(columns[j])}: ${readable(word)}, ${format(chance)}`,
      })),
    ),
  };
}

function finding(stream) {
  const { silent, written, places } = stream;
  const all = written.length;
  if (silent) {
    const count = changedIn(stream);
    return [`Without ${inWords(silent)}, ${count ? `${count} of ${all} words change` : "no word changes"}`];
  }
  const at = turnOf(stream);
  const [who, before, after] = [sublayerOf(places[at]), rightAt(stream, at - 1), rightAt(stream, at)];
  return [`${capital(inWords(who))} finds the words: ${before} of ${all} before it, ${after} after it`];
}

/** What happened just before the chosen place, and to what stood there. */
function story(stream, place, at, pre) {
  const reading = { token: at ? stream.written[at - 1] : "<bos>" };
  if (!place) return ["Here stand only the vector of ", reading, ", which was read last, and its position."];
  const [wrote, kept, left] = ["wrote", "kept", "left"].map((measure) => {
    const number = stream[measure][place][at];
    return { number, text: format(number), measure };
  });
  const who = sublayerOf(stream.places[place]);
  const name = { bold: capital(inWords(who)) };
  const adds =
    who === stream.silent
      ? [name, " is silent and adds nothing. "]
      : [name, " wrote ", wrote, " × as much as stood there. "];
  if (pre) return [...adds, "All that stood there stays as it was: the norm stands before the sub-layer."];
  const leaves = ["The norm after it leaves ", kept, " of what stood there, and ", left];
  return [...adds, ...leaves, " of what entered the first layer."];
}
