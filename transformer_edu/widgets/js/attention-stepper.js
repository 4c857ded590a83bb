import { asToken, bold, button, changeAnnouncer, choice, cividis, decimalsFor, div, diverging, fill, focusedIn, format,
  h, inBrackets, mapMatrix, matmul, matrixGrid, mount, numbered, paragraph, select, short, sketch, snapshot, softmax,
  span, stepper, store, sub, sumOf, svg, toggle, transpose, uniqueId } from "./core.js";

const STEPS = ["project", "scores", "scale", "mask", "softmax", "mix", "output"];
const TITLES = ["Project", "Scores", "Scale", "Mask", "Softmax", "Mix", "Output"];
const INPUTS = ["x", "w_q", "w_k", "w_v", "w_o"];
const TRAITS = ["tokens", ...INPUTS, "step", "part", "query", "key", "column", "scale", "mask"];
const PARTS = { q: ["query", "what it asks"], k: ["key", "what it is found by"], v: ["value", "what it hands over"] };

/** Every matrix of the head, from the inputs and the two switches. */
function attend({ tokens, x, w_q, w_k, w_v, w_o, scale, mask }) {
  const [q, k, v] = [matmul(x, w_q), matmul(x, w_k), matmul(x, w_v)];
  const divisor = scale ? Math.sqrt(w_k[0].length) : 1;
  const scores = matmul(q, transpose(k));
  const scaled = mapMatrix(scores, (score) => score / divisor);
  const masked = mapMatrix(scaled, (score, i, j) => (isBlocked(mask, i, j, tokens.length) ? -Infinity : score));
  const weights = masked.map(softmax);
  const mix = matmul(weights, v);
  return { q, k, v, k_t: transpose(k), scores, scaled, masked, weights, mix, output: matmul(mix, w_o) };
}

function isBlocked(mask, query, key, count) {
  return (mask === "causal" && key > query) || (mask === "padding" && key === count - 1);
}

/**
 * What a step shows: `left` (and `top`, in a product) go into `result`. The columns of the result are tokens or
 * numbers.
 * Each matrix: [machine name, symbol, what it is].
 */
function scene(state) {
  const { step, part } = state;
  const projection = {
    left: ["x", "X", "one row per token"],
    top: [`w_${part}`, sub("W", part.toUpperCase()), "learned"],
    result: [part, part.toUpperCase(), { q: "queries", k: "keys", v: "values" }[part]],
    columns: "numbers",
  };
  return [
    projection, {
      left: ["q", "Q", "queries"],
      top: ["k_t", span("", "K", h("sup", {}, "T")), "one column per key"],
      result: ["scores", "scores", "query · key"],
      columns: "tokens",
    },
    { left: ["scores", "scores", "before"], result: ["scaled", "scaled scores", "after"], columns: "tokens" },
    { left: ["scaled", "scaled scores", "before"], result: ["masked", "masked scores", "after"], columns: "tokens" }, {
      left: [
        "masked", "masked scores", "before",
      ],
      result: ["weights", "weights", "rows sum to 1"],
      columns: "tokens"
    }, {
      left: ["weights", "weights", "step 5"],
      top: ["v", "V", "values"],
      result: ["mix", "mix", "weighted sums of V"],
      columns: "numbers",
    }, {
      left: ["mix", "mix", "weighted sums of V"],
      top: ["w_o", sub("W", "O"), "learned"],
      result: ["output", "output", "one row per token"],
      columns: "numbers",
    },
  ][step - 1];
}

const plain = (value, decimals = 3) => short(value, decimals);
const power = (value) => (value >= 1e5 ? value.toExponential(1).replace("e+", " × 10^") : format(value, 2));

/** Colours only where size is the message: weights on cividis, scores on blue–orange. */
function look(name, values) {
  if (name === "weights") return { decimals: 3, colour: cividis };
  const decimals = decimalsFor(values);
  if (!["scores", "scaled", "masked"].includes(name)) return { decimals };
  const largest = Math.max(...values.flat().filter(Number.isFinite).map(Math.abs), 1e-9);
  return { decimals, colour: (value) => diverging((0.8 * value) / largest) };
}

