import { useLayoutEffect, useRef } from "preact/hooks";
import * as engine from "../../engine/js/engine.js";
import { diverging } from "./core/colour.js";
import { div } from "./core/dom.js";
import { modelOf } from "./core/loading.js";
import { appear, fly, player } from "./core/motion.js";
import { sentenceLine } from "./core/sentence.js";
import { snapshot } from "./core/state.js";
import { asPieces, Button, Choice, classes, figure, Kept, Matrix, Said, Toggle, Word } from "./core/view.jsx";
import { canWrite, derive, hasMoved, isOwn, onwards, remark, stepsOf, walk } from "./decoder-stepper.derive.js";

const colour = (value) => diverging(value / 2);
const bare = (text) => text.trim().toLowerCase();
const percent = (share) => `${(100 * share).toFixed(1)}%`;
/** Attributes of a number; if it is another than before the last action, its title tells what it was. @returns {any} */
function valued({ value, was }, kind, role = "cell") {
  return { class: kind, role, title: was ? `was ${was.text || "0.00"}` : undefined, "data-value": value };
}

/** A bar with its number; a line in it, where it ended before. */
const Bar = ({ of: { value, text, was } }) => (
  <>
    <span class="te-dec-track" aria-hidden="true">
      <span class="te-dec-fill te-glide" style={{ width: percent(value) }} />
      {was && <i style={{ left: percent(was.value) }} />}
    </span>
    <span class="te-dec-weight">{text}</span>
  </>
);

/** A position. */
const Row = ({ of: { kind, reads, writes, chance, output }, look }) => (
  <div role="row" class={classes("te-dec-row te-glide", kind)}>
    <span role="rowheader" class="te-dec-reads" data-was={reads.was?.text}>
      <Word of={reads.word} kind="te-dec-word" />
    </span>
    <span role="cell" class="te-dec-writes" data-was={writes.was?.text}>
      <Word of={writes.word} kind="te-dec-word" />
      <span {...valued(chance, "te-dec-p", null)}>{chance.text}</span>
    </span>
    <span {...valued(look, classes("te-dec-look", look.isTop && "te-dec-top"))}>
      <Bar of={look} />
    </span>
    <span {...valued(output, "te-dec-output")}>{output.text}</span>
  </div>
);

/** All positions, one below the other; a word that is written goes to where it is read. */
function Column({ now, root }) {
  const box = useRef(null);
  const count = now.rows.length;
  useLayoutEffect(() => {
    if (!now.was || now.was.rows.length >= count) return;
    const [from, to] = ["writes", "reads"].map((name) => box.current.querySelectorAll(`.te-dec-${name} .te-dec-word`));
    fly(root, from[count - 2], to[count - 1]);
    appear(box.current.lastChild);
  }, [now.whole]);
  const label = "What the decoder reads and writes at each position";
  const heads = ["reads", "writes", [<b key="name">self-attention</b>, " to the French"], "output"];
  return (
    <div class="te-dec-column" role="table" aria-label={label} style={{ "--rows": count }} ref={box}>
      <div role="row" class="te-dec-row te-dec-head">
        {heads.map((head, i) => (
          <span key={i} role="columnheader">
            {head}
          </span>
        ))}
      </div>
      {now.rows.map((row, i) => (
        <Row key={i} of={row} look={now.self[i]} />
      ))}
    </div>
  );
}

/** The English words, each with a bar. */
const Cross = ({ cross }) => (
  <div>
    <div class="te-dec-heading">
      <b>cross-attention</b> to the English
    </div>
    <ul class="te-dec-bars" aria-label="Cross-attention" style={{ "--rows": cross.length }}>
      {cross.map((one, i) => (
        <li key={i} {...valued(one, one.isTop ? "te-dec-top" : "", null)}>
          <Word of={one.word} kind="te-dec-word" />
          <Bar of={one} />
        </li>
      ))}
    </ul>
  </div>
);

/** @type {any} */
const PLAIN = { type: "text", autocomplete: "off", autocapitalize: "none", spellcheck: false, maxlength: 40 };
const OTHER = { class: "te-dec-input", placeholder: "another word", "aria-label": "another next word, then Enter" };

/** Buttons for the next words, the same ones at every step, so that the focus stays where it is; and any other word. */
const Next = ({ now: { next, hint, was }, typed, onWrite, onType }) => (
  <div>
    <div class="te-dec-heading">
      <b>likeliest next words</b>
      {was && <span class="te-dec-key">before</span>}
    </div>
    <div role="group" aria-label="Next words">
      {next.map((one, i) => (
        <button
          key={i}
          type="button"
          {...valued(one, "te-dec-option", null)}
          aria-label={one.label}
          aria-disabled={one.isOff}
          onClick={() => onWrite(one.word)}>
          <Word of={one.word} kind="te-dec-word" />
          <Bar of={one} />
        </button>
      ))}
    </div>
    <div class="te-dec-typed">
      <input
        {...PLAIN}
        {...OTHER}
        value={typed}
        onInput={({ currentTarget }) => onType(currentTarget.value)}
        onKeyDown={({ key }) => key === "Enter" && onWrite(bare(typed))}
      />
      <span class="te-note">{hint}</span>
    </div>
  </div>
);

