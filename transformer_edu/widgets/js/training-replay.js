import { asToken, bold, button, changeAnnouncer, choice, cividis, div, eachCell, fill, format, h, matrixGrid, mount,
  paragraph, select, setOff, sketch, slider, span, store, svg } from "./core.js";

const TRAITS = ["replay", "step", "run", "layer", "head"];
const ENDS = { "<eos>": "(end)", "<unk>": "(unknown)" };
const SCALE = 255; // the byte that stands for a weight of 1
const [FAINT, MOVED] = [0.05, 0.02]; // a weight below is not printed; a growth below is not worth a word
const [WIDTH, LEFT, RIGHT] = [290, 38, 7]; // of a chart, and its margins
const DASHES = ["", "7 3", "2 3"];

const shown = (word) => ENDS[word] ?? word;
const sentenceOf = (written) => written.filter((word) => word !== "<eos>").map(shown).join(" ");
const percent = (share) => `${format(100 * share, 1).replace(/\.0$/, "")}\u00a0%`;
const fromTo = (values, show = format) => span("te-nowrap", values.map((value) => show(value)).join(" → "));

/** Weights (target, source) of one head, out of the bytes of a moment. */
function weightsOf({ replay, layer, head }, look) {
  const [rows, columns] = [replay.target_tokens.length, replay.source_tokens.length];
  const bytes = atob(look.weights);
  const start = (layer * replay.heads + head) * rows * columns;
  return replay.target_tokens.map(
    (_, i) => replay.source_tokens.map((_, j) => bytes.charCodeAt(start + i * columns + j) / SCALE)
  );
}

/** Which written words belong to the longest piece of the right sentence that stands there in the right order. */
function inOrder(written, right) {
  const best = Array.from({ length: written.length + 1 }, () => Array(right.length + 1).fill(0));
  for (let i = written.length - 1; i >= 0; i -= 1) {
    for (let j = right.length - 1; j >= 0; j -= 1) best[i][j] = written[i] === right[j] ? 1
      + best[i + 1][j + 1] : Math.max(best[i + 1][j], best[i][j + 1]);
  }
  let j = 0; // how much of the right sentence is used up
  return written.map((word, i) => {
    if (best[i][j] === best[i + 1][j]) return false;
    j = right.indexOf(word, j) + 1;
    return true;
  });
}

/** A round number of steps between ticks, at most four of them. */
function ticksTo(top) {
  const rough = top / 4,
    power = 10 ** Math.floor(Math.log10(rough));
  const size = [1, 2, 2.5, 5, 10].find((factor) => factor * power >= rough) * power;
  return Array.from({ length: Math.floor(top / size + 1e-9) + 1 }, (_, i) => i * size);
}

/** A frame over the steps of the run: ticks, other runs thin, the chosen one on top, and a line at the moment. */
function chart({ height, top, steps, at, curves, chosen, marks = [], levels = [], decimals, labels }) {
  const bottom = labels ? 20 : 6;
  const x = (step) => LEFT + (step / steps) * (WIDTH - LEFT - RIGHT);
  const y = (value) => height - bottom - (value / top) * (height - bottom - 8);
  const text = (content, props) => svg("text", { class: "te-rep-axis", ...props }, content);
  const line = (points, i) => svg("polyline", {
    class: `te-rep-curve${i === chosen ? " te-rep-chosen" : ""}`,
    points: points.map(([step, value]) => `${x(step).toFixed(1)},${y(value).toFixed(1)}`).join(" "),
    "stroke-dasharray": DASHES[i % DASHES.length],
  });
  const order = [...curves.keys()].filter((i) => i !== chosen).concat(chosen);
  return sketch("te-rep-chart", `0 0 ${WIDTH} ${height}`,
    ...ticksTo(top).flatMap((value) => [
      svg("line", { class: "te-rep-rule", x1: LEFT, x2: WIDTH - RIGHT, y1: y(value), y2: y(value) }),
      text(format(value, decimals), { x: LEFT - 5, y: y(value) + 4, "text-anchor": "end" }),
    ]),
    ...(labels ? ticksTo(steps).map((step) => text(
      step, { x: x(step), y: height - 5, "text-anchor": step === steps ? "end" : "middle" }
    )) : []),
    ...levels.flatMap(([value, name, shift]) => [
      svg("line", { class: "te-rep-level", x1: LEFT, x2: WIDTH - RIGHT, y1: y(value), y2: y(value) }),
      text(name, { x: WIDTH - RIGHT - 2, y: y(value) + shift, "text-anchor": "end" }),
    ]),
    svg("line", { class: "te-rep-now", x1: x(at), x2: x(at), y1: 4, y2: height - bottom }),
    ...order.map((i) => line(curves[i], i)),
    ...marks.map(([step, value]) => svg("circle", {
      class: `te-rep-dot${step === at ? " te-rep-here" : ""}`,
      cx: x(step),
      cy: y(value),
      r: step === at ? 5.5 : 2.6,
      "data-step": step,
      "data-value": value,
    })));
}

