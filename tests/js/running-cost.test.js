import assert from "node:assert/strict";
import { test } from "node:test";
import { plain } from "../../transformer_edu/book/figures/js/core/format.js";
import {
  counted,
  derive,
  duration,
  fetchedOf,
  operationsOf,
  pairsOf,
  questions,
} from "../../transformer_edu/book/figures/js/running-cost.derive.js";
import { close, settable, torch } from "./numbers.js";

const { models, machines } = torch;
const at = (more = {}) => ({
  ...{ models, machines, model: "llama", machine: "gpu", task: "write", bits: 16, tokens: 8192, texts: 1 },
  ...more,
});

test("pairs, operations and bytes are those of Python", () => {
  for (const [model, tokens, task, seen, ...rest] of torch.rows) {
    const state = at({ model, tokens, task, texts: 4, bits: 8 });
    assert.equal(pairsOf(models[model], tokens, task), seen);
    const found = [...operationsOf(models[model], state), ...fetchedOf(models[model], state)];
    close(
      found.map((one, i) => one / rest[i]),
      [1, 1, 1, 1],
    );
  }
});

test("the longer of the two times decides", () => {
  const writing = derive(at());
  close([writing.fetching / ((16e9 + 8192 * 131_072) / 4.8e12)], [1]);
  assert.ok(writing.isFetching && writing.rate === 1 / writing.fetching);
  const reading = derive(at({ task: "read" }), writing);
  assert.ok(!reading.isFetching && reading.rate === 8192 / reading.multiplying);
  assert.equal(reading.bars[2].was.text, writing.bars[2].text);
  assert.equal(reading.bars[1].was, null);
  assert.equal(derive(at({ task: "read" }), reading), reading);
  close([writing.bars[1].shares[0] + writing.bars[1].shares[1]], [1]);
});

test("times and counts have three digits and a unit", () => {
  assert.equal(duration(0.00000234), "2.34 µs");
  assert.equal(duration(0.0123456), "12.3 ms");
  assert.equal(duration(4567.8), "4570 s");
  assert.equal(duration(45678.9), "45,679 s");
  assert.equal(counted(20.3e9), "20.3 billion");
  assert.equal(counted(1.2345e17), "123,000 trillion");
  assert.equal(counted(5e6), "5 million");
});

test("every state says something whole", () => {
  for (const model of Object.keys(models))
    for (const machine of Object.keys(machines))
      for (const task of ["write", "read"])
        for (const [tokens, texts] of [
          [1024, 1],
          [131_072, 128],
        ]) {
          const now = derive(at({ model, machine, task, tokens, texts }));
          assert.ok(!/undefined|NaN|Infinity/.test(now.told), now.told);
          assert.ok(now.bars.every(({ shares }) => shares[0] + shares[1] <= 1 + 1e-9));
        }
});

test("what questions tell is so", () => {
  const state = settable(at());
  const asked = questions(state, () => derive(state));
  for (const { show, done } of asked) {
    state.set(at());
    assert.ok(!done());
    show();
    assert.ok(done());
    assert.ok(plain(derive(state).says).length > 20);
  }
  for (const model of Object.keys(models))
    for (const texts of [1, 16, 128])
      for (const bits of [16, 4]) assert.ok(derive(at({ model, texts, bits, tokens: 1024 })).isFetching);
});
