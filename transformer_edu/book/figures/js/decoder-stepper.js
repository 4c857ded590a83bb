import * as engine from "../../engine/js/engine.js";
import {
  bold,
  bound,
  button,
  choice,
  css,
  div,
  diverging,
  fill,
  fly,
  format,
  frame,
  h,
  inkOn,
  KEYS,
  modelOf,
  named,
  paragraph,
  player,
  plural,
  readable,
  sentenceLine,
  setOff,
  snapshot,
  span,
  store,
  toggle,
  wordSpan,
} from "./core.js";

/** @import { Matrix } from "../../engine/js/matrix.js" */

const TRAITS = /** @type {const} */ ([
  "sentence",
  "path",
  "layer",
  "masked",
  "recorded",
  "line",
  "words",
  "most",
  "size",
  "model_file",
]);
const [START, END] = ["<bos>", "<eos>"];
const LIKELY = 5; // next words with a button
const DIMENSIONS = 4; // of an output that are shown
const SAYS = "What the decoder writes, it reads in its next step";
const COLUMNS = 8; // room for positions that is kept from the beginning
const SHOWN = 0.005; // weights below this print as 0.00: no mention
const MOVED = 1e-3; // an output that changes by less is the same: rounding
const ROWS = 7; // of a list of weights, that it has room for
const STRONGEST = 2; // an output of this size has the full colour

/**
 * What the decoder does with one input, the begin token and some words.
 * @typedef {object} Step
 * @property {number[][]} self   for each layer the newest position's weights, mean of the heads
 * @property {number[][]} cross
 * @property {number[][]} outputs  for each position the first numbers of its output
 * @property {Matrix}[output]   the same, whole, where it was computed here
 * @property {number[]} moved      how far the newest word has moved the outputs of those before it
 * @property {[string, number][]} next  likeliest next words
 * @property {(word: string) => [number, number]} chanceOf  a next word's probability, and its place among all
 */

/** The steps of the decoder, each computed once: those that Python handed over, and with the model any other. */
function stepsOf(recorded, masked) {
  const known = new Map();
  const keyOf = (source, words, isMasked) => JSON.stringify([source, words, isMasked]);
  recorded.steps.forEach((step, i) => {
    const chanceOf = (word) => {
      const place = step.next.findIndex(([other]) => other === word);
      return place < 0 ? word === recorded.written[i] && step.taken : [step.next[place][1], place + 1];
    };
    known.set(keyOf(recorded.source, recorded.written.slice(0, i), masked), { ...step, chanceOf });
  });
  let [model, ids, memories] = [null, null, new Map()];

  function compute(source, words, isMasked) {
    const text = source.join(" ");
    if (!memories.has(text)) {
      memories.set(
        text,
        engine.encode(
          model,
          source.map((word) => model.source.encode(word)[0]),
        ),
      );
    }
    const record = engine.recording();
    const input = [engine.BOS, ...words.map((word) => ids.get(word))];
    const logits = engine.decode(model, input, memories.get(text), { changes: { unmasked: !isMasked }, record });
    const chances = engine.probabilities(engine.rowOf(logits, logits.rows - 1));
    [engine.PAD, engine.BOS].forEach((id) => (chances[id] = -1)); // never written
    const newest = (kind) =>
      Array.from({ length: model.config.num_layers }, (_, layer) => {
        const heads = record.maps[`decoder.${layer}.${kind}`].map((map) => engine.rowOf(map, map.rows - 1));
        return Array.from(heads[0], (__, j) => heads.reduce((sum, head) => sum + head[j], 0) / heads.length);
      });
    const output = record.activations["decoder.output"];
    const before = words.length ? look(source, words.slice(0, -1), isMasked).output : null;
    const difference = (i) =>
      engine
        .rowOf(output, i)
        .reduce((most, value, k) => Math.max(most, Math.abs(value - before.data[i * before.columns + k])), 0);
    return {
      self: newest("self"),
      cross: newest("cross"),
      output,
      outputs: engine.rowsOf(output).map((row) => row.slice(0, DIMENSIONS)),
      moved: words.map((_, i) => difference(i)),
      next: engine.likeliestWords(model, chances, LIKELY),
      chanceOf: (word) => [chances[ids.get(word)], 1 + chances.filter((p) => p > chances[ids.get(word)]).length],
    };
  }

  /** @returns {Step | null} null where it would have to be computed and there is no model yet */
  function look(source, words, isMasked) {
    const key = keyOf(source, words, isMasked);
    if (model && !known.has(key)) known.set(key, compute(source, words, isMasked));
    return known.get(key) ?? null;
  }
  return {
    look,
    /** From now on all is computed. */
    use(one) {
      known.clear();
      model = one;
      ids = new Map(Array.from({ length: model.target.size }, (_, id) => [model.target.token(id), id]));
    },
  };
}

