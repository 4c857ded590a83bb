import assert from "node:assert/strict";
import { test } from "node:test";
import { derive } from "../../transformer_edu/book/figures/js/softmax-lab.derive.js";
import { close, torch } from "./numbers.js";

const opened = { ...torch[0], d_k: 64, temperature: 1 };
const marks = ({ raw, scaled }) => [raw, scaled].map(({ gradient }) => gradient.was?.text ?? null);

test("scores, weights, all derivatives and their size are autograd's", () => {
  assert.equal(torch.length, 9 * 9 * 3);
  for (const { sides, ...state } of torch) {
    const { raw, scaled } = derive(state);
    for (const [i, { lines, cells, gradient, first, steepest }] of [raw, scaled].entries()) {
      const [scores, weights, slopes, size] = sides[i];
      const found = ["score", "weight"].map((part) => lines.map((line) => line[part].value));
      close(found, [scores, weights]);
      close(
        cells.map((row) => row.map(({ value }) => value)),
        slopes,
      );
      close([gradient.value, steepest, first], [size, Math.max(...slopes.flat().map(Math.abs)), Math.max(...weights)]);
    }
  }
});

test("a bar is cut off where its score is beyond the axis", () => {
  const { lines, range } = derive({ ...opened, scores: [2, 2.1, -3] }).raw;
  assert.deepEqual(
    lines.map(({ score }) => [score.share, score.beyond]),
    [
      [1, ""],
      [1, "right"],
      [-1, "left"],
    ],
  );
  assert.equal(range, "▸ beyond 16");
});

test("what is another than before stays marked until the next change", () => {
  const first = derive(opened);
  assert.equal(derive({ ...opened }, first), first, "the same state is the same picture");
  assert.deepEqual(marks(first), [null, null]);
  const longer = derive({ ...opened, d_k: 128 }, first);
  assert.match(longer.words[0], /√128 ≈ 11.3 times as large\. /);
  const long = derive({ ...opened, d_k: 256 }, longer);
  assert.deepEqual(marks(long), ["0.017", null], "a slider that moves on makes one change");
  assert.equal(long.raw.lines[1].weight.was.text, "0.991");
  assert.ok(long.raw.cells.flat().some(({ was }) => was === "0.009"));
  const warm = derive({ ...opened, d_k: 256, temperature: 2 }, long);
  assert.deepEqual(marks(warm), [long.raw.gradient.text, "0.398"]);
  const [second, third] = opened.draws.slice(1);
  const drawn = derive({ ...opened, scores: second }, first);
  const again = derive({ ...opened, scores: third }, drawn);
  assert.deepEqual(again.says, ["Two keys nearly tie, so gradient passes even undivided"]);
  assert.deepEqual(marks(again), [drawn.raw.gradient.text, drawn.scaled.gradient.text], "each draw is a change");
  assert.deepEqual([first.draw, again.draw, derive({ ...opened, scores: [1, 2] }).draw], [0, 2, -1]);
  const typed = [2, 2.5].reduce((last, z) => derive({ ...opened, scores: [z, ...third.slice(1)] }, last), again);
  assert.equal(marks(typed)[0], again.raw.gradient.text, "a number that is typed is one change");
  assert.deepEqual(marks(derive({ ...opened, scores: [1, 2] }, again)), [null, null], "another row of keys is new");
});
