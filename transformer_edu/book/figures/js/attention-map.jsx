import * as engine from "../../engine/js/engine.js";
import * as derived from "./attention-map.derive.js";
import { cividis } from "./core/colour.js";
import { cut } from "./core/dom.js";
import { modelOf } from "./core/loading.js";
import { sentenceLine } from "./core/sentence.js";
import { asPieces, Choice, figure, Kept, Links, Matrix, Said, Select, Toggle } from "./core/view.jsx";
import { named } from "./core/words.js";

const { areAlike, byWeight, derive, isChanged, KINDS, layersWith, mapName, roadOf, SHARED } = derived;
const ANSWER = ["maps", "source_tokens", "target_tokens", "candidates"];
const VIEW = ["attention", "layer", "head", "token", "key", "source_name", "target_name"];
const TRAITS = [...ANSWER, ...VIEW, "sentence", "line", "heads", "blocked", "model_file"];
const HOW = { "": "as trained", off: "off", uniform: "look at all alike" };

const hasModel = ({ model_file: file }) => Boolean(file.sha256);
const kindOf = ({ isCrowded, isSmall }) => `${isCrowded ? " te-map-crowded" : ""}${isSmall ? " te-map-small" : ""}`;

/** The words with their lines, what is said of the chosen one, and all weights. */
const Body = ({ now, choose, hover, onKey }) => (
  <div class="te-map-body">
    <div class="te-map-left">
      <div>
        <Links
          key={now.placed}
          parts={now}
          weights={now.weights}
          chosen={now.chosen}
          marked={now.row}
          kinds={{ keys: kindOf(now.sizes.keys), queries: kindOf(now.sizes.queries) }}
          more={now.gone.map(({ was, gone }) => ({ "data-was": was, "data-gone": gone }))}
          onChoose={(token) => choose(token)}
          onHover={hover}
          onKey={onKey}
        />
      </div>
      <div class="te-map-words">
        <p class="te-sentence te-words">
          <Said of={now.words} />
        </p>
        <p class="te-note">
          <Said of={now.note} />
        </p>
      </div>
    </div>
    <div class="te-map-right">
      <div class="te-caption">
        <b>weights</b>
        <span>a row for each word</span>
      </div>
      <div class="te-map-matrix" style={{ "--rows": now.queries.length }}>
        <Matrix
          key={now.placed}
          name="weights"
          label="attention weights, a row for each word that looks"
          kind={now.sizes.isNarrow ? "te-map-narrow" : ""}
          rows={now.queries}
          columns={now.keys}
          cells={now.cells}
          colour={cividis}
          row={now.row}
          onSelect={choose}
          onHover={hover}
        />
      </div>
      <p class="te-note te-candidates">
        {now.likely.length > 0 && "Likeliest words: "}
        {now.likely.map(({ text, value, isSaid }, i) => [
          i ? " · " : "",
          <span key={i} class={`te-nowrap te-candidate${isSaid ? " te-map-said" : ""}`} data-value={value}>
            {cut(text)}
          </span>,
        ])}
      </p>
    </div>
  </div>
);

/** Which attention, layer and head. */
const Which = ({ state, now, kinds, change }) => (
  <>
    {kinds.length > 1 && (
      <Choice
        label="Which attention"
        value={state.attention}
        options={kinds.map((value) => ({ value, text: KINDS[value] }))}
        onChange={(attention) => change({ attention, key: null })}
      />
    )}
    <div class="te-group">
      <div>
        {now.layers.length > 1 && (
          <Select
            label="layer"
            value={String(state.layer)}
            options={now.layers.map((layer) => ({ value: String(layer), label: String(layer + 1) }))}
            onChange={(layer) => change({ layer: Number(layer) })}
          />
        )}
      </div>
      <div>
        {now.heads > 1 && (
          <Select
            label="head"
            value={String(state.head)}
            options={[
              { value: "null", label: `mean of ${now.heads}` },
              ...Array.from({ length: now.heads }, (_, i) => ({ value: String(i), label: String(i + 1) })),
            ]}
            onChange={(head) => change({ head: JSON.parse(head) })}
          />
        )}
      </div>
    </div>
  </>
);

