import { asToken, bold, button, changeAnnouncer, choice, cividis, div, diverging, eachCell, fill, format, h, mapMatrix,
  matrixGrid, mount, paragraph, select, slider, snapshot, softmax, span, store, sumOf, toggle } from "./core.js";

const TRAITS = [
  "kind", "source", "target", "source_lengths", "target_lengths", "scores", "sentence", "query", "padding", "causal",
  "pad_first", "mistake",
];
const KINDS = { encoder: "encoder self-attention", decoder: "decoder self-attention", cross: "cross-attention" };
const LANGUAGES = [
  ["source", "English"],
  ["target", "French"]
];
const PAD = "<pad>",
  LONGEST = 6,
  LARGEST_SCORE = 2;
const OPTIONS = {
  right: "the right mask",
  bare: "no mask",
  "no-padding": "padding mask forgotten",
  "no-causal": "causal mask forgotten",
  extra: "a causal mask too",
  flipped: "causal mask the wrong way round",
  after: "mask after the softmax",
  added: "0 and 1 added, not −∞",
  queries: "padding mask on the queries",
  blind: "a query with nowhere to look",
};
const OFFERED = {
  encoder: ["right", "bare", "extra", "after", "added", "queries", "blind"],
  decoder: ["right", "bare", "no-padding", "no-causal", "flipped", "after", "added", "queries", "blind"],
  cross: ["right", "bare", "after", "added", "queries", "blind"],
};

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
    state, ...(kind === "encoder" ? [state.source, state.source_lengths] : [state.target, state.target_lengths])
  );
  const keys = kind === "decoder" ? queries : side(state, state.source, state.source_lengths);
  const scores = queries.real.map((_, i) => keys.real.map((_, j) => state.scores[kind][sentence][i][j]));
  const used = usedMask(state, queries, keys);
  const mask = mapMatrix(scores, (_, i, j) => (used(i, j) ? 1 : 0));
  const may = mapMatrix(scores, (_, i, j) => keys.real[j] && (kind !== "decoder" || j <= i));
  const unmasked = scores.map(softmax);
  const masked = mapMatrix(scores, (score, i, j) => (
    mistake === "added" ? score + mask[i][j] : mask[i][j] ? score : -Infinity
  ));
  const plain = (row) => (
    mistake === "blind" && row.every((score) => score === -Infinity) ? row.map(() => NaN) : softmax(row)
  );
  const weights = mistake === "after" ? mapMatrix(unmasked, (weight, i, j) => weight * mask[i][j]) : masked.map(plain);
  return { queries, keys, scores, mask, may, masked, unmasked, weights };
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
    ? "Padding takes its share of every query’s attention, as if it were a word."
    : "(This sentence has no padding.)";
  return {
    right: {
      encoder: "Every word may look at every word of its sentence, before it and after it. Nobody looks at padding.",
      decoder: "A position may look at a key when both masks allow it: nothing later, no padding.",
      cross: "Each French position may look at every English word: that sentence is there as a whole, so nothing in " +
        "it comes later. Only its padding is hidden.",
    }[kind],
    bare: kind === "decoder" ? `Each position reads the words that it is to predict. ${share}` : share,
    "no-padding": !keys.real.includes(false) ? share : pad_first
      ? "Padding in front comes earlier, so the causal mask lets every word see it."
      : "Here only padding looks at padding: it stands behind, where the causal mask hides it. Harmless as long as " +
      "the loss skips those positions. Now tick “padding in front”.",
    "no-causal": "Each position reads the words that it is to predict. In training that looks brilliant; when the " +
      "model writes, those words are not there yet.",
    extra: `${padding || !pad_first ? "Nothing leaks, since a mask only hides." : share} An encoder may read ahead; ` +
      "this one cannot.",
    flipped: "Rows and columns have changed places: each position sees itself and what comes after it, and nothing " +
      "before.",
    after: "The softmax has shared out the attention before the mask takes some of it away. Rows sum to less than 1, " +
      "and what is missing tells how strong the forbidden keys were.",
    added: "True adds 1, False adds 0. An allowed key gains a factor e ≈ 2.7, but a forbidden one still counts. Only " +
      "−∞ makes its share zero.",
    queries: "It blanks the rows of padding, whose answers nobody uses, and leaves its columns open" +
      (kind === "decoder" && !pad_first
        ? ". Here the causal mask happens to hide them; try padding in front, or another kind of attention."
        : ": real words look at padding. (A blank row is NaN in a plain softmax; the book’s function gives zeros.)"),
    blind: "All scores of this row are −∞, and a plain softmax divides 0 by 0. The NaN spreads to every token that " +
      "looks at this one in the next layer. The book’s function gives weights of zero instead.",
  }[key];
}

