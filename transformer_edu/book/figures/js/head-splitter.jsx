import { useMemo } from "preact/hooks";
import { cividis } from "./core/colour.js";
import { uniqueId } from "./core/controls.js";
import { cut, div } from "./core/dom.js";
import { player } from "./core/motion.js";
import { Button, Choice, classes, figure, Kept, Matrix, Said, useRest } from "./core/view.jsx";
import { derive, HEADS, hasLostAll, isFinest, STEPS } from "./head-splitter.derive.js";

const PLAY = 1800; // milliseconds a step
const LAST = STEPS.length;
const COLUMNS = ["1", "2", "3", "4"];
const UNNAMED = { showRows: false, showColumns: false };
const WAYS = { right: "✓", wrong: "✗" };

/** The tokens, one under the other; the followed one is marked. @param {{tokens: string[], token?: number}} props */
const Words = ({ tokens, token = -1 }) =>
  tokens.map((word, i) => (
    <span key={i} class={i === token ? "te-followed" : ""}>
      {cut(word)}
    </span>
  ));

/** A matrix that moves about the stage, and its cells within it. */
function Sheet({ of, state, onToken }) {
  const { name, cells, rows, columns, label } = of;
  const onSelect = (row, column) => onToken(cells[row][column].more["data-token"]);
  const table = useMemo(() => <Matrix {...{ name, label, rows, columns, cells, onSelect, ...UNNAMED }} />, [cells]);
  return (
    <div
      class={classes("te-sheet", of.isSeen && "te-seen", of.isInLanes && "te-laned", of.hasArrived && "te-arrived")}
      data-sheet={name}
      data-at={of.at}
      style={{ transform: `translate(var(--at-${name}-${of.at}))` }}>
      <div class="te-sheet-name">
        {of.sign}
        <span>
          <Said of={of.caption} />
        </span>
        {of.code && <code>{of.code}</code>}
      </div>
      {of.hasWords && (
        <div class="te-sheet-words" aria-hidden="true">
          <Words {...state} />
        </div>
      )}
      {table}
    </div>
  );
}

/** How a head shares out its looks. */
const Weights = ({ cells, head, tokens, isSeen, onToken }) => (
  <div
    class={classes("te-sheet", isSeen && "te-seen")}
    data-sheet="weights"
    data-head={head}
    style={{ transform: `translate(var(--weights), calc(${head} * var(--lane)))` }}>
    {head === 0 && (
      <div class="te-sheet-name">
        weights
        <div class="te-key-words">
          <Words tokens={tokens} />
        </div>
      </div>
    )}
    <Matrix
      {...{ name: `weights-${head + 1}`, label: `Weights of head ${head + 1}`, rows: tokens, columns: tokens, cells }}
      {...UNNAMED}
      colour={cividis}
      onSelect={onToken}
    />
  </div>
);

/** The rows of all heads, one head under the other. */
const Lanes = ({ name, isSeen, state }) => (
  <div class={classes("te-lanes", isSeen && "te-seen")} aria-hidden="true" data-lanes={name}>
    {Array.from({ length: state.num_heads }, (_, head) => (
      <div key={head} class="te-lane" data-head={head} style={{ "--h": head }}>
        <div class="te-stripe">head {head + 1}</div>
        <Words {...state} />
      </div>
    ))}
  </div>
);

/** The right way; just after it, for the picture should not wait, the wrong one. */
function Stage({ now, state, panel, onToken }) {
  const rest = useRest(now);
  return (
    <div
      class="te-heads"
      id={panel}
      role="tabpanel"
      aria-label="The numbers of this step"
      data-step={now.step}
      data-heads={now.heads}>
      <div class={classes("te-way", now.isWrong && "te-seen")}>
        <b>✓ right</b>
        <code>{now.way}</code>
      </div>
      <Lanes name="right" isSeen={now.isSplit} state={state} />
      <Lanes name="wrong" isSeen={now.isWrong} state={state} />
      {now.sheets.map((sheet, i) => (
        <Sheet key={sheet.name} of={sheet.isWrong ? rest.sheets[i] : sheet} {...{ state, onToken }} />
      ))}
      {now.cells.weights.map((cells, head) => (
        <Weights key={head} {...{ cells, head, onToken }} tokens={state.tokens} isSeen={now.isWeighed} />
      ))}
    </div>
  );
}

