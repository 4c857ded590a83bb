import * as engine from "../../engine/js/engine.js";
import {
  asToken,
  bold,
  button,
  choice,
  cividis,
  clamp,
  css,
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
  readable,
  sentenceLine,
  setOff,
  span,
  store,
  whole,
} from "./core.js";
import { blockOf, describe, LAYERS, pathOf, split, steps } from "./parts/blocks.js";
import { drawing } from "./parts/drawing.js";

const TRAITS = /** @type {const} */ ([
  "sentence",
  "trace",
  "block",
  "source_token",
  "target_token",
  "source_name",
  "target_name",
  "line",
  "model_file",
]);
const LIKELY = 5; // words with their scores and probabilities
const SCALE = 3; // activations beyond ±3 get the strongest colour
const SHOWN = 0.05; // attention weights below this are not named in the sentence
const SHADES = Array.from({ length: 256 }, (_, i) => diverging(i / 127.5 - 1));
const CHAPTERS = {
  3: ["03-tokens-and-embeddings", "Tokens and embeddings"],
  4: ["04-positional-encoding", "Positional encoding"],
  5: ["05-normalization", "Normalization"],
  6: ["06-attention", "Attention"],
  7: ["07-multi-head-attention", "Multi-head attention"],
  8: ["08-feed-forward-and-residuals", "Feed-forward and residuals"],
  9: ["09-encoder", "The encoder"],
  10: ["10-decoder", "The decoder"],
  11: ["11-the-transformer", "The Transformer"],
  13: ["13-training", "Training"],
};
const quoted = (word) => asToken(readable(word));
const numbers = (rows, scale) => rows.map((row) => row.split(" ").map((number) => Number(number) / scale));
const mapValues = (values, f) => Object.fromEntries(Object.entries(values).map(([name, value]) => [name, f(value)]));

/**
 * One sentence's numbers: `activations[block][row]`, `weights[block][head][row]`, the likeliest words of each row, with
 * the model's sizes and its counts of parameters.
 * @typedef {{sizes: any, parameters: any, [part: string]: any}} Trace
 */

/** As Python wrote it: of the block that is open at first. @returns {Trace} */
const readTrace = (trace) => ({
  ...trace,
  activations: mapValues(trace.activations, (rows) => numbers(rows, 100)),
  weights: mapValues(trace.weights, (heads) => heads.map((rows) => numbers(rows, 10000))),
});

/** Computed here: of all blocks, as many written words as the figure draws. @returns {Trace} */
function traceOf(model, words, most, { sizes, parameters }) {
  const { source, ids } = engine.translate(model, words.join(" "), { most });
  const { activations, maps, logits } = engine.forward(model, source, ids.slice(0, -1));
  return {
    source_tokens: words,
    target_tokens: ids.slice(1).map((id) => model.target.token(id)),
    sizes,
    parameters,
    activations: mapValues(activations, engine.rowsOf),
    weights: mapValues(maps, (heads) => heads.map(engine.rowsOf)),
    candidates: engine.rowsOf(logits).map((scores) => {
      const chances = engine.probabilities(Float32Array.from(scores));
      return engine.highest(scores, LIKELY).map((id) => [model.target.token(id), scores[id], chances[id]]);
    }),
  };
}
const rms = (row) => bold(format(Math.sqrt(dot(row, row) / row.length)));
/** The words that an attention looks at. */
function keysOf(block, trace) {
  const { stack, part } = split(block);
  const source = stack === "encoder" || part === "cross";
  return source ? trace.source_tokens : steps(trace.target_tokens).map(([input]) => input);
}

/** "black 0.98, cat 0.01": the mean of the heads, strongest first. */
function looks(rows, keys) {
  const mean = keys.map((word, j) => [word, rows.reduce((sum, row) => sum + row[j], 0) / rows.length]);
  const ranked = mean
    .filter(([, weight]) => weight >= SHOWN)
    .sort((a, b) => b[1] - a[1])
    .slice(0, 3);
  return ranked.flatMap(([word, weight], i) => [i ? ", " : "", span("te-nowrap", quoted(word), ` ${format(weight)}`)]);
}

