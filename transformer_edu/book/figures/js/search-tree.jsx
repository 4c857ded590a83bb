import * as engine from "../../engine/js/engine.js";
import { cut, div } from "./core/dom.js";
import { modelOf } from "./core/loading.js";
import { player } from "./core/motion.js";
import { sentenceLine } from "./core/sentence.js";
import { asPieces, Button, Choice, classes, figure, Kept, Said } from "./core/view.jsx";
import { LONGEST, modelTree, recordedTree, search } from "./parts/search.js";
import { derive, foldedOf, greedyOf, isSame, overtaken, winnerOf } from "./search-tree.derive.js";

const EXAMPLE = "the small black cat does not sleep"; // offered while the line is empty
const LABEL = "Tree of the beginnings looked at so far; the tables in the details hold its numbers";
const MARKS = { dropped: "✗", finished: "■" };
const MEANINGS = { kept: "kept", dropped: "falls out", finished: "finished: leaves the beam" };
const CROWDED = { wide: 5, dense: 6, packed: 7 }; // lanes, at most, of a tree that is not so
const SETTINGS = [
  { name: "beam", values: "beam_sizes", title: "beam size", label: "Beam size" },
  { name: "alpha", values: "alphas", title: "length penalty α", label: "Length penalty alpha" },
];

/** A beginning: its last word, its log-probability or score. Or a label behind one. */
const Node = ({ of: { fate, word, kind, number, look, style, title, data } }) => (
  <div class={`te-srch-node ${look}`} {...{ style, title }} {...data}>
    <span class="te-srch-mark">{MARKS[fate]}</span>
    <span class={kind}>{cut(word)}</span>
    {number && (
      <span class="te-srch-log">
        <span>{fate === "finished" && "score "}</span>
        <span>{number}</span>
      </span>
    )}
  </div>
);

/** A beginning stays the same element in every setting, and goes where it stands now. */
function Tree({ picture: { nodes, lanes, columns } }) {
  const all = [...nodes];
  const differs = all.some(([, { look }]) => look.includes("te-srch-changed"));
  const crowded = Object.keys(CROWDED).map((kind) => lanes > CROWDED[kind] && `te-srch-${kind}`);
  const kind = classes("te-srch-tree", differs && "te-srch-differs", ...crowded);
  return (
    <div class={kind} role="img" aria-label={LABEL} style={{ "--lanes": lanes, "--steps": columns }}>
      <svg class="te-srch-edges" viewBox="0 0 1 1" preserveAspectRatio="none" aria-hidden="true" focusable="false">
        <g>
          {all.map(
            ([key, { line, look }]) =>
              line && <line key={key} class={`te-srch-edge ${look}`} vector-effect="non-scaling-stroke" {...line} />,
          )}
        </g>
      </svg>
      {all.map(([key, node]) => (
        <Node key={key} of={node} />
      ))}
    </div>
  );
}

const Lead = ({ source }) =>
  source && (
    <p class="te-srch-lead">
      To be translated: <b class="te-token">{cut(source)}</b>
    </p>
  );

const Legend = () => (
  <div class="te-srch-legend te-label">
    {Object.entries(MEANINGS).map(([fate, text]) => (
      <span key={fate} class="te-srch-key">
        <span class={`te-srch-node te-srch-${fate}`}>
          <span class="te-srch-mark">{MARKS[fate]}</span>
        </span>
        {text}
      </span>
    ))}
    <span>numbers: log-probability; at the end: score</span>
    <span class="te-srch-since">◣ new</span>
  </div>
);

/** What stands in the details: made when it is drawn, after the picture. */
function Folded({ now }) {
  const { tables, rule } = foldedOf(now);
  return (
    <div class="te-srch-tables">
      {tables.map(({ name, label, rows }) => (
        <div key={name} role="table" aria-label={label} class={`te-srch-table te-srch-${name}`}>
          {rows.map(({ kind, data, cells }, i) => (
            <div key={i} role="row" class={`te-srch-line ${kind}`} {...data}>
              {cells.map((pieces, j) => (
                <span key={j} role={i ? "cell" : "columnheader"}>
                  <Said of={pieces} />
                </span>
              ))}
            </div>
          ))}
        </div>
      ))}
      <p class="te-note">
        <Said of={rule} />
      </p>
    </div>
  );
}

/** Play and its steps; beam size and length penalty. */
const Controls = ({ now: { step, ended, place }, makePlay, go, state, opened }) => (
  <>
    <Kept make={makePlay} update={() => {}}>
      <Button off={step === 0} onClick={() => go(0)}>
        To the start
      </Button>
      <Button off={step === 0} onClick={() => go(step - 1)}>
        Back
      </Button>
      <Button kind="primary" off={ended} onClick={() => go(step + 1)}>
        Next step
      </Button>
      <span class="te-note">{place}</span>
    </Kept>
    <div class="te-srch-settings">
      {SETTINGS.map(({ name, values, title, label }) => {
        const options = opened[values].map((value) => ({ value, text: String(value) }));
        const onChange = (value) => state.set({ [name]: value });
        return (
          <div key={name} class="te-group">
            <span class="te-label">{title}</span>
            <Choice {...{ label, options, onChange }} value={state[name]} />
          </div>
        );
      })}
    </div>
  </>
);

