// What the figure shows of a state: the text, the bars of the next token, what is said of them. Nothing here draws.
import * as engine from "../../engine/js/engine.js";
import { format, plural, readable, whole } from "./core/format.js";
import { clamp } from "./core/math.js";

export const OPTIONS = ["beginning", "written", "place", "temperature", "top_k", "top_p", "min_p", "seed"];
export const SHOWN = 12; // tokens that have a bar of their own
export const MOST = 400; // written tokens
export const SURE = 0.9;
export const UNSURE = 0.15;
const REMEMBERED = 1000; // places whose probabilities are kept
const FILTERS = ["topK", "topP", "minP"];
const OFF = 41; // of the slider for k: one more than the largest k

/** The four numbers that say how a token is drawn, as sliders. */
const off = (when, show) => (value) => (when(value) ? "off" : show(value));
export const SLIDERS = [
  { name: "temperature", label: "Temperature", min: 0.1, max: 2, step: 0.1, show: (value) => format(value, 1) },
  { name: "top_k", label: "Top-k", min: 1, max: OFF, step: 1, show: off((k) => k >= OFF, String) },
  { name: "top_p", label: "Top-p", min: 0.05, max: 1, step: 0.01, show: off((p) => p >= 1, format) },
  { name: "min_p", label: "Min-p", min: 0, max: 0.5, step: 0.01, show: off((p) => p <= 0, format) },
];
/** Where a slider stands, and what it sets. */
export const sliderValue = (state, name) => state[name] ?? OFF;
export const fromSlider = (name, value) => (name === "top_k" && value >= OFF ? null : value);

/** The settings as the engine takes them. */
export const filtersOf = ({ temperature, top_k: topK, top_p: topP, min_p: minP }) => ({
  temperature,
  topK,
  topP,
  minP,
});

/** Whether these are the settings that a figure was opened with. */
export const areStored = (settings, stored) =>
  ["temperature", ...FILTERS].every((name) => settings[name] === stored[name]);

/**
 * What the settings leave of a place's tokens: a beginning of the list, for its order is that of probability.
 * @param {any} step  from the model: `ids` and `logits` of all; or stored: `best`, `kept`, `mass`
 * @returns {{ids: number[], chances: ArrayLike<number>, count: number, mass: number} | null}  how many are left in, and
 *   their probability together; null where only the model can tell
 */
export function leftIn(step, settings, stored) {
  if (!step) return null;
  const sumOf = (chances, count) => chances.slice(0, count).reduce((sum, one) => sum + one, 0);
  if (step.logits) {
    const chances = engine.probabilities(step.logits, settings.temperature);
    const count = engine.countLeftIn(chances, settings);
    return { ids: step.ids, chances, count, mass: sumOf(chances, count) };
  }
  if (settings.temperature !== stored.temperature) return null;
  const [ids, chances] = [step.best.map(([id]) => id), step.best.map(([, , chance]) => chance)];
  if (FILTERS.every((name) => settings[name] === stored[name]))
    return { ids, chances, count: step.kept, mass: step.mass };
  if (settings.topK > chances.length) return null;
  const count = engine.countLeftIn(chances, settings);
  const decided = count < chances.length || count === settings.topK;
  return decided ? { ids, chances, count, mass: sumOf(chances, count) } : null;
}

/** The token that luck draws, from 0 to 1; undefined where it is none of those that are known. */
export function drawnBy({ ids, chances, count, mass }, luck) {
  let rest = luck * mass;
  const known = chances.slice(0, count);
  const rank = known.findIndex((chance) => (rest -= chance) < 0);
  return rank < 0 && known.length === count ? ids[count - 1] : ids[rank]; // undefined at −1
}

export const isEnd = (id) => id === engine.EOS;

/** A token without the mark of a word's beginning. */
const plainly = (token) => token.replace(/^·(?=.)/, "");

