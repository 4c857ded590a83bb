import { asToken, bold, button, changeAnnouncer, choice, cividis, decimalsFor, div, diverging, dot, eachCell, fill,
  format, h, inBrackets, listed, mapMatrix, matmul, matrixGrid, mount, numbered, paragraph, snapshot, softmax, span,
  stepper, store, sub, transpose, uniqueId } from "./core.js";

const TITLES = ["Project", "Split", "Scores", "Weights", "Mix", "Merge", "Output"];
const TRAITS = ["tokens", "x", "w_q", "w_k", "w_v", "w_o", "num_heads", "step", "part", "token", "key", "head"];
const PARTS = { q: "query", k: "key", v: "value" };
const code = (text) => h("code", {}, text);
const vector = (row) => `(${row.map((value) => format(value, decimalsFor([row]))).join(",\u00a0")})`;

/* The four reshapes, on anything: numbers, or the marks that say where a number came from. */
const chunk = (list, size) => Array.from({ length: list.length / size }, (_, i) => list.slice(
  i * size, (i + 1) * size
));
/** (seq, d_model) → (heads, seq, d_head): view as (seq, heads, d_head), then swap the first two. */
const split = (matrix, heads) => Array.from({ length: heads }, (_, head) => matrix.map(
  (row) => chunk(row, row.length / heads)[head]
));
/** The same view straight to (heads, seq, d_head), nothing swapped. */
const splitWrong = (matrix, heads) => chunk(chunk(matrix.flat(), matrix[0].length / heads), matrix.length);
/** (heads, seq, d_head) → (seq, d_model): swap back, then put each token's pieces side by side. */
const merge = (heads) => heads[0].map((_, token) => heads.flatMap((head) => head[token]));
/** The same reshape, nothing swapped. */
const mergeWrong = (heads) => chunk(heads.flat(2), heads.length * heads[0][0].length);

/** Every matrix, and for those that are cut and merged the token and head that each number belongs to. */
function attend({ tokens, x, w_q, w_k, w_v, w_o, num_heads }) {
  const whole = { q: matmul(x, w_q), k: matmul(x, w_k), v: matmul(x, w_v) };
  const size = w_q[0].length / num_heads;
  const marks = tokens.map((_, token) => w_q[0].map((_, column) => ({ token, head: Math.floor(column / size) })));
  const [q, k, v] = ["q", "k", "v"].map((name) => split(whole[name], num_heads));
  const products = q.map((one, head) => matmul(one, transpose(k[head])));
  const scores = products.map((one) => mapMatrix(one, (value) => value / Math.sqrt(size)));
  const weights = scores.map((one) => one.map(softmax));
  const outputs = weights.map((one, head) => matmul(one, v[head]));
  const merged = { right: merge(outputs), wrong: mergeWrong(outputs) };
  return {
    ...whole,
    heads: { q, k, v },
    wrongHeads: Object.fromEntries(Object.entries(whole).map(([name, one]) => [name, splitWrong(one, num_heads)])),
    size,
    products,
    scores,
    weights,
    outputs,
    merged,
    output: { right: matmul(merged.right, w_o), wrong: matmul(merged.wrong, w_o) },
    marks: {
      whole: marks,
      heads: split(marks, num_heads),
      wrongHeads: splitWrong(marks, num_heads),
      right: merge(split(marks, num_heads)),
      wrong: mergeWrong(split(marks, num_heads)),
    },
  };
}

/** Stripes "head 1", "head 2", … along the columns (or, `side`, the rows) of a matrix that holds all heads. */
function bands(heads, size, side = false) {
  const band = (_, head) => span(`te-band te-head-${head}`, span("", "head "), head + 1);
  const names = Array.from({ length: heads }, band);
  const style = { "--heads": heads, "--size": size };
  return h("div", { class: `te-bands${side ? " te-side" : ""}`, "aria-hidden": "true", style }, ...names);
}

/**
 * A matrix with its caption. `marks` tint each cell by its head; with `origins` the cell also prints token and head.
 * @param {{name: string, symbol: any, note?: string, values: Matrix, marks?: any[][], rows: string[], columns:
 *   string[],
 * showRows?: boolean, showColumns?: boolean, origins?: boolean, band?: any, side?: any, colour?: any, kind?: string,
 * decimals?: number}} spec
 */
