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

/**
 * What a state is shown beside: `from`, all that was derived before the last change; null at first. `moved` names what has
 * changed. A slider that moves on makes one change: give `before` what this returned, with `now`.
 * @param {Record<string, any>} now  what a reader can change @param {any} before  what was derived last
 * @param {(moved: string) => boolean}[goesOn]  whether more of the same change is still the same
 */
export function lastChange(now, before, goesOn = () => true) {
  const hasMoved = (name) => JSON.stringify(now[name]) !== JSON.stringify(before.now[name]);
  const moved = before && Object.keys(now).filter(hasMoved).join();
  const isSame = moved && moved === before.moved && goesOn(moved);
  return { now, moved, from: isSame ? before.from : before && { ...before, from: null } };
}
