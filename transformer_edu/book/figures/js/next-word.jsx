import { useLayoutEffect, useState } from "preact/hooks";
import * as engine from "../../engine/js/engine.js";
import { cut } from "./core/dom.js";
import { format, plain, plural, readable, special } from "./core/format.js";
import { modelOf } from "./core/loading.js";
import { afterFrame } from "./core/motion.js";
import { Button, classes, figure, Slider, useAppearing, useRoving } from "./core/view.jsx";
import * as derived from "./next-word.derive.js";

const { derive, isEnd, MOST, OPTIONS, openPlace, SHOWN, SLIDERS } = derived;
const MANY = 30; // tokens at one press
const SEEDS = 10_000;
const READY = "The model runs in this page.";
const STAGES = {
  asked: "for more than is stored here; it comes when it is needed",
  loading: "The model is being loaded …",
  ready: READY,
};

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

const dress = ({ gap, unseen, token }) =>
  classes(gap && "te-next-gap", unseen && "te-next-unseen", special(token).trim());

/** A written token: a press goes back to where it was chosen. */
function Token({ piece, i, isLater, onGo }) {
  const node = useAppearing(isLater);
  const kind = classes(dress(piece), piece.pale && "te-next-pale", piece.fresh && "te-next-fresh");
  return (
    <button
      type="button"
      class={`te-next-token ${kind}`}
      ref={node}
      aria-label={`${readable(piece.token)}, token ${i + 1}${piece.pale ? ", pale" : ""}`}
      onClick={() => onGo(i)}>
      {cut(piece.text)}
    </button>
  );
}

/** The text: what was read, then a button for each written token, and where the next one comes. */
function Text({ text, place, isLater, onGo }) {
  const box = useRoving(".te-next-token");
  useLayoutEffect(() => {
    const { current: element } = box;
    afterFrame(() => {
      element.scrollTop = element.querySelector(".te-next-caret").offsetTop - element.clientHeight + 40;
    });
  }, [JSON.stringify([text, place])]);
  const caret = <span class="te-next-caret" aria-hidden="true" />;
  return (
    <div class="te-next-text" role="group" aria-label="The text, token by token" ref={box}>
      <span class="te-next-read">
        {text.read.map((piece, i) => (
          <span key={i} class={dress(piece)}>
            {cut(piece.text)}
          </span>
        ))}
      </span>
      {text.written.map((piece, i) => [
        i === place && caret,
        <Token key={piece.token} piece={piece} i={i} isLater={isLater} onGo={onGo} />,
      ])}
      {place === text.written.length && caret}
    </div>
  );
}

const printed = (share) => format(share, share < 0.0995 ? 3 : 2);
const width = (share) => ({ width: `${(100 * share).toFixed(1)}%` });

/** A bar of the next token; a press takes it. */
function Bar({ one, onTake }) {
  if (!one) return <button type="button" class="te-next-row" tabindex={-1} hidden />;
  const has = one.kept ? `probability ${printed(one.share)}` : `left out, it had ${printed(one.chance)}`;
  const more = `${one.taken ? ", stands in the text" : ""}${one.flip ? `, now ${one.flip}` : ""}`;
  return (
    <button
      type="button"
      class={classes("te-next-row", !one.kept && "te-next-left-out", one.taken && "te-next-taken")}
      data-value={one.share}
      data-chance={one.chance}
      aria-label={`${readable(one.token)}, ${has}${more}: take it`}
      onClick={onTake}>
      <span class="te-next-name">
        <span class={`te-word${special(one.token)}`}>{cut(readable(one.token).replaceAll("\n", "⏎"))}</span>
      </span>
      <span class="te-next-track">
        <span class={classes("te-next-bar te-glide", !one.kept && "te-next-out")} style={width(one.chance)} />
      </span>
      <span class="te-next-share">{printed(one.kept ? one.share : one.chance)}</span>
      <span class="te-next-mark">{one.flip ? { in: "+", out: "−" }[one.flip] : one.taken ? "✓" : ""}</span>
    </button>
  );
}

