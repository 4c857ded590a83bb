// Names that the checked scripts find in a page; tsconfig.json includes this file.

/** The function that tools/bundle.js puts around the engine's modules. */
declare const startEngine: () => typeof import("../transformer_edu/book/engine/js/engine.js");

/** Sphinx's settings of a page. */
declare const DOCUMENTATION_OPTIONS: { SHOW_SEARCH_SUMMARY: boolean };

interface Window {
  /** The modules' texts by their figures' names. */
  transformerFigures?: Record<string, string>;
  /** Parts of files of weights, gzipped, in base64. */
  transformerModels?: Record<string, string>;
}
