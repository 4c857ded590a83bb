import { button } from "./controls.js";
import { h, reducedMotion } from "./dom.js";
import { clamp } from "./math.js";

/** How long a movement takes, in milliseconds: long enough to follow, short enough not to wait for. */
export const DURATION = 300;
const EASING = "cubic-bezier(0.3, 0, 0.2, 1)";
const ease = (t) => t * t * (3 - 2 * t);

/**
 * Numbers that glide to where they are sent. `draw` gets the numbers of this moment and how much of the way is done.
 * const bars = gliding((widths) => ...);   bars.to([0.2, 0.8]);
 * The first time, after a change of their count, and with reduced motion, they are there at once.
 * @param {(now: number[], share: number) => void} draw @param {number}[duration]
 */
export function gliding(draw, duration = DURATION) {
  let now = null;
  let request = 0;
  const stop = () => cancelAnimationFrame(request);
  return {
    stop,
    to(/** @type {number[]} */ target) {
      stop();
      const from = now;
      if (from?.length !== target.length || reducedMotion()) {
        now = [...target];
        draw(now, 1);
        return;
      }
      let begin = null;
      const step = (/** @type {number} */ time) => {
        begin ??= time;
        const share = clamp((time - begin) / duration, 0, 1);
        now = share === 1 ? [...target] : from.map((value, i) => value + (target[i] - value) * ease(share));
        draw(now, share);
        if (share < 1) request = requestAnimationFrame(step);
      };
      request = requestAnimationFrame(step);
    },
  };
}

const move = (node, frames, duration, delay = 0) =>
  node.animate(frames, { duration, delay, easing: EASING, fill: "backwards" });

let later = [];

/** Do something right after the next frame: what a reader need not see in it, or what asks where something stands. */
export function afterFrame(/** @type {() => void} */ action) {
  if (later.push(action) > 1) return;
  requestAnimationFrame(() =>
    setTimeout(() => {
      const actions = later;
      later = [];
      actions.forEach((one) => one());
    }),
  );
}

/**
 * Do a change, and let elements that it put elsewhere glide there from where they stood.
 * @param {Element[]} nodes elements that are there before and after
 * @param {() => void} change @param {number}[duration]
 * @param {() => Element[]}[after] others that stand for them after the change, in their order
 */
export function glide(nodes, change, duration = DURATION, after = () => nodes) {
  if (reducedMotion()) return change();
  const before = nodes.map((node) => node.getBoundingClientRect());
  change();
  requestAnimationFrame(() => {
    // asked between other changes, or one by one, the browser would lay out again and again
    const moved = after();
    const places = moved.map((node) => node.getBoundingClientRect());
    places.forEach((place, i) => {
      const [x, y] = [before[i].left - place.left, before[i].top - place.top];
      if (before[i].width && place.width && (x || y)) {
        move(moved[i], [{ transform: `translate(${x}px, ${y}px)` }, { transform: "none" }], duration);
      }
    });
  });
}

/** Let something new appear, from a little below. @param {Element} node @param {number}[delay] */
export function appear(node, delay = 0) {
  if (!reducedMotion()) {
    move(
      node,
      [
        { opacity: 0, transform: "translateY(6px)" },
        { opacity: 1, transform: "none" },
      ],
      DURATION,
      delay,
    );
  }
}

let flights = [];

/**
 * A copy of an element goes to another one and is gone: a query to a key, a number to its sum.
 * @param {HTMLElement} figure the outermost element @param {Element} from @param {Element} to
 * @param {{duration?: number, delay?: number}}[options]
 */
export function fly(figure, from, to, options = {}) {
  if (!reducedMotion() && flights.push([figure, from, to, options]) === 1) afterFrame(takeOff);
}

/** All measure before the first changes the page. */
function takeOff() {
  const ready = flights.filter(([, from, to]) => from.isConnected && to.isConnected);
  flights = [];
  const places = ready.map(([figure, from, to]) => [
    ...[figure, from, to].map((node) => node.getBoundingClientRect()),
    figure.clientLeft,
    figure.clientTop,
  ]);
  ready.forEach(([figure, from, , { duration = DURATION, delay = 0 }], i) => {
    const [home, start, end, left, top] = places[i];
    const copy = /** @type {HTMLElement} */ (from.cloneNode(true));
    copy.querySelectorAll("[id]").forEach((node) => node.removeAttribute("id"));
    const flight = h(
      "div",
      {
        class: "te-flight",
        "aria-hidden": "true",
        inert: true,
        style: {
          left: `${start.left - home.left - left}px`,
          top: `${start.top - home.top - top}px`,
          width: `${start.width}px`,
          height: `${start.height}px`,
        },
      },
      copy,
    );
    figure.append(flight);
    const [x, y] = [
      end.left + end.width / 2 - start.left - start.width / 2,
      end.top + end.height / 2 - start.top - start.height / 2,
    ];
    const frames = [
      { transform: "none", opacity: 1 },
      { transform: `translate(${x}px, ${y}px)`, opacity: 0.2 },
    ];
    const gone = () => flight.remove();
    move(flight, frames, duration, delay).finished.then(gone, gone);
  });
}

const TO_PLAY = "▶ Play";

/**
 * Play and pause for a figure that has steps. Nothing plays by itself: it begins when pressed, from the start if it is
 * at the end or, the first time, where the figure opened; and ends at the last step, when pressed again, when the
 * reader does something else in the figure, or when the page is hidden.
 * @param {{figure: HTMLElement, at: () => number, last: () => number, go: (step: number) => void, first?: number,
 *   wait?: number}} options  `wait`: milliseconds from one step to the next
 */
export function player({ figure, at, last, go, first = 0, wait = 700 }) {
  let [timer, played, opened] = [0, false, first];
  queueMicrotask(() => (opened = at())); // once it stands: where it says most, which may be somewhere on the way
  const control = button(TO_PLAY, () => (timer ? stop() : start()), { class: "te-button te-play" });

  function stop() {
    clearTimeout(timer);
    timer = 0;
    control.textContent = TO_PLAY;
  }

  function tick() {
    if (!control.isConnected || document.hidden || at() >= last()) return stop();
    go(at() + 1);
    if (at() >= last()) return stop();
    timer = setTimeout(tick, wait);
  }

  function start() {
    control.textContent = "❚❚ Pause";
    const whole = at() >= last() || (!played && at() === opened && opened > first);
    played = true;
    if (!whole) return tick();
    go(first);
    timer = setTimeout(tick, wait);
  }
  const interrupt = (event) => timer && !control.contains(event.target) && stop();
  figure.addEventListener("pointerdown", interrupt, true);
  figure.addEventListener("keydown", interrupt, true);
  return { element: control, stop };
}
