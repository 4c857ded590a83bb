import * as engine from "../../engine/js/engine.js";
import {
  appear,
  asToken,
  button,
  choice,
  div,
  fill,
  format,
  frame,
  h,
  listed,
  modelOf,
  named,
  paragraph,
  plural,
  sentenceLine,
  setOff,
  span,
  store,
  toggle,
  wordSpan,
} from "./core.js";

const TRAITS = /** @type {const} */ ([
  "sentence",
  "taken",
  "search",
  "begun",
  "step",
  "recorded",
  "line",
  "parts",
  "languages",
  "model_file",
]);
const BEYOND = 12; // tokens that an answer may have more than its source
const BEST = 5;
const BEAM = 5;
const PENALTY = 1;
const SMALL = 1e6; // bytes of a file that may come without being asked for
const UNSURE = 0.6;
const LEAST_SURE = -1; // in place of a step: the one of which the model was least sure
const TITLE = 70; // characters: one line

/**
 * All that the figure shows of a translation, and on the way as much of it as there is. It runs in a thread of its own.
 * Python's `answered` computes the same.
 */
function* translation(engine, model, { sentence, search, begun, changes, limits }) {
  const source = model.source.encode(sentence);
  if (!source.length || source.length > limits.most) {
    yield { count: source.length };
    return;
  }
  const limit = Math.min(source.length + limits.extra, model.config.max_len);
  const read = source.map((id) => model.source.token(id));
  const cross = `decoder.${model.config.num_layers - 1}.cross`;

  function stepOf(id, logits, heads, row) {
    const chances = engine.probabilities(engine.possible(logits));
    const weights = read.map((_, j) => heads.reduce((sum, one) => sum + engine.rowOf(one, row)[j], 0) / heads.length);
    const best = engine.highest(chances, limits.best).map((one) => [one, model.target.token(one), chances[one]]);
    const chosen = id ?? best[0][0];
    return { id: chosen, token: model.target.token(chosen), chance: chances[chosen], best, weights };
  }
  const ending = (ids, logProb) => ({
    text: model.target.decode(ids),
    whole: ids.at(-1) === engine.EOS,
    chance: Math.exp(logProb),
    score: logProb / engine.normalizer(ids.length - 1, limits.penalty),
  });

  const memory = engine.encode(model, source, { changes });
  if (search === "beam") {
    const { beam: size, penalty } = limits;
    const start = [engine.BOS, ...begun];
    const partial = engine.beamSteps(model, source, { size, penalty, limit, changes, memory, begun: start });
    let found = partial.next();
    for (; !found.done; found = partial.next()) {
      const [first] = found.value;
      const steps = first.ids.slice(1).map((id) => ({ id, token: model.target.token(id), best: [], weights: [] }));
      yield { source: read, steps, ends: found.value.map(({ ids, logProb }) => ending(ids, logProb)) };
    }
    const { ids } = found.value[0];
    const record = engine.recording();
    const logits = engine.decode(model, ids.slice(0, -1), memory, { changes, record });
    const steps = ids.slice(1).map((id, i) => stepOf(id, engine.rowOf(logits, i), record.maps[cross], i));
    yield { source: read, steps, ends: found.value.map(({ ids: one, logProb }) => ending(one, logProb)), done: true };
    return;
  }
  const cache = engine.startCache(model);
  const ids = [engine.BOS];
  const steps = [];
  let logProb = 0;
  while (ids.length < limit && ids.at(-1) !== engine.EOS) {
    const record = engine.recording();
    const logits = engine.decode(model, ids.slice(-1), memory, { changes, record, cache });
    steps.push(stepOf(begun[steps.length], engine.rowOf(logits, 0), record.maps[cross], 0));
    ids.push(steps.at(-1).id);
    logProb += Math.log(steps.at(-1).chance);
    const done = ids.length >= limit || ids.at(-1) === engine.EOS;
    yield { source: read, steps, ends: [ending(ids, logProb)], done };
  }
}