/** The outputs themselves, and what they tell. */
const Folded = ({ now, steps, state: { size, most } }) => (
  <>
    <div class="te-label">{`output: ${now.outputs.columns.length} of ${size} numbers`}</div>
    <Matrix
      key={now.reads.join()}
      name="outputs"
      label="outputs, their first numbers"
      {...now.outputs}
      colour={colour}
    />
    <p class="te-note">
      <Said of={remark(now, steps, most)} />
    </p>
  </>
);

/** What can be asked of any sentence. */
function questions(state, { steps, now, change, own }) {
  return [
    {
      ask: ["make it write a word that it would not have chosen"],
      done: () => now().chosen.some(isOwn),
      tell: ["It reads your word like its own, and the next steps follow it."],
      show() {
        const path = now().reads.slice(1, state.most - 1);
        const other = steps.look(now().source, path, state.masked)?.next.find(([word], i) => i && word !== "<eos>");
        change({ path: [...path, other?.[0] ?? state.words[0]] });
      },
    },
    {
      ask: ["let it write until it stops"],
      done: () => now().ended,
      tell: ["It stops by writing a token that means: the end."],
      show: () => change({ path: own() }),
    },
    {
      ask: ["make a word that it writes change the rows before it"],
      done: () => !now().masked && now().newest.moved.some(hasMoved),
      tell: ["Without the mask they look at the new word, too: nothing could be kept."],
      show: () => change({ masked: false, path: now().ended ? own().slice(0, 3) : state.path }),
    },
  ];
}

/** What changes the state. */
const Controls = ({ state, now, write, change, play }) => (
  <>
    <Button kind="primary" off={now.isFull} onClick={() => write(now.next[0].word)}>
      Write the next word
    </Button>
    <Kept make={() => ({ element: div("te-dec-play", play) })} update={() => {}} />
    <Button off={!state.path.length} onClick={() => change({ path: state.path.slice(0, -1) })}>
      Back
    </Button>
    <Button off={!state.path.length} onClick={() => change({ path: [] })}>
      Erase
    </Button>
    <Choice
      label="Layer whose attention is shown"
      value={state.layer}
      options={now.newest.self.map((_, value) => ({ value, text: `layer ${value + 1}` }))}
      onChange={(layer) => change({ layer })}
    />
    <Toggle label="no mask" value={!state.masked} onChange={(off) => change({ masked: !off })} />
  </>
);

function start(state, { root, widget, draw }) {
  const opened = snapshot(state, ["sentence", "path", "masked"]);
  const { recorded, most } = state;
  const steps = stepsOf(recorded);
  let [now, typed, untold] = [null, "", false]; // `untold`: another sentence waits for the model
  const load = () => engine.loadModel(widget, state.model_file);
  const running = modelOf(root, load, () => {
    if (running.model) steps.use(running.model);
    return running.model && untold ? translate(state.sentence) : draw();
  });
  function onAgain() {
    line.set(opened.sentence);
    change(opened);
  }
  const options = { opened: recorded.source, ...state.line, wordsOf: engine.wordsOf };
  const line = sentenceLine({ ...options, onChange: translate, onAgain });
  const own = (source = now.source, count = most) => onwards(steps, source, [], state, count);
  const play = player({
    figure: root,
    at: () => state.path.length,
    last: () => (now.isFull ? state.path.length : Infinity),
    go: (count) => (count ? write(now.next[0].word) : change({ path: [] })),
    wait: 1100,
  });

  function change(changes) {
    state.set(changes);
    running.wake();
  }

  function write(word) {
    if (!canWrite(now, word, most) || !(state.words.includes(word) || word === "<eos>")) return;
    typed = "";
    change({ path: [...now.reads.slice(1), word] });
  }

  function onType(text) {
    typed = text;
    draw();
  }

  /** Another sentence to be read: the model begins anew, and writes as many words as stand there. */
  function translate(sentence) {
    const { words, wrong } = line.read(sentence);
    untold = !running.model;
    const path = wrong || untold ? {} : { path: own(words, now.ended ? most : now.reads.length - 1) };
    change({ sentence, ...path });
  }

  function view() {
    const { words, wrong } = line.read(state.sentence);
    const found = walk(steps, wrong ? (now ?? recorded).source : words, state);
    const way = found ?? now ?? walk(steps, recorded.source, { ...recorded, path: recorded.written });
    const instead = asPieces(running.instead(wrong, !found));
    now = derive(state, { way, typed: bare(typed), instead }, now);
    const isOpened = Object.entries(opened).every(([name, value]) => String(state[name]) === String(value));
    return {
      ...now,
      stage: (
        <>
          <Kept make={() => line} update={() => line.update(state.sentence, Boolean(wrong), isOpened)} />
          <div class="te-dec-body">
            <Column now={now} root={root} />
            <div class="te-dec-side">
              <Cross cross={now.cross} />
              <Next now={now} typed={typed} onWrite={write} onType={onType} />
            </div>
          </div>
        </>
      ),
      controls: <Controls {...{ state, now, write, change }} play={play.element} />,
      folded: <Folded {...{ now, steps, state }} />,
    };
  }
  return {
    view,
    questions: questions(state, { steps, now: () => now, change, own }),
    details: ["The rows before, and the model by itself"],
  };
}

export default figure({
  name: "decoder-stepper",
  label: "Decoding step by step",
  invite: ["let it write the next word, or choose a less likely one yourself."],
  traits: ["sentence", "path", "layer", "masked", "recorded", "line", "words", "most", "size", "model_file"],
  start,
});
