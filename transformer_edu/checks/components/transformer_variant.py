"""The right encoder–decoder, cut into pieces that a known mistake can replace."""

from collections.abc import Callable
from typing import Any

from torch import Tensor

from transformer_edu.checks.components.transformer import TRANSFORMER
from transformer_edu.masks import padding_mask
from transformer_edu.support.cache import DecoderCache
from transformer_edu.transformer import Transformer, TransformerConfig


def mistake(name: str, **text: str) -> Callable[[type[Transformer]], type[Transformer]]:
    """Enter the decorated model class into the catalogue, as a function that builds it."""

    def register(cls: type[Transformer]) -> type[Transformer]:
        def build(source_vocab_size: int, target_vocab_size: int, **fields: Any) -> Transformer:
            return cls(TransformerConfig(source_vocab_size, target_vocab_size, **fields))

        TRANSFORMER.mistake(name, **text)(build)
        return cls

    return register


class Model(Transformer):
    """The right model, cut into pieces that a mistake can replace (no cache)."""

    def place(self, x: Tensor, side: str) -> Tensor:
        """Add the positions of one side, "source" or "target"."""
        return self.positional_encoding(x)

    def source_mask(self, source: Tensor) -> Tensor | None:
        """What the encoder may look at."""
        return padding_mask(source, self.config.pad_id)

    def memory_mask(self, source: Tensor) -> Tensor | None:
        """What the decoder may look at in the memory."""
        return padding_mask(source, self.config.pad_id)

    def encode(self, source: Tensor) -> Tensor:
        return self.encoder(self.place(self.source_embedding(source), "source"), self.source_mask(source))

    def decode(self, target: Tensor, memory: Tensor, source: Tensor, cache: DecoderCache | None = None) -> Tensor:
        x = self.place(self.target_embedding(target), "target")
        return self.decoder(x, memory, self.target_mask(target), self.memory_mask(source))
