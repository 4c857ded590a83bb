"""A broken model and its suspects: play experiments, watch who is ruled out, and name the bug.

From the recorded numbers to suspects: which bugs show a symptom, and which experiments tell them apart.

>>> from transformer_edu import recordings
>>> data = recordings.load("symptoms")["data"]
>>> half = cases(data)[-1]
>>> half.symptom.name, [data["bugs"][bug]["name"] for bug in half.bugs]
('It is fine, but not in half precision', ['minus a billion', 'a softmax written by hand'])
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from types import SimpleNamespace
from typing import Any, ClassVar

import traitlets

from transformer_edu.book import recordings
from transformer_edu.book.figures.base import Figure
from transformer_edu.book.figures.fields import argument, field, index, made
from transformer_edu.book.figures.inputs import check_index, check_recording

KEYS = ("words", "steps", "every", "sentences", "experiments", "healthy", "bugs")
MOST = 5  # experiments that are offered for a symptom
HIGH = 1.0  # nats: a training loss above has learned little
LOW = 0.7  # of the sentences right: below, something is wrong
Numbers = Mapping[str, float | None]  # by the experiment's name; None for what is no number
Pairs = set[tuple[int, int]]


class SymptomFinder(Figure):
    """One symptom has several causes: recorded trainings with a bug each, and the experiments that tell them apart.

    Args:
        symptom: which one is seen, counts from 0.
        patient: which of the symptom's suspects the model has, counts from 0.
        played: the experiments that were played already, as places in the symptom's list.
        recording: as `recordings.load("symptoms")` gives it, or its data (see `record_symptoms`).
    """

    figure_name: ClassVar[str] = "symptom-finder"

    recording = argument()
    shown = made(traitlets.Dict(), lambda so: picture(check_symptoms(so.recording)))
    symptom = index(0, lambda so: len(so.shown["symptoms"]))
    patient = index(0, lambda so: len(_case(so)["suspects"]))
    played = field(traitlets.List(), (0,), lambda name, played, so: _check_played(name, played, so))
    named = made(traitlets.Int(allow_none=True), lambda so: None)  # a suspect
    guesses = made(traitlets.List(traitlets.Bool()), lambda so: [])  # of each patient, whether the first was right

    def alt_text(self) -> str:
        """The symptom, its suspects, and what the experiments that were played say."""
        case, bugs = _case(self), self.shown["bugs"]
        mine = bugs[case["suspects"][self.patient]]
        played = [case["experiments"][place] for place in self.played]
        left = [
            bugs[suspect]["name"]
            for suspect in case["suspects"]
            if all(bugs[suspect]["verdicts"][at] == mine["verdicts"][at] for at in played)
        ]
        said = "; ".join(f"{self.shown['experiments'][at]['name']}: {mine['values'][at]}" for at in played)
        return (
            f"“{case['name']}”: the loss curve of a broken model beside the healthy one, {len(case['suspects'])} "
            f"suspects and {len(case['experiments'])} experiments. Played: {said or 'none'}. "
            f"Suspects left: {', '.join(left)}."
        )


@dataclass(frozen=True)
class Symptom:
    """`sees` says more than the name; `shows` tells it from the numbers that one sees anyway."""

    name: str
    sees: str
    shows: Callable[[Numbers, Mapping[str, str]], bool]


@dataclass(frozen=True)
class Case:
    """A symptom, the bugs that show it, and experiments that tell them apart, as places in the recording's lists."""

    symptom: Symptom
    bugs: list[int]
    experiments: list[int]


def _share(value: float | None) -> float:
    return 0.0 if value is None else value  # what stops with an error gets nothing right


def _too_good(v: Numbers, verdict: Mapping[str, str]) -> bool:
    return "below" in (verdict["training loss"], verdict["unseen loss"])


def _learns(v: Numbers) -> bool:
    loss = v["training loss"]
    return loss is not None and loss <= HIGH


def _in_batches(v: Numbers, verdict: Mapping[str, str]) -> bool:
    return "above" in (verdict["add padding"], verdict["add a neighbour"], verdict["another row"])


def _by_length(v: Numbers, _: Mapping[str, str]) -> bool:
    return _share(v["short ones"]) > 0.2 and _share(v["long ones"]) < 0.15


def _evaluation(v: Numbers, verdict: Mapping[str, str]) -> bool:
    return verdict["training loss"] == "as healthy" and verdict["unseen loss"] in ("above", "no number")


def _writes_badly(v: Numbers, verdict: Mapping[str, str]) -> bool:
    others = (_too_good, _by_length, _evaluation)
    return _learns(v) and _share(v["translations"]) < LOW and not any(other(v, verdict) for other in others)


