import { announcer, bold, button, choice, div, fill, focusedIn, h, mount, paragraph, select, span, store, sub, sumOf,
  toggle, uniqueId, whole } from "./core.js";

const FIELDS = [
  "source_vocab_size", "target_vocab_size", "d_model", "num_heads", "d_ff", "num_layers", "tie_embeddings",
];
const TRAITS = [...FIELDS, "keep_ratio", "selected", "presets", "limits"];
const PRESETS = { book: "book’s model", base: "paper’s base", big: "paper’s big" };
const TIES = { none: "none", target: "target, projection", all: "all three" };
const KINDS = { table: "word tables", attention: "attention", forward: "feed-forward", norm: "norms" };
const BANDS = { self: "self", cross: "cross", w_1: "feed-", w_2: "forward" };
const SPOKEN = {
  source_vocab_size: "source words",
  target_vocab_size: "target words",
  d_model: "d model",
  num_heads: "heads",
  d_ff: "d ff",
  num_layers: "layers",
};
const LABELS = { ...SPOKEN, d_model: sub("d", "model"), d_ff: sub("d", "ff") };
const label = (name) => (LABELS[name] instanceof Node ? LABELS[name].cloneNode(true) : LABELS[name]);
const percent = (share) => `${(100 * share).toFixed(share >= 0.001 || share === 0 ? 1 : 2)} %`;
const times = (now, before) => (now < before ? `÷ ${ratio(before / now)}` : `× ${ratio(now / before)}`);
const ratio = (value) => (value < 100 ? value.toFixed(2) : whole(Math.round(value)));
const sum = (items) => items.reduce((total, item) => total + item.count, 0);

/** A matrix with `across` columns (or rows) beside its d_model; `bias` more numbers go with it. */
const matrix = (id, kind, band, symbol, across, d, bias) => ({
  id,
  kind,
  band,
  symbol,
  across,
  weights: across * d,
  bias,
  count: across * d + bias,
});

function attention(place, band, d) {
  return ["q", "k", "v", "o"].map((letter) => matrix(
    `${place}.w_${letter}`, "attention", band, letter.toUpperCase(), d, d, d
  ));
}

function layer(place, d, d_ff, cross) {
  return [
    ...attention(place, "self", d), ...(cross ? attention(`${place}.cross`, "cross", d) : []),
    matrix(`${place}.w_1`, "forward", "w_1", "1", d_ff, d, d_ff),
    matrix(`${place}.w_2`, "forward", "w_2", "2", d_ff, d, d),
    matrix(`${place}.norms`, "norm", "norm", "", cross ? 6 : 4, d, 0),
  ];
}

/** All that is learned, in three groups: the word tables, the encoder's layers, the decoder's. */
function groups({ source_vocab_size, target_vocab_size, d_model: d, d_ff, num_layers, tie_embeddings }) {
  const names = {
    all: ["shared"],
    target: ["source", "target"],
    none: [
      "source", "target", "projection",
    ]
  }[tie_embeddings];
  const tables = names.map((name) => matrix(
    `table.${name}`, "table", "table", "", name === "source" ? source_vocab_size : target_vocab_size, d, 0
  ));
  const stack = (name) => Array.from({ length: num_layers }, (_, i) => layer(
    `${name}.${i}`, d, d_ff, name === "decoder"
  ));
  return { tables: [tables], encoder: stack("encoder"), decoder: stack("decoder") };
}

/** Why there is no such model, or null. */
function problem(c, limits) {
  const above = ["d_model", ...Object.keys(limits)].find((name) => c[name] > limits[name]);
  if (above) {
    return [label(above), ` = ${whole(c[above])} is more than this figure can draw; at most ${whole(limits[above])}.`];
  }
  if (c.d_model % 2) return [
    label("d_model"),
    ` must be even, because the positional encoding fills it with pairs of a sine and a cosine. ${whole(c.d_model)} ` +
    "is odd.",
  ];
  if (c.d_model % c.num_heads) {
    const fits = (h) => c.d_model % h === 0;
    let [low, high] = [c.num_heads, c.num_heads];
    while (!fits(low)) low -= 1;
    while (high < c.d_model && !fits(high)) high += 1;
    return [
      `A vector of ${whole(c.d_model)} numbers cannot be cut into ${c.num_heads} heads of one length: ${c.d_model} ÷ ` +
      `${c.num_heads} = ${(c.d_model / c.num_heads).toFixed(2)}. `,
      high <= c.d_model && fits(high) ? `${low} or ${high} heads would do.` : `${low} heads would do.`
    ];
  }
  if (c.tie_embeddings === "all" && c.source_vocab_size !== c.target_vocab_size) {
    return [
      `One table for all three jobs needs one vocabulary for both languages, but ${whole(c.source_vocab_size)} and ` +
      `${whole(c.target_vocab_size)} words differ. Make them equal, or tie less.`,
    ];
  }
  return null;
}