/** A piece of the text: what is printed of a token, and whether a blank stands before it. */
const pieceOf = (token) => ({
  token,
  gap: token.startsWith("·") && token.length > 1,
  text: readable(plainly(token)).replaceAll("·", " ").replaceAll("\n", "⏎"),
});

/** At which place a token is chosen: the next one, or, where the text has ended, that of its end again. */
export const openPlace = ({ written, place }) => place - Number(place > 0 && isEnd(written[place - 1]));

/**
 * All that the figure shows of a state.
 * @param {any} now  the figure's OPTIONS; `stored`, what Python recorded; `read` tokens; `names` of all; `step`, what
 *   is known of the open place; `deed`, what the reader did last; `decided`, what was derived when bars were there last
 */
export function derive(now) {
  const { written, place, read, names, deed, stored } = now;
  const [at, settings] = [openPlace(now), filtersOf(now)];
  const left = leftIn(now.step, settings, stored);
  const unseen = engine.windowStart(1 + read.length + at, stored.max_len) - 1; // tokens, without the begin token
  const text = {
    read: read.map((token, i) => ({ ...pieceOf(token), unseen: i < unseen })),
    written: written.map((id, i) => ({
      ...pieceOf(names[id] ?? "…"),
      pale: i >= place,
      fresh: i >= deed.from && i < place && deed.from >= 0,
      unseen: read.length + i < unseen,
    })),
  };
  const ended = at < place;
  const view = { text, place, at, left, settings, deed, ended, full: ended || place >= MOST, vocab: stored.vocab };
  if (!left) {
    const words = ["The bars of this place have to come from the model."];
    return { ...view, bars: [], shown: now.decided, says: now.decided.says, words };
  }
  const shown = barsOf(view, left, written[at], names);
  const whole = { ...view, ...shown };
  return { ...whole, shown, says: finding(whole), words: story(whole) };
}

/** A bar for each of the most probable tokens, and one for all others. */
function barsOf({ deed, at, settings, vocab }, { ids, chances, count, mass }, taken, names) {
  const bars = Array.from(ids.slice(0, SHOWN), (id, i) => {
    const kept = i < count;
    const flip = deed.before && deed.at === at && deed.before.has(id) !== kept ? (kept ? "in" : "out") : "";
    const share = kept ? chances[i] / mass : 0;
    return { id, token: names[id], chance: chances[i], kept, share, taken: id === taken, flip };
  });
  const inBars = bars.reduce((sum, one) => sum + (one.kept ? one.chance : 0), 0);
  const others = {
    chance: Math.max(0, 1 - bars.reduce((sum, one) => sum + one.chance, 0)),
    kept: Math.max(0, count > bars.length ? mass - inBars : 0),
    count: Math.max(0, count - bars.length),
    taken: taken !== undefined && !bars.some((one) => one.taken),
  };
  return { bars, others: { ...others, share: others.kept / mass }, handles: handlesOf(bars, settings, vocab) };
}

/**
 * Where the settings stand on the bars: k and p below a row, min-p and the temperature at a probability. And what each
 * becomes where its handle is put elsewhere.
 */
function handlesOf(bars, { temperature, topK, topP, minP }, vocab) {
  const chances = bars.map(({ chance }) => chance);
  const largest = chances[0];
  const upTo = (row) => chances.slice(0, row).reduce((sum, one) => sum + one, 0);
  const reached = topP < 1 ? chances.findIndex((_, i) => upTo(i + 1) >= topP) + 1 : 0; // 0: below all bars
  const twoPlaces = (value) => Math.floor(100 * value) / 100;
  return {
    k: { row: Math.min(topK ?? OFF, bars.length), to: (row) => (row >= bars.length ? null : Math.max(1, row)) },
    p: {
      row: reached || bars.length,
      to: (row) => {
        if (row >= bars.length) return 1;
        const [least, most] = [upTo(row - 1), upTo(Math.max(1, row))];
        return clamp(twoPlaces(most) > least ? twoPlaces(most) : most, SLIDERS[2].min, 1);
      },
    },
    m: { share: minP * largest, to: (share) => clamp(Math.round((100 * share) / largest) / 100, 0, SLIDERS[3].max) },
    T: { share: largest, to: (share) => temperatureFor(share, chances, temperature, vocab) },
  };
}

