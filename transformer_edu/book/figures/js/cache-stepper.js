import * as engine from "../../engine/js/engine.js";
import {
  bold,
  bound,
  button,
  choice,
  clamp,
  css,
  div,
  diverging,
  fill,
  format,
  frame,
  gliding,
  h,
  inkOn,
  modelOf,
  named,
  paragraph,
  player,
  plural,
  readable,
  select,
  sentenceLine,
  setOff,
  slider,
  snapshot,
  span,
  special,
  store,
  sub,
  toggle,
  whole,
} from "./core.js";

const TRAITS = /** @type {const} */ ([
  "sentence",
  "step",
  "token",
  "layer",
  "masked",
  "length",
  "recorded",
  "size",
  "line",
  "model_file",
]);
const OPENED = ["sentence", "step", "token", "layer", "masked"];
const MOST = 16; // steps of a sentence
const DIMENSIONS = 4; // of a key that are shown
const MOVED = 1e-3; // a row that changes by less is the same: rounding
const STRONGEST = 4; // a number of this size has the full colour
const BYTES = 4; // of a number in float32
const WAYS = { cached: "with the cache", plain: "without" };
const KINDS = { now: "computed", again: "computed again", kept: "kept", stale: "kept, but stale" };

const triangle = (n) => (n * (n + 1)) / 2;
const rowsSoFar = (step, way) => (way === "cached" ? step : triangle(step));

/**
 * The writing of one sentence. A row is what a layer's cache keeps of a token: its key and its value.
 * @typedef {object} Run
 * @property {string[]} source
 * @property {string[]} reads   the decoder's newest input at each step
 * @property {string[]} writes
 * @property {number[][][]} kept   [layer][token] the first numbers of the key in the cache
 * @property {(step: number, masked: boolean) => {keys: number[][][], moved: number[][]}} again  computed at this step
 *   from all tokens so far, with the causal mask or without: the same numbers of the keys, and how far any number of a
 *   row is from the one that was kept
 */

/** What Python computed of the sentence that the figure opens with. @returns {Run} */
const runBefore = (recorded) => ({
  ...recorded,
  again: (step, masked) => recorded[masked ? "masked" : "unmasked"][step - 1],
});

/** The same, of any sentence. @returns {Run} */
function runOf(model, words) {
  const source = model.source.encode(words.join(" "));
  const [memory, cache, known] = [engine.encode(model, source), engine.startCache(model), {}];
  const ids = engine.greedySearch(model, source, { memory, cache }).ids.slice(0, MOST + 1);
  const written = ids.map((id) => model.target.token(id));
  const keysIn = ({ layers }) =>
    layers.map(({ self }) => engine.rowsOf(self.key).map((row) => row.slice(0, DIMENSIONS)));
  const difference = (a, b, token) =>
    engine
      .rowOf(a, token)
      .reduce((most, value, i) => Math.max(most, Math.abs(value - b.data[token * b.columns + i])), 0);

  /** All tokens up to a step at once, with an empty cache. */
  function compute(step, masked) {
    const [fresh, tokens] = [engine.startCache(model), ids.slice(0, step)];
    engine.decode(model, tokens, memory, { cache: fresh, changes: { unmasked: !masked } });
    const moved = fresh.layers.map(({ self }, layer) =>
      tokens.map((_, token) =>
        Math.max(...["key", "value"].map((name) => difference(self[name], cache.layers[layer].self[name], token))),
      ),
    );
    return { keys: keysIn(fresh), moved };
  }
  return {
    source: words,
    reads: written.slice(0, -1),
    writes: written.slice(1),
    kept: keysIn(cache),
    again: (step, masked) => (known[`${step} ${masked}`] ??= compute(step, masked)),
  };
}

/** Rows through all six projections, and scores of a head, in one layer at one step. @see decoding/cost.py */
function stepWork(step, source, cached) {
  const rows = cached ? 1 : step;
  return { rows: 4 * rows + (step === 1 || !cached ? 2 * source : 0), scores: rows * (step + source) };
}

