import assert from "node:assert/strict";
import { test } from "node:test";
import { derive, trail } from "../../transformer_edu/book/figures/js/path-length-racer.derive.js";
import { torch } from "./numbers.js";

const steps = (last) => Array.from({ length: last + 1 }, (_, step) => step);
const count = (kinds, kind) => kinds.filter((one) => one === kind).length;
const opened = { n: 16, d: 64, dilated: false, step: 0 };

test("after each step as many have heard as boolean matrix products find", () => {
  assert.equal(torch.length, 10);
  for (const { n, d, dilated, heard } of torch) {
    for (const step of steps(n)) {
      for (const lane of derive({ n, d, dilated, step }).lanes) {
        const expected = heard[lane.name].slice(0, step + 1);
        assert.deepEqual(lane.heard, expected);
        assert.deepEqual([count(lane.kinds, "heard"), lane.kinds.length], [expected.at(-1), n]);
        assert.deepEqual([lane.isDone, lane.finish], [expected.at(-1) === n, heard[lane.name].length - 1]);
      }
    }
  }
});

test("the path leads from token 1 to token n over links that exist", () => {
  for (const { n, d, dilated } of torch) {
    for (const { name, path, finish } of derive({ n, d, dilated, step: n }).lanes) {
      assert.deepEqual([path.length, path[0], path.at(-1)], [finish + 1, 0, n - 1]);
      assert.ok(Math.abs(trail(path, finish, n).reached[0] - ((n - 0.5) * 640) / n) < 1e-9);
      const moves = path.slice(1).map((place, i) => place - path[i]);
      if (name === "recurrent") assert.deepEqual(moves, [0, ...Array(n - 1).fill(1)]);
      if (name === "convolution")
        assert.ok(moves.every((move, layer) => move === 0 || move === (dilated ? 2 ** layer : 1)));
    }
  }
});

test("a layer waits, reaches and costs as counted", () => {
  for (const { n, d, dilated, heard, costs, price } of torch) {
    const { table, prices } = derive({ n, d, dilated, step: 0 });
    const length = (lane) => heard[lane].length - 1;
    assert.deepEqual(
      table.map(({ cells }) => cells.map(({ value }) => value)),
      [
        ...["recurrent", "GRU", "LSTM"].map((name) => [n, n, costs[name]]),
        [1, length("convolution"), costs.convolution],
        [1, 1, costs.attention],
      ],
    );
    assert.deepEqual(prices, [price, costs.attention / costs.LSTM]);
  }
});

test("what is another than before stays marked until the next change", () => {
  const first = derive(opened);
  assert.equal(derive(opened, {}, first), first, "the same state is the same picture");
  const third = derive({ ...opened, step: 3 }, {}, first);
  assert.deepEqual(
    third.lanes.map(({ kinds }) => count(kinds, "new")),
    [2, 3, 15],
  );
  const fourth = derive({ ...opened, step: 4 }, {}, third);
  assert.deepEqual(
    fourth.lanes.map(({ kinds }) => count(kinds, "new")),
    [1, 1, 0],
  );
  const longer = derive({ ...opened, step: 4, n: 17 }, {}, fourth);
  const long = derive({ ...opened, step: 4, n: 32 }, {}, longer);
  assert.equal(long.table[0].cells[0].was, "was 16", "a slider that moves on makes one change");
  assert.ok(long.lanes.every(({ kinds }) => !count(kinds, "new")));
  const back = derive({ ...opened, step: 3, n: 32 }, {}, long);
  assert.ok(back.table.every(({ cells }) => cells.every(({ was }) => was === null)));
});

test("a bet holds for its race", () => {
  const { race } = derive(opened).lanes[1];
  const bets = { [race]: 15 };
  const toldOf = (state) => derive({ ...opened, ...state }, bets).lanes[1].told;
  assert.equal(toldOf({ step: 15 }), "✓ 15 steps, as you bet");
  assert.equal(toldOf({ step: 15, dilated: true }), "✓ 4 steps");
  for (const { n, heard } of torch) {
    const { stakes } = derive({ ...opened, n });
    assert.ok(
      Object.values(heard).every((one) => stakes.includes(one.length - 1)),
      "what comes can be bet",
    );
    assert.deepEqual(
      stakes.toSorted((a, b) => a - b),
      stakes,
    );
  }
});
