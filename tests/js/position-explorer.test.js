import assert from "node:assert/strict";
import { test } from "node:test";
import { plain } from "../../transformer_edu/book/figures/js/core/format.js";
import {
  curveOf,
  derive,
  fitting,
  movedTo,
  pickedAt,
  pixelsOf,
  productOf,
  ticksOf,
  turnedTo,
} from "../../transformer_edu/book/figures/js/position-explorer.derive.js";
import { close, torch } from "./numbers.js";

const opened = { d_model: 16, base: 10_000, positions: 64, position: 10, offset: 3, pair: 1 };
const anglesOf = ({ clocks }) => clocks.map(({ angle }) => angle);
const pairsOf = ({ clocks }) => clocks.map(({ value }) => value);

test("rows, hands and dot products are those of the table", () => {
  for (const { d_model, base, table, products } of torch) {
    const handAt = (position, pair) => ({ sin: table[position][2 * pair], cos: table[position][2 * pair + 1] });
    const agree = (hands, positions, pair) =>
      hands.forEach((hand, i) => {
        const { sin, cos } = handAt(positions[i], pair);
        close([hand.sin, hand.cos], [sin, cos]);
      });
    for (const [position, offset] of [
      [10, 3],
      [0, 0],
      [100, 27],
      [63, 64],
    ]) {
      const now = derive({ d_model, base, positions: 128, position, offset, pair: 1 });
      const marks = [position, position + offset];
      close(
        now.cells.map((line) => line.map(({ value }) => value)),
        marks.map((at) => table[at]),
      );
      close(now.product, products[offset]);
      for (const { value, hands } of now.clocks) agree(hands, marks, value);
      agree(now.large[0].hands, marks, 1);
      agree(now.large[1].hands, [now.other, now.other + offset], 1);
    }
  }
});

test("the picture has the signs of the table", () => {
  const { table, d_model, base } = torch.find((one) => one.d_model === 16);
  const pixels = pixelsOf({ d_model, base, positions: 64 });
  assert.equal(pixels.length, 4 * 16 * 64);
  const clear = table
    .slice(0, 64)
    .flat()
    .map((value, i) => [value, pixels[4 * i] - pixels[4 * i + 2]]);
  for (const [value, redder] of clear) if (Math.abs(value) > 0.1) assert.equal(redder > 0, value > 0);
});

test("the curve passes through the product of every distance", () => {
  const { curve } = torch.find((one) => one.d_model === 16 && one.base === 10_000);
  const { d, pin } = curveOf(derive(opened));
  const heights = d
    .slice(2)
    .split(" L ")
    .map((point) => Number(point.split(" ")[1]));
  assert.equal(heights.length, curve.length);
  const [low, high] = [Math.min(...curve), Math.max(...curve)];
  const scale = (Math.max(...heights) - Math.min(...heights)) / (high - low);
  heights.forEach((height, i) => assert.ok(Math.abs(height - heights[0] - (curve[0] - curve[i]) * scale) < 0.02));
  assert.ok(Math.abs(pin.cy - heights[0] - (curve[0] - derive(opened).product) * scale) < 0.02);
});

test("moving both keeps every angle, another distance changes them, and what they were stays beside them", () => {
  const first = derive(opened);
  assert.equal(derive({ ...opened }, first), first, "the same state is the same picture");
  assert.deepEqual(anglesOf(first), ["171.9°", "54.4°", "17.2°", "5.4°", "0.5°", "0.1°"]);
  const further = derive({ ...opened, position: 41 }, first);
  assert.deepEqual([anglesOf(further), further.was], [anglesOf(first), null]);
  assert.ok(Math.abs(further.product - first.product) < 1e-9);
  const wider = [4, 5].reduce((last, offset) => derive({ ...opened, position: 41, offset }, last), further);
  assert.equal(wider.was, "54.4°", "a slider that moves on makes one change");
  assert.match(plain(productOf(wider)), /^PE\(41\) · PE\(46\) = .*, whatever p is\. It was 5\.54\.$/);
  assert.deepEqual(
    wider.clocks.map(({ was }) => was),
    [...anglesOf(first).slice(0, 5), null],
  );
  const other = derive({ ...wider.now, pair: 2 }, wider);
  assert.deepEqual(
    [other.was, plain(other.words.slice(1))],
    [null, "On clock 2, 5 positions further is 28.6°, wherever you begin."],
  );
});

test("of many pairs six are drawn, the chosen one among them", () => {
  const pairs = pairsOf(derive({ ...opened, d_model: 64, pair: 6 }));
  assert.equal(pairs.length, 6);
  assert.ok([0, 6, 31].every((pair) => pairs.includes(pair)) && pairs.every((pair, i) => !i || pairs[i - 1] < pair));
  assert.deepEqual(pairsOf(derive({ ...opened, d_model: 8 })), [0, 1, 2, 3]);
});

test("the distance stands once more somewhere else, inside the table", () => {
  for (const [position, offset, other] of [
    [10, 3, 40],
    [50, 5, 20],
    [0, 0, 30],
  ])
    assert.equal(derive({ ...opened, position, offset }).other, other);
  assert.equal(derive({ ...opened, position: 50 }).large[1].where, "both 31 rows earlier");
});

test("both rows stay inside the table, wherever they are dragged", () => {
  const rows = (state) => [state.position, state.position + state.offset];
  const dragged = (which, to) => rows(fitting(opened, movedTo(opened, which, to)));
  assert.deepEqual(
    [dragged(0, 20), dragged(0, 99), dragged(0, -5)],
    [
      [20, 23],
      [60, 63],
      [0, 3],
    ],
  );
  assert.deepEqual(
    [dragged(1, 30), dragged(1, 99), dragged(1, 4)],
    [
      [10, 30],
      [10, 42],
      [10, 10],
    ],
  );
  const long = { ...opened, positions: 128, position: 100, offset: 20 };
  assert.deepEqual(rows(fitting(long, { positions: 32 })), [15, 31]);
  assert.equal(fitting({ ...opened, pair: 7 }, { d_model: 4 }).pair, 1);
  assert.deepEqual(pickedAt(opened, 11.5 / 16, 20.5 / 64), { position: 20, pair: 5 });
  assert.deepEqual(pickedAt(opened, 1, -0.1), { position: 0, pair: 7 });
  const box = { left: 10, top: 10, width: 20, height: 20 };
  close(
    [
      [20, 0],
      [40, 20],
      [20, 40],
    ].map(([clientX, clientY]) => turnedTo({ clientX, clientY }, box)),
    [0, Math.PI / 2, Math.PI],
  );
});

test("a tick beside the first row's number is not seen", () => {
  const seen = (place) =>
    ticksOf(opened, place)
      .filter(({ visibility }) => visibility === "visible")
      .map(({ tick }) => tick);
  assert.deepEqual(
    [seen(10), seen(24)],
    [
      [0, 32, 48, 63],
      [0, 16, 32, 48, 63],
    ],
  );
});