/** One row of the sentence: a label, and a cell for each position. */
function line(label, cells) {
  return h(
    "div",
    { role: "row", class: "te-dec-line" },
    h("span", { role: "rowheader", class: "te-dec-name" }, label),
    ...cells,
  );
}

/** The two rows of words, shifted by one, and the output vectors between them. */
function drawSentence(box, size, { newest, chosen, reads }) {
  const last = reads.length - 1;
  const cell = (i, extra, ...content) =>
    h("span", { role: "cell", class: `te-dec-cell${i === last ? " te-dec-newest" : ""}${extra}` }, ...content);
  const number = (value) => {
    const colour = diverging(value / STRONGEST);
    return h(
      "span",
      { class: "te-dec-number", dataset: { value }, style: { background: css(colour), color: inkOn(colour) } },
      format(value, 1),
    );
  };
  const written = (i) => {
    if (i >= chosen.length) return cell(i, "", span("te-dec-word", "?"));
    const { word, p, first } = chosen[i];
    const own = word !== first;
    return cell(
      i,
      own ? " te-dec-own" : "",
      wordSpan("te-dec-word", word),
      h("span", { class: "te-dec-p", dataset: { value: p } }, own ? "chosen" : format(p)),
    );
  };
  box.style.setProperty("--count", Math.max(COLUMNS, reads.length));
  const moved = (i) => (newest.moved[i] > MOVED ? " te-dec-moved" : "");
  fill(
    box,
    line(
      "reads",
      reads.map((word, i) => cell(i, "", wordSpan("te-dec-word", word))),
    ),
    line(
      span("", "output", span("te-dec-of", `${DIMENSIONS} of ${size} numbers`)),
      newest.outputs.map((output, i) => cell(i, ` te-dec-vector${moved(i)}`, ...output.map(number))),
    ),
    line(
      "writes",
      reads.map((_, i) => written(i)),
    ),
  );
}

/** A bar that glides to its length. */
function bar() {
  const length = span("te-dec-fill te-glide");
  return {
    element: h("span", { class: "te-dec-track", "aria-hidden": "true" }, length),
    set: (share) => (length.style.width = `${(100 * share).toFixed(1)}%`),
  };
}

/** A list of words, each with a bar and its weight. */
function bars(name, title) {
  const list = h("ul", {
    class: "te-dec-bars",
    "aria-label": name === "self" ? "Self-attention" : "Cross-attention",
    dataset: { list: name },
  });
  const items = [];
  const added = () => {
    const [word, weight, length] = [span(), span("te-dec-weight"), bar()];
    const element = h("li", {}, word, length.element, weight);
    items.push({ element, word, weight, length });
  };
  return {
    element: div("te-dec-panel", div("te-dec-heading", ...title), list),
    update(words, weights) {
      while (items.length < words.length) added();
      list.style.setProperty("--rows", String(Math.max(ROWS, words.length)));
      const top = Math.max(...weights);
      weights.forEach((value, i) => {
        const { element, word, weight, length } = items[i];
        element.className = value === top ? "te-dec-top" : "";
        element.dataset.value = String(value);
        fill(word, wordSpan("te-dec-word", words[i]));
        fill(weight, value < SHOWN ? "" : format(value));
        length.set(value);
      });
      const shown = items.slice(0, words.length).map((item) => item.element);
      if (shown.length !== list.children.length) fill(list, ...shown);
    },
  };
}

