import * as engine from "../../engine/js/engine.js";
import {
  afterFrame,
  bold,
  button,
  choice,
  cividis,
  div,
  eachCell,
  fill,
  format,
  frame,
  glide,
  h,
  KEYS,
  matrixGrid,
  modelOf,
  named,
  paragraph,
  plural,
  readable,
  select,
  sentenceLine,
  setOff,
  span,
  store,
} from "./core.js";

const TRAITS = /** @type {const} */ (["sentence", "heads", "chosen", "sort", "recorded", "line", "model_file"]);
const WRITTEN = 14; // words of the model's translation that are looked at
const ACROSS = 4; // small maps in a row
const END = "<eos>";
const KINDS = {
  "encoder.self": { sign: "●", short: "encoder", name: "encoder" },
  "decoder.self": { sign: "▲", short: "decoder", name: "decoder" },
  "decoder.cross": { sign: "■", short: "cross", name: "cross-attention" },
};
const MEASURES = ["entropy", "distance", "importance"];
// Either of these heads of the shipped model tells it that an adjective belongs to a feminine noun.
const REDUNDANT = ["encoder.1.self.0", "decoder.1.cross.1"];
const WITH_REDUNDANT = "my small white turtles sleep";
const MOSTLY = 0.5; // of a head's weight
const EVENLY = 0.85; // of the entropy that it could have
const SHARPLY = 0.8; // of each word's weight

/** "encoder.1.self.0": which kind, and its layer and head from 0. */
function partsOf(name) {
  const [side, layer, kind, head] = name.split(".");
  return { kind: `${side}.${kind}`, layer: Number(layer), head: Number(head) };
}

/** "encoder, layer 2, head 1" */
function inWords(name) {
  const { kind, layer, head } = partsOf(name);
  return `${KINDS[kind].name}, layer ${layer + 1}, head ${head + 1}`;
}

/** H(α) / ln n of each query that may see more than one key; their mean. @param {number[][]} map */
function entropyOf(map, mayLook) {
  const rows = map.map((row, i) => row.filter((_, j) => mayLook(i, j))).filter((row) => row.length > 1);
  const one = (row) => -row.reduce((sum, a) => sum + (a > 0 ? a * Math.log(a) : 0), 0) / Math.log(row.length);
  return rows.length ? rows.reduce((sum, row) => sum + one(row), 0) / rows.length : 0;
}

/** Σ α_ij |i − j|, the mean over queries. @param {number[][]} map */
const distanceOf = (map) =>
  map.reduce((sum, row, i) => sum + row.reduce((far, a, j) => far + a * Math.abs(i - j), 0), 0) / map.length;

const mayLookIn = (kind) => (kind === "decoder.self" ? (i, j) => j <= i : () => true);

/** All heads of a model at work on a sentence, some of them changed: as Python's `atlas`, less what is measured. */
function atWork(model, words, { source, ids }, heads) {
  const then = Object.keys(heads).length ? engine.greedySearch(model, source, { changes: { heads } }).ids : ids;
  const target = ids.slice(0, WRITTEN + 1);
  const { maps } = engine.forward(model, source, target.slice(0, -1), { heads });
  const asWords = (some) => some.slice(1).map((id) => model.target.token(id));
  const places = Object.keys(maps).flatMap((name) => maps[name].map((map, i) => [`${name}.${i}`, engine.rowsOf(map)]));
  return {
    source: words,
    heads,
    written: asWords(target),
    // biome-ignore lint/suspicious/noThenProperty: no promise, the words written then
    then: asWords(then),
    maps: Object.fromEntries(places),
    given: { source, target },
    effects: null,
    breaks: null,
  };
}

/** The mean −ln p of the words of a translation, and whether another word is likelier than one of them. */
function lost(model, { source, target }, heads) {
  const changes = { heads };
  const logits = engine.decode(model, target.slice(0, -1), engine.encode(model, source, { changes }), { changes });
  const next = target.slice(1);
  let [sum, breaks] = [0, false];
  next.forEach((id, i) => {
    const scores = engine.rowOf(logits, i);
    const [likeliest] = engine.highest(engine.possible(scores), 1);
    sum -= Math.log(engine.probabilities(scores)[id]);
    breaks ||= likeliest !== id;
  });
  return { loss: sum / next.length, breaks };
}

