import { useLayoutEffect, useMemo, useRef } from "preact/hooks";
import * as engine from "../../engine/js/engine.js";
import { cellsOf } from "./core/cells.js";
import { cividis } from "./core/colour.js";
import { cut, reducedMotion } from "./core/dom.js";
import { modelOf } from "./core/loading.js";
import { afterFrame } from "./core/motion.js";
import { sentenceLine } from "./core/sentence.js";
import { asPieces, Button, Choice, figure, Kept, Matrix, Said, Select, useGliding } from "./core/view.jsx";
import * as derived from "./head-atlas.derive.js";

const { allTo, derive, keyOf, KINDS, mayLookIn, without } = derived;
const ACROSS = 4; // small maps in a row
const LARGE = "weights of the chosen head, a row for each word that looks";
// Either of these heads of the shipped model tells it that an adjective belongs to a feminine noun.
const REDUNDANT = ["encoder.1.self.0", "decoder.1.cross.1"];
const WITH_REDUNDANT = "my small white turtles sleep";

/** A map as a picture, a pixel for each weight; what may not be looked at stays clear. */
function paint(canvas, map, mayLook) {
  [canvas.width, canvas.height] = [map[0].length, map.length];
  const context = canvas.getContext("2d");
  const image = context.createImageData(canvas.width, canvas.height);
  map.forEach((row, i) =>
    row.forEach((weight, j) => {
      if (mayLook(i, j)) image.data.set([...cividis(weight), 255], 4 * (i * row.length + j));
    }),
  );
  context.putImageData(image, 0, 0);
}

/** A word that was not yet written cannot be looked at. */
const hidden = (cell) => ({ ...cell, isHatched: true, label: cell.label.replace(/:[^:]*$/, ": not yet written") });

const Sign = ({ kind }) => <span class="te-atlas-sign">{KINDS[kind].sign}</span>;

/** The button of one head: its map, and its name in words. */
function Tile({ tile: { name, kind, map, measures, needed, ...tile }, onChoose, onKeyDown }) {
  const canvas = useRef(null);
  useLayoutEffect(() => paint(canvas.current, map, mayLookIn(kind)), [map]);
  return (
    <button
      type="button"
      role="radio"
      class="te-atlas-tile"
      data-head={name}
      data-kind={kind}
      data-needed={needed ? "" : undefined}
      data-entropy={String(measures.entropy)}
      data-distance={String(measures.distance)}
      data-importance={String(measures.importance)}
      aria-label={tile.label}
      aria-checked={tile.isChosen}
      tabindex={tile.isChosen ? 0 : -1}
      onClick={onChoose}
      onKeyDown={onKeyDown}>
      <span class="te-atlas-map">
        {/* biome-ignore lint/a11y/noAriaHiddenOnFocusable: a canvas takes no focus */}
        <canvas class="te-atlas-small" aria-hidden="true" ref={canvas} />
        <span class="te-atlas-state">{tile.state}</span>
      </span>
      <span class="te-atlas-name">
        <span class="te-atlas-kind">
          <Sign kind={kind} />
          {` ${KINDS[kind].short}`}
        </span>
        <span>{tile.place}</span>
        <span>
          <Said of={[tile.number]} />
          {tile.free && <span class="te-atlas-free"> ✓</span>}
        </span>
      </span>
    </button>
  );
}

/** All heads. The arrow keys go from tile to tile as they lie. */
function Tiles({ tiles, choose }) {
  const box = useGliding(tiles.map(({ name }) => name).join());
  function move(event, at) {
    const by = { ArrowRight: 1, ArrowLeft: -1, ArrowDown: ACROSS, ArrowUp: -ACROSS }[event.key];
    const to = event.key === "Home" ? 0 : event.key === "End" ? tiles.length - 1 : at + by;
    if (event.ctrlKey || event.metaKey || event.altKey || !(to >= 0 || to < 0)) return;
    event.preventDefault();
    if (!tiles[to] || to === at) return;
    choose(tiles[to].name);
    box.current.children[to].focus();
  }
  return (
    <div role="radiogroup" aria-label="heads" class="te-atlas-tiles" ref={box}>
      {tiles.map((tile, i) => (
        <Tile key={tile.name} tile={tile} onChoose={() => choose(tile.name)} onKeyDown={(event) => move(event, i)} />
      ))}
    </div>
  );
}

