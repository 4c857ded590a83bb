import assert from "node:assert/strict";
import { test } from "node:test";
import { compared, differences } from "../../transformer_edu/book/figures/js/core/changed.js";
import { css, diverging, inkOn } from "../../transformer_edu/book/figures/js/core/colour.js";
import * as text from "../../transformer_edu/book/figures/js/core/format.js";
import { clamp, matmul, softmax, transpose } from "../../transformer_edu/book/figures/js/core/math.js";
import { close, torch } from "./numbers.js";

test("softmax and products are torch's, and a row of nothing but −∞ gets zeros", () => {
  const { rows, weights, product } = torch;
  close(rows.map(softmax), weights);
  close(matmul(rows, transpose(rows)), product);
  assert.deepEqual(softmax([-Infinity, -Infinity]), [0, 0]);
  close(softmax([0, -Infinity]), [1, 0]);
});

test("a number is written with a true minus sign, and never as −0.00", () => {
  const written = [0.005, -1.006, -0.001, Infinity, -Infinity, Number.NaN].map((one) => text.format(one));
  assert.deepEqual(written, ["0.01", "−1.01", "0.00", "∞", "−∞", "not a number"]);
  assert.equal(text.inBrackets(-2, 0), "(−2)");
  assert.equal(text.short(3), "3");
  assert.equal(text.bound([0.0012, 0.0003], 3), "0.002");
  assert.deepEqual([text.plural(1, "row"), text.plural(1200, "batch")], ["1 row", "1,200 batches"]);
});

test("a number is read as people type it, and nothing else is one", () => {
  assert.deepEqual(["−1,5", " 2. ", ".5", "+1e2", "–3"].map(text.parseNumber), [-1.5, 2, 0.5, 100, -3]);
  assert.deepEqual(["", "1 2", "1.2.3", "x", "1e999", "--1", "0x10"].map(text.parseNumber), Array(7).fill(null));
});

test("a sentence of pieces reads as it is shown", () => {
  const pieces = ["In ", { token: "<eos>" }, { exact: "<eos>" }, { bold: " 3 " }, { number: 0.123, text: "0.12" }];
  assert.equal(text.plain(pieces), "In end<eos> 3 0.12");
});

test("beside a new word stands the one that it replaces, and between two what is left out", () => {
  const marks = (words, before) =>
    compared(words.split(" "), before.split(" ")).map(({ at, was, gone }) => was ?? (gone ? `(${gone}) ${at}` : at));
  assert.deepEqual(marks("la vache dort", "le chat dort"), ["le", "chat", 2]);
  assert.deepEqual(marks("le dort", "le chat noir dort"), [0, "(chat noir) 3"]);
  assert.deepEqual(marks("le chat dort", "le dort"), [0, "", 1]);
  assert.deepEqual(marks("un chat voit un chat <eos>", "le chat voit le <eos>"), ["le", 1, 2, "le", "", 4]);
  assert.deepEqual(marks("a x b c", "a b d c"), [0, "", 1, "(d) 3"]);
  const counts = [
    ["a b", "a b"],
    ["a c", "a b"],
    ["a", "a b c"],
    ["b a", "a b"],
  ];
  assert.deepEqual(
    counts.map(([one, other]) => differences(one.split(" "), other.split(" "))),
    [0, 1, 2, 1],
  );
});

test("text on a colour has at least 4.5 : 1", () => {
  const light = (rgb) => {
    const [x, y, z] = rgb.map((c) => (c <= 10 ? c / 255 / 12.92 : ((c / 255 + 0.055) / 1.055) ** 2.4));
    return 0.2126 * x + 0.7152 * y + 0.0722 * z;
  };
  for (let value = -1; value <= 1; value += 0.05) {
    const paper = light(diverging(value)) + 0.05;
    const ink = (inkOn(diverging(value)) === "#fff" ? 1 : 0) + 0.05;
    assert.ok(Math.max(paper, ink) / Math.min(paper, ink) >= 4.5, css(diverging(value)));
  }
  assert.equal(clamp(7, 0, 3), 3);
});