/** What the block does to the followed word. */
function followed(block, state, path) {
  const { trace } = state;
  const { stack, part, attends } = split(block);
  const reads = stack === "encoder";
  const at = reads ? state.source_token : state.target_token;
  const word = trace[reads ? "source_tokens" : "target_tokens"][at];
  const [input] = steps(trace.target_tokens)[state.target_token];
  const row = (name) => trace.activations[name][at];
  const who = reads ? [quoted(word)] : [quoted(input), " → ", quoted(word)];
  if (attends) {
    const rows = trace.weights[block].map((head) => head[at]);
    return [
      ...(reads ? [quoted(word)] : ["To write ", quoted(word), ", this layer"]),
      " looks at ",
      ...looks(rows, keysOf(block, trace)),
      ` (mean of the ${rows.length} heads).`,
    ];
  }
  if (part === "embedding")
    return reads
      ? [quoted(word), " is looked up: its numbers are the outlined row."]
      : [
          at ? "The word just written, " : "The begin token, ",
          quoted(input),
          ", is looked up. Its row has to become the next word, ",
          quoted(word),
          ".",
        ];
  if (part === "positional")
    return [
      quoted(reads ? word : input),
      ` stands at position ${at} (counted from 0) and gets that position’s pattern.`,
    ];
  if (part === "feed_forward")
    return ["For ", ...who, " numbers with an RMS of ", rms(row(block)), " come out, made from its own row alone."];
  if (part.startsWith("after")) {
    const here = path.indexOf(block);
    const [into, added, after] = [path[here - 2], path[here - 1], block].map((name) => rms(row(name)));
    return [
      ...who,
      ": numbers with an RMS (root mean square) of ",
      into,
      " went in, of ",
      added,
      " were added, of ",
      after,
      " came out of the norm.",
    ];
  }
  const [best, score, probability] = trace.candidates[at][0];
  return [
    "After ",
    quoted(input),
    " the ",
    block === "logits" ? "highest score" : "likeliest word",
    " is ",
    quoted(best),
    `, ${format(block === "logits" ? score : probability)}.`,
  ];
}

/** A chapter's address: from the published page's own table of contents, or beside a live notebook; null elsewhere. */
function chapterAddress(el, file) {
  if (!el.closest("[data-widget]")) return location.pathname.endsWith(".ipynb") ? `${file}.ipynb` : null;
  const links = /** @type {HTMLAnchorElement[]} */ ([...document.querySelectorAll("nav a[href]")]);
  return links.find((link) => link.pathname.endsWith(`/${file}.html`))?.href ?? null;
}

function chapterLink(el, number) {
  const [file, title] = CHAPTERS[number];
  const href = chapterAddress(el, file);
  const props = href ? { href, target: href.endsWith(".ipynb") ? "_blank" : null } : {};
  return h(href ? "a" : "span", { ...props, dataset: { chapter: file } }, `${number} ${title}`);
}

const heading = (text, note) => div("te-am-heading", text, note);

/** A piece of the colour that numbers below or above 0 have. @param {-1 | 1} side */
const sign = (side) => h("i", { class: "te-am-sign", style: { background: css(SHADES[side < 0 ? 40 : 215]) } });

