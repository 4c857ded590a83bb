import assert from "node:assert/strict";
import { test } from "node:test";
import { plain } from "../../transformer_edu/book/figures/js/core/format.js";
import { batchOf, derive, edited, fitting } from "../../transformer_edu/book/figures/js/norm-cube.derive.js";
import { close, torch } from "./numbers.js";

const opened = torch.find(({ state }) => state.norm === "batch"); // as the figure opens
const valuesOf = (tables, kind) => tables.map((one) => one[kind].map((line) => line.map(({ value }) => value)));
const cellsOf = (now, kind) =>
  now.tables.flatMap((one, b) => one[kind].flatMap((line, p) => line.map((cell, f) => [cell, b, p, f])));
const outlined = (now) =>
  cellsOf(now, "input")
    .filter(([{ kind }]) => kind.includes("te-cube-shared"))
    .map(([, ...place]) => place);
const changed = (now) =>
  cellsOf(now, "output")
    .filter(([{ was }]) => was !== null)
    .map(([, ...place]) => place);
const measure = (now, name) => now.working.flat().find((one) => one.measure === name).number;

test("every norm gives what PyTorch's module gives, and moves as many outputs as the alt text says", () => {
  assert.ok(torch.length > 200);
  for (const { state, x, y, moved, stored } of torch) {
    const now = derive(state);
    close(valuesOf(now.tables, "input"), x);
    close(valuesOf(now.tables, "output"), y);
    assert.deepEqual(
      now.norms.map(({ all }) => all.length),
      moved,
    );
    if (stored) close([measure(now, "mean"), measure(now, "variance")], stored);
  }
});

test("batch norm shares a feature of all words, the others their own word's features", () => {
  const now = derive(opened.state);
  assert.deepEqual(
    outlined(now),
    [0, 1].flatMap((b) => [0, 1, 2].map((p) => [b, p, 1])),
  );
  const layer = derive({ ...opened.state, norm: "layer", selected: [0, 2, 3] });
  assert.deepEqual(
    outlined(layer),
    [0, 1, 2, 3].map((f) => [0, 2, f]),
  );
  assert.equal(measure(layer, "mean"), 0.75);
  assert.deepEqual(outlined(derive({ ...opened.state, mode: "evaluation" })), []);
});

test("a bar goes from zero to its number, with a tick where it ended in the first batch", () => {
  const { input, output } = derive(opened.state).tables[1];
  const { bar } = input[1][1]; // from −4.5 to 13.5, with a 6 that is 12 now
  close([bar.zero, bar.was, bar.to], [4.5 / 18, 10.5 / 18, 16.5 / 18]);
  assert.equal(input[1][1].more.title, "12, in the outlined set, was 6");
  assert.equal(output[1][1].more["data-note"], "+0.10");
  assert.match(output[1][1].label, /2\.20, moved by \+0\.10$/);
  const beyond = derive({ ...opened.state, edits: [[1, 1, 1, 50]] }).tables[1].input[1][1];
  assert.deepEqual([beyond.more["data-beyond"], beyond.bar.to], ["right", 1]);
});

test("what an action changed stays marked until the next, and dragging on is one", () => {
  const at = (value, before) => derive({ ...opened.state, edits: [[1, 1, 1, value]] }, before);
  const first = at(12, null);
  assert.equal(derive(structuredClone(opened.state), first), first, "the same state is the same picture");
  assert.deepEqual(changed(first), []);
  const further = at(3, at(11.5, first));
  assert.deepEqual(changed(further), outlined(first));
  assert.equal(further.tables[1].output[1][1].was, "2.20");
  const elsewhere = { ...opened.state, edits: [[1, 1, 1, 3]], selected: [0, 0, 0] };
  assert.deepEqual(changed(derive(elsewhere, further)), outlined(first), "to choose a cell changes no number");
  assert.deepEqual(changed(derive({ ...elsewhere, norm: "layer" }, further)), [], "most are others: none stands out");
});

test("a change stays inside the tensor", () => {
  const { state } = opened;
  assert.equal(fitting(state, { padding: 9 }).padding, 2);
  const padded = { ...state, padding: 2, selected: [1, 4, 0] };
  assert.deepEqual(fitting(padded, { padding: 0, other: null }).selected, [0, 2, 0]);
  assert.deepEqual(edited(state, [1, 1, 1], 6), [], "as it was");
  assert.deepEqual(edited(state, [0, 0, 0], -5000), [...state.edits, [0, 0, 0, -1000]]);
  assert.equal(edited(padded, [0, 4, 0], 0), padded.edits, "padding has nothing to take back");
  assert.equal(batchOf(padded)[0].tokens[4], "padding");
  assert.equal(derive(padded).amount.isOff, true);
});

test("it is said in words what is another than in the first batch", () => {
  const said = (changes) => plain(derive({ ...opened.state, edits: [], selected: [0, 0, 0], ...changes }).words);
  assert.equal(said({}), " No output moved.");
  assert.equal(
    said({ other: 2 }),
    "Sentence 2 is another one. Sentence 1 gets 1 position of padding. 12 outputs moved.",
  );
  assert.match(said({ other: null }), /^Sentence 1 is alone in its batch\. /);
  assert.match(said({ padding: 2 }), /^2 positions of padding added\. 24 outputs moved/);
});
