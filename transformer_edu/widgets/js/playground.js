import * as engine from "../../engine/js/engine.js";
import { appear, asToken, div, fill, format, frame, h, linkedWords, listed, modelOf, named, paragraph, plural,
  sentenceLine, store, toggle } from "./core.js";

const TRAITS = ["sentence", "taken", "token", "recorded", "line", "parts", "model_file"];
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

/** The words without the end. */
const text = ({ written }) => written.filter((word) => word !== END);

/** In how many places two lists of one length differ; null if their lengths do. */
const differences = (a, b) => (a.length === b.length ? a.filter((word, i) => word !== b[i]).length : null);

function render({ model: widget, el }) {
  const figure = frame(el, {
    name: "playground",
    label: "Playground: a translator in this page",
    says: [""],
    invite: ["change ", asToken("cat"), " to ", asToken("cow"), ". Then take a part of the model away."],
  });
  const state = store(widget, TRAITS, draw);
  const opened = state.recorded.source.join(" ");
  const translations = new Map([
    [keyOf(state.recorded.source, state.recorded.taken), state.recorded]
  ]);
  const running = modelOf(figure.root, () => engine.loadModel(widget, state.model_file), draw);
  let answer = state.recorded,
    whole = null, // the answer with nothing taken away
    built = "",
    picture;

  const line = sentenceLine({
    opened: state.recorded.source,
    ...state.line,
    wordsOf: engine.wordsOf,
    onChange: (sentence) => change({ sentence }),
    onAgain: () => show({ sentence: opened, taken: state.recorded.taken, token: state.token }),
  });
  const pictureBox = div("te-play-picture");
  const switches = state.parts.map(({ part, name }) => toggle({
    label: [name],
    value: isTaken(part),
    onChange: (off) =>
      change({ taken: state.parts.map((one) => one.part).filter((one) => one === part ? off : isTaken(one)) }),
  }));

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
    if (found)[answer, whole] = [found, translation(words, [])];
    return wrong;
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
    const shape = JSON.stringify([answer.source, queries]);
    if (shape === built) return;
    const before = built ? JSON.parse(built)[1] : queries;
    built = shape;
    picture = linkedWords({
      queries,
      keys: answer.source,
      above: "English: click a word to change it",
      below: "French, as the model writes it: choose a word",
    }, {
      chosen: state.token,
      onChoose: (token) => change({ token }),
      onKey: (j) => line.choose(answer.source, j),
    });
    fill(pictureBox, picture.element);
    pictureBox.style.setProperty("--most", String(Math.max(answer.source.length, queries.length)));
    queries.forEach((word, i) => word !== before[i] && appear(picture.written[i]));
  }

  /** Of this state: what it writes without a part, what a changed word changed, or where it looks. */
  function finding() {
    if (state.taken.length) {
      const without = state.parts.filter(({ part }) => isTaken(part)).map(({ name }) => [name]);
      const french = text(answer);
      const some = `${french.slice(0, TOLD).join(" ")}${french.length > TOLD ? " …" : ""}`;
      return ["Without ", ...without.length > 2 ? [`${without.length} of its parts`] : listed(without), ": ",
        h("i", {}, some || "nothing")
      ];
    }
    const [english, french] = [differences(state.recorded.source, answer.source), changedFrench()];
    if (english && french !== null && whole) {
      return [`${plural(english, "English word")} changed: so did ${french} of ${text(whole).length} French words`];
    }
    const row = answer.weights[chosen()];
    return [named(answer.written[chosen()]), " looks at ", named(answer.source[row.indexOf(Math.max(...row))])];
  }
  const changedFrench = () => (whole && !state.recorded.taken.length
    ? differences(text(state.recorded), text(whole)) : null);
  const chosen = () => Math.min(state.token, Math.min(answer.written.length, state.line.most) - 1);

  function story() {
    const row = answer.weights[chosen()];
    const seen = answer.source.map((word, j) => [word, row[j]]).filter(([, weight]) => weight >= 0.05)
      .sort((a, b) => b[1] - a[1]).slice(0, 3);
    const looks = seen.length ? [", it looks at ", ...listed(seen.map(([word, weight]) => [
      named(word), ` ${format(weight)}`,
    ])), ". "] : [", it looks at no English word. "];
    const more = answer.written.length - state.line.most;
    return ["To write ", named(answer.written[chosen()]), ...looks,
      ...(state.taken.length && whole ? ["With all its parts: ", h("i", {}, text(whole).join(" ")), ". "] : []),
      ...(more > 0 ? [`It goes on for ${plural(more, "more word")}.`] : [])
    ];
  }

  function draw() {
    const wrong = compute();
    rebuild();
    picture.update(answer.weights.slice(0, state.line.most), chosen());
    figure.says(...finding());
    line.update(state.sentence, Boolean(wrong), isOpened());
    state.parts.forEach(({ part }, i) => switches[i].set(isTaken(part)));
    const instead = running.instead(wrong, !isOpened());
    fill(words, ...(instead ?? story()));
    figure.tell(instead ? words.textContent
      : `${answer.source.join(" ")}: ${text(answer).slice(0, state.line.most).join(" ")}. ${words.textContent}`);
  }

  figure.stage.append(line.element, pictureBox);
  figure.controls.append(h("fieldset", { class: "te-play-parts" }, h("legend", {}, "Take away:"),
    ...switches.map((one) => one.element)));
  const words = figure.words(2);
  draw();
  figure.ask(questions());
  figure.details("What runs here",
    paragraph("te-note",
      "The encoder–decoder of chapter 11, with the weights of chapter 13, in JavaScript in this page: " +
      `${(state.model_file.bytes / 1e6).toFixed(1)} MB, loaded when you touch the figure; nothing is sent anywhere. ` +
      "Thick lines: cross-attention of the last layer, mean of its heads. Its English words:"),
    paragraph("te-note", Object.values(state.line.kinds).flat().join(", ")));

  function questions() {
    const one = opened.replace(/\bcat\b/, "cow");
    const other = "these foxes want a hat";
    return [one !== opened && {
      ask: ["change one English word so that four French words change"],
      done: () => running.model && !state.taken.length && differences(state.recorded.source, answer.source) === 1
        && changedFrench() === 4,
      tell: ["French bends the article and both adjectives to the noun's gender."],
      show: () => show({ sentence: one, taken: [] }),
    }, {
      ask: ["find a sentence that goes wrong without word order"],
      done: () => running.model && state.taken.join() === "order" && text(answer).join() !== text(whole).join(),
      tell: ["Who does what to whom stands in the order alone."],
      show: () => show({ sentence: other, taken: ["order"] }),
    }].filter(Boolean);
  }

  function show(changes) {
    line.set(changes.sentence);
    change({ token: 0, ...changes });
  }
  return state.dispose;
}

export default { render };
