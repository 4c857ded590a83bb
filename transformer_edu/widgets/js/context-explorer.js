import { asToken, bold, changeAnnouncer, choice, div, diverging, dot, fill, format, h, matrixGrid, mount, paragraph,
  select, span, store, svg } from "./core.js";

const TRAITS = ["vectors", "first", "second", "pair"];
const GIVEN = 2; // levels before the first layer: embedding, + position
const FAR = 0.9; // a cosine below this: two directions
const NEAR = 0.98; // above: hardly moved
const STRIP = 24; // height of a strip in its own units, a number is one unit wide
const TALLEST = 2; // a number of this size, or larger, reaches the edge of its strip

const textOf = (state, which) => state.vectors.sentences[state[which]];
const quoted = (words) => `“${words.join(" ")}”`;

/** The vector of the word at this place of a sentence. */
function vectorAt({ vectors: { embeddings, positions, layers, sentences, unit } }, sentence, level, place) {
  if (level >= GIVEN) return layers[sentence][level - GIVEN][place].map((number) => number * unit);
  return embeddings[sentences[sentence][place]].map((number, i) => (number + (level ? positions[place][i] : 0)) * unit);
}

/** A word's two vectors at one level, and how far they are apart. */
function compare(state, [a, b], level) {
  const [one, other] = [vectorAt(state, state.first, level, a), vectorAt(state, state.second, level, b)];
  const [lengthOne, lengthOther] = [Math.hypot(...one), Math.hypot(...other)];
  const difference = one.map((value, i) => value - other[i]);
  const distance = Math.hypot(...difference);
  return {
    one,
    other,
    difference,
    distance,
    cosine: dot(one, other) / (lengthOne * lengthOther),
    relative: (2 * distance) / (lengthOne + lengthOther),
  };
}

/** Places of every word that both sentences have, each occurrence with each. */
function pairsOf(first, second) {
  return first.flatMap((word, a) => second.flatMap((other, b) => (word === other ? [
    [a, b]
  ] : [])));
}

const same = (one, other) => one[0] === other[0] && one[1] === other[1];

/** "the", or "the 1|4" where it stands at different places. */
function pairLabel(words, [a, b]) {
  return a === b ? words[a] : `${words[a]} ${a + 1}|${b + 1}`;
}

/** A strip of numbers as small bars, up for plus and down for minus. */
function strip(label) {
  const drawing = svg(
    "svg", { class: "te-ctx-bars", preserveAspectRatio: "none", "aria-hidden": "true", focusable: "false" }
  );
  return {
    element: h("div", { class: "te-ctx-strip", dataset: { strip: label } }, span("te-ctx-name", label), drawing),
    update(values) {
      drawing.setAttribute("viewBox", `0 0 ${values.length} ${STRIP}`);
      fill(drawing, svg("rect", {
        class: "te-ctx-axis",
        x: 0,
        y: STRIP / 2 - 0.3,
        width: values.length,
        height: 0.6,
      }), ...values.flatMap((value, i) => {
        const share = Math.min(Math.abs(value) / TALLEST, 1),
          size = (share * STRIP) / 2;
        const sign = value < 0 ? "te-ctx-minus" : "te-ctx-plus";
        return [
          svg("rect", { class: sign, x: i, width: 1, y: 0, height: STRIP, "fill-opacity": (0.5 * share).toFixed(3) }),
          svg("rect", {
            class: sign,
            x: i + 0.1,
            width: 0.8,
            y: value < 0 ? STRIP / 2 : STRIP / 2 - size,
            height: size,
            "data-value": value,
          }),
        ];
      }));
    },
  };
}

/** One level: both vectors, their difference, and three measures. */
function levelBlock(name) {
  const strips = [strip("first"), strip("second"), strip("difference")];
  const measure = (key, text) => {
    const value = h("b", { dataset: { measure: key } });
    return { element: div("te-ctx-measure", span("te-label", text), value), value };
  };
  const [cosine, distance] = [measure("cosine", "cosine"), measure("distance", "distance")];
  const share = div("te-label te-ctx-share");
  return {
    element: h("div", { class: "te-ctx-level", role: "group", "aria-label": name },
      div("te-ctx-title", bold(name)), div("te-ctx-strips", ...strips.map((one) => one.element)),
      div("te-ctx-measures", cosine.element, distance.element, share)),
    update(values) {
      strips[0].update(values.one);
      strips[1].update(values.other);
      strips[2].update(values.difference);
      [cosine.value.dataset.value, distance.value.dataset.value] = [values.cosine, values.distance];
      fill(cosine.value, format(values.cosine, 3));
      fill(distance.value, format(values.distance));
      fill(share, `${format(100 * values.relative, 0)} % of length`);
    },
  };
}

