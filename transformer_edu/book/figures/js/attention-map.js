import * as engine from "../../engine/js/engine.js";
import {
  bold,
  choice,
  cividis,
  div,
  eachCell,
  fill,
  format,
  frame,
  h,
  linkedWords,
  listed,
  mapMatrix,
  matrixGrid,
  modelOf,
  named,
  paragraph,
  plural,
  readable,
  select,
  sentenceLine,
  span,
  store,
  sumOf,
  toggle,
  VISIBLE,
} from "./core.js";

const ANSWER = /** @type {const} */ (["maps", "source_tokens", "target_tokens", "candidates"]);
const VIEW = /** @type {const} */ (["attention", "layer", "head", "token", "key", "source_name", "target_name"]);
const TRAITS = /** @type {const} */ ([...ANSWER, ...VIEW, "sentence", "line", "heads", "blocked", "model_file"]);
/** @typedef {Record<(typeof ANSWER)[number], any>} Answer */
/** @typedef {Record<(typeof VIEW)[number], any>} View */
const KINDS = { cross: "Cross", "encoder self": "Encoder self", "decoder self": "Decoder self" };
const BEGIN = "<bos>";
const END = "<eos>";
const SHARED = 0.25; // from here on a second word is looked at, too
const BEST = 5; // likeliest words
const IN_TITLE = 7; // words of an answer in the title
// Pixels for all words of a row beside the matrix, and for a letter of the usual and of the small size.
const [ROOM, LETTER, SMALL] = [340, 7.6, 6.6];
const FITS = 6; // letters of a word beside a row of the matrix

const PLACES = { cross: "decoder cross", "encoder self": "encoder self", "decoder self": "decoder self" };

const mapName = (kind, layer) => PLACES[kind].replace(" ", `.${layer}.`);
/** This attention in all layers. */
const roadOf = (kind) => PLACES[kind].replace(" ", ".");

/** Translate, and keep all that an attention looked at; of what is written as many words as the figure draws. */
function attentionOf(model, words, changes, most) {
  const { source, ids } = engine.translate(model, words.join(" "), { changes, most });
  const { maps, logits } = engine.forward(model, source, ids.slice(0, -1), changes);
  return {
    maps: Object.fromEntries(Object.entries(maps).map(([name, heads]) => [name, heads.map(engine.rowsOf)])),
    source_tokens: words,
    target_tokens: ids.slice(1).map(model.target.token),
    candidates: ids
      .slice(1)
      .map((_, i) => engine.likeliestWords(model, engine.probabilities(engine.rowOf(logits, i)), BEST)),
  };
}

/** What is written, without the end. */
const textOf = ({ target_tokens: words }) => words.filter((word) => word !== END);

/** The layers that have this kind of attention. */
function layersWith(maps, kind) {
  const pattern = new RegExp(`^${mapName(kind, "(\\d+)").replaceAll(".", "\\.")}$`);
  return Object.keys(maps)
    .flatMap((name) => pattern.exec(name)?.[1] ?? [])
    .map(Number)
    .sort((a, b) => a - b);
}

/** Weights (q_len, k_len): of the head, or the mean of all heads. */
function weightsOf(heads, head) {
  return head === null
    ? mapMatrix(heads[0], (_, i, j) => heads.reduce((sum, one) => sum + one[i][j], 0) / heads.length)
    : heads[head];
}

/**
 * The words that look, the words looked at, and what the rows mean. A decoder row is labelled by the word it writes.
 */
function sides({ attention, source_tokens: source, target_tokens: target, source_name: from, target_name: to }) {
  const written = [BEGIN, ...target.slice(0, -1)];
  return {
    cross: {
      queries: target,
      keys: source,
      above: `${from}: what it can look at`,
      below: `${to}: what it writes`,
      verb: "writes",
    },
    "decoder self": {
      queries: target,
      keys: written,
      above: `${to}: already written`,
      below: `${to}: what it writes`,
      verb: "writes",
    },
    "encoder self": {
      queries: source,
      keys: source,
      above: `${from}: what it can look at`,
      below: `${from}: what it reads`,
      verb: "reads",
    },
  }[attention];
}