/** Loss and learning rate over the steps. */
function charts({ replay, run, step }, panels) {
  const { every, moments, vocabulary: size, smoothing, runs } = replay;
  const steps = moments.at(-1),
    other = smoothing / size,
    right = 1 - smoothing + other;
  const floor = smoothing ? -(right * Math.log(right) + (size - 1) * other * Math.log(other)) : 0;
  const looks = runs[run].moments,
    now = looks[moments.indexOf(step)];
  const highest = Math.max(
    Math.log(size), ...runs.flatMap(({ losses, moments: all }) => [...losses, ...all.map(({ loss }) => loss)])
  );
  const shared = { steps, at: step, chosen: run };
  const middle = (i) => Math.min((i + 0.5) * every, steps);
  panels.loss.update([
      div("", bold("loss"), " in nats per token"), span("te-rep-key", "━"), " training  ", span("te-rep-mark", "●"),
      " held-out ", h("b", { dataset: { fact: "loss", value: now.loss } }, format(now.loss)),
    ],
    chart({
      ...shared,
      height: 182,
      top: highest * 1.03,
      decimals: 0,
      marks: moments.map((at, i) => [at, looks[i].loss]),
      levels: [
        [Math.log(size), `knowing nothing, ${format(Math.log(size))}`, 13],
        [floor, `lowest possible, ${format(floor)}`, 13]
      ],
      curves: runs.map(({ losses }) => losses.map((loss, i) => [middle(i), loss]))
    }));
  panels.rate.update(
    [bold("learning rate"), now.rate === null ? " no step made yet" : " of this step: ", now.rate === null
      ? null
      : h("b", { dataset: { fact: "rate", value: now.rate } }, format(now.rate, 5))
    ],
    chart({
      ...shared,
      height: 92,
      top: Math.max(...runs.flatMap(({ rates }) => rates)) * 1.04,
      decimals: 3,
      labels: true,
      marks: now.rate === null ? [] : [
        [step, now.rate]
      ],
      curves: runs.map(({ rates }) => rates.map((rate, i) => [i ? Math.min(i * every, steps) : 1, rate]))
    }));
}

/** A chart with its title, which names what is shown at this moment. */
function panel(name) {
  const [title, box] = [div("te-rep-title"), div()];
  return {
    element: h("div", { dataset: { chart: name } }, title, box),
    update: (words, drawing) => {
      fill(title, ...words);
      fill(box, drawing);
    }
  };
}

