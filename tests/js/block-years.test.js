import assert from "node:assert/strict";
import { test } from "node:test";
import { cacheOf, derive, questions } from "../../transformer_edu/book/figures/js/block-years.derive.js";
import { format, plain } from "../../transformer_edu/book/figures/js/core/format.js";
import { close, settable, torch } from "./numbers.js";

const { rows, models, measured } = torch;
const at = (more = {}) => ({ rows, models, measured, model: "llama", row: 2, tokens: 131072, texts: 1, ...more });
const differenceOf = (base, field, value) =>
  torch.differences.find(([one, other, third]) => one === base && other === field && third === value);

test("differences and caches are those of torch and of Python", () => {
  assert.equal(measured.length, torch.differences.length);
  for (const { base, field, value, mean, spread, seeds } of measured) {
    close([mean, spread], differenceOf(base, field, value).slice(3), 1e-9);
    assert.equal(seeds, 5);
  }
  for (const [name, tokens, bytes] of torch.caches) assert.equal(cacheOf(models[name], tokens), bytes);
});

test("each row of each model says what was measured, in both directions", () => {
  for (const model of Object.keys(models)) {
    rows.forEach(([field, label, old], row) => {
      const now = derive(at({ model, row }));
      const { value, isOther } = now.rows[row];
      const said = plain(now.words);
      assert.equal(isOther, models[model].choices[field] !== old);
      assert.ok(
        said.startsWith(label) && !said.includes("undefined") && !now.rows[row].text.includes("undefined"),
        said,
      );
      if (!isOther) return assert.ok(said.includes("as in the paper"));
      const into = differenceOf("2017", field, value);
      if (!into) return assert.ok(said.includes("Not measured here."), said);
      const other = differenceOf("today", field, value) ?? differenceOf("today", field, old);
      const where = differenceOf("today", field, value) ? "put into" : "taken from";
      const text = ([, , , mean, spread]) => `${mean < 0 ? "" : "+"}${format(mean, 3)} ± ${format(spread, 3)}`;
      assert.ok(said.includes(`the paper’s block ${text(into)}, ${where} today’s ${text(other)}.`), said);
    });
  }
});

test("parameters and caches, with windows and texts counted", () => {
  const bytes = (more) => derive(at(more)).lines.map(({ cells }) => cells.map(({ value }) => value));
  const [parameters, token, cache] = bytes({ tokens: 1024, texts: 4 });
  close(parameters, [(32 * 12 * 4096 ** 2 + 128256 * 4096) / 1e6, 8000]);
  assert.deepEqual(token, [32 * 2 * 4096 * 2, 32 * 2 * 8 * 128 * 2]);
  assert.deepEqual(cache, [4 * 1024 * token[0], 4 * 1024 * token[1]]);
  assert.equal(bytes({ model: "gemma", tokens: 4096 })[2][1], 2 * 2 * 16 * 128 * (10 * 4096 + 52 * 1024));
});

test("what was so stays beside it until the next change", () => {
  const first = derive(at());
  const other = derive(at({ model: "olmo" }), first);
  assert.equal(other.rows[3].was, "8 for 32 heads");
  assert.equal(other.rows[0].was, null);
  assert.equal(other.lines[1].cells[1].was, "131,072");
  assert.equal(other.lines[1].cells[0].was, null);
  assert.equal(derive(at({ model: "olmo" }), other), other);
  const next = derive(at({ model: "olmo", row: 3 }), other);
  assert.ok(next.rows.every(({ was }) => was === null));
});

test("what questions tell is so", () => {
  const state = settable(at());
  const asked = questions(state, () => derive(state));
  const answers = (ask) =>
    Object.keys(models).filter((model) =>
      rows.some((_, row) => {
        state.set(at({ model, row }));
        return ask.done();
      }),
    );
  for (const { show, done } of asked) {
    state.set(at({ model: "gpt2" }));
    assert.ok(!done());
    show();
    assert.ok(done());
  }
  assert.deepEqual(answers(asked[0]), ["olmo"]);
  assert.deepEqual(answers(asked[1]), ["mistral"]);
  assert.ok(!answers(asked[2]).includes("gpt-oss") && answers(asked[2]).includes("llama"));
  for (const model of answers(asked[2]))
    rows.forEach(([field], row) => {
      state.set(at({ model, row }));
      assert.equal(asked[2].done(), field === "biases");
    });
});
