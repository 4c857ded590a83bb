// One sentence, three families: what each place reads, sees and is asked for, and what is said of it. Nothing draws.
import { plural } from "./core/format.js";
import { sumOf } from "./core/math.js";

export const FAMILIES = { gpt: "GPT", bert: "BERT", t5: "T5", prefix: "prefix" };
export const MOST = 10; // words
const GAP = 2; // words of T5's gap, if there are so many
const MORE = 3; // places that T5 needs beyond the words of the sentence
const NONE = "–"; // a place that is asked for nothing
const [START, MASK, MARK, END] = ["start", "[mask]", "[X]", "end"].map((text) => ({ text, at: -1 }));
const TITLES = {
  gpt: "GPT: each place sees what came before, so it can write",
  bert: "BERT: each place sees both sides, so it can fill a gap",
  t5: "T5: one half sees both sides, the other writes",
  prefix: "A wall in one stack: both sides before it, only back after it",
};
const LINES = {
  gpt: "One pass asks every place for its next word. In use, what it tells is its next input: it writes.",
  bert: "Only a hidden word is asked for: to tell a word that stands there would be no task.",
  t5: "Two stacks, each with weights of its own: one reads the text with a gap, the other writes what stood there.",
  prefix: "The shape is T5’s, in one stack. With the wall behind the start it is a GPT’s mask, at the end a BERT’s.",
};
const USES = {
  gpt: "going on from a text",
  bert: "judging a text that is there as a whole",
  t5: "turning one text into another",
  prefix: "going on from a text that is read both ways",
};
const SEES = { may: "sees", cross: "sees, across the two halves,", hidden: "does not see" };

/** What is read, and what each place is asked for (null: nothing). Places before the wall see each other. */
export function passOf({ words, family, place }) {
  const all = words.map((text, at) => ({ text, at }));
  if (family === "bert") {
    const inputs = all.map((one) => (one.at === place ? MASK : one));
    return { inputs, targets: all.map((one) => (one.at === place ? one : null)), wall: all.length };
  }
  if (family === "t5") {
    const source = [...all.slice(0, place), MARK, ...all.slice(place + GAP)];
    const answer = [MARK, ...all.slice(place, place + GAP), END];
    const inputs = [...source, START, ...answer.slice(0, -1)];
    return { inputs, targets: [...source.map(() => null), ...answer], wall: source.length };
  }
  const wall = family === "prefix" ? place + 1 : 1;
  return { inputs: [START, ...all.slice(0, -1)], targets: all.map((one) => (one.at >= wall - 1 ? one : null)), wall };
}

/** Who sees whom: 1 where the row may see the column, else 0. */
export const maskOf = ({ inputs, wall }) =>
  inputs.map((_, i) => inputs.map((__, j) => Number(j <= i || Math.max(i, j) < wall)));

/** A word or a mark in a place. `isOther`: another than before; null: no place of this pass. */
const shown = (one, before) => {
  const text = one?.text ?? NONE;
  return { text, isMark: one !== null && one.at < 0, isOther: before !== undefined && before?.text !== text };
};

/**
 * All that is drawn.
 * @param {any} state  `words`, `family`, `place` @param {any}[before]  what was derived before: what is another now
 *   stays marked until the next change
 */
export function derive({ words, family, place }, before = null) {
  const whole = JSON.stringify([words, family, place]);
  if (before?.whole === whole) return before;
  const pass = passOf({ words, family, place });
  const { inputs, targets, wall } = pass;
  const mask = maskOf(pass);
  const asked = targets.findIndex((one) => one?.at === place);
  const seen = inputs.filter((one, j) => mask[asked][j] && one.at >= 0).map(({ at }) => at);
  const count = words.length + MORE;
  const alike = before?.count === count ? before : null; // a table of the same size
  const own = ({ at }, j) => (family === "t5" ? j > wall : family !== "bert" && at >= place);
  const places = Array.from({ length: count }, (_, i) => {
    if (i >= inputs.length) return null;
    const was = alike?.places[i];
    return {
      reads: shown(inputs[i], alike ? was?.reads : undefined),
      asks: shown(targets[i], alike ? was?.asks : undefined),
      own: own(inputs[i], i),
      isAsked: i === asked,
    };
  });
  const now = { whole, family, inputs, wall, mask, asked, count, places };
  return {
    ...now,
    isFirst: before === null,
    cells: cellsOf(now, alike?.cells),
    before: seen.filter((at) => at < place).length,
    after: seen.filter((at) => at > place).length,
    trained: targets.filter(Boolean).length,
    pairs: sumOf(mask.map(sumOf)),
    word: words[place],
  };
}

/** What a cell is: outside of this pass, hidden, seen, or seen across T5's two stacks. */
function kindOf({ mask, wall, inputs, family }, i, j) {
  if (Math.max(i, j) >= inputs.length) return "off";
  if (!mask[i][j]) return "hidden";
  return family === "t5" && i >= wall && j < wall ? "cross" : "may";
}

/** The cells, row by row. Those whose number is another stay marked, unless most are: then none would stand out. */
function cellsOf(now, before) {
  const { count, wall, inputs, family } = now;
  const all = Array.from({ length: count }, (_, i) => i);
  const walls = family === "t5" || family === "prefix";
  const cells = all.map((i) =>
    all.map((j) => {
      const kind = kindOf(now, i, j);
      const was = before?.[i][j];
      return {
        kind,
        value: now.mask[i]?.[j] ?? 0,
        isFresh: was !== undefined && was.kind !== kind && (kind === "may" || kind === "cross"),
        isWallRight: walls && j === wall - 1 && i < inputs.length,
        isWallBelow: walls && i === wall - 1 && j < inputs.length,
      };
    }),
  );
  const others = cells.flat().filter((cell, i) => before && before.flat()[i].value !== cell.value);
  const stay = before !== undefined && !others.length; // no number has changed: what was marked stays so
  const marked = new Set(2 * others.length > count * count ? [] : others);
  return cells.map((line, i) =>
    line.map((cell, j) => {
      const was = before?.[i][j];
      const now = { ...cell, isChanged: stay ? was.isChanged : marked.has(cell) };
      return was && Object.keys(now).every((key) => now[key] === was[key]) ? was : now; // the same: not drawn again
    }),
  );
}

/** What a screen reader says of each cell. */
export const labelsOf = ({ cells, inputs }) =>
  cells.map((line, i) =>
    line.map(({ kind }, j) =>
      kind === "off" ? null : `${inputs[i].text}, place ${i + 1}, ${SEES[kind]} ${inputs[j].text}, place ${j + 1}`,
    ),
  );

export const titleOf = ({ family }) => TITLES[family];

/** The three facts beside the table. */
export function factsOf({ family, pairs, inputs, trained }) {
  const size = inputs.length;
  return [
    ["pairs that can be seen", `${pairs} of ${size * size}`],
    ["places trained in a pass", `${trained} of ${size}`],
    ["good for", USES[family]],
  ];
}

/** The sentence about the row that is asked for the chosen word. */
export const told = ({ word, family, before, after }) => [
  "To tell ",
  { exact: word },
  ", its place sees ",
  { bold: `${plural(before, "word")} before it` },
  " and ",
  { bold: `${after} after it` },
  `. ${LINES[family]}`,
];

/** What the signs mean. */
export const keyOf = ({ family }) =>
  [
    "✓ the row’s place sees the column’s",
    family === "t5" ? "; ○ it sees it across the two halves, by cross-attention" : "",
    family === "t5" || family === "prefix" ? ". Thick line: the wall." : ".",
    family === "bert" ? "" : " Underlined: in use, written by the model itself.",
  ].join("");
