import * as engine from "../../engine/js/engine.js";
import {
  afterFrame,
  bold,
  cividis,
  css,
  div,
  eachCell,
  fill,
  format,
  frame,
  h,
  matrixGrid,
  modelOf,
  named,
  paragraph,
  plural,
  readable,
  select,
  sentenceLine,
  span,
  special,
  store,
  wordSpan,
} from "./core.js";

const TRAITS = /** @type {const} */ (["sentence", "silent", "place", "token", "recorded", "line", "pre", "model_file"]);
const WRITTEN = 12; // words of the model's translation that are drawn
const BEST = 5; // words that are told of each place
const MANY = 3; // times as much as stood there
const ENTRY = "decoder.positional";
const SUBLAYERS = { self: "self-attention", cross: "cross-attention", feed_forward: "feed-forward" };
const RESIDUALS = { self: "self_attention_residual", cross: "cross_residual", feed_forward: "feed_forward_residual" };

/** The sub-layer after which the stream is at a place. */
const sublayerOf = (place) => place.replace("after_", "");

/** "decoder.1.cross" -> "layer 2", "cross-attention" */
function namesOf(sublayer) {
  const [, layer, kind] = sublayer.split(".");
  return [`layer ${Number(layer) + 1}`, SUBLAYERS[kind]];
}

const inWords = (sublayer) => namesOf(sublayer).join("’s ");
const capital = (words) => words.replace(/^./, (letter) => letter.toUpperCase());
const lengthOf = (x) => Math.hypot(...x);

/** What the norm of a sum makes of one of its summands: γ · (part − its mean) / the deviation of the sum. */
function rescaled(part, whole, { weight }) {
  const meanOf = (x) => x.reduce((sum, value) => sum + value, 0) / x.length;
  const [own, all] = [meanOf(part), meanOf(whole)];
  const root = Math.sqrt(meanOf(whole.map((value) => (value - all) ** 2)) + 1e-5);
  return part.map((value, i) => (weight.data[i] * (value - own)) / root);
}

/** Every place of the decoder's stream while the model is given its own translation. */
function run(model, { source, ids }, silent) {
  const { activations } = engine.forward(model, source, ids.slice(0, -1), silent ? { silent: [silent] } : {});
  const { final_norm: norm } = model.decoder;
  const places = Object.keys(activations).filter((name) => name === ENTRY || /^decoder\..*\.after_/.test(name));
  const read = (x) => engine.project(norm ? engine.layerNorm(x, norm) : x, model.projection.linear);
  return { activations, places, best: places.map((place) => likeliestOf(model, read(activations[place]))) };
}

/** A sentence and its translation, as ids; the stream with no sub-layer silent, and its likeliest words. */
function translated(model, words) {
  const given = engine.translate(model, words.join(" "), { most: WRITTEN });
  const stream = run(model, given, "");
  return { ...given, stream, whole: stream.best.map(firstOf) };
}

/** The likeliest word of each column. */
const firstOf = (row) => row.map((best) => best[0][0]);

/** The likeliest words of each row of scores, and their probabilities. */
const likeliestOf = (model, scores) =>
  Array.from({ length: scores.rows }, (_, i) =>
    engine.likeliestWords(model, engine.probabilities(engine.rowOf(scores, i)), BEST),
  );

/** The decoder's stream, read by the output layer at every place: as Python's `stream`; measured when that is asked. */
function streamOf(model, words, given, silent) {
  const { activations, places, best } = silent ? run(model, given, silent) : given.stream;
  let found = null;
  const measure = (name) => (found ??= measured(model, activations, places))[name];
  return {
    source: words,
    silent,
    written: given.ids.slice(1).map((id) => model.target.token(id)),
    places,
    best,
    whole: given.whole,
    get wrote() {
      return measure("wrote");
    },
    get kept() {
      return measure("kept");
    },
    get left() {
      return measure("left");
    },
  };
}

