import { asToken, bold, button, changeAnnouncer, choice, cividis, css, div, diverging, dot, fill, focusedIn, format, h,
  matrixGrid, mount, paragraph, readable, setOff, span, store, svg, whole } from "./core.js";

const TRAITS = ["trace", "block", "source_token", "target_token", "source_name", "target_name"];
const SCALE = 3; // activations beyond ±3 get the strongest colour
const SHOWN = 0.05; // attention weights below this are not named in the sentence
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
  decoder: [
    "self", "after_self", "cross", "after_cross", "feed_forward", "after_feed_forward",
  ]
};

const ATTENTION = { formula: "softmax(Q K^{T} / √d_{k}) V", sum: "4 × (<d> × <d> + <d>)" };
const EACH_HEAD = "<heads> heads, d_{k} = <per_head>; side by side, times W_{O}.";
const ADD_AND_NORM = { note: "γ scales and β shifts each of the d_{model} numbers.", sum: "2 × <d>" };

/**
 * What is always true of a block: name, purpose, formula and a note to it, how its parameters add up, the chapters
 * that build it. <d> and the like stand for the model's sizes and languages.
 */
const BLOCKS = {
  embedding: {
    title: "Embedding",
    purpose: "Looks each word up in a table with a row for each of the <words> <language> words. At this point a " +
      "word has the same row in every sentence.",
    formula: "E[word] · √d_{model}",
    note: "√<d> = <root>",
    sum: "<words> × <d>",
    chapters: [3],
  },
  positional: {
    title: "Positional encoding",
    purpose: "Adds a fixed pattern of sines and cosines, another one for each position: from here on the order is in " +
      "the numbers.",
    formula: "x + PE_{pos}",
    note: "PE_{pos, 2i} = sin(pos · θ_{i}), PE_{pos, 2i+1} = cos(pos · θ_{i})",
    sum: "",
    chapters: [4],
  },
  "encoder.self": {
    ...ATTENTION,
    title: "Self-attention",
    purpose: "Every word collects what it needs from all words of the sentence, itself included.",
    note: `Q, K and V come from x. ${EACH_HEAD}`,
    chapters: [6, 7, 9],
  },
  "decoder.self": {
    ...ATTENTION,
    title: "Masked self-attention",
    purpose: "Every position collects from the words written so far. Later words are hidden from it.",
    note: `Q, K and V come from x; scores of later words are masked. ${EACH_HEAD}`,
    chapters: [6, 7, 10],
  },
  cross: {
    ...ATTENTION,
    title: "Cross-attention",
    purpose: "Here the two halves meet: every position asks the encoder’s output, the memory, for the <source> words " +
      "that it needs now.",
    note: `Q comes from x, K and V from the memory. ${EACH_HEAD}`,
    chapters: [6, 7, 10],
  },
  feed_forward: {
    title: "Feed-forward",
    purpose: "Works on each row alone: <d> numbers become <ff>, negative ones are set to 0, and back to <d>. No word " +
      "looks at another here.",
    formula: "max(0, x W_{1} + b_{1}) W_{2} + b_{2}",
    note: "",
    sum: "<d> × <ff> + <ff> + <ff> × <d> + <d>",
    chapters: [8],
  },
  "encoder.after_self": {
    ...ADD_AND_NORM,
    title: "Add & norm after self-attention",
    purpose: "Adds what attention brought to what went into it (the line around it), then normalizes each row.",
    formula: "LayerNorm(x + Attention(x))",
    chapters: [8, 5],
  },
  "decoder.after_self": {
    ...ADD_AND_NORM,
    title: "Add & norm after masked self-attention",
    purpose: "Adds what attention brought to what went into it (the line around it), then normalizes each row.",
    formula: "LayerNorm(x + Attention(x))",
    chapters: [8, 5],
  },
  after_cross: {
    ...ADD_AND_NORM,
    title: "Add & norm after cross-attention",
    purpose: "Adds what cross-attention brought to what went into it (the line around it), then normalizes each row.",
    formula: "LayerNorm(x + Attention(x, memory))",
    chapters: [8, 5],
  },
  "encoder.after_feed_forward": {
    ...ADD_AND_NORM,
    title: "Add & norm after feed-forward",
    purpose: "Adds the feed-forward’s output to what went into it, then normalizes each row. This is the layer’s " +
      "output; the last layer’s is the memory.",
    formula: "LayerNorm(x + FFN(x))",
    chapters: [8, 5, 9],
  },
  "decoder.after_feed_forward": {
    ...ADD_AND_NORM,
    title: "Add & norm after feed-forward",
    purpose: "Adds the feed-forward’s output to what went into it, then normalizes each row. This is the layer’s " +
      "output.",
    formula: "LayerNorm(x + FFN(x))",
    chapters: [8, 5, 10],
  },
  logits: {
    title: "Projection",
    purpose: "Gives each of the <words> <language> words a score: how well does it fit as the next word?",
    formula: "z = x W",
    note: "",
    sum: "<d> × <words>",
    chapters: [11],
  },
  softmax: {
    title: "Softmax",
    purpose: "Turns the scores into probabilities, which sum to 1. The likeliest word is written and becomes the " +
      "next input.",
    formula: "p_{i} = exp(z_{i}) / Σ_{j} exp(z_{j})",
    note: "",
    sum: "",
    chapters: [6, 11],
  },
};

