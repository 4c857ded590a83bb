import assert from "node:assert/strict";
import { test } from "node:test";
import * as engine from "../../transformer_edu/book/engine/js/engine.js";
import { plain } from "../../transformer_edu/book/figures/js/core/format.js";
import { takenWith } from "../../transformer_edu/book/figures/js/parts/taking.js";
import { derive, memory } from "../../transformer_edu/book/figures/js/playground.derive.js";
import { close, torch } from "./numbers.js";

const [grammar, own] = torch.models.map(({ file, state, answers }) => {
  const model = engine.readModel(Uint8Array.from(Buffer.from(file, "base64")), undefined);
  return { model, state, answers, known: memory(state) };
});
const COW = "the small black cow sees the fox";

/** What is shown of a state. `one`: the grammar's model, or the other. */
function shown(changes, before = null, { one = grammar, ...more } = {}) {
  const state = { ...one.state, ...changes };
  const words = engine.wordsOf(state.sentence);
  const wrong = words.length && words.every((word) => one.known.words.has(word)) ? null : ["refused"];
  const isOpened = state.sentence === one.state.sentence && !state.taken.length && state.token === one.state.token;
  return derive(state, { known: one.known, model: one.model, read: { words, wrong }, isOpened, ...more }, before);
}
const begun = shown({});
const said = (now) => [now.says, now.words].map(plain);
const fresh = ({ more, queries }) => queries.filter((_, i) => more[i]["data-was"] !== undefined);

test("words and weights are torch's, with any part taken away, also of a model of one's own", () => {
  assert.ok(grammar.answers.length >= 7);
  for (const one of [grammar, own]) {
    for (const { source, taken, written, weights } of one.answers) {
      const found = one.known.ask(one.model, source, taken);
      assert.deepEqual(found.written, written, taken.join());
      close(found.weights, weights, taken.join());
      for (const token of written.slice(0, 12).keys()) {
        const { moreKeys } = shown({ sentence: source.join(" "), taken, token }, null, { one });
        close(
          moreKeys.map((key) => key["data-value"]),
          weights[token],
        );
      }
    }
  }
});

test("it opens with what was recorded, and without a model knows nothing else", () => {
  const asleep = { known: memory(grammar.state), model: null };
  assert.equal(shown({}, null, asleep).answer, grammar.state.recorded);
  assert.deepEqual(said(begun), [
    "Before each French word, it looks at the English",
    "To write chat, it looks at cat 0.86 and small 0.13. ",
  ]);
  assert.equal(begun.note.text, "It knows 88 words: click one to change it");
  assert.equal(plain(shown({ token: 3 }).says), "noir looks at black");
  const instead = ["The model is being loaded …"];
  const waiting = shown({ sentence: "this hen sleeps" }, begun, { instead, ...asleep });
  assert.deepEqual([waiting.answer, waiting.words, waiting.told], [begun.answer, instead, instead[0]]);
});

test("a changed word changes what belongs to it; words and weights stay marked until the next change", () => {
  assert.deepEqual(fresh(begun), []);
  const cow = shown({ sentence: COW }, begun);
  assert.deepEqual(said(cow), [
    "1 English word changed: so did 4 of 7 French words",
    "To write vache, it looks at cow 0.99. ",
  ]);
  assert.deepEqual(fresh(cow), ["la", "petite", "vache", "noire"]);
  assert.deepEqual(cow.more[2], { "data-was": "chat", "data-gone": undefined, "aria-label": "vache, new, was chat" });
  const marked = cow.moreKeys.map((key) => [key["data-new"], key["data-was"]]);
  assert.deepEqual(marked.slice(0, 4), [
    [undefined, undefined],
    [undefined, "0.13"],
    [undefined, undefined],
    ["cat", "0.86"],
  ]);
  assert.equal(
    cow.told,
    `${COW}: la petite vache noire voit le renard. New: la petite vache noire. Before: small 0.13, cat 0.86, fox 0.01. ` +
      "To write vache, it looks at cow 0.99. ",
  );
  assert.deepEqual(cow.appears, [0, 1, 2, 3]);
  const elsewhere = shown({ sentence: COW, token: 5 }, cow);
  assert.deepEqual([fresh(elsewhere), elsewhere.placed], [fresh(cow), cow.placed]);
  assert.deepEqual(fresh(shown({ sentence: "the small black cow sees a fox" }, elsewhere)), ["un"]);
  assert.deepEqual(fresh(shown({}, { queries: cow.queries })), [], "it starts again");
});

