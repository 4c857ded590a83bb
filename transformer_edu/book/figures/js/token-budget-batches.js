import {
  asToken,
  bold,
  button,
  choice,
  clamp,
  div,
  fill,
  frame,
  glide,
  h,
  plural,
  setOff,
  slider,
  span,
  store,
  sumOf,
} from "./core.js";

const TRAITS = /** @type {const} */ (["sentences", "order", "limit", "size", "seed", "epoch", "draws"]);
const ORDERS = ["as they come", "shuffled", "sorted by length", "similar lengths together"];
const SIMILAR = ORDERS[3];
const LARGEST = { sentences: 16, tokens: 8 }; // a batch: so many sentences; so many times the longest sentence
const TABLE = 12; // tokens: a wider batch is written in lines that wrap
const MANY = 18; // batches: more are drawn small, without their numbers
const EVEN = 1.15; // times the cheapest batch: about the same cost
const longest = ({ sentences }) => Math.max(...sentences.map((text) => text.split(" ").length));
const [WIDE, HIGH] = [660, 150]; // what the batches have, in pixels, where the figure is as wide as a book's column
const percent = (part, all) => `${part && 200 * part < all ? "less than 1" : Math.round((100 * part) / all)}\u00a0%`;

/** Python's random.shuffle, from the bytes that its generator drew: k bits are the top k of a byte. */
function shuffler(hex) {
  let at = 0;
  const draw = (bits) => parseInt(hex.slice(2 * at, 2 * (at += 1)), 16) >> (8 - bits);
  return (list) => {
    for (let i = list.length - 1, j; i > 0; i -= 1) {
      do j = draw(32 - Math.clz32(i + 1));
      while (j > i);
      [list[i], list[j]] = [list[j], list[i]];
    }
  };
}

/**
 * Fill one batch after the other, rows times the largest cost at most `most`; `costs`: tokens, or 1 for each sentence.
 */
function pack(costs, most, order) {
  const batches = [];
  let [batch, width] = [[], 0];
  for (const index of order) {
    if (batch.length && Math.max(width, costs[index]) * (batch.length + 1) > most) {
      batches.push(batch);
      [batch, width] = [[], 0];
    }
    batch.push(index);
    width = Math.max(width, costs[index]);
  }
  return [...batches, batch];
}

/** Batches in the order of training, with what each costs. `rest` marks the one that got what was left over. */
function plan({ limit, size, draws, epoch }, order, lengths) {
  const shuffle = shuffler(draws[epoch]);
  const indices = lengths.map((_, index) => index);
  if (order === "shuffled" || order === SIMILAR) shuffle(indices);
  if (order === "sorted by length" || order === SIMILAR) indices.sort((a, b) => lengths[a] - lengths[b]);
  const packed = pack(limit === "tokens" ? lengths : lengths.map(() => 1), size, indices);
  const last = packed.at(-1);
  if (order === SIMILAR) shuffle(packed);
  const batches = packed.map((rows) => {
    const width = Math.max(...rows.map((index) => lengths[index]));
    const cells = width * rows.length;
    return {
      rows,
      width,
      cells,
      padding: cells - sumOf(rows.map((index) => lengths[index])),
      rest: rows === last && !(limit === "sentences" && rows.length === size),
    };
  });
  return {
    batches,
    cells: sumOf(batches.map((batch) => batch.cells)),
    padding: sumOf(batches.map((batch) => batch.padding)),
  };
}

/** "72 to 88 cells" */
function range(numbers, noun) {
  const [least, most] = [Math.min(...numbers), Math.max(...numbers)];
  return least === most ? plural(most, noun, "\u00a0") : `${least} to ${plural(most, noun, "\u00a0")}`;
}

/** What the batches cost beside each other; the one with what was left over is told apart. */
function balance({ limit, size }, batches) {
  const rest = batches.find((batch) => batch.rest);
  const full = batches.filter((batch) => !batch.rest);
  if (!full.length) return "One batch holds all sentences.";
  const cells = full.map((batch) => batch.cells);
  const ratio = Math.max(...cells) / Math.min(...cells);
  const left = rest ? ` The batch marked “rest” has what was left: ${plural(rest.cells, "cell", "\u00a0")}.` : "";
  if (limit === "tokens") {
    return (
      `With a budget of ${size} a batch costs ${range(cells, "cell")}${ratio < 1.35 ? ", much the same" : ""}, ` +
      `and holds ${range(
        full.map((batch) => batch.rows.length),
        "sentence",
      )}.${left}`
    );
  }
  const times = ratio < 1.05 ? "" : `: the largest is ${ratio.toFixed(1)} times the smallest`;
  const advice = ratio >= 1.5 ? " A budget of tokens evens that." : "";
  return `A batch of ${plural(size, "sentence", "\u00a0")} costs ${range(cells, "cell")}${times}.${advice}${left}`;
}

const NOTES = {
  "as they come": "The order is that of the list, the same in every epoch.",
  shuffled: "Each epoch has other batches, and chance decides what a batch wastes.",
  "sorted by length": "Every epoch goes from short to long: the order of training is no longer random.",
  [SIMILAR]: "The batches are then shuffled, and each epoch has others.",
};

