"""Parts taken out of the translator, and the beginning of its training repeated (chapter 15)."""

from collections.abc import Callable
from dataclasses import dataclass, field
from tempfile import TemporaryDirectory
from typing import Any

import torch

from experiments.processes import in_processes
from transformer_edu.book.experiments import experiment
from transformer_edu.book.experiments.removed_parts import without_feed_forward, without_norm, without_positions
from transformer_edu.runs.distributed import Processes
from transformer_edu.runs.trainer import Trainer
from transformer_edu.transformer import Transformer
from transformer_edu.translate.settings import TrainingSettings
from transformer_edu.translate.task import prepare_task

STEPS = 2000


@dataclass(frozen=True)
class Multi30kAblation:
    """What is taken out of the default recipe of `transformer-edu train`: by a change of the model or of settings."""

    part: str
    change: Callable[[Transformer], None] | None = None
    settings: dict[str, Any] = field(default_factory=dict)


ABLATIONS = (
    Multi30kAblation("nothing"),
    Multi30kAblation("positions", without_positions),
    Multi30kAblation("feed-forward", without_feed_forward),
    Multi30kAblation("layer norm", without_norm),
    Multi30kAblation("several heads", settings={"num_heads": 1}),
    Multi30kAblation("dropout 0.1 for 0.3", settings={"dropout": 0.1}),
)


def run_multi30k_ablation(ablation: Multi30kAblation, steps: int = STEPS, **settings: Any) -> dict[str, Any]:
    """Train with one thread for so many steps, and evaluate once.

    Args:
        ablation: what is taken out.
        steps: updates.
        **settings: other fields of `TrainingSettings`, for a run on another text.

    Returns:
        "part", "steps", "validation_loss", "validation_bleu" (greedy, lowercased), or "failed" with the reason.
    """
    with TemporaryDirectory() as folder:
        chosen = {"steps": steps, "every": steps, "threads": 1, **settings, **ablation.settings}
        wanted, alone = TrainingSettings(out=folder, **chosen), Processes(0, 1, torch.device("cpu"))
        torch.set_num_threads(1)
        trainer = Trainer(wanted, prepare_task(wanted, alone), alone, lambda *_: None)
        if ablation.change is not None:
            ablation.change(trainer.model)
        try:
            trainer.run()
        except FloatingPointError as error:
            return {"part": ablation.part, "failed": str(error)}
        return {"part": ablation.part, **trainer.progress.evaluations[-1]}


@experiment("multi30k-ablation")
def record_multi30k_ablation(processes: int = 2) -> dict[str, Any]:
    """All of them, seed 0, two at a time: about half an hour on two cores. Reads Multi30k's files."""
    runs = in_processes(run_multi30k_ablation, [(ablation,) for ablation in ABLATIONS], processes)
    return {"steps": STEPS, "seed": 0, "runs": runs}
