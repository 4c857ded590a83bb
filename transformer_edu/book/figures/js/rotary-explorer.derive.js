// A query and a key, each pair turned by its position: products, score, and angles training never showed. Nothing draws.
import { lastChange } from "./core/changed.js";
import { format, listed, plural, whole } from "./core/format.js";
import { clamp, sumOf } from "./core/math.js";

/** @type {[string, string, number[]][]} */
export const CHOICES = [
  ["trained", "trained with", [512, 2048, 8192]],
  ["read", "to read", [2048, 8192, 32_768]],
  ["base", "base", [10_000, 500_000, 1_000_000]],
];
export const SCALINGS = { none: "none", linear: "linear", ntk: "NTK", yarn: "YaRN" };
const TURN = 2 * Math.PI;
const [FAST, SLOW] = [32, 1]; // turns in training: YaRN keeps pairs above the one and squeezes those below the other
const STEPS = 100; // of the curve

const factorOf = ({ read, trained }) => Math.max(1, read / trained);
const gainOf = (state) => (state.scaling === "yarn" ? 0.1 * Math.log(factorOf(state)) + 1 : 1);
const degrees = (angle) => (360 * angle) / TURN;
const counted = (turns) => (turns < 10 ? format(turns, turns < 1 ? 2 : 1) : whole(Math.round(turns)));

/** Radians a position of each pair, as trained and as scaled: `transformer_edu/parts/rotary.py`. */
export function speedsOf(state) {
  const { base, trained, scaling, vectors } = state;
  const [count, factor] = [vectors[0].length / 2, factorOf(state)];
  const own = Array.from({ length: count }, (_, i) => base ** (-i / count));
  const end = (turns) => (count * Math.log(trained / (turns * TURN))) / Math.log(base);
  const [low, high] = [Math.max(Math.floor(end(FAST)), 0), Math.min(Math.ceil(end(SLOW)), 2 * count - 1)];
  const squeezed = (i) => clamp((i - low) / Math.max(high - low, 0.001), 0, 1);
  const scaled = {
    none: (speed) => speed,
    linear: (speed) => speed / factor,
    ntk: (speed, i) => speed * factor ** (-i / (count - 1)),
    yarn: (speed, i) => speed * (1 - squeezed(i)) + (speed / factor) * squeezed(i),
  };
  return { own, scaled: own.map(scaled[scaling]) };
}

/** The score against the distance in a drawing of 100 by 100, smoothed, and how far those pairs swing that are smoothed out. */
function curveOf(pairs, read, most) {
  const shares = pairs.map(({ speed }) => (Math.sin((speed * read) / STEPS) / ((speed * read) / STEPS)) ** 2);
  const swing = sumOf(pairs.map(({ size }, i) => size * (1 - shares[i])));
  const point = (at, y) => `${((100 * at) / read).toFixed(1)},${(50 - (50 * y) / most).toFixed(1)}`;
  const [line, high, low] = [[], [], []];
  for (let step = 0; step < STEPS; step++) {
    const at = ((step + 0.5) * read) / STEPS;
    const mean = sumOf(pairs.map(({ size, start, speed }, i) => size * Math.cos(start + at * speed) * shares[i]));
    [line, high, low].forEach((side, i) => side.push(point(at, mean + [0, swing, -swing][i])));
  }
  return { line: line.join(" "), band: [...high, ...low.reverse()].join(" ") };
}

/** Where a hand is drawn: on from where it was, the way its position went, by less than a whole turn. */
const drawnAt = (angle, was) => (was ? was.drawn + (degrees(angle - was.angle) % 360) : degrees(angle) % 360);

/** A pair as it is drawn. `newFrom`: the distance from which its angles are new, or null. */
function pairOf(i, state, { own, scaled }, last, from) {
  const { vectors, query, key, trained, read } = state;
  const speed = scaled[i];
  const contents = vectors.map((vector) => vector.slice(2 * i, 2 * i + 2));
  const [sizes, angles] = [contents.map((uv) => Math.hypot(...uv)), contents.map(([u, v]) => Math.atan2(v, u))];
  const size = sizes[0] * sizes[1] * gainOf(state) ** 2;
  const start = angles[0] - angles[1];
  const hands = [query, key].map((place, n) => {
    const angle = angles[n] + place * speed;
    return { angle, size: sizes[n], drawn: drawnAt(angle, last?.hands[n]) };
  });
  const between = start + (query - key) * speed;
  const product = size * Math.cos(between);
  const [known, now] = [trained * own[i], read * speed];
  const near = Math.atan2(Math.sin(between), Math.cos(between));
  return {
    ...{ speed, size, start, hands, near, product },
    old: from?.pairs[i].hands.map((hand) => degrees(hand.angle)),
    cosine: `${format(size)} · cos ${format(Math.abs(degrees(near)), 0)}°`,
    text: format(product),
    was: from?.pairs[i].text,
    turns: `${counted(known / TURN)} → ${counted(now / TURN)} turns`,
    newFrom: known < TURN && now > known * (1 + 1e-9) ? Math.ceil(known / speed) : null,
  };
}

