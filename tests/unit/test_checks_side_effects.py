"""Right numbers are not enough: inputs stay as they are, gradients come through, and numbers are real."""

import numpy as np
import pytest
import torch
from torch import Tensor, nn

import transformer_edu as te
from tests.unit.checked import COMPONENTS, accepts, diagnosis, failure

pytestmark = pytest.mark.usefixtures("as_readers_run_it")
OWN = {name: component.reference for name, component in COMPONENTS.items()}


def around(wrap, own):
    """The same implementation with every call wrapped; of a module it is forward that is wrapped."""
    if isinstance(own, tuple):
        return tuple(around(wrap, part) for part in own)

    def wrapped(*given, **named):
        result = wrap(own)(*given, **named)
        if isinstance(result, nn.Module):
            result.forward = wrap(result.forward)
        return result

    return wrapped


# ------------------------------------------------------------------ inputs

WITHOUT_OBJECTS = {  # are given numbers, functions and constants alone
    "sinusoidal table", "position rotation", "causal mask", "parameter count", "warm-up schedule", "beam search",
}  # fmt: skip


def spoiling(fn):
    """Overwrites what it was given, after the answer is computed."""

    def spoil(*given, **named):
        result = fn(*given, **named)
        result = tuple(part.clone() for part in result) if isinstance(result, tuple) else result
        result = result.clone() if isinstance(result, Tensor) else result
        for value in given:
            if isinstance(value, Tensor):
                value.logical_not_() if value.dtype == torch.bool else value.add_(1)
            if isinstance(value, list | dict):
                value.clear()
        return result

    return spoil


@pytest.mark.parametrize("name", [name for name in OWN if name not in WITHOUT_OBJECTS])
def test_who_writes_into_an_input_is_told_so(name):
    message = str(failure(name, around(spoiling, OWN[name])))
    assert any(words in message for words in ("changes its input", "after the call", "in place"))


def softmax_in_place(scores):
    scores -= scores.amax(-1, keepdim=True)
    scores.exp_()
    scores /= scores.sum(-1, keepdim=True)
    return scores


def test_an_in_place_softmax_is_named_with_the_input_that_it_overwrites():
    found = failure("softmax", softmax_in_place)
    assert found.mistake.name == "the call changes its input: scores"
    assert "expected scores, after the call" in str(found)


# ------------------------------------------------------------------ gradients

DIFFERENTIABLE = [name for name, component in COMPONENTS.items() if component.gradient and name != "transformer"]
CUTS = {
    ".detach()": lambda value: value.detach(),
    ".data": lambda value: value.data,
    "numpy and back": lambda value: torch.from_numpy(value.detach().numpy()),
    "numpy, which a gradient forbids": lambda value: torch.from_numpy(value.numpy()),
    "torch.tensor": lambda value: torch.tensor(value.tolist(), dtype=value.dtype),
}
CUT_OFF = "the result is cut off from the gradient, entirely or in part"


@pytest.mark.parametrize("cut", CUTS)
@pytest.mark.parametrize("name", DIFFERENTIABLE)
def test_who_computes_with_numbers_alone_is_told_so(name, cut):
    def without_a_way_back(fn):
        def call(*given, **named):
            return fn(*(CUTS[cut](v) if isinstance(v, Tensor) else v for v in given), **named)

        return call

    assert diagnosis(name, around(without_a_way_back, OWN[name])) == CUT_OFF


@pytest.mark.parametrize("name", [*DIFFERENTIABLE, "transformer"])
def test_a_result_without_its_way_back_is_named(name):
    def detached(fn):
        def call(*given, **named):
            result = fn(*given, **named)
            result = result[0] if isinstance(result, tuple) else result
            return result.detach() if isinstance(result, Tensor) else result

        return call

    assert diagnosis(name, around(detached, OWN[name])) == CUT_OFF


def norm_by_constants(x, gamma, beta, eps=1e-5):
    """Mean and variance as numbers: the gradient comes through, but it is a wrong one."""
    mean, variance = x.mean(-1, keepdim=True).detach(), x.var(-1, keepdim=True, correction=0).data
    return gamma * (x - mean) / torch.sqrt(variance + eps) + beta


def layer_around_dead_parts(x, attend, feed_forward, norms):
    y = norms[0](x + attend(x.detach()))
    return norms[1](y + feed_forward(y.data))


def attention_with_dead_weights(query, key, value, mask=None):
    output, weights = te.scaled_dot_product_attention(query, key, value, mask)
    with torch.no_grad():
        return weights @ value + 0 * output, weights


class DeafToItsMemory(te.Transformer):
    def encode(self, source):
        return super().encode(source).detach()


@pytest.mark.parametrize(
    ("name", "candidate", "words"),
    [
        ("layer normalization", norm_by_constants, "gradient of x"),
        ("encoder layer", layer_around_dead_parts, "gradient of x"),
        ("attention", attention_with_dead_weights, "gradient of query"),
        (
            "transformer",
            lambda *sizes, **fields: DeafToItsMemory(te.TransformerConfig(*sizes, **fields)),
            "parameters that matter and get no gradient = source_embedding",
        ),
        (
            "label smoothing",
            lambda *given: te.label_smoothing(*given).item(),
            "returned a float, expected a tensor with one entry",
        ),
    ],
)
def test_a_gradient_that_is_lost_in_part_is_named(name, candidate, words):
    found = failure(name, candidate)
    assert found.mistake.name == CUT_OFF
    assert words in str(found)


def with_frozen_and_unused_parameters(*sizes, **fields):
    model = te.build_transformer(*sizes, **fields)
    model.spare = nn.Parameter(torch.zeros(3))
    model.target_embedding.requires_grad_(fields.get("tie_embeddings", "none") != "none")
    return model


test_what_keeps_its_inputs_or_leaves_torch_openly_passes = accepts(
    {
        "softmax": [
            lambda scores: softmax_in_place(scores.double()).float(),
            lambda scores: torch.softmax(scores, -1).tolist(),
            lambda scores: np.exp(scores.numpy() - np.logaddexp.reduce(scores.numpy(), -1, keepdims=True)),
        ],
        "transformer": [with_frozen_and_unused_parameters],
    }
)


def test_a_tensor_of_inference_mode_in_a_readers_code_is_told_by_torchs_own_words():
    with torch.inference_mode():
        ones = torch.ones(1)
    found = failure("softmax", lambda scores: torch.softmax(scores, -1) * ones)
    assert "Inference tensors cannot be saved for backward" in str(found)


# ------------------------------------------------------------------ real numbers


def turned_complex(value, imaginary):
    if isinstance(value, Tensor):
        return torch.complex(value.float(), torch.full(value.shape, imaginary))
    if isinstance(value, tuple | list):
        return type(value)(turned_complex(part, imaginary) for part in value)
    return complex(value, imaginary) if isinstance(value, bool | int | float) else value


@pytest.mark.parametrize("imaginary", [0.5, 0.0])
@pytest.mark.parametrize("name", [name for name in OWN if name != "byte-pair merges"])
def test_complex_numbers_are_not_taken_for_real_ones(name, imaginary):
    def complex_now(fn):
        return lambda *given, **named: turned_complex(fn(*given, **named), imaginary)

    message = str(failure(name, around(complex_now, OWN[name])))
    assert any(words in message for words in ("complex", "0j", "+0.5j"))
