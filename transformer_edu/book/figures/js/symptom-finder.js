import {
  appear,
  bold,
  button,
  div,
  fill,
  format,
  frame,
  h,
  paragraph,
  plural,
  select,
  setOff,
  sketch,
  span,
  store,
  svg,
} from "./core.js";

const TRAITS = /** @type {const} */ (["shown", "symptom", "patient", "played", "named"]);
const TOP = 6; // nats at the upper edge of the chart
const MOST = { suspects: 6, experiments: 5 };

/** A number of the recording; null stands for what is none. */
const written = (value, digits = 2) => (value === null ? "none" : format(value, value >= 100 ? 0 : digits));
const last = (losses) => losses.findLast((loss) => loss !== null);

const anyOf = (count) => Math.floor(Math.random() * count);

/** What a reader sees of the present case: its suspects, its experiments, and who of the suspects is left. */
function look({ shown, symptom, patient, played }) {
  const { name, sees, suspects, experiments } = shown.symptoms[symptom];
  const mine = shown.bugs[suspects[patient]];
  const agrees = (suspect) =>
    played.every((i) => shown.bugs[suspect].verdicts[experiments[i]] === mine.verdicts[experiments[i]]);
  return { name, sees, suspects, experiments, mine, left: suspects.filter(agrees) };
}

/** The experiment that leaves the fewest suspects. */
function best(state) {
  const after = (i) => look({ ...state, played: [...state.played, i] }).left.length;
  return look(state)
    .experiments.map((_, i) => i)
    .filter((i) => !state.played.includes(i))
    .sort((a, b) => after(a) - after(b))[0];
}

/** Both losses over the steps: the healthy one dashed, the patient's strong. */
function curves({ words, every, steps, healthy }) {
  const draw = (losses) => {
    const known = losses.flatMap((loss, i) => (loss === null ? [] : [[(i + 0.5) * every, Math.min(loss, TOP)]]));
    return known.map(([step, loss]) => `${(300 * step) / steps},${(100 * (1 - loss / TOP)).toFixed(1)}`).join(" ");
  };
  const line = (props) =>
    svg(props.points === undefined ? "line" : "polyline", { "vector-effect": "non-scaling-stroke", ...props });
  const level = 100 * (1 - Math.log(words) / TOP);
  const patient = line({ class: "te-sym-patient", points: "" });
  const box = sketch(
    "te-sym-lines",
    "0 0 300 100",
    line({ class: "te-sym-level", x1: 0, x2: 300, y1: level, y2: level }),
    line({ class: "te-sym-level", x1: 0, x2: 300, y1: 100, y2: 100 }),
    line({ class: "te-sym-healthy", points: draw(healthy.losses) }),
    patient,
  );
  box.setAttribute("preserveAspectRatio", "none");
  const mark = (kind, top, ...text) =>
    h("span", { class: `te-sym-axis ${kind}`, "aria-hidden": "true", style: { top: `${top}%` } }, ...text);
  const note = paragraph("te-note te-sym-end");
  return {
    element: div(
      "te-sym-curves",
      div(
        "te-sym-chart",
        box,
        mark("te-sym-y", level, `ln ${words}`),
        mark("te-sym-y", 100, "0"),
        mark("te-sym-x", 100, `${steps} steps`),
      ),
      note,
    ),
    update({ losses }) {
      patient.setAttribute("points", draw(losses));
      const end = last(losses);
      fill(
        note,
        "training loss at the end: ",
        h(
          "b",
          { dataset: { fact: "end", value: String(end ?? "none") } },
          losses.at(-1) === null ? "not a number" : format(end),
        ),
        `, healthy (dashed) ${format(last(healthy.losses))}`,
      );
    },
  };
}

/** The list of suspects: a button names one; who is ruled out is struck through. */
function suspectList(onName) {
  const buttons = Array.from({ length: MOST.suspects }, (_, i) =>
    button("", () => onName(i), { class: "te-button te-sym-suspect" }),
  );
  return {
    element: div("te-sym-suspects", paragraph("te-note", "Suspects. Name one:"), ...buttons),
    update(names, left, named, solved) {
      buttons.forEach((one, i) => {
        one.hidden = i >= names.length;
        if (one.hidden) return;
        const out = !left[i];
        one.classList.toggle("te-sym-out", out);
        one.classList.toggle("te-sym-right", solved && named === i);
        const sign = named !== i ? "" : solved ? "✓ " : "✗ ";
        fill(one, sign, h(out ? "s" : "span", {}, names[i]));
        one.setAttribute("aria-label", `It is: ${names[i]}${out ? " (ruled out)" : ""}`);
      });
    },
  };
}

/** The experiments: a button plays one, and its number stands beside the healthy model's. */
function experimentTable(onPlay) {
  const rows = Array.from({ length: MOST.experiments }, (_, i) => {
    const control = button("", () => onPlay(i), { class: "te-button te-sym-play" });
    const [asks, mine, healthy] = [span("te-sym-asks"), h("b", { class: "te-number" }), span("te-number")];
    return { element: div("te-sym-row", control, asks, mine, healthy), control, asks, mine, healthy };
  });
  return {
    element: div(
      "te-sym-table",
      div(
        "te-sym-row te-sym-head",
        span("", "experiment"),
        span("", "what it measures"),
        span("", "here"),
        span("", "healthy"),
      ),
      ...rows.map(({ element }) => element),
    ),
    rows,
  };
}

