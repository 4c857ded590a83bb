// Three layers on the way from the first token to the last: who has heard of it, and what it costs. Nothing draws.
import { lastChange } from "./core/changed.js";
import { plain, plural, whole } from "./core/format.js";

export const [FEWEST, MOST] = [4, 64]; // tokens
export const SIZES = [32, 64, 128, 256, 512, 1024]; // of a vector
export const [WIDE, HIGH, FLOOR] = [640, 54, 34]; // a lane in its own units: hops above the floor, tokens below it
const QUESTION = "How many steps until the last token has heard of the first?";
/** A formula is not broken at the end of a line. */
export const unbroken = (text) => text.replace(/ ([·/]) /g, "\u00a0$1\u00a0");

/**
 * A lane: how many tokens, those on the left, have heard of token 1 after so many steps. `orders`: O(…) of steps in a
 * row, longest path and multiply-adds, as in the paper.
 * @typedef {{n: number, d: number, dilated: boolean, step: number}} State
 * @typedef {{title: string, how: string, dilated?: string, who: string, orders: string[],
 *   heard: (state: State, step: number) => number}} Lane
 * @type {Record<string, Lane>}
 */
const LANES = {
  recurrent: {
    title: "Recurrent layer",
    how: "plain, without gates; a step reads one token",
    who: "the recurrent layer",
    orders: ["n", "n", "n · d²"],
    heard: (_, step) => Math.max(step, 1),
  },
  convolution: {
    title: "Convolutions",
    how: "a step is a layer; each token sees its neighbours",
    dilated: "a step is a layer; each sees 1, 2, 4, 8 … places away",
    who: "the convolutions",
    orders: ["1", "n / k", "k · n · d²"],
    heard: ({ n, dilated }, step) => Math.min(n, dilated ? 2 ** step : step + 1),
  },
  attention: {
    title: "Self-attention",
    how: "a step is a layer; each token sees every token",
    who: "attention",
    orders: ["1", "1", "n² · d"],
    heard: ({ n }, step) => (step ? n : 1),
  },
};

/** What a whole layer costs: how many times n · d², how many n² · d. @type {[string, string, number, number][]} */
const COSTS = [
  ["recurrent, plain", "recurrent", 2, 0],
  ["recurrent, GRU", "recurrent", 6, 0],
  ["recurrent, LSTM", "recurrent", 8, 0],
  ["convolution", "convolution", 3, 0], // one matrix for each place of the kernel
  ["self-attention", "attention", 4, 2],
];

/**
 * All that is drawn.
 * @param {State} state @param {Record<string, number>}[bets]  how many steps a lane takes
 * @param {any}[before]  what was derived before: what is another now stays marked until the next change
 */
export function derive({ n, d, dilated, step }, bets = {}, before = null) {
  const now = { n, d, dilated, step };
  const key = JSON.stringify([now, bets]);
  if (before?.key === key) return before;
  const change = lastChange(now, before, (moved) => moved !== "step");
  const { from } = change;
  const lanes = Object.keys(LANES).map((name, i) => laneOf(name, now, bets, from?.lanes[i]));
  const table = COSTS.map((cost, i) => rowOf(cost, now, lanes, from?.table[i].cells));
  const [simple, , gated, , ours] = table.map(({ cells }) => cells[2].value);
  const prices = [ours / simple, ours / gated]; // 2 + n / d, and 1 at n = 2 d
  const words = wordsOf(now, lanes, prices, from?.prices);
  const bet = lanes.filter((lane) => lane.bet).map((lane) => `${lane.who} ${lane.bet}`);
  const more = `${dilated ? " The convolutions are dilated." : ""}${bet.length ? ` You bet: ${bet.join(", ")}.` : ""}`;
  return {
    ...{ ...change, key, lanes, table, prices, words },
    stakes: [...new Set([1, Math.ceil(Math.log2(n)), Math.ceil(n / 2), n - 1, n])], // at once, doubling, one by one
    says: [step ? `First word to last: recurrence ${n} steps, attention one` : QUESTION],
    told: plain(words) + more,
  };
}

