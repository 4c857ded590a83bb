import assert from "node:assert/strict";
import { test } from "node:test";
import { plain } from "../../transformer_edu/book/figures/js/core/format.js";
import { derive } from "../../transformer_edu/book/figures/js/merge-stepper.derive.js";
import { torch } from "./numbers.js";

const END = "·";
const symbolsOf = ({ boxes }) => boxes.flatMap(({ symbol }) => symbol ?? []);
const numberIn = (pieces) => pieces.find((piece) => piece.number !== undefined).number;

test("every step has the words, the pairs and the sizes of the tokenizers library", () => {
  assert.ok(torch.length > 50);
  for (const { text, merges, steps, size } of torch) {
    let now = null;
    steps.forEach(({ words, pairs }, step) => {
      now = derive({ text, step, new_word: "" }, now);
      const counts = new Map(pairs.map(([left, right, count]) => [`${left} ${right}`, count]));
      assert.deepEqual(
        now.entries.map((entry) => [symbolsOf(entry), entry.count]),
        words,
      );
      assert.deepEqual(
        now.merges.map(({ pair }) => pair),
        merges.slice(0, step),
      );
      assert.deepEqual(now.rows[0]?.pair, merges[step]);
      assert.deepEqual(
        now.rows.map(({ count }) => count),
        [...counts.values()].sort((a, b) => b - a).slice(0, 6),
      );
      for (const { pair, count } of now.rows) assert.equal(count, counts.get(pair.join(" ")));
      assert.equal(
        numberIn(now.total),
        words.reduce((sum, [symbols, count]) => sum + count * symbols.length, 0),
      );
    });
    assert.equal(numberIn(now.size), size);
    assert.equal(derive({ text, step: 10_000, new_word: "" }).step, merges.length);
  }
});

test("a word is cut as the library cuts it, and what the text lacks is unknown", () => {
  for (const { text, merges, new_word, cut } of torch) {
    const [word] = derive({ text, step: merges.length, new_word }).cut;
    const isUnknown = new Map(word.boxes.map(({ symbol, kind }) => [symbol, kind.includes("unknown")]));
    assert.deepEqual(
      symbolsOf(word).map((symbol) => (isUnknown.get(symbol) ? "<unk>" : symbol)),
      cut,
    );
  }
  const now = derive({ text: "cat", step: 0, new_word: " cod  ox" });
  assert.deepEqual(
    now.cut.map(({ label }) => label),
    ["cod: c | o, unknown | d, unknown | end mark", "ox: o, unknown | x, unknown | end mark"],
  );
  assert.equal(now.note, "“cod  ox”: o, d, x are not in the text, so each becomes <unk>");
  assert.equal(derive({ text: "cat", step: 0, new_word: " " }).note, "");
});

test("a new symbol is marked, as two boxes that touch, in the words, the pairs and the new word", () => {
  const text = "tall taller smaller pale";
  const first = derive({ text, step: 0, new_word: "halt" });
  const now = derive({ text, step: 1, new_word: "halt" }, first);
  assert.equal(now.course, first.course, "a text is learned once");
  assert.deepEqual([first.isFurther, now.isFurther], [false, true]);
  const [tall] = now.entries;
  assert.deepEqual(
    tall.boxes.map(({ end, text, symbol }) => [end, text, symbol]),
    [
      [1, "t", "t"],
      [2, "a", "al"],
      [3, "l", undefined],
      [4, "l", "l"],
      [5, END, END],
    ],
  );
  assert.deepEqual(
    [...now.entries, ...now.cut].map(({ boxes }) => boxes.filter(({ kind }) => kind.includes("new")).length),
    [2, 2, 2, 2, 2],
  );
  const marked = now.rows.flatMap(({ sum }) => sum.flatMap((one) => (one.kind?.includes("new") ? one.exact : [])));
  assert.ok(marked.length && marked.every((symbol) => symbol === "al"));
  assert.match(now.rows.map(({ pair, notes }) => `${pair} ${plain(notes)};`).join(" "), /l,e {2}was 3;/);
  assert.ok(!plain(first.rows.flatMap(({ notes }) => notes)).includes("was"));
  assert.ok(!derive({ text, step: 0, new_word: "" }, now).isFurther);
  assert.ok(!derive({ text: "ab ab", step: 2, new_word: "" }, now).isFurther, "of another text");
});
