import {
  bold,
  choice,
  div,
  fill,
  frame,
  gliding,
  h,
  KEYS,
  select,
  span,
  store,
  sub,
  sumOf,
  toggle,
  uniqueId,
  whole,
} from "./core.js";

const NUMBERS = {
  source_vocab_size: "source words",
  target_vocab_size: "target words",
  d_model: "d model",
  num_heads: "heads",
  d_ff: "d ff",
  num_layers: "layers",
};
const FIELDS = [...Object.keys(NUMBERS), "tie_embeddings"];
const TRAITS = /** @type {const} */ ([...FIELDS, "keep_ratio", "selected", "presets", "limits"]);
const TIES = { none: "none", target: "two of three", all: "all three" };
const TABLES = { none: ["source", "target", "projection"], target: ["source", "target"], all: ["shared"] };
const KINDS = {
  table: ["word tables", "Here the word tables hold the largest share"],
  attention: ["attention", "Here attention holds the largest share"],
  forward: ["feed-forward", "Feed-forward networks hold more than attention"],
};
const GROUPS = { tables: "Word tables", encoder: "Encoder", decoder: "Decoder" };
const TITLES = {
  w_q: ["query projection", "what each token asks"],
  w_k: ["key projection", "what each token is found by"],
  w_v: ["value projection", "what each token hands over"],
  w_o: ["output projection", "mixes what the heads brought back"],
  w_1: ["first feed-forward matrix", "widens each token’s vector, then ReLU"],
  w_2: ["second feed-forward matrix", "brings it back to its length"],
  source: ["source embedding", "a row for each source word"],
  target: ["target embedding", "a row for each target word"],
  projection: ["projection", "scores every word as the next one"],
  shared: ["one word table for three jobs", "embeds source and target and, transposed, scores the next word"],
};

const label = (name) => (name.startsWith("d_") ? sub("d", name.slice(2)) : NUMBERS[name]);
const percent = (share) => `${(100 * share).toFixed(share >= 0.001 ? 1 : 2)} %`;
const ratio = (value) => (value < 100 ? value.toFixed(2) : whole(Math.round(value)));
const times = (now, before) => (now < before ? `÷\u00a0${ratio(before / now)}` : `×\u00a0${ratio(now / before)}`);

// The map, in pixels
const SIDE = 128; // for names and counts, beside the map where there is room, above it elsewhere
const BETWEEN = 8; // layers
const APART = 10; // groups
const LOWEST = 38; // a group, for its name and count
const HEIGHT = { beside: 216, above: 170 };

const wideOf = (c) => Math.max(4 * c.d_model, c.d_ff);
/** Words of each table: one may do the work of two or three. */
const wordsOf = (c) =>
  TABLES[c.tie_embeddings].map((name) => (name === "source" ? c.source_vocab_size : c.target_vocab_size));

/** Every matrix: { id, kind, rows, columns, bias, count }; and in `norms` how many numbers the norms hold. */
function partsOf(c) {
  const { d_model: d, d_ff } = c;
  const part = (id, kind, rows, columns, bias) => ({ id, kind, rows, columns, bias, count: rows * columns + bias });
  const four = (place) => [..."qkvo"].map((letter) => part(`${place}.w_${letter}`, "attention", d, d, d));
  const layer = (stack, i) => [
    ...four(`${stack}.${i}`),
    ...(stack === "decoder" ? four(`${stack}.${i}.cross`) : []),
    part(`${stack}.${i}.w_1`, "forward", d, d_ff, d_ff),
    part(`${stack}.${i}.w_2`, "forward", d_ff, d, d),
  ];
  const tables = TABLES[c.tie_embeddings].map((name, i) => part(`table.${name}`, "table", wordsOf(c)[i], d, 0));
  const stack = (name) => Array.from({ length: c.num_layers }, (_, i) => layer(name, i)).flat();
  return [...tables, ...stack("encoder"), ...stack("decoder")];
}

