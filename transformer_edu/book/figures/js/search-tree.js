import * as engine from "../../engine/js/engine.js";
import {
  asToken,
  bold,
  button,
  choice,
  div,
  fill,
  format,
  frame,
  h,
  modelOf,
  paragraph,
  player,
  sentenceLine,
  setOff,
  sketch,
  span,
  store,
  svg,
} from "./core.js";
import { BOS, EOS, LONGEST, modelTree, penalty, recordedTree, scoreOf, search } from "./parts/search.js";

const TRAITS = /** @type {const} */ (["recorded", "sentence", "beam", "alpha", "step", "line", "model_file"]);
const NAMED = 2; // beginnings that a sentence names
const ENDING = 3; // words of such a beginning, the last ones
const COLUMNS = 13; // steps that are shown at once, with the start
const EXAMPLE = "the small black cat does not sleep"; // where it opens with none
const STEPWISE = "Each step keeps the best beginning and drops the rest";
const FATES = { kept: ["✓", "kept"], dropped: ["✗", "falls out"], finished: ["■", "finished"] };

/** What is shown of a step, best first: what is kept, what finishes, and the best that fall out. */
function shownOf({ alive, candidates }) {
  const dropped = candidates.filter(({ fate }) => fate === "dropped").slice(0, alive.length > 2 ? 1 : 2);
  return candidates.filter((one) => one.fate !== "dropped" || dropped.includes(one));
}

const tokenOf = (tree, token) => (token === BOS ? "start" : token === EOS ? "end" : tree.tokens[token]);
const markOf = (token) => (token === BOS || token === EOS ? " te-srch-special" : "");
const textOf = (tree, path) => {
  const words = path.filter((token) => token !== EOS).map((token) => tree.tokens[token]);
  return tree.space ? words.join("").replaceAll(tree.space, " ").trim() : words.join(" ");
};
const greedyOf = (tree) => search(tree, 1, 0).ranked[0];
const sameSentence = (one, other) => one.path.join(" ") === other.path.join(" ");
/** A probability: with two digits that count, where fewer are given. */
const chance = (p, decimals = Math.max(2, 1 - Math.floor(Math.log10(p)))) =>
  p < 0.001 ? "< 0.001" : format(p, decimals);
const quote = (tree, { path }) => asToken(textOf(tree, path));

/**
 * The prefixes of a step from one side to the other: children of one parent together, those that fall out outside.
 */
function orderOf(step, above) {
  const parents = above.filter((one) => step.alive.includes(one));
  const side = ({ from, fate }, i) =>
    fate === "dropped" ? Math.sign(2 * parents.indexOf(from) + 1 - parents.length) || (i % 2) - 0.5 : 0;
  return shownOf(step)
    .map((one, i) => [4 * parents.indexOf(one.from) + side(one, i), one])
    .sort(([a], [b]) => a - b)
    .map(([, one]) => one);
}

/** On which lanes a step's prefixes stand: what goes on beside its parent, one lane apart, inside the picture. */
function placesOf(row, aboveRow, abovePlaces, lanes) {
  const middle = ({ from }) => {
    const all = row.flatMap((one, i) => (one.from === from ? [i] : []));
    const going = all.filter((i) => row[i].fate !== "dropped");
    return going.length ? (going[0] + going.at(-1)) / 2 : all[0];
  };
  const places = row.map((one, i) => abovePlaces[aboveRow.indexOf(one.from)] + i - middle(one));
  for (let i = 0; i < places.length; i += 1) places[i] = Math.max(places[i], i ? places[i - 1] + 1 : 0.5);
  for (let i = places.length - 1; i >= 0; i -= 1)
    places[i] = Math.min(places[i], i + 1 < places.length ? places[i + 1] - 1 : lanes - 0.5);
  return places;
}

/**
 * The tree down to a step, from the start on as far as there is room. A prefix stays the same element in every setting
 * and goes where it stands now. One that comes grows out of its parent; one that falls out falls a little later.
 */