function block(spec, state, onSelect) {
  const { name, symbol, note, values, marks, rows, columns, band, side } = spec;
  const grid = matrixGrid({
    name,
    label: spec.label,
    rows,
    columns,
    showRows: spec.showRows,
    showColumns: spec.showColumns,
    onSelect: (r, c) => onSelect(spec, r, c),
  });
  grid.update(values, { decimals: spec.decimals ?? decimalsFor(values), colour: spec.colour });
  if (marks) eachCell(grid, (cell, r, c) => mark(cell, marks[r][c], state.tokens, spec.origins, r));
  const body = side ? div("te-sided", side, grid.element) : grid.element;
  const caption = symbol ? div("te-caption", bold(symbol), note ? span("", note) : null) : null;
  const element = div(`te-block${spec.showRows ? " te-labelled" : ""}`, caption, band ?? null, body);
  element.dataset.columns = columns.length;
  return { element, grid, spec };
}

/** Tint a cell with its head, and print and say where its number came from. */
function mark(cell, { token, head }, tokens, origins, row) {
  cell.classList.add(`te-head-${head}`);
  if (!origins) return;
  cell.dataset.origin = `${tokens[token]} h${head + 1}`;
  cell.classList.toggle("te-foreign", token !== row);
  cell.setAttribute("aria-label", `${cell.getAttribute("aria-label")}, from ${tokens[token]}, head ${head + 1}`);
}

const headName = (head) => span(`te-chip te-head-${head}`, `head ${head + 1}`);
const spokenColumns = (heads, size) => Array.from({
  length: heads * size,
}, (_, i) => `${i + 1} of head ${Math.floor(i / size) + 1}`);
const scoreColour = (values) => {
  const largest = Math.max(...values.flat(2).map(Math.abs), 1e-9);
  return (value) => diverging((0.8 * value) / largest);
};

/** What a matrix shows; `more` is what `block` takes besides. */
const matrix = (name, symbol, label, values, rows, columns, more = {}) =>
  ({ name, symbol, label, values, rows, columns, ...more });

/** X times W_Q: the columns of W_Q, and so those of Q, belong to the heads. */
function projectScene(state, values) {
  const { tokens, x, num_heads, part } = state;
  const [w, columns, letter] = [state[`w_${part}`], spokenColumns(num_heads, values.size), part.toUpperCase()];
  const note = "one row per token";
  const learned = {
    note: "learned",
    marks: w.map((row) => row.map((_, column) => ({ head: Math.floor(column / values.size) }))),
    band: bands(num_heads, values.size),
  };
  const marks = values.marks.whole;
  return {
    kind: "falk",
    left: matrix("x", "X", `X, ${note}`, x, tokens, numbered(x[0].length), { note, showRows: true }),
    top: matrix(`w_${part}`, sub("W", letter), `W ${part}, learned`, w, numbered(w.length), columns, learned),
    result: matrix(part, letter, `${PARTS[part]} vectors of all heads`, values[part], tokens, columns, { marks }),
  };
}

/** One small matrix for each head. */
function perHead(state, name, list, options) {
  const { tokens } = state;
  const { label, labels, tokenColumns, marks, decimals = decimalsFor(list.flat()), ...more } = options;
  return list.map((values, head) => {
    const columns = tokenColumns ? tokens : numbered(values[0].length);
    const own = { head, decimals, marks: marks?.[head], showRows: labels === "all" || head === 0 };
    const look = { ...more, ...own, showColumns: tokenColumns };
    return matrix(`${name}-${head + 1}`, headName(head), `${label}, head ${head + 1}`, values, tokens, columns, look);
  });
}

