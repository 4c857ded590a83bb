import { useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import * as engine from "../../engine/js/engine.js";
import { derive, isKnown, readTrace, traceOf } from "./architecture-map.derive.js";
import { cividis, css, diverging } from "./core/colour.js";
import { cut, div, reducedMotion } from "./core/dom.js";
import { format } from "./core/format.js";
import { modelOf } from "./core/loading.js";
import { clamp } from "./core/math.js";
import { DURATION, gliding, player } from "./core/motion.js";
import { sentenceLine } from "./core/sentence.js";
import { asPieces, Button, Choice, figure, Kept, Matrix, Said, Word } from "./core/view.jsx";
import { named } from "./core/words.js";
import { BOXES, blockOf, FRAMES, pathOf, split, styleOf } from "./parts/blocks.js";

const SCALE = 3; // activations beyond ±3 get the strongest colour
const SHADES = Array.from({ length: 256 }, (_, i) => diverging(i / 127.5 - 1));
const CHAPTERS = {
  3: ["03-tokens-and-embeddings", "Tokens and embeddings"],
  4: ["04-positional-encoding", "Positional encoding"],
  5: ["05-normalization", "Normalization"],
  6: ["06-attention", "Attention"],
  7: ["07-multi-head-attention", "Multi-head attention"],
  8: ["08-feed-forward-and-residuals", "Feed-forward and residuals"],
  9: ["09-encoder", "The encoder"],
  10: ["10-decoder", "The decoder"],
  11: ["11-the-transformer", "The Transformer"],
  13: ["13-training", "Training"],
};
const WIRES = BOXES.flatMap(({ wires }, box) => wires.map((corners) => ({ box, corners })));

/** Where an arrow's tip is, and which way it points. */
function tipOf(corners) {
  const [from, { x, y }] = corners.slice(-2);
  return { "data-to": x > from.x ? "right" : y > from.y ? "down" : "up", style: styleOf({ left: x, top: y }) };
}

const frameAt = ({ x, y }) => ({ ...styleOf({ left: x, top: y }), opacity: 1 });
/** Send a point along a wire. */
const run = (dot, corners, delay) => dot.animate(corners.map(frameAt), { duration: DURATION, delay });

/** The wires, those on the way in colour; after the reader's choice a point runs along each. */
function Wires({ now: { block, map } }) {
  const box = useRef(null);
  useLayoutEffect(() => {
    const dots = [...box.current.querySelectorAll(".te-am-dot")];
    dots.forEach((dot) => dot.getAnimations().forEach((one) => one.cancel()));
    for (const { box, delay } of reducedMotion() ? [] : map.route)
      WIRES.forEach((wire, i) => wire.box === box && run(dots[i], wire.corners, delay));
  }, [block]);
  const kind = (wire) => (map.way.includes(wire.box) ? " te-am-on" : "");
  return (
    <div class="te-am-wires" aria-hidden="true" ref={box}>
      <svg viewBox="0 0 100 100" preserveAspectRatio="none" aria-hidden="true" focusable="false">
        {WIRES.map((wire, i) => (
          <path
            key={i}
            class={`te-am-line${kind(wire)}`}
            d={`M ${wire.corners.map(({ x, y }) => `${x} ${y}`).join(" L ")}`}
          />
        ))}
      </svg>
      {WIRES.map((wire, i) => [
        <i key={`tip ${i}`} class={`te-am-tip${kind(wire)}`} {...tipOf(wire.corners)} />,
        <i key={`dot ${i}`} class="te-am-dot" />,
      ])}
    </div>
  );
}

const STEPS = { ArrowUp: 1, ArrowRight: 1, ArrowDown: -1, ArrowLeft: -1, Home: -Infinity, End: Infinity };

/** The map: every block a button; arrow keys walk along the way of computation. */
function Machine({ now, choose, walk }) {
  const { boxes, layer, texts } = now.map;
  const box = useRef(null);
  function onKeyDown(event) {
    const by = STEPS[event.key];
    if (!by || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    walk(by);
    box.current.querySelector("[aria-checked=true]").focus();
  }
  return (
    <div
      role="radiogroup"
      class="te-am-map"
      aria-label="Blocks in the order of computation; arrow keys walk along"
      ref={box}
      onKeyDown={onKeyDown}>
      {FRAMES.map(({ name, style }) => (
        <div key={name} class="te-am-frame" style={style}>
          <div>
            <b>{name}</b> <span>{layer}</span>
          </div>
        </div>
      ))}
      <Wires now={now} />
      {Object.entries(texts).map(([name, words]) => (
        <div key={name} class={`te-am-words te-am-${name}`}>
          {words.map(({ text, isChosen }, i) => [isChosen ? <b key={i}>{cut(text)}</b> : cut(text), " "])}
        </div>
      ))}
      {boxes.map(({ block, label, spoken, isOpen }, i) => (
        <button
          key={i}
          type="button"
          role="radio"
          class={`te-am-block te-am-${BOXES[i].part}`}
          style={BOXES[i].style}
          data-block={block}
          aria-checked={isOpen}
          aria-label={spoken}
          tabindex={isOpen ? 0 : -1}
          onClick={() => choose(BOXES[i])}>
          {label}
        </button>
      ))}
    </div>
  );
}

const Heading = ({ children, note = null }) => (
  <div class="te-am-heading">
    {children}
    {note && <span class="te-term">{note}</span>}
  </div>
);

const Sign = ({ shade }) => <i class="te-am-sign" style={{ background: css(SHADES[shade]) }} />;

/** The block's output as coloured cells, a row for each token; a row can be chosen, a number pointed at. */
function Heat({ heat, follow }) {
  const { values, tokens, row, label, spoken, size } = heat;
  const [canvas, [last, point]] = [useRef(null), useState(null)];
  const [count, width] = [values.length, values[0].length];
  const paint = useMemo(() => {
    const picture = new ImageData(width, count);
    picture.data.fill(255);
    return gliding((now) => {
      const shades = now.map((value) => SHADES[clamp(Math.round(127.5 * (value / SCALE + 1)), 0, 255)]);
      shades.forEach((shade, i) => picture.data.set(shade, 4 * i));
      canvas.current.getContext("2d").putImageData(picture, 0, 0);
    });
  }, []);
  useLayoutEffect(() => paint.to(values.flat()), [values]);
  useLayoutEffect(() => paint.stop, []);
  function placeIn({ clientX, clientY }) {
    const area = canvas.current.getBoundingClientRect();
    const at = (offset, length, many) => clamp(Math.floor((offset / length) * many), 0, many - 1);
    return [at(clientY - area.top, area.height, count), at(clientX - area.left, area.width, width)];
  }
  const numberAt = ([i, j]) => [{ bold: tokens[i] }, `, number ${j}: `, { bold: format(values[i][j]) }];
  const legend = [size, <Sign key="below" shade={40} />, "below 0", <Sign key="above" shade={215} />, "above"];
  return (
    <div class="te-am-heat" style={{ "--rows": count }}>
      <Heading note={last ? <Said of={numberAt(last)} /> : legend}>What comes out</Heading>
      <Choice
        label={label}
        kind="te-am-rows"
        value={row}
        onChange={follow}
        options={tokens.map((text, value) => ({ value, text }))}
      />
      <div class="te-am-cells">
        <canvas
          ref={canvas}
          class="te-am-canvas"
          role="img"
          aria-label={spoken}
          width={width}
          height={count}
          onPointerMove={(event) => point(placeIn(event))}
          onClick={(event) => {
            point(placeIn(event));
            follow(placeIn(event)[0]);
          }}
        />
        <div class="te-am-mark te-glide" style={{ transform: `translateY(${100 * row}%)` }} />
      </div>
    </div>
  );
}

const Weights = ({ weights }) => (
  <div>
    <Heading note="each head’s weights sum to 1">Where it looks</Heading>
    <div class="te-am-weights">
      <Matrix
        key={weights.key}
        name="weights"
        label="attention weights of the followed word, a row for each head"
        {...weights.table}
        colour={cividis}
      />
    </div>
  </div>
);

const Candidates = ({ of: { words, rest } }) => (
  <div>
    <Heading>The five likeliest words</Heading>
    <div class="te-am-best">
      {words.map(({ word, value, text, share }, i) => [
        <Word key={`word ${i}`} of={word} kind="" />,
        <span key={`bar ${i}`} class="te-am-bar" aria-hidden="true">
          <i class="te-glide" style={{ width: `${100 * share}%` }} />
        </span>,
        <span key={i} data-candidate={word} data-value={value}>
          {text}
        </span>,
      ])}
      <span class="te-note te-am-rest">{rest}</span>
    </div>
  </div>
);

/** What is open, beside the map; and below it its numbers. */
const Stage = ({ now, line, choose, walk, follow }) => (
  <>
    {line}
    <Machine now={now} choose={choose} walk={walk} />
    <div class="te-am-open">
      <div class="te-am-title">
        <b>{now.title}</b> <span class="te-term">{now.where}</span>
      </div>
      <p class="te-am-purpose">{now.purpose}</p>
    </div>
    <div class="te-am-numbers" style={{ "--heads": now.trace.sizes.num_heads }}>
      {now.heat && <Heat key={now.heat.key} heat={now.heat} follow={(row) => follow(now.heat.name, row)} />}
      {now.weights && <Weights weights={now.weights} />}
      {now.candidates && <Candidates of={now.candidates} />}
    </div>
  </>
);

/** A chapter's address: from the published page's own table of contents, or beside a live notebook; null elsewhere. */
function chapterAddress(root, file) {
  if (!root.closest("[data-widget]")) return location.pathname.endsWith(".ipynb") ? `${file}.ipynb` : null;
  const links = /** @type {HTMLAnchorElement[]} */ ([...document.querySelectorAll("nav a[href]")]);
  return links.find((link) => link.pathname.endsWith(`/${file}.html`))?.href ?? null;
}

function Chapter({ root, number }) {
  const [file, title] = CHAPTERS[number];
  const href = useMemo(() => chapterAddress(root, file), []);
  const Tag = href ? "a" : "span";
  const leads = /** @type {any} */ (href ? { href, target: href.endsWith(".ipynb") ? "_blank" : undefined } : {});
  return <Tag {...leads} data-chapter={file}>{`${number} ${title}`}</Tag>;
}

const Facts = ({ root, now: { chapters, heat } }) => (
  <p class="te-note te-am-facts">
    Built in chapter{" "}
    {chapters.map((number, i) => [i ? ", " : "", <Chapter key={number} root={root} number={number} />])}; its numbers
    are learned in <Chapter root={root} number={13} />. {heat && "The outlined row: "}
    {heat?.values[heat.row].map((value, i) => [
      <span key={i} data-value={value}>
        {format(value)}
      </span>,
      " ",
    ])}
  </p>
);

const Controls = ({ now, play, walk }) => (
  <>
    <Kept make={() => ({ element: div("", play.element) })} update={() => {}} />
    <Button off={now.step === 0} onClick={() => walk(-1)}>
      ← Previous<span class="te-hidden"> block</span>
    </Button>
    <Button kind="primary" off={now.step === now.path.length - 1} onClick={() => walk(1)}>
      Next<span class="te-hidden"> block</span> →
    </Button>
    <p class="te-note te-am-size">
      {`step ${now.step + 1} of ${now.path.length}. `}
      <Said of={now.size} />
    </p>
  </>
);

/** Questions about the whole machine. */
function questions(state, { word, open, parameters, layers }) {
  return [
    {
      ask: ["find the first block in which ", word, " hears of other words"],
      done: () => state.block === "encoder.0.self",
      tell: ["Only attention carries numbers from one word to another."],
      show: () => open("encoder.0.self"),
    },
    {
      ask: [`find where the ${state.target_name} half looks at the ${state.source_name} one`],
      done: () => split(state.block).part === "cross",
      tell: ["Cross-attention is the only way across."],
      show: () => open(`decoder.${layers - 1}.cross`),
    },
    {
      ask: ["find a block in which nothing is learned"],
      done: () => parameters[state.block] === 0,
      tell: ["The positions’ pattern and the softmax are formulas without numbers to learn."],
      show: () => open("encoder.positional"),
    },
  ];
}

function start(state, { root, widget, draw }) {
  const begun = { trace: readTrace(state.trace), sentence: state.sentence };
  const { sizes, parameters } = begun.trace;
  const path = pathOf(sizes.num_layers);
  const running = modelOf(root, () => engine.loadModel(widget, state.model_file), draw);
  let { trace } = begun;
  let [computed, now] = ["", null];
  const line = sentenceLine({
    opened: begun.trace.source_tokens,
    ...state.line,
    wordsOf: engine.wordsOf,
    onChange: (sentence) => set({ sentence }),
    onAgain() {
      line.set(begun.sentence);
      set({ sentence: begun.sentence });
    },
  });

  function set(changes) {
    state.set(changes);
    running.wake();
  }
  const at = () => path.indexOf(state.block);
  const open = (block) => block !== state.block && set({ block });
  const walk = (by) => open(path[clamp(at() + by, 0, path.length - 1)]);
  const follow = (name, row) => row !== state[name] && set({ [name]: row });
  const play = player({ figure: root, at, last: () => path.length - 1, go: (to) => open(path[to]), wait: 900 });

  /** A box was chosen; once more: the same block in the next layer. */
  function choose(box) {
    const isOpen = blockOf(box, now.layer) === state.block;
    open(blockOf(box, isOpen ? (now.layer + 1) % sizes.num_layers : now.layer));
  }

  /** The sentence's numbers, computed once; what is wrong with it, or null. */
  function compute() {
    const { words, wrong } = line.read(state.sentence);
    const key = words.join(" ");
    if (wrong || key === computed) return wrong;
    if (running.model) [trace, computed] = [traceOf(running.model, words, state.line.most, begun.trace), key];
    else if (key === begun.trace.source_tokens.join(" ")) trace = begun.trace;
    return null;
  }

  function view() {
    const wrong = compute();
    const isOpened = state.sentence === begun.sentence;
    const instead = asPieces(running.instead(wrong, !isKnown(state.block, trace) || !isOpened));
    now = derive(state, { trace, instead, sentence: isOpened ? "" : state.sentence }, now);
    const kept = <Kept make={() => line} update={() => line.update(state.sentence, Boolean(wrong), isOpened)} />;
    return {
      ...now,
      stage: <Stage now={now} line={kept} choose={choose} walk={walk} follow={follow} />,
      controls: <Controls now={now} play={play} walk={walk} />,
      folded: <Facts root={root} now={now} />,
    };
  }
  const word = named(trace.source_tokens[state.source_token]);
  return {
    view,
    questions: questions(state, { word, open, parameters, layers: sizes.num_layers }),
    details: ["Chapters and numbers of this block", "Point at a cell to read its number."],
  };
}

export default figure({
  name: "architecture-map",
  label: "Map of the Transformer",
  invite: ["press Play, type another sentence, or click a row to follow its word."],
  traits: "sentence trace block source_token target_token source_name target_name line model_file".split(" "),
  start,
});
