import {
  appear,
  asToken,
  bold,
  button,
  choice,
  cividis,
  div,
  diverging,
  eachCell,
  fill,
  format,
  frame,
  listed,
  mapMatrix,
  matrixGrid,
  paragraph,
  setOff,
  slider,
  snapshot,
  softmax,
  span,
  store,
  sub,
  sumOf,
  toggle,
} from "./core.js";

const TRAITS = /** @type {const} */ ([
  "kind",
  "source",
  "target",
  "source_lengths",
  "target_lengths",
  "scores",
  "sentence",
  "query",
  "padding",
  "causal",
  "pad_first",
  "mistake",
]);
const KINDS = { encoder: "encoder self-attention", decoder: "decoder self-attention", cross: "cross-attention" };
const LANGUAGES = [
  ["source", "English"],
  ["target", "French"],
];
const PAD = "<pad>";
const LONGEST = 6;
const LARGEST_SCORE = 2;
const WHOLE = 0.9995; // a row that sums to less is told
const OPTIONS = {
  right: "the right masks",
  bare: "no mask",
  "no-padding": "no padding mask",
  "no-causal": "no causal mask",
  extra: "a causal mask too",
  flipped: "causal mask turned round",
  after: "mask after the softmax",
  added: "adds 0 or 1, not −∞",
  queries: "padding mask on queries",
  blind: "a row without a key",
};
const OF_DECODER = ["no-causal", "no-padding", "flipped"]; // elsewhere there is no causal mask
const offers = (kind) => [
  "right",
  kind === "encoder" ? "extra" : "no-causal",
  "no-padding",
  "bare",
  "flipped",
  "after",
  "added",
  "queries",
  "blind",
];

/** One language's sentence, filled up to the longer of the two: the tokens, and which of them are real. */
function side({ sentence, pad_first }, words, lengths) {
  const [count, width] = [lengths[sentence], Math.max(...lengths, 1)];
  const at = Array.from({ length: width }, (_, i) => (pad_first ? i - (width - count) : i));
  const real = at.map((i) => i >= 0 && i < count);
  return { real, tokens: at.map((i, place) => (real[place] ? words[sentence][i] : PAD)) };
}

/** The mask in use, made rightly or wrongly from the ticked masks: True = may attend. */
function usedMask({ padding, causal, mistake, query }, queries, keys) {
  const before = (i, j) => !causal || (mistake === "flipped" ? j >= i : j <= i);
  const real = (i, j) => !padding || (mistake === "queries" ? queries.real[i] : keys.real[j]);
  const row = Math.min(query, queries.real.length - 1);
  return (i, j) => before(i, j) && real(i, j) && !(mistake === "blind" && i === row);
}

/** Scores → mask → masked scores → weights, and what the right mask of this kind allows. */
function attend(state) {
  const { kind, mistake, sentence } = state;
  const queries = side(
    state,
    ...(kind === "encoder" ? [state.source, state.source_lengths] : [state.target, state.target_lengths]),
  );
  const keys = kind === "decoder" ? queries : side(state, state.source, state.source_lengths);
  const scores = queries.real.map((_, i) => keys.real.map((_, j) => state.scores[kind][sentence][i][j]));
  const used = usedMask(state, queries, keys);
  const mask = mapMatrix(scores, (_, i, j) => (used(i, j) ? 1 : 0));
  const may = mapMatrix(scores, (_, i, j) => keys.real[j] && (kind !== "decoder" || j <= i));
  const unmasked = scores.map(softmax);
  const masked = mapMatrix(scores, (score, i, j) =>
    mistake === "added" ? score + mask[i][j] : mask[i][j] ? score : -Infinity,
  );
  const plain = (row) =>
    mistake === "blind" && row.every((score) => score === -Infinity) ? row.map(() => NaN) : softmax(row);
  const weights = mistake === "after" ? mapMatrix(unmasked, (weight, i, j) => weight * mask[i][j]) : masked.map(plain);
  const right = mapMatrix(scores, (score, i, j) => (may[i][j] ? score : -Infinity)).map(softmax);
  return { queries, keys, scores, mask, may, masked, unmasked, weights, right };
}

