import assert from "node:assert/strict";
import { test } from "node:test";
import { plain } from "../../transformer_edu/book/figures/js/core/format.js";
import { chartsOf, derive, endsOf, nearestTo } from "../../transformer_edu/book/figures/js/training-replay.derive.js";
import { close, torch } from "./numbers.js";

const { replay, head } = torch;
const { moments, runs } = replay;
const at = (step, more = {}) => ({ replay, step, run: 0, layer: 1, head, ...more });
const valuesOf = ({ cells }) => cells.map((line) => line.map(({ value }) => value));
const written = ({ words }) => words.map(({ text }) => text);
const marked = (cells) => cells.flat().filter(({ was }) => was !== null);

test("every moment of every run and head has the recorded numbers and words", () => {
  for (const [run, plan] of runs.entries()) {
    for (const [i, look] of plan.moments.entries()) {
      for (const [layer, heads] of torch.weights[run][i].entries())
        for (const head of heads.keys()) close(valuesOf(derive(at(moments[i], { run, layer, head }))), heads[head]);
      const found = derive(at(moments[i], { run }));
      assert.deepEqual([found.p.map(({ value }) => value), found.now.loss, found.rate], [look.p, look.loss, look.rate]);
      assert.deepEqual(
        written(found.now.line),
        look.written.filter((word) => word !== "<eos>"),
      );
      assert.equal(found.now.line.isEndless, look.written.at(-1) !== "<eos>");
      assert.ok(!i || plain(found.words).startsWith(`Since step ${moments[i - 1]}: `));
    }
  }
});

test("before training it is what torch computes, and the recipe's rate is the schedule's", () => {
  const { p, loss, weights } = torch.untrained;
  const found = derive(at(0));
  close([found.now.loss, ...found.p.map(({ value }) => value)], [loss, ...p]);
  const halfByte = 0.5 / 255 + 1e-6;
  weights.forEach((heads, layer) =>
    heads.forEach((expected, head) =>
      valuesOf(derive(at(0, { layer, head }))).forEach((line, i) =>
        line.forEach((value, j) => assert.ok(Math.abs(value - expected[i][j]) <= halfByte)),
      ),
    ),
  );
  torch.rates.forEach((rate, i) => assert.ok(Math.abs(derive(at(moments[i + 1])).rate / rate - 1) < 1e-3));
});

test("the dot stands at its step and loss, and a click finds the nearest moment", () => {
  const { loss } = chartsOf(replay);
  const [highest] = loss.placeOf(0, 5.1435).slice(1);
  for (const run of runs)
    run.moments.forEach((look, i) => {
      const [x, y] = loss.placeOf(moments[i], look.loss);
      close([x, y], [moments[i] / 10, 100 - ((100 - highest) * look.loss) / 5.1435]);
    });
  assert.ok(highest > 0 && loss.rules[0] === 100);
  assert.deepEqual(
    [0, 172, 499, 2000].map((step) => moments[nearestTo(replay, step)]),
    [0, 170, 500, 1000],
  );
});

test("the words name the weight between corresponding words that grew most, and mark it", () => {
  torch.grown.forEach(([row, column, before, after], i) => {
    const { cell, words } = derive(at(moments[i + 1]));
    if (after - before < 0.02) assert.equal(cell, null);
    else {
      assert.deepEqual(cell, [row, column]);
      assert.ok(plain(words).endsWith(`, ${before.toFixed(2)} → ${after.toFixed(2)}.`));
    }
  });
});

test("what is another than before stays marked until the next change", () => {
  const first = derive(at(170));
  assert.equal(marked(first.cells).length, 0);
  assert.equal(derive(at(170), first), first, "the same state is the same picture");
  const next = derive(at(180), first);
  assert.equal(next.now.was, "1.78");
  assert.ok(marked(next.cells).every(({ was, text }) => was !== text));
  const news = ({ now }) => now.line.words.filter(({ isNew }) => isNew).map(({ text }) => text);
  assert.deepEqual([news(first), news(next)], [[], ["petit", "dort"]]);
  const good = first.now.line.words.filter(({ isGood }) => isGood).map(({ text }) => text);
  assert.deepEqual(good, ["le", "chat", "noir", "ne", "pas"], "of the right sentence, in order");
  assert.equal(next.now.line.isDone && !first.now.line.isDone, true);
  const ends = endsOf(next);
  assert.deepEqual(
    ends.map(({ step, text, line }) => [step, text, written(line)]),
    [
      [0, "5.14", ["rouge", "rouge", "rouge", "rouge", "une"]],
      [1000, "0.86", ["le", "petit", "chat", "noir", "ne", "dort", "pas"]],
    ],
  );
});
