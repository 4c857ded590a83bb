import { button, setOff } from "./controls.js";
import { div, fill, h } from "./dom.js";
import { listed } from "./format.js";
import { asToken } from "./words.js";

const OFFERS = 7;
const UNKNOWN = 3; // unknown words by name
// What kind of word may come next, for offers; the model knows nothing of kinds.
const FOLLOWS = {
  "": "determiner",
  determiner: "noun",
  adjective: "noun",
  noun: "verb",
  nouns: "verbs",
  verb: "determiner",
  verbs: "determiner",
};

/** Where the word at the caret begins and ends, and what it is. */
function wordAt(line, caret) {
  const from = line.slice(0, caret).search(/\S*$/);
  const to = caret + line.slice(caret).search(/\s|$/);
  return { from, to, word: line.slice(from, to).toLowerCase() };
}

/** The first of these words that is a noun, or the first. */
const nounOf = (kinds, words) =>
  Math.max(
    0,
    words.findIndex((word) => kinds.noun?.includes(word)),
  );

/** Where a word of a line begins and ends. @returns {[number, number]} */
function placeOf(words, index) {
  const from = words.slice(0, index).join(" ").length + (index ? 1 : 0);
  return [from, from + words[index].length];
}

/** Words that could stand at the caret: others of the same kind, what begins so, or what could come next. */
function offersFor(kinds, line, caret) {
  const { from, word } = wordAt(line, caret);
  const kindOf = (one) => Object.keys(kinds).find((kind) => kinds[kind].includes(one));
  const kind = kindOf(word);
  if (kind) {
    const [all, at] = [kinds[kind], kinds[kind].indexOf(word)];
    return [...all.slice(at + 1), ...all.slice(0, at)].slice(0, OFFERS);
  }
  if (word)
    return Object.values(kinds)
      .flat()
      .filter((one) => one.startsWith(word))
      .sort()
      .slice(0, OFFERS);
  const before = line.slice(0, from).trim().split(/\s+/).at(-1).toLowerCase();
  return (kinds[FOLLOWS[before ? kindOf(before) : ""]] ?? []).slice(0, OFFERS);
}

/** What is wrong with some words for a model that knows others, or can be shown so many; null if nothing is. */
function wrongWith(words, known, most) {
  if (!words.length) return [known.size ? "Type a sentence, or take words from the list." : "Type a sentence."];
  if (!known.size) return null;
  const unknown = [...new Set(words)].filter((word) => !known.has(word));
  if (unknown.length) {
    const more = unknown.length - UNKNOWN;
    return [
      ...listed([...unknown.slice(0, UNKNOWN).map((word) => [asToken(word)]), ...(more > 0 ? [[`${more} more`]] : [])]),
      ` ${unknown.length > 1 ? "are" : "is"} not among the ${known.size} words that it was taught. The picture stays.`,
    ];
  }
  return words.length > most ? [`At most ${most} words, please: there are ${words.length}.`] : null;
}

/**
 * The line in which a reader types a sentence of the words that a model knows; below it, words to put where the caret
 * is; beside it, a button that leads back to what the figure opened with.
 * @param {{opened: string[], kinds: Record<string, string[]>, most: number, wordsOf: (text: string) => string[],
 *   onChange: (sentence: string) => void, onAgain: () => void, language?: string, placeholder?: string,
 *   example?: string}} options  `opened`: words that it opens with; `kinds`, `most`: what Python's `opening` gives (no
 *   kinds: any text will do, and no word is offered); `wordsOf`: the engine's, which cuts a text into words; `example`:
 *   a whole sentence, offered while the line is empty
 */
export function sentenceLine(options) {
  const { opened, kinds, most, wordsOf, onChange, onAgain, language = "English" } = options;
  const { placeholder = "", example = "" } = options;
  const known = new Set(Object.values(kinds).flat());
  let offered = [];
  let caret = 0; // where words are put: Chromium 150 forgets an input's own when a button is clicked
  const input = h("input", {
    type: "text",
    class: "te-sentence-input",
    "aria-label": language ? `${language} sentence` : "sentence",
    placeholder,
    autocomplete: "off",
    autocapitalize: "none",
    spellcheck: "false",
    maxlength: 400,
    on: { input: () => onChange(input.value), keyup: offer, click: offer },
  });
  const offers = Array.from({ length: OFFERS }, (_, i) => button("", () => take(offered[i])));
  const again = button("Start again", () => {
    if (again.ariaDisabled === "true") return;
    begin();
    onAgain();
  });

  /** The opened sentence, and what is offered beside it at first. */
  function begin() {
    input.value = opened.join(" ");
    if (opened.length) mark(placeOf(opened, nounOf(kinds, opened)));
  }

  function mark([from, to]) {
    input.setSelectionRange(from, to);
    caret = from;
  }

  function write(text) {
    if (text === input.value) return;
    input.value = text;
    caret = text.length;
  }

  /** Put a word where the caret is. */
  function take(word) {
    if (word === example) {
      const words = word.split(" ");
      own.choose(words, nounOf(kinds, words));
      return onChange(word);
    }
    const { from, to, word: before } = wordAt(input.value, caret);
    const [start, rest] = [input.value.slice(0, from) + word, input.value.slice(to)];
    const goesOn = !rest && !known.has(before);
    input.value = start + (goesOn ? " " : rest);
    const end = start.length + (goesOn ? 1 : 0);
    mark([end, end]);
    onChange(input.value);
  }

  function offer() {
    if (document.activeElement === input) caret = input.selectionStart;
    offered = example && !input.value.trim() ? [example] : offersFor(kinds, input.value, caret);
    offers.forEach((one, i) => {
      if (i >= offered.length && one === document.activeElement) {
        input.focus(); // it was taken and is gone
        mark([caret, caret]);
      }
      fill(one, offered[i] ?? "");
      one.hidden = i >= offered.length;
    });
  }
  begin();
  const own = {
    element: div(
      "te-sentence-box",
      div("te-sentence-line", input, again),
      known.size
        ? h("div", { class: "te-sentence-offers", role: "group", "aria-label": "words to put there" }, ...offers)
        : null,
    ),
    /** Its words, and what is wrong with them, to be said; null if they are a sentence for the model. */
    read(/** @type {string} */ sentence) {
      const words = wordsOf(sentence);
      return { words, wrong: wrongWith(words, known, most) };
    },
    /** Another sentence than the reader's own. */
    set: write,
    /** Offer others for a word of this sentence. @param {string[]} words @param {number} index */
    choose(words, index) {
      input.value = words.join(" ");
      input.focus();
      mark(placeOf(words, index));
      offer();
    },
    /**
     * To call in every draw.
     * @param {string} sentence  the figure's @param {boolean} isWrong @param {boolean} isOpened  all is as at first
     */
    update(sentence, isWrong, isOpened) {
      if (document.activeElement !== input) write(sentence);
      input.setAttribute("aria-invalid", String(isWrong));
      setOff(again, isOpened);
      offer();
    },
  };
  return own;
}
