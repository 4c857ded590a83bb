// What one step of a language model keeps, fetches and multiplies, and the time of both on a machine. Nothing draws.
import { cacheOf, gigabytes } from "./block-years.derive.js";
import { lastChange } from "./core/changed.js";
import { format, plain, whole } from "./core/format.js";

export const TASKS = { write: "write one token", read: "read the text" };
const LONGEST = 131_072;

/** Pairs of a query and a key that it may see, in all layers: of the last token, or of all. */
export function pairsOf({ layers, near, window }, tokens, task) {
  const sees = Math.min(tokens, window);
  const [all, some] =
    task === "write" ? [tokens, sees] : [(tokens * (tokens + 1)) / 2, (sees * (sees + 1)) / 2 + (tokens - sees) * sees];
  return (layers - near) * all + near * some;
}

/** Operations with the weights, and in attention. */
export function operationsOf(model, { tokens, texts, task }) {
  const weights = 2e6 * model.millions * (task === "write" ? 1 : tokens);
  return [texts * weights, texts * 4 * model.heads * model.d_head * pairsOf(model, tokens, task)];
}

/** Bytes of the weights, and of the keys and values of all texts. */
export const fetchedOf = (model, { tokens, texts, bits }) => [
  (1e6 * model.millions * bits) / 8,
  texts * cacheOf(model, tokens),
];

/** Three digits of a time. */
export function duration(seconds) {
  const [value, unit] = seconds < 1e-3 ? [1e6 * seconds, "µs"] : seconds < 1 ? [1e3 * seconds, "ms"] : [seconds, "s"];
  return value >= 1e4 ? `${whole(Math.round(value))} ${unit}` : `${Number(value.toPrecision(3))} ${unit}`;
}

/** Three digits of a count, in words. */
export function counted(value) {
  const word = value >= 1e12 ? "trillion" : value >= 1e9 ? "billion" : "million";
  const unit = { trillion: 1e12, billion: 1e9, million: 1e6 }[word];
  return `${whole(Number((value / unit).toPrecision(3)))} ${word}`;
}

/** @param {number[]} parts */
const sum = (parts) => parts[0] + parts[1];
const percent = (share) => (share < 0.005 ? "under 1 %" : `${format(100 * share, 0)} %`);

/**
 * All that is drawn.
 * @param {any} state  `model`, `machine`, `task`, `bits`, `tokens`, `texts`, `models`, `machines`
 * @param {any}[before]  what was derived before: what was so stays beside it until the next change
 * @returns {any}
 */
export function derive(state, before = null) {
  const { model, machine, task, bits, tokens, texts } = state;
  const change = lastChange({ model, machine, task, bits, tokens, texts }, before);
  if (change.moved === "") return before;
  const { from } = change;
  const [one, host] = [state.models[model], state.machines[machine]];
  const [bytes, done] = [fetchedOf(one, state), operationsOf(one, state)];
  const times = [bytes.map((part) => part / host.fetches), done.map((part) => part / host.multiplies)];
  const [fetching, multiplying] = times.map(sum);
  const longer = Math.max(fetching, multiplying);
  const fits = !host.room || sum(bytes) <= host.room;
  const room = host.room ? ` of ${whole(host.room / 1e9)}` : "";
  const bars = [
    { name: "kept", parts: bytes, most: Math.max(host.room, sum(bytes)), text: gigabytes(sum(bytes)), room },
    { name: "fetching", parts: times[0], most: longer, text: duration(fetching) },
    { name: "multiplying", parts: times[1], most: longer, text: duration(multiplying) },
  ].map(({ name, parts, most, text, room: more = "" }, i) => {
    const shares = parts.map((part) => part / most);
    const old = from?.bars[i];
    return {
      name,
      shares,
      text,
      more,
      was: old && old.text !== text ? { text: old.text, share: sum(old.shares) } : null,
    };
  });
  const rate = (texts * (task === "write" ? 1 : tokens)) / longer;
  const now = {
    ...{ ...change, bars, fits, rate, fetching, multiplying, name: one.name.replace(/ \(\d+\)/, "") },
    ...{ ratio: sum(done) / sum(bytes), balance: host.multiplies / host.fetches, operations: sum(done) },
    ...{ cacheShare: bytes[1] / sum(bytes), isFetching: fetching >= multiplying },
  };
  const [says, words] = [[titleOf(now)], told(now)];
  return { ...now, says, words, told: `${plain(says)}. ${plain(words)}` };
}

/** How quick it can be at most, and what it waits for. @param {any} now */
function titleOf({ name, fits, rate, isFetching, now: { task } }) {
  if (!fits) return `${name}: more than this machine has room for`;
  const does = task === "write" ? "writes" : "reads";
  const speed = rate < 10 ? format(rate, 1) : whole(Number(rate.toPrecision(2)));
  return `${name} ${does} ${speed} tokens a second at most, waiting for ${isFetching ? "memory" : "multiplications"}`;
}

/** Operations a byte, here and where both would be done at once. @param {any} now */
function told({ operations, ratio, balance, isFetching, fetching, multiplying, cacheShare, now: { texts } }) {
  const digits = (value) => (value < 10 ? format(value, 1) : whole(Math.round(value)));
  const [other, share] = isFetching ? ["multipliers", multiplying / fetching] : ["memory", fetching / multiplying];
  return [
    `${counted(operations)} operations, `,
    [{ number: ratio, text: digits(ratio), measure: "operations a byte" }],
    ` for each byte that is fetched. This machine can do ${digits(balance)} in that time: its ${other} could do the step in `,
    `${percent(share)} of the time. Of what is fetched ${percent(cacheShare)} are keys and values of `,
    texts === 1 ? "this text." : "these texts.",
  ];
}

/** What can be tried; `now`, what is derived. */
export const questions = (state, now) => [
  {
    ask: ["write more than 500 tokens a second for one text, on the GPU"],
    done: () => state.machine === "gpu" && state.task === "write" && state.texts === 1 && now().rate > 500,
    tell: ["Half the bits are half the bytes."],
    show: () =>
      state.set({ ...{ machine: "gpu", task: "write", texts: 1, model: "llama" }, ...{ bits: 4, tokens: 8192 } }),
  },
  {
    ask: ["let keys and values be more bytes than the weights of 16 bits"],
    done: () => state.bits === 16 && now().cacheShare > 0.5,
    tell: ["Weights are shared by all texts; these are not."],
    show: () => state.set({ bits: 16, model: "llama", tokens: LONGEST, texts: 1 }),
  },
  {
    ask: ["let it write, and wait for multiplications"],
    done: () => state.task === "write" && !now().isFetching,
    tell: ["A few texts at once keep a core busy; not this GPU."],
    show: () =>
      state.set({ ...{ machine: "core", task: "write", model: "llama" }, ...{ tokens: 1024, texts: 16, bits: 16 } }),
  },
];

export const NOTES = [
  "Two operations for each weight and token, a multiplication and an addition; in attention four for each pair of a query " +
    "and a key that it may see, and each entry of a head. Each weight is fetched once a step, keys and values once: those of " +
    "a text that is read are written instead. Whatever else there is (norms, softmax, results of one part for the next, an " +
    "operation’s start) comes on top, so a real machine is slower. Both bars of time are drawn to the longer one.",
  "The GPU’s numbers are those of its data sheet: 989 trillion operations a second with 16-bit numbers, 4.8 TB a second, " +
    "141 GB. The core’s were measured with float32 products of 4,096 rows and columns. Weights of fewer bits are turned back " +
    "into 16 before they are multiplied, so only bytes are saved. Sizes of the models: see the block’s years in chapter 19.",
];
