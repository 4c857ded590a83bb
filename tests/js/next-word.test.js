import assert from "node:assert/strict";
import { test } from "node:test";
import * as engine from "../../transformer_edu/book/engine/js/engine.js";
import { plain } from "../../transformer_edu/book/figures/js/core/format.js";
import * as derived from "../../transformer_edu/book/figures/js/next-word.derive.js";
import { close, torch } from "./numbers.js";

const { recorded, places } = torch;
const stored = { ...recorded, ...derived.filtersOf(recorded.settings) };
const usual = { beginning: recorded.beginning, written: recorded.written.map(([id]) => id), ...recorded.settings };
const known = derived.memory(stored);

function shown(options, deed = { what: "opened", from: -1 }, decided = null) {
  const state = { ...usual, place: 0, ...options };
  const step = known.step(state.beginning, state.written.slice(0, derived.openPlace(state)));
  const more = { names: known.names, read: known.read(state.beginning), step, deed, decided };
  return derived.derive({ ...state, ...more, stored });
}

test("from the model's logits, each filter leaves in what torch leaves in", () => {
  assert.ok(places.length > 2);
  for (const { ids, logits, left } of places) {
    for (const { settings, kept, shares } of left) {
      const found = derived.leftIn({ ids, logits: Float32Array.from(logits) }, derived.filtersOf(settings), stored);
      assert.equal(found.count, kept, JSON.stringify(settings));
      const first = Array.from(found.chances.slice(0, 12));
      close(
        first.map((chance, i) => (i < found.count ? chance / found.mass : 0)),
        shares,
      );
    }
  }
});

test("what is stored is enough for its own settings and for smaller ones, and says where it is not", () => {
  const [step] = stored.places;
  const settings = derived.filtersOf(recorded.settings);
  assert.equal(derived.leftIn(step, settings, stored).count, step.kept);
  assert.equal(derived.leftIn(step, { ...settings, topP: 1, topK: 3 }, stored).count, 3);
  assert.equal(derived.leftIn(step, { ...settings, topK: 30 }, stored), null);
  assert.equal(derived.leftIn(step, { ...settings, temperature: 1.3 }, stored), null);
  assert.equal(derived.leftIn(undefined, settings, stored), null);
});

test("luck draws what Python's luck drew", () => {
  recorded.written.forEach(([id], place) => {
    const left = derived.leftIn(stored.places[place], derived.filtersOf(recorded.settings), stored);
    const luck = engine.luckAt(recorded.settings.seed, place);
    assert.ok([id, undefined].includes(derived.drawnBy(left, luck)), `place ${place}`);
  });
  const all = { ids: [7, 8], chances: [0.25, 0.75], count: 2, mass: 1 };
  const drawn = [0, 0.2499, 0.25, 0.9999, 1].map((luck) => derived.drawnBy(all, luck));
  assert.deepEqual(drawn, [7, 7, 8, 8, 8]);
});

test("bars add up to one, and bars that go out are marked", () => {
  const opened = shown({});
  close([opened.bars.reduce((all, { share }) => all + share, 0) + opened.others.share], [1]);
  const kept = new Set(opened.bars.filter((bar) => bar.kept).map(({ id }) => id));
  const now = shown({ top_k: 1 }, { what: "set", name: "top_k", at: 0, before: kept, from: -1 }, opened);
  assert.equal(now.bars.filter(({ flip }) => flip === "out").length, kept.size - 1);
  assert.match(plain(now.says), /^Only .* is left in: luck decides nothing$/);
});

test("a place that only the model knows keeps the bars of the place before, and says so", () => {
  const opened = shown({});
  const now = shown({ beginning: "Something else", written: [] }, { what: "typed", from: -1 }, opened);
  assert.deepEqual([now.left, now.bars, now.shown.bars], [null, [], opened.bars]);
  assert.deepEqual(now.says, opened.says);
  assert.match(plain(now.words), /have to come from the model/);
});

test("a text beyond what the model sees marks what it no longer sees", () => {
  const small = { ...stored, max_len: 8 };
  const read = Array.from({ length: 9 }, () => "·a");
  const options = { ...usual, written: [], place: 0, read, names: known.names, step: stored.places[0] };
  const view = derived.derive({ ...options, deed: { what: "opened", from: -1 }, decided: null, stored: small });
  const unseen = view.text.read.filter((piece) => piece.unseen).length;
  assert.equal(unseen, engine.windowStart(10, 8) - 1);
  assert.ok(unseen > 0);
});

test("sliders write what is off as off", () => {
  const at = (name) => derived.SLIDERS.find((slider) => slider.name === name);
  assert.deepEqual([at("top_k").show(41), at("top_p").show(1), at("min_p").show(0)], ["off", "off", "off"]);
  assert.deepEqual([at("top_k").show(3), at("temperature").show(0.8)], ["3", "0.8"]);
  assert.deepEqual([derived.fromSlider("top_k", 41), derived.fromSlider("top_k", 5)], [null, 5]);
  assert.equal(derived.sliderValue({ top_k: null }, "top_k"), 41);
});

test("a handle that stays where it is sets what is set, and another place sets what stands there", () => {
  const { bars, handles } = shown({});
  const chances = bars.map(({ chance }) => chance);
  assert.equal(handles.T.to(chances[0]), recorded.settings.temperature);
  assert.ok(handles.T.to(0.99) < recorded.settings.temperature && handles.T.to(0.1) > recorded.settings.temperature);
  assert.deepEqual([handles.k.to(-2), handles.k.to(5), handles.k.to(12)], [1, 5, null]);
  assert.deepEqual([handles.m.to(-1), handles.m.to(chances[0] / 4), handles.m.to(1)], [0, 0.25, 0.5]);
  for (const row of [1, 2, 3, 8]) {
    const topP = handles.p.to(row);
    const settings = { ...derived.filtersOf(recorded.settings), topP };
    const { count } = derived.leftIn(stored.places[0], settings, stored);
    assert.equal(count, row, `p = ${topP}`);
    assert.equal(shown({ top_p: topP }).handles.p.row, row);
  }
  assert.equal(handles.p.to(12), 1);
});
