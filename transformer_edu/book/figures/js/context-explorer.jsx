import { useLayoutEffect, useMemo, useState } from "preact/hooks";
import * as engine from "../../engine/js/engine.js";
import { compare, derive, everyView, memory, NEAR, pairOf, textOf } from "./context-explorer.derive.js";
import { cellsOf } from "./core/cells.js";
import { diverging } from "./core/colour.js";
import { cut, div } from "./core/dom.js";
import { format } from "./core/format.js";
import { modelOf } from "./core/loading.js";
import { player } from "./core/motion.js";
import { sentenceLine } from "./core/sentence.js";
import { asPieces, Choice, figure, Kept, Matrix } from "./core/view.jsx";
import { asToken } from "./core/words.js";
import { Plane } from "./parts/plane.jsx";

const Measure = ({ name, value, decimals = 2 }) => (
  <b data-measure={name} data-value={value}>
    {format(value, decimals)}
  </b>
);

/** A sentence with one of its words marked. */
const Marked = ({ of: { words, place } }) => (
  <span class="te-ctx-text">
    {words.map((word, i) => [i ? " " : "", i === place ? <b key={i}>{cut(word)}</b> : cut(word)])}
  </span>
);

/** A sentence with its number, and what the model makes of it. */
const Row = ({ row: { number, english, french } }) => (
  <>
    <span class="te-ctx-number">{number}</span>
    <Marked of={english} />
    <i>
      <Marked of={french} />
    </i>
  </>
);

/** The first sentence, and all that it can be compared with. */
const List = ({ picture: { scene, chosen }, choose, hint }) => (
  <div class="te-ctx-list">
    <div class="te-ctx-row">
      <Row row={scene.rows[chosen[0]]} />
    </div>
    <div class="te-label">compared with</div>
    <Choice
      label="Compared with sentence 1"
      kind="te-ctx-rows"
      value={chosen[1]}
      onChange={choose}
      options={scene.rows.flatMap((row, value) => {
        const [on, off] = [() => hint(value, true), () => hint(value, false)];
        const more = { onPointerEnter: on, onFocus: on, onPointerLeave: off, onBlur: off };
        return value === chosen[0] ? [] : [{ value, text: <Row row={row} />, label: row.told, more }];
      })}
    />
  </div>
);

/** The points, the levels, and all sentences; one that is pointed at in the list stands out in the plane. */
function Body({ now: { picture, level, levels, label }, choose, makePlay, go }) {
  const [hinted, setHinted] = useState([]);
  const hint = (i, on) => setHinted((all) => (on ? [...all, i] : all.filter((one) => one !== i)));
  useLayoutEffect(() => setHinted([]), [picture.scene]);
  const list = useMemo(() => <List picture={picture} choose={choose} hint={hint} />, [picture]);
  return (
    <div class="te-ctx-body">
      <div>
        <Plane picture={picture} level={level} label={label} hinted={hinted} onChoose={choose} />
        <Kept make={makePlay} update={() => {}}>
          <span class="te-label">likeness of the two (cosine; 1 is alike):</span>
        </Kept>
        <Choice
          label="How far through the encoder"
          kind="te-ctx-levels"
          value={level}
          onChange={(value) => value !== level && go(value)}
          options={levels.map(({ name, cosine }, value) => {
            const number = <Measure key={1} name="cosine" value={cosine} decimals={3} />;
            return { value, text: [<span key={0}>{name}</span>, number] };
          })}
        />
      </div>
      {list}
    </div>
  );
}

/** The words that both sentences have. */
const Words = ({ both, word, onChange }) => (
  <div class="te-ctx-choose">
    <span class="te-label">word</span>
    <Choice
      label="Word"
      kind="te-ctx-words"
      value={word}
      onChange={(other) => other !== word && onChange(other)}
      options={both.map((value) => ({ value, text: value }))}
    />
  </div>
);

const COSINES = "cosine of each word's two vectors, by level";
const ofCosine = (cosine) => diverging(Math.min(1, 2 * (1 - cosine)));

/** All cosines, made when they are unfolded; and how far apart the two are. */
function Folded({ table, columns, apart: { name, distance, relative, shares } }) {
  const cells = useMemo(
    () => table && cellsOf(table.values, { rows: table.rows, columns, decimals: 3 }),
    [JSON.stringify(table)],
  );
  return (
    <>
      <div class="te-ctx-grid">
        {table && (
          <Matrix
            key={table.rows.join()}
            name="cosines"
            label={COSINES}
            rows={table.rows}
            {...{ columns, cells }}
            colour={ofCosine}
          />
        )}
      </div>
      <p class="te-note">
        {`At the level ${name} the two are `}
        <Measure name="distance" value={distance} />
        {` apart, ${format(100 * relative, 0)} % of their length. Directions of the plane: → the ` +
          `first, ${format(100 * shares[0], 0)} % of the variance; ↑ the second, ` +
          `${format(100 * shares[1], 0)} %. A ring under one of the two points is left out: “with 5”.`}
      </p>
    </>
  );
}

