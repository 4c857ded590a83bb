import * as engine from "../../engine/js/engine.js";
import {
  asToken,
  bold,
  choice,
  clamp,
  div,
  diverging,
  dot,
  fill,
  format,
  frame,
  gliding,
  h,
  matrixGrid,
  modelOf,
  paragraph,
  player,
  sentenceLine,
  span,
  store,
  sumOf,
} from "./core.js";
import { pictureOf, planeOf } from "./parts/plane.js";

const TRAITS = /** @type {const} */ ([
  "sentence",
  "other",
  "also",
  "pair",
  "level",
  "levels",
  "readings",
  "unit",
  "line",
  "model_file",
]);
const GIVEN = 2; // levels before the first layer: embedding, + position
const FAR = 0.9; // a cosine below this: two directions
const NEAR = 0.98; // above: hardly moved
const FRENCH = { the: ["le", "la", "les"], a: ["un", "une"] }; // articles, one for each of the English ones

/**
 * Sentences, and what a model makes of them.
 * @typedef {object} Vectors
 * @property {string[][]} sentences  the first one, the others that were given, and last the reader's own if it is none
 *   of them
 * @property {string[]} translations
 * @property {string[]} levels  their names
 * @property {(where: {sentence: number, place: number}, level: number) => number[]} at  a word's vector
 *
 * @typedef {{translation: string, at: (place: number, level: number) => number[], knows?: (place: number) => boolean}}
 *   Reading  of one sentence; `knows`: the places whose vectors are there, if not all are
 */

/** Read a sentence. @returns {Reading} */
function readingOf(model, words, levels) {
  const [ids, record] = [model.source.encode(words.join(" ")), engine.recording()];
  engine.encode(model, ids, { record });
  return {
    translation: model.target.decode(engine.greedySearch(model, ids).ids),
    at: (place, level) => [...engine.rowOf(record.activations[levels[level][0]], place)],
  };
}

/** What was read before the page: of one word. @returns {Reading} */
function readingBefore({ translation, vectors }, unit) {
  const known = new Map(vectors);
  return {
    translation,
    knows: (place) => known.has(place),
    at: (place, level) => known.get(place)[level].map((number) => number * unit),
  };
}

/** Two occurrences of a word at one level. */
function compare(vectors, one, other, level) {
  const [a, b] = [one, other].map((where) => vectors.at(where, level));
  const [lengthA, lengthB] = [Math.hypot(...a), Math.hypot(...b)];
  const distance = Math.hypot(...a.map((value, i) => value - b[i]));
  return { distance, cosine: dot(a, b) / (lengthA * lengthB), relative: (2 * distance) / (lengthA + lengthB) };
}

/** Every occurrence of a word in all sentences. */
const occurrences = (sentences, word) =>
  sentences.flatMap((words, sentence) =>
    words.flatMap((other, place) => (other === word ? [{ sentence, place }] : [])),
  );

const same = (a, b) => a.sentence === b.sentence && a.place === b.place;

/** The place of the word nearest to this one that the other sentence has not, else of a neighbour. */
const markPlace = (mine, other, place) =>
  mine
    .map((word, at) => ({ word, at, far: Math.abs(at - place) }))
    .filter(({ word }) => !other.includes(word))
    .sort((a, b) => a.far - b.far)[0]?.at ?? (place + 1 < mine.length ? place + 1 : place - 1);

/** Where the French of this word stands in the translation: known of articles only, -1 of other words. */
function frenchPlace({ sentences, translations }, { sentence, place }) {
  const words = sentences[sentence];
  const articles = FRENCH[words[place]] ?? [];
  const count = words.slice(0, place).filter((word) => word === words[place]).length;
  const places = translations[sentence].split(" ").flatMap((word, i) => (articles.includes(word) ? [i] : []));
  return places[count] ?? -1;
}

/** A word in its sentence, told from another one: "the … cat → le". */
function inContext(vectors, where, other) {
  const { sentence, place } = where;
  const words = vectors.sentences[sentence];
  const at = markPlace(words, vectors.sentences[other.sentence], place);
  const gap = Math.abs(at - place) > 1 ? " … " : " ";
  const french = vectors.translations[sentence].split(" ")[frenchPlace(vectors, where)];
  const text = (at < 0 ? [words[place]] : at < place ? [words[at], words[place]] : [words[place], words[at]]).join(gap);
  return {
    side: at < 0 ? "alone" : `${at < place ? "after" : "before"} ${words[at]}`,
    text: french ? `${text} → ${french}` : text,
  };
}

/**
 * The number of each occurrence’s sentence, with a letter where the word stands there twice.
 */
const numbersOf = (found) =>
  found.map(({ sentence }, i) => {
    const twins = found.flatMap((other, j) => (other.sentence === sentence ? [j] : []));
    return `${sentence + 1}${twins.length > 1 ? "abcdefgh"[twins.indexOf(i)] : ""}`;
  });