/** "While it writes noir it looks at black 1.00." */
function sentence({ queries, keys, verb }, weights, query) {
  const ranked = keys
    .map((word, j) => [word, weights[j]])
    .filter(([, weight]) => weight >= VISIBLE)
    .sort((a, b) => b[1] - a[1]);
  const told = ranked.length > 5 ? ranked.slice(0, 4) : ranked;
  const rest = sumOf(weights) - told.reduce((sum, [, weight]) => sum + weight, 0);
  const parts = told.flatMap(([word, weight], i) => [
    i ? ", " : "",
    span("te-nowrap", named(word), ` ${format(weight)}`),
  ]);
  const start = [`While it ${verb} `, named(queries[query]), verb === "reads" ? " it looks at " : ", it looks at "];
  if (!told.length) return [...start, "nothing."];
  return [...start, ...parts, ranked.length > told.length ? `, the others together ${format(rest)}.` : "."];
}

/** Beside a word that is new, the one in whose place it stands; between two, what stood there: until the next. */
function keepGone(buttons, words, before) {
  const same = (from) => words.findIndex((_, i) => words.at(from(i)) !== before.at(from(i)));
  const [begin, end] = [same((i) => i), same((i) => -1 - i)];
  if (begin < 0 || end < 0) return;
  if (begin >= words.length - end) {
    // nothing new
    if (buttons[begin])
      buttons[begin].dataset.gone = before
        .slice(begin, before.length - end)
        .map(readable)
        .join(" ");
    return;
  }
  buttons.slice(begin, words.length - end).forEach((button, i) => {
    const gone = begin + i < before.length - end ? before[begin + i] : "";
    if (gone !== words[begin + i]) button.dataset.was = readable(gone);
  });
}

/** What stands at the row's place, in one plain line. */
function note({ attention, target_tokens: target }, query) {
  if (attention === "encoder self") return ["Every word may look at every word, earlier or later."];
  const input = named(query ? target[query - 1] : BEGIN);
  const given = query
    ? ["Its input here is ", input, attention === "cross" ? ", the word just written" : ", just written"]
    : ["Its input here is the sign ", input, ": nothing is written yet"];
  return [...given, attention === "cross" ? "." : "; later words are hidden."];
}

/** The places of the largest and the second largest weight. */
function firstTwo(row) {
  return [...row.keys()].sort((a, b) => row[b] - row[a]);
}

/** The matrix of weights. In decoder self-attention what is not yet written is hatched. */
function heatmap({ queries, keys }, attention, onSelect, onHover) {
  const grid = matrixGrid({
    name: "weights",
    label: "attention weights, a row for each word that looks",
    rows: queries.map(readable),
    columns: keys.map(readable),
    showRows: true,
    showColumns: true,
    onSelect,
  });
  grid.element.querySelectorAll(".te-cell").forEach((/** @type {HTMLElement} */ cell) => {
    const row = Number(cell.dataset.row);
    cell.addEventListener("pointerenter", (event) => event.pointerType === "mouse" && onHover(row));
  });
  grid.element.addEventListener("pointerleave", () => onHover(null));
  let drawn = "";
  return {
    element: grid.element,
    /** @param {number[][]} blocked  pairs that the reader has taken away */
    update(weights, row, blocked) {
      grid.highlight({ row });
      const look = JSON.stringify([weights, blocked]);
      if (look === drawn) return;
      drawn = look;
      grid.update(weights, { decimals: 2, colour: cividis, quiet: VISIBLE });
      eachCell(grid, (cell, i, j) => {
        if (blocked.some(([query, key]) => query === i && key === j)) hatch(cell, "blocked, 0");
        else if (attention === "decoder self" && j > i && weights[i][j] === 0) hatch(cell, "not yet written, 0");
      });
    },
  };
}

function hatch(/** @type {HTMLElement} */ cell, why) {
  cell.classList.replace("te-coloured", "te-blocked");
  cell.style.background = "";
  cell.textContent = "";
  cell.setAttribute("aria-label", cell.getAttribute("aria-label").replace(/:.*$/, `: ${why}`));
}

