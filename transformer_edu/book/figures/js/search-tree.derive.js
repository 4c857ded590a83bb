// Beam search as a tree: where each beginning stands, what became of it, and what is said of it. Nothing here draws.
import { format, listed, plain } from "./core/format.js";
import { sumOf } from "./core/math.js";
import { BOS, EOS, penalty, scoreOf, search } from "./parts/search.js";

const NAMED = 2; // beginnings that a sentence names
const ENDING = 3; // words of such a beginning, the last ones
const COLUMNS = 13; // of the tree that are shown at once: the start, steps, and behind the last one labels
const NOTHING = ["Nothing is written yet. Each number will be the sum of the log-probabilities of all tokens so far."];
const FATES = { kept: "✓ kept", dropped: "✗ falls out", finished: "■ finished" };

const keyOf = ({ path }) => path.join(" ");
export const isSame = (one, other) => keyOf(one) === keyOf(other);
export const winnerOf = (tree, beam, alpha) => search(tree, beam, alpha).ranked[0];
export const greedyOf = (tree) => winnerOf(tree, 1, 0);
const goesOn = ({ fate }) => fate === "kept" || fate === "finished";
const lanesOf = (row) => sumOf(row.map(({ lanes = 1 }) => lanes));
const isMark = ({ token }) => token === BOS || token === EOS;
const wordOf = (tree, { token }) => (token === BOS ? "start" : token === EOS ? "end" : tree.tokens[token]);
const textOf = (tree, path) => {
  const words = path.filter((token) => token !== EOS).map((token) => tree.tokens[token]);
  return tree.space ? words.join("").replaceAll(tree.space, " ").trim() : words.join(" ");
};
const quote = (tree, { path }) => ({ exact: textOf(tree, path) || "no word" });
/** A probability: with two digits that count, where fewer are given. */
const chance = (p, decimals = Math.max(2, 1 - Math.floor(Math.log10(p)))) =>
  p < 0.001 ? "< 0.001" : format(p, decimals);

/** What is shown of a step, best first: what is kept, what finishes, and the best that fall out. */
function shownOf({ alive, candidates }) {
  const dropped = candidates.filter(({ fate }) => fate === "dropped").slice(0, alive.length > 2 ? 1 : 2);
  return candidates.filter((one) => one.fate !== "dropped" || dropped.includes(one));
}

/** Labels of what greedy search and the beam find, each behind the last beginning of its way that is shown. */
function labelsOf(tree, { ranked: [best] }, beam, shown) {
  const greedy = greedyOf(tree);
  const met = shown.flat().findLast(({ path }) => path.every((token, i) => token === greedy.path[i]));
  return [...new Set([met, best])].filter(Boolean).map((from) => {
    const names = [from === met && "greedy", from === best && beam > 1 && `beam of ${beam}`].filter(Boolean);
    const isWhole = from === best || isSame(from, greedy);
    const text = names.join(" = ") + (isWhole ? `: ${chance(Math.exp(from.logProb))}` : "");
    return { from, text, fate: "label", path: [...from.path, "label"], isBest: from === best, lanes: names.length };
  });
}

/** A row from one side to the other: children of one parent together, those that fall out, and labels, outside. */
function ordered(row, above, alive) {
  const parents = above.filter((one) => alive.includes(one));
  const sideOf = ({ from }, i) => Math.sign(2 * parents.indexOf(from) + 1 - parents.length) || (i % 2) - 0.5;
  const placed = row.map((one, i) => [4 * above.indexOf(one.from) + (goesOn(one) ? 0 : sideOf(one, i)), one]);
  return placed.sort(([a], [b]) => a - b).map(([, one]) => one);
}

/** On which lanes a row stands: what goes on beside its parent, side by side, inside the picture. */
function placesOf(row, above, placesAbove, lanes) {
  const middle = ({ from }) => {
    const all = row.flatMap((one, i) => (one.from === from ? [i] : []));
    const going = all.filter((i) => goesOn(row[i]));
    return going.length ? (going[0] + going.at(-1)) / 2 : all[0];
  };
  const places = row.map((one, i) => placesAbove[above.indexOf(one.from)] + i - middle(one));
  const half = (i) => lanesOf([row[i]]) / 2;
  const least = (i) => half(i) + (i ? places[i - 1] + half(i - 1) : 0);
  const most = (i) => (i + 1 < row.length ? places[i + 1] - half(i + 1) : lanes) - half(i);
  for (let i = 0; i < row.length; i += 1) places[i] = Math.max(places[i], least(i));
  for (let i = row.length - 1; i >= 0; i -= 1) places[i] = Math.min(places[i], most(i));
  return places;
}

