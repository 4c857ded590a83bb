import assert from "node:assert/strict";
import { test } from "node:test";
import * as engine from "../../transformer_edu/book/engine/js/engine.js";
import { derive, isKnown, readTrace, traceOf } from "../../transformer_edu/book/figures/js/architecture-map.derive.js";
import { plain } from "../../transformer_edu/book/figures/js/core/format.js";
import { BOXES, pathOf } from "../../transformer_edu/book/figures/js/parts/blocks.js";
import { close, torch } from "./numbers.js";

const model = engine.readModel(Uint8Array.from(Buffer.from(torch.file, "base64")), undefined);
const traces = torch.sentences.map(({ words }) => traceOf(model, words, torch.line.most, torch.opened));
const [trace] = traces;
const NAMES = { source_name: "English", target_name: "French" };
const shown = (block, more = {}, before = null) =>
  derive({ block, source_token: 2, target_token: 3, ...NAMES, ...more }, { trace, ...more }, before);
const valuesOf = ({ weights }) => weights.table.cells.map((line) => line.map(({ value }) => value));

test("at every block of two sentences stands what torch computes, and how many numbers it has learned", () => {
  assert.deepEqual(pathOf(2), torch.path);
  traces.forEach((one, i) => {
    const expected = torch.sentences[i];
    assert.deepEqual(one.target_tokens, expected.written);
    let counted = 0;
    for (const block of torch.path) {
      const now = shown(block, { trace: one });
      const at = block.startsWith("encoder") ? 2 : 3;
      assert.deepEqual([now.at, now.step], [at, torch.path.indexOf(block)]);
      counted += now.size[2].number;
      assert.equal(now.size[2].number, torch.opened.parameters[block]);
      if (now.heat) close(now.heat.values, expected.activations[block], block);
      assert.equal(now.heat === null, ["logits", "softmax"].includes(block));
      assert.equal(now.weights === null, !(block in expected.weights));
      if (now.weights)
        close(
          valuesOf(now),
          expected.weights[block].map((head) => head[at]),
        );
      const likely = now.candidates?.words.map(({ value }) => value);
      if (likely) close(likely, expected[block === "logits" ? "logits" : "chances"][at], block);
    }
    assert.equal(shown("softmax").size[0].number, counted);
  });
});

test("it opens with the numbers of one block and of those that it is made of", () => {
  const opened = readTrace(torch.opened);
  const known = torch.path.filter((block) => isKnown(block, opened));
  assert.deepEqual(known, ["encoder.positional", "encoder.0.self", "encoder.0.after_self", "logits", "softmax"]);
  const off = opened.activations["encoder.0.self"].flatMap((row, i) =>
    row.map((value, j) => Math.abs(value - trace.activations["encoder.0.self"][i][j])),
  );
  assert.ok(Math.max(...off) <= 0.0051);
  const instead = ["The model is being loaded …"];
  const now = shown("decoder.0.cross", { trace: opened, instead, sentence: "a cat" });
  assert.deepEqual([now.heat, now.weights, now.words], [null, null, instead]);
  assert.equal(now.told, "Cross-attention, decoder, layer 1. The model is being loaded … a cat");
});

test("a norm's sentence gives the root mean squares of what went in, was added and came out", () => {
  const parts = ["decoder.1.after_self", "decoder.1.cross", "decoder.1.after_cross"];
  const rows = parts.map((name) => torch.sentences[0].activations[name][3]);
  const sizes = rows.map((row) => Math.sqrt(row.reduce((sum, x) => sum + x * x, 0) / row.length));
  close(
    shown(parts[2]).words.flatMap((piece) => piece.number ?? []),
    sizes,
  );
  assert.match(plain(shown(parts[2]).words), /^chat → noir: numbers with an RMS \(root mean square\) of \d/);
});

test("what the mask hides is hatched, and of the same attention what is another stays marked", () => {
  const { table, ...first } = shown("decoder.1.self", { target_token: 1 }).weights;
  const hidden = table.cells.flatMap((line) => line.filter(({ isHatched }) => isHatched));
  assert.deepEqual([hidden.length, hidden.every(({ value }) => value === 0)], [4 * 6, true]);
  assert.equal(table.cells[0][2].label, "row head 1, column petit: hidden by the mask, 0");
  const marked = (now) => now.weights.table.cells.flat().filter(({ was }) => was !== null).length;
  const one = shown("decoder.0.cross");
  assert.equal(marked(one), 0);
  const other = shown("decoder.1.cross", {}, one);
  assert.ok(marked(other) > 0);
  assert.equal(marked(shown("decoder.1.cross", {}, other)), marked(other), "until the next change");
  assert.equal(marked(shown("decoder.1.self", {}, { ...other, weights: { table, ...first } })) > 0, true);
  assert.equal(marked(shown("encoder.1.self", {}, other)), 0, "another attention's are no change");
});

test("numbers run along the wires into the next block, or the whole way to another", () => {
  const namesOf = (all) => all.map((i) => `${BOXES[i].stack}.${BOXES[i].part}`);
  const first = shown("encoder.embedding");
  assert.deepEqual([first.map.way, first.map.route], [[0], []]);
  const next = shown("encoder.positional", {}, first);
  assert.deepEqual(next.map.route, [{ box: 1, delay: 0 }]);
  const far = shown("decoder.0.self", {}, next);
  assert.deepEqual(namesOf(far.map.way), ["decoder.embedding", "decoder.positional", "decoder.self"]);
  assert.deepEqual(
    far.map.route.map(({ box }) => box),
    far.map.way,
  );
  const last = shown("softmax", {}, far);
  assert.equal(last.map.route.length, BOXES.length, "through both halves");
  assert.ok(Math.max(...last.map.route.map(({ delay }) => delay)) <= 1200);
  assert.equal(shown("decoder.1.self", {}, far).map.way.length, 9, "its layer before has met the memory");
  assert.deepEqual(shown("decoder.0.self", { source_token: 1 }, far).map.route, [], "another word moves nothing");
  assert.deepEqual(
    BOXES.map(({ wires }) => wires.length),
    [1, 1, 1, 2, 1, 2, 1, 1, 1, 2, 2, 2, 1, 2, 1, 2],
  );
});

test("the map names the layer that was shown last, and of many words the followed one", () => {
  const deep = shown("decoder.1.cross");
  assert.deepEqual([deep.map.layer, deep.map.texts.memory[0].text], ["layer 2 of 2", "memory"]);
  const out = shown("softmax", {}, deep);
  assert.equal(out.map.layer, "layer 2 of 2");
  assert.equal(shown("softmax").map.texts.memory[0].text, "memory, of layer 2");
  const open = out.map.boxes.filter(({ isOpen }) => isOpen);
  assert.deepEqual(
    open.map(({ block, spoken }) => [block, spoken]),
    [["softmax", "Softmax"]],
  );
  const many = { ...trace, source_tokens: Array(12).fill("watches") };
  assert.equal(
    shown("softmax", { trace: many })
      .map.texts.source.map(({ text }) => text)
      .join(" "),
    "… watches …",
  );
  assert.equal(shown("logits", { target_token: 99 }).at, trace.target_tokens.length - 1);
});
