// The map of a Transformer: a drawing with the two stacks side by side, in units of its viewBox.
import { DURATION, fill, format, KEYS, readable, reducedMotion, svg, uniqueId } from "../core.js";
import { about, blockOf, describe, LAYERS, steps } from "./blocks.js";

const cut = (word) => (word.length > 16 ? `${word.slice(0, 15)}…` : word);

const HALF = { encoder: { left: 4, block: 24, rail: 14 }, decoder: { left: 182, block: 186, rail: 326 } };
const [WIDE, SUB, NORM, GAP, FLOOR, CENTRE] = [130, 24, 20, 16, 290, 65];
const TOP = { encoder: 164, decoder: 104 };
const KIND = {
  embedding: "table",
  positional: "position",
  self: "attention",
  cross: "attention",
  feed_forward: "forward",
  logits: "table",
  softmax: "position",
};
const LABEL = { embedding: "Embedding", positional: "+ Position", logits: "Projection", softmax: "Softmax" };
const kindOf = (part) => KIND[part] ?? "norm";

/**
 * Every block's box, with the wires that lead into it: { part, stack, x, y, height, wires }; those of a layer stand for
 * the layer that is shown.
 */
function boxes() {
  const all = [];
  for (const stack of ["encoder", "decoder"]) {
    const { block: x, rail } = HALF[stack];
    const middle = x + CENTRE;
    const up = (from, to) => `M ${middle} ${from} V ${to}`;
    const edge = stack === "encoder" ? x : x + WIDE;
    const put = (part, y, height, ...wires) => all.push({ stack, part, x, y, height, wires });
    put("embedding", 338, 24, up(370, 362));
    put("positional", 302, 24, up(338, 326));
    let below = 302;
    for (let i = 0; i < LAYERS[stack].length; i += 2) {
      const bottom = FLOOR - 14 - (i / 2) * (SUB + NORM + GAP);
      const [split, into] = [bottom + GAP / 2, bottom - SUB - NORM / 2];
      put(LAYERS[stack][i], bottom - SUB, SUB, up(below, bottom));
      put(LAYERS[stack][i + 1], bottom - SUB - NORM, NORM, `M ${middle} ${split} H ${rail} V ${into} H ${edge}`);
      below = bottom - SUB - NORM;
    }
    if (stack === "decoder") {
      put("logits", 58, 24, up(below, 82));
      put("softmax", 22, 24, up(58, 46), up(22, 18));
      all.slice(-2).forEach((box) => (box.stack = ""));
    }
  }
  const cross = all.find((box) => box.part === "cross");
  cross.wires.push(`M ${HALF.encoder.block + CENTRE} 174 V 144 H 170 V ${cross.y + SUB / 2} H ${cross.x}`);
  return all;
}

/** Words in at most two lines, the chosen one bold; if they are too many, the chosen one alone. */
function linesOf(words, chosen) {
  const lines = [[]];
  let length = 0;
  words.forEach((word, i) => {
    if (length && length + word.length > 20) [length] = [0, lines.push([])];
    length += word.length + 1;
    lines.at(-1).push(svg("tspan", i === chosen ? { class: "te-am-bold" } : {}, `${cut(word)} `));
  });
  return lines.length > 2 ? [[`… ${cut(words[chosen])} …`]] : lines;
}

/** The clickable drawing. `onChoose(box)` is told a box; `onKey(event)` gets the keys. */
export function drawing(onChoose, onKey) {
  const all = boxes();
  const text = (x, y, kind, ...content) => svg("text", { x, y, class: `te-am-${kind}` }, ...content);
  const nodes = all.map((box) =>
    svg(
      "g",
      {
        role: "radio",
        class: `te-am-block te-am-${kindOf(box.part)}`,
        tabindex: -1,
        ...KEYS,
        on: { click: () => onChoose(box), keydown: onKey },
      },
      svg("rect", { x: box.x, y: box.y, width: WIDE, height: box.height, rx: 5 }),
      text(box.x + CENTRE, box.y + box.height / 2 + 4.5, "name", LABEL[box.part] ?? about(box.stack, box.part)[0]),
    ),
  );
  const head = uniqueId();
  const marker = svg(
    "marker",
    {
      id: head,
      viewBox: "0 0 6 8",
      refX: 6,
      refY: 4,
      markerWidth: 6,
      markerHeight: 8,
      markerUnits: "userSpaceOnUse",
      orient: "auto",
      class: "te-am-head",
    },
    svg("path", { d: "M 0 0 L 6 4 L 0 8 Z" }),
  );
  const wire = (d, kind) => svg("path", { d, class: kind, pathLength: 1, "marker-end": kind && `url(#${head})` });
  const flows = all.map((box) => svg("g", { class: "te-am-flow" }, ...box.wires.map((d) => wire(d, ""))));
  const frames = Object.entries(HALF).map(([stack, { left }]) =>
    svg("rect", { x: left, y: TOP[stack], width: 154, height: FLOOR - TOP[stack], rx: 10, class: "te-am-frame" }),
  );
  const layers = { encoder: text(96, 158, "small"), decoder: text(260, 98, "small") };
  const words = {
    source: [text(89, 381, "word"), text(89, 396, "word")],
    input: [text(251, 381, "word"), text(251, 396, "word")],
    output: text(251, 12, "word te-am-bold"),
  };
  const memory = text(166, 138, "small te-am-end");
  const element = svg(
    "svg",
    {
      viewBox: "0 0 340 400",
      class: "te-am-drawing",
      role: "radiogroup",
      "aria-label": "Blocks in the order of computation; arrow keys walk along",
    },
    marker,
    ...frames,
    ...all.flatMap((box) => box.wires.map((d) => wire(d, "te-am-line"))),
    ...flows,
    text(6, 158, "bold", "Encoder"),
    text(184, 98, "bold", "Decoder"),
    memory,
    ...Object.values(layers),
    ...Object.values(words).flat(),
    ...nodes,
  );
  let open = null;
  return {
    element,
    update(state, layer) {
      const { trace: now, target_token: at } = state;
      const inputs = steps(now.target_tokens)
        .slice(0, at + 1)
        .map(([input]) => input);
      const write = (places, lines) => places.forEach((place, i) => fill(place, ...(lines[i] ?? [])));
      Object.values(layers).forEach((node) => (node.textContent = `layer ${layer + 1} of ${now.sizes.num_layers}`));
      memory.textContent = layer + 1 < now.sizes.num_layers ? `memory, of layer ${now.sizes.num_layers}` : "memory";
      write(words.source, linesOf(now.source_tokens, state.source_token));
      write(words.input, linesOf(inputs, at));
      words.output.textContent = `${cut(readable(now.candidates[at][0][0]))} ${format(now.candidates[at][0][2])}`;
      nodes.forEach((node, i) => {
        const block = blockOf(all[i], layer);
        const on = block === state.block;
        const { title, place } = describe(block, state);
        node.dataset.block = block;
        node.setAttribute("aria-checked", String(on));
        node.setAttribute("aria-label", place ? `${title}, ${place}` : title);
        node.setAttribute("tabindex", on ? "0" : "-1");
        flows[i].classList.toggle("te-am-on", on);
        if (on && open && open !== block && !reducedMotion()) {
          [...flows[i].children].forEach((path) =>
            path.animate([{ strokeDashoffset: 1 }, { strokeDashoffset: 0 }], {
              duration: DURATION,
              easing: "ease-out",
            }),
          );
        }
      });
      open = state.block;
    },
    focus: () => nodes.find((node) => node.getAttribute("aria-checked") === "true")?.focus(),
  };
}