/** Questions that some word in some sentence answers; the first state is none of their answers. */
function questions(known, read, show) {
  const begin = read();
  const last = known.levels.length - 1;
  return [
    {
      ask: ["find a word that the other sentence hardly moves"],
      fits: (view) => view.word !== begin.word && compare(known, view, last).cosine > NEAR,
      tell: ["Its likeness stays near 1: what differs there does not matter to it."],
    },
    {
      ask: ["find a sentence that leaves ", asToken(begin.word), " nearly as it was"],
      fits: (view) => view.word === begin.word && view.other.sentence !== 0 && compare(known, view, last).cosine > 0.95,
      tell: ["Compare the translations: there the word is said in the same way."],
    },
    {
      ask: ["find a word that has moved before the first layer"],
      fits: (view) => compare(known, view, 1).cosine < 0.99,
      tell: ["It stands at another place: the position alone moves it."],
    },
  ]
    .filter(({ fits }) => !fits(begin))
    .map(({ fits, ...task }) => ({ ...task, done: () => fits(read()), show: () => show(fits) }));
}

function start(state, { root, widget, draw }) {
  const begun = { other: state.other, pair: state.pair, level: state.level };
  const running = modelOf(root, () => engine.loadModel(widget, state.model_file), draw);
  const known = memory(state, () => running.model);
  let now = null;
  const line = sentenceLine({
    opened: known.given[1],
    ...state.line,
    wordsOf: engine.wordsOf,
    onChange: (other) => change({ other }),
    onAgain() {
      now = null; // the reader's own sentence is gone
      line.set(begun.other);
      change(begun);
    },
  });
  const go = (level) => change({ level });
  const play = player({ figure: root, at: () => state.level, last: () => known.levels.length - 1, go, wait: 1100 });
  const makePlay = () => ({ element: div("te-ctx-play", play.element) });

  function change(changes) {
    state.set(changes);
    running.wake();
  }
  function goTo({ sentences, one, other }) {
    const text = textOf(sentences[other.sentence]);
    line.set(text);
    change({ other: text, pair: [one.place, other.place] });
  }
  /** Another occurrence of the word: it brings its sentence into the line. */
  function choose(i) {
    const { scene, chosen } = now.picture;
    if (i !== chosen[0]) goTo({ ...now.view, other: scene.found[i] });
  }
  const show = (fits) =>
    running.whenReady(() => {
      const answer = everyView(known).find(fits);
      if (answer) goTo(answer);
    });

  function view() {
    const { words, wrong } = line.read(state.other);
    const isOpened = state.other === begun.other && state.pair.join() === begun.pair.join();
    const instead = (why) => running.instead(why, !isOpened);
    const isUnfolded = Boolean(running.model && root.querySelector(".te-details")?.open);
    const read = { words, wrong: asPieces(wrong) };
    now = derive(state, { known, read, isOpened, instead, isUnfolded, before: now });
    const update = () => line.update(state.other, Boolean(now.wrong), isOpened);
    return {
      ...now,
      says: now.says.map((piece) => (typeof piece === "string" ? cut(piece) : piece)),
      stage: (
        <>
          <Kept make={() => line} update={update} />
          <Body now={now} choose={choose} go={go} makePlay={makePlay} />
        </>
      ),
      controls: <Words {...now} word={now.view.word} onChange={(word) => change({ pair: pairOf(word, now.view) })} />,
      folded: <Folded table={now.table} columns={known.levels} apart={now.apart} />,
    };
  }
  root.addEventListener("toggle", () => root.querySelector(".te-details").open && running.whenReady(draw), true);
  return {
    view,
    get questions() {
      return questions(known, () => now.view, show);
    },
    details: [
      "All cosines, and how the plane is chosen",
      "The plane is the same for all levels: the two principal components of the word’s states in the sentences given " +
        "with the figure, each less the mean of its level, so that what moves all alike does not show. What differs " +
        "outside the plane is not seen; cosine and distance are of the whole vectors.",
    ],
    end: play.stop,
  };
}

export default figure({
  name: "context-explorer",
  label: "One word in two sentences",
  invite: ["press Play, and follow the points. Then type another noun: which words does it move?"],
  rest: 500,
  traits: ["sentence", "other", "also", "pair", "level", "levels", "readings", "unit", "line", "model_file"],
  start,
});