/** Where one query's attention goes that must not, what it cannot see though it may, and the sum of its row. */
function judge({ kind }, { keys, may, mask, weights, unmasked }, i) {
  const share = (row, test) => sumOf(row.map((weight, j) => (test(j) ? weight : 0)));
  const row = weights[i];
  const hidden = may[i].flatMap((allowed, j) => (allowed && !mask[i][j] ? [j] : []));
  return {
    pad: share(row, (j) => !keys.real[j]),
    later: kind === "decoder" ? share(row, (j) => keys.real[j] && j > i) : 0,
    leak: share(row, (j) => !may[i][j]),
    forbidden: share(unmasked[i], (j) => !may[i][j]),
    hidden,
    sum: sumOf(row),
    blind: !may[i].some(Boolean),
  };
}

/** Which entry of the list stands for the ticked boxes and the mistake. */
function chosen({ kind, padding, causal, mistake }) {
  if (mistake !== "none") return mistake;
  if (!padding && !causal) return "bare";
  if (kind === "decoder") return padding ? (causal ? "right" : "no-causal") : "no-padding";
  return causal ? "extra" : "right";
}

function settings(key, kind) {
  const own = {
    right: {},
    bare: { padding: false, causal: false },
    "no-padding": { padding: false, causal: true },
    "no-causal": { causal: false },
    extra: { causal: true },
    flipped: { causal: true },
  };
  return {
    padding: true,
    causal: kind === "decoder",
    mistake: ["flipped", "after", "added", "queries", "blind"].includes(key) ? key : "none",
    ...own[key],
  };
}

/** What the mask in use does, in words. */
function reason(key, { kind, pad_first, padding }, { keys }) {
  const share = keys.real.includes(false)
    ? "Padding takes its share of attention, as if it were a word."
    : "(This sentence has no padding.)";
  return {
    right: {
      encoder: "Every word may look at every word of its sentence. Nobody looks at padding.",
      decoder: "A position may look where both masks allow it: at nothing later, at no padding.",
      cross: "Each French position may look at every English word: that sentence is there as a whole.",
    }[kind],
    bare: kind === "decoder" ? `Each position reads the words that it is to predict. ${share}` : share,
    "no-padding": !keys.real.includes(false)
      ? share
      : pad_first
        ? "Padding in front comes earlier, so the causal mask lets every word see it."
        : "Here only padding looks at padding: it stands behind, where the causal mask hides it. Put it in front " +
          "(below).",
    "no-causal": "Each position reads what it is to predict. When the model writes, those words are not there yet.",
    extra:
      `${padding || !pad_first ? "Nothing leaks, since a mask only hides." : share} An encoder may read ahead; ` +
      "this one cannot.",
    flipped: "Rows and columns have changed places: each position sees itself and what comes after it.",
    after: "The softmax shared out the attention before the mask took some of it away.",
    added: "True adds 1, False adds 0. A forbidden key still counts: only −∞ makes its share zero.",
    queries:
      "It blanks the rows of padding, whose answers nobody uses, and leaves its columns open" +
      (kind === "decoder" && !pad_first
        ? ". Here the causal mask hides them; put padding in front (below)."
        : ": real words look at padding."),
    blind: "All scores of one row are −∞: softmax divides 0 by 0. The book’s function gives zeros.",
  }[key];
}

