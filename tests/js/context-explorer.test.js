import assert from "node:assert/strict";
import { test } from "node:test";
import * as engine from "../../transformer_edu/book/engine/js/engine.js";
import * as derived from "../../transformer_edu/book/figures/js/context-explorer.derive.js";
import { plain } from "../../transformer_edu/book/figures/js/core/format.js";
import { close, torch } from "./numbers.js";

const { opened, file, vectors, planes } = torch;
const model = engine.readModel(Uint8Array.from(atob(file), (one) => one.charCodeAt(0)));
const words = (text) => text.split(" ");
const [sentence, , dog, cats, , object] = [opened.sentence, opened.other, ...opened.also];
const TYPED = "my small mice sing";

/** What a reader sees who brings about some states, one after another; with the model unless `known` lacks it. */
function shown(states, known = derived.memory(opened, () => model), more = {}) {
  let before = null;
  for (const changes of states) {
    const state = { ...opened, ...changes };
    const read = { words: words(state.other), wrong: null, ...changes.read };
    before = derived.derive(state, { known, read, isOpened: false, instead: (wrong) => wrong, ...more, before });
  }
  return before;
}
const withoutModel = () => derived.memory(opened, () => null);

/** As torch has it: cosine, distance and its part of the mean length, at each level. */
const compared = ([s, i], [t, j]) =>
  vectors[s].map((_, level) => {
    const [a, b] = [vectors[s][level][i], vectors[t][level][j]];
    const [lengthA, lengthB] = [a, b].map((one) => Math.hypot(...one));
    const distance = Math.hypot(...a.map((value, k) => value - b[k]));
    const cosine = a.reduce((sum, value, k) => sum + value * b[k], 0) / (lengthA * lengthB);
    return { cosine, distance, relative: (2 * distance) / (lengthA + lengthB) };
  });

test("cosine and distance of every shared word are those of torch's vectors, in given sentences and in one typed", () => {
  const known = derived.memory(opened, () => model);
  const asked = [...derived.everyView(known), shown([{ other: TYPED, pair: [1, 1] }], known).view];
  assert.equal(asked.length, 29);
  for (const view of asked) {
    const expected = compared(...[view.one, view.other].map(({ sentence: number, place }) => [number, place]));
    expected.forEach((one, level) => {
      const { cosine, distance, relative } = derived.compare(known, view, level);
      close([cosine, distance, relative], [one.cosine, one.distance, one.relative], `${view.word} ${level}`);
    });
  }
});

test("points are the principal components of all states of the word; what is typed is seen in the same plane", () => {
  for (const [word, { points, shares }] of Object.entries(planes)) {
    const place = words(sentence).indexOf(word);
    const now = shown([{ pair: [place, place] }]);
    close(now.picture.scene.at, points, word);
    close(now.picture.scene.shares, shares);
    const typed = shown([{ other: TYPED, pair: [1, 1] }]).picture.scene;
    if (word !== "small") continue;
    close(
      typed.at.map((row) => row.slice(0, -1)),
      points,
    );
    assert.equal(typed.rows.at(-1).told, "7 my small mice sing, word 2");
  }
});

test("it opens without a model, with one word; what needs the model leaves what is shown", () => {
  const now = shown([{}], withoutModel());
  close(
    now.levels.map(({ cosine }) => cosine),
    compared([0, 0], [1, 0]).map(({ cosine }) => cosine),
  );
  assert.equal(plain(now.says), "the before cat and before cow: one vector in, two out");
  assert.match(
    plain(now.words),
    /^Every the starts .* stand at one place, .* have taken their likeness to 0\.\d{3}\.$/,
  );
  assert.equal(shown([{}, { pair: [1, 1] }], withoutModel()).view.word, "the");
  assert.equal(shown([{}, { other: TYPED }, { other: dog }], withoutModel()).view.other.sentence, 2);
  assert.equal(shown([{ pair: [1, 1] }]).view.word, "small");
});

test("what is no sentence of its words, or shares none, is said, and the picture stays", () => {
  const first = shown([{ other: dog }]);
  const now = shown([{ other: dog }, { other: "mice sing" }]);
  assert.equal(plain(now.words), `It shares no word with ${sentence}, so there is nothing to compare.`);
  assert.deepEqual([now.view, now.label, now.levels], [first.view, first.label, first.levels]);
  const wrong = [{ exact: "<img>" }, " is not known"];
  const strange = shown([{ other: dog }, { other: "<img>", read: { wrong } }]);
  assert.deepEqual([strange.view, plain(strange.words)], [first.view, "<img> is not known"]);
  assert.match(strange.told, /^the, sentences 1 and 3, layer 2: likeness \(cosine\) .* <img> is not known <img>$/);
});

test("the word stays, or the nearest one to it is compared", () => {
  assert.deepEqual(shown([{ other: object }]).view.other, { sentence: 5, place: 0 });
  const small = shown([{ other: object, pair: [1, 1] }]);
  assert.deepEqual([small.view.other.place, small.view.word], [4, "small"]);
  assert.match(plain(small.words), /Word 2 here, word 5 there: the position alone takes the likeness to 0\.\d{3}\. /);
  assert.deepEqual(derived.pairOf("black", small.view), [2, 5]);
  assert.deepEqual(small.both, ["the", "small", "black", "cat"]);
  assert.match(plain(shown([{ other: sentence }]).words), /^It shares no word with /, "no word beside itself");
  const alone = { ...opened, sentence: object, other: object, also: [], pair: [0, 3] };
  const twice = shown(
    [alone],
    derived.memory(alone, () => model),
  );
  assert.deepEqual([twice.view.one.place, twice.view.other, twice.both], [0, { sentence: 0, place: 3 }, ["the"]]);
});

test("rows have a letter where the word stands twice, and the article's French is marked", () => {
  const { rows } = shown([{ other: object }]).picture.scene;
  assert.deepEqual(
    rows.map(({ number }) => number),
    ["1", "2", "3", "4", "5", "6a", "6b"],
  );
  assert.deepEqual(
    rows.map(({ french }) => french.words[french.place]),
    ["le", "la", "le", "les", "le", "la", "le"],
  );
  assert.equal(shown([{ pair: [1, 1] }]).picture.scene.rows[0].french.place, -1);
});

test("a label says the word in its context and what lies under it; another level leaves the picture as it is", () => {
  const now = shown([{ other: cats, level: 3 }]);
  const { names } = now.picture;
  assert.deepEqual([names[0][0], names[3][3]], ["1 the … cat → le", "4 the … cats → les"]);
  const known = derived.memory(opened, () => model);
  const later = shown(
    [
      { other: cats, level: 3 },
      { other: cats, level: 0 },
    ],
    known,
  );
  assert.equal(later.level, 0);
  const more = { known, read: { words: words(cats), wrong: null }, isOpened: false, instead: () => null };
  const again = derived.derive({ ...opened, other: cats, level: 2 }, { ...more, before: later });
  assert.equal(again.picture, later.picture);
  assert.match(again.label, /^“the” in all sentences, as points; layer 1: likeness/);
});

test("the table has the cosine of every word that both sentences have", () => {
  const { table } = shown([{ other: object }], undefined, { isUnfolded: true });
  assert.deepEqual(table.rows, ["the", "the 1|4", "small 2|5", "black 3|6", "cat 4|7"]);
  close(
    table.values[2],
    compared([0, 1], [5, 4]).map(({ cosine }) => cosine),
  );
  assert.equal(shown([{}]).table, null);
});