/** What is taken away: heads, or one look. */
const Changes = ({ now: { how, look }, setHeads, block }) => (
  <div class="te-group te-map-changes">
    <Select
      label="heads shown"
      value={how}
      options={Object.entries(HOW).map(([value, label]) => ({ value, label }))}
      onChange={setHeads}
    />
    <Toggle
      label={<Said of={[{ token: look.words[0] }, " may not look at ", { token: look.words[1] }]} />}
      value={look.isGone}
      onChange={block}
    />
  </div>
);

/** Questions about the map that is open at first; those that it does not answer are left out. */
function questions(state, read, change, blocks) {
  const { attention, layer, token, head } = state;
  const { queries, weights } = read();
  const word = queries[token];
  const [usual] = byWeight(weights[token]);
  const divided = (row) => row[byWeight(row)[1]] >= SHARED;
  const example = weights.findIndex((row, i) => i !== token && divided(row));
  const other = state.maps[mapName(attention, layer)].findIndex((one) => byWeight(one[token])[0] !== usual);
  return [
    example >= 0 &&
      !divided(weights[token]) && {
        ask: ["find a word that divides its attention between two words"],
        done: () => divided(read().weights[read().chosen]),
        tell: ["A weight is a share, not a choice: each row adds up to 1."],
        show: () => change({ attention, layer, head: null, token: example }),
      },
    head === null &&
      other >= 0 && {
        ask: ["find a single head in which ", named(word), " looks elsewhere"],
        done() {
          const { queries, weights, chosen } = read();
          if (state.head === null || state.attention !== attention || queries[chosen] !== word) return false;
          return byWeight(weights[chosen])[0] !== usual;
        },
        tell: ["Heads look at different words; the mean hides it."],
        show: () => change({ attention, layer, head: other, token }),
      },
    blocks && {
      ask: ["keep one word from looking, so that the translation changes"],
      done: () => blocks.matters(),
      tell: ["What it may not look at, it cannot write."],
      show: blocks.show,
    },
  ].filter(Boolean);
}

/** What a reader can do. `own` holds what is no state of the figure: `now`, what is shown; `hovered`; `taken`. */
function actionsOf(state, own, draw) {
  function change(changes) {
    own.hovered = null;
    if ("sentence" in changes) own.taken = {};
    state.set(derived.within(state, own.now.answer, changes));
    own.running?.wake();
  }
  const choose = (token, key = null) => (token !== state.token || key !== state.key) && change({ token, key });
  return {
    change,
    choose,
    hover(token) {
      if (own.hovered === token) return;
      own.hovered = token;
      draw();
    },
    /** A word above: others are offered for it, or the word that looks at it most is chosen. */
    onKey(j) {
      if (own.line && state.attention !== "decoder self") own.line.choose(own.now.answer.source_tokens, j);
      else choose(byWeight(own.now.weights.map((row) => row[j]))[0]);
    },
    setHeads(kind) {
      const { shown } = own.now;
      const others = Object.entries(state.heads).filter(([name]) => !shown.includes(name));
      change({ heads: Object.fromEntries([...others, ...(kind ? shown.map((name) => [name, kind]) : [])]) });
    },
    block(on) {
      const { pair, words } = own.now.look;
      if (on) own.taken = { ...own.taken, [String([roadOf(state.attention), ...pair])]: words };
      change(derived.blocking(state, pair, on));
    },
  };
}

/** What the model answers, computed once, however often it is drawn; null while there is no model to do it. */
function answering(state, own, opened) {
  const answers = new Map();
  const { source_tokens: first } = opened();
  return (words, heads, blocked) => {
    if (words.join(" ") === first.join(" ") && !isChanged({ heads, blocked })) return opened();
    const key = JSON.stringify([words, heads, blocked]);
    const { model } = own.running;
    if (model && !answers.has(key)) {
      answers.set(key, derived.attentionOf(model, words, { heads, blocked }, state.line.most));
    }
    return answers.get(key) ?? null;
  };
}

