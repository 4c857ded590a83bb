"""A whole Transformer is checked as the judge judges it, and by how it is made: layers of their own, tied tables."""

import pytest
import torch
from torch import nn

import transformer_edu as te
from tests.broken_transformers import BROKEN
from transformer_edu import checks

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


def built(make=te.build_transformer, **more):
    return lambda source_vocab_size, target_vocab_size, **fields: make(
        source_vocab_size, target_vocab_size, **fields, **more
    )


def deaf(*sizes, **fields):
    return DeafToItsMemory(te.TransformerConfig(*sizes, **fields))


RIGHT = [
    te.build_transformer,
    built(WithTorchsOwn),
    built(norm="pre"),
    built(final_norm=True),
    built(with_frozen_and_unused_parameters),
]
WRONG = [*BROKEN.values(), ("a part of the gradient is cut off", built(deaf))]


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
