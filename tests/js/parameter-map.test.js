import assert from "node:assert/strict";
import { test } from "node:test";
import { plain } from "../../transformer_edu/book/figures/js/core/format.js";
import * as derived from "../../transformer_edu/book/figures/js/parameter-map.derive.js";
import { torch } from "./numbers.js";

const { changesFor, derive, layoutOf, stepped } = derived;
const limits = {
  d_ff: 32768,
  d_model: 8192,
  num_heads: 256,
  num_layers: 24,
  source_vocab_size: 1e6,
  target_vocab_size: 1e6,
};
const base = { ...torch[0].config, keep_ratio: true, selected: "encoder.0.w_1", limits };
const sum = (all) => all.reduce((a, b) => a + b, 0);
const partsOf = ({ groups }) => groups.flatMap(({ layers }) => layers.flatMap(({ parts }) => parts));
const outlined = ({ groups }) => groups.map(({ layers }) => layers.filter(({ kind }) => /changed/.test(kind)).length);
const ask = (state, name, isUp) => ({ ...state, ...changesFor(state, name, stepped(name, state[name], isUp)) });

test("every count is the model's", () => {
  assert.ok(torch.length > 6);
  for (const { config, counts } of torch) {
    const now = derive({ ...base, ...config });
    const { sizes } = now;
    const parts = Object.fromEntries(partsOf(now).map(({ id, count }) => [id, count]));
    assert.deepEqual({ ...parts, norms: sizes.norms }, counts);
    assert.equal(sizes.total, sum(Object.values(counts)));
    assert.equal(sum(now.groups.map(({ count }) => count)), sizes.total);
    for (const [kind, count] of Object.entries(sizes.kinds)) {
      assert.equal(sum(partsOf(now).map((part) => (part.kind === kind ? part.count : 0))), count);
    }
    const { tables, encoder } = sizes.groups;
    const inStack = (name) => sum(partsOf(now).map((part) => (part.id.startsWith(name) ? part.count : 0)));
    assert.deepEqual([tables, encoder], [inStack("table"), inStack("encoder") + 0.4 * sizes.norms]);
  }
});

test("a number that is stepped takes along what follows it", () => {
  let state = ask(base, "d_model", true);
  assert.deepEqual([state.d_model, state.d_ff], [1024, 4096]);
  state = ask({ ...state, keep_ratio: false }, "d_model", false);
  assert.deepEqual([state.d_model, state.d_ff], [512, 4096]);
  state = ask(state, "source_vocab_size", false);
  assert.deepEqual([state.source_vocab_size, state.target_vocab_size], [18500, 18500]);
  state = ask({ ...state, tie_embeddings: "none" }, "source_vocab_size", false);
  assert.deepEqual([state.source_vocab_size, state.target_vocab_size], [9250, 18500]);
  assert.deepEqual(
    [stepped("num_layers", 6, true), stepped("num_layers", 1, false), stepped("d_ff", 1, false)],
    [7, 1, 1],
  );
});

test("what is larger or smaller stays marked until the next change, on the same scale", () => {
  const first = derive(base);
  assert.deepEqual(outlined(first), [0, 0, 0]);
  const larger = derive(ask(base, "d_model", true), first);
  assert.deepEqual(outlined(larger), [1, 6, 6]);
  assert.deepEqual(
    larger.groups.map(({ factor }) => factor),
    ["×\u00a02.00", "×\u00a04.00", "×\u00a04.00"],
  );
  assert.deepEqual(
    larger.shares.map(({ was }) => was),
    ["was 30.0 %", "was 30.0 %", "was 39.9 %"],
  );
  const { lengths } = layoutOf(larger, 656);
  assert.ok(Math.abs(2 * lengths["was-d"] - lengths.d) < 1e-9);
  assert.ok(Math.abs(2 * lengths["was-tables"] - lengths.tables) < 1e-9);
  const chosen = derive({ ...ask(base, "d_model", true), selected: "decoder.1.w_2" }, larger);
  assert.deepEqual(outlined(chosen), [1, 6, 6], "a matrix is looked at: no number has changed since");
  const deeper = derive({ ...base, ...larger.model, num_layers: 7 }, chosen);
  assert.deepEqual(outlined(deeper), [0, 0, 0], "no matrix is larger, and one layer is new");
  const another = derive({ ...base, ...torch[2].config }, deeper);
  assert.deepEqual(
    another.groups.map(({ factor }) => factor),
    [null, null, null],
  );
});

test("more heads move nothing", () => {
  const [few, many] = [derive(base), derive(ask(base, "num_heads", true), derive(base))];
  assert.deepEqual(layoutOf(many, 656), layoutOf(few, 656));
  assert.match(plain(many.words), /^heads 8 → 16: not one number more or less\. Heads are cuts: each now works in 32/);
  assert.deepEqual(partsOf(many), partsOf(few));
});

test("the map fits its place", () => {
  for (const { config } of torch) {
    for (const [width, side, room, lowest] of [
      [656, 146, 216, 54],
      [358, 0, 170, 38],
    ]) {
      const { perLine, lengths } = layoutOf(derive({ ...base, ...config }), width);
      assert.ok(perLine * lengths.slot <= width - side + 1e-6);
      const lines = Math.ceil(config.num_layers / perLine);
      const tables = Math.max(lowest, lengths.tables);
      assert.ok(tables + 7 * lines * lengths.d + 20 + 16 * (lines - 1) <= room + 1e-6, `${width}`);
    }
  }
});

test("what is no model is said, and the map shows the last one", () => {
  const first = derive(base);
  for (const [wrong, says] of [
    [
      { d_model: 16384, d_ff: 65536 },
      /^No such model\. dmodel = 16,384 is more than this figure can draw; at most 8,192/,
    ],
    [{ d_model: 15, num_heads: 5 }, /dmodel must be even/],
    [
      { num_heads: 7 },
      /512 numbers cannot be cut into 7 heads of one length: 512 ÷ 7 = 73\.14\. The map shows the last one\.$/,
    ],
    [{ source_vocab_size: 92 }, /needs one vocabulary, but 92 and 37,000 words differ/],
  ]) {
    const now = derive({ ...base, ...wrong }, first);
    assert.match(plain(now.words), says);
    assert.deepEqual([now.isFault, now.model, now.groups], [true, first.model, first.groups]);
    assert.deepEqual(plain(derive(base, now).words), plain(first.words));
  }
});

test("the chosen matrix is described; a reader's change is told instead", () => {
  const first = derive(base);
  assert.match(
    plain(first.words),
    /^W1 first feed-forward matrix, encoder layer 1: widens .* = 1,050,624 numbers, 1\.7 % of all\.$/,
  );
  const half = derive(ask(base, "d_ff", false), first);
  assert.match(
    plain(half.words),
    /^dff 2,048 → 1,024: encoder ÷\u00a01\.50, decoder ÷\u00a01\.33 and nothing else\. In all ÷\u00a01\.25\./,
  );
  assert.match(plain(derive({ ...base, keep_ratio: false }, first).words), /^dff now stays, whatever dmodel is\.$/);
  const gone = derive({ ...base, selected: "decoder.9.w_q" }, first);
  assert.equal(gone.part.id, "decoder.5.w_1", "a layer that is gone");
  const spoken = partsOf(first).find(({ id }) => id === "decoder.5.cross.w_k").spoken;
  assert.equal(spoken, "decoder layer 6, cross-attention: key projection W K, 512 × 512, 262,656 parameters");
});