/** For the question: the first look without which something else is written. */
function blocksOf(state, own, { first, answerTo, startAgain }) {
  const layers = layersWith(state.maps, "cross");
  if (!own.running || !layers.length) return null;
  return {
    matters: () => own.running.model && state.blocked.length > 0 && !areAlike(own.now.answer, own.now.whole),
    show: () =>
      own.running.whenReady(() => {
        const found = derived
          .weightsOf(first.maps[mapName("cross", layers.at(-1))], null)
          .map((row, i) => [roadOf("cross"), i, byWeight(row)[0]])
          .find((look) => !areAlike(answerTo(first.source_tokens, {}, [look]), first));
        if (found) startAgain({ attention: "cross", token: found[1], key: found[2], blocked: [found] });
      }),
  };
}

function start(state, { root, widget, draw }) {
  const own = { now: null, hovered: null, taken: {}, running: null, line: null };
  const opened = () => /** @type {any} */ (Object.fromEntries(ANSWER.map((name) => [name, state[name]])));
  const first = { ...opened(), sentence: state.sentence, token: state.token };
  const kinds = Object.keys(KINDS).filter((kind) => layersWith(state.maps, kind).length);
  const answerTo = answering(state, own, opened);
  const { change, choose, hover, onKey, setHeads, block } = actionsOf(state, own, draw);

  /** What it opened with, with some changes. */
  function startAgain(changes) {
    own.line.set(first.sentence);
    change({ sentence: first.sentence, heads: {}, blocked: [], key: null, token: first.token, ...changes });
  }
  if (hasModel(state)) {
    own.running = modelOf(root, () => engine.loadModel(widget, state.model_file), draw);
    own.line = sentenceLine({
      opened: first.source_tokens,
      ...state.line,
      wordsOf: engine.wordsOf,
      onChange: (sentence) => change({ sentence, blocked: [], key: null }),
      onAgain: () => startAgain({}),
    });
  }

  /** What is shown now. Of what has no answer yet, or is no sentence for the model, the picture before. */
  function look() {
    const { now, running, line, hovered, taken } = own;
    if (!running) return derive(state, { answer: opened(), whole: opened(), isOpened: true, hovered }, now);
    const { words, wrong } = line.read(state.sentence);
    const answer = wrong ? null : answerTo(words, state.heads, state.blocked);
    const isOpened = state.sentence === first.sentence && !isChanged(state);
    const instead = asPieces(running.instead(wrong, !isOpened));
    const whole = answer && answerTo(words, {}, []);
    const known = answer ? { answer, whole } : { answer: now?.answer ?? opened(), whole: now?.whole ?? opened() };
    const more = { isOpened, isReady: Boolean(running.model), isWrong: Boolean(wrong), instead, hovered, taken };
    return derive(state, { ...known, ...more }, now);
  }
  own.now = look();

  function view() {
    own.now = look();
    const { now, line } = own;
    const update = () => line.update(state.sentence, now.isWrong, now.isOpened);
    return {
      says: now.says,
      words: now.words,
      told: now.told,
      stage: (
        <>
          {line && <Kept make={() => line} update={update} />}
          <Body now={now} choose={choose} hover={hover} onKey={onKey} />
        </>
      ),
      controls: (
        <>
          <Which state={state} now={now} kinds={kinds} change={change} />
          {line && <Changes now={now} setHeads={setHeads} block={block} />}
        </>
      ),
    };
  }
  const blocks = blocksOf(state, own, { first, answerTo, startAgain });
  return { view, questions: questions(state, () => own.now, own.line ? startAgain : change, blocks) };
}

export default figure({
  name: "attention-map",
  label: "Where the model looks",
  invite: (state) =>
    hasModel(state)
      ? ["choose another French word. Then type another sentence, or keep a word from looking."]
      : ["choose another word below, or point at a row of numbers. The thicker a line, the more attention."],
  traits: TRAITS,
  lines: 0,
  start,
});
