import { bold, button, changeAnnouncer, choice, css, div, diverging, fill, format, h, inkOn, mount, named, paragraph,
  readable, setOff, span, store, wordSpan } from "./core.js";

const TRAITS = ["branches", "path", "layer", "source_name", "target_name"];
const [START, END] = ["<bos>", "<eos>"];
const SLOTS = 7; // buttons for next words: the likeliest, and a few others that were recorded
const COLUMNS = 8; // room for positions that is kept from the beginning
const SHOWN = 0.005; // weights below this print as 0.00: no mention
const STRONGEST = 2; // an output of this size has the full colour

/** Everything recorded about one input of the decoder, with words and plain numbers. */
function readNode(tree, at) {
  const scaled = (numbers) => numbers.map((number) => number * tree.unit);
  const next = tree.next[at].map((word, i) => ({ word: tree.words[word], p: tree.p[at][i] * tree.unit, place: i + 1 }));
  const more = (tree.more[at] ?? []).map(([word, p, place]) => ({ word: tree.words[word], p: p * tree.unit, place }));
  const children = new Map(tree.parent.flatMap((parent, i) => (parent === at ? [
    [tree.words[tree.word[i]], i]
  ] : [])));
  return {
    self: tree.self[at].map(scaled),
    cross: tree.cross[at].map(scaled),
    output: scaled(tree.output[at]),
    options: [...next, ...more],
    children,
  };
}

/** The nodes on the way of these words, from the begin token on, and what was written at each. */
function walk(tree, path) {
  const nodes = [readNode(tree, 0)];
  for (const word of path)
    if (word !== END) nodes.push(readNode(tree, nodes.at(-1).children.get(word)));
  const chosen = path.map(
    (word, i) => ({ first: nodes[i].options[0], ...nodes[i].options.find((option) => option.word === word), word })
  );
  return {
    nodes,
    chosen,
    newest: nodes.at(-1),
    reads: [START, ...path.filter((word) => word !== END)],
    ended: path.at(-1) === END,
  };
}

const canFollow = ({ newest, ended }, option) => !ended && (option.word === END || newest.children.has(option.word));

/** One row of the sentence: a label, and a cell for each position. */
function line(label, cells) {
  return h("div", { role: "row", class: "te-dec-line" },
    h("span", { role: "rowheader", class: "te-dec-name" }, label), ...cells
  );
}

/** The two rows of words, shifted by one, and the output vectors between them. */
function drawSentence(box, size, { nodes, chosen, reads }) {
  const last = nodes.length - 1;
  const cell = (i, extra, ...content) => h(
    "span", { role: "cell", class: `te-dec-cell${i === last ? " te-dec-newest" : ""}${extra}` }, ...content
  );
  const number = (value) => {
    const colour = diverging(value / STRONGEST);
    return h("span", {
      class: "te-dec-number",
      dataset: { value },
      style: { background: css(colour), color: inkOn(colour) },
    }, format(value, 1));
  };
  const written = (i) => {
    if (i >= chosen.length) return cell(i, "", span("te-dec-word", "?"));
    const { word, p, first } = chosen[i];
    const own = word !== first.word;
    return cell(i, own ? " te-dec-own" : "", wordSpan("te-dec-word", word),
      h("span", { class: "te-dec-p", dataset: { value: p } }, own ? "chosen" : format(p)));
  };
  box.style.setProperty("--count", Math.max(COLUMNS, nodes.length));
  fill(box,
    line("reads", reads.map((word, i) => cell(i, "", wordSpan("te-dec-word", word)))),
    line(span("", "output", span("te-dec-of", `${nodes[0].output.length} of ${size} numbers`)), nodes.map(
      (node, i) => cell(i, " te-dec-vector", ...node.output.map(number))
    )),
    line("writes", nodes.map((_, i) => written(i))));
}

/** A list of words, each with a bar and its weight. */
function bars(name, title) {
  const list = h("ul", {
    class: "te-dec-bars",
    "aria-label": name === "self" ? "Self-attention" : "Cross-attention",
    dataset: { list: name },
  });
  const heading = div("te-dec-heading");
  return {
    element: div("te-dec-panel", heading, list),
    update(words, weights, source) {
      fill(heading, ...title(source));
      const top = Math.max(...weights);
      const bar = (weight) => h("span", { class: "te-dec-track", "aria-hidden": "true" },
        h("span", { class: "te-dec-fill", style: { width: `${100 * weight}%` } })
      );
      const item = (weight, ...content) =>
        h("li", { class: weight === top ? "te-dec-top" : "", dataset: { value: weight } }, ...content);
      fill(list, ...weights.map((weight, i) =>
        item(weight, wordSpan("te-dec-word", words[i]), bar(weight), span("te-dec-weight", format(weight)))));
    },
  };
}

/** Buttons for the next words: the same ones at every step, so that the focus stays where it is. */
function nextWords(onChoose) {
  const slots = Array.from({ length: SLOTS }, (_, i) => h(
    "button", { type: "button", class: "te-dec-option", ...KEYS, on: { click: () => onChoose(i) } }
  ));
  const note = paragraph("te-note");
  return {
    element: div("te-dec-panel te-dec-next",
      div("te-dec-heading", "likeliest next words"),
      h("div", { role: "group", "aria-label": "Next words" }, ...slots),
      note,
    ),
    update(step) {
      const { options } = step.newest;
      slots.forEach((slot, i) => {
        slot.hidden = i >= options.length;
        if (!slot.hidden) show(slot, options[i], canFollow(step, options[i]));
      });
      const grey = step.ended
        ? "The sentence has ended."
        : options.every((option) => canFollow(step, option)) ? "" : "What follows the words in grey was not recorded.";
      fill(
        note,
        options.length > 5 ? `${readable(options[5].word)} is in place ${options[5].place} of all words. ` : "",
        grey,
      );
    },
  };

  function show(slot, { word, p }, can) {
    setOff(slot, !can);
    slot.setAttribute("aria-label", `write ${readable(word)}, probability ${format(p, 4)}`);
    slot.dataset.value = String(p);
    fill(slot, wordSpan("te-dec-word", word),
      h("span", { class: "te-dec-track", "aria-hidden": "true" },
        h("span", { class: "te-dec-fill", style: { width: `${100 * p}%` } })
      ),
      span("te-dec-weight", format(p, 4)));
  }
}

