import assert from "node:assert/strict";
import { test } from "node:test";
import { plain } from "../../transformer_edu/book/figures/js/core/format.js";
import * as lab from "../../transformer_edu/book/figures/js/mask-lab.derive.js";
import { close, torch } from "./numbers.js";

const { opened, right, wrong, painted } = torch;
const { derive } = lab;
const stateOf = (changes = {}) => ({ ...opened, ...changes });
const chosen = (kind, key, more = {}) => stateOf({ kind, ...lab.settings(key, kind), ...more });
const valuesOf = ({ tables }, name) => tables[name].cells.map((line) => line.map(({ value }) => value));
const finite = (matrix) => matrix.map((row) => row.map((value) => (Number.isNaN(value) ? -9 : Math.max(value, -1e9))));
const closeTo = (now, name, expected) => close(finite(valuesOf(now, name)), finite(expected), name);
const placesOf = ({ tables }, name, kind) =>
  tables[name].cells.flatMap((line, i) =>
    line.flatMap((cell, j) => ((cell.kind ?? "").split(" ").includes(kind) ? [[i, j]] : [])),
  );
const summed = (weights) => weights.map((row) => [...row, row.reduce((sum, one) => sum + one, 0)]);
const paint = (rows, more = {}) => stateOf({ painted: rows, mistake: "none", query: 2, ...more });
const told = (state) => plain(derive(state).words).split(". ")[0];

test("right masks, none and one too many give the package's weights, for each kind, length and side of padding", () => {
  assert.ok(right.length >= 20);
  for (const { state, chosen: key, mask, scores, masked, weights } of right) {
    const now = derive(stateOf(state));
    assert.equal(now.key, key);
    closeTo(now, "mask", mask);
    closeTo(now, "scores", scores);
    closeTo(now, "masked", masked);
    closeTo(now, "weights", summed(weights));
  }
});

test("every wrong mask does what it does in torch, and marks what leaks and what sums to less", () => {
  for (const { mistake, weights, leaks } of wrong) {
    const now = derive(chosen("decoder", mistake, { query: 2 }));
    closeTo(now, "weights", summed(weights.map((row) => row.map((one) => one ?? NaN))));
    closeTo(now, "right", painted[0].weights);
    assert.deepEqual(placesOf(now, "weights", "te-leak"), leaks, mistake);
    assert.equal(
      now.good,
      ["no-padding", "queries"].includes(mistake),
      "padding behind is later than every real token",
    );
    const rows = new Set(leaks.map(([i]) => i)).size;
    if (rows) assert.match(plain(now.says), new RegExp(`^✗ ${rows} of 4 words look`));
  }
  const after = derive(chosen("decoder", "after", { query: 2 }));
  assert.equal(placesOf(after, "weights", "te-short").length, 4);
  assert.ok(after.tables.unmasked && !after.tables.masked);
  const { weights } = wrong.find(({ mistake }) => mistake === "after");
  const sum = weights[2].reduce((all, one) => all + one, 0);
  assert.ok(plain(after.words).includes(`sum to ${sum.toFixed(2)}: the missing ${(1 - sum).toFixed(2)} went`));
  const blind = derive(chosen("decoder", "blind", { query: 2 }));
  assert.equal(blind.tables.weights.cells[2][0].text, "NaN");
  assert.match(plain(blind.words), /chien \(position 3\) gets no weights: each is 0 ÷ 0, not a number\.$/);
});

test("the sentence says how much goes where it must not", () => {
  const { weights } = wrong.find(({ mistake }) => mistake === "bare");
  const sumOf = (row) => row.reduce((sum, one) => sum + one, 0);
  for (const query of [0, 1, 2, 3]) {
    const words = plain(derive(chosen("decoder", "bare", { query })).words);
    assert.ok(words.includes(`(position ${query + 1}) looks where it must not`));
    assert.ok(words.includes(`${sumOf(weights[query].slice(4)).toFixed(2)} of its attention is on padding`));
    const later = sumOf(weights[query].slice(query + 1, 4)).toFixed(2);
    assert.equal(words.includes(`${later} of its attention is on what comes later`), query < 3);
  }
  assert.match(plain(derive(chosen("decoder", "bare", { query: 5 })).words), /Position 6 is padding\./);
  assert.match(
    plain(derive(stateOf({ causal: true, pad_first: true, query: 0 })).words),
    /its weights are zero, never NaN/,
  );
});