SYMPTOMS = (
    Symptom("The loss stays high", "At the end of the training it is still above 1 nat per word.",
            lambda v, _: v["training loss"] is not None and not _learns(v)),
    Symptom("The loss is too good", "It is lower than the healthy model's, in training or on unseen sentences.",
            _too_good),
    Symptom("A good loss, bad translations", "The loss falls as one hopes. What it writes is wrong.", _writes_badly),
    Symptom("Fine alone, wrong in a batch", "With padding or neighbours a sentence is read in another way.",
            _in_batches),
    Symptom("Fine in training, wrong in evaluation", "The training loss is healthy, that of unseen sentences is not.",
            _evaluation),
    Symptom("The loss is not a number", "From the first step on the log says nan.",
            lambda v, _: v["training loss"] is None),
    Symptom("Only long sentences are wrong", "Short ones are translated, long ones hardly ever.", _by_length),
    Symptom("It is fine, but not in half precision", "In float32 it translates. Cast to float16, it does not.",
            lambda v, _: _share(v["translations"]) - _share(v["half precision"]) > 0.15),
)  # fmt: skip


def check_symptoms(given: Any) -> dict[str, Any]:
    """A recording with all that the figure needs, or such a recording's data; None: the book's own."""
    given = recordings.load("symptoms") if given is None else given
    data = given.get("data", given) if isinstance(given, Mapping) else given
    return check_recording("recording", data, KEYS, "record_symptoms")


def verdicts(data: Mapping[str, Any], values: Sequence[float | None]) -> list[str]:
    """What each experiment says of its number: "as healthy", "below", "above" or "no number"."""
    return [_verdict(value, test["low"], test["high"]) for test, value in zip(data["experiments"], values, strict=True)]


def _verdict(value: float | None, low: float, high: float) -> str:
    if value is None:
        return "no number"
    if value < low:
        return "below"
    return "above" if value > high else "as healthy"


def separated(experiment: int, bugs: Sequence[int], found: Sequence[Sequence[str]]) -> Pairs:
    """The pairs of bugs of which this experiment says different things."""
    return {(bug, two) for bug, two in combinations(bugs, 2) if found[bug][experiment] != found[two][experiment]}


def cases(data: Mapping[str, Any]) -> list[Case]:
    """Every symptom with its suspects; the experiment that separates most of the pairs that are left comes first."""
    names = [experiment["name"] for experiment in data["experiments"]]
    numbers = [dict(zip(names, bug["values"], strict=True)) for bug in data["bugs"]]
    found = [verdicts(data, bug["values"]) for bug in data["bugs"]]
    said = [dict(zip(names, verdict, strict=True)) for verdict in found]
    separating = [place for place, experiment in enumerate(data["experiments"]) if not experiment["seen"]]
    told = []
    for symptom in SYMPTOMS:
        bugs = [place for place, values in enumerate(numbers) if symptom.shows(values, said[place])]
        told.append(Case(symptom, bugs, _experiments(bugs, found, separating)))
    return told


def _experiments(bugs: Sequence[int], found: Sequence[Sequence[str]], offered: Sequence[int]) -> list[int]:
    left: Pairs = set(combinations(bugs, 2))
    pairs = {at: separated(at, bugs, found) for at in offered}
    chosen: list[int] = []
    while len(chosen) < MOST:
        best = max((at for at in offered if at not in chosen), key=lambda at: (len(pairs[at] & left), len(pairs[at])))
        if not pairs[best]:
            break
        chosen.append(best)
        left -= pairs[best]
    return chosen


def picture(data: Mapping[str, Any]) -> dict[str, Any]:
    """The recording as the figure takes it: with verdicts, and the cases that follow."""
    return {
        **{key: data[key] for key in KEYS},
        "experiments": [{"name": experiment["name"], "asks": experiment["asks"]} for experiment in data["experiments"]],
        "bugs": [{**bug, "verdicts": verdicts(data, bug["values"])} for bug in data["bugs"]],
        "symptoms": [
            {"name": row.symptom.name, "sees": row.symptom.sees, "suspects": row.bugs, "experiments": row.experiments}
            for row in cases(data)
        ],
    }


def _case(so: Any) -> Any:
    return so.shown["symptoms"][so.symptom]


def _check_played(name: str, played: Any, so: SimpleNamespace) -> list[int]:
    if isinstance(played, str) or not isinstance(played, Sequence):
        raise TypeError(f"{name} must be a list of whole numbers, got {played!r}")
    return [check_index(name, place, len(_case(so)["experiments"])) for place in played]
