// Everything that the older figures share; one that is derived and viewed imports the file that it needs.

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
