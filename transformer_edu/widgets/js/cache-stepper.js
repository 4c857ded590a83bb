import { announcer, bold, button, choice, div, fill, format, h, mount, named, paragraph, plural, readable, select,
  setOff, slider, span, special, store, whole } from "./core.js";

const TRAITS = ["recorded", "step", "cached", "token", "layer", "length"];
const [SHORTEST, LONGEST] = [8, 512];
const BYTES = 4; // of a number in float32
const LABELS = { now: "new", again: "again", kept: "kept", idle: "–", later: "" };
const SPOKEN = {
  now: "computed now",
  again: "computed again",
  kept: "from the cache",
  idle: "not needed",
  later: "not read yet",
};

const W = (letter) => span("", "W", h("sub", {}, letter));
const unbroken = (text) => span("te-nowrap", text);
const triangle = (n) => (n * (n + 1)) / 2;

/** Rows through all six projections, and scores of a head, in one layer at one step. @see decoding_work.py */
function stepWork(step, source, cached) {
  const rows = cached ? 1 : step;
  return { rows: 4 * rows + (step === 1 || !cached ? 2 * source : 0), scores: rows * (step + source) };
}

/** The same for steps 1 to n together. */
function totalWork(n, source, cached) {
  const works = Array.from({ length: n }, (_, i) => stepWork(i + 1, source, cached));
  return {
    rows: works.reduce((sum, work) => sum + work.rows, 0),
    scores: works.reduce(
      (sum, work) => sum + work.scores, 0
    )
  };
}

/** How many numbers the cache holds: keys and values, of all layers, of the tokens read and the memory. */
const cacheNumbers = ({ recorded }, n) => 2 * recorded.masked.length * (n + recorded.source.length) * recorded.d_model;

/** What happens at `step` to a row of the decoder's own; `keep`: whether its projection is one whose rows are kept. */
function targetKind({ step, cached }, row, keep) {
  if (row >= step) return "later";
  if (row === step - 1) return "now";
  return cached ? (keep ? "kept" : "idle") : "again";
}

const memoryKind = ({ step, cached }) => (step === 1 ? "now" : cached ? "kept" : "again");

/** A table of rows: words down the side, projections across, a word in each cell. */
function rowsTable(name, label, groups, columns) {
  const element = h("div", {
    class: "te-cache-table",
    role: "table",
    "aria-label": label,
    dataset: { table: name },
    style: { "--count": columns.length },
  });
  const head = (content, wide = 1) => h(
    "span", { role: "columnheader", "aria-colspan": wide, style: { "grid-column": `span ${wide}` } }, ...content
  );
  return {
    element,
    update(words, newest, kindOf) {
      const rowOf = (kind, ...cells) => h("div", { role: "row", class: `te-cache-row${kind}` }, ...cells);
      const lines = words.map((word, row) => rowOf(row === newest ? " te-cache-newest" : "",
        h("span", { role: "rowheader", class: `te-cache-word${special(word)}`, title: readable(word) },
          kindOf(row, 0) === "later" ? "·" : readable(word)
        ),
        ...columns.map((_, column) => cell(kindOf(row, column))),
      ));
      fill(element,
        rowOf(" te-cache-groups", h("span", { role: "cell" }), ...groups.map(([text, wide]) => head([text], wide))),
        rowOf(" te-cache-columns", h("span", { role: "cell" }), ...columns.map((letter) => head([bold(letter)]))),
        ...lines,
      );
    },
  };
}

function cell(kind) {
  return h("span", { role: "cell", class: `te-cache-cell te-cache-${kind}`, dataset: { kind } },
    h("span", { "aria-hidden": "true" }, LABELS[kind]), span("te-hidden", SPOKEN[kind]));
}

/** The numbers of both ways side by side; the way that the picture shows is marked. */
function countsTable() {
  const element = h("div", { class: "te-cache-counts", role: "table", "aria-label": "Work in one decoder layer" });
  const head = (text, on) => h("span", { role: "columnheader", class: on ? "te-cache-on" : "" }, text);
  const line = (text, values, cached) => h("div", { role: "row" }, h("span", { role: "rowheader" }, text),
    ...values.map((value, i) => h(
      "span", { role: "cell", class: cached === !i ? "te-cache-on" : "", dataset: { value } }, whole(value)
    )));
  return {
    element,
    update(state) {
      const { step, cached, recorded } = state;
      const source = recorded.source.length;
      const [now, total] = [stepWork, totalWork].map((work) => [true, false].map((way) => work(step, source, way)));
      fill(element,
        h("div", { role: "row", class: "te-cache-heads" },
          h("span", { role: "cell" }), head("with cache", cached), head("without", !cached)
        ),
        line("rows computed at this step", now.map((one) => one.rows), cached),
        line("rows computed so far", total.map((one) => one.rows), cached),
        line("scores of a head at this step", now.map((one) => one.scores), cached),
        line("scores of a head so far", total.map((one) => one.scores), cached),
        line(
          `numbers in the cache, ${plural(recorded.masked.length, "layer")}`, [cacheNumbers(state, step), 0], cached
        ));
    },
  };
}

