import {
  bold,
  button,
  choice,
  cividis,
  decimalsFor,
  div,
  eachCell,
  fill,
  format,
  frame,
  h,
  listed,
  mapMatrix,
  matmul,
  matrixGrid,
  named,
  numbered,
  paragraph,
  player,
  setOff,
  softmax,
  span,
  store,
  sub,
  transpose,
  uniqueId,
} from "./core.js";

/** @import { Matrix } from "./core.js" */

const STEPS = ["Project", "Split", "Attend", "Merge"];
const [PROJECT, SPLIT, ATTEND, MERGE] = [1, 2, 3, 4];
const HEADS = [2, 4];
/** At which steps a matrix is seen, and at which of its places it then lies (css/head-splitter.css has the places). */
const SHEETS = {
  q: { seen: [PROJECT, SPLIT, ATTEND], place: (step) => Math.min(step, ATTEND) },
  k: { seen: [PROJECT, SPLIT, ATTEND], place: (step) => Math.min(step, ATTEND) },
  v: { seen: [PROJECT, SPLIT, ATTEND], place: (step) => Math.min(step, ATTEND) },
  w_q: { seen: [PROJECT], place: () => PROJECT },
  w_k: { seen: [PROJECT], place: () => PROJECT },
  w_v: { seen: [PROJECT], place: () => PROJECT },
  "wrong-split": { seen: [SPLIT], place: (step) => Math.min(step, SPLIT) },
  out: { seen: [ATTEND, MERGE], place: (step) => Math.max(step, ATTEND) },
  right: { seen: [MERGE], place: (step) => Math.max(step, ATTEND) },
  wrong: { seen: [MERGE], place: (step) => Math.max(step, ATTEND) },
};
/** Where a cell goes that is not in its own row and column; a percent is one of its own width or height. */
const moved = (right, down, lane) =>
  `translate(${100 * right}%, ${lane ? `calc(${100 * down}% + ${lane} * var(--lane))` : `${100 * down}%`})`;
const TRAITS = /** @type {const} */ (["tokens", "x", "w_q", "w_k", "w_v", "w_o", "num_heads", "step", "token"]);
const code = (text) => h("code", {}, text);

/* The four reshapes, on anything: numbers, or the marks that say where a number came from. */
const chunk = (list, size) =>
  Array.from({ length: list.length / size }, (_, i) => list.slice(i * size, (i + 1) * size));
/** (seq, d_model) → (heads, seq, d_head): view as (seq, heads, d_head), then swap the first two. */
const split = (matrix, heads) =>
  Array.from({ length: heads }, (_, head) => matrix.map((row) => chunk(row, row.length / heads)[head]));
/** The same view straight to (heads, seq, d_head), nothing swapped. */
const splitWrong = (matrix, heads) => chunk(chunk(matrix.flat(), matrix[0].length / heads), matrix.length);
/** (heads, seq, d_head) → (seq, d_model): swap back, then put each token's pieces side by side. */
const merge = (heads) => heads[0].map((_, token) => heads.flatMap((head) => head[token]));
/** The same reshape, nothing swapped. */
const mergeWrong = (heads) => chunk(heads.flat(2), heads.length * heads[0][0].length);

/** Every matrix, (seq, d_model) or one (seq, seq) for each head; and where the numbers of each come from. */
function attend({ tokens, x, w_q, w_k, w_v, w_o, num_heads: heads }) {
  const size = w_q[0].length / heads;
  const [q, k, v] = [w_q, w_k, w_v].map((w) => matmul(x, w));
  const marks = tokens.map((_, token) => w_q.map((_, column) => ({ token, column, head: Math.floor(column / size) })));
  const keys = split(k, heads).map(transpose);
  const scores = split(q, heads).map((one, head) => matmul(one, keys[head]));
  const weights = scores.map((one) => mapMatrix(one, (value) => value / Math.sqrt(size)).map(softmax));
  const outputs = split(v, heads).map((one, head) => matmul(weights[head], one));
  const [right, wrong] = [merge(outputs), mergeWrong(outputs)];
  return {
    size,
    weights,
    values: {
      w_q,
      w_k,
      w_v,
      q,
      k,
      v,
      "wrong-split": merge(splitWrong(q, heads)),
      out: right,
      right,
      wrong,
      "final-right": matmul(right, w_o),
      "final-wrong": matmul(wrong, w_o),
    },
    marks: { whole: marks, "wrong-split": merge(splitWrong(marks, heads)), wrong: mergeWrong(split(marks, heads)) },
  };
}

/** Where a cell lies at a place of its matrix: in its row and column, in the lane of a head, or where it comes from. */
function cellPlace(name, place, r, c, size, { token, column, head }) {
  const lane = moved((c % size) - c, 0, Math.floor(c / size));
  if (name === "out") return lane;
  if (name === "right") return place === MERGE ? "" : lane;
  if (name === "wrong") return place === MERGE ? "" : moved((column % size) - c, token - r, head);
  if (place !== PROJECT) return lane;
  return name === "wrong-split" ? moved(column - c, token - r, 0) : "";
}