/** What one sees, in words. */
function story(state, values) {
  const [first, second] = [textOf(state, "first"), textOf(state, "second")];
  const [a, b] = state.pair;
  const word = asToken(first[a]);
  const last = values.at(-1);
  if (state.first === state.second && a === b) {
    return ["Both strips are the same ", word, " of the same sentence: nothing differs. Choose another sentence."];
  }
  const start = ["In both sentences ", word, " starts from one embedding. "];
  const place = a === b ? "It stands at the same place, so adding the position changes nothing. " :
    `It is word ${a + 1} here and word ${b + 1} there: the position alone takes the cosine to ` +
    `${format(values[1].cosine, 3)}. `;
  const through = "After the layers the cosine is " +
    `${values.slice(GIVEN).map(({ cosine }) => format(cosine, 3)).join(", then ")}. `;
  const verdict = last.cosine < FAR ? "The encoder has made two vectors of one word." : last.cosine > NEAR
    ? "For this word the other sentence hardly makes a difference."
    : "The other sentence has moved it a little.";
  return [...start, place, through, bold(verdict)];
}

function render({ model, el }) {
  const root = mount(el, "context-explorer", "One word in two sentences");
  const announce = changeAnnouncer(root);
  const state = store(model, TRAITS, draw);
  const { levels, sentences, translations } = state.vectors;
  let built = "",
    grid, chooser, pairs = [];
  const options = sentences.map((words, i) => ({ value: String(i), label: words.join(" ") }));
  const lists = ["first", "second"].map((which) => select({
    label: `${which} sentence`,
    value: String(state[which]),
    options,
    onChange: (value) => changeSentence(which, Number(value)),
  }));
  const french = ["first", "second"].map(() => span("te-note"));
  const chooserBox = div(),
    gridBox = div();
  const blocks = levels.map(levelBlock);
  const words = paragraph("te-sentence");

  /** Another sentence: keep the word if both have it, else take the one that ends up furthest apart. */
  function changeSentence(which, value) {
    const next = { vectors: state.vectors, first: state.first, second: state.second, [which]: value };
    const word = textOf(state, "first")[state.pair[0]];
    const found = pairsOf(sentences[next.first], sentences[next.second]);
    const kept = found.filter(([a]) => sentences[next.first][a] === word);
    const end = (pair) => compare(next, pair, levels.length - 1).cosine;
    const pair = (kept.length ? kept : found).reduce((best, one) => (end(one) < end(best) ? one : best));
    state.set({
      [which]: value,
      pair
    });
  }
  const choosePair = (index) => !same(pairs[index], state.pair) && state.set({ pair: pairs[index] });

  function rebuild() {
    const key = `${state.first} ${state.second}`;
    if (key === built) return;
    built = key;
    const first = textOf(state, "first");
    pairs = pairsOf(first, textOf(state, "second"));
    const names = pairs.map((pair) => pairLabel(first, pair));
    chooser = choice({
      label: "Word in both sentences",
      value: 0,
      onChange: choosePair,
      options: names.map(
        (name, i) => ({ value: i, content: [name] })
      )
    });
    grid = matrixGrid({
      name: "cosines",
      label: "cosine of each word's two vectors, by level",
      rows: names,
      columns: levels,
      showRows: true,
      showColumns: true,
      onSelect: choosePair,
    });
    const cosines = pairs.map((pair) => levels.map((_, level) => compare(state, pair, level).cosine));
    grid.update(cosines, { decimals: 2, colour: (cosine) => diverging(Math.min(1, 2 * (1 - cosine))) });
    fill(chooserBox, chooser.element);
    fill(gridBox, grid.element);
  }

  function draw() {
    rebuild();
    const chosen = pairs.findIndex((pair) => same(pair, state.pair));
    const values = levels.map((_, level) => compare(state, state.pair, level));
    lists.forEach((list, i) => list.set(String([state.first, state.second][i])));
    french.forEach((note, i) => fill(note, "→ ", h("i", {}, translations[[state.first, state.second][i]])));
    chooser.set(chosen);
    grid.highlight({ row: chosen });
    blocks.forEach((block, level) => block.update(values[level]));
    fill(words, ...story(state, values));
    const text = `${pairLabel(textOf(state, "first"), state.pair)}, in ${quoted(textOf(state, "first"))} and ` +
      `${quoted(textOf(state, "second"))}. ${words.textContent}`;
    announce(text);
  }

  root.append(
    paragraph("te-ctx-lead", "One word in two sentences: one embedding goes in, two vectors come out ", span(
      "te-label te-nowrap", "Choose a word."
    )),
    div("te-ctx-sentences", ...lists.flatMap((list, i) => [list.element, french[i]])),
    div("te-ctx-words", span("te-label", "word in both"), chooserBox),
    div("te-ctx-body", div("te-ctx-levels", ...blocks.map((one) => one.element)),
      div("te-ctx-right", div("te-caption", bold("cosine"), span("", "of every shared word")), gridBox, words,
        paragraph("te-note",
          `A strip shows the ${state.vectors.positions[0].length} numbers of a vector: up is plus, down is minus, ` +
          `the edge is ${TALLEST} or more. “Of length”: the distance divided by the mean length of the two vectors.`,
        ))),
  );
  draw();
  return state.dispose;
}

export default { render };
