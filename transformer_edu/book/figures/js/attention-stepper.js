import {
  afterFrame,
  appear,
  asToken,
  bold,
  button,
  choice,
  cividis,
  decimalsFor,
  div,
  diverging,
  fill,
  fly,
  focusedIn,
  format,
  frame,
  h,
  inBrackets,
  mapMatrix,
  matmul,
  matrixGrid,
  numbered,
  paragraph,
  player,
  reducedMotion,
  select,
  short,
  sketch,
  snapshot,
  softmax,
  span,
  stepper,
  store,
  sub,
  sumOf,
  svg,
  toggle,
  transpose,
  uniqueId,
} from "./core.js";

const STEPS = ["project", "scores", "scale", "mask", "softmax", "mix", "output"];
const TITLES = ["Project", "Scores", "Scale", "Mask", "Softmax", "Mix", "Output"];
const INPUTS = /** @type {const} */ (["x", "w_q", "w_k", "w_v", "w_o"]);
const TRAITS = /** @type {const} */ (["tokens", ...INPUTS, "step", "part", "query", "key", "column", "scale", "mask"]);
const PLAY = 1800; // milliseconds a step
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

/** Q, K or V, in its colour everywhere. */
const letter = (name) => span(`te-${name.toLowerCase()}`, name.toUpperCase());

/**
 * What a step shows: `left` (and `top`, in a product) go into `result`. The columns of the result are tokens or
 * numbers. Each matrix: [machine name, symbol, what it is].
 */
function scene({ step, part }) {
  const kind = { q: "queries", k: "keys", v: "values" };
  const own = (name) => [name, letter(name), kind[name]];
  const turned = ["k_t", span("", letter("k"), h("sup", {}, "T")), "a key each"];
  const [scores, scaled, masked] = ["scores", "scaled scores", "masked scores"].map((name) => [
    name.split(" ")[0],
    name,
    "",
  ]);
  const [weights, mix] = [
    ["weights", "weights", ""],
    ["mix", "mix", ""],
  ];
  const [left, top, result] = [
    [["x", "X", "a row each"], [`w_${part}`, sub("W", part.toUpperCase()), "learned"], own(part)],
    [own("q"), turned, scores],
    [scores, null, scaled],
    [scaled, null, masked],
    [masked, null, weights],
    [weights, own("v"), mix],
    [mix, ["w_o", sub("W", "O"), "learned"], ["output", "output", ""]],
  ][step - 1];
  return { left, top, result, columns: step > 1 && step < 6 ? "tokens" : "numbers" };
}

const plain = (value, decimals = 3) => short(value, decimals);
const power = (value) => (value >= 1e5 ? value.toExponential(1).replace("e+", " × 10^") : format(value, 2));

/** Colours only where size is the message: weights on cividis, scores on blue–orange. */
function look(name, values) {
  if (name === "weights") return { decimals: 3, colour: cividis, quiet: 0.0005 };
  const decimals = decimalsFor(values);
  if (!["scores", "scaled", "masked"].includes(name)) return { decimals };
  const largest = Math.max(...values.flat().filter(Number.isFinite).map(Math.abs), 1e-9);
  return { decimals, colour: (value) => diverging((0.8 * value) / largest) };
}

/** The tables of a step in Falk's arrangement: a row of the left meets a column of the top in the result. */
function buildStage(state, values, onSelect, onEdit) {
  const { left, top, result, columns } = scene(state);
  const grids = {};
  const block = (place, /** @type {any[]} */ [name, symbol, note], options) => {
    const grid = matrixGrid({
      name,
      label: name.replace("_", " ") + (note && `, ${note}`),
      onEdit: (r, c, value) => onEdit(name, r, c, value),
      ...options,
    });
    grids[place] = { name, ...grid };
    return div(`te-block te-${place}`, div("te-caption", bold(symbol), span("", note)), grid.element);
  };
  const resultColumns = columns === "tokens" ? state.tokens : numbered(values[result[0]][0].length);
  const leftColumns = left[0] === "weights" || !top ? state.tokens : numbered((values[left[0]] ?? state.x)[0].length);
  const children = [
    block("left", left, {
      rows: state.tokens,
      columns: leftColumns,
      showRows: true,
      showColumns: !top,
      editable: left[0] === "x",
      onSelect: (r, c) => onSelect(r, top ? null : c),
    }),
    top ? null : h("div", { class: "te-between", "aria-hidden": "true" }, "→"),
    block("result", result, { rows: state.tokens, columns: resultColumns, showColumns: !top, onSelect }),
  ];
  if (top) {
    const rows = top[0] === "v" ? state.tokens : numbered((values[top[0]] ?? state[top[0]]).length);
    children.push(
      block("top", top, {
        rows,
        columns: resultColumns,
        showRows: top[0] === "v",
        showColumns: true,
        editable: top[0].startsWith("w_"),
        onSelect: (_, c) => onSelect(null, c),
      }),
    );
    children.push(
      div(
        "te-corner",
        div("te-product", bold(symbolOf(result)), " = ", bold(symbolOf(left)), " ", bold(symbolOf(top))),
      ),
    );
  }
  const total = leftColumns.length + resultColumns.length;
  const element = h(
    "div",
    { class: `te-tables ${top ? "te-falk" : "te-pair"}`, style: { "--total": total } },
    ...children,
  );
  return { element, grids, wide: total > 9 };
}

