// The plane in which the states of a word differ most: principal components, and where all stands. Nothing here draws.
import { dot, mapMatrix, matmul, meanOf, sumOf, transpose } from "../core/math.js";

export const [WIDE, HIGH, EDGE] = [340, 206, 30]; // the plane in pixels; no point is nearer to its edge
const ROOM = 24; // more on the right, for labels
const CLOSEST = 5; // a plane shows at least this distance, so that small differences look small
const LINE = 15; // height of a label
export const [DISC, RING] = [8, 4]; // radius of a compared point, and of another

const lengthOf = (row) => Math.hypot(...row);

/** The unit vector that a symmetric matrix stretches most: it alone is left when the matrix is squared and squared. */
function principal(matrix) {
  let power = matrix;
  for (let round = 0; round < 10; round += 1) {
    const largest = Math.max(...power.flat().map(Math.abs)) || 1;
    const scaled = mapMatrix(power, (value) => value / largest);
    power = matmul(scaled, scaled);
  }
  const row = power.reduce((best, one) => (lengthOf(one) > lengthOf(best) ? one : best));
  const length = lengthOf(row) || 1;
  const extreme = row.reduce((best, value) => (Math.abs(value) > Math.abs(best) ? value : best));
  return row.map((value) => (extreme < 0 ? -value : value) / length);
}

/**
 * The plane in which the states of a word (at every level, of each occurrence) differ most: principal components of the
 * states, each less the mean of its level. `shares`: their part of the variance; `of(state, level)` is [x, y].
 * @param {number[][][]} states
 */
export function planeOf(states) {
  const means = states.map((row) => transpose(row).map(meanOf));
  const rows = states.flatMap((row, level) => row.map((state) => state.map((value, i) => value - means[level][i])));
  let gram = rows.map((a) => rows.map((b) => dot(a, b)));
  const all = sumOf(gram.map((row, i) => row[i])) || 1;
  const axes = [0, 1].map(() => {
    const unit = principal(gram);
    const size = Math.max(
      0,
      dot(
        unit,
        gram.map((row) => dot(row, unit)),
      ),
    );
    gram = mapMatrix(gram, (value, i, j) => value - size * unit[i] * unit[j]);
    const direction = matmul([unit], rows)[0].map((value) => value / (Math.sqrt(size) || 1));
    return { share: size / all, direction };
  });
  return {
    shares: axes.map(({ share }) => share),
    of: (state, level) =>
      axes.map(({ direction }) =>
        dot(
          state.map((value, i) => value - means[level][i]),
          direction,
        ),
      ),
  };
}

/** A function from the plane to pixels, the same for all levels. */
function scaleOf(at) {
  const [xs, ys] = transpose(at.flat());
  const ends = [xs, ys].map((values) => [Math.min(...values), Math.max(...values)]);
  const [spanX, spanY] = ends.map(([low, high]) => Math.max(high - low, CLOSEST));
  const scale = Math.min((WIDE - 2 * EDGE - ROOM) / spanX, (HIGH - 2 * EDGE) / spanY);
  const [middleX, middleY] = ends.map(([low, high]) => (low + high) / 2);
  return ([x, y]) => [(WIDE - ROOM) / 2 + (x - middleX) * scale, HIGH / 2 - (y - middleY) * scale];
}

/**
 * Where the labels of these points stand: to the right or left, or a line or more below or above, wherever is room. The
 * `chosen` ones come first.
 */
function labelPlaces(points, names, chosen, ways) {
  const radius = (i) => (chosen.includes(i) ? DISC : RING);
  const taken = points.map(([x, y], i) => [x - radius(i), y - radius(i), x + radius(i), y + radius(i)]);
  const own = taken.length;
  const around = ([x, y], half) => taken.push([x - half, y - half, x + half, y + half]);
  const [startX, startY] = ways[0][0];
  if (ways.length > 1) [around([startX, startY], 12), around([startX, startY - 21], 16)]; // with its name
  const trail = (i) =>
    ways
      .slice(1)
      .flatMap((step, level) => [0.2, 0.4, 0.6, 0.8].map((share) => between(ways[level][i], step[i], share)));
  chosen
    .filter((i) => i >= 0)
    .flatMap(trail)
    .forEach((point) => around(point, 3));
  const places = [];
  const order = [...chosen, ...points.keys()].filter((i, at, all) => i >= 0 && all.indexOf(i) === at);
  for (const i of order) {
    const [x, y] = points[i];
    const width = 7.6 * names[i].length + 3;
    const boxAt = (/** @type {number[]} */ [left, top]) => [left, top - LINE / 2, left + width, top + LINE / 2];
    const free = (/** @type {number[]} */ [left, top, right, bottom]) =>
      left > 1 &&
      right < WIDE &&
      top > 1 &&
      bottom < HIGH - 17 &&
      taken.every(
        (other, j) =>
          left >= other[2] ||
          right <= other[0] ||
          top >= other[3] ||
          bottom <= other[1] ||
          (j < own && Math.hypot(points[j][0] - x, points[j][1] - y) < 1),
      );
    const tries = [0, 1, -1, 2, -2, 3, -3, 4, -4].flatMap((rows) =>
      [x + 11, x - 10 - width].map((left) => [left, y + rows * LINE]),
    );
    places[i] = tries.find((place) => free(boxAt(place))) ?? tries[0];
    taken.push(boxAt(places[i]));
  }
  return places;
}

export const between = (from, to, share) => from.map((value, i) => value + (to[i] - value) * share);

/** Compared ones show their words, and which others lie under them; of others that coincide the first says all. */
function labelsOf(points, names, numbers, chosen) {
  const near = (i, reach) =>
    points.flatMap((point, j) =>
      !chosen.includes(j) && Math.hypot(point[0] - points[i][0], point[1] - points[i][1]) < reach ? [j] : [],
    );
  return points.map((_, i) => {
    const others = near(i, chosen.includes(i) ? DISC + RING : 3 * RING);
    const list = others.map((j) => numbers[j]).join(" · ");
    if (chosen.includes(i)) return `${numbers[i]} ${names[i]}${list && others.length < 4 ? ` (with ${list})` : ""}`;
    return others[0] === i ? list : "";
  });
}

/** These points at every level, in pixels. @param {number[][][]} at */
export function waysOf(at) {
  const toPixels = scaleOf(at);
  return at.map((states) => states.map(toPixels));
}

/** What stands beside each point at every level, and where, if these are compared. */
export function labelled(ways, texts, numbers, chosen) {
  const names = ways.map((points) => labelsOf(points, texts, numbers, chosen));
  const labels = ways.map((points, at) => labelPlaces(points, names[at], chosen, ways.slice(0, at + 1)));
  return { names, labels };
}