/** The matrix of weights, a row for each right next word, and that word's probability at the end of the row. */
function questions({ replay: { source_tokens: source, target_tokens: target } }) {
  const rows = target.map(shown);
  const grid = matrixGrid({
    name: "weights",
    label: "cross-attention, a row for each right next word",
    rows,
    columns: source,
    showRows: true,
    showColumns: true,
  });
  const lines = [...grid.element.querySelectorAll(".te-row")];
  const bars = rows.map((_, i) => {
    const number = span(),
      inside = span("te-rep-fill");
    const cell = h("div", { role: "gridcell", class: "te-rep-p" },
      h("span", { class: "te-rep-track", "aria-hidden": "true" }, inside), number
    );
    lines[i + 1].append(cell);
    return { cell, inside, number };
  });
  lines[0].append(h("div", { role: "columnheader", class: "te-header te-rep-head" }, "probability"));
  return {
    element: grid.element,
    update(weights, p, { word, cell: pair = null }) {
      grid.update(weights, { decimals: 2, colour: cividis });
      eachCell(grid, (cell, i, j) => { if (weights[i][j] < FAINT) cell.textContent = ""; });
      grid.highlight({ cell: pair });
      bars.forEach(({ cell, inside, number }, i) => {
        cell.dataset.value = String(p[i]);
        cell.classList.toggle("te-rep-most", i === word);
        cell.setAttribute("aria-label", `probability of ${rows[i]}: ${format(p[i])}`);
        inside.style.width = `${100 * p[i]}%`;
        number.textContent = format(p[i]);
      });
    },
  };
}

/** The model's own words, those of the right sentence marked, and the right sentence. */
function writing(box, { target_tokens: right }, written) {
  const good = inOrder(written, right);
  const done = written.length === right.length && good.every(Boolean);
  const word = (one, i) => span(
    `te-rep-word${good?.[i] ? " te-rep-good" : ""}${one in ENDS ? " te-rep-special" : ""}`, shown(one)
  );
  fill(box, span("te-label", "it writes"), h("span", { class: "te-rep-line", dataset: { line: "written" } },
      ...written.map(word), written.at(-1) === "<eos>" ? null : "…",
      done ? h("b", { class: "te-rep-done" }, "✓ right") : null,
    ),
    span("te-label", "right is"),
    span("te-rep-line te-rep-answer", ...right.map((one) => span("te-rep-word", shown(one)))));
}

/** The place of the number that grew most, -1 when none did by as much as is worth a word. */
function grownMost(now, then) {
  const growth = now.map((value, i) => value - then[i]),
    most = Math.max(...growth);
  return most >= MOVED ? growth.indexOf(most) : -1;
}

/**
 * What grew most since the moment before: a right next word's probability, and a weight between corresponding words.
 */
function changesOf(state, looks, at) {
  if (!at) return {};
  const [now, then, { alignment }] = [looks[at], looks[at - 1], state.replay];
  const [after, before] = [weightsOf(state, now), weightsOf(state, then)];
  const word = grownMost(now.p, then.p);
  const [column, row] = alignment[grownMost(
    alignment.map(([i, j]) => after[j][i]), alignment.map(([i, j]) => before[j][i])
  )] ?? [];
  return {
    word,
    p: [then.p[word], now.p[word]],
    cell: row === undefined ? null : [row, column],
    weight: [
      before[row]?.[column], after[row]?.[column],
    ]
  };
}

/** What changed since the moment before, in words. */
function story({ replay, run }, at, { word, p, cell, weight }) {
  const { moments, runs, vocabulary: size, target_tokens: target, source_tokens: source } = replay;
  const look = runs[run].moments[at],
    before = runs[run].moments[at - 1];
  if (!at) return [
    "No correction has been made: the weights are random, and so are the words. Knowing nothing would give each of " +
    `the ${size} words 1/${size} = ${format(1 / size, 3)} and cost ln ${size} = ${format(Math.log(size))}; the ` +
    `loss is ${format(look.loss)}.`,
  ];
  const now = sentenceOf(look.written);
  return [bold(`Steps ${moments[at - 1] + 1} to ${moments[at]}: `), "held-out loss ",
    fromTo([before.loss, look.loss]), ", unseen sentences right ", fromTo([before.exact, look.exact], percent), ". ",
    now === sentenceOf(before.written) ? "It still " : "It now ",
    ...(now ? ["writes ", h("i", {}, `“${now}”`)] : ["ends at once, without a word"]), ". ",
    ...(word < 0
      ? [`No right next word gained ${MOVED} in probability. `]
      : ["The right next word that gained most is ", asToken(shown(target[word])), ", ", fromTo(p), ". "]),
    ...(cell ? [
      "To write ", asToken(shown(target[cell[0]])), ", this head looks at ", asToken(shown(source[cell[1]])),
      " more than before, ", fromTo(weight), ".",
    ] : [])
  ];
}