/** The chosen query's row, in a sentence. */
function sentence(state, values, i) {
  const { queries, keys, weights, may } = values;
  const me = [`Position ${i + 1}, `, asToken(queries.tokens[i])];
  const found = judge(state, values, i);
  if (Number.isNaN(found.sum)) return [...me, ", gets no weights: each is 0 ÷ 0, not a number."];
  if (!queries.real[i]) return [`Position ${i + 1} is padding. It asks as the others do, but nobody uses its answer`,
    found.sum === 0
    ? ": it may look at nothing, and its weights are zero, never NaN."
    : "."
  ];
  if (found.blind && found.sum === 0) {
    return [...me, ", may look at nothing: its weights are zero, never NaN. That is the book’s rule."];
  }
  const parts = [];
  if (found.leak > 0) parts.push(", looks at positions that it must not: ", ...listed([
    [found.later, "what comes later"],
    [found.pad, "padding"]
  ].filter(([part]) => part > 0).map(([part, where]) => [
    bold(format(part)), ` of its attention is on ${where}`,
  ])), ".");
  else parts.push(" looks at ", ...listed(keys.tokens.flatMap((text, j) => (weights[i][j] > 0 ? [
    [j === i && state.kind !== "cross" ? "itself" : asToken(text), ` ${format(weights[i][j])}`]
  ] : []))), ", and at nothing that it must not.");
  if (found.hidden.length) {
    parts.push(" It cannot see ", ...listed(found.hidden.map((j) => [asToken(keys.tokens[j])])), ", though it may.");
  }
  if (found.sum < 0.9995) parts.push(
    ` Its weights sum to ${format(found.sum)}: the missing ${format(1 - found.sum)} went to what it must not see.`
  );
  return [...me, ...parts];
}

/** One line on the whole table: right, or how many real queries are wrong. */
function verdict(state, values) {
  const rows = values.queries.real.flatMap((real, i) => (real ? [judge(state, values, i)] : []));
  const count = (test) => rows.filter(test).length;
  const of = (number) => `${number} of ${rows.length} real tokens`;
  if (!rows.length) return [true, "Nothing but padding: no answer of this sentence is used."];
  if (count((row) => Number.isNaN(row.sum))) return [false, "One row is not a number."];
  const leaks = count((row) => row.leak > 0);
  if (leaks) return [
    false,
    `${of(leaks)} ${leaks === 1 ? "looks" : "look"} where ${leaks === 1 ? "it" : "they"} must not, with up to ` +
    `${format(Math.max(...rows.map((row) => row.leak)))} of ${leaks === 1 ? "its" : "their"} attention.`,
  ];
  const short = count((row) => row.sum < 0.9995 && !row.blind);
  if (short) return [false, `The weights of ${of(short)} do not sum to 1.`];
  const hidden = count((row) => row.hidden.length);
  if (hidden) return [false, `No leak, but ${of(hidden)} cannot see all that they may.`];
  return [true, `No leak: each of the ${rows.length} real tokens looks only where it may.`];
}

const scoreColour = (value) => diverging((0.8 * value) / (LARGEST_SCORE + 1));
const shareColour = (value) => (Number.isNaN(value) ? null : cividis(value));
const asSigns = (cell, value, added) => {
  cell.textContent = added ? `+${value}` : value ? "✓" : "·";
  cell.classList.toggle("te-may", value === 1);
  cell.setAttribute(
    "aria-label", cell.getAttribute("aria-label").replace(/: .*$/, value ? ": may attend" : ": may not attend")
  );
};

/** The four tables in the order in which this mask works. */
function tables(mistake) {
  const scores = ["scores", "scores", span("", "query · key / √d", h("sub", {}, "k"))],
    mask = ["mask", "mask", mistake === "added" ? "to be added" : "✓ may attend"];
  if (mistake === "after") {
    return [scores, ["unmasked", "softmax", "of all scores"], mask, ["weights", "weights", "masked too late"]];
  }
  return [scores,
    mask, ["masked", "masked scores", mistake === "added" ? "scores + mask" : `${format(-Infinity)} where it may not`],
    ["weights", "weights", "! where it must not look"]
  ];
}

function table([name, title, note], number, values, onSelect) {
  const sums = name === "weights" || name === "unmasked";
  const grid = matrixGrid({
    name,
    label: title,
    rows: values.queries.tokens,
    columns: [...values.keys.tokens, ...(sums ? ["sum"] : [])],
    showRows: true,
    showColumns: true,
    onSelect,
  });
  const caption = div("te-caption", bold(`${number} ${title}`), span("", note));
  return { name, grid, sums, element: div("te-block", caption, grid.element) };
}

