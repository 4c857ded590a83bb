"""What a search asks of a model: start with a source, score the next token, follow the rows that are kept.

Every model that is a `WritingModel` can be searched with greedy search, sampling and beam search, whatever it is made
of. `MemoryWriter` does it for an encoder and a decoder, `PromptWriter` for a decoder alone.
"""

from typing import Any, Protocol, runtime_checkable

import torch

from transformer_edu.support.shapes import Float, Int, Tensor


@runtime_checkable
class Writer(Protocol):
    """A batch of answers that grow token by token, and all that the model remembers of them."""

    def next_logits(self, newest: Int[Tensor, "batch new"]) -> Float[Tensor, "batch vocab"]:
        """Scores of each answer's next token, given the ids that came since the last call."""

    def reorder(self, rows: Int[Tensor, " kept"]) -> None:
        """Keep these rows of the batch, in this order; a row may be kept several times, or not at all."""


@runtime_checkable
class WritingModel(Protocol):
    """A `torch.nn.Module` with `config.pad_id`, `config.max_len` and `config.vocab_size`, and with `start`.

    `config.begins_with_padding`, where it is there and True, allows answers that begin with pad_id.
    """

    config: Any

    def start(self, source: Int[Tensor, "batch source_seq"]) -> Writer:
        """A writer of one answer for each row of `source`: a sentence to translate, a text to go on from."""


class MemoryWriter:
    """Writes with an encoder's memory in view.

    Args:
        model: has encode, decode, project and start_cache, as `Transformer`.
        source: ids (batch, source_seq).
    """

    def __init__(self, model: Any, source: Int[Tensor, "batch source_seq"]) -> None:
        self.model, self.source = model, source
        self.memory, self.cache = model.encode(source), model.start_cache()
        self.sentences = torch.arange(len(source), device=source.device)  # which source each answer belongs to

    def next_logits(self, newest: Int[Tensor, "batch new"]) -> Float[Tensor, "batch vocab"]:
        """Scores (batch, vocab) of the token after `newest`, the ids that came since the last call."""
        x = self.model.decode(newest, self.memory, self.source, self.cache)
        return self.model.project(x[:, -1:])[:, 0]

    def reorder(self, rows: Int[Tensor, " kept"]) -> None:
        """Keep these rows of the batch, in this order."""
        sentences = self.sentences[rows]
        same_sources = torch.equal(sentences, self.sentences)  # rows only change places inside their sentence
        self.cache.reorder(rows, same_sources)
        if not same_sources:
            self.memory, self.source, self.sentences = self.memory[rows], self.source[rows], sentences


class PromptWriter:
    """Goes on from what it was given.

    Args:
        model: called with new ids (batch, new) and the cache that `start_cache` gave -> logits (batch, new, vocab).
        source: ids (batch, source_seq) to go on from; None: nothing was read yet.
    """

    def __init__(self, model: Any, source: Int[Tensor, "batch source_seq"] | None = None) -> None:
        self.model, self.cache = model, model.start_cache()
        if source is not None:
            model(source, self.cache)

    def next_logits(self, newest: Int[Tensor, "batch new"]) -> Float[Tensor, "batch vocab"]:
        """Scores (batch, vocab) of the token after `newest`, the ids that came since the last call."""
        return self.model(newest, self.cache)[:, -1]

    def reorder(self, rows: Int[Tensor, " kept"]) -> None:
        """Keep these rows of the batch, in this order."""
        self.cache.reorder(rows)
