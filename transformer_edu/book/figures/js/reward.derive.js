// What a reward makes of a language of six words: probabilities, mean reward and distance. Nothing draws here.
import { lastChange } from "./core/changed.js";
import { format, plain } from "./core/format.js";

export const REWARDS = ["dog", "black dog", "sleeps", "each word"];
const SHOWN = 9; // sentences with a bar of their own
const MOST = 0.9; // the share of all sentences that few may hold

/** One for a sentence that says what is rewarded, or one for each of its words. */
export const pointsOf = (text, reward) =>
  reward === "each word" ? text.split(" ").length : Number(text.includes(reward));

/** Each probability times e to the reward over β, made to sum to one. @param {[string, number][]} language */
export function tilted(language, reward, beta) {
  const weights = language.map(([text, p]) => p * Math.exp(pointsOf(text, reward) / beta));
  const sum = weights.reduce((a, b) => a + b, 0);
  return weights.map((weight) => weight / sum);
}

/** How many of the likeliest hold nine tenths together. @param {number[]} p */
export function fewest(p) {
  let [count, held] = [0, 0];
  for (const one of [...p].sort((a, b) => b - a)) {
    if (held >= MOST - 1e-9) break;
    held += one;
    count += 1;
  }
  return count;
}

/** β as one writes it. @param {number} beta */
export const price = (beta) => (beta < 1 ? `1/${Math.round(1 / beta)}` : String(beta));

/** As one reads it: a share of the sentences, or words a sentence. */
const said = (reward, mean) => (reward === "each word" ? format(mean, 1) : `${format(100 * mean, 1)} %`);

/**
 * All that is drawn.
 * @param {any} state  `reward`, `beta`, `language`
 * @param {any}[before]  what was derived before: what was so stays beside it until the next change
 * @returns {any}
 */
export function derive({ reward, beta, language }, before = null) {
  const change = lastChange({ reward, beta }, before);
  if (change.moved === "") return before;
  const was = language.map(([, p]) => p);
  const p = tilted(language, reward, beta);
  const mean = (ps) => ps.reduce((sum, one, i) => sum + one * pointsOf(language[i][0], reward), 0);
  const away = p.reduce((sum, one, i) => sum + one * Math.log(one / was[i]), 0);
  const order = p.map((_, i) => i).sort((a, b) => p[b] - p[a]);
  const most = Math.max(...p, ...was);
  const lines = order
    .slice(0, SHOWN)
    .map((i) => ({
      ...{ text: language[i][0], p: p[i], was: was[i], share: p[i] / most, shareWas: was[i] / most },
      points: pointsOf(language[i][0], reward),
    }));
  const others = order.slice(SHOWN).reduce((sum, i) => sum + p[i], 0);
  const [got, had] = [mean(p), mean(was)];
  const now = { ...change, lines, others, got, had, away, few: fewest(p), fewWas: fewest(was), likeliest: lines[0] };
  const [says, words] = [titleOf(now), told(now)];
  return { ...now, says, words, told: `${plain(says)}. ${plain(words)}` };
}

/** What the reward has come to. @param {any} now */
function titleOf({ got, had, now: { reward } }) {
  const [after, first] = [said(reward, got), said(reward, had)];
  const number = { number: got, text: after, measure: "reward" };
  return reward === "each word"
    ? [`It says `, number, ` words a sentence, ${first} before`]
    : [`It says “${reward}” in `, number, ` of its sentences, ${first} before`];
}

/** What it has cost. @param {any} now */
function told({ away, few, fewWas, likeliest, now: { beta } }) {
  return [
    `With β = ${price(beta)} the language is `,
    { number: away, text: format(away, 2), measure: "distance" },
    ` nats from what it was. ${few} of its 24 sentences hold nine tenths, before ${fewWas}. The likeliest is now `,
    `“${likeliest.text}”, ${format(likeliest.p, 2)}.`,
  ];
}

/** What can be tried; `now`, what is derived. */
export const questions = (state, now) => [
  {
    ask: ["let it say “dog” in 9 of 10 sentences"],
    done: () => state.reward === "dog" && now().got > 0.9,
    tell: ["Nats away: never more than −ln 0.22 = 1.51, for it said so in 22 % before."],
    show: () => state.set({ reward: "dog", beta: 0.25 }),
  },
  {
    ask: ["reward what costs most to be said nearly always"],
    done: () => state.reward === "black dog" && now().got > 0.9,
    tell: ["What it hardly said before is far away."],
    show: () => state.set({ reward: "black dog", beta: 0.125 }),
  },
  {
    ask: ["find a reward that makes it babble"],
    done: () => state.reward === "each word" && now().got > 4,
    tell: ["It asked for words, and got “the cat black cat sleeps”."],
    show: () => state.set({ reward: "each word", beta: 0.25 }),
  },
];

export const NOTES = [
  "The language is that of chapter 14: six words, 24 sentences. A bar is a sentence’s probability with the reward, the " +
    "dashed line what it was before. Of all distributions this one has the largest mean reward less β times the distance " +
    "from the language as it was, Σ p ln(p / before), in nats: equation 21.3.",
];
