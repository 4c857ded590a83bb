import { h, span } from "./dom.js";
import { readable, special } from "./format.js";

/** A token within a sentence, exactly as it is. @param {string} text */
export const asToken = (text) => h("b", { class: "te-token" }, text);

/** A token within a sentence, as it is shown. @param {string} word */
export const named = (word) => h("b", { class: `te-token${special(word)}` }, readable(word));

/** A token in a picture; its title tells a word that was cut off. @param {string} kind class @param {string} word */
export const wordSpan = (kind, word) =>
  h("span", { class: `${kind}${special(word)}`, title: readable(word) }, readable(word));

/** A letter with an index. @param {string} base @param {string} index */
export const sub = (base, index) => span("te-nowrap", base, h("sub", {}, index));

/** "1", "2", … as labels. @param {number} count */
export const numbered = (count) => Array.from({ length: count }, (_, i) => String(i + 1));
