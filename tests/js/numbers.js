// What torch computed, for tests of what a page computes: `numbers` of tests/unit/test_NAME.py.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";

export const torch = JSON.parse(readFileSync(process.env.TORCH_NUMBERS, "utf8"));

/** Numbers of any shape that agree to 1e-4. */
export function close(found, expected, path = "") {
  if (typeof expected === "number") {
    assert.ok(Math.abs(found - expected) <= 1e-4, `${path}: ${found} is not ${expected}`);
    return;
  }
  assert.equal(found.length, expected.length, `${path}: length`);
  expected.forEach((one, i) => close(found[i], one, `${path}[${i}]`));
}

/** A state that a question can set, as a page's. @param {any} state */
export const settable = (state) => Object.assign(state, { set: (changes) => Object.assign(state, changes) });
