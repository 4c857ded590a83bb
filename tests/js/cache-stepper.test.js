import assert from "node:assert/strict";
import { test } from "node:test";
import * as engine from "../../transformer_edu/book/engine/js/engine.js";
import { derive, runBefore, runOf } from "../../transformer_edu/book/figures/js/cache-stepper.derive.js";
import { plain } from "../../transformer_edu/book/figures/js/core/format.js";
import { close, torch } from "./numbers.js";

const runs = torch.runs.map(({ file, rows }) => ({
  rows,
  run: runOf(engine.readModel(Uint8Array.from(Buffer.from(file, "base64")), undefined), rows.source),
}));
const [opened, foxes, tiny] = runs.map(({ rows }) => runBefore(rows));
const shown = (state, run = opened, before = null, instead = null) =>
  derive(
    { step: run.reads.length, token: 2, layer: 1, masked: true, length: 64, size: 64, ...state },
    { run, instead },
    before,
  );
const valuesOf = ({ numbers }) => numbers.map(({ value }) => value);
const marked = (now) => now.boards[0].rows.flatMap(({ word, was }) => (was ? [`${word} ${was}`] : []));

test("every row of any sentence is torch's, kept and computed again, with the mask and without", () => {
  assert.deepEqual(
    runs.map(({ rows }) => rows.reads.length),
    [8, 6, 16],
  );
  for (const { rows, run } of runs) {
    assert.deepEqual([run.source, run.reads, run.writes], [rows.source, rows.reads, rows.writes]);
    close(run.kept, rows.kept, "kept");
    for (const [name, masked] of [
      ["masked", true],
      ["unmasked", false],
    ])
      rows[name].forEach((expected, i) => {
        const found = run.again(i + 1, masked);
        close(found.keys, expected.keys, `${name}, step ${i + 1}`);
        close(found.moved, expected.moved, `${name}, step ${i + 1}, moved`);
        assert.deepEqual(runBefore(rows).again(i + 1, masked), expected);
        for (const layer of rows.kept.keys()) {
          const stale = expected.moved[layer].slice(0, i).map((far) => far > 1e-3);
          assert.deepEqual(shown({ step: i + 1, layer, masked }, run).isStale, stale);
        }
      });
  }
});

test("a key is compared with the one that was kept, token by token", () => {
  for (const masked of [true, false])
    for (const layer of [0, 1])
      for (const token of opened.reads.keys()) {
        const [cached, again] = shown({ token, layer, masked, step: 7 }).keys;
        if (token >= 7) {
          assert.equal(plain(cached.words), "pas is not read before step 8.");
          assert.deepEqual([cached, again].map(valuesOf), [[], []]);
          assert.equal(again.verdict, "");
          continue;
        }
        const { keys, moved } = opened.again(7, masked);
        assert.deepEqual([cached, again].map(valuesOf), [opened.kept[layer][token], keys[layer][token]]);
        assert.equal(again.verdict, moved[layer][token] > 1e-3 ? "≠ another" : "= the same");
      }
  const { keys } = shown({ token: 6, masked: false, step: 7 });
  assert.deepEqual(
    keys.map(({ words }) => plain(words)),
    ["key of dort, computed now", "computed now, without the mask"],
  );
});

test("cells and counts are those of the costs in Python", () => {
  for (const [i, expected] of torch.costs.entries()) {
    const step = i + 1;
    const { boards, counts } = shown({ step, masked: false });
    assert.deepEqual(
      counts.slice(1).map((line) => line.slice(1).map(({ value }) => value)),
      expected,
    );
    const { moved } = opened.again(step, false);
    boards.forEach(({ way, count, rows }) => {
      assert.equal(count, way === "cached" ? step : (step * (step + 1)) / 2);
      rows.forEach(({ cells }, row) =>
        cells.forEach((kind, at) => {
          const past = way === "plain" ? "again" : at === step - 1 && moved[1][row] > 1e-3 ? "stale" : "kept";
          assert.equal(kind, at >= step || row > at ? "later" : row === at ? "now" : past, `${way} ${row} ${at}`);
        }),
      );
      const computed = rows.flatMap(({ cells }) => cells).filter((kind) => kind === "now" || kind === "again");
      assert.equal(computed.length, count);
    });
  }
  for (const [n, ...expected] of torch.longer) {
    const { bars, note } = shown({ length: n }).longer;
    assert.deepEqual([...bars.map(({ value }) => value), note[1].number], expected);
    close(
      bars.map(({ share }) => share),
      [expected[0] / expected[1], 1],
    );
  }
});

test("what it says depends on what is kept", () => {
  const said = (state, run) => plain(shown(state, run).words).replace(/^.*? writes \S+ /, "");
  assert.equal(said({ step: 1 }), "Nothing is kept yet: both ways compute the one row there is.");
  assert.match(
    said({ step: 5 }),
    /^With the cache it computes the row of noir alone\. Without, the rows of all 5 tokens/,
  );
  assert.match(said({ step: 2, masked: false }, foxes), /1 row of layer 2 comes out otherwise: the cache is stale\.$/);
  assert.match(said({ masked: false, layer: 0 }), /^In layer 1 a row is made of its own token and place alone/);
  const same = { ...foxes, again: (step) => foxes.again(step, true) };
  assert.equal(said({ masked: false }, same), "No row of layer 2 comes out otherwise at this step.");
  assert.match(shown({}).why, /differs from the kept one by more than 0\.00000\d, which is rounding\./);
  assert.match(shown({ masked: false }).why, /without the mask .* by more than [1-9]\.\d\d\. An encoder/);
  assert.deepEqual(shown({}, opened, null, ["loading"]).words, ["loading"]);
});

test("what is another than before stays marked until the next change, and is all that is told", () => {
  const first = shown({});
  assert.deepEqual([first.boards.map(({ was }) => was), marked(first)], [["", ""], []]);
  assert.equal(shown({}, opened, first).told, first.told, "nothing new");
  const back = shown({ step: 7 }, opened, first);
  assert.deepEqual(
    back.boards.map(({ count, was }) => [count, was]),
    [
      [7, "was 8"],
      [28, "was 36"],
    ],
  );
  assert.equal(back.told, plain(back.words));
  const other = shown({ step: 7, token: 3 }, opened, back);
  assert.deepEqual([other.boards[1].was, other.told.slice(0, 11)], ["was 36", "key of chat"]);
  const longer = shown({ step: 7, token: 3, length: 512 }, opened, other);
  assert.match(longer.told, /^with the cache n = 512\. without n\(n \+ 1\)\/2 = 131,328\. 256\.5 times/);
  const reads = opened.reads.map((word) => (word === "chat" ? "chien" : word));
  const dog = shown({ step: 7 }, { ...opened, reads }, other);
  assert.deepEqual([marked(dog), dog.boards[1].was], [["chien was chat"], ""]);
  assert.deepEqual(marked(shown({ step: 6 }, foxes, dog)), [], "of another length nothing is marked");
});

test("of a shorter sentence and a smaller model it shows what there is", () => {
  const now = shown({ step: 30, token: 30, layer: 5 }, tiny);
  assert.deepEqual([now.step, now.last, now.token, now.layer], [16, 16, 15, 0]);
});