/** What the last change did: every changed field, then how much each group grew. */
function comparison(before, now) {
  const changed = FIELDS.filter((name) => before[name] !== now[name]);
  const shown = (value) => (typeof value === "number" ? whole(value) : TIES[value]);
  const what = changed.flatMap((name, i) => [
    i ? ", " : "",
    name === "tie_embeddings" ? "tied tables" : label(name),
    ` ${shown(before[name])} → ${shown(now[name])}`,
  ]);
  const size = (c) => Object.fromEntries(Object.entries(groups(c)).map(([name, layers]) => [name, sum(layers.flat())]));
  const [a, b] = [size(before), size(now)];
  if (Object.keys(a).every((name) => a[name] === b[name])) {
    const heads = changed.includes("num_heads")
      ? ` Heads are cuts: each now works in ${now.d_model / now.num_heads} dimensions instead of ` +
      `${before.d_model / before.num_heads}.`
      : "";
    return [...what, `: not one number more or less.${heads}`];
  }
  if (changed.length > 3) {
    return [`Another model: ${whole(sumOf(Object.values(a)))} → ${whole(sumOf(Object.values(b)))} parameters. `, bold(
      `In all ${times(sumOf(Object.values(b)), sumOf(Object.values(a)))}.`
    )];
  }
  const grown = Object.keys(a).map((name) => (
    a[name] === b[name] ? `${name} unchanged` : `${name} ${times(b[name], a[name])}`
  ));
  return [
    ...what, `: ${grown.join(", ")}. `, bold(`In all ${times(sumOf(Object.values(b)), sumOf(Object.values(a)))}.`),
  ];
}

/** Name, shape, formula and purpose of one part. */
function describe(item, c) {
  const [stack, number] = item.id.split(".");
  const name = item.id.split(".").at(-1);
  const cross = item.band === "cross";
  const place = stack === "table" ? "" : `${stack} layer ${Number(number) + 1}`;
  const perHead = c.d_model / c.num_heads;
  const cut = c.num_heads === 1
    ? "one head uses it whole"
    : `${c.num_heads} heads share it, ${perHead} dimensions each`;
  const [d, ff] = [label("d_model"), label("d_ff")];
  const plus = (bias) => [" × ", label("d_model"), " + ", bias];
  const known = {
    w_q: ["query projection", cross ? "What the word being written asks of the source" : "What each token asks", cut],
    w_k: [
      "key projection",
      cross ? "What each source token, in the encoder’s memory, is found by" : "What each token is found by",
      cut,
    ],
    w_v: ["value projection", cross ? "What each source token hands over" : "What each token hands over", cut],
    w_o: [
      "output projection",
      "Mixes what the heads brought back into one vector",
      `${c.num_heads} × ${perHead} in, ${whole(c.d_model)} out`,
    ],
    w_1: [
      "first feed-forward matrix",
      "Widens each token’s vector, then ReLU",
      `${whole(c.d_model)} in, ${whole(c.d_ff)} out`,
    ],
    w_2: ["second feed-forward matrix", "Brings it back to its length", `${whole(c.d_ff)} in, ${whole(c.d_model)} out`],
    norms: [
      `${item.across / 2} layer norms`,
      "After each residual sum",
      "γ and β for each of the d_model places".replace("d_model", whole(c.d_model)),
    ],
    source: ["source embedding", "A row for each word of the source language", "looked up, not multiplied"],
    target: [c.tie_embeddings === "target" ? "target embedding = projection" : "target embedding",
      "A row for each word of the target language", c.tie_embeddings === "target"
      ? "transposed, it scores the next word"
      : "looked up, not multiplied"
    ],
    projection: ["projection", "Scores every word as the next one", "a dot product for each"],
    shared: [
      "one table for three jobs", "Embeds the source, embeds the target and, transposed, scores the next word", "tied",
    ],
  }[name];
  const words = whole(item.across);
  const shape = { table: `${words} × ${whole(c.d_model)}`, norm: `${item.across} × ${whole(c.d_model)}` }[item.kind] ??
    (name === "w_2" ? `${whole(c.d_ff)} × ${whole(c.d_model)}` : `${whole(c.d_model)} × ${words}`);
  const formula = {
      w_1: [d, " × ", ff, " + ", label("d_ff")],
      w_2: [ff, ...plus(label("d_model"))],
      norms: [
        `${item.across / 2} × 2 × `, d,
      ]
    }[name] ??
    (item.kind === "table" ? ["words × ", d] : [d, ...plus(label("d_model"))]);
  const symbol = item.kind === "attention" || item.kind === "forward" ? sub("W", item.symbol) : null;
  return {
    symbol,
    title: known[0],
    place: cross ? `${place}, cross-attention` : place,
    purpose: known[1],
    detail: known[2],
    shape,
    formula,
  };
}

