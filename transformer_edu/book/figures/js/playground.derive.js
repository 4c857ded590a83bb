// A translation, with parts of the model taken away: the model's, and what is seen of it. Nothing here draws.
import * as engine from "../../engine/js/engine.js";
import { compared, differences } from "./core/changed.js";
import { format, listed, plain, plural, readable } from "./core/format.js";
import { clamp, mapMatrix, meanOf } from "./core/math.js";
import { nearestOf } from "./parts/nearest.js";

/** @typedef {{source: string[], written: string[], weights: number[][]}} Answer  `weights`: (written, source) */
const TOLD = 7; // words of an answer in the title
const SAID = 3; // English words that one word is said to look at,
const LEAST = 0.05; // from this weight on
const END = "<eos>";

/** What the model is to compute without these parts, of which more than one may silence something. */
const changesOf = (parts) => Object.assign({}, ...parts, { silent: parts.flatMap(({ silent = [] }) => silent) });

/** Translate, and look where the last layer's cross-attention went: the mean of its heads. @returns {Answer} */
function translated(model, words, changes) {
  const { source, ids } = engine.translate(model, words.join(" "), { changes });
  const written = ids.slice(1).map((id) => model.target.token(id));
  const { maps } = engine.forward(model, source, ids.slice(0, -1), changes);
  const heads = maps[`decoder.${model.config.num_layers - 1}.cross`]?.map(engine.rowsOf);
  const empty = written.map(() => words.map(() => 0));
  const weights = mapMatrix(empty, (_, i, j) => (heads ? meanOf(heads.map((one) => one[i][j])) : 0));
  return { source: words, written, weights };
}

/** What the model answers to some words without some parts, and what it was taught. */
export function memory({ recorded: first, line: { kinds, most }, parts }) {
  const keyOf = (words, taken) => JSON.stringify([words, taken]);
  const answers = new Map([[keyOf(first.source, first.taken), first]]);
  const nearest = nearestOf(kinds) ?? ((words) => words);
  /** Computed once, however often it is drawn; null while there is no model to do it. @returns {Answer | null} */
  function ask(model, words, taken) {
    const key = keyOf(words, taken);
    const without = parts.filter(({ part }) => taken.includes(part)).map(({ changes }) => changes);
    if (model && !answers.has(key)) answers.set(key, translated(model, words, changesOf(without)));
    return answers.get(key) ?? null;
  }
  const isSentence = (words) => nearest(words).join() === words.join();
  return { first, most, words: new Set(Object.values(kinds).flat()), nearest, isSentence, ask };
}

/** The words without the end. @param {Answer} answer */
export const textOf = ({ written }) => written.filter((word) => word !== END);

/**
 * Which answer is shown; `beside` it, the last to a whole sentence, until another change; `whole`, with nothing taken
 * away. A word that the model does not know may have begun with one that it knows: what was made of that is no answer.
 */
function turnOf({ taken }, { known, model, read: { words, wrong } }, before) {
  const { answer = known.first, beside = null, whole = null, shown = [answer] } = before ?? {};
  const was = { answer, beside, whole, shown };
  if (wrong) {
    const place = words.findIndex((word) => !known.words.has(word));
    const isHalf = ({ source }) => place in source && words[place].startsWith(source[place]);
    return isHalf(answer)
      ? { ...was, answer: shown.findLast((one) => !isHalf(one)) ?? known.first, beside: null }
      : was;
  }
  const found = known.ask(model, words, taken);
  const now = found ? { ...was, whole: known.ask(model, words, []) } : was;
  if (!found || found === answer) return now;
  return { ...now, answer: found, beside: known.isSentence(answer.source) ? answer : beside, shown: [...shown, found] };
}

/** Attributes of the English words: the chosen word's weight, and what was printed there before the last change. */
function above({ answer, beside, keys, chosen, changes }) {
  const row = beside?.weights[changes[chosen].at];
  return compared(keys, beside?.source ?? keys).map(({ at, was }, j) => {
    const weight = answer.weights[chosen][j];
    const old = format(row?.[at] ?? weight);
    return { "data-value": weight, "data-new": was, "data-was": old === format(weight) ? undefined : old };
  });
}

/** Attributes of the French words: what each replaces, or what is left out before it. */
const below = ({ queries, changes }) =>
  changes.map(({ was, gone }, i) => {
    const label = was === undefined ? undefined : `${readable(queries[i])}, new${was && `, was ${was}`}`;
    return { "data-was": was, "data-gone": gone, "aria-label": label };
  });