/** The block's output as coloured cells, a row for each token; a row can be chosen, a number pointed at. */
function heatmap(label, rows, width, onRow) {
  const canvas = h("canvas", { class: "te-am-canvas", role: "img", width, height: rows.length });
  const mark = div("te-am-mark te-glide");
  const words = choice({
    label,
    class: "te-am-rows",
    value: 0,
    onChange: onRow,
    options: rows.map((row, i) => ({ value: i, content: [row] })),
  });
  const readout = span("te-term");
  const cells = div("te-am-cells", canvas, mark);
  const element = div("te-am-heat", heading("What comes out", readout), words.element, cells);
  element.style.setProperty("--rows", rows.length);
  const picture = new ImageData(width, rows.length);
  const paint = gliding((now) => {
    now.forEach((value, i) => picture.data.set(SHADES[clamp(Math.round(127.5 * (value / SCALE + 1)), 0, 255)], 4 * i));
    canvas.getContext("2d").putImageData(picture, 0, 0);
  });
  picture.data.fill(255);
  let [values, last] = [[], null];
  const read = (row, column) => {
    last = [row, column];
    fill(readout, bold(rows[row]), `, number ${column}: `, bold(format(values[row][column])));
  };
  const pointed = (event) => {
    const area = canvas.getBoundingClientRect();
    const at = (offset, length, count) => clamp(Math.floor((offset / length) * count), 0, count - 1);
    read(at(event.clientY - area.top, area.height, rows.length), at(event.clientX - area.left, area.width, width));
  };
  canvas.addEventListener("pointermove", pointed);
  canvas.addEventListener("click", (event) => {
    pointed(event);
    onRow(last[0]);
  });
  return {
    element,
    update(matrix, row) {
      values = matrix;
      paint.to(values.flat());
      words.set(row);
      mark.style.transform = `translateY(${100 * row}%)`;
      canvas.setAttribute(
        "aria-label",
        `${rows.length} rows of ${width} numbers, from ${format(
          Math.min(...values.flat()),
        )} to ${format(Math.max(...values.flat()))}`,
      );
      if (last) read(...last);
      else fill(readout, `${rows.length} × ${width} numbers`, sign(-1), "below 0", sign(1), "above");
    },
  };
}

/** One attention's weights for the followed word: a row for each head. Hatched: hidden by the mask. */
function weightsTable(block, trace) {
  const grid = matrixGrid({
    name: "weights",
    label: "attention weights of the followed word, a row for each head",
    rows: trace.weights[block].map((_, i) => `head ${i + 1}`),
    columns: keysOf(block, trace),
    showRows: true,
    showColumns: true,
  });
  const hides = block.startsWith("decoder") && block.endsWith("self");
  return {
    element: div(
      "",
      heading("Where it looks", span("te-term", "each head’s weights sum to 1")),
      div("te-am-weights", grid.element),
    ),
    update(heads, row) {
      grid.update(heads, { decimals: 2, colour: cividis, quiet: 0.005 });
      if (hides)
        grid.element.querySelectorAll(".te-cell").forEach((/** @type {HTMLElement} */ cell) => {
          if (Number(cell.dataset.column) <= row) return;
          cell.classList.replace("te-coloured", "te-blocked");
          cell.style.background = "";
          cell.setAttribute(
            "aria-label",
            cell.getAttribute("aria-label").replace(/:[^:]*$/, ": hidden by the mask, 0"),
          );
        });
    },
  };
}

/** The five likeliest words at the followed position, as scores or as probabilities. */
function candidates(block, trace, at) {
  const [index, decimals] = block === "logits" ? [1, 2] : [2, 4];
  const found = trace.candidates[at];
  const longest = block === "logits" ? Math.max(...found.map((one) => Math.abs(one[1])), 1e-9) : 1;
  const rest = 1 - found.reduce((sum, one) => sum + one[2], 0);
  const others = trace.sizes.target_vocab_size - found.length;
  const bar = (share) =>
    h("span", { class: "te-am-bar", "aria-hidden": "true" }, h("i", { style: { width: `${100 * share}%` } }));
  return div(
    "te-am-best",
    ...found.flatMap((one) => [
      span("", readable(one[0])),
      bar(Math.abs(one[index]) / longest),
      h("span", { dataset: { candidate: one[0], value: one[index] } }, format(one[index], decimals)),
    ]),
    span(
      "te-note te-am-rest",
      block === "softmax"
        ? `The other ${others} words together: ${format(Math.max(rest, 0), 4)}`
        : `The other ${others} words score less.`,
    ),
  );
}