/** What comes after, and the shapes on the way. */
const Afterwards = ({ now, tokens }) => (
  <>
    <p class="te-note">
      <Said of={now.shapes} />
    </p>
    <div class="te-afterwards">
      {Object.entries(WAYS).map(([way, mark], i) => (
        <div key={way}>
          <div class="te-sheet-name">
            <Said of={[{ bold: mark }, " times ", ["W", { sub: "O" }]]} />
          </div>
          <Matrix
            {...{ name: `final-${way}`, label: `Output after the ${way} merge`, rows: tokens, columns: COLUMNS }}
            cells={now.cells.finals[i]}
            showColumns={false}
          />
        </div>
      ))}
    </div>
  </>
);

function Controls({ state, panel, go, makePlay }) {
  const { step, token, tokens, num_heads } = state;
  return (
    <>
      <div class="te-group">
        <Button kind="primary" off={step === LAST} onClick={() => go(step + 1)}>
          Next →
        </Button>
        <Kept make={makePlay} update={() => {}} />
      </div>
      <Choice
        label="Steps"
        kind="te-steps"
        panel={panel}
        value={step}
        onChange={go}
        options={STEPS.map((name, i) => ({ value: i + 1, label: `Step ${i + 1}: ${name}`, text: `${i + 1} ${name}` }))}
      />
      <div class="te-group">
        <span class="te-label">follow</span>
        <Choice
          label="Follow a token"
          value={token}
          onChange={(token) => state.set({ token })}
          options={tokens.map((text, value) => ({ value, text }))}
        />
      </div>
      <Choice
        label="Number of heads"
        value={num_heads}
        onChange={(num_heads) => state.set({ num_heads })}
        options={HEADS.map((count) => ({ value: count, text: `${count} heads` }))}
      />
    </>
  );
}

const questions = (state, now) => [
  {
    ask: ["leave every head a single number of each token"],
    done: () => isFinest(now()),
    tell: ["More heads share the same four columns: not one number more, only smaller slices."],
    show: () => state.set({ step: 2, num_heads: 4 }),
  },
  {
    ask: ["find a token that gets none of its own numbers back"],
    done: () => hasLostAll(now()),
    tell: ["Its whole row was filled with numbers of others, and no error said so."],
    show: () => state.set({ step: LAST, num_heads: 2, token: 1 }),
  },
];

function start(state, { root }) {
  const panel = uniqueId();
  let now = null;
  const go = (step) => state.set({ step });
  const onToken = (token) => (token ?? state.token) !== state.token && state.set({ token });
  const play = player({ figure: root, at: () => state.step, last: () => LAST, go, first: 1, wait: PLAY });
  const makePlay = () => ({ element: div("", play.element) });

  function view() {
    now = derive(state, now);
    return {
      ...now,
      stage: <Stage {...{ now, state, panel, onToken }} />,
      controls: <Controls {...{ state, panel, go, makePlay }} />,
      folded: <Afterwards now={now} tokens={state.tokens} />,
    };
  }
  return {
    view,
    questions: questions(state, () => now),
    details: ["The shapes, and what comes after the merge"],
    end: play.stop,
  };
}

export default figure({
  name: "head-splitter",
  label: "Heads part and join",
  invite: ["press Play and keep an eye on the outlined numbers. Then follow another token."],
  traits: ["tokens", "x", "w_q", "w_k", "w_v", "w_o", "num_heads", "step", "token"],
  lines: 3,
  start,
});