function treePicture(label) {
  const lines = svg("g");
  const edges = sketch("te-srch-edges", "0 0 1 1", lines);
  edges.setAttribute("preserveAspectRatio", "none");
  const element = h("div", { class: "te-srch-tree", role: "img", "aria-label": label }, edges);
  const known = new Map();
  let [first, drawn] = [true, null];

  function make(tree, one) {
    const word = tokenOf(tree, one.token);
    const made = {
      node: h(
        "div",
        { title: textOf(tree, one.path) || null },
        span("te-srch-mark"),
        h("span", { class: `te-srch-word${markOf(one.token)}`, style: { "--letters": word.length } }, word),
        one.from ? span("te-srch-log", span("te-srch-unit"), span("")) : null,
        span("te-srch-tag"),
      ),
      edge: svg("line", { "vector-effect": "non-scaling-stroke" }),
      seen: false,
    };
    known.set(one.path.join(" "), made);
    element.append(made.node);
    if (one.from) lines.append(made.edge);
    return made;
  }

  function put(tree, one, here, parent, { level, shown, newest, won, number, tag }) {
    const made = known.get(one.path.join(" ")) ?? make(tree, one);
    const { node, edge } = made;
    const now = [one.fate, here, parent, level, shown, newest, won, number, tag].join();
    if (made.now === now) return;
    made.now = now;
    const fate = `te-srch-${one.fate}${won ? " te-srch-won" : ""}`;
    const comes = shown && !first && (!made.seen || node.classList.contains("te-srch-new")) ? " te-srch-new" : "";
    node.setAttribute("class", `te-srch-node ${fate}${newest ? " te-srch-newest" : ""}${comes}`);
    edge.setAttribute("class", `te-srch-edge ${fate}${comes}`);
    ["along", "across", "from", "side"].forEach((name, i) =>
      node.style.setProperty(`--${name}`, [...here, ...parent][i]),
    );
    node.style.setProperty("--level", level);
    ["x1", "y1", "x2", "y2"].forEach((name, i) => edge.setAttribute(name, [...parent, ...here][i]));
    Object.assign(node.dataset, { fate: one.fate, value: one.logProb, step: one.path.length });
    if (one.from) {
      const [unit, text] = node.querySelector(".te-srch-log").childNodes;
      unit.textContent = one.fate === "finished" ? "score " : "";
      text.textContent = format(number);
    }
    node.lastChild.textContent = tag;
    node.lastChild.style.setProperty("--letters", tag.length);
    node.firstChild.textContent = one.fate === "kept" ? "" : FATES[one.fate][0];
    [node, edge].forEach((part) => part.toggleAttribute("hidden", !shown));
    made.seen = shown;
  }

  return {
    element,
    update(tree, { root, steps, ranked }, step, { beam, alpha }) {
      if (tree !== drawn) {
        // other words under the same numbers
        known.forEach((made) => [made.node, made.edge].forEach((part) => part.remove()));
        known.clear();
        drawn = tree;
      }
      const rows = [[root]];
      steps.forEach((one) => rows.push(orderOf(one, rows.at(-1))));
      const lanes = Math.max(3, ...rows.map((row) => row.length));
      const places = [[lanes / 2]];
      rows.slice(1).forEach((row, i) => places.push(placesOf(row, rows[i], places[i], lanes)));
      const won = new Set();
      for (let one = step === steps.length ? ranked[0] : null; one; one = one.from) won.add(one);
      const greedy = greedyOf(tree);
      const ways = greedy.path.map((_, i) => greedy.path.slice(0, i + 1).join(" "));
      const met = ways.filter((way) => rows.flat().some(({ path }) => path.join(" ") === way)).at(-1);
      /** At the end of a way: whose it is, and its probability. */
      const tagOf = (one) => {
        if (step < steps.length) return "";
        const way = one.path.join(" ");
        const best = one === ranked[0];
        const names = [way === met && "greedy", best && beam > 1 && `beam of ${beam}`].filter(Boolean).join(" = ");
        return names && (best || way === ways.at(-1)) ? `${names}: ${chance(Math.exp(one.logProb))}` : names;
      };
      element.classList.toggle("te-srch-dense", lanes > 6);
      element.classList.toggle("te-srch-packed", lanes > 7);
      element.classList.toggle("te-srch-wide", lanes > 5);
      element.classList.toggle("te-srch-long", rows.length > 7);
      element.style.setProperty("--lanes", String(lanes));
      element.style.setProperty("--steps", String(Math.min(rows.length, COLUMNS)));
      const from = Math.max(0, step + 1 - COLUMNS); // the first row that is shown
      const columns = Math.min(rows.length, COLUMNS);
      const at = (i, j) => [(i - from + 0.5) / columns, places[i][j] / lanes];
      const there = new Set();
      rows.forEach((row, i) =>
        row.forEach((one, j) => {
          there.add(one.path.join(" "));
          put(tree, one, at(i, j), i ? at(i - 1, rows[i - 1].indexOf(one.from)) : at(i, j), {
            level: i ? (lanes > 7 ? (j % 3) - 1 : (j % 2) - 0.5) : 0,
            shown: i >= from && i <= step,
            newest: i === step && i > 0 && i < steps.length,
            won: won.has(one),
            number: one.fate === "finished" ? scoreOf(one, alpha) : one.logProb,
            tag: tagOf(one),
          });
        }),
      );
      known.forEach((made, path) => {
        if (there.has(path)) return;
        [made.node, made.edge].forEach((part) => part.remove());
        known.delete(path);
      });
      first = false;
    },
  };
}