/** The same for steps 1 to n together. */
function totalWork(n, source, cached) {
  const works = Array.from({ length: n }, (_, i) => stepWork(i + 1, source, cached));
  const sum = (name) => works.reduce((total, work) => total + work[name], 0);
  return { rows: sum("rows"), scores: sum("scores") };
}

/** How many numbers the cache holds: keys and values, of all layers, of the tokens read and the memory. */
const cacheNumbers = (n, source, layers, size) => 2 * layers * (n + source) * size;

/** What has happened to a token's row at a step, when the sentence has come to step `now`. */
function kindOf(way, row, step, now, stale) {
  if (step > now || row > step) return "later";
  if (row === step) return "now";
  if (way === "plain") return "again";
  return step === now && stale[row - 1] ? "stale" : "kept";
}

/** Tokens down the side, steps across: a cell is filled when its row is computed. */
function board(way) {
  const count = h("b", { class: "te-cache-count" });
  const rows = h("div", { class: "te-cache-rows", "aria-hidden": "true", dataset: { board: way } });
  const glide = gliding(([now]) => (count.textContent = whole(Math.round(now))));
  let reads, words, heads, cells;

  function build(given) {
    reads = given;
    words = reads.map((word) => {
      const style = { "--letters": readable(word).length };
      return h("span", { class: `te-cache-word${special(word)}`, style }, readable(word));
    });
    heads = reads.map((_, i) => h("span", { class: "te-cache-head" }, i + 1));
    cells = reads.map(() => reads.map(() => h("span", { class: "te-cache-cell te-glide" })));
    fill(rows, span("te-cache-word"), ...heads, ...cells.flatMap((line, row) => [words[row], ...line]));
  }
  return {
    element: div("te-cache-board", div("te-cache-title", bold(WAYS[way]), span("", count, " rows computed")), rows),
    update(run, { step, token }, stale) {
      if (reads !== run.reads) build(run.reads);
      count.dataset.value = String(rowsSoFar(step, way));
      glide.to([rowsSoFar(step, way)]);
      cells.forEach((line, row) =>
        line.forEach((cell, at) => {
          cell.dataset.kind = kindOf(way, row + 1, at + 1, step, stale);
        }),
      );
      heads.forEach((head, at) => head.classList.toggle("te-cache-present", at === step - 1));
      words.forEach((word, row) => {
        word.classList.toggle("te-cache-present", row === step - 1);
        word.classList.toggle("te-cache-compared", row === token);
      });
    },
  };
}

/** The first numbers of a key: as they are kept, or as they come out now. */
function keyLine(way) {
  const [label, numbers] = [span("te-cache-of"), span("te-cache-numbers")];
  const number = (value) => {
    const colour = diverging(value / STRONGEST);
    const style = { background: css(colour), color: inkOn(colour) };
    return h("span", { class: "te-cache-number", dataset: { value }, style }, format(value), " ");
  };
  return {
    element: h("div", { class: "te-cache-line", role: "group", dataset: { key: way } }, label, numbers),
    /** @param {(Node | string)[]} words @param {number[]} values @param {string}[verdict] */
    update(words, values, verdict = "") {
      fill(label, ...words, " ");
      fill(numbers, ...values.map(number), span("te-cache-verdict", verdict));
    },
  };
}