/** A sentence with one of its words marked. */
const withWord = (words, place) =>
  span("te-ctx-text", ...words.flatMap((word, i) => [i ? " " : "", i === place ? bold(word) : word]));

/** What has happened to the word, in words. */
function story(word, [one, other], values, level) {
  const start = ["Every ", asToken(word), " starts from one embedding. "];
  const place =
    one.place === other.place
      ? "These two stand at one place, so the position does not part them. "
      : `Word ${one.place + 1} here, word ${other.place + 1} there: the position alone takes the likeness to ` +
        `${format(values[1].cosine, 3)}. `;
  const what = one.place === other.place ? "their likeness" : "it";
  const verb = values[level].cosine > NEAR ? `left ${what} at` : `taken ${what} to`;
  const layers =
    level < GIVEN ? "" : `The layers, which see the other words, have ${verb} ${format(values[level].cosine, 3)}.`;
  return [...start, place, layers];
}

/** Questions that some word in some sentence answers; the first state is none of their answers. */
function questions(read, all, change) {
  const begin = read();
  const cosine = ({ vectors, one, other }, level) => compare(vectors, one, other, level).cosine;
  const last = begin.vectors.levels.length - 1;
  return [
    {
      ask: ["find a word that the other sentence hardly moves"],
      fits: (now) => now.word !== begin.word && cosine(now, last) > NEAR,
      tell: ["Its likeness stays near 1: what differs there does not matter to it."],
    },
    {
      ask: ["find a sentence that leaves ", asToken(begin.word), " nearly as it was"],
      fits: (now) => now.word === begin.word && now.other.sentence !== 0 && cosine(now, last) > 0.95,
      tell: ["Compare the translations: there the word is said in the same way."],
    },
    {
      ask: ["find a word that has moved before the first layer"],
      fits: (now) => cosine(now, 1) < 0.99,
      tell: ["It stands at another place: the position alone moves it."],
    },
  ]
    .filter(({ fits }) => !fits(begin))
    .map(({ ask, fits, tell }) => ({
      ask,
      tell,
      done: () => fits(read()),
      show: () => change(() => all().find(fits)),
    }));
}

const textOf = (words) => words.join(" ");

