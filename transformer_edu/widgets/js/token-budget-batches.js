import { announcer, bold, button, choice, clamp, div, fill, h, mount, paragraph, plural, slider, span, store, sumOf,
  svg } from "./core.js";

const TRAITS = ["sentences", "order", "limit", "size", "seed", "epoch", "draws"];
const ORDERS = ["as they come", "shuffled", "sorted by length", "similar lengths together"];
const SIMILAR = ORDERS[3];
const LARGEST = { sentences: 16, tokens: 8 }; // a batch: so many sentences; so many times the longest sentence
const TABLE = 12; // tokens: a wider batch is written in lines that wrap
const percent = (part, all) => `${part && 200 * part < all ? "less than 1" : Math.round((100 * part) / all)}\u00a0%`;

/** Python's random.shuffle, from the bytes that its generator drew: k bits are the top k of a byte. */
function shuffler(hex) {
  let at = 0;
  const draw = (bits) => parseInt(hex.slice(2 * at, 2 * (at += 1)), 16) >> (8 - bits);
  return (list) => {
    for (let i = list.length - 1, j; i > 0; i -= 1) {
      do j = draw(32 - Math.clz32(i + 1)); while (j > i);
      [list[i], list[j]] = [list[j], list[i]];
    }
  };
}

/**
 * Fill one batch after the other, rows times the largest cost at most `most`; `costs`: tokens, or 1 for each sentence.
 */
function pack(costs, most, order) {
  const batches = [];
  let [batch, width] = [
    [], 0
  ];
  for (const index of order) {
    if (batch.length && Math.max(width, costs[index]) * (batch.length + 1) > most) {
      batches.push(batch);
      [batch, width] = [
        [], 0
      ];
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
      rest: rows === last && !(
        limit === "sentences" && rows.length === size
      )
    };
  });
  return {
    batches,
    cells: sumOf(batches.map((batch) => batch.cells)),
    padding: sumOf(
      batches.map((batch) => batch.padding)
    )
  };
}

/**
 * A batch to scale: full squares are tokens, empty ones with a stroke are padding. Two elements, however many cells.
 */
function picture({ rows, width }, lengths) {
  const draw = (token, path) => rows.flatMap(
    (index, y) => Array.from({ length: width }, (_, x) => (x < lengths[index] === token ? path(x, y) : ""))
  ).join("");
  return svg("svg", {
      viewBox: `0 0 ${width} ${rows.length}`,
      style: { "--wide": width, "--high": rows.length },
      "aria-hidden": "true",
      focusable: "false",
    },
    svg("path", { d: draw(true, (x, y) => `M${x + 0.07} ${y + 0.07}h.86v.86h-.86z`), class: "te-pack-token" }),
    svg("path", {
      d: draw(false, (x, y) => `M${x + 0.14} ${y + 0.14}h.72v.72h-.72zM${x + 0.14} ${y + 0.86}l.72 -.72`),
      class: "te-pack-padding",
      "vector-effect": "non-scaling-stroke",
    }));
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
    return `With a budget of ${size} a batch costs ${range(cells, "cell")}${ratio < 1.35 ? ", much the same" : ""}, ` +
      `and holds ${range(full.map((batch) => batch.rows.length), "sentence")}.${left}`;
  }
  const times = ratio < 1.05 ? "" : `: the largest is ${ratio.toFixed(1)} times the smallest`;
  const advice = ratio >= 1.5 ? " A budget of tokens evens that." : "";
  return `A batch of ${plural(size, "sentence", "\u00a0")} costs ${range(cells, "cell")}${times}.${advice}${left}`;
}

const NOTES = {
  "as they come": "The order is that of the list, the same in every epoch.",
  shuffled: "Each epoch has other batches, and chance decides what a batch wastes.",
  "sorted by length": "Every epoch begins with the shortest sentences and ends with the longest: the order of " +
    "training is no longer random.",
  [SIMILAR]: "The batches are then shuffled: short and long ones come mixed, and each epoch has other batches.",
};

/** The waste; what the other way would cost; the balance; the order. */
function sentence(state, here, other) {
  const waste = here.padding
    ? `${here.padding} of these, ${percent(here.padding, here.cells)}, ${here.padding === 1 ? "is" : "are"} padding: ` +
    "computed and thrown away."
    : "no padding.";
  const versus = state.order === SIMILAR ? "As they come" : "With similar lengths together";
  const compare = other.cells === here.cells
    ? "just as many cells"
    : `${other.cells} cells, ${percent(other.padding, other.cells)} of them padding`;
  return [
    bold(`${plural(here.batches.length, "batch", "\u00a0")}, ${plural(here.cells, "cell", "\u00a0")}; ${waste} `),
    `${versus} it would be ${compare}. ${balance(state, here.batches)} ${NOTES[state.order]}`,
  ];
}