/** The step in words. */
function story(state) {
  const { step, cached, recorded } = state;
  const [source, steps] = [recorded.source.length, recorded.reads.length];
  const [few, many] = [true, false].map((way) => stepWork(step, source, way).rows);
  const start = [
    `Step ${step} of ${steps}: the decoder reads `, named(recorded.reads[step - 1]), " and writes ",
    named(recorded.writes[step - 1]), ". ",
  ];
  if (step === 1) return [
    ...start,
    `Nothing is kept yet: its own rows and those of the memory, ${many} in all, are computed with the cache or ` +
    "without it.",
  ];
  if (!cached) return [
    ...start,
    `Without a cache all ${step} tokens and the memory go through the projections again, ${many} rows. Only ${few} ` +
    `of them are new; the other ${many - few} come out as before.`,
  ];
  return [
    ...start, `Only the ${few} rows of `, named(recorded.reads[step - 1]),
    " are computed. Keys and values of the tokens before it, and of the memory, are kept; earlier queries have done " +
    "their work. Without a cache: ",
    `${many} rows, for the same result.`,
  ];
}

/** At the last step: the sums, the formula, the price. */
function ending(state) {
  const { step, recorded } = state;
  if (step < recorded.reads.length) return [];
  const [few, many] = [true, false].map((way) => totalWork(step, recorded.source.length, way).rows);
  return [bold("The sentence is written. "),
    `All steps together: ${few} rows in this layer with the cache, ${many} without. Each of `,
    W("Q"), ", ", W("K"), " and ", W("V"),
    ` of self-attention got n = ${step} rows in place of `,
    unbroken(`n(n + 1)/2 = ${triangle(step)}`), ". The price is memory: ",
    unbroken(
      `2 · ${plural(recorded.masked.length, "layer")} · (${step} + ${recorded.source.length}) rows · ` +
      `${recorded.d_model} = ${whole(cacheNumbers(state, step))}`
    ),
    " numbers."
  ];
}

/** A token's key at the step that first read it, now, and now without the mask; and why it stays. */
function drawKeys(list, note, { recorded, step, cached, token, layer }) {
  const word = recorded.reads[token];
  const line = (text, numbers, verdict = "") => h("div", { role: "row" }, h("span", { role: "rowheader" }, text),
    ...numbers.map(
      (value) => h("span", { role: "cell", class: "te-cache-number", dataset: { value: value * recorded.unit } },
        format(value * recorded.unit, 4)
      )
    ),
    h("span", { role: "cell", class: "te-cache-verdict" }, verdict));
  const first = recorded.masked[layer][token][token];
  const [now, open] = [recorded.masked, recorded.unmasked].map((one) => one[layer][step - 1][token] ?? []);
  const same = (one, word = "the") => (one.every((value, i) => value === first[i]) ? `= ${word} same` : "≠ different");
  const begin = line(`step ${token + 1}, first computed`, first);
  if (token >= step) fill(list, h("div", { role: "row" },
    h("span", { role: "cell", class: "te-cache-wide" }, named(word), ` is not read before step ${token + 1}.`)
  ));
  else if (step === token + 1) fill(list, begin);
  else fill(list, begin, line(`step ${step}, ${cached ? "if " : ""}computed again`, now, same(now)), line(
    `step ${step}, without causal mask`, open, same(open, "still the")
  ));
  const why = layer ? `Its row in layer ${layer + 1} is made of the tokens that it may look at. The causal mask ` +
    "leaves itself and those before it, so no later word can change it. "
    : "In layer 1 a key comes from its own token and place alone; from layer 2 on, also from the tokens that it may " +
    "look at: by the causal mask, itself and those before it. ";
  fill(
    note,
    why,
    `All keys and values, all layers: largest change ${format(recorded.largest_change, 6)} (rounding); without the ` +
    `mask ${format(recorded.largest_change_without_mask, 2)}. An encoder has no such mask, so what it computed ` +
    "cannot be kept when a word is added.",
  );
}

