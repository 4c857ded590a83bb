"""A broken model and its suspects: play experiments, watch who is ruled out, and name the bug."""

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import traitlets

from transformer_edu.book import recordings
from transformer_edu.book.figures.base import Figure
from transformer_edu.book.figures.inputs import check_index
from transformer_edu.book.figures.symptom_finder_data import check_symptoms, picture


class SymptomFinder(Figure):
    """One symptom has several causes: recorded trainings with a bug each, and the experiments that tell them apart.

    Args:
        recording: as `recordings.load("symptoms")` gives it, or its data (see `record_symptoms`).
        symptom: which one is seen, counts from 0.
        patient: which of the symptom's suspects the model has, counts from 0.
        played: the experiments that were played already, as places in the symptom's list.
    """

    figure_name: ClassVar[str] = "symptom-finder"

    shown = traitlets.Dict().tag(sync=True)
    symptom = traitlets.Int().tag(sync=True)
    patient = traitlets.Int().tag(sync=True)
    played: traitlets.List = traitlets.List().tag(sync=True)
    named = traitlets.Int(allow_none=True).tag(sync=True)

    def __init__(
        self,
        recording: Mapping[str, Any] | None = None,
        *,
        symptom: int = 0,
        patient: int = 0,
        played: Sequence[int] = (0,),
    ) -> None:
        shown = picture(check_symptoms(recordings.load("symptoms") if recording is None else recording))
        case = shown["symptoms"][check_index("symptom", symptom, len(shown["symptoms"]))]
        check_index("patient", patient, len(case["suspects"]))
        if isinstance(played, str) or not isinstance(played, Sequence):
            raise TypeError(f"played must be a list of whole numbers, got {played!r}")
        places = [check_index("played", one, len(case["experiments"])) for one in played]
        super().__init__(shown=shown, symptom=symptom, patient=patient, played=places, named=None)

    def alt_text(self) -> str:
        """The symptom, its suspects, and what the experiments that were played say."""
        case, bugs = self.shown["symptoms"][self.symptom], self.shown["bugs"]
        mine = bugs[case["suspects"][self.patient]]
        played = [case["experiments"][one] for one in self.played]
        left = [
            bugs[one]["name"]
            for one in case["suspects"]
            if all(bugs[one]["verdicts"][at] == mine["verdicts"][at] for at in played)
        ]
        said = "; ".join(f"{self.shown['experiments'][at]['name']}: {mine['values'][at]}" for at in played)
        return (
            f"“{case['name']}”: the loss curve of a broken model beside the healthy one, {len(case['suspects'])} "
            f"suspects and {len(case['experiments'])} experiments. Played: {said or 'none'}. "
            f"Suspects left: {', '.join(left)}."
        )
