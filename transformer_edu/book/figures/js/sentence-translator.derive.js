// What the figure shows of a translation, and the translation, which runs in a thread. Nothing here draws.

import { format, plain, plural } from "./core/format.js";
import { takenWith } from "./parts/taking.js";

export const LEAST_SURE = -1; // in place of a step: the one of which the model was least sure
export const LIMITS = { extra: 12, best: 5, beam: 5, penalty: 1 }; // `extra`: tokens more than the source has
const SMALL = 1e6; // bytes of a file that may come without being asked for
const UNSURE = 0.6;
const TITLE = 70; // characters: one line
const SEARCHES = { greedy: "Greedy", beam: `Beam of ${LIMITS.beam}` };

/**
 * All that the figure shows of a translation, and on the way as much of it as there is. It runs in a thread of its own.
 * Python's `answered` computes the same.
 */
export function* translation(engine, model, { sentence, search, begun, changes, limits }) {
  const source = model.source.encode(sentence);
  if (!source.length || source.length > limits.most) {
    yield { count: source.length };
    return;
  }
  const limit = Math.min(source.length + limits.extra, model.config.max_len);
  const read = source.map((id) => model.source.token(id));
  const cross = `decoder.${model.config.num_layers - 1}.cross`;

  function stepOf(id, logits, heads, row) {
    const chances = engine.probabilities(engine.possible(logits));
    const weights = read.map((_, j) => heads.reduce((sum, one) => sum + engine.rowOf(one, row)[j], 0) / heads.length);
    const best = engine.highest(chances, limits.best).map((one) => [one, model.target.token(one), chances[one]]);
    const chosen = id ?? best[0][0];
    return { id: chosen, token: model.target.token(chosen), chance: chances[chosen], best, weights };
  }
  const ending = ({ ids, logProb }) => ({
    text: model.target.decode(ids),
    whole: ids.at(-1) === engine.EOS,
    chance: Math.exp(logProb),
    score: logProb / engine.normalizer(ids.length - 1, limits.penalty),
  });

  const memory = engine.encode(model, source, { changes });
  if (search === "beam") {
    const options = { size: limits.beam, penalty: limits.penalty, limit, changes, memory };
    const partial = engine.beamSteps(model, source, { ...options, begun: [engine.BOS, ...begun] });
    let found = partial.next();
    for (; !found.done; found = partial.next()) {
      const [, ...written] = found.value[0].ids;
      const steps = written.map((id) => ({ id, token: model.target.token(id), best: [], weights: [] }));
      yield { source: read, steps, ends: found.value.map(ending) };
    }
    const { ids } = found.value[0];
    const record = engine.recording();
    const logits = engine.decode(model, ids.slice(0, -1), memory, { changes, record });
    const steps = ids.slice(1).map((id, i) => stepOf(id, engine.rowOf(logits, i), record.maps[cross], i));
    yield { source: read, steps, ends: found.value.map(ending), done: true };
    return;
  }
  const cache = engine.startCache(model);
  const ids = [engine.BOS];
  const steps = [];
  let logProb = 0;
  while (ids.length < limit && ids.at(-1) !== engine.EOS) {
    const record = engine.recording();
    const logits = engine.decode(model, ids.slice(-1), memory, { changes, record, cache });
    steps.push(stepOf(begun[steps.length], engine.rowOf(logits, 0), record.maps[cross], 0));
    ids.push(steps.at(-1).id);
    logProb += Math.log(steps.at(-1).chance);
    const done = ids.length >= limit || ids.at(-1) === engine.EOS;
    yield { source: read, steps, ends: [ending({ ids, logProb })], done };
  }
}

/** What makes an answer another one. */
export const requested = ({ sentence, taken, search, begun }) => ({ sentence, taken, search, begun });
export const keyOf = (one) => JSON.stringify(requested(one));
/** Answers that are known, by what was asked. */
export const answersOf = (recorded) => new Map(recorded.map((one) => [keyOf(one), { ...one, done: true }]));
export const textOf = (answer) => answer?.ends[0].text;
/** Whether any text will do: the model has pieces of words. */
export const isFree = ({ line }) => !Object.keys(line.kinds).length;
/** The model's file: how large, and whether it waits for a click. */
export const fileOf = ({ model_file: { bytes } }) => ({ size: `${(bytes / 1e6).toFixed(1)} MB`, big: bytes > SMALL });
/** What the model is asked: with what it computes otherwise, without the parts that are taken away. */
export function questionOf({ parts, line }, request) {
  const changes = parts.filter(({ part }) => request.taken.includes(part)).map((one) => one.changes);
  return { ...request, changes: Object.assign({}, ...changes), limits: { most: line.most, ...LIMITS } };
}

/** A token in a sentence, without the mark of a word's beginning. */
const named = (token) => ({ token: token.replace(/^·(?=.)/, "") });
const percent = (share) => `${Math.round(100 * share)} %`;
/** As many words as fit into the title beside some others. */
function shortened(text, beside) {
  const fits = text.slice(0, TITLE - beside.length + 1).replace(/\s+\S*$/, "");
  return { italic: text.length + beside.length <= TITLE ? text || "nothing" : `${fits} …` };
}

