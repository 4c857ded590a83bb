"""Mistakes in norms, layers, embeddings and leak tests, as readers really write them, get the right name."""

import math

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from tests.unit.diagnosis import diagnosis
from transformer_edu import checks

pytestmark = pytest.mark.usefixtures("as_readers_run_it")


def annotated(x, gamma, beta, eps=1e-6):
    """The widely copied lines."""
    mean = x.mean(-1, keepdim=True)
    std = x.std(-1, keepdim=True)
    return gamma * (x - mean) / (std + eps) + beta


def over_all_but_the_batch(x, gamma, beta, eps=1e-5):
    return F.layer_norm(x, x.shape, None, None, eps) * gamma + beta


def over_the_wrong_dimension(x, gamma, beta, eps=1e-5):
    x = x - torch.mean(x, dim=1, keepdim=True)
    return gamma * (x / torch.sqrt(torch.mean(x * x, dim=1, keepdim=True) + eps)) + beta


NORMS = {
    "the standard deviation is Bessel-corrected and ε is added": annotated,
    "one mean and one variance are taken over everything": over_all_but_the_batch,
    "mean and variance are taken over the positions": over_the_wrong_dimension,
    "the mean is not subtracted, and x is divided by the root": lambda x, gamma, beta, eps=1e-5: (
        F.rms_norm(x, x.shape[-1:], gamma, eps) + beta
    ),
    "the standard deviation is Bessel-corrected: ": lambda x, gamma, beta, eps=1e-5: (
        gamma * (x - x.mean(-1, keepdim=True)) / (x.var(-1, keepdim=True) + eps).sqrt() + beta
    ),
}


@pytest.mark.parametrize("name", NORMS)
def test_layer_norms_as_readers_write_them(name):
    assert diagnosis(checks.check_layer_norm, NORMS[name]).startswith(name)


def test_an_error_of_torch_inside_a_norm_is_shown():
    def with_batch_norm(x, gamma, beta, eps=1e-5):
        return F.batch_norm(x.flatten(0, -2), None, None, gamma, beta, training=True, eps=eps).view_as(x)

    with pytest.raises(checks.CheckFailed, match="Expected more than 1 value per channel when training"):
        checks.check_layer_norm(with_batch_norm)


