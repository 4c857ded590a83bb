// Encoder–decoders and GPTs in plain JavaScript, equation by equation as in the chapters. Order matters: a file uses
// only those above it, because they are joined into one text before they are run.

export * from "./attention.js";
export * from "./changes.js";
export * from "./embedding.js";
export * from "./layers.js";
export * from "./load.js";
export * from "./matrix.js";
export * from "./safetensors.js";
export * from "./search.js";
export * from "./sha256.js";
export * from "./tokenizer.js";
export * from "./transformer.js";
export * from "./worker.js";
export * from "./writing.js";
