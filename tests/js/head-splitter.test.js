import assert from "node:assert/strict";
import { test } from "node:test";
import { plain } from "../../transformer_edu/book/figures/js/core/format.js";
import { mapMatrix } from "../../transformer_edu/book/figures/js/core/math.js";
import { derive, hasLostAll } from "../../transformer_edu/book/figures/js/head-splitter.derive.js";
import { close, torch } from "./numbers.js";

const sheet = (now, name) => now.sheets.find((one) => one.name === name);
const valuesOf = (cells) => mapMatrix(cells, ({ value }) => value);
const rowsOf = (now, name) =>
  sheet(now, name).cells.flatMap((line, r) => (line.some(({ kind }) => kind.includes("te-followed")) ? [r] : []));
const [{ state }] = torch;

test("every matrix is what the package's attention and torch's reshapes give", () => {
  for (const { state, matrices, weights, finals } of torch) {
    const now = derive(state);
    for (const [name, expected] of Object.entries(matrices)) close(valuesOf(sheet(now, name).cells), expected, name);
    for (const name of ["w_q", "w_k", "w_v"]) close(valuesOf(sheet(now, name).cells), state[name]);
    close(now.cells.weights.map(valuesOf), weights.all);
    close(now.cells.finals.map(valuesOf), Object.values(finals));
  }
});

test("every number says where it came from", () => {
  for (const { state, origins } of torch) {
    for (const [name, expected] of Object.entries(origins)) {
      const { cells } = sheet(derive(state), name);
      assert.deepEqual(
        mapMatrix(cells, ({ more }) => [more["data-token"], more["data-head"]]),
        expected,
      );
      const foreign = mapMatrix(cells, ({ kind }, r) => kind.includes("te-foreign") && r);
      assert.deepEqual(
        foreign,
        mapMatrix(expected, ([token], r) => token !== r && r),
      );
    }
  }
});

test("a followed token keeps its row only in the right merge", () => {
  const now = derive(state);
  assert.deepEqual([rowsOf(now, "right"), rowsOf(now, "wrong")], [[0], [0, 1]]);
  assert.equal(sheet(now, "wrong").cells[0][2].label, "row the, column 3: 0.11, from black, head 1");
  assert.deepEqual(
    [0, 1, 2].map((token) => hasLostAll(derive({ ...state, token }))),
    [false, true, false],
  );
  assert.match(plain(now.words), /That lets the see a later token/);
  assert.doesNotMatch(plain(derive({ ...state, token: 2 }).words), /later token/);
});

test("each step shows its matrices, and what is reshaped comes from where its numbers stood", () => {
  const seen = (step) => derive({ ...state, step }).sheets.flatMap(({ name, isSeen }) => (isSeen ? [name] : []));
  assert.deepEqual([1, 2, 3, 4].map(seen), [
    ["q", "k", "v", "w_q", "w_k", "w_v"],
    ["q", "k", "v", "wrong-split"],
    ["q", "k", "v", "out"],
    ["out", "right", "wrong"],
  ]);
  const arrived = (now) => now.sheets.flatMap(({ name, hasArrived }) => (hasArrived ? [name] : []));
  const attending = derive({ ...state, step: 3 });
  const merged = derive(state, attending);
  assert.deepEqual([arrived(derive(state)), arrived(merged)], [[], ["right", "wrong"]]);
  assert.deepEqual(arrived(derive({ ...state, token: 1 }, merged)), ["right", "wrong"], "it is still on its way");
  assert.deepEqual(arrived(derive({ ...state, step: 2 }, attending)), [], "on the way back nothing is split");
  const ways = sheet(merged, "right").cells[0].map(({ more }) => more.style?.["--from"]);
  const lane = "translate(-200%, calc(0% + 1 * var(--lane)))";
  assert.deepEqual(ways, [undefined, undefined, lane, lane]);
});

test("what is the same is not made anew", () => {
  const first = derive(state);
  assert.equal(derive(state, first), first);
  assert.equal(derive({ ...state, step: 1 }, first).cells, first.cells);
  assert.notEqual(derive({ ...state, num_heads: 4 }, first).cells, first.cells);
});
