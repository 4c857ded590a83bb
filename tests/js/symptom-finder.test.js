import assert from "node:assert/strict";
import { test } from "node:test";
import { plain } from "../../transformer_edu/book/figures/js/core/format.js";
import {
  derive,
  guess,
  left,
  namedByOne,
  patientsOf,
  shortest,
} from "../../transformer_edu/book/figures/js/symptom-finder.derive.js";
import { torch } from "./numbers.js";

const { shown, rounds } = torch;
const at = (changes) => ({ shown, symptom: 0, patient: 0, played: [], named: null, guesses: [], ...changes });
const names = (all) => all.map(({ name }) => name);

test("each experiment shows the recorded number and rules out who differs", () => {
  rounds.forEach(({ symptom, patient, played, values, out }, i) => {
    const now = derive(at({ symptom, patient, played }));
    const done = now.table.filter(({ isPlayed }) => isPlayed);
    assert.deepEqual(
      done.map(({ value }) => value),
      values.map(String),
    );
    assert.deepEqual(names(now.listed.filter(({ isOut }) => isOut)), out);
    const before = played.length ? rounds[i - 1].out : [];
    const fresh = out.filter((name) => !before.includes(name));
    assert.deepEqual(names(now.listed.filter(({ isNew }) => isNew)), fresh);
    assert.ok(now.table.every(({ isPlayed, here }) => isPlayed !== (here === "?")));
  });
  assert.ok(rounds.length > 100);
});

test("a bug that is named shows its line and its check, another does not", () => {
  const [mine, other] = shown.symptoms[1].suspects.map((one) => shown.bugs[one]);
  const wrong = derive(at({ symptom: 1, named: 1 }));
  assert.ok(!wrong.mending && plain(wrong.words).endsWith(" No, not that one."));
  assert.deepEqual([wrong.listed[1].sign, wrong.listed[1].isRight], ["✗ ", false]);
  assert.match(wrong.told, new RegExp(`You said: ${other.name}\\. Right at first guess: no patient yet\\.$`));
  const right = derive(at({ symptom: 1, named: 0 }));
  assert.deepEqual([right.mending.wrong, right.mending.right], [`− ${mine.wrong}`, `+ ${mine.right}`]);
  assert.ok(right.mending.why.endsWith(` Its check: ${mine.check[0]}, “${mine.check[1]}”.`));
  assert.ok(plain(right.words).endsWith(" Yes, that is it.") && right.listed[0].isRight);
  const gradients = shown.bugs.findIndex(({ wrong }) => wrong === "");
  const [place] = patientsOf(shown).filter((one) => left(at(one), []).indexOf(gradients) === one.patient);
  assert.equal(derive(at({ ...place, named: place.patient })).mending.wrong, "− (the line is missing)");
});

test("of each patient the first guess counts", () => {
  let state = at({});
  const scores = [derive(state).score];
  for (const suspect of [2, 0, 1]) scores.push(derive((state = { ...state, ...guess(state, suspect) })).score);
  state = { ...state, patient: 1, named: null };
  scores.push(derive({ ...state, ...guess(state, 1) }).score);
  assert.deepEqual(scores, ["no patient yet", ...Array(3).fill("0 of 1 patient"), "1 of 2 patients"]);
});

test("every patient can be named after three experiments or fewer, and one after one", () => {
  assert.equal(patientsOf(shown).length, 29);
  for (const one of patientsOf(shown)) {
    const played = shortest(at(one));
    assert.ok(played.length <= 3 && new Set(played).size === played.length);
    assert.deepEqual(left(at(one), played), [shown.symptoms[one.symptom].suspects[one.patient]]);
  }
  const found = namedByOne({ shown });
  assert.deepEqual([found.played.length, left(at(found), found.played).length], [1, 1]);
});

test("both curves stand in the box, and the patient's last loss is told", () => {
  for (const one of patientsOf(shown)) {
    const { losses } = shown.bugs[shown.symptoms[one.symptom].suspects[one.patient]];
    const { mine, healthy, levels, note } = derive(at(one)).chart;
    const points = (text) => text.split(" ").map((point) => point.split(",").map(Number));
    const heights = losses[0] === null ? [] : points(mine);
    assert.equal(heights.length, losses.filter((loss) => loss !== null).length);
    for (const [x, y] of [...points(healthy), ...heights]) assert.ok(x > 0 && x < 300 && y >= 0 && y <= 100);
    const unit = (100 - levels[`ln ${shown.words}`]) / Math.log(shown.words);
    heights.forEach(([, y], i) => assert.ok(Math.abs((100 - y) / unit - losses[i]) < 0.01));
    assert.deepEqual(note[1], losses[0] === null ? { bold: "nan" } : { ...note[1], number: losses.at(-1) });
  }
});