/** Buttons for the next words, the same ones at every step, so that the focus stays where it is; and any other word. */
function nextWords(onWrite, onTyped) {
  const slots = Array.from({ length: LIKELY }, (_, i) => {
    const [word, weight, length] = [span(), span("te-dec-weight"), bar()];
    const element = h(
      "button",
      { type: "button", class: "te-dec-option", ...KEYS, on: { click: () => onWrite(offered[i][0], word) } },
      word,
      length.element,
      weight,
    );
    return { element, word, weight, length };
  });
  let offered = [];
  const hint = span("te-note");
  const other = h("input", {
    type: "text",
    class: "te-dec-other",
    placeholder: "another word",
    "aria-label": "another next word, then Enter",
    autocomplete: "off",
    autocapitalize: "none",
    spellcheck: "false",
    maxlength: 40,
    ...KEYS,
    on: { input: () => onTyped(wordOf(other)), keydown: ({ key }) => key === "Enter" && onWrite(wordOf(other), other) },
  });
  const wordOf = (field) => field.value.trim().toLowerCase();
  return {
    element: div(
      "te-dec-panel te-dec-next",
      div("te-dec-heading", bold("likeliest next words")),
      h("div", { role: "group", "aria-label": "Next words" }, ...slots.map((slot) => slot.element)),
      div("te-dec-typed", other, hint),
    ),
    /** Where the likeliest word stands, to let it fly from there. */
    first: slots[0].word,
    /** @param {{newest: Step}} step @param {(word: string) => boolean} canWrite */
    update({ newest }, canWrite) {
      offered = newest.next;
      slots.forEach(({ element, word, weight, length }, i) => {
        element.hidden = i >= offered.length;
        if (element.hidden) return;
        const [text, p] = offered[i];
        setOff(element, !canWrite(text));
        element.setAttribute("aria-label", `write ${readable(text)}, probability ${format(p, 4)}`);
        element.dataset.value = String(p);
        fill(word, wordSpan("te-dec-word", text));
        fill(weight, format(p, 4));
        length.set(p);
      });
    },
    /** Nothing is typed any more, or what is to be known of the word that is. */
    typed(/** @type {string} */ text) {
      hint.textContent = text;
      if (!text) other.value = "";
    },
  };
}

/** "le 0.49, petit 0.28", the strongest first. */
function strongest(words, weights) {
  const ranked = words
    .map((word, i) => [word, weights[i]])
    .filter(([, weight]) => weight >= SHOWN)
    .sort((a, b) => b[1] - a[1])
    .slice(0, 2);
  return ranked.flatMap(([word, weight], i) => [i ? ", " : "", span("te-nowrap", named(word), ` ${format(weight)}`)]);
}

/** What the newest position does, in a sentence. */
function story({ layer }, { source, newest, reads, ended, chosen }) {
  if (ended) return ["The end token is written, and the decoder stops: ", bold(reads.slice(1).join(" ")), "."];
  const own = chosen.filter(({ word, first }) => word !== first).at(-1);
  return [
    "The newest position reads ",
    named(reads.at(-1)),
    ". It looks back at ",
    ...strongest(reads, newest.self[layer]),
    " and, in English, at ",
    ...strongest(source, newest.cross[layer]),
    ". ",
    ...(own
      ? [
          "You chose ",
          named(own.word),
          ` (${format(own.p, 4)}, place ${own.place}) in place of `,
          named(own.first),
          ` (${format(own.best, 4)}).`,
        ]
      : []),
  ];
}

/** Why earlier columns stay as they were; and what the model would have done. */
function remark({ masked }, { reads, newest }, own) {
  const before = reads.length - 1;
  const columns = before === 1 ? "The column before it is" : `The ${before} columns before it are`;
  const most = masked ? bound(newest.moved, 6) : format(Math.max(...newest.moved));
  const why = masked
    ? "as they were: a position never looks at later words. Computed again, none of their numbers " +
      `differs by more than ${most}, which is rounding. `
    : `others now, by up to ${most}: without the mask a position looks at later words, too. `;
  const told = before ? `${columns} ${why}` : "Nothing is written yet. ";
  return [told, "Left alone, the model writes ", h("i", {}, own), "."];
}