const line = (role, props, ...cells) =>
  h("div", { role: "row", ...props }, ...cells.map((content) => h("span", { role }, ...[content].flat())));
const head = (...titles) => line("columnheader", { class: "te-srch-line te-srch-head" }, ...titles);

/** The candidates of one step, best first. */
function candidateRows(tree, step) {
  const before = ({ path }) => `${path.length > 4 ? "… " : ""}${textOf(tree, path.slice(-4, -1))}`;
  return shownOf(step).map((one) => {
    const look = { class: `te-srch-line te-srch-${one.fate}`, dataset: { fate: one.fate, value: one.logProb } };
    const space = tree.space && one.token !== EOS ? "" : " ";
    const newest = h("b", { class: markOf(one.token).trim() }, tokenOf(tree, one.token));
    const fate = span("te-srch-fate", FATES[one.fate].join(" "));
    return line("cell", look, fate, [before(one) + space, newest], chance(Math.exp(one.own), 3), format(one.logProb));
  });
}

/** Finished sentences, best score first; what greedy search says, where it is not among them. */
function resultRows(tree, alpha, done, greedy, ended) {
  const note = (one) => (!ended ? "" : one === done[0] ? "★ wins" : sameSentence(one, greedy) ? "greedy" : "");
  return [...done, ...(ended && !done.some((one) => sameSentence(one, greedy)) ? [greedy] : [])].map((one) =>
    line(
      "cell",
      {
        class: `te-srch-line${ended && one === done[0] ? " te-srch-best" : ""}`,
        dataset: { value: scoreOf(one, alpha), logprob: one.logProb, length: one.path.length },
      },
      [textOf(tree, one.path), span("te-srch-flag", note(one))],
      one.path.length,
      format(one.logProb),
      format(scoreOf(one, alpha)),
    ),
  );
}

/** What happened in a step. */
function stepWords(tree, { candidates, ends }) {
  const [going, [dropped]] = ["kept", "dropped"].map((fate) => candidates.filter((one) => one.fate === fate));
  const quoted = ({ path }) => asToken((path.length > ENDING ? "… " : "") + textOf(tree, path.slice(-ENDING)));
  const list = (found) =>
    found
      .slice(0, NAMED)
      .flatMap((one, i) => [
        i ? (i === found.length - 1 ? " and " : ", ") : "",
        quoted(one),
        ` (${format(one.logProb)})`,
      ])
      .concat(found.length > NAMED ? [` and ${found.length - NAMED} more`] : []);
  return [
    ...(going.length ? ["Kept: ", ...list(going), ". "] : ["Nothing goes on. "]),
    ...(ends.length ? ["Finished: ", ...list(ends), ". "] : []),
    ...(dropped
      ? [
          "The best that falls out: ",
          quoted(dropped),
          dropped.token === EOS ? " with its end" : "",
          ` (${format(dropped.logProb)}).`,
        ]
      : []),
  ];
}

