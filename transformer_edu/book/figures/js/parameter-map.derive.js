// Every matrix of a Transformer: how many numbers it holds, how large it is drawn, and what is said of it. Nothing draws.
import { whole } from "./core/format.js";
import { sumOf } from "./core/math.js";

/** @import { Piece } from "./core/format.js" */

export const NUMBERS = {
  source_vocab_size: "source words",
  target_vocab_size: "target words",
  d_model: "d model",
  num_heads: "heads",
  d_ff: "d ff",
  num_layers: "layers",
};
export const FIELDS = [...Object.keys(NUMBERS), "tie_embeddings"];
export const TIES = { none: "none", target: "two of three", all: "all three" };
const TABLES = { none: ["source", "target", "projection"], target: ["source", "target"], all: ["shared"] };
export const KINDS = {
  table: ["word tables", "Here the word tables hold the largest share"],
  attention: ["attention", "Here attention holds the largest share"],
  forward: ["feed-forward", "Feed-forward networks hold more than attention"],
};
const GROUPS = { tables: "Word tables", encoder: "Encoder", decoder: "Decoder" };
const BANDS = { tables: [], encoder: ["self"], decoder: ["self", "cross"] }; // of squares
const SQUARES = ["w_q", "w_k", "w_v", "w_o"];
const LAYERS = {
  encoder: [...SQUARES, "w_1", "w_2"],
  decoder: [...SQUARES, ...SQUARES.map((name) => `cross.${name}`), "w_1", "w_2"],
};
const TITLES = {
  w_q: ["query projection", "what each token asks"],
  w_k: ["key projection", "what each token is found by"],
  w_v: ["value projection", "what each token hands over"],
  w_o: ["output projection", "mixes what the heads brought back"],
  w_1: ["first feed-forward matrix", "widens each token’s vector, then ReLU"],
  w_2: ["second feed-forward matrix", "brings it back to its length"],
  source: ["source embedding", "a row for each source word"],
  target: ["target embedding", "a row for each target word"],
  projection: ["projection", "scores every word as the next one"],
  shared: ["one word table for three jobs", "embeds source and target and, transposed, scores the next word"],
};
const MANY = 4; // changed fields: then it is another model

// The map, in pixels
const SIDE = 146; // for names and counts, beside the map where there is room, above it elsewhere
const BETWEEN = 8; // layers
const APART = 10; // groups
const BESIDE = { height: 216, lowest: 54 }; // of the map; of a group, for its name and counts
const ABOVE = { height: 170, lowest: 38 };

/** A field's name; d has its index. @returns {Piece} */
export const label = (name) => (name.startsWith("d_") ? ["d", { sub: name.slice(2) }] : NUMBERS[name]);
const FOLLOWS = [label("d_ff"), " grows and shrinks with ", label("d_model"), "."];
const STAYS = [label("d_ff"), " now stays, whatever ", label("d_model"), " is."];
const percent = (share) => `${(100 * share).toFixed(share >= 0.001 ? 1 : 2)} %`;
const ratio = (value) => (value < 100 ? value.toFixed(2) : whole(Math.round(value)));
const times = (now, before) => (now < before ? `÷\u00a0${ratio(before / now)}` : `×\u00a0${ratio(now / before)}`);
export const fieldsOf = (state) => Object.fromEntries(FIELDS.map((name) => [name, state[name]]));

/** Words of each table: one may do the work of two or three. */
const wordsOf = (c) =>
  TABLES[c.tie_embeddings].map((name) => (name === "source" ? c.source_vocab_size : c.target_vocab_size));

/** How many numbers the kinds hold, and the groups. A norm has a γ and a β for each of d_model places. */
export function sizesOf(c) {
  const { d_model: d, d_ff, num_layers: n } = c;
  const [attention, forward, norm] = [4 * (d * d + d), 2 * d * d_ff + d_ff + d, 2 * d];
  const tables = sumOf(wordsOf(c)) * d;
  const encoder = n * (attention + forward + 2 * norm);
  const decoder = n * (2 * attention + forward + 3 * norm);
  const kinds = { table: tables, attention: 3 * n * attention, forward: 2 * n * forward };
  const largest = Object.keys(kinds).reduce((a, b) => (kinds[b] > kinds[a] ? b : a));
  const groups = { tables, encoder, decoder };
  return { kinds, largest, groups, norms: 5 * n * norm, total: tables + encoder + decoder };
}

/** A matrix with its bias: what it is, what is printed on it and what a screen reader says of it. */
function partOf(id, kind, rows, columns, bias) {
  const [stack, layer, ...path] = id.split(".");
  const name = path.at(-1) ?? layer;
  const [title, purpose] = TITLES[name];
  const letter = path.length ? name.slice(2).toUpperCase() : "";
  const place = path.length ? `${stack} layer ${Number(layer) + 1}${path[1] ? ", cross-attention" : ""}` : "";
  const [shape, count] = [`${whole(rows)} × ${whole(columns)}`, rows * columns + bias];
  const text = { 1: "W₁", 2: "W₂" }[letter] ?? (letter || title);
  const spoken = `${place && `${place}: `}${title}${letter && ` W ${letter}`}, ${shape}, ${whole(count)} parameters`;
  return { id, kind, rows, bias, count, shape, letter, title, purpose, place, text, spoken };
}