/** The waste, for the title. */
const waste = ({ padding, cells }) =>
  padding
    ? `${percent(padding, cells)} of the work is padding, computed and thrown away`
    : "No padding: every row of a batch has the same length";

/** The parts; the balance; the order. */
const sentence = (state, { batches, cells, padding }) => [
  bold(`${plural(batches.length, "batch", "\u00a0")}, ${plural(cells, "cell", "\u00a0")}`),
  `, ${padding || "none"} of them padding. ${balance(state, batches)} ${NOTES[state.order]}`,
];

/** The largest cell, in pixels, with which the batches of every order have room. */
function cellSize(plans) {
  const height = (cell, batches) => {
    const under = batches.length > MANY ? 10 : 30;
    let [x, y, line] = [0, 0, 0];
    for (const { rows, width } of batches) {
      if (x + cell * width + 12 > WIDE) [x, y, line] = [0, y + line, 0];
      x += Math.max(cell * width, batches.length > MANY ? 0 : 44) + 12;
      line = Math.max(line, cell * rows.length + under);
    }
    return y + line;
  };
  return [9, 8, 7, 6].find((cell) => plans.every(({ batches }) => height(cell, batches) <= HIGH)) ?? 5;
}

/** A sentence in its batch: a square for each token. What the batch is wider is padding. */
const rowOf = (text, tokens) => h("div", { class: "te-pack-row", title: text, style: { width: `${tokens}em` } });

/** The four orders as buttons, each with a bar of its cost, the hatched part padding. */
function orderCards(state) {
  const bars = ORDERS.map(() => ({ token: span("te-pack-token te-glide"), padding: span("te-pack-padding te-glide") }));
  const told = ORDERS.map(() => span("te-note"));
  const cards = choice({
    label: "Order in which sentences are taken",
    class: "te-pack-orders",
    value: state.order,
    onChange: (order) => state.set({ order }),
    options: ORDERS.map((name, i) => ({
      value: name,
      content: [
        span("te-pack-name", name),
        h("span", { class: "te-pack-bar", "aria-hidden": "true" }, bars[i].token, bars[i].padding),
        told[i],
      ],
    })),
  });
  return {
    element: cards.element,
    update(plans) {
      const most = Math.max(...plans.map(({ cells }) => cells));
      plans.forEach(({ cells, padding }, i) => {
        bars[i].token.style.width = `${(100 * (cells - padding)) / most}%`;
        bars[i].padding.style.width = `${(100 * padding) / most}%`;
        told[i].textContent = `${percent(padding, cells)} padding`;
      });
      cards.set(state.order);
    },
  };
}

/** A batch as the tensor that it becomes: its sentences, with <pad> written out. */
function writeOut(table, sentences, { rows, width }) {
  table.classList.toggle("te-pack-wrap", width > TABLE);
  table.style.setProperty("--wide", width);
  fill(
    table,
    ...rows.map((row) => {
      const tokens = sentences[row].split(" ");
      const empty = Array.from({ length: width - tokens.length }, () => span("te-pack-pad", "<pad>"));
      return h(
        "div",
        { role: "listitem" },
        ...[...tokens.map((token) => span("", token)), ...empty].flatMap((one) => [one, " "]),
      );
    }),
  );
}

/** Questions about the waste. */
function tasks(state, read) {
  const little = ({ padding, cells }) => padding < 0.1 * cells;
  const costs = ({ batches }) => batches.filter(({ rest }) => !rest).map(({ cells }) => cells);
  return [
    {
      ask: ["get the padding below 10\u00a0%"],
      done: () => little(read()),
      tell: ["The sentences are the same; only their company has changed."],
      show: () => state.set({ order: SIMILAR }),
    },
    {
      ask: ["give all batches about one cost, with little padding"],
      done: () =>
        little(read()) && costs(read()).length > 1 && Math.max(...costs(read())) <= EVEN * Math.min(...costs(read())),
      tell: ["A budget counts cells: short sentences travel in larger groups."],
      show: () => state.set({ order: SIMILAR, limit: "tokens", size: 6 * longest(state) }),
    },
  ];
}