/** How many numbers the groups hold, and the kinds. A norm has a γ and a β for each of d_model places. */
function sizesOf(c, parts = partsOf(c)) {
  const count = (keep) => sumOf(parts.filter(keep).map((part) => part.count));
  const norms = { encoder: 4 * c.num_layers * c.d_model, decoder: 6 * c.num_layers * c.d_model };
  const kinds = Object.fromEntries(Object.keys(KINDS).map((kind) => [kind, count((part) => part.kind === kind)]));
  const stack = (name) => count((part) => part.id.startsWith(name)) + norms[name];
  const groups = { tables: kinds.table, encoder: stack("encoder"), decoder: stack("decoder") };
  const total = sumOf(Object.values(groups));
  return { kinds, groups, total, norms: norms.encoder + norms.decoder };
}

/** Why there is no such model, or null. */
function problem(c, limits) {
  const above = ["d_model", ...Object.keys(limits)].find((name) => c[name] > limits[name]);
  if (above) {
    return [label(above), ` = ${whole(c[above])} is more than this figure can draw; at most ${whole(limits[above])}.`];
  }
  if (c.d_model % 2) return [label("d_model"), " must be even, for pairs of a sine and a cosine fill it."];
  if (c.d_model % c.num_heads) {
    const per = `${c.d_model} ÷ ${c.num_heads} = ${(c.d_model / c.num_heads).toFixed(2)}`;
    return [`${whole(c.d_model)} numbers cannot be cut into ${c.num_heads} heads of one length: ${per}.`];
  }
  if (c.tie_embeddings === "all" && c.source_vocab_size !== c.target_vocab_size) {
    const words = `${whole(c.source_vocab_size)} and ${whole(c.target_vocab_size)} words differ`;
    return [`One table for all three jobs needs one vocabulary, but ${words}.`];
  }
  return null;
}

/** What the last change did: every changed field, then how much each group grew. */
function comparison(before, now, changed) {
  const [a, b] = [sizesOf(before), sizesOf(now)];
  const inAll = bold(`In all ${times(b.total, a.total)}.`);
  if (changed.length > 3) return [`Another model: ${whole(a.total)} → ${whole(b.total)} numbers. `, inAll];
  const shown = (value) => (typeof value === "number" ? whole(value) : TIES[value]);
  const what = changed.flatMap((name, i) => [
    i ? ", " : "",
    name in NUMBERS ? label(name) : "tied tables",
    ` ${shown(before[name])} → ${shown(now[name])}`,
  ]);
  if (a.total === b.total) {
    const [each, was] = [now, before].map((c) => c.d_model / c.num_heads);
    return [
      ...what,
      ": not one number more or less.",
      each === was ? "" : ` Heads are cuts: each now works in ${each} dimensions instead of ${was}.`,
    ];
  }
  const grown = Object.keys(GROUPS)
    .filter((name) => a.groups[name] !== b.groups[name])
    .map((name) => `${GROUPS[name].toLowerCase()} ${times(b.groups[name], a.groups[name])}`);
  return [
    ...what,
    `: ${grown.join(", ")}${grown.length < 3 ? " and nothing else" : ""}. `,
    inAll,
    changed.includes("num_layers") ? "" : " Pale, dashed: as it was.",
  ];
}

/** Letter, title, place and purpose of one part. */
function describe({ id, kind }) {
  const [stack, number, ...rest] = id.split(".");
  const [title, purpose] = TITLES[rest.at(-1) ?? number];
  if (kind === "table") return { letter: "", title, place: "", purpose };
  const place = `${stack} layer ${Number(number) + 1}${rest.length > 1 ? ", cross-attention" : ""}`;
  return { letter: rest.at(-1).slice(2).toUpperCase(), title, place, purpose };
}

const shapeOf = ({ rows, columns }) => `${whole(rows)} × ${whole(columns)}`;

