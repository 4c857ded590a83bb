// What bertviz's drawing needs around it: its two libraries, controls for the keyboard, and words for what it shows.
// Each view carries this text once, inside a function of its own, so nothing here is global.

/** Ten colours with a contrast of 3 : 1 or more on white and on the dark page. */
const PALETTE = [
  "#2f7ed8",
  "#c96a12",
  "#12917a",
  "#b05fb8",
  "#8a7d1e",
  "#d1495b",
  "#4a8fa8",
  "#8a6fd6",
  "#a8704a",
  "#7d848b",
];
const GLOBALS = { jquery: "jQuery", d3: "d3" };

/** Load d3 or jQuery once: the page's own copy where it names one, else from the address that bertviz gives. */
function library(name, address) {
  const own = document.querySelector('meta[name="bertviz-libraries"]');
  const amd = globalThis.requirejs;
  if (!own && typeof amd === "function" && amd.config) {
    amd.config({ paths: { [name]: address } });
    return new Promise((found, failed) => amd([name], found, failed));
  }
  const loading = (globalThis.transformerBertviz ??= {});
  return (loading[name] ??= new Promise((found, failed) => {
    const script = document.createElement("script");
    script.src = `${own ? own.content + name : address}.js`;
    script.onload = () => found(globalThis[GLOBALS[name]]);
    script.onerror = () => {
      delete loading[name];
      failed(new Error(`${script.src} did not load`));
    };
    document.head.append(script);
  }));
}

/** An element with properties and children; text stays text. */
function element(tag, properties, ...children) {
  const made = Object.assign(document.createElement(tag), properties);
  made.append(...children);
  return made;
}

/** A named menu whose first entry has the value -1. */
function menu(label, entries) {
  const list = element(
    "select",
    {},
    ...entries.map((entry, index) => element("option", { value: index - 1, textContent: entry })),
  );
  keepKeys(list);
  return { list, box: element("label", {}, label, list) };
}

/** JupyterLab would take the arrow keys from a control that does not say this. */
function keepKeys(control) {
  control.dataset.lmSuppressShortcuts = "true";
}

const spoken = (weight) => weight.toFixed(2);
const strongest = (row) => row.indexOf(Math.max(...row));

/** The element of this view that has not been drawn yet; a second copy on the page gets an id of its own. */
function claim(params) {
  const copies = [...document.querySelectorAll(`[id="${params.root_div_id}"]`)];
  const root = copies.find((copy) => !copy.dataset.drawn) ?? copies.at(-1);
  root.dataset.drawn = "true";
  if (copies.length > 1) root.id = params.root_div_id += `-${Math.random().toString(36).slice(2)}`;
  return root;
}

/** What the two views share: where their parts are, and which attention is shown. */
class Frame {
  constructor(view) {
    this.params = view.params;
    this.root = claim(view.params);
    this.figure = this.root.closest(".te-bertviz");
    this.box = this.root.querySelector("#vis");
    this.controls = this.root.querySelector(".bv-controls");
    this.words = this.figure.querySelector(".bv-words");
  }

  get svg() {
    return this.box.querySelector("svg");
  }
  get data() {
    return this.params.attention[this.root.querySelector("#filter")?.value ?? this.params.default_filter];
  }
  get kind() {
    return this.data.name;
  }

  /** Let the drawing scale with the column, no smaller than `narrowest` pixels; below that it scrolls in its box. */
  size(left, top, width, height, narrowest, widest) {
    for (const [key, value] of Object.entries({ viewBox: `${left} ${top} ${width} ${height}`, width, height }))
      this.svg.setAttribute(key, value);
    Object.assign(this.svg.style, {
      width: "100%",
      minWidth: `${narrowest}px`,
      maxWidth: `${widest}px`,
      height: "auto",
    });
    const update = () => {
      const scrolls = this.box.scrollWidth > this.box.clientWidth + 1;
      for (const [key, value] of [
        ["tabindex", "0"],
        ["role", "group"],
        ["aria-label", "Picture, scrolls sideways"],
      ]) {
        if (scrolls) this.box.setAttribute(key, value);
        else this.box.removeAttribute(key);
      }
    };
    this.observer ??= new ResizeObserver(update);
    this.observer.observe(this.box);
    update();
  }

