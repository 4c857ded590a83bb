"""Right norms, feed-forward networks, layers, embeddings and leak tests pass, however they are written."""

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from torch import nn

import transformer_edu as te
from transformer_edu import checks

pytestmark = pytest.mark.usefixtures("as_readers_run_it")


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


# ------------------------------------------------------------------ norms


def with_torchs_own(x, gamma, beta, eps=1e-5):
    return F.layer_norm(x, x.shape[-1:], gamma, beta, eps)


def with_numpy(x, gamma, beta, eps=1e-5):
    x = x.numpy()
    return gamma.numpy() * (x - x.mean(-1, keepdims=True)) / np.sqrt(x.var(-1, keepdims=True) + eps) + beta.numpy()


def in_place_on_a_copy(x, gamma, beta, eps=1e-5):
    x = x.double().clone()
    x -= x.mean(dim=-1).unsqueeze(-1)
    x /= (x.square().sum(-1, keepdim=True) / x.size(-1) + eps).sqrt_()
    return torch.addcmul(beta.double(), gamma.double(), x)


def with_moments(x, gamma, beta, eps=1e-5):
    mean = torch.einsum("...d->...", x)[..., None] / x.shape[-1]
    variance = torch.einsum("...d,...d->...", x - mean, x - mean)[..., None] / x.shape[-1]
    return (x - mean) * torch.rsqrt(variance + eps) * gamma + beta


def with_the_packages_module(x, gamma, beta, eps=1e-5):
    norm = te.LayerNorm(x.shape[-1], eps=eps)
    norm.load_state_dict({"weight": gamma, "bias": beta})
    return norm(x)


@pytest.mark.parametrize(
    "norm", [with_torchs_own, with_numpy, in_place_on_a_copy, with_moments, with_the_packages_module]
)
def test_right_layer_norms_pass(norm):
    checks.check_layer_norm(norm)


def batch_norm_with_torchs_own(x, real, eps=1e-5):
    result = x.new_zeros(x.shape)
    result[real] = F.batch_norm(x[real], None, None, training=True, eps=eps)
    return result


def batch_norm_with_weights(x, real, eps=1e-5):
    weight = real.double().unsqueeze(-1)
    count = weight.sum()
    mean = (x * weight).sum(dim=(0, 1), keepdim=True) / count
    variance = (((x - mean) ** 2) * weight).sum(dim=(0, 1), keepdim=True) / count
    return (x - mean) * weight * (variance + eps) ** -0.5


def batch_norm_with_masked_arrays(x, real, eps=1e-5):
    hidden = np.broadcast_to(~real.numpy()[..., None], x.shape)
    tokens = np.ma.masked_array(x.numpy(), hidden).reshape(-1, x.shape[-1])
    return ((tokens - tokens.mean(0)) / np.sqrt(tokens.var(0) + eps)).filled(0).reshape(x.shape)


def batch_norm_with_nan(x, real, eps=1e-5):
    tokens = x.clone().masked_fill_(~real[..., None], torch.nan).flatten(0, 1)
    centred = tokens - tokens.nanmean(0)
    return torch.nan_to_num(centred / (centred.square().nanmean(0) + eps).sqrt()).view_as(x)


@pytest.mark.parametrize(
    "norm",
    [batch_norm_with_torchs_own, batch_norm_with_weights, batch_norm_with_masked_arrays, batch_norm_with_nan],
)
def test_right_batch_norms_pass(norm):
    checks.check_masked_batch_norm(norm)


# ------------------------------------------------------------------ feed-forward


def with_linear(x, w1, b1, w2, b2):
    return F.linear(F.linear(x, w1.T, b1).clamp(min=0), w2.T, b2)


def with_einsum(x, w1, b1, w2, b2):
    hidden = np.maximum(np.einsum("bsd,df->bsf", x, w1) + b1.numpy(), 0)
    return np.einsum("bsf,fd->bsd", hidden, w2) + b2.numpy()


def with_convolutions(x, w1, b1, w2, b2):
    hidden = F.relu(F.conv1d(x.transpose(1, 2), w1.T[..., None], b1), inplace=True)
    return F.conv1d(hidden, w2.T[..., None], b2).transpose(1, 2)


def with_the_packages_network(x, w1, b1, w2, b2):
    network = te.PositionwiseFeedForward(*w1.shape)
    weights = {"expand.weight": w1.T, "expand.bias": b1, "contract.weight": w2.T, "contract.bias": b2}
    network.load_state_dict(weights)
    return network(x)


@pytest.mark.parametrize("network", [with_linear, with_einsum, with_convolutions, with_the_packages_network])
def test_right_feed_forward_networks_pass(network):
    checks.check_feed_forward(network)