/** The matrices of each layer of a group; of the tables, all. */
function layersOf(group, c) {
  const { d_model: d, d_ff } = c;
  const sizes = { w_1: ["forward", d, d_ff, d_ff], w_2: ["forward", d_ff, d, d] };
  const part = (id, name) => partOf(`${id}.${name}`, ...(sizes[name] ?? ["attention", d, d, d]));
  if (group !== "tables") {
    return Array.from({ length: c.num_layers }, (_, i) => LAYERS[group].map((name) => part(`${group}.${i}`, name)));
  }
  return [TABLES[c.tie_embeddings].map((name, i) => partOf(`table.${name}`, "table", wordsOf(c)[i], d, 0))];
}

/** Why there is no such model, or null. @returns {Piece[] | null} */
function faultOf(c, limits) {
  const above = ["d_model", ...Object.keys(limits)].find((name) => c[name] > limits[name]);
  if (above) {
    return [label(above), ` = ${whole(c[above])} is more than this figure can draw; at most ${whole(limits[above])}.`];
  }
  if (c.d_model % 2) return [label("d_model"), " must be even, for pairs of a sine and a cosine fill it."];
  if (c.d_model % c.num_heads) {
    const per = `${c.d_model} ÷ ${c.num_heads} = ${(c.d_model / c.num_heads).toFixed(2)}`;
    return [`${whole(c.d_model)} numbers cannot be cut into ${c.num_heads} heads of one length: ${per}.`];
  }
  if (c.tie_embeddings === "all" && c.source_vocab_size !== c.target_vocab_size) {
    const words = `${whole(c.source_vocab_size)} and ${whole(c.target_vocab_size)} words differ`;
    return [`One table for all three jobs needs one vocabulary, but ${words}.`];
  }
  return null;
}

/** What the last change did: every changed field, then how much each group grew. @returns {Piece[]} */
function comparison({ model: was, sizes: b }, { model: now, sizes: a, changed }) {
  const inAll = { bold: `In all ${times(a.total, b.total)}.` };
  if (changed.length >= MANY) return [`Another model: ${whole(b.total)} → ${whole(a.total)} numbers. `, inAll];
  const shown = (value) => (typeof value === "number" ? whole(value) : TIES[value]);
  const what = changed.flatMap((name, i) => [
    i ? ", " : "",
    name in NUMBERS ? label(name) : "tied tables",
    ` ${shown(was[name])} → ${shown(now[name])}`,
  ]);
  if (a.total === b.total) {
    const [each, before] = [now, was].map((c) => c.d_model / c.num_heads);
    const heads = ` Heads are cuts: each now works in ${each} dimensions instead of ${before}.`;
    return [...what, ": not one number more or less.", each === before ? "" : heads];
  }
  const grown = Object.keys(GROUPS)
    .filter((name) => a.groups[name] !== b.groups[name])
    .map((name) => `${GROUPS[name].toLowerCase()} ${times(a.groups[name], b.groups[name])}`);
  const outline = changed.includes("num_layers") ? "" : " Pale, dashed: as it was.";
  return [...what, `: ${grown.join(", ")}${grown.length < 3 ? " and nothing else" : ""}. `, inAll, outline];
}

/** @returns {Piece[]} */
const sentence = ({ letter, title, place, purpose, shape, bias, count }, { total }) => [
  letter ? [{ bold: "W" }, { sub: letter }, " "] : "",
  { bold: title },
  `${place && `, ${place}`}: ${purpose}. ${shape}${bias ? ` and a bias of ${whole(bias)}` : ""} = `,
  { bold: whole(count) },
  ` numbers, ${percent(count / total)} of all.`,
];

/**
 * All that is drawn, but for the lengths.
 * @param {any} state  FIELDS, `keep_ratio`, `selected`, `limits` @param {any}[before]  what was derived before: what the
 *   last change made another stays marked until the next
 */
export function derive(state, before = null) {
  const { keep_ratio, selected } = state;
  const wanted = fieldsOf(state);
  const fault = faultOf(wanted, state.limits);
  const model = fault && before ? before.model : wanted;
  const changed = FIELDS.filter((name) => before && before.model[name] !== model[name]);
  const now = changed.length || !before ? mapOf(model, before, changed) : before;
  let told = before?.told ?? null; // what the last change did; null: the chosen matrix is described
  if (changed.length) told = comparison(before, now);
  else if (before && before.keep_ratio !== keep_ratio) told = keep_ratio ? FOLLOWS : STAYS;
  else if (before?.selected !== selected) told = null;
  const parts = now.groups.flatMap(({ layers }) => layers.flatMap((layer) => layer.parts));
  const part = parts.find(({ id }) => id === selected) ?? parts.at(-2);
  const words = told ?? sentence(part, now.sizes);
  const instead = [{ bold: "No such model. " }, ...(fault ?? []), " The map shows the last one."];
  return { ...now, keep_ratio, selected, told, part, isFault: fault !== null, words: fault ? instead : words };
}