/** Pixels per number and layers per line, so that the whole map fits a width and about a height. */
function scale(c, width, height) {
  const wide = Math.max(4 * c.d_model, c.d_ff);
  const tables = groups(c).tables[0].map((table) => table.across);
  const tall = (s, lines) => (7 * lines + tables.reduce(
    (strips, words) => strips + Math.ceil((words * s) / width), 0
  )) * c.d_model * s;
  let best = { s: 0, perLine: 1 };
  for (let perLine = 1; perLine <= c.num_layers; perLine += 1) {
    let [low, high] = [0, Math.max((width / perLine - GUTTER) / wide, 1e-6)];
    if (tall(high, Math.ceil(c.num_layers / perLine)) <= height) low = high;
    for (let step = 0; step < 40 && low < high; step += 1) {
      const middle = (low + high) / 2;
      if (tall(middle, Math.ceil(c.num_layers / perLine)) <= height) low = middle;
      else high = middle;
    }
    if (low > best.s) best = { s: low, perLine };
  }
  return best;
}
const GUTTER = 14; // for a layer's norms and the space after them
const BESIDE = 50; // for the names of the bands

const px = (value) => `${value.toFixed(2)}px`;

/** One selectable rectangle: `across` numbers wide, d_model high; a table is folded into strips as wide as the map. */
function rectangle(item, c, s, width) {
  const { title, place, shape } = describe(item, c);
  const letter = item.kind === "attention" || item.kind === "forward" ? ` W ${item.symbol}` : "";
  const option = h("div", {
    role: "option",
    class: `te-pm-part te-pm-${item.kind}`,
    "aria-selected": "false",
    tabindex: -1,
    dataset: { part: item.id, value: item.count },
    ...KEYS,
    "aria-label": `${place && `${place}: `}${title}${letter}, ${shape}, ${whole(item.count)} parameters`,
  });
  const tall = px(c.d_model * s);
  if (item.kind === "table") {
    const strips = Math.ceil((item.across * s) / width - 1e-9);
    const inside = item.across * s > 150 && c.d_model * s > 15;
    for (let i = 0; i < strips; i += 1) {
      const long = Math.min(item.across * s - i * width, width);
      option.append(h("div", { class: "te-pm-strip", style: { width: px(long), height: tall } },
        i === 0 && inside ? title : null
      ));
    }
    if (!inside && strips === 1 && item.across * s < width - 200) option.append(span("te-pm-beside", title));
  } else if (item.kind === "norm") option.style.width = "10px";
  else {
    Object.assign(option.style, { width: px(item.across * s), height: tall });
    if (Math.min(item.across, c.d_model) * s > 13) {
      option.append(item.kind === "forward" ? `W${item.symbol === "1" ? "₁" : "₂"}` : item.symbol);
    }
  }
  return option;
}

function layerBox(items, index, c, s, width) {
  const bands = Object.keys(BANDS).map((band) => items.filter((item) => item.band === band)).filter(
    (band) => band.length
  );
  return h("div", { role: "group", class: "te-pm-layer", "aria-label": `layer ${index + 1}` },
    h("div", { class: "te-pm-bands", role: "presentation" }, ...bands.map((band) => h(
      "div", { class: "te-pm-band", role: "presentation" }, ...band.map((item) => rectangle(item, c, s, width))
    ))),
    rectangle(items.at(-1), c, s, width));
}

