"""Numbers find their partners by what they do: in any layout of the right function, and in no other function."""

import math
from dataclasses import replace

import pytest
import torch
from torch import nn

from transformer_edu.book.exercises.judge.calculator import Calculator
from transformer_edu.book.exercises.judge.experiment import Experiment
from transformer_edu.book.exercises.judge.kinds import KINDS
from transformer_edu.book.exercises.judge.masks import OURS
from transformer_edu.book.exercises.judge.model import LAYERS, Steps, Style, of_heads, of_layer
from transformer_edu.book.exercises.judge.numbers import Numbers, Reference, alive
from transformer_edu.book.exercises.judge.verdict import IGNORED, _Judging, _kept, judge

SIZES = {"d_model": 12, "num_heads": 3, "d_ff": 20}
MULTI_HEAD, ENCODER = KINDS["multi_head_attention"], KINDS["encoder_layer"]
pytestmark = pytest.mark.long


def numbers_of(reference, kind, order=None):
    """The numbers of a reference whose tensors were laid out in another order."""
    order = torch.arange(reference.size) if order is None else order
    inputs = kind.experiments[0].inputs

    def look(numbers):
        mine = torch.empty(reference.size, dtype=torch.float64)
        mine[order] = numbers
        answer, gradient = reference.look(inputs, mine)
        return answer, gradient[order]

    values = 0.3 * torch.randn(reference.size, generator=torch.Generator().manual_seed(1))
    gains = reference.gains[order]
    return Numbers(look, lambda numbers: [], values + gains, gains, inputs)


def shuffled(size):
    return torch.randperm(size, generator=torch.Generator().manual_seed(2))


@pytest.mark.parametrize("attention", ["all", "none", "qkv", "out"])
def test_any_order_of_its_numbers_is_the_same_attention(attention):
    right = of_heads(Steps(), SIZES, Style(attention=attention))
    order = shuffled(right.size)
    numbers = numbers_of(right, MULTI_HEAD, order)
    fn = numbers.bind(right)
    vector = torch.empty(right.size)
    vector[order] = numbers.values
    for experiment in MULTI_HEAD.experiments[:2]:
        torch.testing.assert_close(fn(*experiment.inputs), right.call(right.parts(vector), *experiment.inputs))
    assert int(numbers.alive.sum()) == right.size - right.dead


@pytest.mark.parametrize("style", [LAYERS[0], LAYERS[-1], Style("none", "none", "gain")], ids=["all", "bare", "a kink"])
def test_any_order_of_its_numbers_is_the_same_layer(style):
    right = of_layer(Steps(), SIZES, style)
    numbers = numbers_of(right, ENCODER, shuffled(right.size))
    fn = numbers.bind(right)
    if style.norm == "none":
        return  # nothing tells its hidden units apart: it is undecided, and never wrong
    (x,) = ENCODER.experiments[0].inputs
    again = numbers.bind(right)
    torch.testing.assert_close(fn(x), again(x))
    assert numbers.exact


def wrong_attentions():
    """Functions that no order of the numbers makes right."""
    unscaled = Steps(attend=lambda q, k, v, mask=None: (q @ k.mT).softmax(-1) @ v)
    squared = Steps(attend=lambda q, k, v, mask=None: (q @ k.mT / math.sqrt(q.shape[-1])).softmax(-1).square() @ v)
    plain = Steps(output=lambda heads, merged: merged)
    same = Steps(project=lambda heads, q, k, v: (heads.query(q), heads.query(k), heads.value(v)))
    return {"unscaled": unscaled, "squared": squared, "no output": plain, "one projection": same}


@pytest.mark.parametrize("name", wrong_attentions())
def test_no_order_of_its_numbers_is_another_function(name):
    right = of_heads(Steps(), SIZES, Style())
    wrong = of_heads(wrong_attentions()[name], SIZES, Style())
    assert numbers_of(wrong, MULTI_HEAD).bind(right) is None
    assert numbers_of(wrong, MULTI_HEAD).bind(wrong) is not None


def test_numbers_that_change_nothing_are_found():
    reference = Reference({"a": (3,), "b": (2,)}, lambda p, x: x * p["a"].sum() + 0 * p["b"].sum())
    assert alive(lambda vector: reference.look([torch.ones(4)], vector), 5).tolist() == [True] * 3 + [False] * 2


