"""Whole Transformers, each with one thing wrong, and how `check_transformer` begins to say it."""

import copy
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import torch.nn.functional as F
from torch import Tensor, nn

from transformer_edu.attention import MultiHeadAttention
from transformer_edu.config import TransformerConfig
from transformer_edu.embedding import ProjectionLayer
from transformer_edu.masks import causal_mask, padding_mask
from transformer_edu.support.cache import DecoderCache
from transformer_edu.transformer import Transformer


class Model(Transformer):
    """The right model, cut into pieces that a mistake can replace (no cache)."""

    def place(self, x: Tensor, side: str) -> Tensor:
        """Add the positions of one side, "source" or "target"."""
        return self.positional_encoding(x)

    def source_mask(self, source: Tensor) -> Any:
        """What the encoder may look at."""
        return padding_mask(source, self.config.pad_id)

    def memory_mask(self, source: Tensor) -> Any:
        """What the decoder may look at in the memory."""
        return padding_mask(source, self.config.pad_id)

    def encode(self, source: Tensor) -> Tensor:
        return self.encoder(self.place(self.source_embedding(source), "source"), self.source_mask(source))

    def decode(self, target: Tensor, memory: Tensor, source: Tensor, cache: DecoderCache | None = None) -> Tensor:
        x = self.place(self.target_embedding(target), "target")
        return self.decoder(x, memory, self.target_mask(target), self.memory_mask(source))


def variant(
    configure: Callable[[TransformerConfig], TransformerConfig] = lambda config: config,
    change: Callable[[Any], object] = lambda model: None,
    **methods: Callable[..., Any],
) -> Callable[..., Transformer]:
    """A function that builds the right model with another configuration, with a change to it, or with other methods."""
    cls: Any = type("Variant", (Model,), methods)

    def build(source_vocab_size: int, target_vocab_size: int, **fields: Any) -> Transformer:
        model = cls(configure(TransformerConfig(source_vocab_size, target_vocab_size, **fields)))
        change(model)
        return model

    return build


def _layers_in_a_list(model: Any) -> None:
    for stack in (model.encoder, model.decoder):
        layers = list(stack.layers)
        del stack.layers
        stack.__dict__["layers"] = layers


def _copy_first_layer(model: Any, copied: Callable[[nn.Module], nn.Module]) -> None:
    for stack in (model.encoder, model.decoder):
        stack.layers = nn.ModuleList([copied(stack.layers[0]) for _ in stack.layers])


def _unscale(model: Any, *names: str) -> None:
    for name in names:
        setattr(model, name, getattr(model, name).lookup)


def _project_to_source(model: Any) -> None:
    if model.config.tie_embeddings == "none":
        model.projection = ProjectionLayer(model.config.d_model, model.config.source_vocab_size)


def _merge_without_transpose(model: Any) -> None:
    for module in model.modules():
        if isinstance(module, MultiHeadAttention):
            module.merge_heads = lambda x: x.reshape(x.shape[0], x.shape[2], -1)  # type: ignore[method-assign]


def _padding_only(model: Transformer, target: Tensor, offset: int = 0) -> Tensor:
    return padding_mask(target, model.config.pad_id)


def _no_mask(model: Transformer, source: Tensor) -> None:
    return None


def _zeros_hidden(model: Transformer, source: Tensor) -> Tensor:
    return padding_mask(source, 0)


def _without_memory(model: Any, target: Tensor, memory: Tensor, source: Tensor, cache: Any = None) -> Tensor:
    x = model.place(model.target_embedding(target), "target")
    return model.decoder(x, x, model.target_mask(target), model.target_mask(target))


class _AlwaysDropout(nn.Dropout):
    def forward(self, x: Tensor) -> Tensor:
        return F.dropout(x, self.p)


def _always_drop(model: Any) -> None:
    model.positional_encoding.dropout = _AlwaysDropout(model.config.dropout)


