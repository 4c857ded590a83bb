"""One case for each interactive figure. A new figure: add a case here, and a test module that operates it."""

from collections.abc import Callable
from dataclasses import dataclass

from transformer_edu.widgets import AttentionMap, AttentionStepper, Figure, ParameterMap, PositionExplorer, SoftmaxLab

HOSTILE = "<img src=x onerror=alert(1)>"


@dataclass(frozen=True)
class Case:
    """`make` builds the figure as a chapter does; `hostile` builds one whose text tries to be markup, if it has any."""

    make: Callable[[], Figure]
    hostile: Callable[[], Figure] | None = None


CASES = {
    "attention-map": Case(
        make=AttentionMap,
        hostile=lambda: AttentionMap(
            {"decoder.0.cross": [[[0.5, 0.5], [1.0, 0.0]]]},
            [HOSTILE, "</script><b>cat"],
            [HOSTILE, "&lt;chat&gt;"],
            candidates=[[[HOSTILE, 0.9]], [["<b>x</b>", 0.9]]],
            source_name=HOSTILE,
        ),
    ),
    "attention-map-over-training": Case(make=AttentionMap.over_training),
    "attention-stepper": Case(
        make=AttentionStepper,
        hostile=lambda: AttentionStepper(tokens=[HOSTILE, "</script><b>black", "&lt;cat&gt;"]),
    ),
    "parameter-map": Case(make=ParameterMap),
    "softmax-lab": Case(make=SoftmaxLab),
    "position-explorer": Case(make=PositionExplorer),
}
