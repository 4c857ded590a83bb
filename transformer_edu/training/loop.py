"""A training loop that fits on one page, and the history it returns."""

import math
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

import torch
from torch import nn

from transformer_edu.data.batching import Batch
from transformer_edu.support.arguments import check_is
from transformer_edu.support.device import device_of
from transformer_edu.support.modes import evaluation_mode, training_mode
from transformer_edu.support.seeds import seeded
from transformer_edu.support.validation import check_number, check_positive_integer
from transformer_edu.training.loss import label_smoothing
from transformer_edu.transformer import Transformer

LearningRate = float | Callable[[int], float]


@dataclass(frozen=True)
class Step:
    """What happened in one step; `step` counts from 1, `loss` is in nats per target token, before the update."""

    step: int
    loss: float
    tokens: int
    learning_rate: float


@dataclass
class History:
    """All steps of a training run, and its seconds."""

    steps: list[Step] = field(default_factory=list)
    seconds: float = 0.0

    @property
    def losses(self) -> list[float]:
        """The loss of each step."""
        return [step.loss for step in self.steps]

    @property
    def tokens(self) -> int:
        """Target tokens seen in all steps."""
        return sum(step.tokens for step in self.steps)

    def mean_loss(self, last: int | None = None) -> float:
        """The mean loss *per token* over the last steps (None: all).

        A mean of batch means would count a token of a small batch more than one of a large batch.
        """
        steps = self.steps if last is None else self.steps[-last:]
        if not steps:
            raise ValueError("steps must hold at least one step, got none")
        return sum(step.loss * step.tokens for step in steps) / sum(step.tokens for step in steps)


def train(
    model: Transformer,
    batches: Iterable[Batch],
    *,
    learning_rate: LearningRate,
    steps: int | None = None,
    smoothing: float = 0.1,
    clip_norm: float | None = 1.0,
    betas: tuple[float, float] = (0.9, 0.98),
    seed: int = 0,
    progress: bool = True,
    on_step: Callable[[Step, Transformer], None] | None = None,
) -> History:
    """Train `model` in place with Adam as in the paper (section 5.3): one batch, one step.

    Args:
        batches: see `iterate_batches`; moved to the model's device one by one.
        learning_rate: a number, or a function of the step, counted from 1.
        steps: stop after so many; None: when the batches end.
        smoothing: ε of the label smoothing.
        clip_norm: the gradient, taken as one vector, is shortened to this length; None: never.
        betas: how much Adam keeps, at each step, of its averages of the gradient and of its square.
        seed: of the dropout masks. The random state of the caller is left as it was.
        on_step: called with the step and the model after each update; the model is in training mode.

    Raises:
        FloatingPointError: the loss is no longer a finite number.
    """
    if steps is not None:
        check_positive_integer("steps", steps)
    if clip_norm is not None:
        check_number("clip_norm", clip_norm)
    rate = learning_rate if callable(learning_rate) else _constant(learning_rate)
    optimizer = torch.optim.Adam(model.parameters(), betas=betas, eps=1e-9)
    history, start = History(), time.perf_counter()
    with training_mode(model), seeded(seed, device_of(model)), _progress_bar(steps, progress) as show:
        for number, batch in enumerate(batches, start=1):
            check_is("batches", batch, Batch)
            history.steps.append(
                _step(model, batch.to(device_of(model)), optimizer, number, rate(number), smoothing, clip_norm)
            )
            history.seconds = time.perf_counter() - start
            show(history)
            if on_step is not None:
                on_step(history.steps[-1], model)
            if number == steps:
                break
    if not history.steps:
        raise ValueError("batches must hold at least one batch, got none")
    return history


def _step(
    model: Transformer,
    batch: Batch,
    optimizer: torch.optim.Optimizer,
    number: int,
    rate: float,
    smoothing: float,
    clip_norm: float | None,
) -> Step:
    for group in optimizer.param_groups:
        group["lr"] = rate
    logits = model(batch.source, batch.target_in)  # (batch, tgt_len, vocab)
    loss = label_smoothing(logits, batch.target_out, batch.pad_id, smoothing)
    value = loss.item()
    if not math.isfinite(value):
        raise FloatingPointError(
            f"loss must stay finite, got {value} at step {number} with learning rate {rate:.3g}: "
            "look for a learning rate that is too high, a batch with bad numbers, or a mask that blocks every key"
        )
    optimizer.zero_grad()
    loss.backward()
    if clip_norm is not None:
        nn.utils.clip_grad_norm_(model.parameters(), clip_norm)
    optimizer.step()
    return Step(number, value, batch.tokens, rate)


@torch.no_grad()
def evaluate_loss(model: Transformer, batches: Iterable[Batch], smoothing: float = 0.0) -> float:
    """The mean loss per target token, in nats, in evaluation mode.

    Models trained with the same ε compare by this loss with `smoothing` ε; without smoothing the surer one wins,
    whether or not it is better. Models of different ε compare by what they get wrong.
    """
    total, tokens = 0.0, 0
    with evaluation_mode(model):
        for batch in batches:
            batch = batch.to(device_of(model))
            loss = label_smoothing(model(batch.source, batch.target_in), batch.target_out, batch.pad_id, smoothing)
            total, tokens = total + loss.item() * batch.tokens, tokens + batch.tokens
    if not tokens:
        raise ValueError("batches must hold at least one batch, got none")
    return total / tokens


def _constant(learning_rate: float) -> Callable[[int], float]:
    check_number("learning_rate", learning_rate)
    return lambda step: learning_rate


@contextmanager
def _progress_bar(steps: int | None, visible: bool) -> Iterator[Callable[[History], None]]:
    from tqdm import tqdm  # here, so that importing the package stays quick

    with tqdm(total=steps, disable=not visible, unit="step", mininterval=0.5) as bar:

        def show(history: History) -> None:
            recent = History(history.steps[-50:])
            rate = recent.tokens / len(recent.steps) * len(history.steps) / history.seconds
            bar.set_postfix_str(f"loss {recent.mean_loss():.3f}, {rate:,.0f} tokens/s", refresh=False)
            bar.update()

        yield show if visible else lambda history: None