/** Numbers, colours and marks of one table. */
function show({ name, grid, sums }, state, values, row) {
  const { queries, may, mask, weights } = values;
  const numbers = sums ? values[name].map((line) => [...line, sumOf(line)]) : values[name];
  grid.update(
    numbers, name === "mask" ? { decimals: 0 } : { decimals: sums ? 2 : 1, colour: sums ? shareColour : scoreColour }
  );
  eachCell(grid, (cell, i, j) => {
    const last = sums && j === numbers[0].length - 1;
    if (last) Object.assign(cell.style, { background: "", color: "" });
    cell.classList.toggle("te-row-sum", last);
    cell.classList.toggle("te-nan", Number.isNaN(numbers[i][j]));
    if (Number.isNaN(numbers[i][j])) cell.textContent = "NaN";
    if (name === "mask") asSigns(cell, mask[i][j], state.mistake === "added");
    const leak = name === "weights" && !last && queries.real[i] && !may[i][j] && weights[i][j] > 0;
    cell.classList.toggle("te-leak", leak);
    cell.classList.toggle("te-short", last && queries.real[i] && numbers[i][j] < 0.9995);
    if (leak) cell.setAttribute("aria-label", `${cell.getAttribute("aria-label")}, must not look`);
  });
  grid.highlight({ row });
}

function render({ model, el }) {
  const root = mount(el, "mask-lab", "Mask lab");
  const announce = changeAnnouncer(root);
  const state = store(model, TRAITS, draw);
  const start = snapshot(state, [
    "kind", "source_lengths", "target_lengths", "sentence", "query", "padding", "causal", "pad_first", "mistake",
  ]);
  let built = "",
    offered = "",
    stage = [],
    masks;

  const kinds = choice({
    label: "Kind of attention",
    value: state.kind,
    options: Object.entries(KINDS).map(([value, name]) => ({ value, content: [name] })),
    onChange: (kind) => state.set({
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
  const lengths = LANGUAGES.map(([language, name]) => [0, 1].map((index) => slider({
    label: `${name} ${index + 1}`,
    min: 0,
    max: LONGEST,
    value: state[`${language}_lengths`][index],
    format: (count) => `${count} token${count === 1 ? "" : "s"}`,
    onInput: (count) => state.set({
      sentence: index, // the change is seen
      [`${language}_lengths`]: state[`${language}_lengths`].map((old, i) => (i === index ? count : old))
    }),
  })));
  const boxes = lengths.map((pair) => div("te-lengths", ...pair.map((one) => one.element)));
  const padding = toggle({
    label: ["padding mask"],
    value: state.padding,
    onChange: (on) => state.set({
      padding: on,
      mistake: "none",
    })
  });
  const causal = toggle({
    label: ["causal mask"],
    value: state.causal,
    onChange: (on) => state.set({
      causal: on,
      mistake: "none",
    })
  });
  const front = toggle({
    label: ["padding in front"],
    value: state.pad_first,
    onChange: (on) => state.set({
      pad_first: on,
    })
  });
  const maskBox = span(),
    stageBox = div("te-tables");
  const badge = paragraph("te-verdict"),
    why = paragraph("te-why"),
    words = paragraph("te-sentence");

  function onSelect(row) {
    if (row !== state.query) state.set({ query: row });
  }

  function rebuild(values) {
    if (offered !== state.kind) {
      offered = state.kind;
      masks = select({
        label: "mask",
        value: chosen(state),
        options: OFFERED[offered].map((value) => ({ value, label: OPTIONS[value] })),
        onChange: (key) => state.set(settings(key, state.kind)),
      });
      fill(maskBox, masks.element);
    }
    const shape = JSON.stringify([
      values.queries.tokens, values.keys.tokens, state.mistake === "after", state.mistake === "added",
    ]);
    if (shape === built) return;
    built = shape;
    stage = tables(state.mistake).map((one, i) => table(one, i + 1, values, onSelect));
    fill(stageBox, ...stage.map((one) => one.element));
  }

  function controls() {
    [
      kinds.set(state.kind), sentences.set(state.sentence), padding.set(state.padding), causal.set(state.causal),
      front.set(state.pad_first), masks.set(chosen(state)),
    ];
    LANGUAGES.forEach(
      ([language], at) => lengths[at].forEach((one, index) => one.set(state[`${language}_lengths`][index]))
    );
    boxes[0].hidden = state.kind === "decoder";
    boxes[1].hidden = state.kind === "encoder";
    causal.element.hidden = state.kind === "cross";
  }

  function draw() {
    const values = attend(state);
    const row = Math.min(state.query, values.queries.real.length - 1);
    rebuild(values);
    controls();
    stage.forEach((one) => show(one, state, values, row));
    const [good, text] = verdict(state, values);
    badge.dataset.good = String(good);
    fill(badge, bold(good ? "✓ " : "✗ "), text);
    fill(why, reason(chosen(state), state, values));
    fill(words, ...sentence(state, values, row));
    const said = `${badge.textContent} ${words.textContent}`;
    announce(said);
  }

  root.append(
    kinds.element,
    div("te-masks", maskBox, padding.element, causal.element, front.element),
    div("te-batch", sentences.element, ...boxes),
    badge, why, stageBox, words,
    div("te-foot", span("te-note", "Choose a row to read it. The scores are made up."), button(
      "Reset", () => state.set(structuredClone(start))
    )),
  );
  draw();
  return state.dispose;
}

export default { render };
