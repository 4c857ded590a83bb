import {
  appear,
  asToken,
  bold,
  choice,
  div,
  eachCell,
  fill,
  fly,
  frame,
  h,
  matrixGrid,
  numbered,
  paragraph,
  plural,
  sentenceLine,
  snapshot,
  span,
  store,
  sumOf,
} from "./core.js";

const TRAITS = ["words", "family", "place"];
const FAMILIES = { gpt: "GPT", bert: "BERT", t5: "T5", prefix: "prefix" };
const MOST = 10; // words
const GAP = 2; // words of T5's gap, if there are so many
const MORE = 3; // places that T5 needs beyond the words of the sentence
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

/** What is read, and what each place is asked for (null: nothing). Places before the wall see each other. */
function passOf({ words, family, place }) {
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

/** All that is drawn. `mask`: 1 where the row may see the column, else 0. */
function derive(state) {
  const { inputs, targets, wall } = passOf(state);
  const mask = inputs.map((_, i) => inputs.map((_, j) => Number(j <= i || Math.max(i, j) < wall)));
  const asked = targets.findIndex((one) => one?.at === state.place);
  const seen = inputs
    .filter((_, j) => mask[asked][j])
    .map((one) => one.at)
    .filter((at) => at >= 0);
  const own = inputs.map(({ at }, j) =>
    state.family === "t5" ? j > wall : state.family !== "bert" && at >= state.place,
  );
  return {
    inputs,
    targets,
    wall,
    mask,
    asked,
    own,
    before: seen.filter((at) => at < state.place).length,
    after: seen.filter((at) => at > state.place).length,
    pairs: sumOf(mask.map(sumOf)),
    trained: targets.filter(Boolean).length,
  };
}

/** A word or a mark, as it is shown. */
const shownAs = (one) => span(`te-family-word${one.at < 0 ? " te-special" : ""}`, one.text);

/** Put a word or a mark into its place; what was another before stays marked until the next change. */
function put(node, one, marked) {
  const text = one ? one.text : "–";
  const isOther = node.dataset.word !== undefined && node.dataset.word !== text;
  if (node.dataset.word !== text) {
    fill(node, one ? shownAs(one) : text);
    node.title = text;
    node.dataset.word = text;
  }
  node.classList.toggle("te-other", isOther && marked);
  return isOther;
}

/** The table for sentences of this length: what is read, what is asked for, who sees whom. */
function table(count) {
  const labels = numbered(count);
  const grid = matrixGrid({
    name: "mask",
    label: "Who sees whom",
    rows: labels,
    columns: labels,
    showRows: true,
    showColumns: true,
  });
  const [head, ...lines] = grid.element.querySelectorAll("[role=row]");
  const target = (role, text) => h("div", { role, class: "te-header te-family-target" }, text);
  const corner = head.firstChild;
  corner.after(target("columnheader", "asked for"));
  fill(corner, "reads");
  const targets = lines.map((line) => {
    const node = target("gridcell", "");
    line.firstChild.after(node);
    return node;
  });
  const columns = [...head.querySelectorAll("[role=columnheader]")].slice(1);
  return { grid, count, lines, columns, targets, rows: lines.map((line) => line.firstChild), numbers: "" };
}

/** What a cell is: outside of this pass, hidden, seen, or seen across T5's two stacks. */
function kindOf({ mask, wall, inputs }, family, i, j) {
  if (Math.max(i, j) >= inputs.length) return "off";
  if (!mask[i][j]) return "hidden";
  return family === "t5" && i >= wall && j < wall ? "cross" : "may";
}

/** What a screen reader says of each cell. */
function name(built, { family }, now) {
  const verbs = { may: "sees", cross: "sees, across the two halves,", hidden: "does not see" };
  eachCell(built.grid, (cell, i, j) => {
    const verb = verbs[kindOf(now, family, i, j)];
    const [row, column] = [now.inputs[i], now.inputs[j]];
    if (verb) cell.setAttribute("aria-label", `${row.text}, place ${i + 1}, ${verb} ${column.text}, place ${j + 1}`);
  });
}

/** Draw a pass into the table. @returns {Element[]} what is to appear */
function show(built, { family }, now, marked) {
  const { inputs, targets, wall, asked, own } = now;
  const fresh = [];
  const all = numbered(built.count).map((_, i) => i);
  const numbers = all.map((i) => all.map((j) => now.mask[i]?.[j] ?? 0));
  if (built.numbers !== String(numbers)) built.grid.update(numbers, { decimals: 0 });
  built.numbers = String(numbers);
  eachCell(built.grid, (cell, i, j) => {
    const kind = kindOf(now, family, i, j);
    const walls = ["t5", "prefix"].includes(family);
    if (cell.dataset.kind !== kind) {
      if (["may", "cross"].includes(kind) && cell.dataset.kind) fresh.push(cell);
      cell.dataset.kind = kind;
    }
    cell.classList.toggle("te-wall-right", walls && j === wall - 1 && i < inputs.length);
    cell.classList.toggle("te-wall-below", walls && i === wall - 1 && j < inputs.length);
  });
  all.forEach((i) => {
    const off = i >= inputs.length;
    built.lines[i].classList.toggle("te-off", off);
    built.columns[i].classList.toggle("te-off", off);
    if (off) return;
    [built.rows[i], built.columns[i]].forEach((node) => {
      if (put(node, inputs[i], marked)) fresh.push(node);
      node.classList.toggle("te-own", own[i]);
    });
    if (put(built.targets[i], targets[i], marked)) fresh.push(built.targets[i]);
    built.targets[i].classList.toggle("te-asked", i === asked);
  });
  built.grid.highlight({ row: asked });
  return fresh;
}

/** What can be asked of any sentence. */
function questions(state) {
  const now = () => derive(state);
  const last = () => state.words.length - 1;
  return [
    {
      ask: ["let a word be told from what comes after it"],
      done: () => now().after > 0,
      tell: ["Without the causal mask its place sees both sides. So the word itself has to be hidden."],
      show: () => state.set({ family: "bert", place: Math.min(state.place, Math.max(0, last() - 1)) }),
    },
    {
      ask: ["make the prefix model see as a GPT does"],
      done: () => state.family === "prefix" && now().wall === 1,
      tell: ["Only the start stands before the wall: what is left is the causal mask."],
      show: () => state.set({ family: "prefix", place: 0 }),
    },
    {
      ask: ["train as few places as you can in a pass that writes"],
      done: () => state.family === "prefix" && now().trained === 1,
      tell: ["All but one word stand before the wall: they are read, and never asked for."],
      show: () => state.set({ family: "prefix", place: last() }),
    },
  ];
}

/** The three facts beside the table. */
function factsOf({ family }, { pairs, inputs, trained }) {
  const size = inputs.length;
  return [
    ["pairs that can be seen", bold(`${pairs} of ${size * size}`)],
    ["places trained in a pass", bold(`${trained} of ${size}`)],
    ["good for", bold(USES[family])],
  ];
}

/** The sentence about the row that is asked for the chosen word. */
const told = ({ words, family, place }, { before, after }) => [
  "To tell ",
  asToken(words[place]),
  ", its place sees ",
  bold(`${plural(before, "word")} before it`),
  " and ",
  bold(`${after} after it`),
  `. ${LINES[family]}`,
];

/** What the signs mean. */
const keyOf = (family) => [
  "✓ the row’s place sees the column’s",
  ...(family === "t5" ? ["; ○ it sees it across the two halves, by cross-attention"] : []),
  ["t5", "prefix"].includes(family) ? ". Thick line: the wall." : ".",
  ...(family === "bert" ? [] : [" Underlined: in use, written by the model itself."]),
];

const SOURCES = [
  "GPT: Radford and others (2018, 2019). BERT: Devlin and others (2019). T5 and the prefix model beside it: Raffel " +
    "and others (2020, section 3.2).",
  "One wall makes all of them: places before it see each other, those behind it see what came before. A GPT has it " +
    "behind its start, a BERT at the end of the text.",
  "Here one word is hidden, or two stand in the gap. In training BERT hides 15 % of the words, and T5 takes out 15 % " +
    "in several gaps of three words on average.",
];

const asText = ({ words, family, place }) => JSON.stringify([words, family, place]);

/** The line to type in; of more than ten words the first are used. */
function lineOf(state, start, redraw) {
  let many = 0;
  const line = sentenceLine({
    opened: start.words,
    kinds: {},
    most: MOST,
    language: "",
    wordsOf: (text) => text.trim().split(/\s+/).filter(Boolean),
    onChange(sentence) {
      const typed = line.read(sentence).words;
      many = typed.length;
      if (!many) return redraw();
      state.set({ words: typed.slice(0, MOST), place: Math.min(state.place, Math.min(many, MOST) - 1) });
    },
    onAgain() {
      many = 0;
      state.set(structuredClone(start));
    },
  });
  return { line, tooMany: () => many > MOST };
}

function render({ model, el }) {
  const figure = frame(el, {
    name: "family-map",
    label: "Family map",
    says: [""],
    invite: ["choose another family, then another word."],
  });
  const state = store(model, TRAITS, draw);
  const start = snapshot(state, TRAITS);
  const opened = asText(state);
  let [built, before, wordList, listedWords] = [null, "", null, ""];

  const families = choice({
    label: "family",
    value: state.family,
    options: Object.entries(FAMILIES).map(([value, name]) => ({ value, content: [name] })),
    onChange: (family) => state.set({ family }),
  });
  const typing = lineOf(state, start, draw);
  const [tableBox, facts, wordBox] = [div("te-family-table"), h("dl", { class: "te-family-facts" }), div()];
  const key = paragraph("te-note te-family-key");
  figure.stage.append(tableBox, div("te-family-side", facts, key));
  const group = (name, node) => div("te-family-group", span("te-label", name), node);
  figure.controls.append(group("family", families.element), group("word", wordBox), typing.line.element);
  const words = figure.words(2);

  function rebuild() {
    const text = JSON.stringify(state.words);
    if (listedWords === text) return;
    listedWords = text;
    wordList = choice({
      label: "word",
      value: state.place,
      options: state.words.map((word, value) => ({ value, content: [word] })),
      onChange: (place) => state.set({ place }),
    });
    fill(wordBox, wordList.element);
    if (built?.count === state.words.length + MORE) return;
    built = table(state.words.length + MORE);
    fill(tableBox, built.grid.element);
  }

  function draw() {
    const now = derive(state);
    const whole = asText(state);
    const [isOther, length] = [whole !== before, built?.count];
    rebuild();
    families.set(state.family);
    wordList.set(state.place);
    if (isOther) figure.says(TITLES[state.family]);
    const fresh = isOther ? show(built, state, now, Boolean(before) && length === built.count) : [];
    const moved = before && isOther;
    before = whole;
    figure.rest(() => {
      name(built, state, now);
      fill(facts, ...factsOf(state, now).flatMap(([name, value]) => [h("dt", {}, name), h("dd", {}, value)]));
      fill(key, ...keyOf(state.family));
      const wrong = typing.tooMany() ? `Only the first ${MOST} words are used. ` : "";
      fill(words, wrong, ...told(state, now));
      typing.line.update(state.words.join(" "), typing.tooMany(), whole === opened);
      fresh.forEach((node) => appear(node));
      if (moved) fly(figure.root, wordList.buttons[state.place], built.targets[now.asked]);
      figure.tell(`${TITLES[state.family]}. ${words.textContent}`);
    });
  }

  draw();
  figure.ask(questions(state));
  figure.details("Where these masks come from", ...SOURCES.map((text) => paragraph("te-note", text)));
  return state.dispose;
}

export default { render };