/**
 * All that is drawn.
 * @param {any} state  `query`, `key`, `base`, `trained`, `read`, `scaling`, `vectors`
 * @param {any}[before]  what was derived before: what was so stays beside it until the next change
 */
export function derive(state, before = null) {
  const { query, key, base, trained, read, scaling } = state;
  const change = lastChange({ query, key, base, trained, read, scaling }, before);
  if (change.moved === "") return before;
  const { from, moved } = change;
  const speeds = speedsOf(state);
  const pairs = speeds.own.map((_, i) => pairOf(i, state, speeds, before?.pairs[i], from));
  const score = sumOf(pairs.map(({ product }) => product));
  const most = sumOf(pairs.map(({ size }) => size));
  const isMove = moved?.split(",").every((name) => name === "query" || name === "key");
  const beyond = pairs.flatMap(({ newFrom }, i) => (newFrom === null ? [] : [i]));
  const now = {
    ...{ ...change, speeds, pairs, score, beyond, isMove, distance: query - key },
    ...{ text: format(score), was: from?.text },
    together: isMove && from.distance === query - key ? query - from.now.query : 0,
    newFrom: beyond.length ? Math.min(...beyond.map((i) => pairs[i].newFrom)) : null,
    curve: isMove ? before.curve : curveOf(pairs, read, most),
    most,
    old:
      !isMove && from?.now.read === read
        ? (from.most === most ? from : { curve: curveOf(from.pairs, read, most) }).curve.line
        : null,
    dot: [(100 * (query - key)) / read, 50 - (50 * score) / most],
  };
  return { ...now, says: [titleOf(now, state)], words: wordsOf(now, state) };
}

function titleOf({ moved, isMove, together, beyond, pairs, text, was }, { trained, read, scaling }) {
  if (together) return `Both moved by ${whole(Math.abs(together))}: every hand turned, no product changed`;
  if (isMove && text !== was) return `Another distance, another score: ${text}, not ${was}`;
  if (isMove || !moved) return "The score tells how far apart query and key stand, not where";
  if (read <= trained) return "No longer than in training: no angle is new";
  const name = { none: "Not scaled", linear: "Linear", ntk: "NTK", yarn: "YaRN" }[scaling];
  const turns = beyond.length === 1 ? "turns" : "turn";
  if (beyond.length) return `${name}: ${beyond.length} of ${pairs.length} pairs ${turns} further than ever in training`;
  const price = { linear: ", but neighbours look closer", yarn: ", fast ones as before" }[scaling] ?? "";
  return `${name}: no pair turns further than in training${price}`;
}

/** The sentence about the present state. */
function wordsOf({ moved, isMove, together, distance, score, text, was, beyond, speeds, newFrom }, state) {
  const [sum, factor] = [{ number: score, text }, factorOf(state)];
  const turn = (angle) => ({ bold: `${format(Math.abs(degrees(angle)), 1)}°` });
  const alike = ["Both hands of a pair turned alike, the slowest by ", turn(together * speeds.scaled.at(-1))];
  if (together) return [...alike, ": no cosine changed. The score is ", sum, "."];
  const apart = `The key stands ${plural(distance, "position")} before the query. The six products add up to the score `;
  if (isMove || !moved || factor === 1)
    return [apart, sum, was === undefined || was === text ? ". Move both: it stays." : `; before: ${was}.`];
  const [names, meet] = [listed(beyond.map((i) => [`pair ${i}`])).join(""), beyond.length === 1 ? "meets" : "meet"];
  const unseen = `More than ${whole(newFrom)} apart, ${names} ${meet} angles that no weight was trained with. `;
  const step = ["From token to token pair 0 turns by ", turn(speeds.scaled[0])];
  const slow = ` as before, the slowest ${factor} times as slowly`;
  const told = {
    none: [],
    linear: [...step, ", not ", turn(speeds.own[0]), `: all pairs turn ${factor} times as slowly.`],
    ntk: [...step, `${slow}: a larger base.`],
    yarn: [...step, `${slow}. Products are ${format(gainOf(state) ** 2)} times as large.`],
  };
  return [beyond.length ? unseen : "", ...told[state.scaling]];
}
