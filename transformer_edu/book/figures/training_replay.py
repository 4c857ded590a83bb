"""A training run, replayed: loss, learning rate, what the model writes, and where it looks, moment by moment."""

import base64
from collections.abc import Mapping
from typing import Any, ClassVar

import torch
import traitlets

from transformer_edu.book import recordings
from transformer_edu.book.figures.base import Figure, spoken
from transformer_edu.book.figures.fields import field, index, one_of
from transformer_edu.book.figures.inputs import check_recording

KEYS = ("seed", "source_tokens", "target_tokens", "alignment", "vocabulary", "smoothing", "held_out_sentences", "every",
        "moments", "maps", "heads", "runs")  # fmt: skip
SCALE = 255  # the byte that stands for a weight of 1

Table = list[list[float]]


def check_replay(given: Any) -> dict[str, Any]:
    """A recording with all that the figure needs, or such a recording's data."""
    data = given.get("data", given) if isinstance(given, Mapping) else given
    return check_recording("replay", data, KEYS, "record_replay")


def weights_at(data: Mapping[str, Any], run: int, moment: int, layer: int, head: int) -> Table:
    """Cross-attention weights (target tokens, source tokens) of one head, to 1/255."""
    stored = base64.b64decode(data["runs"][run]["moments"][moment]["weights"])
    shape = (len(data["maps"]), data["heads"], len(data["target_tokens"]), len(data["source_tokens"]))
    weights = torch.frombuffer(bytearray(stored), dtype=torch.uint8).view(shape)[layer, head]
    table: Table = weights.double().div(SCALE).tolist()
    return table


def best_head(data: Mapping[str, Any], run: int, layer: int) -> int:
    """The head that at the end of a run looks most where the alignment of the two sentences points."""
    last = len(data["moments"]) - 1
    found = [weights_at(data, run, last, layer, head) for head in range(data["heads"])]
    return max(range(data["heads"]), key=lambda head: sum(found[head][j][i] for i, j in data["alignment"]))


def turning_point(data: Mapping[str, Any], run: int) -> int:
    """The last moment before the run first writes the right sentence; its last moment if it never does."""
    right = [moment["written"] == data["target_tokens"] for moment in data["runs"][run]["moments"]]
    return max(right.index(True) - 1, 0) if any(right) else len(right) - 1


class TrainingReplay(Figure):
    """Training is many small corrections: step through recorded runs of one model and see what each stretch changed.

    Without arguments: the grammar model's recipe, and the same model at two other learning rates.

    Args:
        replay: a recording as `recordings.load("training-replay")` gives it, or its data (see `record_replay`).
        step: the moment shown first, a training step at which the runs were looked at. None is the last one before
            the chosen run writes the right sentence.
        run: which run is shown first, counts from 0.
        layer: of the cross-attention, counts from 0; None is the last.
        head: counts from 0; None is the one that ends up looking most where the two sentences correspond.
    """

    figure_name: ClassVar[str] = "training-replay"

    replay = field(
        traitlets.Dict(),
        lambda so: recordings.load("training-replay"),
        lambda _, replay, so: check_replay(replay),
    )
    run = index(0, lambda so: len(so.replay["runs"]))
    step = one_of(lambda so: so.replay["moments"][turning_point(so.replay, so.run)], lambda so: so.replay["moments"])
    layer = index(lambda so: len(so.replay["maps"]) - 1, lambda so: len(so.replay["maps"]))
    head = index(lambda so: best_head(so.replay, so.run, so.layer), lambda so: so.replay["heads"])

    def alt_text(self) -> str:
        """Where the chosen run stands at the chosen step."""
        data = self.replay
        run, at = data["runs"][self.run], data["moments"].index(self.step)
        look = run["moments"][at]
        likely = max(range(len(look["p"])), key=lambda i: look["p"][i])
        row = weights_at(data, self.run, at, self.layer, self.head)[likely]
        most = max(range(len(row)), key=lambda i: row[i])
        return (
            f"A training run of {data['moments'][-1]} steps (“{run['name']}”) after {self.step} of them: the loss "
            f"curve, held-out loss {look['loss']:.2f}, {100 * look['exact']:.0f} % of unseen "
            f"sentences right. For “{' '.join(data['source_tokens'])}” it writes “{_written(look)}”; at the start it "
            f"wrote “{_written(run['moments'][0])}”, at the end it writes “{_written(run['moments'][-1])}”. Three "
            f"pictures of cross-attention, layer {self.layer + 1}, head {self.head + 1}, at these moments; to write "
            f"{spoken(data['target_tokens'][likely])} it now looks most at {data['source_tokens'][most]}, "
            f"{row[most]:.2f}."
        )


def _written(look: Mapping[str, Any]) -> str:
    return " ".join(spoken(word) for word in look["written"] if word != "<eos>")