/** The chosen query's row, in a sentence. */
function sentence(state, values, i) {
  const { queries, keys, weights } = values;
  const me = [asToken(queries.tokens[i]), ` (position ${i + 1})`];
  const found = judge(state, values, i);
  if (Number.isNaN(found.sum)) return [...me, " gets no weights: each is 0 ÷ 0, not a number."];
  if (!queries.real[i])
    return [
      `Position ${i + 1} is padding. It asks as the others do, but nobody uses its answer`,
      found.sum === 0 ? ": it may look at nothing, and its weights are zero, never NaN." : ".",
    ];
  if (found.blind && found.sum === 0) {
    return [...me, " may look at nothing: its weights are zero, never NaN. That is the book’s rule."];
  }
  const parts = [];
  if (found.leak > 0)
    parts.push(
      " looks where it must not: ",
      ...listed(
        /** @type {[number, string][]} */ ([
          [found.later, "what comes later"],
          [found.pad, "padding"],
        ])
          .filter(([part]) => part > 0)
          .map(([part, where]) => [bold(format(part)), ` of its attention is on ${where}`]),
      ),
      ".",
    );
  else
    parts.push(
      " looks at ",
      ...listed(
        keys.tokens.flatMap((text, j) =>
          weights[i][j] > 0
            ? [[j === i && state.kind !== "cross" ? "itself" : asToken(text), ` ${format(weights[i][j])}`]]
            : [],
        ),
      ),
      found.sum < WHOLE ? "." : ", and at nothing that it must not.",
    );
  if (found.hidden.length) {
    parts.push(" It cannot see ", ...listed(found.hidden.map((j) => [asToken(keys.tokens[j])])), ", though it may.");
  }
  if (found.sum < WHOLE)
    parts.push(
      ` Its weights sum to ${format(found.sum)}: the missing ${format(1 - found.sum)} went to what it must not see.`,
    );
  return [...me, ...parts];
}

/** What the whole table shows: [whether it is right, in words]. @returns {[boolean, string]} */
function finding(state, values) {
  const rows = values.queries.real.flatMap((real, i) => (real ? [judge(state, values, i)] : []));
  const count = (test) => rows.filter(test).length;
  const words = (number, one, more) => `${number} of ${rows.length} words ${number === 1 ? one : more}`;
  if (!rows.length) return [true, "Nothing but padding: nobody uses an answer of this sentence"];
  if (count((row) => Number.isNaN(row.sum))) return [false, "One row is not a number"];
  const leaks = count((row) => row.leak > 0);
  const [later, pad] = [rows.some((row) => row.later > 0), rows.some((row) => row.pad > 0)];
  const where = later ? (pad ? "at later words or at padding" : "ahead, at what it is to predict") : "at padding";
  if (leaks) {
    const ahead = later && !pad ? "ahead, at what they are to predict" : where;
    return [false, words(leaks, `looks ${where}`, `look ${ahead}`)];
  }
  const short = count((row) => row.sum < WHOLE && !row.blind);
  if (short) return [false, `The weights of ${words(short, "does", "do")} not sum to 1`];
  const hidden = count((row) => row.hidden.length);
  const less = words(hidden, "cannot see all that it may", "cannot see all that they may");
  if (hidden) return [false, `No leak, but ${less}`];
  return [true, "No leak: each word looks only where it may"];
}

const scoreColour = (value) => diverging((0.8 * value) / (LARGEST_SCORE + 1));
const shareColour = (value) => (value > 0 ? cividis(value) : null); // neither zeros nor NaN

function table(name, title, values, onSelect) {
  const sums = ["weights", "unmasked"].includes(name);
  const grid = matrixGrid({
    name,
    label: title,
    rows: values.queries.tokens,
    columns: [...values.keys.tokens, ...(sums ? ["sum"] : [])],
    showRows: true,
    showColumns: true,
    onSelect,
  });
  const [heading, note] = [bold(title), span()];
  return { name, grid, sums, heading, note, element: div("te-block", div("te-caption", heading, note), grid.element) };
}

/** What stands beside the name of a table. */
const NOTES = {
  scores: () => ["query · key / √", sub("d", "k")],
  mask: (mistake) => [mistake === "added" ? "to be added" : "✓ may look"],
  masked: (mistake) => [mistake === "added" ? "scores + mask" : `${format(-Infinity)} where it may not look`],
  unmasked: () => ["of all scores, before the mask"],
  right: () => ["row looks at column"],
  weights: (_, key) => [key === "right" ? "row looks at column" : "red: must not look"],
};

/** A cell of the mask: a sign, or the number that is added. */
function sign(cell, value, added) {
  cell.textContent = added ? `+${value}` : value ? "✓" : "";
  cell.classList.toggle("te-may", value === 1);
  const spoken = cell.getAttribute("aria-label").replace(/: .*$/, value ? ": may attend" : ": may not attend");
  cell.setAttribute("aria-label", spoken);
}

