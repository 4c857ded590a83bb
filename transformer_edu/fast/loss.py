"""Projection and loss in one, a few rows at a time, so that the logits of a large batch never exist all at once.

4,096 target tokens and 6,000 words are 98 MB of logits in float32; their log-softmax and its gradient as much again.
"""

from typing import Any

import torch
import torch.nn.functional as F

from transformer_edu.support.plain import is_observed, is_plain
from transformer_edu.support.shapes import Float, Int, Tensor
from transformer_edu.support.validation import check_positive_integer, check_probability
from transformer_edu.training import loss

ROWS = 512  # logits of 512 x 6,000 stay in a processor's cache


def projected_loss(
    x: Float[Tensor, "tokens d_model"],
    weight: Float[Tensor, "vocab d_model"],
    target: Int[Tensor, " tokens"],
    smoothing: float = 0.1,
    rows: int = ROWS,
) -> Float[Tensor, ""]:
    """The *sum* of `label_smoothing(x @ weight.T, target, smoothing)` over the tokens, and its gradient.

    Args:
        x: the decoder's output, padding left out.
        weight: of the projection.
        target: ids of the right words; every one counts.
        smoothing: ε, in [0, 1).
        rows: tokens whose logits exist at the same time.

    With p = softmax(logits) and q the softened target, the gradient of one token's loss by its logits is p − q.
    Under autocast the products run in its lower precision, the softmax in float32.
    """
    check_probability("smoothing", smoothing)
    check_positive_integer("rows", rows)
    if x.dim() != 2 or target.shape != x.shape[:1]:
        raise ValueError(
            f"x must be (tokens, d_model) and target (tokens), got {tuple(x.shape)} and {tuple(target.shape)}"
        )
    device = x.device.type
    lower = torch.get_autocast_dtype(device) if torch.is_autocast_enabled(device) else x.dtype
    if not is_plain(x, weight, target):
        return _differentiable_loss(x, weight, target, smoothing, lower)
    loss: Tensor = _ProjectedLoss.apply(x, weight, target, smoothing, rows, lower)
    return loss


class SummedLoss(loss.SummedLoss):
    """`training.loss.SummedLoss` without ever writing all logits down."""

    def loss_of(self, x: Tensor, target: Tensor) -> Tensor:
        """Vectors (tokens, d_model) and the ids of their right words (tokens) -> the sum of their losses."""
        projection = self.model.projection
        if projection.linear.bias is not None or is_observed(projection):
            return super().loss_of(x, target)
        return projected_loss(x, projection.linear.weight, target, self.smoothing)


class _ProjectedLoss(torch.autograd.Function):
    """Computes the gradients together with the loss: both need the same softmax."""

    @staticmethod
    def forward(
        ctx: Any, x: Tensor, weight: Tensor, target: Tensor, smoothing: float, rows: int, lower: torch.dtype
    ) -> Tensor:
        narrow = weight.to(lower)
        losses, x_gradients, weight_gradient = [], [], torch.zeros_like(weight)
        for part, wanted in zip(x.to(lower).split(rows), target.split(rows), strict=True):
            loss, gradient = _loss_and_gradient(F.linear(part, narrow), wanted[:, None], smoothing)
            gradient = gradient.to(lower)  # p - q: (rows, vocab)
            losses.append(loss)
            x_gradients.append(F.linear(gradient, narrow.T))
            weight_gradient += F.linear(gradient.T, part.T)
        ctx.save_for_backward(x, weight, target, torch.cat(x_gradients).to(x.dtype), weight_gradient)
        ctx.settings = smoothing, lower
        return torch.stack(losses).sum()

    @staticmethod
    def backward(ctx: Any, outer: Tensor) -> tuple[Tensor | None, ...]:
        x, weight, target, *gradients = ctx.saved_tensors
        if torch.is_grad_enabled():  # the gradient is to be differentiated in its turn
            with_gradient = [tensor for tensor in (x, weight) if tensor.requires_grad]
            loss = _differentiable_loss(x, weight, target, *ctx.settings)
            found = iter(torch.autograd.grad(loss, with_gradient, outer, create_graph=True))
            of_inputs = [next(found) if tensor.requires_grad else None for tensor in (x, weight)]
        else:
            of_inputs = [gradient * outer for gradient in gradients]
        return *of_inputs, None, None, None, None


def _differentiable_loss(x: Tensor, weight: Tensor, target: Tensor, smoothing: float, lower: torch.dtype) -> Tensor:
    """The same loss with all logits at once, of PyTorch's functions alone: differentiable any number of times."""
    logits = F.linear(x.to(lower), weight.to(lower))
    return _loss(torch.log_softmax(logits, dim=-1, dtype=_exact(lower)), target[:, None], smoothing)


def _exact(dtype: torch.dtype) -> torch.dtype:
    return torch.float64 if dtype == torch.float64 else torch.float32


def _loss(log_probs: Tensor, wanted: Tensor, smoothing: float) -> Tensor:
    return -(1 - smoothing) * log_probs.gather(-1, wanted).sum() - smoothing * log_probs.mean(dim=-1).sum()


def _loss_and_gradient(logits: Tensor, wanted: Tensor, smoothing: float) -> tuple[Tensor, Tensor]:
    """The summed loss of logits (rows, vocab), and p − q (rows, vocab)."""
    log_probs = torch.log_softmax(logits, dim=-1, dtype=_exact(logits.dtype))
    loss = _loss(log_probs, wanted, smoothing)
    p = log_probs.exp_()
    gradient = p.sub_(smoothing / p.shape[-1])
    gradient.scatter_add_(-1, wanted, gradient.new_full(wanted.shape, smoothing - 1))
    return loss, gradient
