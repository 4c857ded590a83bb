"""A feed-forward part one of whose halves decides how much of the other passes."""

from torch import nn

from transformer_edu.feedforward import ACTIVATIONS
from transformer_edu.support.arguments import check_feed_forward
from transformer_edu.support.shapes import Vectors
from transformer_edu.support.validation import check_vectors


class GatedFeedForward(nn.Module):
    """(act(x W_gate) ⊙ x W_expand) W_contract, without biases (Shazeer, 2020, equation 6).

    Three matrices in place of two: with two thirds of the usual d_ff it has as many weights.

    Args:
        d_model: length of the incoming and outgoing vectors.
        d_ff: length in between.
        dropout: probability of zeroing an inner entry in training.
        activation: "silu" (SwiGLU) or "gelu" (GeGLU), or another that `PositionwiseFeedForward` knows.
    """

    def __init__(self, d_model: int, d_ff: int, dropout: float = 0.0, activation: str = "silu") -> None:
        super().__init__()
        check_feed_forward(d_model, d_ff, dropout, activation, ACTIVATIONS)
        self.d_model = d_model
        self.gate = nn.Linear(d_model, d_ff, bias=False)
        self.expand = nn.Linear(d_model, d_ff, bias=False)
        self.contract = nn.Linear(d_ff, d_model, bias=False)
        self.activation = ACTIVATIONS[activation]
        self.dropout = nn.Dropout(dropout)

    def forward(self, x: Vectors) -> Vectors:
        """Vectors (batch, seq, d_model) -> vectors (batch, seq, d_model)."""
        check_vectors("x", x, self.d_model)
        return self.contract(self.dropout(self.activation(self.gate(x)) * self.expand(x)))
