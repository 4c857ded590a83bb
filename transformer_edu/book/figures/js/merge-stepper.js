import {
  appear,
  bold,
  button,
  div,
  fill,
  fly,
  frame,
  h,
  KEYS,
  paragraph,
  player,
  plural,
  setOff,
  slider,
  snapshot,
  span,
  store,
  uniqueId,
} from "./core.js";

const TRAITS = /** @type {const} */ (["text", "step", "new_word"]);
const END = "·";
const MOST_CHARACTERS = 400;
const MOST_WORDS = 30;
const PAIRS_SHOWN = 6;
const wordsIn = (text) => text.split(/\p{White_Space}+/u).filter(Boolean);
const times = (count) => (count === 1 ? "once" : count === 2 ? "twice" : `${count} times`);
/** As Python sorts: by code point, not by UTF-16 unit. */
const byCodePoint = (a, b) => a.codePointAt(0) - b.codePointAt(0);
/** @param {string[]} symbols @returns {[string, string][]} */
const neighbours = (symbols) => symbols.slice(1).map((right, i) => [symbols[i], right]);
/** A pair as a key: what is typed is split at white space, so no symbol contains a space. */
const keyOf = (pair) => pair.join(" ");

/** @typedef {{word: string, count: number, symbols: string[]}} Entry */

/** @param {Entry[]} entries, with their symbols  @returns {Map<string, {pair: [string, string], count: number}>} */
function countPairs(entries) {
  const pairs = new Map();
  for (const { symbols, count } of entries) {
    for (const pair of neighbours(symbols)) {
      const known = pairs.get(keyOf(pair));
      if (known) known.count += count;
      else pairs.set(keyOf(pair), { pair, count });
    }
  }
  return pairs;
}

/** Write the pair as one symbol, from left to right. @param {string[]} symbols @param {[string, string]} pair */
function joinPair(symbols, [left, right]) {
  const joined = [];
  for (const symbol of symbols) {
    if (joined.at(-1) === left && symbol === right) joined[joined.length - 1] += symbol;
    else joined.push(symbol);
  }
  return joined;
}

/**
 * Everything that happens to a text, until every word is one symbol. At stage k, k merges are made: the words as they
 * stand, their pairs, commonest first, and the size of the vocabulary (with <unk>). On a tie the symbols known longest
 * win, first the left one, then the right one: this is the tokenizers library's order.
 */
function learn(words) {
  const counts = new Map();
  words.forEach((word) => counts.set(word, (counts.get(word) ?? 0) + 1));
  let entries = [...counts].slice(0, MOST_WORDS).map(([word, count]) => ({ word, count, symbols: [...word, END] }));
  const characters = [...new Set(entries.flatMap((entry) => entry.symbols))].sort(byCodePoint);
  const age = new Map(characters.map((symbol, i) => [symbol, i]));
  const order = (a, b) =>
    b.count - a.count || age.get(a.pair[0]) - age.get(b.pair[0]) || age.get(a.pair[1]) - age.get(b.pair[1]);
  const [stages, merges] = [[], []];
  for (;;) {
    const pairs = [...countPairs(entries).values()].sort(order);
    stages.push({ entries, pairs, size: age.size + 1 });
    if (!pairs.length) return { stages, merges, characters, known: age, left: counts.size - entries.length };
    const best = pairs[0];
    const symbol = best.pair.join("");
    entries = entries.map((entry) => ({ ...entry, symbols: joinPair(entry.symbols, best.pair) }));
    merges.push({ ...best, symbol });
    if (!age.has(symbol)) age.set(symbol, age.size);
  }
}

/** Cut a word: join the pair of neighbours that was learned first, until none was learned. */
function cut(word, merges) {
  const rank = new Map(merges.map(({ pair }, i) => [keyOf(pair), i]));
  const symbols = [...word, END];
  for (;;) {
    const ranks = neighbours(symbols).map((pair) => rank.get(keyOf(pair)) ?? Infinity);
    const at = ranks.indexOf(Math.min(...ranks));
    if (!Number.isFinite(ranks[at] ?? Infinity)) return symbols;
    symbols.splice(at, 2, symbols[at] + symbols[at + 1]);
  }
}

