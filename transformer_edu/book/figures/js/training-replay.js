import {
  appear,
  asToken,
  bold,
  button,
  choice,
  cividis,
  css,
  div,
  fill,
  format,
  frame,
  h,
  matrixGrid,
  paragraph,
  player,
  plural,
  select,
  setOff,
  sketch,
  slider,
  span,
  store,
  svg,
} from "./core.js";

const TRAITS = /** @type {const} */ (["replay", "step", "run", "layer", "head"]);
const END = "<eos>";
const ENDS = { [END]: "(end)", "<unk>": "(unknown)" };
const SCALE = 255; // the byte that stands for a weight of 1
const [FAINT, MOVED] = [0.05, 0.02]; // a weight below is not printed; a growth below is not worth a word
const FIRST = 5; // words of a sentence without an end
const DASHES = ["", "7 3", "2 3"];

const shown = (word) => ENDS[word] ?? word;
const percent = (share) => `${format(100 * share, 1).replace(/\.0$/, "")}\u00a0%`;
const fromTo = (values, show = format) => span("te-nowrap", values.map((value) => show(value)).join(" → "));

/** Weights (target, source) of one head, out of the bytes of a moment. */
function weightsOf({ replay, layer, head }, look) {
  const [rows, columns] = [replay.target_tokens.length, replay.source_tokens.length];
  const bytes = atob(look.weights);
  const start = (layer * replay.heads + head) * rows * columns;
  return replay.target_tokens.map((_, i) =>
    replay.source_tokens.map((_, j) => bytes.charCodeAt(start + i * columns + j) / SCALE),
  );
}

/** Which written words belong to the longest piece of the right sentence that stands there in the right order. */
function inOrder(written, right) {
  const best = Array.from({ length: written.length + 1 }, () => Array(right.length + 1).fill(0));
  for (let i = written.length - 1; i >= 0; i -= 1) {
    for (let j = right.length - 1; j >= 0; j -= 1)
      best[i][j] = written[i] === right[j] ? 1 + best[i + 1][j + 1] : Math.max(best[i + 1][j], best[i][j + 1]);
  }
  let j = 0; // how much of the right sentence is used up
  return written.map((word, i) => {
    if (best[i][j] === best[i + 1][j]) return false;
    j = right.indexOf(word, j) + 1;
    return true;
  });
}

const isRight = ({ written }, right) =>
  written.length === right.length && written.every((word, i) => word === right[i]);

/** A round number of steps between ticks, at most four of them. */
function ticksTo(top) {
  const rough = top / 4,
    power = 10 ** Math.floor(Math.log10(rough));
  const size = [1, 2, 2.5, 5, 10].find((factor) => factor * power >= rough) * power;
  return Array.from({ length: Math.floor(top / size + 1e-9) + 1 }, (_, i) => i * size);
}

/**
 * Curves over the steps of the runs: the chosen one strong up to the moment, where its dot is; the others thin.
 * @param {{name: string, top: number, decimals: number, curves: [number, number][][], what: string,
 *   onPick?: (step: number) => void}} options  `curves`: of each run, [step, value]
 */
function chart({ name, top, decimals, curves, what, onPick }) {
  const last = Math.max(...curves.flat().map(([step]) => step));
  const x = (step) => (100 * step) / last;
  const y = (value) => 100 - (100 * value) / top;
  const points = (run) => curves[run].map(([step, value]) => `${x(step).toFixed(2)},${y(value).toFixed(2)}`).join(" ");
  const line = (props) => svg(props.points ? "polyline" : "line", { "vector-effect": "non-scaling-stroke", ...props });
  const drawing = (kind, ...children) => {
    const box = sketch(kind, "0 0 100 100", ...children);
    box.setAttribute("preserveAspectRatio", "none");
    return box;
  };
  const text = (kind, words, style = {}) =>
    h("span", { class: `te-rep-axis ${kind}`, "aria-hidden": "true", style }, words);
  const spot = (kind) => h("span", { class: `te-rep-dot ${kind}`, "aria-hidden": "true" });
  const put = (one, step, value) => {
    one.style.left = `${x(step)}%`;
    one.style.top = `${y(value)}%`;
  };
  const all = curves.map((_, run) =>
    line({ class: "te-rep-curve", points: points(run), "stroke-dasharray": DASHES[run % DASHES.length] }),
  );
  const past = line({ class: "te-rep-curve te-rep-chosen", points: points(0) });
  const gone = drawing("te-rep-lines te-rep-past", past);
  const [dot, ends] = [spot("te-rep-now"), onPick ? [spot("te-rep-end"), spot("te-rep-end")] : []];
  const box = h(
    "div",
    { class: "te-rep-chart", dataset: { chart: name } },
    drawing(
      "te-rep-lines",
      ...ticksTo(top).map((value) => line({ class: "te-rep-rule", x1: 0, x2: 100, y1: y(value), y2: y(value) })),
      ...all,
    ),
    gone,
    ...ends,
    dot,
    text("te-rep-what", what),
    text("te-rep-steps", "training steps"),
    ...ticksTo(top).map((value) => text("te-rep-y", format(value, decimals), { top: `${y(value)}%` })),
    ...ticksTo(last).map((step) => text("te-rep-x", step, { left: `${x(step)}%` })),
  );
  if (onPick) {
    box.addEventListener("click", ({ clientX }) => {
      const { left, width } = box.getBoundingClientRect();
      onPick(((clientX - left) / width) * last);
    });
  }
  let run = null;
  return {
    element: box,
    update(chosen, step, value) {
      if (chosen !== run) {
        past.setAttribute("points", points(chosen));
        ends.forEach((one, i) => put(one, ...curves[chosen].at(-i)));
      }
      run = chosen;
      gone.style.clipPath = `inset(-10px ${100 - x(step)}% -10px 0)`;
      dot.hidden = value === null;
      if (value === null) return;
      Object.assign(dot.dataset, { step, value });
      put(dot, step, value);
    },
  };
}

