// A model that is broken in one line: its curve, its suspects, and who of them the experiments leave. Nothing draws.
import { format, plain, plural } from "./core/format.js";

const TITLE = ["Experiments tell apart what looks alike"];

/** A number of the recording; null stands for what is none. */
const written = (value) => (value === null ? "none" : format(value, value >= 100 ? 0 : 2));

/** The suspects that say of these experiments what the patient says. @param {any} state @param {number[]} played */
export function left({ shown: { bugs, symptoms }, symptom, patient }, played) {
  const { suspects, experiments } = symptoms[symptom];
  const verdict = (suspect, i) => bugs[suspect].verdicts[experiments[i]];
  return suspects.filter((one) => played.every((i) => verdict(one, i) === verdict(suspects[patient], i)));
}

/** Experiments until one suspect is left: each time the one that leaves the fewest. */
export function shortest(state, played = []) {
  const after = state.shown.symptoms[state.symptom].experiments.map((_, i) => left(state, [...played, i]).length);
  const least = Math.min(...after);
  return least < left(state, played).length ? shortest(state, [...played, after.indexOf(least)]) : played;
}

/** All patients: what is to be set to meet them. */
export const patientsOf = ({ symptoms }) =>
  symptoms.flatMap(({ suspects }, symptom) => suspects.map((_, patient) => ({ symptom, patient })));

/** A patient that one experiment names, and that experiment. */
export const namedByOne = ({ shown }) =>
  patientsOf(shown)
    .map((one) => ({ ...one, played: shortest({ shown, ...one }) }))
    .find(({ played }) => played.length === 1);

/** What a guess changes; of a patient the first counts. */
export const guess = ({ named, patient, guesses }, suspect) => ({
  named: suspect,
  guesses: named === null ? [...guesses, suspect === patient] : guesses,
});

/** Both losses over the steps, in a box of 300 by 100 that holds all of them. */
function chartOf({ words, every, steps, healthy }, mine) {
  const [start, end] = [Math.log(words), mine.losses.at(-1)];
  const top = Math.ceil(Math.max(start, ...healthy.losses, ...mine.losses));
  const down = (loss) => 100 * (1 - loss / top);
  const place = (loss, i) => (loss === null ? [] : `${(300 * (i + 0.5) * every) / steps},${down(loss).toFixed(1)}`);
  return {
    levels: { [`ln ${words}`]: down(start), 0: 100 },
    steps: `${steps} steps`,
    mine: mine.losses.flatMap(place).join(" "),
    healthy: healthy.losses.flatMap(place).join(" "),
    note: [
      "training loss at the end: ",
      end === null ? { bold: "nan" } : { number: end, text: format(end), measure: "end" },
      `, healthy (dashed) ${format(healthy.losses.at(-1))}`,
    ],
  };
}

/** All that is drawn, and what is said. What the newest experiment changed is new until the next. */
export function derive(state) {
  const { shown, symptom, patient, played, named, guesses } = state;
  const { bugs, symptoms, healthy } = shown;
  const { name, sees, suspects, experiments } = symptoms[symptom];
  const mine = bugs[suspects[patient]];
  const [before, rest] = [played.slice(0, -1), played].map((some) => left(state, some));
  const isSolved = named === patient;
  const listed = suspects.map((one, i) => ({
    name: bugs[one].name,
    isOut: !rest.includes(one),
    isNew: before.includes(one) && !rest.includes(one),
    isRight: isSolved && i === named,
    sign: i !== named ? "" : isSolved ? "✓ " : "✗ ",
  }));
  const table = experiments.map((one, i) => {
    const [isPlayed, value] = [played.includes(i), mine.values[one]];
    return {
      ...shown.experiments[one],
      isPlayed,
      isNew: i === played.at(-1),
      isOff: isPlayed && mine.verdicts[one] !== "as healthy",
      value: isPlayed ? String(value) : "",
      here: isPlayed ? written(value) : "?",
      healthy: written(healthy.values[one]),
    };
  });
  const newest = table[played.at(-1)];
  const words = [
    newest ? `${newest.name}: ${newest.here}, healthy ${newest.healthy}. ` : "Nothing played yet. ",
    { bold: `${rest.length} of ${plural(suspects.length, "suspect")} ${rest.length === 1 ? "is" : "are"} left.` },
    isSolved ? " Yes, that is it." : named === null ? "" : " No, not that one.",
  ];
  const gone = listed.filter(({ isNew }) => isNew).map((one) => one.name);
  const right = guesses.filter(Boolean).length;
  const score = guesses.length ? `${right} of ${plural(guesses.length, "patient")}` : "no patient yet";
  const heard =
    `${name}. ${plain(words)}${gone.length ? ` Ruled out: ${gone.join(", ")}.` : ""}` +
    (named === null ? "" : ` You said: ${listed[named].name}. Right at first guess: ${score}.`);
  const check = mine.check.length ? ` Its check: ${mine.check[0]}, “${mine.check[1]}”.` : "";
  const mending = isSolved && {
    wrong: `− ${mine.wrong || "(the line is missing)"}`,
    right: `+ ${mine.right}`,
    why: mine.why.replaceAll("`", "") + check,
  };
  return { says: TITLE, sees, chart: chartOf(shown, mine), listed, table, right, score, mending, words, told: heard };
}
