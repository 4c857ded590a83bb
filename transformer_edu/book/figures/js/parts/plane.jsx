// The picture of the plane in which the states of a word differ most.

import { cut } from "../core/dom.js";
import { useGlidingTo } from "../core/view.jsx";
import { between, DISC, HIGH, RING, WIDE } from "./plane.js";

const ROLES = ["first", "second"];

/** The way that a compared point has come. */
const Trail = ({ of, role, points }) => (
  <path
    class={`te-ctx-trail te-ctx-${role}`}
    data-of={of}
    d={points.map((point, step) => `${step ? "L" : "M"}${point.join(" ")}`).join("")}
  />
);

/**
 * The plane: a point for every occurrence, with the way that the two compared ones have come.
 * @param {{picture: any, level: number, label: string, hinted: number[], onChoose: (point: number) => void}} props
 *   `hinted`: points that stand out
 */
export function Plane({ picture: { scene, names, labels, chosen }, level, label, hinted, onChoose }) {
  const t = useGlidingTo(level, 400); // 1.5 is half of the way from level 1 to level 2
  const { ways, at } = scene;
  const [from, to] = [Math.floor(t), Math.ceil(t)];
  const now = (steps, i) => between(steps[from][i], steps[to][i], t - from);
  const discs = chosen.map((i) => now(ways, i));
  const [startX, startY] = ways[0][0];
  const isUnder = (i, [x, y]) =>
    !chosen.includes(i) && discs.some((disc) => Math.hypot(disc[0] - x, disc[1] - y) < DISC + RING);
  const point = (i) => {
    const [place, [left, top], role] = [now(ways, i), now(labels, i), ROLES[chosen.indexOf(i)] ?? "other"];
    return (
      // biome-ignore lint/a11y: for the mouse alone; the rows of the list take keys
      <g
        key={role === "other" ? i : role} // none is moved: Chromium 156 keeps the old style of a label that is
        class={`te-ctx-point te-ctx-${role}${hinted.includes(i) ? " te-ctx-hint" : ""}`}
        data-x={at[level][i][0]}
        data-y={at[level][i][1]}
        data-under={isUnder(i, place) ? "" : undefined}
        onClick={() => onChoose(i)}>
        <circle r={role === "other" ? RING : DISC} cx={place[0]} cy={place[1]} />
        <text class="te-ctx-label" x={left} y={top + 4.5}>
          {cut(names[level][i])}
        </text>
      </g>
    );
  };
  const others = scene.found.map((_, i) => i).filter((i) => !chosen.includes(i));
  return (
    <svg viewBox={`0 0 ${WIDE} ${HIGH}`} class="te-ctx-plane" role="img" aria-label={label} data-level={level}>
      <g>
        <circle cx={startX} cy={startY} r={12} class="te-ctx-start" />
        <text x={startX} y={startY - 16} class="te-ctx-label te-ctx-from">
          start
        </text>
        <text x={WIDE / 2} y={HIGH - 6} class="te-ctx-axes">
          near means alike; no axis has a meaning of its own
        </text>
        {chosen.map((i, role) => (
          <Trail
            key={`${ROLES[role]} way`}
            of={i}
            role={ROLES[role]}
            points={[...ways.slice(0, from + 1).map((step) => step[i]), discs[role]]}
          />
        ))}
        {[...others, ...chosen].map(point)}
      </g>
    </svg>
  );
}
