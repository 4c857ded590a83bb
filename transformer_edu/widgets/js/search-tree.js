import { asToken, bold, button, changeAnnouncer, choice, div, fill, format, h, mount, paragraph, setOff, span, store,
  svg } from "./core.js";

const TRAITS = ["tree", "beam", "alpha", "step"];
const [BOS, EOS] = [0, 1]; // places in tree.tokens
const FATES = { kept: ["✓", "kept"], dropped: ["✗", "falls out"], finished: ["■", "finished"] };

/** Wu et al. 2016, equation 14: what a log-probability is divided by. Length: tokens after the begin token. */
const penalty = (length, alpha) => ((5 + length) / 6) ** alpha;
const scoreOf = ({ path, logProb }, alpha) => logProb / penalty(path.length, alpha);

/** Every next token of a beginning, with the log-probability of the longer one. */
function continued(tree, from) {
  const nodeOf = (token) => tree.parent.findIndex((parent, i) => parent === from.node && tree.token[i] === token);
  const own = tree.log_probs[from.node];
  return tree.next[from.node].map((token, i) => ({
    from,
    token,
    own: own[i],
    logProb: from.logProb + own[i],
    path: [...from.path, token],
    node: nodeOf(token),
  }));
}

/** At the limit, or when nothing in the beam could become better than the `beam` sentences that are finished. */
function isDone([first], best, longest, beam, alpha) {
  const hope = first.logProb / penalty(longest - 1, alpha);
  return first.path.length + 1 >= longest || (best.length === beam && scoreOf(best.at(-1), alpha) >= hope);
}

/**
 * The search of transformer_edu.decoding.beam, step by step. The best `beam` candidates that do not end are the next
 * beam; one that
 * ends is finished when it is among the best `beam` of all. Of each step: candidates, best first, with their fates.
 */
function search(tree, beam, alpha) {
  const root = { from: null, token: BOS, own: 0, logProb: 0, path: [], node: 0, fate: "kept" };
  const ranked = (found) => found.sort((a, b) => scoreOf(b, alpha) - scoreOf(a, alpha)).slice(0, beam);
  let [steps, alive, best] = [
    [],
    [root],
    []
  ];
  while (alive.length && !isDone(alive, best, tree.max_len, beam, alpha)) {
    const candidates = alive.flatMap((from) => continued(tree, from)).sort((a, b) => b.logProb - a.logProb);
    const going = candidates.filter(({ token }) => token !== EOS).slice(0, beam);
    const ends = candidates.slice(0, beam).filter(({ token }) => token === EOS);
    candidates.forEach((one) => (
      one.fate = going.includes(one) ? "kept" : ends.includes(one) ? "finished" : "dropped"
    ));
    best = ranked([...best, ...ends]);
    steps.push({ alive, candidates, ends, best });
    alive = going;
  }
  return { root, steps, ranked: best.length ? best : ranked(alive), cut: !best.length };
}

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
const quote = (tree, { path }) => asToken(textOf(tree, path));

/**
 * The prefixes of a step from left to right: children of one parent together, those that fall out at the outer side.
 */
function rowOf(step, above) {
  const parents = above.filter((one) => step.alive.includes(one));
  const side = ({ from, fate }, i) => (
    fate === "dropped" ? Math.sign(2 * parents.indexOf(from) + 1 - parents.length) || (i % 2) - 0.5 : 0
  );
  return shownOf(step).map((one, i) => [
    4 * parents.indexOf(one.from) + side(one, i), one,
  ]).sort(([a], [b]) => a - b).map(([, one]) => one);
}

/** Where a row's prefixes stand: what goes on right below its parent, one column apart, inside the picture. */
function placesOf(row, aboveRow, abovePlaces, columns) {
  const middle = ({ from }) => {
    const all = row.flatMap((one, i) => (one.from === from ? [i] : []));
    const going = all.filter((i) => row[i].fate !== "dropped");
    return going.length ? (going[0] + going.at(-1)) / 2 : all[0];
  };
  const places = row.map((one, i) => abovePlaces[aboveRow.indexOf(one.from)] + i - middle(one));
  for (let i = 0; i < places.length; i += 1) places[i] = Math.max(places[i], i ? places[i - 1] + 1 : 0.5);
  for (let i = places.length - 1; i >= 0; i -= 1) places[i] = Math.min(
    places[i], i + 1 < places.length ? places[i + 1] - 1 : columns - 0.5
  );
  return places;
}

