import * as engine from "../../engine/js/engine.js";
import { asToken, bold, button, choice, clamp, cividis, css, div, diverging, dot, DURATION, fill, format, frame,
  gliding, h, KEYS, matrixGrid, modelOf, paragraph, player, readable, reducedMotion, sentenceLine, setOff, span, store,
  svg, uniqueId, whole } from "./core.js";

const TRAITS = ["sentence", "trace", "block", "source_token", "target_token", "source_name", "target_name", "line",
  "model_file"
];
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
const LAYERS = {
  encoder: ["self", "after_self", "feed_forward", "after_feed_forward"],
  decoder: ["self", "after_self", "cross", "after_cross", "feed_forward", "after_feed_forward"],
};

/** What is always true of a block: name, purpose, the chapters that build it; <d> and the like are filled in. */
const BLOCKS = {
  embedding: [
    "Embedding", "Looks each word up in a table of <words> <language> words: the same row in every sentence.", [3],
  ],
  positional: [
    "Positional encoding", "Adds a fixed pattern for each position: from here on the order is in the numbers.", [4],
  ],
  "encoder.self": ["Self-attention", "Every word collects what it needs from all words of the sentence.", [6, 7, 9]],
  "decoder.self": [
    "Masked self-attention", "Every position collects from the words written so far. Later words are hidden from it.",
    [6, 7, 10],
  ],
  cross: [
    "Cross-attention", "Here the halves meet: every position asks the encoder’s output, the memory, for words.",
    [6, 7, 10],
  ],
  feed_forward: [
    "Feed-forward", "Works on each row alone: <d> numbers become <ff>, negative ones become 0, and back to <d>.", [8],
  ],
  after: [
    "Add & norm", "Adds what the <before> brought to what went into it, then normalizes each row.",
    [8, 5],
  ],
  logits: ["Projection", "Scores each of the <words> <language> words: how well does it fit as the next one?", [11]],
  softmax: [
    "Softmax", "Turns the scores into probabilities. The likeliest word is written and is the next input.", [6, 11],
  ],
};

const quoted = (word) => asToken(readable(word));
const numbers = (rows, scale) => rows.map((row) => row.split(" ").map((number) => Number(number) / scale));
const mapValues = (values, f) => Object.fromEntries(Object.entries(values).map(([name, value]) => [name, f(value)]));

/**
 * One sentence's numbers: `activations[block][row]`, `weights[block][head][row]`, the likeliest words of each row, with
 * the model's sizes and its counts of parameters.
 * @typedef {Record<string, any>} Trace
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
const cut = (word) => (word.length > 16 ? `${word.slice(0, 15)}…` : word);

/** All blocks in the order of computation. */
function pathOf(layers) {
  const stack = (name) => [
    `${name}.embedding`, `${name}.positional`,
    ...Array.from({ length: layers }, (_, i) => LAYERS[name].map((part) => `${name}.${i}.${part}`)).flat(),
  ];
  return [...stack("encoder"), ...stack("decoder"), "logits", "softmax"];
}

/** "decoder.1.cross" -> { stack: "decoder", layer: 1, part: "cross" }; the projection and the softmax have no stack. */
function split(block) {
  const parts = block.split(".");
  const part = parts.at(-1);
  return {
    stack: parts.length > 1 ? parts[0] : "",
    layer: parts.length > 2 ? Number(parts[1]) : null,
    part,
    attends: part === "self" || part === "cross",
  };
}

const about = (stack, part) => BLOCKS[`${stack}.${part}`] ?? BLOCKS[part] ?? BLOCKS.after;

/** Name, place, purpose and chapters of a block, with this model's sizes and languages. */
function describe(block, { trace, source_name: source, target_name }) {
  const { stack, part, layer } = split(block);
  const { d_model: d, d_ff: ff, source_vocab_size, target_vocab_size } = trace.sizes;
  const [words, language] = stack === "encoder" ? [source_vocab_size, source] : [target_vocab_size, target_name];
  const before = part.startsWith("after") ? about(stack, part.slice(6))[0].toLowerCase() : "";
  const values = { d, ff, words, language, source, before };
  const [title, purpose, chapters] = about(stack, part);
  const place = [stack, layer === null ? "" : `layer ${layer + 1}`].filter(Boolean).join(", ");
  return { title, place, chapters, purpose: purpose.replace(/<(\w+)>/g, (_, name) => values[name]) };
}

/** What a decoder’s position is called: the word just read and the word to write. */
const steps = (written) => written.map((word, i) => [readable(i ? written[i - 1] : "<bos>"), readable(word)]);

