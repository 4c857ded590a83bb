"""The symptom finder and its recording: the suspects of each symptom follow from the numbers, and are told apart."""

import pytest

from tests.unit.checked import MODULES, names
from transformer_edu import recordings
from transformer_edu.book.exercises.checks import components
from transformer_edu.book.experiments import bugs, healthy_translator, symptoms
from transformer_edu.book.figures.symptom_finder import SYMPTOMS, cases, picture, separated, verdicts

pytestmark = pytest.mark.usefixtures("at_readers_speed")
DATA = recordings.load("symptoms")["data"]
AGAIN = recordings.load("symptom-seeds")["data"]
CASES = cases(DATA)
FOUND = [verdicts(DATA, bug["values"]) for bug in DATA["bugs"]]
BUGS = {bug.name: bug for bug in bugs.BUGS}
EXAMPLE = {"symptom": 1, "patient": 1, "played": [0, 1]}
BAD = [
    (ValueError, "symptom must be from 0 to 7, got 8", {"symptom": 8}),
    (TypeError, "played must be a list of whole numbers, got '?'", {"played": "?"}),
]
SAYS = [
    ({"recording": recordings.load("symptoms"), "played": []}, "“The loss stays high”", "Played: none"),
]
SCENES = {
    "an experiment rules out who would have given another kind of number": [
        {"symptom": 1, "played": []},
        "no patient yet right at first guess … Nothing played yet. 3 of 3 suspects are left.",
        "! (ruled out)",
        "> button loss alone",
        "the target is not shifted (ruled out) … padding counts in the loss (ruled out)",
        "loss alone: 0.00, healthy 0.00. 1 of 3 suspects is left.",
        "~ Ruled out: the target is not shifted, padding counts in the loss.",
        "> button Another patient",
        "Nothing played yet.",
    ],
    "naming the bug shows the line and its check, naming another does not": [
        {"symptom": 1, "played": []},
        "> button It is: the target is not shifted",
        "0 of 1 patient … No, not that one.",
        "~ You said: the target is not shifted. Right at first guess: 0 of 1 patient.",
        "! mask = padding_mask(target)",
        "> button It is: no causal mask",
        "0 of 1 patient … − mask = padding_mask(target) … + mask = causal_mask … Its check: target mask, “only the",
        "Yes, that is it.",
        "> combobox You see: = The loss is not a number",
        "From the first step on the log says nan. … end: nan, healthy (dashed) 0.15 … 3 of 3 suspects",
        "! Its check",
        "> button It is: padding may not look",
        " of 2 patients",
    ],
    "what the figure names itself is not counted": ["> button Show me", "no patient yet … Yes, that is it."],
}


def numbers():
    """What the page is given, and what stands there when a patient's first experiments have been played."""
    rounds = []
    for symptom, case in enumerate(CASES):
        for patient, mine in enumerate(case.bugs):
            for count in range(len(case.experiments) + 1):
                played = case.experiments[:count]
                out = [bug for bug in case.bugs if any(FOUND[bug][trial] != FOUND[mine][trial] for trial in played)]
                now = {"symptom": symptom, "patient": patient, "played": list(range(count))}
                now["values"] = [DATA["bugs"][mine]["values"][trial] for trial in played]
                rounds.append(now | {"out": [DATA["bugs"][bug]["name"] for bug in out]})
    return {"shown": picture(DATA), "rounds": rounds}


def test_there_are_25_bugs_each_one_line_of_the_healthy_file():
    assert len(BUGS) == len(bugs.BUGS) == len(DATA["bugs"]) == 25
    for bug in bugs.BUGS:
        assert bugs.SOURCE.count(bug.right) == 1, bug.name
        assert bug.right != bug.wrong
        changed = sum(a != b for a, b in zip(bugs.SOURCE.splitlines(), bugs.text_of(bug).splitlines(), strict=False))
        assert changed == 1 or not bug.wrong, bug.name