/** The step in words. */
function story({ step, masked, layer }, { reads, writes }, stale) {
  const start = [
    `Step ${step} of ${reads.length} reads `,
    named(reads[step - 1]),
    " and writes ",
    named(writes[step - 1]),
    ". ",
  ];
  if (step === 1) return [...start, "Nothing is kept yet: both ways compute the one row there is."];
  if (masked)
    return [
      ...start,
      "With the cache it computes the row of ",
      named(reads[step - 1]),
      ` alone. Without, the rows of all ${step} tokens: ${step - 1} of them again, and they come out as before.`,
    ];
  const count = stale.filter(Boolean).length;
  if (count)
    return [
      ...start,
      "Every token now sees ",
      named(reads[step - 1]),
      ", too. Computed again, ",
      `${plural(count, "row")} of layer ${layer + 1} ${count > 1 ? "come" : "comes"} out otherwise: `,
      "the cache is stale.",
    ];
  if (layer) return [...start, `No row of layer ${layer + 1} comes out otherwise at this step.`];
  return [...start, "In layer 1 a row is made of its own token and place alone: it stays, with the mask or without."];
}

/** All projections and scores of one layer, both ways side by side. */
function countsTable() {
  const element = h("div", { class: "te-cache-counts", role: "table", "aria-label": "Work in one decoder layer" });
  const cells = (texts, role) => texts.map((text) => h("span", { role }, text));
  const line = (text, values) =>
    h(
      "div",
      { role: "row" },
      h("span", { role: "rowheader" }, text),
      ...values.map((value) => h("span", { role: "cell", dataset: { value } }, whole(value))),
    );
  return {
    element,
    update(step, source, layers, size) {
      const [now, total] = [stepWork, totalWork].map((work) => [true, false].map((way) => work(step, source, way)));
      fill(
        element,
        h("div", { role: "row" }, h("span", { role: "cell" }), ...cells(["with the cache", "without"], "columnheader")),
        line(
          "rows at this step, all six projections",
          now.map((one) => one.rows),
        ),
        line(
          "rows so far",
          total.map((one) => one.rows),
        ),
        line(
          "scores of a head at this step",
          now.map((one) => one.scores),
        ),
        line(
          "scores of a head so far",
          total.map((one) => one.scores),
        ),
        line(`numbers in the cache, ${plural(layers, "layer")}`, [cacheNumbers(step, source, layers, size), 0]),
      );
    },
  };
}

/** Two bars for a longer sentence, and the price. */
function longerSentence(given, onChange) {
  const length = slider({ label: "steps, n", min: 8, max: 512, step: 8, value: given, onInput: onChange });
  const bars = Object.values(WAYS).map((name) => {
    const [fillBar, sum] = [h("span", { class: "te-glide" }), h("span", { class: "te-cache-sum" })];
    const track = h("span", { class: "te-cache-track", "aria-hidden": "true" }, fillBar);
    return { fillBar, sum, element: div("te-cache-bar", span("", name), track, sum) };
  });
  const note = paragraph("te-note");
  const box = div("te-cache-bars", ...bars.map((bar) => bar.element), note);
  return {
    nodes: [
      div("te-label", "rows through ", sub("W", "K"), " of self-attention in one layer, all steps"),
      length.element,
      box,
    ],
    update(n, source, layers, size) {
      length.set(n);
      const [few, many, numbers] = [n, triangle(n), cacheNumbers(n, source, layers, size)];
      [
        [few, `n = ${whole(few)}`],
        [many, `n(n + 1)/2 = ${whole(many)}`],
      ].forEach(([value, text], i) => {
        bars[i].fillBar.style.width = `${(100 * value) / many}%`;
        bars[i].sum.dataset.value = String(value);
        bars[i].sum.textContent = text;
      });
      fill(
        note,
        `${whole(many / few)} times as many rows without. The price is memory: the cache of ` +
          `${plural(layers, "layer")} then holds `,
        h("span", { dataset: { value: numbers } }, whole(numbers)),
        ` numbers (${plural(source, "source word")}), ` +
          `${whole(Math.round((numbers * BYTES) / 1024))} KiB in float32.`,
      );
    },
    said: () => box.textContent,
  };
}