/** The step at which the likeliest token had the smallest probability. */
const leastSure = ({ steps }) =>
  steps.reduce((least, { best }, i) => (best.length && best[0][2] < steps[least].best[0][2] ? i : least), 0);

/** What to try: the second likeliest token where the figure opens. */
export function inviteOf(state) {
  const [opened] = state.recorded;
  const { big } = fileOf(state);
  const [, [, second]] = (opened.steps[state.step] ?? opened.steps[leastSure(opened)]).best;
  return [
    big ? "load the model, then choose " : "choose ",
    named(second),
    `${big ? "" : ", the second likeliest,"} and see what follows. Or type a sentence.`,
  ];
}

/** What is asked for, and the answer to it, if that is known; `wrong`: with the sentence; null if nothing is. */
function requestOf(state, { answers, read: { words, wrong } }) {
  const request = { ...requested(state), sentence: isFree(state) ? state.sentence.trim() : words.join(" ") };
  const key = wrong ? "" : keyOf(request);
  const known = answers.get(key);
  if (known?.count === undefined) return { request, key, known, wrong, waits: !wrong && !known };
  const most = `At most ${state.line.most} tokens, please: it is cut into ${known.count}.`;
  return { request, key: "", known: undefined, wrong: [known.count ? most : "Type a sentence."], waits: false };
}

/** The step that is shown. */
function placeOf(chosen, answer, isStale, before) {
  const last = answer.steps.length - 1;
  if (chosen >= 0) return Math.min(chosen, last);
  if (isStale) return Math.min(before?.at ?? 0, last);
  return answer.done ? leastSure(answer) : last;
}

/**
 * All that is drawn.
 * @param {any} state  the traits
 * @param {any} around  `read`: words of the sentence, and what is `wrong` with it; `answers` that are known; `news`, the
 *   answer that is being computed, as far as it is; `stage` of the model; `failed`: why there is none; `trouble` with an
 *   answer; `lastChosen` token; `before`, what was derived last
 */
export function derive(state, around) {
  const { answers, news, before, stage } = around;
  const asked = requestOf(state, around);
  const partial = news && keyOf(news) === asked.key ? news : null;
  const answer = asked.known ?? partial ?? before?.answer ?? answers.get(keyOf(state.recorded[0]));
  const isStale = keyOf(answer) !== asked.key; // it is none to what is asked
  const at = placeOf(state.step, answer, isStale, before);
  const step = answer.steps[at];
  /** Another answer to the same sentence, if it is known. */
  const other = (changes) => textOf(answers.get(keyOf({ ...answer, begun: [], ...changes })));
  const seen = answer.source
    .map((token, j) => ({ token, weight: step.weights[j] ?? 0 }))
    .filter(({ weight }) => weight >= 0.1)
    .sort((a, b) => b.weight - a.weight)
    .slice(0, 3);
  const texts = { greedy: other({ search: "greedy" }), whole: other({ taken: [] }) };
  const usual = other({ taken: [], search: "greedy" });
  const now = { ...asked, ...texts, answer, isStale, at, step, seen, usual, parts: state.parts, free: isFree(state) };
  const { big } = fileOf(state);
  const waiting = (changes) => big && stage !== "ready" && !answers.has(keyOf({ ...requested(state), ...changes }));
  const [words, status] = [story(now), situation(now, big, around)];
  return {
    ...now,
    read: readOf(now, state),
    written: writtenOf(answer, (before?.answer ?? answer).steps),
    rivals: rivalsOf(now, state, waiting),
    ends: endsOf(now),
    searches: Object.entries(SEARCHES).map(([value, text]) => ({ value, text, waits: waiting({ search: value }) })),
    switches: state.parts.map(({ part, name }) => {
      const changes = { begun: [], taken: takenWith(state, part) };
      return { name, changes, isTaken: state.taken.includes(part), waits: waiting(changes) };
    }),
    says: finding(now),
    words,
    status,
    told: isStale
      ? `${asked.waits ? `${wanted(state, around)}. ` : ""}${plain(status)}`
      : `${textOf(answer)}. ${plain(words)} ${plain(status)}`,
  };
}

/** The tokens that were read, and how much the step looks at each. */
function readOf({ answer, step, at, seen }, { languages: [from], line }) {
  const looks = seen.map(({ token, weight }) => `${token} ${format(weight)}`).join(", ");
  return {
    tokens: answer.source.map((token, j) => ({ token, weight: step.weights[j] ?? 0 })),
    label: `${from} tokens: ${answer.source.join(" ")}. Looked at: ${looks}`,
    note:
      `The encoder read them at once, into ${plural(answer.source.length, "vector")} of ${line.width} numbers. ` +
      `Shade: how much step ${at + 1} looks at each.`,
  };
}

/** The tokens that were written; those that are others than before are fresh. */
const writtenOf = ({ steps, begun }, before) =>
  steps.map(({ token }, i) => ({ token, isForced: i < begun.length, isFresh: token !== before[i]?.token }));

