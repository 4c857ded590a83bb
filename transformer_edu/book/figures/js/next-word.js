import * as engine from "../../engine/js/engine.js";
import {
  afterFrame,
  appear,
  button,
  div,
  fill,
  format,
  frame,
  h,
  KEYS,
  modelOf,
  named,
  paragraph,
  plural,
  readable,
  setOff,
  slider,
  span,
  special,
  store,
  whole,
} from "./core.js";

const OPTIONS = ["beginning", "written", "place", "temperature", "top_k", "top_p", "min_p", "seed"];
const TRAITS = [...OPTIONS, "recorded", "model_file"];
const SHOWN = 12; // tokens that have a bar of their own
const MANY = 30; // tokens at one press
const MOST = 400; // written tokens
const REMEMBERED = 1000; // places whose probabilities are kept
const OFF = 41; // of the slider for k: one more than the largest k
const SURE = 0.9;
const UNSURE = 0.15;
const SEEDS = 10_000;
const FILTERS = ["topK", "topP", "minP"];

/** The next token's logits after a text, the most probable first. It runs in a thread of its own. */
function* nextToken(engine, model, { beginning, written, wantsNames }) {
  const read = model.source.encode(beginning);
  const name = (id) => model.source.token(id);
  model.text ??= engine.startText(model);
  const logits = engine.possible(model.text.goTo([engine.BOS, ...read, ...written]));
  const ids = engine.byProbability(logits);
  yield {
    read: read.map(name),
    names: wantsNames ? Array.from({ length: model.source.size }, (_, id) => name(id)) : null,
    ids,
    logits: Float32Array.from(ids, (id) => logits[id]),
  };
}

/**
 * What the settings leave of a place's tokens: a beginning of the list, for its order is that of probability.
 * @param {any} step  from the model: `ids` and `logits` of all; or stored: `best`, `kept`, `mass`
 * @returns {{ids: number[], chances: ArrayLike<number>, count: number, mass: number} | null}  how many are left in, and
 *   their probability together; null where only the model can tell
 */
function leftIn(step, settings, stored) {
  if (!step) return null;
  const sumOf = (chances, count) => chances.slice(0, count).reduce((sum, one) => sum + one, 0);
  if (step.logits) {
    const chances = engine.probabilities(step.logits, settings.temperature);
    const count = engine.countLeftIn(chances, settings);
    return { ids: step.ids, chances, count, mass: sumOf(chances, count) };
  }
  if (settings.temperature !== stored.temperature) return null;
  const [ids, chances] = [step.best.map(([id]) => id), step.best.map(([, , chance]) => chance)];
  if (FILTERS.every((name) => settings[name] === stored[name]))
    return { ids, chances, count: step.kept, mass: step.mass };
  if (settings.topK > chances.length) return null;
  const count = engine.countLeftIn(chances, settings);
  const decided = count < chances.length || count === settings.topK;
  return decided ? { ids, chances, count, mass: sumOf(chances, count) } : null;
}

/** The token that luck draws, from 0 to 1; undefined where it is none of those that are known. */
function drawnBy({ ids, chances, count, mass }, luck) {
  let rest = luck * mass;
  const known = chances.slice(0, count);
  const rank = known.findIndex((chance) => (rest -= chance) < 0);
  return rank < 0 && known.length === count ? ids[count - 1] : ids[rank]; // undefined at −1
}

/** The settings as the engine takes them. */
const filtersOf = ({ temperature, top_k: topK, top_p: topP, min_p: minP }) => ({ temperature, topK, topP, minP });

/** Words for the page, in which tokens are named. @param {(string | {token: string})[]} parts */
const said = (parts) => parts.map((part) => (part.token === undefined ? part : named(plainly(part.token))));

const isEnd = (id) => id === engine.EOS;
const percent = (share) => (share < 0.01 ? "below 1 %" : `${Math.round(100 * share)} %`);
/** A token without the mark of a word's beginning. */
const plainly = (token) => token.replace(/^·(?=.)/, "");