/** The chosen query's numbers go to the column that they meet, or to their new table; the results come one by one. */
function travel(figure, { grids }, row, column) {
  if (reducedMotion()) return;
  const cells = (grid, key, index) => [...grid.element.querySelectorAll(`.te-cell[data-${key}="${index}"]`)];
  const results = cells(grids.result, "row", row);
  const from = cells(grids.left, "row", row);
  const to = grids.top ? cells(grids.top, "column", column) : results;
  results.forEach((cell, i) => appear(cell, (grids.top ? 250 : 100) + 60 * i));
  from.forEach((cell, i) => fly(figure, cell, to[i], { delay: 60 * i }));
}

const symbolOf = (/** @type {any[]} */ [, symbol]) => (symbol instanceof Node ? symbol.cloneNode(true) : symbol);
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
        me,
        `’s row of X times W`,
        h("sub", {}, part.toUpperCase()),
        ` is its ${PARTS[part][0]}, ${PARTS[part][1]}: ${vector(values[part][row])}.`,
      ];
    case "scores":
      return [
        me,
        " asks ",
        other,
        `: the dot product of its query with ${row === column ? "its own" : "that"} key is ` +
          `${plain(values.scores[row][column])}.`,
      ];
    case "scale":
      return scale
        ? [
            "Each score is divided by ",
            span("te-nowrap", "√d", h("sub", {}, "k"), ` = √${size} = ${plain(Math.sqrt(size))}`),
            ". ",
            me,
            "’s score for ",
            other,
            ` goes from ${plain(values.scores[row][column])} to ${plain(values.scaled[row][column])}.`,
          ]
        : [
            "The division is switched off. ",
            me,
            "’s score for ",
            other,
            ` stays ${plain(values.scores[row][column])}.`,
          ];
    case "mask":
      return maskSentence(mask, me, other, row, column, tokens.length);
    case "softmax":
      return [
        "Each score becomes a power of e, then a share of their sum. ",
        me,
        " gives ",
        other,
        ` ${format(values.weights[row][column], 3)}.`,
      ];
    case "mix":
      return [
        me,
        " takes a share of every value vector: ",
        ...tokens.flatMap((text, j) => [j ? ", " : "", `${format(values.weights[row][j], 3)} of `, asToken(text)]),
        ". The sum is its new vector.",
      ];
    default:
      return ["W", h("sub", {}, "O"), " turns ", me, `’s mix into its output: ${vector(values.output[row])}.`];
  }
}

function maskSentence(mask, me, other, row, column, count) {
  if (mask === "none") {
    return ["No mask: ", me, " may look at every token, so nothing changes. Try the causal mask."];
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
    span("te-term", labels[i]),
    span("te-from-row", format(value, da)),
    span("", "×"),
    span("te-from-column", inBrackets(b[i], db)),
    span("", "="),
    span("", format(value * b[i], decimals)),
  ]);
  const total = a.reduce((sum, value, i) => sum + value * b[i], 0);
  return div("te-sum", ...lines, span("te-total-label", "sum"), span("te-total", format(total, decimals)));
}

