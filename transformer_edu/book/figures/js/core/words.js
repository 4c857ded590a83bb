import { h, span } from "./dom.js";
import { readable, special } from "./format.js";

/** A token within a sentence, exactly as it is. @param {string} text */
export const asToken = (text) => h("b", { class: "te-token" }, text);

/** A token within a sentence, as it is shown. @param {string} word */
export const named = (word) => h("b", { class: `te-token${special(word)}` }, readable(word));

/** A letter with an index. @param {string} base @param {string} index */
export const sub = (base, index) => span("te-nowrap", base, h("sub", {}, index));
