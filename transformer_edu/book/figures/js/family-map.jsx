import { useLayoutEffect, useMemo } from "preact/hooks";
import { cut } from "./core/dom.js";
import { afterFrame, appear, fly } from "./core/motion.js";
import { sentenceLine } from "./core/sentence.js";
import { snapshot } from "./core/state.js";
import { Choice, classes, figure, Kept, useRest, useWalking } from "./core/view.jsx";
import { derive, FAMILIES, factsOf, keyOf, labelsOf, MOST, titleOf, told } from "./family-map.derive.js";

/** A word or a mark in the table's head or at its side; null: this pass has no such place. */
const Header = ({ role, of, kind = "" }) => (
  <div
    role={role}
    class={classes("te-header", kind, of?.isOther && "te-other", !of && "te-off")}
    title={of?.text}
    data-word={of?.text}
    data-fresh={of?.isOther || undefined}>
    <span class={classes("te-family-word", of?.isMark && "te-special")}>{cut(of?.text ?? "")}</span>
  </div>
);

/** Who sees whom, in a table that is walked through cell by cell; Tab leads to the row that is asked for the word. */
function Table({ now, spoken, root }) {
  const labels = useMemo(() => labelsOf(spoken), [spoken]);
  const walking = useWalking({ rows: now.count, columns: now.count, row: now.asked });
  useLayoutEffect(() => {
    if (now.isFirst) return;
    const { current: box } = walking.ref;
    box.querySelectorAll("[data-fresh]").forEach((node) => afterFrame(() => appear(node)));
    fly(root, root.querySelector(".te-family-group + * [aria-checked=true]"), box.querySelector(".te-asked"));
  }, [now]);
  return (
    <div
      role="grid"
      aria-label="Who sees whom"
      class={classes("te-grid te-with-rows", now.cells.flat().some((one) => one.isChanged) && "te-has-changed")}
      data-matrix="mask"
      style={{ "--columns": now.count }}
      {...walking}>
      <div role="row" class="te-row te-columns">
        <div role="gridcell" class="te-header">
          reads
        </div>
        <div role="columnheader" class="te-header te-family-target">
          asked for
        </div>
        {now.places.map((place, j) => (
          <Header key={j} role="columnheader" of={place?.reads} kind={place?.own && "te-own"} />
        ))}
      </div>
      {now.cells.map((line, i) => (
        <Row key={i} line={line} labels={labels[i]} i={i} place={now.places[i]} />
      ))}
    </div>
  );
}

/** Whether one place sees another; drawn again only where it is another than before. */
const Cell = ({ cell, label, isAsked, i, j }) =>
  useMemo(
    () => (
      <div
        role="gridcell"
        class={classes(
          "te-cell",
          isAsked && "te-in-row",
          cell.isChanged && "te-changed",
          cell.isWallRight && "te-wall-right",
          cell.isWallBelow && "te-wall-below",
        )}
        tabindex={-1}
        data-row={i}
        data-column={j}
        data-value={cell.value}
        data-kind={cell.kind}
        data-fresh={cell.isFresh || undefined}
        title={cell.isChanged ? `was ${1 - cell.value}` : undefined}
        aria-label={label}
      />
    ),
    [cell, label, isAsked],
  );

/** A place: what it reads, what it is asked for, whom it sees. */
const Row = ({ line, labels, i, place }) => (
  <div role="row" class={classes("te-row", !place && "te-off")}>
    <Header role="rowheader" of={place?.reads} kind={classes(place?.own && "te-own", place?.isAsked && "te-marked")} />
    <Header role="gridcell" of={place?.asks} kind={classes("te-family-target", place?.isAsked && "te-asked")} />
    {line.map((cell, j) => (
      <Cell key={j} cell={cell} label={labels[j]} isAsked={Boolean(place?.isAsked)} i={i} j={j} />
    ))}
  </div>
);

const Side = ({ now }) => (
  <div class="te-family-side">
    <dl class="te-family-facts">
      {factsOf(now).map(([name, value]) => [
        <dt key={name}>{name}</dt>,
        <dd key={`${name} is`}>
          <b>{value}</b>
        </dd>,
      ])}
    </dl>
    <p class="te-note te-family-key">{keyOf(now)}</p>
  </div>
);

