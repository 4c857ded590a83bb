import { useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import * as engine from "../../engine/js/engine.js";
import { cividis, css } from "./core/colour.js";
import { cut, reducedMotion } from "./core/dom.js";
import { plural } from "./core/format.js";
import { modelOf } from "./core/loading.js";
import { afterFrame } from "./core/motion.js";
import { sentenceLine } from "./core/sentence.js";
import { asPieces, figure, Kept, Matrix, Said, Select, Word } from "./core/view.jsx";
import { named } from "./core/words.js";
import { changedIn, derive, inWords, memory, sublayerOf, turnOf } from "./residual-stream.derive.js";

const MANY = 3; // times as much as stood there
const shown = (word) => <Word of={word} kind="te-stream-cell" />;

/** On a phone: how many words stand beyond the right edge of a box. */
function beyond(box) {
  const pixels = box.scrollWidth - box.clientWidth - box.scrollLeft;
  return Math.max(0, Math.ceil((pixels - 8) / box.querySelector(".te-cell").offsetWidth));
}

const Sign = ({ mark, means }) => (
  <span>
    {mark}
    {means}
  </span>
);
const Shade = ({ chance }) => <i style={{ background: css(cividis(chance)) }} />;

/** The table, and what its signs mean. */
function Table({ now, choose }) {
  const [box, [hidden, setHidden], { table }] = [useRef(null), useState(0), now];
  const look = () => setHidden(beyond(box.current));
  useLayoutEffect(() => {
    const sized = new ResizeObserver(look);
    [box.current, box.current.firstElementChild].forEach((one) => sized.observe(one));
    return () => sized.disconnect();
  }, [now.written]);
  return (
    <>
      <div
        class={`te-stream-grid${hidden ? " te-stream-cut" : ""}`}
        style={{ "--count": table.columns.length, "--longest": now.longest }}
        ref={box}
        onScroll={look}>
        <Matrix
          key={now.written}
          name="stream"
          label="what would be written, a row for each place and a column for each word"
          corner="after reading:"
          {...table}
          row={now.place}
          column={now.at}
          onSelect={choose}
          colour={cividis}
          draw={shown}
        />
      </div>
      <div class="te-stream-key">
        <Sign mark={<Shade chance={0} />} means="unsure of its word" />
        <Sign mark={<Shade chance={1} />} means="sure" />
        <Sign mark={<b>bold</b>} means=": written in the end" />
        <Sign mark={<u>underlined</u>} means=": changed by silencing" />
        <span class="te-stream-more" aria-hidden="true">
          {hidden > 0 && `${plural(hidden, "more word")} →`}
        </span>
      </div>
    </>
  );
}

/** Five words with bars that glide. */
const Best = ({ title, likeliest }) => (
  <div>
    <div class="te-stream-title">{title}</div>
    <div class="te-stream-best">
      {likeliest.map(({ word, kind, chance, text }, i) => (
        <div key={i} class="te-stream-line">
          <span class={`te-stream-word${kind}`}>{cut(word)}</span>
          <div class="te-stream-track">
            <span class="te-stream-bar te-glide" style={{ width: `${(100 * chance).toFixed(1)}%` }} />
          </div>
          <span class="te-number" data-value={chance}>
            {text}
          </span>
        </div>
      ))}
    </div>
  </div>
);

/** `silence`, the list of what can be silent, is all that is drawn again while the model has to compute what `now` will be. */
function Stage({ now, line, silence, choose }) {
  const [above, best, words] = useMemo(
    () => [
      [line, <Table key="table" now={now} choose={choose} />],
      <Best key="best" title={now.title} likeliest={now.likeliest} />,
      <Said key="words" of={now.words} />,
    ],
    [now],
  );
  return (
    <>
      {above}
      <div class="te-stream-detail">
        {best}
        <div class="te-stream-side">
          <p class="te-sentence te-words" style={{ "--lines": 4 }}>
            {words}
          </p>
          {silence}
        </div>
      </div>
    </>
  );
}

/** Questions about what is open at first; those that it does not answer are left out. */
function questions(state, { first, opened, now, show }) {
  const at = turnOf(first);
  const before = first.best[at - 1]?.[state.token]?.[0][0];
  const after = first.written[state.token];
  const most = Math.max(...first.wrote.flat());
  const row = first.wrote.findIndex((one) => one.includes(most));
  const cross = sublayerOf(first.places.findLast((place) => place.endsWith("cross")));
  const { sentence, silent, token } = opened;
  const wordNow = ({ stream, place, at }) => [stream.best[place][at][0][0], stream.written[at]];
  return [
    before &&
      before !== after &&
      !silent && {
        ask: ["find a place where ", named(after), " was still ", named(before)],
        done: () => String(wordNow(now())) === String([before, after]),
        tell: ["What kind of word it has to be is there before the word is."],
        show: () => show({ sentence, silent: "", place: at - 1, token }),
      },
    state.model_file.name && {
      ask: ["silence one sub-layer so that half of the words change"],
      done: () => now().stream.silent && 2 * changedIn(now().stream) >= now().stream.written.length,
      tell: ["The last look at the English brings the words; no other sub-layer changes as many."],
      show: () => show({ silent: cross, sentence }),
    },
    most >= MANY && {
      ask: ["find a place where three times as much was written as stood there"],
      done: () => now().stream.wrote[now().place][now().at] >= MANY,
      tell: ["The norm then leaves little of what stood there."],
      show: () => show({ sentence, silent, place: row, token: first.wrote[row].indexOf(most) }),
    },
  ].filter(Boolean);
}

function start(state, { root, widget, draw }) {
  const first = state.recorded;
  const opened = { sentence: first.source.join(" "), silent: first.silent, place: state.place, token: state.token };
  const sublayers = first.places.slice(1).map(sublayerOf);
  const known = memory(first);
  let now = null;
  const load = () => engine.loadModel(widget, state.model_file);
  const running = modelOf(root, load, () => {
    draw();
    if (running.model) afterFrame(() => known.translate(running.model, first.source)); // the first switch finds it done
  });
  const line = sentenceLine({
    opened: first.source,
    ...state.line,
    wordsOf: engine.wordsOf,
    onChange: (sentence) => change({ sentence }),
    onAgain: () => show(opened),
  });

  function change(changes) {
    state.set(changes);
    running.wake();
  }

  function show(changes) {
    line.set(changes.sentence);
    change(changes);
  }
  const choose = (place, token) => (place !== state.place || token !== state.token) && change({ place, token });

  /** The stream to draw; of no sentence, the one before; null until the next frame, if the model has to compute it. */
  function streamNow({ words, wrong }, isAtOnce = reducedMotion()) {
    const found = wrong ? null : known.ask(isAtOnce ? running.model : null, words, state.silent);
    if (found || wrong || !running.model) return found ?? now?.stream ?? first;
    afterFrame(() => streamNow(line.read(state.sentence), true) && draw());
    return null;
  }

  function view() {
    const read = line.read(state.sentence);
    const isOpened = state.sentence === opened.sentence && state.silent === opened.silent;
    const instead = asPieces(running.instead(read.wrong, !isOpened));
    const stream = streamNow(read);
    if (stream) now = derive(state, { stream, instead }, now);
    const silence = (
      <Select
        label="silence"
        value={state.silent}
        options={[{ value: "", label: "nothing" }, ...sublayers.map((value) => ({ value, label: inWords(value) }))]}
        onChange={(silent) => change({ silent })}
      />
    );
    const update = () => line.update(state.sentence, Boolean(read.wrong), isOpened);
    const kept = <Kept key="line" make={() => line} update={update} />;
    return { ...now, stage: <Stage now={now} line={kept} silence={silence} choose={choose} /> };
  }
  return {
    view,
    questions: questions(state, { first, opened, now: () => now, show }),
    details: [
      "How it is read",
      "The output layer makes a score of each French word from the decoder’s last vector. Here " +
        `it is given the vector of every earlier place as well${state.pre ? ", after the final norm" : ""}: the ` +
        "“logit lens” (nostalgebraist, 2020). It was trained for the last row alone: a word in another row says what " +
        "could be read there, not what the model uses. The model is given its own translation word by word, also " +
        "while a sub-layer is silent.",
    ],
  };
}

export default figure({
  name: "residual-stream",
  label: "Residual stream: which word it holds, place by place",
  invite: ["follow one column down: which word would be written next? Then silence a sub-layer."],
  traits: ["sentence", "silent", "place", "token", "recorded", "line", "pre", "model_file"],
  lines: 0,
  start,
});