/** Find out what is lost without each head, the others as they are: head by head, because it takes a while. */
function* measured(model, answer, names) {
  const { given, heads } = answer;
  const [present, found] = [lost(model, given, heads).loss, []];
  for (const name of names) {
    const { loss, breaks } = lost(model, given, { ...heads, [name]: "off" });
    const withIt = name in heads ? lost(model, given, without(heads, name)).loss : present;
    found.push({ effect: loss - withIt, breaks });
    yield;
  }
  answer.effects = found.map(({ effect }) => effect);
  answer.breaks = found.map(({ breaks }) => breaks);
}

const allTo = (how, names) => Object.fromEntries(names.map((name) => [name, how]));

/** The other heads that are changed. */
const without = (heads, name) => Object.fromEntries(Object.entries(heads).filter(([other]) => other !== name));

const keyOf = (words, heads) => JSON.stringify([words, Object.entries(heads).sort()]);
const text = (words) => words.filter((word) => word !== END);

// What lies at which distance from the word that looks.
const AROUND = {
  "encoder.self": { "-1": "one word back", 0: "at the word itself", 1: "one word on" },
  "decoder.self": { "-1": "one word before the newest", 0: "at the newest word" },
  "decoder.cross": { 0: "at the English word at the same place" },
};

/** Where most of a head's weight lies: at some distance, or at one word, whoever asks. */
function mostWeight(map, kind, { source, written }) {
  const keys = kind === "decoder.self" ? ["<bos>", ...written.slice(0, -1)] : source;
  const share = (weight) => map.reduce((sum, row, i) => sum + weight(row, i), 0) / map.length;
  const found = [
    ...Object.entries(AROUND[kind]).map(([by, where]) => [share((row, i) => row[i + Number(by)] ?? 0), [where]]),
    ...keys.map((word, j) => [share((row) => row[j]), ["at ", named(word)]]),
  ];
  return found.reduce((most, one) => (one[0] > most[0] ? one : most));
}

/** A map as a picture, a pixel for each weight; what may not be looked at stays clear. */
function paint(canvas, map, mayLook) {
  [canvas.width, canvas.height] = [map[0].length, map.length];
  const context = canvas.getContext("2d");
  const image = context.createImageData(canvas.width, canvas.height);
  map.forEach((row, i) =>
    row.forEach((weight, j) => {
      if (mayLook(i, j)) image.data.set([...cividis(weight), 255], 4 * (i * row.length + j));
    }),
  );
  context.putImageData(image, 0, 0);
}

/** A word that was not yet written cannot be looked at. */
function hide(cell) {
  cell.classList.replace("te-coloured", "te-blocked");
  cell.style.background = "";
  cell.setAttribute("aria-label", cell.getAttribute("aria-label").replace(/:[^:]*$/, ": not yet written"));
}

