import assert from "node:assert/strict";
import { test } from "node:test";
import * as engine from "../../transformer_edu/book/engine/js/engine.js";
import { plain } from "../../transformer_edu/book/figures/js/core/format.js";
import * as derived from "../../transformer_edu/book/figures/js/decoder-stepper.derive.js";
import { close, torch } from "./numbers.js";

const { derive, onwards, remark, stepsOf, walk } = derived;
const { state, passes } = torch;
const { recorded } = state;
const steps = stepsOf(recorded);
steps.use(engine.readModel(Uint8Array.from(Buffer.from(torch.file, "base64"))));

/** What is seen of another state than the opened one, with the model or without. */
function seen(changes = {}, before = null, more = {}, by = steps) {
  const now = { ...state, ...changes };
  return derive(now, { way: walk(by, changes.source ?? recorded.source, now), ...more }, before);
}
const firstsOf = (rows) => rows.map((row) => row.slice(0, 4));
const valuesOf = (all) => all.map(({ value }) => value);
const wordsOf = (all) => all.map(({ word }) => word);
const path = (text) => text.split(" ").filter(Boolean);

test("weights, outputs, probabilities and places are torch's, with the mask and without, of any words", () => {
  assert.ok(passes.length > 20);
  for (const [at, { source, written, masked, p, ...expected }] of passes.entries()) {
    const step = steps.look(source, written, masked);
    for (const kind of ["self", "cross"]) close(step[kind], expected[kind], `${written}: ${kind}`);
    close(step.all, expected.outputs);
    assert.deepEqual(step.outputs, firstsOf(step.all));
    const before = passes[at - 1]?.outputs;
    const far = (i) => Math.max(...expected.outputs[i].map((value, k) => Math.abs(value - before[i][k])));
    close(step.moved, [...written.keys()].map(far), "moved");
    const words = ["<eos>", "<unk>", ...state.words];
    const chances = p.slice(2); // padding and begin are never written
    const ranked = chances.toSorted((a, b) => b - a);
    close(valuesOf(seen({ source, path: written, masked }).next), ranked.slice(0, 5));
    for (const [i, word] of words.entries()) {
      const [chance, place] = step.chanceOf(word);
      close([chance, ranked[place - 1]], [chances[i], chances[i]], word);
    }
  }
});

test("what the figure opens with is known without a model, and nothing else is; then it is computed to the same", () => {
  const known = stepsOf(recorded);
  for (let count = 0; count < recorded.written.length; count += 1) {
    const [first, then] = [known, steps].map((by) => seen({ path: recorded.written.slice(0, count) }, null, {}, by));
    for (const name of ["self", "cross", "next"]) {
      close(valuesOf(first[name]), valuesOf(then[name]), name);
      assert.deepEqual(wordsOf(first[name]), wordsOf(then[name]));
    }
    assert.equal(plain(first.words), plain(then.words));
  }
  assert.equal(walk(known, recorded.source, { path: ["la"], masked: true }), null);
  assert.equal(walk(known, recorded.source, { path: [], masked: false }), null);
  assert.equal(seen({}, null, { typed: "poule" }, known).hint, "", "a word that no step offers has to wait");
  assert.match(seen({}, null, { typed: "noire" }, known).hint, /^0\.0048, place 2$/);
});

test("each row reads what the one before it has written, and says whether its output is another", () => {
  const now = seen();
  assert.deepEqual(
    now.rows.map(({ reads }) => reads.text),
    ["start", "le", "petit", "chat"],
  );
  assert.deepEqual(
    now.rows.map(({ writes }) => writes.text),
    ["le", "petit", "chat", "?"],
  );
  assert.deepEqual(
    now.rows.map(({ output }) => output.text),
    ["as it was", "as it was", "as it was", "new"],
  );
  assert.deepEqual(
    now.rows.map(({ kind }) => kind),
    ["", "", "", "te-dec-newest"],
  );
  assert.deepEqual(
    now.rows.map(({ chance }) => chance.value),
    now.chosen.map(({ chance }) => chance[0]).concat(undefined),
  );
  assert.equal(now.self.filter(({ isTop }) => isTop)[0].word, "le");
  const bare = seen({ masked: false });
  assert.deepEqual(
    bare.rows.map(({ kind }) => kind),
    [...Array(3).fill("te-dec-moved"), "te-dec-newest"],
  );
  assert.match(bare.rows[0].output.text, /^moved \d\.\d\d$/);
  assert.equal(bare.rows[0].output.value, bare.newest.moved[0]);
});