function sentence(part, total) {
  const { letter, title, place, purpose } = describe(part);
  return [
    letter ? bold(sub("W", letter), " ") : "",
    bold(title),
    place && `, ${place}`,
    `: ${purpose}. `,
    shapeOf(part),
    part.bias ? ` and a bias of ${whole(part.bias)}` : "",
    " = ",
    bold(whole(part.count)),
    ` numbers, ${percent(part.count / total)} of all.`,
  ];
}

/** Pixels per number and layers per line, so that all these models fit a width and a height. */
function scaleOf(models, width, height) {
  const most = (of) => Math.max(...models.map(of));
  const [layers, d, wide] = [most((c) => c.num_layers), most((c) => c.d_model), most(wideOf)];
  const tables = most((c) => sumOf(wordsOf(c)) * c.d_model) / width;
  let best = { scale: 0 };
  for (let perLine = layers; perLine > 0; perLine -= 1) {
    const lines = Math.ceil(layers / perLine);
    const [room, bands] = [height - 2 * APART - 2 * (lines - 1) * BETWEEN, 7 * lines * d];
    let scale = (Math.sqrt(bands * bands + 4 * tables * room) - bands) / (2 * tables);
    if (tables * scale * scale < LOWEST) scale = (room - LOWEST) / bands;
    scale = Math.min(scale, (width / perLine - BETWEEN) / wide);
    if (scale > 1.15 * best.scale) best = { scale, perLine };
  }
  return best;
}

const option = (id, kind, text) =>
  h(
    "div",
    {
      role: "option",
      class: `te-pm-part te-pm-${kind}`,
      "aria-selected": "false",
      tabindex: -1,
      dataset: { part: id },
      ...KEYS,
    },
    span("te-pm-letter", text),
  );

function layerBox(stack, index) {
  const place = `${stack}.${index}`;
  const four = (prefix) =>
    div(
      "te-pm-band",
      ...[..."qkvo"].map((letter) => option(`${place}.${prefix}w_${letter}`, "attention", letter.toUpperCase())),
    );
  const bands = stack === "decoder" ? [four(""), four("cross.")] : [four("")];
  const forward = ["W₁", "W₂"].map((text, i) => option(`${place}.w_${i + 1}`, "forward", text));
  const props = { class: "te-pm-layer", style: { "--bands": bands.length + 2 } };
  return h("div", { role: "group", "aria-label": `layer ${index + 1}`, ...props }, ...bands, ...forward);
}

