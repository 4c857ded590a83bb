import * as engine from "../../engine/js/engine.js";
import {
  asToken,
  bold,
  choice,
  div,
  fill,
  format,
  frame,
  h,
  paragraph,
  sentenceLine,
  sketch,
  span,
  store,
  svg,
  toggle,
} from "./core.js";

const TRAITS = ["text", "token", "without", "weights"];
const LETTERS = "abcdefghijklmnopqrstuvwxyz";
const [FEWEST, MOST, BEST] = [2, 24, 5];
const CHANCE = 1 / LETTERS.length;
const HIGH = 40; // of a drawing of arcs, in its own units; it is 100 wide
const [SEEN, NEW] = [0.03, 0.005]; // an arc below is not drawn; a change below is not told
const [SURE, LOST] = [0.5, 0.1]; // of a copied letter: it is copied; it is not
const STANDS_OUT = 0.25; // of another letter
const SWITCHES = ["layer 1: the head that looks one back", "layer 2: the head that copies"];

const lettersOf = (text) => [...text.replace(/\s+/g, "")];
const place = (i, count) => (100 * (i + 0.5)) / count;

/** The weights, as a tree of parts: model.decoder.layers[0].self_attention … @param {string} base64 */
function readCopier(base64) {
  const { tensors } = engine.readSafetensors(Uint8Array.from(atob(base64), (one) => one.charCodeAt(0)));
  const model = {};
  for (const [name, tensor] of Object.entries(tensors)) {
    const path = name.split(".");
    const last = path.pop();
    path.reduce((tree, key) => (tree[key] ??= {}), model)[last] = tensor;
  }
  return model;
}

/** Each row turned by its position: entries 2i and 2i + 1 by the angle p · 10000^(−2i / d). */
function rotated(x) {
  const y = engine.matrix(x.rows, x.columns);
  for (let p = 0; p < x.rows; p += 1) {
    const [from, to] = [engine.rowOf(x, p), engine.rowOf(y, p)];
    for (let i = 0; i < x.columns; i += 2) {
      const angle = p * 10000 ** (-i / x.columns);
      const [sin, cos] = [Math.sin(angle), Math.cos(angle)];
      to[i] = from[i] * cos - from[i + 1] * sin;
      to[i + 1] = from[i] * sin + from[i + 1] * cos;
    }
  }
  return y;
}

/** Two layers of one head each, pre-norm: probabilities of the next letter and weights, a row for each letter. */
function run(model, letters, without) {
  let x = engine.matrix(letters.length, model.embedding.weight.columns);
  letters.forEach((letter, i) => engine.rowOf(x, i).set(engine.rowOf(model.embedding.weight, LETTERS.indexOf(letter))));
  const maps = Object.values(model.decoder.layers).map((layer, index) => {
    const part = layer.self_attention;
    const normed = engine.layerNorm(x, layer.self_attention_residual.norm);
    const [q, k] = ["query", "key"].map((name) => rotated(engine.linear(normed, part[`${name}_projection`])));
    const v = engine.linear(normed, part.value_projection);
    const { output, weights } = engine.scaledDotProductAttention(q, k, v, (i, j) => j <= i, 1 / Math.sqrt(q.columns));
    const head = without.includes(index) ? engine.matrix(output.rows, output.columns) : output;
    x = engine.sum(x, engine.linear(head, part.output_projection));
    return engine.rowsOf(weights);
  });
  const logits = engine.project(engine.layerNorm(x, model.decoder.final_norm), model.projection.linear);
  return { maps, p: engine.rowsOf(engine.softmaxRows(logits)) };
}

const largest = (row) => row.indexOf(Math.max(...row));

/** What the chosen letter sees and the model expects after it; `copy`: the place of what followed it last time. */
function derive({ token, without }, letters, model) {
  const { maps, p } = run(model, letters, without);
  const at = Math.min(token, letters.length - 1);
  const before = letters.lastIndexOf(letters[at], at - 1);
  const copy = at > 0 && before >= 0 ? before + 1 : null;
  const [first, second] = [maps[0], maps[1][at]];
  const seen = largest(second);
  return {
    at,
    copy,
    seen,
    second,
    first: first[seen],
    p: p[at],
    chosen: letters[at],
    copied: copy === null ? null : letters[copy],
    pCopied: copy === null ? null : p[at][LETTERS.indexOf(letters[copy])],
  };
}