/** Who wins, and how much more probable that is than what greedy search says. */
function endWords(tree, { ranked, cut }, { beam, alpha }) {
  const [best, greedy] = [ranked[0], greedyOf(tree)];
  const words = [
    bold("Winner: "),
    quote(tree, best),
    ` (log-probability ${format(best.logProb)}, score ${format(scoreOf(best, alpha))}). `,
  ];
  if (cut) words.push("No sentence has ended: this one is cut off. ");
  if (beam === 1 && sameSentence(greedy, best)) {
    words.push("A beam of 1 is greedy search: it never comes back to what it let go.");
  } else if (sameSentence(greedy, best)) words.push("Greedy search (a beam of 1) says the same.");
  else if (best.logProb < greedy.logProb) words.push("It is less probable than greedy’s, but has the better score.");
  else words.push(`It is ${format(Math.exp(best.logProb - greedy.logProb))} times as probable as greedy’s.`);
  return words;
}

/** For which length penalties another sentence wins. */
function otherWinner(tree, { ranked: [best] }, beam) {
  const winners = tree.alphas.map((value) => [value, search(tree, beam, value).ranked[0]]);
  const other = winners.find(([, one]) => !sameSentence(one, best))?.[1];
  if (!other) return [];
  const when = winners.filter(([, one]) => sameSentence(one, other)).map(([value]) => value);
  return [
    `With α = ${when.join(" or ")}, `,
    quote(tree, other),
    ` would win: ${format(other.logProb)}, length ${other.path.length} against ${best.path.length}. `,
  ];
}

/** What the picture shows. */
function finding(tree, { ranked }, ended, beam) {
  if (!ended) return beam > 1 ? `Each step keeps the best ${beam} beginnings and drops the rest` : STEPWISE;
  const [best, greedy] = [ranked[0], greedyOf(tree)];
  if (best.logProb < greedy.logProb) return "The length penalty makes a less probable sentence win";
  if (!sameSentence(best, greedy)) return `A beam of ${beam} finds what greedy search has let go`;
  if (beam > 1) return `A beam of ${beam} ends where greedy search ends, too`;
  return "A beam of 1 never sees again what it let go";
}

/** The first step at which the best that is kept is not what greedy search has kept; 0 if there is none. */
function overtaken(tree, { steps }) {
  const greedy = greedyOf(tree).path;
  return (
    1 +
    steps.findIndex(({ candidates }) => {
      const ahead = candidates.find(({ fate }) => fate === "kept");
      return ahead?.path.some((token, i) => token !== greedy[i]);
    })
  );
}

/** Questions about the search that the figure opens with; those that it does not answer are left out. */
function tasks(state, tree, read) {
  const { beam, sentence } = state;
  const start = read();
  const same = () => state.sentence === sentence;
  const [winner, greedy, over] = [start.ranked[0], greedyOf(tree), overtaken(tree, start)];
  const beaten = !sameSentence(winner, greedy);
  const other = tree.alphas.find((alpha) => !sameSentence(search(tree, beam, alpha).ranked[0], winner));
  return [
    beaten &&
      over > 0 &&
      over < start.steps.length && {
        ask: ["find the step where greedy falls behind"],
        done: () => same() && state.step === overtaken(tree, read()),
        tell: ["The leader began with a weaker word."],
        show: () => state.set({ sentence, beam, step: over }),
      },
    beaten && {
      ask: ["make the search miss this winner"],
      done: () => same() && sameSentence(read().ranked[0], greedy),
      tell: ["What falls out never comes back."],
      show: () => state.set({ sentence, beam: Math.min(...tree.beam_sizes), step: tree.max_len - 1 }),
    },
    other !== undefined && {
      ask: ["make another sentence win with this beam"],
      done: () => same() && state.beam === beam && !sameSentence(read().ranked[0], winner),
      tell: ["α only ranks what is finished."],
      show: () => state.set({ sentence, beam, alpha: other, step: tree.max_len - 1 }),
    },
  ].filter(Boolean);
}