/** How the chosen number came about. */
function working(state, values, row, column) {
  const { left, top } = scene(state);
  if (top) {
    const a = (values[left[0]] ?? state[left[0]])[row];
    const b = (values[top[0]] ?? state[top[0]]).map((line) => line[column]);
    return dotProduct(top[0] === "v" ? state.tokens : numbered(a.length), a, b);
  }
  const step = STEPS[state.step - 1];
  const total = sumOf(values.masked[row].map(Math.exp));
  const divisor = `÷ ${state.scale ? plain(Math.sqrt(state.w_k[0].length)) : 1}`;
  const [before, result] = [values[left[0]][row], values[scene(state).result[0]][row]];
  const lines = state.tokens.map((text, j) => [
    text,
    ...{
      scale: [plain(before[j], 2), divisor, "=", plain(result[j], 2)],
      mask: [
        plain(before[j], 2),
        result[j] === -Infinity ? `+ (${format(-Infinity)})` : "+ 0",
        "=",
        plain(result[j], 2),
      ],
      softmax: [plain(before[j], 2), power(Math.exp(before[j])), format(result[j], 3)],
    }[step],
  ]);
  const mark = (j) => (j === column ? "te-line te-chosen" : "te-line");
  const body = lines.flatMap((line, j) => line.map((text, i) => span(`${mark(j)}${i ? "" : " te-name"}`, text)));
  if (step !== "softmax") return div("te-steps", ...body);
  const head = ["", "score", span("", "e", h("sup", {}, "score")), "÷ sum"].map((text) => span("te-term", text));
  const foot = ["sum", "", power(total), format(sumOf(result), 3)].map((text, i) =>
    span(i ? "te-total" : "te-total te-name", text),
  );
  return div("te-softmax", ...head, ...body, ...foot);
}

/** The formula; the term that the present step computes is marked. */
function equation() {
  const term = (name, ...content) => h("span", { class: "te-term-of", dataset: { term: name } }, ...content);
  const times = (name) => term(name, letter(name), " = X ", sub("W", name.toUpperCase()));
  const fraction = span(
    "te-fraction",
    term("scores", letter("q"), " ", letter("k"), h("sup", {}, "T")),
    term("scale", "√", span("te-root-of", sub("d", "k"))),
  );
  const element = h(
    "div",
    {
      class: "te-equation",
      role: "img",
      "aria-label":
        "output = softmax of (Q K transposed, divided by the root of d k, plus mask), times V, times W " +
        "O; where Q = X W Q, K = X W K, V = X W V",
    },
    div(
      "te-formula",
      term("output", "output"),
      " = ",
      term("softmax", "softmax", span("te-paren", "(")),
      fraction,
      term("mask", " + mask"),
      term("softmax", span("te-paren", ")")),
      term("mix", letter("v")),
      term("output", sub("W", "O")),
    ),
    div("te-formula te-small", ...["q", "k", "v"].map(times)),
  );
  return {
    element,
    update({ step, part, scale }) {
      const active = step === 1 ? part : STEPS[step - 1];
      element.querySelectorAll(".te-term-of").forEach((/** @type {HTMLElement} */ node) => {
        node.classList.toggle("te-active", node.dataset.term === active);
        node.classList.toggle("te-off", node.dataset.term === "scale" && !scale);
      });
    },
  };
}

/** The tokens as buttons; above them the chosen query's looks, as wide as the weights. */
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
  const looks = state.tokens.map(() => svg("path", { class: "te-arc te-glide" }));
  const arcs = sketch("te-arcs", `0 0 ${count * 100} 50`, ...looks);
  const path = (from, to) => {
    const [a, b] = [from * 100 + 50 + 18 * Math.sign(to - from), to * 100 + 50];
    const top = Math.abs(to - from) > 1 ? -14 : 8;
    return from === to
      ? `M ${a - 7} 50 C ${a - 26} 6, ${a + 26} 6, ${a + 7} 50`
      : `M ${a} 50 C ${a} ${top}, ${b} ${top}, ${b} 50`;
  };
  const label = div("te-label");
  return {
    element: h("div", { class: "te-strip", style: { "--count": count } }, label, arcs, tokens.element),
    tokens: state.tokens,
    choose: tokens.set,
    update({ query, step }, values) {
      const numbers = { 2: values.scores, 3: values.scaled, 4: values.masked }[step];
      const when = step === 1 ? ", and where in the end" : "";
      label.textContent = numbers ? "Who looks? Its scores:" : `Who looks${when}?`;
      looks.forEach((arc, j) => {
        const [weight, score] = [values.weights[query][j], numbers?.[query][j]];
        notes[j].textContent = numbers ? plain(score, 2) : format(weight, 3);
        arc.setAttribute("d", path(query, j));
        arc.style.strokeWidth = `${(numbers ? (score === -Infinity ? 0 : 2) : weight && 1 + 13 * weight).toFixed(2)}px`;
      });
    },
  };
}