/** The button of one head: its map, and its name in words. */
function tileOf(name, actions) {
  const { kind, layer, head } = partsOf(name);
  const canvas = h("canvas", { class: "te-atlas-small", "aria-hidden": "true" });
  const [state, first, second] = [span("te-atlas-state"), span(), span()];
  let told = "";
  const element = h(
    "button",
    {
      type: "button",
      role: "radio",
      class: "te-atlas-tile",
      dataset: { head: name, kind },
      ...KEYS,
      on: { click: actions.choose, keydown: actions.move },
    },
    span("te-atlas-map", canvas, state),
    span(
      "te-atlas-name",
      span("te-atlas-kind", span("te-atlas-sign", KINDS[kind].sign), ` ${KINDS[kind].short}`),
      first,
      second,
    ),
  );
  return {
    element,
    paint: (map) => paint(canvas, map, mayLookIn(kind)),
    /** Its measures in words; the one by which the tiles are sorted is shown. */
    show(how, measures, sort, needed, free) {
      const all = JSON.stringify([how, measures, sort, needed, free]);
      if (all === told) return;
      told = all;
      const shown = sort === "place" ? null : measures[sort];
      fill(first, shown === null ? `layer ${layer + 1}` : `L${layer + 1}, h${head + 1}`);
      const number = shown === null ? `head ${head + 1}` : bold(shown === undefined ? "…" : numberOf(sort, shown));
      fill(second, number, free ? span("te-atlas-free", " ✓") : "");
      fill(state, how ?? (needed ? "stays" : ""));
      element.toggleAttribute("data-needed", needed);
      Object.entries(measures).forEach(([key, value]) => (element.dataset[key] = String(value)));
      const shownAs = shown !== null && `${sort} ${numberOf(sort, shown)}`;
      const label = [inWords(name), how, needed && "cannot go", free && "can go", shownAs];
      element.setAttribute("aria-label", label.filter(Boolean).join(", "));
    },
    choose(chosen) {
      element.setAttribute("aria-checked", String(chosen));
      element.tabIndex = chosen ? 0 : -1;
    },
  };
}

const numberOf = (measure, value) => (Number.isNaN(value) ? "–" : format(value, measure === "importance" ? 4 : 2));

