// The Transformer, block by block: one sentence's numbers at each, and what is said of them. Nothing draws.
import * as engine from "../../engine/js/engine.js";
import { cellsOf } from "./core/cells.js";
import { format, plain, readable, whole } from "./core/format.js";
import { meanOf, sumOf } from "./core/math.js";
import { BOXES, blockOf, describe, LAYERS, labelOf, pathOf, split, steps, wayTo } from "./parts/blocks.js";

const LIKELY = 5; // words with their scores and probabilities
const SHOWN = 0.05; // attention weights below this are not named in the sentence
const ON_MAP = 40; // letters of words
const PACE = 75; // milliseconds from box to box, on a long way
const numbers = (rows, scale) => rows.map((row) => row.split(" ").map((number) => Number(number) / scale));
const mapValues = (values, f) => Object.fromEntries(Object.entries(values).map(([name, value]) => [name, f(value)]));
const told = (number, decimals = 2) => ({ number, text: format(number, decimals) });

/** @typedef {{sizes: any, parameters: any, [name: string]: any}} Trace  `activations[block][row]`, `weights[block][head][row]` */

/** As Python wrote it: of the block that is open at first. @returns {Trace} */
export const readTrace = (trace) => ({
  ...trace,
  activations: mapValues(trace.activations, (rows) => numbers(rows, 100)),
  weights: mapValues(trace.weights, (heads) => heads.map((rows) => numbers(rows, 10000))),
});

/** Computed here: of all blocks, as many written words as the figure draws. @returns {Trace} */
export function traceOf(model, words, most, { sizes, parameters }) {
  const { source, ids } = engine.translate(model, words.join(" "), { most });
  const { activations, maps, logits } = engine.forward(model, source, ids.slice(0, -1));
  return {
    source_tokens: words,
    target_tokens: ids.slice(1).map((id) => model.target.token(id)),
    sizes,
    parameters,
    activations: mapValues(activations, engine.rowsOf),
    weights: mapValues(maps, (heads) => heads.map(engine.rowsOf)),
    candidates: engine.rowsOf(logits).map((scores) => {
      const chances = engine.probabilities(Float32Array.from(scores));
      return engine.highest(scores, LIKELY).map((id) => [model.target.token(id), scores[id], chances[id]]);
    }),
  };
}

/** The words that an attention looks at. */
function keysOf({ stack, part }, trace) {
  const source = stack === "encoder" || part === "cross";
  return source ? trace.source_tokens : steps(trace.target_tokens).map(([input]) => input);
}

/** "black 0.98, cat 0.01": the mean of the heads, strongest first. */
function looks(rows, keys) {
  const mean = keys.map((token, j) => ({ token, weight: meanOf(rows.map((row) => row[j])) }));
  const named = mean.filter(({ weight }) => weight >= SHOWN).sort((a, b) => b.weight - a.weight);
  return named.slice(0, 3).flatMap(({ token, weight }, i) => [i ? ", " : "", [{ token }, ` ${format(weight)}`]]);
}

