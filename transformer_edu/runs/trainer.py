"""A whole training run: steps, evaluations, checkpoints, and the end (`transformer-edu train`, `train-lm`)."""

import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from typing import Any

import torch
from torch import nn

from transformer_edu.runs.distributed import Processes
from transformer_edu.runs.folder import CHECKPOINT, KEPT_CHECKPOINTS, WEIGHTS, RunFolder
from transformer_edu.runs.settings import RunSettings
from transformer_edu.runs.start import identity
from transformer_edu.runs.steps import StepMaker
from transformer_edu.runs.task import Task
from transformer_edu.saving.checkpoint import distinct_weights, put_weights
from transformer_edu.support.seeds import seeded

LOG_EVERY = 50
BEFORE = {"best_bleu": "best"}  # a name in older checkpoints


@dataclass
class Progress:
    """Where a run is: all that a checkpoint holds besides the tensors."""

    step: int = 0  # updates taken
    epoch: int = 0
    place: int = 0  # batches of this epoch already used
    tokens: int = 0  # that the loss counted
    seconds: float = 0.0  # of training and evaluation, all starts together
    best: float | None = None  # the best score
    best_step: int = 0
    stale: int = 0  # evaluations since the best one
    evaluations: list[dict[str, Any]] = field(default_factory=list)


def new_model(task: Task) -> nn.Module:
    """An untrained model; its weights depend on the seed alone."""
    with seeded(task.settings.seed):
        model = task.new_model()
    return model.double() if task.settings.precision == "float64" else model


class Trainer:
    """Runs from where it is to its end; `resume` brings it to where an earlier one was stopped."""

    def __init__(
        self,
        settings: RunSettings,
        task: Task,
        processes: Processes,
        show: Any,
        origin: dict[str, Any] | None = None,
    ) -> None:
        """`show` is called with the progress, the loss per token and the learning rate after each step; `origin` is
        the command, commit, machine and date of this start (see `provenance`)."""
        self.settings, self.task, self.processes, self.show = settings, task, processes, show
        self.folder = RunFolder(settings.out, identity(task.description))
        self.model: Any = new_model(task).to(processes.device)
        self.steps = StepMaker(self.model, task, settings, processes)
        self.progress = Progress()
        self.origins = [origin or {}]

    def run(self) -> Progress:
        """Train until the steps, the minutes or the patience are used up."""
        sums, start = [0.0, 0], time.perf_counter() - self.progress.seconds
        self.model.train()
        for indices in self._batches():
            rate = self.task.learning_rate(self.progress.step + 1)
            loss, tokens = self.steps.take(indices, self.progress.step + 1, rate)
            self.progress.step += 1
            self.progress.tokens += tokens
            self.progress.seconds = time.perf_counter() - start
            sums = [sums[0] + loss * tokens, sums[1] + tokens]
            self.show(self.progress, loss, rate)
            evaluate = self.progress.step % self.settings.every == 0 or self.progress.step == self.settings.steps
            if evaluate or self.progress.step % LOG_EVERY == 0:
                self._log(sums[0] / sums[1], rate)
                sums = [0.0, 0]
            if evaluate:
                self._evaluate()
                self.progress.seconds = time.perf_counter() - start
                self._save()
                if self._ended():
                    break
        return self.progress

    def _batches(self) -> Iterator[list[int]]:
        """The batches from the present place on, epoch after epoch, until the steps are used up."""
        while self.progress.step < self.settings.steps and not self._ended():
            for indices in self.task.batches(self.progress.epoch)[self.progress.place :]:
                if self.progress.step == self.settings.steps:
                    return
                self.progress.place += 1
                yield indices
            self.progress.epoch, self.progress.place = self.progress.epoch + 1, 0

    def _ended(self) -> bool:
        minutes, patience = self.settings.minutes, self.settings.patience
        late = self.processes.sum(torch.tensor(float(minutes is not None and self.progress.seconds >= minutes * 60)))
        return bool(late > 0) or (patience is not None and self.progress.stale >= patience)

    def _log(self, loss: float, rate: float) -> None:
        if self.processes.is_main:
            p = self.progress
            line = {"step": p.step, "epoch": p.epoch, "loss": round(loss, 10), "learning_rate": float(f"{rate:.6g}")}
            self.folder.append({**line, "tokens": p.tokens, "seconds": round(p.seconds, 1)})

    def _evaluate(self) -> None:
        p, found = self.progress, self.task.evaluate(self.model, self.processes)
        p.evaluations.append({"step": p.step, **found})
        p.stale += 1
        if self.task.is_better(found[self.task.score], p.best):
            p.best, p.best_step, p.stale = found[self.task.score], p.step, 0
        if self.processes.is_main:
            self.folder.append(p.evaluations[-1])

    def _save(self) -> None:
        if not self.processes.is_main:
            return
        weights, step = distinct_weights(self.model), self.progress.step
        self.folder.save(WEIGHTS, step, weights, {}, keep=self.settings.average)
        tensors = {f"model/{name}": tensor for name, tensor in weights.items()} | self._optimizer_tensors()
        header = {
            "settings": self.settings.as_dict(),
            "progress": asdict(self.progress),
            "origins": self.origins,
        }
        self.folder.save(CHECKPOINT, step, tensors, header, keep=KEPT_CHECKPOINTS)

    def _optimizer_tensors(self) -> dict[str, torch.Tensor]:
        state = self.steps.optimizer.state
        named = self.model.named_parameters()
        return {f"optimizer/{name}/{key}": state[p][key] for name, p in named for key in state[p]}

    def resume(self) -> bool:
        """Go to the newest whole checkpoint; False if the run was killed before its first.

        Raises:
            ValueError: a file in the folder is another run's, no checkpoint is whole, or it is past the last step.
        """
        found = self.folder.newest_checkpoint()
        self.processes.wait()  # until everybody has read what the first process removes
        if found is None:
            if self.processes.is_main:
                self.folder.forget_after(0)  # what a run left that was killed before its first checkpoint
            return False
        header, tensors = found
        taken = header["progress"]["step"]
        if taken > self.settings.steps:
            raise ValueError(
                f"steps must be at least {taken}, which the run in {self.settings.out} has taken already, "
                f"got {self.settings.steps}: --steps {taken} finishes it as it is"
            )
        put_weights(self.model, {name[6:]: t for name, t in tensors.items() if name.startswith("model/")})
        self._put_optimizer(tensors)
        self.progress = Progress(**{BEFORE.get(name, name): value for name, value in header["progress"].items()})
        self.origins = header["origins"] + self.origins
        if self.processes.is_main:
            self.folder.forget_after(self.progress.step)
        return True

    def _put_optimizer(self, tensors: dict[str, torch.Tensor]) -> None:
        keys = ("step", "exp_avg", "exp_avg_sq")
        for name, parameter in self.model.named_parameters():
            state = {key: tensors[f"optimizer/{name}/{key}"].to(parameter.device) for key in keys}
            self.steps.optimizer.state[parameter] = state