/** The words that an attention looks at. */
function keysOf(block, trace) {
  const { stack, part } = split(block);
  const source = stack === "encoder" || part === "cross";
  return source ? trace.source_tokens : steps(trace.target_tokens).map(([input]) => input);
}

/** "black 0.98, cat 0.01": the mean of the heads, strongest first. */
function looks(rows, keys) {
  const mean = keys.map((word, j) => [word, rows.reduce((sum, row) => sum + row[j], 0) / rows.length]);
  const ranked = mean.filter(([, weight]) => weight >= SHOWN).sort((a, b) => b[1] - a[1]).slice(0, 3);
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
      ...(reads ? [quoted(word)] : ["To write ", quoted(word), ", this layer"]), " looks at ",
      ...looks(rows, keysOf(block, trace)), ` (mean of the ${rows.length} heads).`,
    ];
  }
  if (part === "embedding") return reads
    ? [quoted(word), " is looked up: its numbers are the outlined row."]
    : [
      at ? "The word just written, " : "The begin token, ", quoted(input),
      ", is looked up. Its row has to become the next word, ", quoted(word), ".",
    ];
  if (part === "positional") return [
    quoted(reads ? word : input), ` stands at position ${at} (counted from 0) and gets that position’s pattern.`,
  ];
  if (part === "feed_forward") return [
    "For ", ...who, " numbers with an RMS of ", rms(row(block)), " come out, made from its own row alone.",
  ];
  if (part.startsWith("after")) {
    const here = path.indexOf(block);
    const [into, added, after] = [path[here - 2], path[here - 1], block].map((name) => rms(row(name)));
    return [
      ...who, ": numbers with an RMS (root mean square) of ", into, " went in, of ", added, " were added, of ", after,
      " came out of the norm.",
    ];
  }
  const [best, score, probability] = trace.candidates[at][0];
  return [
    "After ", quoted(input), " the ", block === "logits" ? "highest score" : "likeliest word", " is ", quoted(best),
    `, ${format(block === "logits" ? score : probability)}.`,
  ];
}

/** A chapter's address: from the published page's own table of contents, or beside a live notebook; null elsewhere. */
function chapterAddress(el, file) {
  if (!el.closest("[data-widget]")) return location.pathname.endsWith(".ipynb") ? `${file}.ipynb` : null;
  const links = [...document.querySelectorAll("nav a[href]")];
  return links.find((link) => link.pathname.endsWith(`/${file}.html`))?.href ?? null;
}

function chapterLink(el, number) {
  const [file, title] = CHAPTERS[number];
  const href = chapterAddress(el, file);
  const props = href ? { href, target: href.endsWith(".ipynb") ? "_blank" : null } : {};
  return h(href ? "a" : "span", { ...props, dataset: { chapter: file } }, `${number} ${title}`);
}

// The map: a drawing with the two stacks side by side, in units of its viewBox.
const HALF = { encoder: { left: 4, block: 24, rail: 14 }, decoder: { left: 182, block: 186, rail: 326 } };
const [WIDE, SUB, NORM, GAP, FLOOR, CENTRE] = [130, 24, 20, 16, 290, 65];
const TOP = { encoder: 164, decoder: 104 };
const KIND = {
  embedding: "table",
  positional: "position",
  self: "attention",
  cross: "attention",
  feed_forward: "forward",
  logits: "table",
  softmax: "position"
};
const LABEL = { embedding: "Embedding", positional: "+ Position", logits: "Projection", softmax: "Softmax" };
const kindOf = (part) => KIND[part] ?? "norm";

/**
 * Every block's box, with the wires that lead into it: { part, stack, x, y, height, wires }; those of a layer stand for
 * the layer that is shown.
 */
function boxes() {
  const all = [];
  for (const stack of ["encoder", "decoder"]) {
    const { block: x, rail } = HALF[stack];
    const middle = x + CENTRE;
    const up = (from, to) => `M ${middle} ${from} V ${to}`;
    const edge = stack === "encoder" ? x : x + WIDE;
    const put = (part, y, height, ...wires) => all.push({ stack, part, x, y, height, wires });
    put("embedding", 338, 24, up(370, 362));
    put("positional", 302, 24, up(338, 326));
    let below = 302;
    for (let i = 0; i < LAYERS[stack].length; i += 2) {
      const bottom = FLOOR - 14 - (i / 2) * (SUB + NORM + GAP);
      const [split, into] = [bottom + GAP / 2, bottom - SUB - NORM / 2];
      put(LAYERS[stack][i], bottom - SUB, SUB, up(below, bottom));
      put(LAYERS[stack][i + 1], bottom - SUB - NORM, NORM, `M ${middle} ${split} H ${rail} V ${into} H ${edge}`);
      below = bottom - SUB - NORM;
    }
    if (stack === "decoder") {
      put("logits", 58, 24, up(below, 82));
      put("softmax", 22, 24, up(58, 46), up(22, 18));
      all.slice(-2).forEach((box) => (box.stack = ""));
    }
  }
  const cross = all.find((box) => box.part === "cross");
  cross.wires.push(`M ${HALF.encoder.block + CENTRE} 174 V 144 H 170 V ${cross.y + SUB / 2} H ${cross.x}`);
  return all;
}