const spoken = (symbol) =>
  symbol === END ? "end mark" : symbol.endsWith(END) ? `${symbol.slice(0, -1)} with end mark` : symbol;
const chip = (symbol, kind = "") => h("span", { class: `te-bpe-chip ${kind}`, dataset: { symbol } }, symbol);
const sum = ([left, right]) => span("te-bpe-sum", chip(left), " + ", chip(right));
const piecesOf = (word, symbols, latest, /** @type {(symbol: string) => boolean} */ unknown = () => false) =>
  h(
    "span",
    {
      class: "te-bpe-pieces",
      role: "img",
      "aria-label": `${word}: ${symbols.map((s) => spoken(s) + (unknown(s) ? ", unknown" : "")).join(" | ")}`,
    },
    ...symbols.map((symbol) =>
      chip(symbol, unknown(symbol) ? "te-bpe-unknown" : symbol === latest ? "te-bpe-new" : ""),
    ),
  );

/** Why this pair and not another that is as common. */
function tieWords([first, ...others]) {
  const equals = others.filter((other) => other.count === first.count);
  if (!equals.length) return [];
  const second = equals[0].pair;
  const place = first.pair[0] === second[0] ? 1 : 0;
  return [
    bold("A tie"),
    " with ",
    sum(second),
    equals.length > 1 ? ` and ${equals.length - 1} more` : "",
    ": the ",
    place ? "right" : "left",
    " symbol decides, ",
    chip(first.pair[place]),
    " came into the vocabulary before ",
    chip(second[place]),
    ". ",
  ];
}

/** What the last merge did and what the next will be. */
function sentence(course, step) {
  const { pairs } = course.stages[step];
  const last = course.merges[step - 1];
  const done = last
    ? [
        "Merge ",
        step,
        ": ",
        sum(last.pair),
        ", counted ",
        times(last.count),
        ", became ",
        chip(last.symbol, "te-bpe-new"),
        ". ",
      ]
    : ["Each word is cut into its characters; ", chip(END), " marks its end. "];
  if (!course.merges.length) return ["Type some words into the field."];
  if (!pairs.length) return [...done, bold("Every word is one symbol: no pair is left.")];
  return [...done, "Next: ", sum(pairs[0].pair), ", ", times(pairs[0].count), "."];
}

function announcement(course, step) {
  const { pairs, entries, size } = course.stages[step];
  const last = course.merges[step - 1];
  const total = entries.reduce((all, entry) => all + entry.count * entry.symbols.length, 0);
  const next = pairs.length
    ? `Next: ${pairs[0].pair.map(spoken).join(" plus ")}, ${times(pairs[0].count)}.`
    : "No pair is left.";
  const here = last
    ? `Merge ${step} of ${course.merges.length}: ${last.pair.map(spoken).join(" plus ")}.`
    : "No merge yet.";
  return `${here} ${next} Vocabulary ${size}, text ${plural(total, "symbol")}.`;
}

/** The commonest pairs, each with its count as a bar. */
function pairRows(pairs) {
  const cell = (role, ...content) => h("span", { role }, ...content);
  const flag = (i, count) => (i && count < pairs[0].count ? null : span("te-bpe-flag", i ? "tie" : "next"));
  return pairs
    .slice(0, PAIRS_SHOWN)
    .map(({ pair, count }, i) =>
      h(
        "div",
        {
          role: "row",
          class: `te-bpe-pair${i ? "" : " te-bpe-next"}`,
          dataset: { left: pair[0], right: pair[1], count },
        },
        cell("rowheader", sum(pair)),
        cell("cell", bold(count)),
        h(
          "span",
          { role: "cell", class: "te-bpe-track" },
          h("span", { class: "te-bpe-fill", style: { "--share": count / pairs[0].count } }),
          flag(i, count),
        ),
      ),
    );
}

/** A line of text to type in, with its label. */
function field(label, value, maxlength, onInput, /** @type {"input" | "textarea"} */ tag = "input") {
  const id = uniqueId();
  const input = h(tag, {
    id,
    maxlength,
    autocomplete: "off",
    autocapitalize: "off",
    spellcheck: "false",
    class: "te-bpe-input",
    ...KEYS,
    ...(tag === "input" ? { type: "text" } : { rows: 3 }),
  });
  input.value = value;
  input.addEventListener("input", () => onInput(input.value));
  return {
    element: div("te-bpe-field", h("label", { for: id }, label), input),
    set: (text) => {
      if (input.value !== text) input.value = text;
    },
  };
}

