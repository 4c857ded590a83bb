"""The models of chapter 2: recurrence, convolution and self-attention, each from ids to an answer at the last place."""

from collections.abc import Callable, Sequence

import torch
import torch.nn.functional as F
from torch import nn

from transformer_edu.config import build_encoder_layer
from transformer_edu.embedding import InputEmbedding
from transformer_edu.positional import PositionalEncoding
from transformer_edu.support.shapes import Float, Ids, Tensor

VOCAB_SIZE = 8  # guessing is right once in eight times
MAX_LEN = 2048  # tokens, rows of the positional table


class Recurrent(nn.Module):
    """One layer that reads the tokens one after another and keeps one vector.

    Args:
        cell: `nn.RNN` (tanh), `nn.GRU` or `nn.LSTM`.
        d_model: length of a token's vector.
        hidden: length of the vector that is kept.
    """

    def __init__(self, cell: Callable[..., nn.Module], d_model: int, hidden: int) -> None:
        super().__init__()
        self.embedding = nn.Embedding(VOCAB_SIZE, d_model)
        self.cell = cell(d_model, hidden, batch_first=True)
        self.readout = nn.Linear(hidden, VOCAB_SIZE)

    def forward(self, ids: Ids) -> Float[Tensor, "batch vocab"]:
        """Ids (batch, seq) -> logits (batch, vocab) at the last place."""
        states, _ = self.cell(self.embedding(ids))  # (batch, seq, hidden)
        return self.readout(states[:, -1])


class Convolution(nn.Module):
    """Layers each of which sees a token and two earlier ones.

    No residual connections: with them a stack this small does not learn to use the far end of its reach.

    Args:
        d_model: length of every vector.
        steps_back: for each layer, how far apart the three tokens are (1: neighbours; the dilation).
    """

    def __init__(self, d_model: int, steps_back: Sequence[int]) -> None:
        super().__init__()
        self.embedding = nn.Embedding(VOCAB_SIZE, d_model)
        self.layers = nn.ModuleList(nn.Conv1d(d_model, d_model, 3, dilation=step) for step in steps_back)
        self.steps_back = tuple(steps_back)
        self.readout = nn.Linear(d_model, VOCAB_SIZE)

    @property
    def reach(self) -> int:
        """How many tokens back the last place can see."""
        return 2 * sum(self.steps_back)

    def forward(self, ids: Ids) -> Float[Tensor, "batch vocab"]:
        """Ids (batch, seq) -> logits (batch, vocab) at the last place."""
        x = self.embedding(ids).transpose(1, 2)  # (batch, d_model, seq)
        for layer, step in zip(self.layers, self.steps_back, strict=True):
            earlier = F.pad(x, (2 * step, 0))  # on the left
            x = torch.relu(layer(earlier))
        return self.readout(x[:, :, -1])


class SelfAttention(nn.Module):
    """One encoder layer of the book, with positions. Its sizes are those of `build_encoder_layer`."""

    def __init__(self, d_model: int, num_heads: int, d_ff: int) -> None:
        super().__init__()
        self.embedding = InputEmbedding(VOCAB_SIZE, d_model)
        self.position = PositionalEncoding(d_model, max_len=MAX_LEN)
        self.layer = build_encoder_layer(d_model, num_heads, d_ff)
        self.readout = nn.Linear(d_model, VOCAB_SIZE)
        for parameter in self.parameters():  # as in `build_transformer`; larger embeddings would drown the positions
            if parameter.dim() > 1:
                nn.init.xavier_uniform_(parameter)

    def forward(self, ids: Ids) -> Float[Tensor, "batch vocab"]:
        """Ids (batch, seq) -> logits (batch, vocab) at the last place."""
        return self.readout(self.layer(self.position(self.embedding(ids)))[:, -1])