/** All tokens without a bar of their own. */
const Others = ({ others: { share, chance, kept, count, taken } }) => (
  <div
    class="te-next-row te-next-others"
    role="img"
    data-value={share}
    data-chance={chance}
    aria-label={`all others: ${plural(count, "token")} left in, probability ${printed(share)}`}>
    <span class="te-next-name">all others</span>
    <span class="te-next-track">
      <span class="te-next-bar te-glide" style={width(kept)} />
      <span class="te-next-bar te-next-out te-glide" style={width(Math.max(0, chance - kept))} />
    </span>
    <span class="te-next-share">{printed(share)}</span>
    <span class="te-next-mark">{taken ? "✓" : ""}</span>
  </div>
);

/** A handle on the bars, to be dragged: along the rows, or along the probabilities. By keyboard the sliders do the same. */
function Handle({ name, place, along, onMove }) {
  const [isHeld, hold] = useState(false);
  function move(event) {
    if (!isHeld) return;
    const box = event.currentTarget.parentElement.getBoundingClientRect();
    onMove(along === "rows" ? (event.clientY - box.top) / box.height : (event.clientX - box.left) / box.width);
  }
  const at = `${(100 * place).toFixed(2)}%`;
  return (
    <span
      class={`te-next-handle te-next-${along}${isHeld ? " te-next-held" : ""}`}
      data-handle={name}
      style={along === "rows" ? { top: at } : { left: at }}
      onPointerDown={(event) => {
        event.preventDefault();
        event.currentTarget.setPointerCapture(event.pointerId);
        hold(true);
      }}
      onPointerMove={move}
      onPointerUp={() => hold(false)}
      onPointerCancel={() => hold(false)}>
      {name}
    </span>
  );
}

/** The four numbers on the bars themselves. */
const Handles = ({ handles: { k, p, m, T }, rows, onSet }) => (
  <div class="te-next-row te-next-handles" aria-hidden="true">
    <span class="te-next-along">
      <Handle name="T" along="chances" place={T.share} onMove={(share) => onSet("temperature", T.to(share))} />
      <Handle name="m" along="chances" place={m.share} onMove={(share) => onSet("min_p", m.to(share))} />
    </span>
    <span class="te-next-rail">
      <Handle name="k" along="rows" place={k.row / rows} onMove={(y) => onSet("top_k", k.to(Math.round(rows * y)))} />
    </span>
    <span class="te-next-rail">
      <Handle name="p" along="rows" place={p.row / rows} onMove={(y) => onSet("top_p", p.to(Math.round(rows * y)))} />
    </span>
  </div>
);

/** The bars of the next token, and that of all others; stale ones are those of the place before. */
function Bars({ shown: { bars, others, handles }, isStale, onTake, onSet }) {
  const group = useRoving("button:not([hidden])");
  return (
    <div class={`te-next-bars${isStale ? " te-next-stale" : ""}`}>
      <Handles handles={handles} rows={bars.length} onSet={onSet} />
      <div role="toolbar" aria-orientation="vertical" aria-label="Likeliest next tokens" ref={group}>
        {Array.from({ length: SHOWN }, (_, i) => (
          <Bar key={i} one={bars[i]} onTake={() => onTake(i)} />
        ))}
      </div>
      <Others others={others} />
    </div>
  );
}

/** What there is to say of the model. */
const statusOf = (stage, { trouble, share }) =>
  trouble || STAGES[stage] + (stage === "loading" && share ? ` ${Math.round(100 * share)} %` : "");

/** The model's button and what there is to say of it. */
const Model = ({ stage, megabytes, status, onLoad }) => (
  <div class="te-next-model">
    <Button off={stage === "loading"} hidden={stage === "ready"} onClick={onLoad}>
      {`${stage === "failed" ? "Try again" : "Load the model"} (${megabytes.toFixed(1)} MB)`}
    </Button>
    <span class="te-next-status">{status}</span>
  </div>
);

