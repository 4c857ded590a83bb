import * as engine from "../../engine/js/engine.js";
import { derive, KINDS, runBefore, runOf, WAYS } from "./cache-stepper.derive.js";
import { css, inkOn } from "./core/colour.js";
import { cut, div } from "./core/dom.js";
import { readable, whole } from "./core/format.js";
import { modelOf } from "./core/loading.js";
import { player } from "./core/motion.js";
import { sentenceLine } from "./core/sentence.js";
import { snapshot } from "./core/state.js";
import {
  asPieces,
  Button,
  Choice,
  classes,
  figure,
  Kept,
  Said,
  Select,
  Slider,
  Toggle,
  useGlidingTo,
} from "./core/view.jsx";

const OPENED = ["sentence", "step", "token", "layer", "masked"];

const Count = ({ of }) => (
  <b class="te-cache-count" data-value={of}>
    {whole(Math.round(useGlidingTo(of)))}
  </b>
);

/** Tokens down the side, steps across: a cell is filled when its row is computed. */
const Board = ({ of: { way, count, was, heads, rows } }) => (
  <div class="te-cache-board">
    <div class="te-cache-title">
      <b>{WAYS[way]}</b>
      <span>
        <Count of={count} />
        {count === 1 ? " row computed " : " rows computed "}
      </span>
      <span class="te-cache-was">{was}</span>
    </div>
    <div class="te-cache-rows" aria-hidden="true" data-board={way}>
      <span class="te-cache-word" />
      {heads.map((mark, i) => (
        <span key={i} class={classes("te-cache-head", mark)}>
          {i + 1}
        </span>
      ))}
      {rows.map(({ word, marks, was, cells }, i) => [
        <span key={i} class={classes("te-cache-word", ...marks)} style={{ "--letters": word.length }} title={was}>
          {cut(word)}
        </span>,
        ...cells.map((cell, at) => <span key={`${i} ${at}`} class="te-cache-cell te-glide" data-kind={cell} />),
      ])}
    </div>
  </div>
);

/** The first numbers of a key: as they are kept, or as they come out now. */
const Key = ({ of: { way, words, numbers, verdict } }) => (
  <div class="te-cache-line" role="group" data-key={way}>
    <span class="te-cache-of">
      <Said of={[...words, " "]} />
    </span>
    <span class="te-cache-numbers">
      {numbers.map(({ value, text, rgb }, i) => (
        <span key={i} class="te-cache-number" data-value={value} style={{ background: css(rgb), color: inkOn(rgb) }}>
          {`${text} `}
        </span>
      ))}
      <span class="te-cache-verdict">{verdict}</span>
    </span>
  </div>
);

const Stage = ({ now, line }) => (
  <>
    {line}
    <div class="te-cache-boards" style={{ "--steps": now.last }}>
      {now.boards.map((board) => (
        <Board key={board.way} of={board} />
      ))}
    </div>
    <div class={classes("te-cache-legend te-label", now.masked && "te-cache-masked")}>
      {Object.entries(KINDS).map(([kind, name]) => (
        <span key={kind} class="te-cache-key" data-legend={kind}>
          <span class="te-cache-cell" data-kind={kind} />
          {name}
        </span>
      ))}
    </div>
    <div class="te-cache-keys">
      {now.keys.map((key) => (
        <Key key={key.way} of={key} />
      ))}
    </div>
  </>
);

/** Two bars for a longer sentence and the price; all projections and scores of one layer, both ways side by side. */
const Further = ({ longer: { bars, note }, counts, length, onInput }) => (
  <>
    <div class="te-label">
      {"rows through "}
      <span class="te-nowrap">
        W<sub>K</sub>
      </span>
      {" of self-attention in one layer, all steps"}
    </div>
    <Slider label="steps, n" min={8} max={512} step={8} value={length} onInput={onInput} />
    <div class="te-cache-bars">
      {bars.map(({ name, value, share, text }) => (
        <div key={name} class="te-cache-bar">
          <span>{name}</span>
          <span class="te-cache-track" aria-hidden="true">
            <span class="te-glide" style={{ width: `${100 * share}%` }} />
          </span>
          <span class="te-cache-sum" data-value={value}>
            {text}
          </span>
        </div>
      ))}
      <p class="te-note">
        <Said of={note} />
      </p>
    </div>
    <div class="te-cache-counts" role="table" aria-label="Work in one decoder layer">
      {counts.map((line, i) => (
        <div key={i} role="row">
          {line.map(({ role, text, value }, j) => (
            <span key={j} role={role} data-value={value}>
              {text}
            </span>
          ))}
        </div>
      ))}
    </div>
  </>
);

