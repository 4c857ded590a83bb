import { bold, cut } from "./core/dom.js";
import { clamp } from "./core/math.js";
import { Button, Choice, classes, figure, Said, Slider, useGliding } from "./core/view.jsx";
import { derive, SIMILAR, written } from "./token-budget-batches.derive.js";

const TABLE = 12; // tokens: a wider batch is written in lines that wrap
const EVEN = 1.15; // times the cheapest batch: about the same cost
const LIMITS = [
  { value: "sentences", text: "a number of sentences" },
  { value: "tokens", text: "a budget of tokens" },
];

/** An order, with a bar of its cost, the hatched part padding. */
const Card = ({ of: { name, bar, told } }) => (
  <>
    <span class="te-pack-name">{name}</span>
    <span class="te-pack-bar" aria-hidden="true">
      <span class="te-pack-token te-glide" style={{ width: bar[0] }} />
      <span class="te-pack-padding te-glide" style={{ width: bar[1] }} />
    </span>
    <span class="te-note">{told}</span>
  </>
);

/** A batch: a rectangle of padding on which its sentences lie, a square for each token. */
const Batch = ({ of: { rows, width, under } }) => (
  <>
    <div class="te-pack-rows" style={{ width: `${width}em` }}>
      {rows.map(({ row, text, tokens }) => (
        <div key={row} class="te-pack-row" data-index={row} title={text} style={{ width: `${tokens}em` }} />
      ))}
    </div>
    <span class="te-pack-under">
      <Said of={under} />
    </span>
  </>
);

/** The orders; the batches, of which sentences glide to others, measured before anything is drawn; the open one. */
function Stage({ now, order, chosen, open, onOrder, look }) {
  const box = useGliding(now.packed, "[data-index]", "index");
  const optionOf = (batch, value) => ({
    ...{ value, label: batch.label, text: <Batch of={batch} /> },
    more: { onPointerEnter: () => look({ chosen, hovered: value }), onPointerLeave: () => look({ chosen }) },
  });
  return (
    <div ref={box}>
      <Choice
        label="Order in which sentences are taken"
        kind="te-pack-orders"
        value={order}
        onChange={onOrder}
        options={now.cards.map((card) => ({ value: card.name, text: <Card of={card} /> }))}
      />
      <div class="te-pack-legend te-label">
        <span>
          {now.when} <b>{now.before}</b>
        </span>
        {["token", "padding"].map((name) => (
          <span key={name} class="te-pack-key">
            <span class={`te-pack-${name}`} /> {name}
          </span>
        ))}
      </div>
      <div class="te-pack-stage" style={{ "--cell": `${now.cell}px`, "--longest": now.longest }}>
        <Choice
          label="Batches in the order of training"
          kind={classes("te-pack-batches", now.isSmall && "te-pack-many")}
          value={chosen ?? 0}
          onChange={(index) => look({ chosen: index })}
          options={now.batches.map(optionOf)}
        />
      </div>
      <div class="te-pack-title">
        <div>{open.about}</div>
        As wide as its longest row: <Said of={[{ exact: open.widest }]} />
      </div>
    </div>
  );
}

/** A batch as the tensor that it becomes. */
const Table = ({ of }) => (
  <div
    role="list"
    aria-label="Sentences of the batch"
    class={classes("te-pack-table", of.width > TABLE && "te-pack-wrap")}
    style={{ "--wide": of.width }}>
    {written(of).map((tokens, i) => (
      <div key={i} role="listitem">
        {tokens.map((token, j) => [
          <span key={j} class={token ? "" : "te-pack-pad"}>
            {cut(token ?? "<pad>")}
          </span>,
          " ",
        ])}
      </div>
    ))}
  </div>
);

/** Questions about the waste. */
function questions(state, now) {
  const isLittle = () => now().padding < 0.1 * now().cells;
  const costs = () => now().batches.flatMap(({ rest, cells }) => (rest ? [] : cells));
  return [
    {
      ask: ["get the padding below 10\u00a0%"],
      done: isLittle,
      tell: ["The sentences are the same; only their company has changed."],
      show: () => state.set({ order: SIMILAR }),
    },
    {
      ask: ["give all batches about one cost, with little padding"],
      done: () => isLittle() && costs().length > 1 && Math.max(...costs()) <= EVEN * Math.min(...costs()),
      tell: ["A budget counts cells: short sentences travel in larger groups."],
      show: () => state.set({ order: SIMILAR, limit: "tokens", size: 6 * now().longest }),
    },
  ];
}

function start(state, { draw }) {
  const sizes = { sentences: 8, tokens: 64 }; // where the reader left each slider
  let [now, at] = [null, null];
  const look = (to) => {
    at = to;
    draw();
  };
  const onOrder = (order) => state.set({ order });
  const resize = (size) => state.set({ size });
  const fill = (limit) => {
    sizes[state.limit] = state.size;
    state.set({ limit, size: clamp(sizes[limit], now.bounds[limit].min, now.bounds[limit].max) });
  };

  function view() {
    const next = derive(state, now);
    if (next !== now) at = { chosen: null };
    now = next;
    const [{ order, limit, size, epoch, draws }, { chosen, hovered }] = [state, at];
    const open = now.batches[hovered ?? chosen ?? 0];
    return {
      ...now,
      told: chosen === null ? now.told : now.batches[chosen].about,
      stage: <Stage key={state.sentences.join("\n")} {...{ now, order, chosen, open, onOrder, look }} />,
      controls: (
        <>
          <Choice label="A batch is full at" value={limit} onChange={fill} options={LIMITS} />
          <Button off={!now.isShuffled} onClick={() => state.set({ epoch: (epoch + 1) % draws.length })}>
            Next epoch
          </Button>
          <div class="te-pack-size">
            <Slider {...now.bounds[limit]} label={`${limit} a batch`} value={size} onInput={resize} />
          </div>
        </>
      ),
      folded: <Table of={open} />,
    };
  }
  return { view, questions: questions(state, () => now), details: ["The batch, word for word"] };
}

export default figure({
  name: "token-budget-batches",
  label: "Batches by a token budget",
  invite: () => ["choose ", bold(SIMILAR), " and watch the hatched cells go."],
  traits: ["sentences", "order", "limit", "size", "seed", "epoch", "draws"],
  lines: 3,
  start,
});
