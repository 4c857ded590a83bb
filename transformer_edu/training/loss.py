"""The loss: cross-entropy with label smoothing, over all tokens that are not padding (paper, section 5.4)."""

from typing import Any

import torch
from torch import nn

from transformer_edu.support.shapes import Float, Int, Tensor
from transformer_edu.support.validation import check_probability, check_tensor


def label_smoothing(
    logits: Float[Tensor, "... vocab"], target: Int[Tensor, "..."], pad_id: int, smoothing: float = 0.1
) -> Float[Tensor, ""]:
    """Mean over the real tokens of the cross-entropy with a softened target (Szegedy et al., 2016).

    The wanted word gets 1 - smoothing of the probability, and the rest is spread evenly over the whole vocabulary,
    the wanted word and the padding token included, as in `torch.nn.functional.cross_entropy`:

        loss = (1 - ε) · (-log p[target]) + ε · mean over all words w of (-log p[w])

    Args:
        logits: scores before softmax, (batch, seq, vocab) or (tokens, vocab).
        target: ids of the right words, (batch, seq) or (tokens).
        pad_id: positions whose target is `pad_id` do not count.
        smoothing: ε, in [0, 1); 0 gives plain cross-entropy, in nats per token.
    """
    _check(logits, target, pad_id, smoothing)
    real = target != pad_id  # (batch, seq)
    log_probs = torch.log_softmax(logits, dim=-1)  # (batch, seq, vocab)
    wanted = target.masked_fill(~real, 0)  # any valid id will do where nothing counts
    of_target = -log_probs.gather(-1, wanted.unsqueeze(-1)).squeeze(-1)  # (batch, seq)
    of_all = -log_probs.mean(dim=-1)  # (batch, seq)
    loss = (1 - smoothing) * of_target + smoothing * of_all
    return loss[real].mean()


class SummedLoss(nn.Module):
    """A model and its loss as one module, so that they can be compiled and distributed together.

    Args:
        model: the model that is trained: a Transformer, or another with `vectors`, `project` and `config.pad_id`.
        smoothing: ε of `label_smoothing`.
    """

    def __init__(self, model: nn.Module, smoothing: float) -> None:
        super().__init__()
        check_probability("smoothing", smoothing)
        self.model: Any = model
        self.smoothing = smoothing

    def forward(self, *inputs: Int[Tensor, "batch _"]) -> Float[Tensor, ""]:
        """All that the model reads, then target ids (batch, seq) -> the loss, *summed* over all tokens but padding.

        In nats. A Transformer reads source (batch, source_seq) and target from its begin token on (batch, seq).
        """
        *read, target = inputs
        x = self.model.vectors(*read)  # (batch, seq, d_model)
        real = target != self.model.config.pad_id
        return self.loss_of(x[real], target[real])

    def loss_of(self, x: Float[Tensor, "tokens d_model"], target: Int[Tensor, " tokens"]) -> Float[Tensor, ""]:
        """Vectors (tokens, d_model) and the ids of their right words (tokens) -> the sum of their losses."""
        logits: Tensor = self.model.project(x[None])[0]  # (tokens, vocab)
        return label_smoothing(logits, target, self.model.config.pad_id, self.smoothing) * target.numel()


def _check(logits: Tensor, target: Tensor, pad_id: int, smoothing: float) -> None:
    check_tensor("logits", logits)
    check_tensor("target", target)
    check_probability("smoothing", smoothing)
    if logits.dim() < 1 or logits.shape[:-1] != target.shape:
        raise ValueError(
            f"target must have the shape of logits without the last dimension, {tuple(logits.shape[:-1])}, "
            f"got {tuple(target.shape)}"
        )
    if target.is_floating_point() or target.dtype == torch.bool:
        raise TypeError(f"target must hold ids (int64), got dtype {target.dtype}")
    if target.device.type != "cpu":
        return  # the checks below would make a GPU wait
    real = target[target != pad_id]
    if real.numel() == 0:
        raise ValueError(
            f"target must hold at least one id other than pad_id = {pad_id}, got shape {tuple(target.shape)}"
        )
    if int(real.min()) < 0 or int(real.max()) >= logits.shape[-1]:
        wrong = int(real.min()) if int(real.min()) < 0 else int(real.max())
        raise ValueError(f"target must hold ids in 0 .. {logits.shape[-1] - 1}, the columns of logits, got {wrong}")
