"""Known mistakes in a positional-encoding module: each class changes one thing in the right one."""

import math

import torch.nn.functional as F
from torch import Tensor, nn

from transformer_edu.checks.components.positional_encoding import ENCODING
from transformer_edu.positional import PositionalEncoding

mistake = ENCODING.mistake


class Encoding(PositionalEncoding):
    """The right module, cut into pieces that a mistake can replace."""

    def rows(self, x: Tensor, offset: int) -> Tensor:
        """The rows of the table that belong to x."""
        return self.table[offset : offset + x.shape[1]]

    def forward(self, x: Tensor, offset: int = 0) -> Tensor:
        """Add and drop out."""
        return self.dropout(x + self.rows(x, offset))


@mistake(
    "the table is indexed by the batch, x.size(0), not by the position",
    symptom="all tokens of a sentence get the same row: word order is invisible; another batch size changes results",
    why="x is (batch, seq, d_model); code written for (seq, batch, d_model) counts positions along dimension 0.",
    hint="How many rows does your slice take for one sentence of two tokens?",
)
class IndexedByBatch(Encoding):
    def rows(self, x: Tensor, offset: int) -> Tensor:
        return self.table[offset : offset + x.size(0)].unsqueeze(1)


@mistake(
    "the table is kept in a plain attribute, not in a buffer",
    symptom="`expected all tensors to be on the same device` after model.to('cuda'); works on the CPU",
    why=".to(device) moves parameters and buffers; it cannot know of other tensors.",
    hint="Which method of nn.Module tells it about a tensor that is no parameter?",
)
class PlainAttribute(Encoding):
    def __init__(self, d_model: int, max_len: int = 5000, dropout: float = 0.0) -> None:
        super().__init__(d_model, max_len, dropout)
        kept = self.table
        del self.table
        self.table = kept


@mistake(
    "the table is a parameter that training would change",
    symptom="the parameter count is too high by max_len × d_model, and the sinusoids drift in training",
    why="nn.Parameter means 'learn this'; the paper's table follows from a formula.",
    hint="It should move with the module and not be learned. What is such a tensor called in nn.Module?",
)
class TrainedTable(nn.Module):
    def __init__(self, d_model: int, max_len: int = 5000, dropout: float = 0.0) -> None:
        super().__init__()
        right = PositionalEncoding(d_model, max_len, dropout)
        self.table = nn.Parameter(right.table)
        self.dropout = right.dropout

    def forward(self, x: Tensor, offset: int = 0) -> Tensor:
        return self.dropout(x + self.table[offset : offset + x.shape[1]])


@mistake(
    "the table is added twice",
    symptom="positions weigh twice as much as they should",
    why="two places add it: for example an `x += ...` and the return line.",
    hint="Follow x through your forward. How often is the table added?",
)
class AddedTwice(Encoding):
    def rows(self, x: Tensor, offset: int) -> Tensor:
        return 2 * super().rows(x, offset)


@mistake(
    "the embeddings are multiplied by the table, not added to it",
    symptom="features vanish wherever a sine passes zero: position 0 loses half of every word",
    why="the paper sums the two (section 3.5).",
    hint="What is position 0's row of the table, and what does your operation make of a word there?",
)
class Multiplied(Encoding):
    def forward(self, x: Tensor, offset: int = 0) -> Tensor:
        return self.dropout(x * self.rows(x, offset))


@mistake(
    "the table is returned alone; x is lost",
    symptom="a model that does not react to its input words",
    why="the rows are looked up but never added to the embeddings.",
    hint="Which argument of forward does the return line not use?",
)
class InputLost(Encoding):
    def forward(self, x: Tensor, offset: int = 0) -> Tensor:
        return self.dropout(self.rows(x, offset).expand_as(x))


@mistake(
    "x is scaled by √d_model here as well",
    symptom="embeddings that are √d_model times too large for their positions, when the embedding scales too",
    why="in this book the embedding multiplies by √d_model; doing it in both places does it twice.",
    hint="With x = 1 and position 0, the first entry should be 1 + sin(0). What is yours?",
)
class ScaledAgain(Encoding):
    def forward(self, x: Tensor, offset: int = 0) -> Tensor:
        return super().forward(x * math.sqrt(x.shape[-1]), offset)


@mistake(
    "`offset` is ignored",
    symptom="decoding step by step gives every new token position 0, so cached and full results differ",
    why="the slice always begins at the table's first row.",
    hint="At which row should the slice begin, and at which should it end?",
)
class OffsetIgnored(Encoding):
    def rows(self, x: Tensor, offset: int) -> Tensor:
        return self.table[: x.shape[1]]


@mistake(
    "dropout is never applied",
    symptom="`dropout=0.1` changes nothing here; slightly more overfitting than the paper",
    why="the argument is stored, or the layer made, but forward does not call it.",
    hint="The paper (section 5.4) applies dropout to the sums. Where does your forward do so?",
)
class DropoutForgotten(Encoding):
    def forward(self, x: Tensor, offset: int = 0) -> Tensor:
        return x + self.rows(x, offset)


@mistake(
    "dropout stays on in eval mode",
    symptom="two predictions for one sentence differ",
    why="F.dropout drops unless it is told not to: its `training` argument defaults to True.",
    hint="How does a module know whether it is training, and who tells your dropout?",
)
class DropoutAlwaysOn(Encoding):
    def __init__(self, d_model: int, max_len: int = 5000, dropout: float = 0.0) -> None:
        super().__init__(d_model, max_len, dropout)
        self.p = dropout

    def forward(self, x: Tensor, offset: int = 0) -> Tensor:
        return F.dropout(x + self.rows(x, offset), self.p)


@mistake(
    "dropout is applied to the table's rows alone, not to the sum",
    symptom="words are never dropped, positions are; weaker regularization than the paper's",
    why="the paper applies dropout to the sums of embeddings and positions (section 5.4).",
    hint="In which order do your addition and your dropout happen?",
)
class DropoutOnTable(Encoding):
    def forward(self, x: Tensor, offset: int = 0) -> Tensor:
        return x + self.dropout(self.rows(x, offset).expand_as(x))


@mistake(
    "x is changed in place",
    symptom="whoever uses the embeddings again finds positions in them; autograd may complain",
    why="`x += ...` writes into the caller's tensor.",
    hint="`x = x + ...` and `x += ...` look alike. Which of them makes a new tensor?",
)
class ChangedInPlace(Encoding):
    def forward(self, x: Tensor, offset: int = 0) -> Tensor:
        x += self.rows(x, offset)
        return self.dropout(x)