/** A cell of the weights, in the last column a sum. */
function mark(cell, value, last, leak, short) {
  if (last) Object.assign(cell.style, { background: "", color: "" });
  if (Number.isNaN(value)) cell.textContent = "NaN";
  const states = { "row-sum": last, nan: Number.isNaN(value), none: !last && value === 0, short };
  Object.entries(states).forEach(([name, on]) => cell.classList.toggle(`te-${name}`, on));
  if (leak) cell.setAttribute("aria-label", `${cell.getAttribute("aria-label")}, must not look`);
  if (leak && cell.dataset.leak === "false") appear(cell); // not in the first drawing
  cell.dataset.leak = String(leak);
  cell.classList.toggle("te-leak", leak);
}

/** Numbers, colours and marks of one table. */
function show({ name, grid, sums, note }, state, values) {
  const { queries, may, mask, weights } = values;
  const numbers = sums ? values[name].map((line) => [...line, sumOf(line)]) : values[name];
  const width = values.keys.tokens.length;
  const shares = sums || name === "right";
  grid.update(
    numbers,
    name === "mask"
      ? { decimals: 0 }
      : shares
        ? { decimals: 2, colour: shareColour, quiet: 0.005 }
        : { decimals: 1, colour: scoreColour },
  );
  eachCell(grid, (cell, i, j) => {
    if (name === "mask") sign(cell, mask[i][j], state.mistake === "added");
    if (!shares) return;
    const [last, real] = [j === width, queries.real[i]];
    const leak = name === "weights" && !last && real && !may[i][j] && weights[i][j] > 0;
    const short = last && real && numbers[i][j] < WHOLE;
    mark(cell, numbers[i][j], last, leak, short);
    if (!real || (last && !short)) Object.assign(cell, { textContent: "" });
    if (!real) Object.assign(cell.style, { background: "", color: "" });
  });
  if (sums) grid.element.classList.toggle("te-whole", !grid.element.querySelector(".te-short"));
  fill(note, ...NOTES[name](state.mistake, chosen(state)));
}

/** What can be asked of these sentences. */
function questions(state) {
  const found = () => {
    const values = attend(state);
    return values.queries.real.flatMap((real, i) => (real ? [judge(state, values, i)] : []));
  };
  const set = (key, more) => state.set({ kind: "decoder", pad_first: false, ...settings(key, "decoder"), ...more });
  return [
    {
      ask: ["find a wrong mask that does no harm here"],
      done: () => chosen(state) !== "right" && finding(state, attend(state))[0],
      tell: ["What it forgot is hidden anyway, or not there."],
      show: () => set("no-padding"),
    },
    {
      ask: ["let words look at padding"],
      done: () => found().some((row) => row.pad > 0),
      tell: ["As if it were a word that says something."],
      show: () => set("bare", { sentence: 1, target_lengths: [6, 4] }),
    },
    {
      ask: ["make a row that is not a number"],
      done: () => found().some((row) => Number.isNaN(row.sum)),
      tell: ["With nowhere to look, softmax divides 0 by 0."],
      show: () => set("blind"),
    },
  ];
}