/** "le 0.49, petit 0.28", the strongest first. */
function strongest(words, weights) {
  const ranked = words.map(
    (word, i) => [word, weights[i]]
  ).filter(([, weight]) => weight >= SHOWN).sort((a, b) => b[1] - a[1]).slice(0, 2);
  return ranked.flatMap(([word, weight], i) => [i ? ", " : "", span("te-nowrap", named(word), ` ${format(weight)}`)]);
}

/** What the newest position does, in a sentence. */
function story(state, { newest, reads, ended }) {
  const { source } = state.branches;
  const looks = [
    "It looks back at ", ...strongest(reads, newest.self[state.layer]), ` and, in ${state.source_name}, at `,
    ...strongest(source, newest.cross[state.layer]),
  ];
  if (ended) return ["The end token is written, and the decoder stops: ", bold(reads.slice(1).join(" ")), "."];
  return [
    "The newest position reads ", named(reads.at(-1)), ". ", ...looks, ". Likeliest to be written next: ",
    named(newest.options[0].word), ` ${format(newest.options[0].p, 3)}.`,
  ];
}

/** That earlier positions stay as they were; and what the model would have done. */
function remarks({ branches }, { reads, chosen }) {
  const before = reads.length - 1;
  const columns = before === 1
    ? "The column before it is as it was"
    : `The ${before} columns before it are as they were`;
  const moved = `${columns}: a position never looks at later words. The largest difference ever measured is ` +
    `${format(branches.largest_change, 7)}, which is rounding.`;
  const own = chosen.filter(({ word, first }) => word !== first.word);
  const told = own.flatMap(({ word, p, first }, i) => [
    i ? "; " : "", named(word), ` (${format(p, 4)}) in place of `, named(first.word), ` (${format(first.p, 4)})`,
  ]);
  return [
    before ? paragraph(
      "te-note", "What a position writes, the next one reads. ", named(reads.at(-1)), " came last. ", moved
    ) : paragraph("te-note", "Nothing is written yet: the decoder begins with the sign ",
      named(START), ". What a position writes, the next one reads."),
    own.length ? paragraph("te-note te-dec-branch",
      "You chose ", ...told, ". Left alone, the model writes ", h("i", {}, branches.translation), "."
    ) : null,
  ];
}

function render({ model, el }) {
  const root = mount(el, "decoder-stepper", "Decoding step by step");
  const announce = changeAnnouncer(root);
  const state = store(model, TRAITS, draw);
  let step;
  const write = (option) => option && canFollow(step, option) && state.set({ path: [...state.path, option.word] });
  const sentence = h("div", {
    class: "te-dec-sentence",
    role: "table",
    "aria-label": "What the decoder reads and writes at each position",
  });
  const self = bars("self", ({ target_name: to }) => [bold("self-attention"), ` to the ${to} so far`]);
  const cross = bars("cross", ({ source_name: from }) => [bold("cross-attention"), ` to the ${from}`]);
  const next = nextWords((i) => write(step.newest.options[i]));
  const words = paragraph("te-sentence");
  const notes = div("te-dec-notes");
  const go = button("Write the next word", () => write(step.newest.options[0]), { class: "te-button te-primary" });
  const back = button("Back", () => state.path.length && state.set({ path: state.path.slice(0, -1) }));
  const again = button("Start again", () => state.path.length && state.set({ path: [] }));
  const layers = choice({
    label: "Layer whose attention is shown",
    value: state.layer,
    onChange: (layer) => state.set({ layer }),
    options: state.branches.self[0].map((_, i) => ({ value: i, content: [`layer ${i + 1}`] })),
  });

  function draw() {
    step = walk(state.branches, state.path);
    drawSentence(sentence, state.branches.d_model, step);
    self.update(step.reads, step.newest.self[state.layer], state);
    cross.update(state.branches.source, step.newest.cross[state.layer], state);
    next.update(step);
    fill(words, ...story(state, step));
    fill(notes, ...remarks(state, step));
    layers.set(state.layer);
    setOff(go, !canFollow(step, step.newest.options[0]));
    for (const one of [back, again]) setOff(one, !state.path.length);
    const text = `Layer ${state.layer + 1}. Written: ${state.path.map(readable).join(" ") || "nothing"}. ` +
      `${words.textContent}`;
    announce(text);
  }

  root.append(
    paragraph("te-dec-lead", "A trained Transformer translates, one word at a time ", span(
      "te-label te-nowrap", "Let it write, or choose another word."
    )),
    sentence,
    div(
      "te-dec-go", div("te-group", go, back, again), div("te-group", span("te-label", "attention of"), layers.element)
    ),
    div("te-dec-panels", self.element, cross.element, next.element),
    div("te-dec-words", words, notes),
  );
  draw();
  return state.dispose;
}

export default { render };
