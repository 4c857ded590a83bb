import { format } from "./core/format.js";
import { Choice, classes, figure } from "./core/view.jsx";
import { Powers } from "./parts/powers.jsx";
import { derive, NOTES, price, questions, REWARDS } from "./reward.derive.js";

/** A sentence with its bar; a tick, where it was before. */
const Line = ({ text, p, was, share, shareWas, points }) => (
  <div role="row" class="te-rw-line">
    <span role="rowheader" class={classes(points > 0 && "te-rw-paid")}>
      {text}
    </span>
    <span class="te-rw-track" aria-hidden="true">
      <span class="te-glide te-rw-bar" style={{ width: `${100 * share}%` }} />
      <span class="te-rw-was" style={{ left: `${100 * shareWas}%` }} />
    </span>
    <span role="cell">
      <b>{format(p, 3)}</b> <small>was {format(was, 3)}</small>
    </span>
  </div>
);

/** @param {{now: any}} props */
const Stage = ({ now }) => (
  <div role="table" aria-label="The likeliest sentences, and their probabilities" class="te-rw-lines">
    {now.lines.map((line) => (
      <Line key={line.text} {...line} />
    ))}
    <div class="te-note">the other 15 together: {format(now.others, 3)}; rewarded sentences are bold</div>
  </div>
);

function start(state) {
  const { set } = state;
  let now = null;
  function view() {
    now = derive(state, now);
    return {
      ...now,
      stage: <Stage now={now} />,
      controls: [
        <div key="reward" class="te-group">
          <span class="te-label">rewarded</span>
          <Choice
            label="rewarded"
            value={state.reward}
            options={REWARDS.map((value) => ({ value, text: value }))}
            onChange={(reward) => set({ reward })}
          />
        </div>,
        <Powers
          key="beta"
          label="β, the price of moving away"
          from={-4}
          to={3}
          value={state.beta}
          show={price}
          onInput={(beta) => set({ beta })}
        />,
      ],
    };
  }
  return { view, questions: questions(state, () => now), details: ["What is drawn", ...NOTES] };
}

export default figure({
  name: "reward",
  label: "Reward: what it makes of a language of six words",
  invite: ["lower β, the price of moving away, step by step. Then reward each word."],
  traits: ["reward", "beta", "language"],
  lines: 3,
  start,
});
