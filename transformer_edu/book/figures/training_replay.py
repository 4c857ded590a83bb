"""A training run, replayed: loss, learning rate, what the model writes, and where it looks, moment by moment."""

from collections.abc import Mapping
from typing import Any, ClassVar

import traitlets

from transformer_edu.book import recordings
from transformer_edu.book.figures.base import Figure, spoken
from transformer_edu.book.figures.inputs import check_index, check_one_of
from transformer_edu.book.figures.training_replay_data import best_head, check_replay, turning_point, weights_at


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

    replay = traitlets.Dict().tag(sync=True)
    step = traitlets.Int().tag(sync=True)
    run = traitlets.Int().tag(sync=True)
    layer = traitlets.Int().tag(sync=True)
    head = traitlets.Int().tag(sync=True)

    def __init__(
        self,
        replay: Mapping[str, Any] | None = None,
        *,
        step: int | None = None,
        run: int = 0,
        layer: int | None = None,
        head: int | None = None,
    ) -> None:
        data = check_replay(recordings.load("training-replay") if replay is None else replay)
        run = check_index("run", run, len(data["runs"]))
        if step is None:
            step = data["moments"][turning_point(data, run)]
        check_one_of("step", step, data["moments"])
        layers = len(data["maps"])
        layer = layers - 1 if layer is None else check_index("layer", layer, layers)
        head = best_head(data, run, layer) if head is None else check_index("head", head, data["heads"])
        super().__init__(replay=data, step=step, run=run, layer=layer, head=head)

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