/** With what to begin for a token to come at the step; what would be written anyway need not be forced. */
function begunWith(id, { answer, at, step }, search) {
  const before = answer.steps.slice(0, at);
  let begun = [...before.map((one) => one.id), id];
  const isUsual = (one, place) => one === (before[place] ?? step).best[0]?.[0];
  if (search === "greedy") while (begun.length && isUsual(begun.at(-1), begun.length - 1)) begun = begun.slice(0, -1);
  return begun;
}

/** The likeliest tokens of the step, to go on from; null where there is none. */
const rivalsOf = (now, { search, begun }, waiting) =>
  Array.from({ length: LIMITS.best }, (_, i) => {
    if (!now.step.best[i]) return { token: null, chance: 0, isOff: true, label: "no token", waits: waiting({ begun }) };
    const [id, token, chance] = now.step.best[i];
    const isTaken = id === now.step.id;
    const from = begunWith(id, now, search);
    const label = `${token}, probability ${format(chance)}: ${isTaken ? "written" : "go on from it"}`;
    return { token, chance, isOff: isTaken, isTaken, label, begun: from, waits: waiting({ begun: from }) };
  });

/** The endings that were found, and what the model writes with all its parts. */
function endsOf({ answer, greedy, whole }) {
  const { search, done, ends, steps, taken } = answer;
  const beam = search === "beam";
  const found = done ? "The best endings it found, by score" : `${LIMITS.beam} answers side by side`;
  const heading = beam ? found : "The whole translation, and its score";
  return {
    heading: heading + (done && !ends[0].whole ? `, stopped after ${plural(steps.length, "token")}` : ""),
    items: ends.map((end) => ({
      text: end.text + (end.whole || !done ? "" : " …"),
      isGreedy: beam && end.text === greedy,
      score: format(end.score),
    })),
    without: taken.length && whole !== undefined ? ["With all its parts: ", { italic: whole }] : [],
  };
}

/** The finding. */
function finding({ answer, step, at, greedy, seen, parts, free }) {
  if (!answer.done) return ["It writes token by token …"];
  if (answer.taken.length) {
    const names = parts.filter(({ part }) => answer.taken.includes(part)).map(({ name }) => name);
    const without = `Without ${names.length > 2 ? `${names.length} parts` : names.join(" and ")}: `;
    return [without, shortened(textOf(answer), without)];
  }
  if (answer.begun.length) {
    const rest = answer.steps.slice(answer.begun.length).filter(({ token }) => token !== "<eos>");
    const words = rest.map(({ token }) => token.replace("·", " ")).join(free ? "" : " ");
    const { token } = answer.steps[answer.begun.length - 1];
    return ["After ", named(token), " it goes on: ", shortened(words.trim(), `After  it goes on: ${token}`)];
  }
  if (answer.search === "beam" && greedy !== undefined) {
    if (greedy === textOf(answer)) return ["Greedy search found the beam’s best ending, too"];
    return ["The beam’s best ending is one that greedy search missed"];
  }
  const [[, first, chance], [, second, next]] = step.best;
  if (chance < UNSURE)
    return ["Here it wavers: ", named(first), ` ${percent(chance)}, `, named(second), ` ${percent(next)}`];
  if (at === leastSure(answer)) return ["Sure of every token: even ", named(first), ` has ${percent(chance)}`];
  return [named(first), ` has ${percent(chance)}`, ...(seen.length ? ["; it looks at ", named(seen[0].token)] : [])];
}

/** What the step looked at. */
function story({ answer, step, seen }) {
  if (!step.best.length) return ["The beam goes on with its best answers until none can become better."];
  const looks = seen.slice(0, 2).flatMap(({ token, weight }, i) => [i ? " and " : "", { token }, ` ${format(weight)}`]);
  const { chance } = answer.ends[0];
  return [
    "To write ",
    { token: step.token },
    " it looked at ",
    ...(looks.length ? looks : ["no token much"]),
    `. Probability of all: ${chance < 0.0005 ? "< 0.001" : format(chance, 3)}.`,
  ];
}

/** What stands beside the button that loads, or below the line. */
function situation({ wrong, waits }, big, { stage, failed, trouble }) {
  if (failed) return [`The model could not be loaded (${failed}). Everything else stays as it is.`];
  if (trouble) return [`This could not be computed (${trouble}).`];
  if (wrong) return wrong;
  if (stage === "ready") return [waits ? "Translating …" : big ? "It runs in this page." : ""];
  if (stage === "loading") return ["The model is being loaded …"];
  if (!big) return [""];
  return [waits ? "This needs the model: load it first." : "for all that is greyed, and sentences of your own"];
}

/** What is to be computed, in words. */
const wanted = ({ sentence, search, taken, parts, begun }, { lastChosen }) =>
  [
    sentence,
    search === "beam" ? `beam of ${LIMITS.beam}` : "greedy search",
    ...parts.filter(({ part }) => taken.includes(part)).map(({ name }) => `without ${name}`),
    ...(begun.length ? [`from ${lastChosen} on`] : []),
  ].join(", ");
