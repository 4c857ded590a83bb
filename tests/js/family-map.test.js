import assert from "node:assert/strict";
import { test } from "node:test";
import { plain } from "../../transformer_edu/book/figures/js/core/format.js";
import { derive, labelsOf, maskOf, passOf, told } from "../../transformer_edu/book/figures/js/family-map.derive.js";
import { torch } from "./numbers.js";

const texts = (all) => all.map((one) => one?.text ?? null);
const marked = ({ cells }) => cells.flat().filter(({ isChanged }) => isChanged).length;

test("every family reads, sees and is asked for what the package's masks say", () => {
  assert.ok(torch.length > 50);
  for (const { words, family, place, inputs, targets, mask, asked } of torch) {
    const pass = passOf({ words, family, place });
    assert.deepEqual([texts(pass.inputs), texts(pass.targets), maskOf(pass)], [inputs, targets, mask]);
    assert.equal(derive({ words, family, place }).asked, asked);
  }
});

test("what is another than before stays marked until the next change", () => {
  const words = ["the", "small", "black", "cat", "does", "not", "sleep"];
  const first = derive({ words, family: "gpt", place: 3 });
  assert.equal(marked(first), 0);
  assert.equal(derive({ words, family: "gpt", place: 3 }, first), first, "the same state is the same picture");
  const other = derive({ words, family: "bert", place: 3 }, first);
  assert.equal(marked(other), 21);
  const next = derive({ words, family: "bert", place: 4 }, other);
  assert.equal(marked(next), 21, "no number has changed since");
  assert.equal(derive({ words, family: "bert", place: 5 }, next).cells[6][6], next.cells[6][6], "not drawn again");
  const others = next.places.flatMap((place, i) => (place?.asks.isOther ? [i] : []));
  assert.deepEqual(others, [3, 4]);
  const longer = derive({ words: [...words, "now"], family: "bert", place: 4 }, next);
  assert.ok(!marked(longer) && !longer.places.some((place) => place?.reads.isOther), "a table of another size is new");
});

test("the sentence counts what its row sees", () => {
  const now = derive({ words: ["a", "b", "c"], family: "bert", place: 1 });
  assert.match(plain(told(now)), /^To tell b, its place sees 1 word before it and 1 after it\. /);
  assert.equal(labelsOf(now)[1][2], "[mask], place 2, sees c, place 3");
  assert.equal(now.cells[3][0].kind, "off");
});