/** A piece of the text: what is printed of a token, and whether a blank stands before it. */
const pieceOf = (token) => ({
  token,
  gap: token.startsWith("·") && token.length > 1,
  text: readable(plainly(token)).replaceAll("·", " ").replaceAll("\n", "⏎"),
});

/** At which place a token is chosen: the next one, or, where the text has ended, that of its end again. */
const openPlace = ({ written, place }) => place - Number(place > 0 && isEnd(written[place - 1]));

/**
 * All that the figure shows of a state.
 * @param {any} now  the figure's OPTIONS; `stored`, what Python recorded; `read` tokens; `names` of all; `step`, what
 *   is known of the open place; `deed`, what the reader did last
 */
function derive(now) {
  const { written, place, read, names, deed, stored } = now;
  const [at, settings] = [openPlace(now), filtersOf(now)];
  const left = leftIn(now.step, settings, stored);
  const unseen = engine.windowStart(1 + read.length + at, stored.max_len) - 1; // tokens, without the begin token
  const text = {
    read: read.map((token, i) => ({ ...pieceOf(token), unseen: i < unseen })),
    written: written.map((id, i) => ({
      ...pieceOf(names[id] ?? "…"),
      pale: i >= place,
      fresh: i >= deed.from && i < place && deed.from >= 0,
      unseen: read.length + i < unseen,
    })),
  };
  const ended = at < place;
  const view = { text, place, at, left, settings, deed, ended, full: ended || place >= MOST, vocab: stored.vocab };
  return left ? { ...view, ...barsOf(view, left, written[at], names) } : view;
}

/** A bar for each of the most probable tokens, and one for all others. */
function barsOf({ deed, at }, { ids, chances, count, mass }, taken, names) {
  const bars = Array.from(ids.slice(0, SHOWN), (id, i) => {
    const kept = i < count;
    const flip = deed.before && deed.at === at && deed.before.has(id) !== kept ? (kept ? "in" : "out") : "";
    const share = kept ? chances[i] / mass : 0;
    return { id, token: names[id], chance: chances[i], kept, share, taken: id === taken, flip };
  });
  const inBars = bars.reduce((sum, one) => sum + (one.kept ? one.chance : 0), 0);
  const others = {
    chance: Math.max(0, 1 - bars.reduce((sum, one) => sum + one.chance, 0)),
    kept: Math.max(0, count > bars.length ? mass - inBars : 0),
    count: Math.max(0, count - bars.length),
    taken: taken !== undefined && !bars.some((one) => one.taken),
  };
  return { bars, others: { ...others, share: others.kept / mass } };
}

/** The finding: pieces of text, and tokens as {token}. */
function finding({ ended, bars, left }) {
  if (ended) return ["The end token was drawn: the story is over"];
  const [{ token, chance, share }] = bars;
  if (left.count === 1) return ["Only ", { token }, " is left in: luck decides nothing"];
  if (chance >= SURE) return ["Nearly sure: ", { token }, ` comes next, at ${percent(share)}`];
  return [`One of ${whole(left.count)} tokens comes next; likeliest: `, { token }, `, ${percent(share)}`];
}

/** What was done last, and what came of it. */
function story({ ended, left, deed, vocab, text, place }) {
  if (ended) return ["Click a token of the story, or a bar, to go on from there."];
  const count = place - deed.from;
  switch (deed.what) {
    case "set":
      return [`${whole(left.count)} of ${whole(vocab)} tokens are left in, and share the whole probability.`];
    case "took":
      return ["You took ", { token: deed.token }, `, which had ${format(deed.chance, 3)}. The bars follow from it.`];
    case "wrote":
      if (count !== 1) return [`Luck drew ${plural(count, "token")}, each from bars like these.`];
      return ["Luck drew ", { token: text.written[deed.from].token }, ". The bars are those of the token after it."];
    case "went":
      return ["You are at this place again. Pale is what came then; it goes when another token comes."];
    case "opened":
      return ["Pale is what luck draws if you write on. Each token of it has bars of its own: click it."];
    default:
      return ["The model gives each token of its vocabulary a probability; luck draws one."];
  }
}