/** What is wrong with what was typed; null if nothing is. */
function refusal(letters) {
  const strange = letters.find((letter) => !LETTERS.includes(letter));
  if (strange) return [asToken(strange), " is none of the letters a to z that it knows. The picture stays."];
  if (letters.length >= FEWEST && letters.length <= MOST) return null;
  return [`${FEWEST} to ${MOST} letters, please: there are ${letters.length}. The picture stays.`];
}

/** Arcs from one letter to those that a head looks at, above the letters or (`below`) under them. */
function arcs(name, count, below) {
  const paths = Array.from({ length: count }, (_, j) =>
    svg("path", { class: "te-copy-arc te-glide", "vector-effect": "non-scaling-stroke", dataset: { key: j } }),
  );
  const drawing = sketch("te-copy-arcs", `0 0 100 ${HIGH}`, ...paths);
  drawing.setAttribute("preserveAspectRatio", "none");
  drawing.dataset.arcs = name;
  return {
    element: drawing,
    /** @param {number[]} weights of all keys @param {number} from @param {boolean} off the head is away */
    update(weights, from, off) {
      drawing.classList.toggle("te-copy-off", off);
      paths.forEach((path, j) => {
        const weight = weights[j];
        const [x, to] = [place(from, count), place(j, count)];
        const reach = Math.min(HIGH - 3, 10 + Math.abs(x - to) * 0.9) * 1.3;
        const [y, top] = below ? [0, reach] : [HIGH, HIGH - reach];
        const bend = from === j ? 40 / count : 0; // a look at itself is a loop
        path.setAttribute("d", `M ${x} ${y} C ${x + bend} ${top}, ${to - bend} ${top}, ${to} ${y}`);
        path.dataset.value = String(weight);
        path.style.strokeWidth = `${weight < SEEN ? 0 : (1 + 7 * weight).toFixed(2)}px`;
        path.style.opacity = weight < SEEN ? "0" : (0.35 + 0.65 * weight).toFixed(3);
      });
    },
  };
}

/** The copied letter and the likeliest others; how probable each was before the last action. */
function bars() {
  const rows = Array.from({ length: BEST }, () => {
    const [letter, inside, number, was] = [bold(), span("te-copy-fill te-glide"), span("te-number"), span("te-note")];
    const track = h("span", { class: "te-copy-track", "aria-hidden": "true" }, inside);
    return { letter, inside, number, was, element: div("te-copy-bar", letter, track, number, was) };
  });
  let before = null;
  return {
    element: h(
      "div",
      { class: "te-copy-bars", role: "group", "aria-label": "next letters" },
      ...rows.map((row) => row.element),
    ),
    /** @param {number[]} p of all letters @param {string | null} copied */
    update(p, copied) {
      const worth = (index) => (LETTERS[index] === copied ? 1 : 0) + p[index]; // the copy first, where it stays
      const best = [...p.keys()].sort((a, b) => worth(b) - worth(a)).slice(0, BEST);
      rows.forEach((row, i) => {
        const [index, letter] = [best[i], LETTERS[best[i]]];
        row.letter.textContent = letter;
        row.element.dataset.letter = letter;
        row.number.dataset.value = String(p[index]);
        row.number.textContent = format(p[index]);
        row.inside.style.width = `${100 * p[index]}%`;
        row.element.classList.toggle("te-copy-copied", letter === copied);
        const moved = before && Math.abs(before[index] - p[index]) >= NEW;
        row.was.textContent = moved ? `was ${format(before[index])}` : "";
      });
      before = p;
    },
  };
}

/** The finding, for this letter and these heads. */
function finding({ chosen, copied, pCopied, p }, without) {
  if (copied === null) return [asToken(chosen), " is new here: there is nothing to copy"];
  const away = `Without the head of layer\u00a0${without.map((layer) => layer + 1).join(" and ")}, `;
  const best = largest(p);
  if (without.length && LETTERS[best] !== copied) {
    return p[best] < STANDS_OUT
      ? [away, "no letter stands out"]
      : [away, "it expects ", asToken(LETTERS[best]), " in place of ", asToken(copied)];
  }
  if (without.length) return [away, "it still expects ", asToken(copied)];
  if (pCopied < SURE) return [asToken(chosen), " was there before, but it is not sure of the copy"];
  return ["It looks at what followed ", asToken(chosen), " last time, and expects it again"];
}