/** At each place, of each word: what was written against what stood there, and what its norm leaves of that. */
function measured(model, seen, places) {
  let x = engine.rowsOf(seen[ENTRY]);
  let left = x;
  const begun = x.map(lengthOf);
  const found = { wrote: [x.map(() => 0)], kept: [x.map(() => 1)], left: [x.map(() => 1)] };
  for (const place of places.slice(1)) {
    const [, layer, kind] = sublayerOf(place).split(".");
    const { norm } = model.decoder.layers[layer][RESIDUALS[kind]];
    const output = seen[sublayerOf(place)];
    const written = output ? engine.rowsOf(output) : x.map((row) => row.map(() => 0));
    const sums = x.map((row, i) => row.map((value, j) => value + written[i][j]));
    const through = (rows) => (model.config.norm === "pre" ? rows : rows.map((row, i) => rescaled(row, sums[i], norm)));
    left = through(left);
    found.wrote.push(x.map((row, i) => lengthOf(written[i]) / lengthOf(row)));
    found.kept.push(through(x).map((row, i) => lengthOf(row) / lengthOf(x[i])));
    found.left.push(left.map((row, i) => lengthOf(row) / begun[i]));
    x = engine.rowsOf(seen[place]);
  }
  return found;
}

/** Five words with bars that glide. */
function bars() {
  const rows = Array.from({ length: BEST }, () => {
    const [word, bar, number] = [span("te-stream-word"), span("te-stream-bar te-glide"), span("te-number")];
    return { word, bar, number, element: div("te-stream-line", word, div("te-stream-track", bar), number) };
  });
  return {
    element: div("te-stream-best", ...rows.map(({ element }) => element)),
    update: (best, written) =>
      rows.forEach((row, i) => {
        const [word, chance] = best[i] ?? ["", 0];
        fill(row.word, readable(word));
        row.word.className = `te-stream-word${special(word)}${word === written ? " te-stream-right" : ""}`;
        row.bar.style.width = `${(100 * chance).toFixed(1)}%`;
        row.number.dataset.value = String(chance);
        fill(row.number, best[i] ? format(chance) : "");
      }),
  };
}