function render({ model, el }) {
  const root = mount(el, "token-budget-batches", "Batches by a token budget");
  const announce = announcer(root);
  const state = store(model, TRAITS, draw);
  const start = { order: state.order, limit: state.limit, size: state.size, epoch: state.epoch };
  const sizes = { sentences: 8, tokens: 64 }; // where the reader left each slider
  let [lengths, here, batches, size, sizeFor, spoken, chosen] = [
    [], null, null, null, "", "", 0
  ];

  const cards = ORDERS.map(
    (name) => ({ name, bar: h("span", { class: "te-pack-bar", "aria-hidden": "true" }), told: span("te-note") })
  );
  const orders = choice({
    label: "Order in which sentences are taken",
    class: "te-pack-orders",
    value: state.order,
    onChange: (order) => state.set({ order }),
    options: cards.map(({ name, bar, told }) => ({ value: name, content: [span("te-pack-name", name), bar, told] })),
  });
  const limits = choice({
    label: "A batch is full at",
    value: state.limit,
    onChange: changeLimit,
    options: [
      { value: "sentences", content: ["a number of sentences"] }, { value: "tokens", content: ["a budget of tokens"] },
    ],
  });
  const [sizeBox, stage, title] = ["size", "stage", "title"].map((name) => div(`te-pack-${name}`));
  const [when, which, words] = [span(), span("te-note"), paragraph("te-sentence te-pack-sentence")];
  const table = h("div", { class: "te-pack-table", role: "list", "aria-label": "Sentences of the batch" });
  const key = (length, text) => span("te-pack-key", picture({ rows: [0], width: 1 }, [length]), text);

  const bounds = (limit) => (
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
        label: state.limit === "tokens" ? "tokens a batch, padding included" : "sentences a batch",
        min,
        max,
        value: state.size,
        onInput: (value) => state.set({ size: value }),
      });
      fill(sizeBox, size.element);
    }
    size.set(state.size);
  }

  function drawCards(plans) {
    const most = Math.max(...plans.map(({ cells }) => cells));
    cards.forEach(({ bar, told }, i) => {
      const part = (name, count) => h("span", {
        class: `te-pack-part te-pack-${name}-part`,
        style: {
          width: `${(100 * count) / most}%`,
        }
      });
      fill(bar, part("token", plans[i].cells - plans[i].padding), part("padding", plans[i].padding));
      fill(told, `${plural(plans[i].cells, "cell", "\u00a0")}, ${percent(plans[i].padding, plans[i].cells)} padding`);
    });
  }

  /** The batch as the tensor that it becomes: its sentences, with <pad> written out. */
  function detail(index) {
    const { rows, width, cells, padding } = here.batches[index];
    const text = `Batch ${index + 1}: ${plural(rows.length, "row", "\u00a0")} × ${plural(width, "token", "\u00a0")} ` +
      `= ${plural(cells, "cell", "\u00a0")}, ${padding || "none"} of them padding`;
    fill(title, bold(text));
    table.classList.toggle("te-pack-wrap", width > TABLE);
    Object.entries({ "--wide": width, "--rows": Math.max(...here.batches.map((batch) => batch.rows.length)) }).forEach(
      ([name, value]) => table.style.setProperty(name, value)
    );
    fill(table, ...rows.map((row) => {
      const tokens = state.sentences[row].split(" ");
      const empty = Array.from({ length: width - tokens.length }, () => span("te-pack-pad", "<pad>"));
      return h("div", { role: "listitem" },
        ...[...tokens.map((token) => span("", token)), ...empty].flatMap((one) => [one, " "])
      );
    }));
    return text;
  }

  function choose(index) {
    batches.set((chosen = index));
    announce(detail(index));
  }

  function drawBatches() {
    batches = choice({
      label: "Batches in the order of training",
      class: "te-pack-batches",
      value: chosen,
      onChange: choose,
      options: here.batches.map((batch, index) => ({
        value: index,
        label: `Batch ${index + 1} · ${batch.cells} ${batch.rest ? "rest" : "cells"}`,
        content: [picture(batch, lengths), span(
          "te-pack-under", bold(index + 1), ` · ${batch.cells}${batch.rest ? " rest" : ""}`
        )],
      })),
    });
    batches.buttons.forEach((one, index) => {
      one.addEventListener("pointerenter", () => detail(index));
      one.addEventListener("pointerleave", () => detail(chosen));
    });
    Object.assign(stage.dataset, {
      batches: JSON.stringify(here.batches.map(({ rows }) => rows)),
      cells: here.cells,
      padding: here.padding,
      rest: here.batches.findIndex(({ rest }) => rest),
    });
    fill(stage, batches.element);
  }

  function draw() {
    [chosen, lengths] = [0, state.sentences.map((text) => text.split(" ").length)];
    root.style.setProperty("--te-pack-longest", Math.max(...lengths));
    [limits.set(state.limit), orders.set(state.order), drawSize(bounds(state.limit))];
    const plans = ORDERS.map((order) => plan(state, order, lengths));
    drawCards(plans);
    here = plans[ORDERS.indexOf(state.order)];
    drawBatches();
    detail(chosen);
    fill(words, ...sentence(state, here, plans[state.order === SIMILAR ? 0 : 3]));
    fill(when, `Batches in the order of training, epoch ${state.epoch + 1} of ${state.draws.length}`);
    fill(
      which,
      `${plural(state.sentences.length, "sentence", "\u00a0")} (one side of each pair), ` +
      `${plural(sumOf(lengths), "token", "\u00a0")}. Under each batch: its number and its cells.`,
    );
    const text = `${state.order}, ${plural(state.size, state.limit.slice(0, -1), "\u00a0")} a batch, epoch ` +
      `${state.epoch + 1}. ${words.textContent}`;
    if (spoken && text !== spoken) announce(text);
    spoken = text;
  }

  root.append(orders.element,
    div("te-pack-limits", span("te-label", "A batch is full at"), limits.element, sizeBox),
    div("te-pack-legend te-label", when, key(1, "token"), key(0, "padding")),
    stage, words, div("te-pack-detail", title, table),
    div("te-foot", which, div("te-group",
      button("Next epoch", () => state.set({ epoch: (state.epoch + 1) % state.draws.length })),
      button("Reset", () => state.set(start)))));
  draw();
  return state.dispose;
}

export default { render };