function splitScene(state, values) {
  const { num_heads: heads, part, tokens } = state;
  const letter = part.toUpperCase();
  const pieces = (name, all, marks) =>
    perHead(state, name, all[part], { label: `${letter}, ${name} split`, marks, origins: true });
  const look = { note: "all heads", marks: values.marks.whole, showRows: true, band: bands(heads, values.size) };
  const columns = spokenColumns(heads, values.size);
  return {
    kind: "sides",
    source: [matrix(part, letter, `${PARTS[part]} vectors of all heads`, values[part], tokens, columns, look)],
    right: {
      title: "right",
      code: `${letter}.view(3, ${heads}, ${values.size}).transpose(0, 1)`,
      blocks: pieces("right", values.heads, values.marks.heads),
    },
    wrong: {
      title: "wrong: no transpose",
      code: `${letter}.view(${heads}, 3, ${values.size})`,
      blocks: pieces("wrong", values.wrongHeads, values.marks.wrongHeads),
    },
  };
}

function mergeScene(state, values) {
  const { tokens, num_heads: heads } = state;
  const columns = numbered(heads * values.size);
  const merged = (name) => {
    const look = { marks: values.marks[name], showRows: true, origins: true };
    return [matrix(name, undefined, `merged, ${name}`, values.merged[name], tokens, columns, look)];
  };
  return {
    kind: "sides",
    source: perHead(state, "output", values.outputs, { label: "output", marks: values.marks.heads }),
    right: { title: "right", code: "heads.transpose(0, 1).reshape(3, 4)", blocks: merged("right") },
    wrong: { title: "wrong: no transpose", code: "heads.reshape(3, 4)", blocks: merged("wrong") },
  };
}

function mixScene(state, values) {
  const { tokens, head } = state;
  const [numbers, of] = [numbered(values.size), `of head ${head + 1}`];
  const [note, marks] = [`head ${head + 1}`, values.marks.heads[head]];
  const shares = { note, showRows: true, colour: cividis, decimals: 3 };
  return {
    kind: "falk",
    left: matrix("weights", "weights", `weights ${of}`, values.weights[head], tokens, tokens, shares),
    top: matrix("v", "V", `values ${of}`, values.heads.v[head], tokens, numbers, { note, marks, showRows: true }),
    result: matrix("output", "output", `output ${of}`, values.outputs[head], tokens, numbers, { marks }),
  };
}

function outputScene(state, values, after) {
  const { tokens, num_heads: heads, w_o } = state;
  const numbers = numbered(w_o.length);
  const merged = { note: `the ${after} merge`, marks: values.marks[after], showRows: true, origins: true };
  const learned = {
    note: "learned",
    marks: w_o.map((row, r) => row.map(() => ({ head: Math.floor(r / values.size) }))),
    side: bands(heads, values.size, true),
  };
  const rows = spokenColumns(heads, values.size);
  return {
    kind: "falk",
    left: matrix("merged", "merged", `merged, ${after}`, values.merged[after], tokens, numbers, merged),
    top: matrix("w_o", sub("W", "O"), "W O, learned; its rows meet the heads", w_o, rows, numbers, learned),
    result: matrix("final", "output", "output", values.output[after], tokens, numbers),
  };
}

function scene(state, values, after) {
  const grids = { tokenColumns: true, labels: "all", kind: "attention" };
  const scores = { ...grids, label: "scores", colour: scoreColour(values.scores) };
  const weights = { ...grids, label: "weights", colour: cividis, decimals: 3 };
  return [
    () => projectScene(state, values),
    () => splitScene(state, values),
    () => ({ kind: "row", blocks: perHead(state, "scores", values.scores, scores) }),
    () => ({ kind: "row", blocks: perHead(state, "weights", values.weights, weights) }),
    () => mixScene(state, values),
    () => mergeScene(state, values),
    () => outputScene(state, values, after),
  ][state.step - 1]();
}