function render({ model, el }) {
  const figure = frame(el, {
    name: "token-budget-batches",
    label: "Batches by a token budget",
    says: [""],
    invite: ["choose ", bold(SIMILAR), " and watch the hatched cells go."],
  });
  const state = store(model, TRAITS, draw);
  const sizes = { sentences: 8, tokens: 64 }; // where the reader left each slider
  let [lengths, rows, chosen] = [[], [], 0];
  let sizeFor = "";
  let here, batches, size, more;

  const cards = orderCards(state);
  const limits = choice({
    label: "A batch is full at",
    value: state.limit,
    onChange: changeLimit,
    options: [
      { value: "sentences", content: ["a number of sentences"] },
      { value: "tokens", content: ["a budget of tokens"] },
    ],
  });
  const [sizeBox, stage, title] = ["size", "stage", "title"].map((name) => div(`te-pack-${name}`));
  const when = span();
  const table = h("div", { class: "te-pack-table", role: "list", "aria-label": "Sentences of the batch" });
  const key = (kind, text) => span("te-pack-key", span(`te-pack-${kind}`), text);
  const next = button("Next epoch", () => shuffles() && state.set({ epoch: (state.epoch + 1) % state.draws.length }));
  const shuffles = () => state.order === "shuffled" || state.order === SIMILAR;

  const bounds = (limit) =>
    /** @type {[number, number]} */ (
      limit === "tokens" ? [1, LARGEST.tokens].map((times) => times * Math.max(...lengths)) : [1, LARGEST.sentences]
    );

  function changeLimit(limit) {
    sizes[state.limit] = state.size;
    state.set({ limit, size: clamp(sizes[limit], ...bounds(limit)) });
  }

  function drawSize([min, max]) {
    if (sizeFor !== `${state.limit} ${max}`) {
      sizeFor = `${state.limit} ${max}`;
      size = slider({
        label: `${state.limit} a batch`,
        min,
        max,
        value: state.size,
        onInput: (value) => state.set({ size: value }),
      });
      fill(sizeBox, size.element);
    }
    size.set(state.size);
  }

  function detail(index) {
    const { rows: some, width, cells, padding } = here.batches[index];
    const text =
      `Batch ${index + 1}: ${plural(some.length, "row", "\u00a0")} × ${plural(width, "token", "\u00a0")} ` +
      `= ${plural(cells, "cell", "\u00a0")}, ${padding || "none"} of them padding`;
    const widest = some.find((row) => lengths[row] === width);
    fill(title, div("", text), div("", "As wide as its longest row: ", asToken(state.sentences[widest])));
    if (more?.open) writeOut(table, state.sentences, here.batches[index]);
    return text;
  }

  function choose(index) {
    batches.set((chosen = index));
    figure.announce(detail(index));
  }

  /** The rows stay the same elements and are put into new batches. */
  function drawBatches() {
    batches = choice({
      label: "Batches in the order of training",
      class: `te-pack-batches${here.batches.length > MANY ? " te-pack-many" : ""}`,
      value: chosen,
      onChange: choose,
      options: here.batches.map((batch, index) => ({
        value: index,
        label: `Batch ${index + 1} · ${batch.cells} ${batch.rest ? "rest" : "cells"}`,
        content: [
          h(
            "div",
            { class: "te-pack-rows", style: { width: `${batch.width}em` } },
            ...batch.rows.map((row) => rows[row]),
          ),
          span("te-pack-under", bold(index + 1), ` · ${batch.cells}${batch.rest ? " rest" : ""}`),
        ],
      })),
    });
    batches.buttons.forEach((one, index) => {
      one.addEventListener("pointerenter", () => detail(index));
      one.addEventListener("pointerleave", () => detail(chosen));
    });
    Object.assign(stage.dataset, {
      batches: JSON.stringify(here.batches.map((batch) => batch.rows)),
      cells: here.cells,
      padding: here.padding,
      rest: here.batches.findIndex(({ rest }) => rest),
    });
    fill(stage, batches.element);
  }

  function draw() {
    const same = rows.length && rows.every((row, i) => row.title === state.sentences[i]);
    [chosen, lengths] = [0, state.sentences.map((text) => text.split(" ").length)];
    if (!same) rows = state.sentences.map((text, i) => rowOf(text, lengths[i]));
    const plans = ORDERS.map((order) => plan(state, order, lengths));
    const before = stage.dataset.batches;
    here = plans[ORDERS.indexOf(state.order)];
    if (before !== JSON.stringify(here.batches.map((batch) => batch.rows))) {
      if (before)
        glide(rows, drawBatches, 400); // before other changes, for it asks where the rows stand
      else drawBatches();
    }
    stage.style.setProperty("--cell", `${cellSize(plans)}px`);
    stage.style.setProperty("--longest", String(Math.max(...lengths)));
    [limits.set(state.limit), drawSize(bounds(state.limit)), cards.update(plans)];
    batches.set(chosen);
    figure.says(waste(here));
    setOff(next, !shuffles());
    figure.rest(() => {
      detail(chosen);
      fill(words, ...sentence(state, here));
      fill(when, `A row is a sentence. Epoch ${state.epoch + 1} of ${state.draws.length}`);
      figure.tell(
        `${state.order}, ${plural(state.size, state.limit.slice(0, -1), "\u00a0")} a batch, epoch ` +
          `${state.epoch + 1}. ${words.textContent}`,
      );
    });
  }

  figure.stage.append(
    cards.element,
    div("te-pack-legend te-label", when, key("token", "token"), key("padding", "padding")),
    stage,
    title,
  );
  figure.controls.append(limits.element, next, sizeBox);
  const words = figure.words(3);
  draw();
  figure.ask(tasks(state, () => here));
  more = figure.details("The batch, word for word", table);
  more.addEventListener("toggle", () => detail(chosen));
  return state.dispose;
}

export default { render };
