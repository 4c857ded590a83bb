import assert from "node:assert/strict";
import { test } from "node:test";
import * as engine from "../../transformer_edu/book/engine/js/engine.js";
import { plain } from "../../transformer_edu/book/figures/js/core/format.js";
import { modelTree, recordedTree } from "../../transformer_edu/book/figures/js/parts/search.js";
import { derive, foldedOf } from "../../transformer_edu/book/figures/js/search-tree.derive.js";
import { close, torch } from "./numbers.js";

const hand = recordedTree(torch.hand);
const bytes = Uint8Array.from(Buffer.from(torch.file, "base64"));
const translator = engine.readModel(bytes, undefined);
const translated = modelTree(translator, torch.words, torch.hand);
const shown = (state = {}, own = {}, before = null) =>
  derive({ beam: 2, alpha: 0.6, step: 99, ...state }, { tree: hand, ...own }, before);
const nodesOf = ({ picture }) => [...picture.nodes.values()];
const wordsOf = (all) => all.map(({ word }) => word);
const isA = (look) => (node) => node.look.split(" ").includes(`te-srch-${look}`);
const changedIn = (now) =>
  Object.fromEntries(
    nodesOf(now)
      .filter(isA("changed"))
      .map(({ title }) => title.split("; ")),
  );
const labelsOf = (now) => wordsOf(nodesOf(now).filter(({ fate }) => fate === "label"));
const tableOf = (now, i) => foldedOf(now).tables[i].rows.slice(1);

/** The finished sentences are these, best first. */
function agrees(now, ranked) {
  const rows = tableOf(now, 1).slice(0, ranked.length);
  assert.deepEqual(
    rows.map(({ cells: [[text], [length]] }) => [text, Number(length)]),
    ranked.map(([text, length]) => [text, length]),
  );
  close(
    rows.map(({ data }) => [data["data-logprob"], data["data-value"]]),
    ranked.map(([, , logProb, score]) => [logProb, score]),
  );
  assert.equal(rows.filter(({ kind }) => kind === "te-srch-best").length, 1);
  assert.equal(plain(rows[0].cells[0]), `${ranked[0][0]}★ wins`);
}

test("every beam and penalty finds what beam_search finds, in a recorded tree and in a translator's", () => {
  const tree = recordedTree(torch.recorded);
  assert.equal(torch.found.length, 30);
  for (const { ranked, ...setting } of torch.found) agrees(shown(setting, { tree }), ranked);
  for (const { ranked, ...setting } of torch.translated) agrees(shown(setting, { tree: translated }), ranked);
});

test("a step's candidates are the language's, and their sums its products", () => {
  const first = tableOf(shown({ step: 1 }), 0);
  assert.deepEqual(
    Object.fromEntries(first.map(({ cells: [, words, [p]] }) => [plain(words).trim(), Number(p)])),
    torch.first,
  );
  const second = tableOf(shown({ step: 2 }), 0).map(({ data }) => data["data-value"]);
  close(second, [0.4 * 0.9, 0.5 * 0.38, 0.5 * 0.34, 0.5 * 0.28].map(Math.log));
  close(tableOf(shown(), 1)[0].data["data-value"], Math.log(0.162) / 1.5 ** 0.6);
});

test("the winner is marked from the start to the end, and labels stand behind the ends", () => {
  const now = shown();
  const won = nodesOf(now).filter(isA("won"));
  assert.deepEqual(wordsOf(won), ["start", "the", "cat", "sleeps", "end", "beam of 2: 0.16"]);
  assert.deepEqual(labelsOf(now), ["greedy: 0.11", "beam of 2: 0.16"]);
  assert.equal(won.at(-1).line.y1, won.at(-1).line.y2, "in the lane of its end");
  assert.ok(won.every(({ line }, i) => !i || line.x1 === won[i - 1].style["--along"]));
  assert.ok(!nodesOf(shown({ step: 3 })).some((node) => isA("won")(node) || node.fate === "label"));
  assert.deepEqual(labelsOf(shown({ beam: 1 })), ["greedy: 0.11"]);
  const lost = shown({ beam: 5 }, { tree: recordedTree(torch.crowded) });
  assert.equal(lost.words[1].exact, "no word", "a sentence that ends at once");
});