/** A lane as it is drawn. A token has heard, before or just now; or it is computed, or waits for that. */
function laneOf(name, now, bets, before) {
  const { title, who, dilated, ...lane } = LANES[name];
  const { n, step } = now;
  const all = Array.from({ length: n + 1 }, (_, at) => lane.heard(now, at));
  const finish = all.indexOf(n);
  const heard = all.slice(0, Math.min(step, finish) + 1);
  const [reached, isDone, isDilated] = [heard.at(-1), step >= finish, now.dilated && dilated];
  const computed = name === "recurrent" && step ? reached : n;
  const known = before?.kinds.length === n ? Math.min(before.reached, reached) : reached;
  const kinds = Array(n).fill("waiting").fill("computed", 0, computed).fill("new", 0, reached).fill("heard", 0, known);
  const race = `${name} ${n} ${now.dilated}`;
  const bet = bets[race];
  const was = before && before.finish !== finish ? `, was ${before.finish}` : "";
  const beside = bet ? (bet === finish ? ", as you bet" : `, you bet ${bet}`) : was;
  const place = isDone ? `arrived at step ${finish}` : `${name === "recurrent" ? "is at" : "are at token"} ${reached}`;
  return {
    ...{ name, title, who, race, bet, finish, heard, kinds, reached, isDone },
    how: isDilated ? dilated : lane.how,
    path: all.slice(0, finish + 1).map((one) => (isDilated ? (n - 1) % one : one - 1)), // where it is after each step
    told: isDone ? `✓ ${plural(finish, "step")}${beside}` : `${reached} of ${n} have heard`,
    label: `after ${plural(step, "step")}, ${reached} of ${n} tokens have heard of token 1`,
    said: `${who} ${place}`,
  };
}

/** A layer's row: steps one after another, longest path, multiply-adds. */
function rowOf([title, name, a, b], { n, d, dilated }, lanes, before) {
  const { orders, ...lane } = LANES[name];
  const work = a * n * d * d + b * n * n * d;
  const values = [name === "recurrent" ? n : 1, lanes.find((one) => one.name === name).finish, work];
  const formulas = ["", "", `${a} · n · d²${b ? ` + ${b} · n² · d` : ""}; `];
  const cells = values.map((value, i) => ({
    value,
    text: whole(value),
    note: unbroken(`${formulas[i]}O(${i === 1 && dilated && lane.dilated ? "log n" : orders[i]})`),
    was: before && before[i].value !== value ? `was ${before[i].text}` : null,
  }));
  return { title, cells };
}

/** Where each lane is, and what attention pays. */
function wordsOf({ step }, lanes, prices, before = prices) {
  const [beside, gated] = prices.map((number) => ({ number, text: number.toFixed(2) }));
  const said = lanes.map((lane) => lane.said).reverse();
  return [
    step
      ? `After ${plural(step, "step")}: ${said.join(", ")}.`
      : "Before the first step only token 1 knows of token 1.",
    ...[" Attention pays ", beside, " times the multiply-adds of this recurrent layer, ", gated, " times an LSTM’s."],
    String(prices) === String(before) ? "" : ` Before: ${before.map((one) => one.toFixed(2)).join(", ")}.`,
  ];
}

/** The hops between these places up to the moment `t` (step 2.5: half of the third hop), and the point reached. */
export function trail(places, t, n) {
  const x = (place) => ((place + 0.5) * WIDE) / n;
  let reached = [x(places[0]), FLOOR];
  let d = `M${reached.join(" ")}`;
  for (let step = 1; step < places.length && step - 1 < t; step += 1) {
    const share = Math.min(1, t - step + 1);
    const [from, to] = [x(places[step - 1]), x(places[step])];
    const top = 2 * Math.min(FLOOR - 5, 0.4 * (to - from)); // of the control point; the curve rises half as high
    reached = [from + (to - from) * share, FLOOR - 2 * share * (1 - share) * top];
    d += `Q${from + ((to - from) / 2) * share} ${FLOOR - top * share} ${reached.join(" ")}`;
  }
  return { d, reached };
}
