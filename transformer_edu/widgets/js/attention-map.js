import { bold, changeAnnouncer, choice, cividis, div, fill, format, h, mapMatrix, matrixGrid, mount, named, paragraph,
  readable, select, span, store, sumOf, svg, wordSpan } from "./core.js";

const TRAITS = [
  "maps", "source_tokens", "target_tokens", "candidates", "attention", "layer", "head", "token", "source_name",
  "target_name",
];
const KINDS = { "cross": "Cross", "encoder self": "Encoder self", "decoder self": "Decoder self" };
const START = "<bos>";
const SHOWN = 0.005; // weights below this print as 0.00: no number, no mention

const PLACES = { "cross": "decoder cross", "encoder self": "encoder self", "decoder self": "decoder self" };

const mapName = (kind, layer) => PLACES[kind].replace(" ", `.${layer}.`);

/** The layers that have this kind of attention. */
function layersOf(maps, kind) {
  const pattern = new RegExp(`^${mapName(kind, "(\\d+)").replaceAll(".", "\\.")}$`);
  return Object.keys(maps).flatMap((name) => pattern.exec(name)?.[1] ?? []).map(Number).sort((a, b) => a - b);
}

/** Weights (q_len, k_len): of the head, or the mean of all heads. */
function weightsOf(heads, head) {
  return head === null
    ? mapMatrix(heads[0], (_, i, j) => heads.reduce((sum, one) => sum + one[i][j], 0) / heads.length)
    : heads[head];
}

/**
 * The words that look, the words looked at, and what the rows mean. A decoder row is labelled by the word it writes.
 */
function sides({ attention, source_tokens: source, target_tokens: target, source_name: from, target_name: to }) {
  const written = [START, ...target.slice(0, -1)];
  return {
    "cross": {
      queries: target,
      keys: source,
      above: `${from}: what it can look at`,
      below: `${to}: what it writes. Choose a word`,
      verb: "writes",
    },
    "decoder self": {
      queries: target,
      keys: written,
      above: `${to}: already written`,
      below: `${to}: what it writes. Choose a word`,
      verb: "writes",
    },
    "encoder self": {
      queries: source,
      keys: source,
      above: `${from}: what it can look at`,
      below: `${from}: what it reads. Choose a word`,
      verb: "reads",
    },
  }[attention];
}

/** "While it writes noir it looks at black 1.00." */
function sentence({ queries, keys, verb }, weights, query) {
  const ranked = keys.map((word, j) => [word, weights[j]]).filter(([, weight]) => weight >= SHOWN).sort(
    (a, b) => b[1] - a[1]
  );
  const told = ranked.length > 5 ? ranked.slice(0, 4) : ranked;
  const rest = sumOf(weights) - told.reduce((sum, [, weight]) => sum + weight, 0);
  const parts = told.flatMap(([word, weight], i) => [
    i ? ", " : "", span("te-nowrap", named(word), ` ${format(weight)}`),
  ]);
  const start = [`While it ${verb} `, named(queries[query]), verb === "reads" ? " it looks at " : ", it looks at "];
  if (!told.length) return [...start, "nothing."];
  return [...start, ...parts, ranked.length > told.length ? `, the others together ${format(rest)}.` : "."];
}

/** What stands at the row's place, in one plain line. */
function note({ attention, target_tokens: target }, query) {
  if (attention === "encoder self") return ["Every word may look at every word, earlier or later."];
  const input = named(query ? target[query - 1] : START);
  const given = query
    ? ["Its input here is ", input, attention === "cross" ? ", the word just written" : ", just written"]
    : ["Its input here is the sign ", input, ": nothing is written yet"];
  return [...given, attention === "cross" ? "." : "; later words are hidden."];
}