/** The rows of the whole tree, and on which of how many lanes all stand. */
function layoutOf(tree, found, beam) {
  const { root, steps } = found;
  const shown = steps.map(shownOf);
  const labels = labelsOf(tree, found, beam, shown);
  const rows = [[root]];
  for (let i = 0; i <= steps.length; i += 1) {
    const row = [...(shown[i] ?? []), ...labels.filter(({ path }) => path.length === i + 1)];
    if (row.length) rows.push(ordered(row, rows[i], steps[i]?.alive ?? []));
  }
  const lanes = Math.max(3, ...rows.map(lanesOf));
  const places = [[lanes / 2]];
  rows.slice(1).forEach((row, i) => places.push(placesOf(row, rows[i], places[i], lanes)));
  return { rows, places, lanes };
}

/** What is another than with the setting before, in a word or two; "" for nothing. */
function changeOf({ fate, number }, was) {
  if (!was) return "new";
  return was.fate !== fate ? `was: ${FATES[was.fate]}` : was.number !== number ? `was ${was.number}` : "";
}

/** The tree down to a step, from the start on as far as there is room. `before`: the picture that this one follows. */
function pictureOf(tree, found, { step, beam, alpha }, before) {
  const [setting, whole] = [`${beam} ${alpha}`, `${step} ${beam} ${alpha}`];
  const follows = before?.tree === tree;
  if (follows && before.whole === whole) return before;
  const { rows, places, lanes } = layoutOf(tree, found, beam);
  const ended = step === found.steps.length;
  const columns = Math.min(rows.length, COLUMNS);
  const last = ended ? rows.length - 1 : step;
  const first = Math.max(0, last + 1 - COLUMNS);
  const won = new Set();
  for (let one = ended ? found.ranked[0] : null; one; one = one.from) won.add(one);

  function nodeOf(one, i, j) {
    const { from, fate, path, logProb, text = "" } = one;
    const number = from && !text ? format(fate === "finished" ? scoreOf(one, alpha) : logProb) : "";
    const was = follows ? before.nodes.get(keyOf(one)) : undefined;
    const change = follows && before.setting !== setting && !text && changeOf({ fate, number }, was);
    const comes = before !== null && (was?.comes ?? true); // it grows out of its parent
    const is = { won: one.isBest ?? won.has(one), newest: i === step && i > 0 && !ended, changed: change, new: comes };
    const looks = [fate, ...Object.keys(is).filter((name) => is[name])].map((name) => `te-srch-${name}`);
    const at = (k, one) => [(k - first + 0.5) / columns, places[k][rows[k].indexOf(one)] / lanes];
    const [[along, across], [x, y]] = [at(i, one), from ? at(i - 1, from) : at(i, one)];
    const level = i ? (lanes > 7 ? (j % 3) - 1 : (j % 2) - 0.5) : 0;
    const style = { "--along": along, "--across": across, "--from": x, "--side": y };
    const word = text || wordOf(tree, one);
    const title = text ? "" : [textOf(tree, path), change].filter(Boolean).join("; ");
    return {
      ...{ fate, number, comes, word },
      title: title || undefined,
      kind: text ? "te-srch-tag" : isMark(one) ? "te-srch-word te-srch-special" : "te-srch-word",
      look: looks.join(" "),
      style: { ...style, "--level": level, "--letters": word.length, "--own": one.lanes },
      line: from && { x1: x, y1: y, x2: along, y2: across },
      data: { "data-fate": fate, "data-value": logProb, "data-step": path.length },
    };
  }
  const all = rows.slice(first, last + 1).flatMap((row, i) => row.map((one, j) => [one, nodeOf(one, first + i, j)]));
  const shown = all.filter(([{ text }]) => ended || !text);
  const nodes = new Map(shown.map(([one, node]) => [keyOf(one), node]));
  return { tree, setting, whole, nodes, lanes, columns, rolled: first && step + 1 - first };
}

