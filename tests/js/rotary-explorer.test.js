import assert from "node:assert/strict";
import { test } from "node:test";
import { plain } from "../../transformer_edu/book/figures/js/core/format.js";
import { derive, speedsOf } from "../../transformer_edu/book/figures/js/rotary-explorer.derive.js";
import { close, torch } from "./numbers.js";

const opened = { ...torch.find(({ base, trained }) => base === 10_000 && trained === 2048), read: 8192 };
const at = (more = {}) => ({ ...opened, scaling: "none", query: 1000, key: 700, ...more });
const productsOf = ({ pairs }) => pairs.map(({ product }) => product);

test("speeds, products and pairs that turn too far are torch's, for every choice", () => {
  assert.equal(torch.length, 108);
  for (const state of torch) {
    const { own, scaled } = speedsOf(state);
    assert.ok(
      [own, scaled].flat().every((speed, i) => Math.abs(speed / [state.own, state.scaled].flat()[i] - 1) < 1e-9),
    );
    for (const { query, key, products } of state.places) {
      const now = derive({ ...state, query, key });
      close(productsOf(now), products);
      assert.deepEqual(now.beyond, state.beyond);
      assert.ok(Math.abs(now.score - products.reduce((sum, one) => sum + one, 0)) < 1e-4);
    }
  }
});

test("both moved on: every hand turns, no product changes, and what was stays beside it", () => {
  const first = derive(at());
  assert.deepEqual([first.pairs[0].was, first.pairs[0].old], [undefined, undefined]);
  const next = derive(at({ query: 1500, key: 1200 }), first);
  close(productsOf(next), productsOf(first));
  next.pairs.forEach(({ hands, was, text, speed, old }, i) => {
    assert.equal(was, text);
    hands.forEach(({ angle, drawn }, n) => {
      const { hands: before } = first.pairs[i];
      close([angle - before[n].angle], [500 * speed]);
      assert.ok(drawn > before[n].drawn && drawn < before[n].drawn + 360, "on, by less than a whole turn");
      close([Math.cos((drawn * Math.PI) / 180), (old[n] * Math.PI) / 180], [Math.cos(angle), before[n].angle]);
    });
  });
  assert.equal(next.together, 500);
  assert.equal(derive(at({ query: 1600, key: 1300 }), next).together, 600, "a slider that moves on makes one change");
  assert.equal(derive(at({ query: 1500, key: 1200 }), next), next, "the same state is the same picture");
});

test("the curve's mean is that of the scores about it, and the band holds them", () => {
  const now = derive(at());
  const most = now.pairs.reduce((sum, { size }) => sum + size, 0);
  const [line, band] = [now.curve.line, now.curve.band].map((points) =>
    points.split(" ").map((point) => (most * (50 - Number(point.split(",")[1]))) / 50),
  );
  const wide = (2 * 8192) / 100; // what is smoothed, to each side
  for (const step of [15, 50, 80]) {
    const scores = Array.from({ length: 2 * 165 + 1 }, (_, i) => {
      const distance = Math.round((step + 0.5) * (wide / 2)) - 165 + i;
      return [
        distance,
        now.pairs.reduce((sum, { size, start, speed }) => sum + size * Math.cos(start + distance * speed), 0),
      ];
    });
    const weights = scores.map(([distance]) => Math.max(0, 1 - Math.abs(distance - (step + 0.5) * (wide / 2)) / wide));
    const mean = scores.reduce((sum, [, score], i) => sum + score * weights[i], 0) / wide;
    assert.ok(Math.abs(mean - line[step]) < 0.02, `${mean} ${line[step]}`);
    const within = scores.filter(([distance]) => Math.abs(distance - (step + 0.5) * (wide / 2)) < 5);
    assert.ok(within.every(([, score]) => score < band[step] + 0.05 && score > band.at(-1 - step) - 0.05));
  }
});

test("words say what changed last", () => {
  const first = derive(at());
  const linear = derive(at({ scaling: "linear" }), first);
  assert.match(plain(linear.says), /^Linear: no pair turns further/);
  assert.ok(linear.old && !first.old, "the curve before stays beside the new one");
  const ntk = derive(at({ scaling: "ntk" }), linear);
  assert.match(plain(ntk.words), /^More than 6,209 apart, pair 4 meets angles/);
  assert.equal(ntk.pairs[4].newFrom, 6209);
});