/** Two rows of words with lines between them: the chosen word's lines strong, all others faint. */
function drawing({ queries, keys, above, below }, token, onChoose, onHover) {
  const shares = keys.map(() => span("te-share"));
  const top = h("div", { class: "te-map-keys", "aria-hidden": "true", style: { "--count": keys.length } },
    ...keys.map((word, j) => span("te-map-key", shares[j], wordSpan("te-word", word))));
  const rows = choice({
    label: below,
    class: "te-map-queries",
    value: token,
    onChange: onChoose,
    options: queries.map((word, i) => ({ value: i, content: [wordSpan("te-word", word)] })),
  });
  rows.element.style.setProperty("--count", queries.length);
  rows.buttons.forEach((one, i) => {
    one.addEventListener("pointerenter", (event) => event.pointerType === "mouse" && onHover(i));
    one.addEventListener("pointerleave", () => onHover(null));
  });
  const lines = svg("svg", {
    class: "te-map-lines",
    viewBox: "0 0 100 100",
    preserveAspectRatio: "none",
    "aria-hidden": "true",
    focusable: "false",
  });
  const path = (i, j) => {
    const [from, to] = [(100 * (i + 0.5)) / queries.length, (100 * (j + 0.5)) / keys.length];
    return `M ${from} 100 C ${from} 45, ${to} 55, ${to} 0`;
  };
  const line = (i, j, weight, chosen) => svg("path", {
    d: path(i, j),
    class: chosen ? "te-map-line te-map-chosen" : "te-map-line",
    "vector-effect": "non-scaling-stroke",
    "stroke-width": (chosen ? 1 + 8 * weight : 0.5 + 3.5 * weight).toFixed(2),
    "stroke-opacity": (chosen ? 0.4 + 0.6 * weight : 0.5 * weight).toFixed(3),
  });
  const element = div("te-map-drawing", div("te-label", above), top, lines, rows.element, div("te-label", below));
  return {
    element,
    update(weights, chosen, marked) {
      rows.set(chosen);
      rows.buttons.forEach((one, i) => one.classList.toggle("te-map-hovered", i === marked && i !== chosen));
      shares.forEach((share, j) => {
        const weight = weights[marked][j];
        share.textContent = weight >= SHOWN ? format(weight) : "\u00a0";
        share.parentNode.classList.toggle("te-map-seen", weight >= 0.2);
      });
      const order = [...queries.keys()].filter((i) => i !== marked).concat(marked);
      fill(lines, ...order.flatMap(
        (i) => keys.map((_, j) => (weights[i][j] >= SHOWN ? line(i, j, weights[i][j], i === marked) : null))
      ));
    },
  };
}

/** The matrix of weights. In decoder self-attention what is not yet written is hatched. */
function heatmap({ queries, keys }, attention, onSelect) {
  const grid = matrixGrid({
    name: "weights",
    label: "attention weights, a row for each word that looks",
    rows: queries.map(readable),
    columns: keys.map(readable),
    showRows: true,
    showColumns: true,
    onSelect,
  });
  return {
    element: grid.element,
    update(weights, row) {
      grid.update(weights, { decimals: 2, colour: cividis });
      grid.highlight({ row });
      if (attention === "decoder self") grid.element.querySelectorAll(".te-cell").forEach(hideFuture);
    },
  };
}

function hideFuture(/** @type {HTMLElement} */ cell) {
  const { row, column, value } = cell.dataset;
  if (Number(column) <= Number(row) || Number(value) !== 0) return;
  cell.classList.replace("te-coloured", "te-blocked");
  cell.style.background = "";
  cell.textContent = "";
  cell.setAttribute("aria-label", cell.getAttribute("aria-label").replace(/:.*$/, ": not yet written, 0"));
}

/** The likeliest next words of the chosen row. */
function candidateLine({ candidates, attention, target_tokens: target }, query) {
  const words = attention === "encoder self" ? undefined : candidates[query];
  if (!words) return [];
  return ["Likeliest words here: ", ...words.flatMap(([word, probability], i) => [i ? " · " : "", h("span", {
    class: `te-nowrap te-candidate${word === target[query] ? " te-map-said" : ""}`,
    dataset: { value: probability },
  }, `${readable(word)} ${format(probability, 3)}`)])];
}