test("padding stays in view of a wrong mask", () => {
  const inFront = stateOf({ padding: false, causal: true, pad_first: true, query: 2 });
  const queries = ["encoder", "cross"].map((kind) => chosen(kind, "queries", { query: 1 }));
  for (const state of [inFront, ...queries]) {
    const now = derive(state);
    assert.equal(placesOf(now, "weights", "te-leak").length, 8);
    const { row, tables } = now;
    const onPadding = tables.weights.cells[row].filter((_, j) => tables.weights.columns[j] === "<pad>");
    const share = onPadding.reduce((sum, { value }) => sum + value, 0).toFixed(2);
    assert.ok(plain(now.words).includes(`${share} of its attention is on padding`));
  }
});

test("a painted mask is used as torch uses it, and told by its name", () => {
  for (const { rows, weights, kind, ...more } of painted) {
    const now = derive(paint(rows, { kind }));
    closeTo(now, "weights", summed(weights));
    assert.equal(now.key, "painted");
    assert.ok(told(paint(rows, { kind })).startsWith(`You painted ${more.name}`), told(paint(rows, { kind })));
  }
  const [{ rows }] = painted;
  const but = (row, text) => rows.map((one, i) => (i === row ? text : one));
  assert.equal(told(paint(but(5, "101111"))), told(paint(rows)), "rows of padding do not count");
  assert.match(told(paint(but(0, "100011"))), /a mask without a name: 2 cells see padding$/);
  assert.match(told(paint(but(1, "111100"))), /: 2 cells see what comes later$/);
  assert.match(told(paint(but(2, "000000"))), /: 3 cells hide what may be seen and chien sees nothing, a blind query$/);
  assert.match(plain(derive(paint(but(2, "000000"))).words), /chien \(position 3\) can look at nothing: its weights/);
  assert.match(told(paint(but(3, "001000"), { kind: "cross" })), /hide what may be seen/);
});

test("one cell is switched of the mask in use, and another choice takes the painting back", () => {
  const state = chosen("decoder", "no-causal");
  const once = { ...state, ...lab.switched(state, 0, 3) };
  assert.deepEqual(once.painted, ["111000", ...Array(5).fill("111100")]);
  assert.equal(derive(once, derive(state)).tables.mask.cells[0][3].was, "✓");
  assert.deepEqual(lab.switched(once, 0, 3).painted, Array(6).fill("111100"));
  const shorter = { ...once, target_lengths: [3, 2] };
  assert.equal(lab.switched(shorter, 0, 0).painted[5], "111100", "what is out of sight stays");
  assert.equal(lab.chosen({ ...once, ...lab.settings("after", "decoder") }), "after");
  assert.deepEqual(lab.otherKind({ mistake: "flipped" }, "cross"), {
    kind: "cross",
    causal: false,
    mistake: "none",
    painted: [],
  });
  const own = { ...state, ...lab.paintedRightly(state) };
  assert.deepEqual([derive(own).good, lab.chosen(own)], [true, "painted"]);
});

test("cells say what they mean, and what a change made another stays marked", () => {
  const now = derive(chosen("decoder", "right"));
  assert.deepEqual(
    now.tables.mask.cells[2].map(({ text }) => text),
    ["✓", "✓", "✓", "", "", ""],
  );
  assert.equal(now.tables.mask.cells[2][3].label, "row chien, column voit: may not attend");
  const next = derive(chosen("decoder", "no-causal"), now);
  assert.match(next.tables.weights.cells[0][3].label, /must not look$/);
  assert.equal(next.tables.weights.cells[0][3].more["data-fresh"], true);
  assert.equal(derive(chosen("decoder", "no-causal"), next).tables.weights.cells[0][3].more["data-fresh"], undefined);
  assert.equal(next.tables.mask.cells[0][1].was, "near 0");
  next.tables.right.cells.forEach((line, i) => {
    assert.equal(line, now.tables.right.cells[i], "the same is not drawn again");
  });
  const added = derive(chosen("decoder", "added"));
  assert.deepEqual([added.tables.mask.cells[0][1].text, plain(added.tables.mask.note)], ["+0", "to be added"]);
  const off = lab.offers("cross").flatMap(({ value, isOff }) => (isOff ? [value] : []));
  assert.deepEqual(off, ["no-causal", "no-padding", "flipped"]);
  assert.ok(!lab.offers("decoder").some(({ isOff }) => isOff));
});