test("a word left out is counted, and stays between the others", () => {
  const now = shown({ sentence: "the small cat sees the fox" }, begun);
  assert.equal(plain(now.says), "1 English word changed: so did 1 of 7 French words");
  assert.deepEqual([now.more[3]["data-gone"], fresh(now)], ["noir", []]);
  const more = shown({}, now);
  assert.deepEqual(
    [plain(more.says), more.more[3]["data-was"]],
    ["1 English word changed: so did 1 of 7 French words", ""],
  );
  assert.equal(more.more[3]["aria-label"], "noir, new");
});

test("without parts it writes something else, and what it would write with them is said", () => {
  const order = shown({ taken: takenWith(grammar.state, "order") }, begun);
  assert.match(plain(order.says), /^Without word order: le petit renard noir voit le chat …$/);
  assert.match(plain(order.words), / With all its parts: le petit chat noir voit le renard\. $/);
  assert.deepEqual(takenWith(order.state, "order"), []);
  const cross = shown({ taken: ["cross"] }, order);
  assert.match(plain(cross.words), /^To write blancs, it looks at no English word\. /);
  const most = shown({ taken: ["order", "own", "residual"] }, cross);
  assert.match(plain(most.says), /^Without 3 of its parts: /);
  assert.match(plain(shown({ taken: ["order", "own"] }).says), /^Without word order and its own words: /);
  const residual = shown({ taken: ["residual"] });
  assert.match(plain(residual.words), /It goes on for \d+ more words\.$/);
  assert.equal(residual.queries.length, 12);
});

test("each part taken away changes the French of what the page invites to try", () => {
  for (const words of [grammar.state.sentence, COW].map((sentence) => sentence.split(" "))) {
    for (const { part } of grammar.state.parts) {
      const [without, whole] = [[part], []].map((taken) => grammar.known.ask(grammar.model, words, taken).written);
      assert.notDeepEqual(without, whole, part);
    }
  }
});

test("words that it does not know lead to a sentence that it does, and the picture stays", () => {
  for (const [sentence, title, near] of [
    ["I love you", "It has never met i and 2 other words", "the cat sleeps"],
    ["my name is Anna", "It has never met name and 2 other words", "my cat sleeps"],
    ["the dog bites the man", "It has never met bites and 1 other word", "the dog sees the cat"],
    ["these blak cats does not see the hen", "It has never met blak", "these black cats do not see the hen"],
    ["cat", "It was taught whole sentences: this is none", "the cat sleeps"],
    ["", "refused", ""],
  ]) {
    const now = shown({ sentence }, begun);
    assert.deepEqual([plain(now.says), now.note.near], [title, near]);
    if (sentence !== "cat") assert.equal(now.placed, begun.placed);
  }
  for (const sentence of torch.sentences) assert.ok(grammar.known.isSentence(sentence.split(" ")), sentence);
  assert.ok(own.known.isSentence(["b", "a"]), "of words without kinds, all are sentences");
});

test("half a word is no answer to a word that it does not know", () => {
  const half = shown({ sentence: `${grammar.state.sentence} a` }, shown({ sentence: COW }, begun));
  assert.equal(half.keys.at(-1), "a");
  const whole = shown({ sentence: `${grammar.state.sentence} an` }, half);
  assert.deepEqual([whole.keys.join(" "), plain(whole.says), fresh(whole)], [COW, "It has never met an", []]);
});
