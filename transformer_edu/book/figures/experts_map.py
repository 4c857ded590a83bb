"""Which experts the tokens of a sentence go to, and how evenly all of them are used, while they are trained."""

from collections.abc import Mapping
from typing import Any, ClassVar

import traitlets

from transformer_edu.book import recordings
from transformer_edu.book.figures.base import Figure
from transformer_edu.book.figures.fields import choice, field, index, one_of, whole
from transformer_edu.book.figures.inputs import check_recording

BALANCING = {"none": "without balancing", "loss": "with a balancing loss", "bias": "with a balancing bias"}
EXPERTS = 8


def check_experts(given: Any) -> dict[str, Any]:
    """A recording with all that the figure needs, or such a recording's data."""
    data = given.get("data", given) if isinstance(given, Mapping) else given
    return check_recording("recording", data, ("steps", "pieces", "runs"), "record_experts")


def moments_of(recording: Mapping[str, Any], balancing: str) -> list[dict[str, Any]]:
    """What was looked at while the first run with this balancing was trained."""
    moments: list[dict[str, Any]] = next(
        run["moments"] for run in recording["runs"] if run["balancing"] == balancing and "moments" in run
    )
    return moments


def steps_of(so: Any) -> list[int]:
    """The training steps at which a state's run was looked at."""
    return [moment["step"] for moment in moments_of(so.recording, so.balancing)]


class ExpertsMap(Figure):
    """A sentence's tokens with lines to their two of eight experts, and below these each one's share of all choices.

    Without arguments: four layers trained on children's stories, recorded without balancing and with two kinds of it.

    Args:
        recording: as `recordings.load("experts")` gives it, or its data (see `record_experts`).
        balancing: "none", "loss" or "bias".
        layer: counts from 0.
        step: a training step at which the runs were looked at. None is the last.
        token: whose lines are strong, counts from 0.
        expert: from 1, the expert whose lines are strong instead; 0: none.
    """

    figure_name: ClassVar[str] = "experts-map"

    recording = field(
        traitlets.Dict(), lambda so: recordings.load("experts"), lambda _, recording, so: check_experts(recording)
    )
    balancing = choice("none", BALANCING)
    layer = index(1, lambda so: len(moments_of(so.recording, so.balancing)[0]["shares"]))
    step = one_of(lambda so: steps_of(so)[-1], steps_of)
    token = index(7, lambda so: len(so.recording["pieces"]))
    expert = whole(0, 0, EXPERTS)

    def alt_text(self) -> str:
        """Where the chosen token or expert's lines lead, and all shares."""
        pieces = self.recording["pieces"]
        moment = moments_of(self.recording, self.balancing)[steps_of(self).index(self.step)]
        shares, chosen = moment["shares"][self.layer], moment["chosen"][self.layer]
        to = [f"“{piece}”" for piece, pair in zip(pieces, chosen, strict=True) if self.expert - 1 in pair]
        first, second = sorted(expert + 1 for expert in chosen[self.token])
        marked = (
            f"expert {self.expert} gets {', '.join(to) or 'none of them'}"
            if self.expert
            else f"“{pieces[self.token]}” goes to experts {first} and {second}"
        )
        return (
            f"Layer {self.layer + 1} after {self.step} training steps {BALANCING[self.balancing]}: lines from each of "
            f"{len(pieces)} tokens to its two of {EXPERTS} experts; {marked}. Bars: of all choices the experts get "
            f"{', '.join(f'{100 * share:.1f}' for share in shares)} %, where {100 / EXPERTS:.1f} % each would be even."
        )