/** What this step is about, for the chosen query. */
function finding({ tokens, query, step, scale, mask }, { scores, weights }) {
  const me = asToken(tokens[query]);
  const best = (row) => tokens[row.indexOf(Math.max(...row))];
  const looks = weights[query];
  switch (STEPS[step - 1]) {
    case "project":
      return ["Every token gets a query, a key and a value"];
    case "scores":
      return ["The query of ", me, " meets every key, and fits ", asToken(best(scores[query])), " best"];
    case "scale":
      return scale
        ? ["Longer keys give larger scores, so each is divided by √", sub("d", "k")]
        : ["Not divided: larger differences, sharper weights"];
    case "mask":
      return [
        {
          none: "No mask: every token may look at every token",
          causal: "A causal mask hides what comes later",
          padding: "A padding mask hides what is no word",
        }[mask],
      ];
    case "softmax":
      return sumOf(looks)
        ? [me, " gives ", asToken(best(looks)), ` ${format(Math.max(...looks), 3)} of its attention`]
        : [me, " may look at nothing"];
    case "mix":
      return ["What ", me, " receives is mostly the value of ", asToken(best(looks))];
    default:
      return [sub("W", "O"), " turns what ", me, " receives into its output"];
  }
}

/** What can be asked of these numbers. */
function questions(state, start) {
  const { tokens } = state;
  const [last, query] = [tokens.length - 1, state.query];
  const now = () => attend(state).weights;
  const weights = now();
  const tops = weights.map((row) => Math.max(...row));
  const [keen, favourite] = [tops.indexOf(Math.max(...tops)), weights[query].indexOf(tops[query])];
  const turned = (w_q) => attend({ ...state, ...start, mask: "none", w_q }).weights[query][favourite] < 0.2;
  const edits = start.w_q.flatMap((row, i) =>
    row.map((_, j) => mapMatrix(start.w_q, (value, r, c) => (r === i && c === j ? -2 : value))),
  );
  const edit = favourite !== query && !turned(start.w_q) && edits.find(turned);
  return [
    keen !== query && {
      ask: ["find who gives the largest weight of all"],
      done: () => state.query === keen && state.step >= 5 && state.mask === start.mask,
      tell: ["Every token has 1 to give, and shares it out its own way."],
      show: () => state.set({ ...structuredClone(start), step: 5, query: keen }),
    },
    last > 0 &&
      weights[last - 1][last] > 0 && {
        ask: ["hide ", asToken(tokens[last]), " from ", asToken(tokens[last - 1])],
        done: () => now()[last - 1][last] === 0,
        tell: ["Its score is −∞, so its weight is exactly 0. The others share the whole."],
        show: () => state.set({ mask: "causal", step: 5, query: last - 1, key: last }),
      },
    edit && {
      ask: [
        "turn ",
        asToken(tokens[query]),
        " away from ",
        asToken(tokens[favourite]),
        " with one number of ",
        sub("W", "Q"),
      ],
      done: () => state.mask === "none" && now()[query][favourite] < 0.2,
      tell: ["The same word now asks another question."],
      show: () => state.set({ ...structuredClone(start), mask: "none", w_q: edit, step: 1, part: "q", query }),
    },
  ].filter((one) => one && !one.done());
}

