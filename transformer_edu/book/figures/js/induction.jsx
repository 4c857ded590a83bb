import { format, plain } from "./core/format.js";
import { sentenceLine } from "./core/sentence.js";
import { Choice, figure, Kept, Toggle } from "./core/view.jsx";
import { derive, LOST, lettersOf, MOST, readCopier, refusal, SEEN, SURE } from "./induction.derive.js";

const HIGH = 40; // of a drawing of arcs, in its own units; it is 100 wide
const SWITCHES = ["layer 1: the head that looks one back", "layer 2: the head that copies"];

const place = (i, count) => (100 * (i + 0.5)) / count;

/** From one letter to another: above the letters or (`below`) under them; a look at itself is a loop. */
function arc(from, to, count, below) {
  const [x, end] = [place(from, count), place(to, count)];
  const reach = Math.min(HIGH - 3, 10 + Math.abs(x - end) * 0.9) * 1.3;
  const [y, top] = below ? [0, reach] : [HIGH, HIGH - reach];
  const bend = from === to ? 40 / count : 0;
  return `M ${x} ${y} C ${x + bend} ${top}, ${end - bend} ${top}, ${end} ${y}`;
}

/** Arcs from one letter to those that a head looks at; `off`: the head is away. */
const Arcs = ({ name, weights, from, below = false, off }) => (
  <svg
    viewBox={`0 0 100 ${HIGH}`}
    class={`te-copy-arcs${off ? " te-copy-off" : ""}`}
    preserveAspectRatio="none"
    aria-hidden="true"
    focusable="false"
    data-arcs={name}>
    {weights.map((weight, j) => (
      <path
        key={j}
        class="te-copy-arc te-glide"
        vector-effect="non-scaling-stroke"
        d={arc(from, j, weights.length, below)}
        data-key={j}
        data-value={weight}
        style={{
          "stroke-width": `${weight < SEEN ? 0 : (1 + 7 * weight).toFixed(2)}px`,
          opacity: weight < SEEN ? "0" : (0.35 + 0.65 * weight).toFixed(3),
        }}
      />
    ))}
  </svg>
);

/** The copied letter and the likeliest others. */
const Bars = ({ bars }) => (
  <div class="te-copy-bars" role="group" aria-label="next letters">
    {bars.map(({ letter, p, isCopy, was }, i) => (
      <div key={i} class={`te-copy-bar${isCopy ? " te-copy-copied" : ""}`} data-letter={letter}>
        <b>{letter}</b>
        <span class="te-copy-track" aria-hidden="true">
          <span class="te-copy-fill te-glide" style={{ width: `${100 * p}%` }} />
        </span>
        <span class="te-number" data-value={p}>
          {format(p)}
        </span>
        <span class="te-note">{was === null ? "" : `was ${format(was)}`}</span>
      </div>
    ))}
  </div>
);

/** The letters between the arcs of both heads, and what comes next. */
const Stage = ({ now, line, choose }) => (
  <>
    {line}
    <div class="te-copy-row" key={now.letters.join("")}>
      <div class="te-label">layer 2: from the chosen letter</div>
      <Arcs name="layer-2" weights={now.second} from={now.at} off={now.without.includes(1)} />
      <Choice
        label="after which letter"
        kind="te-copy-letters"
        value={now.at}
        onChange={choose}
        options={now.letters.map((letter, i) => ({
          value: i,
          text: letter,
          label: `letter ${i + 1}, ${letter}`,
          kind: i === now.copy ? "te-copy-source" : "",
        }))}
      />
      <Arcs name="layer-1" weights={now.first} from={now.seen} off={now.without.includes(0)} below />
      <div class="te-label">layer 1: from the letter that layer 2 looks at most</div>
    </div>
    <div class="te-label te-copy-next">what it expects next: the copy ↩ and the likeliest others</div>
    <Bars bars={now.bars} />
  </>
);

/** What can be found out with the switches and the letters. */
function questions(state, now, start) {
  const again = (more) => state.set({ ...start, without: [], ...more });
  return [
    {
      ask: ["take the copy away while layer 2 looks where it looks"],
      done: () => state.without.join() === "1" && now().pCopied !== null && now().pCopied < LOST,
      tell: ["The weights are the same; what they fetch is not handed on."],
      show: () => again({ without: [1] }),
    },
    {
      ask: ["break the copy in the layer below"],
      done: () => state.without.join() === "0" && now().pCopied !== null && now().pCopied < SURE,
      tell: ["Layer 2 finds the place by what layer 1 wrote there: the letter before."],
      show: () => again({ without: [0] }),
    },
    {
      ask: ["choose a letter after which there is nothing to copy"],
      done: () => now().copied === null,
      tell: ["It stands there for the first time."],
      show: () => again({ token: 0 }),
    },
  ];
}

function start(state) {
  const model = readCopier(state.weights);
  const opened = { text: state.text, token: state.token };
  const makeLine = () =>
    sentenceLine({
      opened: opened.text.split(/\s+/),
      kinds: {},
      most: MOST,
      language: "",
      wordsOf: lettersOf,
      onChange: (text) => {
        const typed = lettersOf(text);
        state.set(refusal(typed) ? { text } : { text, token: typed.length - 1 });
      },
      onAgain: () => state.set({ ...opened, without: [] }),
    });
  const turn = (layer, on) =>
    state.set({ without: on ? state.without.filter((one) => one !== layer) : [...state.without, layer].sort() });
  let now = null;

  function view() {
    now = derive(state, { model, before: now });
    const isOpened = state.text === opened.text && !state.without.length && state.token === opened.token;
    const update = (line) => line.update(state.text, now.wrong !== null, isOpened);
    const choose = (token) => token !== state.token && state.set({ token });
    return {
      says: now.says,
      words: now.words,
      told: plain(now.words),
      stage: <Stage now={now} line={<Kept make={makeLine} update={update} />} choose={choose} />,
      controls: SWITCHES.map((name, layer) => (
        <Toggle key={name} label={name} value={!state.without.includes(layer)} onChange={(on) => turn(layer, on)} />
      )),
    };
  }
  return {
    view,
    questions: questions(state, () => now, opened),
    details: [
      "What this model is",
      "Two layers of attention with one head each, no feed-forward part, 10,304 weights. It was trained for this " +
        "book on 32 random letters at a time, in which segments of 4 to 16 letters come again, and never saw a word. " +
        `Positions are rotary. A head that is away puts out zeros. Arcs of less than ${SEEN} are not drawn.`,
    ],
  };
}

export default figure({
  name: "induction",
  label: "Copy what followed last time",
  invite: ["take the head of layer 2 away. Then type letters of your own that repeat."],
  traits: ["text", "token", "without", "weights"],
  lines: 3,
  start,
});