/** Questions for any text. */
function questions(state, now) {
  const typed = () => wordsIn(state.new_word);
  return [
    {
      ask: ["merge until no word is cut any more"],
      done: () => now().merges.length > 0 && state.step >= now().merges.length,
      tell: ["Every word is one symbol now, and the vocabulary has grown by a symbol a merge."],
      show: () => state.set({ step: now().merges.length }),
    },
    {
      ask: ["type a new word that is cut without an unknown character"],
      done: () => typed().length > 0 && typed().every((word) => [...word].every((letter) => now().known.has(letter))),
      tell: ["It was never in the text, and yet it can be written."],
      show: () =>
        state.set({
          new_word: [...now().known.keys()]
            .filter((one) => one !== END)
            .slice(0, 4)
            .join(""),
        }),
    },
  ];
}

function render({ model, el }) {
  const figure = frame(el, {
    name: "merge-stepper",
    label: "Merge stepper",
    says: ["The commonest pair of neighbours becomes one symbol"],
    invite: ["press Next merge and watch the words. Then type a text of your own."],
    rest: 400,
  });
  const state = store(model, TRAITS, draw);
  const start = snapshot(state, TRAITS);
  let course,
    of = null,
    shown = null,
    written = []; // of each word what its line shows
  const box = (props) => h("div", props);
  const words = box({
    role: "list",
    "aria-label": "Words of the text, cut into symbols",
    class: "te-bpe-words",
    tabindex: 0,
  });
  const pairs = box({ role: "table", "aria-label": "The commonest pairs of neighbours", class: "te-bpe-pairs" });
  const made = h("ol", { class: "te-bpe-made", "aria-label": "Merges so far, in order", tabindex: 0 });
  const [total, size] = [span(), span()];
  const pieces = box({ class: "te-bpe-cut" });
  const note = span("te-note te-bpe-note");
  const textField = field(
    "Text",
    state.text,
    MOST_CHARACTERS,
    (text) => state.set({ text, step: Math.min(state.step, learn(wordsIn(text)).merges.length) }),
    "textarea",
  );
  const wordField = field("Cut one word", state.new_word, 40, (new_word) => state.set({ new_word }));
  const go = (step) => step >= 0 && step <= course.merges.length && state.set({ step });
  const back = button("Back", () => go(state.step - 1));
  const next = button("Next merge", () => go(state.step + 1), { class: "te-button te-primary" });
  const play = player({ figure: figure.root, at: () => state.step, last: () => course.merges.length, go, wait: 1000 });
  const bar = slider({
    label: "merges",
    min: 0,
    max: 1,
    value: 0,
    format: (step) => `${step} of ${course ? course.merges.length : 0}`,
    onInput: go,
  });
  const reset = button("Reset", () => state.set({ ...start }));
  const titled = (name, title, hint, ...content) =>
    div(`te-bpe-${name}`, div("te-caption", bold(title), span("", hint)), ...content);
  figure.stage.append(
    div("te-bpe-top", textField.element, div("te-bpe-try", wordField.element, pieces, note)),
    div(
      "te-bpe-main",
      titled("left", "words", total, words),
      div(
        "te-bpe-right",
        titled("list", "pairs of neighbours", "how often in the text", pairs),
        titled("list", "merges so far", size, made),
      ),
    ),
  );
  figure.controls.append(next, play.element, back, bar.element, reset);
  const explain = figure.words(2);
  const facts = paragraph("te-note");

  function drawWords({ entries }, latest) {
    const item = (dataset, ...content) => h("div", { role: "listitem", class: "te-bpe-word", dataset }, ...content);
    const made = ({ word, count, symbols }) =>
      item({ word, count }, span("te-bpe-count", `${count} ×`), piecesOf(word, symbols, latest));
    const next = entries.map(({ word, count, symbols }) =>
      JSON.stringify([word, count, symbols, symbols.includes(latest) && latest]),
    );
    if (next.length !== written.length) fill(words, ...entries.map(made));
    else next.forEach((one, i) => one !== written[i] && words.children[i].replaceWith(made(entries[i])));
    written = next;
  }

  /** The merges that are made: a longer list keeps what it has. */
  function drawMade(merges) {
    while (made.children.length > merges.length) made.lastChild.remove();
    merges
      .slice(made.children.length)
      .forEach(({ pair, symbol }) =>
        made.append(
          h(
            "li",
            { dataset: { left: pair[0], right: pair[1] } },
            span("te-note", `${made.children.length + 1} `),
            chip(symbol),
          ),
        ),
      );
    [...made.children].forEach((one, i, all) =>
      one.lastElementChild.classList.toggle("te-bpe-new", i === all.length - 1),
    );
  }

  function drawFacts(stage) {
    const symbols = (of) => of.reduce((all, entry) => all + entry.count * entry.symbols.length, 0);
    const fact = (name, value) => h("b", { dataset: { name, value } }, value);
    const [now, before] = [symbols(stage.entries), symbols(course.stages[0].entries)];
    fill(total, fact("total", now), ` symbols in all; ${END} marks a word’s end`);
    fill(size, "vocabulary: ", fact("vocabulary", stage.size), " different symbols");
    fill(
      facts,
      `The text began with ${before} symbols. `,
      `The vocabulary has ${course.characters.length} characters with `,
      `·, <unk>, and ${stage.size - 1 - course.characters.length} that were merged. `,
      ...(stage.pairs.length ? tieWords(stage.pairs) : []),
      "On a tie the symbol that came into the vocabulary first wins: characters by code point (a before b before ·), ",
      "then the merges in their order.",
    );
  }

  function drawNewWord(merges) {
    const typed = wordsIn(state.new_word);
    const unknown = (symbol) => !course.known.has(symbol);
    fill(pieces, ...typed.map((word) => piecesOf(word, cut(word, merges), "", unknown)));
    const strange = [...new Set(typed.flatMap((word) => [...word]).filter(unknown))];
    const why = strange.length
      ? `${strange.join(", ")} ${strange.length > 1 ? "are" : "is"} not in the text, so ` +
        `${strange.length > 1 ? "each" : "it"} becomes <unk>`
      : "every character is known";
    fill(note, typed.length ? `“${state.new_word.trim()}”: ${why}` : "");
  }

  /** One merge further, the new symbols appear, and one of them goes to the list of merges. */
  function moved() {
    const symbols = [...words.querySelectorAll(".te-bpe-new")];
    symbols.forEach((symbol) => appear(symbol));
    if (symbols.length) fly(figure.root, symbols[0], made.lastElementChild);
  }

  function draw() {
    if (of !== state.text) {
      [course, of, shown] = [learn(wordsIn(state.text)), state.text, null];
      fill(made);
    }
    const step = Math.min(state.step, course.merges.length);
    const stage = course.stages[step];
    const merges = course.merges.slice(0, step);
    drawWords(stage, merges.at(-1)?.symbol);
    fill(
      pairs,
      ...(stage.pairs.length
        ? pairRows(stage.pairs)
        : [h("div", { role: "row" }, h("span", { role: "cell", class: "te-note" }, "none left"))]),
    );
    drawMade(merges);
    [textField.set(state.text), wordField.set(state.new_word)];
    bar.input.max = String(course.merges.length);
    bar.set(step);
    setOff(back, step === 0);
    setOff(next, step === course.merges.length);
    made.scrollTop = made.scrollHeight; // after all changes, for it asks where everything stands
    if (shown !== null && step > shown) moved();
    shown = step;
    figure.rest(() => {
      fill(
        explain,
        ...sentence(course, step),
        course.left ? bold(` Only the first ${MOST_WORDS} different words are used.`) : null,
      );
      drawFacts(stage);
      drawNewWord(merges);
      figure.tell(`${announcement(course, step)} ${note.textContent}`);
    });
  }

  draw();
  figure.ask(questions(state, () => course));
  figure.details("How much is known, and which pair wins a tie", facts);
  return state.dispose;
}

export default { render };