function render({ model, el }) {
  const figure = frame(el, {
    name: "mask-lab",
    label: "Mask lab",
    says: [""],
    invite: ["choose another mask. Red cells look where they must not."],
  });
  const state = store(model, TRAITS, draw);
  const start = snapshot(state, [
    "kind",
    "source_lengths",
    "target_lengths",
    "sentence",
    "query",
    "padding",
    "causal",
    "pad_first",
    "mistake",
  ]);
  let built, offered, main, steps, masks, more, compared;

  const kinds = choice({
    label: "Kind of attention",
    value: state.kind,
    options: Object.entries(KINDS).map(([value, name]) => ({ value, content: [name] })),
    onChange: (kind) =>
      state.set({
        kind,
        causal: kind === "decoder",
        mistake: state.mistake === "flipped" && kind !== "decoder" ? "none" : state.mistake,
      }),
  });
  const sentences = choice({
    label: "Sentence of the batch",
    value: state.sentence,
    options: [0, 1].map((value) => ({ value, content: [`sentence ${value + 1}`] })),
    onChange: (sentence) => state.set({ sentence }),
  });
  const lengths = LANGUAGES.map(([language, name]) =>
    [0, 1].map((index) =>
      slider({
        label: `${name} ${index + 1}`,
        min: 0,
        max: LONGEST,
        value: state[`${language}_lengths`][index],
        format: (count) => `${count} token${count === 1 ? "" : "s"}`,
        onInput: (count) =>
          state.set({
            sentence: index, // the change is seen
            [`${language}_lengths`]: state[`${language}_lengths`].map((old, i) => (i === index ? count : old)),
          }),
      }),
    ),
  );
  const boxes = lengths.map((pair) => div("te-lengths", ...pair.map((one) => one.element)));
  const front = toggle({
    label: ["padding in front"],
    value: state.pad_first,
    onChange: (pad_first) => state.set({ pad_first }),
  });
  const reset = button("Reset", () => state.set(structuredClone(start)));
  const [maskBox, stepBox] = [div(), div("te-tables")];
  const group = (name, node) => div("te-mask-group", span("te-label", name), node);
  figure.stage.classList.add("te-tables");
  figure.controls.append(group("mask", maskBox), group("attention", kinds.element));
  const words = figure.words(3);
  const onSelect = (row) => row !== state.query && state.set({ query: row });

  const isOff = (key) => state.kind !== "decoder" && OF_DECODER.includes(key);

  function rebuild(values) {
    if (offered !== state.kind) {
      offered = state.kind;
      masks = choice({
        label: "mask",
        class: "te-mask-list",
        value: chosen(state),
        options: offers(offered).map((value) => ({ value, content: [OPTIONS[value]] })),
        onChange: (key) => !isOff(key) && state.set(settings(key, state.kind)),
      });
      masks.buttons.forEach((one) => setOff(one, isOff(one.dataset.value)));
      fill(maskBox, masks.element);
    }
    const open = Boolean(more?.open);
    const shape = JSON.stringify([values.queries.tokens, values.keys.tokens, open]);
    if (shape === built) return;
    built = shape;
    compared = "";
    const pair = { right: "with the right masks", weights: "with the chosen mask" };
    main = Object.entries(pair).map(([name, title]) => table(name, title, values, onSelect));
    const names = { mask: "mask", scores: "scores", masked: "masked scores", unmasked: "softmax" };
    steps = open ? Object.entries(names).map(([name, title]) => table(name, title, values, onSelect)) : [];
    fill(figure.stage, ...main.map((one) => one.element));
    fill(stepBox, ...steps.map((one) => one.element));
  }

  function draw() {
    const values = attend(state);
    const row = Math.min(state.query, values.queries.real.length - 1);
    rebuild(values);
    kinds.set(state.kind);
    sentences.set(state.sentence);
    front.set(state.pad_first);
    masks.set(chosen(state));
    LANGUAGES.forEach(([language], at) =>
      lengths[at].forEach((one, index) => one.set(state[`${language}_lengths`][index])),
    );
    boxes[0].hidden = state.kind === "decoder";
    boxes[1].hidden = state.kind === "encoder";
    const [right, used] = main;
    const same = JSON.stringify(values.right);
    if (same !== compared) show(right, state, values);
    compared = same;
    [used, ...steps].forEach((one) => show(one, state, values));
    [right, used, ...steps].forEach(({ grid }) => grid.highlight({ row }));
    used.heading.textContent = `with ${OPTIONS[chosen(state)].replace(/^adds/, "a mask that adds")}`;
    const unused = state.mistake === "after" ? "masked" : "unmasked";
    steps.forEach((one) => (one.element.hidden = one.name === unused));
    const [good, text] = finding(state, values);
    figure.root.dataset.good = String(good);
    figure.says(span("te-verdict", good ? "✓ " : "✗ "), text);
    figure.rest(() => {
      fill(words, reason(chosen(state), state, values), " ", ...sentence(state, values, row));
      figure.tell(`${text}. ${words.textContent}`);
    });
  }

  draw();
  figure.ask(questions(state));
  more = figure.details(
    "The mask itself, the scores, padding in front, sentences of other lengths",
    stepBox,
    div("te-batch", sentences.element, front.element, reset, ...boxes),
    paragraph("te-note", "The scores are made up."),
  );
  more.addEventListener("toggle", draw);
  return state.dispose;
}

export default { render };
