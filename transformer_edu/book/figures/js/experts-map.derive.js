// Which two experts each token of a sentence goes to, and what share of all choices each expert gets. Nothing draws.
import { lastChange } from "./core/changed.js";
import { bound, format, listed, plural } from "./core/format.js";
import { meanOf } from "./core/math.js";

export const NAMES = { none: "No balancing", loss: "Balancing loss", bias: "Balancing bias" };
const IDLE = 0.01;
const UNEVEN = 1.5; // times an even share: from here on the title names the expert
const TOP = 0.45; // share at the top of the bars

export const percent = (share) => `${format(100 * share, 1)}\u00a0%`;
const numbersOf = (experts) => [...experts].sort((a, b) => a - b).map((expert) => expert + 1);
const sameTwo = (one, other) => String(numbersOf(one)) === String(numbersOf(other));

/** What was looked at in the run that is shown of one balancing. */
export const momentsOf = ({ runs }, balancing) =>
  runs.find((run) => run.balancing === balancing && run.moments).moments;

/**
 * All that is drawn.
 * @param {any} state  `recording`, `balancing`, `layer`, `step`, `token`, `expert` (from 1; 0: none)
 * @param {any}[before]  what was derived before: in the same layer, what was so stays beside it until the next change
 * @returns {any}
 */
export function derive(state, before = null) {
  const { recording, balancing, layer, step, token, expert } = state;
  const change = lastChange({ balancing, layer, step, token, expert }, before);
  if (change.moved === "") return before;
  const isLater = change.moved?.split(",").every((name) => name === "balancing" || name === "step");
  const from = isLater ? change.from : null; // another layer has other experts
  const moment = momentsOf(recording, balancing).find((one) => one.step === step);
  const [shares, chosen] = [moment.shares[layer], moment.chosen[layer]];
  const pair = chosen[token];
  const equal = chosen.filter((_, i) => recording.pieces[i] === recording.pieces[token]); // the token and others like it
  const was = from && !expert && !sameTwo(from.pair, pair) ? from.pair : null;
  const kindOf = (two, i, e) => {
    if (two.includes(e)) return (expert ? e === expert - 1 : i === token) ? "strong" : "on";
    return i === token && was?.includes(e) ? "was" : "";
  };
  const now = {
    ...{ ...change, pair, was, chosen, shares, even: 1 / shares.length, evenHeight: 1 / shares.length / TOP },
    ...{ count: equal.length, same: equal.filter((other) => sameTwo(other, pair)).length },
    word: recording.pieces[token],
    layers: moment.shares.map((_, i) => i),
    lines: chosen.map((two, i) => shares.map((_, e) => kindOf(two, i, e))),
    tokens: chosen.map((two) => ({ isSeen: expert > 0 && two.includes(expert - 1) })),
    experts: shares.map((share, e) => {
      const [text, old] = [percent(share), from?.experts[e]];
      const isSeen = !expert && pair.includes(e);
      return { share, text, height: share / TOP, isSeen, was: old && old.text !== text ? old : null };
    }),
  };
  return { ...now, says: [titleOf(now)], words: expert ? aboutExpert(now) : aboutToken(now) };
}

/** What the shares are like. @param {any} now */
function titleOf({ shares, even, now: { balancing, step } }) {
  const lead = step === 0 ? "Before training" : balancing === "none" ? "Without balancing" : "With balancing";
  const most = Math.max(...shares);
  return most < UNEVEN * even
    ? `${lead}, no expert takes over ${bound([most / even - 1e-9], 1)} times an even share`
    : `${lead}, expert ${shares.indexOf(most) + 1} takes ${format(most / even, 1)} times an even share`;
}

/** Where the chosen token goes, where it went, and how many of the same word go there. @param {any} now */
function aboutToken({ pair, was, word, same, count, now: { layer } }) {
  const two = (experts) => listed(numbersOf(experts).map((one) => [{ bold: String(one) }]));
  return [
    ...["In layer ", String(layer + 1), " ", { token: word }, " goes to experts ", ...two(pair)],
    ...(was ? [", before to ", ...two(was)] : []),
    ". The other six do nothing for it.",
    count > 1 ? ` Of the ${count} in this sentence ${same} ${same === 1 ? "goes" : "go"} there.` : "",
  ];
}

