import * as engine from "../../engine/js/engine.js";
import {
  appear,
  asToken,
  button,
  div,
  fill,
  format,
  frame,
  h,
  linkedWords,
  listed,
  modelOf,
  named,
  paragraph,
  plural,
  sentenceLine,
  span,
  store,
  toggle,
} from "./core.js";
import { nearestOf } from "./parts/nearest.js";

const TRAITS = /** @type {const} */ (["sentence", "taken", "token", "recorded", "line", "parts", "model_file"]);
const TOLD = 7; // words of an answer in the title
const END = "<eos>";

/** What the model is to compute without these parts. */
function changesOf(parts) {
  const merged = {};
  for (const [name, value] of parts.flatMap(({ changes }) => Object.entries(changes))) {
    merged[name] = Array.isArray(value) ? [...(merged[name] ?? []), ...value] : value;
  }
  return merged;
}

/** Translate, and look where the last layer's cross-attention went: the mean of its heads, a row for each word. */
function translated(model, words, changes) {
  const { source, ids } = engine.translate(model, words.join(" "), { changes });
  const written = ids.slice(1).map((id) => model.target.token(id));
  const { maps } = engine.forward(model, source, ids.slice(0, -1), changes);
  const heads = maps[`decoder.${model.config.num_layers - 1}.cross`]?.map(engine.rowsOf);
  const mean = (i, j) => (heads ? heads.reduce((sum, one) => sum + one[i][j], 0) / heads.length : 0);
  return { source: words, written, weights: written.map((_, i) => words.map((__, j) => mean(i, j))) };
}

const keyOf = (words, taken) => JSON.stringify([words, taken]);

const megabytes = ({ bytes }) => `${(bytes / 1e6).toFixed(1)} MB`;

/** The words without the end. */
const text = ({ written }) => written.filter((word) => word !== END);

/** The places of the words that are new in a list: what is left of it beside the longest part that both have. */
function newIn(after, before) {
  const common = Array.from({ length: after.length + 1 }, () => Array(before.length + 1).fill(0));
  for (let i = after.length - 1; i >= 0; i -= 1) {
    for (let j = before.length - 1; j >= 0; j -= 1) {
      common[i][j] = after[i] === before[j] ? 1 + common[i + 1][j + 1] : Math.max(common[i + 1][j], common[i][j + 1]);
    }
  }
  const places = [];
  for (let [i, j] = [0, 0]; i < after.length; i += 1) {
    while (j < before.length && common[i][j + 1] === common[i][j] && after[i] !== before[j]) j += 1;
    if (after[i] === before[j]) j += 1;
    else places.push(i);
  }
  return places;
}

