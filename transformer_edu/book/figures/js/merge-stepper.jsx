import { useLayoutEffect, useRef } from "preact/hooks";
import { cut, div } from "./core/dom.js";
import { fly, player } from "./core/motion.js";
import { snapshot } from "./core/state.js";
import { Button, classes, figure, Kept, Said, Slider, useGliding } from "./core/view.jsx";
import { derive, END, wordsIn } from "./merge-stepper.derive.js";

const TRAITS = ["text", "step", "new_word"];
const TYPED = { class: "te-bpe-input", autocomplete: "off", autocapitalize: "off", spellcheck: false };

/** A word, cut into symbols. */
const Pieces = ({ of: { boxes, label } }) => (
  <span class="te-bpe-pieces" role="img" aria-label={label}>
    {boxes.map(({ end, text, kind, symbol }) => (
      <span key={end} class={`te-bpe-chip${kind}`} data-symbol={symbol}>
        {cut(text)}
      </span>
    ))}
  </span>
);

const Titled = ({ title, hint, children }) => (
  <div>
    <div class="te-caption">
      <b>{title}</b>
      <span>
        <Said of={hint} />
      </span>
    </div>
    {children}
  </div>
);

/** A pair, with its count as a bar. */
const Row = ({ of: { pair, sum, count, share, notes }, isNext }) => (
  <div role="row" class={classes("te-bpe-pair", isNext && "te-bpe-next")} data-pair={pair.join(" ")}>
    <span role="rowheader">
      <Said of={[sum]} />
    </span>
    <span role="cell" class="te-bpe-count" data-value={count}>
      {count}
    </span>
    <span role="cell" class="te-bpe-track">
      <span class="te-bpe-fill te-glide" style={{ "--share": share }} />
      <Said of={notes} />
    </span>
  </div>
);

/** What can be typed: the text, and a word that is cut with its merges. */
const Typed = ({ now, field }) => (
  <div class="te-bpe-top">
    <label class="te-bpe-field">
      Text
      <textarea {...field("text", 400)} rows={3} />
    </label>
    <div class="te-bpe-try">
      <label class="te-bpe-field">
        Cut one word
        <input {...field("new_word", 40)} type="text" />
      </label>
      <div class="te-bpe-cut">
        {now.cut.map((word, i) => (
          <Pieces key={i} of={word} />
        ))}
      </div>
      <span class="te-note te-bpe-note">{cut(now.note)}</span>
    </div>
  </div>
);

/** At another step all symbols slide to where they stand now, and a copy of the new one goes to the merges. */
function Stage({ now, field, root }) {
  const [box, made] = [useGliding(String(now.step), ".te-bpe-pieces > *"), useRef(null)];
  useLayoutEffect(() => {
    const { current: list } = made;
    list.scrollTop = list.scrollHeight;
    const halves = [...box.current.querySelectorAll(".te-bpe-words .te-bpe-new")].slice(0, 2);
    if (now.isFurther) halves.forEach((half) => fly(root, half, list.lastElementChild));
  }, [now]);
  return (
    <div ref={box}>
      <Typed now={now} field={field} />
      <div class="te-bpe-main">
        <Titled title="words" hint={now.total}>
          <div role="list" aria-label="Words of the text, cut into symbols" class="te-bpe-words" tabindex={0}>
            {now.entries.map((entry) => (
              <div key={entry.word} role="listitem" class="te-bpe-word" data-count={entry.count}>
                <span class="te-bpe-count">{entry.count} ×</span>
                <Pieces of={entry} />
              </div>
            ))}
          </div>
        </Titled>
        <div>
          <Titled title="pairs of neighbours" hint={[now.rows.length ? "how often in the text" : "none left"]}>
            <div role="table" aria-label="The commonest pairs of neighbours" class="te-bpe-pairs">
              {now.rows.map((row, i) => (
                <Row key={i} of={row} isNext={i === 0} />
              ))}
            </div>
          </Titled>
          <Titled title="merges so far" hint={now.size}>
            <ol class="te-bpe-made" aria-label="Merges so far, in order" tabindex={0} ref={made}>
              {now.merges.map(({ pair, sign }, i) => (
                <li key={i} data-pair={pair.join(" ")}>
                  <Said of={sign} />
                </li>
              ))}
            </ol>
          </Titled>
        </div>
      </div>
    </div>
  );
}

/** Questions for any text. */
function questions(state, now) {
  const typed = () => wordsIn(state.new_word).join("");
  const letters = () => now().course.characters.filter((one) => one !== END);
  return [
    {
      ask: ["merge until no word is cut any more"],
      done: () => now().most > 0 && state.step >= now().most,
      tell: ["Every word is one symbol now, and the vocabulary has grown by a symbol a merge."],
      show: () => state.set({ step: now().most }),
    },
    {
      ask: ["type a new word that is cut without an unknown character"],
      done: () => typed() !== "" && [...typed()].every((letter) => now().course.known.has(letter)),
      tell: ["It was never in the text, and yet it can be written."],
      show: () => state.set({ new_word: letters().slice(0, 4).join("") }),
    },
  ];
}

function start(state, { root }) {
  const opened = snapshot(state, TRAITS);
  let now = null;
  const go = (step) => step >= 0 && step <= now.most && state.set({ step });
  const play = player({ figure: root, at: () => state.step, last: () => now.most, go, wait: 1000 });
  const makePlay = () => ({ element: div("te-group", play.element) });

  /** For a field to type in; of a text with fewer merges, as many are made as there are. */
  const field = (name, maxlength) => ({
    ...TYPED,
    maxlength,
    value: state[name],
    onInput({ currentTarget: { value } }) {
      now = derive({ ...state, [name]: value }, now);
      state.set({ [name]: value, step: now.step });
    },
  });

  function view() {
    now = derive(state, now);
    const { step, most } = now;
    const show = (at) => `${at} of ${most}`;
    return {
      ...now,
      says: ["The commonest pair of neighbours becomes one symbol"],
      stage: <Stage now={now} field={field} root={root} />,
      controls: (
        <>
          <Button kind="primary" off={step === most} onClick={() => go(step + 1)}>
            Next merge
          </Button>
          <Kept make={makePlay} update={() => {}} />
          <Button off={step === 0} onClick={() => go(step - 1)}>
            Back
          </Button>
          <Slider label="merges" min={0} max={most} value={step} show={show} onInput={go} />
          <Button onClick={() => state.set(opened)}>Reset</Button>
        </>
      ),
      folded: <Said of={now.facts} />,
    };
  }
  return {
    view,
    questions: questions(state, () => now),
    details: ["How much is known, and which pair wins a tie"],
    end: play.stop,
  };
}

export default figure({
  name: "merge-stepper",
  label: "Merge stepper",
  invite: ["press Next merge and watch the words. Then type a text of your own."],
  rest: 400,
  traits: TRAITS,
  start,
});