/** Words in at most two lines, the chosen one bold; if they are too many, the chosen one alone. */
function linesOf(words, chosen) {
  const lines = [
    []
  ];
  let length = 0;
  words.forEach((word, i) => {
    if (length && length + word.length > 20)[length] = [0, lines.push([])];
    length += word.length + 1;
    lines.at(-1).push(svg("tspan", i === chosen ? { class: "te-am-bold" } : {}, `${cut(word)} `));
  });
  return lines.length > 2 ? [
    [`… ${cut(words[chosen])} …`]
  ] : lines;
}

/** The clickable drawing. `onChoose(box)` is told a box; `onKey(event)` gets the keys. */
function drawing(onChoose, onKey) {
  const all = boxes();
  const text = (x, y, kind, ...content) => svg("text", { x, y, class: `te-am-${kind}` }, ...content);
  const nodes = all.map((box) => svg("g", {
      role: "radio",
      class: `te-am-block te-am-${kindOf(box.part)}`,
      tabindex: -1,
      ...KEYS,
      on: { click: () => onChoose(box), keydown: onKey },
    },
    svg("rect", { x: box.x, y: box.y, width: WIDE, height: box.height, rx: 5 }),
    text(box.x + CENTRE, box.y + box.height / 2 + 4.5, "name", LABEL[box.part] ?? about(box.stack, box.part)[0])));
  const head = uniqueId();
  const marker = svg("marker", {
    id: head,
    viewBox: "0 0 6 8",
    refX: 6,
    refY: 4,
    markerWidth: 6,
    markerHeight: 8,
    markerUnits: "userSpaceOnUse",
    orient: "auto",
    class: "te-am-head",
  }, svg("path", { d: "M 0 0 L 6 4 L 0 8 Z" }));
  const wire = (d, kind) => svg("path", { d, class: kind, pathLength: 1, "marker-end": kind && `url(#${head})` });
  const flows = all.map((box) => svg("g", { class: "te-am-flow" }, ...box.wires.map((d) => wire(d, ""))));
  const frames = Object.entries(HALF).map(([stack, { left }]) => svg("rect", {
    x: left,
    y: TOP[stack],
    width: 154,
    height: FLOOR - TOP[stack],
    rx: 10,
    class: "te-am-frame",
  }));
  const layers = { encoder: text(96, 158, "small"), decoder: text(260, 98, "small") };
  const words = {
    source: [text(89, 381, "word"), text(89, 396, "word")],
    input: [text(251, 381, "word"), text(251, 396, "word")],
    output: text(251, 12, "word te-am-bold")
  };
  const memory = text(166, 138, "small te-am-end");
  const element = svg("svg", {
      viewBox: "0 0 340 400",
      class: "te-am-drawing",
      role: "radiogroup",
      "aria-label": "Blocks in the order of computation; arrow keys walk along",
    },
    marker, ...frames, ...all.flatMap((box) => box.wires.map((d) => wire(d, "te-am-line"))), ...flows,
    text(6, 158, "bold", "Encoder"), text(184, 98, "bold", "Decoder"),
    memory, ...Object.values(layers), ...Object.values(words).flat(), ...nodes);
  let open = null;
  return {
    element,
    update(state, layer) {
      const { trace: now, target_token: at } = state;
      const inputs = steps(now.target_tokens).slice(0, at + 1).map(([input]) => input);
      const write = (places, lines) => places.forEach((place, i) => fill(place, ...(lines[i] ?? [])));
      Object.values(layers).forEach((node) => (node.textContent = `layer ${layer + 1} of ${now.sizes.num_layers}`));
      memory.textContent = layer + 1 < now.sizes.num_layers ? `memory, of layer ${now.sizes.num_layers}` : "memory";
      write(words.source, linesOf(now.source_tokens, state.source_token));
      write(words.input, linesOf(inputs, at));
      words.output.textContent = `${cut(readable(now.candidates[at][0][0]))} ${format(now.candidates[at][0][2])}`;
      nodes.forEach((node, i) => {
        const block = blockOf(all[i], layer);
        const on = block === state.block;
        const { title, place } = describe(block, state);
        node.dataset.block = block;
        node.setAttribute("aria-checked", String(on));
        node.setAttribute("aria-label", place ? `${title}, ${place}` : title);
        node.setAttribute("tabindex", on ? "0" : "-1");
        flows[i].classList.toggle("te-am-on", on);
        if (on && open && open !== block && !reducedMotion()) {
          [...flows[i].children].forEach((path) => path.animate(
            [{ strokeDashoffset: 1 }, { strokeDashoffset: 0 }], { duration: DURATION, easing: "ease-out" }
          ));
        }
      });
      open = state.block;
    },
    focus: () => nodes.find((node) => node.getAttribute("aria-checked") === "true")?.focus(),
  };
}