/** The map of one group: a heading with its exact count, and a list of rectangles that arrow keys walk through. */
function groupBox(name, layers, total, c, { s, perLine, width }) {
  const count = sum(layers.flat());
  const heading = { tables: "Word tables", encoder: "Encoder", decoder: "Decoder" }[name];
  const made = name === "tables"
    ? `${tableSizes(layers[0])} × ${whole(c.d_model)}`
    : `${layers.length} × ${whole(count / layers.length)}`;
  const list = h("div", {
    role: "listbox",
    class: `te-pm-list${name === "tables" ? " te-pm-tables" : ""}`,
    "aria-label": `${heading}: matrices`,
  });
  if (name === "tables") list.append(...layers[0].map((item) => rectangle(item, c, s, width)));
  else {
    const bands = [...new Set(layers[0].map((item) => item.band))].filter((band) => band in BANDS);
    for (let at = 0; at < layers.length; at += perLine) {
      const names = h("div", { class: "te-pm-names", role: "presentation", "aria-hidden": "true" }, ...bands.map(
        (band) => h("span", { style: { height: px(c.d_model * s) } }, c.d_model * s > 11 ? BANDS[band] : "")
      ));
      list.append(h("div", { class: "te-pm-line", role: "presentation" },
        names, ...layers.slice(at, at + perLine).map((items, i) => layerBox(items, at + i, c, s, width))
      ));
    }
  }
  return div("te-pm-group",
    div("te-pm-heading", bold(heading), span("te-note", `${made} =`), h("b", {
      dataset: { group: name, value: count },
    }, whole(count)), span("te-pm-share", percent(count / total))), list);
}

/** "37,000", "3 × 37,000" or "(92 + 127 + 127)". */
function tableSizes(tables) {
  const sizes = tables.map((table) => whole(table.across));
  if (new Set(sizes).size > 1) return `(${sizes.join(" + ")})`;
  return sizes.length > 1 ? `${sizes.length} × ${sizes[0]}` : sizes[0];
}

/** A number to type, halve or double (layers: one less, one more). Arrow keys up and down do as the buttons. */
function numberBox(name, step, onSet) {
  const id = uniqueId();
  const input = h("input", {
    id,
    type: "text",
    inputmode: "numeric",
    autocomplete: "off",
    role: "spinbutton",
    "aria-valuemin": 1,
    class: "te-pm-field",
    dataset: { field: name },
    ...KEYS,
  });
  const one = name === "num_layers";
  const move = (up) => onSet(
    name, one ? Math.max(1, step() + (up ? 1 : -1)) : Math.max(1, up ? step() * 2 : Math.floor(step() / 2))
  );
  const side = (up) => h("button", {
    type: "button",
    tabindex: -1,
    class: "te-pm-step",
    "aria-label": `${one ? (up ? "one more" : "one less") : up ? "double" : "halve"}: ${SPOKEN[name]}`,
    on: { click: () => move(up) },
  }, one ? (up ? "+" : "−") : up ? "×2" : "÷2");
  input.addEventListener("change", () => {
    const text = input.value.replace(/[\s,.]/g, "");
    onSet(name, /^\d{1,9}$/.test(text) && Number(text) > 0 ? Number(text) : input.value);
  });
  input.addEventListener("keydown", (event) => {
    if (event.key !== "ArrowUp" && event.key !== "ArrowDown") return;
    event.preventDefault();
    move(event.key === "ArrowUp");
  });
  const element = div(
    "te-pm-number", h("label", { for: id }, label(name)), div("te-pm-box", side(false), input, side(true))
  );
  const mark = (bad) => (bad ? input.setAttribute("aria-invalid", "true") : input.removeAttribute("aria-invalid"));
  return {
    element,
    mark,
    set(value) {
      input.value = whole(value);
      input.setAttribute("aria-valuenow", value);
      mark(false);
    }
  };
}

/** The next option for a key: left and right in order, up and down to the nearest one there. */
function nextOption(options, from, key) {
  const at = options.indexOf(from);
  const to = { ArrowRight: at + 1, ArrowLeft: at - 1, Home: 0, End: options.length - 1 }[key];
  if (to !== undefined) return options[to] ?? from;
  if (key !== "ArrowUp" && key !== "ArrowDown") return null;
  const middle = (node) => (({ left, top, width, height }) => [left + width / 2, top + height / 2])(
    node.getBoundingClientRect()
  );
  const [x, y] = middle(from);
  const sign = key === "ArrowUp" ? -1 : 1;
  const far = (node) => (([a, b]) => (
    (b - y) * sign > 2 ? Math.abs(a - x) + 3 * Math.abs(b - y) : Infinity
  ))(middle(node));
  const best = options.reduce((nearest, node) => (far(node) < far(nearest) ? node : nearest), from);
  return best;
}