/** The tree down to a step: a row of prefixes for each, joined by lines; the winner's way is thick at the end. */
function drawTree(box, tree, { root, steps, ranked }, step) {
  const rows = [
    [root]
  ];
  steps.forEach((one) => rows.push(rowOf(one, rows.at(-1))));
  const columns = Math.max(3, ...rows.map((row) => row.length));
  const x = [];
  x.push([columns / 2]);
  rows.slice(1).forEach((row, i) => x.push(placesOf(row, rows[i], x[i], columns)));
  const won = new Set();
  for (let one = step === steps.length ? ranked[0] : null; one; one = one.from) won.add(one);
  const frame = { class: "te-srch-edges", viewBox: `0 0 ${columns} 1`, preserveAspectRatio: "none" };
  const edges = (row, at) => svg("svg", frame,
    ...row.map((one, i) => svg("line", {
      x1: x[at - 1][rows[at - 1].indexOf(one.from)],
      y1: 0,
      x2: x[at][i],
      y2: 1,
      class: `te-srch-edge te-srch-${one.fate}${won.has(one) ? " te-srch-won" : ""}`,
      "vector-effect": "non-scaling-stroke",
    })));
  const cell = (one, place) => h("div", {
      style: { left: `${(100 * place) / columns}%` },
      class: `te-srch-node te-srch-${one.fate}${won.has(one) ? " te-srch-won" : ""}`,
      title: textOf(tree, one.path) || null,
      dataset: { fate: one.fate, value: one.logProb },
    },
    one.fate === "kept" ? null : span("te-srch-mark", FATES[one.fate][0]),
    span(`te-srch-word${markOf(one.token)}`, tokenOf(tree, one.token)),
    one.from ? span("te-srch-log", format(one.logProb)) : null);
  box.style.cssText = `--columns: ${columns}; --rows: ${rows.length}`;
  fill(box, ...rows.slice(0, step + 1).flatMap((row, i) => [
    i ? edges(row, i) : null,
    div(`te-srch-row${i === step && i ? " te-srch-newest" : ""}`, ...row.map((one, at) => cell(one, x[i][at]))),
  ]));
}

const line = (role, props, ...cells) => h("div", { role: "row", ...props },
  ...cells.map((content) => h("span", { role }, ...[content].flat()))
);
const head = (...titles) => line("columnheader", { class: "te-srch-line te-srch-head" }, ...titles);

/** The candidates of one step, best first. */
function candidateRows(tree, step) {
  const before = ({ path }) => `${path.length > 4 ? "… " : ""}${textOf(tree, path.slice(-4, -1))}`;
  return shownOf(step).map((one) => {
    const look = { class: `te-srch-line te-srch-${one.fate}`, dataset: { fate: one.fate, value: one.logProb } };
    const space = tree.space && one.token !== EOS ? "" : " ";
    const newest = h("b", { class: markOf(one.token).trim() }, tokenOf(tree, one.token));
    const fate = span("te-srch-fate", FATES[one.fate].join(" "));
    return line("cell", look, fate, [before(one) + space, newest], format(Math.exp(one.own), 3), format(one.logProb));
  });
}

/** Finished sentences, best score first; what greedy search says, where it is not among them. */
function resultRows(tree, alpha, done, greedy, ended) {
  const note = (one) => (!ended ? "" : one === done[0] ? "★ wins" : sameSentence(one, greedy) ? "greedy" : "");
  return [...done, ...(ended && !done.some((one) => sameSentence(one, greedy)) ? [greedy] : [])].map((one) => line(
    "cell", {
      class: `te-srch-line${ended && one === done[0] ? " te-srch-best" : ""}`,
      dataset: { value: scoreOf(one, alpha), logprob: one.logProb, length: one.path.length },
    },
    [textOf(tree, one.path), span("te-srch-flag", note(one))],
    one.path.length, format(one.logProb), format(scoreOf(one, alpha))));
}