/** The temperature, in steps of the slider, at which the likeliest token has about this probability. */
function temperatureFor(share, chances, temperature, vocab) {
  const rest = Math.max(1e-9, 1 - chances.reduce((sum, one) => sum + one, 0)) / Math.max(1, vocab - chances.length);
  const off = (t) => {
    const [first, ...others] = chances.map((one) => one ** (temperature / t));
    const all =
      first + others.reduce((sum, one) => sum + one, 0) + (vocab - chances.length) * rest ** (temperature / t);
    return Math.abs(first / all - share);
  };
  const steps = Array.from({ length: 20 }, (_, i) => (i + 1) / 10);
  return steps.reduce((best, t) => (off(t) < off(best) ? t : best));
}

const percent = (share) => (share < 0.01 ? "below 1 %" : `${Math.round(100 * share)} %`);
const named = (token) => ({ token: plainly(token) });

/** The finding. */
function finding({ ended, bars, left }) {
  if (ended) return ["The end token was drawn: the story is over"];
  const [{ token, chance, share }] = bars;
  if (left.count === 1) return ["Only ", named(token), " is left in: luck decides nothing"];
  if (chance >= SURE) return ["Nearly sure: ", named(token), ` comes next, at ${percent(share)}`];
  return [`One of ${whole(left.count)} tokens comes next; likeliest: `, named(token), `, ${percent(share)}`];
}

/** What was done last, and what came of it. */
function story({ ended, left, deed, vocab, text, place }) {
  if (ended) return ["Click a token of the story, or a bar, to go on from there."];
  const count = place - deed.from;
  switch (deed.what) {
    case "set":
      return [`${whole(left.count)} of ${whole(vocab)} tokens are left in, and share the whole probability.`];
    case "took":
      return ["You took ", named(deed.token), `, which had ${format(deed.chance, 3)}. The bars follow from it.`];
    case "wrote":
      if (count !== 1) return [`Luck drew ${plural(count, "token")}, each from bars like these.`];
      return ["Luck drew ", named(text.written[deed.from].token), ". The bars are those of the token after it."];
    case "went":
      return ["You are at this place again. Pale is what came then; it goes when another token comes."];
    case "opened":
      return ["Pale is what luck draws if you write on. Each token of it has bars of its own: click it."];
    default:
      return ["The model gives each token of its vocabulary a probability; luck draws one."];
  }
}

/** The places whose tokens are known: stored ones, and those that the model was asked for. */
export function memory(stored) {
  const [steps, reads] = [new Map(), new Map([[stored.beginning, stored.read]])];
  const names = Object.fromEntries([...stored.places.flatMap(({ best }) => best), ...stored.written]);
  const keyOf = (beginning, ids) => JSON.stringify([beginning, ids]);
  const usual = stored.written.map(([id]) => id);
  const isStored = (beginning, ids) => beginning === stored.beginning && ids.every((id, i) => id === usual[i]);
  return {
    names,
    keyOf,
    read: (beginning) => reads.get(beginning) ?? (beginning ? [beginning] : []),
    step: (beginning, ids) =>
      steps.get(keyOf(beginning, ids)) ?? (isStored(beginning, ids) ? stored.places[ids.length] : undefined),
    /** The token that was drawn here, with the settings and the luck of the time. */
    usual: (beginning, ids) => (isStored(beginning, ids) ? usual[ids.length] : undefined),
    put(beginning, ids, found) {
      if (found.names) Object.assign(names, found.names);
      reads.set(beginning, found.read);
      steps.set(keyOf(beginning, ids), found);
      if (steps.size > REMEMBERED) steps.delete(steps.keys().next().value);
    },
  };
}