test("all that stands in a step has a lane of its own, inside the picture", () => {
  for (const tree of [hand, recordedTree(torch.crowded), translated])
    for (const beam of hand.beam_sizes) {
      const now = shown({ beam }, { tree });
      const { lanes, columns } = now.picture;
      const rows = Map.groupBy(nodesOf(now), ({ style }) => style["--along"]);
      assert.equal(rows.size, columns);
      for (const row of rows.values()) {
        const places = row.map(({ style }) => lanes * style["--across"]);
        const halves = row.map(({ style }) => (style["--own"] ?? 1) / 2);
        assert.ok(places[0] >= halves[0] - 1e-9 && places.at(-1) <= lanes - halves.at(-1) + 1e-9);
        places.slice(1).forEach((place, i) => assert.ok(place - places[i] >= halves[i] + halves[i + 1] - 1e-9));
      }
    }
});

test("of a long search the last steps are shown", () => {
  const tree = modelTree(translator, ["the"], torch.hand);
  const now = shown({}, { tree });
  assert.deepEqual([now.place, now.picture.columns], ["step 17 of 17, the last 12 shown", 13]);
  assert.deepEqual(labelsOf(now), ["greedy = beam of 2: < 0.001"]);
  assert.equal(shown({ step: 13 }, { tree }).place, "step 13 of 17, the last 13 shown");
  assert.equal(shown({ step: 12 }, { tree }).place, "step 12 of 17");
});

test("what another setting changes stays marked until the next action", () => {
  const first = shown();
  assert.deepEqual(changedIn(first), {});
  assert.ok(!nodesOf(first).some(isA("new")), "nothing moves at first");
  const wider = shown({ beam: 3 }, {}, first);
  assert.deepEqual([changedIn(wider).black, changedIn(wider)["a black"]], ["was: ✗ falls out", "was: ✗ falls out"]);
  assert.equal(changedIn(wider)["a black cat"], "new");
  assert.equal(
    shown({ beam: 3 }, { instead: ["…"] }, wider).picture,
    wider.picture,
    "the same state, the same picture",
  );
  const other = shown({ beam: 3, alpha: 1 }, {}, wider);
  assert.equal(changedIn(other)["the cat sleeps"], "was −1.43");
  assert.ok(!("a cat" in changedIn(other)));
  const back = shown({ beam: 3, alpha: 1, step: 2 }, {}, other);
  assert.deepEqual(changedIn(back), {});
  assert.ok(nodesOf(back).filter(isA("newest")).length === 4 && !nodesOf(other).some(isA("newest")));
  assert.deepEqual(
    changedIn(shown({ beam: 4 }, { tree: translated }, other)),
    {},
    "another sentence is new as a whole",
  );
});

test("words say why the search stops, and what the penalty does", () => {
  const says = (name, state = {}) => {
    const now = shown(state, { tree: recordedTree(torch[name]) });
    return [plain(now.says), `${now.place}. ${plain(now.words)}`, plain(foldedOf(now).rule)];
  };
  assert.equal(says("hand", { beam: 1 })[0], "A beam of 1 never sees again what it let go");
  const [, hasty, why] = says("patient", { beam: 1, alpha: 0 });
  assert.match(hasty, /^step 2 of 2\. Winner: a \(log-probability −0\.69, /);
  assert.match(why, /nothing in the beam could still beat the finished sentence, even if/);
  const [title, patient, stops] = says("patient", { beam: 1, alpha: 1 });
  assert.equal(title, "The length penalty makes a less probable sentence win");
  assert.match(
    patient,
    /^step 4 of 4\. Winner: a b c \(log-probability −0\.80, .* It is less probable than greedy’s, but/,
  );
  assert.match(stops, /The search stops because nothing goes on\.$/);
  const [, endless, limit] = says("endless");
  assert.match(endless, /Winner: a a a a \(log-probability 0\.00, .* No sentence has ended: this one is cut off\./);
  assert.match(limit, /The search stops at its limit, 5 tokens with the start\.$/);
  assert.match(says("pieces")[1], /Winner: the cats \(log-probability 0\.00,/);
  assert.match(says("hand", { step: 2 })[2], /finished if it is among the best 2 of all candidates of its step\. $/);
  assert.match(
    says("recorded", { step: 1, beam: 1 })[2],
    /is the best of all .* that are not looked at share at most 0\.10 %\.$/,
  );
});