/** The likeliest next words of the chosen row. */
function candidateLine({ candidates, attention, target_tokens: target }, query) {
  const words = attention === "encoder self" ? undefined : candidates[query];
  if (!words) return [];
  return [
    "Likeliest words: ",
    ...words.flatMap(([word, probability], i) => [
      i ? " · " : "",
      h(
        "span",
        {
          class: `te-nowrap te-candidate${word === target[query] ? " te-map-said" : ""}`,
          dataset: { value: probability },
        },
        `${readable(word)} ${format(probability, 3)}`,
      ),
    ]),
  ];
}

/** Questions about the map that is open at first; those that it does not answer are left out. */
function questions(state, read, change, blocks) {
  const start = read();
  const word = start.parts.queries[state.token];
  const usual = firstTwo(start.weights[state.token])[0];
  const divided = (row) => row[firstTwo(row)[1]] >= SHARED;
  const example = start.weights.findIndex((row, i) => i !== state.token && divided(row));
  const name = mapName(state.attention, state.layer);
  const other = state.maps[name].findIndex((head) => firstTwo(head[state.token])[0] !== usual);
  const [attention, layer, token] = [state.attention, state.layer, state.token];
  return [
    example >= 0 &&
      !divided(start.weights[state.token]) && {
        ask: ["find a word that divides its attention between two words"],
        done: () => divided(read().weights[read().row]),
        tell: ["A weight is a share, not a choice: each row adds up to 1."],
        show: () => change({ attention, layer, head: null, token: example }),
      },
    state.head === null &&
      other >= 0 && {
        ask: ["find a single head in which ", named(word), " looks elsewhere"],
        done: () => {
          const { parts, weights, row } = read();
          const seen = parts.queries[row] === word ? weights[row] : null;
          return state.head !== null && state.attention === attention && seen && firstTwo(seen)[0] !== usual;
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

function render({ model: widget, el }) {
  const state = store(widget, TRAITS, draw);
  const runs = Boolean(state.model_file.sha256);
  const figure = frame(el, {
    name: "attention-map",
    label: "Where the model looks",
    says: [""],
    invite: runs
      ? ["choose another French word. Then type another sentence, or keep a word from looking."]
      : ["choose another word below, or point at a row of numbers. The thicker a line, the more attention."],
  });
  const running = runs ? modelOf(figure.root, () => engine.loadModel(widget, state.model_file), draw) : null;
  const kinds = Object.keys(KINDS).filter((kind) => layersWith(state.maps, kind).length);
  const answers = new Map();
  const taken = new Map(); // of a look that may not be: its two words when it was taken away
  let answer = opened(),
    whole = answer, // with nothing taken away
    hovered = null,
    [builtWords, builtLists] = ["", ""],
    parts,
    picture,
    matrix,
    lists;

  const first = { ...opened(), sentence: state.sentence, token: state.token };
  const line = runs
    ? sentenceLine({
        opened: first.source_tokens,
        ...state.line,
        wordsOf: engine.wordsOf,
        onChange: (sentence) => change({ sentence, blocked: [], key: null }),
        onAgain: () => startAgain({}),
      })
    : null;
  const pictureBox = div();
  const words = h("p", { class: "te-sentence te-words" });
  const remark = paragraph("te-note");
  const likely = paragraph("te-note te-candidates");
  const caption = div("te-caption", bold("weights"), span("", "a row for each word"));
  const matrixBox = div("te-map-matrix");
  const kindList =
    kinds.length > 1
      ? choice({
          label: "Which attention",
          value: state.attention,
          onChange: (attention) => change({ attention, key: null }),
          options: kinds.map((kind) => ({ value: kind, content: [KINDS[kind]] })),
        })
      : null;
  const layerBox = div(),
    headBox = div();
  const how = select({
    label: "heads shown",
    value: "",
    options: [
      ["", "as trained"],
      ["off", "off"],
      ["uniform", "look at all alike"],
    ].map(([value, label]) => ({ value, label })),
    onChange: (kind) => {
      const heads = Object.fromEntries(Object.entries(state.heads).filter(([name]) => !headsShown().includes(name)));
      change({ heads: kind ? { ...heads, ...Object.fromEntries(headsShown().map((name) => [name, kind])) } : heads });
    },
  });
  const block = toggle({
    label: [],
    value: false,
    onChange: (on) => {
      const [query, key] = pair();
      const { queries, keys } = parts;
      if (on) taken.set(String([roadOf(state.attention), query, key]), [queries[query], keys[key]]);
      change(blocking(query, key, on));
    },
  });

  function opened() {
    return /** @type {Answer} */ (Object.fromEntries(ANSWER.map((name) => [name, state[name]])));
  }
  const isChanged = () => state.blocked.length > 0 || Object.keys(state.heads).length > 0;
  const isOpened = () => state.sentence === first.sentence && !isChanged();

  function headsShown() {
    const name = mapName(state.attention, state.layer);
    return answer.maps[name].map((_, i) => `${name}.${i}`).filter((_, i) => state.head === null || state.head === i);
  }

  /** The changed state in which one query may not look at one key, or may again. */
  function blocking(query, key, on) {
    const road = roadOf(state.attention);
    const others = state.blocked.filter(([name, i, j]) => name !== road || i !== query || j !== key);
    return { key, blocked: on ? [...others, [road, query, key]] : others };
  }
  const blockedHere = () =>
    state.blocked.filter(([road]) => road === roadOf(state.attention)).map(([, query, key]) => [query, key]);

  /** The chosen word, and the one of which the switch speaks: clicked, or blocked, or looked at most. */
  function pair() {
    const { weights, row } = read();
    const may = (key) =>
      key !== null && key < weights[row].length && (state.attention !== "decoder self" || key <= row);
    const gone = blockedHere().find(([query]) => query === row);
    return [row, may(state.key) ? state.key : gone ? gone[1] : firstTwo(weights[row])[0]];
  }

  /** The two words of a look that was taken away: without it, another word may stand in its place. */
  function wordsOf(query, key) {
    const { queries, keys } = sides({ ...now(), ...whole });
    return taken.get(String([roadOf(state.attention), query, key])) ?? [queries[query] ?? "?", keys[key] ?? "?"];
  }

  /** Change the state, and keep layer, head and word within what there is. */
  function change(changes) {
    const next = { ...Object.fromEntries(VIEW.map((name) => [name, state[name]])), ...changes };
    const layers = layersWith(state.maps, next.attention);
    if (!layers.includes(next.layer)) changes.layer = next.layer = layers.at(-1);
    const heads = answer.maps[mapName(next.attention, next.layer)];
    if (next.head !== null && next.head >= heads.length) changes.head = null;
    if (!("sentence" in changes) && next.token >= heads[0].length) changes.token = heads[0].length - 1;
    hovered = null;
    if ("sentence" in changes) taken.clear();
    state.set(changes);
    running?.wake();
  }

  /** What it opened with, with some changes. */
  function startAgain(changes) {
    line.set(first.sentence);
    change({ sentence: first.sentence, heads: {}, blocked: [], key: null, token: first.token, ...changes });
  }

  const choose = (token, key = null) => (token !== state.token || key !== state.key) && change({ token, key });
  const hover = (token) => {
    if (hovered === token) return;
    hovered = token;
    show();
  };
  const read = () => {
    const weights = weightsOf(answer.maps[mapName(state.attention, state.layer)], state.head);
    return { parts: sides(now()), weights, row: Math.min(state.token, weights.length - 1) };
  };
  const now = () =>
    /** @type {Answer & View} */ ({ ...answer, ...Object.fromEntries(VIEW.map((name) => [name, state[name]])) });

  /** Computed once, however often it is drawn; null while there is no model to do it. */
  function answerTo(words, heads, blocked) {
    if (words.join(" ") === first.source_tokens.join(" ") && !blocked.length && !Object.keys(heads).length) {
      return opened();
    }
    const key = JSON.stringify([words, heads, blocked]);
    if (running.model && !answers.has(key)) {
      answers.set(key, attentionOf(running.model, words, { heads, blocked }, state.line.most));
    }
    return answers.get(key) ?? null;
  }

  function compute() {
    if (!runs) {
      answer = whole = opened();
      return null;
    }
    const { words, wrong } = line.read(state.sentence);
    const found = wrong ? null : answerTo(words, state.heads, state.blocked);
    if (found) [answer, whole] = [found, answerTo(words, {}, [])];
    return wrong;
  }

  function rebuild() {
    const before = parts?.of === state.attention ? parts.queries : null;
    parts = { ...sides(now()), of: state.attention };
    const layers = layersWith(answer.maps, state.attention);
    const heads = answer.maps[mapName(state.attention, state.layer)];
    const ofWords = JSON.stringify([state.attention, parts.queries, parts.keys]);
    const ofLists = JSON.stringify([state.attention, layers, heads.length]);
    if (ofWords !== builtWords) buildWords(before);
    if (ofLists !== builtLists) buildLists(layers, heads);
    [builtWords, builtLists] = [ofWords, ofLists];
  }

  /** @param {string[] | null} before  the words that stood below, of the same kind of attention */
  function buildWords(before) {
    const { queries, keys } = parts;
    picture = linkedWords(parts, {
      chosen: state.token,
      onChoose: (token) => choose(token),
      onHover: hover,
      onKey: (j) =>
        line && state.attention !== "decoder self"
          ? line.choose(answer.source_tokens, j)
          : choose(firstTwo(read().weights.map((row) => row[j]))[0]),
    });
    const longest = (row) => Math.max(...row.map((word) => readable(word).length));
    const tooWide = (row, letter) => row.length > 8 || letter * longest(row) > ROOM / row.length;
    for (const [row, kind] of [
      [keys, "keys"],
      [queries, "queries"],
    ]) {
      const { classList } = picture.element.querySelector(`.te-link-${kind}`);
      classList.toggle("te-map-crowded", tooWide(row, SMALL));
      classList.toggle("te-map-small", tooWide(row, LETTER));
    }
    if (before) keepGone(picture.written, parts.queries, before);
    matrix = heatmap(parts, state.attention, choose, hover);
    matrix.element.classList.toggle("te-map-narrow", tooWide(keys, LETTER) || longest(queries) > FITS);
    matrixBox.style.setProperty("--rows", String(queries.length));
    fill(pictureBox, picture.element);
    fill(matrixBox, matrix.element);
  }

  function buildLists(layers, heads) {
    const layerList = select({
      label: "layer",
      value: String(state.layer),
      options: layers.map((layer) => ({ value: String(layer), label: String(layer + 1) })),
      onChange: (layer) => change({ layer: Number(layer) }),
    });
    const headList = select({
      label: "head",
      value: String(state.head),
      options: [
        { value: "null", label: `mean of ${heads.length}` },
        ...heads.map((_, i) => ({ value: String(i), label: String(i + 1) })),
      ],
      onChange: (head) => change({ head: JSON.parse(head) }),
    });
    fill(layerBox, layers.length > 1 ? layerList.element : null);
    fill(headBox, heads.length > 1 ? headList.element : null);
    lists = [layerList, headList];
  }

  /** What the model computes without, in a few words. */
  function without() {
    const kindsOf = Object.entries(state.heads);
    const off = kindsOf.filter(([, kind]) => kind === "off").length;
    const even = kindsOf.length - off;
    if (state.blocked.length === 1 && !kindsOf.length && state.blocked[0][0] === roadOf(state.attention)) {
      const [query, key] = wordsOf(...state.blocked[0].slice(1));
      return ["Without ", named(query), " → ", named(key)];
    }
    const gone = [off && plural(off, "head"), state.blocked.length && plural(state.blocked.length, "look")];
    const told = listed(gone.filter(Boolean).map((one) => [one]));
    return [
      ...(told.length ? ["Without ", ...told] : []),
      ...(even ? [`${told.length ? ", " : "With "}${plural(even, "head")} looking at all alike`] : []),
    ];
  }

  function finding(weights, row) {
    const written = textOf(answer);
    if (isChanged() && running.model) {
      if (written.join() === textOf(whole).join()) return [...without(), ", it writes the same"];
      const some = written.slice(0, IN_TITLE).join(" ") + (written.length > IN_TITLE ? " …" : "");
      return [...without(), ": ", h("i", {}, some || "nothing")];
    }
    const [most] = firstTwo(weights[row]);
    return [named(parts.queries[row]), " looks at ", weights[row][most] ? named(parts.keys[most]) : "nothing"];
  }

  /** Everything that depends on the word pointed at. */
  function show() {
    const { weights, row: chosen } = read();
    const row = Math.min(hovered ?? chosen, weights.length - 1);
    figure.says(...finding(weights, row));
    picture.update(weights, chosen, row);
    matrix.update(weights, row, blockedHere());
    figure.rest(() => {
      fill(words, ...(running?.instead(trouble, !isOpened()) ?? sentence(parts, weights[row], row)));
      fill(
        remark,
        ...(isChanged() && running.model
          ? ["With all its parts: ", h("i", {}, textOf(whole).join(" ")), "."]
          : note(now(), row)),
      );
      fill(likely, ...candidateLine(now(), row));
      if (runs) drawChanges();
      if (hovered === null) tell();
    });
  }

  let trouble = null; // with what the reader typed

  function draw() {
    trouble = compute();
    rebuild();
    show();
    kindList?.set(state.attention);
    lists[0].set(String(state.layer));
    lists[1].set(String(state.head));
  }

  function tell() {
    const text =
      `${KINDS[state.attention]} attention, layer ${state.layer + 1}, ` +
      `${state.head === null ? "mean of heads" : `head ${state.head + 1}`}. ${words.textContent}`;
    const title = isChanged() ? `${figure.root.querySelector(".te-says").textContent}. ` : "";
    figure.tell(`${isOpened() ? "" : `${textOf(answer).join(" ")}. `}${title}${text}`);
  }

  function drawChanges() {
    line.update(state.sentence, Boolean(trouble), isOpened());
    const of = new Set(headsShown().map((name) => state.heads[name] ?? ""));
    how.set(of.size === 1 ? [...of][0] : null);
    const [query, key] = pair();
    const isGone = blockedHere().some(([i, j]) => i === query && j === key);
    const [who, whom] = isGone ? wordsOf(query, key) : [parts.queries[query], parts.keys[key]];
    block.set(isGone);
    fill(block.element.lastElementChild, named(who), " may not look at ", named(whom));
  }

  /** For the question: the first look without which something else is written. */
  const blocks = runs &&
    layersWith(state.maps, "cross").length && {
      matters: () => running.model && state.blocked.length > 0 && textOf(answer).join() !== textOf(whole).join(),
      show: () =>
        running.whenReady(() => {
          const weights = weightsOf(first.maps[mapName("cross", layersWith(first.maps, "cross").at(-1))], null);
          const found = weights
            .map((row, i) => ["decoder.cross", i, firstTwo(row)[0]])
            .find((look) => textOf(answerTo(first.source_tokens, {}, [look])).join() !== textOf(first).join());
          if (found) startAgain({ attention: "cross", token: found[1], key: found[2], blocked: [found] });
        }),
    };

  figure.stage.append(
    ...[line?.element].filter(Boolean),
    div(
      "te-map-body",
      div("te-map-left", pictureBox, div("te-map-words", words, remark)),
      div("te-map-right", caption, matrixBox, likely),
    ),
  );
  figure.controls.append(
    ...[
      kindList?.element,
      div("te-group", layerBox, headBox),
      runs && div("te-group te-map-changes", how.element, block.element),
    ].filter(Boolean),
  );
  draw();
  figure.ask(questions(state, read, runs ? startAgain : change, blocks));
  return state.dispose;
}

export default { render };