/** The shapes that a step goes through; the batch dimension is left out. */
function shapes({ step, num_heads: heads, part }, { size }) {
  const seq = 3,
    d_model = heads * size,
    letter = part.toUpperCase();
  const cut = `(${heads}, ${seq}, ${size})`,
    flat = `(${seq}, ${d_model})`,
    view = `(${seq}, ${heads}, ${size})`;
  const names = {
    [cut]: "heads, seq, d_head",
    [flat]: "seq, d_model",
    [view]: "seq, heads, d_head"
  };
  const shape = (text, note = names[text]) => span("te-shape", bold(text), span("", note));
  const arrow = (...text) => span("te-arrow", ...text, " →");
  const times = (index) => arrow("times ", sub("W", index), `, (${d_model}, ${d_model})`);
  const square = `(${heads}, ${seq}, ${seq})`;
  return [
    [shape(flat), times(letter), shape(flat)],
    [shape(flat), arrow(`${letter}: view`), shape(view), arrow("transpose"), shape(cut)],
    [shape(cut), arrow("every query · every key"), shape(square, "heads, queries, keys")],
    [shape(square, "heads, queries, keys"), arrow("softmax of each row"), shape(square, "heads, queries, keys")],
    [shape(square, "heads, queries, keys"), arrow("times the values"), shape(cut)],
    [shape(cut), arrow("transpose back"), shape(view), arrow("reshape"), shape(flat)],
    [shape(flat), times("O"), shape(flat)],
  ][step - 1];
}

/** What this step shows for the followed token, with its numbers. */
function sentence(state, values, after) {
  const { tokens, num_heads: heads, token, key, head, part } = state;
  const [me, you, row, plural] = [
    asToken(tokens[token]), token === key ? "itself" : asToken(tokens[key]), values[part][token], heads > 1,
  ];
  const letter = part.toUpperCase();
  const each = (f) => listed(Array.from({ length: heads }, (_, one) => [headName(one), " ", ...f(one)]));
  switch (state.step) {
    case 1:
      return [
        plural ? `The columns of ` : "One head has all columns of ", sub("W", letter),
        plural
        ? ` are dealt out to the heads, ${values.size} each. It stays ${heads * values.size} × ` +
        `${heads * values.size}, however many heads there are. `
        : ". ",
        me, `’s row of ${letter} is ${vector(row)}.`,
      ];
    case 2:
      return [
        me, "’s row is cut: ", ...each((one) => [`gets ${vector(values.heads[part][one][token])}`]), ". ",
        ...splitWarning(state, values),
      ];
    case 3:
      return [
        headName(head), ": ", me, `’s query ${vector(values.heads.q[head][token])} · `, token === key ? "its own" : you,
        token === key ? "" : "’s",
        ` key ${vector(values.heads.k[head][key])} = ${format(values.products[head][token][key], 0)}, divided by √d`,
        h("sub", {}, "head"), ` = √${values.size}: `, bold(format(values.scores[head][token][key])), ".",
      ];
    case 4:
      return [me, " gives ", you, " ", ...listed(Array.from({ length: heads }, (_, one) => [
          bold(format(values.weights[one][token][key], 3)), " in ", headName(one),
        ])),
        plural
        ? ". Each head has its own rows of weights, each summing to 1."
        : ". One head has one row of weights for it."
      ];
    case 5:
      return [
        headName(head), " mixes its own values for ", me, ": ",
        ...listed(tokens.map((text, j) => [
          `${format(values.weights[head][token][j], 3)} of ${vector(values.heads.v[head][j])}`,
        ])),
        ". The sum is ", bold(vector(values.outputs[head][token])), ".",
      ];
    case 6:
      return mergeSentence(state, values, me);
    default:
      return outputSentence(values, me, token, after, plural);
  }
}

function splitWarning({ num_heads: heads, token, tokens }, { marks }) {
  if (heads === 1) return ["One head: nothing is cut, both ways give the same."];
  const holds = marks.wrongHeads[0].map((row) => row[0].token);
  const unseen = tokens.flatMap((text, token) => (holds.includes(token) ? [] : [
    [asToken(text)]
  ]));
  return [
    "Without the transpose the three rows of ", headName(0), " are pieces of ",
    ...listed(holds.map((from) => [asToken(tokens[from])])), ". Pieces of one token pass for different tokens",
    ...(unseen.length ? [", and it never sees ", ...listed(unseen)] : []), ".",
  ];
}

function mergeSentence({ num_heads: heads, token, tokens }, { marks }, me) {
  if (heads === 1) {
    return ["With one head there is nothing to put side by side: both merges are the same. Choose 2 heads."];
  }
  const row = marks.wrong[token].map((mark) => mark.token);
  const others = [...new Set(row)].filter((one) => one !== token).sort();
  const own = row.includes(token) ? " beside its own" : " and none of its own";
  const leak = others.some((one) => one > token)
    ? [" That is a leak: ", me.cloneNode(true), " receives numbers of a later token, and no causal mask can stop it."]
    : [];
  return [
    bold("Right: "), me, "’s row holds its own numbers, head by head. ", bold("Wrong: "), "it holds numbers of ",
    ...listed(others.map((one) => [asToken(tokens[one])])), `${own}.`, ...leak,
  ];
}

