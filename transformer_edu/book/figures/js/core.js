// Everything that the figures share. A figure's module begins with one line
//   import { h, store } from "./core.js";
// The files are joined into one text before they are run, because a module loaded from a Blob
// address cannot import a relative path. Order matters: a file uses only those above it.

export * from "./core/cells.js";
export * from "./core/colour.js";
export * from "./core/controls.js";
export * from "./core/dom.js";
export * from "./core/format.js";
export * from "./core/frame.js";
export * from "./core/grid.js";
export * from "./core/links.js";
export * from "./core/loading.js";
export * from "./core/math.js";
export * from "./core/motion.js";
export * from "./core/sentence.js";
export * from "./core/state.js";
export * from "./core/words.js";
