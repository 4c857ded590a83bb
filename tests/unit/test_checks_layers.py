"""Positions, norms, layers and embeddings: right code passes however it is written, real mistakes get their names."""

import math
from functools import partial

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from torch import nn

import transformer_edu as te
from tests.unit.checked import accepts, failure, names
from transformer_edu import checks

pytestmark = pytest.mark.usefixtures("as_readers_run_it")


# ------------------------------------------------------------------ right ones


def table_with_loops(max_len, d_model):
    table = np.zeros((max_len, d_model))
    for i in range(d_model // 2):
        table[:, 2 * i] = np.sin(np.arange(max_len) / 10000 ** (2 * i / d_model))
        table[:, 2 * i + 1] = np.cos(np.arange(max_len) / 10000 ** (2 * i / d_model))
    return table


class Persistent(nn.Module):
    """A table kept as (1, max_len, d_model) and saved with the weights."""

    def __init__(self, d_model, max_len=100, dropout=0.1):
        super().__init__()
        self.register_buffer("pe", te.sinusoidal_table(max_len, d_model)[None])
        self.drop = nn.Dropout(dropout)

    def forward(self, x, offset=0):
        return self.drop(x + self.pe[:, offset : offset + x.size(1)])


class Frozen(nn.Module):
    """The table in a frozen nn.Embedding, as some implementations have it."""

    def __init__(self, d_model, max_len=100, dropout=0.1):
        super().__init__()
        self.rows = nn.Embedding.from_pretrained(te.sinusoidal_table(max_len, d_model), freeze=True)
        self.drop = nn.Dropout(dropout)

    def forward(self, x, offset=0):
        return self.drop(x + self.rows(torch.arange(offset, offset + x.size(1))))


class WithoutOffset(Persistent):
    def forward(self, x):
        return self.drop(x + self.pe[:, : x.size(1)])


def test_an_encoding_without_offset_passes_only_when_asked_for(capsys):
    checks.check_positional_encoding(WithoutOffset, with_offset=False)
    assert "5 checks passed" in capsys.readouterr().out
    assert "takes 2 positional arguments but 3 were given" in str(failure("positional encoding", WithoutOffset))


def norm_with_numpy(x, gamma, beta, eps=1e-5):
    x = x.numpy()
    return gamma.numpy() * (x - x.mean(-1, keepdims=True)) / np.sqrt(x.var(-1, keepdims=True) + eps) + beta.numpy()


def norm_in_place_on_a_copy(x, gamma, beta, eps=1e-5):
    x = x.double().clone()
    x -= x.mean(dim=-1).unsqueeze(-1)
    x /= (x.square().sum(-1, keepdim=True) / x.size(-1) + eps).sqrt_()
    return torch.addcmul(beta.double(), gamma.double(), x)


def the_packages_norm(x, gamma, beta, eps=1e-5):
    norm = te.LayerNorm(x.shape[-1], eps=eps)
    norm.load_state_dict({"weight": gamma, "bias": beta})
    return norm(x)


def batch_norm_with_torchs_own(x, real, eps=1e-5):
    result = x.new_zeros(x.shape)
    result[real] = F.batch_norm(x[real], None, None, training=True, eps=eps)
    return result


def batch_norm_with_weights(x, real, eps=1e-5):
    weight = real.double().unsqueeze(-1)
    mean = (x * weight).sum(dim=(0, 1), keepdim=True) / weight.sum()
    variance = (((x - mean) ** 2) * weight).sum(dim=(0, 1), keepdim=True) / weight.sum()
    return (x - mean) * weight * (variance + eps) ** -0.5


def batch_norm_with_masked_arrays(x, real, eps=1e-5):
    hidden = np.broadcast_to(~real.numpy()[..., None], x.shape)
    tokens = np.ma.masked_array(x.numpy(), hidden).reshape(-1, x.shape[-1])
    return ((tokens - tokens.mean(0)) / np.sqrt(tokens.var(0) + eps)).filled(0).reshape(x.shape)


def network_with_einsum(x, w1, b1, w2, b2):
    hidden = np.maximum(np.einsum("bsd,df->bsf", x, w1) + b1.numpy(), 0)
    return np.einsum("bsf,fd->bsd", hidden, w2) + b2.numpy()


def the_packages_network(x, w1, b1, w2, b2):
    network = te.PositionwiseFeedForward(*w1.shape)
    weights = {"expand.weight": w1.T, "expand.bias": b1, "contract.weight": w2.T, "contract.bias": b2}
    network.load_state_dict(weights)
    return network(x)


class AsModule(nn.Module):
    """A function as a module; an attention's mask is dropped, and so are key and value where it takes one tensor."""

    def __init__(self, function, takes):
        super().__init__()
        self.function, self.takes = function, takes

    def forward(self, *inputs):
        return self.function(*inputs[: self.takes])


def in_turn(norms):
    """A make_norm that hands out these norms one after another."""
    remaining = iter(norms)
    return lambda d_model: AsModule(next(remaining), takes=1)


def residual_in_place_on_a_copy(x, part, norm, place):
    total = x.double().clone()
    total += part(norm(x)) if place == "pre" else part(x)
    return {"pre": lambda: total, "post": lambda: norm(total)}[place]()


def the_packages_residual(x, part, norm, place):
    return te.ResidualConnection(x.shape[-1], norm=place, make_norm=in_turn([norm]))(x, part)


def encoder_layer_in_a_loop(x, attend, feed_forward, norms):
    for part, norm in zip((attend, feed_forward), norms, strict=True):
        x = norm(x.double() + part(x))
    return x


def the_packages_encoder_layer(x, attend, feed_forward, norms):
    parts = {"self_attention": AsModule(attend, takes=1), "feed_forward": AsModule(feed_forward, takes=1)}
    return te.EncoderLayer(x.shape[-1], 1, 1, **parts, make_norm=in_turn(norms))(x)


def decoder_layer_with_one_variable(x, memory, self_attention, cross_attention, feed_forward, norms):
    x = norms[0](x + self_attention(x, x, x))
    x = norms[1](x + cross_attention(query=x, key=memory, value=memory))
    return norms[2](x + feed_forward(x))


def decoder_layer_of_connections(x, memory, self_attention, cross_attention, feed_forward, norms):
    parts = [lambda h: self_attention(h, h, h), lambda h: cross_attention(h, memory, memory), feed_forward]
    for part, norm in zip(parts, norms, strict=True):
        x = norm(part(x) + x)
    return x.tolist()


def the_packages_decoder_layer(x, memory, self_attention, cross_attention, feed_forward, norms):
    attentions = {
        "self_attention": AsModule(self_attention, takes=3),
        "cross_attention": AsModule(cross_attention, takes=3),
    }
    feed_forward = AsModule(feed_forward, takes=1)
    layer = te.DecoderLayer(x.shape[-1], 1, 1, **attentions, feed_forward=feed_forward, make_norm=in_turn(norms))
    return layer(x, memory)


class WithEmbedding(nn.Module):
    def __init__(self, vocab_size, d_model):
        super().__init__()
        self.words = nn.Embedding(vocab_size, d_model, sparse=True)
        self.words.weight.data.normal_(0, d_model**-0.5)
        self.scale = d_model**0.5

    def forward(self, ids):
        return self.words(ids) * self.scale


class WithOneHot(nn.Module):
    def __init__(self, vocab_size, d_model):
        super().__init__()
        self.table = nn.Parameter(torch.randn(vocab_size, d_model) / d_model**0.5)

    def forward(self, ids):
        one_hot = F.one_hot(ids, self.table.shape[0]).to(self.table.dtype)
        return torch.einsum("bsv,vd->bsd", one_hot, self.table) * self.table.shape[1] ** 0.5


class WithLinear(nn.Module):
    """The table stands transposed, in a linear layer without a bias; the factor multiplies the input."""

    def __init__(self, vocab_size, d_model):
        super().__init__()
        self.linear = nn.Linear(vocab_size, d_model, bias=False)
        nn.init.trunc_normal_(self.linear.weight, std=d_model**-0.5, a=-3, b=3)

    def forward(self, ids):
        scale = self.linear.out_features**0.5
        return self.linear(scale * F.one_hot(ids, self.linear.in_features).to(self.linear.weight.dtype))


test_right_code_passes = accepts(
    {
        "sinusoidal table": [table_with_loops],
        "position rotation": [
            lambda k, theta: [[math.cos(k * theta), math.sin(k * theta)], [-math.sin(k * theta), math.cos(k * theta)]]
        ],
        "positional encoding": [Persistent, Frozen],
        "layer normalization": [
            lambda x, gamma, beta, eps=1e-5: F.layer_norm(x, x.shape[-1:], gamma, beta, eps),
            norm_with_numpy,
            norm_in_place_on_a_copy,
            the_packages_norm,
        ],
        "masked batch normalization": [
            batch_norm_with_torchs_own,
            batch_norm_with_weights,
            batch_norm_with_masked_arrays,
        ],
        "feed-forward network": [
            lambda x, w1, b1, w2, b2: F.linear(F.linear(x, w1.T, b1).clamp(min=0), w2.T, b2),
            network_with_einsum,
            the_packages_network,
        ],
        "residual connection": [residual_in_place_on_a_copy, the_packages_residual],
        "encoder layer": [encoder_layer_in_a_loop, the_packages_encoder_layer],
        "decoder layer": [
            decoder_layer_with_one_variable,
            decoder_layer_of_connections,
            the_packages_decoder_layer,
        ],
        "input embedding": [WithEmbedding, WithOneHot, WithLinear],
    }
)


# ------------------------------------------------------------------ wrong ones, as readers write them


def widely_copied_table(max_len, d_model, *, base=10000.0, power=None, halves=False):
    """In float32."""
    position = torch.arange(0, max_len).unsqueeze(1).float()
    frequency = torch.exp(torch.arange(0, d_model, 2).float() * -(power or math.log(base) / d_model))
    pe = torch.zeros(max_len, d_model)
    half = d_model // 2
    pe[:, slice(half) if halves else slice(0, None, 2)] = torch.sin(position * frequency)
    pe[:, slice(half, None) if halves else slice(1, None, 2)] = torch.cos(position * frequency)
    return pe


class SequenceFirst(nn.Module):
    """Written for (seq, batch, d_model), used with (batch, seq, d_model)."""

    def __init__(self, d_model, max_len=5000, dropout=0.1):
        super().__init__()
        self.dropout = nn.Dropout(dropout)
        self.register_buffer("pe", te.sinusoidal_table(max_len, d_model)[:, None])

    def forward(self, x, offset=0):
        return self.dropout(x + self.pe[offset : offset + x.size(0)])


def widely_copied_norm(x, gamma, beta, eps=1e-6):
    return gamma * (x - x.mean(-1, keepdim=True)) / (x.std(-1, keepdim=True) + eps) + beta


class WidelyCopiedEmbedding(nn.Module):
    def __init__(self, vocab, d_model):
        super().__init__()
        self.lut = nn.Embedding(vocab, d_model)
        self.d_model = d_model

    def forward(self, x):
        return self.lut(x) * math.sqrt(self.d_model)


test_mistakes_as_readers_write_them = names(
    {
        "sinusoidal table": {
            "the angles are computed in float32": widely_copied_table,
            "the base is 1000": partial(widely_copied_table, base=1000.0),
            "all sines stand first": partial(widely_copied_table, halves=True),
            "the parenthesis is in the wrong": lambda n, d: widely_copied_table(n, d, power=math.log(10000.0 / d)),
        },
        "positional encoding": {"the table is indexed by the batch": SequenceFirst},
        "layer normalization": {
            "the standard deviation is Bessel-corrected and ε is added": widely_copied_norm,
            "one mean and one variance are taken over everything": lambda x, gamma, beta, eps=1e-5: (
                F.layer_norm(x, x.shape, None, None, eps) * gamma + beta
            ),
            "the mean is not subtracted, and x is divided by the root": lambda x, gamma, beta, eps=1e-5: (
                F.rms_norm(x, x.shape[-1:], gamma, eps) + beta
            ),
        },
        "masked batch normalization": {
            "`real` is not used": lambda x, real, eps=1e-5: F.batch_norm(x.mT, None, None, training=True, eps=eps).mT,
            "the mean runs over the features": lambda x, real, eps=1e-5: (
                F.layer_norm(x, x.shape[-1:], eps=eps) * real[..., None]
            ),
        },
        "feed-forward network": {
            "there is no ReLU": lambda x, w1, b1, w2, b2: F.linear(F.linear(x, w1.T, b1), w2.T, b2),
        },
        "encoder layer": {
            "the second addition adds the attention's": lambda x, attend, feed_forward, norms: norms[1](
                feed_forward(norms[0](x + attend(x))) + attend(x)
            ),
        },
        "input embedding": {
            "the table is drawn from N(0, 1)": WidelyCopiedEmbedding,
            "the table is nn.Embedding's own": nn.Embedding,
        },
    }
)


def test_an_error_of_torch_inside_a_norm_is_shown():
    def with_batch_norm(x, gamma, beta, eps=1e-5):
        return F.batch_norm(x.flatten(0, -2), None, None, gamma, beta, training=True, eps=eps).view_as(x)

    found = failure("layer normalization", with_batch_norm)
    assert "Expected more than 1 value per channel when training" in str(found)
