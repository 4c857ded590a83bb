"""Right numbers are not enough: inputs stay as they are, gradients come through, and numbers are real."""

from functools import partial

import pytest
import torch
from torch import Tensor

import transformer_edu as te
from tests.unit.checked import COMPONENTS, OWN, around, diagnosis, each_tensor, failure, told

pytestmark = pytest.mark.usefixtures("as_readers_run_it")


# ------------------------------------------------------------------ inputs

WITHOUT_OBJECTS = {  # are given numbers, functions and constants alone
    "sinusoidal table", "position rotation", "causal mask", "window mask",
    "parameter count", "warm-up schedule", "beam search",
}  # fmt: skip


def overwrite(given, result):
    """Change what was handed over, after the answer is computed."""
    result = each_tensor(torch.clone, result)
    for value in given:
        if isinstance(value, Tensor):
            value.logical_not_() if value.dtype == torch.bool else value.add_(1)
        if isinstance(value, list | dict):
            value.clear()
    return result


@pytest.mark.parametrize("name", [name for name in OWN if name not in WITHOUT_OBJECTS])
def test_who_writes_into_an_input_is_told_so(name):
    message = told(failure(name, around(OWN[name], after=overwrite)))
    assert any(words in message for words in ("changes its input", "after the call", "in place"))


# ------------------------------------------------------------------ gradients

DIFFERENTIABLE = [name for name, component in COMPONENTS.items() if component.gradient]
CUTS = {
    ".detach()": lambda value: value.detach(),
    "numpy and back": lambda value: torch.from_numpy(value.detach().numpy()),
    "numpy, which a gradient forbids": lambda value: torch.from_numpy(value.numpy()),
    "torch.tensor": lambda value: torch.tensor(value.tolist(), dtype=value.dtype),
}
CUT_OFF = "the result is cut off from the gradient, entirely or in part"


@pytest.mark.parametrize("cut", CUTS)
@pytest.mark.parametrize("name", DIFFERENTIABLE)
def test_who_computes_with_numbers_alone_is_told_so(name, cut):
    assert diagnosis(name, around(OWN[name], before=partial(each_tensor, CUTS[cut]))) == CUT_OFF


@pytest.mark.parametrize("name", DIFFERENTIABLE)
def test_a_result_without_its_way_back_is_named(name):
    detached = around(OWN[name], after=lambda given, result: each_tensor(Tensor.detach, result))
    assert diagnosis(name, detached) == CUT_OFF


def norm_by_constants(x, gamma, beta, eps=1e-5):
    """Mean and variance as numbers: the gradient comes through, but it is a wrong one."""
    mean, variance = x.mean(-1, keepdim=True).detach(), x.var(-1, keepdim=True, correction=0).data
    return gamma * (x - mean) / torch.sqrt(variance + eps) + beta


def attention_with_dead_weights(query, key, value, mask=None):
    output, weights = te.scaled_dot_product_attention(query, key, value, mask)
    with torch.no_grad():
        return weights @ value + 0 * output, weights


@pytest.mark.long
@pytest.mark.parametrize(
    ("name", "candidate", "words"),
    [
        ("layer normalization", norm_by_constants, "gradient of x"),
        ("attention", attention_with_dead_weights, "gradient of query"),
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
    assert words in told(found)


def hidden_too_late(query, key, value, mask=None):
    """Minus infinity in a whole row, and the NaN of its softmax turned into 0."""
    scores = query @ key.mT / query.shape[-1] ** 0.5
    if mask is not None:
        scores = scores + torch.zeros(mask.shape, dtype=scores.dtype).masked_fill(~mask, -torch.inf)
    return torch.softmax(scores, dim=-1).nan_to_num() @ value


def root_of_nothing(x, gamma, beta, eps=1e-5):
    """An infinity behind a `where`: the root's slope at 0."""
    variance = x.var(-1, keepdim=True, correction=0)
    return gamma * (x - x.mean(-1, keepdim=True)) / torch.where(variance > 0, variance.sqrt() ** 2 + eps, eps).sqrt()


@pytest.mark.parametrize(
    ("name", "candidate"),
    [
        ("attention", hidden_too_late),
        ("layer normalization", lambda x, g, b, eps=1e-5: root_of_nothing(x, g, b, eps) + b),
    ],
)
def test_a_gradient_that_is_no_number_is_named_though_the_answer_is_one(name, candidate):
    assert diagnosis(name, candidate) == "the result is a number and its gradient is NaN or infinite"


def test_a_tensor_of_inference_mode_in_a_readers_code_is_told_by_torchs_own_words():
    with torch.inference_mode():
        ones = torch.ones(1)
    found = failure("softmax", lambda scores: torch.softmax(scores, -1) * ones)
    assert "Inference tensors cannot be saved for backward" in told(found)


# ------------------------------------------------------------------ real numbers


def turned_complex(value, imaginary):
    if isinstance(value, Tensor):
        return torch.complex(value.float(), torch.full(value.shape, imaginary))
    if isinstance(value, tuple | list):
        return type(value)(turned_complex(part, imaginary) for part in value)
    return complex(value, imaginary) if isinstance(value, bool | int | float) else value


@pytest.mark.long
@pytest.mark.parametrize("imaginary", [0.5, 0.0])
@pytest.mark.parametrize("name", [name for name in OWN if name != "byte-pair merges"])
def test_complex_numbers_are_not_taken_for_real_ones(name, imaginary):
    complex_now = around(OWN[name], after=lambda given, result: turned_complex(result, imaginary))
    message = told(failure(name, complex_now))
    assert any(words in message for words in ("complex", "0j", "+0.5j"))
