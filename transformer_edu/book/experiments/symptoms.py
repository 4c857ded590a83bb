"""What bugs look like from outside, and which experiments tell them apart (chapter 17).

One small translator is trained once as it should be and once with each bug of `bugs`, from the same seed and on the
same sentences; then every one goes through the same experiments. Recorded are the numbers. Which symptom a bug shows,
and which suspects an experiment leaves, follows from them in `figures.symptom_finder`.
"""

import math
import random
from collections.abc import Sequence
from functools import partial
from typing import Any

from transformer_edu.book.experiments import experiment
from transformer_edu.book.experiments import separating as tell
from transformer_edu.book.experiments.bugs import BUGS, HEALTHY, Bug, broken, line_of
from transformer_edu.book.experiments.healthy_translator import STEPS
from transformer_edu.book.experiments.separating import LONG, Experiment, Patient
from transformer_edu.data import encode_pairs, held_out_pairs, train_pairs, vocabularies
from transformer_edu.support.seeds import seeded

SEED = 0
SENTENCES = 100  # unseen
EVERY = 10  # steps: the recorded loss is the mean of so many
SHARE = (0.7, 1.0)  # of sentences right, in a healthy model
NOTHING = (0.0, 1e-3)  # of a difference

SEEN = (
    Experiment("training loss", "the last 25 steps, nats", lambda p: sum(p.losses[-25:]) / 25, 0.14, 0.3),
    Experiment("unseen loss", "its own evaluation, nats",
               lambda p: p.code.evaluate(p.trained(), p.pairs)[0], 0.03, 0.065),
    Experiment("translations", "share right, in one batch", tell.translated, *SHARE),
    Experiment("short ones", f"share right, below {LONG} words",
               lambda p: tell.translated(p, [pair for pair in p.pairs if len(pair[1]) < LONG]), *SHARE),
    Experiment("long ones", f"share right, {LONG} words or more",
               lambda p: tell.translated(p, [pair for pair in p.pairs if len(pair[1]) >= LONG]), *SHARE),
    Experiment("half precision", "share right, in float16", tell.half, *SHARE),
)  # fmt: skip
SEPARATING = (
    Experiment("first step", "its loss at the very first step, nats", lambda p: p.losses[0], 4.3, 5.4),
    Experiment("weights", "how far they have moved since the start", tell.moved, 0.3, 0.6),
    Experiment("gradients", "how many tensors get none", tell.silent, *NOTHING),
    Experiment("old gradient", "what is left over, against a fresh one", tell.left_over, 0.03, 15.0),
    Experiment("look at a batch", "share of its rows that are whole pairs", tell.whole_pairs, 1.0, 1.0),
    Experiment("loss alone", "its error on scores whose loss is known", tell.loss_alone, -1e-3, 1e-3),
    Experiment("change the future", "how far an earlier score moves, in evaluation", tell.leak, *NOTHING),
    Experiment("in training mode", "how far an earlier score moves, in training",
               partial(tell.leak, training=True), *NOTHING),
    Experiment("exchange sources", "how far the loss rises with wrong sources, nats", tell.exchanged, 4.0, 12.0),
    Experiment("run it twice", "how far the two answers differ", partial(tell.twice, evaluated=False), *NOTHING),
    Experiment("after model.eval()", "how far they differ then", partial(tell.twice, evaluated=True), *NOTHING),
    Experiment("words backwards", "how far the memory of a word changes", tell.backwards, 1.5, 10.0),
    Experiment("add padding", "how far the memory of a word changes", tell.padded, *NOTHING),
    Experiment("add a neighbour", "how far the memory of a word changes", tell.neighbour, *NOTHING),
    Experiment("another row", "how far two memories of one sentence differ", tell.next_row, *NOTHING),
    Experiment("a plain search", "share of sentences that it writes alike", tell.same_search, 1.0, 1.0),
    Experiment("first words", "share of first words that are right", tell.first_word, 0.8, 1.0),
    Experiment("ends", "share of sentences that a plain search ends", tell.ended, 0.9, 1.0),
    Experiment("no padding", "share of the memory that is no number",
               partial(tell.without_number, padding=0), *NOTHING),
    Experiment("with padding", "the same, with padding behind the sentence",
               partial(tell.without_number, padding=3), *NOTHING),
    Experiment("scores in float16", "share of the scores that is no number", tell.half_numbers, *NOTHING),
)  # fmt: skip
ALL = (*SEEN, *SEPARATING)


def outcome(test: Experiment, patient: Patient) -> float | None:
    """The number to four decimals; None for what is none, and for an experiment that stops with an error."""
    try:
        value = test.measure(patient)
    except (RuntimeError, IndexError):
        return None
    return round(value, 4) if value is not None and math.isfinite(value) else None


def train_patient(bug: Bug, steps: int = STEPS, sentences: int = SENTENCES, seed: int = SEED) -> Patient:
    """The translator with this bug, trained; the random state outside stays as it was."""
    english, french = vocabularies()
    pairs, held_out = (encode_pairs(split, english, french) for split in (train_pairs(), held_out_pairs(sentences)))
    code, state = broken(bug), random.getstate()
    with seeded(seed):
        random.seed(seed)
        model = code.Translator(len(english), len(french))
        before = {name: value.clone() for name, value in model.state_dict().items()}
        losses = code.train(model, pairs, steps)
    random.setstate(state)
    return Patient(code, model, before, losses, held_out)


def values_of(patient: Patient) -> list[float | None]:
    """A number for each experiment, in the order of `ALL`."""
    with seeded(SEED):
        return [outcome(test, patient) for test in ALL]


def record_patient(bug: Bug, steps: int = STEPS, sentences: int = SENTENCES) -> dict[str, Any]:
    """Losses, each the mean of `EVERY` steps, and a number for each experiment in the order of `ALL`."""
    patient = train_patient(bug, steps, sentences)
    chunks = [patient.losses[start : start + EVERY] for start in range(0, steps, EVERY)]
    means = [sum(chunk) / len(chunk) for chunk in chunks]
    losses = [round(mean, 3) if math.isfinite(mean) else None for mean in means]
    return {"losses": losses, "values": values_of(patient)}


@experiment("symptoms")
def record_symptoms(bugs: Sequence[Bug] = BUGS, steps: int = STEPS, sentences: int = SENTENCES) -> dict[str, Any]:
    """The healthy translator and each bug through all experiments. About eight minutes of one thread."""
    return {
        "seed": SEED,
        "words": len(vocabularies()[1]),
        "steps": steps,
        "every": EVERY,
        "sentences": sentences,
        "experiments": facts_of_experiments(),
        "healthy": record_patient(HEALTHY, steps, sentences),
        "bugs": [{**facts_of(bug), **record_patient(bug, steps, sentences)} for bug in bugs],
    }


def facts_of_experiments() -> list[dict[str, Any]]:
    """What is known of the experiments beforehand; "seen" are those that one sees without looking for a bug."""
    return [{"name": row.name, "asks": row.asks, "low": row.low, "high": row.high, "seen": row in SEEN} for row in ALL]


def facts_of(bug: Bug) -> dict[str, Any]:
    """What is known of a bug beforehand."""
    right, wrong = line_of(bug)
    return {"name": bug.name, "right": right, "wrong": wrong, "why": bug.why, "check": list(bug.check or ())}