def test_what_is_known_beforehand_is_recorded_as_it_stands_in_the_code():
    assert DATA["experiments"] == symptoms.facts_of_experiments()
    for bug, stored in zip(bugs.BUGS, DATA["bugs"], strict=True):
        assert {key: stored[key] for key in symptoms.facts_of(bug)} == symptoms.facts_of(bug)


def test_the_named_mistakes_are_in_the_catalogue():
    for bug in bugs.BUGS:
        if bug.check:
            piece, mistake = bug.check
            assert mistake in names(MODULES.get(piece) or getattr(components, piece.replace(" ", "_"))), bug.name


def test_the_healthy_model_is_healthy_in_every_experiment_from_every_seed():
    runs = [DATA["healthy"], *AGAIN["healthy"]]
    assert len(runs) == 3
    for run in runs:
        assert set(verdicts(DATA, run["values"])) == {"as healthy"}


def test_what_holds_for_any_weights_says_the_same_of_a_bug_from_another_seed():
    first = {bug["name"]: verdicts(DATA, bug["values"]) for bug in DATA["bugs"]}
    exact = [place for place, trial in enumerate(DATA["experiments"]) if trial["high"] - trial["low"] < 0.01]
    assert len(exact) == 14
    for run in AGAIN["bugs"]:
        said = verdicts(DATA, run["values"])
        assert [said[place] for place in exact] == [first[run["name"]][place] for place in exact], run["name"]


def test_every_bug_has_a_symptom_and_every_symptom_several_suspects():
    assert len(CASES) == len(SYMPTOMS) == 8
    assert {bug for case in CASES for bug in case.bugs} == set(range(25))
    assert all(2 <= len(case.bugs) <= 6 for case in CASES)


@pytest.mark.parametrize("case", CASES, ids=[symptom.name for symptom in SYMPTOMS])
def test_the_experiments_of_a_symptom_tell_all_its_suspects_apart(case):
    pairs = len(case.bugs) * (len(case.bugs) - 1) // 2
    assert len(set().union(*(separated(experiment, case.bugs, FOUND) for experiment in case.experiments))) == pairs


def test_no_two_bugs_agree_in_every_experiment():
    assert len({tuple(found) for found in FOUND}) == 25


def test_the_picture_has_a_verdict_for_each_number():
    shown = picture(DATA)
    assert all(len(bug["verdicts"]) == len(bug["values"]) == len(shown["experiments"]) for bug in shown["bugs"])


@pytest.mark.parametrize("name", ["no causal mask"])
@pytest.mark.long
def test_the_first_steps_of_a_bug_made_again_are_those_of_the_recording(name):
    stored = next(bug for bug in DATA["bugs"] if bug["name"] == name)
    patient = symptoms.train_patient(BUGS[name], steps=10, sentences=4)
    assert sum(patient.losses) / 10 == pytest.approx(stored["losses"][0], abs=2e-3)


@pytest.mark.weekly
@pytest.mark.slow
def test_a_whole_bug_made_again_has_the_verdicts_of_the_recording():
    stored = next(bug for bug in DATA["bugs"] if bug["name"] == "no causal mask")
    again = symptoms.record_patient(BUGS["no causal mask"])
    seen = [experiment["name"] for experiment in DATA["experiments"]].index("translations")
    assert again["values"][seen] == pytest.approx(stored["values"][seen], abs=0.1)
    sure = [place for place, experiment in enumerate(DATA["experiments"]) if not experiment["seen"]]
    fresh = verdicts(DATA, again["values"])
    stored_verdicts = verdicts(DATA, stored["values"])
    assert sum(fresh[place] == stored_verdicts[place] for place in sure) >= len(sure) - 2


@pytest.mark.long
def test_the_healthy_text_is_the_module_and_two_steps_go_through_every_experiment(monkeypatch):
    from_text = symptoms.record_patient(bugs.HEALTHY, steps=2, sentences=20)
    monkeypatch.setattr(symptoms, "broken", lambda bug: healthy_translator)
    from_module = symptoms.record_patient(bugs.HEALTHY, steps=2, sentences=20)
    assert from_text == from_module
    assert len(from_module["values"]) == len(DATA["experiments"])