const Controls = ({ run, step, last, token, layer, masked, play, change }) => (
  <>
    <Button kind="primary" off={step === last} onClick={() => change({ step: step + 1 })}>
      Next step
    </Button>
    <Button off={step === 1} onClick={() => change({ step: step - 1 })}>
      Back
    </Button>
    <Kept make={() => ({ element: div("", play.element) })} update={() => {}} />
    <Select
      label="Key of"
      value={String(token)}
      options={run.reads.map((word, i) => ({ value: String(i), label: cut(readable(word)) }))}
      onChange={(chosen) => change({ token: Number(chosen) })}
    />
    <Choice
      label="Layer whose rows are shown"
      value={layer}
      options={run.kept.map((_, value) => ({ value, text: `layer ${value + 1}` }))}
      onChange={(layer) => change({ layer })}
    />
    <Toggle label="no mask" value={!masked} onChange={(off) => change({ masked: !off })} />
  </>
);

/** Questions that what is open at first can answer. */
function questions({ opened, now, change, unfold }) {
  const { last, run } = now();
  return [
    last >= 5 && {
      ask: ["stop at the step where “without” has computed three times as many rows"],
      done: () => now().step === 5,
      tell: ["5 rows against 15, and every further column on the right is longer."],
      show: () => change({ ...(now().last < 5 && { sentence: opened.sentence }), step: 5 }),
    },
    run.kept.length > 1 && {
      ask: ["make a kept row come out otherwise when it is computed again"],
      done: () => now().stale > 0,
      tell: ["Without the mask every token looks at the newest one, too: nothing could be kept."],
      show: () => change({ masked: false, layer: run.kept.length - 1, step: now().last }),
    },
    {
      ask: ["find a length at which the cache saves 99 of 100 rows (in the last fold)"],
      done: () => now().longer.times >= 100,
      tell: ["It saves (n − 1)/(n + 1) of them: the longer the text, the more."],
      show() {
        unfold();
        change({ length: 200 });
      },
    },
  ].filter(Boolean);
}

function start(state, { root, widget, draw }) {
  const [opened, first] = [snapshot(state, OPENED), runBefore(state.recorded)];
  const arrived = () => (running.model && isTyped ? translate(state.sentence) : draw());
  const running = modelOf(root, () => engine.loadModel(widget, state.model_file), arrived);
  let [now, run] = [null, first]; // what is shown
  let isTyped = false; // before the model came
  const line = sentenceLine({
    opened: first.source,
    ...state.line,
    wordsOf: engine.wordsOf,
    onChange: translate,
    onAgain() {
      line.set(opened.sentence);
      change(opened);
    },
  });
  const go = (step) => change({ step });
  const play = player({ figure: root, at: () => now.step, last: () => now.last, go, wait: 800, first: 1 });

  function change(changes) {
    state.set(changes);
    running.wake();
  }

  /** Show a sentence; the one before stays if this is none, or has to be computed and there is no model yet. */
  function look(sentence) {
    const { words, wrong } = line.read(sentence);
    const known = [run, first].find(({ source }) => source.join() === words.join());
    const found = wrong ? null : (known ?? (running.model && runOf(running.model, words)));
    run = found ?? run;
    return { found, wrong };
  }

  /** Another sentence: as far into it as into the one before, at its end if that was at its end. */
  function translate(sentence) {
    const last = look(sentence).found?.reads.length;
    isTyped = !running.model;
    change({ sentence, ...(last && { step: now.step === now.last ? last : Math.min(now.step, last) }) });
  }

  function view() {
    const { found, wrong } = look(state.sentence);
    now = derive(state, { run, instead: asPieces(running.instead(wrong, !found)) }, now);
    const isOpened = OPENED.every((name) => state[name] === opened[name]);
    const update = () => line.update(state.sentence, Boolean(wrong), isOpened);
    return {
      ...now,
      stage: <Stage now={now} line={<Kept make={() => line} update={update} />} />,
      controls: <Controls {...now} play={play} change={change} />,
      folded: <p class="te-note">{now.why}</p>,
      also: <Further {...now} length={state.length} onInput={(length) => change({ length })} />,
    };
  }
  return {
    view,
    get questions() {
      const unfold = () => ([...root.querySelectorAll(".te-details")].at(-1).open = true);
      return questions({ opened, now: () => now, change, unfold });
    },
    details: ["Why a row can be kept"],
    also: "Longer sentences, everything counted, and the price",
    end: play.stop,
  };
}

export default figure({
  name: "cache-stepper",
  label: "The key-value cache, step by step",
  invite: ["press Play, or type another sentence. A column is a step, a filled cell a row that it computes."],
  traits: [...OPENED, "length", "recorded", "size", "line", "model_file"],
  start,
});
