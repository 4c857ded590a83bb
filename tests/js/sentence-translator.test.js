import assert from "node:assert/strict";
import { test } from "node:test";
import * as engine from "../../transformer_edu/book/engine/js/engine.js";
import { plain } from "../../transformer_edu/book/figures/js/core/format.js";
import * as derived from "../../transformer_edu/book/figures/js/sentence-translator.derive.js";
import { close, torch } from "./numbers.js";

const { opened, own, answers, file } = torch;
const model = engine.readModel(Uint8Array.from(Buffer.from(file, "base64")));
const around = { answers: derived.answersOf(opened.recorded), news: null, stage: "asked", before: null };
const words = opened.sentence.split(" ");

/** What is seen of another state than the opened one. */
const shown = (changes = {}, more = {}) =>
  derived.derive({ ...opened, ...changes }, { ...around, read: { words, wrong: null }, ...more });
const [greedy, branch, beam, order] = opened.recorded;
const waits = (list) => list.map((one) => one.waits);

test("every answer is torch's: tokens, probabilities, weights, endings", () => {
  assert.ok(answers.length > 4);
  for (const { sentence, taken, search, begun, source, steps, ends } of answers) {
    const question = derived.questionOf(own, { sentence, taken, search, begun });
    const all = [...derived.translation(engine, model, question)];
    const found = all.at(-1);
    assert.ok(found.done && all.slice(0, -1).every(({ done }) => !done));
    assert.deepEqual([found.source, found.steps.map(({ token }) => token)], [source, steps.map(({ token }) => token)]);
    found.steps.forEach((step, i) => {
      assert.deepEqual(step.best[0].slice(0, 2), steps[i].best[0].slice(0, 2));
      close([step.chance, ...step.best.map((one) => one[2])], [steps[i].chance, ...steps[i].best.map((one) => one[2])]);
      close(step.weights, steps[i].weights);
    });
    assert.deepEqual(
      found.ends.map(({ text, whole }) => [text, whole]),
      ends.map(({ text, whole }) => [text, whole]),
    );
    close(
      found.ends.flatMap(({ chance, score }) => [chance, score]),
      ends.flatMap(({ chance, score }) => [chance, score]),
    );
  }
});

test("a sentence that is too long, or none, is counted and not translated", () => {
  const count = (sentence, limits) => {
    const question = derived.questionOf(own, { sentence, taken: [], search: "greedy", begun: [] });
    return [...derived.translation(engine, model, { ...question, limits: { ...question.limits, ...limits } })];
  };
  assert.deepEqual(count("a hen sings", { most: 2 }), [{ count: 3 }]);
  assert.deepEqual(count("", {}), [{ count: 0 }]);
  const known = (found) => new Map([...around.answers, [derived.keyOf({ ...greedy, sentence: "x" }), found]]);
  const said = (found) => shown({ sentence: " x " }, { answers: known(found), before: shown() });
  assert.match(plain(said({ count: 45 }).status), /^At most 40 tokens, please: it is cut into 45\.$/);
  assert.equal(plain(said({ count: 0 }).status), "Type a sentence.");
  assert.deepEqual([said({ count: 0 }).waits, said({ count: 0 }).answer.sentence], [false, opened.sentence]);
});

test("it opens where it wavers, and says what each recorded answer shows", () => {
  const now = shown();
  assert.equal(now.at, opened.step);
  assert.equal(shown({ step: derived.LEAST_SURE }).at, opened.step);
  assert.equal(plain(now.says), "Here it wavers: . 32 %, in 23 %");
  assert.match(plain(now.words), /^To write \. it looked at .*Probability of all: 0\.\d{3}\.$/);
  const says = ({ begun, search, taken }) => plain(shown({ begun, search, taken, step: -1 }).says);
  assert.equal(says(branch), "After in it goes on: the rain.");
  assert.equal(says(beam), "The beam’s best ending is one that greedy search missed");
  assert.match(says(order), /^Without word order: A bicyclist/);
  assert.deepEqual(shown({ taken: order.taken }).ends.without[1], { italic: greedy.ends[0].text });
  const better = shown({ search: "beam" }).ends.items;
  assert.deepEqual([better.length, better.findIndex(({ isGreedy }) => isGreedy) > 0], [5, true]);
});

test("a rival leads to what is recorded, and to nothing that would be written anyway", () => {
  const { rivals } = shown();
  assert.deepEqual(rivals[1].begun, branch.begun);
  assert.deepEqual([rivals[0].begun, rivals[0].isTaken, rivals[0].isOff], [[], true, true]);
  assert.deepEqual(waits(rivals), [false, false, true, true, true]);
  const now = shown({ search: "beam" });
  assert.ok(now.rivals.every(({ begun }) => begun.length === now.at + 1 && begun.at(-1) !== undefined));
  const back = shown({ begun: branch.begun }).rivals;
  assert.deepEqual([back[0].begun, back[1].isTaken, waits(back.slice(0, 2))], [[], true, [false, false]]);
});

test("what needs the model waits until it is there", () => {
  assert.deepEqual(waits(shown().switches), [false, false, false]);
  assert.deepEqual(waits(shown({ search: "beam" }).switches), [true, true, true]);
  const now = shown({ search: "beam", taken: ["order"] }, { lastChosen: "·in", before: shown() });
  assert.deepEqual([now.waits, now.isStale, now.answer.search], [true, true, "greedy"]);
  const later = shown({ search: "beam", taken: ["order"], step: -1 }, { before: shown({ step: 3 }) });
  assert.equal(later.at, 3, "the step stays until there is another answer");
  assert.equal(now.told, `${opened.sentence}, beam of 5, without word order. This needs the model: load it first.`);
  const ready = shown({ search: "beam" }, { stage: "ready" });
  assert.ok(![...ready.switches, ...ready.searches, ...ready.rivals].some((one) => one.waits));
  assert.match(plain(shown({}, { failed: "no thread" }).status), /could not be loaded \(no thread\)/);
});

test("an answer on its way is shown as far as it is, and only to what is asked", () => {
  const request = { sentence: "Ein Hund.", taken: [], search: "greedy", begun: [] };
  const news = { ...request, source: ["·Hund", "."], steps: greedy.steps.slice(0, 2), ends: greedy.ends, done: false };
  const now = shown({ ...request, step: -1 }, { news, stage: "ready", before: shown() });
  assert.deepEqual([now.at, now.isStale, plain(now.says)], [1, false, "It writes token by token …"]);
  assert.equal(shown({ ...request, step: 7 }, { news, before: shown() }).at, 1, "no step beyond what is written");
  assert.deepEqual(shown(request, { news: { ...news, sentence: "Ein" }, before: shown() }).answer, shown().answer);
});

test("only tokens that are others than before appear", () => {
  const fresh = (now) => now.written.flatMap(({ isFresh }, i) => (isFresh ? [i] : []));
  assert.deepEqual(fresh(shown()), []);
  const now = shown({ begun: branch.begun }, { before: shown() });
  const count = branch.steps.length;
  assert.deepEqual(
    fresh(now),
    Array.from({ length: count - opened.step }, (_, i) => opened.step + i),
  );
  assert.deepEqual(now.written.filter(({ isForced }) => isForced).length, branch.begun.length);
  assert.deepEqual(fresh(shown({ begun: branch.begun, step: 1 }, { before: now })), []);
});