/** The table; right after it, for the picture should not wait, what is said beside it and of its cells. */
function Stage({ now, root }) {
  const spoken = useRest(now);
  const alike = spoken.count === now.count ? spoken : now;
  return (
    <>
      <div class="te-family-table">
        <Table key={now.count} now={now} spoken={alike} root={root} />
      </div>
      <Side now={alike} />
    </>
  );
}

const Group = ({ name, children }) => (
  <div class="te-family-group">
    <span class="te-label">{name}</span>
    {children}
  </div>
);

/** What can be asked of any sentence. */
function questions(state) {
  const now = () => derive(state);
  const last = () => state.words.length - 1;
  return [
    {
      ask: ["let a word be told from what comes after it"],
      done: () => now().after > 0,
      tell: ["Without the causal mask its place sees both sides. So the word itself has to be hidden."],
      show: () => state.set({ family: "bert", place: Math.min(state.place, Math.max(0, last() - 1)) }),
    },
    {
      ask: ["make the prefix model see as a GPT does"],
      done: () => state.family === "prefix" && now().wall === 1,
      tell: ["Only the start stands before the wall: what is left is the causal mask."],
      show: () => state.set({ family: "prefix", place: 0 }),
    },
    {
      ask: ["train as few places as you can in a pass that writes"],
      done: () => state.family === "prefix" && now().trained === 1,
      tell: ["All but one word stand before the wall: they are read, and never asked for."],
      show: () => state.set({ family: "prefix", place: last() }),
    },
  ];
}

const TRAITS = ["words", "family", "place"];

function start(state, { root, draw }) {
  const opened = snapshot(state, TRAITS);
  let [now, many] = [null, 0]; // `many`: words that were typed; of more than ten the first are used
  const makeLine = () => {
    const line = sentenceLine({
      opened: opened.words,
      kinds: {},
      most: MOST,
      language: "",
      wordsOf: (text) => text.trim().split(/\s+/).filter(Boolean),
      onChange(sentence) {
        const typed = line.read(sentence).words;
        many = typed.length;
        if (!many) return draw();
        state.set({ words: typed.slice(0, MOST), place: Math.min(state.place, Math.min(many, MOST) - 1) });
      },
      onAgain() {
        many = 0;
        state.set(structuredClone(opened));
      },
    });
    return line;
  };

  function view() {
    now = derive(state, now);
    const isOpened = now.whole === JSON.stringify([opened.words, opened.family, opened.place]);
    const update = (line) => line.update(state.words.join(" "), many > MOST, isOpened);
    return {
      says: [titleOf(now)],
      words: [many > MOST ? `Only the first ${MOST} words are used. ` : "", ...told(now)],
      stage: <Stage now={now} root={root} />,
      controls: (
        <>
          <Group name="family">
            <Choice
              label="family"
              value={state.family}
              options={Object.entries(FAMILIES).map(([value, text]) => ({ value, text }))}
              onChange={(family) => state.set({ family })}
            />
          </Group>
          <Group name="word">
            <Choice
              label="word"
              value={state.place}
              options={state.words.map((text, value) => ({ value, text }))}
              onChange={(place) => state.set({ place })}
            />
          </Group>
          <Kept make={makeLine} update={update} />
        </>
      ),
    };
  }
  return {
    view,
    questions: questions(state),
    details: [
      "Where these masks come from",
      "GPT: Radford and others (2018, 2019). BERT: Devlin and others (2019). T5 and the prefix model beside it: Raffel " +
        "and others (2020, section 3.2).",
      "One wall makes all of them: places before it see each other, those behind it see what came before. A GPT has it " +
        "behind its start, a BERT at the end of the text.",
      "Here one word is hidden, or two stand in the gap. In training BERT hides 15 % of the words, and T5 takes out 15 % " +
        "in several gaps of three words on average.",
    ],
  };
}

export default figure({
  name: "family-map",
  label: "Family map",
  invite: ["choose another family, then another word."],
  traits: TRAITS,
  start,
});
