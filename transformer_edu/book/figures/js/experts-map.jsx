import { useMemo } from "preact/hooks";
import { div } from "./core/dom.js";
import { pathsOf, rowStyle } from "./core/links.js";
import { player } from "./core/motion.js";
import { Choice, classes, figure, Kept, Slider, Word } from "./core/view.jsx";
import { derive, momentsOf, NAMES, notesOf, percent, questions } from "./experts-map.derive.js";

/** From each token to its two experts; dashed, where the chosen one went before. */
function Lines({ kind, words, lines }) {
  const paths = useMemo(() => pathsOf(Array(lines[0].length).fill(""), words), []);
  return (
    <svg class={`te-exp-lines ${kind}`} viewBox="0 0 100 100" preserveAspectRatio="none" aria-hidden="true">
      {paths.map((row, e) =>
        row.map((d, i) => {
          const look = classes("te-glide", lines[i][e] && `te-exp-${lines[i][e]}`);
          return <path key={d} class={look} d={d} vector-effect="non-scaling-stroke" />;
        }),
      )}
    </svg>
  );
}

/** The share of each expert; a tick, where it was before. */
const Bars = ({ experts, evenHeight, even }) => (
  <>
    <div class="te-exp-bars">
      <div class="te-exp-room">
        {experts.map(({ height, was }, e) => (
          <div key={e} class="te-exp-track">
            <div class="te-exp-bar te-glide" style={{ height: `${100 * height}%` }} />
            {was && <div class="te-exp-tick" style={{ bottom: `${100 * was.height}%` }} />}
          </div>
        ))}
        <div class="te-exp-even" style={{ bottom: `${100 * evenHeight}%` }} />
      </div>
      {experts.map(({ share, text, was }, e) => (
        <span key={e} class="te-exp-share" data-value={share} title={was && `was ${was.text}`}>
          {text}
        </span>
      ))}
    </div>
    <div class="te-note te-exp-key">
      Bars: share of all choices on unseen stories. Dashed: even, {percent(even)}.
      {experts.some(({ was }) => was) && " Blue tick: before."}
    </div>
  </>
);

/** @param {{now: any, pieces: string[], set: (changes: any) => void}} props */
const Stage = ({ now, pieces, set }) => (
  <>
    <Choice
      {...{ label: "token", kind: "te-exp-tokens", style: rowStyle(pieces) }}
      value={now.now.expert ? null : now.now.token}
      onChange={(token) => set({ token, expert: 0 })}
      options={now.tokens.map(({ isSeen }, value) => ({
        ...{ value, text: <Word of={pieces[value]} kind="te-exp-word" />, kind: isSeen ? "te-exp-seen" : "" },
      }))}
    />
    <Lines kind="te-exp-wide" words={pieces} lines={now.lines} />
    <Lines kind="te-exp-narrow" words={pieces.map(() => "")} lines={now.lines} />
    <Choice
      {...{ label: "expert", kind: "te-exp-experts", value: now.now.expert || null }}
      onChange={(expert) => set({ expert })}
      options={now.experts.map(({ text, isSeen }, e) => ({
        ...{ value: e + 1, label: `expert ${e + 1}: ${text} of all choices`, kind: isSeen ? "te-exp-seen" : "" },
        text: [<span key="expert">expert </span>, String(e + 1)],
      }))}
    />
    <Bars {...now} />
  </>
);

function start(state, { root }) {
  const { recording, set } = state;
  const steps = momentsOf(recording, "none").map(({ step }) => step);
  const last = steps.length - 1;
  let now = null;
  const place = () => steps.indexOf(state.step);
  const go = (at) => at !== place() && set({ step: steps[at] });
  const { element, stop } = player({ figure: root, at: place, last: () => last, go, wait: 800 });
  const pick = (name, options) => (
    <div class="te-group">
      <span class="te-label">{name}</span>
      <Choice {...{ label: name, value: state[name], options }} onChange={(value) => set({ [name]: value })} />
    </div>
  );

  function view() {
    now = derive(state, now);
    const layers = now.layers.map((value) => ({ value, text: String(value + 1) }));
    const balancings = Object.keys(NAMES).map((value) => ({ value, text: value }));
    return {
      ...now,
      stage: <Stage {...{ now, set }} pieces={recording.pieces} />,
      controls: [
        pick("layer", layers),
        pick("balancing", balancings),
        <Kept key="step" make={() => ({ element: div("te-group", element) })} update={() => {}}>
          <Slider label="step" min={0} max={last} value={place()} show={(i) => String(steps[i])} onInput={go} />
        </Kept>,
      ],
    };
  }
  const details = ["All runs, and how they were recorded", ...notesOf(recording)];
  return { view, questions: questions(state, () => now), details, end: stop };
}

export default figure({
  name: "experts-map",
  label: "Experts: where tokens go, and what share each expert gets",
  invite: ["choose a token or an expert. Then set balancing to “loss” and watch the bars."],
  traits: ["recording", "balancing", "layer", "step", "token", "expert"],
  start,
});