/** The chosen head's map with its words; what it was before, of each kind of attention, as long as the sentence stays. */
function Large({ large: { kind, weights, rows, columns } }) {
  const before = useRef({});
  const cells = useMemo(() => {
    const look = { rows, columns, decimals: 2, quiet: 0.05, before: before.current[kind] };
    const mayLook = mayLookIn(kind);
    const all = cellsOf(weights, look).map((line, i) => line.map((cell, j) => (mayLook(i, j) ? cell : hidden(cell))));
    before.current[kind] = all;
    return all;
  }, [kind, weights]);
  return (
    <div
      class={`te-atlas-grid${columns.length > 7 ? " te-atlas-tight" : ""}${rows.length > 9 ? " te-atlas-many" : ""}`}
      style={{ "--rows": rows.length, "--keys": columns.length }}>
      <Matrix key={kind} name="weights" label={LARGE} {...{ rows, columns, cells }} colour={cividis} />
    </div>
  );
}

const Stage = ({ now, line, choose }) => (
  <>
    {line}
    <div class="te-atlas-body">
      <Tiles tiles={now.tiles} choose={choose} />
      <div class="te-atlas-detail">
        <div class="te-atlas-title" data-kind={now.kind}>
          <Sign kind={now.kind} />
          {` ${now.title}`}
        </div>
        <Large key={now.large.sentence} large={now.large} />
        <div class="te-atlas-numbers">
          {now.numbers.map(({ name, value, text }) => (
            <div key={name} class="te-atlas-number">
              <b data-value={String(value)}>{text}</b>
              <span class="te-note">{name === "entropy" ? "entropy / ln n" : name}</span>
            </div>
          ))}
        </div>
      </div>
    </div>
  </>
);

/** A word that the model writes; another than it would write with all heads stands out. */
const Written = ({ word, isOther }) => (isOther ? <b class="te-atlas-other">{cut(word)}</b> : cut(word));

const Controls = ({ state: { sort, heads, chosen }, writes, change }) => (
  <>
    <Select
      label="sort by"
      value={sort}
      options={derived.ORDERS.map((value) => ({ value, label: value }))}
      onChange={(value) => change({ sort: value })}
    />
    <div class="te-group te-atlas-switch">
      <span>this head:</span>
      <Choice
        label="this head"
        value={heads[chosen] ?? "on"}
        options={["on", "off", "uniform"].map((value) => ({ value, text: value }))}
        onChange={(how) => change({ heads: { ...without(heads, chosen), ...(how !== "on" && { [chosen]: how }) } })}
      />
    </div>
    <Button off={!Object.keys(heads).length} onClick={() => change({ heads: {} })}>
      All on
    </Button>
    <span class="te-note">✓ can go</span>
    <p class="te-atlas-writes">
      {"It writes: "}
      {writes.map((one, i) => [i ? " " : "", <Written key={i} {...one} />])}
    </p>
  </>
);

/** What can be found out by switching heads off; two of the three with the shipped model alone. */
function questions({ state, names, now, running, breaks, put }) {
  const shipped = state.model_file.name && REDUNDANT.every((name) => names.includes(name));
  const rowOf = (name) => name.replace(/\d+$/, "");
  const last = names.filter((name) => rowOf(name) === rowOf(names.at(-1)));
  const gone = () => Object.keys(now().answer.heads);
  const isPair = () => Object.values(now().answer.heads).join() === "off,off" && now().differs;
  function evenest() {
    const { measures } = now();
    return names.reduce((most, name) => (measures[name].entropy > (measures[most].entropy || 0) ? name : most));
  }
  function isAnother() {
    const { answer, was } = now();
    return answer.then.filter((word) => was.includes(word)).length <= was.length / 2;
  }
  return [
    shipped && {
      ask: ["find two heads of which either can go, but not both"],
      done: () => running.model && isPair() && !gone().some(breaks),
      tell: ["Each tells it that the adjective belongs to a feminine noun. One is enough."],
      show: () => put({ sentence: WITH_REDUNDANT, heads: allTo("off", REDUNDANT), chosen: REDUNDANT[1] }),
    },
    {
      ask: ["find the head that looks around most evenly"],
      done: () => state.chosen === evenest(),
      tell: ["Near 1, a head does little more than average all words."],
      show: () => put({ chosen: evenest(), sort: "entropy" }),
    },
    shipped && {
      ask: ["switch off a row of heads and get another story"],
      done: () => running.model && new Set(gone().map(rowOf)).size === 1 && isAnother(),
      tell: ["What the English says comes in there, in the last layer."],
      show: () => put({ heads: allTo("off", last), chosen: last[0], sort: "place" }),
    },
  ].filter(Boolean);
}

