"""One training step: a batch in shares and parts, the loss per token of the whole, one update."""

import math
from contextlib import AbstractContextManager, ExitStack, nullcontext
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.parallel import DistributedDataParallel

from transformer_edu import fast
from transformer_edu.runs.distributed import Processes
from transformer_edu.runs.settings import RunSettings
from transformer_edu.runs.task import Task
from transformer_edu.training.loss import SummedLoss


class StepMaker:
    """Takes training steps: model and optimizer change, everything else is given.

    The loss of a step is the mean over the tokens of the *whole* batch, so neither the number of processes
    nor the number of parts changes what is computed.
    """

    def __init__(self, model: nn.Module, task: Task, settings: RunSettings, processes: Processes) -> None:
        self.task, self.settings, self.processes = task, settings, processes
        self.optimizer = task.optimizer(model)
        self.parameters = list(model.parameters())
        module: Any = fast.switch_on(SummedLoss(model, task.smoothing))
        if settings.compile:
            module = torch.compile(module, dynamic=True)
        self.loss = DistributedDataParallel(module) if processes.world_size > 1 else module

    def take(self, indices: list[int], step: int, rate: float) -> tuple[float, int]:
        """Update once on the training examples `indices`; return the mean loss per token, and their number."""
        tokens = self.task.tokens(indices)
        self.optimizer.zero_grad()
        total = torch.zeros((), dtype=torch.float64, device=self.processes.device)
        for part in range(self.settings.accumulate):
            total += self._backward(indices, part, step, tokens)
        loss = self.processes.sum(total).item() / tokens
        check_finite(loss, step, rate)
        nn.utils.clip_grad_norm_(self.parameters, self.settings.clip_norm)
        for group in self.optimizer.param_groups:
            group["lr"] = rate
        self.optimizer.step()
        return loss, tokens

    def _backward(self, indices: list[int], part: int, step: int, tokens: int) -> Tensor:
        """Add the gradient of one part of this process's share; return its summed loss."""
        parts, processes = self.settings.accumulate, self.processes
        mine = processes.share(indices, part, parts)
        weight = 1.0 if mine else 0.0  # nothing left for this process: it must take part all the same
        batch = [tensor.to(processes.device) for tensor in self.task.tensors(mine or indices[:1])]
        torch.manual_seed(step_seed(self.settings.seed, step, processes.rank * parts + part))  # of dropout
        with ExitStack() as stack:
            if processes.world_size > 1 and part < parts - 1:
                stack.enter_context(self.loss.no_sync())
            with autocast(self.settings, processes.device):
                loss = weight * self.loss(*batch)
            (loss * (processes.world_size / tokens)).backward()  # DistributedDataParallel takes a mean
        found: Tensor = loss.detach()
        return found


def step_seed(seed: int, step: int, part: int) -> int:
    """The random state of a step follows from these three: a resumed run draws what the first one would have."""
    return ((seed * 1_000_003 + step) * 4_099 + part) % 2**64  # what torch's generators take


def check_finite(loss: float, step: int, rate: float) -> None:
    """Raise when the loss is no longer a number; the last checkpoint still has good weights."""
    if not math.isfinite(loss):
        raise FloatingPointError(
            f"loss must stay finite, got {loss} at step {step} with learning rate {rate:.3g}: go on from the last "
            "checkpoint in another folder with a lower --learning-rate, a longer --warmup-steps or --precision float32"
        )


def autocast(settings: RunSettings | None, device: torch.device) -> AbstractContextManager[Any]:
    """Products in bfloat16, where that is wanted; everything else stays as it is."""
    if settings and chosen_precision(settings, device) == "bfloat16":
        return torch.autocast(device.type, torch.bfloat16)
    return nullcontext()


def chosen_precision(settings: RunSettings, device: torch.device) -> str:
    """What "auto" means on this machine; ValueError if bfloat16 is asked for and the processor only imitates it."""
    if settings.precision in ("float32", "float64"):
        return settings.precision
    has = torch.cuda.is_bf16_supported() if device.type == "cuda" else torch.ops.mkldnn._is_mkldnn_bf16_supported()
    if settings.precision == "bfloat16" and not has:
        raise ValueError("precision must be float32 or auto here: this processor has no bfloat16 products")
    return "bfloat16" if has else "float32"
