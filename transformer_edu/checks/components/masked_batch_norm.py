"""Checks batch normalization over the real tokens only; its known mistakes are in `batch_norm_mistakes`."""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from transformer_edu.checks.engine import Component, Trial, need_callable
from transformer_edu.checks.engine.observe import inputs_afterwards, output
from transformer_edu.checks.engine.side_effects import gradient_of


def check_masked_batch_norm(fn: Callable[..., Any]) -> None:
    """Check fn(x, real, eps=1e-5) with x (batch, seq, features) and real (batch, seq), boolean, True = a real token.

    Each feature gets one mean and one biased variance over all real tokens of the batch, as in training; there is no
    γ and no β. Padding comes out as zeros.
    """
    need_callable("fn", fn)
    BATCH_NORM.check(fn)


def masked_batch_norm(x: Tensor, real: Tensor, eps: float = 1e-5) -> Tensor:
    """(x − mean) / √(variance + ε), one mean and variance for each feature, over the real tokens."""
    tokens = x[real]  # (real tokens, features)
    result = torch.zeros_like(x)
    result[real] = (tokens - tokens.mean(0)) / torch.sqrt(tokens.var(0, correction=0) + eps)
    return result


def _given(rows: list[Any], lengths: list[int], scale: float = 1.0, **more: Any) -> dict[str, Any]:
    x = torch.tensor(rows) * scale
    return {"x": x, "real": torch.arange(x.shape[1]) < torch.tensor(lengths)[:, None], **more}


FOUR_TOKENS = [[[1.0, 10], [7, 20], [7, 20], [9, 10]]]  # features of mean 6 and 15, variance 9 and 25
FOUR_IN_TWO = [FOUR_TOKENS[0][:2], FOUR_TOKENS[0][2:]]
FOUR_PADDED = [[[1.0, 10], [7, 20], [7, 20]], [[9.0, 10], [50, 60], [40, 80]]]

BATCH_NORM = Component(
    "masked batch normalization",
    reference=masked_batch_norm,
    trials=[
        Trial("one sentence of four tokens, no padding", _given(FOUR_TOKENS, [4]), output),
        Trial("the same four tokens in two sentences", _given(FOUR_IN_TWO, [2, 2]), output),
        Trial("the same four tokens, two places are padding", _given(FOUR_PADDED, [3, 1]), output),
        Trial("other places are padding", _given(FOUR_PADDED, [2, 3]), output),
        Trial(
            "small numbers, with variances about as small as eps", _given(FOUR_PADDED, [3, 1], 1e-3, eps=1e-5), output
        ),
        Trial("an eps that can be seen", _given(FOUR_TOKENS, [4], eps=7.0), output),
        Trial("the inputs afterwards", _given(FOUR_PADDED, [3, 1]), inputs_afterwards),
    ],
    gradient=gradient_of("x"),
)
