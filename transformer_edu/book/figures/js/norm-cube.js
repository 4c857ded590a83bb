import {
  bold,
  button,
  choice,
  div,
  fill,
  focusedIn,
  format,
  frame,
  gliding,
  h,
  matrixGrid,
  paragraph,
  plural,
  select,
  setOff,
  short,
  slider,
  snapshot,
  span,
  store,
  sumOf,
  toggle,
} from "./core.js";

const TRAITS = /** @type {const} */ ([
  "sentences",
  "norm",
  "other",
  "padding",
  "leave_out",
  "mode",
  "batches",
  "edits",
  "selected",
]);
const EPS = 1e-5;
const MOMENTUM = 0.1;
const MOST_POSITIONS = 5;
const SHOWN = 0.005; // a move that two decimals show
const NORMS = [
  ["layer", "layer norm"],
  ["batch", "batch norm"],
  ["rms", "RMS norm"],
];
const PAD = "padding";
const same = (a, b) => a.length === b.length && a.every((value, i) => value === b[i]);

/** The sentences of a batch as rows of one length: `tokens`, `x` with zeros at padding, `length` without padding. */
function batchOf({ sentences, other, padding, edits }) {
  const members = other === null ? [0] : [0, other];
  const positions = Math.max(...members.map((s) => sentences[s].tokens.length)) + padding;
  return members.map((s) => {
    const { tokens, x } = sentences[s];
    const value = (p, f) => edits.find((edit) => same(edit.slice(0, 3), [s, p, f]))?.[3] ?? x[p]?.[f] ?? 0;
    const rows = Array.from({ length: positions }, (_, p) => x[0].map((_, f) => value(p, f)));
    return { sentence: s, tokens: rows.map((_, p) => tokens[p] ?? PAD), x: rows, length: tokens.length };
  });
}

/** The batch that outputs are compared with, and from which the running statistics come. */
function firstBatch({ sentences }) {
  return batchOf({ sentences, other: sentences.length > 1 ? 1 : null, padding: 0, edits: [] });
}

/**
 * The places [row of the batch, position, feature] whose values share their statistics with this one: the whole
 * difference.
 */
function sharing(batch, { norm, mode, leave_out }, [b, p, f]) {
  if (norm !== "batch") return batch[b].x[p].map((_, g) => [b, p, g]);
  if (mode === "evaluation") return [];
  return batch
    .flatMap((row, c) => row.x.map((_, q) => [c, q, f]))
    .filter(([c, q]) => !leave_out || q < batch[c].length);
}

/** Mean, variance (divided by n) and mean of squares. */
function moments(values) {
  const mean = sumOf(values) / values.length;
  return {
    mean,
    variance: values.reduce((sum, v) => sum + (v - mean) ** 2, 0) / values.length,
    square: values.reduce((sum, v) => sum + v * v, 0) / values.length,
  };
}

/**
 * What batch norm has stored of feature f: from mean 0 and variance 1 a tenth of the way towards each batch's; variance
 * with n − 1.
 */
function running(state, f) {
  const batch = firstBatch(state);
  const values = sharing(batch, { ...state, norm: "batch", mode: "training" }, [0, 0, f]).map(
    ([b, p]) => batch[b].x[p][f],
  );
  const { mean, variance } = moments(values);
  const kept = (1 - MOMENTUM) ** state.batches;
  return { mean: (1 - kept) * mean, variance: kept + ((1 - kept) * variance * values.length) / (values.length - 1) };
}

/** The statistics that the value at a place is normalized with. */
function statistics(batch, state, place) {
  const shared = sharing(batch, state, place);
  return shared.length ? moments(shared.map(([b, p, f]) => batch[b].x[p][f])) : running(state, place[2]);
}

const isOut = (batch, { norm, leave_out }, [b, p]) => norm === "batch" && leave_out && p >= batch[b].length;

function output(batch, state, place, { mean, variance, square } = statistics(batch, state, place)) {
  const [b, p, f] = place;
  if (isOut(batch, state, place)) return 0;
  return state.norm === "rms"
    ? batch[b].x[p][f] / Math.sqrt(square + EPS)
    : (batch[b].x[p][f] - mean) / Math.sqrt(variance + EPS);
}

/** Each statistic is counted once for all who share it. */
function outputs(batch, state) {
  const known = {};
  return batch.map((row, b) =>
    row.x.map((line, p) =>
      line.map((_, f) =>
        output(
          batch,
          state,
          [b, p, f],
          (known[state.norm === "batch" ? f : `${b} ${p}`] ??= statistics(batch, state, [b, p, f])),
        ),
      ),
    ),
  );
}