const row = (kind, data, ...cells) => ({ kind, data, cells: cells.map((cell) => [cell].flat()) });

/** Candidates of a step, best first, with their fates. */
function candidatesOf(tree, step) {
  return shownOf(step).map((one) => {
    const { fate, own, logProb, path } = one;
    const space = tree.space && one.token !== EOS ? "" : " ";
    const before = `${path.length > 4 ? "… " : ""}${textOf(tree, path.slice(-4, -1))}${space}`;
    const words = [before, { [isMark(one) ? "italic" : "bold"]: wordOf(tree, one) }];
    const data = { "data-fate": fate, "data-value": logProb };
    return row(`te-srch-${fate}`, data, FATES[fate], words, chance(Math.exp(own), 3), format(logProb));
  });
}

/** Finished sentences, best score first; what greedy search says, where it is not among them. */
function resultsOf(tree, alpha, done, ended) {
  const greedy = greedyOf(tree);
  const noteOf = (one) => (!ended ? "" : one === done[0] ? "★ wins" : isSame(one, greedy) ? "greedy" : "");
  const isMissing = ended && !done.some((one) => isSame(one, greedy));
  return [...done, ...(isMissing ? [greedy] : [])].map((one) => {
    const score = scoreOf(one, alpha);
    const data = { "data-value": score, "data-logprob": one.logProb, "data-length": one.path.length };
    const numbers = [`${one.path.length}`, format(one.logProb), format(score)];
    const words = [textOf(tree, one.path), { italic: noteOf(one) }];
    return row(ended && one === done[0] ? "te-srch-best" : "", data, words, ...numbers);
  });
}

/** What happened in a step. */
function stepWords(tree, { candidates, ends }) {
  const [going, [dropped]] = ["kept", "dropped"].map((fate) => candidates.filter((one) => one.fate === fate));
  const quoted = ({ path }) => ({ exact: (path.length > ENDING ? "… " : "") + textOf(tree, path.slice(-ENDING)) });
  const named = (one) => [quoted(one), ` (${format(one.logProb)})`];
  const more = (found) => (found.length > NAMED ? [[`${found.length - NAMED} more`]] : []);
  const list = (found) => listed([...found.slice(0, NAMED).map(named), ...more(found)]);
  const end = dropped?.token === EOS ? " with its end" : "";
  return [
    ...(going.length ? ["Kept: ", ...list(going), ". "] : ["Nothing goes on. "]),
    ...(ends.length ? ["Finished: ", ...list(ends), ". "] : []),
    ...(dropped ? ["The best that falls out: ", quoted(dropped), `${end} (${format(dropped.logProb)}).`] : []),
  ];
}

/** Who wins, and how much more probable that is than what greedy search says. */
function endWords(tree, { ranked: [best], cut }, { beam, alpha }) {
  const greedy = greedyOf(tree);
  const numbers = ` (log-probability ${format(best.logProb)}, score ${format(scoreOf(best, alpha))}). `;
  let compared = `It is ${format(Math.exp(best.logProb - greedy.logProb))} times as probable as greedy’s.`;
  if (best.logProb < greedy.logProb) compared = "It is less probable than greedy’s, but has the better score.";
  if (isSame(greedy, best)) compared = "Greedy search (a beam of 1) says the same.";
  if (isSame(greedy, best) && beam === 1)
    compared = "A beam of 1 is greedy search: it never comes back to what it let go.";
  const isCut = cut ? "No sentence has ended: this one is cut off. " : "";
  return [{ bold: "Winner: " }, quote(tree, best), numbers, isCut, compared];
}

/** For which length penalties another sentence wins. */
function otherWinner(tree, best, beam) {
  const winners = tree.alphas.map((value) => [value, winnerOf(tree, beam, value)]);
  const other = winners.find(([, one]) => !isSame(one, best))?.[1];
  if (!other) return [];
  const when = winners.filter(([, one]) => isSame(one, other)).map(([value]) => value);
  const lengths = `length ${other.path.length} against ${best.path.length}. `;
  return [`With α = ${when.join(" or ")}, `, quote(tree, other), ` would win: ${format(other.logProb)}, ${lengths}`];
}