function render({ model: widget, el }) {
  const figure = frame(el, {
    name: "context-explorer",
    label: "One word in two sentences",
    says: [""],
    invite: ["press Play, and follow the points. Then type another noun: which words does it move?"],
    rest: 500,
  });
  const state = store(widget, TRAITS, draw);
  const levels = state.levels.map(([, name]) => name);
  const last = levels.length - 1;
  const given = [state.sentence, state.other, ...state.also].map((text) => text.split(" "));
  const first = given[0];
  const begun = { other: state.other, pair: state.pair, level: state.level };
  const readings = new Map(given.map((words, i) => [textOf(words), readingBefore(state.readings[i], state.unit)]));
  const running = modelOf(figure.root, () => engine.loadModel(widget, state.model_file), draw);
  const planes = {};
  let own = []; // the reader's sentence, if it is none of those
  let view = viewOf(given[1], state.pair);
  let built, builtWords, rows, wordList, plane, found, details;

  const line = sentenceLine({
    opened: given[1],
    ...state.line,
    wordsOf: engine.wordsOf,
    onChange: (text) => change({ other: text }),
    onAgain() {
      own = [];
      line.set(begun.other);
      change(begun);
    },
  });
  const picture = pictureOf(choose);
  const movement = gliding(([t]) => picture.move(clamp(t, 0, last)), 400);
  const listBox = div("te-ctx-list");
  const wordBox = div();
  const cosines = levels.map(() => h("b", { dataset: { measure: "cosine" } }));
  const steps = choice({
    label: "How far through the encoder",
    class: "te-ctx-levels",
    value: state.level,
    options: levels.map((name, i) => ({ value: i, content: [span("", name), cosines[i]] })),
    onChange: (level) => level !== state.level && change({ level }),
  });
  const play = player({
    figure: figure.root,
    at: () => state.level,
    last: () => last,
    go: (level) => change({ level }),
    wait: 1100,
  });
  const words = figure.words(2);
  const [gridBox, apart] = [div("te-ctx-grid"), paragraph("te-note")];

  function change(changes) {
    state.set(changes);
    running.wake();
  }

  /** What the model makes of a sentence: known before, or computed once. */
  function reading(sentence) {
    const key = textOf(sentence);
    if (running.model && readings.get(key)?.knows) readings.delete(key); // of one word only
    if (running.model && !readings.has(key)) readings.set(key, readingOf(running.model, sentence, state.levels));
    return readings.get(key);
  }

  /** A word in the first sentence and in another one. */
  function viewOf(second, [place, there]) {
    const isIn = (words) => textOf(words) === textOf(second);
    if (!given.some(isIn)) own = [second];
    const sentences = [...given, ...own];
    const vectors = {
      sentences,
      levels,
      get translations() {
        return sentences.map((words) => reading(words).translation);
      },
      at: ({ sentence, place: where }, level) => reading(sentences[sentence]).at(where, level),
    };
    const sentence = sentences.findIndex(isIn);
    return { vectors, word: first[place], one: { sentence: 0, place }, other: { sentence, place: there } };
  }

  /** Whether all vectors of the word are there. */
  const isKnown = ({ vectors, word }) =>
    running.model ||
    occurrences(vectors.sentences, word).every(({ sentence, place }) =>
      readings.get(textOf(vectors.sentences[sentence]))?.knows?.(place),
    );

  /** Places of a word that both sentences have, the nearest to those compared now. */
  function pairIn(second) {
    const same = textOf(second) === textOf(first);
    const pairs = first.flatMap((word, i) =>
      second.flatMap((one, j) => (one === word && !(same && i === j) ? [[i, j]] : [])),
    );
    const word = first[state.pair[0]];
    const far = ([i, j]) => 100 * +(first[i] !== word) + 10 * +(i !== state.pair[0]) + +(j !== state.pair[1]);
    return pairs.sort((a, b) => far(a) - far(b))[0];
  }

  /** What is to be shown, and what is wrong with the sentence. */
  function compute() {
    const { words: second, wrong } = line.read(state.other);
    if (wrong) return wrong;
    const pair = pairIn(second);
    if (!pair) return ["It shares no word with ", h("i", {}, state.sentence), ", so there is nothing to compare."];
    const next = viewOf(second, pair);
    if (isKnown(next)) view = next;
    return null;
  }

  /** Another occurrence of the word: it brings its sentence into the line. */
  function choose(i) {
    if (!same(found[i], view.one)) goTo({ ...view, other: found[i] });
  }

  function goTo({ vectors, one, other }) {
    const text = textOf(vectors.sentences[other.sentence]);
    line.set(text);
    change({ other: text, pair: [one.place, other.place] });
  }

  function changeWord(word) {
    const second = view.vectors.sentences[view.other.sentence];
    const place = first.indexOf(word);
    const there = second.flatMap((one, j) => (one === word && (view.other.sentence || j !== place) ? [j] : []));
    change({ pair: [place, there.includes(place) ? place : there[0]] });
  }

  /** Every word of the first sentence beside each of the same in the given ones. */
  const everyPair = () =>
    given.flatMap((second) =>
      first.flatMap((word, i) =>
        second.flatMap((one, j) => (one === word && (second !== first || i !== j) ? [viewOf(second, [i, j])] : [])),
      ),
    );

  function rebuild({ vectors, word, one }) {
    const key = JSON.stringify([vectors.sentences, word, one]);
    if (key === built) return;
    built = key;
    found = occurrences(vectors.sentences, word);
    const fixed = found.filter(({ sentence }) => sentence < given.length);
    const axes = fixed.length > 1 ? (planes[word] ??= planeOf(vectors, fixed)) : planeOf(vectors, found);
    plane = { ...axes, at: levels.map((_, level) => found.map((where) => axes.of(vectors.at(where, level), level))) };
    picture.build(plane, found);
    const { sentences, translations } = vectors;
    const numbers = numbersOf(found);
    const row = ({ sentence, place }, number) => [
      span("te-ctx-number", number),
      withWord(sentences[sentence], place),
      h("i", {}, withWord(translations[sentence].split(" "), frenchPlace(vectors, { sentence, place }))),
    ];
    const told = ({ sentence, place }) => `${sentence + 1} ${textOf(sentences[sentence])}, word ${place + 1}`;
    const others = found.flatMap((where, i) => (same(where, one) ? [] : [i]));
    rows = choice({
      label: `Compared with sentence ${one.sentence + 1}`,
      class: "te-ctx-rows",
      value: null,
      options: others.map((i) => ({ value: i, content: row(found[i], numbers[i]), label: told(found[i]) })),
      onChange: choose,
    });
    rows.buttons.forEach((button, at) => {
      const hint = (on) => () => picture.hint(others[at], on);
      ["pointerenter", "focus"].forEach((event) => button.addEventListener(event, hint(true)));
      ["pointerleave", "blur"].forEach((event) => button.addEventListener(event, hint(false)));
    });
    const mine = numbers[found.findIndex((each) => same(each, one))];
    fill(listBox, div("te-ctx-row", ...row(one, mine)), div("te-label", "compared with"), rows.element);
  }

  /** The words that both sentences have. */
  function rebuildWords(second) {
    const both = [...new Set(first)].filter((word) =>
      second.some((one, j) => one === word && (textOf(second) !== textOf(first) || first.indexOf(word) !== j)),
    );
    if (both.join() === builtWords) return;
    builtWords = both.join();
    wordList = choice({
      label: "Word",
      class: "te-ctx-words",
      value: "",
      options: both.map((word) => ({ value: word, content: [word] })),
      onChange: (word) => word !== view.word && changeWord(word),
    });
    fill(wordBox, wordList.element);
  }

  /** Cosines of every word that both sentences have. */
  function table() {
    if (!running.model) return;
    const {
      vectors,
      other: { sentence },
    } = view;
    const second = vectors.sentences[sentence];
    const pairs = first.flatMap((word, a) => second.flatMap((one, b) => (word === one ? [[a, b]] : [])));
    const grid = matrixGrid({
      name: "cosines",
      label: "cosine of each word's two vectors, by level",
      rows: pairs.map(([a, b]) => (a === b ? first[a] : `${first[a]} ${a + 1}|${b + 1}`)),
      columns: levels,
      showRows: true,
      showColumns: true,
    });
    const values = pairs.map(([a, b]) =>
      levels.map((_, level) => compare(vectors, { sentence: 0, place: a }, { sentence, place: b }, level).cosine),
    );
    grid.update(values, { decimals: 3, colour: (cosine) => diverging(Math.min(1, 2 * (1 - cosine))) });
    fill(gridBox, grid.element);
  }

  function draw() {
    const wrong = compute();
    const { vectors, word, one, other } = view;
    rebuild(view);
    rebuildWords(vectors.sentences[other.sentence]);
    const values = levels.map((_, level) => compare(vectors, one, other, level));
    const end = values[last].cosine;
    const chosen = [one, other].map((where) => found.findIndex((each) => same(where, each)));
    const names = found.map((where, i) => inContext(vectors, where, i === chosen[0] ? other : one));
    const shown = format(100 * sumOf(plane.shares), 0);
    const out = end < FAR ? "two out" : end > NEAR ? "nearly one out" : "two near ones out";
    figure.says(asToken(word), ` ${chosen.map((i) => names[i].side).join(" and ")}: one vector in, ${out}`);
    const at = `${levels[state.level]}: likeness (cosine) ${format(values[state.level].cosine, 3)}`;
    picture.show(
      plane,
      state.level,
      chosen,
      names.map(({ text }) => text),
      numbersOf(found),
      `“${word}” in all sentences, as points; ${at}. The plane shows ${shown} % of the variance.`,
    );
    movement.to([state.level]);
    values.forEach(({ cosine }, level) => {
      cosines[level].dataset.value = cosine;
      cosines[level].textContent = format(cosine, 3);
    });
    steps.set(state.level);
    wordList.set(word);
    rows.set(chosen[1]);
    const { distance, relative } = values[state.level];
    fill(
      apart,
      `At the level ${levels[state.level]} the two are `,
      h("b", { dataset: { measure: "distance", value: distance } }, format(distance)),
      ` apart, ${format(100 * relative, 0)} % of their length. Directions of the plane: → the ` +
        `first, ${format(100 * plane.shares[0], 0)} % of the variance; ↑ the second, ` +
        `${format(100 * plane.shares[1], 0)} %. A ring under one of the two points is left out: “with 5”.`,
    );
    const isOpened = state.other === begun.other && state.pair.join() === begun.pair.join();
    line.update(state.other, Boolean(wrong), isOpened);
    fill(words, ...(running.instead(wrong, !isOpened) ?? story(word, [one, other], values, state.level)));
    if (details?.open) table();
    const which = `sentences ${one.sentence + 1} and ${other.sentence + 1}`;
    figure.tell(`${word}, ${which}, ${at}. ${words.textContent}${isOpened ? "" : ` ${state.other}`}`);
  }

  const playing = div("te-ctx-play", play.element, span("te-label", "likeness of the two (cosine; 1 is alike):"));
  figure.stage.append(line.element, div("te-ctx-body", div("", picture.element, playing, steps.element), listBox));
  figure.controls.append(div("te-ctx-choose", span("te-label", "word"), wordBox));
  draw();
  figure.ask(
    questions(
      () => view,
      everyPair,
      (find) =>
        running.whenReady(() => {
          const answer = find();
          if (answer) goTo(answer);
        }),
    ),
  );
  details = figure.details(
    "All cosines, and how the plane is chosen",
    gridBox,
    apart,
    paragraph(
      "te-note",
      "The plane is the same for all levels: the two principal components of the word’s states in the sentences given " +
        "with the figure, each less the mean of its level, so that what moves all alike does not show. What differs " +
        "outside the plane is not seen; cosine and distance are of the whole vectors.",
    ),
  );
  details.addEventListener("toggle", () => details.open && running.whenReady(table));
  return () => {
    movement.stop();
    play.stop();
    state.dispose();
  };
}

export default { render };