/** Tab stops at one of some buttons; arrow keys lead to the others. @param {() => HTMLElement[]} all */
function roving(element, all) {
  const stopAt = (one) => all().forEach((other) => other.setAttribute("tabindex", other === one ? "0" : "-1"));
  const steps = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1, Home: -Infinity, End: Infinity };
  element.addEventListener("keydown", (event) => {
    const [buttons, step] = [all(), steps[event.key]];
    const here = buttons.indexOf(event.target);
    if (!step || here < 0 || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    const next = buttons[Math.min(buttons.length - 1, Math.max(0, here + step))];
    stopAt(next);
    next.focus();
  });
  element.addEventListener("focusin", ({ target }) => all().includes(target) && stopAt(target));
  return stopAt;
}

/** The text: what was read, then a button for each written token, and where the next one comes. */
function textBox(onGo) {
  const caret = h("span", { class: "te-next-caret", "aria-hidden": "true" });
  const beginning = span("te-next-read");
  const label = { role: "group", "aria-label": "The text, token by token" };
  const element = h("div", { class: "te-next-text", ...label }, beginning, caret);
  const buttons = [];
  let [names, shown, shownRead] = [null, "", ""];
  const stopAt = roving(element, () => buttons);
  const dress = (node, { gap, unseen, token }) => {
    node.classList.toggle("te-next-gap", gap);
    node.classList.toggle("te-next-unseen", unseen);
    if (special(token)) node.classList.add("te-special");
  };

  function make(piece, i, isLater) {
    const props = { type: "button", class: "te-next-token", ...KEYS, on: { click: () => onGo(i) } };
    const node = h("button", props, piece.text);
    if (isLater) appear(node);
    return node;
  }
  return {
    element,
    draw({ text, place }) {
      const [all, before] = [JSON.stringify([text, place]), shown];
      if (all === shown) return;
      shown = all;
      const read = JSON.stringify(text.read);
      if (read !== shownRead)
        fill(
          beginning,
          ...text.read.map((piece) => {
            const node = span("", piece.text);
            dress(node, piece);
            return node;
          }),
        );
      shownRead = read;
      const same = text.written.findIndex(({ token }, i) => token !== names?.[i]);
      const stays = same < 0 ? text.written.length : same;
      buttons.splice(stays).forEach((one) => one.remove());
      text.written.slice(stays).forEach((piece, i) => buttons.push(make(piece, stays + i, before)));
      element.append(...buttons.slice(stays));
      names = text.written.map(({ token }) => token);
      text.written.forEach((piece, i) => {
        buttons[i].classList.toggle("te-next-pale", piece.pale);
        buttons[i].classList.toggle("te-next-fresh", piece.fresh);
        dress(buttons[i], piece);
        const label = `${readable(piece.token)}, token ${i + 1}${piece.pale ? ", pale" : ""}`;
        if (buttons[i].ariaLabel !== label) buttons[i].setAttribute("aria-label", label);
      });
      if (caret.nextElementSibling !== (buttons[place] ?? null)) element.insertBefore(caret, buttons[place] ?? null);
      if (!buttons.some((one) => one.tabIndex === 0)) stopAt(buttons[0]);
      afterFrame(() => (element.scrollTop = caret.offsetTop - element.clientHeight + 40));
    },
  };
}

