"""A whole Transformer is checked as the judge judges it, and by how it is made: layers of their own, tied tables."""

import copy
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn

import transformer_edu as te
from transformer_edu import checks
from transformer_edu.attention import MultiHeadAttention
from transformer_edu.embedding import ProjectionLayer
from transformer_edu.masks import causal_mask, padding_mask
from transformer_edu.support.cache import DecoderCache
from transformer_edu.transformer import Transformer, TransformerConfig

pytestmark = [pytest.mark.usefixtures("at_readers_speed"), pytest.mark.long]


class WithTorchsOwn(te.Transformer):
    """Between the embeddings and the projection, torch.nn's encoder and decoder with torch.nn's masks."""

    def __init__(self, *sizes, **fields):
        super().__init__(te.TransformerConfig(*sizes, **fields))
        c = self.config
        body = nn.Transformer(c.d_model, c.num_heads, c.num_layers, c.num_layers, c.d_ff, c.dropout, batch_first=True)
        self.encoder, self.decoder = body.encoder, body.decoder

    def encode(self, source):
        x, padding = self.positional_encoding(self.source_embedding(source)), source == self.config.pad_id
        return self.encoder(x, src_key_padding_mask=padding if padding.any() else None)

    def decode(self, target, memory, source):
        return self.decoder(
            self.positional_encoding(self.target_embedding(target)),
            memory,
            tgt_mask=~te.causal_mask(target.shape[1]),
            tgt_key_padding_mask=target == self.config.pad_id,
            memory_key_padding_mask=source == self.config.pad_id,
        )


def with_frozen_and_unused_parameters(*sizes, **fields):
    model = te.build_transformer(*sizes, **fields)
    model.spare = nn.Parameter(torch.zeros(3))
    model.target_embedding.requires_grad_(fields.get("tie_embeddings", "none") != "none")
    return model


class DeafToItsMemory(te.Transformer):
    def encode(self, source):
        return super().encode(source).detach()


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


def built(make=te.build_transformer, **more):
    return lambda source_vocab_size, target_vocab_size, **fields: make(
        source_vocab_size, target_vocab_size, **fields, **more
    )


def deaf(*sizes, **fields):
    return DeafToItsMemory(TransformerConfig(*sizes, **fields))


RIGHT = [
    te.build_transformer,
    built(WithTorchsOwn),
    built(norm="pre"),
    built(final_norm=True),
    built(with_frozen_and_unused_parameters),
]
UNTIED = [
    ("tie_embeddings has no effect", lambda config: "none"),
    (
        "tie_embeddings='all' ties two",
        lambda config: "target" if config.tie_embeddings == "all" else config.tie_embeddings,
    ),
]
WRONG = [
    ("training does not see all", variant(change=_layers_in_a_list)),
    ("all layers are one", variant(change=lambda model: _copy_first_layer(model, lambda layer: layer))),
    ("the layers start with identical", variant(change=lambda model: _copy_first_layer(model, copy.deepcopy))),
    ("dropout is active in eval", variant(change=_always_drop)),
    ("dropout does nothing in training", variant(configure=lambda config: replace(config, dropout=0.0))),
    (
        "the embeddings are not multiplied",
        variant(change=lambda m: _unscale(m, "source_embedding", "target_embedding")),
    ),
    ("the target's embeddings are not", variant(change=lambda model: _unscale(model, "target_embedding"))),
    *((name, variant(configure=lambda c, tie=tie: replace(c, tie_embeddings=tie(c)))) for name, tie in UNTIED),
    ("the model returns probabilities", variant(project=lambda self, x: Transformer.project(self, x).softmax(-1))),
    ("log-softmax is already applied", variant(project=lambda self, x: Transformer.project(self, x).log_softmax(-1))),
    ("its answer has not the shape", variant(change=_project_to_source)),
    ("only the padding is blocked", variant(target_mask=_padding_only)),
    ("only the padding is blocked", variant(target_mask=_causal_in_training)),
    ("merge lacks the transpose", variant(change=_merge_without_transpose)),
    (
        "the decoder's self-attention does not",
        variant(target_mask=lambda self, ids, offset=0: causal_mask(ids.shape[1])),
    ),
    ("the encoder does not mask", variant(source_mask=_no_mask)),
    ("the decoder's cross-attention does not", variant(memory_mask=_no_mask)),
    ("the source's padding is not masked", variant(source_mask=_no_mask, memory_mask=_no_mask)),
    ("the padding id is taken to be 0", variant(source_mask=_zeros_hidden, memory_mask=_zeros_hidden)),
    ("a part of what it learns is never used", variant(decode=_without_memory)),
    ("the encoder's embeddings get no", variant(place=_placed_but_for("source"))),
    ("the decoder's embeddings get no", variant(place=_placed_but_for("target"))),
    ("no positions are added", variant(place=lambda self, x, side: F.dropout(x, self.config.dropout, self.training))),
    ("a part of the gradient is cut off", built(deaf)),
]


@pytest.mark.parametrize("build", RIGHT)
def test_a_right_model_is_right(build, capsys):
    checks.check_transformer(build)
    assert capsys.readouterr().out.startswith("✓ transformer")


@pytest.mark.parametrize(("name", "build"), WRONG, ids=[f"{place}: {name}" for place, (name, _) in enumerate(WRONG)])
def test_a_mistake_is_named(name, build):
    with pytest.raises(checks.CheckFailed) as caught:
        checks.check_transformer(build)
    assert caught.value.mistake is not None
    assert caught.value.mistake.name.startswith(name)


def test_what_is_not_written_yet_is_told_so():
    def my_build(source_vocab_size, target_vocab_size, **config):
        raise NotImplementedError

    with pytest.raises(checks.CheckFailed) as caught:
        checks.check_transformer(my_build)
    assert caught.value.mistake is None