/** The total, and a bar of the four kinds with its legend. */
function overview(parts, total) {
  const sizes = Object.keys(KINDS).map((kind) => [kind, sum(parts.filter((item) => item.kind === kind))]);
  return [
    div("te-pm-total", h("b", { dataset: { total: "", value: total } }, whole(total)), span("", "parameters in all")),
    div("te-pm-kinds",
      h("div", { class: "te-pm-bar", "aria-hidden": "true" },
        ...sizes.map(([kind, size]) => h("span", { class: `te-pm-${kind}`, style: { "flex-grow": size / total } }))
      ),
      div("te-pm-legend",
        ...sizes.map(([kind, size]) => h("span", { class: "te-nowrap", dataset: { kind, value: size } },
          h("i", { class: `te-pm-swatch te-pm-${kind}` }), `${KINDS[kind]} `, bold(percent(size / total))
        )),
      )),
  ];
}

/** A square of a round number of parameters, as the map's scale. */
function scaleBar(s) {
  const round = [1e8, 1e7, 1e6, 1e5, 1e4, 1e3, 100, 10, 1].find((number) => Math.sqrt(number) * s <= 36) ?? 1;
  const side = px(Math.sqrt(round) * s);
  return div("te-pm-scale", h("i", { style: { width: side, height: side } }), span("", `= ${whole(round)} numbers`));
}

function portrait(item, c) {
  const factor = Math.min(130 / item.across, 64 / c.d_model);
  const cut = 100 / c.num_heads;
  const heads = item.kind === "attention" ? `te-pm-cut te-pm-cut-${item.symbol === "O" ? "rows" : "columns"}` : "";
  return h("i", {
    class: `te-pm-portrait te-pm-${item.kind} ${heads}`,
    "aria-hidden": "true",
    style: {
      width: px(Math.max(item.across * factor, 2)),
      height: px(Math.max(c.d_model * factor, 2)),
      "--cut": `${cut}%`,
    }
  });
}

function details(item, c, total) {
  const { symbol, title, place, purpose, detail, shape, formula } = describe(item, c);
  return [
    div("te-pm-frame", portrait(item, c)),
    div("",
      div("", symbol ? bold(symbol, " ") : null, bold(title), place ? span("te-note", `  ${place}`) : null),
      div("", `${purpose}; ${detail}.`),
      div("", shape, item.bias ? ` and a bias of ${whole(item.bias)}` : "", " = ", h("b", {
        dataset: { chosen: item.id, value: item.count },
      }, whole(item.count)), span("te-note", "  ", ...formula, `  ·  ${percent(item.count / total)} of all`))),
  ];
}

