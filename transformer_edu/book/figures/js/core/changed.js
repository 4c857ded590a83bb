import { readable } from "./format.js";

/**
 * A word beside an earlier row of words: its place there; of one that was not there, the place of the word that it
 * replaces, or -1, and that word (`was`); of one that was, what stood before it and is left out (`gone`).
 * @typedef {{at: number, was?: string, gone?: string}} Change
 */

/** How many words the longest part has that both share, from each place of one and of the other on. */
function sharedFrom(words, before) {
  const counts = Array.from({ length: words.length + 1 }, () => Array(before.length + 1).fill(0));
  for (let i = words.length - 1; i >= 0; i -= 1) {
    for (let j = before.length - 1; j >= 0; j -= 1) {
      counts[i][j] = words[i] === before[j] ? 1 + counts[i + 1][j + 1] : Math.max(counts[i + 1][j], counts[i][j + 1]);
    }
  }
  return counts;
}

/** What is another in these words than in those before. @param {string[]} words @param {string[]} before */
export function compared(words, before) {
  const shared = sharedFrom(words, before);
  let next = 0; // place before
  let left = { places: [], isReplaced: false }; // since the last word that both share
  return words.map((word, i) => {
    const { places } = left;
    while (before[next] !== word && shared[i][next + 1] === shared[i][next]) places.push(next++);
    if (before[next] !== word) {
      left.isReplaced = true;
      const at = places.shift() ?? -1;
      return /** @type {Change} */ ({ at, was: at < 0 ? "" : readable(before[at]) });
    }
    const isGone = places.length && !left.isReplaced;
    left = { places: [], isReplaced: false };
    return /** @type {Change} */ ({
      at: next++,
      gone: isGone ? places.map((at) => readable(before[at])).join(" ") : undefined,
    });
  });
}

/** How many words are others, more or fewer. @param {string[]} words @param {string[]} before */
export const differences = (words, before) => Math.max(words.length, before.length) - sharedFrom(words, before)[0][0];
