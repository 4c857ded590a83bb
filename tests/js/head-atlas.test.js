import assert from "node:assert/strict";
import { test } from "node:test";
import * as engine from "../../transformer_edu/book/engine/js/engine.js";
import { plain } from "../../transformer_edu/book/figures/js/core/format.js";
import * as derived from "../../transformer_edu/book/figures/js/head-atlas.derive.js";
import { close, torch } from "./numbers.js";

const { file, atlases } = torch;
const model = engine.readModel(Uint8Array.from(atob(file), (one) => one.charCodeAt(0)));
const [first, changed] = atlases;
const { names } = first;
const [one, other] = Object.keys(atlases[2].heads); // either can go, but not both
const shown = (answer, state = {}, more = {}) =>
  derived.derive({ chosen: one, sort: "place", ...state }, { names, answer, ...more });

/** What the model answers, with nothing left to measure. */
function answerTo({ source, heads }) {
  const answer = derived.memory({ ...first, source: [] }).ask(model, source, heads);
  Array.from(derived.measured(model, answer, names));
  return answer;
}

test("maps, words, effects and breaks are torch's, with heads that are off and heads that look evenly", () => {
  assert.equal(atlases.length, 3);
  for (const expected of atlases) {
    const found = answerTo(expected);
    assert.deepEqual([found.written, found.then, found.breaks], [expected.written, expected.then, expected.breaks]);
    close(found.effects, expected.effects);
    for (const name of names) close(found.maps[name], expected.maps[name], name);
  }
});

test("entropy and distance of every map are the package's; a head that is off has none", () => {
  for (const { answer, entropies, distances } of atlases.map((all) => ({ answer: all, ...all.measures }))) {
    const { measures } = shown(answer);
    names.forEach((name, i) => {
      const { entropy, distance } = measures[name];
      if (answer.heads[name] === "off") assert.ok(Number.isNaN(entropy) && Number.isNaN(distance), name);
      else close([entropy, distance], [entropies[i], distances[i]], name);
    });
  }
});

test("tiles stand in the order asked for, what is off last; until all is measured, as before", () => {
  const orderBy = (sort, answer, more = {}) => shown(answer, { sort }, more).order;
  assert.deepEqual(orderBy("place", changed), names);
  const entropies = orderBy("entropy", changed).map((name) => shown(changed).measures[name].entropy);
  assert.ok(Number.isNaN(entropies.pop()));
  assert.deepEqual(
    entropies,
    entropies.toSorted((a, b) => a - b),
  );
  const { effects, breaks, ...unmeasured } = first;
  assert.equal(orderBy("importance", first)[0], names[effects.indexOf(Math.max(...effects))]);
  const before = shown(first, { sort: "distance" });
  const now = shown(unmeasured, { sort: "importance" }, { before });
  assert.deepEqual([now.order, now.says], [before.order, before.says]);
  assert.deepEqual([now.numbers[2].text, now.tiles[0].number], ["…", { bold: "…" }]);
  assert.equal(breaks.length, names.length);
});

test("either of two heads can go, and then the other has to stay", () => {
  const tileOf = (now, name) => now.tiles.find((tile) => tile.name === name);
  assert.equal(plain(shown(first).says), "Any one of the 24 heads can go: no word changes");
  assert.ok(shown(first).tiles.every(({ free, needed }) => free && !needed));
  const without = shown(answerTo({ source: first.source, heads: { [one]: "off" } }), { chosen: other });
  assert.equal(plain(without.says), "Without 1 head, no word changes; but now 1 other has to stay");
  assert.deepEqual([tileOf(without, other).state, tileOf(without, one).state], ["stays", "off"]);
  assert.match(tileOf(without, other).label, /, cannot go$/);
  assert.equal(tileOf(without, one).label, "encoder, layer 2, head 1, off");
  assert.match(plain(without.words), / Without it, a word changes\.$/);
  const both = shown(atlases[2]);
  assert.equal(plain(both.says), "Without 2 heads, petites becomes petits");
  assert.deepEqual(
    both.writes.filter(({ isOther }) => isOther).map(({ word }) => word),
    ["petits"],
  );
  assert.match(both.told, /^It writes: mes petits .* adds nothing now\. .* Sorted by place\.$/);
});

test("a large map has its words at its sides, and what is wrong with a sentence is said in place of the story", () => {
  const { large } = shown(changed, { chosen: "decoder.0.self.1" }, { instead: [{ exact: "<b>" }, " is unknown"] });
  assert.deepEqual([large.columns[0], large.rows.at(-1)], ["start", "end"]);
  assert.deepEqual([large.columns.slice(1), large.columns.length], [large.rows.slice(0, -1), large.weights[0].length]);
  assert.ok(large.weights[0].slice(1).every((weight) => weight === 0));
  const { told } = shown(changed, {}, { instead: [{ exact: "<b>" }, " is unknown"] });
  assert.equal(told, "<b> is unknown");
});

test("a model is asked once for a sentence with the same heads, and without it nothing is known", () => {
  const known = derived.memory(first);
  const { source } = first;
  assert.equal(known.ask(null, source, first.heads), first);
  assert.equal(known.ask(null, source, { [one]: "off", [other]: "off" }), null);
  const answer = known.ask(model, source, { [one]: "off", [other]: "off" });
  assert.equal(known.ask(null, source, { [other]: "off", [one]: "off" }), answer);
});