/** The three matrices of a step in Falk's arrangement: a row of the left meets a column of the top in the result. */
function buildStage(state, values, picker, onSelect, onEdit) {
  const { left, top, result, columns } = scene(state);
  const rowLabels = { k_t: numbered(values.q[0].length), v: state.tokens, w_o: numbered(values.v[0].length) };
  const grids = {};
  const block = (place, [name, symbol, note], options) => {
    const grid = matrixGrid({
      name,
      label: `${name.replace("_", " ")}, ${note}`,
      onEdit: (r, c, value) => onEdit(name, r, c, value),
      ...options,
    });
    grids[place] = { name, ...grid };
    const caption = div("te-caption", bold(symbol), span("", note));
    return div(`te-block te-${place}`, caption, grid.element);
  };
  const resultColumns = columns === "tokens" ? state.tokens : numbered(values[result[0]][0].length);
  const leftValues = values[left[0]] ?? state[left[0]];
  const leftColumns = top || columns === "numbers" ? numbered(leftValues[0].length) : state.tokens;
  const children = [
    block("left", left, {
      rows: state.tokens,
      columns: left[0] === "weights" ? state.tokens : leftColumns,
      showRows: true,
      showColumns: !top,
      editable: left[0] === "x",
      onSelect: (r, c) => onSelect(r, top ? null : c),
    }),
    top ? null : h("div", { class: "te-between", "aria-hidden": "true" }, "→"),
    block("result", result, { rows: state.tokens, columns: resultColumns, showColumns: !top, onSelect }),
  ];
  if (top) {
    const rows = rowLabels[top[0]] ?? numbered(state[top[0]].length);
    children.push(block("top", top, {
      rows,
      columns: resultColumns,
      showRows: top[0] === "v",
      showColumns: true,
      editable: top[0].startsWith("w_"),
      onSelect: (_, c) => onSelect(null, c),
    }));
    const sizes = `${state.tokens.length} × ${leftColumns.length} times ${rows.length} × ${resultColumns.length}`;
    children.push(div("te-corner",
      div("te-product", bold(symbolOf(result)), " = ", bold(symbolOf(left)), " ", bold(symbolOf(top))),
      div("te-note", sizes),
      state.step === 1 ? picker : null,
    ));
  }
  const total = leftColumns.length + resultColumns.length;
  const element = h("div", { class: `te-stage ${top ? "te-falk" : "te-pair"}`, style: { "--total": total } },
    ...children
  );
  return { element, grids };
}

const symbolOf = ([, symbol]) => (symbol instanceof Node ? symbol.cloneNode(true) : symbol);
const vector = (row) => `(${row.map((value) => plain(value, 2)).join(", ")})`;

/** One plain sentence on the chosen cell, with its real numbers. */
function sentence(state, values, row, column) {
  const { tokens, scale, mask, w_k, part } = state;
  const [me, you] = [asToken(tokens[row]), asToken(tokens[column] ?? "")];
  const other = row === column ? "itself" : you;
  const size = w_k[0].length;
  switch (STEPS[state.step - 1]) {
    case "project":
      return [
        me, `’s row of X times W`, h("sub", {}, part.toUpperCase()),
        ` is its ${PARTS[part][0]}, ${PARTS[part][1]}: ${vector(values[part][row])}.`,
      ];
    case "scores":
      return [
        me, " asks ", other,
        `: the dot product of its query with ${row === column ? "its own" : "that"} key is ` +
        `${plain(values.scores[row][column])}.`,
      ];
    case "scale":
      return scale
        ? [
          "Each score is divided by ",
          span("te-nowrap", "√d", h("sub", {}, "k"), ` = √${size} = ${plain(Math.sqrt(size))}`), ". ", me,
          "’s score for ", other,
          ` goes from ${plain(values.scores[row][column])} to ${plain(values.scaled[row][column])}.`,
        ]
        : [
          "The division is switched off. ", me, "’s score for ", other, ` stays ${plain(values.scores[row][column])}.`,
        ];
    case "mask":
      return maskSentence(mask, me, other, row, column, tokens.length);
    case "softmax":
      return [
        me, " gives ", other,
        ` ${format(values.weights[row][column], 3)} of its attention. Its row of weights sums to ` +
        `${plain(sumOf(values.weights[row]))}.`,
      ];
    case "mix":
      return [
        me, " takes a share of every value vector: ",
        ...tokens.flatMap((text, j) => [j ? ", " : "", `${format(values.weights[row][j], 3)} of `, asToken(text)]),
        ". The sum is its new vector.",
      ];
    default:
      return ["W", h("sub", {}, "O"), " turns ", me, `’s mix into its output: ${vector(values.output[row])}.`];
  }
}

