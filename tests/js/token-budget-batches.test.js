import assert from "node:assert/strict";
import { test } from "node:test";
import { plain } from "../../transformer_edu/book/figures/js/core/format.js";
import { derive, written } from "../../transformer_edu/book/figures/js/token-budget-batches.derive.js";
import { torch } from "./numbers.js";

const [{ sentences, draws, settings }] = torch;
const SIMILAR = "similar lengths together";
const opened = { sentences, draws, order: "as they come", limit: "sentences", size: 8, epoch: 0 };
const indices = ({ rows }) => rows.map(({ row }) => row);
const wastes = ({ cards }) => cards.map(({ told }) => told);
const numberOf = ({ words }, name) => words.find(({ measure }) => measure === name).number;

test("every order, limit, size and epoch packs as Python does", () => {
  assert.ok(settings.length > 1500);
  for (const { settings, ...given } of torch) {
    const lengths = given.sentences.map((text) => text.split(" ").length);
    for (const { batches, rest, cells, padding, ...state } of settings) {
      const now = derive({ ...given, ...state });
      assert.deepEqual(now.batches.map(indices), batches);
      assert.equal(
        now.batches.findIndex((batch) => batch.rest),
        rest ?? -1,
      );
      assert.deepEqual([now.cells, now.padding], [cells, padding]);
      assert.deepEqual([numberOf(now, "batches"), numberOf(now, "cells")], [batches.length, cells]);
      for (const { rows, width } of now.batches)
        for (const { row, text, tokens } of rows) {
          assert.deepEqual([text, tokens], [given.sentences[row], lengths[row]]);
          assert.ok(tokens <= width);
        }
    }
  }
});

test("a batch is written out as wide as its longest sentence", () => {
  const [batch] = derive({
    sentences: ["a b c", "d"],
    draws,
    order: opened.order,
    limit: "sentences",
    size: 2,
    epoch: 0,
  }).batches;
  assert.deepEqual(written(batch), [
    ["a", "b", "c"],
    ["d", null, null],
  ]);
  assert.equal(batch.widest, "a b c");
  assert.equal(batch.about, "Batch 1: 2\u00a0rows × 3\u00a0tokens = 6\u00a0cells, 2 of them padding");
});

test("what is another than before stays told until the next change; a slider that moves on makes one", () => {
  const first = derive(opened);
  assert.equal(derive({ ...opened }, first), first, "the same state is the same picture");
  assert.equal(first.before, "");
  const sorted = derive({ ...opened, order: SIMILAR }, first);
  assert.equal(sorted.before, "· 480 → 344\u00a0cells");
  assert.deepEqual(wastes(sorted), wastes(first), "the orders cost what they cost");
  const one = derive({ ...opened, order: SIMILAR, size: 1 }, derive({ ...opened, order: SIMILAR, size: 4 }, sorted));
  assert.equal(one.before, "· 344 → 326\u00a0cells");
  assert.deepEqual(
    wastes(one),
    wastes(first).map((told) => told.replace("\u00a0%", " → 0\u00a0%")),
  );
  assert.equal(derive({ ...opened, sentences: ["a", "b c"], size: 2 }, one).before, "");
});

test("the cost of a little padding is less than one in a hundred, and no more than it is", () => {
  const long = Array(16).fill(Array(40).fill("a").join(" "));
  const now = derive({ ...opened, sentences: [...long.slice(1), long[0].slice(2)], size: 16 });
  assert.equal(plain(now.says), "less than 1\u00a0% of the work is padding, computed and thrown away");
  assert.equal(now.cards[0].told, "<\u00a01\u00a0% padding");
});