/** Why a kept row is the one that would be computed. */
function reason(masked, moved) {
  const how = masked ? "" : " without the mask (and the words that were written with it)";
  return [
    "In layer 1 a row comes from its own token and place alone; from layer 2 on, from all tokens that it may " +
      "look at. The causal mask leaves itself and those before it, so no later word can change it. Computed again at " +
      `this step${how}, no number of any key or value differs from the kept one by more than ` +
      `${masked ? `${bound(moved, 6)}, which is rounding` : format(Math.max(...moved))}. An encoder has no such mask: ` +
      "what it computed cannot be kept when a word is added.",
  ];
}

function render({ model: widget, el }) {
  const figure = frame(el, {
    name: "cache-stepper",
    label: "The key-value cache, step by step",
    says: [""],
    invite: ["press Play, or type another sentence. A column is a step, a filled cell a row that it computes."],
  });
  const state = store(widget, TRAITS, draw);
  const start = snapshot(state, OPENED);
  const layers = state.recorded.kept.length;
  const running = modelOf(figure.root, () => engine.loadModel(widget, state.model_file), arrived);
  let [run, untold] = [runBefore(state.recorded), false];
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
  const boards = Object.keys(WAYS).map(board);
  const lines = Object.keys(WAYS).map(keyLine);
  const legend = div(
    "te-cache-legend te-label",
    ...Object.entries(KINDS).map(([kind, name]) =>
      h(
        "span",
        { class: "te-cache-key", dataset: { legend: kind } },
        h("span", { class: "te-cache-cell", dataset: { kind } }),
        name,
      ),
    ),
  );
  const stage = div("te-cache-boards", ...boards.map((one) => one.element));
  const keys = div("te-cache-keys", ...lines.map((one) => one.element));
  figure.stage.append(line.element, stage, legend, keys);

  const last = () => run.reads.length;
  const go = (step) => step >= 1 && step <= last() && change({ step });
  const next = button("Next step", () => go(now().step + 1), { class: "te-button te-primary" });
  const back = button("Back", () => go(now().step - 1));
  const play = player({ figure: figure.root, at: () => now().step, last, go, wait: 800, first: 1 });
  const whose = select({
    label: "Key of",
    value: "",
    options: [],
    onChange: (token) => change({ token: Number(token) }),
  });
  const level = choice({
    label: "Layer whose rows are shown",
    value: state.layer,
    onChange: (layer) => change({ layer }),
    options: state.recorded.kept.map((_, i) => ({ value: i, content: [`layer ${i + 1}`] })),
  });
  const mask = toggle({ label: ["no mask"], value: !state.masked, onChange: (off) => change({ masked: !off }) });
  figure.controls.append(next, back, play.element, whose.element, level.element, mask.element);
  const words = figure.words(2);
  const why = paragraph("te-note");
  const [counts, longer] = [countsTable(), longerSentence(state.length, (length) => change({ length }))];
  let [listed, longerBox, spoken] = [null, null, null];

  function change(changes) {
    state.set(changes);
    running.wake();
  }

  /** Its run; null if it is none, or has to be computed and there is no model yet. */
  function look(sentence) {
    const { words: read, wrong } = line.read(sentence);
    if (wrong || read.join(" ") === run.source.join(" ")) return wrong ? null : run;
    return running.model && runOf(running.model, read);
  }

  /** Another sentence: as far into it as into the one before, at its end if that was at its end. */
  function translate(sentence) {
    const isAtEnd = now().step === last();
    const found = look(sentence);
    run = found ?? run;
    untold = !running.model;
    change({ sentence, ...(found && { step: isAtEnd ? last() : now().step, token: now().token }) });
  }

  function arrived() {
    if (running.model && untold) translate(state.sentence);
    else draw();
  }

  /** What is chosen, within what there is. */
  const now = () => ({
    ...state,
    step: clamp(state.step, 1, last()),
    token: clamp(state.token, 0, last() - 1),
    layer: clamp(state.layer, 0, layers - 1),
  });

  /** Which of the kept rows of a layer would come out otherwise. */
  const staleAt = ({ step, layer, masked }) =>
    run
      .again(step, masked)
      .moved[layer].slice(0, step - 1)
      .map((far) => far > MOVED);

  function finding({ step, masked }, stale) {
    if (step === 1) return "At the first step there is nothing to keep yet";
    if (masked) return `With the cache ${plural(step, "row")} so far, without it ${whole(triangle(step))}`;
    return `Without the causal mask, ${stale.filter(Boolean).length} of ${plural(step - 1, "kept row")} would be stale`;
  }

  /** A token's key both ways, and whether it is one key. */
  function compare({ step, token, layer, masked }) {
    const [word, isNew, { keys, moved }] = [named(run.reads[token]), token === step - 1, run.again(step, masked)];
    if (token >= step) {
      lines[0].update([word, ` is not read before step ${token + 1}.`], []);
      lines[1].update([], []);
      return;
    }
    lines[0].update(
      ["key of ", word, isNew ? ", computed now" : `, kept since step ${token + 1}`],
      run.kept[layer][token],
    );
    lines[1].update(
      [`computed ${isNew ? "now" : "again"}${masked ? "" : ", without the mask"}`],
      keys[layer][token],
      moved[layer][token] > MOVED ? "≠ another" : "= the same",
    );
  }

  function draw() {
    const [found, { wrong }] = [look(state.sentence), line.read(state.sentence)];
    run = found ?? run;
    const shown = now();
    const { step, token, layer, masked } = shown;
    const stale = staleAt(shown);
    stage.style.setProperty("--steps", String(last()));
    boards.forEach((one) => one.update(run, shown, stale));
    legend.classList.toggle("te-cache-masked", masked);
    if (listed !== run.reads) {
      listed = run.reads;
      fill(whose.input, ...listed.map((word, i) => h("option", { value: i }, readable(word))));
    }
    whose.set(String(token));
    level.set(layer);
    mask.set(!masked);
    [setOff(next, step === last()), setOff(back, step === 1)];
    line.update(
      state.sentence,
      Boolean(wrong),
      OPENED.every((name) => state[name] === start[name]),
    );
    figure.says(finding(shown, stale));
    fill(words, ...(running.instead(wrong, !found) ?? story(shown, run, stale)));
    compare(shown);
    fill(why, ...reason(masked, run.again(step, masked).moved.flat()));
    counts.update(step, run.source.length, layers, state.size);
    longer.update(state.length, run.source.length, layers, state.size);
    const parts = [`${masked ? "" : finding(shown, stale)} ${words.textContent}`, keys.textContent, longer.said()];
    if (spoken) figure.announce(parts.filter((part, i) => part !== spoken[i]).join(" "));
    spoken = parts;
    figure.look();
  }
  draw();
  figure.ask(
    [
      {
        ask: ["stop at the step where “without” has computed three times as many rows"],
        done: () => triangle(now().step) === 3 * now().step,
        tell: ["5 rows against 15, and every further column on the right is longer."],
        show: () => change({ ...(last() < 5 && { sentence: start.sentence }), step: 5 }),
      },
      {
        ask: ["make a kept row come out otherwise when it is computed again"],
        done: () => staleAt(now()).includes(true),
        tell: ["Without the mask every token looks at the newest one, too: nothing could be kept."],
        show: () => change({ masked: false, layer: layers - 1, step: last() }),
      },
      {
        ask: ["find a length at which the cache saves 99 of 100 rows (in the last fold)"],
        done: () => triangle(state.length) >= 100 * state.length,
        tell: ["It saves (n − 1)/(n + 1) of them: the longer the text, the more."],
        show: () => {
          longerBox.open = true;
          change({ length: 200 });
        },
      },
    ].filter((_, i) => (i || last() >= 5) && (i !== 1 || layers > 1)),
  );
  figure.details("Why a row can be kept", why);
  longerBox = figure.details("Longer sentences, everything counted, and the price", ...longer.nodes, counts.element);
  return state.dispose;
}

export default { render };