function render({ model, el }) {
  const root = mount(el, "attention-map", "Where the model looks");
  const announce = changeAnnouncer(root);
  const state = store(model, TRAITS, draw);
  const kinds = Object.keys(KINDS).filter((kind) => layersOf(state.maps, kind).length);
  let hovered = null,
    built = "",
    parts, picture, matrix;

  const lead = paragraph("te-map-lead", "Where a small trained Transformer looks while it translates ", span(
    "te-label te-nowrap", "The thicker a line, the more attention."
  ));
  const pictureBox = div();
  const words = paragraph("te-sentence");
  const remark = paragraph("te-note");
  const likely = paragraph("te-note te-candidates");
  const caption = div("te-caption");
  const matrixBox = div();
  const kindList = kinds.length > 1 ? choice({
    label: "Which attention",
    value: state.attention,
    onChange: (attention) => change({ attention }),
    options: kinds.map((kind) => ({ value: kind, content: [KINDS[kind]] })),
  }) : null;
  const layerBox = div(),
    headBox = div();

  /** Change the state, and keep layer, head and word within what there is. */
  function change(changes) {
    const next = { ...Object.fromEntries(TRAITS.map((name) => [name, state[name]])), ...changes };
    const layers = layersOf(next.maps, next.attention);
    if (!layers.includes(next.layer)) changes.layer = next.layer = layers.at(-1);
    const heads = next.maps[mapName(next.attention, next.layer)];
    if (next.head !== null && next.head >= heads.length) changes.head = null;
    if (next.token >= heads[0].length) changes.token = heads[0].length - 1;
    hovered = null;
    state.set(changes);
  }
  const choose = (token) => token !== state.token && change({ token });
  const hover = (token) => {
    hovered = token;
    show();
  };

  function rebuild(heads) {
    const layers = layersOf(state.maps, state.attention);
    const shape = JSON.stringify([state.attention, state.source_tokens, state.target_tokens, layers, heads.length]);
    if (shape === built) return;
    built = shape;
    parts = sides(state);
    picture = drawing(parts, state.token, choose, hover);
    matrix = heatmap(parts, state.attention, choose);
    fill(pictureBox, picture.element);
    fill(matrixBox, matrix.element);
    const layerList = select({
      label: "layer",
      value: String(state.layer),
      options: layers.map((layer) => ({ value: String(layer), label: String(layer + 1) })),
      onChange: (layer) => change({ layer: Number(layer) }),
    });
    const headList = select({
      label: "head",
      value: String(state.head),
      options: [{ value: "null", label: `mean of ${heads.length}` }, ...heads.map(
        (_, i) => ({ value: String(i), label: String(i + 1) })
      )],
      onChange: (head) => change({ head: JSON.parse(head) }),
    });
    fill(layerBox, layers.length > 1 ? layerList.element : null);
    fill(headBox, heads.length > 1 ? headList.element : null);
    parts.lists = [layerList, headList];
  }
  /** Everything that depends on the word pointed at. */
  function show() {
    const weights = weightsOf(state.maps[mapName(state.attention, state.layer)], state.head);
    const row = hovered ?? state.token;
    picture.update(weights, state.token, row);
    matrix.update(weights, row);
    fill(words, ...sentence(parts, weights[row], row));
    fill(remark, ...note(state, row));
    fill(likely, ...candidateLine(state, row));
  }

  function draw() {
    const name = mapName(state.attention, state.layer);
    rebuild(state.maps[name]);
    show();
    kindList?.set(state.attention);
    parts.lists[0].set(String(state.layer));
    parts.lists[1].set(String(state.head));
    fill(caption, bold("weights"), span("", "a row for each word"));
    const text = `${KINDS[state.attention]} attention, layer ${state.layer + 1}, ` +
      `${state.head === null ? "mean of heads" : `head ${state.head + 1}`}. ${words.textContent}`;
    announce(text);
  }

  root.append(
    lead,
    div("te-map-body", div("te-map-left", pictureBox, div("te-map-words", words, remark)), div(
      "te-map-right", caption, matrixBox, likely
    )),
    div("te-foot", div("te-group", kindList?.element), div("te-group", layerBox, headBox)),
  );
  draw();
  return state.dispose;
}

export default { render };