function render({ model, el }) {
  const figure = frame(el, {
    name: "attention-stepper",
    label: "Attention in seven steps",
    says: [""],
    invite: ["choose who looks, then press Play. In step 1 you can type over the numbers."],
  });
  const state = store(model, TRAITS, draw);
  const start = snapshot(state, [...INPUTS, "scale", "mask"]);
  const go = (step) => state.set({ step });

  const last = STEPS.length;
  const body = h("div", { class: "te-body", role: "tabpanel", id: uniqueId(), "aria-label": "Numbers of this step" });
  const steps = stepper({ titles: TITLES, value: state.step, panel: body.id, onChange: go });
  const play = player({ figure: figure.root, at: () => state.step, last: () => last, go, first: 1, wait: PLAY });
  const formula = equation();
  const parts = choice({
    label: "Projection",
    class: "te-parts",
    value: state.part,
    onChange: (part) => state.set({ part }),
    options: Object.entries(PARTS).map(([value, [name]]) => ({ value, content: [letter(value), ` · ${name}`] })),
  });
  const scaleSwitch = toggle({
    label: ["divide by √", sub("d", "k")],
    value: state.scale,
    onChange: (scale) => state.set({ scale }),
  });
  const maskList = select({
    label: "mask",
    value: state.mask,
    onChange: (mask) => state.set({ mask }),
    options: Object.entries({ none: "none", causal: "causal", padding: "last is padding" }).map(([value, label]) => ({
      value,
      label,
    })),
  });
  const tools = { 3: scaleSwitch.element, 4: maskList.element };
  const reset = button("Reset", () => state.set(structuredClone(start)));
  const words = paragraph("te-sentence");
  const [stripBox, tool, workingBox] = [div(), div("te-tool"), div("te-working")];
  const panel = div("te-panel", tool, words, workingBox);
  let stages, strip, stage, built, was;

  function onSelect(row, column) {
    const changes = {};
    const name = scene(state).columns === "tokens" ? "key" : "column";
    if (row !== null && row !== state.query) changes.query = row;
    if (column !== null && column !== state[name]) changes[name] = column;
    if (Object.keys(changes).length) state.set(changes);
  }

  function onEdit(name, row, column, value) {
    if (state[name][row][column] !== value)
      state.set({ [name]: mapMatrix(state[name], (old, r, c) => (r === row && c === column ? value : old)) });
  }

  /** A step's tables, built once. */
  const stageOf = (at, values) =>
    (stages[`${at.step}${at.step === 1 ? at.part : ""}`] ??= buildStage(at, values, onSelect, onEdit));

  /** Puts the step's tables into the page. */
  function place(values) {
    const shape = JSON.stringify([state.tokens, INPUTS.map((name) => [state[name].length, state[name][0].length])]);
    if (shape !== built) {
      built = shape;
      stages = {};
      strip = tokenStrip(state, (query) => state.set({ query }));
      fill(stripBox, strip.element);
      const rows = [state.x[0].length, state.w_k[0].length, state.w_v[0].length, state.tokens.length];
      body.style.setProperty("--rows", Math.max(...rows) + state.tokens.length);
    }
    const next = stageOf(state, values);
    if (next === stage) return;
    const focused = focusedIn(parts.element);
    stage = next;
    if (panel.parentNode) body.firstChild.replaceWith(stage.element);
    else fill(body, stage.element, panel);
    body.classList.toggle("te-many", stage.wide);
    body.classList.toggle("te-low", !stage.grids.top);
    body.dataset.of = state.step === 1 ? state.part : ({ 2: "k", 6: "v", 7: "o" }[state.step] ?? "");
    if (state.step === 1) stage.element.lastChild.append(parts.element);
    if (tool.firstChild !== (tools[state.step] ?? null)) fill(tool, tools[state.step] ?? null);
    focused?.focus();
  }

  function draw() {
    const values = attend(state);
    place(values);
    const { columns, result } = scene(state);
    const column = columns === "tokens" ? state.key : Math.min(state.column, values[result[0]][0].length - 1);
    for (const [where, grid] of Object.entries(stage.grids)) {
      const numbers = values[grid.name] ?? state[grid.name];
      grid.update(numbers, look(grid.name, numbers));
      if (where === "top") grid.highlight({ column });
      else if (where === "left" && stage.grids.top) grid.highlight({ row: state.query });
      else grid.highlight({ row: state.query, column, cell: [state.query, column] });
    }
    [steps.set(state.step), parts.set(state.part), scaleSwitch.set(state.scale), maskList.set(state.mask)];
    strip.choose(state.query);
    figure.says(...finding(state, values));
    figure.rest(() => {
      strip.update(state, values);
      formula.update(state);
      fill(words, ...sentence(state, values, state.query, column));
      fill(workingBox, working(state, values, state.query, column));
      figure.tell(`Step ${state.step} of ${STEPS.length}, ${TITLES[state.step - 1]}. ${words.textContent}`);
    });
    const here = `${state.step} ${state.step === 1 && state.part} ${state.query}`;
    if (was && was !== here) travel(figure.root, stage, state.query, column);
    was = here;
    // The next step's tables are built before they are asked for.
    if (state.step < last) afterFrame(() => stageOf({ ...state, step: state.step + 1 }, values));
  }

  figure.controls.append(steps.element, steps.buttons, play.element, reset);
  figure.stage.before(figure.controls); // below it, more or fewer numbers would move the buttons on a phone
  figure.stage.append(div("te-head", stripBox, formula.element), body);
  draw();
  figure.ask(questions(state, start));
  return state.dispose;
}

export default { render };
