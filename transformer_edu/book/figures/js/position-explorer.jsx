import { useLayoutEffect, useRef, useState } from "preact/hooks";
import { diverging } from "./core/colour.js";
import { div } from "./core/dom.js";
import { whole as grouped } from "./core/format.js";
import { DURATION, player } from "./core/motion.js";
import { snapshot } from "./core/state.js";
import { Button, Choice, figure, Kept, Matrix, Said, Select, Slider, useGlidingTo } from "./core/view.jsx";
import * as scene from "./position-explorer.derive.js";

const TRAITS = ["d_model", "base", "positions", "position", "offset", "pair"];
const ROLES = ["te-pos-first", "te-pos-second"];

/** What lets the two rows be dragged, by their numbers and by the hands of a clock; by keyboard the sliders do the same. */
function useDragging(now, move) {
  const [isHeld, hold] = useState(false);
  const held = useRef(null);
  function release() {
    held.current = null;
    setTimeout(() => hold(false), DURATION); // by then what glides has arrived
  }
  /** `measure`: where the pointer is, in positions; `period`: after so many it is there again, if ever. */
  const listeners = (which, measure, period = 1e9) => ({
    onPointerDown(event) {
      event.currentTarget.setPointerCapture(event.pointerId);
      held.current = { at: now.marks[which], last: measure(event) };
      hold(true);
    },
    onPointerMove(event) {
      if (!held.current) return;
      const last = measure(event);
      const way = last - held.current.last;
      held.current = { at: held.current.at + way - period * Math.round(way / period), last };
      move(which, Math.round(held.current.at));
    },
    onPointerUp: release,
    onPointerCancel: release,
  });
  return { isHeld, listeners };
}

/** The table as a picture: one pixel for each number, stretched; the two rows, which may be on their way, are framed. */
function Table({ now, places, pick, listeners }) {
  const [canvas, { d_model, base, positions, pair }] = [useRef(null), now.now];
  useLayoutEffect(() => {
    const picture = new ImageData(new Uint8ClampedArray(scene.pixelsOf(now.now)), d_model, positions);
    canvas.current.getContext("2d").putImageData(picture, 0, 0);
  }, [d_model, base, positions]);
  const measure = ({ clientY }) => (clientY / canvas.current.clientHeight) * positions;
  function pickAt(event) {
    const box = canvas.current.getBoundingClientRect();
    pick(scene.pickedAt(now.now, (event.clientX - box.left) / box.width, (event.clientY - box.top) / box.height));
  }
  function onPointerDown(event) {
    event.currentTarget.setPointerCapture(event.pointerId);
    pickAt(event);
  }
  const onPointerMove = (event) => event.buttons && pickAt(event);
  const picture = { ref: canvas, width: d_model, height: positions, onPointerDown, onPointerMove };
  return (
    <div class="te-pos-table" style={{ "--row": 1 / positions, "--pair": 2 / d_model }}>
      <canvas class="te-pos-canvas" role="img" aria-label={now.picture} {...picture} />
      <div class="te-pos-frame te-pos-pair" style={{ "--at": pair }} />
      {scene.ticksOf(now.now, places[0]).map(({ tick, visibility }) => (
        <span key={tick} class="te-pos-tick" aria-hidden="true" style={{ "--at": tick, visibility }}>
          {tick}
        </span>
      ))}
      {places.map((place, i) => (
        <div key={i} class={`te-pos-frame ${ROLES[i]}`} style={{ "--at": place }} {...listeners(i, measure)}>
          <span class="te-pos-mark">{now.marks[i]}</span>
        </div>
      ))}
    </div>
  );
}

