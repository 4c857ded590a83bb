import assert from "node:assert/strict";
import { test } from "node:test";
import * as engine from "../../transformer_edu/book/engine/js/engine.js";
import * as derived from "../../transformer_edu/book/figures/js/attention-map.derive.js";
import { plain } from "../../transformer_edu/book/figures/js/core/format.js";
import { close, torch } from "./numbers.js";

const { attentionOf, derive } = derived;
const { file, answers } = torch;
const model = engine.readModel(Uint8Array.from(Buffer.from(file, "base64")), undefined);
const MOST = 12;
const WORDS = answers[0].words;
const NAMES = { source_name: "English", target_name: "French" };

/** What is shown of a sentence, with the model at hand. `answer`: another than the model's. */
function shown(options, { words = WORDS, before = null, ...own } = {}) {
  const whole = own.answer ?? attentionOf(model, words, {}, MOST);
  const state = { attention: "cross", layer: 1, head: null, token: 3, key: null, heads: {}, blocked: [], ...options };
  const { heads, blocked } = state;
  const answer = own.answer ?? attentionOf(model, words, { heads, blocked }, MOST);
  const isOpened = !derived.isChanged(state);
  return derive({ ...NAMES, maps: whole.maps, ...state }, { answer, whole, isOpened, isReady: true, ...own }, before);
}

/** Words and weights of one's own. */
const recorded = (source_tokens, target_tokens, rows) => ({
  answer: { maps: { "decoder.0.cross": [rows] }, source_tokens, target_tokens, candidates: [] },
  isReady: false,
});

test("every weight and every likely word is torch's, also with heads off or even and looks taken away", () => {
  assert.equal(answers.length, 8);
  for (const { words, changes, maps, written, best } of answers) {
    const found = attentionOf(model, words, changes, MOST);
    assert.deepEqual(found.target_tokens, written);
    assert.deepEqual(Object.keys(found.maps).sort(), Object.keys(maps).sort());
    for (const [name, heads] of Object.entries(maps)) close(found.maps[name], heads, name);
    const chances = found.candidates.map((row) => row.map(([, chance]) => chance));
    close(chances, best, written.join(" "));
  }
});

test("what is drawn is one head, or the mean of all, and the sentence names what is looked at most", () => {
  const heads = answers[0].maps["decoder.1.cross"];
  const mean = heads[0].map((row, i) => row.map((_, j) => heads.reduce((sum, one) => sum + one[i][j] / 4, 0)));
  close(shown({}).weights, mean);
  const now = shown({ head: 2 });
  close(
    now.cells.map((line) => line.map(({ value }) => value)),
    heads[2],
  );
  assert.deepEqual([now.chosen, now.queries[3], now.keys.length], [3, "noir", 7]);
  assert.match(plain(shown({}).words), /^While it writes noir, it looks at black 1\.00\.$/);
  assert.match(plain(shown({ attention: "encoder self", token: 6 }).words), /^While it reads sleep it looks at /);
  const pointed = shown({}, { hovered: 1 });
  assert.deepEqual([pointed.row, pointed.chosen], [1, 3]);
  assert.match(plain(pointed.words), /^While it writes petit, /);
  assert.equal(pointed.told, shown({}).told, "what is heard is of the chosen word");
});

test("words that share a small weight are told together, and a row of nothing says so", () => {
  const six = ["a", "b", "c", "d", "e", "f"];
  const row = [0.3, 0.25, 0.2, 0.15, 0.06, 0.04];
  const now = shown({ layer: 0, token: 0 }, recorded(six, ["x", "<eos>"], [row, [0, 0, 0, 0, 0, 0]]));
  assert.equal(
    plain(now.words),
    "While it writes x, it looks at a 0.30, b 0.25, c 0.20, d 0.15, the others together 0.10.",
  );
  const none = derive({ ...now.state, token: 1 }, recorded(six, ["x", "<eos>"], now.weights), now);
  assert.deepEqual(
    [plain(none.words), plain(none.says)],
    ["While it writes end, it looks at nothing.", "end looks at nothing"],
  );
});

test("a look taken away is hatched, named, and told by what it changes", () => {
  const usual = shown({});
  const state = { token: 3, ...derived.blocking(usual.state, usual.look.pair, true) };
  assert.deepEqual(state.blocked, [["decoder.cross", 3, 2]]);
  const now = shown(state, { before: usual });
  assert.equal(plain(now.says), "Without noir → black: le petit chat ne dort pas");
  assert.equal(plain(now.note), "With all its parts: le petit chat noir ne dort pas.");
  assert.deepEqual([now.look.isGone, now.look.words, now.cells[3][2].isHatched], [true, ["noir", "black"], true]);
  assert.match(now.cells[3][2].label, /^row ne, column black: blocked, 0$/);
  assert.deepEqual(now.gone.filter(({ gone }) => gone).length, 1, "between two words, what stood there");
  assert.deepEqual(derived.blocking(now.state, now.look.pair, false).blocked, []);
  const one = shown({ heads: { "decoder.1.cross.0": "off" }, head: 0 });
  assert.deepEqual([plain(one.says), one.how], ["Without 1 head, it writes the same", "off"]);
  assert.equal(shown({ heads: { "decoder.1.cross.0": "off" } }).how, null);
});

test("what is printed otherwise stays marked until the next change, unless most of it is", () => {
  const of = (rows, before) => shown({ layer: 0, token: 0 }, { ...recorded(["a", "b"], ["x", "y"], rows), before });
  const was = ({ cells }) => cells.map((line) => line.map((cell) => cell.was));
  const even = [0.5, 0.5];
  const first = of([even, even], null);
  const other = of([[1, 0], even], first);
  assert.deepEqual(was(other), [
    ["0.50", "0.50"],
    [null, null],
  ]);
  assert.deepEqual(was(of([[1, 0], even], other)), was(other), "no number has changed since");
  assert.deepEqual(was(of([even, even], other))[0], ["1.00", "near 0"]);
  assert.ok(was(of([even, [1, 0]], other)).every((line) => line.every((one) => one === null)));
});

test("later words are not yet written, and layer, head and word stay within what there is", () => {
  const now = shown({ attention: "decoder self" });
  assert.deepEqual(
    [now.keys[0], plain(now.note)],
    ["<bos>", "Its input here is chat, just written; later words are hidden."],
  );
  now.cells.forEach((line, i) => line.forEach((cell, j) => assert.equal(cell.isHatched, j > i)));
  const state = { ...now.state, token: 7, head: 9, layer: 5 };
  const kept = derived.within(state, now.answer, { attention: "encoder self" });
  assert.deepEqual(kept, { attention: "encoder self", layer: 1, head: null, token: 6 });
  assert.deepEqual(derived.within({ ...state, head: 1, layer: 0 }, now.answer, { sentence: "a cat" }), {
    sentence: "a cat",
  });
});
