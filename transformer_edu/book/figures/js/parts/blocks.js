// The blocks of a Transformer: their order, their names, what each is for, and where they stand on its map.
import { readable } from "../core/format.js";

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

const about = (stack, part) => BLOCKS[`${stack}.${part}`] ?? BLOCKS[part] ?? BLOCKS.after;

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

const LABELS = { embedding: "Embedding", positional: "+ Position", logits: "Projection", softmax: "Softmax" };

/** What stands on a box. */
export const labelOf = ({ stack, part }) => LABELS[part] ?? about(stack, part)[0];

// Places on the map, in percent of its width and height. The encoder is the upper half. In a column a sub-layer stands
// above its norm, and the stream runs through the norms, from left to right.
const [WIDE, PITCH] = [17.2, 20.7];
const UPPER = { top: 15, height: 16.5 };
const LOWER = { top: 35.5, height: 11.5 };
const left = (column) => PITCH * column;
const centre = (column) => left(column) + WIDE / 2;
const middle = ({ top, height }, half) => half + top + height / 2;

export const styleOf = (place) => Object.fromEntries(Object.entries(place).map(([side, value]) => [side, `${value}%`]));

/** The layer's frame in each stack. */
export const FRAMES = Object.values(LAYERS).map((parts, i) => ({
  name: ["Encoder", "Decoder"][i],
  style: styleOf({ left: left(1) - 1.2, width: (PITCH * parts.length) / 2 - 1.1, top: 50 * i + 13.2, height: 35.6 }),
}));

/** Corners of a wire. @param {...number} places  x, y, x, y, … */
const wire = (...places) => places.flatMap((x, i) => (i % 2 ? [] : [{ x, y: places[i + 1] }]));

/** A box, and the wires that lead into it. */
function boxOf(stack, part, column, isUpper) {
  const half = stack === "encoder" ? 0 : 50;
  const { top, height } = isUpper ? UPPER : LOWER;
  const [upper, lower] = [middle(UPPER, half), middle(LOWER, half)];
  const [from, to, x] = [left(column - 1) + WIDE, left(column), centre(column)];
  const turn = (from + to) / 2;
  const [edge, high, low] = [half + UPPER.top, half + UPPER.top + UPPER.height, half + LOWER.top];
  const own = {
    embedding: [wire(x, edge - 3, x, edge)],
    positional: [wire(x, high, x, low)],
    logits: [wire(from, lower, to, lower)],
    softmax: [wire(x, low, x, high), wire(x, edge, x, edge - 3)],
  };
  const inner = [wire(from, lower, turn, lower, turn, upper, to, upper)];
  const wires = own[part] ?? (isUpper ? inner : [...own.logits, ...own.positional]); // a norm: the stream, and the part
  const style = styleOf({ left: to, width: WIDE, top: half + top, height });
  return { stack: column > 3 ? "" : stack, part, style, wires };
}

/** Every block's box, in the order of computation; those of a layer stand for the layer that is shown. */
export const BOXES = ["encoder", "decoder"].flatMap((stack) => [
  boxOf(stack, "embedding", 0, true),
  boxOf(stack, "positional", 0, false),
  ...LAYERS[stack].map((part, i) => boxOf(stack, part, 1 + Math.floor(i / 2), i % 2 === 0)),
  ...(stack === "decoder" ? [boxOf(stack, "logits", 4, false), boxOf(stack, "softmax", 4, true)] : []),
]);
const FIRST = BOXES.findIndex(({ stack }) => stack === "decoder");
const CROSS = BOXES.findIndex(({ part }) => part === "cross");
BOXES[CROSS].wires.push(wire(centre(2), LOWER.top + LOWER.height, centre(2), 50 + UPPER.top)); // the memory

/** The boxes through which numbers have gone on their way into a box of the layer that is shown, and this box. */
export function wayTo(box, layer) {
  const hasMet = box >= CROSS || (layer > 0 && box > FIRST + 1);
  return BOXES.map((_, i) => i).filter((i) => i <= box && (hasMet || box < FIRST || i >= FIRST));
}