/** Two bars for a longer sentence. */
function drawLonger(box, state) {
  const n = state.length;
  const [few, many] = [n, triangle(n)];
  const bar = (name, formula, value) => div("te-cache-bar",
    span("", name), h("span", { class: "te-cache-track", "aria-hidden": "true" },
      h("span", { style: { width: `${(100 * value) / many}%` } })
    ),
    h("span", { class: "te-cache-sum", dataset: { value } }, `${formula} = ${whole(value)}`));
  const size = cacheNumbers(state, n);
  fill(box, bar("with cache", "n", few), bar("without", "n(n + 1)/2", many),
    paragraph("te-note",
      `${whole(many / few)} times as many rows without. The cache of ` +
      `${plural(state.recorded.masked.length, "layer")} then holds `,
      h("span", { dataset: { value: size } }, whole(size)),
      ` numbers (${plural(state.recorded.source.length, "source word")}), ` +
      `${whole(Math.round((size * BYTES) / 1024))} KiB in float32.`,
    ));
}

function render({ model, el }) {
  const root = mount(el, "cache-stepper", "The key-value cache, step by step");
  const announce = announcer(root);
  const state = store(model, TRAITS, draw);
  const { reads, source } = state.recorded;
  let spoken = "";
  const move = (step) => step >= 1 && step <= reads.length && step !== state.step && state.set({ step });
  const next = button("Next step", () => move(state.step + 1), { class: "te-button te-primary" });
  const back = button("Back", () => move(state.step - 1));
  const again = button("Start again", () => move(1));
  const ways = choice({
    label: "How the sentence is written",
    value: state.cached,
    onChange: (cached) => state.set({ cached }),
    options: [{ value: true, content: ["with cache"] }, { value: false, content: ["without cache"] }],
  });
  const own = rowsTable("target", "The decoder’s own rows", [
    ["self-attention", 3],
    ["cross-attention", 1]
  ], ["Q", "K", "V", "Q"]);
  const memory = rowsTable("memory", "The memory’s rows", [
    ["cross-attention: memory", 2]
  ], ["K", "V"]);
  const counts = countsTable();
  const [words, end, note] = [paragraph("te-sentence"), paragraph("te-sentence te-cache-end"), paragraph("te-note")];
  const list = h("div", { class: "te-cache-keys", role: "table", "aria-label": "The key at different steps" });
  const whose = select({
    label: "Key of",
    value: String(state.token),
    options: reads.map((word, i) => ({ value: String(i), label: readable(word) })),
    onChange: (token) => state.set({ token: Number(token) }),
  });
  const longer = div("te-cache-bars");
  const length = slider({
    label: "steps, n",
    min: SHORTEST,
    max: LONGEST,
    step: 8,
    value: state.length,
    onInput: (value) => state.set({ length: value }),
  });

  function draw() {
    own.update(reads, state.step - 1, (row, column) => targetKind(state, row, column === 1 || column === 2));
    memory.update(source, -1, () => memoryKind(state));
    counts.update(state);
    fill(words, ...story(state));
    fill(end, ...ending(state));
    drawKeys(list, note, state);
    drawLonger(longer, state);
    ways.set(state.cached);
    whose.set(String(state.token));
    length.set(state.length);
    setOff(next, state.step === reads.length);
    for (const one of [back, again]) setOff(one, state.step === 1);
    const verdicts = [...list.querySelectorAll("[role=row]")]
      .map((row) => [...new Set([row.firstChild, row.lastChild])].map((one) => one.textContent).join(" ").trim())
      .join("; ");
    const parts = [
      `${state.cached ? "With" : "Without"} cache. ${words.textContent} ${end.textContent}`,
      `Key of ${readable(reads[state.token])}: ${verdicts}.`,
      longer.textContent,
    ];
    if (spoken) announce(parts.filter((part, i) => part !== spoken[i]).join(" "));
    spoken = parts;
  }

  const key = (kind) => span("te-cache-key",
    h("span", { class: `te-cache-cell te-cache-${kind}`, "aria-hidden": "true" }, LABELS[kind]), SPOKEN[kind]
  );
  root.append(
    paragraph("te-cache-lead",
      "Keys and values of earlier tokens stay as they are. A decoder that keeps them computes only the rows of its " +
      "newest token.",
    ),
    div("te-cache-go", div("te-group", next, back, again), ways.element),
    div("te-cache-panels", own.element, memory.element, counts.element),
    div("te-cache-legend te-label", "One decoder layer: ", ...["now", "again", "kept", "idle"].map(key)),
    div("te-cache-story", words, end),
    div("te-cache-part",
      div("te-cache-heading", whose.element, span("te-label",
        `in self-attention, layer ${state.layer + 1}: the first ${state.recorded.masked[0][0][0].length} of ` +
        `${state.recorded.d_model} numbers`,
      )),
      list,
      note,
    ),
    div("te-cache-part",
      div("te-cache-heading", bold("A longer sentence"), span(
        "te-label", "rows through ", W("K"), " of self-attention in one layer, all steps"
      )),
      length.element,
      longer,
    ),
  );
  draw();
  return state.dispose;
}

export default { render };
