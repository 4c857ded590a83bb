// The paper's block beside a published model's: rows, what a change was worth, parameters and cache. Nothing draws.
import { lastChange } from "./core/changed.js";
import { format, MINUS, plain, short, whole } from "./core/format.js";

const TEXTS = {
  norm: { layer: "layer norm", rms: "RMS norm" },
  positions: { sinusoid: "sinusoids, added", learned: "a learned table, added", rotary: "rotary" },
  query_key_norm: { false: "none", latent: "of the latents" },
  scores: { free: "softmax", sinks: "softmax with a sink" },
  biases: { true: "yes", false: "none" },
};
const CHANGES = {
  "norm rms": "RMS norm divides by the root mean square and takes no mean off.",
  "placed before the part": "The norm reads for a part what the residual stream holds, and the stream is never normed.",
  "placed behind the part": "What a part puts out is normed, then added to the residual stream.",
  "placed around the part": "One norm stands before the part and one behind it, both off the residual stream.",
  "positions rotary": "Nothing is added to words: queries and keys are turned by their position.",
  "positions learned": "The vectors that are added are learned, one for each position.",
  "keys two share": "Several heads of queries use the same keys and values.",
  "keys latent": "One short vector of a token is kept, and each head makes its keys and values of it.",
  "sees windows": "In layers with a window a token sees the last ones alone, and no others are kept.",
  "query_key_norm true": "Queries and keys are normed before they meet.",
  "query_key_norm latent": "The short vectors that queries, keys and values are made of are normed.",
  "scores sinks": "Each head has one more score, which leads to no value.",
  "feed_forward GELU": "ReLU with a rounded corner.",
  "feed_forward SwiGLU": "A second branch, through SiLU, decides how much of each entry passes.",
  "feed_forward GeGLU": "A second branch, through GELU, decides how much of each entry passes.",
  "feed_forward experts": "A router sends each token through a few of many feed-forward parts.",
  "biases false": "Linear maps only multiply, and nothing is added.",
};
const SETTINGS = {
  "keys two share": "two of four heads sharing",
  "keys latent": "a latent of 48 numbers",
  "sees windows": "windows of 32 tokens in three layers of four",
  "feed_forward experts": "eight experts, two a token",
};
const MOE = { deepseek: "256 experts, 8 + 1 a token", "gpt-oss": "32 experts, 4 a token" };

/** What stands in a row of a model's block. */
export function textOf(field, value, id, one) {
  if (field === "keys")
    return value === "latent" ? "a latent of 512 + 64 numbers" : `${one.kv_heads} for ${one.heads} heads`;
  if (field === "sees" && value === "windows")
    return one.near === one.layers
      ? `the last ${whole(one.window)}`
      : `last ${whole(one.window)} in ${one.near} of ${one.layers} layers`;
  if (field === "sees") return "all before it";
  if (field === "query_key_norm" && value === true) return id === "olmo" ? "over all heads" : "in each head";
  if (field === "feed_forward" && value === "experts") return MOE[id];
  if (field === "feed_forward") return `${value}, ${whole(one.d_ff)} wide`;
  return TEXTS[field]?.[value] ?? value;
}

/** Bytes of a cache, two a number; a layer with a window keeps no more than that. */
export function cacheOf({ layers, kept, near, window }, tokens) {
  return 2 * kept * ((layers - near) * tokens + near * Math.min(tokens, window));
}

/** The paper's block with the same layers and width: each head its own keys, d_ff four times d_model, no windows. */
export function paperOf({ layers, d_model, vocab, heads }) {
  const millions = (layers * 12 * d_model ** 2 + vocab * d_model) / 1e6;
  return {
    layers,
    d_model,
    heads,
    kv_heads: heads,
    d_ff: 4 * d_model,
    millions,
    kept: 2 * d_model,
    near: 0,
    window: 0,
  };
}

export function parametersOf(millions) {
  if (millions < 1000) return `${format(millions, 0)} M`;
  return `${millions < 1e4 ? format(millions / 1000, 1) : short(millions / 1000, 1)} B`;
}
export const gigabytes = (bytes) => `${format(bytes / 1e9, bytes < 1e11 ? 2 : 0)} GB`;
const percent = (share) => `${format(100 * share, share < 0.1 ? 1 : 0)} %`;

/**
 * All that is drawn.
 * @param {any} state  `model`, `row`, `tokens`, `texts`, `rows`, `models`, `measured`
 * @param {any}[before]  what was derived before: what was so stays beside it until the next change
 * @returns {any}
 */