/** Loss and learning rate of the runs over the steps. */
function charts({ moments, vocabulary: size, smoothing, runs, every }, onPick) {
  const other = smoothing / size,
    right = 1 - smoothing + other;
  const floor = smoothing ? -(right * Math.log(right) + (size - 1) * other * Math.log(other)) : 0;
  const losses = runs.map((run) => run.moments.map(({ loss }, i) => [moments[i], loss]));
  const rates = runs.map((run) => run.rates.map((rate, i) => [i ? Math.min(i * every, moments.at(-1)) : 1, rate]));
  const highest = (curves) => Math.max(...curves.flat().map(([, value]) => value));
  return {
    floor,
    loss: chart({
      name: "loss",
      top: 1.04 * Math.max(Math.log(size), highest(losses)),
      decimals: 0,
      curves: losses,
      what: "loss",
      onPick,
    }),
    rate: chart({ name: "rate", top: 1.04 * highest(rates), decimals: 3, curves: rates, what: "learning rate" }),
  };
}

/** The same map without numbers, for a moment to compare with. */
function picture(rows, columns) {
  const cells = Array.from({ length: rows * columns }, (_, i) =>
    svg("rect", { x: i % columns, y: Math.floor(i / columns), width: 0.96, height: 0.95 }),
  );
  const box = sketch("te-rep-picture", `0 0 ${columns} ${rows}`, ...cells);
  box.setAttribute("preserveAspectRatio", "none");
  return {
    element: box,
    update: (weights) => weights.flat().forEach((weight, i) => (cells[i].style.fill = css(cividis(weight)))),
  };
}

/** One moment: its step and loss, where it looks, what it writes; words of the right sentence marked. */
function panel(kind, map, right) {
  const [step, loss] = [h("b"), h("span", { dataset: kind === "now" ? { fact: "loss" } : {} })];
  const line = h("p", { class: "te-rep-line", dataset: { line: kind } });
  let before = null;
  return {
    elements: [
      div(`te-rep-caption te-rep-${kind}`, span(`te-rep-dot te-rep-${kind === "now" ? "now" : "end"}`), step, loss),
      div(`te-rep-map te-rep-${kind}`, map),
      div(`te-rep-writes te-rep-${kind}`, line),
    ],
    update(look, at) {
      step.textContent = `step ${at}`;
      loss.textContent = `loss ${format(look.loss)}`;
      loss.dataset.value = String(look.loss);
      if (before?.join() === look.written.join()) return;
      const good = inOrder(look.written, right);
      const endless = look.written.at(-1) !== END;
      const text = look.written.filter((word) => word !== END).slice(0, endless && kind !== "now" ? FIRST : undefined);
      const words = text.map((one, i) => span(`te-rep-word${good[i] ? " te-rep-good" : ""}`, shown(one)));
      const spaced = words.flatMap((word) => [word, " "]);
      fill(
        line,
        ...(words.length ? spaced : [span("te-rep-word", "(nothing)")]),
        endless ? "…" : null,
        isRight(look, right) ? h("b", { class: "te-rep-done" }, "✓") : null,
      );
      words.forEach((word, i) => before && !before.includes(text[i]) && appear(word));
      before = look.written;
    },
  };
}

/** How probable each right next word is. */
function sureness(words) {
  const bars = words.map((word) => {
    const [inside, number] = [span("te-rep-fill"), span("te-number")];
    const cell = div("te-rep-p", span("", word), span("te-rep-track", inside), number);
    return { cell, inside, number };
  });
  return {
    element: div("te-rep-sure", ...bars.map(({ cell }) => cell)),
    update: (p) =>
      bars.forEach(({ cell, inside, number }, i) => {
        cell.dataset.value = String(p[i]);
        number.textContent = format(p[i]);
        inside.style.width = `${100 * p[i]}%`;
      }),
  };
}