/** The model at work, after the first touch: it answers, then measures head after head between frames. */
function working(state, { root, widget, draw, first, read }) {
  const known = derived.memory(first);
  let [answer, job] = [first, null];
  const load = () => engine.loadModel(widget, state.model_file);
  const running = modelOf(root, load, () => {
    draw();
    if (running.model) afterFrame(() => known.translate(running.model, first.source)); // the first switch finds it done
  });

  /** The answer to a state. To no sentence and without a model, the last one; until the next frame, if it takes work. */
  function answerTo({ sentence, heads }, atOnce = reducedMotion()) {
    const { words, wrong } = read(sentence);
    const found = wrong ? answer : known.ask(atOnce ? running.model : null, words, heads);
    if (!found && running.model) afterFrame(() => answerTo(state, true) && draw());
    return (answer = found ?? answer);
  }

  const steps = () => derived.measured(running.model, answer, first.names);
  function measure() {
    if (answer.effects || job?.answer === answer || !running.model) return;
    const mine = { answer, steps: steps() };
    const step = () => {
      if (job !== mine) return;
      if (mine.steps.next().done) draw();
      else setTimeout(step);
    };
    job = mine;
    afterFrame(step);
  }

  /** Answer, and leave nothing to measure. */
  function finish(options) {
    job = null;
    if (!answerTo(options, true).effects && running.model) Array.from(steps());
  }

  /** Whether a word of the present sentence changes without this head alone. */
  function breaks(name) {
    const { breaks: all, given } = known.ask(running.model, answer.source, {});
    return all ? all[first.names.indexOf(name)] : derived.lost(running.model, given, allTo("off", [name])).breaks;
  }
  return { running, answerTo, measure, finish, breaks, stop: () => (job = null) };
}

function start(state, around) {
  const first = { ...state.recorded };
  const opened = { sentence: first.source.join(" "), heads: first.heads, chosen: state.chosen, sort: state.sort };
  const line = sentenceLine({
    opened: first.source,
    ...state.line,
    wordsOf: engine.wordsOf,
    onChange: (sentence) => change({ sentence }),
    onAgain: () => put(opened),
  });
  const { running, ...work } = working(state, { ...around, first, read: line.read });
  let now = null;

  function change(changes) {
    state.set(changes);
    running.wake();
  }

  /** Bring about a state in which all that there is to measure is measured. */
  function put(changes) {
    const { sentence, heads } = { sentence: state.sentence, heads: state.heads, ...changes };
    line.set(sentence);
    work.finish({ sentence, heads });
    change(changes);
  }

  function view() {
    const { wrong } = line.read(state.sentence);
    const isOpened = state.sentence === opened.sentence && keyOf([], state.heads) === keyOf([], opened.heads);
    const instead = asPieces(running.instead(wrong, !isOpened));
    now = derive(state, { names: first.names, answer: work.answerTo(state), instead, before: now });
    if (!instead) work.measure();
    const update = () => line.update(state.sentence, Boolean(wrong), isOpened);
    const kept = <Kept make={() => line} update={update} />;
    return {
      ...now,
      stage: <Stage now={now} line={kept} choose={(chosen) => change({ chosen })} />,
      controls: <Controls state={state} writes={now.writes} change={change} />,
    };
  }
  return {
    view,
    questions: questions({ state, names: first.names, now: () => now, put, running, ...work }),
    details: [
      "What the numbers are",
      "Entropy over ln n: how evenly a head looks, 0 for one word alone, 1 for all n alike; the " +
        "mean over the words that look. Distance: how many places from its own a head looks, the mean. Importance: by " +
        "how much the mean −ln p of a word of the translation rises when this head is switched off too; of a head that " +
        "is off, by how much it rose. The maps show the model while it is given its own translation, word by word, " +
        "with the heads as they are switched.",
    ],
    end: work.stop,
  };
}

export default figure({
  name: "head-atlas",
  label: "Head atlas: all heads of all layers",
  invite: ["choose a small map and switch its head off. Then find two that may not both be off."],
  traits: ["sentence", "heads", "chosen", "sort", "recorded", "line", "model_file"],
  start,
});