/** A matrix that moves about the stage, and its cells within it. */
function sheet(name, label, caption, rows, columns, onToken = null) {
  let from,
    size,
    lain = 0;
  const grid = matrixGrid({ name, label, rows, columns, onSelect: (r, c) => onToken?.(from[r][c].token) });
  const words = div("te-sheet-words", ...rows.map((word, token) => h("span", { dataset: { token } }, word)));
  words.setAttribute("aria-hidden", "true");
  const sign = span("");
  const element = h(
    "div",
    { class: "te-sheet", dataset: { sheet: name } },
    div("te-sheet-name", sign, ...caption),
    onToken ? words : null,
    grid.element,
  );
  return {
    element,
    /** @param {Matrix} values @param {{token: number, column: number, head: number}[][]} marks */
    show(values, marks, parts) {
      [from, size, lain] = [marks, parts, 0];
      grid.update(values, { decimals: decimalsFor(values) });
      eachCell(grid, (cell, r, c) => {
        const { token, head } = marks[Math.min(r, marks.length - 1)][c];
        cell.dataset.head = String(head);
        if (!onToken) return;
        cell.dataset.token = String(token);
        cell.dataset.origin = rows[token];
        cell.classList.toggle("te-foreign", token !== r);
        cell.classList.toggle("te-piece-end", c % size === size - 1);
        cell.setAttribute("aria-label", `${cell.getAttribute("aria-label")}, from ${rows[token]}, head ${head + 1}`);
      });
    },
    move(step) {
      const { seen, place } = SHEETS[name];
      element.classList.toggle("te-seen", seen.includes(step));
      sign.textContent = step === ATTEND ? ({ v: "× ", out: "= " }[name] ?? "") : "";
      const at = place(step);
      if (at === lain) return;
      lain = at;
      element.style.transform = `translate(var(--at-${name}-${at}))`;
      if (!onToken) return;
      element.classList.toggle("te-laned", at !== PROJECT && at !== MERGE);
      const gone = step === ATTEND && (name === "q" || name === "k"); // on a phone, where they turn into the weights
      element.style.opacity = gone ? "var(--shown-3, 1)" : "";
      element.style.visibility = gone ? "var(--seen-3, visible)" : "";
      eachCell(grid, (cell, r, c) => (cell.style.transform = cellPlace(name, at, r, c, size, from[r][c])));
    },
  };
}

/** The rows of all heads, one head under the other. */
function lanes(name, tokens) {
  const lane = (_, head) =>
    h(
      "div",
      { class: "te-lane", dataset: { head }, style: { "--h": head } },
      div("te-stripe", `head ${head + 1}`),
      ...tokens.map((word, token) => h("span", { dataset: { token } }, word)),
    );
  return h(
    "div",
    { class: "te-lanes", "aria-hidden": "true", dataset: { lanes: name } },
    ...Array.from({ length: Math.max(...HEADS) }, lane),
  );
}

/** The other tokens whose numbers the wrong merge puts into this token's row. */
function strangers({ wrong }, token) {
  return [...new Set(wrong[token].map((mark) => mark.token))].filter((one) => one !== token).sort();
}

const list = (tokens, which) => listed(which.map((token) => [named(tokens[token])]));
const headName = (head) => h("span", { class: "te-chip", dataset: { head } }, `head ${head + 1}`);

/** The finding of each step. */
function title({ step, tokens, token }, { marks }) {
  if (step === PROJECT) return ["Each head owns some columns of Q, K and V"];
  if (step === SPLIT) return ["A head takes a few numbers of every token"];
  if (step === ATTEND) return ["Each head attends on its own"];
  const others = strangers(marks, token);
  return ["Without the transpose ", named(tokens[token]), " gets numbers of ", ...list(tokens, others)];
}