/** The bars of the next token; a press takes it. */
function barChart(onTake) {
  const row = (tag, props) => {
    const [token, share, mark] = ["name", "share", "mark"].map((part) => span(`te-next-${part}`));
    const bar = span("te-next-bar te-glide");
    return { token, bar, share, mark, node: h(tag, props, token, span("te-next-track", bar), share, mark) };
  };
  const rows = Array.from({ length: SHOWN }, (_, i) =>
    row("button", {
      type: "button",
      class: "te-next-row",
      tabindex: i ? -1 : 0,
      ...KEYS,
      on: { click: () => onTake(i) },
    }),
  );
  const rest = row("div", { class: "te-next-row te-next-others", role: "img" });
  rest.bar.after(h("span", { class: "te-next-bar te-next-out te-glide" }));
  const group = h(
    "div",
    { role: "toolbar", "aria-orientation": "vertical", "aria-label": "Likeliest next tokens" },
    ...rows.map(({ node }) => node),
  );
  roving(group, () => rows.map(({ node }) => node).filter((node) => !node.hidden));
  const number = (share) => format(share, share < 0.0995 ? 3 : 2);

  function drawRow({ token, bar, share, mark, node }, one) {
    node.hidden = !one;
    if (!one) return;
    fill(token, h("span", { class: `te-word${special(one.token)}` }, readable(one.token).replaceAll("\n", "⏎")));
    bar.style.width = `${(100 * one.chance).toFixed(1)}%`;
    bar.classList.toggle("te-next-out", !one.kept);
    node.classList.toggle("te-next-left-out", !one.kept);
    node.classList.toggle("te-next-taken", one.taken);
    share.textContent = number(one.kept ? one.share : one.chance);
    mark.textContent = one.flip ? { in: "+", out: "−" }[one.flip] : one.taken ? "✓" : "";
    Object.assign(node.dataset, { value: one.share, chance: one.chance });
    const has = one.kept ? `probability ${number(one.share)}` : `left out, it had ${number(one.chance)}`;
    node.setAttribute(
      "aria-label",
      `${readable(one.token)}, ${has}${one.taken ? ", stands in the text" : ""}` +
        `${one.flip ? `, now ${one.flip}` : ""}: take it`,
    );
  }
  const element = div("te-next-bars", group, rest.node);
  return {
    element,
    draw({ bars, others }, isStale) {
      element.classList.toggle("te-next-stale", isStale);
      rows.forEach((one, i) => drawRow(one, bars[i]));
      const out = others.chance - others.kept;
      fill(rest.token, "all others");
      rest.bar.style.width = `${(100 * others.kept).toFixed(1)}%`;
      rest.bar.nextSibling.style.width = `${(100 * Math.max(0, out)).toFixed(1)}%`;
      rest.share.textContent = number(others.share);
      rest.mark.textContent = others.taken ? "✓" : "";
      Object.assign(rest.node.dataset, { value: others.share, chance: others.chance });
      const left = `${plural(others.count, "token")} left in, probability ${number(others.share)}`;
      rest.node.setAttribute("aria-label", `all others: ${left}`);
    },
  };
}

/** The four numbers that say how a token is drawn. */
function settingsOf(state, onSet) {
  const off =
    (when, show = format) =>
    (value) =>
      when(value) ? "off" : show(value);
  const kinds = [
    ["temperature", { label: "Temperature", min: 0.1, max: 2, step: 0.1, format: (value) => format(value, 1) }],
    ["top_k", { label: "Top-k", min: 1, max: OFF, format: off((k) => k >= OFF, String) }],
    ["top_p", { label: "Top-p", min: 0.05, max: 1, step: 0.05, format: off((p) => p >= 1) }],
    ["min_p", { label: "Min-p", min: 0, max: 0.5, step: 0.01, format: off((p) => p <= 0) }],
  ];
  const valueAt = (name) => state[name] ?? OFF;
  const sliders = kinds.map(([name, options]) =>
    slider({
      ...options,
      value: valueAt(name),
      onInput: (value) => onSet(name, name === "top_k" && value >= OFF ? null : value),
    }),
  );
  return {
    element: div("te-next-settings", ...sliders.map(({ element }) => element)),
    draw: () => kinds.forEach(([name], i) => sliders[i].set(valueAt(name))),
    said: () => kinds.map(([name, options]) => `${options.label} ${options.format(valueAt(name))}`).join(", "),
  };
}