function render({ model: widget, el }) {
  const figure = frame(el, {
    name: "playground",
    label: "Playground: a translator in this page",
    says: [""],
    invite: ["change ", asToken("cat"), " to ", asToken("cow"), ". Then take a part of the model away."],
  });
  const state = store(widget, TRAITS, draw);
  const opened = state.recorded.source.join(" ");
  const openedAt = state.token;
  const translations = new Map([[keyOf(state.recorded.source, state.recorded.taken), state.recorded]]);
  const running = modelOf(figure.root, () => engine.loadModel(widget, state.model_file), draw);
  const nearestTo = nearestOf(state.line.kinds);
  const known = new Set(Object.values(state.line.kinds).flat());
  let answer = state.recorded,
    before = null, // the answer to the last whole sentence, until another change
    whole = null, // the answer with nothing taken away
    built = "",
    picture;
  const shown = [answer];

  const line = sentenceLine({
    opened: state.recorded.source,
    ...state.line,
    wordsOf: engine.wordsOf,
    onChange: (sentence) => change({ sentence }),
    onAgain: () => {
      show({ sentence: opened, taken: state.recorded.taken, token: openedAt });
      before = null;
      draw();
    },
  });
  const pictureBox = div("te-play-picture");
  const switches = state.parts.map(({ part, name }) =>
    toggle({
      label: [name],
      value: isTaken(part),
      onChange: (off) =>
        change({ taken: state.parts.map((one) => one.part).filter((one) => (one === part ? off : isTaken(one))) }),
    }),
  );

  function isTaken(part) {
    return state.taken.includes(part);
  }
  const isOpened = () => state.sentence === opened && state.taken.join() === state.recorded.taken.join();

  function change(changes) {
    state.set(changes);
    running.wake();
  }

  function compute() {
    const { words, wrong } = line.read(state.sentence);
    const found = wrong ? null : translation(words, state.taken);
    if (found) {
      turnTo(found);
      whole = translation(words, []);
    } else if (wrong) leaveHalf(words);
    return { words, wrong };
  }

  /** Show another answer; what is new in it is marked beside the last whole sentence. */
  function turnTo(found) {
    if (found === answer) return;
    if (isSentence(answer.source)) before = answer;
    answer = found;
    shown.push(found);
  }
  const isSentence = (words) => !nearestTo || nearestTo(words).join() === words.join();

  /** A word that it does not know began with one that it knows: what was made of that is no answer to anything. */
  function leaveHalf(words) {
    const place = words.findIndex((word) => !known.has(word));
    const isHalf = ({ source }) => source[place] !== undefined && words[place]?.startsWith(source[place]);
    if (place >= 0 && isHalf(answer))
      [answer, before] = [shown.findLast((one) => !isHalf(one)) ?? state.recorded, null];
  }

  /** Computed once, however often the figure is drawn; null while there is no model to do it. */
  function translation(words, taken) {
    const key = keyOf(words, taken);
    if (running.model && !translations.has(key)) {
      const changes = changesOf(state.parts.filter(({ part }) => taken.includes(part)));
      translations.set(key, translated(running.model, words, changes));
    }
    return translations.get(key) ?? null;
  }

  function rebuild() {
    const queries = answer.written.slice(0, state.line.most);
    const fresh = before ? newIn(queries, before.written.slice(0, state.line.most)) : [];
    const changed = before ? newIn(answer.source, before.source) : [];
    const shape = JSON.stringify([answer.source, queries, fresh, changed]);
    if (shape === built) return;
    const earlier = built ? JSON.parse(built)[1] : queries;
    built = shape;
    picture = linkedWords(
      { queries, keys: answer.source, above: "", below: "French, as the model writes it: choose a word" },
      { chosen: state.token, onChoose: (token) => change({ token }), onKey: (j) => line.choose(answer.source, j) },
    );
    fill(pictureBox, picture.element);
    pictureBox.style.setProperty("--most", String(Math.max(answer.source.length, queries.length)));
    fresh.forEach((i) => picture.written[i].append(span("te-hidden", ", new")));
    [...fresh.map((i) => picture.written[i]), ...changed.map((j) => picture.read[j])].forEach((one) =>
      one.classList.add("te-play-new"),
    );
    queries.forEach((word, i) => word !== earlier[i] && appear(picture.written[i]));
  }

  /** Of this state: what it writes without a part, what a changed word changed, or where it looks. */
  function finding() {
    if (state.taken.length) {
      const without = state.parts.filter(({ part }) => isTaken(part)).map(({ name }) => [name]);
      const french = text(answer);
      const some = `${french.slice(0, TOLD).join(" ")}${french.length > TOLD ? " …" : ""}`;
      return [
        "Without ",
        ...(without.length > 2 ? [`${without.length} of its parts`] : listed(without)),
        ": ",
        h("i", {}, some || "nothing"),
      ];
    }
    if (!isSentence(answer.source)) return ["It was taught whole sentences: this is none"];
    if (before && before.source.join() !== answer.source.join()) {
      const [english, french] = [newIn(answer.source, before.source), newIn(text(answer), text(before))];
      return [
        `${plural(english.length, "English word")} changed: so did ${french.length} of ` +
          `${text(answer).length} French words`,
      ];
    }
    if (isOpened() && state.token === openedAt) return ["Before each French word, it looks at the English"];
    const row = answer.weights[chosen()];
    return [named(answer.written[chosen()]), " looks at ", named(answer.source[row.indexOf(Math.max(...row))])];
  }
  const chosen = () => Math.min(state.token, Math.min(answer.written.length, state.line.most) - 1);

  /** In place of the finding: which word it does not know, or what else is wrong with what stands in the line. */
  function refusal(words, wrong) {
    const [first, ...others] = new Set(words.filter((word) => !known.has(word)));
    if (!first) return wrong;
    return ["It has never met ", asToken(first), others.length ? ` and ${plural(others.length, "other word")}` : ""];
  }

  /** Below the line: words that it knows, in a sentence like those that it was taught. */
  function drawNote(words) {
    const near = words.length && !isSentence(words) ? nearestTo(words).join(" ") : "";
    nearest.hidden = !near;
    if (near) nearest.textContent = near;
    nearestNote.textContent = near ? "A sentence for it: " : `It knows ${known.size} words: click one to change it`;
  }

  function story() {
    const row = answer.weights[chosen()];
    const seen = answer.source
      .map((word, j) => [word, row[j]])
      .filter(([, weight]) => weight >= 0.05)
      .sort((a, b) => b[1] - a[1])
      .slice(0, 3);
    const looks = seen.length
      ? [", it looks at ", ...listed(seen.map(([word, weight]) => [named(word), ` ${format(weight)}`])), ". "]
      : [", it looks at no English word. "];
    const more = answer.written.length - state.line.most;
    return [
      "To write ",
      named(answer.written[chosen()]),
      ...looks,
      ...(state.taken.length && whole ? ["With all its parts: ", h("i", {}, text(whole).join(" ")), ". "] : []),
      ...(more > 0 ? [`It goes on for ${plural(more, "more word")}.`] : []),
    ];
  }

  function draw() {
    const { words: typed, wrong } = compute();
    rebuild();
    picture.update(answer.weights.slice(0, state.line.most), chosen());
    figure.says(...(wrong ? refusal(typed, wrong) : finding()));
    line.update(state.sentence, Boolean(wrong), isOpened());
    drawNote(typed);
    state.parts.forEach(({ part }, i) => switches[i].set(isTaken(part)));
    figure.rest(() => {
      const instead = running.instead(wrong, !isOpened());
      fill(words, ...(instead ?? story()));
      figure.tell(
        instead
          ? words.textContent
          : `${answer.source.join(" ")}: ` +
              `${text(answer).slice(0, state.line.most).join(" ")}. ${newWords()}${words.textContent}`,
      );
    });
  }

  /** What is marked, to be heard. */
  function newWords() {
    const fresh = before ? newIn(text(answer), text(before)).map((i) => text(answer)[i]) : [];
    return fresh.length ? `New: ${fresh.slice(0, state.line.most).join(" ")}. ` : "";
  }

  /** The door to a model that reads more, where there is one: on a page of the book. */
  function larger() {
    const { state: other, open } = widget.behind;
    const place = div("te-play-other");
    let isThere = false;
    const back = button("← Back to the small model", () => turn(false));
    const turn = (to) => {
      figure.root.hidden = to;
      place.hidden = !to;
      (to ? place.querySelector("input") : door).focus();
    };
    const door = button(
      `Larger model: any ${other.languages[0]} text (${megabytes(other.model_file)})`,
      async () => {
        if (!isThere) {
          isThere = true;
          place.append(back);
          el.append(place);
          await open(place);
          /** @type {HTMLElement} */ (place.querySelector(".te-trans-load")).click();
        }
        turn(true);
      },
      { class: "te-button te-play-door" },
    );
    return door;
  }

  const nearestNote = span("te-note");
  const nearest = button("", () => show({ sentence: nearest.textContent }));
  const note = div("te-play-note", nearestNote, nearest, widget.behind ? larger() : "");
  figure.stage.append(line.element, note, pictureBox);
  figure.controls.append(
    h("fieldset", { class: "te-play-parts" }, h("legend", {}, "Take away:"), ...switches.map((one) => one.element)),
  );
  const words = figure.words(2);
  draw();
  figure.ask(questions());
  figure.details(
    "What runs here",
    paragraph(
      "te-note",
      "The encoder–decoder of chapter 11, with the weights of chapter 13, in JavaScript in this page: " +
        `${megabytes(state.model_file)}, loaded when you touch the figure; nothing is sent anywhere. ` +
        "Thick lines: cross-attention of the last layer, mean of its heads. Its English words:",
    ),
    paragraph("te-note", Object.values(state.line.kinds).flat().join(", ")),
  );

  function questions() {
    const one = opened.replace(/\bcat\b/, "cow");
    const other = "these foxes want a hat";
    return [
      one !== opened && {
        ask: ["change one English word so that four French words change"],
        done: () =>
          running.model &&
          !state.taken.length &&
          answer.source.length === state.recorded.source.length &&
          newIn(answer.source, state.recorded.source).length === 1 &&
          newIn(text(answer), text(state.recorded)).length === 4,
        tell: ["French bends the article and both adjectives to the noun's gender."],
        show: () => show({ sentence: one, taken: [] }),
      },
      {
        ask: ["find a sentence that goes wrong without word order"],
        done: () => running.model && state.taken.join() === "order" && text(answer).join() !== text(whole).join(),
        tell: ["Who does what to whom stands in the order alone."],
        show: () => show({ sentence: other, taken: ["order"] }),
      },
    ].filter(Boolean);
  }

  function show(changes) {
    line.set(changes.sentence);
    change({ token: 0, ...changes });
  }
  return state.dispose;
}

export default { render };