function render({ model, el }) {
  const figure = frame(el, {
    name: "symptom-finder",
    label: "Symptom finder",
    says: ["Experiments tell apart what looks alike"],
    invite: ["play an experiment, watch which suspects go, and name the bug when one is left."],
  });
  const state = store(model, TRAITS, draw);
  const { bugs, symptoms, experiments, healthy, steps, sentences } = state.shown;
  const chart = curves(state.shown);
  const sees = paragraph("te-sym-sees");
  const list = suspectList((i) => state.set({ named: i }));
  const table = experimentTable((i) => !state.played.includes(i) && state.set({ played: [...state.played, i] }));
  const line = div("te-sym-line");
  const open = (symptom, patient, played = []) => state.set({ symptom, patient, played, named: null });
  const symptomList = select({
    label: "You see:",
    value: String(state.symptom),
    onChange: (value) => open(Number(value), anyOf(symptoms[Number(value)].suspects.length)),
    options: symptoms.map(({ name }, i) => ({ value: String(i), label: name })),
  });
  const another = button("Another patient", () => {
    const all = symptoms.flatMap(({ suspects }, symptom) => suspects.map((_, patient) => [symptom, patient]));
    const now = all.findIndex(([symptom, patient]) => symptom === state.symptom && patient === state.patient);
    open(...all[(now + 1 + anyOf(all.length - 1)) % all.length]);
  });

  figure.stage.append(div("te-sym-top", div("te-sym-left", sees, chart.element), list.element), table.element, line);
  figure.controls.append(symptomList.element, another);
  figure.stage.before(figure.controls); // first what is seen, then what could be the cause
  const words = figure.words(1);

  function drawLine(mine, solved) {
    if (!solved)
      return fill(
        line,
        paragraph("te-note", "The line at fault and its mending stand here when you have " + "named the bug."),
      );
    const check = mine.check.length ? [` Its check: ${mine.check[0]}, “${mine.check[1]}”.`] : [];
    fill(
      line,
      h("code", { class: "te-sym-code te-sym-wrong" }, `− ${mine.wrong || "(the line is missing)"}`),
      h("code", { class: "te-sym-code te-sym-mended" }, `+ ${mine.right}`),
      paragraph("te-note", mine.why.replaceAll("`", ""), ...check),
    );
    appear(line);
  }
  let before = "";

  function draw() {
    const now = look(state);
    const solved = state.named === state.patient;
    symptomList.set(String(state.symptom));
    sees.textContent = now.sees;
    chart.update(now.mine);
    list.update(
      now.suspects.map((one) => bugs[one].name),
      now.suspects.map((one) => now.left.includes(one)),
      state.named,
      solved,
    );
    table.rows.forEach(({ element, control, asks, mine, healthy: sound }, i) => {
      const one = now.experiments[i];
      element.classList.toggle("te-sym-none", one === undefined);
      if (one === undefined) return;
      const done = state.played.includes(i);
      control.textContent = experiments[one].name;
      asks.textContent = experiments[one].asks;
      mine.textContent = done ? written(now.mine.values[one]) : "?";
      mine.dataset.value = done ? String(now.mine.values[one]) : "";
      mine.classList.toggle("te-sym-off", done && now.mine.verdicts[one] !== "as healthy");
      sound.textContent = written(healthy.values[one]);
      setOff(control, done);
    });
    const key = `${now.mine.name} ${solved}`;
    if (key !== before) drawLine(now.mine, solved);
    before = key;
    const newest = now.experiments[state.played.at(-1)];
    const told =
      newest === undefined
        ? "Nothing played yet. "
        : `${experiments[newest].name}: ` +
          `${written(now.mine.values[newest])}, healthy ${written(healthy.values[newest])}. `;
    const rest = `${now.left.length} of ${plural(now.suspects.length, "suspect")} ${
      now.left.length === 1 ? "is" : "are"
    } left.`;
    const verdict = solved ? " Yes, that is it." : state.named === null ? "" : " No, not that one.";
    fill(words, told, bold(rest), verdict);
    const who = state.named === null ? "" : ` You said: ${bugs[now.suspects[state.named]].name}.`;
    figure.tell(`${now.name}. ${words.textContent}${who}`);
  }
  draw();
  figure.ask([
    {
      ask: ["name it after three experiments or fewer"],
      done: () => state.named === state.patient && state.played.length <= 3 && look(state).left.length === 1,
      tell: ["What differs among the suspects helps, not what is off."],
      show() {
        const { symptom, patient } = state;
        open(symptom, patient);
        while (look(state).left.length > 1) state.set({ played: [...state.played, best(state)] });
        state.set({ named: patient });
      },
    },
    {
      ask: ["let one experiment name a bug"],
      done: () => state.played.length === 1 && look(state).left.length === 1,
      tell: ["One number that only this suspect has is enough."],
      show() {
        const found = symptoms
          .flatMap(({ suspects, experiments: all }, symptom) =>
            suspects.flatMap((_, patient) =>
              all.map((_, i) => ({ shown: state.shown, symptom, patient, played: [i] })),
            ),
          )
          .find((one) => look(one).left.length === 1);
        open(found.symptom, found.patient, found.played);
      },
    },
  ]);
  figure.details(
    "How it was measured",
    paragraph(
      "te-note",
      `${plural(bugs.length, "bug")}, each one line in the same small translator ` +
        `(two decoder layers, one encoder layer, d_model 32), trained for ${steps} steps from the same seed. ` +
        `The experiments are the same for all, on ${sentences} unseen sentences or a few of them. A suspect ` +
        "goes when its recorded outcome is of another kind than the patient's: as in the healthy model, below it, " +
        "above it, or no number.",
    ),
  );
  return state.dispose;
}

export default { render };