  say(text, label) {
    this.words.textContent = text;
    this.svg.setAttribute("role", "img");
    this.svg.setAttribute("aria-label", `${label}. ${text}`);
  }
}

/** bertviz's head view: a check box for each head, and a menu in place of pointing at a word. */
class HeadView extends Frame {
  start() {
    const heads = this.data.attn[0].map((_, index) => this.headBox(index));
    this.boxes = heads.map((head) => head.querySelector("input"));
    const row = element("div", { className: "bv-heads" }, ...heads);
    row.setAttribute("role", "group");
    row.setAttribute("aria-label", "heads shown");
    this.word = menu("", []);
    this.wordPlace = element("span", {});
    this.controls.append(this.wordPlace, row);
    this.root.addEventListener(
      "change",
      (event) => event.target.matches("#layer, #filter") && this.drawn(event.target),
    );
    this.drawn(null);
  }

  headBox(index) {
    const swatch = element("span", { className: "bv-swatch" });
    swatch.style.background = PALETTE[index % PALETTE.length];
    const box = element("input", { type: "checkbox" });
    box.addEventListener("change", () => this.toggle(index));
    return element("label", {}, box, swatch, `head ${index + 1}`);
  }

  /** After bertviz has drawn anew. */
  drawn(cause) {
    if (cause?.id !== "layer") this.offerWords();
    this.squares = this.svg.lastElementChild;
    this.squares.classList.add("bv-boxes");
    const { x, width } = this.svg.getBBox();
    const left = Math.min(0, x - 2),
      right = Math.max(336, x + width + 2),
      top = 28;
    const wide = right - left;
    this.size(left, top, wide, parseFloat(this.svg.getAttribute("height")) - top, 320, wide * 1.25);
    for (const side of this.svg.querySelectorAll("#left, #right"))
      side.addEventListener("mouseleave", () => this.point());
    this.refresh();
  }

  offerWords() {
    this.word = menu("who looks", ["every word", ...this.data.left_text]);
    this.word.list.addEventListener("change", () => this.refresh());
    this.wordPlace.replaceChildren(this.word.box);
  }

  toggle(index) {
    this.squares.children[index].dispatchEvent(new MouseEvent("click"));
    this.refresh();
  }

  /** Show again what the menu says: bertviz forgets it when the pointer leaves its words. */
  point() {
    const chosen = Number(this.word.list.value);
    if (chosen >= 0) {
      this.svg.querySelectorAll("#left > g:last-child > g")[chosen].dispatchEvent(new MouseEvent("mouseover"));
    }
  }

  refresh() {
    this.boxes.forEach(
      (box, index) =>
        (box.checked = this.squares.children[index].getAttribute("fill") === PALETTE[index % PALETTE.length]),
    );
    this.svg.querySelector("#left").dispatchEvent(new MouseEvent("mouseleave"));
    const layer = this.root.querySelector("#layer");
    const shown = this.boxes.flatMap((box, index) => (box.checked ? [index] : []));
    const label = `${this.kind}, layer ${layer.value}, ${shown.map((head) => `head ${head + 1}`).join(", ")}`;
    this.say(this.sentence(this.data.attn[layer.selectedIndex], shown), label);
  }

  sentence(heads, shown) {
    const { left_text: left, right_text: right } = this.data,
      word = Number(this.word.list.value);
    if (word < 0) {
      return "Left: the word that looks. Right: what it looks at. The stronger the line, the larger the weight.";
    }
    const looks = shown.map((head) => {
      const row = heads[head][word],
        most = strongest(row);
      return `head ${head + 1} at “${right[most]}” (${spoken(row[most])})`;
    });
    return `“${left[word]}” looks most: ${looks.join(", ")}.`;
  }
}

/** bertviz's model view: a menu in place of clicking on a small picture. */
class ModelView extends Frame {
  start() {
    const names = this.params.include_layers.flatMap((layer) =>
      this.params.include_heads.map((head) => `layer ${layer}, head ${head}`),
    );
    this.closer = menu("enlarge", ["none", ...names]);
    this.closer.list.addEventListener("change", () => this.enlarge(Number(this.closer.list.value)));
    this.controls.append(this.closer.box);
    this.root.addEventListener("change", (event) => event.target.id === "filter" && this.drawn());
    this.drawn();
  }

