// Recorded training runs: their curves, and at a moment what the model writes and where it looks. Nothing draws.
import { cellsOf } from "./core/cells.js";
import { compared } from "./core/changed.js";
import { cividis, css } from "./core/colour.js";
import { format, plain, plural } from "./core/format.js";
import { mapMatrix } from "./core/math.js";

const END = "<eos>";
const ENDS = { [END]: "(end)", "<unk>": "(unknown)" };
const SCALE = 255; // the byte that stands for a weight of 1
const [FAINT, MOVED] = [0.05, 0.02]; // a weight below is not printed; a growth below is not worth a word
const FIRST = 5; // words of a sentence without an end
const ROOM = 1.04; // above the highest point of a curve

const shown = (word) => ENDS[word] ?? word;
const percent = (share) => `${format(100 * share, 1).replace(/\.0$/, "")}\u00a0%`;
const fromTo = (values, show = format) => [values.map((value) => show(value)).join(" → ")];

/** Weights (target, source) of one head, out of the bytes of a moment. */
export function weightsOf({ replay, layer, head }, look) {
  const [rows, columns] = [replay.target_tokens.length, replay.source_tokens.length];
  const bytes = atob(look.weights);
  const start = (layer * replay.heads + head) * rows * columns;
  return replay.target_tokens.map((_, i) =>
    replay.source_tokens.map((_, j) => bytes.charCodeAt(start + i * columns + j) / SCALE),
  );
}

const isRight = ({ written }, right) => String(written) === String(right);

/** For each run, the moment that first has the right sentence, or -1. */
export const firstRight = ({ runs, target_tokens: right }) =>
  runs.map((run) => run.moments.findIndex((look) => isRight(look, right)));

/** A round number of steps between ticks, at most four of them. */
function ticksTo(top) {
  const rough = top / 4,
    power = 10 ** Math.floor(Math.log10(rough));
  const size = [1, 2, 2.5, 5, 10].find((factor) => factor * power >= rough) * power;
  return Array.from({ length: Math.floor(top / size + 1e-9) + 1 }, (_, i) => i * size);
}

/** Curves over the steps, in percent of the drawing. @param {[number, number][][]} curves  of each run, [step, value] */
function chartOf(what, curves, decimals, least = 0) {
  const [last, most] = [0, 1].map((i) => Math.max(...curves.flat().map((point) => point[i])));
  const top = ROOM * Math.max(least, most);
  const placeOf = (step, value) => [(100 * step) / last, 100 - (100 * value) / top];
  const levels = ticksTo(top).map((value) => ({ at: placeOf(0, value)[1], text: format(value, decimals) }));
  return {
    ...{ last, placeOf },
    curves: curves.map((curve) => curve.map((point) => placeOf(...point).map((at) => at.toFixed(2))).join(" ")),
    ends: curves.map((curve) => [curve[0], curve.at(-1)].map((point) => placeOf(...point))),
    rules: levels.map(({ at }) => at),
    axes: [
      ...[
        { kind: "what", text: what },
        { kind: "steps", text: "training steps" },
      ],
      ...levels.map(({ at, text }) => ({ kind: "y", text, style: { top: `${at}%` } })),
      ...ticksTo(last).map((step) => ({ kind: "x", text: String(step), style: { left: `${placeOf(step, 0)[0]}%` } })),
    ],
  };
}

/** Loss and learning rate of the runs over the steps, and below what label smoothing does not let the loss. */
export function chartsOf({ moments, vocabulary: size, smoothing, runs, every }) {
  const other = smoothing / size,
    right = 1 - smoothing + other;
  const losses = runs.map((run) => run.moments.map(({ loss }, i) => [moments[i], loss]));
  const rates = runs.map((run) => run.rates.map((rate, i) => [i ? Math.min(i * every, moments.at(-1)) : 1, rate]));
  return {
    floor: smoothing ? -(right * Math.log(right) + (size - 1) * other * Math.log(other)) : 0,
    loss: chartOf("loss", losses, 0, Math.log(size)),
    rate: chartOf("learning rate", rates, 3),
  };
}

/** The moment whose step is nearest. */
export const nearestTo = ({ moments }, step) =>
  moments.reduce((best, one, i) => (Math.abs(one - step) < Math.abs(moments[best] - step) ? i : best), 0);

/** A sentence: its words, those marked that stand in it in the order of the right one, and those that are new. */
function lineOf(look, right, { most = Infinity, before = null } = {}) {
  const { written } = look;
  const isEndless = written.at(-1) !== END;
  const changes = compared(written, right);
  const words = written.map((word, i) => {
    const key = `${word} ${written.slice(0, i).filter((one) => one === word).length}`;
    const isNew = before !== null && !before.words.some((one) => one.key === key);
    return { key, text: shown(word), isGood: changes[i].was === undefined, isNew };
  });
  return { words: words.slice(0, isEndless ? most : -1), isEndless, isDone: isRight(look, right) };
}

/** The place of the number that grew most, -1 when none did by as much as is worth a word. */
function grownMost(now, then) {
  const growth = now.map((value, i) => value - then[i]),
    most = Math.max(...growth);
  return most >= MOVED ? growth.indexOf(most) : -1;
}