function maskSentence(mask, me, other, row, column, count) {
  if (mask === "none") {
    return ["No mask: ", me, " may look at every token, so nothing changes. Try the causal mask below."];
  }
  if (!isBlocked(mask, row, column, count)) return [me, " may look at ", other, ", so this score stays as it is."];
  const why = mask === "causal" ? " comes later in the sentence" : " is padding";
  return [other, `${why}: its score becomes ${format(-Infinity)}, so its weight will be exactly 0.`];
}

/** The sum that makes one entry of a product, a line for each term. */
function dotProduct(labels, a, b) {
  const decimals = Math.max(decimalsFor([a], 3), decimalsFor([b], 3), 0);
  const [da, db] = [decimalsFor([a], 3), decimalsFor([b], 2)];
  const lines = a.flatMap((value, i) => [
    span("te-term", labels[i]), span("te-from-row", format(value, da)), span("", "×"),
    span("te-from-column", inBrackets(b[i], db)), span("", "="), span("", format(value * b[i], decimals)),
  ]);
  const total = a.reduce((sum, value, i) => sum + value * b[i], 0);
  return div("te-sum", ...lines, span("te-total-label", "sum"), span("te-total", format(total, decimals)));
}

/** The selected query's row of scores on its way to weights. */
function softmaxTable(tokens, scores, weights, column) {
  const powers = scores.map(Math.exp);
  const total = sumOf(powers);
  const head = ["", "score", span("", "e", h("sup", {}, "score")), "÷ sum", ""].map((text) => span("te-term", text));
  const lines = tokens.flatMap((text, j) => {
    const mark = j === column ? "te-line te-chosen" : "te-line";
    const bar = span("te-bar", h("span", { style: { width: `${100 * weights[j]}%` } }));
    return [
      span(`${mark} te-name`, text),
      ...[format(scores[j], decimalsFor([scores])), power(powers[j]), format(weights[j], 3)].map(
        (value) => span(mark, value)
      ),
      bar,
    ];
  });
  const foot = ["sum", "", power(total), format(sumOf(weights), 3), ""].map(
    (text, i) => h("span", { class: i ? "te-total" : "te-total te-name" }, text)
  );
  return div("te-softmax", ...head, ...lines, ...foot);
}

/** How the chosen number came about. */
function working(state, values, row, column) {
  const { left, top } = scene(state);
  if (top) {
    const a = (values[left[0]] ?? state[left[0]])[row];
    const b = (values[top[0]] ?? state[top[0]]).map((line) => line[column]);
    return dotProduct(top[0] === "v" ? state.tokens : numbered(a.length), a, b);
  }
  if (STEPS[state.step - 1] === "softmax") {
    return softmaxTable(state.tokens, values.masked[row], values.weights[row], column);
  }
  const [before, after] = STEPS[state.step - 1] === "scale"
    ? [values.scores, values.scaled]
    : [values.scaled, values.masked];
  const operation = STEPS[state.step - 1] === "scale"
    ? (state.scale ? `÷ ${plain(Math.sqrt(state.w_k[0].length))}` : "÷ 1")
    : (v) => (v === -Infinity ? `+ (${format(-Infinity)})` : "+ 0");
  const lines = state.tokens.flatMap((text, j) => {
    const mark = j === column ? "te-line te-chosen" : "te-line";
    const how = typeof operation === "string" ? operation : operation(after[row][j]);
    return [span(`${mark} te-name`, text), ...[plain(before[row][j], 2), how, "=", plain(after[row][j], 2)].map(
      (value) => span(mark, value)
    )];
  });
  return div("te-steps", ...lines);
}