/** Questions about the search that the figure opens with; those that it does not answer are left out. */
function questions(state, tree, now) {
  const { beam, alpha, sentence } = state;
  const start = search(tree, beam, alpha);
  const [winner, greedy] = [start.ranked[0], greedyOf(tree)];
  const isBeaten = !isSame(winner, greedy);
  const behind = isBeaten && overtaken(tree, start) % start.steps.length; // not at the end
  const other = tree.alphas.find((one) => !isSame(winnerOf(tree, beam, one), winner));
  const wins = (one) => state.sentence === sentence && isSame(now().found.ranked[0], one);
  const show = (changes) => () => state.set({ sentence, beam, step: tree.max_len - 1, ...changes });
  return [
    behind && {
      ask: ["find the step where greedy falls behind"],
      done: () => state.sentence === sentence && state.step === overtaken(tree, now().found),
      tell: ["The leader began with a weaker word."],
      show: show({ step: behind }),
    },
    isBeaten && {
      ask: ["make the search miss this winner"],
      done: () => wins(greedy),
      tell: ["What falls out never comes back."],
      show: show({ beam: Math.min(...tree.beam_sizes) }),
    },
    other !== undefined && {
      ask: ["make another sentence win with this beam"],
      done: () => state.sentence === sentence && state.beam === beam && !wins(winner),
      tell: ["α only ranks what is finished."],
      show: show({ alpha: other }),
    },
  ].filter(Boolean);
}

function start(state, { root, widget, draw }) {
  const [opened, began] = [recordedTree(state.recorded), state.sentence];
  const trees = new Map([[began, opened]]); // of sentences
  const runs = Boolean(state.model_file.sha256);
  const running = runs ? modelOf(root, () => engine.loadModel(widget, state.model_file), draw) : null;
  let now = null;
  const onChange = (sentence) => {
    state.set({ sentence, ...(now.ended ? { step: LONGEST - 1 } : {}) });
    running.wake();
  };
  const onAgain = () => {
    line.set(began);
    state.set({ sentence: began, step: now.tree.max_len - 1 });
  };
  const example = { example: EXAMPLE, placeholder: "or type an English sentence" };
  const own = { opened: began ? began.split(" ") : [], wordsOf: engine.wordsOf, ...(began ? {} : example) };
  const line = runs ? sentenceLine({ ...state.line, ...own, onChange, onAgain }) : null;
  const last = () => now.found.steps.length;
  const go = (to) => state.set({ step: to < last() ? to : now.tree.max_len - 1 }); // the end stays it in every setting
  const play = player({ figure: root, at: () => now.step, last, go, wait: 1300 });
  const makePlay = () => ({ element: div("te-srch-moves", play.element) });
  root.addEventListener("toggle", draw, true);

  /** The tree of what is typed, if there is one and it need not wait for the model; what is wrong with it. */
  function read() {
    const { words, wrong: fault } = line.read(state.sentence);
    const text = words.join(" ");
    const wrong = text === began ? null : fault; // it may begin with no sentence
    if (!wrong && running.model && !trees.has(text)) trees.set(text, modelTree(running.model, words, opened));
    return { tree: trees.get(text), wrong, instead: asPieces(running.instead(wrong, !trees.has(text))) };
  }

  function view() {
    const { tree = now?.tree ?? opened, wrong, instead } = runs ? read() : { tree: opened, wrong: null, instead: null };
    const isUnfolded = tree === opened || root.querySelector(".te-details")?.open;
    now = derive(state, { tree, instead }, now);
    const update = () => line.update(state.sentence, Boolean(wrong), state.sentence === began);
    return {
      ...now,
      stage: (
        <>
          {line ? <Kept make={() => line} update={update} /> : <Lead source={tree.source} />}
          <Tree key={tree.source} picture={now.picture} />
          <Legend />
        </>
      ),
      controls: <Controls {...{ now, makePlay, go, state, opened }} />,
      folded: isUnfolded && <Folded now={now} />,
    };
  }
  const details = ["The numbers, and why the search stops"];
  return { view, questions: questions(state, opened, () => now), details, end: play.stop };
}

export default figure({
  name: "search-tree",
  label: "Search tree",
  invite: ["press Play and watch which beginnings fall out. Then choose a beam of 1."],
  rest: 400,
  traits: ["recorded", "sentence", "beam", "alpha", "step", "line", "model_file"],
  lines: ({ recorded, model_file }) => (recorded.source && !model_file.sha256 ? 3 : 2),
  start,
});
