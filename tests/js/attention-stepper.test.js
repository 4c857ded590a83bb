import assert from "node:assert/strict";
import { test } from "node:test";
import { derive } from "../../transformer_edu/book/figures/js/attention-stepper.derive.js";
import { plain } from "../../transformer_edu/book/figures/js/core/format.js";
import { close, torch } from "./numbers.js";

const SHOWN = [
  ["x", "q", "w_q"],
  ["q", "scores", "k_t"],
  ["scores", "scaled"],
  ["scaled", "masked"],
  ["masked", "weights"],
  ["weights", "mix", "v"],
  ["mix", "output", "w_o"],
];
const finite = (matrix) => matrix.map((row) => row.map((value) => Math.max(value, -1e9)));
const stateOf = (head, changes = {}) => {
  const tokens = head.x.map((_, i) => `token ${i}`);
  return { ...head, tokens, step: 5, part: "q", query: head.x.length - 1, key: 1, column: 1, ...changes };
};
const edited = (matrix, to) => matrix.map((row, i) => row.map((value, j) => (i || j ? value : to)));
const marked = ({ tables }, name) =>
  tables[name].cells.flatMap((line, i) =>
    line.flatMap(({ text, was }, j) => (was === null ? [] : [[i, j, text, was]])),
  );

test("every matrix is torch's, with each mask, divided and not, and each step shows its own", () => {
  assert.equal(torch.length, 12);
  for (const head of torch)
    SHOWN.forEach((names, i) => {
      for (const part of ["q", "k", "v"]) {
        const now = derive(stateOf(head, { step: i + 1, part }));
        Object.entries(now.values).forEach(([name, values]) => close(finite(values), head[name], name));
        const shown = names.map((name) => (i ? name : name.replace("q", part)));
        assert.deepEqual(
          now.grids.map(({ name }) => name),
          shown,
        );
        for (const { name, cells, rows, columns } of now.grids) {
          assert.deepEqual(
            cells.map((line) => line.map(({ value }) => value)),
            now.values[name],
          );
          assert.deepEqual([rows.length, columns.length], [head[name].length, head[name][0].length]);
        }
        assert.equal(now.term, ["", "scores", "scale", "mask", "softmax", "mix", "output"][i] || part);
      }
    });
});

test("the chosen query is marked in every table, and what the column meets", () => {
  for (let step = 1; step <= 7; step += 1) {
    const { grids } = derive(stateOf(torch[0], { step, query: 1, key: 2, column: 7 }));
    const column = step > 1 && step < 6 ? 2 : 3; // there are four numbers
    for (const { place, marks } of grids) {
      const isWhole = place === "result" || grids.length === 2;
      if (place !== "top") assert.equal(marks.row, 1);
      if (place === "top") assert.deepEqual(marks, { column });
      assert.deepEqual(marks.cell, isWhole ? [1, column] : undefined);
    }
  }
});

test("what an edit changed stays marked, with what it was, until the next change", () => {
  const [state] = torch.map((head) => stateOf(head, { step: 1 }));
  let now = derive(state);
  assert.deepEqual(marked(now, "q"), []);
  for (const [to, text, was] of [
    [-2, "−1", "2"],
    [7, "8", "−1"],
  ]) {
    now = derive({ ...state, w_q: edited(state.w_q, to) }, now);
    const found = [[0, 0, text, was]]; // of the three tokens, only the first has a 1 there
    assert.deepEqual(marked(now, "q"), found);
    const other = derive({ ...state, ...now.values, query: 1, step: 2 }, now);
    assert.equal(other.values, now.values, "nothing is computed again");
    assert.deepEqual(marked(other, "q"), found);
    assert.deepEqual(marked(now, "w_q"), [], "it was typed");
  }
  now = derive({ ...state, w_q: edited(state.w_q, 7), mask: "causal" }, now);
  assert.deepEqual(marked(now, "q"), [], "that was the change before");
  assert.equal(marked(now, "masked").length, 3);
});

test("what is looked at has its old number beside it, and so has the sentence", () => {
  const state = stateOf(torch[0]);
  const first = derive(state);
  assert.ok(first.strip.looks.every(({ was }) => was === null));
  assert.equal(plain(first.words).includes("was"), false);
  const causal = derive({ ...state, query: 1, key: 0, mask: "causal" }, derive({ ...state, query: 1 }, first));
  assert.deepEqual(
    causal.strip.looks.map(({ text, was, width }) => [text, was, width]),
    [
      ["0.881", "0.117", "12.45px"],
      ["0.119", "0.016", "2.55px"],
      ["0.000", "0.867", "0.00px"],
    ],
  );
  assert.match(plain(causal.words), /token 1 gives token 0 0\.881 \(was 0\.117\)\.$/);
  const masked = derive({ ...state, query: 1, mask: "causal", step: 4 }, causal);
  assert.deepEqual(
    masked.strip.looks.map(({ text, was }) => [text, was]),
    [
      ["2", null],
      ["0", null],
      ["−∞", "4"],
    ],
  );
  const smaller = derive({ ...stateOf(torch[6]) }, masked);
  assert.equal(smaller.earlier, null, "numbers of another head are no old ones");
});

test("each step says what it is about, and what it does to the chosen number", () => {
  const tokens = ["the", "black", "cat"];
  const told = (changes, head = torch[0]) => {
    const { says, words } = derive({ ...stateOf(head), tokens, ...changes });
    return `${plain(says)}: ${plain(words)}`;
  };
  const q =
    "Every token gets a query, a key and a value: cat’s row of X times WQ is its query, what it asks: (1, 1, 0, 2).";
  assert.equal(told({ step: 1 }), q);
  assert.match(told({ step: 1, part: "k" }), /WK is its key, what it is found by: \(2, 0, 3, 1\)\.$/);
  assert.match(told({ step: 2 }), /^The query of cat meets every key, and fits black best: cat asks black: .* is 8\.$/);
  assert.match(told({ step: 3 }), /divided by √dk: .* √dk = √4 = 2\. cat’s score for black goes from 8 to 4\.$/);
  assert.match(told({ step: 4 }), /^No mask: every token .*: No mask: cat may look at every token, so nothing changes/);
  const causal = { step: 4, mask: "causal", query: 1 };
  assert.match(told({ ...causal, key: 2 }), /^A causal mask .*: cat comes later in the sentence: its score becomes −∞/);
  assert.match(told({ ...causal, key: 1 }), /: black may look at itself, so this score stays as it is\.$/);
  assert.match(
    told({}),
    /^cat gives black 0\.787 of its attention: .* then a share of their sum\. cat gives black 0\.787\.$/,
  );
  assert.match(
    told({ step: 6 }),
    /mostly the value of black: .* 0\.107 of the, 0\.787 of black, 0\.107 of cat\. The sum/,
  );
  assert.match(
    told({ step: 7 }),
    /^WO turns what cat receives into its output: WO turns cat’s mix into its output: \(/,
  );
  const one = [[1]];
  const pad = {
    ...stateOf({ x: one, w_q: one, w_k: one, w_v: one, w_o: one, scale: true, mask: "padding" }),
    tokens: ["pad"],
    key: 0,
  };
  assert.match(told(pad, torch[0]), /^pad may look at nothing: /);
  assert.match(told({ ...pad, step: 6 }), /^pad receives nothing: /);
});
