import assert from "node:assert/strict";
import { test } from "node:test";
import { plain } from "../../transformer_edu/book/figures/js/core/format.js";
import { derive, drawn, PLACEMENTS, pulseOf } from "../../transformer_edu/book/figures/js/norm-placement.derive.js";
import { close, torch } from "./numbers.js";

const MEASURES = ["signal", "length", "likeness"];
const opened = {
  placement: "post",
  depth: 24,
  layer: 12,
  network: 1,
  measure: "signal",
  tokens: ["cat", "black"],
  x: torch.x,
};
let now = derive(opened);
/** Another state; the networks are run once. */
const at = (changes) => (now = derive({ ...opened, ...changes }, now));

test("every curve is what autograd gives, and its name has where it arrives", () => {
  assert.equal(torch.curves.length, 9);
  for (const { placement, depth, residual, ...curves } of torch.curves)
    for (const measure of MEASURES) {
      const { curves: found, chart, alone } = at({ placement, depth, measure });
      close(found[placement], curves[measure], `${placement} ${depth} ${measure}`);
      const { value } = chart.names.find(({ of }) => of === placement);
      close(value, measure === "signal" ? curves[measure][0] : curves[measure].at(-1));
      if (residual) assert.match(alone, new RegExp(` ${residual[0].toFixed(2)} .*in ${placement}-norm`));
    }
});

test("every vector of a layer is torch's", () => {
  for (const { vectors, ...of } of torch.taps) {
    const { cells, which } = at(of).taps;
    close(
      cells.map((line) => line.map(({ value }) => value)),
      vectors,
    );
    const lengths = which.filter(({ measure }) => measure === "length").map(({ number }) => number);
    close(
      lengths,
      vectors.map((vector) => Math.hypot(...vector)),
    );
  }
});

test("a pulse is at each place what torch gives, the same past norm and sub-layer, and goes the way of what is measured", () => {
  for (const { values, ...of } of torch.places) {
    const state = { ...opened, ...of };
    const found = at(of).lab.places(of.measure, of.placement, of.depth, of.layer);
    close(found, values, JSON.stringify(of));
    const { places, legs } = pulseOf(state, now);
    const isBack = of.measure === "signal";
    assert.equal(places[0].value, values.length && found[0]);
    assert.equal(places.at(-1).value, found.at(-1), "the last number is where it arrives");
    assert.equal(legs.length, of.placement === "none" ? 1 : 4);
    assert.ok(legs[0].path.startsWith(isBack ? "M 88 236" : "M 88 12"), legs[0].path);
    const past = places.find(({ gap }) => gap === "past")?.value;
    if (of.placement === "pre") assert.equal(past, found[0], "no norm stands on this way");
    if (of.placement === "post") assert.equal(past, found[isBack ? 1 : 0]);
    if (isBack) close([found.at(-1), found[0]], [now.mine[of.layer - 1], now.mine[of.layer]], "the chart's numbers");
  }
});

test("the chart draws the curve that it holds", () => {
  const { chart, curves } = at({ measure: "length" });
  const { paths } = drawn(chart.points);
  const heights = [...paths[1].matchAll(/[\d.]+ ([\d.]+)/g)].map(([, y]) => Number(y));
  const share = (all) => all.map((one) => (one - all[0]) / (all.at(-1) - all[0]));
  assert.equal(heights.length, 25);
  share(heights).forEach((one, i) => assert.ok(Math.abs(one - share(curves.pre)[i]) < 0.01));
  for (const measure of MEASURES) {
    const ends = drawn(at({ measure }).chart.points).heights.toSorted((a, b) => a - b);
    assert.ok(ends[1] - ends[0] > 8.9 && ends[2] - ends[1] > 8.9, "no name covers another");
  }
});

test("the finding says the medians", () => {
  const signal = (placement, depth) =>
    torch.curves.find((one) => one.placement === placement && one.depth === depth).signal[0];
  const [post, pre] = ["post", "pre"].map((one) => signal(one, 12).toFixed(2));
  assert.equal(
    plain(at({ depth: 12 }).says),
    `Back through 12 layers, post-norm leaves ${post} of the signal, pre-norm ${pre}`,
  );
  assert.match(now.words[0], /all 12 norms/);
  assert.match(plain(at({ depth: 1 }).says), /through 1 layer,/);
  assert.deepEqual(
    PLACEMENTS.map((placement) => at({ placement }).wiring[3]),
    [1, 1, 0],
  );
});

test("where a curve ended before stays marked until the next change; a slider that moves on makes one", () => {
  const wasOf = ({ chart }) => chart.names.map(({ was }) => was?.text ?? null);
  at({ measure: "length" });
  assert.deepEqual(wasOf(at({})), [null, null, null], "of another measure nothing was");
  for (const depth of [23, 12, 6]) at({ depth });
  assert.deepEqual(wasOf(now), ["0.27", "0.58", "0.07"]);
  assert.deepEqual(wasOf(at({ depth: 6, placement: "pre" })), [null, null, null]);
});