class Cut(nn.Module):
    """A feed-forward network one of whose matrices, or both, are cut from the gradient."""

    def __init__(self, d_model, d_ff):
        super().__init__()
        self.one, self.two = nn.Linear(d_model, d_ff), nn.Linear(d_ff, d_model)

    def forward(self, x):
        return self.two(torch.relu(self.one(x)).detach())


class Whole(Cut):
    """A feed-forward network with nothing cut, and a largest value that is detached as every softmax may do it."""

    def forward(self, x):
        hidden = torch.relu(self.one(x))
        most = hidden.amax(-1, keepdim=True).detach()
        return self.two(hidden - most + most)


def test_a_gradient_is_held_against_how_the_answer_changes():
    kind = KINDS["feed_forward"]
    numbers = 0.3 * torch.randn(512, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    assert Calculator(kind, Cut).cut(numbers) == ["one.weight", "one.bias"]
    assert Calculator(kind, Whole).cut(numbers) == []


class Mixed(nn.Module):
    """A norm that asks for float32 wherever it can."""

    def __init__(self, d_model, eps=1e-5):
        super().__init__()
        self.gain, self.shift, self.eps = nn.Parameter(torch.ones(d_model)), nn.Parameter(torch.zeros(d_model)), eps

    def forward(self, x):
        y = x.float().to(torch.float32)
        y = (y - y.mean(-1, keepdim=True)) / (y.var(-1, unbiased=False, keepdim=True) + self.eps).sqrt()
        return self.gain * y.type_as(x) + self.shift


def test_what_is_written_in_float32_is_looked_at_in_float64():
    before = torch.float32, torch.float, torch.Tensor.float, torch.get_default_dtype()
    answer, gradient = Calculator(KINDS["layer_norm"], Mixed).look(torch.rand(24, dtype=torch.float64))
    assert answer.dtype == gradient.dtype == torch.float64
    assert before == (torch.float32, torch.float, torch.Tensor.float, torch.get_default_dtype())


class Remembering(nn.Module):
    """Attention that keeps the keys of its first call."""

    def __init__(self, d_model, num_heads):
        super().__init__()
        self.inside, self.kept = nn.MultiheadAttention(d_model, num_heads, batch_first=True), None

    def forward(self, query, key, value, mask=None):
        self.kept = self.kept if self.kept is not None and self.kept.shape == key.shape else key
        return self.inside(query, self.kept, value, need_weights=False)[0]


class Forgetting(Remembering):
    """Attention that keeps nothing of its first call."""

    def forward(self, query, key, value, mask=None):
        return self.inside(query, key, value, need_weights=False)[0]


def test_what_stays_behind_shows_without_a_reference():
    inputs = MULTI_HEAD.experiments[0].inputs
    later = Experiment("after other keys", inputs, options={"before": tuple(item.flip(1) for item in inputs)})
    kind = replace(MULTI_HEAD, experiments=[*MULTI_HEAD.experiments, later])
    for component, found in ((Remembering, later), (Forgetting, None)):
        assert _kept(_Judging(kind, Calculator(kind, component), math.inf).run((OURS,))) is found


def test_an_adapter_that_names_a_width_need_not_use_it():
    kind = KINDS["feed_forward"]

    class Fixed(nn.Module):
        def __init__(self, d_model, d_ff):
            super().__init__()
            self.one, self.two = nn.Linear(d_model, 4 * d_model), nn.Linear(4 * d_model, d_model)

        def forward(self, x):
            return self.two(torch.relu(self.one(x)))

    assert judge(kind, Calculator(kind, Fixed)).fault.name == IGNORED
    assert judge(kind, Calculator(kind, Fixed, adapted=True)).right
    assert judge(kind, Calculator(kind, Unrectified, adapted=True)).fault.name == "there is no ReLU"


class Unrectified(nn.Module):
    """Two matrices and nothing between them."""

    def __init__(self, d_model, d_ff):
        super().__init__()
        self.one, self.two = nn.Linear(d_model, d_ff), nn.Linear(d_ff, d_model)

    def forward(self, x):
        return self.two(self.one(x))