/** What happened in a step. */
function stepWords(tree, { alive, candidates, ends }) {
  const [going, [dropped]] = ["kept", "dropped"].map((fate) => candidates.filter((one) => one.fate === fate));
  const rest = Math.max(...alive.map(({ node }) => tree.rest[node]));
  const list = (found) => found.flatMap((one, i) => [
    i ? (i === found.length - 1 ? " and " : ", ") : "", quote(tree, one), ` (${format(one.logProb)})`,
  ]);
  const words = [alive.length > 1
    ? `Each of the ${alive.length} beginnings is continued with every token. `
    : "The beginning is continued with every token. "
  ];
  if (ends.length) {
    words.push(...list(ends), ends.length > 1 ? " end here: they are finished. " : " ends here: it is finished. ");
  }
  words.push(...(going.length ? [
    going.length > 1 ? `The best ${going.length} that go on are kept: ` : "The best that goes on is kept: ",
    ...list(going),
    ". ",
  ] : ["Nothing goes on. "]));
  if (dropped) words.push(
    "The best that falls out: ",
    quote(tree, dropped),
    dropped.token === EOS ? " with its end" : "",
    ` (${format(dropped.logProb)}). `,
  );
  return [...words, rest > 0
    ? `Tokens that were not recorded share at most ${format(100 * rest, rest < 0.01 ? 2 : 0)} % of the probability.`
    : ""
  ];
}

/** Who wins, what greedy search would have said, and for which length penalties another sentence wins. */
function endWords(tree, { ranked, cut }, { beam, alpha }) {
  const [best, greedy] = [ranked[0], greedyOf(tree)];
  const winners = tree.alphas.map((value) => [value, search(tree, beam, value).ranked[0]]);
  const other = winners.find(([, one]) => !sameSentence(one, best))?.[1];
  const when = winners.filter(([, one]) => other && sameSentence(one, other)).map(([value]) => value);
  const words = [
    bold("Winner: "), quote(tree, best),
    `, log-probability ${format(best.logProb)}. Divided by ((5 + ${best.path.length}) / 6)`,
    h("sup", {}, span("te-hidden", " to the power "), alpha),
    ` = ${format(penalty(best.path.length, alpha))} this is the score ${format(scoreOf(best, alpha))}. `,
  ];
  if (cut) words.push("No sentence has ended: this one is cut off. ");
  if (beam === 1 && sameSentence(greedy, best)) {
    words.push("A beam of 1 is greedy search: it never comes back to what it let go. ");
  } else if (sameSentence(greedy, best)) words.push("Greedy search (a beam of 1, α = 0) says the same. ");
  else {
    const than = best.logProb >= greedy.logProb
      ? `${format(Math.exp(best.logProb - greedy.logProb))} times as probable`
      : "less probable, but has the better score";
    const found = `, log-probability ${format(greedy.logProb)}: the winner is ${than}. `;
    words.push("Greedy search says ", quote(tree, greedy), found);
  }
  if (other) words.push(
    `With α = ${when.join(" or ")}, `,
    quote(tree, other),
    ` would win: log-probability ${format(other.logProb)}, length ${other.path.length} against ${best.path.length}.`,
  );
  return words;
}

/** Why the search has stopped, or what has to happen for a sentence to be finished. */
function rule(tree, { steps, ranked }, step, beam) {
  if (step < steps.length) {
    return `A candidate that ends is finished if it is ${beam > 1 ? `among the best ${beam}` : "the best"} of all ` +
      "candidates of its step.";
  }
  const going = steps.at(-1).candidates.find(({ fate }) => fate === "kept");
  if (!going) return "The search stops because nothing goes on.";
  if (going.path.length + 1 >= tree.max_len) {
    return `The search stops at its limit, ${tree.max_len} tokens with the start.`;
  }
  return "The search stops because nothing in the beam could still beat " +
    `${ranked.length > 1 ? `one of the ${ranked.length} finished sentences` : "the finished sentence"}, even if all ` +
    "the rest of it were certain.";
}