/** Moves [{place, by}] of the outputs at words that the first batch had too. */
function moves(batch, state) {
  const [first, before, after] = [firstBatch(state), outputs(firstBatch(state), state), outputs(batch, state)];
  return batch.flatMap(({ sentence, length }, b) => {
    if (first[b]?.sentence !== sentence) return [];
    const all = after[b]
      .slice(0, length)
      .flatMap((line, p) => line.map((value, f) => ({ place: [b, p, f], by: value - before[b][p][f] })));
    return all.filter(({ by }) => Math.abs(by) >= SHOWN);
  });
}

/** What is different from the first batch, in words. */
function changes(batch, { sentences, other, padding, edits }) {
  const inside = edits.filter(([s]) => batch.some((row) => row.sentence === s));
  const said = [];
  if (inside.length === 1) {
    const [s, p, f, value] = inside[0];
    const { tokens, x } = sentences[s];
    said.push(`${tokens[p]}, feature ${f + 1}, went from ${short(x[p][f])} to ${short(value)}.`);
  } else if (inside.length) said.push(`You changed ${inside.length} numbers.`);
  if (other === null && sentences.length > 1) said.push("Sentence 1 is alone in its batch.");
  else if (other !== null && other !== 1) said.push("Sentence 2 is another one.");
  const added = batch[0].x.length - Math.max(...firstBatch({ sentences }).map((row) => row.x.length));
  if (padding) said.push(`${plural(padding, "position")} of padding added.`);
  else if (added > 0) said.push(`Sentence 1 gets ${plural(added, "position")} of padding.`);
  return said.join(" ");
}

/** Which words moved, [row of the batch, position]. */
const wordsOf = (moved) => [...new Set(moved.map(({ place: [b, p] }) => `${b} ${p}`))];

/** Those of them that nobody changed. */
function untouched(batch, { edits }, moved) {
  const edited = edits.map(([s, p]) => `${batch.findIndex((row) => row.sentence === s)} ${p}`);
  return wordsOf(moved).filter((word) => !edited.includes(word)).length;
}

/** How many words can be compared: those that the first batch had too. */
const comparable = (batch, state) =>
  sumOf(batch.map(({ sentence, length }, b) => (firstBatch(state)[b]?.sentence === sentence ? length : 0)));

/** "all 6 words", "2 of 6 words", "only small". */
function whichWords(batch, state, moved) {
  const [words, total] = [wordsOf(moved), comparable(batch, state)];
  if (!words.length) return "no word";
  if (words.length === total && total > 1) return `all ${total} words`;
  if (words.length > 1) return `${words.length} of ${total} words`;
  const [b, p] = words[0].split(" ").map(Number);
  return `only “${batch[b].tokens[p]}”`;
}

/** The finding. */
function finding(batch, state, moved) {
  const who = whichWords(batch, state, moved);
  const edits = state.edits.filter(([s]) => batch.some((row) => row.sentence === s)).length;
  const cause = edits
    ? `${edits === 1 ? "one number" : `${edits} numbers`} changed, `
    : moved.length
      ? "nobody changed a word, and yet "
      : "nothing changed, ";
  const name = state.norm === "rms" ? "RMS" : state.norm === "batch" ? "Batch" : "Layer";
  const mode = state.norm === "batch" && state.mode === "evaluation" ? " in evaluation" : "";
  const both = who.startsWith("all") && batch.length > 1 ? ", in both sentences" : "";
  return `${name} norm${mode}: ${cause}${who} moved${both}`;
}

/** Which outputs moved, in words. */
function verdict(moved) {
  if (!moved.length) return "No output moved.";
  const features = [...new Set(moved.map(({ place }) => place[2]))];
  const where = features.length === 1 ? `, each in feature ${features[0] + 1}` : "";
  return `${plural(moved.length, "output")} moved${moved.length > 1 ? where : ""}.`;
}

/** With what a number of feature `f` shares its mean and variance. */
function company({ norm, batches }, f, shared, pads, sentences) {
  if (norm === "layer") return `shares its mean and variance with the ${shared.length} numbers of its own token. `;
  if (!shared.length) {
    return (
      `takes the stored statistics (from mean 0, variance 1, after ${plural(batches, "training batch")}). ` +
      "Nothing in this batch counts. "
    );
  }
  const all = pads ? `all ${shared.length} positions, ${pads} of them padding` : `all ${shared.length} tokens`;
  const both = sentences > 1 ? ", in both sentences" : "";
  return `shares its mean and variance with feature ${f + 1} of ${all}${both}. `;
}