/** What the chosen expert gets. @param {any} now */
function aboutExpert({ experts, chosen, even, now: { expert, layer } }) {
  const { share, text, was } = experts[expert - 1];
  const here = chosen.filter((two) => two.includes(expert - 1)).length;
  return [
    ...["In layer ", String(layer + 1), " expert ", { bold: String(expert) }, " gets ", { number: share, text }],
    ...[" of all choices, ", format(share / even, 1), " times an even share", was ? `, before ${was.text}.` : "."],
    ` Of this sentence, ${here ? plural(here, "token") : "no token"}.`,
  ];
}

/** Where one expert gets the most of all choices in a run. */
export function mostOf(recording, balancing) {
  const all = momentsOf(recording, balancing).flatMap(({ step, shares }) =>
    shares.flatMap((row, layer) => row.map((share, expert) => ({ step, layer, expert, share }))),
  );
  return all.reduce((most, one) => (one.share > most.share ? one : most));
}

const runsOf = ({ runs }, balancing) => runs.filter((run) => run.balancing === balancing);
const range = (values, show) => `${show(Math.min(...values))} to ${show(Math.max(...values))}`;

/** What can be tried; `now`, what is derived. */
export function questions(state, now) {
  const { recording } = state;
  const { expert, layer, step, share } = mostOf(recording, "none");
  const last = momentsOf(recording, "none").at(-1);
  const most = () => Math.max(...now().shares);
  const [none, loss, bias] = Object.keys(NAMES).map((one) =>
    format(meanOf(runsOf(recording, one).map((run) => run.loss)), 3),
  );
  return [
    {
      ask: ["find the largest share of all without balancing: which layer, which step"],
      done: () => state.balancing === "none" && most() === share,
      tell: [
        `Expert ${expert + 1} of layer ${layer + 1} at step ${step}; in the end ${percent(last.shares[layer][expert])}.`,
      ],
      show: () => state.set({ balancing: "none", layer, step, expert: expert + 1 }),
    },
    {
      ask: ["leave no expert of layer 2 more than 1.2 times an even share at the last step"],
      done: () => state.layer === 1 && state.step === last.step && most() < 1.2 * now().even,
      tell: [
        `It costs nothing: mean loss of five runs ${none} without balancing, ${loss} with a loss, ${bias} with a bias.`,
      ],
      show: () => state.set({ balancing: "loss", layer: 1, step: last.step }),
    },
    {
      ask: ["find an idle expert: less than 1 % of all choices"],
      done: () => Math.min(...now().shares) < IDLE,
      tell: ["Early, and not for long: from step 100 on each has more, balanced or not."],
      show: () => state.set({ balancing: "none", layer: 2, step: 25 }),
    },
    {
      ask: ["choose a word that stands there more than once and always goes to the same two experts"],
      done: () => !state.expert && now().count > 1 && now().same === now().count,
      tell: ["Not in every layer: a router sees a vector, and that holds more than the word."],
      show: () => state.set({ balancing: "none", layer: 1, step: last.step, token: 2, expert: 0 }),
    },
  ];
}

/** How it was recorded, and how all runs ended. */
export function notesOf(recording) {
  const ends = Object.entries(NAMES).map(([balancing, name]) => {
    const runs = runsOf(recording, balancing);
    const largest = range(
      runs.map((run) => run.largest),
      percent,
    );
    const losses = range(
      runs.map((run) => run.loss),
      (one) => format(one, 3),
    );
    const idle = runs.some((run) => run.idle) ? "some get" : "none gets";
    return `${name}: the busiest expert gets ${largest}, ${idle} less than 1 %; loss ${losses}. `;
  });
  return [
    `Four layers of eight experts, ${recording.steps} steps on children's stories. One run of each balancing is shown, all ` +
      "three from the same first weights. Shares: of the choices of 32 rows of 128 tokens never trained on. Balancing loss: " +
      "experts · Σ share · mean score, times 0.01 (Fedus and others, 2021). Balancing bias: added to the scores for the " +
      "choice alone; after each batch 0.01 more for experts below an even share, less for others (Wang and others, 2024).",
    `In the end, all layers, five runs each. ${ends.join("")}Loss: nats per token on stories never trained on.`,
  ];
}