/** What the block does to the followed word. */
function followed({ block, place, trace, at, path }) {
  const { stack, part, attends } = place;
  const reads = stack === "encoder";
  const token = { token: trace[reads ? "source_tokens" : "target_tokens"][at] };
  const input = { token: steps(trace.target_tokens)[at]?.[0] };
  const who = reads ? [token] : [input, " → ", token];
  const rms = (name) => told(Math.sqrt(meanOf(trace.activations[name][at].map((value) => value ** 2))));
  if (attends) {
    const rows = trace.weights[block].map((head) => head[at]);
    const start = reads ? [token] : ["To write ", token, ", this layer"];
    return [...start, " looks at ", ...looks(rows, keysOf(place, trace)), ` (mean of the ${rows.length} heads).`];
  }
  if (part === "embedding" && reads) return [token, " is looked up: its numbers are the outlined row."];
  if (part === "embedding") {
    const start = at ? "The word just written, " : "The begin token, ";
    return [start, input, ", is looked up. Its row has to become the next word, ", token, "."];
  }
  if (part === "positional")
    return [reads ? token : input, ` stands at position ${at} (counted from 0) and gets that position’s pattern.`];
  if (part === "feed_forward")
    return ["For ", ...who, " numbers with an RMS of ", rms(block), " come out, made from its own row alone."];
  if (part.startsWith("after")) {
    const [into, added, after] = path
      .slice(0, path.indexOf(block) + 1)
      .slice(-3)
      .map(rms);
    const start = [...who, ": numbers with an RMS (root mean square) of ", into, " went in, of "];
    return [...start, added, " were added, of ", after, " came out of the norm."];
  }
  const [best, score, probability] = trace.candidates[at][0];
  const [what, number] = block === "logits" ? ["highest score", score] : ["likeliest word", probability];
  return ["After ", input, ` the ${what} is `, { token: best }, `, ${format(number)}.`];
}

/** The weights of the followed word, a row for each head; what the mask hides is hatched. */
function weightsOf({ block, place, trace, at }, before) {
  const columns = keysOf(place, trace);
  const rows = trace.weights[block].map((_, i) => `head ${i + 1}`);
  const key = `${place.stack} ${place.part} ${columns.join(" ")}`;
  const weights = trace.weights[block].map((head) => head[at]);
  const look = { rows, columns, decimals: 2, quiet: 0.005, before: before?.key === key ? before.cells : null };
  const isHidden = (j) => place.stack === "decoder" && place.part === "self" && j > at;
  const cells = cellsOf(weights, look).map((line, i) =>
    line.map((cell, j) => {
      if (!isHidden(j)) return cell;
      return { ...cell, isHatched: true, label: `row ${rows[i]}, column ${columns[j]}: hidden by the mask, 0` };
    }),
  );
  return { key, cells, table: { rows, columns, cells } };
}

/** Whether a block's numbers are there. */
export const isKnown = (block, trace) => !split(block).stack || block in trace.activations;

/** What comes out of the block, a row for each token. */
function heatOf({ block, place, trace, at }, { source_name, target_name }) {
  const [values, reads] = [trace.activations[block], place.stack === "encoder"];
  const language = reads ? `read (${source_name})` : `read → to write (${target_name})`;
  const [least, most] = [Math.min(...values.flat()), Math.max(...values.flat())].map((value) => format(value));
  const [count, width] = [values.length, values[0].length];
  return {
    key: `${place.stack} ${count}`,
    values,
    row: at,
    name: reads ? "source_token" : "target_token",
    tokens: reads ? trace.source_tokens.map(readable) : steps(trace.target_tokens).map((two) => two.join(" → ")),
    label: `Follow a word: ${language}`,
    spoken: `${count} rows of ${width} numbers, from ${least} to ${most}`,
    size: `${count} × ${width} numbers`,
  };
}

/** The five likeliest words at the followed position, as scores or as probabilities. */
function candidatesOf({ block, trace, at }) {
  const [index, decimals] = block === "logits" ? [1, 2] : [2, 4];
  const found = trace.candidates[at];
  const longest = block === "logits" ? Math.max(...found.map((one) => Math.abs(one[1])), 1e-9) : 1;
  const others = trace.sizes.target_vocab_size - found.length;
  const rest = format(Math.max(1 - sumOf(found.map((one) => one[2])), 0), 4);
  return {
    words: found.map((one) => ({
      word: one[0],
      value: one[index],
      text: format(one[index], decimals),
      share: Math.abs(one[index]) / longest,
    })),
    rest: block === "softmax" ? `The other ${others} words together: ${rest}` : `The other ${others} words score less.`,
  };
}