/** Why the search has stopped, or what has to happen for a sentence to be finished. */
function rule(tree, { steps, ranked }, step, { beam, alpha }) {
  if (step < steps.length) {
    const rest = step ? Math.max(...steps[step - 1].alive.map(({ path }) => tree.rest(path))) : 0;
    return [
      `A candidate that ends is finished if it is ${beam > 1 ? `among the best ${beam}` : "the best"} of all ` +
        "candidates of its step. ",
      rest > 0 ? `The tokens that are not looked at share at most ${format(100 * rest, rest < 0.01 ? 2 : 0)} %.` : "",
    ];
  }
  const length = ranked[0].path.length;
  const others = otherWinner(tree, { ranked }, beam);
  const going = steps.at(-1).candidates.find(({ fate }) => fate === "kept");
  const limit = going && going.path.length + 1 >= tree.max_len;
  return [
    `Score: log-probability divided by ((5 + ${length}) / 6)`,
    h("sup", {}, span("te-hidden", " to the power "), alpha),
    ` = ${format(penalty(length, alpha))} for the winner. `,
    ...others,
    !going && "The search stops because nothing goes on.",
    limit && `The search stops at its limit, ${tree.max_len} tokens with the start.`,
    going &&
      !limit &&
      "The search stops because nothing in the beam could still beat " +
        `${ranked.length > 1 ? `one of the ${ranked.length} finished sentences` : "the finished sentence"}, even if all ` +
        "the rest of it were certain.",
  ].filter(Boolean);
}

