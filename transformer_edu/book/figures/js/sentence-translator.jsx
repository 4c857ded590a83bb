import { useLayoutEffect, useRef } from "preact/hooks";
import * as engine from "../../engine/js/engine.js";
import { cut } from "./core/dom.js";
import { format, plural, VISIBLE } from "./core/format.js";
import { modelOf } from "./core/loading.js";
import { appear } from "./core/motion.js";
import { sentenceLine } from "./core/sentence.js";
import { asPieces, Button, Choice, classes, figure, Kept, Said, Toggle, Word } from "./core/view.jsx";
import { asToken, named } from "./core/words.js";
import * as derived from "./sentence-translator.derive.js";

const { derive, fileOf, isFree, keyOf, LEAST_SURE, LIMITS, requested, textOf } = derived;
const LOADED = { "aria-label": "Loading the model", "aria-valuemin": 0, "aria-valuemax": 100 };

/** Of a control without an answer, while the model is not there. */
const marked = (waits) => (waits ? { kind: "te-trans-waits", more: { title: "needs the model" } } : {});

/** What belongs to the model: the button that loads it, how far that is, what there is to say, sentences to try. */
const Model = ({ stage, size, big, share, status, examples = [], onLoad, onType }) => (
  <div class="te-trans-model">
    {big && (
      <Button kind="trans-load" off={stage === "loading"} hidden={stage === "ready"} onClick={onLoad}>
        {`${stage === "failed" ? "Try again" : "Load the model"} (${size})`}
      </Button>
    )}
    {big && (
      <div role="progressbar" {...LOADED} aria-valuenow={Math.round(100 * share)} hidden={stage !== "loading"}>
        <div class="te-glide" style={{ width: `${100 * share}%` }} />
      </div>
    )}
    <span class="te-trans-status">
      <Said of={status} />
    </span>
    {examples.map((sentence) => (
      <Button key={sentence} hidden={stage !== "ready"} onClick={() => onType(sentence)}>
        {cut(sentence)}
      </Button>
    ))}
  </div>
);

const Row = ({ name, language, children }) => (
  <div class="te-trans-row">
    <span class="te-trans-heading">{`${name}${language ? `, ${language}` : ""}`}</span>
    {children}
  </div>
);

/** The tokens that were read, shaded by how much the step looks at each. */
const Read = ({ tokens, label }) => (
  <div class="te-trans-read" role="img" aria-label={label}>
    {tokens.map(({ token, weight }, j) => (
      <span key={j} class="te-trans-chip" style={{ "--weight": weight.toFixed(3) }} data-value={weight}>
        <Word of={token} />
        <span class="te-share">{weight >= VISIBLE ? format(weight) : "\u00a0"}</span>
      </span>
    ))}
  </div>
);

/** The tokens that were written; one is chosen. */
function Written({ written, at, free, onChange }) {
  const box = useRef(null);
  useLayoutEffect(() => {
    const chips = box.current.querySelectorAll("button");
    written.forEach(({ isFresh }, i) => isFresh && appear(chips[i]));
  }, [written]);
  const options = written.map(({ token, isForced }, value) => ({
    value,
    text: <Word of={token} />,
    kind: isForced ? "te-trans-forced" : "",
  }));
  return (
    <div class={classes("te-trans-written", free && "te-trans-pieces")} ref={box}>
      <Choice label="Written tokens" kind="te-trans-chips" value={at} options={options} onChange={onChange} />
    </div>
  );
}

/** One of the likeliest next tokens: to go on from. */
const Rival = ({ of: { token, chance, isOff, isTaken, label, waits }, onClick }) => (
  <button
    type="button"
    class={classes("te-button te-trans-rival", isTaken && "te-trans-taken", marked(waits).kind)}
    data-value={chance}
    {...marked(waits).more}
    aria-label={label}
    aria-disabled={isOff}
    onClick={() => !isOff && onClick()}>
    <span class="te-trans-token">{token !== null && <Word of={token} />}</span>
    <span class="te-trans-track">
      <span class="te-trans-bar te-glide" style={{ width: `${(100 * chance).toFixed(1)}%` }} />
    </span>
    <span class="te-trans-share">{token === null ? "" : format(chance, chance < 0.01 ? 3 : 2)}</span>
  </button>
);

