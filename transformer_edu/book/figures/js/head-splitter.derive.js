// Heads part and join: the reshapes on numbers and on the marks of where they came from, and what is said. Nothing draws.
import { cellsOf } from "./core/cells.js";
import { format, listed, plain } from "./core/format.js";
import { mapMatrix, matmul, softmax, transpose } from "./core/math.js";

export const STEPS = ["Project", "Split", "Attend", "Merge"];
const [PROJECT, SPLIT, ATTEND, MERGE] = [1, 2, 3, 4];
export const HEADS = [2, 4];
const COLUMNS = ["1", "2", "3", "4"];
const sign = (name) => ["W", { sub: name.toUpperCase() }];
const CODES = {
  "wrong-split": (heads, size) => `Q.view(${heads}, 3, ${size})`,
  right: () => "out.transpose(0, 1)\n.reshape(3, 4)",
  wrong: () => "out.reshape(3, 4)",
};
const early = { seen: [PROJECT, SPLIT, ATTEND], at: (step) => Math.min(step, ATTEND) };
const late = { seen: [MERGE], at: (step) => Math.max(step, ATTEND) };
const learned = { seen: [PROJECT], at: () => PROJECT };
const wrong = [{ bold: "✗ no transpose" }];
/** Each matrix: at which steps it is seen, and at which of its places it then lies (the style sheet has the places). */
const SHEETS = {
  q: { label: "Queries of all heads", caption: ["Q"], ...early },
  k: { label: "Keys of all heads", caption: ["K"], ...early },
  v: { label: "Values of all heads", caption: ["V"], ...early },
  "wrong-split": {
    ...{ label: "Queries split without the transpose", caption: wrong },
    ...{ seen: [SPLIT], at: (step) => Math.min(step, SPLIT) },
  },
  out: { label: "Outputs of all heads", caption: ["out"], ...late, seen: [ATTEND, MERGE] },
  right: { label: "Merged with the transpose", caption: [{ bold: "✓ right" }], ...late },
  wrong: { label: "Merged without the transpose", caption: wrong, ...late },
  w_q: { label: "W Q, learned; rows", caption: [sign("q")], ...learned },
  w_k: { label: "W K, learned; rows", caption: [sign("k")], ...learned },
  w_v: { label: "W V, learned; rows", caption: [sign("v")], ...learned },
};
const SIGNS = { v: "× ", out: "= " }; // before the captions, where the heads attend

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
    ...{ size, weights, finals: [right, wrong].map((one) => matmul(one, w_o)) },
    values: { w_q, w_k, w_v, q, k, v, "wrong-split": merge(splitWrong(q, heads)), out: right, right, wrong },
    marks: { whole: marks, "wrong-split": merge(splitWrong(marks, heads)), wrong: mergeWrong(split(marks, heads)) },
  };
}

/** Where the number in a cell of a reshape comes from, if from elsewhere: columns, rows and lanes of heads away. */
function originOf(name, r, c, size, { token, column, head }) {
  const [from, lane] = name === "wrong-split" ? [column, 0] : [column % size, head];
  if (!CODES[name] || (from === c && token === r && !lane)) return undefined;
  return { "--from": `translate(${100 * (from - c)}%, calc(${100 * (token - r)}% + ${lane} * var(--lane)))` };
}

/** The cells of all matrices: each says whose number it holds. What is learned is no token's; a weight, of who looks. */
function cellsOfAll({ values, weights, finals, marks, size }, { tokens, token: followed }) {
  const isHis = (token) => (token === followed ? " te-followed" : "");
  const of = (numbers, columns, decimals) => cellsOf(numbers, { rows: tokens, columns, decimals });
  function sheet(name) {
    const own = marks[name] ?? marks.whole;
    if (name.startsWith("w_"))
      return mapMatrix(cellsOf(values[name], { rows: COLUMNS, columns: COLUMNS }), (cell, _, c) => ({
        ...cell,
        more: { "data-head": own[0][c].head },
      }));
    return mapMatrix(of(values[name], COLUMNS), (cell, r, c) => {
      const { token, head } = own[r][c];
      const kinds = `${token === r ? "" : " te-foreign"}${c % size === size - 1 ? " te-piece-end" : ""}`;
      const data = { "data-head": head, "data-token": token, "data-origin": tokens[token] };
      return {
        ...cell,
        label: `${cell.label}, from ${tokens[token]}, head ${head + 1}`,
        kind: isHis(token) + kinds,
        more: { ...data, style: originOf(name, r, c, size, own[r][c]) },
      };
    });
  }
  return {
    sheets: Object.fromEntries(Object.keys(SHEETS).map((name) => [name, sheet(name)])),
    weights: weights.map((one) =>
      mapMatrix(of(one, tokens, 2), (cell, r) => ({ ...cell, kind: isHis(r), more: { "data-token": r } })),
    ),
    finals: finals.map((one) => of(one, COLUMNS, 2)),
  };
}

/**
 * All that is drawn.
 * @param {any} state  `tokens`, `x`, `w_q`, `w_k`, `w_v`, `w_o`, `num_heads`, `step`, `token`
 * @param {any}[before]  what was derived before: cells that are the same are the same objects
 */