/** All steps on the way of these words, and what was written at each; null where only the model could tell. */
function walk(steps, source, path, masked) {
  const reads = path.filter((word) => word !== END);
  const on = Array.from({ length: reads.length + 1 }, (_, i) => steps.look(source, reads.slice(0, i), masked));
  const chances = path.map((word, i) => on[i]?.chanceOf(word));
  if ([...on, ...chances].some((one) => !one)) return null;
  const chosen = path.map((word, i) => {
    const [[first, best], [p, place]] = [on[i].next[0], chances[i]];
    return { word, p, place, first, best };
  });
  return { source, newest: on.at(-1), chosen, reads: [START, ...reads], ended: path.at(-1) === END };
}

function render({ model: widget, el }) {
  const figure = frame(el, {
    name: "decoder-stepper",
    label: "Decoding step by step",
    says: [SAYS],
    invite: ["let it write the next word, or choose a less likely one yourself."],
  });
  const state = store(widget, TRAITS, draw);
  const start = snapshot(state, ["sentence", "path", "masked"]);
  const steps = stepsOf(state.recorded, state.masked);
  const running = modelOf(figure.root, () => engine.loadModel(widget, state.model_file), arrived);
  let [step, untold, said] = [walk(steps, state.recorded.source, state.path, state.masked), false, ""];
  const line = sentenceLine({
    opened: state.recorded.source,
    ...state.line,
    wordsOf: engine.wordsOf,
    onChange: translate,
    onAgain() {
      line.set(start.sentence);
      change(start);
    },
  });
  const sentence = h("div", {
    class: "te-dec-sentence",
    role: "table",
    "aria-label": "What the decoder reads and writes at each position",
  });
  const self = bars("self", [bold("self-attention"), " to the French"]);
  const cross = bars("cross", [bold("cross-attention"), " to the English"]);
  const next = nextWords(write, (word) => {
    said = word && aboutWord(word);
    next.typed(said);
    if (said) figure.announce(`${word}: ${said}`);
  });
  const likeliest = () => step.newest.next[0][0];
  const go = button("Write the next word", () => write(likeliest(), next.first), { class: "te-button te-primary" });
  const back = button("Back", () => state.path.length && change({ path: state.path.slice(0, -1) }));
  const erase = button("Erase", () => state.path.length && change({ path: [] }));
  const play = player({
    figure: figure.root,
    at: () => state.path.length,
    last: () => (canWrite(likeliest()) ? Infinity : state.path.length),
    go: (count) => (count ? write(likeliest(), next.first) : change({ path: [] })),
    wait: 1100,
  });
  const layers = choice({
    label: "Layer whose attention is shown",
    value: state.layer,
    onChange: (layer) => change({ layer }),
    options: state.recorded.steps[0].self.map((_, i) => ({ value: i, content: [`layer ${i + 1}`] })),
  });
  const mask = toggle({ label: ["no mask"], value: !state.masked, onChange: (off) => change({ masked: !off }) });
  figure.stage.append(line.element, sentence, div("te-dec-panels", self.element, cross.element, next.element));
  figure.controls.append(go, play.element, back, erase, layers.element, mask.element);
  const words = figure.words(2);
  const note = paragraph("te-note");

  function change(changes) {
    state.set(changes);
    running.wake();
  }

  const canWrite = (word) => !step.ended && (word === END || step.reads.length < state.most);

  /** A word that leaves this place for the one where it is read next. */
  function write(word, from) {
    if (!canWrite(word) || !(state.words.includes(word) || word === END)) return;
    const before = step;
    change({ path: [...step.reads.slice(1), word] });
    next.typed("");
    if (step === before) return; // it has to wait for the model
    const places = sentence.querySelectorAll(`.te-dec-line:${step.ended ? "last" : "first"}-child .te-dec-cell`);
    fly(figure.root, from, [...places].at(-1));
  }

  /** Of a word that is typed: how likely it is to come next. */
  function aboutWord(word) {
    if (!state.words.includes(word)) return `not one of its ${plural(state.words.length, "word")}`;
    const [p, place] = step.newest.chanceOf(word) ?? [];
    return place ? `${format(p, 4)}, place ${place}` : "";
  }

  /** The model's own words after some others, at most so many in all; as far as is known of them. */
  function onwards(source, begun, count = Infinity) {
    const path = [...begun];
    while (path.length < Math.min(count, state.most) && path.at(-1) !== END) {
      const word = steps.look(source, path, state.masked)?.next[0][0];
      if (!word || (word !== END && path.length + 1 >= state.most)) break;
      path.push(word);
    }
    return path;
  }

  /** Another sentence to be read: the model begins anew, and writes as many words as stand there. */
  function translate(sentence) {
    const { words, wrong } = line.read(sentence);
    untold = !running.model;
    const path = wrong || untold ? {} : { path: onwards(words, [], step.ended ? Infinity : step.reads.length - 1) };
    change({ sentence, ...path });
  }

  function arrived() {
    if (!running.model) return draw();
    steps.use(running.model);
    if (untold) translate(state.sentence);
    else draw();
  }

  /** What the picture shows. */
  function finding() {
    const [moved, before] = [step.newest.moved.filter((far) => far > MOVED).length, step.reads.length - 1];
    if (state.masked) return SAYS;
    return before
      ? `Without the mask, the newest word changed ${moved} of ${before} columns before it`
      : "Without the mask, every position looks at later words, too";
  }

  function draw() {
    const { words: read, wrong } = line.read(state.sentence);
    const found = walk(steps, wrong ? step.source : read, state.path, state.masked);
    step = found ?? step;
    drawSentence(sentence, state.size, step);
    self.update(step.reads, step.newest.self[state.layer]);
    cross.update(step.source, step.newest.cross[state.layer]);
    next.update(step, canWrite);
    figure.says(finding());
    const instead = running.instead(wrong, !found);
    layers.set(state.layer);
    mask.set(!state.masked);
    setOff(go, !canWrite(likeliest()));
    for (const one of [back, erase]) setOff(one, !state.path.length);
    figure.rest(() => {
      line.update(state.sentence, Boolean(wrong), isOpened());
      fill(words, ...(instead ?? story(state, step)));
      const own = onwards(step.source, [])
        .filter((word) => word !== END)
        .join(" ");
      fill(note, ...remark(state, step, own));
      figure.tell(
        `${step.source.join(" ")}. ${state.masked ? "" : finding()} Layer ${state.layer + 1}. Written: ` +
          `${step.chosen.map(({ word }) => readable(word)).join(" ") || "nothing"}. ${words.textContent}`,
      );
    });
  }
  const isOpened = () => Object.entries(start).every(([name, value]) => String(state[name]) === String(value));

  draw();
  figure.ask([
    {
      ask: ["make it write a word that it would not have chosen"],
      done: () => step.chosen.some(({ word, first }) => word !== first),
      tell: ["It reads your word like its own, and the next steps follow it."],
      show() {
        const path = step.reads.slice(1, Math.min(step.reads.length, state.most - 1));
        const other = steps.look(step.source, path, state.masked)?.next.find(([word], i) => i && word !== END);
        change({ path: [...path, other?.[0] ?? state.words[0]] });
      },
    },
    {
      ask: ["let it write until it stops"],
      done: () => step.ended,
      tell: ["It stops by writing a token that means: the end."],
      show: () => change({ path: onwards(step.source, []) }),
    },
    {
      ask: ["make a word that it writes change the columns before it"],
      done: () => !state.masked && step.newest.moved.some((far) => far > MOVED),
      tell: ["Without the mask they look at the new word, too: nothing could be kept."],
      show: () => change({ masked: false, path: step.ended ? onwards(step.source, []).slice(0, 3) : state.path }),
    },
  ]);
  figure.details("The columns before, and the model by itself", note);
  return state.dispose;
}

export default { render };