/** The model's button and what there is to say of it. */
function modelRow(root, file, running) {
  const size = `${(file.bytes / 1e6).toFixed(1)} MB`;
  const load = button("", () => load.ariaDisabled !== "true" && running.wake());
  const status = span("te-next-status");
  const words = {
    asked: "for more than is stored here; it comes when it is needed",
    loading: "The model is being loaded …",
    ready: "The model runs in this page.",
  };
  return {
    element: div("te-next-model", load, status),
    status,
    draw({ share, trouble }) {
      const stage = root.dataset.engine;
      load.hidden = stage === "ready";
      load.textContent = `${stage === "failed" ? "Try again" : "Load the model"} (${size})`;
      setOff(load, stage === "loading");
      const far = stage === "loading" && share ? ` ${Math.round(100 * share)} %` : "";
      status.textContent = trouble || words[stage] + far;
    },
  };
}

/** The places whose tokens are known: stored ones, and those that the model was asked for. */
function memory(stored) {
  const [steps, reads] = [new Map(), new Map([[stored.beginning, stored.read]])];
  const names = Object.fromEntries([...stored.places.flatMap(({ best }) => best), ...stored.written]);
  const keyOf = (beginning, ids) => JSON.stringify([beginning, ids]);
  const usual = stored.written.map(([id]) => id);
  const isStored = (beginning, ids) => beginning === stored.beginning && ids.every((id, i) => id === usual[i]);
  return {
    names,
    keyOf,
    read: (beginning) => reads.get(beginning) ?? (beginning ? [beginning] : []),
    step: (beginning, ids) =>
      steps.get(keyOf(beginning, ids)) ?? (isStored(beginning, ids) ? stored.places[ids.length] : undefined),
    /** The token that was drawn here, with the settings and the luck of the time. */
    usual: (beginning, ids) => (isStored(beginning, ids) ? usual[ids.length] : undefined),
    put(beginning, ids, found) {
      if (found.names) Object.assign(names, found.names);
      reads.set(beginning, found.read);
      steps.set(keyOf(beginning, ids), found);
      if (steps.size > REMEMBERED) steps.delete(steps.keys().next().value);
    },
  };
}

/** Questions that are answered with what is stored. */
function questions({ stored, usual, change, view }) {
  const firsts = stored.places.map(({ best }) => best[0][2]).slice(0, stored.written.length);
  const [sure, unsure] = [Math.max(...firsts), Math.min(...firsts)];
  const goTo = (share) => change({ ...usual, place: firsts.indexOf(share) }, "went");
  const first = () => view().bars?.[0].chance;
  const isUsual = ({ settings }) => ["temperature", ...FILTERS].every((name) => settings[name] === stored[name]);
  return [
    {
      ask: ["find a place where the model is nearly sure of the next token"],
      done: () => first() >= Math.min(sure, SURE),
      tell: ["What stands before decides it: a name once given, a word begun, a phrase of all stories."],
      show: () => goTo(sure),
    },
    {
      ask: ["find a place where the model is far from sure"],
      done: () => first() <= Math.max(unsure, UNSURE),
      tell: ["The story could go many ways here, and luck has most to say."],
      show: () => goTo(unsure),
    },
    {
      ask: ["leave a single token in, with the sliders"],
      done: () => view().left?.count === 1 && !isUsual(view()),
      tell: ["One token at every place is greedy search: without luck, the same text each time."],
      show: () => change({ ...usual, top_k: 1 }, "set"),
    },
  ];
}