# ------------------------------------------------------------------ residual connections and layers


def with_a_case_distinction(x, part, norm, place):
    branch = part(x if place == "post" else norm(x))
    total = torch.add(x, branch)
    if place == "pre":
        return total
    return norm(total)


def in_place_on_a_copy_of_x(x, part, norm, place):
    total = x.double().clone()
    total += part(norm(x)) if place == "pre" else part(x)
    return {"pre": lambda: total, "post": lambda: norm(total)}[place]()


def with_the_packages_connection(x, part, norm, place):
    return te.ResidualConnection(x.shape[-1], norm=place, make_norm=in_turn([norm]))(x, part)


@pytest.mark.parametrize("residual", [with_a_case_distinction, in_place_on_a_copy_of_x, with_the_packages_connection])
def test_right_residual_connections_pass(residual):
    checks.check_residual(residual)


def encoder_layer_with_one_variable(x, attend, feed_forward, norms):
    first, second = norms
    x = first(attend(x) + x)
    x = second(feed_forward(x) + x)
    return x


def encoder_layer_in_a_loop(x, attend, feed_forward, norms):
    for part, norm in zip((attend, feed_forward), norms, strict=True):
        x = norm(x.double() + part(x))
    return x


def the_packages_encoder_layer(x, attend, feed_forward, norms):
    return te.EncoderLayer(
        x.shape[-1],
        1,
        1,
        self_attention=AsModule(attend, takes=1),
        feed_forward=AsModule(feed_forward, takes=1),
        make_norm=in_turn(norms),
    )(x)


@pytest.mark.parametrize(
    "layer", [encoder_layer_with_one_variable, encoder_layer_in_a_loop, the_packages_encoder_layer]
)
def test_right_encoder_layers_pass(layer):
    checks.check_encoder_layer(layer)


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
    return te.DecoderLayer(
        x.shape[-1],
        1,
        1,
        self_attention=AsModule(self_attention, takes=3),
        cross_attention=AsModule(cross_attention, takes=3),
        feed_forward=AsModule(feed_forward, takes=1),
        make_norm=in_turn(norms),
    )(x, memory)


@pytest.mark.parametrize(
    "layer", [decoder_layer_with_one_variable, decoder_layer_of_connections, the_packages_decoder_layer]
)
def test_right_decoder_layers_pass(layer):
    checks.check_decoder_layer(layer)


# ------------------------------------------------------------------ embedding


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


@pytest.mark.parametrize("cls", [WithEmbedding, WithOneHot, WithLinear])
def test_right_embeddings_pass(cls):
    checks.check_input_embedding(cls)


# ------------------------------------------------------------------ leak tests


def cuts_the_sentence(model, ids):
    model.eval()
    with torch.no_grad():
        whole = model(ids)
        return any(not torch.allclose(model(ids[:, :end]), whole[:, :end], atol=1e-5) for end in range(1, ids.shape[1]))


def draws_the_future(model, ids):
    if isinstance(model, nn.Module):
        model = model.eval()
    logits = model(ids).detach().numpy()
    for past in range(1, ids.size(1)):
        for _ in range(5):
            drawn = torch.randint(logits.shape[-1], (ids.size(0), ids.size(1) - past))
            seen = model(torch.cat([ids[:, :past], drawn], dim=1)).detach().numpy()
            if np.abs(seen - logits)[:, :past].max() > 1e-3:
                return np.bool_(True)
    return np.bool_(False)


def asks_for_every_word(model, ids):
    """All words at every later place, the verdict as a tensor."""
    model.train(False)
    logits = model(ids)
    moves = torch.zeros(())
    for place in range(1, ids.shape[1]):
        for word in range(logits.shape[-1]):
            changed = torch.where(torch.arange(ids.shape[1]) == place, word, ids)
            moves = torch.maximum(moves, (model(changed) - logits)[:, :place].abs().amax())
    return moves > 1e-5


@pytest.mark.parametrize("leak_test", [cuts_the_sentence, draws_the_future, asks_for_every_word])
def test_right_leak_tests_pass(leak_test):
    checks.check_future_test(leak_test)


# ------------------------------------------------------------------ float64


def test_the_checks_of_layers_also_work_when_float64_is_the_default():
    torch.set_default_dtype(torch.float64)
    try:
        checks.check_layer_norm(with_moments)
        checks.check_masked_batch_norm(batch_norm_with_weights)
        checks.check_encoder_layer(encoder_layer_in_a_loop)
        checks.check_decoder_layer(decoder_layer_with_one_variable)
        checks.check_input_embedding(WithEmbedding)
        checks.check_future_test(cuts_the_sentence)
    finally:
        torch.set_default_dtype(torch.float32)