export function derive(state, before = null) {
  const { tokens, x, w_q, w_k, w_v, w_o, num_heads: heads, step, token } = state;
  const sources = JSON.stringify([tokens, x, w_q, w_k, w_v, w_o, heads]);
  const key = `${sources} ${step} ${token}`;
  if (before?.key === key) return before;
  const found = before?.sources === sources ? before.found : attend(state);
  const isSame = before?.found === found && before.token === token;
  const cells = isSame ? before.cells : cellsOfAll(found, state);
  const words = sentence(state, found);
  const hasGoneOn = before !== null && (before.step === step ? before.hasGoneOn : before.step < step);
  return {
    ...{ key, sources, found, cells, step, token, heads, words, hasGoneOn },
    sheets: Object.entries(SHEETS).map(([name, { label, caption, seen, at }]) => ({
      ...{ name, label, caption, at: at(step), cells: cells.sheets[name] },
      ...{ rows: name.startsWith("w_") ? COLUMNS : tokens, columns: COLUMNS },
      sign: (step === ATTEND && SIGNS[name]) || "",
      code: CODES[name]?.(heads, found.size),
      isSeen: seen.includes(step),
      isInLanes: name === "out" || (step > PROJECT && ["q", "k", "v", "wrong-split"].includes(name)),
      hasArrived: hasGoneOn && seen.includes(step) && name in CODES,
      isWrong: name.startsWith("wrong"),
      hasWords: ["q", "right", "wrong"].includes(name), // the others stand beside a table that has them
    })),
    ...{ isSplit: step > PROJECT, isWrong: step === SPLIT, isWeighed: step === ATTEND },
    way: `Q.view(3, ${heads}, ${found.size}).transpose(0, 1)`,
    says: title(state, found),
    told: `Step ${step} of ${STEPS.length}, ${STEPS[step - 1]}, ${heads} heads. ${plain(words)}`,
    shapes: shapes(heads, found.size),
  };
}

/** The tokens, other than this one, whose numbers the wrong merge puts into its row; and whether it keeps any of its own. */
function mixed({ marks }, token) {
  const sources = new Set(marks.wrong[token].map((mark) => mark.token));
  return { others: [...sources].filter((one) => one !== token).sort(), keepsOwn: sources.has(token) };
}

/** Whether the wrong merge leaves the followed token none of its own numbers. */
export const hasLostAll = ({ step, found, token }) => step === MERGE && !mixed(found, token).keepsOwn;
/** Whether the heads stand apart, with one number of each token. */
export const isFinest = ({ step, heads }) => heads === 4 && step > PROJECT;

const namesOf = (tokens, which) => listed(which.map((token) => [{ token: tokens[token] }]));
const headName = (head) => ({ exact: `head ${head + 1}`, kind: ` te-chip te-head-${head}` });

/** The finding of each step. */
function title({ step, tokens, token }, found) {
  if (step === PROJECT) return ["Each head owns some columns of Q, K and V"];
  if (step === SPLIT) return ["A head takes a few numbers of every token"];
  if (step === ATTEND) return ["Each head attends on its own"];
  const { others } = mixed(found, token);
  return ["Without the transpose ", { token: tokens[token] }, " gets numbers of ", ...namesOf(tokens, others)];
}

const [RIGHT, WRONG] = [{ bold: "✓ " }, { bold: "✗ " }];
const SAID = {
  [PROJECT]: ({ num_heads: heads }, { size }, me) => [
    ...[sign("q"), ", ", sign("k"), " and ", sign("v")],
    ` stay 4 × 4, however many heads share them: ${size === 1 ? "a column" : `${size} columns`} each. `,
    ...[me, "’s rows hold numbers for "],
    ...listed(Array.from({ length: heads }, (_, head) => [headName(head)])),
    " side by side.",
  ],
  [SPLIT]({ tokens }, { size, marks }, me) {
    const first = marks["wrong-split"].map((row) => row[0].token);
    const unseen = [...tokens.keys()].filter((one) => !first.includes(one));
    return [
      ...[RIGHT, me, ` gives ${size === 1 ? "one number" : `${size} numbers`} to each head. `],
      ...[WRONG, "Without the transpose, ", headName(0), " holds pieces of ", ...namesOf(tokens, first)],
      ", as if they were three tokens",
      ...(unseen.length ? [", and never sees ", ...namesOf(tokens, unseen)] : []),
      ".",
    ];
  },
  [ATTEND]({ tokens, token }, { weights }, me) {
    const looks = weights.map((one, head) => {
      const [row, most] = [one[token], Math.max(...one[token])];
      const keys = [...row.keys()].filter((key) => most - row[key] < 1e-9);
      return [...namesOf(tokens, keys), " in ", headName(head), ` (${format(most)})`];
    });
    return [me, " looks most at ", ...listed(looks), ". Each head mixes its own values, and no head sees another’s."];
  },
  [MERGE]({ tokens, token }, found, me) {
    const { others, keepsOwn } = mixed(found, token);
    const isLater = others.some((one) => one > token);
    return [
      ...[RIGHT, me, "’s row holds its own numbers, head by head. "],
      ...[WRONG, "The same shape and no error, but numbers of ", ...namesOf(tokens, others)],
      keepsOwn ? " beside its own." : " and none of its own.",
      ...(isLater ? [" That lets ", me, " see a later token, and no causal mask can stop it."] : []),
    ];
  },
};
const sentence = (state, found) => SAID[state.step](state, found, { token: state.tokens[state.token] });

/** The shapes on the way. */
const shapes = (heads, size) => [
  `(3, 4) → view (3, ${heads}, ${size}) → transpose (${heads}, 3, ${size}) → attend (${heads}, 3, ${size}) → ` +
    `transpose (3, ${heads}, ${size}) → reshape (3, 4) → times `,
  sign("o"),
  ` (3, 4). A head’s scores are divided by the square root of ${size}, the numbers it has. `,
  sign("o"),
  " mixes the heads:",
];