/** The line of the beginning, and the way back to what the figure opened with. */
function beginningLine(onType, onAgain) {
  const input = h("input", {
    type: "text",
    class: "te-sentence-input",
    "aria-label": "Beginning of the story",
    placeholder: "(nothing: the model begins)",
    autocomplete: "off",
    spellcheck: "false",
    maxlength: 200,
    ...KEYS,
    on: { input: () => onType(input.value) },
  });
  const again = button("Start again", () => again.ariaDisabled !== "true" && onAgain());
  return {
    element: div("te-sentence-line", input, again),
    draw(beginning, isOpened) {
      if (input.getRootNode().activeElement !== input && input.value !== beginning) input.value = beginning;
      setOff(again, isOpened);
    },
  };
}

/**
 * What a reader can do. `own` holds what is no state of the figure: `waiting`, tokens still to be written; `deed`, what
 * was done last; `view`, what is shown; `trouble`.
 */
function actionsOf(state, stored, known, own) {
  function change(changes, what, more = {}) {
    Object.assign(own, { waiting: 0, trouble: "", deed: { what, from: -1, ...more } });
    state.set(changes);
  }

  /** The token that luck draws at a place, if what is known of the place tells. */
  function nextAt(ids) {
    const left = leftIn(known.step(state.beginning, ids), filtersOf(state), stored);
    const next = left && drawnBy(left, engine.luckAt(state.seed, ids.length));
    const asStored = Object.entries(stored.settings).every(([name, value]) => state[name] === value);
    return next ?? (left && asStored ? known.usual(state.beginning, ids) : undefined);
  }

  /** Write as many of the tokens that are waited for as can be drawn now. */
  function goOn() {
    let { written, place } = state;
    while (own.waiting > 0) {
      const next = nextAt(written.slice(0, place));
      if (next === undefined) break;
      if (written[place] !== next) written = [...written.slice(0, place), next];
      place += 1;
      own.waiting = isEnd(next) || place >= MOST ? 0 : own.waiting - 1;
    }
    state.set({ written, place });
  }

  function write(count) {
    if (own.view.full) return;
    Object.assign(own, { waiting: count, trouble: "", deed: { what: "wrote", from: state.place } });
    goOn();
  }
  return {
    change,
    nextAt,
    goOn,
    write,
    /** The whole text once more, with another seed. */
    again() {
      const count = state.written.length || MANY;
      change({ seed: (state.seed + 1) % SEEDS, written: [], place: 0 }, "typed");
      write(count);
    },
    /** A slider moves: the bars that go out and come in are marked until something else is done. */
    set(name, value) {
      const {
        deed,
        view: { at, bars = [] },
      } = own;
      const isSame = deed.name === name && deed.at === at;
      const before = isSame ? deed.before : new Set(bars.filter((bar) => bar.kept).map(({ id }) => id));
      change({ [name]: value }, "set", { name, at, before });
    },
    /** The token of a bar, in the place of the one that luck drew. */
    take(i) {
      const { at, bars } = own.view;
      if (!bars) return;
      const { id, token, chance } = bars[i];
      const written = state.written[at] === id ? state.written : [...state.written.slice(0, at), id];
      change({ written, place: at + 1 }, "took", { from: at, token, chance });
    },
  };
}

/** The model, and how it is asked for what is missing; it comes when it is first needed. */
function asking(widget, root, { state, stored, known, own, draw, goOn }) {
  let asked = "";
  const running = modelOf(
    root,
    async () => {
      const bytes = await engine.loadBytes(widget, state.model_file, (share) => {
        own.share = share;
        draw();
      });
      return engine.inWorker(bytes, state.model_file.sha256, nextToken);
    },
    draw,
    true,
  );

  function need() {
    const { beginning } = state;
    const ids = state.written.slice(0, openPlace(state));
    const key = known.keyOf(beginning, ids);
    if (root.dataset.engine === "asked") afterFrame(running.wake);
    if (!running.model || asked === key) return;
    asked = key;
    const wantsNames = Object.keys(known.names).length < stored.vocab;
    running.model.ask({ beginning, written: ids, wantsNames }, ({ found, trouble }) => {
      asked = "";
      own.trouble = trouble ? `This could not be computed (${trouble}).` : "";
      if (found) known.put(beginning, ids, found);
      if (found && own.waiting) goOn();
      else draw();
    });
  }
  return { running, need };
}

