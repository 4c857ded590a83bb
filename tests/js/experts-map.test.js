import assert from "node:assert/strict";
import { test } from "node:test";
import { plain } from "../../transformer_edu/book/figures/js/core/format.js";
import { derive, mostOf, questions } from "../../transformer_edu/book/figures/js/experts-map.derive.js";
import { close, settable, torch } from "./numbers.js";

const { recording } = torch;
const at = (more = {}) => ({ recording, balancing: "none", layer: 1, step: 1500, token: 7, expert: 0, ...more });

test("every state has the recorded shares, and each token its two experts", () => {
  assert.equal(torch.states.length, 3 * 12 * 4);
  for (const { pairs, busiest, times, ...state } of torch.states) {
    pairs.forEach((pair, token) => {
      const now = derive(at({ ...state, token }));
      assert.ok(plain(now.words).includes(` goes to experts ${pair.join(" and ")}. The other six`));
      assert.deepEqual(
        now.lines.map((row) => row.flatMap((kind, e) => (kind ? [e + 1] : []))),
        pairs,
      );
      const strong = now.lines.flatMap((row, i) => row.flatMap((kind, e) => (kind === "strong" ? [[i, e + 1]] : [])));
      assert.deepEqual(
        strong,
        pair.map((expert) => [token, expert]),
      );
    });
    const now = derive(at({ ...state, expert: busiest }));
    close([now.experts[busiest - 1].share / now.even], [times]);
    const title = plain(now.says);
    if (times >= 1.5)
      assert.ok(title.endsWith(`, expert ${busiest} takes ${times.toFixed(1)} times an even share`), title);
    else {
      const told = Number(/no expert takes over (\S+) times/.exec(title)[1]);
      assert.ok(told >= times - 1e-6 && told < times + 0.1, title);
    }
    const count = pairs.filter((pair) => pair.includes(busiest)).length;
    assert.ok(plain(now.words).endsWith(`Of this sentence, ${count} token${count === 1 ? "" : "s"}.`));
    assert.equal(now.lines.flat().filter((kind) => kind === "strong").length, count);
  }
});

test("what was so stays marked until the next change, in the same layer", () => {
  const first = derive(at());
  assert.ok(first.experts.every(({ was }) => was === null));
  const balanced = derive(at({ balancing: "bias" }), first);
  balanced.experts.forEach(({ was, text }, e) =>
    assert.equal(was?.share ?? (text && first.shares[e]), first.shares[e]),
  );
  assert.deepEqual(balanced.lines[7], ["was", "", "strong", "", "", "", "", "strong"]);
  assert.equal(derive(at({ balancing: "bias" }), balanced), balanced, "the same state is the same picture");
  const [earlier, before] = [1000, 750].reduce(
    ([last], step) => [derive(at({ balancing: "bias", step }), last), last],
    [balanced],
  );
  assert.equal(earlier.experts[2].was.text, "11.1\u00a0%", "a slider that moves on makes one change");
  assert.equal(before.experts[2].was.text, "11.1\u00a0%");
  const next = derive(at({ balancing: "bias", token: 8 }), balanced);
  assert.ok(next.experts.every(({ was }) => was === null));
  const other = derive(at({ balancing: "bias", layer: 3 }), balanced);
  assert.ok(other.experts.every(({ was }) => was === null) && !other.lines.flat().includes("was"));
});

test("what questions tell is so", () => {
  const most = mostOf(recording, "none");
  assert.deepEqual([most.layer, most.step, most.expert, most.share], [3, 50, 2, 0.416]);
  const state = settable(at());
  const asked = questions(state, () => derive(state));
  for (const { done, show } of asked) {
    state.set(at());
    assert.ok(!done());
    show();
    assert.ok(done());
  }
  const told = asked[1].tell.join("");
  for (const loss of torch.losses) assert.ok(told.includes(loss.toFixed(3)), told);
  const doneAt = torch.states.filter((one) => {
    state.set(at(one));
    return asked[2].done();
  });
  assert.ok(doneAt.length && doneAt.every(({ step }) => step < 100), "idle before step 100 alone");
  const always = (layer) =>
    [2, 9].filter((token) => {
      state.set(at({ layer, token }));
      return asked[3].done();
    });
  assert.deepEqual([0, 1, 2, 3].map(always), [[9], [2, 9], [], []]);
});