function render({ model, el }) {
  const root = mount(el, "training-replay", "Training replay");
  const announce = changeAnnouncer(root);
  const state = store(model, TRAITS, draw);
  const { moments, runs, maps, heads, source_tokens: source, held_out_sentences: unseen, seed, every } = state.replay;
  const place = () => moments.indexOf(state.step);
  const go = (at) => at >= 0 && at < moments.length && at !== place() && state.set({ step: moments[at] });
  const swatch = (i) => svg(
    "svg", { class: "te-rep-swatch", viewBox: "0 0 26 8", "aria-hidden": "true", focusable: "false" },
    svg("line", { x1: 0, x2: 26, y1: 4, y2: 4, "stroke-dasharray": DASHES[i % DASHES.length] }),
  );
  const plans = choice({
    label: "Which run",
    class: "te-rep-runs",
    value: state.run,
    onChange: (run) => state.set({ run }),
    options: runs.map(({ name }, i) => ({ value: i, content: [swatch(i), name], label: name })),
  });
  const back = button("Back", () => go(place() - 1));
  const forward = button("Forward", () => go(place() + 1), { class: "te-button te-primary" });
  const bar = slider({
    label: "training step",
    min: 0,
    max: moments.length - 1,
    value: place(),
    format: (at) => String(moments[at]),
    onInput: go,
  });
  const loss = panel("loss"),
    rate = panel("rate");
  const written = div("te-rep-written"),
    words = paragraph("te-sentence te-rep-story");
  const matrix = questions(state);
  const list = select({
    label: "attention of",
    value: `${state.layer} ${state.head}`,
    onChange: (value) => {
      const [layer, head] = value.split(" ").map(Number);
      state.set({ layer, head });
    },
    options: maps.flatMap((_, layer) => Array.from({ length: heads }, (_, head) => ({
      value: `${layer} ${head}`,
      label: `layer ${layer + 1}, head ${head + 1}`,
    }))),
  });

  function draw() {
    const at = place(),
      looks = runs[state.run].moments,
      look = looks[at],
      changes = changesOf(state, looks, at);
    [plans.set(state.run), bar.set(at), list.set(`${state.layer} ${state.head}`)];
    setOff(back, at === 0);
    setOff(forward, at === moments.length - 1);
    charts(state, { loss, rate });
    writing(written, state.replay, look.written);
    matrix.update(weightsOf(state, look), look.p, changes);
    fill(words, ...story(state, at, changes));
    const text = `${runs[state.run].name}, step ${state.step}. ${words.textContent}`;
    announce(text);
  }

  root.append(
    paragraph("te-rep-lead",
      `A model learns to translate in ${moments.at(-1).toLocaleString("en")} small corrections `,
      span("te-label te-nowrap", "Move through the run."),
    ),
    plans.element,
    div("te-rep-time", back, forward, bar.element),
    div("te-rep-body", div("te-rep-charts", loss.element, rate.element),
      div("te-rep-right",
        div("te-caption", bold("cross-attention"), span("", "given the right words so far")),
        matrix.element,
        list.element,
      )),
    div("te-rep-source", span("te-label", "it reads"), span("te-rep-line", source.join(" "))), written, words,
    paragraph("te-note te-rep-foot",
      `Recorded runs of one model: first weights, sentences and their order are the same in each (seed ${seed}). ` +
      `Training loss: the mean of ${every} steps. Held-out loss: ${unseen} sentences never trained on, without ` +
      "dropout. Both with label smoothing. Underlined: words of the right sentence, in its order.",
    ),
  );
  draw();
  return state.dispose;
}

export default { render };