/** The formula; the term that the present step computes is marked. */
function equation() {
  const term = (name, ...content) => h("span", { class: "te-term-of", dataset: { term: name } }, ...content);
  const times = (name, letter) => term(name, letter, " = X ", sub("W", letter));
  const fraction = span(
    "te-fraction", term("scores", "Q K", h("sup", {}, "T")), term("scale", "√", span("te-root-of", sub("d", "k")))
  );
  const element = h("div", {
      class: "te-equation",
      role: "img",
      "aria-label": "output = softmax of (Q K transposed, divided by the root of d k, plus mask), times V, times W " +
        "O; where Q = X W Q, K = X W K, V = X W V",
    },
    div("te-formula",
      term("output", "output"), " = ", term("softmax", "softmax", span("te-paren", "(")), fraction,
      term("mask", " + mask"), term("softmax", span("te-paren", ")")), term("mix", "V"), term("output", sub("W", "O")),
    ),
    div("te-formula te-small", times("q", "Q"), times("k", "K"), times("v", "V")));
  return {
    element,
    update({ step, part, scale }) {
      const active = step === 1 ? part : STEPS[step - 1];
      element.querySelectorAll(".te-term-of").forEach((node) => {
        node.classList.toggle("te-active", node.dataset.term === active);
        node.classList.toggle("te-off", node.dataset.term === "scale" && !scale);
      });
    },
  };
}

/** The tokens as buttons; above them the chosen query's looks, as wide as the weight once there are weights. */
function tokenStrip(state, onChoose) {
  const notes = state.tokens.map(() => span("te-share"));
  const tokens = choice({
    label: "Query: the token that looks",
    class: "te-tokens",
    value: state.query,
    onChange: onChoose,
    options: state.tokens.map((text, i) => ({ value: i, content: [span("te-word", text), notes[i]] })),
  });
  const count = state.tokens.length;
  const arcs = sketch("te-arcs", `0 0 ${count * 100} 58`);
  const path = (from, to) => {
    const [a, b] = [from * 100 + 50 + 18 * Math.sign(to - from), to * 100 + 50];
    const top = Math.abs(to - from) > 1 ? -16 : 8;
    return from === to
      ? `M ${a - 7} 57 C ${a - 26} 10, ${a + 26} 10, ${a + 7} 57`
      : `M ${a} 57 C ${a} ${top}, ${b} ${top}, ${b} 57`;
  };
  const element = h("div", { class: "te-strip", style: { "--count": count } },
    div("te-label", "Who looks? Choose the query"), arcs, tokens.element
  );
  return {
    element,
    tokens: state.tokens,
    update({ query, step, mask }, values) {
      tokens.set(query);
      const weights = values.weights[query];
      const shown = ["", "scores", "scaled", "masked"][step - 1];
      notes.forEach((note, j) => (note.textContent = step === 1
        ? " "
        : shown ? plain(values[shown][query][j], 2) : `${format(100 * weights[j], 1)} %`));
      fill(arcs, ...weights.map((weight, j) => svg("path", {
        d: path(query, j),
        class: `te-arc${step >= 4 && isBlocked(mask, query, j, count) ? " te-none" : ""}`,
        "stroke-width": step >= 5 ? (1 + 13 * weight).toFixed(2) : 2,
      })));
    },
  };
}