function sentence({ step, tokens, token, num_heads: heads }, { size, weights, marks }) {
  const me = named(tokens[token]);
  const each = (say) => listed(Array.from({ length: heads }, (_, head) => say(head)));
  if (step === PROJECT)
    return [
      sub("W", "Q"),
      ", ",
      sub("W", "K"),
      " and ",
      sub("W", "V"),
      ` stay 4 × 4, however many heads share them: ${size === 1 ? "a column" : `${size} columns`} each. `,
      me,
      "’s rows hold numbers for ",
      ...each((head) => [headName(head)]),
      " side by side.",
    ];
  if (step === SPLIT) {
    const first = marks["wrong-split"].map((row) => row[0].token);
    const unseen = [...tokens.keys()].filter((one) => !first.includes(one));
    return [
      bold("✓ "),
      me,
      ` gives ${size === 1 ? "one number" : `${size} numbers`} to each head. `,
      bold("✗ "),
      "Without the transpose, ",
      headName(0),
      " holds pieces of ",
      ...list(tokens, first),
      ", as if they were three tokens",
      ...(unseen.length ? [", and never sees ", ...list(tokens, unseen)] : []),
      ".",
    ];
  }
  if (step === ATTEND) {
    const looks = (head) => {
      const [row, most] = [weights[head][token], Math.max(...weights[head][token])];
      const keys = [...row.keys()].filter((key) => most - row[key] < 1e-9);
      return [...list(tokens, keys), " in ", headName(head), ` (${format(most)})`];
    };
    return [me, " looks most at ", ...each(looks), ". Each head mixes its own values, and no head sees another’s."];
  }
  const others = strangers(marks, token);
  const own = marks.wrong[token].some((mark) => mark.token === token) ? " beside its own" : " and none of its own";
  return [
    bold("✓ "),
    me,
    "’s row holds its own numbers, head by head. ",
    bold("✗ "),
    "The same shape and no error, but numbers of ",
    ...list(tokens, others),
    `${own}.`,
    ...(others.some((one) => one > token)
      ? [" That lets ", me.cloneNode(true), " see a later token, and no causal mask can stop it."]
      : []),
  ];
}

/** All that is on the stage, at whatever step: built once. */
function scene(tokens, onToken) {
  const letter = (name) => span(`te-letter te-of-${name}`, name.toUpperCase());
  const of = (name, label, ...caption) => sheet(name, label, caption, tokens, numbered(4), onToken);
  const learned = ["q", "k", "v"].map((name) =>
    sheet(
      `w_${name}`,
      `W ${name.toUpperCase()}, learned; rows`,
      [sub("W", name.toUpperCase())],
      numbered(4),
      numbered(4),
    ),
  );
  const sheets = Object.fromEntries([
    ["q", of("q", "Queries of all heads", letter("q"))],
    ["k", of("k", "Keys of all heads", letter("k"))],
    ["v", of("v", "Values of all heads", letter("v"))],
    ["wrong-split", of("wrong-split", "Queries split without the transpose", bold("✗ no transpose"), code(""))],
    ["out", of("out", "Outputs of all heads", "out")],
    ["right", of("right", "Merged with the transpose", bold("✓ right"), code("out.transpose(0, 1)\n.reshape(3, 4)"))],
    ["wrong", of("wrong", "Merged without the transpose", bold("✗ no transpose"), code("out.reshape(3, 4)"))],
    ...learned.map((one) => [one.element.dataset.sheet, one]),
  ]);
  const weights = Array.from({ length: Math.max(...HEADS) }, (_, head) => {
    const label = `Weights of head ${head + 1}`;
    const grid = matrixGrid({ name: `weights-${head + 1}`, label, rows: tokens, columns: tokens, onSelect: onToken });
    const caption = div("te-sheet-name", "weights", div("te-key-words", ...tokens.map((word) => span("", word))));
    const style = { transform: `translate(var(--weights), calc(${head} * var(--lane)))` };
    const dataset = { sheet: "weights", head };
    eachCell(grid, (cell, r) => (cell.dataset.token = String(r)));
    return { grid, element: h("div", { class: "te-sheet", dataset, style }, head ? null : caption, grid.element) };
  });
  const way = div("te-way", bold("✓ right"), code(""));
  const [own, others] = [lanes("right", tokens), lanes("wrong", tokens)];
  const element = div(
    "te-heads",
    way,
    own,
    others,
    ...Object.values(sheets).map((one) => one.element),
    ...weights.map((one) => one.element),
  );
  const see = (node, on) => node.classList.toggle("te-seen", on);
  return {
    element,
    /** New numbers, after a change of the heads. */
    deal({ num_heads: heads }, { values, marks, size, weights: shares }) {
      for (const [name, one] of Object.entries(sheets)) one.show(values[name], marks[name] ?? marks.whole, size);
      weights.forEach(({ grid, element: box }, head) => {
        box.hidden = head >= heads;
        if (head < heads) grid.update(shares[head], { decimals: 2, colour: cividis });
      });
      element.dataset.heads = String(heads);
      fill(sheets["wrong-split"].element.querySelector("code"), `Q.view(${heads}, 3, ${size})`);
      fill(way.lastElementChild, `Q.view(3, ${heads}, ${size}).transpose(0, 1)`);
    },
    show({ step, token }) {
      for (const one of Object.values(sheets)) one.move(step);
      weights.forEach((one) => see(one.element, step === ATTEND));
      [see(own, step > PROJECT), see(others, step === SPLIT), see(way, step === SPLIT)];
      element.dataset.step = String(step);
      element
        .querySelectorAll("[data-token]")
        .forEach((/** @type {HTMLElement} */ one) =>
          one.classList.toggle("te-followed", one.dataset.token === String(token)),
        );
    },
  };
}