const Panel = ({ heading, control = null, children }) => (
  <div class="te-trans-panel">
    <div class="te-trans-top">
      <span class="te-trans-heading">{heading}</span>
      {control}
    </div>
    {children}
  </div>
);

/** The endings that were found. */
const Ends = ({ items }) => (
  <ol class="te-trans-ends">
    {items.map(({ text, isGreedy, score }, i) => (
      <li key={i}>
        <span dir="auto">{cut(text)}</span>
        {isGreedy && <span class="te-note"> greedy search’s</span>}
        <span class="te-trans-score">{score}</span>
      </li>
    ))}
  </ol>
);

/** How it searches, and what is taken away. */
const Controls = ({ now, search, anew }) => (
  <>
    <Choice
      label="Search"
      value={search}
      options={now.searches.map(({ waits, ...option }) => ({ ...option, ...marked(waits) }))}
      onChange={(value) => anew({ search: value })}
    />
    <fieldset class="te-trans-parts">
      <legend>Take away:</legend>
      {now.switches.map(({ name, isTaken, changes, waits }) => (
        <Toggle key={name} label={name} {...marked(waits)} value={isTaken} onChange={() => anew(changes)} />
      ))}
    </fieldset>
  </>
);

const bare = (text) => text.toLowerCase().match(/[^\s.,!?]+/g) ?? [];
const kindOf = ({ taken, search, begun }) => (taken.length ? "broken" : begun.length ? `${search} branch` : search);

/** What can be asked of the sentence that the figure opens with. */
function questions({ recorded }, change, now) {
  const kinds = ["greedy", "greedy branch", "beam"];
  const [plain, branch, beam] = kinds.map((kind) => recorded.find((one) => kindOf(one) === kind));
  const broken = recorded.find((one) => kindOf(one) === "broken" && textOf(one) !== textOf(plain));
  const before = bare(textOf(plain));
  const [lost] = bare(textOf(branch))
    .reverse()
    .filter((word) => !before.includes(word));
  const show = (one) => change({ ...requested(one), step: one.begun.length ? one.begun.length - 1 : LEAST_SURE });
  const is = (kind) => now().answer.done && kindOf(now().answer) === kind;
  const text = () => textOf(now().answer);
  const isOther = () => now().usual !== undefined && now().usual !== text();
  return [
    {
      ask: lost
        ? ["make greedy search write ", asToken(lost), " by choosing one other token"]
        : ["choose another token, so that the translation is another"],
      done: () => is("greedy branch") && (lost ? bare(text()).includes(lost) : text() !== now().usual),
      tell: ["All that comes later is written from what stands there already."],
      show: () => show(branch),
    },
    textOf(beam) !== textOf(plain) && {
      ask: ["find a better-scored ending, which greedy search missed"],
      done: () => is("beam") && isOther(),
      tell: ["Five beginnings were kept; the best ending came from one that looked worse for a while."],
      show: () => show(beam),
    },
    broken && {
      ask: ["take a part away, so that the translation is another"],
      done: () => is("broken") && isOther(),
      tell: ["The model computed without the part; its weights are the same."],
      show: () => show(broken),
    },
  ].filter(Boolean);
}

/** The model in its thread, and how it is asked. `own`: `answers`, `news`, what was `asked`, `trouble`, `share`. */
function asking(widget, root, { state, own, draw }) {
  async function load() {
    const progress = (share) => {
      own.share = share;
      draw();
    };
    progress(0);
    const bytes = await engine.loadBytes(widget, state.model_file, progress);
    return engine.inWorker(bytes, state.model_file.sha256, derived.translation);
  }
  const running = modelOf(root, load, draw, fileOf(state).big);

  /** Let the answer be computed that is missing, if one is. */
  function need({ request, key, waits }) {
    if (!waits) own.asked = "";
    if (!waits || !running.model || own.asked === key) return;
    own.asked = key;
    running.model.ask(derived.questionOf(state, request), ({ found, trouble }) => {
      own.trouble = trouble ?? "";
      if (found?.done || found?.count !== undefined) own.answers.set(key, { ...request, ...found });
      else if (found) own.news = { ...request, ...found };
      draw();
    });
  }
  return { running, need };
}