function render({ model, el }) {
  const root = mount(el, "attention-stepper", "Attention in seven steps");
  const announce = changeAnnouncer(root);
  const panelId = uniqueId();
  const state = store(model, TRAITS, draw);
  const start = snapshot(state, [...INPUTS, "scale", "mask"]);
  const go = (step) => state.set({ step });

  const steps = stepper({ titles: TITLES, value: state.step, panel: panelId, onChange: go });
  const formula = equation();
  const parts = choice({
    label: "Projection",
    class: "te-parts",
    value: state.part,
    onChange: (part) => state.set({ part }),
    options: Object.entries(PARTS).map(([value, [name]]) => ({ value, content: [`${value.toUpperCase()} · ${name}`] })),
  });
  const stageBox = div("te-stage-box");
  const words = paragraph("te-sentence");
  const workingBox = div("te-working");
  const scaleSwitch = toggle({
    label: ["divide by √d", h("sub", {}, "k")],
    value: state.scale,
    onChange: (scale) => state.set({ scale }),
  });
  const maskList = select({
    label: "mask",
    value: state.mask,
    onChange: (mask) => state.set({ mask }),
    options: [
      { value: "none", label: "none" },
      { value: "causal", label: "causal" },
      { value: "padding", label: "last is padding" },
    ]
  });
  const reset = button("Reset", () => state.set(structuredClone(start)));
  let strip, stage, built = "";
  const stripBox = div();

  function onSelect(row, column) {
    const changes = {};
    const name = scene(state).columns === "tokens" ? "key" : "column";
    if (row !== null && row !== state.query) changes.query = row;
    if (column !== null && column !== state[name]) changes[name] = column;
    if (Object.keys(changes).length) state.set(changes);
  }

  function onEdit(name, row, column, value) {
    if (state[name][row][column] !== value) state.set({
      [name]: mapMatrix(state[name], (old, r, c) => (r === row && c === column ? value : old))
    });
  }

  function rebuild(values) {
    const shape = JSON.stringify([state.tokens, state.step, state.step === 1 && state.part, INPUTS.map(
      (name) => [state[name].length, state[name][0].length]
    )]);
    if (shape === built) return;
    if (!strip || JSON.stringify(state.tokens) !== JSON.stringify(strip.tokens)) {
      strip = tokenStrip(state, (query) => state.set({ query }));
      fill(stripBox, strip.element);
    }
    const focused = focusedIn(parts.element);
    built = shape;
    stage = buildStage(state, values, parts.element, onSelect, onEdit);
    fill(stageBox, stage.element);
    focused?.focus();
  }

  function draw() {
    const values = attend(state);
    rebuild(values);
    const { columns, result } = scene(state);
    const column = columns === "tokens" ? state.key : Math.min(state.column, values[result[0]][0].length - 1);
    for (const [place, grid] of Object.entries(stage.grids)) {
      const numbers = values[grid.name] ?? state[grid.name];
      grid.update(numbers, look(grid.name, numbers));
      if (place === "top") grid.highlight({ column });
      else if (place === "left" && stage.grids.top) grid.highlight({ row: state.query });
      else grid.highlight({ row: state.query, column, cell: [state.query, column] });
    }
    [steps.set(state.step), parts.set(state.part), scaleSwitch.set(state.scale), maskList.set(state.mask)];
    strip.update(state, values);
    formula.update(state);
    fill(words, ...sentence(state, values, state.query, column));
    fill(workingBox, working(state, values, state.query, column));
    const text = `Step ${state.step} of ${STEPS.length}, ${TITLES[state.step - 1]}. ${words.textContent}`;
    announce(text);
  }

  root.append(
    steps.element,
    steps.now,
    div("te-head", stripBox, formula.element),
    h("div", { class: "te-body", role: "tabpanel", id: panelId, "aria-label": "The numbers of this step" },
      stageBox, div("te-panel", words, workingBox)
    ),
    div("te-foot", steps.buttons, div("te-group", scaleSwitch.element, maskList.element, reset)),
  );
  draw();
  return state.dispose;
}

export default { render };