/** What comes after, and the shapes on the way. */
function afterwards(tokens) {
  const grids = ["right", "wrong"].map((way) => {
    const grid = matrixGrid({
      name: `final-${way}`,
      label: `Output after the ${way} merge`,
      rows: tokens,
      columns: numbered(4),
      showRows: true,
    });
    return { way, grid };
  });
  const shapes = paragraph("te-note");
  let told = null;
  const box = div(
    "te-afterwards",
    ...grids.map(({ way, grid }) =>
      div("", div("te-sheet-name", bold(way === "right" ? "✓" : "✗"), ` times `, sub("W", "O")), grid.element),
    ),
  );
  return {
    nodes: [shapes, box],
    update({ num_heads: heads }, { values, size }) {
      if (told === values) return;
      told = values;
      fill(
        shapes,
        `(3, 4) → view (3, ${heads}, ${size}) → transpose (${heads}, 3, ${size}) → attend (${heads}, 3, ` +
          `${size}) → transpose (3, ${heads}, ${size}) → reshape (3, 4) → times `,
        sub("W", "O"),
        " (3, 4). A head’s ",
        `scores are divided by the square root of ${size}, the numbers it has. `,
        sub("W", "O"),
        " mixes the heads:",
      );
      grids.forEach(({ way, grid }) => grid.update(values[`final-${way}`], { decimals: 2 }));
    },
  };
}

function render({ model, el }) {
  const figure = frame(el, {
    name: "head-splitter",
    label: "Heads part and join",
    says: [""],
    invite: ["press Play and keep an eye on the outlined numbers. Then follow another token."],
  });
  const state = store(model, TRAITS, draw);
  const last = STEPS.length;
  let values,
    dealt = 0;

  const go = (step) => state.set({ step });
  const picture = scene(state.tokens, (token) => token !== state.token && state.set({ token }));
  picture.element.id = uniqueId();
  const steps = choice({
    label: "Steps",
    kind: "tablist",
    class: "te-steps",
    controls: picture.element.id,
    value: state.step,
    onChange: go,
    options: STEPS.map((name, i) => ({ value: i + 1, label: `Step ${i + 1}: ${name}`, content: [`${i + 1} ${name}`] })),
  });
  const next = button("Next →", () => state.step < last && go(state.step + 1), { class: "te-button te-primary" });
  const play = player({ figure: figure.root, at: () => state.step, last: () => last, go, first: 1, wait: 1800 });
  const follow = choice({
    label: "Follow a token",
    value: state.token,
    onChange: (token) => state.set({ token }),
    options: state.tokens.map((word, value) => ({ value, content: [word] })),
  });
  const counts = choice({
    label: "Number of heads",
    value: state.num_heads,
    onChange: (num_heads) => state.set({ num_heads }),
    options: HEADS.map((count) => ({ value: count, content: [`${count} heads`] })),
  });
  const words = figure.words(3);
  const questions = [
    {
      ask: ["find a token that gets none of its own numbers back"],
      done: () => state.step === MERGE && values.marks.wrong[state.token].every(({ token }) => token !== state.token),
      tell: ["Its whole row was filled with numbers of others, and no error said so."],
      show: () => state.set({ step: MERGE, num_heads: 2, token: 1 }),
    },
    {
      ask: ["leave every head a single number of each token"],
      done: () => state.num_heads === 4 && state.step > PROJECT,
      tell: ["More heads share the same four columns: not one number more, only smaller slices."],
      show: () => state.set({ step: SPLIT, num_heads: 4 }),
    },
  ];
  const after = afterwards(state.tokens);

  function draw() {
    if (dealt !== state.num_heads) {
      dealt = state.num_heads;
      values = attend(state);
      picture.deal(state, values);
    }
    picture.show(state);
    [steps.set(state.step), follow.set(state.token), counts.set(state.num_heads)];
    setOff(next, state.step === last);
    figure.says(...title(state, values));
    figure.rest(() => {
      after.update(state, values);
      fill(words, ...sentence(state, values));
      figure.tell(
        `Step ${state.step} of ${last}, ${STEPS[state.step - 1]}, ${state.num_heads} heads. ${words.textContent}`,
      );
    });
  }

  picture.element.setAttribute("role", "tabpanel");
  picture.element.setAttribute("aria-label", "The numbers of this step");
  figure.stage.append(picture.element);
  figure.controls.append(
    div("te-group", next, play.element),
    steps.element,
    div("te-group", span("te-label", "follow"), follow.element),
    counts.element,
  );
  draw();
  figure.ask(questions);
  figure.details("The shapes, and what comes after the merge", ...after.nodes);
  return state.dispose;
}

export default { render };