/** The line of the beginning, and the way back to what the figure opened with. */
const Beginning = ({ value, isOpened, onType, onAgain }) => (
  <div class="te-sentence-line">
    <input
      type="text"
      class="te-sentence-input"
      aria-label="Beginning of the story"
      placeholder="(nothing: the model begins)"
      autocomplete="off"
      spellcheck={false}
      maxlength={200}
      value={value.replaceAll("\n", "⏎")}
      onInput={(event) => onType(event.currentTarget.value.replaceAll("⏎", "\n"))}
    />
    <Button off={isOpened} onClick={onAgain}>
      Start again
    </Button>
  </div>
);

/** Questions that are answered with what is stored. */
function questions({ stored, usual, change, view }) {
  const firsts = stored.places.map(({ best }) => best[0][2]).slice(0, stored.written.length);
  const [sure, unsure] = [Math.max(...firsts), Math.min(...firsts)];
  const goTo = (share) => change({ ...usual, place: firsts.indexOf(share) }, "went");
  const first = () => view().bars[0]?.chance;
  return [
    {
      ask: ["find a place where the model is nearly sure of the next token"],
      done: () => first() >= Math.min(sure, derived.SURE),
      tell: ["What stands before decides it: a name once given, a word begun, a phrase of all stories."],
      show: () => goTo(sure),
    },
    {
      ask: ["find a place where the model is far from sure"],
      done: () => first() <= Math.max(unsure, derived.UNSURE),
      tell: ["The story could go many ways here, and luck has most to say."],
      show: () => goTo(unsure),
    },
    {
      ask: ["leave a single token in, with the sliders"],
      done: () => view().left?.count === 1 && !derived.areStored(view().settings, stored),
      tell: ["One token at every place is greedy search: without luck, the same text each time."],
      show: () => change({ ...usual, top_k: 1 }, "set"),
    },
  ];
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
    const left = derived.leftIn(known.step(state.beginning, ids), derived.filtersOf(state), stored);
    const next = left && derived.drawnBy(left, engine.luckAt(state.seed, ids.length));
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
  /** A slider or a handle moves: the bars that go out and come in are marked until something else is done. */
  function set(name, value) {
    const { at, bars } = own.view;
    const isSame = own.deed.name === name && own.deed.at === at;
    const before = isSame ? own.deed.before : new Set(bars.filter((bar) => bar.kept).map(({ id }) => id));
    change({ [name]: value }, "set", { name, at, before });
  }
  return {
    change,
    nextAt,
    goOn,
    write,
    set,
    /** The whole text once more, with another seed. */
    again() {
      const count = state.written.length || MANY;
      change({ seed: (state.seed + 1) % SEEDS, written: [], place: 0 }, "typed");
      write(count);
    },
    /** A handle on the bars moves: only where it sets another value. */
    move: (name, value) => state[name] !== value && set(name, value),
    /** The token of a bar, in the place of the one that luck drew. */
    take(i) {
      const { at, bars } = own.view;
      if (!bars.length) return;
      const { id, token, chance } = bars[i];
      const written = state.written[at] === id ? state.written : [...state.written.slice(0, at), id];
      change({ written, place: at + 1 }, "took", { from: at, token, chance });
    },
  };
}