/** Whose mean the selected value shares, and the sum that gives its output. */
function working(batch, state, place) {
  const [b, p, f] = place;
  const name = bold(`${batch[b].tokens[p]}, feature ${f + 1}: `);
  if (isOut(batch, state, place)) return [name, "padding left out; its output is set to 0."];
  const x = short(batch[b].x[p][f]);
  const { mean, variance, square } = statistics(batch, state, place);
  const shared = sharing(batch, state, place);
  const result = h("b", { class: "te-nowrap", dataset: { name: "result" } }, format(output(batch, state, place)));
  const number = (text, value, label) =>
    span("te-nowrap", `${text} `, h("span", { dataset: { name: label, value } }, format(value)));
  if (state.norm === "rms")
    return [
      name,
      `shares its mean of squares with the ${shared.length} numbers of its token. `,
      number("Mean of squares", square, "square"),
      ". ",
      span("te-nowrap", `${x} / √(${format(square)} + ε)`),
      " = ",
      result,
    ];
  const sum = span(
    "te-nowrap",
    `(${x} − ${mean < 0 ? `(${format(mean)})` : format(mean)}) / √(${format(variance)} + ε)`,
  );
  const pads = shared.filter(([c, q]) => q >= batch[c].length).length;
  return [
    name,
    company(state, f, shared, pads, batch.length),
    number("Mean", mean, "mean"),
    ", ",
    number("variance", variance, "variance"),
    ". ",
    sum,
    " = ",
    result,
  ];
}

/** Input and output of one sentence. */
function sentenceGrids(row, b, features, onSelect, onEdit) {
  const columns = Array.from({ length: features }, (_, f) => `f${f + 1}`);
  const onPlace = (p, f) => onSelect([b, p, f]);
  const make = (kind, options) => {
    const label = `${kind}, sentence ${b + 1}`;
    const name = `${kind.toLowerCase()}-${b}`;
    const labels = { showRows: true, showColumns: true, onSelect: onPlace };
    const grid = matrixGrid({ name, label, rows: row.tokens, columns, ...labels, ...options });
    grid.cells = row.tokens.map((_, p) => [...grid.element.querySelectorAll(`[data-row="${p}"]`)]);
    grid.cells
      .slice(row.length)
      .flat()
      .forEach((cell) => cell.classList.add("te-cube-pad"));
    return grid;
  };
  const input = make("Input", { editable: true, onEdit: (p, f, value) => p < row.length && onEdit([b, p, f], value) });
  input.cells
    .slice(row.length)
    .flat()
    .forEach((cell) => (cell.firstChild.readOnly = true));
  input.element.querySelector(".te-columns > .te-header").textContent = `sentence ${b + 1}`;
  return { input, result: make("Output", {}) };
}

/** A small text under the number of a cell, spoken too. */
function note(cell, text, spoken) {
  const target = cell.querySelector("input") ?? cell;
  if (text) [cell.dataset.note] = [text];
  else delete cell.dataset.note;
  if (spoken) target.setAttribute("aria-label", `${target.getAttribute("aria-label")}, ${spoken}`);
}

/** What can be asked of this batch. */
function questions(state, start, change) {
  const now = () => {
    const batch = batchOf(state);
    return { batch, moved: moves(batch, state) };
  };
  const edits = start.edits.length ? start.edits : [[0, 0, 0, state.sentences[0].x[0][0] + 6]];
  const training = { edits, mode: "training", padding: 0, other: start.other };
  const words = () => firstBatch(state).reduce((sum, row) => sum + row.length * row.x[0].length, 0);
  return [
    {
      ask: ["let nothing but the changed word move"],
      done: () => {
        const { batch, moved } = now();
        return moved.length > 0 && untouched(batch, state, moved) === 0 && state.norm !== "batch";
      },
      tell: ["Each token is normalized with its own numbers alone."],
      show: () => change({ ...training, norm: "layer" }),
    },
    {
      ask: ["move every output by adding padding"],
      done: () => state.padding > 0 && now().moved.length === words(),
      tell: ["Batch norm counts the zeros of padding, as if they were words."],
      show: () => change({ ...training, norm: "batch", padding: 1, leave_out: false }),
    },
    {
      ask: ["let batch norm move one output only"],
      done: () => state.norm === "batch" && now().moved.length === 1,
      tell: ["In evaluation it takes stored statistics: nothing in the batch counts."],
      show: () => change({ ...training, norm: "batch", mode: "evaluation" }),
    },
  ].filter((one) => !one.done());
}

