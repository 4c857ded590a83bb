// Encoder–decoders and GPTs in plain JavaScript, equation by equation as in the chapters. Order matters: a file uses
// only those above it, because they are joined into one text before they are run.
export * from "./matrix.js";
export * from "./sha256.js";
export * from "./safetensors.js";
export * from "./tokenizer.js";
export * from "./embedding.js";
export * from "./changes.js";
export * from "./attention.js";
export * from "./layers.js";
export * from "./transformer.js";
export * from "./search.js";
export * from "./writing.js";
export * from "./load.js";
export * from "./worker.js";