function outputSentence(values, me, token, after, plural) {
  const other = after === "right" ? "wrong" : "right";
  return [sub("W", "O"), " mixes the heads. After the ",
    bold(after), " merge ", me, `’s output is ${vector(values.output[after][token])}`, plural
    ? `; after the ${other} one ${vector(values.output[other][token])}. Same shape, no error: only the numbers tell.`
    : "; with one head both merges give it."
  ];
}

/** One score or weight comes from these numbers; everything else has no sum to show. */
function working(state, values) {
  if (state.step !== 3) return [];
  const [a, b] = [values.heads.q[state.head][state.token], values.heads.k[state.head][state.key]];
  const terms = a.map((value, i) => `${i ? " + " : ""}${inBrackets(value, 0)} × ${inBrackets(b[i], 0)}`).join("");
  return [
    `${terms} = ${format(dot(a, b), 0)};   ${format(dot(a, b), 0)} ÷ ${format(Math.sqrt(a.length))} = ` +
    `${format(dot(a, b) / Math.sqrt(a.length))}`,
  ];
}

/** The matrices of a step, with `words`, the sentence on them, among them. */
function buildStage(what, state, words, onSelect) {
  const made = [];
  const make = (spec) => {
    const one = block(spec, state, onSelect);
    made.push(one);
    return one.element;
  };
  const group = (blocks) => div("te-pieces", ...blocks.map(make));
  if (what.kind === "falk") {
    const [left, top, result] = [what.left, what.top, what.result].map(make);
    [
      ["left", left],
      ["top", top],
      ["result", result]
    ].forEach(([place, node]) => node.classList.add(`te-${place}`));
    const total = what.left.columns.length + what.result.columns.length;
    return {
      blocks: made,
      element: h("div", { class: "te-stage te-falk", style: { "--total": total } },
        words, left, top, result
      )
    };
  }
  if (what.kind === "row") {
    return {
      blocks: made,
      element: h("div", { class: "te-stage te-each", style: { "--heads": what.blocks.length } },
        ...what.blocks.map(make), words
      )
    };
  }
  const source = group(what.source);
  const side = (name, { title, code: text, blocks }) => {
    const heading = div("te-way-title", bold(name === "right" ? "✓ " : "✗ ", title), " ", code(text));
    return h("div", { class: `te-way te-${name}`, role: "group", "aria-label": title }, heading, group(blocks));
  };
  return {
    blocks: made,
    element: div(
      "te-stage te-sides", div("te-source", source), words, side("right", what.right), side("wrong", what.wrong)
    )
  };
}

/** Outline everything that belongs to the followed token. */
function follow({ grid, spec }, state) {
  if (spec.kind === "attention") return grid.highlight({
    row: state.token,
    column: state.key,
    cell: spec.head === state.head ? [state.token, state.key] : null,
  });
  if (spec.marks && spec.marks[0][0].token !== undefined) {
    eachCell(grid, (cell, r, c) => cell.classList.toggle("te-followed", spec.marks[r][c].token === state.token));
    return grid.highlight({ row: null });
  }
  return grid.highlight({ row: spec.rows === state.tokens ? state.token : null });
}