const blockOf = ({ stack, part }, layer) => (
  stack === "" ? part : LAYERS[stack].includes(part) ? `${stack}.${layer}.${part}` : `${stack}.${part}`
);

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
    options: rows.map((row, i) => ({ value: i, content: [row] }))
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
  let [values, last] = [
    [], null
  ];
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
      canvas.setAttribute("aria-label", `${rows.length} rows of ${width} numbers, from ${
        format(Math.min(...values.flat()))} to ${format(Math.max(...values.flat()))}`);
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
    element: div("", heading("Where it looks", span("te-term", "each head’s weights sum to 1")),
      div("te-am-weights", grid.element)),
    update(heads, row) {
      grid.update(heads, { decimals: 2, colour: cividis, quiet: 0.005 });
      if (hides) grid.element.querySelectorAll(".te-cell").forEach((cell) => {
        if (Number(cell.dataset.column) <= row) return;
        cell.classList.replace("te-coloured", "te-blocked");
        cell.style.background = "";
        cell.setAttribute("aria-label", cell.getAttribute("aria-label").replace(/:[^:]*$/, ": hidden by the mask, 0"));
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
  const bar = (share) => h("span", { class: "te-am-bar", "aria-hidden": "true" },
    h("i", { style: { width: `${100 * share}%` } }));
  return div("te-am-best", ...found.flatMap((one) => [
    span("", readable(one[0])), bar(Math.abs(one[index]) / longest),
    h("span", { dataset: { candidate: one[0], value: one[index] } }, format(one[index], decimals)),
  ]), span("te-note te-am-rest", block === "softmax"
    ? `The other ${others} words together: ${format(Math.max(rest, 0), 4)}`
    : `The other ${others} words score less.`));
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
  const follow = (name, row) => row !== state[name] && set(Object.fromEntries([
    [name, row]
  ]));
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
    if (running.model)[trace, computed] = [traceOf(running.model, words, state.line.most, begun.trace), key];
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
  fill(corner, all, " learned numbers, ", own, " in this box. ",
    `${inLayers + 6} boxes, ${inLayers} of them in each of ${sizes.num_layers} layers: ${path.length} steps.`);
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
    table.update(trace.weights[block].map((head) => head[now[name]]), now[name]);
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
    figure.says(`In ${path.length} steps from ${state.source_name} words to the next ${state.target_name} word: `,
      asToken(readable(trace.candidates[now.target_token][0][0])));
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
    fill(facts, "Built in chapter ", ...told.chapters.flatMap((number, i) => [i ? ", " : "", link(number)]),
      "; its numbers are learned in ", link(13), ". ", known && place.stack ? "The outlined row: " : "",
      ...(known && place.stack ? trace.activations[state.block][now[rows]] : []).flatMap(
        (value) => [h("span", { dataset: { value } }, format(value)), " "]));
    figure.tell(`${told.title}, ${told.place}. ${words.textContent}${isOpened ? "" : ` ${state.sentence}`}`);
  }

  figure.stage.append(div("te-am-map", map.element, corner), div("te-am-side", title, purpose, body));
  figure.root.insertBefore(line.element, figure.stage);
  figure.controls.append(play.element, previous, next, counter);
  draw();
  const word = trace.source_tokens[state.source_token];
  figure.ask([{
    ask: ["find the first block in which ", quoted(word), " hears of other words"],
    done: () => state.block === "encoder.0.self",
    tell: ["Only attention carries numbers from one word to another."],
    show: () => open("encoder.0.self"),
  }, {
    ask: [`find where the ${state.target_name} half looks at the ${state.source_name} one`],
    done: () => split(state.block).part === "cross",
    tell: ["Cross-attention is the only way across."],
    show: () => open(`decoder.${sizes.num_layers - 1}.cross`),
  }, {
    ask: ["find a block in which nothing is learned"],
    done: () => parameters[state.block] === 0,
    tell: ["The positions’ pattern and the softmax are formulas without numbers to learn."],
    show: () => open("encoder.positional"),
  }]);
  figure.details("Chapters and numbers of this block", facts, paragraph("te-note",
    "Point at a cell to read its number."));
  return state.dispose;
}

export default { render };