/** The model, and how it is asked for what is missing; it comes when it is first needed. */
function asking(widget, root, { state, stored, known, own, draw, goOn }) {
  let asked = "";
  async function load() {
    const { model_file: file } = state;
    const bytes = await engine.loadBytes(widget, file, (share) => {
      own.share = share;
      draw();
    });
    return engine.inWorker(bytes, file.sha256, nextToken);
  }
  const running = modelOf(root, load, draw, true);

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

/** All that is seen, from what was derived. */
const Stage = ({ state, seen, opened, isLater, model, actions: { change, write, again, set, move, take } }) => (
  <>
    <Beginning
      value={state.beginning}
      isOpened={OPTIONS.every((name) => String(state[name]) === String(opened[name]))}
      onType={(beginning) => change({ beginning, written: [], place: 0 }, "typed")}
      onAgain={() => change(opened, "opened")}
    />
    <Text text={seen.text} place={seen.place} isLater={isLater} onGo={(place) => change({ place }, "went")} />
    <div class="te-next-panels">
      <div class="te-next-controls">
        <div class="te-next-settings">
          {SLIDERS.map(({ name, ...slider }) => (
            <Slider
              key={name}
              {...slider}
              value={derived.sliderValue(state, name)}
              onInput={(value) => set(name, derived.fromSlider(name, value))}
            />
          ))}
        </div>
        <div class="te-next-buttons">
          <Button kind="primary" off={seen.full} onClick={() => write(1)}>
            Write one token
          </Button>
          <Button off={seen.full} onClick={() => write(MANY)}>{`Write ${MANY}`}</Button>
          <Button onClick={again}>Again, other luck</Button>
        </div>
        <Model {...model} />
      </div>
      <Bars shown={seen.shown} isStale={!seen.left} onTake={take} onSet={move} />
    </div>
  </>
);

function start(state, { root, widget, draw }) {
  const stored = { ...state.recorded, ...derived.filtersOf(state.recorded.settings) };
  const opened = Object.fromEntries(OPTIONS.map((name) => [name, state[name]]));
  const usual = { beginning: stored.beginning, written: stored.written.map(([id]) => id), ...stored.settings };
  const known = derived.memory(stored);
  const own = { waiting: 0, share: 0, trouble: "", deed: { what: "opened", from: -1 }, view: null };
  const actions = actionsOf(state, stored, known, own);
  const { running, need } = asking(widget, root, { state, stored, known, own, draw, goOn: actions.goOn });

  function viewOf(options, decided) {
    const { beginning, written } = options;
    const step = known.step(beginning, written.slice(0, openPlace(options)));
    return derive({
      ...options,
      stored,
      names: known.names,
      read: known.read(beginning),
      step,
      deed: own.deed,
      decided,
    });
  }
  let decided = viewOf({ ...usual, place: 0 }, null); // the last view with bars

  function view() {
    const isLater = own.view !== null;
    const seen = viewOf(Object.fromEntries(OPTIONS.map((name) => [name, state[name]])), decided);
    own.view = seen;
    if (seen.left) decided = seen;
    if (running.trouble) {
      own.waiting = 0;
      own.trouble = `The model could not be loaded (${running.trouble}). Everything else stays as it is.`;
    }
    const ids = state.written.slice(0, seen.at);
    const missing = !own.trouble && (!seen.left || (own.waiting > 0 && actions.nextAt(ids) === undefined));
    root.setAttribute("aria-busy", String(missing));
    if (missing) need();
    const stage = root.dataset.engine;
    const model = {
      stage,
      status: statusOf(stage, own),
      megabytes: state.model_file.bytes / 1e6,
      onLoad: running.wake,
    };
    const { says, words } = seen;
    const set = SLIDERS.map(({ name, label, show }) => `${label} ${show(derived.sliderValue(state, name))}`);
    const told = `${plain(says)}. ${plain(words)} ${set.join(", ")}. Seed ${state.seed}. ${model.status}`;
    return { says, words, told, stage: <Stage {...{ state, seen, opened, isLater, model, actions }} /> };
  }
  return {
    view,
    questions: questions({ stored, usual, change: actions.change, view: () => own.view }),
    details: [
      "How a token is drawn",
      "Bars: softmax of the scores divided by the temperature. Then top-k, top-p and min-p leave tokens out (hatched, " +
        "struck through); the numbers are what is drawn from, and add up to 1. What the sliders set can be dragged on the " +
        "bars: T at the end of the longest, m (min-p), k and p. Luck hangs on the seed and the place: the " +
        `same presses give the same text. The model sees ${stored.max_len} tokens; of a longer text, the older half is ` +
        "dropped. What is shown before the model is loaded was computed with the same weights.",
    ],
    end: () => running.model?.end(),
  };
}

export default figure({
  name: "next-word",
  label: "Write a story token by token",
  invite: ["write a token, or click a bar to take one that luck did not. Then raise the temperature."],
  traits: [...OPTIONS, "recorded", "model_file"],
  lines: 1,
  start,
});