/** The line for a sentence, and how it is read. */
function lineOf(state, { opened, onType, onAgain }) {
  const line = sentenceLine({
    opened: opened.sentence.split(" "),
    language: state.languages[0],
    ...state.line,
    wordsOf: isFree(state) ? (text) => text.trim().split(/\s+/).filter(Boolean) : engine.wordsOf,
    onChange: onType,
    onAgain,
  });
  function read() {
    const { words, wrong } = line.read(state.sentence);
    return { words, wrong: asPieces(wrong) };
  }
  return { line, read };
}

/** All that is seen, from what was derived. */
const Stage = ({ now, state, change, children }) => (
  <>
    {children}
    <Row name="It reads" language={state.languages[0]}>
      <Read {...now.read} />
    </Row>
    <p class="te-note">{now.read.note}</p>
    <Row name="It writes" language={state.languages[1]}>
      <Written {...now} onChange={(step) => change({ step })} />
    </Row>
    <div class="te-trans-panels">
      <Panel
        heading={`Step ${now.at + 1}: likeliest next tokens`}
        control={
          <Button off={!state.begun.length} onClick={() => change({ begun: [] })}>
            Let it choose
          </Button>
        }>
        {now.rivals.map((rival, i) => (
          <Rival key={i} of={rival} onClick={() => change({ begun: rival.begun, step: now.at }, rival.token)} />
        ))}
      </Panel>
      <Panel heading={now.ends.heading}>
        <Ends items={now.ends.items} />
        <p class="te-note">
          <Said of={now.ends.without} />
        </p>
      </Panel>
    </div>
  </>
);

function start(state, { root, widget, draw }) {
  const { size, big } = fileOf(state);
  const unit = isFree(state) ? "token" : "word";
  const [opened] = state.recorded;
  const answers = derived.answersOf(state.recorded);
  const own = { answers, news: null, asked: "", trouble: "", share: 0, lastChosen: "", before: null };
  const { running, need } = asking(widget, root, { state, own, draw });
  function change(changes, token = own.lastChosen) {
    own.lastChosen = token;
    if (!big) running.wake();
    state.set(changes);
  }
  const anew = (changes) => change({ ...changes, step: LEAST_SURE });
  const onType = (sentence) => anew({ sentence, begun: [] });
  const { line, read } = lineOf(state, { opened, onType, onAgain: () => anew(requested(opened)) });

  function view() {
    const stage = root.dataset.engine;
    const now = derive(state, { ...own, read: read(), stage, failed: running.trouble });
    own.before = now;
    need(now);
    root.setAttribute("aria-busy", String(Boolean(own.asked)));
    const model = { stage, size, big, share: own.share, status: now.status, examples: state.line.examples };
    const update = () => line.update(state.sentence, Boolean(now.wrong), keyOf(state) === keyOf(opened));
    return {
      ...now,
      stage: (
        <Stage now={now} state={state} change={change}>
          <Kept make={() => line} update={update}>
            <Model {...model} onLoad={running.wake} onType={onType} />
          </Kept>
        </Stage>
      ),
      controls: <Controls now={now} search={state.search} anew={anew} />,
    };
  }
  return {
    view,
    questions: questions(state, change, () => own.before),
    details: [
      "What runs here",
      `${size}, loaded ${big ? "with the button" : "when you touch the figure"}, and computed in a thread of its own, ` +
        "in this page. Attention: last layer, mean of its heads. Score: log-probability divided by (5 + tokens) / " +
        `6. A sentence may have ${plural(state.line.most, unit)}, its answer ${LIMITS.extra} tokens more.`,
    ],
    end: () => running.model?.end(),
  };
}

export default figure({
  name: "sentence-translator",
  label: "Translate a sentence of your own",
  invite: (state) => derived.inviteOf(state).map((one) => (typeof one === "string" ? one : named(one.token))),
  traits: ["sentence", "taken", "search", "begun", "step", "recorded", "line", "parts", "languages", "model_file"],
  lines: 1,
  start,
});