  get headCount() {
    return this.params.include_heads.length;
  }

  thumbnail(index) {
    return this.svg.querySelector(`#attn_background_${Math.floor(index / this.headCount)}_${index % this.headCount}`);
  }

  /** After bertviz has drawn anew. */
  drawn() {
    const edges = [...this.svg.querySelectorAll(".attn_background")].map(
      (frame) => frame.x.baseVal.value + frame.width.baseVal.value,
    );
    this.right = Math.ceil(Math.max(...edges)) + 2;
    this.size(0, 0, this.right, Number(this.svg.getAttribute("height")), this.right * 0.95, this.right);
    this.svg.addEventListener("click", () => this.refresh());
    this.refresh();
  }

  /** The head that is enlarged, or -1. */
  open() {
    const frame = this.svg.querySelector(".detail") && this.svg.querySelector('.attn_background[stroke-opacity="0.8"]');
    if (!frame) return -1;
    const [layer, head] = frame.id.split("_").slice(-2).map(Number);
    return layer * this.headCount + head;
  }

  /** Click as a reader would; once more where bertviz took the click for closing. */
  enlarge(wanted) {
    for (let clicks = 0; clicks < 2 && this.open() !== wanted; clicks++) {
      const target = this.thumbnail(wanted < 0 ? this.open() : wanted).parentNode.lastElementChild;
      target.dispatchEvent(new MouseEvent("click", { bubbles: true }));
    }
    this.refresh();
  }

  /** Where bertviz's 970 pixels are not there, put the enlarged head to the left of its small picture. */
  moveInside(index) {
    const frame = this.svg.querySelector("rect.detail"),
      width = frame.width.baseVal.value;
    let left = frame.x.baseVal.value;
    if (left + width + 2 > this.right) {
      const place = Math.max(2, this.thumbnail(index).x.baseVal.value + 8 - width);
      for (const part of this.svg.querySelectorAll(".detail"))
        part.setAttribute("transform", `translate(${place - left})`);
      left = place;
    }
    this.box.scrollLeft = (left * this.svg.clientWidth) / this.right - 8;
  }

  refresh() {
    const index = this.open();
    this.closer.list.value = String(index);
    if (index < 0) {
      this.say(
        "Each small picture is one head, each row of pictures one layer. Lines run from the word that looks (left) " +
          "to what it looks at.",
        this.kind,
      );
      return;
    }
    this.moveInside(index);
    const { left_text: left, right_text: right } = this.data;
    const rows = this.data.attn[Math.floor(index / this.headCount)][index % this.headCount];
    const looks = rows.map((row, word) => `${left[word]} → ${right[strongest(row)]} ${spoken(row[strongest(row)])}`);
    const name = this.closer.list.selectedOptions[0].textContent.replace("layer", "Layer");
    this.say(`${name}, each word and what it looks at most: ${looks.join(", ")}.`, this.kind);
  }
}

/** Draw with bertviz's own script, then put the controls beside it. */
// biome-ignore lint/correctness/noUnusedVariables: what is written behind this file calls it
function start(view, draw) {
  const frame = view.kind === "head" ? new HeadView(view) : new ModelView(view);
  let addresses = {};
  const require = { config: ({ paths }) => (addresses = paths) };
  const requirejs = async (names, run) => {
    try {
      const [$, d3] = await Promise.all(names.map((name) => library(name, addresses[name])));
      run($, Object.create(d3, { schemeCategory10: { value: PALETTE } }));
      frame.start();
      frame.words.setAttribute("aria-live", "polite");
      frame.controls.querySelectorAll("select, input").forEach(keepKeys);
      frame.figure.dataset.ready = "true";
    } catch (error) {
      frame.figure.dataset.ready = "failed";
      frame.box.textContent =
        "The picture could not be drawn: bertviz takes two libraries from the network, and " +
        `${error.message}. The published book shows it offline.`;
    }
  };
  draw(view, require, requirejs);
}