/** Of the state: what it writes without a part, what a changed word changed, or where it looks. */
function finding({ state, known, answer, beside, chosen, queries, isOpened }) {
  const french = textOf(answer);
  if (state.taken.length) {
    const without = state.parts.filter(({ part }) => state.taken.includes(part)).map(({ name }) => [name]);
    const some = `${french.slice(0, TOLD).join(" ")}${french.length > TOLD ? " …" : ""}`;
    const parts = without.length > 2 ? [`${without.length} of its parts`] : listed(without);
    return ["Without ", ...parts, ": ", { italic: some || "nothing" }];
  }
  if (!known.isSentence(answer.source)) return ["It was taught whole sentences: this is none"];
  if (beside && beside.source.join() !== answer.source.join()) {
    const [english, before] = [differences(answer.source, beside.source), textOf(beside)];
    const count = `${differences(french, before)} of ${Math.max(french.length, before.length)}`;
    return [`${plural(english, "English word")} changed: so did ${count} French words`];
  }
  if (isOpened) return ["Before each French word, it looks at the English"];
  const row = answer.weights[chosen];
  return [{ token: queries[chosen] }, " looks at ", { token: answer.source[row.indexOf(Math.max(...row))] }];
}

/** In place of the finding: which word it does not know, or what else is wrong with what stands in the line. */
function refusal(known, { words, wrong }) {
  const [first, ...others] = new Set(words.filter((word) => !known.words.has(word)));
  if (!first) return wrong;
  return ["It has never met ", { exact: first }, others.length ? ` and ${plural(others.length, "other word")}` : ""];
}

/** Below the line: words that it knows, in a sentence like those that it was taught. */
function noteOf(known, words) {
  const near = words.length && !known.isSentence(words) ? known.nearest(words).join(" ") : "";
  return { near, text: near ? "A sentence for it: " : `It knows ${known.words.size} words: click one to change it` };
}

/** Where the chosen word looks, and what it would write as a whole. */
function story({ state, known, answer, whole, queries, keys, chosen }) {
  const row = answer.weights[chosen];
  const seen = [...keys.keys()].filter((j) => row[j] >= LEAST).sort((a, b) => row[b] - row[a]);
  const looks = listed(seen.slice(0, SAID).map((j) => [{ token: keys[j] }, ` ${format(row[j])}`]));
  const more = answer.written.length - known.most;
  return [
    "To write ",
    { token: queries[chosen] },
    ...(seen.length ? [", it looks at ", ...looks, ". "] : [", it looks at no English word. "]),
    ...(state.taken.length && whole ? ["With all its parts: ", { italic: textOf(whole).join(" ") }, ". "] : []),
    more > 0 ? `It goes on for ${plural(more, "more word")}.` : "",
  ];
}

/** What is marked, to be heard. */
function marked({ queries, keys, changes, moreKeys }) {
  const fresh = queries.filter((word, i) => changes[i].was !== undefined && word !== END);
  const old = moreKeys.flatMap(({ "data-was": was, "data-new": word }, j) =>
    was ? [`${word || keys[j]} ${was}`] : [],
  );
  return `${fresh.length ? `New: ${fresh.join(" ")}. ` : ""}${old.length ? `Before: ${old.join(", ")}. ` : ""}`;
}

/**
 * All that is drawn.
 * @param {any} state
 * @param {{known: ReturnType<typeof memory>, model: any, read: {words: string[], wrong: any[] | null},
 *   instead?: any[] | null, isOpened: boolean}} own  `read`: what stands in the line; `instead`: of the sentence below
 * @param {any}[before]  what was derived before: what is another now stays marked until the next change
 */
export function derive(state, own, before = null) {
  const { known, read, instead = null } = own;
  const turn = turnOf(state, own, before);
  const [queries, earlier] = [turn.answer, turn.beside].map((one) => one?.written.slice(0, known.most));
  const chosen = clamp(state.token, 0, queries.length - 1);
  const changes = compared(queries, earlier ?? queries);
  const now = { ...own, ...turn, state, queries, keys: turn.answer.source, chosen, changes };
  const seen = { ...now, more: below(now), moreKeys: above(now), words: instead ?? story(now) };
  const answered = [now.keys.join(" "), queries.filter((word) => word !== END).join(" ")];
  return {
    ...seen,
    weights: now.answer.weights.slice(0, known.most),
    placed: JSON.stringify([now.keys, queries]),
    appears: before ? queries.flatMap((word, i) => (word === before.queries[i] ? [] : [i])) : [],
    note: noteOf(known, read.words),
    says: read.wrong ? refusal(known, read) : finding(now),
    told: instead ? plain(instead) : `${answered.join(": ")}. ${marked(seen)}${plain(seen.words)}`,
  };
}