function render({ model: widget, el }) {
  const figure = frame(el, {
    name: "head-atlas",
    label: "Head atlas: all heads of all layers",
    says: [""],
    invite: ["choose a small map and switch its head off. Then find two that may not both be off."],
  });
  const state = store(widget, TRAITS, draw);
  const first = { ...state.recorded };
  const { names } = first;
  const opened = first.source.join(" ");
  const initial = { sort: state.sort, chosen: state.chosen };
  const answers = new Map([[keyOf(first.source, first.heads), first]]);
  const translations = new Map();
  const running = modelOf(
    figure.root,
    () => engine.loadModel(widget, state.model_file),
    () => {
      draw();
      if (running.model) afterFrame(() => givenFor(first.source)); // the first switch then finds it done
    },
  );
  let answer = first,
    painted = null,
    order = [],
    grids = {},
    job = null;

  const line = sentenceLine({
    opened: first.source,
    ...state.line,
    wordsOf: engine.wordsOf,
    onChange: (sentence) => change({ sentence }),
    onAgain: () => put({ sentence: opened, heads: first.heads, ...initial }),
  });
  const tiles = new Map(
    names.map((name) => [
      name,
      tileOf(name, { choose: () => change({ chosen: name }), move: (event) => move(event, name) }),
    ]),
  );
  const tileBox = h("div", { role: "radiogroup", "aria-label": "heads", class: "te-atlas-tiles" });
  const writes = paragraph("te-atlas-writes");
  const title = div("te-atlas-title");
  const gridBox = div("te-atlas-grid");
  const numbers = Object.fromEntries(MEASURES.map((key) => [key, bold()]));
  const sortList = select({
    label: "sort by",
    value: state.sort,
    options: ["place", ...MEASURES].map((value) => ({ value, label: value })),
    onChange: (sort) => change({ sort }),
  });
  const switches = choice({
    label: "this head",
    value: "on",
    options: ["on", "off", "uniform"].map((value) => ({ value, content: [value] })),
    onChange: (how) => change({ heads: { ...without(state.heads, state.chosen), ...setTo(how) } }),
  });
  const setTo = (how) => (how === "on" ? {} : allTo(how, [state.chosen]));
  const allOn = button("All on", () => allOn.ariaDisabled !== "true" && change({ heads: {} }));

  function change(changes) {
    state.set(changes);
    running.wake();
  }

  /** Bring about a state in which all that there is to measure is measured. */
  function put(changes) {
    line.set(changes.sentence ?? state.sentence);
    state.set(changes);
    running.wake();
    drawAnswer();
    if (!running.model || answer.effects) return;
    while (!job.steps.next().done);
    job = null;
    draw();
  }

  /** The arrow keys go from tile to tile as they lie. */
  function move(event, name) {
    const by = { ArrowRight: 1, ArrowLeft: -1, ArrowDown: ACROSS, ArrowUp: -ACROSS }[event.key];
    const at = order.indexOf(name);
    const to = event.key === "Home" ? 0 : event.key === "End" ? order.length - 1 : at + by;
    if (event.ctrlKey || event.metaKey || event.altKey || !(to >= 0 || to < 0)) return;
    event.preventDefault();
    if (!order[to] || to === at) return;
    change({ chosen: order[to] });
    tiles.get(order[to]).element.focus();
  }

  /** Computed once, however often the figure is drawn; null while there is no model to do it. */
  function answerFor(words, heads) {
    const key = keyOf(words, heads);
    if (running.model && !answers.has(key)) answers.set(key, atWork(running.model, words, givenFor(words), heads));
    return answers.get(key) ?? null;
  }

  function givenFor(words) {
    const key = words.join(" ");
    if (!translations.has(key)) translations.set(key, engine.translate(running.model, key));
    return translations.get(key);
  }

  /** Measure head after head, between frames. */
  function measure() {
    if (answer.effects || job?.answer === answer || !running.model) return;
    const mine = { answer, steps: measured(running.model, answer, names) };
    job = mine;
    const step = () => {
      if (job !== mine) return;
      if (mine.steps.next().done) draw();
      else setTimeout(step);
    };
    afterFrame(step);
  }

  /** Entropy, distance and importance of each head; NaN for what a head that is off does not have. */
  function measures() {
    answer.measures ??= Object.fromEntries(
      names.map((name) => {
        const [map, off] = [answer.maps[name], answer.heads[name] === "off"];
        return [
          name,
          { entropy: off ? NaN : entropyOf(map, mayLookIn(partsOf(name).kind)), distance: off ? NaN : distanceOf(map) },
        ];
      }),
    );
    names.forEach((name, i) => (answer.measures[name].importance = answer.effects?.[i]));
    return answer.measures;
  }

  function sorted(found) {
    if (state.sort === "place") return names;
    if (state.sort === "importance" && !answer.effects) return order.length ? order : names;
    const sign = state.sort === "importance" ? -1 : 1;
    const key = (name) => (Number.isNaN(found[name][state.sort]) ? Infinity : sign * found[name][state.sort]);
    return [...names].sort((a, b) => key(a) - key(b) || 0);
  }

  function arrange(found) {
    const next = sorted(found);
    if (next.join() === order.join()) return;
    const elements = next.map((name) => tiles.get(name).element);
    const focused = elements.find((one) => one === document.activeElement);
    const place = () => tileBox.append(...elements);
    if (order.length) glide(elements, place);
    else place();
    order = next;
    focused?.focus();
  }

  /** The chosen head's map with its words, each kind of attention once for a sentence. */
  function large() {
    const { kind } = partsOf(state.chosen);
    const { source, written } = answer;
    const shape = JSON.stringify([source, written]);
    if (grids.shape !== shape) grids = { shape };
    const queries = kind === "encoder.self" ? source : written;
    const keys = kind === "decoder.self" ? ["<bos>", ...written.slice(0, -1)] : source;
    grids[kind] ??= matrixGrid({
      name: "weights",
      label: "weights of the chosen head, a row for each word that looks",
      rows: queries.map(readable),
      columns: keys.map(readable),
      showRows: true,
      showColumns: true,
    });
    if (gridBox.firstChild !== grids[kind].element) fill(gridBox, grids[kind].element);
    gridBox.style.setProperty("--rows", String(queries.length));
    gridBox.style.setProperty("--keys", String(keys.length));
    gridBox.classList.toggle("te-atlas-tight", keys.length > 7);
    gridBox.classList.toggle("te-atlas-many", queries.length > 9);
    grids[kind].update(answer.maps[state.chosen], { decimals: 2, colour: cividis, quiet: 0.05 });
    if (kind === "decoder.self") eachCell(grids[kind], (cell, row, column) => column > row && hide(cell));
  }

  const differs = () => text(answer.written).join() !== text(answer.then).slice(0, WRITTEN).join();
  const allOff = () => Object.values(answer.heads).every((how) => how === "off");

  /** What it takes to change a word: of this sentence, with what is switched off now; null until that is measured. */
  function finding() {
    const changed = plural(Object.keys(answer.heads).length, "head");
    const some = allOff() ? `Without ${changed}` : `With ${changed} changed`;
    const [was, is] = [text(answer.written), text(answer.then).slice(0, WRITTEN)];
    const others = was.flatMap((word, i) => (word === is[i] ? [] : [i]));
    if (others.length === 1 && was.length === is.length) {
      return [some, ", ", named(was[others[0]]), " becomes ", named(is[others[0]])];
    }
    if (differs()) return [some, " it writes something else"];
    const needed = names.filter((name, i) => answer.breaks?.[i] && answer.heads[name] !== "off").length;
    const now = needed ? `; but now ${needed} ${needed > 1 ? "others have" : "other has"} to stay` : "";
    if (changed[0] !== "0") return [`${some}, no word changes${now}`];
    if (!answer.breaks) return null;
    return [
      needed
        ? `${needed} of the ${names.length} heads cannot go: a word would change`
        : `Any one of the ${names.length} heads can go: no word changes`,
    ];
  }

  /** Whether a word would change without this head, as the others are. */
  const isNeeded = (name) =>
    Boolean(answer.breaks?.[names.indexOf(name)]) && answer.heads[name] !== "off" && !differs();

  /** Whether no word would change without this head, as the others are. */
  const isFree = (name) => answer.breaks?.[names.indexOf(name)] === false && answer.heads[name] !== "off" && !differs();

  /** What the chosen head does here, as measured. */
  function story(found) {
    const [name, how, map] = [state.chosen, answer.heads[state.chosen], answer.maps[state.chosen]];
    const who = bold(inWords(name).replace(/^./, (letter) => letter.toUpperCase()));
    if (how === "off") return [who, " adds nothing now. Choose another one, or switch it on again."];
    if (how === "uniform") return [who, " looks at all words alike now, whatever they are."];
    const [share, where] = mostWeight(map, partsOf(name).kind, answer);
    const largest = map.reduce((sum, row) => sum + Math.max(...row), 0) / map.length;
    const looks =
      share >= MOSTLY
        ? [" mostly looks ", ...where, `: ${format(share)} of its weight.`]
        : found[name].entropy >= EVENLY
          ? [" looks at all words nearly alike."]
          : largest >= SHARPLY
            ? [` looks at one word at a time, which gets ${format(largest)} of the weight in the mean.`]
            : [" divides its weight; the largest part, ", format(share), ", lies ", ...where, "."];
    if (!answer.breaks || differs()) return [who, ...looks];
    return [who, ...looks, ` Without it, ${answer.breaks[names.indexOf(name)] ? "a" : "no"} word changes.`];
  }

  /** What a control says at once; the rest in the next frame, if the model has to compute it. */
  function draw() {
    const { words, wrong } = line.read(state.sentence);
    sortList.set(state.sort);
    switches.set(state.heads[state.chosen] ?? "on");
    setOff(allOn, !Object.keys(state.heads).length);
    tiles.forEach((tile, name) => tile.choose(name === state.chosen));
    if (wrong || !running.model || answers.has(keyOf(words, state.heads))) drawAnswer();
    else figure.rest(drawAnswer);
  }

  function drawAnswer() {
    const { words, wrong } = line.read(state.sentence);
    answer = (wrong ? null : answerFor(words, state.heads)) ?? answer;
    const found = measures();
    arrange(found); // first: it asks where the tiles stand, before anything else has to be laid out
    if (painted !== answer) tiles.forEach((tile, name) => tile.paint(answer.maps[name]));
    painted = answer;
    tiles.forEach((tile, name) => {
      tile.show(answer.heads[name], found[name], state.sort, isNeeded(name), isFree(name));
    });
    large();
    fill(title, span("te-atlas-sign", KINDS[partsOf(state.chosen).kind].sign), ` ${inWords(state.chosen)}`);
    title.dataset.kind = partsOf(state.chosen).kind;
    Object.entries(numbers).forEach(([key, one]) => {
      const value = found[state.chosen][key];
      one.dataset.value = String(value);
      fill(one, value === undefined ? "…" : numberOf(key, value));
    });
    const same = text(answer.written);
    fill(
      writes,
      "It writes: ",
      ...text(answer.then)
        .slice(0, WRITTEN)
        .flatMap((word, i) => [i ? " " : "", word === same[i] ? word : h("b", { class: "te-atlas-other" }, word)]),
    );
    const says = finding();
    if (says) figure.says(...says);
    line.update(state.sentence, Boolean(wrong), isOpened());
    const instead = running.instead(wrong, !isOpened());
    fill(words_, ...(instead ?? story(found)));
    figure.tell(instead ? words_.textContent : `${writes.textContent}. ${words_.textContent} Sorted by ${state.sort}.`);
    if (!instead) measure();
  }
  const isOpened = () => state.sentence === opened && keyOf([], state.heads) === keyOf([], first.heads);

  const number = (key) =>
    div("te-atlas-number", numbers[key], span("te-note", key === "entropy" ? "entropy / ln n" : key));
  figure.stage.append(
    line.element,
    div(
      "te-atlas-body",
      tileBox,
      div("te-atlas-detail", title, gridBox, div("te-atlas-numbers", ...MEASURES.map(number))),
    ),
  );
  figure.controls.append(
    sortList.element,
    div("te-group te-atlas-switch", span("", "this head:"), switches.element),
    allOn,
    span("te-note", "✓ can go"),
    writes,
  );
  const words_ = figure.words(2);
  figure.rest(draw);
  figure.ask(questions());
  figure.details(
    "What the numbers are",
    paragraph(
      "te-note",
      "Entropy over ln n: how evenly a head looks, 0 for one word alone, 1 for all n alike; the " +
        "mean over the words that look. Distance: how many places from its own a head looks, the mean. Importance: by " +
        "how much the mean −ln p of a word of the translation rises when this head is switched off too; of a head that " +
        "is off, by how much it rose. The maps show the model while it is given its own translation, word by word, " +
        "with the heads as they are switched.",
    ),
  );

  function questions() {
    const evenest = () => {
      const found = measures();
      return names.reduce((most, name) => (found[name].entropy > (found[most].entropy || 0) ? name : most));
    };
    const shipped = state.model_file.name && REDUNDANT.every((name) => names.includes(name));
    const last = names.filter((name) => name.startsWith(names.at(-1).replace(/\d+$/, "")));
    const gone = () => Object.keys(answer.heads);
    const alone = (name) => {
      const { breaks, given } = answerFor(answer.source, {});
      return breaks ? breaks[names.indexOf(name)] : lost(running.model, given, allTo("off", [name])).breaks;
    };
    return [
      shipped && {
        ask: ["find two heads of which either can go, but not both"],
        done: () => running.model && gone().length === 2 && allOff() && differs() && !gone().some(alone),
        tell: ["Each tells it that the adjective belongs to a feminine noun. One is enough."],
        show: () => put({ sentence: WITH_REDUNDANT, heads: allTo("off", REDUNDANT), chosen: REDUNDANT[1] }),
      },
      {
        ask: ["find the head that looks around most evenly"],
        done: () => state.chosen === evenest(),
        tell: ["Near 1, a head does little more than average all words."],
        show: () => put({ chosen: evenest(), sort: "entropy" }),
      },
      shipped && {
        ask: ["switch off a row of heads and get another story"],
        done: () =>
          running.model &&
          gone().length &&
          new Set(gone().map((name) => name.replace(/\d+$/, ""))).size === 1 &&
          text(answer.then).filter((word) => text(answer.written).includes(word)).length <=
            text(answer.written).length / 2,
        tell: ["What the English says comes in there, in the last layer."],
        show: () => put({ heads: allTo("off", last), chosen: last[0], sort: "place" }),
      },
    ].filter(Boolean);
  }
  return state.dispose;
}

export default { render };