const keyOf = ({ sentence, taken, search, begun }) => JSON.stringify([sentence, taken, search, begun]);
/** A token without the mark of a word's beginning. */
const plainly = (token) => token.replace(/^·(?=.)/, "");
const textOf = (answer) => answer?.ends[0].text;
const percent = (share) => `${Math.round(100 * share)} %`;
/** As many words as fit into the title beside some others. */
function shortened(text, beside) {
  const fits = text.slice(0, TITLE - beside.length + 1).replace(/\s+\S*$/, "");
  return text.length + beside.length <= TITLE ? text || "nothing" : `${fits} …`;
}
const bare = (text) =>
  text
    .toLowerCase()
    .split(/[\s.,!?]+/)
    .filter(Boolean);

function render({ model: widget, el }) {
  const figure = frame(el, {
    name: "sentence-translator",
    label: "Translate a sentence of your own",
    says: [""],
    invite: [""],
  });
  const state = store(widget, TRAITS, draw);
  const [from, to] = state.languages;
  const size = `${(state.model_file.bytes / 1e6).toFixed(1)} MB`;
  const big = state.model_file.bytes > SMALL;
  const opened = state.recorded[0];
  const answers = new Map(state.recorded.map((one) => [keyOf(one), { ...one, done: true }]));
  let [answer, asked, trouble, built, lastChosen] = [answers.get(keyOf(opened)), "", "", "", ""];
  let [chips, shownEnds] = [null, ""]; // `chips`: of the written tokens
  let [isStale, shownStep] = [false, 0]; // the answer is none to what is asked; at which step it is shown

  const running = modelOf(
    figure.root,
    async () => {
      showProgress(0);
      draw();
      const bytes = await engine.loadBytes(widget, state.model_file, showProgress);
      return engine.inWorker(bytes, state.model_file.sha256, translation);
    },
    draw,
    big,
  );
  const line = sentenceLine({
    opened: opened.sentence.split(" "),
    language: from,
    ...state.line,
    wordsOf: isFree() ? (text) => text.trim().split(/\s+/).filter(Boolean) : engine.wordsOf,
    onChange: (sentence) => change({ sentence, begun: [], step: LEAST_SURE }),
    onAgain: () =>
      change({
        ...Object.fromEntries(["sentence", "taken", "search", "begun"].map((name) => [name, opened[name]])),
        step: LEAST_SURE,
      }),
  });
  const load = button("", () => load.ariaDisabled !== "true" && running.wake(), { class: "te-button te-trans-load" });
  const range = { "aria-valuemin": 0, "aria-valuemax": 100 };
  const bar = h("div", { role: "progressbar", "aria-label": "Loading the model", ...range }, div("te-glide"));
  const status = span("te-trans-status");
  const examples = (state.line.examples ?? []).map((sentence) =>
    button(sentence, () => change({ sentence, begun: [], step: LEAST_SURE })),
  );
  const readBox = h("div", { class: "te-trans-read", role: "img" });
  const readNote = paragraph("te-note");
  const writtenBox = div(`te-trans-written${isFree() ? " te-trans-pieces" : ""}`);
  const rivals = Array.from({ length: BEST }, (_, i) => rival(i));
  const heading = span("te-trans-heading");
  const release = button("Let it choose", () => release.ariaDisabled !== "true" && change({ begun: [] }));
  const endsHeading = span("te-trans-heading");
  const ends = Array.from({ length: BEAM }, () => h("li", {}));
  const searches = choice({
    label: "Search",
    value: state.search,
    options: [
      { value: "greedy", content: ["Greedy"] },
      { value: "beam", content: [`Beam of ${BEAM}`] },
    ],
    onChange: (search) => change({ search, step: LEAST_SURE }),
  });
  const switches = state.parts.map(({ part, name }) =>
    toggle({
      label: [name],
      value: state.taken.includes(part),
      onChange: () => change({ taken: takenWith(part), begun: [], step: LEAST_SURE }),
    }),
  );

  function isFree() {
    return !Object.keys(state.line.kinds).length;
  }

  function change(changes) {
    if (!big) running.wake();
    state.set(changes);
  }

  /** One of the five likeliest next tokens: to go on from. */
  function rival(i) {
    const [token, share, fillBar] = [span("te-trans-token"), span("te-trans-share"), span("te-trans-bar te-glide")];
    const control = button("", () => control.ariaDisabled !== "true" && goOn(i), { class: "te-button te-trans-rival" });
    control.append(token, span("te-trans-track", fillBar), share);
    return { control, token, share, fillBar };
  }

  /** The parts that are taken away once this one's switch is turned. */
  const takenWith = (part) =>
    state.parts.map((one) => one.part).filter((one) => state.taken.includes(one) !== (one === part));

  /** What is written before this step and one of its likeliest tokens; undefined where there is none. */
  function begunWith(i) {
    const before = answer.steps.slice(0, chosen());
    const [id] = answer.steps[chosen()].best[i] ?? [];
    if (id === undefined) return undefined;
    let begun = [...before.map((step) => step.id), id];
    const isUsual = (one, place) => one === (before[place] ?? answer.steps[chosen()]).best[0]?.[0];
    if (state.search === "greedy")
      // what it would have written anyway need not be forced
      while (begun.length && isUsual(begun.at(-1), begun.length - 1)) begun = begun.slice(0, -1);
    return begun;
  }

  /** Write the rest anew after the words before this step and another one. */
  function goOn(i) {
    lastChosen = answer.steps[chosen()].best[i][1];
    change({ begun: begunWith(i), step: chosen() });
  }

  function showProgress(share) {
    bar.setAttribute("aria-valuenow", String(Math.round(100 * share)));
    /** @type {HTMLElement} */ (bar.firstChild).style.width = `${100 * share}%`;
  }

  /** The answer that is asked for, if it is there; else let it be computed. Returns what is wrong with the sentence. */
  function compute() {
    const { words, wrong } = line.read(state.sentence);
    const request = {
      sentence: isFree() ? state.sentence.trim() : words.join(" "),
      taken: state.taken,
      search: state.search,
      begun: state.begun,
    };
    const key = wrong ? "" : keyOf(request);
    const known = answers.get(key);
    if (known || wrong) asked = "";
    if (known?.count !== undefined) {
      const most = `At most ${state.line.most} tokens, please: it is cut into ${known.count}.`;
      return { wrong: [known.count ? most : "Type a sentence."], waits: false, key: "" };
    }
    if (known) answer = known;
    else if (key && running.model && asked !== key) ask(request, key);
    return { wrong, waits: !wrong && !known, key };
  }

  function ask(request, key) {
    asked = key;
    const changes = Object.assign(
      {},
      ...state.parts.filter(({ part }) => request.taken.includes(part)).map((one) => one.changes),
    );
    const limits = { most: state.line.most, extra: BEYOND, best: BEST, beam: BEAM, penalty: PENALTY };
    running.model.ask({ ...request, changes, limits }, ({ found, trouble: told }) => {
      trouble = told ?? "";
      if (found?.done || found?.count !== undefined) answers.set(key, { ...request, ...found });
      else if (found && asked === key) answer = { ...request, ...found };
      draw();
    });
  }

  const least = () =>
    answer.steps.reduce(
      (least, { best }, i, all) => (best.length && best[0][2] < all[least].best[0][2] ? i : least),
      0,
    );
  const chosen = () =>
    state.step >= 0
      ? Math.min(state.step, answer.steps.length - 1)
      : isStale
        ? Math.min(shownStep, answer.steps.length - 1)
        : answer.done
          ? least()
          : answer.steps.length - 1;
  /** Another answer to the same sentence, if it is known. */
  const other = (changes) => answers.get(keyOf({ ...answer, begun: [], ...changes }));

  /** The written tokens, when they are others than before. */
  function rebuild() {
    const shape = JSON.stringify([answer.source, answer.steps.map(({ token }) => token), answer.begun.length]);
    if (shape === built) return;
    const before = built ? JSON.parse(built) : [null, answer.steps.map(({ token }) => token)];
    built = shape;
    if (JSON.stringify(before[0]) !== JSON.stringify(answer.source)) {
      const chip = (token) => span("te-trans-chip", wordSpan("te-word", token), span("te-share"));
      fill(readBox, ...answer.source.map(chip));
    }
    chips = choice({
      label: "Written tokens",
      class: "te-trans-chips",
      value: chosen(),
      onChange: (step) => change({ step }),
      options: answer.steps.map(({ token }, i) => ({ value: i, content: [wordSpan("te-word", token)] })),
    });
    fill(writtenBox, chips.element);
    chips.buttons.forEach((one, i) => {
      one.classList.toggle("te-trans-forced", i < answer.begun.length);
      if (answer.steps[i].token !== before[1][i]) appear(one);
    });
  }

  function drawRead(step) {
    [...readBox.children].forEach((/** @type {HTMLElement} */ chip, j) => {
      const weight = step.weights[j] ?? 0;
      if (chip.dataset.value === String(weight)) return;
      chip.style.setProperty("--weight", weight.toFixed(3));
      chip.dataset.value = String(weight);
      chip.lastChild.textContent = weight >= 0.005 ? format(weight) : "\u00a0";
    });
    readBox.setAttribute(
      "aria-label",
      `${from} tokens: ${answer.source.join(" ")}. Looked at: ${seen(step)
        .map(([token, weight]) => `${token} ${format(weight)}`)
        .join(", ")}`,
    );
    fill(
      readNote,
      `The encoder read them at once, into ${plural(answer.source.length, "vector")} of ` +
        `${state.line.width} numbers. Shade: how much step ${chosen() + 1} looks at each.`,
    );
  }
  const seen = (step) =>
    answer.source
      .map((token, j) => [token, step.weights[j] ?? 0])
      .filter(([, weight]) => weight >= 0.1)
      .sort((a, b) => b[1] - a[1])
      .slice(0, 3);

  function drawRivals(step) {
    fill(heading, `Step ${chosen() + 1}: likeliest next tokens`);
    rivals.forEach(({ control, token, share, fillBar }, i) => {
      const [id, word, chance] = step.best[i] ?? [null, "", 0];
      const taken = id === step.id;
      fill(token, id === null ? "" : wordSpan("te-word", word));
      share.textContent = id === null ? "" : format(chance, chance < 0.01 ? 3 : 2);
      fillBar.style.width = `${(100 * chance).toFixed(1)}%`;
      control.dataset.value = String(chance);
      control.classList.toggle("te-trans-taken", taken);
      control.setAttribute(
        "aria-label",
        id === null ? "no token" : `${word}, probability ${format(chance)}: ${taken ? "written" : "go on from it"}`,
      );
      setOff(control, id === null || taken);
    });
    setOff(release, !state.begun.length);
  }

  function drawEnds() {
    const [greedy, usual] = [textOf(other({ search: "greedy" })), textOf(other({ taken: [] }))];
    const shape = JSON.stringify([answer.ends, answer.done, answer.taken, greedy, usual]);
    if (shape === shownEnds) return;
    shownEnds = shape;
    const beam = answer.search === "beam";
    const cut = answer.done && !answer.ends[0].whole ? `, stopped after ${plural(answer.steps.length, "token")}` : "";
    fill(
      endsHeading,
      (beam
        ? answer.done
          ? "The best endings it found, by score"
          : `${BEAM} answers side by side`
        : "The whole translation, and its score") + cut,
    );
    ends.forEach((item, i) => {
      const end = answer.ends[i];
      item.hidden = !end;
      if (!end) return void fill(item);
      fill(
        item,
        h("span", { dir: "auto" }, end.text + (end.whole || !answer.done ? "" : " …")),
        beam && end.text === greedy ? span("te-note", " greedy search’s") : null,
        span("te-trans-score", format(end.score)),
      );
    });
    fill(without, ...(answer.taken.length && usual !== undefined ? ["With all its parts: ", h("i", {}, usual)] : []));
  }

  function finding(step) {
    const text = textOf(answer);
    if (!answer.done) return ["It writes token by token …"];
    if (answer.taken.length) {
      const names = state.parts.filter(({ part }) => answer.taken.includes(part)).map(({ name }) => name);
      const without = `Without ${names.length > 2 ? `${names.length} parts` : names.join(" and ")}: `;
      return [without, h("i", {}, shortened(text, without))];
    }
    if (answer.begun.length) {
      const rest = answer.steps.slice(answer.begun.length).filter(({ token }) => token !== "<eos>");
      const words = rest
        .map(({ token }) => token.replace("·", " "))
        .join(isFree() ? "" : " ")
        .trim();
      const { token } = answer.steps[answer.begun.length - 1];
      const after = h("i", {}, shortened(words, `After  it goes on: ${token}`));
      return ["After ", named(plainly(token)), " it goes on: ", after];
    }
    const greedy = textOf(other({ search: "greedy" }));
    if (answer.search === "beam" && greedy !== undefined) {
      return [
        greedy === text
          ? "Greedy search found the beam’s best ending, too"
          : "The beam’s best ending is one that greedy search missed",
      ];
    }
    const [[, first, chance], [, second, next]] = step.best.map(([id, token, share]) => [
      id,
      named(plainly(token)),
      share,
    ]);
    if (chance < UNSURE) return ["Here it wavers: ", first, ` ${percent(chance)}, `, second, ` ${percent(next)}`];
    const looks = seen(step)[0];
    if (chosen() === least()) return ["Sure of every token: even ", first, ` has ${percent(chance)}`];
    return [first, ` has ${percent(chance)}`, ...(looks ? ["; it looks at ", named(plainly(looks[0]))] : [])];
  }

  function story(step) {
    if (!step.best.length) return ["The beam goes on with its best answers until none can become better."];
    const looks = seen(step)
      .slice(0, 2)
      .map(([token, weight]) => [named(token), ` ${format(weight)}`]);
    const { chance } = answer.ends[0];
    return [
      "To write ",
      named(step.token),
      " it looked at ",
      ...(looks.length ? listed(looks) : ["no token much"]),
      `. Probability of all: ${chance < 0.0005 ? "< 0.001" : format(chance, 3)}.`,
    ];
  }

  /** What stands beside the button that loads, or below the line. */
  function situation(wrong, waits) {
    if (running.trouble) return [`The model could not be loaded (${running.trouble}). Everything else stays as it is.`];
    if (trouble) return [`This could not be computed (${trouble}).`];
    if (wrong) return wrong;
    if (running.model) return [waits ? "Translating …" : big ? "It runs in this page." : ""];
    if (figure.root.dataset.engine === "loading") return ["The model is being loaded …"];
    return [
      big ? (waits ? "This needs the model: load it first." : "for all that is greyed, and sentences of your own") : "",
    ];
  }

  function draw() {
    const { wrong, waits, key } = compute();
    isStale = keyOf(answer) !== key;
    shownStep = chosen();
    rebuild();
    const step = answer.steps[shownStep];
    chips.set(chosen());
    drawRead(step);
    drawRivals(step);
    drawEnds();
    figure.says(...finding(step));
    fill(words, ...story(step));
    searches.set(state.search);
    state.parts.forEach(({ part }, i) => switches[i].set(state.taken.includes(part)));
    markWaiting();
    line.update(state.sentence, Boolean(wrong), keyOf(state) === keyOf(opened));
    const stage = figure.root.dataset.engine;
    load.textContent = `${stage === "failed" ? "Try again" : "Load the model"} (${size})`;
    setOff(load, stage === "loading");
    load.hidden = stage === "ready";
    examples.forEach((one) => (one.hidden = stage !== "ready"));
    bar.hidden = stage !== "loading";
    fill(status, ...situation(wrong, waits));
    figure.root.setAttribute("aria-busy", String(Boolean(asked)));
    figure.tell(
      isStale
        ? `${waits ? `${wanted()}. ` : ""}${status.textContent}`
        : `${textOf(answer)}. ${words.textContent} ${status.textContent}`,
    );
  }

  /** Show of each control whether its answer is there: recorded, or to be computed by a model that is. */
  function markWaiting() {
    const now = { sentence: state.sentence, taken: state.taken, search: state.search, begun: state.begun };
    const waits = (changes) => big && !running.model && !answers.has(keyOf({ ...now, ...changes }));
    const mark = (control, changes) => {
      const off = waits(changes);
      control.classList.toggle("te-trans-waits", off);
      if (off) control.title = "needs the model";
      else control.removeAttribute("title");
    };
    searches.buttons.forEach((one, i) => mark(one, { search: ["greedy", "beam"][i] }));
    state.parts.forEach(({ part }, i) => mark(switches[i].element, { begun: [], taken: takenWith(part) }));
    rivals.forEach(({ control }, i) => mark(control, { begun: begunWith(i) ?? state.begun }));
  }

  /** What is to be computed, in words. */
  const wanted = () =>
    [
      state.sentence,
      state.search === "beam" ? `beam of ${BEAM}` : "greedy search",
      ...state.parts.filter(({ part }) => state.taken.includes(part)).map(({ name }) => `without ${name}`),
      ...(state.begun.length ? [`from ${lastChosen} on`] : []),
    ].join(", ");

  const without = paragraph("te-note");
  if (big) line.element.append(div("te-trans-model", load, bar, status, ...examples));
  else line.element.append(div("te-trans-model", status));
  figure.stage.append(
    line.element,
    div("te-trans-row", span("te-trans-heading", `It reads${from ? `, ${from}` : ""}`), readBox),
    readNote,
    div("te-trans-row", span("te-trans-heading", `It writes${to ? `, ${to}` : ""}`), writtenBox),
    div(
      "te-trans-panels",
      div("te-trans-panel", div("te-trans-top", heading, release), ...rivals.map(({ control }) => control)),
      div("te-trans-panel", div("te-trans-top", endsHeading), h("ol", { class: "te-trans-ends" }, ...ends), without),
    ),
  );
  figure.controls.append(
    searches.element,
    h("fieldset", { class: "te-trans-parts" }, h("legend", {}, "Take away:"), ...switches.map((one) => one.element)),
  );
  const words = figure.words(1);
  const [, second] = (opened.steps[state.step] ?? opened.steps[least()]).best;
  fill(
    figure.root.querySelector(".te-invite"),
    h("b", {}, "Try: "),
    big ? "load the model, then choose " : "choose ",
    named(plainly(second[1])),
    big ? "" : ", the second likeliest,",
    " and see what follows. Or type a sentence.",
  );
  draw();
  figure.ask(questions());
  figure.details(
    "What runs here",
    paragraph(
      "te-note",
      `${size}, loaded ${big ? "with the button" : "when you touch the figure"}, and computed in a thread of its own, ` +
        "in this page. Attention: last layer, mean of its heads. Score: log-probability divided by (5 + tokens) / " +
        `6. A sentence may have ${state.line.most} ${isFree() ? "tokens" : "words"}, its answer ${BEYOND} tokens more.`,
    ),
  );

  function questions() {
    const [plain, branch, beam] = ["greedy", "branch", "beam"].map((kind) =>
      state.recorded.find(
        (one) => !one.taken.length && (kind === "branch" ? one.begun.length : one.search === kind && !one.begun.length),
      ),
    );
    const broken = state.recorded.find((one) => one.taken.length && textOf(one) !== textOf(plain));
    const lost = bare(textOf(branch))
      .filter((word) => !bare(textOf(plain)).includes(word))
      .at(-1);
    const show = ({ sentence, taken, search, begun }) =>
      change({ sentence, taken, search, begun, step: begun.length ? begun.length - 1 : LEAST_SURE });
    const usual = () => textOf(other({ taken: [], search: "greedy" }));
    return [
      {
        ask: lost
          ? ["make greedy search write ", asToken(lost), " by choosing one other token"]
          : ["choose another token, so that the translation is another"],
        done: () =>
          answer.done &&
          answer.search === "greedy" &&
          !answer.taken.length &&
          answer.begun.length > 0 &&
          (lost ? bare(textOf(answer)).includes(lost) : textOf(answer) !== usual()),
        tell: ["All that comes later is written from what stands there already."],
        show: () => show(branch),
      },
      textOf(beam) !== textOf(plain) && {
        ask: ["find a better-scored ending, which greedy search missed"],
        done: () =>
          answer.done &&
          answer.search === "beam" &&
          !answer.taken.length &&
          !answer.begun.length &&
          usual() !== undefined &&
          usual() !== textOf(answer),
        tell: ["Five beginnings were kept; the best ending came from one that looked worse for a while."],
        show: () => show(beam),
      },
      broken && {
        ask: ["take a part away, so that the translation is another"],
        done: () => answer.done && answer.taken.length > 0 && usual() !== undefined && usual() !== textOf(answer),
        tell: ["The model computed without the part; its weights are the same."],
        show: () => show(broken),
      },
    ].filter(Boolean);
  }
  return () => {
    running.model?.end();
    state.dispose();
  };
}

export default { render };