/** Where both heads look, and what the copy gets. */
function story({ at, chosen, copied, pCopied, seen, second, first }, letters, without) {
  const back = largest(first);
  const vain = (layer) => (without.includes(layer) ? ", to no effect" : "");
  const looks = [
    "From ",
    asToken(chosen),
    ` (letter ${at + 1}) layer 2 looks most at `,
    asToken(letters[seen]),
    ` (letter ${seen + 1}), ${format(second[seen])}${vain(1)}. From there layer 1 looked most at `,
    asToken(letters[back]),
    ` (letter ${back + 1}), ${format(first[back])}${vain(0)}. `,
  ];
  const chance = `with 26 letters alike, each has ${format(CHANCE)}.`;
  if (copied === null) return [...looks, asToken(chosen), ` was not there before; ${chance}`];
  const number = h("b", { class: "te-number", dataset: { value: pCopied } }, format(pCopied));
  return [...looks, asToken(copied), " followed ", asToken(chosen), " last time: it gets ", number, `; ${chance}`];
}

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

function render({ model: widget, el }) {
  const figure = frame(el, {
    name: "induction",
    label: "Copy what followed last time",
    says: [""],
    invite: ["take the head of layer 2 away. Then type letters of your own that repeat."],
  });
  const state = store(widget, TRAITS, draw);
  const copier = readCopier(state.weights);
  const start = { text: state.text, token: state.token };
  let [letters, built] = [refusal(lettersOf(state.text)) ? [...LETTERS].slice(0, MOST) : lettersOf(state.text), ""];
  let values, row, above, under;
  const line = sentenceLine({
    opened: state.text.split(/\s+/),
    kinds: {},
    most: MOST,
    language: "",
    wordsOf: lettersOf,
    onChange: (text) => {
      const typed = lettersOf(text);
      state.set(refusal(typed) ? { text } : { text, token: typed.length - 1 });
    },
    onAgain: () => state.set({ ...start, without: [] }),
  });
  const box = div("te-copy-row");
  const expected = bars();
  const switches = SWITCHES.map((name, layer) =>
    toggle({
      label: [name],
      value: true,
      onChange: (on) =>
        state.set({ without: on ? state.without.filter((one) => one !== layer) : [...state.without, layer].sort() }),
    }),
  );
  const next = div("te-label te-copy-next", "what it expects next: the copy ↩ and the likeliest others");
  figure.stage.append(line.element, box, next, expected.element);
  figure.controls.append(...switches.map((one) => one.element));
  const words = figure.words(3);

  function rebuild() {
    if (built === letters.join("")) return;
    built = letters.join("");
    [above, under] = [arcs("layer-2", letters.length, false), arcs("layer-1", letters.length, true)];
    row = choice({
      label: "after which letter",
      class: "te-copy-letters",
      value: values.at,
      options: letters.map((letter, i) => ({ value: i, content: [letter], label: `letter ${i + 1}, ${letter}` })),
      onChange: (token) => token !== state.token && state.set({ token }),
    });
    fill(
      box,
      div("te-label", "layer 2: from the chosen letter"),
      above.element,
      row.element,
      under.element,
      div("te-label", "layer 1: from the letter that layer 2 looks at most"),
    );
  }

  function draw() {
    const typed = lettersOf(state.text);
    const wrong = refusal(typed);
    if (!wrong) letters = typed;
    values = derive(state, letters, copier);
    rebuild();
    row.set(values.at);
    row.buttons.forEach((one, i) => one.classList.toggle("te-copy-source", i === values.copy));
    above.update(values.second, values.at, state.without.includes(1));
    under.update(values.first, values.seen, state.without.includes(0));
    expected.update(values.p, values.copied);
    switches.forEach((one, layer) => one.set(!state.without.includes(layer)));
    line.update(
      state.text,
      wrong !== null,
      state.text === start.text && !state.without.length && state.token === start.token,
    );
    figure.says(...finding(values, state.without));
    fill(words, ...(wrong ?? story(values, letters, state.without)));
    figure.tell(words.textContent);
  }
  draw();
  figure.ask(questions(state, () => values, start));
  figure.details(
    "What this model is",
    paragraph(
      "te-note",
      "Two layers of attention with one head each, no feed-forward part, 10,304 weights. It was trained for this " +
        "book on 32 random letters at a time, in which segments of 4 to 16 letters come again, and never saw a word. " +
        `Positions are rotary. A head that is away puts out zeros. Arcs of less than ${SEEN} are not drawn.`,
    ),
  );
  return state.dispose;
}

export default { render };