function render({ model: widget, el }) {
  const figure = frame(el, {
    name: "residual-stream",
    label: "Residual stream: which word it holds, place by place",
    says: [""],
    invite: ["follow one column down: which word would be written next? Then silence a sub-layer."],
  });
  const state = store(widget, TRAITS, draw);
  const first = state.recorded;
  const opened = first.source.join(" ");
  const initial = { silent: first.silent, place: state.place, token: state.token };
  const streams = new Map([[keyOf(first.source, first.silent), first]]);
  const translations = new Map();
  const running = modelOf(
    figure.root,
    () => engine.loadModel(widget, state.model_file),
    () => {
      draw();
      if (running.model) afterFrame(() => givenFor(first.source)); // the first switch then finds it done
    },
  );
  let stream = first,
    shape = "",
    painted = null,
    grid;

  const line = sentenceLine({
    opened: first.source,
    ...state.line,
    wordsOf: engine.wordsOf,
    onChange: (sentence) => change({ sentence }),
    onAgain: () => show({ sentence: opened, ...initial }),
  });
  const gridBox = div("te-stream-grid");
  const more = h("span", { class: "te-stream-more", "aria-hidden": "true" });
  const shade = (chance) => h("i", { style: { background: css(cividis(chance)) } });
  const key = div(
    "te-stream-key",
    span("", shade(0), "unsure of its word"),
    span("", shade(1), "sure"),
    span("", bold("bold"), ": written in the end"),
    span("", h("u", {}, "underlined"), ": changed by silencing"),
    more,
  );
  const best = bars();
  const bestTitle = div("te-stream-title");
  const silence = select({
    label: "silence",
    value: state.silent,
    options: [
      { value: "", label: "nothing" },
      ...first.places.slice(1).map((place) => ({ value: sublayerOf(place), label: inWords(sublayerOf(place)) })),
    ],
    onChange: (silent) => change({ silent }),
  });

  function keyOf(words, silent) {
    return JSON.stringify([words, silent]);
  }
  const isOpened = () => state.sentence === opened && state.silent === first.silent;
  const token = () => Math.min(state.token, stream.written.length - 1);
  const likeliest = (place) => firstOf(stream.best[place]);

  function change(changes) {
    state.set(changes);
    running.wake();
  }

  function show(changes) {
    line.set(changes.sentence ?? state.sentence);
    change(changes);
  }

  /** Computed once, however often the figure is drawn; null while there is no model to do it. */
  function streamFor(words, silent) {
    const key = keyOf(words, silent);
    if (running.model && !streams.has(key)) {
      streams.set(key, streamOf(running.model, words, givenFor(words), silent));
    }
    return streams.get(key) ?? null;
  }

  function givenFor(words) {
    const key = words.join(" ");
    if (!translations.has(key)) translations.set(key, translated(running.model, words));
    return translations.get(key);
  }

  function rebuild() {
    const words = JSON.stringify(stream.written);
    if (words === shape) return;
    shape = words;
    const labels = stream.places.map((place) =>
      place === ENTRY ? "word + position" : namesOf(sublayerOf(place)).join(", "),
    );
    grid = matrixGrid({
      name: "stream",
      label: "what would be written, a row for each place and a column for each word",
      rows: labels,
      columns: ["<bos>", ...stream.written.slice(0, -1)].map(readable),
      showRows: true,
      showColumns: true,
      onSelect: (place, at) => (place !== state.place || at !== state.token) && change({ place, token: at }),
    });
    grid.element.querySelectorAll("[role=rowheader]").forEach((header, i) => {
      header.dataset.kind = stream.places[i].split("_").at(-1).split(".").at(-1);
    });
    fill(grid.element.querySelector(".te-columns .te-header"), "after reading:");
    fill(gridBox, grid.element);
    sized.observe(grid.element);
    gridBox.style.setProperty("--count", String(stream.written.length));
  }

  /** On a phone: how many words stand beyond the right edge. */
  function lookBeyond() {
    const beyond = gridBox.scrollWidth - gridBox.clientWidth - gridBox.scrollLeft;
    const hidden = Math.ceil((beyond - 8) / /** @type {HTMLElement} */ (gridBox.querySelector(".te-cell")).offsetWidth);
    gridBox.classList.toggle("te-stream-cut", hidden > 0);
    fill(more, hidden > 0 ? `${plural(hidden, "more word")} →` : "");
  }
  const sized = new ResizeObserver(lookBeyond);
  sized.observe(gridBox);
  gridBox.addEventListener("scroll", lookBeyond);

  /** The words in the table: those that will be written, and those that were others before something was silenced. */
  function paint() {
    if (painted === stream) return;
    painted = stream;
    const longest = Math.max(...stream.best.flat().map((found) => readable(found[0][0]).length));
    gridBox.style.setProperty("--longest", String(longest));
    grid.element
      .querySelectorAll("[role=rowheader]")
      .forEach((header, place) =>
        header.classList.toggle("te-stream-silent", sublayerOf(stream.places[place]) === stream.silent),
      );
    grid.update(
      stream.best.map((row) => row.map(([[, chance]]) => chance)),
      { colour: cividis },
    );
    eachCell(grid, (cell, place, at) => {
      const [word, chance] = stream.best[place][at][0];
      fill(cell, wordSpan("te-stream-cell", word));
      cell.classList.toggle("te-stream-right", word === stream.written[at]);
      cell.classList.toggle("te-stream-other", word !== stream.whole[place][at]);
      const place_ = cell.getAttribute("aria-label").replace(/:[^:]*$/, "");
      cell.setAttribute("aria-label", `${place_}: ${readable(word)}, ${format(chance)}`);
    });
  }

  const rightAt = (place) => likeliest(place).filter((word, i) => word === stream.written[i]).length;
  const changedWords = () =>
    likeliest(stream.places.length - 1).filter((word, i) => word !== stream.whole.at(-1)[i]).length;

  /** The place that brings most words. */
  function turn() {
    const gains = stream.places.map((_, place) => (place ? rightAt(place) - rightAt(place - 1) : -Infinity));
    return gains.indexOf(Math.max(...gains));
  }

  function finding() {
    const all = stream.written.length;
    if (stream.silent) {
      const count = changedWords();
      return [`Without ${inWords(stream.silent)}, ${count ? `${count} of ${all} words change` : "no word changes"}`];
    }
    const at = turn();
    const who = capital(inWords(sublayerOf(stream.places[at])));
    return [`${who} finds the words: ${rightAt(at - 1)} of ${all} before it, ${rightAt(at)} after it`];
  }

  /** What happened just before the chosen place, and to what stood there. */
  function story() {
    const [place, at] = [Math.min(state.place, stream.places.length - 1), token()];
    const [wrote, kept, left] = ["wrote", "kept", "left"].map((key) =>
      h("b", { dataset: { value: stream[key][place][at], measure: key } }, format(stream[key][place][at])),
    );
    const reading = at ? named(stream.written[at - 1]) : named("<bos>");
    if (!place) return ["Here stand only the vector of ", reading, ", which was read last, and its position."];
    const who = sublayerOf(stream.places[place]);
    const adds =
      who === stream.silent
        ? [bold(capital(inWords(who))), " is silent and adds nothing. "]
        : [bold(capital(inWords(who))), " wrote ", wrote, " × as much as stood there. "];
    if (state.pre) return [...adds, "All that stood there stays as it was: the norm stands before the sub-layer."];
    return [
      ...adds,
      "The norm after it leaves ",
      kept,
      " of what stood there, and ",
      left,
      " of what entered the first layer.",
    ];
  }

  /** What a control says at once; the rest after the next frame, if the model has to compute it. */
  function draw() {
    const { words, wrong } = line.read(state.sentence);
    silence.set(state.silent);
    if (wrong || !running.model || streams.has(keyOf(words, state.silent))) drawStream();
    else figure.rest(drawStream);
  }

  function drawStream() {
    const { words, wrong } = line.read(state.sentence);
    stream = (wrong ? null : streamFor(words, state.silent)) ?? stream;
    rebuild();
    paint();
    const [place, at] = [Math.min(state.place, stream.places.length - 1), token()];
    grid.highlight({ cell: [place, at] });
    best.update(stream.best[place][at], stream.written[at]);
    fill(
      bestTitle,
      place
        ? `After ${namesOf(sublayerOf(stream.places[place])).join("’s ")}, it would write:`
        : "Before the first layer, it would write:",
    );
    figure.says(...finding());
    line.update(state.sentence, Boolean(wrong), isOpened());
    const instead = running.instead(wrong, !isOpened());
    figure.rest(() => {
      fill(words_, ...(instead ?? story()));
      const [word, chance] = stream.best[place][at][0];
      const found = finding().join("");
      const at_ = `${readable(word)} ${format(chance)}`;
      figure.tell(instead ? words_.textContent : `${stream.source.join(" ")}: ${found}. ${at_}. ${words_.textContent}`);
    });
  }

  const words_ = figure.words(4);
  figure.stage.append(
    line.element,
    gridBox,
    key,
    div("te-stream-detail", div("", bestTitle, best.element), div("te-stream-side", words_, silence.element)),
  );
  draw();
  figure.ask(questions());
  figure.details(
    "How it is read",
    paragraph(
      "te-note",
      "The output layer makes a score of each French word from the decoder’s last vector. Here " +
        `it is given the vector of every earlier place as well${state.pre ? ", after the final norm" : ""}: the ` +
        "“logit lens” (nostalgebraist, 2020). It was trained for the last row alone: a word in another row says what " +
        "could be read there, not what the model uses. The model is given its own translation word by word, also " +
        "while a sub-layer is silent.",
    ),
  );

  function questions() {
    const at = turn();
    const before = first.best[at - 1]?.[state.token]?.[0][0];
    const after = first.written[state.token];
    const most = Math.max(...first.wrote.flat());
    const row = first.wrote.findIndex((one) => one.includes(most));
    const cross = sublayerOf(first.places.findLast((place) => place.endsWith("cross")));
    const half = () => stream.silent && 2 * changedWords() >= stream.written.length;
    return [
      before &&
        before !== after &&
        !first.silent && {
          ask: ["find a place where ", named(after), " was still ", named(before)],
          done: () => stream.written[token()] === after && likeliest(state.place)[token()] === before,
          tell: ["What kind of word it has to be is there before the word is."],
          show: () => show({ sentence: opened, silent: "", place: at - 1, token: initial.token }),
        },
      state.model_file.name && {
        ask: ["silence one sub-layer so that half of the words change"],
        done: half,
        tell: ["The last look at the English brings the words; no other sub-layer changes as many."],
        show: () => show({ silent: cross, sentence: opened }),
      },
      most >= MANY && {
        ask: ["find a place where three times as much was written as stood there"],
        done: () => stream.wrote[state.place]?.[token()] >= MANY,
        tell: ["The norm then leaves little of what stood there."],
        show: () => show({ sentence: opened, silent: first.silent, place: row, token: first.wrote[row].indexOf(most) }),
      },
    ].filter(Boolean);
  }
  return state.dispose;
}

export default { render };
