import assert from "node:assert/strict";
import { test } from "node:test";
import * as engine from "../../transformer_edu/book/engine/js/engine.js";
import { plain } from "../../transformer_edu/book/figures/js/core/format.js";
import { changedIn, derive, memory, turnOf } from "../../transformer_edu/book/figures/js/residual-stream.derive.js";
import { close, torch } from "./numbers.js";

const MEASURES = ["wrote", "kept", "left"];
const [grammar, own] = torch.map(({ file, ...more }) => ({
  ...more,
  model: engine.readModel(Uint8Array.from(Buffer.from(file, "base64")), undefined),
}));
const { opened } = grammar;
const ask = ({ model, opened }, words, silent) => memory(opened).ask(model, words, silent);
const silenced = ask(grammar, opened.source, "decoder.1.cross");
const shown = (state, stream = opened, more = {}, before = null) =>
  derive({ place: 5, token: 2, pre: false, ...state }, { stream, ...more }, before);
const cellsOf = ({ table }, kind) => table.cells.map((row) => row.map((cell) => cell.kind.includes(kind)));

test("words, probabilities and lengths are torch's at every place, norm before and after, with a silent sub-layer", () => {
  assert.ok(own.pre && !grammar.pre);
  for (const one of [grammar, own]) {
    for (const { source, silent, ...expected } of one.streams) {
      const found = ask(one, source, silent);
      assert.deepEqual([found.places, found.written, found.whole], [expected.places, expected.written, expected.whole]);
      const parts = ({ best }, part) => best.map((row) => row.map((some) => some.map((likely) => likely[part])));
      assert.deepEqual(parts(found, 0), parts(expected, 0));
      close(parts(found, 1), parts(expected, 1));
      for (const name of MEASURES) close(found[name], expected[name], `${source.join(" ")}, ${silent}: ${name}`);
    }
  }
});

test("what the figure opens with is known without a model, and nothing else is", () => {
  const known = memory(opened);
  assert.equal(known.ask(null, opened.source, ""), opened);
  assert.equal(known.ask(null, opened.source, "decoder.1.cross"), null);
  const found = known.ask(grammar.model, ["this", "hen", "sleeps"], "decoder.0.self");
  assert.equal(known.ask(null, ["this", "hen", "sleeps"], "decoder.0.self"), found, "computed once");
});

test("the finding counts what is right, or what silence changes", () => {
  assert.equal(opened.places[turnOf(opened)], "decoder.1.after_cross");
  assert.equal(plain(shown({}).says), "Layer 2’s cross-attention finds the words: 4 of 8 before it, 8 after it");
  assert.equal(changedIn(silenced), 4);
  assert.equal(plain(shown({}, silenced).says), "Without layer 2’s cross-attention, 4 of 8 words change");
  const none = ask(grammar, opened.source, "decoder.0.feed_forward");
  assert.equal(plain(shown({}, none).says), "Without layer 1’s feed-forward, no word changes");
});

test("bold are the words that are written in the end, underlined those that silence changed", () => {
  const now = shown({}, silenced);
  const words = now.table.cells.map((row) => row.map(({ text }) => text));
  assert.deepEqual(
    cellsOf(now, "te-stream-right"),
    words.map((row) => row.map((word, i) => word === opened.written[i])),
  );
  assert.deepEqual(
    cellsOf(now, "te-stream-other"),
    words.map((row, place) => row.map((word, i) => word !== opened.whole[place][i])),
  );
  assert.ok(
    cellsOf(now, "te-stream-other")
      .slice(0, 5)
      .flat()
      .every((is) => !is),
    "nothing before it",
  );
  assert.ok(
    cellsOf(shown({}), "te-stream-other")
      .flat()
      .every((is) => !is),
  );
  const silent = now.table.headers.flatMap(({ kind }, i) => (kind ? [now.table.rows[i]] : []));
  assert.deepEqual(silent, ["layer 2, cross-attention"]);
  assert.deepEqual(
    now.table.headers.map(({ more }) => more["data-kind"]),
    ["positional", "self", "cross", "forward", "self", "cross", "forward"],
  );
  assert.equal(shown({ place: 0 }, silenced, {}, now).table, now.table, "of the same stream the table stays the same");
});

test("the sentence measures what was written and what is left, and the marked cell is spoken", () => {
  const now = shown({});
  const numbers = now.words.filter((piece) => piece.measure);
  assert.deepEqual(
    numbers.map(({ measure, number }) => [measure, number]),
    MEASURES.map((name) => [name, opened[name][5][2]]),
  );
  assert.match(
    plain(now.words),
    /^Layer 2’s cross-attention wrote .* × as much as stood there\. The norm after it leaves /,
  );
  assert.match(plain(shown({ pre: true }).words), /stays as it was: the norm stands before the sub-layer\.$/);
  assert.match(plain(shown({}, silenced).words), /^Layer 2’s cross-attention is silent and adds nothing\. /);
  assert.match(plain(shown({ place: 0, token: 0 }).words), /^Here stand only the vector of start, /);
  assert.match(now.table.cells[6].at(-1).label, /^row layer 2, feed-forward, column pas: end, \d\.\d\d$/);
  assert.ok(now.told.startsWith(`${opened.source.join(" ")}: ${plain(now.says)}. chat 0.88. Layer 2’s`));
  const instead = ["The model is being loaded …"];
  assert.deepEqual([shown({}, opened, { instead }).words, shown({}, opened, { instead }).told], [instead, instead[0]]);
});

test("a shorter translation keeps place and word within it; of few words there are fewer likely ones", () => {
  const now = shown({ place: 9, token: 30 }, ask(own, ["b", "c", "a"], ""));
  assert.deepEqual([now.place, now.at], [3, now.stream.written.length - 1]);
  assert.equal(now.likeliest.length, 5);
  const few = { ...now.stream, best: now.stream.best.map((row) => row.map((some) => some.slice(0, 3))) };
  const { likeliest } = shown({ place: 0 }, few);
  assert.deepEqual(likeliest[4], { word: "", kind: "", chance: 0, text: "" });
  assert.deepEqual(shown({}).likeliest[0], {
    word: "chat",
    kind: " te-stream-right",
    chance: opened.best[5][2][0][1],
    text: "0.88",
  });
});