/** What hangs on the model's sizes; `was`: the model of a moment ago, if something became larger or smaller. */
function mapOf(model, before, changed) {
  const sizes = sizesOf(model);
  const isOther = before && changed.length < MANY && sizes.total !== before.sizes.total;
  const [was, old] = [isOther ? before.model : null, before?.sizes ?? sizes];
  const isLarger = changed.some((name) => name === "d_model" || name === "d_ff");
  const groups = Object.entries(GROUPS).map(([name, title]) => {
    const [count, then] = [sizes.groups[name], isOther ? old.groups[name] : sizes.groups[name]];
    const outlined = name === "tables" ? Number(then !== count) : was && isLarger ? was.num_layers : 0;
    const kind = { tables: "te-pm-tables", encoder: "te-pm-layer", decoder: "te-pm-layer te-pm-cross" }[name];
    const layers = layersOf(name, model).map((parts, i) => ({
      label: name === "tables" ? title : `layer ${i + 1}`,
      parts,
      kind: `${kind}${i < outlined ? " te-pm-changed" : ""}`,
    }));
    const factor = then === count ? null : times(count, then);
    return { name, title, bands: BANDS[name], count, share: percent(count / sizes.total), factor, layers };
  });
  const shares = Object.entries(sizes.kinds).map(([kind, value]) => {
    const [text, then] = [percent(value / sizes.total), percent(old.kinds[kind] / old.total)];
    return { kind, name: KINDS[kind][0], value, text, was: then === text ? undefined : `was ${then}` };
  });
  return { model, was, changed, olds: before?.model ?? model, sizes, groups, shares };
}

/** How the numbers come about. @returns {Piece[]} */
export function counted({ norms, total }) {
  const [d, ff] = [label("d_model"), label("d_ff")];
  return [
    ...["An attention has 4 × (", d, "² + ", d, ") numbers, a feed-forward network 2 × ", d, " × ", ff, " + ", ff],
    ...[" + ", d, `. The norms, ${whole(norms)} numbers or ${percent(norms / total)}, are too few to draw. All areas `],
    ...["have one scale; a word table, ", d, " numbers for each word, is drawn as one block of its area."],
  ];
}

/** What the buttons beside a number make of it. */
export const stepped = (name, value, isUp) =>
  Math.max(1, name === "num_layers" ? value + (isUp ? 1 : -1) : isUp ? value * 2 : Math.floor(value / 2));

/** What a reader's number changes: d_ff may follow d_model, and a shared vocabulary is one. */
export function changesFor(state, name, value) {
  const isShared = state.tie_embeddings === "all" && name.endsWith("vocab_size");
  const changes = isShared ? { source_vocab_size: value, target_vocab_size: value } : { [name]: value };
  if (name !== "d_model" || !state.keep_ratio) return changes;
  return { ...changes, d_ff: Math.max(1, Math.round((state.d_ff * value) / state.d_model)) };
}

const wideOf = (c) => Math.max(4 * c.d_model, c.d_ff);

/** Pixels per number and layers per line, so that all these models fit a width and a height. */
function scaleOf(models, width, { height, lowest }) {
  const most = (of) => Math.max(...models.map(of));
  const [layers, d, wide] = [most((c) => c.num_layers), most((c) => c.d_model), most(wideOf)];
  const tables = most((c) => sumOf(wordsOf(c)) * c.d_model) / width;
  let best = { scale: 0, perLine: 1 };
  for (let perLine = layers; perLine > 0; perLine -= 1) {
    const lines = Math.ceil(layers / perLine);
    const [room, bands] = [height - 2 * APART - 2 * (lines - 1) * BETWEEN, 7 * lines * d];
    let scale = (Math.sqrt(bands * bands + 4 * tables * room) - bands) / (2 * tables);
    if (tables * scale * scale < lowest) scale = (room - lowest) / bands;
    scale = Math.min(scale, (width / perLine - BETWEEN) / wide);
    if (scale > 1.15 * best.scale) best = { scale, perLine };
  }
  return best;
}

/** The lengths of the drawing in pixels, in a width; areas are counts. What was a moment ago has the same scale. */
export function layoutOf({ model, was }, all) {
  const [width, room] = all > 520 ? [all - SIDE, BESIDE] : [all, ABOVE];
  const then = was ?? model;
  const { scale, perLine } = scaleOf([model, then], width, room);
  const tall = (c) => (sumOf(wordsOf(c)) * c.d_model * scale * scale) / width;
  const [d, ff, wide] = [model.d_model, model.d_ff, wideOf(then)].map((count) => count * scale);
  const slot = Math.max(wideOf(model) * scale, wide) + BETWEEN;
  const before = { "was-d": then.d_model * scale, "was-wide": wide, "was-tables": tall(then) };
  const lengths = { d, ff, slot, tables: tall(model), ...before };
  return { perLine, isSmall: d < 12, isFlat: tall(model) < 14, lengths };
}