/** The drawing: areas are counts. Its elements stay; a change sets a few lengths, and those glide. */
function mapOf() {
  const byGroup = (make) => Object.fromEntries(Object.keys(GROUPS).map((name) => [name, make(name)]));
  const bodies = byGroup((name) => div(`te-pm-body te-pm-${name}`));
  const sides = byGroup(() => div("te-pm-side"));
  const bands = { tables: [], encoder: ["self"], decoder: ["self", "cross"] };
  const group = (name) => {
    const names = div("te-pm-names", ...bands[name].map((band) => span("", band)));
    const aside = h("div", { class: "te-pm-aside", "aria-hidden": "true" }, sides[name], names);
    return div("te-pm-group", aside, bodies[name]);
  };
  const element = h(
    "div",
    { role: "listbox", class: "te-pm-map", "aria-label": "matrices" },
    ...Object.keys(GROUPS).map(group),
  );
  const lengths = ["d", "ff", "slot", "tables", "was-d", "was-wide", "was-tables"];
  const sizes = gliding((now) => lengths.forEach((name, i) => element.style.setProperty(`--${name}`, `${now[i]}px`)));
  const stacks = ["encoder", "decoder"];
  let [options, tied] = [new Map(), ""];

  function build(c) {
    if (tied !== c.tie_embeddings) {
      tied = c.tie_embeddings;
      fill(bodies.tables, ...TABLES[tied].map((name) => option(`table.${name}`, "table", TITLES[name][0])));
    }
    for (const name of stacks) {
      const body = bodies[name];
      while (body.children.length > c.num_layers) body.lastChild.remove();
      while (body.children.length < c.num_layers) body.append(layerBox(name, body.children.length));
    }
    options = new Map(
      [...element.querySelectorAll("[role=option]")].map((/** @type {HTMLElement} */ one) => [one.dataset.part, one]),
    );
  }
  return {
    element,
    /** Counts and names; `was`: the groups of the model of a moment ago, or null. */
    update(c, parts, { groups, total }, was) {
      build(c);
      for (const part of parts) {
        const [one, { letter, title, place }] = [options.get(part.id), describe(part)];
        const name = `${place && `${place}: `}${title}${letter && ` W ${letter}`}`;
        one.dataset.value = String(part.count);
        one.setAttribute("aria-label", `${name}, ${shapeOf(part)}, ${whole(part.count)} parameters`);
        if (part.kind === "table") one.style.flexGrow = String(part.rows);
      }
      Object.entries(groups).forEach(([name, count]) =>
        fill(
          sides[name],
          h("b", {}, GROUPS[name], was && was[name] !== count ? span("te-pm-times", times(count, was[name])) : ""),
          span("", percent(count / total)),
          h("span", { dataset: { group: name, value: count } }, whole(count)),
        ),
      );
    },
    /** Lengths; `before` is the model of a moment ago, outlined. */
    layout(c, before, all) {
      const beside = all > 520;
      const width = beside ? all - SIDE : all;
      const { scale, perLine } = scaleOf(before ? [c, before] : [c], width, beside ? HEIGHT.beside : HEIGHT.above);
      const tall = (m) => (sumOf(wordsOf(m)) * m.d_model * scale * scale) / width;
      const was = before ?? c;
      const slot = Math.max(wideOf(c), wideOf(was)) * scale + BETWEEN;
      element.style.setProperty("--per-line", perLine);
      bodies.tables.classList.toggle("te-pm-changed", tall(was) !== tall(c));
      element.classList.toggle("te-pm-small", c.d_model * scale < 12);
      bodies.tables.classList.toggle("te-pm-flat", tall(c) < 14);
      const larger = was.d_model !== c.d_model || was.d_ff !== c.d_ff;
      stacks.forEach((name) =>
        [...bodies[name].children].forEach((one, i) =>
          one.classList.toggle("te-pm-changed", larger && i < was.num_layers),
        ),
      );
      sizes.to(
        [c.d_model, c.d_ff]
          .map((value) => value * scale)
          .concat(slot, tall(c), was.d_model * scale, wideOf(was) * scale, tall(was)),
      );
    },
    mark(id) {
      [element.querySelector("[aria-selected=true]"), options.get(id)].forEach((one, on) => {
        one?.setAttribute("aria-selected", String(on === 1));
        if (one) one.tabIndex = on - 1;
      });
    },
  };
}

/** A number to type, halve or double (layers: one less, one more). Arrow keys up and down do as the buttons. */
function numberBox(name, now, onSet) {
  const id = uniqueId();
  const type = { inputmode: "numeric", autocomplete: "off", role: "spinbutton", "aria-valuemin": 1 };
  const input = h("input", { id, ...type, class: "te-pm-field", dataset: { field: name }, ...KEYS });
  const [less, more, fewer, further] =
    name === "num_layers" ? ["one less", "one more", "−", "+"] : ["halve", "double", "÷2", "×2"];
  const move = (up) => {
    const layers = now() + (up ? 1 : -1);
    onSet(name, Math.max(1, name === "num_layers" ? layers : up ? now() * 2 : Math.floor(now() / 2)));
  };
  const side = (up) =>
    h(
      "button",
      {
        type: "button",
        tabindex: -1,
        class: "te-pm-step",
        "aria-label": `${up ? more : less}: ${NUMBERS[name]}`,
        on: { click: () => move(up) },
      },
      up ? further : fewer,
    );
  input.addEventListener("change", () => {
    const value = Number(input.value.replace(/[\s,.]/g, ""));
    if (Number.isInteger(value) && value > 0) onSet(name, value);
    else input.setAttribute("aria-invalid", "true");
  });
  input.addEventListener("keydown", (event) => {
    if (event.key !== "ArrowUp" && event.key !== "ArrowDown") return;
    event.preventDefault();
    move(event.key === "ArrowUp");
  });
  return {
    element: div(
      "te-pm-number",
      h("label", { for: id }, label(name)),
      div("te-pm-box", side(false), input, side(true)),
    ),
    set(value) {
      input.value = whole(value);
      input.setAttribute("aria-valuenow", value);
      input.removeAttribute("aria-invalid");
    },
  };
}