function render({ model: widget, el }) {
  const figure = frame(el, {
    name: "architecture-map",
    label: "Map of the Transformer",
    says: [""],
    invite: ["press Play, type another sentence, or click a row to follow its word."],
  });
  const state = store(widget, TRAITS, draw);
  const running = modelOf(figure.root, () => engine.loadModel(widget, state.model_file), draw);
  const kept = new Map(); // heatmaps and tables, made when first needed
  const begun = { trace: readTrace(state.trace), sentence: state.sentence };
  const { sizes, parameters } = begun.trace;
  const path = pathOf(sizes.num_layers);
  let { trace } = begun;
  let [computed, built] = ["", null];
  let layer = split(state.block).layer ?? 0;

  const line = sentenceLine({
    opened: begun.trace.source_tokens,
    ...state.line,
    wordsOf: engine.wordsOf,
    onChange: (sentence) => set({ sentence }),
    onAgain() {
      line.set(begun.sentence);
      set({ sentence: begun.sentence });
    },
  });
  const keep = (key, make) => kept.get(key) ?? kept.set(key, make()).get(key);
  const open = (block) => block !== state.block && set({ block });
  const at = () => path.indexOf(state.block);
  const walk = (by) => open(path[clamp(at() + by, 0, path.length - 1)]);
  const follow = (name, row) => row !== state[name] && set(Object.fromEntries([[name, row]]));
  const link = (number) => keep(`chapter ${number}`, () => chapterLink(el, number));

  function set(changes) {
    state.set(changes);
    running.wake();
  }

  /** The sentence's numbers, computed once; what is wrong with it, or null. */
  function compute() {
    const { words, wrong } = line.read(state.sentence);
    const key = words.join(" ");
    if (wrong || key === computed) return wrong;
    if (running.model) [trace, computed] = [traceOf(running.model, words, state.line.most, begun.trace), key];
    else if (key === begun.trace.source_tokens.join(" ")) trace = begun.trace;
    return null;
  }

  /** What is shown: the state, with the words that this sentence has. */
  const view = () => ({
    trace,
    block: state.block,
    source_token: Math.min(state.source_token, trace.source_tokens.length - 1),
    target_token: Math.min(state.target_token, trace.target_tokens.length - 1),
    source_name: state.source_name,
    target_name: state.target_name,
  });

  function byKey(event) {
    const far = path.length;
    const by = { ArrowUp: 1, ArrowRight: 1, ArrowDown: -1, ArrowLeft: -1, Home: -far, End: far }[event.key];
    if (by === undefined || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    walk(by);
    map.focus();
  }
  const map = drawing((box) => {
    const here = blockOf(box, layer) === state.block; // once more: the same block in the next layer
    open(blockOf(box, here ? (layer + 1) % sizes.num_layers : layer));
    map.focus();
  }, byKey);
  const previous = button("← Previous", () => walk(-1), { "aria-label": "Previous block" });
  const next = button("Next →", () => walk(1), { class: "te-button te-primary", "aria-label": "Next block" });
  const play = player({ figure: figure.root, at, last: () => path.length - 1, go: (to) => open(path[to]), wait: 900 });
  const [counter, title, purpose] = [span("te-note"), div("te-am-title"), paragraph("te-am-purpose")];
  const [body, corner] = [div(), div("te-am-corner")];
  const facts = paragraph("te-note te-am-facts");
  const words = figure.words(2);
  const total = Object.values(parameters).reduce((a, b) => a + b, 0);
  const inLayers = LAYERS.encoder.length + LAYERS.decoder.length;
  const own = h("b", { dataset: { parameters: "" } });
  const all = h("b", { dataset: { total: "", value: total } }, whole(total));
  fill(
    corner,
    all,
    " learned numbers, ",
    own,
    " in this box. ",
    `${inLayers + 6} boxes, ${inLayers} of them in each of ${sizes.num_layers} layers: ${path.length} steps.`,
  );
  figure.stage.style.setProperty("--panel", `${sizes.num_heads * 20 + 262}px`);

  /** What comes out of the block, and where an attention looks. */
  function picture({ stack, part, attends }, now) {
    const { block } = state;
    if (!stack) return [heading("The five likeliest words", ""), candidates(block, trace, now.target_token)];
    if (!trace.activations[block]) return [];
    const name = stack === "encoder" ? "source_token" : "target_token";
    const reads = stack === "encoder";
    const tokens = reads ? trace.source_tokens.map(readable) : steps(trace.target_tokens).map((two) => two.join(" → "));
    const label = reads ? `read (${state.source_name})` : `read → to write (${state.target_name})`;
    const make = () => heatmap(`Follow a word: ${label}`, tokens, sizes.d_model, (row) => follow(name, row));
    const heat = keep(stack, make);
    heat.update(trace.activations[block], now[name]);
    if (!attends) return [heat.element];
    const table = keep(`${stack} ${part}`, () => weightsTable(block, trace));
    table.update(
      trace.weights[block].map((head) => head[now[name]]),
      now[name],
    );
    return [heat.element, table.element];
  }

  function draw() {
    const wrong = compute();
    if (trace !== built) kept.clear();
    built = trace;
    const now = view();
    const place = split(state.block);
    layer = place.layer ?? layer;
    map.update(now, layer);
    const told = describe(state.block, now);
    const rows = place.stack === "encoder" ? "source_token" : "target_token";
    const count = parameters[state.block];
    setOff(previous, at() === 0);
    setOff(next, at() === path.length - 1);
    counter.textContent = `step ${at() + 1} of ${path.length}`;
    figure.says(
      `In ${path.length} steps from ${state.source_name} words to the next ${state.target_name} word: `,
      asToken(readable(trace.candidates[now.target_token][0][0])),
    );
    fill(title, bold(told.title), span("te-term", told.place));
    fill(purpose, told.purpose);
    Object.assign(own.dataset, { parameters: state.block, value: count });
    fill(own, count ? whole(count) : "none");
    const parts = picture(place, now);
    if (parts.length !== body.children.length || parts.some((one, i) => one !== body.children[i])) fill(body, ...parts);
    const isOpened = state.sentence === begun.sentence;
    line.update(state.sentence, Boolean(wrong), isOpened);
    const known = !place.stack || Boolean(trace.activations[state.block]);
    const instead = running.instead(wrong, !known || !isOpened);
    fill(words, ...(instead ?? followed(state.block, now, path)));
    fill(
      facts,
      "Built in chapter ",
      ...told.chapters.flatMap((number, i) => [i ? ", " : "", link(number)]),
      "; its numbers are learned in ",
      link(13),
      ". ",
      known && place.stack ? "The outlined row: " : "",
      ...(known && place.stack ? trace.activations[state.block][now[rows]] : []).flatMap((value) => [
        h("span", { dataset: { value } }, format(value)),
        " ",
      ]),
    );
    figure.tell(`${told.title}, ${told.place}. ${words.textContent}${isOpened ? "" : ` ${state.sentence}`}`);
  }

  figure.stage.append(div("te-am-map", map.element, corner), div("te-am-side", title, purpose, body));
  figure.root.insertBefore(line.element, figure.stage);
  figure.controls.append(play.element, previous, next, counter);
  draw();
  const word = trace.source_tokens[state.source_token];
  figure.ask([
    {
      ask: ["find the first block in which ", quoted(word), " hears of other words"],
      done: () => state.block === "encoder.0.self",
      tell: ["Only attention carries numbers from one word to another."],
      show: () => open("encoder.0.self"),
    },
    {
      ask: [`find where the ${state.target_name} half looks at the ${state.source_name} one`],
      done: () => split(state.block).part === "cross",
      tell: ["Cross-attention is the only way across."],
      show: () => open(`decoder.${sizes.num_layers - 1}.cross`),
    },
    {
      ask: ["find a block in which nothing is learned"],
      done: () => parameters[state.block] === 0,
      tell: ["The positions’ pattern and the softmax are formulas without numbers to learn."],
      show: () => open("encoder.positional"),
    },
  ]);
  figure.details(
    "Chapters and numbers of this block",
    facts,
    paragraph("te-note", "Point at a cell to read its number."),
  );
  return state.dispose;
}

export default { render };