BATCH_NORMS = {
    "`real` is not used": lambda x, real, eps=1e-5: F.batch_norm(
        x.transpose(1, 2), None, None, training=True, eps=eps
    ).transpose(1, 2),
    "padding is counted in mean and variance": lambda x, real, eps=1e-5: (
        F.batch_norm(x.flatten(0, 1), None, None, training=True, eps=eps).view_as(x) * real[..., None]
    ),
    "the mean runs over the features": lambda x, real, eps=1e-5: (
        F.layer_norm(x, x.shape[-1:], eps=eps) * real[..., None]
    ),
    "each sentence gets statistics of its own": lambda x, real, eps=1e-5: torch.stack(
        [F.pad(F.batch_norm(s[r], None, None, training=len(s[r]) > 1, eps=eps), (0, 0, 0, int((~r).sum())))
         if len(s[r]) > 1 else torch.zeros_like(s) for s, r in zip(x, real, strict=True)]
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", BATCH_NORMS)
def test_batch_norms_as_readers_write_them(name):
    assert diagnosis(checks.check_masked_batch_norm, BATCH_NORMS[name]).startswith(name)


FEED_FORWARDS = {
    "the matrices are transposed": lambda x, w1, b1, w2, b2: (F.relu(x @ w1.T + b1)) @ w2.T + b2,
    "there is no ReLU": lambda x, w1, b1, w2, b2: F.linear(F.linear(x, w1.T, b1), w2.T, b2),
    "b1 is not added": lambda x, w1, b1, w2, b2: F.relu(x @ w1) @ w2 + b2,
    "x is added to the result": lambda x, w1, b1, w2, b2: x + (F.relu(x @ w1 + b1) @ w2 + b2),
    "GELU stands": lambda x, w1, b1, w2, b2: F.gelu(x @ w1 + b1) @ w2 + b2,
}


@pytest.mark.parametrize("name", FEED_FORWARDS)
def test_feed_forward_networks_as_readers_write_them(name):
    assert diagnosis(checks.check_feed_forward, FEED_FORWARDS[name]).startswith(name)


def overwritten(x, part, norm, place):
    if place == "post":
        return norm(x + part(x))
    x = norm(x)
    return x + part(x)


def in_place(x, part, norm, place):
    if place == "pre":
        x += part(norm(x))
        return x
    x += part(x)
    return norm(x)


def test_residual_connections_as_readers_write_them():
    assert "stands on the main road" in diagnosis(checks.check_residual, overwritten)
    assert diagnosis(checks.check_residual, in_place) == "x is changed in place"


def one_line(x, attend, feed_forward, norms):
    return norms[1](feed_forward(norms[0](x + attend(x))) + attend(x))


def kept_input(x, attend, feed_forward, norms):
    residual = x
    x = norms[0](attend(x) + residual)
    x = feed_forward(x)
    return norms[1](x + residual)


def test_encoder_layers_as_readers_write_them():
    assert diagnosis(checks.check_encoder_layer, one_line).startswith("the second addition adds the attention's")
    assert diagnosis(checks.check_encoder_layer, kept_input).startswith("the second addition adds the layer's input")


def memory_asks(x, memory, self_attention, cross_attention, feed_forward, norms):
    x = norms[0](x + self_attention(x, x, x))
    x = norms[1](x + cross_attention(memory, x, x))
    return norms[2](x + feed_forward(x))


def one_line_decoder(x, memory, self_attention, cross_attention, feed_forward, norms):
    y = norms[1](x + cross_attention(x, memory, memory))
    return norms[2](y + feed_forward(y))


def kept_residual(x, memory, self_attention, cross_attention, feed_forward, norms):
    residual = x
    x = norms[0](residual + self_attention(x, x, x))
    x = norms[1](residual + cross_attention(x, memory, memory))
    return norms[2](x + feed_forward(x))


def test_decoder_layers_as_readers_write_them():
    assert diagnosis(checks.check_decoder_layer, memory_asks).startswith("query and memory have changed places")
    assert diagnosis(checks.check_decoder_layer, one_line_decoder) == "masked self-attention is left out"
    assert diagnosis(checks.check_decoder_layer, kept_residual).startswith("the second addition adds the layer's")


class Annotated(nn.Module):
    """The widely copied class."""

    def __init__(self, vocab, d_model):
        super().__init__()
        self.lut = nn.Embedding(vocab, d_model)
        self.d_model = d_model

    def forward(self, x):
        return self.lut(x) * math.sqrt(self.d_model)


class PlainTable(nn.Module):
    def __init__(self, vocab_size, d_model):
        super().__init__()
        self.register_buffer("table", torch.randn(vocab_size, d_model) / d_model**0.5)

    def forward(self, ids):
        return self.table[ids] * self.table.shape[1] ** 0.5


def test_embeddings_as_readers_write_them():
    assert diagnosis(checks.check_input_embedding, Annotated).startswith("the table is drawn from N(0, 1)")
    assert diagnosis(checks.check_input_embedding, nn.Embedding).startswith("the table is nn.Embedding's own")
    assert diagnosis(checks.check_input_embedding, PlainTable) == "the table is not a parameter"


def test_an_embedding_that_is_no_module_is_named():
    with pytest.raises(checks.CheckFailed, match=r"makes a Tensor, expected a torch\.nn\.Module"):
        checks.check_input_embedding(torch.zeros)


def one_change_everything_compared(model, ids):
    model.eval()
    changed = ids.clone()
    changed[:, -1] = (changed[:, -1] + 1) % 10
    return bool((model(ids) - model(changed)).abs().max() > 1e-5)


def likeliest_words(model, ids):
    model.eval()
    before = model(ids).argmax(-1)
    for place in range(1, ids.shape[1]):
        changed = ids.clone()
        changed[:, place] = (changed[:, place] + 1) % 10
        if (model(changed).argmax(-1) != before)[:, :place].any():
            return True
    return False


def same_tensor(model, ids):
    model.eval()
    before = ids
    before[:, -1] = 1
    return not torch.allclose(model(ids)[:, :-1], model(before)[:, :-1])


def next_id(model, ids):
    model.eval()
    changed = ids.clone()
    changed[:, -1] += 1
    return not torch.allclose(model(ids)[:, :-1], model(changed)[:, :-1])


LEAK_TESTS = {
    "the output at the changed token itself is compared too": one_change_everything_compared,
    "the comparison is too coarse": likeliest_words,
    "the ids are changed in place, and the model is compared with itself": same_tensor,
    "the new token is outside the vocabulary": next_id,
}


@pytest.mark.parametrize("name", LEAK_TESTS)
def test_leak_tests_as_readers_write_them(name):
    assert diagnosis(checks.check_future_test, LEAK_TESTS[name]).startswith(name)


@pytest.mark.parametrize(
    ("verdict", "message"),
    [(None, "returned None, expected True or False"), ("no", "returned a str, expected True or False"),
     (torch.zeros(2) > 0, "returned a Tensor, expected True or False")],
)  # fmt: skip
def test_a_verdict_that_is_none_is_named(verdict, message):
    with pytest.raises(checks.CheckFailed, match=message):
        checks.check_future_test(lambda model, ids: verdict)


def test_what_is_not_written_yet_is_said_to_be_so():
    def sees_the_future(model, ids):
        raise NotImplementedError

    with pytest.raises(checks.CheckFailed, match="Not written yet"):
        checks.check_future_test(sees_the_future)