/** The place of the number that grew most, -1 when none did by as much as is worth a word. */
function grownMost(now, then) {
  const growth = now.map((value, i) => value - then[i]),
    most = Math.max(...growth);
  return most >= MOVED ? growth.indexOf(most) : -1;
}

/**
 * What changed since the moment before: the weight between corresponding words and the right word that grew most.
 * @returns {{cell: [number, number] | null, words: (Node | string)[], more: (Node | string)[]}}
 */
function changes(state, looks, at) {
  const { moments, target_tokens: target, source_tokens: source, alignment } = state.replay;
  if (!at) {
    return { cell: null, words: [bold("No correction yet: "), "random weights, random words."], more: [] };
  }
  const [now, then] = [looks[at], looks[at - 1]];
  const [after, before] = [weightsOf(state, now), weightsOf(state, then)];
  const word = grownMost(now.p, then.p);
  const pair =
    alignment[
      grownMost(
        alignment.map(([i, j]) => after[j][i]),
        alignment.map(([i, j]) => before[j][i]),
      )
    ];
  const [column, row] = pair ?? [];
  const since = bold(`Since step ${moments[at - 1]}: `);
  return {
    cell: pair ? [row, column] : null,
    words: [
      since,
      ...(pair
        ? [
            "to write ",
            asToken(shown(target[row])),
            " it looks more at ",
            asToken(shown(source[column])),
            ", ",
            fromTo([before[row][column], after[row][column]]),
            ".",
          ]
        : ["no word looks much more at its own."]),
    ],
    more: [
      since.cloneNode(true),
      "loss ",
      fromTo([then.loss, now.loss]),
      ", unseen sentences right ",
      fromTo([then.exact, now.exact], percent),
      word < 0 ? "." : "; surer of ",
      ...(word < 0 ? [] : [asToken(shown(target[word])), ", ", fromTo([then.p[word], now.p[word]]), "."]),
    ],
  };
}

/** Questions about the runs that are recorded; those that none of them answers are left out. */
function tasks(state) {
  const { moments, runs, target_tokens: right } = state.replay;
  const firstRight = runs.map((run) => run.moments.findIndex((look) => isRight(look, right)));
  const some = firstRight.findIndex((at) => at > 0);
  const never = firstRight.indexOf(-1);
  const share = (run) => percent(runs[run].moments[firstRight[run]].exact);
  return [
    some >= 0 && {
      ask: ["catch the first right sentence"],
      done: () => state.step === moments[firstRight[state.run]],
      tell: [`Of the unseen sentences, ${share(some)} are right by then.`],
      show: () => state.set({ run: some, step: moments[firstRight[some]] }),
    },
    some >= 0 &&
      never >= 0 && {
        ask: ["find a rate that never gets there"],
        done: () => firstRight[state.run] < 0,
        tell: [
          `Its loss falls from ${[0, -1].map((at) => format(runs[never].moments.at(at).loss)).join(" to ")} only.`,
        ],
        show: () => state.set({ run: never, step: moments.at(-1) }),
      },
  ].filter(Boolean);
}

/** What the chosen run shows. */
function finding({ replay: { moments, runs, target_tokens: right }, run }) {
  const [mine, first] = [runs[run], runs[0]].map((one) => one.moments.findIndex((look) => isRight(look, right)));
  if (mine < 0) return `Within ${plural(moments.at(-1), "step")} this run never writes the sentence`;
  return run === 0 || first < 0 || mine === first
    ? "As the loss falls, its words come right and it learns where to look"
    : `This run gets there too: at step ${moments[mine]}, not ${moments[first]}`;
}

