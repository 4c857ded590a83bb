import { embed, lookUp, positionalEncoding, project } from "./embedding.js";
import { causal, decoderLayer, encoderLayer, layerNorm } from "./layers.js";
import { firstRows, sum } from "./matrix.js";
import { readSafetensors } from "./safetensors.js";
import { readTokenizers } from "./tokenizer.js";

/** @import { Changes } from "./changes.js" */
/** @import { Matrix } from "./matrix.js" */
/** @import { Tokenizer } from "./tokenizer.js" */

/**
 * A trained model: its configuration, its weights as a tree (model.encoder.layers[0].self_attention …), its tokenizers.
 * An encoder–decoder, or a GPT, whose tokenizers are one.
 * @typedef {{config: Record<string, any>, source: Tokenizer, target: Tokenizer, [part: string]: any}} Model
 *
 * What was computed on the way, by the names of Python's `record_attention` and `record_activations`.
 * @typedef {{maps: Record<string, Matrix[]>, activations: Record<string, Matrix>}} Recording
 *
 * What a part is told beside its input: `offset` tokens were there before.
 * @typedef {{config: any, name: string, changes: Changes, record: Recording | null, offset: number}} At
 */

/** @param {Uint8Array} bytes of a file that Python's `page_file` wrote @param {string}[checksum] @returns {Model} */
export function readModel(bytes, checksum) {
  const { metadata, tensors } = readSafetensors(bytes, checksum);
  const header = JSON.parse(metadata.transformer_edu);
  /** @type {Model} */
  const model = { config: header.config, ...readTokenizers(header) };
  for (const [name, tensor] of Object.entries(tensors)) {
    const path = name.split(".");
    const last = path.pop();
    path.reduce((tree, key) => (tree[key] ??= {}), model)[last] = tensor;
  }
  if (header.family === "GPT") {
    model.config.norm = "pre";
    model.projection = { linear: model.embedding };
  } else if (model.config.tie_embeddings !== "none") {
    // one table with several uses is in the file once
    model.target_embedding ??= model.source_embedding;
    model.projection = { linear: model.target_embedding.lookup };
  }
  return model;
}

export const recording = () => ({ maps: {}, activations: {} });

/**
 * Read: ids -> the memory, a row for each source token.
 * @param {Model} model @param {number[]} source @param {{changes?: Changes, record?: Recording | null}}[options]
 * @returns {Matrix}
 */
export function encode(model, source, { changes = {}, record = null } = {}) {
  const positions = changes.source_positions ?? [...source.keys()];
  const x = begin(model, "encoder", model.source_embedding, source, positions, record);
  return stack(model, "encoder", x, { changes, record, offset: 0 }, encoderLayer);
}

/**
 * Write with the memory in view: target ids -> logits, a row for each. With a cache only the ids that are new.
 * @param {Model} model @param {number[]} target @param {Matrix} memory
 * @param {{changes?: Changes, record?: Recording | null, cache?: any, positions?: number[],
 *   mayLook?: (i: number, j: number) => boolean}}[options]  `positions`, `mayLook`: the places of the new ids, and
 *   which row of the cache each may see, where they do not follow one another
 * @returns {Matrix}
 */
export function decode(model, target, memory, options = {}) {
  const { changes = {}, record = null, cache = startCache(model), mayLook } = options;
  const offset = cache.length;
  cache.length += target.length;
  const positions = changes.target_positions ?? options.positions ?? target.map((_, i) => offset + i);
  const x = begin(model, "decoder", model.target_embedding, target, positions, record);
  const vectors = stack(model, "decoder", x, { changes, record, offset, mayLook }, (part, y, at, i) =>
    decoderLayer(part, y, memory, at, cache.layers[i]),
  );
  return scored(model, vectors, record);
}

/**
 * Go on from a text with a model that only writes (GPT): ids -> logits, a row for each. With a cache only the ids that
 * are new.
 * @param {Model} model @param {number[]} ids
 * @param {{changes?: Changes, record?: Recording | null, cache?: any}}[options]
 * @returns {Matrix}
 */
export function write(model, ids, { changes = {}, record = null, cache = startCache(model) } = {}) {
  const offset = cache.length;
  cache.length += ids.length;
  const places = ids.map((_, i) => offset + i);
  const x = sum(lookUp(ids, model.embedding.weight), lookUp(places, model.positional_encoding.table));
  const at = { changes, record, offset, mayLook: causal({ changes, offset }) };
  return scored(
    model,
    stack(model, "decoder", x, at, (part, y, here, i) => encoderLayer(part, y, here, cache.layers[i])),
    record,
  );
}

function scored(model, vectors, record) {
  const logits = project(vectors, model.projection.linear);
  if (record) record.activations.logits = logits;
  return logits;
}

/** A teacher-forced pass: logits after each target id, and all that was computed on the way. */
export function forward(model, source, target, changes = {}) {
  const record = recording();
  const memory = encode(model, source, { changes, record });
  return { logits: decode(model, target, memory, { changes, record }), memory, ...record };
}

/** Keys and values of the tokens so far. */
export function startCache(model) {
  return { length: 0, layers: layersOf(model.decoder).map(() => ({ self: {}, cross: {} })) };
}

/** Forget all but the first tokens of a text. */
export function cutCache(cache, length) {
  cache.length = length;
  for (const { self } of cache.layers) {
    self.key &&= firstRows(self.key, length);
    self.value &&= firstRows(self.value, length);
  }
}

/** Words, and where they stand. */
function begin(model, side, table, ids, positions, record) {
  const words = embed(ids, table.lookup);
  const x = positions === "off" ? words : sum(words, positionalEncoding(positions, model.config.d_model));
  if (record) Object.assign(record.activations, { [`${side}.embedding`]: words, [`${side}.positional`]: x });
  return x;
}

/** Layer after layer, and with norm: "pre" a last norm. */
function stack(model, side, x, at, layer) {
  layersOf(model[side]).forEach((part, i) => {
    const name = `${side}.${i}`;
    if (!at.changes.skipped?.includes(name)) x = layer(part, x, { ...at, name, config: model.config }, i);
  });
  if (model[side].final_norm) x = layerNorm(x, model[side].final_norm, model.config.eps);
  if (at.record) at.record.activations[`${side}.output`] = x;
  return x;
}

const layersOf = (part) => Object.values(part.layers);