function render({ model, el }) {
  const root = mount(el, "head-splitter", "Head splitter");
  const announce = changeAnnouncer(root);
  const panelId = uniqueId();
  const state = store(model, TRAITS, draw);
  const start = snapshot(state, ["num_heads", "step", "part", "token", "key", "head"]);
  let after = "right",
    built = "",
    stage;

  const radios = (label, options, name) => choice({
    label,
    value: state[name],
    options,
    onChange: (value) => state.set({
      [name]: value
    })
  });
  const steps = stepper({ titles: TITLES, value: state.step, panel: panelId, onChange: (step) => state.set({ step }) });
  const counts = choice({
    label: "Number of heads",
    value: state.num_heads,
    options: [1, 2, 4].map(
      (count) => ({ value: count, content: [count], label: `${count} head${count > 1 ? "s" : ""}` })
    ),
    onChange: (num_heads) => state.set({ num_heads, head: Math.min(state.head, num_heads - 1) }),
  });
  const parts = radios(
    "Projection",
    Object.entries(PARTS).map(
      ([value, name]) => ({ value, content: [value.toUpperCase()], label: `${value.toUpperCase()}, ${name}` })
    ),
    "part",
  );
  const merges = choice({
    label: "Which merge",
    value: after,
    options: ["right", "wrong"].map((value) => ({ value, content: [value], label: `after the ${value} merge` })),
    onChange: (value) => {
      after = value;
      draw();
    },
  });
  const labelled = (text, control) => div(
    "te-group", h("span", { class: "te-label", "aria-hidden": "true" }, text), control
  );
  const optionsBox = div("te-options");
  const followBox = div(),
    headBox = div(),
    shapeBox = div("te-shapes"),
    stageBox = div("te-stage-box");
  const partBox = labelled("projection", parts.element),
    mergeBox = labelled("after the merge", merges.element);
  const words = paragraph("te-sentence"),
    sum = paragraph("te-note te-working");
  const saying = div("te-saying", words, sum);
  const reset = button("Reset", () => {
    after = "right";
    state.set({ ...start });
  });
  const followed = choice({
    label: "Follow a token",
    value: state.token,
    options: state.tokens.map((text, i) => ({ value: i, content: [text] })),
    onChange: (token) => state.set({ token }),
  });
  fill(followBox, labelled("follow", followed.element));
  let heads = null;

  function onSelect(spec, r, c) {
    const changes = spec.kind === "attention"
      ? { token: r, key: c, head: spec.head }
      : { token: spec.marks?.[r][c].token ?? (spec.rows === state.tokens ? r : undefined) };
    const news = Object.entries(changes).filter(([name, value]) => value !== undefined && value !== state[name]);
    if (news.length) state.set(Object.fromEntries(news));
  }
  /** The choice of a head, where one head is written out. */
  function headChoice() {
    if (heads?.count !== state.num_heads) {
      const control = choice({
        label: "Head",
        value: state.head,
        options: Array.from({ length: state.num_heads }, (_, head) => ({ value: head, content: [`head ${head + 1}`] })),
        onChange: (head) => state.set({ head }),
      });
      heads = { count: state.num_heads, control };
      fill(headBox, control.element);
    }
    heads.control.set(state.head);
  }

  function rebuild(values) {
    const { step, part, num_heads, head } = state;
    const shape = JSON.stringify([
      state.tokens, step, num_heads, step <= 2 && part, step === 5 && head, step === 7 && after,
    ]);
    if (shape === built) return;
    built = shape;
    stage = buildStage(scene(state, values, after), state, saying, onSelect);
    fill(stageBox, stage.element);
    fill(shapeBox, ...shapes(state, values));
    [
      [partBox, step <= 2],
      [headBox, step === 5 && num_heads > 1],
      [mergeBox, step === 7]
    ].forEach(([box, on]) => (box.hidden = !on));
  }

  function draw() {
    const values = attend(state);
    headChoice();
    rebuild(values);
    stage.blocks.forEach((one) => follow(one, state));
    [
      steps.set(state.step), counts.set(state.num_heads), parts.set(state.part), followed.set(state.token),
      merges.set(after),
    ];
    fill(words, ...sentence(state, values, after));
    fill(sum, ...working(state, values));
    const text = `Step ${state.step} of ${TITLES.length}, ${TITLES[state.step - 1]}, ${state.num_heads} ` +
      `head${state.num_heads > 1 ? "s" : ""}. ${words.textContent}`;
    announce(text);
  }

  optionsBox.append(labelled("heads", counts.element), followBox, partBox, headBox, mergeBox);
  root.append(
    steps.element, steps.now, optionsBox,
    h("div", { role: "tabpanel", id: panelId, "aria-label": "The numbers of this step" }, shapeBox, stageBox),
    div("te-foot", steps.buttons, reset),
  );
  draw();
  return state.dispose;
}

export default { render };