function render({ model, el }) {
  const figure = frame(el, {
    name: "training-replay",
    label: "Training replay",
    says: [""],
    invite: ["press Play and follow the dot. Then choose another learning rate."],
  });
  const state = store(model, TRAITS, draw);
  const { replay } = state;
  const { moments, runs, maps, heads, vocabulary: size, source_tokens: source, target_tokens: target } = replay;
  const last = moments.length - 1;
  const place = () => moments.indexOf(state.step);
  const go = (at) => at >= 0 && at <= last && at !== place() && state.set({ step: moments[at] });
  const nearest = (step) =>
    moments.reduce((best, one, i) => (Math.abs(one - step) < Math.abs(moments[best] - step) ? i : best), 0);
  const { loss, rate, floor } = charts(replay, (step) => go(nearest(step)));
  const matrix = matrixGrid({
    name: "weights",
    label: "cross-attention, a row for each right next word",
    rows: target.map(shown),
    columns: source,
    showRows: true,
    showColumns: true,
  });
  const pictures = [0, last].map(() => picture(target.length, source.length));
  const [start, now, end] = ["start", "now", "end"].map((kind, i) =>
    panel(kind, (i === 1 ? matrix : pictures[i / 2]).element, target),
  );
  const sure = sureness(target.map(shown));
  const [rateNow, more] = [span(""), paragraph("")];
  let [compared, folded] = ["", null];

  const play = player({ figure: figure.root, at: place, last: () => last, go, wait: 600 });
  const back = button("Back", () => go(place() - 1));
  const forward = button("Forward", () => go(place() + 1), { class: "te-button te-primary" });
  const bar = slider({
    label: "step",
    min: 0,
    max: last,
    value: place(),
    format: (at) => String(moments[at]),
    onInput: go,
  });
  const plans = choice({
    label: "Learning rate",
    class: "te-rep-runs",
    value: state.run,
    onChange: (run) => state.set({ run }),
    options: runs.map(({ name }, i) => ({
      value: i,
      label: name,
      content: [
        sketch(
          "te-rep-swatch",
          "0 0 26 8",
          svg("line", { x1: 0, x2: 26, y1: 4, y2: 4, "stroke-dasharray": DASHES[i % DASHES.length] }),
        ),
        name,
      ],
    })),
  });
  const list = select({
    label: "attention of",
    value: `${state.layer} ${state.head}`,
    onChange: (value) => {
      const [layer, head] = value.split(" ").map(Number);
      state.set({ layer, head });
    },
    options: maps.flatMap((_, layer) =>
      Array.from({ length: heads }, (_, head) => ({
        value: `${layer} ${head}`,
        label: `layer ${layer + 1}, head ${head + 1}`,
      })),
    ),
  });

  figure.stage.append(
    div("te-rep-top", loss.element, div("te-rep-rates", span("te-note", "learning rate"), plans.element)),
    paragraph("te-note te-rep-goal", "To translate: ", bold(source.join(" ")), ". Yellow: where it looks."),
    div("te-rep-strip", ...[start, now, end].flatMap((one) => one.elements)),
  );
  figure.controls.append(play.element, back, forward, bar.element);
  const words = figure.words(1);

  /** The first moment and the last, of the chosen run and head. */
  function compare(looks) {
    const key = [state.run, state.layer, state.head].join();
    if (key === compared) return;
    compared = key;
    pictures.forEach((one, i) => one.update(weightsOf(state, looks.at(-i))));
    [start, end].forEach((one, i) => one.update(looks.at(-i), moments.at(-i)));
    figure.says(finding(state));
    list.set(`${state.layer} ${state.head}`);
  }

  function drawFolded(look, rest) {
    rate.update(state.run, state.step, look.rate);
    fill(
      rateNow,
      look.rate === null
        ? "no step made yet"
        : h("b", { dataset: { fact: "rate", value: look.rate } }, format(look.rate, 5)),
    );
    sure.update(look.p);
    fill(more, ...rest);
  }

  function draw() {
    const [at, looks] = [place(), runs[state.run].moments];
    const look = looks[at];
    const { cell, words: story, more: rest } = changes(state, looks, at);
    plans.set(state.run);
    bar.set(at);
    setOff(back, at === 0);
    setOff(forward, at === last);
    loss.update(state.run, state.step, look.loss);
    matrix.update(weightsOf(state, look), { decimals: 2, colour: cividis, quiet: FAINT });
    matrix.highlight({ cell });
    figure.rest(() => {
      compare(looks);
      now.update(look, state.step);
      fill(words, ...story);
      if (folded?.open) drawFolded(look, rest);
      figure.tell(
        `${runs[state.run].name}, step ${state.step}, layer ${state.layer + 1}, head ${state.head + 1}. ` +
          words.textContent,
      );
    });
  }
  draw();
  figure.ask(tasks(state));
  folded = figure.details(
    "Other heads, probabilities, how it was measured",
    list.element,
    more,
    div("te-note", "Probability of each right next word, given the right words before it:"),
    sure.element,
    div("te-note", "Learning rate of this step: ", rateNow),
    rate.element,
    paragraph(
      "te-note",
      "Recorded runs of one model: first weights, sentences and their order are the same in each " +
        `(seed ${replay.seed}). Loss: nats per token on ${replay.held_out_sentences} sentences never trained on. ` +
        `Knowing nothing gives each of the ${size} words 1/${size} = ${format(1 / size, 3)} and costs ln ${size} = ` +
        `${format(Math.log(size))}; label smoothing does not let it below ${format(floor)}. A row of the map asks for ` +
        "its word, given the right words before it. Underlined: words of the right sentence, in order.",
    ),
  );
  folded.addEventListener("toggle", draw);
  return state.dispose;
}

export default { render };