function render({ model: widget, el }) {
  const figure = frame(el, {
    name: "next-word",
    label: "Write a story token by token",
    says: [""],
    invite: ["write a token, or click a bar to take one that luck did not. Then raise the temperature."],
  });
  const state = store(widget, TRAITS, draw);
  const stored = { ...state.recorded, ...filtersOf(state.recorded.settings) };
  const opened = Object.fromEntries(OPTIONS.map((name) => [name, state[name]]));
  const usual = { beginning: stored.beginning, written: stored.written.map(([id]) => id), ...stored.settings };
  const known = memory(stored);
  const own = { waiting: 0, share: 0, trouble: "", deed: { what: "opened", from: -1 }, view: {} };
  let decided = null; // the last view with bars
  const { change, nextAt, goOn, write, again, set, take } = actionsOf(state, stored, known, own);
  const { running, need } = asking(widget, figure.root, { state, stored, known, own, draw, goOn });

  const line = beginningLine(
    (beginning) => change({ beginning, written: [], place: 0 }, "typed"),
    () => change(opened, "opened"),
  );
  const text = textBox((place) => change({ place }, "went"));
  const bars = barChart(take);
  const settings = settingsOf(state, set);
  const writing = [
    button("Write one token", () => write(1), { class: "te-button te-primary" }),
    button(`Write ${MANY}`, () => write(MANY)),
  ];
  const row = modelRow(figure.root, state.model_file, running);

  function draw() {
    const ids = state.written.slice(0, openPlace(state));
    const view = derive({
      ...Object.fromEntries(OPTIONS.map((name) => [name, state[name]])),
      stored,
      names: known.names,
      read: known.read(state.beginning),
      step: known.step(state.beginning, ids),
      deed: own.deed,
    });
    own.view = view;
    if (view.left) decided = view;
    if (running.trouble)
      Object.assign(own, {
        waiting: 0,
        trouble: `The model could not be loaded (${running.trouble}). Everything else stays as it is.`,
      });
    const missing = !own.trouble && (!view.left || (own.waiting > 0 && nextAt(ids) === undefined));
    text.draw(view);
    bars.draw(decided, !view.left);
    settings.draw();
    figure.says(...said(finding(decided)));
    fill(sentence, ...said(view.left ? story(view) : ["The bars of this place have to come from the model."]));
    line.draw(
      state.beginning,
      OPTIONS.every((name) => String(state[name]) === String(opened[name])),
    );
    writing.forEach((control) => setOff(control, view.full));
    figure.root.setAttribute("aria-busy", String(missing));
    if (missing) need();
    row.draw(own);
    const heading = figure.root.querySelector(".te-says").textContent;
    const present = `${sentence.textContent} ${settings.said()}. Seed ${state.seed}.`;
    figure.tell(`${heading}. ${present} ${row.status.textContent}`);
  }

  figure.stage.append(
    line.element,
    text.element,
    div(
      "te-next-panels",
      div(
        "te-next-controls",
        settings.element,
        div("te-next-buttons", ...writing, button("Again, other luck", again)),
        row.element,
      ),
      bars.element,
    ),
  );
  const sentence = figure.words(1);
  draw();
  figure.ask(questions({ stored, usual, change, view: () => own.view }));
  figure.details(
    "How a token is drawn",
    paragraph(
      "te-note",
      "Bars: softmax of the scores divided by the temperature. Then top-k, top-p and min-p leave tokens out (hatched, " +
        "struck through); the numbers are what is drawn from, and add up to 1. Luck hangs on the seed and the place: the " +
        `same presses give the same text. The model sees ${stored.max_len} tokens; of a longer text, the older half is ` +
        "dropped. What is shown before the model is loaded was computed with the same weights.",
    ),
  );
  return () => {
    running.model?.end();
    state.dispose();
  };
}

export default { render };
