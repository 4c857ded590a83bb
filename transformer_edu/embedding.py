"""From token ids to vectors, and from vectors back to scores over the vocabulary."""

import math

import torch
from torch import nn

from transformer_edu.support.arguments import check_embedding, check_projection
from transformer_edu.support.shapes import Float, Int, Tensor
from transformer_edu.support.validation import check_ids, check_vectors


class InputEmbedding(nn.Module):
    """Look up one vector for each token id and multiply it by √d_model (paper, section 3.4).

    The table is drawn from N(0, 1/d_model), so that what comes out has variance 1.

    Args:
        vocab_size: number of different tokens.
        d_model: length of each vector.
        padding_idx: id whose vector gets no gradient, if any.
    """

    def __init__(self, vocab_size: int, d_model: int, padding_idx: int | None = None) -> None:
        super().__init__()
        check_embedding(vocab_size, d_model, padding_idx)
        self.vocab_size = vocab_size
        self.d_model = d_model
        self.lookup = nn.Embedding(vocab_size, d_model, padding_idx=padding_idx)
        with torch.no_grad():
            self.lookup.weight.mul_(d_model**-0.5)

    def forward(self, ids: Int[Tensor, "batch seq"]) -> Float[Tensor, "batch seq d_model"]:
        """Ids (batch, seq) -> vectors (batch, seq, d_model). Raises for an id outside the vocabulary."""
        check_ids("ids", ids, self.vocab_size)
        return self.lookup(ids) * math.sqrt(self.d_model)


class ProjectionLayer(nn.Module):
    """One score (logit) for each word of the vocabulary: x W (paper, section 3.4).

    It returns logits, not probabilities: the loss applies log-softmax itself.

    Args:
        d_model: length of the incoming vectors.
        vocab_size: number of scores.
        bias: add a learned score to each word. Off, as in the paper's model, where W is the embedding table.
    """

    def __init__(self, d_model: int, vocab_size: int, bias: bool = False) -> None:
        super().__init__()
        check_projection(d_model, vocab_size, bias)
        self.d_model = d_model
        self.linear = nn.Linear(d_model, vocab_size, bias=bias)

    def forward(self, x: Float[Tensor, "batch seq d_model"]) -> Float[Tensor, "batch seq vocab"]:
        """Vectors (batch, seq, d_model) -> logits (batch, seq, vocab)."""
        check_vectors("x", x, self.d_model)
        return self.linear(x)