test("what is another stays marked beside what it was, until the next action", () => {
  const first = seen();
  const marked = ({ self, cross, next }) => [self, cross, next].map((all) => all.filter(({ was }) => was).length);
  assert.deepEqual(marked(first), [0, 0, 0]);
  const other = seen({ layer: 0 }, first);
  assert.ok(other.self.every(({ text, was }, i) => (was ? was.text : text) === first.self[i].text));
  assert.ok(marked(other)[0] && marked(other)[1] && !marked(other)[2]);
  assert.deepEqual(marked(seen({ layer: 0 }, other, { typed: "la" })), marked(other), "typing is none");
  const bare = seen({ masked: false }, first);
  assert.ok(marked(bare)[2] && bare.rows.some(({ chance }) => chance.was));
  assert.ok(bare.outputs.cells.flat().some(({ was }) => was) && !first.outputs.cells.flat().some(({ was }) => was));
  const back = seen({ path: ["le", "petit"] }, first);
  assert.equal(back.rows[2].writes.was.text, "chat");
  const own = seen({ path: ["le", "petit", "cheval"] }, back);
  assert.equal(own.rows[2].writes.was, null, "a place that was empty was no other word");
  const changed = seen({ source: ["these", "foxes", "sing"], path: ["ces", "renards"] }, back);
  assert.deepEqual(
    changed.rows.map(({ reads }) => reads.was?.text),
    [undefined, "le", "petit"],
  );
});

test("the sentence tells where the newest position looks, and which word a reader chose", () => {
  assert.match(
    plain(seen().words),
    /^The newest position reads chat\. It looks back at le 0\.49, start 0\.27 and, in /,
  );
  assert.match(plain(seen().words), / English, at black 1\.00\. $/);
  const noire = seen({ path: path("le petit chat noire") });
  assert.match(plain(noire.words), /You chose noire \(0\.0048, place 2\) in place of noir \(0\.9490\)\.$/);
  assert.equal(noire.rows[3].chance.text, "chosen");
  const ended = seen({ path: [...path("le petit chat noir ne dort pas"), "<eos>"] });
  assert.equal(plain(ended.words), "The end token is written, and the decoder stops: le petit chat noir ne dort pas.");
  assert.ok(ended.isFull && ended.next.every(({ isOff }) => isOff));
  assert.equal(ended.rows.at(-1).writes.text, "end");
  const instead = ["The model is being loaded …"];
  assert.equal(seen({}, null, { instead }).words, instead);
  assert.match(seen().told, /^the small black cat does not sleep\. Layer 2\. Written: le petit chat\. The newest /);
  assert.match(seen({ path: [], masked: false }).told, /\. Without the mask, every .* Layer 2\. Written: nothing\. /);
  assert.equal(seen({}, null, { typed: "zut" }).told, "zut: not one of its 123 words");
});

test("with sixteen tokens only the end can be written, and the model by itself stops there, too", () => {
  const full = seen({ path: Array(15).fill("chat") });
  assert.deepEqual(
    full.next.map(({ word, isOff }) => !isOff === (word === "<eos>")),
    Array(5).fill(true),
  );
  assert.deepEqual(onwards(steps, recorded.source, [], state), [...path("le petit chat noir ne dort pas"), "<eos>"]);
  assert.deepEqual(onwards(steps, recorded.source, [], state, 2), ["le", "petit"]);
  assert.ok(onwards(steps, recorded.source, [], { ...state, most: 4 }).length < 4);
});

test("the remark says whether the rows before stay, and what the model writes left alone", () => {
  const told = (changes) => plain(remark(seen(changes), steps, state.most));
  assert.match(
    told({}),
    /^The 3 rows before it are as they were: .* more than 0\.00000\d, which is rounding\. Left alone, /,
  );
  assert.match(told({}), /the model writes le petit chat noir ne dort pas\.$/);
  assert.match(
    told({ path: ["le"], masked: false }),
    /^The row before it is others now, by up to \d\.\d\d: without the /,
  );
  assert.match(told({ path: [] }), /^Nothing is written yet\. Left alone, the model writes le petit/);
});