function render({ model, el }) {
  const figure = frame(el, {
    name: "norm-cube",
    label: "Which numbers does a norm average over?",
    says: [""],
    invite: ["choose layer norm. Then drag the slider, or type over a number."],
  });
  const { root, stage } = figure;
  const state = store(model, TRAITS, draw);
  const start = snapshot(state, TRAITS);
  const glide = gliding((now) =>
    numbersOf().forEach((cell, i) => {
      const text = format(now[i]);
      if (cell.textContent !== text) cell.textContent = text;
    }),
  );
  const numbersOf = () => grids.flatMap(({ result }) => result.cells.flat());
  let grids = [],
    built = "";

  /** Change the state; keep the tensor small enough and the selected place inside it. */
  function change(wanted) {
    const next = { ...snapshot(state, TRAITS), ...wanted };
    const longest = batchOf({ ...next, padding: 0 })[0].x.length;
    next.padding = Math.min(next.padding, MOST_POSITIONS - longest);
    const [b, p, f] = next.selected;
    next.selected = [next.other === null ? 0 : b, Math.min(p, longest + next.padding - 1), f];
    state.set(
      Object.fromEntries(
        TRAITS.filter((name) => JSON.stringify(next[name]) !== JSON.stringify(state[name])).map((name) => [
          name,
          next[name],
        ]),
      ),
    );
  }
  let tabbing = false; // Tab only passes through the grids; clicks, arrow keys and typing choose
  root.addEventListener("keydown", (event) => (tabbing = event.key === "Tab"), true);
  root.addEventListener("pointerdown", () => (tabbing = false), true);
  const choose = (place) => tabbing || same(place, state.selected) || change({ selected: place });

  function edit([b, p, f], value) {
    const batch = batchOf(state);
    if (batch[b].x[p][f] === value) return;
    const s = batch[b].sentence;
    const rest = state.edits.filter((one) => !same(one.slice(0, 3), [s, p, f]));
    const bounded = Math.min(1000, Math.max(-1000, value));
    change({
      selected: [b, p, f],
      edits: bounded === state.sentences[s].x[p][f] ? rest : [...rest, [s, p, f, bounded]],
    });
  }

  const counts = NORMS.map(() => span("te-cube-count"));
  const norms = choice({
    label: "Norm",
    class: "te-cube-norms",
    value: state.norm,
    onChange: (norm) => change({ norm }),
    options: NORMS.map(([value, name], i) => ({ value, content: [span("", name), counts[i]] })),
  });
  const amount = slider({
    label: "",
    min: -10,
    max: 20,
    step: 0.5,
    value: 0,
    format: short,
    onInput: (value) => edit(state.selected, value),
  });
  const amountLabel = amount.element.querySelector("label");
  const others = select({
    label: "sentence 2",
    value: String(state.other),
    onChange: (value) => change({ other: value === "null" ? null : Number(value) }),
    options: [
      ...state.sentences.slice(1).map(({ tokens }, i) => ({ value: String(i + 1), label: tokens.join(" ") })),
      { value: "null", label: "none: a batch of one" },
    ],
  });
  const more = button("Add padding", () => change({ padding: state.padding + 1 }));
  const less = button("Remove padding", () => state.padding && change({ padding: state.padding - 1 }));
  const skip = toggle({
    label: ["leave padding out"],
    value: state.leave_out,
    onChange: (leave_out) => change({ leave_out }),
  });
  const mode = select({
    label: "batch norm in",
    value: state.mode,
    onChange: (value) => change({ mode: value }),
    options: ["training", "evaluation"].map((value) => ({ value, label: value })),
  });
  const times = select({
    label: "after",
    value: String(state.batches),
    onChange: (value) => change({ batches: Number(value) }),
    options: [1, 10, 100].map((n) => ({
      value: String(n),
      label: n === 1 ? "1 training batch" : `${n} training batches`,
    })),
  });
  const reset = button("Reset", () => state.set(structuredClone(start)));
  const sums = paragraph("te-cube-working");

  function rebuild(batch) {
    const shape = JSON.stringify(batch.map((row) => [row.tokens, row.length]));
    if (shape === built) return;
    built = shape;
    const focused = focusedIn(stage)?.closest("[data-matrix]")?.getAttribute("data-matrix");
    grids = batch.map((row, b) => sentenceGrids(row, b, row.x[0].length, choose, edit));
    const caption = (text, more) => div(`te-cube-title te-cube-${text}`, bold(text), span("te-note", more));
    const arrow = () => h("div", { class: "te-cube-arrow", "aria-hidden": "true" }, "→");
    fill(
      stage,
      caption("input", "blue: averaged together"),
      div(),
      caption("output", "orange: moved"),
      ...grids.flatMap(({ input, result }) => [input.element, arrow(), result.element]),
    );
    stage.style.setProperty("--positions", batch[0].x.length);
    stage.dataset.positions = String(batch[0].x.length);
    if (focused) /** @type {HTMLElement} */ (stage.querySelector(`[data-matrix="${focused}"] [tabindex="0"]`))?.focus();
  }

  function mark(batch, moved) {
    const shared = sharing(batch, state, state.selected).map(String);
    grids.forEach(({ input, result }, b) => {
      const here = state.selected[0] === b ? state.selected.slice(1) : null;
      [input, result].forEach((grid) => grid.highlight({ cell: here }));
      batch[b].x.forEach((line, p) =>
        line.forEach((_, f) => {
          const old = state.edits.some((one) => same(one.slice(0, 3), [batch[b].sentence, p, f]))
            ? state.sentences[batch[b].sentence].x[p][f]
            : null;
          const inSet = shared.includes(String([b, p, f]));
          const cell = input.cells[p][f];
          [
            ["left", [b, p, f - 1]],
            ["right", [b, p, f + 1]],
            ["above", [b, p - 1, f]],
            ["below", [b, p + 1, f]],
          ].forEach(([side, next]) =>
            cell.classList.toggle(`te-cube-${side}`, inSet && !shared.includes(String(next))),
          );
          cell.classList.toggle("te-cube-shared", inSet);
          note(
            cell,
            old === null ? "" : `was ${short(old)}`,
            [inSet ? "in the outlined set" : "", old === null ? "" : `was ${short(old)}`].filter(Boolean).join(", "),
          );
          const by = moved.find(({ place }) => same(place, [b, p, f]))?.by;
          const text = by === undefined ? "" : `${by > 0 ? "+" : ""}${format(by)}`;
          result.cells[p][f].classList.toggle("te-cube-moved", by !== undefined);
          if (by === undefined) delete result.cells[p][f].dataset.by;
          else result.cells[p][f].dataset.by = by;
          note(result.cells[p][f], text, text && `moved by ${text}`);
        }),
      );
    });
  }

  function draw() {
    const batch = batchOf(state);
    const moved = moves(batch, state);
    rebuild(batch);
    const after = outputs(batch, state);
    after.forEach((values, b) => {
      grids[b].input.update(batch[b].x);
      grids[b].result.update(values, { decimals: 2 });
    });
    glide.to(after.flat(2));
    mark(batch, moved);
    const [b, p, f] = state.selected;
    fill(amountLabel, `${batch[b].tokens[p]}, feature ${f + 1}`);
    amount.set(batch[b].x[p][f]);
    amount.input.disabled = p >= batch[b].length;
    [
      norms.set(state.norm),
      others.set(String(state.other)),
      skip.set(state.leave_out),
      mode.set(state.mode),
      times.set(String(state.batches)),
    ];
    times.element.hidden = state.mode !== "evaluation";
    setOff(more, batch[0].x.length >= MOST_POSITIONS);
    setOff(less, !state.padding);
    figure.says(finding(batch, state, moved));
    figure.rest(() => {
      NORMS.forEach(([norm], i) => {
        const found = norm === state.norm ? moved : moves(batch, { ...state, norm });
        fill(counts[i], `${whichWords(batch, state, found)} moved`);
        counts[i].dataset.value = found.length;
      });
      fill(sums, ...working(batch, state, state.selected));
      fill(words, changes(batch, state), " ", bold(verdict(moved)));
      figure.tell(`${state.norm} norm, ${state.mode}. ${words.textContent} ${sums.textContent}`);
    });
  }

  stage.classList.add("te-cube-stage");
  figure.controls.append(norms.element, amount.element, reset);
  const words = figure.words(2);
  draw();
  figure.ask(questions(state, start, change));
  figure.details(
    "How the marked number comes about; padding, another sentence, evaluation",
    sums,
    div("te-group", others.element, more, less),
    div("te-group", skip.element, mode.element, times.element),
  );
  return () => {
    glide.stop();
    state.dispose();
  };
}

export default { render };
