"""The part of a layer that thinks about each token alone."""

from collections.abc import Callable
from functools import partial

import torch.nn.functional as F
from torch import nn

from transformer_edu.support.arguments import check_feed_forward
from transformer_edu.support.shapes import Float, Tensor
from transformer_edu.support.validation import check_vectors

ACTIVATIONS: dict[str, Callable[[Tensor], Tensor]] = {
    "relu": F.relu,
    "gelu": F.gelu,
    "gelu_tanh": partial(F.gelu, approximate="tanh"),  # GPT-2's
    "silu": F.silu,
}


class PositionwiseFeedForward(nn.Module):
    """max(0, x W₁ + b₁) W₂ + b₂, the same for every position (paper, equation 2).

    Args:
        d_model: length of the incoming and outgoing vectors.
        d_ff: length in between; four times d_model in the paper.
        dropout: probability of zeroing an inner entry in training.
        activation: "relu" (the paper); later models have "gelu", "gelu_tanh" or "silu".
        bias: whether the two matrices have one.
    """

    def __init__(
        self, d_model: int, d_ff: int, dropout: float = 0.0, activation: str = "relu", bias: bool = True
    ) -> None:
        super().__init__()
        check_feed_forward(d_model, d_ff, dropout, activation, ACTIVATIONS)
        self.d_model = d_model
        self.expand = nn.Linear(d_model, d_ff, bias=bias)
        self.contract = nn.Linear(d_ff, d_model, bias=bias)
        self.activation = ACTIVATIONS[activation]
        self.dropout = nn.Dropout(dropout)

    def forward(self, x: Float[Tensor, "batch seq d_model"]) -> Float[Tensor, "batch seq d_model"]:
        """Vectors (batch, seq, d_model) -> vectors (batch, seq, d_model)."""
        check_vectors("x", x, self.d_model)
        return self.contract(self.dropout(self.activation(self.expand(x))))
