// The searches of engine/js/search.js, around two ONNX graphs (onnx_export.py): the arithmetic is ONNX Runtime's.
import * as ort from "./node_modules/onnxruntime-web/dist/ort.wasm.bundle.min.mjs";

ort.env.wasm.numThreads = 1; // SIMD is in every build
const EXTRA = 50;

const whole = (numbers, dims) => new ort.Tensor("int64", BigInt64Array.from(numbers, BigInt), dims);

/** Both graphs, and what of our own model they need: its tokenizer and its numbers. */
export async function readOnnx(name, { config, source }) {
  const [reader, writer] = await Promise.all(["reader", "writer"].map((part) =>
    ort.InferenceSession.create(`${name}.${part}.onnx`, { executionProviders: ["wasm"] })));
  return { reader, writer, config, source };
}

/** Read a sentence, and the first step of the search, from the begin token. */
async function begin(model, ids) {
  const cross = await model.reader.run({ source: whole(ids, [1, ids.length]) });
  const { num_heads: heads, d_model: width } = model.config;
  const none = () => new ort.Tensor("float32", new Float32Array(0), [1, heads, 0, width / heads]);
  const kept = Object.fromEntries(Object.keys(cross).map((_, i) => [`kept_${i}`, none()]));
  return step(model, [engine.BOS], [0], 0, { cross, kept });
}

/** `found`: for each token the likeliest next ones, each with its log-probability. */
async function step(model, newest, parents, place, { cross, kept }) {
  const past = Object.keys(cross).map((_, i) => [`past_${i}`, kept[`kept_${i}`]]);
  const made = await model.writer.run({
    newest: whole(newest, [newest.length, 1]),
    position: whole([place], [1]),
    parents: whole(parents, [parents.length]),
    ...cross,
    ...Object.fromEntries(past),
  });
  const [count, { data: scores }, { data: ids }] = [made.ids.dims[1], made.scores, made.ids];
  const word = (at) => ({ id: Number(ids[at]), score: scores[at] });
  const found = newest.map((_, row) => Array.from({ length: count }, (_, i) => word(row * count + i)));
  return { found, cross, kept: made };
}

export const first = async (model, text) => (await begin(model, model.source.encode(text))).found[0][0].id;

export async function greedy(model, text) {
  const source = model.source.encode(text);
  const limit = Math.min(source.length + EXTRA, model.config.max_len);
  const ids = [engine.BOS];
  let at = await begin(model, source);
  for (;;) {
    ids.push(at.found[0][0].id);
    if (ids.length >= limit || ids.at(-1) === engine.EOS) return ids;
    at = await step(model, ids.slice(-1), [0], ids.length - 1, at);
  }
}

/** `beamSteps`, the keys and values chosen by the graph: each answer says from which row it goes on. */
export async function beam(model, text, size, penalty) {
  const source = model.source.encode(text);
  const limit = Math.min(source.length + EXTRA, model.config.max_len);
  const ended = [];
  const finish = ({ ids, logProb }) => {
    ended.push({ ids, score: logProb / engine.normalizer(ids.length - 1, penalty) });
    ended.sort((a, b) => b.score - a.score);
    ended.length = Math.min(ended.length, size);
  };
  let answers = [{ ids: [engine.BOS], logProb: 0 }];
  let at = await begin(model, source);
  for (let length = 2;; length += 1) {
    const candidates = at.found.flatMap((words, row) => words.map(({ id, score }) =>
      ({ ids: [...answers[row].ids, id], logProb: answers[row].logProb + score, row })));
    candidates.sort((a, b) => b.logProb - a.logProb);
    candidates.slice(0, size).filter(({ ids }) => ids.at(-1) === engine.EOS).forEach(finish);
    answers = candidates.slice(0, 2 * size).filter(({ ids }) => ids.at(-1) !== engine.EOS).slice(0, size);
    if (length >= limit && !ended.length) answers.forEach(finish);
    const hope = answers[0].logProb / engine.normalizer(limit - 1, penalty);
    if (length >= limit || (ended.length === size && ended.at(-1).score >= hope)) return ended;
    at = await step(model, answers.map(({ ids }) => ids.at(-1)), answers.map(({ row }) => row), length - 1, at);
  }
}