/** What changed since the moment before: the weight between corresponding words and the right word that grew most. */
function changesOf(state, looks, at) {
  const { moments, target_tokens: target, source_tokens: source, alignment } = state.replay;
  if (!at) return { cell: null, words: [{ bold: "No correction yet: " }, "random weights, random words."], more: [] };
  const [now, then] = [looks[at], looks[at - 1]];
  const [after, before] = [now, then].map((look) => weightsOf(state, look));
  const word = grownMost(now.p, then.p);
  const [pairs, was] = [after, before].map((weights) => alignment.map(([i, j]) => weights[j][i]));
  const [column, row] = alignment[grownMost(pairs, was)] ?? [];
  const since = { bold: `Since step ${moments[at - 1]}: ` };
  const grown = (values) => [", ", fromTo(values), "."];
  const looksMore = () => [
    ...["to write ", { exact: shown(target[row]) }, " it looks more at ", { exact: shown(source[column]) }],
    ...grown([before[row][column], after[row][column]]),
  ];
  const surer = () => ["; surer of ", { exact: shown(target[word]) }, ...grown([then.p[word], now.p[word]])];
  return {
    cell: row === undefined ? null : [row, column],
    words: [since, ...(row === undefined ? ["no word looks much more at its own."] : looksMore())],
    more: [
      ...[since, "loss ", fromTo([then.loss, now.loss])],
      ...[", unseen sentences right ", fromTo([then.exact, now.exact], percent)],
      ...(word < 0 ? ["."] : surer()),
    ],
  };
}

/** What the chosen run shows. */
function finding({ replay, run }) {
  const { moments } = replay;
  const { [run]: mine, 0: first } = firstRight(replay);
  if (mine < 0) return `Within ${plural(moments.at(-1), "step")} this run never writes the sentence`;
  return run === 0 || first < 0 || mine === first
    ? "As the loss falls, its words come right and it learns where to look"
    : `This run gets there too: at step ${moments[mine]}, not ${moments[first]}`;
}

/** The first moment and the last, of the chosen run and head, to compare with: maps without numbers. */
export function endsOf({ replay, run, layer, head }) {
  const { moments, runs, target_tokens: right } = replay;
  return [0, -1].map((i) => {
    const look = runs[run].moments.at(i);
    const square = (weight, y, x) => ({ x, y, width: 0.96, height: 0.95, fill: css(cividis(weight)) });
    return {
      ...{ step: moments.at(i), loss: look.loss, text: format(look.loss), line: lineOf(look, right, { most: FIRST }) },
      squares: mapMatrix(weightsOf({ replay, layer, head }, look), square).flat(),
    };
  });
}

/**
 * All that is drawn, but the charts.
 * @param {any} state  `replay`, `step`, `run`, `layer`, `head` @param {any}[before]  what was derived before: what is
 *   another now stays marked until the next change
 */
export function derive(state, before = null) {
  const { replay, step, run, layer, head } = state;
  const whole = JSON.stringify([step, run, layer, head]);
  if (before?.replay === replay && before.whole === whole) return before;
  const { moments, runs, source_tokens: source, target_tokens: target } = replay;
  const from = before?.replay === replay ? before : null;
  const [at, looks] = [moments.indexOf(step), runs[run].moments];
  const look = looks[at];
  const names = { rows: target.map(shown), columns: source };
  const changes = changesOf(state, looks, at);
  const [text, was] = [format(look.loss), from?.now.text];
  return {
    ...{ replay, whole, names, at, run, layer, head, step, value: look.loss, ...changes },
    says: [finding(state)],
    cells: cellsOf(weightsOf(state, look), { ...names, decimals: 2, quiet: FAINT, before: from?.cells }),
    now: {
      ...{ step, text, loss: look.loss, was: was === text ? undefined : was },
      line: lineOf(look, target, { before: from?.now.line }),
    },
    rate: look.rate,
    p: look.p.map((value, i) => ({ word: shown(target[i]), value, text: format(value) })),
    told: `${runs[run].name}, step ${step}, layer ${layer + 1}, head ${head + 1}. ${plain(changes.words)}`,
  };
}

/** All heads, for a list. */
export const headsOf = ({ maps, heads }) =>
  maps.flatMap((_, layer) =>
    Array.from({ length: heads }, (_, head) => ({
      value: `${layer} ${head}`,
      label: `layer ${layer + 1}, head ${head + 1}`,
    })),
  );

/** How it was measured. */
export const notesOf = ({ seed, held_out_sentences: count, vocabulary: size }, floor) =>
  "Recorded runs of one model: first weights, sentences and their order are the same in each " +
  `(seed ${seed}). Loss: nats per token on ${count} sentences never trained on. Knowing nothing gives each of the ` +
  `${size} words 1/${size} = ${format(1 / size, 3)} and costs ln ${size} = ${format(Math.log(size))}; label smoothing ` +
  `does not let it below ${format(floor)}. A row of the map asks for its word, given the right words before it. ` +
  "Underlined: words of the right sentence, in order. Shaded: words that were not there before.";

/** Questions about the runs that are recorded; those that none of them answers are left out. */
export function questions(state) {
  const { moments, runs } = state.replay;
  const first = firstRight(state.replay);
  const [some, never] = [first.findIndex((at) => at > 0), first.indexOf(-1)];
  const losses = () => [0, -1].map((at) => format(runs[never].moments.at(at).loss));
  return [
    some >= 0 && {
      ask: ["catch the first right sentence"],
      done: () => state.step === moments[first[state.run]],
      tell: [`Of the unseen sentences, ${percent(runs[some].moments[first[some]].exact)} are right by then.`],
      show: () => state.set({ run: some, step: moments[first[some]] }),
    },
    some >= 0 &&
      never >= 0 && {
        ask: ["find a rate that never gets there"],
        done: () => first[state.run] < 0,
        tell: [`Its loss falls from ${losses().join(" to ")} only.`],
        show: () => state.set({ run: never, step: moments.at(-1) }),
      },
  ].filter(Boolean);
}