/** Words on the map; if they are too many, the chosen one alone. */
function onMap(words, chosen) {
  const all = words.map((word, i) => ({ text: readable(word), isChosen: i === chosen }));
  const dots = { text: "…", isChosen: false };
  return words.join(" ").length <= ON_MAP ? all : [dots, all[chosen], dots];
}

/** The map: its boxes, what is written on it, the way numbers have come (`way`), and what of it is run now (`route`). */
function mapOf({ block, trace, layer, shown, path }, before) {
  const { num_layers: count } = trace.sizes;
  const open = BOXES.findIndex((box) => blockOf(box, layer) === block);
  const way = wayTo(open, layer);
  const isOther = before && before.block !== block;
  const isStep = before && Math.abs(path.indexOf(block) - path.indexOf(before.block)) === 1;
  const [likeliest, , chance] = trace.candidates[shown.target_token][0];
  const inputs = steps(trace.target_tokens).map(([input]) => input);
  return {
    boxes: BOXES.map((box, i) => {
      const own = blockOf(box, layer);
      const { title, place } = describe(own, shown);
      return { block: own, label: labelOf(box), spoken: place ? `${title}, ${place}` : title, isOpen: i === open };
    }),
    way,
    route: (isStep ? [open] : isOther ? way : []).map((box, i) => ({ box, delay: PACE * i })),
    layer: `layer ${layer + 1} of ${count}`,
    texts: {
      source: onMap(trace.source_tokens, shown.source_token),
      input: onMap(inputs.slice(0, shown.target_token + 1), shown.target_token),
      output: [{ text: `${readable(likeliest)} ${format(chance)}`, isChosen: true }],
      memory: [{ text: layer + 1 < count ? `memory, of layer ${count}` : "memory", isChosen: false }],
    },
  };
}

/**
 * All that is drawn.
 * @param {any} state  `block`, the words that are followed, the languages' names
 * @param {{trace: Trace, instead?: any, sentence?: string}} own  what is shown; what is said in place of the sentence on
 *   the present state; the sentence, if it is another than at first
 * @param {any}[before]  what was derived before: which layer was shown, what is another now
 */
export function derive(state, { trace, instead = null, sentence = "" }, before = null) {
  const { block, source_name, target_name } = state;
  const { sizes, parameters } = trace;
  const [place, path] = [split(block), pathOf(sizes.num_layers)];
  const shown = {
    ...{ trace, source_name, target_name },
    source_token: Math.min(state.source_token, trace.source_tokens.length - 1),
    target_token: Math.min(state.target_token, trace.target_tokens.length - 1),
  };
  const at = place.stack === "encoder" ? shown.source_token : shown.target_token;
  const layer = place.layer ?? before?.layer ?? 0;
  const now = { block, place, path, trace, at, layer, shown };
  const { title, place: where, purpose, chapters } = describe(block, shown);
  const heat = isKnown(block, trace) && place.stack ? heatOf(now, shown) : null;
  const words = instead ?? followed(now);
  const [total, own] = [sumOf(Object.values(parameters)), parameters[block]];
  const inLayers = LAYERS.encoder.length + LAYERS.decoder.length;
  return {
    ...{ ...now, title, where, purpose, chapters, words, heat },
    step: path.indexOf(block),
    map: mapOf(now, before),
    weights: heat && place.attends ? weightsOf(now, before?.weights) : null,
    candidates: place.stack ? null : candidatesOf(now),
    size: [
      { number: total, text: whole(total), measure: "total" },
      " learned numbers, ",
      { number: own, text: own ? whole(own) : "none", measure: "own" },
      ` in this box. ${inLayers + 6} boxes, ${inLayers} of them in each of ${sizes.num_layers} layers: ${path.length} steps.`,
    ],
    says: [
      `In ${path.length} steps from ${source_name} words to the next ${target_name} word: `,
      { token: trace.candidates[shown.target_token][0][0] },
    ],
    told: [`${where ? `${title}, ${where}` : title}. ${plain(words)}`, sentence].filter(Boolean).join(" "),
  };
}
