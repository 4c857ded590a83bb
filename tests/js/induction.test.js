import assert from "node:assert/strict";
import { test } from "node:test";
import { plain } from "../../transformer_edu/book/figures/js/core/format.js";
import { derive, lettersOf, readCopier, refusal, run } from "../../transformer_edu/book/figures/js/induction.derive.js";
import { close, torch } from "./numbers.js";

const model = readCopier(torch.weights);
const shown = (text, more = {}, before = null) =>
  derive({ text, token: lettersOf(text).length - 1, without: [], ...more }, { model, before });

test("every head and every probability is torch's, with and without the heads", () => {
  for (const { letters, without, p, maps } of torch.passes) {
    const found = run(model, [...letters], without);
    close(found.p, p, letters);
    close(found.maps, maps, letters);
  }
});

test("the copy is what followed the letter last time, and stands first", () => {
  const now = shown("abcdef abc");
  assert.deepEqual([now.chosen, now.copied, now.copy], ["c", "d", 3]);
  assert.deepEqual([now.bars[0].letter, now.bars[0].isCopy, now.bars.length], ["d", true, 5]);
  assert.match(plain(now.says), /followed c last time/);
  assert.equal(shown("abc").copied, null);
  assert.match(plain(shown("abc").says), /^c is new here/);
  assert.equal(shown("aa").copy, 1, "the letter itself may have followed");
});

test("what was another number before is told, until it is the same again", () => {
  const before = shown("mrxdtmrx");
  assert.ok(before.bars.every(({ was }) => was === null));
  const now = shown("mrxdtmrx", { without: [1] }, before);
  assert.equal(now.bars[0].was, before.bars[0].p);
  assert.ok(shown("mrxdtmrx", { without: [1] }, now).bars.every(({ was }) => was === null));
});

test("letters that it does not know leave the picture as it was", () => {
  const before = shown("abab");
  const now = derive({ text: "ab!", token: 2, without: [] }, { model, before });
  assert.deepEqual(now.letters, before.letters);
  assert.match(plain(now.words), /^! is none of the letters/);
  assert.match(plain(refusal(["a"])), /2 to 24 letters, please: there are 1/);
  assert.equal(refusal([..."abc"]), null);
  assert.equal(derive({ text: "?", token: 30, without: [] }, { model, before: null }).letters.length, 24);
});