def _causal_in_training(self: Any, *given: Any) -> Tensor:
    return (Transformer.target_mask if self.training else _padding_only)(self, *given)


def _placed_but_for(side: str) -> Callable[..., Tensor]:
    return lambda self, x, its: x if its == side else self.positional_encoding(x)


def _half_tied(config: TransformerConfig) -> TransformerConfig:
    return replace(config, tie_embeddings="target") if config.tie_embeddings == "all" else config


BROKEN = {  # what is wrong: how the check begins to say it, and the model
    "the layers are kept in a plain Python list": ("training does not see all", variant(change=_layers_in_a_list)),
    "all layers are one and the same layer": (
        "all layers are one",
        variant(change=lambda model: _copy_first_layer(model, lambda layer: layer)),
    ),
    "the layers start with identical weights": (
        "the layers start with identical",
        variant(change=lambda model: _copy_first_layer(model, copy.deepcopy)),
    ),
    "dropout stays on in eval mode": ("dropout is active in eval", variant(change=_always_drop)),
    "the argument `dropout` changes nothing": (
        "dropout does nothing in training",
        variant(configure=lambda config: replace(config, dropout=0.0)),
    ),
    "the embeddings are not multiplied by √d_model": (
        "the embeddings are not multiplied",
        variant(change=lambda m: _unscale(m, "source_embedding", "target_embedding")),
    ),
    "only one of the two embeddings is multiplied by √d_model": (
        "the target's embeddings are not",
        variant(change=lambda model: _unscale(model, "target_embedding")),
    ),
    "tie_embeddings has no effect": (
        "tie_embeddings has no effect",
        variant(configure=lambda config: replace(config, tie_embeddings="none")),
    ),
    "tie_embeddings='all' ties two of the three matrices only": (
        "tie_embeddings='all' ties two",
        variant(configure=_half_tied),
    ),
    "softmax is already applied": (
        "the model returns probabilities",
        variant(project=lambda self, x: Transformer.project(self, x).softmax(-1)),
    ),
    "log-softmax is already applied": (
        "log-softmax is already applied",
        variant(project=lambda self, x: Transformer.project(self, x).log_softmax(-1)),
    ),
    "the projection has the size of the source vocabulary": (
        "its answer has not the shape",
        variant(change=_project_to_source),
    ),
    "the decoder sees the future: its causal mask is missing": (
        "only the padding is blocked",
        variant(target_mask=_padding_only),
    ),
    "the decoder sees the future in eval mode": (
        "only the padding is blocked",
        variant(target_mask=_causal_in_training),
    ),
    "the heads are merged without the transpose": (
        "merge lacks the transpose",
        variant(change=_merge_without_transpose),
    ),
    "the decoder's self-attention does not hide padding": (
        "the decoder's self-attention does not",
        variant(target_mask=lambda self, ids, offset=0: causal_mask(ids.shape[1])),
    ),
    "the encoder attends to padding": ("the encoder does not mask", variant(source_mask=_no_mask)),
    "cross-attention looks at the source's padding": (
        "the decoder's cross-attention does not",
        variant(memory_mask=_no_mask),
    ),
    "the source's padding is hidden nowhere": (
        "the source's padding is not masked",
        variant(source_mask=_no_mask, memory_mask=_no_mask),
    ),
    "the padding id is taken to be 0": (
        "the padding id is taken to be 0",
        variant(source_mask=_zeros_hidden, memory_mask=_zeros_hidden),
    ),
    "the decoder does not use the memory": ("a part of what it learns is never used", variant(decode=_without_memory)),
    "the source's tokens carry no position": (
        "the encoder's embeddings get no",
        variant(place=_placed_but_for("source")),
    ),
    "the target's tokens carry no position": (
        "the decoder's embeddings get no",
        variant(place=_placed_but_for("target")),
    ),
    "no token carries a position": (
        "no positions are added",
        variant(place=lambda self, x, side: F.dropout(x, self.config.dropout, self.training)),
    ),
}