function render({ model: widget, el }) {
  const figure = frame(el, {
    name: "search-tree",
    label: "Search tree",
    says: [""],
    invite: ["press Play and watch which beginnings fall out. Then choose a beam of 1."],
    rest: 400,
  });
  const state = store(widget, TRAITS, draw);
  const [opened, began] = [recordedTree(state.recorded), state.sentence];
  const translated = new Map(); // sentences, each with its tree
  const runs = Object.keys(state.model_file).length > 0;
  const running = runs ? modelOf(figure.root, () => engine.loadModel(widget, state.model_file), draw) : null;
  const line = runs
    ? sentenceLine({
        opened: began ? began.split(" ") : [],
        ...state.line,
        wordsOf: engine.wordsOf,
        ...(began ? {} : { example: EXAMPLE, placeholder: "or type an English sentence" }),
        onChange(sentence) {
          state.set({ sentence, ...(step === found.steps.length ? { step: LONGEST - 1 } : {}) });
          running.wake();
        },
        onAgain() {
          line.set(began);
          state.set({ sentence: began, step: tree.max_len - 1 });
        },
      })
    : null;
  let [tree, more] = [opened, null];

  /** The tree of what is typed, and what is wrong with that; no tree while it has to wait for the model. */
  function readTree() {
    if (!runs || (!state.sentence.trim() && !began)) return [opened, null];
    const { words, wrong } = line.read(state.sentence);
    const text = words.join(" ");
    if (wrong) return [tree, wrong];
    if (text === began || !running.model) return [text === began ? opened : null, null];
    if (!translated.has(text)) translated.set(text, modelTree(running.model, words, opened));
    return [translated.get(text), null];
  }

  const picture = treePicture("Tree of the beginnings looked at so far; the tables in the details hold its numbers");
  const [why, place] = [paragraph("te-note"), span("te-note")];
  const table = (name, label) =>
    h("div", { role: "table", "aria-label": label, class: `te-srch-table te-srch-${name}` });
  const [candidates, finished] = [
    table("candidates", "Candidates of this step"),
    table("results", "Finished sentences"),
  ];
  let [found, step] = [null, 0];
  // the end stays the end in every setting
  const go = (to) =>
    to >= 0 &&
    to <= found.steps.length &&
    to !== step &&
    state.set({ step: to === found.steps.length ? tree.max_len - 1 : to });
  const moves = [
    button("To the start", () => go(0)),
    button("Back", () => go(step - 1)),
    button("Next step", () => go(step + 1), { class: "te-button te-primary" }),
  ];
  const play = player({ figure: figure.root, at: () => step, last: () => found.steps.length, go, wait: 1300 });
  const radio = (name, label, values) =>
    choice({
      label,
      value: state[name],
      onChange: (value) => state.set({ [name]: value }),
      options: values.map((value) => ({ value, content: [String(value)] })),
    });
  const [beams, alphas] = [
    radio("beam", "Beam size", opened.beam_sizes),
    radio("alpha", "Length penalty alpha", opened.alphas),
  ];

  function draw() {
    const [known, wrong] = readTree();
    tree = known ?? tree;
    found = search(tree, state.beam, state.alpha);
    step = Math.min(state.step, found.steps.length);
    const ended = step === found.steps.length;
    const newest = found.steps[step - 1];
    figure.says(finding(tree, found, ended, state.beam));
    picture.update(tree, found, step, state);
    const instead = running?.instead(wrong, !known);
    line?.update(state.sentence, Boolean(wrong), state.sentence === began);
    [beams.set(state.beam), alphas.set(state.alpha)];
    const rolled = step < COLUMNS ? "" : `, the last ${COLUMNS} shown`;
    place.textContent = `step ${step} of ${found.steps.length}${rolled}`;
    moves.forEach((one, i) => setOff(one, i < 2 ? step === 0 : ended));
    figure.rest(() => {
      fill(
        words,
        ...(instead ??
          (newest
            ? ended
              ? endWords(tree, found, state)
              : stepWords(tree, newest)
            : ["Nothing is written yet. Each number will be the sum of the log-probabilities of all tokens so far."])),
      );
      if (tree === opened || more?.open) explain();
      const setting = `Beam size ${state.beam}, alpha ${state.alpha}, ${place.textContent}`;
      figure.tell(`${tree.source ? `${tree.source}. ` : ""}${setting}. ${words.textContent}`);
    });
  }

  /** The details: for a translation, which takes longer, only where they are open. */
  function explain() {
    const [ended, newest] = [step === found.steps.length, found.steps[step - 1]];
    fill(
      candidates,
      head(`step ${step}`, "candidate", "p(token)", "log-prob."),
      ...(newest ? candidateRows(tree, newest) : []),
    );
    fill(
      finished,
      head("finished", "length", "log-prob.", "score"),
      ...resultRows(tree, state.alpha, ended ? found.ranked : (newest?.best ?? []), greedyOf(tree), ended),
    );
    fill(why, ...rule(tree, found, step, state));
  }

  const titled = (label, control) => div("te-group", span("te-label", label), control.element);
  const told = { kept: "kept", dropped: "falls out", finished: "finished: leaves the beam" };
  const keys = Object.entries(told).map(([fate, text]) =>
    span(
      "te-srch-key",
      span(`te-srch-node te-srch-${fate}`, span("te-srch-mark", fate === "kept" ? "" : FATES[fate][0])),
      text,
    ),
  );
  if (line) figure.stage.append(line.element);
  else if (tree.source) figure.stage.append(paragraph("te-srch-lead", "To be translated: ", asToken(tree.source)));
  figure.stage.append(
    picture.element,
    div("te-srch-legend te-label", ...keys, span("", "numbers: log-probability; at the end: score")),
  );
  figure.controls.append(
    play.element,
    ...moves,
    place,
    div("te-srch-settings", titled("beam size", beams), titled("length penalty α", alphas)),
  );
  const words = figure.words(tree.source && !line ? 3 : 2);
  draw();
  figure.ask(tasks(state, opened, () => found));
  more = figure.details(
    "The numbers, and why the search stops",
    div("te-srch-tables", candidates, div("", finished, why)),
  );
  more.addEventListener("toggle", () => more.open && explain());
  return state.dispose;
}

export default { render };
