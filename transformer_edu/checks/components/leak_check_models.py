"""The small models that a reader's future-leak test has to judge: honest ones, and ones that leak in different ways."""

from collections.abc import Callable

import torch
from torch import Tensor, nn

from transformer_edu.attention import scaled_dot_product_attention
from transformer_edu.checks.components.multi_head_split import merge_heads, split_heads
from transformer_edu.masks import causal_mask, padding_mask

VOCAB, D_MODEL = 10, 4
Look = Callable[[Tensor], Tensor]  # ids (batch, seq) -> mask, True = may attend


class Reader(nn.Module):
    """One layer of attention with two heads, without a bypass: ids (batch, seq) -> logits (batch, seq, vocab).

    All queries are zero, so a position takes the mean of what `look` lets it attend to, and depends on nothing else.
    Logits lie between 1 and 3.
    """

    def __init__(self, look: Look, merge: Callable[[Tensor], Tensor] = merge_heads) -> None:
        super().__init__()
        drawn = torch.randn(VOCAB, D_MODEL, generator=torch.Generator().manual_seed(0))
        self.words = nn.Embedding.from_pretrained(drawn, freeze=False)
        self.look = look
        self.merge = merge

    def forward(self, ids: Tensor) -> Tensor:
        """Attend, put the heads together, compare with every word's vector."""
        heads = split_heads(self.words(ids), 2)
        output, _ = scaled_dot_product_attention(torch.zeros_like(heads), heads, heads, self.look(ids))
        return 2 + torch.tanh(self.merge(output) @ self.words.weight.T)


class Noisy(Reader):
    """Rounding that differs from call to call, as when a GPU adds in another order."""

    def forward(self, ids: Tensor) -> Tensor:
        """The logits, about 1e-7 up or down."""
        logits = super().forward(ids)
        return logits + 4e-7 * (torch.rand_like(logits) - 0.5)


class Dropping(Reader):
    """With dropout, handed over in training mode."""

    def forward(self, ids: Tensor) -> Tensor:
        """Half of the logits are zero in training."""
        return nn.functional.dropout(super().forward(ids), 0.5, self.training)


class Indifferent(Reader):
    """Says the same whatever it reads."""

    def forward(self, ids: Tensor) -> Tensor:
        """Always the logits of word 1."""
        return super().forward(torch.ones_like(ids))


class OpenInEvaluation(Reader):
    """Uses its mask in training only."""

    def forward(self, ids: Tensor) -> Tensor:
        """Causal in training, unmasked in evaluation mode."""
        self.look = causal if self.training else everything
        return super().forward(ids)


class Faint(Reader):
    """Causal but for one part in fifty."""

    def forward(self, ids: Tensor) -> Tensor:
        """A blend of the causal model and the unmasked one."""
        return 0.98 * Reader(causal)(ids) + 0.02 * Reader(everything)(ids)


def causal(ids: Tensor) -> Tensor:
    """Itself and what came before."""
    return causal_mask(ids.shape[1])


def causal_and_padding(ids: Tensor) -> Tensor:
    """The same without padding, id 0."""
    return causal(ids) & padding_mask(ids, 0)


def before(ids: Tensor) -> Tensor:
    """What came before, not itself."""
    return causal(ids).tril(-1)


def everything(ids: Tensor) -> Tensor:
    """All tokens."""
    return torch.ones_like(causal(ids))


def one_too_far(ids: Tensor) -> Tensor:
    """Up to the next token."""
    return everything(ids).tril(1)


def last_as_well(ids: Tensor) -> Tensor:
    """Itself, what came before, and the last token."""
    mask = causal(ids).clone()
    mask[:, -1] = True
    return mask


def second_for_the_first(ids: Tensor) -> Tensor:
    """The first position sees the second token; nothing else leaks."""
    mask = causal(ids).clone()
    mask[0, 1:2] = True
    return mask


def merged_without_transpose(heads: Tensor) -> Tensor:
    """(batch, heads, seq, d_head) viewed as (batch, seq, d_model): pieces of different tokens in one row."""
    return heads.reshape(heads.shape[0], heads.shape[2], -1)


HONEST: dict[str, Callable[[], nn.Module]] = {
    "a causal model": lambda: Reader(causal),
    "a causal model that hides padding (id 0)": lambda: Reader(causal_and_padding),
    "a causal model with rounding noise of 1e-7": lambda: Noisy(causal),
    "a causal model with dropout, still in training mode": lambda: Dropping(causal),
    "a model that reads the tokens before each position, not the one at it": lambda: Reader(before),
    "a model that says the same whatever it reads": lambda: Indifferent(causal),
}
LEAKING: dict[str, Callable[[], nn.Module]] = {
    "a model without a mask": lambda: Reader(everything),
    "a model that also sees the next token": lambda: Reader(one_too_far),
    "a causal model whose heads are merged without the transpose": lambda: Reader(causal, merged_without_transpose),
    "a model in which all see the last token": lambda: Reader(last_as_well),
    "a model whose first position sees the second token": lambda: Reader(second_for_the_first),
    "a model that drops its mask in evaluation mode": lambda: OpenInEvaluation(causal),
    "a model with a faint leak, one part in fifty": lambda: Faint(causal),
}
