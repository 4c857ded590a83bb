import { useLayoutEffect, useRef } from "preact/hooks";
import * as engine from "../../engine/js/engine.js";
import { differences } from "./core/changed.js";
import { button } from "./core/controls.js";
import { div, reducedMotion } from "./core/dom.js";
import { modelOf } from "./core/loading.js";
import { afterFrame, appear } from "./core/motion.js";
import { sentenceLine } from "./core/sentence.js";
import { asPieces, Button, figure, Kept, Links, Toggle } from "./core/view.jsx";
import { asToken } from "./core/words.js";
import { takenWith } from "./parts/taking.js";
import { derive, memory, textOf } from "./playground.derive.js";

const BELOW = "French, as the model writes it: choose a word";
const megabytes = ({ bytes }) => `${(bytes / 1e6).toFixed(1)} MB`;

/** Where the model looks; words that stand where others stood appear. */
function Picture({ now, choose, onKey }) {
  const box = useRef(null);
  useLayoutEffect(() => {
    const written = box.current.querySelectorAll(".te-link-queries button");
    now.appears.forEach((i) => appear(written[i]));
  }, [now.placed]);
  const parts = { queries: now.queries, keys: now.keys, above: "", below: BELOW };
  return (
    <div class="te-play-picture" ref={box}>
      <Links key={now.placed} {...now} parts={parts} onChoose={choose} onKey={onKey} />
    </div>
  );
}

/** A sentence of words that the model knows, and the door. */
const Note = ({ note: { text, near }, door, show }) => (
  <div class="te-play-note">
    <span class="te-note">{text}</span>
    <Button hidden={!near} onClick={() => show({ sentence: near })}>
      {near}
    </Button>
    {door && (
      <Button kind="play-door" onClick={door.enter}>
        {door.text}
      </Button>
    )}
  </div>
);

const Parts = ({ state: { parts, taken }, onTurn }) => (
  <fieldset class="te-play-parts">
    <legend>Take away:</legend>
    {parts.map(({ part, name }) => (
      <Toggle key={part} label={name} value={taken.includes(part)} onChange={() => onTurn(part)} />
    ))}
  </fieldset>
);

/** The door to a model that reads more, where there is one: on a page of the book. */
function doorOf({ behind }, root) {
  if (!behind) return null;
  const place = div("te-play-other");
  function turn(isOpen) {
    root.hidden = isOpen;
    place.hidden = !isOpen;
    (isOpen ? place.querySelector("input") : root.querySelector(".te-play-door")).focus();
  }
  async function enter() {
    if (!place.isConnected) {
      place.append(button("← Back to the small model", () => turn(false)));
      root.after(place);
      await behind.open(place);
      /** @type {HTMLElement} */ (place.querySelector(".te-trans-load")).click();
    }
    turn(true);
  }
  const { languages, model_file: file } = behind.state;
  return { enter, text: `Larger model: any ${languages[0]} text (${megabytes(file)})` };
}

/** What can be asked of the sentence that the figure opens with. */
function questions({ first }, { state, now, show }) {
  const sentence = first.source.join(" ").replace(/\bcat\b/, "cow");
  const isOneWord = ({ keys }) => keys.length === first.source.length && differences(keys, first.source) === 1;
  const count = ({ answer }, other) => differences(textOf(answer), textOf(other));
  return [
    sentence !== first.source.join(" ") && {
      ask: ["change one English word so that four French words change"],
      done: () => !state.taken.length && isOneWord(now()) && count(now(), first) === 4,
      tell: ["French bends the article and both adjectives to the noun's gender."],
      show: () => show({ sentence, taken: [] }),
    },
    {
      ask: ["find a sentence that goes wrong without word order"],
      done: () => state.taken.join() === "order" && now().whole && count(now(), now().whole) > 0,
      tell: ["Who does what to whom stands in the order alone."],
      show: () => show({ sentence: "these foxes want a hat", taken: ["order"] }),
    },
  ].filter(Boolean);
}

function start(state, { root, widget, draw }) {
  const known = memory(state);
  const opened = { sentence: state.sentence, taken: state.recorded.taken, token: state.token };
  const running = modelOf(root, () => engine.loadModel(widget, state.model_file), draw);
  const door = doorOf(widget, root);
  let now = null;
  const line = sentenceLine({
    opened: known.first.source,
    ...state.line,
    wordsOf: engine.wordsOf,
    onChange: (sentence) => change({ sentence }),
    onAgain() {
      now = { queries: now.queries }; // nothing is marked beside it
      show(opened);
    },
  });

  function change(changes) {
    state.set(changes);
    running.wake();
  }
  function show(changes) {
    line.set(changes.sentence);
    change({ token: 0, ...changes });
  }

  /** Derive what is seen; what the model has to compute for it comes after the next frame. */
  function look({ words, wrong }, isAlike) {
    if (running.model && !wrong && !reducedMotion() && !known.ask(null, words, state.taken)) {
      afterFrame(() => known.ask(running.model, words, state.taken) && draw());
      return;
    }
    const instead = asPieces(running.instead(wrong, !isAlike));
    const own = { known, model: running.model, instead, isOpened: isAlike && state.token === opened.token };
    now = derive(state, { ...own, read: { words, wrong: asPieces(wrong) } }, now);
  }

  function view() {
    const read = line.read(state.sentence);
    const isAlike = state.sentence === opened.sentence && state.taken.join() === opened.taken.join();
    look(read, isAlike);
    return {
      ...now,
      stage: (
        <>
          <Kept make={() => line} update={() => line.update(state.sentence, Boolean(read.wrong), isAlike)} />
          <Note note={now.note} door={door} show={show} />
          <Picture now={now} choose={(token) => change({ token })} onKey={(j) => line.choose(now.keys, j)} />
        </>
      ),
      controls: <Parts state={state} onTurn={(part) => change({ taken: takenWith(state, part) })} />,
    };
  }
  return {
    view,
    questions: questions(known, { state, now: () => now, show }),
    details: [
      "What runs here",
      "The encoder–decoder of chapter 11, with the weights of chapter 13, in JavaScript in this page: " +
        `${megabytes(state.model_file)}, loaded when you touch the figure; nothing is sent anywhere. ` +
        "Thick lines: cross-attention of the last layer, mean of its heads. Its English words:",
      [...known.words].join(", "),
    ],
  };
}

export default figure({
  name: "playground",
  label: "Playground: a translator in this page",
  invite: () => ["change ", asToken("cat"), " to ", asToken("cow"), ". Then take a part of the model away."],
  traits: ["sentence", "taken", "token", "recorded", "line", "parts", "model_file"],
  start,
});