/** The angle of a hand, clockwise from twelve, is position times θ; positions may be on their way. `grips`: listeners. */
const Clock = ({ theta, hands, places, grips = null }) => (
  <svg class="te-pos-face" viewBox="-1.08 -1.08 2.16 2.16" aria-hidden="true">
    <circle r={1} class="te-pos-rim" />
    <path class="te-pos-wedge" d={scene.wedgeOf(theta, places[0], places[1])} />
    <path class="te-pos-hours" d="M0-1V-.88M1 0H.88M0 1V.88M-1 0H-.88" />
    {hands.map(({ sin, cos }, i) => {
      const d = `M0 0L${scene.tipOf(places[i] * theta).join(" ")}`;
      const line = <path key="hand" class={`te-pos-hand ${ROLES[i]}`} d={d} data-sin={sin} data-cos={cos} />;
      return [line, grips && <path key="grip" class="te-pos-grip" d={d} {...grips[i]} />];
    })}
    <circle r={0.07} class="te-pos-pin" />
  </svg>
);

/** The chosen clock for one pair of positions. */
const Large = ({ now, of: { hands, where, names }, theta, places, grips = null }) => (
  <div class="te-pos-large">
    <span class="te-label">{where}</span>
    <div class="te-pos-keys">
      {names.map((name, i) => (
        <span key={i} class={`te-pos-key ${ROLES[i]}`}>
          {name}
        </span>
      ))}
    </div>
    <Clock {...{ theta, hands, places, grips }} />
    <span class="te-pos-said">
      <b class="te-pos-angle">{now.angles[now.now.pair]}</b>
      {now.was && <span class="te-note">was {now.was}</span>}
    </span>
  </div>
);

/** The table, and clocks that turn to where they are sent; what is dragged stays under the finger. */
function Stage({ now, change, move }) {
  const { d_model, base, position, offset, pair } = now.now;
  const { isHeld, listeners } = useDragging(now, move);
  const glided = [useGlidingTo(position), useGlidingTo(offset), useGlidingTo(Math.log(base)), useGlidingTo(now.other)];
  const [p, k, power, other] = isHeld ? [position, offset, Math.log(base), now.other] : glided;
  const [thetas, places] = [scene.thetasOf(d_model, Math.exp(power)), [p, p + k]];
  const theta = thetas[pair];
  const measure = (event) => scene.turnedTo(event, event.currentTarget.ownerSVGElement.getBoundingClientRect()) / theta;
  const grips = [0, 1].map((which) => listeners(which, measure, (2 * Math.PI) / theta));
  return (
    <>
      <div class="te-pos-top">
        <div>
          <div class="te-caption">
            <b>the table</b>
            <span>a row for each position</span>
          </div>
          <Table {...{ now, places, pick: change, listeners }} />
          <div class="te-pos-scale te-label">
            <span>fast</span>
            <span class="te-pos-legend">
              −1
              <span class="te-pos-bar" />
              +1
            </span>
            <span>slow</span>
          </div>
        </div>
        <div>
          <div class="te-caption">
            <b>clock {pair}</b>
            <span>{now.chosen}</span>
          </div>
          <div class="te-pos-same">
            <Large of={now.large[0]} {...{ now, theta, places, grips }} />
            <div class="te-pos-equal">=</div>
            <Large of={now.large[1]} {...{ now, theta, places: [other, other + k] }} />
          </div>
        </div>
      </div>
      <Choice
        label="Pair of dimensions"
        kind="te-pos-clocks"
        value={pair}
        options={now.clocks.map((one) => ({
          ...one,
          text: <Small of={one} theta={thetas[one.value]} places={places} />,
        }))}
        onChange={(chosen) => change({ pair: chosen })}
      />
    </>
  );
}

/** A clock in the row of them. */
const Small = ({ of: { name, hands, angle, was, turn }, theta, places }) => (
  <>
    <Clock {...{ theta, hands, places }} />
    <span class="te-pos-name">{name}</span>
    <b title={was ? `was ${was}` : undefined}>{angle}</b>
    <span class="te-pos-turn">{turn}</span>
  </>
);