function render({ model, el }) {
  const figure = mount(el, "search-tree", "Search tree");
  const [announce, state] = [changeAnnouncer(figure, 400), store(model, TRAITS, draw)];
  let [found, step] = [null, 0];
  const picture = h("div", {
    class: "te-srch-tree",
    role: "img",
    "aria-label": "Tree of the beginnings looked at so far; the tables below hold its numbers",
  });
  const [words, why, place] = ["sentence", "note", "note"].map((name) => paragraph(`te-${name}`));
  const table = (name, label) => h(
    "div", { role: "table", "aria-label": label, class: `te-srch-table te-srch-${name}` }
  );
  const [candidates, finished] = [
    table("candidates", "Candidates of this step"), table("results", "Finished sentences"),
  ];
  // the end stays the end in every setting
  const go = (to) => to >= 0 && to <= found.steps.length
    && to !== step && state.set({ step: to === found.steps.length ? state.tree.max_len - 1 : to });
  const to = (text, place, props) => button(text, () => go(place()), props);
  const moves = [
    to("Next step", () => step + 1, { class: "te-button te-primary" }), to("Back", () => step - 1),
    to("To the end", () => found.steps.length), to("Start again", () => 0),
  ];
  const radio = (name, label, values) => choice({
    label,
    value: state[name],
    onChange: (value) => state.set({
      [name]: value
    }),
    options: values.map((value) => ({ value, content: [String(value)] }))
  });
  const [beams, alphas] = [
    radio("beam", "Beam size", state.tree.beam_sizes), radio("alpha", "Length penalty alpha", state.tree.alphas),
  ];

  function draw() {
    found = search(state.tree, state.beam, state.alpha);
    step = Math.min(state.step, found.steps.length);
    const ended = step === found.steps.length;
    const newest = found.steps[step - 1];
    drawTree(picture, state.tree, found, step);
    fill(words, ...(newest
      ? (ended ? endWords(state.tree, found, state) : stepWords(state.tree, newest))
      : ["Nothing is written yet. A number in the tree is the sum of the log-probabilities of all tokens so far."]));
    fill(candidates, head(`step ${step}`, "candidate", "p(token)", "log-prob."), ...(
      newest ? candidateRows(state.tree, newest) : []
    ));
    fill(finished, head("finished", "length", "log-prob.", "score"), ...resultRows(
      state.tree, state.alpha, ended ? found.ranked : newest?.best ?? [], greedyOf(state.tree), ended
    ));
    why.textContent = rule(state.tree, found, step, state.beam);
    [beams.set(state.beam), alphas.set(state.alpha)];
    place.textContent = `step ${step} of ${found.steps.length}`;
    moves.forEach((one, i) => setOff(one, i % 2 ? step === 0 : ended));
    const text = `Beam size ${state.beam}, alpha ${state.alpha}, ${place.textContent}. ${words.textContent}`;
    announce(text);
  }

  const titled = (label, control) => div("te-group", span("te-label", label), control.element);
  const keys = Object.entries(FATES).map(([fate, [mark, text]]) => span(
    "te-srch-key", span(`te-srch-node te-srch-${fate}`, mark), text
  ));
  figure.append(
    ...(state.tree.source ? [paragraph("te-srch-lead", "To be translated: ", asToken(state.tree.source))] : []),
    div("te-srch-settings", titled("beam size", beams), titled("length penalty α", alphas)),
    div("te-srch-steps", div("te-group", ...moves), place),
    picture, div("te-srch-legend te-label", ...keys, "number: log-probability so far"), words,
    div("te-srch-tables", candidates, div("", finished, why)),
  );
  draw();
  return state.dispose;
}

export default { render };