const quoted = (word) => asToken(readable(word));
const numbers = (rows, scale) => rows.map((row) => row.split(" ").map((number) => Number(number) / scale));
/** The root mean square of a row. */
const rms = (row) => bold(format(Math.sqrt(dot(row, row) / row.length)));

/** "W_{Q}" and "x^{2}" with real sub- and superscripts. Only for this file's own formulas. */
function rich(text) {
  return span("", ...text.split(/([_^]\{[^}]*\})/).map((part) => (
    /^[_^]\{/.test(part) ? h(part[0] === "_" ? "sub" : "sup", {}, part.slice(2, -1)) : part
  )));
}

/** All blocks in the order of computation. */
function pathOf(layers) {
  const stack = (name) => [
    `${name}.embedding`,
    `${name}.positional`,
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

/** What is always true of a block, out of `BLOCKS`, with this model's sizes and languages. */
function describe(block, { trace, source_name, target_name }) {
  const { stack, part } = split(block);
  const { d_model, d_ff, num_heads, source_vocab_size, target_vocab_size } = trace.sizes;
  const reads = stack === "encoder";
  const root = Math.sqrt(d_model);
  const values = {
    d: d_model,
    ff: d_ff,
    heads: num_heads,
    per_head: d_model / num_heads,
    root: format(root, Number.isInteger(root) ? 0 : 2),
    words: reads ? source_vocab_size : target_vocab_size,
    language: reads ? source_name : target_name,
    source: source_name,
  };
  const { chapters, ...texts } = BLOCKS[`${stack}.${part}`] ?? BLOCKS[part];
  const filled = (text) => text.replace(/<(\w+)>/g, (_, name) => values[name]);
  return { chapters, ...Object.fromEntries(Object.entries(texts).map(([key, text]) => [key, filled(text)])) };
}

const placeOf = ({ stack, layer }) => [stack, layer === null ? "" : `layer ${layer + 1}`].filter(Boolean).join(", ");

/** What a decoder’s position is called: the word just read and the word to write. */
const steps = (written) => written.map((word, i) => [readable(i ? written[i - 1] : "<bos>"), readable(word)]);

/** The shape in words and as PyTorch says it. */
function shapeOf(block, { trace }) {
  const { stack } = split(block);
  const rows = trace[stack === "encoder" ? "source_tokens" : "target_tokens"].length;
  const columns = stack ? trace.sizes.d_model : trace.sizes.target_vocab_size;
  const what = { logits: "scores", softmax: "probabilities" }[block] ?? "numbers";
  return [`${rows} tokens, ${columns} ${what} each. `, span("te-term te-nowrap", `Tensor: (1, ${rows}, ${columns})`)];
}

function parametersOf(block, { trace }, { sum }) {
  const [count, total] = [trace.parameters[block], Object.values(trace.parameters).reduce((a, b) => a + b, 0)];
  if (!sum) return [h("b", { dataset: { parameters: block, value: count } }, "none"), block === "softmax"
    ? ""
    : ": computed, not learned"
  ];
  if (!count) return [
    h("b", { dataset: { parameters: block, value: 0 } }, "none of its own"), ": it shares the table of an embedding",
  ];
  return [h("b", { dataset: { parameters: block, value: count } }, whole(count)), ` = ${sum}. `, span(
    "te-term te-nowrap", `${((100 * count) / total).toFixed(1)} % of all`
  )];
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
  const [input, output] = steps(trace.target_tokens)[state.target_token];
  const row = (name) => numbers([trace.activations[name][at]], 100)[0];
  const who = reads ? [quoted(word)] : [quoted(input), " → ", quoted(word)];
  if (attends) {
    const rows = trace.weights[block].map((head) => numbers([head[at]], 10000)[0]);
    return [
      ...(reads ? [quoted(word)] : ["To write ", quoted(word), ", this layer"]), " looks at ",
      ...looks(rows, keysOf(block, trace)), ` (mean of the ${rows.length} heads).`,
    ];
  }
  if (part === "embedding") return reads
    ? [quoted(word), " is looked up: its numbers are the outlined row."]
    : [
      ...(at ? ["The word just written, ", quoted(input), ","] : ["The begin token, ", quoted(input), ","]),
      " is looked up. Its row has to become the next word, ", quoted(output), ".",
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
      ...who, ": numbers with an RMS of ", into, " went in, of ", added, " were added, of ", after,
      " came out of the norm (RMS: root mean square).",
    ];
  }
  const [best, score, probability] = trace.candidates[at][0];
  return [
    "After ", quoted(input), " the ", block === "logits" ? "highest score" : "likeliest word", " is ", quoted(best),
    `, ${format(block === "logits" ? score : probability)}.`,
  ];
}

/** The words that an attention looks at. */
function keysOf(block, trace) {
  const { stack, part } = split(block);
  return stack === "encoder"
    || part === "cross" ? trace.source_tokens : steps(trace.target_tokens).map(([input]) => input);
}

/** A chapter's address: from the published page's own table of contents, or beside a live notebook; null elsewhere. */
function chapterAddress(el, file) {
  if (!el.closest("[data-widget]")) return location.pathname.endsWith(".ipynb") ? `${file}.ipynb` : null;
  const links = [...document.querySelectorAll("nav a[href]")];
  return links.find((link) => link.pathname.endsWith(`/${file}.html`))?.href ?? null;
}

function chapterLink(el, number) {
  const [file, title] = CHAPTERS[number];
  const address = chapterAddress(el, file);
  const text = `${number} ${title}`;
  return address
    ? h("a", { href: address, dataset: { chapter: file }, target: address.endsWith(".ipynb") ? "_blank" : null }, text)
    : h("span", { dataset: { chapter: file } }, text);
}

// The map: a drawing of 340 x 482 units with the two stacks side by side.
const HALF = { encoder: { left: 4, block: 24, rail: 14 }, decoder: { left: 182, block: 186, rail: 326 } };
const [WIDE, SUB, NORM, GAP, FLOOR, CENTRE] = [130, 32, 24, 22, 362, 65];
const KIND = {
  embedding: "table",
  positional: "position",
  self: "attention",
  cross: "attention",
  feed_forward: "forward",
  logits: "table",
  softmax: "position",
};
const kindOf = (part) => KIND[part] ?? "norm";
const LABEL = {
  embedding: "Embedding",
  positional: "+ Position",
  self: "Self-attention",
  cross: "Cross-attention",
  feed_forward: "Feed-forward",
  logits: "Projection",
  softmax: "Softmax",
};

/** Every block's box: { part, stack, x, y, height }; those of a layer stand for the layer that is shown. */
function boxes() {
  const place = (stack, part, y, height) => ({ stack, part, x: HALF[stack || "decoder"].block, y, height });
  const half = (stack) => {
    const pairs = LAYERS[stack].flatMap((part, i) => {
      const bottom = FLOOR - 20 - Math.floor(i / 2) * (SUB + NORM + GAP);
      return [i % 2 ? place(stack, part, bottom - SUB - NORM, NORM) : place(stack, part, bottom - SUB, SUB)];
    });
    return [place(stack, "embedding", 422, 28), place(stack, "positional", 380, 28), ...pairs];
  };
  return [...half("encoder"), ...half("decoder"), place("", "logits", 68, 28), place("", "softmax", 26, 28)];
}

const HEADS = { up: "M -4 6 L 0 0 L 4 6 Z", left: "M 6 -4 L 0 0 L 6 4 Z", right: "M -6 -4 L 0 0 L -6 4 Z" };
const arrow = (x, y, way) => svg("path", { d: HEADS[way], transform: `translate(${x} ${y})`, class: "te-am-head" });
const line = (d) => svg("path", { d, class: "te-am-line" });

/** Frames of the stacks, the way up, the lines around each sub-layer, and the memory's way across. */
function wiring(all) {
  const drawn = [];
  for (const stack of ["encoder", "decoder"]) {
    const { left, block, rail } = HALF[stack];
    const own = all.filter((box) => box.stack === stack);
    const top = Math.min(...own.map((box) => box.y)) - 12;
    const middle = block + CENTRE;
    drawn.push(svg("rect", { x: left, y: top, width: 154, height: FLOOR - top, rx: 10, class: "te-am-frame" }));
    drawn.push(line(`M ${middle} 462 V ${stack === "encoder" ? 174 : 18}`));
    own.filter((box) => kindOf(box.part) !== "norm").forEach(
      (box) => drawn.push(arrow(middle, box.y + box.height, "up"))
    );
    own.filter((box) => kindOf(box.part) === "norm").forEach((box) => {
      const [split, into, edge] = [
        box.y + NORM + SUB + 11, box.y + NORM / 2, stack === "encoder" ? block : block + WIDE,
      ];
      drawn.push(line(`M ${middle} ${split} H ${rail} V ${into} H ${edge}`), arrow(
        edge, into, stack === "encoder" ? "right" : "left"
      ));
    });
  }
  const cross = all.find((box) => box.part === "cross");
  const across = cross.y + cross.height / 2;
  drawn.push(
    line(`M ${HALF.encoder.block + CENTRE} 174 H 170 V ${across} H ${cross.x}`), arrow(cross.x, across, "right")
  );
  all.filter((box) => !box.stack).forEach((box) => drawn.push(arrow(box.x + CENTRE, box.y + box.height, "up")));
  drawn.push(arrow(HALF.decoder.block + CENTRE, 17, "up"));
  return drawn;
}

/** The clickable drawing. `onChoose(box)` is told a box; `onKey(event)` gets the keys. */
function drawing(trace, onChoose, onKey) {
  const all = boxes();
  const text = (x, y, kind, ...content) => svg("text", { x, y, class: `te-am-${kind}` }, ...content);
  const nodes = all.map((box) => {
    const label = box.stack === "decoder"
      && box.part === "self" ? "Masked self-attention" : LABEL[box.part] ?? "Add & norm";
    return svg("g", {
        role: "radio",
        class: `te-am-block te-am-${kindOf(box.part)}`,
        tabindex: -1,
        ...KEYS,
        on: {
          click: () => onChoose(box),
          keydown: onKey,
        }
      },
      svg("rect", { x: box.x, y: box.y, width: WIDE, height: box.height, rx: 5 }),
      text(box.x + CENTRE, box.y + box.height / 2 + 4.5, "name", label));
  });
  const layers = { encoder: text(96, 190, "small"), decoder: text(260, 112, "small") };
  const ends = { source: text(89, 476, "word"), input: text(251, 476, "word"), output: text(251, 12, "word") };
  const memory = text(174, 168, "small te-am-end");
  const element = svg("svg", {
      viewBox: "0 0 340 482",
      class: "te-am-drawing",
      role: "radiogroup",
      "aria-label": "Blocks in the order of computation; arrow keys walk along",
    },
    ...wiring(all), text(6, 190, "stack", "Encoder"),
    text(184, 112, "stack", "Decoder"), memory, ...Object.values(layers), ...Object.values(ends), ...nodes);
  const short = (word) => (word.length > 16 ? `${word.slice(0, 15)}…` : word);
  return {
    element,
    update(state, layer) {
      const { trace: now, target_token: at } = state;
      const [input] = steps(now.target_tokens)[at];
      Object.values(layers).forEach((node) => (node.textContent = `layer ${layer + 1} of ${now.sizes.num_layers}`));
      memory.textContent = layer + 1 < now.sizes.num_layers ? `memory, of layer ${now.sizes.num_layers}` : "memory";
      ends.source.textContent = `… ${short(now.source_tokens[state.source_token])} …`;
      ends.input.textContent = `… ${short(input)}`;
      ends.output.textContent = `${short(readable(now.candidates[at][0][0]))} ${format(now.candidates[at][0][2])}`;
      nodes.forEach((node, i) => {
        const block = blockOf(all[i], layer);
        const on = block === state.block;
        node.dataset.block = block;
        node.setAttribute("aria-checked", String(on));
        node.setAttribute(
          "aria-label", [describe(block, state).title, placeOf(split(block))].filter(Boolean).join(", ")
        );
        node.setAttribute("tabindex", on ? "0" : "-1");
      });
    },
    focus: () => nodes.find((node) => node.getAttribute("aria-checked") === "true")?.focus(),
  };
}

const blockOf = ({ stack, part }, layer) => (
  stack === "" ? part : LAYERS[stack].includes(part) ? `${stack}.${layer}.${part}` : `${stack}.${part}`
);

/** The block's output as coloured cells, a row for each token. Hover or arrow keys read single numbers. */
function heatmap(rows, width, onRow) {
  const readout = div("te-note te-am-readout", "Point at a cell to read its number.");
  const grid = matrixGrid({
    name: "activations",
    label: "output of this block",
    rows,
    columns: Array.from({
      length: width,
    }, (_, j) => String(j)),
    showRows: true,
    onSelect: (r, c) => {
      read(r, c);
      onRow(r);
    }
  });
  const longest = Math.max(...rows.map((row) => row.length));
  const box = h("div", { class: "te-am-heat", style: { "--te-label": `${Math.min(longest, 18) * 6.6 + 10}px` } },
    grid.element
  );
  const cellAt = (r, c) => grid.element.querySelector(`[data-row="${r}"][data-column="${c}"]`);
  let last = null; // the cell whose number is printed
  function read(r, c) {
    last = [r, c];
    fill(readout, bold(rows[r]), `, number ${c}: `, bold(format(Number(cellAt(r, c).dataset.value))));
  }
  grid.element.addEventListener("pointerover", (event) => {
    const cell = event.target.closest(".te-cell");
    if (cell) read(cell.dataset.row, cell.dataset.column);
  });
  return {
    elements: [box, div("te-am-below", readout, legend())],
    update(values, row) {
      grid.update(values, { decimals: 2, colour: (value) => diverging(value / SCALE) });
      // too narrow for its number: see readout
      grid.element.querySelectorAll(".te-cell").forEach((cell) => (cell.textContent = ""));
      grid.highlight({ row });
      if (last) read(...last);
    },
  };
}

/** One attention's weights for the followed word: a row for each head. Hatched: hidden by the mask. */
function weightsTable(block, trace) {
  const keys = keysOf(block, trace);
  const grid = matrixGrid({
    name: "weights",
    label: "attention weights of the followed word, a row for each head",
    rows: trace.weights[block].map((_, i) => `head ${i + 1}`),
    columns: keys,
    showRows: true,
    showColumns: true,
  });
  const hides = block.startsWith("decoder") && block.endsWith("self");
  return {
    element: div("te-am-weights", grid.element),
    update(heads, row) {
      grid.update(heads, { decimals: 2, colour: cividis });
      grid.element.querySelectorAll(".te-cell").forEach((cell) => {
        if (!hides || Number(cell.dataset.column) <= row) return;
        cell.classList.replace("te-coloured", "te-blocked");
        [cell.style.background, cell.textContent] = ["", ""];
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
  return div("te-am-best", ...found.flatMap((one) => [
    span("te-am-candidate", readable(one[0])),
    h("span", { class: "te-am-bar", "aria-hidden": "true" },
      h("i", { style: { width: `${(100 * Math.abs(one[index])) / longest}%` } })
    ),
    h("span", { class: "te-am-number", dataset: { candidate: one[0], value: one[index] } },
      format(one[index], decimals)
    ),
  ]), span("te-note te-am-rest", block === "softmax"
    ? `The other ${others} words together: ${format(Math.max(rest, 0), 4)}`
    : `The other ${others} words score less. Scores may have any size and sign.`));
}

function legend() {
  const stops = Array.from({ length: 7 }, (_, i) => css(diverging(i / 3 - 1)));
  return span("te-am-legend",
    format(-SCALE, 0), h("i", { style: { background: `linear-gradient(to right, ${stops.join(", ")})` } }), `+${SCALE}`
  );
}

function render({ model, el }) {
  const root = mount(el, "architecture-map", "Map of the Transformer");
  const announce = changeAnnouncer(root);
  const state = store(model, TRAITS, draw);
  const kept = new Map(); // heatmaps and tables, made when first needed
  let path = pathOf(state.trace.sizes.num_layers),
    shownTrace = state.trace;
  let layer = split(state.block).layer ?? state.trace.sizes.num_layers - 1;

  const keep = (key, make) => kept.get(key) ?? kept.set(key, make()).get(key);
  const open = (block) => block !== state.block && state.set({ block });
  const walk = (by) => open(path[Math.min(path.length - 1, Math.max(0, path.indexOf(state.block) + by))]);
  const follow = (name, at) => at !== state[name] && state.set({
    [name]: at
  });

  function byKey(event) {
    const by = {
      ArrowUp: 1,
      ArrowRight: 1,
      ArrowDown: -1,
      ArrowLeft: -1,
      Home: -path.length,
      End: path.length,
    }[event.key];
    if (by === undefined || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    walk(by);
    map.focus();
  }
  const map = drawing(state.trace, (box) => {
    open(blockOf(box, layer));
    map.focus();
  }, byKey);
  const previous = button("← Previous", () => walk(-1), { "aria-label": "Previous block" });
  const next = button("Next →", () => walk(1), { class: "te-button te-primary", "aria-label": "Next block" });
  const counter = span("te-note");
  const top = div("te-am-words");
  const total = div("te-note");
  const switches = div("te-am-switch");
  const panel = div();
  const facts = h("dl", { class: "te-am-facts" });
  let choices = [];

  /** The rows of words and the layer switch; made again only when another sentence arrives. */
  function build() {
    const { source_tokens: source, target_tokens: target, parameters, sizes } = state.trace;
    const words = (label, name, tokens) => choice({
      label,
      class: "te-am-tokens",
      value: state[name],
      options: tokens.map((word, i) => ({ value: i, content: [readable(word)] })),
      onChange: (at) => follow(name, at),
    });
    choices = [words(`Follow a word that is read (${state.source_name})`, "source_token", source), words(
      `Follow a word that is written (${state.target_name})`, "target_token", target
    )];
    const lines = [
      ["reads", choices[0]],
      ["writes", choices[1]]
    ];
    fill(top, ...lines.flatMap(([verb, one]) => [span("te-label", verb), one.element]));
    const layers = choice({
      label: "Layer",
      value: layer,
      options: Array.from({ length: sizes.num_layers }, (_, i) => ({ value: i, content: [String(i + 1)] })),
      onChange: showLayer,
    });
    choices.push(layers);
    fill(switches, span("te-label", "Layer"), layers.element);
    const sum = Object.values(parameters).reduce((a, b) => a + b, 0);
    fill(total, h("b", {
      dataset: { total: "", value: sum },
    }, whole(sum)), " parameters in all blocks together, learned in chapter ", chapterLink(el, 13), ".");
  }

  function showLayer(to) {
    layer = to;
    const now = split(state.block);
    if (now.layer === null) draw();
    else open(`${now.stack}.${to}.${now.part}`);
  }

  function picture() {
    const { stack } = split(state.block);
    if (!stack) return [
      div("te-am-heading", "The five likeliest words"), candidates(state.block, state.trace, state.target_token),
    ];
    const [name, rows] = stack === "encoder"
      ? ["source_token", state.trace.source_tokens.map(readable)]
      : ["target_token", steps(state.trace.target_tokens).map((pair) => pair.join(" → "))];
    const heat = keep(stack, () => heatmap(rows, state.trace.sizes.d_model, (at) => follow(name, at)));
    heat.update(numbers(state.trace.activations[state.block], 100), state[name]);
    return [
      div("te-am-heading", "What comes out", span(
        "te-term", stack === "encoder" ? "a row for each word" : "each row: word just read → word to write"
      )),
      ...heat.elements,
    ];
  }

  function weights() {
    const { stack, part, attends } = split(state.block);
    if (!attends) return [];
    const at = stack === "encoder" ? state.source_token : state.target_token;
    const table = keep(`${stack} ${part}`, () => weightsTable(state.block, state.trace));
    table.update(state.trace.weights[state.block].map((head) => numbers([head[at]], 10000)[0]), at);
    return [div("te-am-heading", "Where it looks", span("te-term", "each head’s weights sum to 1")), table.element];
  }

  function draw() {
    if (state.trace !== shownTrace) {
      [path, shownTrace] = [pathOf(state.trace.sizes.num_layers), state.trace, kept.clear(), build()];
    }
    const place = split(state.block);
    if (place.layer !== null) layer = place.layer;
    [state.source_token, state.target_token, layer].forEach((value, i) => choices[i].set(value));
    map.update(state, layer);
    const [at, about] = [path.indexOf(state.block), describe(state.block, state)];
    setOff(previous, at === 0);
    setOff(next, at === path.length - 1);
    counter.textContent = `block ${at + 1} of ${path.length}`;
    const said = followed(state.block, state, path);
    const fact = (name, ...content) => [h("dt", {}, name), h("dd", {}, ...content)];
    const focused = focusedIn(panel); // a heatmap's cell: it comes back with its heatmap
    fill(panel,
      div("te-am-title", bold(about.title), span("te-term", placeOf(place))),
      paragraph("te-am-purpose", about.purpose), paragraph("te-am-followed", ...said), ...weights(), ...picture());
    if (focused?.isConnected) focused.focus({ preventScroll: true });
    fill(facts, ...fact("Output", ...shapeOf(state.block, state)),
      ...fact("Parameters", ...parametersOf(state.block, state, about)),
      ...fact("Formula", rich(about.formula), about.note ? div("te-term", rich(about.note)) : null),
      ...fact("Built in", ...about.chapters.flatMap((number, i) => [i ? ", " : "chapter ", chapterLink(el, number)])));
    const text = `${about.title}, ${placeOf(place)}. ${panel.querySelector(".te-am-followed").textContent}`;
    announce(text);
  }

  build();
  root.append(
    paragraph("te-am-hint te-label", "Choose a block, or walk through with Next. Choose a word to follow it."), top,
    div("te-am-columns", div("te-am-map", map.element, div("te-am-corner", switches, total)),
      div("te-am-side", div("te-am-walk", previous, next, counter), panel)), facts);
  draw();
  return state.dispose;
}

export default { render };