/** The dot product against the distance. */
const Curve = ({ of: { d, pin, axes, texts } }) => (
  <svg class="te-pos-chart" viewBox={scene.CHART} aria-hidden="true">
    <path class="te-pos-line" d={axes} />
    {texts.map(({ text, ...at }) => (
      <text key={text} class="te-pos-axis" {...at}>
        {text}
      </text>
    ))}
    <path class="te-pos-curve" d={d} />
    <circle class="te-pos-pin" r={5} {...pin} />
  </svg>
);

/** What few readers need: another table, its numbers, the dot product. */
const Folded = ({ now, change, again }) => (
  <>
    <div class="te-group">
      {Object.entries({ d_model: scene.SIZES, positions: scene.LENGTHS }).map(([name, all]) => (
        <Select
          key={name}
          label={name}
          value={String(now.now[name])}
          options={all.map((value) => ({ value: String(value), label: String(value) }))}
          onChange={(value) => change({ [name]: Number(value) })}
        />
      ))}
      <Button onClick={again}>Start again</Button>
    </div>
    <div class="te-pos-numbers">
      <Matrix
        key={now.now.d_model}
        {...{ name: "rows", label: "the two rows of the table", cells: now.cells, colour: diverging, ...now.names }}
      />
    </div>
    <p>
      <Said of={scene.productOf(now)} />
    </p>
    <p class="te-note">
      <Said of={scene.termsOf(now)} />
    </p>
    <Curve of={scene.curveOf(now)} />
  </>
);

function questions(state, change) {
  const near = (angle) => Math.min(angle, 360 - angle);
  const slowest = () => scene.thetasOf(state.d_model, state.base).at(-1);
  return [
    {
      ask: ["find two positions at which clock 0 shows nearly the same"],
      done: () => state.offset > 0 && near(scene.degrees(state.offset)) < 10,
      tell: ["One clock alone confuses them; the slower clocks tell them apart."],
      show: () => change({ offset: 25, pair: 0 }),
    },
    {
      ask: ["make even the slowest clock turn by 90°"],
      done: () => state.offset * slowest() >= Math.PI / 2,
      tell: ["With a small base all clocks are fast, and far positions begin to look alike."],
      show: () => change({ base: 10, offset: 16, pair: state.d_model / 2 - 1 }),
    },
  ];
}

function start(state, { root }) {
  const opened = snapshot(state, TRAITS);
  let now = null;
  const change = (wanted) => {
    const next = scene.fitting(state, wanted);
    if (TRAITS.some((name) => next[name] !== state[name])) state.set(next);
  };
  const move = (which, to) => change(scene.movedTo(state, which, to));
  const last = () => state.positions - 1 - state.offset;
  const at = () => state.position;
  const play = player({ figure: root, at, last, go: (position) => change({ position }), wait: 400 });
  const number = (power) => Number((10 ** power).toPrecision(3));
  const whole = (max, value) => ({ min: 0, max, value });

  function view() {
    now = scene.derive(state, now);
    const { base, positions, position, offset } = state;
    return {
      ...now,
      stage: <Stage {...{ now, change, move }} />,
      controls: (
        <>
          <Kept make={() => ({ element: div("te-pos-play", play.element) })} update={() => {}} />
          <Slider label="first position, p" {...whole(last(), position)} onInput={(to) => change({ position: to })} />
          <Slider label="distance, k" {...whole(positions / 2, offset)} onInput={(k) => change({ offset: k })} />
          <Slider
            label="base"
            {...{ min: 1, max: 5, step: 0.05, value: Math.log10(base), show: (power) => grouped(number(power)) }}
            onInput={(power) => change({ base: number(power) })}
          />
        </>
      ),
      folded: <Folded {...{ now, change, again: () => state.set(opened) }} />,
    };
  }
  return {
    view,
    questions: questions(state, change),
    details: ["Another table, its numbers, the dot product"],
    end: () => play.stop(),
  };
}

export default figure({
  name: "position-explorer",
  label: "Positional encoding: two positions and the angle between them",
  invite: ["press Play, or drag the solid hand: both positions move on, no angle changes."],
  traits: TRAITS,
  start,
});
