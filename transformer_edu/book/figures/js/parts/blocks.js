// The blocks of a Transformer: their order, their names, and what each is for.
import { readable } from "../core.js";

export const LAYERS = {
  encoder: ["self", "after_self", "feed_forward", "after_feed_forward"],
  decoder: ["self", "after_self", "cross", "after_cross", "feed_forward", "after_feed_forward"],
};

/** What is always true of a block: name, purpose, the chapters that build it; <d> and the like are filled in. */
const BLOCKS = {
  embedding: [
    "Embedding",
    "Looks each word up in a table of <words> <language> words: the same row in every sentence.",
    [3],
  ],
  positional: [
    "Positional encoding",
    "Adds a fixed pattern for each position: from here on the order is in the numbers.",
    [4],
  ],
  "encoder.self": ["Self-attention", "Every word collects what it needs from all words of the sentence.", [6, 7, 9]],
  "decoder.self": [
    "Masked self-attention",
    "Every position collects from the words written so far. Later words are hidden from it.",
    [6, 7, 10],
  ],
  cross: [
    "Cross-attention",
    "Here the halves meet: every position asks the encoder’s output, the memory, for words.",
    [6, 7, 10],
  ],
  feed_forward: [
    "Feed-forward",
    "Works on each row alone: <d> numbers become <ff>, negative ones become 0, and back to <d>.",
    [8],
  ],
  after: ["Add & norm", "Adds what the <before> brought to what went into it, then normalizes each row.", [8, 5]],
  logits: ["Projection", "Scores each of the <words> <language> words: how well does it fit as the next one?", [11]],
  softmax: [
    "Softmax",
    "Turns the scores into probabilities. The likeliest word is written and is the next input.",
    [6, 11],
  ],
};

/** All blocks in the order of computation. */
export function pathOf(layers) {
  const stack = (name) => [
    `${name}.embedding`,
    `${name}.positional`,
    ...Array.from({ length: layers }, (_, i) => LAYERS[name].map((part) => `${name}.${i}.${part}`)).flat(),
  ];
  return [...stack("encoder"), ...stack("decoder"), "logits", "softmax"];
}

/** "decoder.1.cross" -> { stack: "decoder", layer: 1, part: "cross" }; the projection and the softmax have no stack. */
export function split(block) {
  const parts = block.split(".");
  const part = parts.at(-1);
  return {
    stack: parts.length > 1 ? parts[0] : "",
    layer: parts.length > 2 ? Number(parts[1]) : null,
    part,
    attends: part === "self" || part === "cross",
  };
}

export const about = (stack, part) => BLOCKS[`${stack}.${part}`] ?? BLOCKS[part] ?? BLOCKS.after;

/** Name, place, purpose and chapters of a block, with this model's sizes and languages. */
export function describe(block, { trace, source_name: source, target_name }) {
  const { stack, part, layer } = split(block);
  const { d_model: d, d_ff: ff, source_vocab_size, target_vocab_size } = trace.sizes;
  const [words, language] = stack === "encoder" ? [source_vocab_size, source] : [target_vocab_size, target_name];
  const before = part.startsWith("after") ? about(stack, part.slice(6))[0].toLowerCase() : "";
  const values = { d, ff, words, language, source, before };
  const [title, purpose, chapters] = about(stack, part);
  const place = [stack, layer === null ? "" : `layer ${layer + 1}`].filter(Boolean).join(", ");
  return { title, place, chapters, purpose: purpose.replace(/<(\w+)>/g, (_, name) => values[name]) };
}

export const blockOf = ({ stack, part }, layer) =>
  stack === "" ? part : LAYERS[stack].includes(part) ? `${stack}.${layer}.${part}` : `${stack}.${part}`;

/** What a decoder’s position is called: the word just read and the word to write. */
export const steps = (written) => written.map((word, i) => [readable(i ? written[i - 1] : "<bos>"), readable(word)]);