/** The total, and what share of it each kind has. */
const legend = ({ kinds, total }) => [
  span("te-nowrap", h("b", { dataset: { total: "", value: total } }, whole(total)), " numbers"),
  ...Object.entries(kinds).map(([kind, value]) =>
    span(
      "te-nowrap",
      h("i", { class: `te-pm-swatch te-pm-${kind}` }),
      `${KINDS[kind][0]} `,
      h("b", { dataset: { kind, value } }, percent(value / total)),
    ),
  ),
];

/** How the numbers come about. */
function counted({ norms, total }) {
  const [d, ff] = [() => label("d_model"), () => label("d_ff")];
  return [
    "An attention has 4 × (",
    d(),
    "² + ",
    d(),
    ") numbers, a feed-forward network 2 × ",
    d(),
    " × ",
    ff(),
    " + ",
    ff(),
    " + ",
    d(),
    `. The norms, ${whole(norms)} numbers or ${percent(norms / total)}, are too few to draw. All `,
    "areas have one scale; a word table, ",
    d(),
    " numbers for each word, is drawn as one block of its area.",
  ];
}

function render({ model, el }) {
  const figure = frame(el, {
    name: "parameter-map",
    label: "Map of all parameters",
    says: [""],
    invite: ["double ", label("d_model"), ": which areas grow most? Then double the heads."],
  });
  const state = store(model, TRAITS, draw);
  const read = () => Object.fromEntries(FIELDS.map((name) => [name, state[name]]));
  const [start, change] = [read(), (changes) => state.set(changes)];
  let shown = start,
    before = null, // the model of a moment ago, if the last change made something larger or smaller
    told = null, // what the last change did; null: the chosen matrix is described
    chosen = state.selected,
    sizes,
    parts,
    width;

  const presets = choice({
    label: "Model",
    value: "",
    options: Object.keys(state.presets).map((value) => ({ value, content: [value] })),
    onChange: (name) => change(state.presets[name]),
  });
  const numbers = Object.keys(NUMBERS).map(
    (name) => /** @type {const} */ ([name, numberBox(name, () => state[name], setNumber)]),
  );
  const follow = toggle({
    label: [label("d_ff"), " follows ", label("d_model")],
    value: state.keep_ratio,
    onChange: (keep_ratio) => {
      const [verb, end] = keep_ratio ? [" grows and shrinks with ", "."] : [" now stays, whatever ", " is."];
      told = [label("d_ff"), verb, label("d_model"), end];
      change({ keep_ratio });
    },
  });
  const tie = select({
    label: "tied tables",
    value: state.tie_embeddings,
    options: Object.entries(TIES).map(([value, text]) => ({ value, label: text })),
    onChange: (tie_embeddings) => change({ tie_embeddings }),
  });
  const [key, map, ways] = [div("te-pm-legend"), mapOf(), div("te-note")];

  function setNumber(name, value) {
    const changes = Object.fromEntries([[name, value]]);
    if (name === "d_model" && state.keep_ratio) {
      changes.d_ff = Math.max(1, Math.round((state.d_ff * value) / state.d_model));
    }
    if (state.tie_embeddings === "all" && name.endsWith("vocab_size")) {
      changes.source_vocab_size = changes.target_vocab_size = value;
    }
    change(changes);
  }

  /** Everything that hangs on the model's sizes. */
  function count() {
    parts = partsOf(shown);
    sizes = sizesOf(shown, parts);
    map.update(shown, parts, sizes, before && sizesOf(before).groups);
    if (width) map.layout(shown, before, width);
    figure.says(KINDS[Object.keys(KINDS).find(largest)][1]);
  }
  const largest = (kind) => sizes.kinds[kind] === Math.max(...Object.values(sizes.kinds));

  function draw() {
    const wanted = read();
    const fault = problem(wanted, state.limits);
    const changed = fault ? [] : FIELDS.filter((name) => shown[name] !== wanted[name]);
    if (changed.length) {
      told = comparison(shown, wanted, changed);
      before = changed.length > 3 || sizesOf(wanted).total === sizes.total ? null : shown;
      shown = wanted;
      count();
    } else if (chosen !== state.selected) told = null;
    chosen = state.selected;
    const part = parts.find(({ id }) => id === chosen) ?? parts.at(-2);
    map.mark(part.id);
    numbers.forEach(([name, box]) => box.set(wanted[name]));
    presets.set(
      Object.keys(state.presets).find((name) => FIELDS.every((field) => state.presets[name][field] === wanted[field])),
    );
    tie.set(state.tie_embeddings);
    follow.set(state.keep_ratio);
    words.classList.toggle("te-pm-fault", fault !== null);
    figure.rest(() => {
      fill(key, ...legend(sizes));
      fill(ways, ...counted(sizes));
      fill(
        words,
        ...(fault
          ? [bold("No such model. "), ...fault, " The map shows the last one."]
          : (told ?? sentence(part, sizes.total))),
      );
      figure.tell(words.textContent);
    });
  }

  map.element.addEventListener("click", ({ target }) =>
    /** @type {HTMLElement} */ (/** @type {Element} */ (target).closest("[role=option]"))?.focus(),
  );
  map.element.addEventListener("focusin", (event) => {
    const id = /** @type {HTMLElement} */ (event.target).dataset.part;
    if (id && id !== state.selected) change({ selected: id });
  });
  map.element.addEventListener("keydown", (event) => {
    const options = /** @type {HTMLElement[]} */ ([...map.element.querySelectorAll("[role=option]")]);
    const [at, last] = [options.indexOf(/** @type {HTMLElement} */ (event.target)), options.length - 1];
    const places = { ArrowRight: at + 1, ArrowDown: at + 1, ArrowLeft: at - 1, ArrowUp: at - 1, Home: 0, End: last };
    if (!(event.key in places) || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    options[places[event.key]]?.focus();
  });
  figure.stage.append(key, map.element);
  figure.controls.append(
    div("te-pm-numbers", ...numbers.map(([, box]) => box.element)),
    span("te-pm-model", "model"),
    presets.element,
    follow.element,
    tie.element,
  );
  const words = figure.words(2);
  count();
  draw();
  figure.ask([
    {
      ask: ["double a number and add no parameter"],
      done: () => shown.num_heads !== start.num_heads && sizes.total === sizesOf(start).total,
      tell: ["Heads are cuts through the same four matrices."],
      show: () => change({ ...start, num_heads: start.num_heads * 2 }),
    },
    {
      ask: ["make attention hold the largest share"],
      done: () => largest("attention"),
      tell: ["A small vocabulary, or a narrow feed-forward network, leaves it in front."],
      show: () => change(state.presets.book),
    },
    {
      ask: ["make the word tables hold more than half"],
      done: () => sizes.kinds.table > sizes.total / 2,
      tell: ["Three tables instead of one, or more words, outweigh twelve layers."],
      show: () => change({ ...state.presets.base, tie_embeddings: "none" }),
    },
  ]);
  figure.details("How it is counted", ways);
  const watcher = new ResizeObserver(([{ contentRect }]) => {
    if (Math.round(contentRect.width) === width) return;
    width = Math.round(contentRect.width);
    map.layout(shown, before, width);
  });
  watcher.observe(figure.stage);
  return () => {
    watcher.disconnect();
    state.dispose();
  };
}

export default { render };