function render({ model, el }) {
  const root = mount(el, "parameter-map", "Map of all parameters");
  const announce = announcer(root);
  const state = store(model, TRAITS, draw);
  const read = () => Object.fromEntries(FIELDS.map((name) => [name, state[name]]));
  const start = { ...read(), keep_ratio: state.keep_ratio, selected: state.selected };
  let shown = read(),
    refused = null,
    drawn = "",
    spoken = "",
    said = null;

  const presets = choice({
    label: "Model",
    class: "te-pm-presets",
    value: "",
    options: Object.entries(PRESETS).map(([value, text]) => ({ value, content: [text] })),
    onChange: (name) => change(state.presets[name]),
  });
  const numbers = Object.keys(SPOKEN).map((name) => [name, numberBox(name, () => state[name], setNumber)]);
  const follow = toggle({
    label: [label("d_ff"), " follows ", label("d_model")],
    value: state.keep_ratio,
    onChange: (keep_ratio) => state.set({ keep_ratio }),
  });
  const tie = select({
    label: "tied tables",
    value: state.tie_embeddings,
    options: Object.entries(TIES).map(([value, text]) => ({ value, label: text })),
    onChange: (tie_embeddings) => change({ tie_embeddings }),
  });
  const reset = button("Reset", () => change(start));
  const top = div("te-pm-overview");
  const words = paragraph("te-pm-words");
  const map = div("te-pm-map");
  const chosen = div("te-pm-details");

  function change(changes) {
    refused = null;
    state.set(changes);
  }

  function setNumber(name, value) {
    if (typeof value !== "number") {
      refused = [name, value];
      return draw();
    }
    const changes = {
      [name]: value
    };
    if (name === "d_model" && state.keep_ratio) {
      changes.d_ff = Math.max(1, Math.round((state.d_ff * value) / state.d_model));
    }
    if (state.tie_embeddings === "all" && name.endsWith("vocab_size")) {
      Object.assign(changes, { source_vocab_size: value, target_vocab_size: value });
    }
    change(changes);
  }

  function choose(id) {
    if (id !== state.selected) state.set({ selected: id });
  }

  function build(c, all, total) {
    const width = Math.max(200, (root.clientWidth || 760) - paddingOf(root)) - BESIDE;
    const key = JSON.stringify([c, Math.round(width)]);
    if (key === drawn) return;
    drawn = key;
    const focused = focusedIn(map);
    const fit = { width, ...scale(c, width, width > 480 ? 340 : 460) };
    fill(map, ...Object.entries(all).map(([name, layers]) => groupBox(name, layers, total, c, fit)),
      div("te-pm-below",
        span("te-note",
          `Height: `,
          label("d_model"),
          fit.s * Math.max(c.source_vocab_size, c.target_vocab_size) > width ? "; tables are folded. " : ". ",
          "The line after each layer: its norms, wider than true.",
        ),
        scaleBar(fit.s),
      ));
    if (focused) map.querySelector(`[data-part="${CSS.escape(state.selected)}"]`)?.focus();
  }

  function mark(id) {
    map.querySelectorAll("[role=listbox]").forEach((list) => {
      const options = [...list.querySelectorAll("[role=option]")];
      options.forEach((option) => {
        option.setAttribute("aria-selected", String(option.dataset.part === id));
        option.tabIndex = -1;
      });
      (options.find((option) => option.dataset.part === id) ?? options[0]).tabIndex = 0;
    });
  }

  function draw() {
    const wanted = read();
    const fault = refused
      ? [label(refused[0]), ` must be a whole number from 1 up; “${refused[1]}” is not.`]
      : problem(wanted, state.limits);
    if (!fault && JSON.stringify(wanted) !== JSON.stringify(shown))[said, shown] = [comparison(shown, wanted), wanted];
    const all = groups(shown);
    const parts = Object.values(all).flat(2);
    const total = sum(parts);
    const item = parts.find((part) => part.id === state.selected) ?? parts.find((part) => part.id === "encoder.0.w_q");
    build(shown, all, total);
    mark(item.id);
    numbers.forEach(([name, box]) => (refused?.[0] === name ? box.mark(true) : box.set(state[name])));
    presets.set(
      Object.keys(PRESETS).find((name) => FIELDS.every((field) => state.presets[name][field] === wanted[field]))
    );
    [tie.set(state.tie_embeddings), follow.set(state.keep_ratio)];
    fill(top, ...overview(parts, total));
    words.classList.toggle("te-pm-fault", fault !== null);
    fill(words, ...(fault
      ? [bold("No such model. "), ...fault, " The map still shows the last one."]
      : said ?? ["Double or halve a number: this line then says what grew, and by how much."]));
    fill(chosen, ...details(item, shown, total));
    tell(item.id, total);
  }

  function tell(id, total) {
    const [about, chosenText] = [words.textContent, chosen.textContent];
    const text = `${about}|${id}`;
    if (spoken && text !== spoken) {
      announce(spoken.split("|")[0] === about ? chosenText : `${about} ${whole(total)} parameters.`);
    }
    spoken = text;
  }

  map.addEventListener("click", (event) => {
    const option = event.target.closest("[role=option]");
    if (!option) return;
    choose(option.dataset.part);
    option.focus({ preventScroll: true });
  });
  map.addEventListener("focusin", (event) => event.target.dataset.part && choose(event.target.dataset.part));
  map.addEventListener("keydown", (event) => {
    const list = event.target.closest("[role=listbox]");
    if (!list || event.ctrlKey || event.metaKey || event.altKey) return;
    const next = nextOption([...list.querySelectorAll("[role=option]")], event.target, event.key);
    if (!next) return;
    event.preventDefault();
    next.focus();
  });
  root.append(
    presets.element,
    div("te-pm-numbers", ...numbers.map(([, box]) => box.element)),
    div("te-pm-switches", follow.element, tie.element, reset),
    top, words, map, chosen,
  );
  draw();
  const watcher = new ResizeObserver(() => draw());
  watcher.observe(root);
  return () => {
    watcher.disconnect();
    state.dispose();
  };
}

const paddingOf = (node) => (
  ({ paddingLeft, paddingRight }) => parseFloat(paddingLeft) + parseFloat(paddingRight) || 0
)(getComputedStyle(node));

export default { render };
