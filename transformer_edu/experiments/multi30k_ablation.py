"""Parts taken out of the translator, and the beginning of its training repeated (chapter 15).

python tools/make_recordings.py --only real-ablations      # reads Multi30k's files
"""

from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from tempfile import TemporaryDirectory
from typing import Any

import torch

from transformer_edu.experiments.ablation import without_feed_forward, without_norm, without_positions
from transformer_edu.transformer import Transformer
from transformer_edu.translator.distributed import Processes
from transformer_edu.translator.settings import TrainingSettings
from transformer_edu.translator.task import prepare_task
from transformer_edu.translator.trainer import Trainer

STEPS = 2000


@dataclass(frozen=True)
class RealAblation:
    """What is taken out of the default recipe of `transformer-edu train`: by a change of the model or of settings."""

    part: str
    change: Callable[[Transformer], None] | None = None
    settings: dict[str, Any] = field(default_factory=dict)


ABLATIONS = (
    RealAblation("nothing"),
    RealAblation("positions", without_positions),
    RealAblation("feed-forward", without_feed_forward),
    RealAblation("layer norm", without_norm),
    RealAblation("several heads", settings={"num_heads": 1}),
    RealAblation("dropout 0.1 for 0.3", settings={"dropout": 0.1}),
)


def run_real_ablation(ablation: RealAblation, steps: int = STEPS, **settings: Any) -> dict[str, Any]:
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


def record_real_ablations(processes: int = 2) -> dict[str, Any]:
    """All of them, seed 0, two at a time: about half an hour on two cores."""
    with ProcessPoolExecutor(processes, mp_context=torch.multiprocessing.get_context("spawn")) as pool:
        return {"steps": STEPS, "seed": 0, "runs": list(pool.map(run_real_ablation, ABLATIONS))}
