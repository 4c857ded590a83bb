import assert from "node:assert/strict";
import { test } from "node:test";
import { plain } from "../../transformer_edu/book/figures/js/core/format.js";
import { derive, fewest, price, questions, tilted } from "../../transformer_edu/book/figures/js/reward.derive.js";
import { close, settable, torch } from "./numbers.js";

const { language } = torch;
const at = (more = {}) => ({ language, reward: "dog", beta: 1, ...more });

test("a reward tilts the language as in Python", () => {
  for (const [reward, beta, expected] of torch.rows) close(tilted(language, reward, beta), expected);
});

test("the likeliest stand first, beside what they were", () => {
  const now = derive(at({ beta: 0.25 }));
  assert.equal(now.lines.length, 9);
  assert.ok(now.lines.every((one, i) => i === 0 || one.p <= now.lines[i - 1].p));
  close([now.others + now.lines.reduce((sum, one) => sum + one.p, 0)], [1]);
  assert.equal(now.lines[0].text, "a dog sleeps");
  close([now.lines[0].was], [0.098]);
  close([Math.max(...now.lines.map((one) => Math.max(one.share, one.shareWas)))], [1]);
  assert.equal(derive(at({ beta: 0.25 }), now), now);
});

test("a reward of one point costs less than the logarithm of what it was", () => {
  const had = derive(at()).had;
  for (const beta of [2, 0.5, 0.0625]) assert.ok(derive(at({ beta })).away < -Math.log(had));
});

test("few hold nine tenths", () => {
  assert.equal(fewest([0.5, 0.1, 0.4]), 2);
  assert.equal(fewest([0.25, 0.25, 0.25, 0.25]), 4);
  assert.deepEqual([0.0625, 0.5, 1, 8].map(price), ["1/16", "1/2", "1", "8"]);
});

test("each question is answered by what it shows", () => {
  for (const [i] of questions(at(), () => null).entries()) {
    const state = settable(at({ beta: 8 }));
    const now = () => derive(state);
    const asked = questions(state, now)[i];
    assert.ok(!asked.done());
    asked.show();
    assert.ok(asked.done());
    assert.ok(plain(asked.tell).length > 20);
  }
});