/** What the picture shows. */
function finding(tree, { ranked: [best] }, ended, beam) {
  if (!ended) return `Each step keeps the best ${beam > 1 ? `${beam} beginnings` : "beginning"} and drops the rest`;
  const greedy = greedyOf(tree);
  if (best.logProb < greedy.logProb) return "The length penalty makes a less probable sentence win";
  if (!isSame(best, greedy)) return `A beam of ${beam} finds what greedy search has let go`;
  if (beam > 1) return `A beam of ${beam} ends where greedy search ends, too`;
  return "A beam of 1 never sees again what it let go";
}

/** The first step at which the best that is kept is not what greedy search has kept; 0 if there is none. */
export function overtaken(tree, { steps }) {
  const greedy = greedyOf(tree).path;
  const ahead = steps.map(({ candidates }) => candidates.find(({ fate }) => fate === "kept"));
  return 1 + ahead.findIndex((one) => one?.path.some((token, i) => token !== greedy[i]));
}

/** Why the search has stopped, or what has to happen for a sentence to be finished. */
function ruleOf(tree, { steps, ranked }, step, { beam, alpha }) {
  if (step < steps.length) {
    const rest = step ? Math.max(...steps[step - 1].alive.map(({ path }) => tree.rest(path))) : 0;
    const which = beam > 1 ? `among the best ${beam}` : "the best";
    const share = format(100 * rest, rest < 0.01 ? 2 : 0);
    const others = rest > 0 ? `The tokens that are not looked at share at most ${share} %.` : "";
    const finished = `A candidate that ends is finished if it is ${which} of all candidates of its step. `;
    return [finished, others];
  }
  const going = steps.at(-1).candidates.find(({ fate }) => fate === "kept");
  const { length } = ranked[0].path;
  const rivals = ranked.length > 1 ? `one of the ${ranked.length} finished sentences` : "the finished sentence";
  let why = `because nothing in the beam could still beat ${rivals}, even if all the rest of it were certain.`;
  if (!going) why = "because nothing goes on.";
  else if (going.path.length + 1 >= tree.max_len) why = `at its limit, ${tree.max_len} tokens with the start.`;
  return [
    `Score: log-probability divided by ((5 + ${length}) / 6)`,
    { sup: String(alpha) },
    ` = ${format(penalty(length, alpha))} for the winner. `,
    ...otherWinner(tree, ranked[0], beam),
    `The search stops ${why}`,
  ];
}

/** What stands in the details, of what was derived: candidates of the step, finished sentences, the rule. */
export function foldedOf({ tree, found, step, ended, state }) {
  const newest = found.steps[step - 1];
  const tried = row("te-srch-head", {}, `step ${step}`, "candidate", "p(token)", "log-prob.");
  const done = row("te-srch-head", {}, "finished", "length", "log-prob.", "score");
  const candidates = [tried, ...(newest ? candidatesOf(tree, newest) : [])];
  const results = [done, ...resultsOf(tree, state.alpha, ended ? found.ranked : (newest?.best ?? []), ended)];
  return {
    tables: [
      { name: "candidates", label: "Candidates of this step", rows: candidates },
      { name: "results", label: "Finished sentences", rows: results },
    ],
    rule: ruleOf(tree, found, step, state),
  };
}

/**
 * All that is seen.
 * @param {any} state  `beam`, `alpha`, `step`
 * @param {{tree: import("./parts/search.js").Tree, instead?: any}} own  what is searched; what is said in place of the
 *   sentence
 * @param {any}[before]  what was derived before: what another setting changes stays marked until the next action
 */
export function derive({ step: at, beam, alpha }, { tree, instead = null }, before = null) {
  const found = search(tree, beam, alpha);
  const { steps } = found;
  const step = Math.min(at, steps.length);
  const [state, ended] = [{ step, beam, alpha }, step === steps.length];
  const picture = pictureOf(tree, found, state, before?.picture ?? null);
  const place = `step ${step} of ${steps.length}${picture.rolled ? `, the last ${picture.rolled} shown` : ""}`;
  const says = [finding(tree, found, ended, beam)];
  const words = instead ?? (ended ? endWords(tree, found, state) : step ? stepWords(tree, steps[step - 1]) : NOTHING);
  const told = `${tree.source && `${tree.source}. `}Beam size ${beam}, alpha ${alpha}, ${place}. ${plain(words)}`;
  return { tree, found, state, step, ended, picture, place, says, words, told };
}