export function derive(state, before = null) {
  const { model, row, tokens, texts, models } = state;
  const change = lastChange({ model, row, tokens, texts }, before);
  if (change.moved === "") return before;
  const { from } = change;
  const [one, paper] = [models[model], paperOf(models[model])];
  const rows = state.rows.map(([field, label, old], i) => {
    const value = one.choices[field];
    const [text, first] = [textOf(field, value, model, one), textOf(field, old, "paper", paper)];
    const was = from && from.rows[i].text !== text ? from.rows[i].text : null;
    return { field, label, value, old, text, first, was, isOther: value !== old };
  });
  const kept = [paper, one].map((block) => texts * cacheOf(block, tokens));
  const numbers = {
    parameters: [paper.millions, one.millions],
    "cache a token, bytes": [4 * paper.d_model * one.layers, 2 * one.kept * one.layers],
    "cache of these texts": kept,
  };
  const lines = Object.entries(numbers).map(([label, values], i) => {
    const cells = values.map((value, j) => {
      const text = [parametersOf, whole, gigabytes][i](value);
      const old = from?.lines[i].cells[j].text;
      return { value, text, was: old && old !== text ? old : null };
    });
    return { label, cells };
  });
  const count = rows.filter(({ isOther }) => isOther).length;
  const now = { ...change, rows, lines, count, name: one.name, share: kept[1] / kept[0] };
  const [says, words] = [[titleOf(now)], told(rows[row], state)];
  const [first, own] = kept.map(gigabytes);
  return { ...now, says, words, told: `${plain(says)}. ${plain(words)} Cache ${own}, of the paper’s block ${first}.` };
}

/** How many rows are others, and what is left of the cache. @param {any} now */
function titleOf({ rows, count, name, share }) {
  const model = name.replace(/ \(\d+\)/, "");
  if (!count) return "The block that all others began from";
  return `${model}: ${count} of ${rows.length} rows changed, ${share === 1 ? "all" : percent(share)} of the cache kept`;
}

const signed = (value) => `${value < 0 ? "" : "+"}${format(value, 3)}`.replace(`+${MINUS}`, MINUS);
const amount = ({ mean, spread }) => [
  [{ number: mean, text: signed(mean), measure: "difference" }, ` ± ${format(spread, 3)}`],
];

/** What was measured of a change: in the paper's block, and in today's, which may have it already. */
export function worthOf({ field, value, old }, measured) {
  const find = (base, which) => measured.find((one) => one.base === base && one.field === field && one.value === which);
  return { into: find("2017", value), put: find("today", value), taken: find("today", old) };
}

const isChance = (worth) => worth !== undefined && Math.abs(worth.mean) < worth.spread;

/** What a row's change is, and what it did to the loss. @param {any} row */
function told(row, { measured }) {
  if (!row.isOther) return [{ bold: row.label }, `: as in the paper, ${row.text}.`];
  const key = `${row.field} ${row.value}`;
  const { into, put, taken } = worthOf(row, measured);
  const lead = [{ bold: row.label }, `: ${CHANGES[key]} `];
  if (!into) return [...lead, "Not measured here."];
  const today = put ? [", put into today’s ", ...amount(put)] : [", taken from today’s ", ...amount(taken)];
  const setting = SETTINGS[key] ? `, with ${SETTINGS[key]}` : "";
  return [...lead, `Loss${setting}: put into the paper’s block `, ...amount(into), ...today, "."];
}

/** What can be tried; `now`, what is derived. */
export function questions(state, now) {
  const longest = 131_072;
  const least = () =>
    Object.entries(state.models).reduce(
      (best, [id, one]) => {
        const share = cacheOf(one, longest) / cacheOf(paperOf(one), longest);
        return share < best.share ? { id, share } : best;
      },
      { id: "", share: 2 },
    );
  return [
    {
      ask: ["find a model of 2024 that keeps as much as the paper’s block would"],
      done: () => state.models[state.model].name.includes("2024") && now().share === 1,
      tell: ["Each head has its own keys."],
      show: () => state.set({ model: "olmo", row: 3 }),
    },
    {
      ask: ["read 131,072 tokens with the smallest part of the paper’s cache"],
      done: () => state.tokens === longest && state.model === least().id,
      tell: ["Windows in all layers: Mistral keeps 4,096 tokens a layer, however long the text."],
      show: () => state.set({ model: "mistral", tokens: longest, row: 4 }),
    },
    {
      ask: ["find the change whose mean is smaller than its spread in both blocks"],
      done: () => {
        const row = now().rows[state.row];
        const { into, put, taken } = worthOf(row, state.measured);
        return row.isOther && isChance(into) && isChance(put ?? taken);
      },
      tell: ["Biases: five seeds cannot tell it from chance. Very large models train more steadily without."],
      show: () => state.set({ model: "llama", row: 8 }),
    },
  ];
}

export const NOTES = [
  "Loss: the held-out loss in nats a token, mean and spread of the differences over five seeds, each run against the run of the " +
    "same seed. A million parameters, four layers, 1,000 steps on children’s stories. Below zero is better; taken from " +
    "today’s, above zero says that the change is missed. Today’s: Llama’s block with the norm of queries and keys.",
  "Sizes are those of the models’ configuration files, and parameters as published; the paper’s 213 M are of encoder and " +
    "decoder. The paper’s block beside a model: one stack with the same layers, width and vocabulary, d_ff = 4 · d_model, " +
    "keys and values as wide as the model; 12 · d_model² parameters a layer and one table of tokens. GB are 10⁹ bytes. DeepSeek’s " +
    "experts are 2,048 wide, 37 B of its parameters work for a token, and its first three layers have no experts. All experts are SwiGLU.",
];
